//! The keyboard's way into a run: the first interrupt ends it gently, the second at once.

use std::ffi::c_int;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use anyhow::{Context, Result};
use assay_live::dashboard::TerminalStage;
use assay_run::Control;
use signal_hook::SigId;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
use signal_hook::flag::{register, register_conditional_shutdown};
use signal_hook::iterator::{Handle, Signals};
use signal_hook::low_level::unregister;

use crate::exit::Exit;

/// The signals that end a command: those of the keyboard, of the system, of a closed terminal. The
/// last one stays ignored under `nohup`.
pub fn ending() -> Vec<c_int> {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let (nohup, mut signals) = (is_ignored(&status, SIGHUP), vec![SIGINT, SIGTERM]);
    signals.extend((!nohup).then_some(SIGHUP));
    signals
}

/// A flag that a signal which ends a command raises.
pub fn stop_flag() -> Result<Arc<AtomicBool>> {
    let stop = Arc::default();
    for signal in ending() {
        register(signal, Arc::clone(&stop)).context("cannot listen for interrupts")?;
    }
    Ok(stop)
}

/// A flag that the first such signal raises; the second ends the program at once.
pub fn stop_flag_heard_once() -> Result<Arc<AtomicBool>> {
    let stop = Arc::default();
    for signal in ending() {
        // The shell and the kernel both send SIGHUP when a terminal closes: that is no second
        // interrupt.
        if signal != SIGHUP {
            register_conditional_shutdown(signal, Exit::Interrupted as i32, Arc::clone(&stop))
                .context("cannot listen for interrupts")?;
        }
        register(signal, Arc::clone(&stop)).context("cannot listen for interrupts")?;
    }
    Ok(stop)
}

/// Whether a process whose `/proc/PID/status` is `status` ignores `signal`.
fn is_ignored(status: &str, signal: c_int) -> bool {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}

/// Listens for interrupts from the beginning of a command to its end.
///
/// While an experiment goes on ([`Listening::during`]) an interrupt ends that; before, between or
/// after experiments it ends the program, as without a handler.
pub struct Listening {
    handle: Handle,
    /// Shared by all listeners: an interrupt without a listener ends the program.
    is_idle: Arc<AtomicBool>,
    is_heard: Arc<AtomicBool>,
    received_by: Vec<SigId>,
    /// What the interrupts act on.
    pub control: Arc<Control>,
    /// Where things are said while an experiment goes on.
    pub stage: Arc<TerminalStage>,
}

/// An experiment goes on as long as this lives, or several one after the other.
pub struct During<'a> {
    is_idle: &'a AtomicBool,
    was_idle: bool,
}

impl Listening {
    /// Begins to listen.
    pub fn begin() -> Result<Listening> {
        let mut signals = Signals::new(ending()).context("cannot listen for interrupts")?;
        let handle = signals.handle();
        let is_idle = idleness().context("cannot listen for interrupts")?;
        let control = Arc::new(Control::new());
        let is_heard = Arc::new(AtomicBool::new(false));
        // Raised by the signal itself: the thread below may be late to it.
        let received_by: Vec<SigId> = ending()
            .into_iter()
            .map(|signal| register(signal, Arc::clone(&is_heard)))
            .collect::<io::Result<_>>()
            .context("cannot listen for interrupts")?;
        let stage = TerminalStage::new();
        let inner = (Arc::clone(&control), Arc::clone(&stage));
        thread::Builder::new()
            .name("signals".to_owned())
            .spawn(move || {
                let received = signals.forever().enumerate();
                // The shell and the kernel both send SIGHUP when a terminal closes: that is no
                // second interrupt.
                let study_request = received.filter(|(n, signal)| *n == 0 || *signal != SIGHUP);
                study_request.enumerate().for_each(|(n, _)| end(n, &inner.0, &inner.1));
            })
            .context("cannot start a thread that listens for interrupts")?;
        Ok(Listening { handle, is_idle, is_heard, received_by, control, stage })
    }

    /// Whether there was an interrupt.
    pub fn is_interrupted(&self) -> bool {
        self.is_heard.load(Ordering::Relaxed)
    }

    /// From now on interrupts end the experiment and not the program.
    pub fn during(&self) -> During<'_> {
        let was_idle = self.is_idle.swap(false, Ordering::Relaxed);
        During { is_idle: &self.is_idle, was_idle }
    }
}

/// From now on a write beyond the file size limit (`ulimit -f`) is an error, like one on a full
/// disk. Child processes have the signal's default again.
pub fn outlive_file_limits() -> Result<()> {
    let received = register(SIGXFSZ, Arc::new(AtomicBool::new(false)));
    received.map(drop).context("cannot listen for the signal of file limits")
}

// tidy: allow globals: what a signal does belongs to the process, and once it has been listened
// for, its default does not come back; so the way out is registered once, to the program's end.
static IDLENESS: Mutex<Option<Arc<AtomicBool>>> = Mutex::new(None);

/// Whether no experiment goes on, so that an interrupt ends the program.
fn idleness() -> io::Result<Arc<AtomicBool>> {
    let mut shared = IDLENESS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(is_idle) = shared.as_ref() {
        return Ok(Arc::clone(is_idle));
    }
    let is_idle = Arc::new(AtomicBool::new(true));
    for signal in ending() {
        register_conditional_shutdown(signal, Exit::Interrupted as i32, Arc::clone(&is_idle))?;
    }
    Ok(Arc::clone(shared.insert(is_idle)))
}

fn end(interrupts_before: usize, control: &Control, stage: &TerminalStage) {
    match interrupts_before {
        0 => {
            let text = "interrupted: waiting for what is in flight; once more ends it at once";
            // Below the ^C that a terminal shows.
            let gap = if stage.is_up() { "" } else { "\n" };
            stage.say(&format!("{gap}{text}"));
            control.drain();
        }
        1 => control.abort(),
        _ => {
            stage.leave();
            std::process::exit(Exit::Interrupted as i32)
        }
    }
}

impl Drop for During<'_> {
    fn drop(&mut self) {
        self.is_idle.store(self.was_idle, Ordering::Relaxed);
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.handle.close();
        self.received_by.drain(..).for_each(|id| {
            unregister(id);
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sighup_stays_ignored_under_nohup() {
        let status = "Name:\tassay\nSigIgn:\t0000000000001001\nSigCgt:\t0000000000000000\n";
        assert!(is_ignored(status, SIGHUP) && !is_ignored(status, SIGINT));
        assert!(!is_ignored("", SIGHUP));
    }
}

//! The keyboard's way into a run: the first interrupt ends it gently, the second at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use anyhow::{Context, Result};
use assay_run::Control;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag::register_conditional_shutdown;
use signal_hook::iterator::{Handle, Signals};

use crate::exit::Exit;

/// Listens as long as it lives.
pub struct Listening {
    handle: Handle,
    is_over: Arc<AtomicBool>,
}

impl Listening {
    /// Turns interrupts into ends of the run that `control` belongs to.
    ///
    /// # Errors
    /// If the system does not let us listen.
    pub fn to(control: Arc<Control>) -> Result<Listening> {
        let mut signals =
            Signals::new([SIGINT, SIGTERM]).context("cannot listen for interrupts")?;
        let handle = signals.handle();
        // The system's own answer to an interrupt does not come back when we no longer listen, so
        // ours is to end the program as that would have done.
        let is_over = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM] {
            register_conditional_shutdown(signal, Exit::Interrupted as i32, Arc::clone(&is_over))
                .context("cannot listen for interrupts")?;
        }
        thread::Builder::new()
            .name("signals".to_owned())
            .spawn(move || {
                for (count, _) in signals.forever().enumerate() {
                    match count {
                        0 => {
                            eprintln!(
                                "\ninterrupted: waiting for what is in flight; \
                                 once more ends it at once"
                            );
                            control.drain();
                        }
                        1 => control.abort(),
                        _ => std::process::exit(Exit::Interrupted as i32),
                    }
                }
            })
            .context("cannot start a thread that listens for interrupts")?;
        Ok(Listening { handle, is_over })
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.handle.close();
        self.is_over.store(true, Ordering::Relaxed);
    }
}

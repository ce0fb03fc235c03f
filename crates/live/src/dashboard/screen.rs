//! A terminal that a dashboard fills for a while, then gives back as it was.

use std::io::{BufWriter, Stderr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, Once, TryLockError};
use std::thread;
use std::time::{Duration, Instant};

use ratatui::crossterm::cursor::{Hide, Show};
use ratatui::crossterm::event::{self, Event, KeyEvent};
use ratatui::crossterm::execute;
use ratatui::crossterm::terminal::{Clear, ClearType, EnterAlternateScreen, LeaveAlternateScreen};
use ratatui::prelude::CrosstermBackend;
use ratatui::{Frame, Terminal};
use rustix::termios::{
    LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcsetattr,
};
use signal_hook::SigId;
use signal_hook::consts::{SIGQUIT, SIGTSTP};
use signal_hook::flag::{register, register_conditional_default};
use signal_hook::low_level::{emulate_default_handler, unregister};

use crate::dashboard::warnings::Warnings;

/// Signals that end or stop the program by default. While the dashboard is up the terminal is
/// given back first; otherwise they do what they always do.
const LEAVING: [i32; 2] = [SIGQUIT, SIGTSTP];

/// The bytes of one frame, so that it reaches the terminal in one piece.
const FRAME_BYTES: usize = 64 * 1024;

/// How long the way back waits for a frame that is being written; then it is written over.
const FRAME_TIMEOUT: Duration = Duration::from_millis(100);

/// Keys that are read in one step: a held-down key must not block the display.
const KEYS_AT_ONCE: usize = 16;

type Crossterm = Terminal<CrosstermBackend<BufWriter<Stderr>>>;

/// Standard error, for all messages during a run.
///
/// Where no dashboard is up, what is said is a line. Where one is up, it is a notice on it, which
/// becomes a line when the terminal is given back.
pub struct TerminalStage {
    /// Whether the terminal is as the shell left it. Signal handlers read this.
    is_down: Arc<AtomicBool>,
    /// Whether taking the terminal failed; it is not tried again.
    is_unfit: AtomicBool,
    arrived: [Arc<AtomicBool>; LEAVING.len()],
    listens: Once,
    received: Mutex<Vec<SigId>>,
    before: Mutex<Option<Termios>>,
    terminal: Mutex<Option<Crossterm>>,
    warnings: Mutex<Warnings>,
}

impl TerminalStage {
    /// A stage whose curtain is down.
    pub fn new() -> Arc<TerminalStage> {
        Arc::new(TerminalStage {
            is_down: Arc::new(AtomicBool::new(true)),
            is_unfit: AtomicBool::new(false),
            arrived: Default::default(),
            listens: Once::new(),
            received: Mutex::default(),
            before: Mutex::default(),
            terminal: Mutex::default(),
            warnings: Mutex::default(),
        })
    }

    /// Whether a dashboard fills the terminal.
    pub fn is_up(&self) -> bool {
        !self.is_down.load(Ordering::SeqCst)
    }

    /// Says `text`: on the dashboard if one is up, else as a line.
    pub fn say(&self, text: &str) {
        match self.is_up() {
            true => lock(&self.warnings).add(text),
            false => eprintln!("{text}"),
        }
    }

    /// What was said since the dashboard came up.
    pub fn warnings(&self) -> Warnings {
        lock(&self.warnings).clone()
    }

    /// Takes the terminal; where that fails there is no dashboard, but the run goes on.
    pub fn enter(self: &Arc<TerminalStage>) {
        let is_unfit = self.is_unfit.load(Ordering::SeqCst);
        if is_unfit || self.is_up() || self.listen().is_err() {
            return;
        }
        let Ok(before) = tcgetattr(std::io::stdin()) else { return };
        *lock(&self.before) = Some(before.clone());
        // What came before had its default.
        self.arrived.iter().for_each(|arrived| arrived.store(false, Ordering::SeqCst));
        self.is_down.store(false, Ordering::SeqCst);
        if self.take_over(before).is_err() {
            self.is_unfit.store(true, Ordering::SeqCst);
            self.leave();
        }
    }

    fn take_over(&self, mut modes: Termios) -> std::io::Result<()> {
        // Keys come at once without being shown. Ctrl-C, Ctrl-Z, Ctrl-\ remain signals, to the
        // whole foreground as ever: a dashboard changes nothing about how a run is stopped.
        modes.local_modes -= LocalModes::ICANON | LocalModes::ECHO;
        modes.special_codes[SpecialCodeIndex::VMIN] = 1;
        modes.special_codes[SpecialCodeIndex::VTIME] = 0;
        tcsetattr(std::io::stdin(), OptionalActions::Now, &modes)?;
        let mut out = BufWriter::with_capacity(FRAME_BYTES, std::io::stderr());
        execute!(out, EnterAlternateScreen, Hide, Clear(ClearType::All))?;
        // Not `Terminal::clear`: it asks the terminal for the cursor's position, on standard
        // output.
        let terminal = Terminal::new(CrosstermBackend::new(out))?;
        *lock(&self.terminal) = Some(terminal);
        Ok(())
    }

    /// From the first dashboard on: whatever would leave the terminal spoilt gives it back first.
    fn listen(self: &Arc<TerminalStage>) -> std::io::Result<()> {
        let mut result = Ok(());
        self.listens.call_once(|| {
            result = self.hear_signals();
            let stage = Arc::downgrade(self);
            let before = std::panic::take_hook();
            std::panic::set_hook(Box::new(move |panic| {
                if let Some(stage) = stage.upgrade() {
                    stage.leave();
                }
                before(panic);
            }));
        });
        result
    }

    fn hear_signals(&self) -> std::io::Result<()> {
        for (signal, arrived) in LEAVING.iter().zip(&self.arrived) {
            let default = register_conditional_default(*signal, Arc::clone(&self.is_down))?;
            lock(&self.received).push(default);
            let flag = register(*signal, Arc::clone(arrived))?;
            lock(&self.received).push(flag);
        }
        Ok(())
    }

    /// Does what a signal does by default, with the terminal given back before.
    ///
    /// After a stop this returns when the program goes on; the dashboard is then down.
    pub fn obey_signals(&self) {
        for (signal, arrived) in LEAVING.iter().zip(&self.arrived) {
            // One that came while the terminal was the shell's has had its default already.
            if !arrived.swap(false, Ordering::SeqCst) || !self.is_up() {
                continue;
            }
            self.leave();
            let stopped = Instant::now();
            // It fails for signals that cannot be obeyed; none of ours is.
            let _ = emulate_default_handler(*signal);
            let pause =
                humantime::format_duration(Duration::from_secs(stopped.elapsed().as_secs()));
            let text = format!("suspended for {pause}: no operation was issued, arrivals waited");
            lock(&self.warnings).add(&text);
        }
    }

    /// Draws a frame, if a dashboard is up.
    pub fn draw(&self, paint: impl FnOnce(&mut Frame<'_>)) {
        let mut terminal = lock(&self.terminal);
        let Some(terminal) = terminal.as_mut().filter(|_| self.is_up()) else { return };
        // A terminal that went away shows nothing; the run does not depend on it.
        let _ = terminal.draw(paint);
    }

    /// The keys that were pressed since the last step.
    pub fn keys(&self) -> Vec<KeyEvent> {
        let mut keys = Vec::new();
        for _ in 0..KEYS_AT_ONCE {
            if !self.is_up() || !event::poll(Duration::ZERO).unwrap_or(false) {
                break;
            }
            match event::read() {
                Ok(Event::Key(key)) => keys.push(key),
                Ok(_) => {}
                Err(_) => break,
            }
        }
        keys
    }

    /// Gives the terminal back as it was. Anybody may call this at any time, any number of times.
    pub fn leave(&self) {
        if self.is_down.swap(true, Ordering::SeqCst) {
            return;
        }
        // Waits for a drawing thread, unless it is this very thread that panicked.
        let waiting = Instant::now();
        let mut terminal = self.terminal.try_lock();
        while matches!(terminal, Err(TryLockError::WouldBlock)) && waiting.elapsed() < FRAME_TIMEOUT
        {
            thread::sleep(Duration::from_millis(1));
            terminal = self.terminal.try_lock();
        }
        // Where the terminal is gone nothing is left to give back.
        let _ = execute!(std::io::stderr(), LeaveAlternateScreen, Show);
        if let Some(before) = lock(&self.before).take() {
            let _ = tcsetattr(std::io::stdin(), OptionalActions::Now, &before);
        }
        for line in lock(&self.warnings).take() {
            eprintln!("{line}");
        }
    }
}

impl Drop for TerminalStage {
    fn drop(&mut self) {
        self.leave();
        // Of several stages in one program only the one that is left has a say.
        for received in lock(&self.received).drain(..) {
            unregister(received);
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

//! Progress of a run: reads the live counters for all observers.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use assay_fleet::StatusRow;
use assay_model::Nanos;
use assay_run::arrival::RateProfile;
use assay_run::{Snapshot, WorkerStats};

use crate::rate_control::RateControl;

/// How often the live counters are read: as often as an animation needs.
const LOOK: Duration = Duration::from_millis(200);

/// The longest that an observer's own input, such as the keyboard, waits.
const STEP: Duration = Duration::from_millis(20);

/// How progress is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Show {
    /// Not at all.
    Nothing,
    /// As a line that renews itself, or as lines now and then where there is no terminal.
    Lines,
    /// As a dashboard that fills the terminal.
    Dashboard,
}

impl Show {
    /// The same where several runs follow one another, for which there is no dashboard.
    pub fn without_dashboard(self) -> Show {
        if self == Show::Dashboard { Show::Lines } else { self }
    }
}

/// What progress is measured against.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Goal {
    /// Processes to issue, if there is a number.
    pub processes: Option<u64>,
    /// How long the run takes, warm-up included, if that is known.
    pub duration: Option<Nanos>,
    /// How much of that is warm-up.
    pub warm_up: Nanos,
    /// Whether this fills the store.
    pub is_load: bool,
}

/// One reading of the live counters.
pub struct ProgressSnapshot<'a> {
    /// When, on the run's time axis; zero before its beginning.
    pub at: Nanos,
    /// Time since the watching began.
    pub elapsed: Nanos,
    /// Processes in flight.
    pub in_flight: u64,
    /// What happened since the look before.
    pub stats: &'a WorkerStats,
    /// The intended rate over time; open load only.
    pub rate_profile: Option<&'a RateProfile>,
    /// Whether the run was told to end.
    pub is_ending: bool,
    /// The agents of a fleet; none if this process issues everything itself.
    pub agents: &'a [StatusRow],
}

/// An observer of a run.
pub trait Observer: Send {
    /// Sees what happened since the last look.
    fn see(&mut self, progress_snapshot: &ProgressSnapshot<'_>);

    /// Does what cannot wait until the next look, such as hearing the keyboard.
    fn step(&mut self, _rate_control: &RateControl) {}

    /// Leaves: the run is over, everything has been seen.
    fn leave(&mut self) {}
}

/// Passes readings of the live counters to all `observers` until `is_over`. `take` moves what the
/// counters show to a snapshot, and gives the agents of a fleet.
pub fn watch(
    mut take: impl FnMut(&mut Snapshot) -> Vec<StatusRow>,
    rate_control: &RateControl,
    mut observers: Vec<Box<dyn Observer>>,
    is_over: &Arc<AtomicBool>,
) {
    if observers.is_empty() {
        return;
    }
    let begun = Instant::now();
    let mut snapshot = Snapshot::default();
    loop {
        // Before the look, so that the last look sees all there was.
        let is_last = is_over.load(Ordering::Relaxed);
        snapshot.in_flight = 0;
        snapshot.stats.clear();
        let agents = take(&mut snapshot);
        let rate_profile = rate_control.rate_profile();
        let progress_snapshot = ProgressSnapshot {
            at: rate_control.now().unwrap_or(Nanos::ZERO),
            elapsed: begun.elapsed().into(),
            in_flight: snapshot.in_flight,
            stats: &snapshot.stats,
            rate_profile: rate_profile.as_ref(),
            is_ending: rate_control.is_ending(),
            agents: &agents,
        };
        observers.iter_mut().for_each(|run_observer| run_observer.see(&progress_snapshot));
        if is_last {
            observers.iter_mut().for_each(|run_observer| run_observer.leave());
            return;
        }
        let next = Instant::now() + LOOK;
        while Instant::now() < next && !is_over.load(Ordering::Relaxed) {
            observers.iter_mut().for_each(|run_observer| run_observer.step(rate_control));
            thread::sleep(STEP);
        }
    }
}

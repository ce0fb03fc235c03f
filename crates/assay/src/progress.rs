//! Progress of a run: reads the live counters for all observers.

use std::io::{IsTerminal, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use assay_fleet::StatusRow;
use assay_model::Nanos;
use assay_run::arrival::RateProfile;
use assay_run::{Snapshot, WorkerStats};
use indicatif::{ProgressBar, ProgressStyle};

use crate::live::interval::{Gathering, Interval, Totals};
use crate::rate_control::RateControl;

/// How often the live counters are read: as often as an animation needs.
const LOOK: Duration = Duration::from_millis(200);

/// The longest that an observer's own input, such as the keyboard, waits.
const STEP: Duration = Duration::from_millis(20);

/// How often a live line is renewed.
const LIVE: Nanos = Nanos::from_millis(1000);

/// How often a line is written where lines stay, in a log for example.
const LOGGED: Nanos = Nanos::from_secs(10);

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

/// Progress as a line that renews itself, or as lines that stay.
pub struct Lines {
    goal: Goal,
    bar: Option<ProgressBar>,
    gathering: Gathering,
}

impl Lines {
    /// Lines on standard error; one that renews itself if that is a terminal.
    pub fn new(goal: Goal) -> Lines {
        let is_live = std::io::stderr().is_terminal()
            && std::env::var_os("TERM").is_some_and(|term| term != "dumb");
        let every = if is_live { LIVE } else { LOGGED };
        Lines { goal, bar: is_live.then(|| bar(goal)), gathering: Gathering::new(every) }
    }
}

impl Observer for Lines {
    fn see(&mut self, progress_snapshot: &ProgressSnapshot<'_>) {
        let Some(interval) = self.gathering.add(progress_snapshot) else { return };
        let line = line(&interval, self.gathering.totals());
        match &self.bar {
            Some(bar) => {
                bar.set_position(match self.goal.processes {
                    Some(_) => self.gathering.totals().processes,
                    None => progress_snapshot.at.0 / 1_000_000,
                });
                bar.set_message(line);
            }
            None => {
                // A progress line that cannot be written is dropped.
                let seconds = progress_snapshot.at.0 / 1_000_000_000;
                let _ = writeln!(std::io::stderr(), "{seconds:>5} s  {line}");
            }
        }
    }

    fn leave(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
    }
}

fn bar(goal: Goal) -> ProgressBar {
    let length = goal.processes.or(goal.duration.map(|duration| duration.0 / 1_000_000));
    let verb = if goal.is_load { "load" } else { "run " };
    let style = ProgressStyle::with_template(&format!(
        "{verb} {{bar:20}} {{percent:>3}} % {{elapsed_precise}} eta {{eta}}  {{msg}}"
    ));
    let bar = match length {
        Some(length) => ProgressBar::new(length),
        None => ProgressBar::no_length(),
    };
    match style {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}

fn line(interval: &Interval, totals: &Totals) -> String {
    let mut line = String::new();
    if interval.intended_per_s.is_some() {
        line += &format!("{}/s offered  ", short(interval.offered_per_s));
    }
    line += &format!("{}/s achieved", short(interval.achieved_per_s));
    if let Some(of) = interval.response.or(interval.service) {
        line += &format!("  p50 {}  p99 {}  p99.9 {}", of.p50, of.p99, of.p999);
    }
    line += &format!("  in flight {}  lag {}", interval.in_flight, interval.lag_max);
    let [_, refused, unknown, dropped] =
        assay_model::Outcome::ALL.map(|outcome| totals.with(outcome));
    for (word, count) in
        [("missed", totals.missed()), ("errors", refused + unknown), ("dropped", dropped)]
    {
        if count > 0 {
            line += &format!("  {word} {}", short(count as f64));
        }
    }
    line
}

/// A number in three or four characters.
fn short(number: f64) -> String {
    match number {
        n if n >= 1e6 => format!("{:.2} M", n / 1e6),
        n if n >= 1e4 => format!("{:.1} k", n / 1e3),
        n => format!("{n:.0}"),
    }
}

#[cfg(test)]
mod tests {
    use assay_model::{Kind, Outcome};
    use expect_test::{Expect, expect};

    use super::*;
    use crate::live::interval::Quantiles;

    fn interval() -> Interval {
        let us = Nanos::from_micros;
        Interval {
            until: Nanos::from_secs(2),
            length: Nanos::from_secs(1),
            in_flight: 7,
            intended_per_s: Some(20_000.0),
            offered_per_s: 20_000.0,
            achieved_per_s: 19_980.0,
            failed: 3,
            dropped: 0,
            missed: 0,
            lag_max: us(12),
            lag_mean: None,
            response: Some(Quantiles { p50: us(80), p99: us(950), p999: us(2100), max: us(3000) }),
            service: None,
            kinds: Default::default(),
        }
    }

    fn check(interval: &Interval, totals: &Totals, expected: &Expect) {
        expected.assert_eq(&line(interval, totals).replace("  ", "\n"));
    }

    #[test]
    fn a_progress_line_shows_offered_and_achieved_rates() {
        let mut totals = Totals::default();
        totals.outcomes[Kind::Read as usize][Outcome::Unknown as usize] = 3;
        totals.missed[Kind::Read as usize] = 20_500;
        check(
            &interval(),
            &totals,
            &expect![[r#"
                20.0 k/s offered
                20.0 k/s achieved
                p50 80.00 µs
                p99 950.00 µs
                p99.9 2.10 ms
                in flight 7
                lag 12.00 µs
                missed 20.5 k
                errors 3"#]],
        );
    }

    #[test]
    fn a_closed_load_has_nothing_offered() {
        let interval = Interval {
            intended_per_s: None,
            response: None,
            lag_max: Nanos::ZERO,
            achieved_per_s: 0.0,
            ..interval()
        };
        check(
            &interval,
            &Totals::default(),
            &expect![[r#"
                0/s achieved
                in flight 7
                lag 0 ns"#]],
        );
    }
}

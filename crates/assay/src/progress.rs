//! What is seen of a run while it goes on.

use std::io::{IsTerminal, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use assay_model::{Nanos, Outcome};
use assay_run::{Gauge, Latencies, Snapshot};
use indicatif::{ProgressBar, ProgressStyle};

/// How often a live line is renewed.
const LIVE: Duration = Duration::from_millis(1000);

/// How often a line is written where lines stay, in a log for example.
const LOGGED: Duration = Duration::from_secs(10);

/// How progress is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Show {
    /// Not at all.
    Nothing,
    /// As a line that renews itself, or as lines now and then where there is no terminal.
    Lines,
}

/// What progress is measured against.
#[derive(Clone, Copy, Debug)]
pub struct Goal {
    /// Processes to ask, if there is a number.
    pub processes: Option<u64>,
    /// How long the run takes, if that is known.
    pub duration: Option<Nanos>,
    /// Whether this fills the store.
    pub is_load: bool,
}

/// Shows `gauges` until `is_over`; returns when it is.
pub fn watch(gauges: &[Gauge], goal: Goal, show: Show, is_over: &Arc<AtomicBool>) {
    if show == Show::Nothing {
        return;
    }
    let is_live = std::io::stderr().is_terminal()
        && std::env::var_os("TERM").is_some_and(|term| term != "dumb");
    let every = if is_live { LIVE } else { LOGGED };
    let bar = is_live.then(|| bar(goal));
    let begun = Instant::now();
    let mut before = (0, Duration::ZERO);
    let mut ended = 0;
    loop {
        let next = before.1 + every;
        while begun.elapsed() < next {
            if is_over.load(Ordering::Relaxed) {
                if let Some(bar) = bar {
                    bar.finish_and_clear();
                }
                return;
            }
            thread::sleep(Duration::from_millis(20));
        }
        let now = begun.elapsed();
        let mut snapshot = Snapshot::default();
        gauges.iter().for_each(|gauge| gauge.take(&mut snapshot));
        let tally = &snapshot.tally;
        ended += tally.outcomes.as_flattened().iter().sum::<u64>();
        let rate = tally.offered as f64 / (now - before.1).as_secs_f64();
        let line = line(&snapshot, rate);
        match &bar {
            Some(bar) => {
                bar.set_position(position(goal, ended, now));
                bar.set_message(line);
            }
            None => {
                // Nobody reads a progress line that cannot be written.
                let _ = writeln!(std::io::stderr(), "{:>5} s  {line}", now.as_secs());
            }
        }
        before = (tally.offered, now);
    }
}

fn position(goal: Goal, ended: u64, now: Duration) -> u64 {
    match goal.processes {
        Some(_) => ended,
        None => now.as_millis() as u64,
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

fn line(snapshot: &Snapshot, rate: f64) -> String {
    let tally = &snapshot.tally;
    let latencies = Latencies::merged(&tally.response);
    let mut line = format!("{}/s asked", short(rate));
    if latencies.count > 0 {
        let quantile = |q| latencies.quantile(q);
        line +=
            &format!("  p50 {}  p99 {}  p99.9 {}", quantile(0.5), quantile(0.99), quantile(0.999));
    }
    line += &format!("  in flight {}  lag {}", snapshot.in_flight, tally.lag_max);
    for (word, count) in [
        ("missed", tally.missed()),
        ("failed", tally.failed()),
        ("dropped", tally.with(Outcome::Dropped)),
    ] {
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

//! Lines of progress on standard error.

use std::io::Write;

use assay_model::Nanos;
use indicatif::{ProgressBar, ProgressStyle};

use crate::interval::{IntervalCollector, LiveInterval, Totals};
use crate::progress::{Goal, Observer, ProgressSnapshot};

/// How often a live line is renewed.
const LIVE: Nanos = Nanos::from_millis(1000);

/// How often a line is written where lines stay, in a log for example.
const LOGGED: Nanos = Nanos::from_secs(10);

/// Progress as a line that renews itself, or as lines that stay.
pub struct Lines {
    goal: Goal,
    bar: Option<ProgressBar>,
    gathering: IntervalCollector,
}

impl Lines {
    /// A line that renews itself, for a terminal.
    pub fn renewed(goal: Goal) -> Lines {
        Lines { goal, bar: Some(bar(goal)), gathering: IntervalCollector::new(LIVE) }
    }

    /// Lines that stay, now and then, where there is no terminal.
    pub fn logged(goal: Goal) -> Lines {
        Lines { goal, bar: None, gathering: IntervalCollector::new(LOGGED) }
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

fn line(interval: &LiveInterval, totals: &Totals) -> String {
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
    use crate::interval::Quantiles;

    fn interval() -> LiveInterval {
        let us = Nanos::from_micros;
        LiveInterval {
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

    fn check(interval: &LiveInterval, totals: &Totals, expected: &Expect) {
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
        let interval = LiveInterval {
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

//! Time that the machine takes away from a loop that only reads the clock.
//!
//! No generator on this machine can be more punctual: an arrival that falls into a time in which
//! the processor is elsewhere (another process, the host of a virtual machine) is late by what is
//! left of that time, whichever program measures it.

use std::hint;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::bench::Case;
use crate::bench::figures::Sample;

/// Reads the clock for `seconds`, as an open run before or after it does.
///
/// `size` names the run that it belongs to.
pub fn case(size: &str, seconds: u64) -> Case {
    measured(format!("null open floor {size}"), "floor of lag", size, move || {
        Absences::found_in(Duration::from_secs(seconds))
    })
}

/// The same while another thread never rests, as a server that gets requests all the time.
///
/// A server that gets fewer requests leaves more, so a run beside it may be below this floor.
pub fn beside_a_server(name: String, size: &str, seconds: u64) -> Case {
    measured(name, "floor of lag beside a busy processor", size, move || {
        let is_over = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    hint::spin_loop();
                }
            });
            let absences = Absences::found_in(Duration::from_secs(seconds));
            is_over.store(true, Ordering::Relaxed);
            absences
        })
    })
}

/// A case called `name` whose figures are called `floor`.
fn measured(
    name: String,
    floor: &'static str,
    size: &str,
    measure: impl Fn() -> Absences + 'static,
) -> Case {
    let size = size.to_owned();
    Case {
        name,
        run: Box::new(move || {
            let absences = measure();
            let sample = |what: &str, value: f64, unit: &str| Sample {
                what: format!("{floor}, {what}"),
                size: size.clone(),
                value,
                unit: unit.to_owned(),
            };
            Ok(vec![
                sample("p99", absences.lag_at(0.99), "ns"),
                sample("p99.9", absences.lag_at(0.999), "ns"),
            ])
        }),
    }
}

/// The times between two readings of a clock.
struct Absences {
    /// Nanoseconds, in no order.
    gaps: Vec<f64>,
    /// Their sum.
    total: f64,
}

impl Absences {
    fn found_in(time: Duration) -> Absences {
        // Shorter ones are the reading itself; together they are one lag of nothing.
        const SHORTEST_NS: u128 = 200;
        let mut gaps = Vec::new();
        let start = Instant::now();
        let mut before = start;
        while before - start < time {
            let now = Instant::now();
            let gap = (now - before).as_nanos();
            if gap >= SHORTEST_NS {
                gaps.push(gap as f64);
            }
            before = now;
        }
        Absences { gaps, total: (before - start).as_nanos() as f64 }
    }

    /// The lag that a share of evenly spread arrivals does not exceed, in nanoseconds.
    ///
    /// Arrivals in a gap are late by what is left of it, so in a gap of `g` a time of `g - lag`
    /// is later than `lag`.
    fn lag_at(&self, share: f64) -> f64 {
        let allowed = self.total * (1.0 - share);
        let later = |lag: f64| self.gaps.iter().map(|gap| (gap - lag).max(0.0)).sum::<f64>();
        let (mut low, mut high) = (0.0, self.gaps.iter().copied().fold(0.0, f64::max));
        if later(low) <= allowed {
            return low;
        }
        while high - low > 1.0 {
            let middle = (low + high) / 2.0;
            if later(middle) > allowed { low = middle } else { high = middle }
        }
        high
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrivals_in_a_gap_wait_for_what_is_left_of_it() {
        // 2 % of the time in one gap: half of its arrivals, 1 % of all, are later than its half.
        let absences = Absences { gaps: vec![20_000.0], total: 1_000_000.0 };
        assert!((absences.lag_at(0.99) - 10_000.0).abs() <= 1.0);
        assert!((absences.lag_at(0.995) - 15_000.0).abs() <= 1.0);
        assert_eq!(absences.lag_at(0.97), 0.0);
    }

    #[test]
    fn an_undisturbed_loop_is_never_late() {
        assert_eq!(Absences { gaps: Vec::new(), total: 1e9 }.lag_at(0.999), 0.0);
    }

    #[test]
    fn a_real_clock_gives_a_time_within_the_run() {
        let absences = Absences::found_in(Duration::from_millis(2));
        assert!(absences.total >= 2e6);
        assert!(absences.gaps.iter().sum::<f64>() <= absences.total);
    }
}

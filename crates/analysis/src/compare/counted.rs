//! Interval of the difference of two counted shares.
//!
//! Blocks that hold no failure are the same however they are drawn, but a share of which nothing
//! was seen may still be up to about 5/n. The limits of each share are exact (C. J. Clopper with
//! E. S. Pearson, Biometrika 26, 1934), those of the difference are put together from them by
//! squares (R. G. Newcombe, Statistics in Medicine 17, 1998, method 10).

use crate::binomial::{at_least, at_most};
use crate::compare::run_figure::{Counted, RunFigure};

/// Halvings after which a limit is as exact as floating-point numbers.
const HALVINGS: u32 = 60;

impl Counted {
    /// Of all runs that have counts.
    fn of(runs: &[RunFigure]) -> Counted {
        let counts = runs.iter().filter_map(|run| run.counted);
        counts.fold(Counted::default(), |sum, run| Counted {
            part: sum.part + run.part,
            whole: sum.whole + run.whole,
        })
    }

    fn share(self) -> f64 {
        if self.whole > 0.0 { self.part / self.whole } else { 0.0 }
    }

    /// How far below and above the share the true one may be at `level`.
    fn reach(self, level: f64) -> (f64, f64) {
        let tail = (1.0 - level) / 2.0;
        let Counted { part, whole } = self;
        // Where nothing was counted the limit has a closed form, the rule of three.
        let (low, high) = match part <= 0.0 {
            true if whole > 0.0 => (0.0, 1.0 - tail.powf(1.0 / whole)),
            true => (0.0, 1.0),
            false => (
                crossing(|share| at_least(part, whole, share) <= tail),
                crossing(|share| at_most(part, whole, share) > tail),
            ),
        };
        (low - self.share(), high - self.share())
    }
}

/// Up to which share between 0 and 1 `holds`.
fn crossing(holds: impl Fn(f64) -> bool) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..HALVINGS {
        let middle = f64::midpoint(low, high);
        if holds(middle) {
            low = middle;
        } else {
            high = middle;
        }
    }
    high
}

/// How far below and above the difference of two shares the true one may be, at `level`.
pub fn reach(old: &[RunFigure], new: &[RunFigure], level: f64) -> (f64, f64) {
    let [old, new] = [old, new].map(|runs| Counted::of(runs).reach(level));
    (-new.0.hypot(old.1), new.1.hypot(old.0))
}

/// Whether the share of `new` is another than that of `old`, at `level`.
pub fn is_another(old: &[RunFigure], new: &[RunFigure], level: f64) -> bool {
    let shift = Counted::of(new).share() - Counted::of(old).share();
    let (low, high) = reach(old, new, level);
    shift + low > 0.0 || shift + high < 0.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_those_of_tables() {
        let limits = |part, whole| {
            let counted = Counted { part, whole };
            let (low, high) = counted.reach(0.95);
            (counted.share() + low, counted.share() + high)
        };
        // 1 − 0.025^(1/240): the rule of three, for two sides.
        for (part, whole, low, high) in [
            (0.0, 240.0, 0.0, 0.015_253),
            (5.0, 50.0, 0.033_275, 0.218_135),
            (10.0, 10.0, 0.691_503, 1.0),
        ] {
            let found = limits(part, whole);
            let is_near = (found.0 - low).abs() < 1e-5 && (found.1 - high).abs() < 1e-5;
            assert!(is_near, "{part} of {whole}: {found:?}");
        }
        assert_eq!(limits(0.0, 0.0), (0.0, 1.0));
    }
}

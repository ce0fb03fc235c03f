//! Planned number of arrivals up to each moment of the window.

use assay_model::Nanos;

use super::ticks;

/// Relative difference of two stretches of a plan from which its rate counts as changing.
const VARYING: f64 = 0.01;

/// Arrivals that were planned, where the rate is not the same all the time.
///
/// Known exactly at the borders of cells as long as those in which arrivals are counted, evenly
/// spread within them. There are at most as many cells, which take 8 MB.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// Length of the window, in nanoseconds.
    length: u64,
    /// Length of a cell; the last may be cut.
    width: u64,
    /// Arrivals before each cell, then those of the whole window.
    before: Vec<f64>,
}

impl Plan {
    /// The plan of a window of `length`. `integral` says how many arrivals are expected before a
    /// moment since the window's beginning, apart from any constant.
    pub fn new(length: Nanos, integral: impl Fn(Nanos) -> f64) -> Plan {
        let mut width = ticks::WIDTH;
        while length.0.div_ceil(width) > ticks::MOST {
            width *= 2;
        }
        let cells = length.0.div_ceil(width);
        let start = integral(Nanos::ZERO);
        let border = |cell: u64| Nanos(cell.saturating_mul(width).min(length.0));
        let before = (0..=cells).map(|cell| integral(border(cell)) - start).collect();
        Plan { length: length.0, width, before }
    }

    /// Arrivals that were planned before `moment`, counted from the window's beginning.
    pub fn before(&self, moment: Nanos) -> f64 {
        let cell = (moment.0 / self.width) as usize;
        let Some(&[from, until]) = self.before.get(cell..cell + 2) else { return self.total() };
        let begin = cell as u64 * self.width;
        let size = self.width.min(self.length - begin);
        let share = ((moment.0 - begin) as f64 / size as f64).min(1.0);
        from + (until - from) * share
    }

    /// Arrivals that were planned in the whole window.
    pub fn total(&self) -> f64 {
        self.before.last().copied().unwrap_or(0.0)
    }

    /// Whether the rate changes.
    pub fn is_varying(&self) -> bool {
        let size = |cell: usize| self.width.min(self.length - cell as u64 * self.width) as f64;
        let pairs = self.before.windows(2).enumerate();
        let rates = pairs.map(|(cell, pair)| (pair[1] - pair[0]) / size(cell));
        let ends = (f64::INFINITY, 0.0f64);
        let (least, most) = rates.fold(ends, |(l, m), rate| (l.min(rate), m.max(rate)));
        most - least > VARYING * most
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 100 a second for 1,505 ms, then 300.
    fn stepped(at: Nanos) -> f64 {
        let at = at.as_secs_f64();
        100.0 * at + 200.0 * (at - 1.505).max(0.0)
    }

    fn assert_near(found: f64, expected: f64) {
        assert!((found - expected).abs() < 1e-9, "{found} is not {expected}");
    }

    #[test]
    fn a_change_within_a_second_is_where_it_is() {
        let plan = Plan::new(Nanos::from_millis(2_003), |at| 7.0 + stepped(at));
        for ms in [0, 5, 1_000, 1_500, 1_510, 1_600, 2_000, 2_001, 2_003] {
            assert_near(plan.before(Nanos::from_millis(ms)), stepped(Nanos::from_millis(ms)));
        }
        assert_near(plan.before(Nanos::from_secs(9)), plan.total());
        assert_near(plan.total(), stepped(Nanos::from_millis(2_003)));
        assert!(plan.is_varying());
        assert!(!Plan::new(Nanos::from_millis(2_003), |at| at.as_secs_f64()).is_varying());
    }

    #[test]
    fn a_plan_of_a_day_is_bounded() {
        let day = Nanos::from_secs(86_400);
        let plan = Plan::new(day, stepped);
        assert!(plan.before.len() <= ticks::MOST as usize + 1);
        assert_near(plan.before(day), stepped(day));
        assert_near(plan.before(Nanos::from_secs(50_000)), stepped(Nanos::from_secs(50_000)));
        assert_eq!(Plan::new(Nanos::ZERO, stepped).total(), 0.0);
    }
}

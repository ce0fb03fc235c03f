//! Bars that our figures have to reach.

use crate::bench::figures::Figure;

/// A figure that must be reached.
pub struct Bar {
    /// What is measured: the words that a figure's name is or begins with.
    what: &'static str,
    /// The size it is for, or any.
    size: Option<&'static str>,
    /// The bound, in the figure's unit.
    bound: Bound,
}

#[derive(Clone, Copy)]
enum Bound {
    AtLeast(f64),
    AtMost(f64),
}

/// Poisson arrivals at 20 k/s for 10 s vary by 0.22 % (one standard deviation); three of them.
const REACHED: f64 = 0.9933;

const BARS: &[Bar] = &[
    Bar { what: "closed loop, null", size: None, bound: Bound::AtLeast(6e6) },
    Bar { what: "ratio to YCSB BasicDB", size: None, bound: Bound::AtLeast(2.0) },
    Bar { what: "open loop, null, offered", size: None, bound: Bound::AtLeast(REACHED) },
    Bar { what: "open loop, null, done", size: None, bound: Bound::AtLeast(1.0) },
    Bar { what: "open loop, null, lag p50", size: Some("1M/s"), bound: Bound::AtMost(1_000.0) },
    Bar { what: "open loop, null, lag p99", size: Some("1M/s"), bound: Bound::AtMost(20_000.0) },
    Bar { what: "open loop, redis, offered", size: None, bound: Bound::AtLeast(REACHED) },
    Bar { what: "open loop, redis, done", size: None, bound: Bound::AtLeast(1.0) },
    Bar { what: "open loop, redis, lag p99", size: Some("250k/s"), bound: Bound::AtMost(50_000.0) },
    Bar { what: "redis, throughput to YCSB's", size: None, bound: Bound::AtLeast(1.0) },
    Bar { what: "redis, CPU to YCSB's", size: Some("1"), bound: Bound::AtMost(0.85) },
    Bar { what: "redis, CPU to YCSB's", size: Some("4"), bound: Bound::AtMost(0.55) },
    Bar { what: "redis, CPU to YCSB's", size: Some("16"), bound: Bound::AtMost(0.5) },
    Bar { what: "trace generation to file", size: None, bound: Bound::AtLeast(5e6) },
    Bar { what: "ycsb-a-fill", size: None, bound: Bound::AtLeast(20e6) },
    Bar { what: "history_seal", size: None, bound: Bound::AtLeast(8.0) },
    Bar { what: "history_sealed", size: None, bound: Bound::AtMost(16.0) },
    Bar { what: "analyze/ycsb-a", size: None, bound: Bound::AtLeast(20.0) },
    Bar { what: "linearizability-uniform", size: None, bound: Bound::AtLeast(10.0) },
    Bar { what: "linearizability-skewed", size: None, bound: Bound::AtLeast(10.0) },
    Bar { what: "sessions-uniform", size: None, bound: Bound::AtLeast(20.0) },
    Bar { what: "sessions-skewed", size: None, bound: Bound::AtLeast(20.0) },
    Bar { what: "staleness-uniform", size: None, bound: Bound::AtLeast(20.0) },
    Bar { what: "staleness-skewed", size: None, bound: Bound::AtLeast(20.0) },
    Bar { what: "judge/list-append", size: Some("1000000"), bound: Bound::AtLeast(0.3) },
    Bar { what: "judge/list-append-late", size: Some("1000000"), bound: Bound::AtLeast(0.3) },
    Bar { what: "fjall-get-ratio", size: None, bound: Bound::AtLeast(0.9) },
    Bar { what: "fjall-put-ratio", size: None, bound: Bound::AtLeast(0.9) },
    Bar { what: "history on disk", size: None, bound: Bound::AtMost(16.0) },
];

/// The bar of a figure, if there is one.
pub fn bar(figure: &Figure) -> Option<&'static Bar> {
    BARS.iter().find(|bar| {
        // `closed loop, null` covers `closed loop, null, ycsb-a`; `evaluate/a` not
        // `evaluate/a-memory`.
        let rest = figure.what.strip_prefix(bar.what);
        let is_named = rest.is_some_and(|rest| rest.is_empty() || rest.starts_with([',', ' ']));
        is_named && bar.size.is_none_or(|size| size == figure.size)
    })
}

impl Bar {
    /// The bound as a figure of the same unit, with the sign before it.
    pub fn show(&self, show: impl Fn(f64) -> String) -> String {
        match self.bound {
            Bound::AtLeast(value) => format!("≥ {}", show(value)),
            Bound::AtMost(value) => format!("≤ {}", show(value)),
        }
    }

    /// Whether the median reaches it.
    pub fn is_met(&self, median: f64) -> bool {
        match self.bound {
            Bound::AtLeast(value) => median >= value,
            Bound::AtMost(value) => median <= value,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figure(what: &str, size: &str, median: f64) -> Figure {
        Figure {
            what: what.into(),
            size: size.into(),
            unit: "ns".into(),
            median,
            min: median,
            max: median,
            runs: 1,
        }
    }

    #[test]
    fn a_bar_applies_to_one_name_at_one_size() {
        assert!(bar(&figure("closed loop, null, ycsb-a", "5M", 0.0)).is_some());
        assert!(bar(&figure("open loop, null, lag p99", "1M/s", 0.0)).is_some());
        assert!(bar(&figure("open loop, null, lag p99", "100k/s", 0.0)).is_none());
        assert!(bar(&figure("something else", "1", 0.0)).is_none());
        assert!(bar(&figure("analyze/ycsb-a", "1000000", 0.0)).is_some());
        assert!(bar(&figure("analyze/ycsb-a-memory", "1000000", 0.0)).is_none());
    }

    #[test]
    fn the_median_decides() {
        let met = |what: &str, size: &str, value: f64| {
            bar(&figure(what, size, value)).is_some_and(|bar| bar.is_met(value))
        };
        assert!(met("closed loop, null, ycsb-a", "5M", 6e6));
        assert!(!met("closed loop, null, ycsb-a", "5M", 5.9e6));
        assert!(met("open loop, null, lag p99", "1M/s", 20_000.0));
        assert!(!met("open loop, null, lag p99", "1M/s", 20_001.0));
    }
}

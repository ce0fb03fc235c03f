//! The numbers that the hallmark's checks hold a run against.

macro_rules! thresholds {
    ($($(#[$doc:meta])* $name:ident = $default:literal,)*) => {
        /// All thresholds of the hallmark, by the names that a scenario may change them with.
        #[derive(Clone, Debug, PartialEq)]
        pub struct Thresholds { $($(#[$doc])* pub $name: f64,)* }

        impl Default for Thresholds {
            fn default() -> Thresholds {
                Thresholds { $($name: $default,)* }
            }
        }

        impl Thresholds {
            /// All names, in the order of the checks.
            pub const NAMES: &'static [&'static str] = &[$(stringify!($name),)*];

            /// The threshold called `name`, if there is one.
            pub fn get(&self, name: &str) -> Option<f64> {
                match name { $(stringify!($name) => Some(self.$name),)* _ => None }
            }

            /// Changes the threshold called `name`; false if there is none, or if `value` is no
            /// finite number from 0 on.
            pub fn set(&mut self, name: &str, value: f64) -> bool {
                if !value.is_finite() || value < 0.0 {
                    return false;
                }
                match name {
                    $(stringify!($name) => self.$name = value,)*
                    _ => return false,
                }
                true
            }
        }
    };
}

thresholds! {
    /// A1: |sent / promised − 1| up to which the rate passes.
    rate_error_pass = 0.01,
    /// A1: beyond this it fails.
    rate_error_fail = 0.05,
    /// A1: standard deviations that the count of one second may be off.
    rate_second_sigmas = 3.0,
    /// A2: lag by response time, percentile by percentile, up to which lag passes.
    lag_share_pass = 0.1,
    /// A2: beyond this the percentile is withdrawn.
    lag_share_fail = 0.25,
    /// A3: share of dropped arrivals up to which omission passes.
    dropped_pass = 0.0,
    /// A3: beyond this it fails.
    dropped_fail = 0.001,
    /// A4: Kolmogorov–Smirnov distance up to which gaps pass, beside chance.
    gap_distance_pass = 0.02,
    /// A4: beyond this they fail.
    gap_distance_fail = 0.05,
    /// A4: part of the median response time by which a request may be early or late unnoticed.
    gap_tolerance = 0.1,
    /// A4: distance of the index of dispersion that passes, beside chance.
    dispersion_pass = 0.02,
    /// A4: beyond this it fails.
    dispersion_fail = 0.2,
    /// A6: |correlation| of in flight with the next gap up to which the loop counts as open.
    correlation_pass = 0.05,
    /// A6: beyond this it does not.
    correlation_fail = 0.2,
    /// B1: useful share of the busiest worker up to which it passes.
    worker_busy_pass = 0.7,
    /// B1: beyond this it fails.
    worker_busy_fail = 0.9,
    /// B1: share of a worker's time spent waiting for a processor that passes.
    worker_waited_pass = 0.02,
    /// B1: beyond this it fails.
    worker_waited_fail = 0.05,
    /// B1: stolen share of the processors' time that passes.
    steal_pass = 0.01,
    /// B1: beyond this it fails.
    steal_fail = 0.05,
    /// B1: share of the time for which a quota may hold the process back.
    throttled_pass = 0.0,
    /// B1: beyond this it fails.
    throttled_fail = 0.01,
    /// B2: part of a percentile that hiccups may make, and 99.9th percentile of hiccups by that of
    /// response time, up to which it passes.
    hiccup_pass = 0.1,
    /// B2: beyond this the percentile is withdrawn, with those beyond it.
    hiccup_fail = 0.25,
    /// B4: share of segments sent again that passes.
    retransmits_pass = 0.001,
    /// B4: beyond this it fails.
    retransmits_fail = 0.01,
    /// B5: how many times the noise floor a percentile must be.
    floor_multiple = 3.0,
    /// B6: gain by another agent up to which the throughput is the store's.
    gain_pass = 0.03,
    /// B7: distance of the miss share from the expected one that passes.
    miss_share_pass = 0.01,
    /// B7: beyond this it fails.
    miss_share_fail = 0.05,
    /// B7: |bytes per read / expected − 1| that passes.
    bytes_pass = 0.05,
    /// B7: beyond this it fails.
    bytes_fail = 0.2,
    /// C1: share of the window that may be cut off as warm-up.
    warm_up_share_fail = 0.5,
    /// C1: how far figures may move when it is left out.
    warm_up_effect_pass = 0.02,
    /// C1: beyond this it fails.
    warm_up_effect_fail = 0.05,
    /// C1, C2: probability below which a difference is not called chance.
    change_probability = 0.001,
    /// C2: relative size from which a change counts.
    change_size = 0.05,
    /// C2: seconds around an event in which a change is explained by it.
    event_reach_seconds = 3.0,
    /// C3: drift over the window, by the level, that passes.
    drift_pass = 0.05,
    /// C4: periods of the strongest oscillation that a window must hold.
    periods_pass = 5.0,
    /// C4: autocorrelation from which an oscillation counts.
    period_correlation = 0.3,
    /// C5: growth of operations in flight over the window, by their mean, that passes.
    backlog_pass = 0.25,
    /// C5: beyond this it fails.
    backlog_fail = 0.8,
    /// C6: seconds that a window must last.
    length_fail = 10.0,
    /// C6: independent values beyond a percentile from which it passes.
    beyond_pass = 30.0,
    /// C6: with fewer it is withdrawn.
    beyond_fail = 10.0,
}

/// A threshold that is not what it usually is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Changed {
    /// Its name.
    pub name: &'static str,
    /// What it is.
    pub value: f64,
    /// What it usually is.
    pub usual: f64,
}

impl Thresholds {
    /// Those that differ from the defaults, in the order of the checks.
    pub fn changed(&self) -> Vec<Changed> {
        let usual = Thresholds::default();
        let pair = |&name: &&'static str| {
            let (value, usual) = (self.get(name)?, usual.get(name)?);
            (value != usual).then_some(Changed { name, value, usual })
        };
        Thresholds::NAMES.iter().filter_map(pair).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changed_threshold_is_reported() {
        let mut thresholds = Thresholds::default();
        assert_eq!(thresholds.changed(), []);
        assert!(thresholds.set("lag_share_fail", 0.5));
        assert_eq!(thresholds.get("lag_share_fail"), Some(0.5));
        let changed = Changed { name: "lag_share_fail", value: 0.5, usual: 0.25 };
        assert_eq!(thresholds.changed(), [changed]);
    }

    #[test]
    fn names_that_are_none_and_values_that_are_invalid_are_refused() {
        let mut thresholds = Thresholds::default();
        assert!(!thresholds.set("lag", 0.5));
        assert!(!thresholds.set("lag_share_fail", f64::NAN));
        assert!(!thresholds.set("lag_share_fail", -1.0));
        assert_eq!(thresholds, Thresholds::default());
    }
}

//! Early end of a step whose backlog has decided it.

use assay_model::Nanos;

/// A backlog of this many times rate × limit makes every new arrival wait beyond the limit.
const BEYOND: f64 = 2.0;

/// How many times the share that may be over the limit must have come during such a backlog.
const SURELY: f64 = 2.0;

/// Counts come a few times a second, so a shorter backlog cannot be distinguished from a fresh one.
const SHORTEST: Nanos = Nanos::from_secs(1);

/// A watch over the backlog of a step.
///
/// While more than 2 · λ · limit operations wait, every new arrival completes after the limit,
/// if answers come in about the order of the questions. Once that has lasted for twice the share of
/// the step that the objective leaves over the limit, no good rest can save it.
#[derive(Clone, Debug)]
pub struct Overload {
    backlog: f64,
    lasting: Nanos,
    since: Option<Nanos>,
}

impl Overload {
    /// A watch over a step of `duration` at `rate`, for a limit beyond which a share of `allowed`
    /// may be.
    pub fn new(rate: f64, duration: Nanos, limit: Nanos, allowed: f64) -> Overload {
        let lasting = Nanos((duration.0 as f64 * allowed * SURELY) as u64).max(SHORTEST);
        Overload { backlog: BEYOND * rate * limit.as_secs_f64(), lasting, since: None }
    }

    /// Whether the step has failed; `waiting` operations were due and had not ended at
    /// `now`. `unsure` of them may have ended unseen.
    pub fn look(&mut self, now: Nanos, waiting: f64, unsure: f64) -> bool {
        if waiting - unsure <= self.backlog {
            self.since = None;
            return false;
        }
        let since = *self.since.get_or_insert(now);
        now.since(since) >= self.lasting
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Seconds after which a step of 60 s at 1000/s with p99 < 20 ms is given up, where `waiting`
    /// operations wait at each second.
    fn given_up(waiting: impl Fn(u64) -> f64) -> Option<u64> {
        let mut watch = Overload::new(1_000.0, Nanos::from_secs(60), Nanos::from_millis(20), 0.01);
        (0..60).find(|&second| watch.look(Nanos::from_secs(second), waiting(second), 0.0))
    }

    #[test]
    fn a_backlog_that_stays_ends_the_step() {
        // 2 · 1000/s · 20 ms = 40 waiting, for 2 · 1 % of 60 s.
        assert_eq!(given_up(|second| second as f64 * 10.0), Some(7));
        assert_eq!(given_up(|_| 41.0), Some(2));
    }

    #[test]
    fn a_backlog_that_is_allowed_or_goes_away_does_not() {
        assert_eq!(given_up(|_| 40.0), None);
        assert_eq!(given_up(|second| if second % 2 == 0 { 1e6 } else { 0.0 }), None);
    }

    #[test]
    fn what_may_have_ended_unseen_does_not_count() {
        let mut watch = Overload::new(1_000.0, Nanos::from_secs(10), Nanos::from_millis(20), 0.01);
        assert!(!watch.look(Nanos::ZERO, 100.0, 60.0));
        assert!(!watch.look(Nanos::from_secs(1), 101.0, 60.0));
        assert!(watch.look(Nanos::from_secs(2), 101.0, 60.0));
    }
}

//! Live figures of an agent, as messages carry them: counts and histograms of a short time.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// What has happened at an agent since it was told last.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LiveFigures {
    /// Operations issued or dropped.
    pub offered: u64,
    /// Processes that ended.
    pub processes: u64,
    /// Operations by kind, then by the code of their outcome.
    pub outcomes: Vec<[u64; 4]>,
    /// Done, but nothing was found, by kind.
    pub missed: Vec<u64>,
    /// The worst lag, in nanoseconds.
    pub lag_max_ns: u64,
    /// Response times by kind.
    pub response: Vec<LiveTimes>,
    /// Service times by kind.
    pub service: Vec<LiveTimes>,
}

/// Times in nanoseconds, counted in the buckets of the live counters.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LiveTimes {
    /// Their sum.
    pub sum_ns: u64,
    /// The least; meaningless without any.
    pub min_ns: u64,
    /// The greatest.
    pub max_ns: u64,
    /// How many are in each bucket that has some.
    pub buckets: BTreeMap<u32, u64>,
}

impl LiveFigures {
    /// Adds what happened afterwards.
    pub fn add(&mut self, other: &LiveFigures) {
        self.offered += other.offered;
        self.processes += other.processes;
        self.lag_max_ns = self.lag_max_ns.max(other.lag_max_ns);
        each(&mut self.outcomes, &other.outcomes, |mine, others| {
            mine.iter_mut().zip(others).for_each(|(mine, others)| *mine += others);
        });
        each(&mut self.missed, &other.missed, |mine, others| *mine += others);
        each(&mut self.response, &other.response, LiveTimes::add);
        each(&mut self.service, &other.service, LiveTimes::add);
    }
}

impl LiveTimes {
    /// How many there are.
    pub fn count(&self) -> u64 {
        self.buckets.values().sum()
    }

    fn add(&mut self, other: &LiveTimes) {
        if other.buckets.is_empty() {
            return;
        }
        let is_first = self.buckets.is_empty();
        self.min_ns = if is_first { other.min_ns } else { self.min_ns.min(other.min_ns) };
        self.max_ns = self.max_ns.max(other.max_ns);
        self.sum_ns = self.sum_ns.saturating_add(other.sum_ns);
        for (bucket, count) in &other.buckets {
            *self.buckets.entry(*bucket).or_default() += count;
        }
    }
}

/// Adds each of `others` to its place in `mine`, which is made as long.
fn each<T: Clone + Default>(mine: &mut Vec<T>, others: &[T], add: impl Fn(&mut T, &T)) {
    if mine.len() < others.len() {
        mine.resize(others.len(), T::default());
    }
    mine.iter_mut().zip(others).for_each(|(mine, other)| add(mine, other));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_of_two_times_add_up() {
        let histogram = |min_ns, max_ns, bucket| LiveTimes {
            sum_ns: min_ns + max_ns,
            min_ns,
            max_ns,
            buckets: [(bucket, 1), (bucket + 1, 1)].into(),
        };
        let one = LiveFigures {
            offered: 2,
            processes: 1,
            outcomes: vec![[2, 0, 0, 0]],
            missed: vec![1],
            lag_max_ns: 7,
            response: vec![histogram(10, 20, 3)],
            service: Vec::new(),
        };
        let mut both = LiveFigures::default();
        both.add(&one);
        assert_eq!(both, one);
        both.add(&LiveFigures {
            response: vec![histogram(5, 30, 4)],
            lag_max_ns: 3,
            ..one.clone()
        });
        assert_eq!((both.offered, both.outcomes[0][0], both.lag_max_ns), (4, 4, 7));
        let response = &both.response[0];
        assert_eq!((response.min_ns, response.max_ns, response.sum_ns), (5, 30, 65));
        assert_eq!(response.count(), 4);
        assert_eq!(response.buckets, [(3, 1), (4, 2), (5, 1)].into());
    }

    #[test]
    fn a_message_carries_them() {
        let figures = LiveFigures {
            response: vec![LiveTimes { buckets: [(17, 4)].into(), ..LiveTimes::default() }],
            ..LiveFigures::default()
        };
        let text = serde_json::to_string(&figures).unwrap();
        assert_eq!(serde_json::from_str::<LiveFigures>(&text).unwrap(), figures);
    }
}

//! The figures of the last stretch of a run, beside the counts since its beginning.

use assay_model::{Kind, Nanos, Outcome};
use assay_run::{Latencies, WorkerStats};

use crate::progress::ProgressSnapshot;

/// Kinds of operations.
pub const KINDS: usize = Kind::ALL.len();

/// Counts since the beginning.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Operations by kind, then by the code of their outcome.
    pub outcomes: [[u64; 4]; KINDS],
    /// Done, but nothing was found, by kind.
    pub missed: [u64; KINDS],
    /// Operations issued or dropped.
    pub offered: u64,
    /// Processes that ended.
    pub processes: u64,
}

/// What happened in one stretch of time.
#[derive(Clone, Debug, PartialEq)]
pub struct LiveInterval {
    /// When it ended, on the run's time axis.
    pub until: Nanos,
    /// How long it was.
    pub length: Nanos,
    /// Processes in flight at its end.
    pub in_flight: u64,
    /// Arrivals per second that the load model intended; open load only.
    pub intended_per_s: Option<f64>,
    /// Operations per second: those that the intended arrivals stand for where the load is open,
    /// else those that were issued.
    pub offered_per_s: f64,
    /// Operations done per second.
    pub achieved_per_s: f64,
    /// Operations refused or unknown.
    pub failed: u64,
    /// Operations dropped.
    pub dropped: u64,
    /// Operations done that found nothing.
    pub missed: u64,
    /// The worst lag.
    pub lag_max: Nanos,
    /// The mean lag of what was done, where response and service are known.
    pub lag_mean: Option<Nanos>,
    /// Ended − intended of what was done.
    pub response: Option<Quantiles>,
    /// Ended − started of what was done.
    pub service: Option<Quantiles>,
    /// The same kind by kind.
    pub kinds: [KindQuantiles; KINDS],
}

/// Latencies of one kind of operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KindQuantiles {
    /// Ended − intended of what was done.
    pub response: Option<Quantiles>,
    /// Ended − started of what was done.
    pub service: Option<Quantiles>,
}

/// A few quantiles of some latencies, each at the upper end of its bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quantiles {
    /// Half of them were not above it.
    pub p50: Nanos,
    /// 99 of 100 were not above it.
    pub p99: Nanos,
    /// 999 of 1000 were not above it.
    pub p999: Nanos,
    /// The greatest.
    pub max: Nanos,
}

/// Gathers snapshots until an interval is full.
pub struct IntervalCollector {
    every: Nanos,
    from: Nanos,
    stats: WorkerStats,
    totals: Totals,
}

impl Totals {
    /// Adds what is fresh.
    pub fn add(&mut self, fresh: &WorkerStats) {
        let mine = self.outcomes.iter_mut().flatten();
        for (mine, fresh) in mine.zip(fresh.outcomes.as_flattened()) {
            *mine += fresh;
        }
        for (mine, fresh) in self.missed.iter_mut().zip(&fresh.missed) {
            *mine += fresh;
        }
        self.offered += fresh.offered;
        self.processes += fresh.processes;
    }

    /// Operations of all kinds with this outcome.
    pub fn with(&self, outcome: Outcome) -> u64 {
        self.outcomes.iter().map(|counts| counts[outcome as usize]).sum()
    }

    /// Operations of all kinds that have ended or were dropped.
    pub fn ended(&self) -> u64 {
        self.outcomes.as_flattened().iter().sum()
    }

    /// Operations of all kinds that found nothing.
    pub fn missed(&self) -> u64 {
        self.missed.iter().sum()
    }

    /// Operations per process so far; 1 while unknown.
    pub fn width(&self) -> f64 {
        match self.processes {
            0 => 1.0,
            processes => self.ended() as f64 / processes as f64,
        }
    }
}

impl Quantiles {
    /// Of these latencies, if there are any.
    pub fn of(latencies: &Latencies) -> Option<Quantiles> {
        (latencies.count > 0).then(|| Quantiles {
            p50: latencies.quantile(0.5),
            p99: latencies.quantile(0.99),
            p999: latencies.quantile(0.999),
            max: Nanos(latencies.max),
        })
    }
}

impl IntervalCollector {
    /// Gathers intervals that last `every`, or a little longer.
    pub fn new(every: Nanos) -> IntervalCollector {
        IntervalCollector {
            every,
            from: Nanos::ZERO,
            stats: WorkerStats::default(),
            totals: Totals::default(),
        }
    }

    /// Counts since the beginning.
    pub fn totals(&self) -> &Totals {
        &self.totals
    }

    /// Adds `progress_snapshot`; returns the interval if that has filled one.
    pub fn add(&mut self, progress_snapshot: &ProgressSnapshot<'_>) -> Option<LiveInterval> {
        self.totals.add(progress_snapshot.stats);
        self.stats.add(progress_snapshot.stats);
        let length = progress_snapshot.at.since(self.from);
        if length < self.every {
            return None;
        }
        let interval = self.interval(progress_snapshot, length);
        self.stats.clear();
        self.from = progress_snapshot.at;
        Some(interval)
    }

    fn interval(&self, progress_snapshot: &ProgressSnapshot<'_>, length: Nanos) -> LiveInterval {
        let stats = &self.stats;
        let per_s = |count: u64| count as f64 / length.as_secs_f64();
        let intended = progress_snapshot
            .rate_profile
            .map(|rate_profile| rate_profile.mean_rate(self.from, progress_snapshot.at));
        let response = Latencies::merged(&stats.response);
        let service = Latencies::merged(&stats.service);
        let has_both = response.count > 0 && service.count > 0;
        LiveInterval {
            until: progress_snapshot.at,
            length,
            in_flight: progress_snapshot.in_flight,
            intended_per_s: intended,
            offered_per_s: match intended {
                Some(arrivals) => arrivals * self.totals.width(),
                None => per_s(stats.offered),
            },
            achieved_per_s: per_s(stats.with(Outcome::Done)),
            failed: stats.failed(),
            dropped: stats.with(Outcome::Dropped),
            missed: stats.missed(),
            lag_max: stats.lag_max,
            lag_mean: has_both.then(|| response.mean().since(service.mean())),
            response: Quantiles::of(&response),
            service: Quantiles::of(&service),
            kinds: std::array::from_fn(|kind| KindQuantiles {
                response: Quantiles::of(&stats.response[kind]),
                service: Quantiles::of(&stats.service[kind]),
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use assay_run::arrival::RateProfile;

    use super::*;

    fn stats(done: u64, service_us: u64, lag_us: u64) -> WorkerStats {
        let mut stats =
            WorkerStats { offered: done, processes: done / 2, ..WorkerStats::default() };
        stats.outcomes[Kind::Read as usize][Outcome::Done as usize] = done;
        for _ in 0..done {
            stats.service[0].record(Nanos::from_micros(service_us));
            stats.response[0].record(Nanos::from_micros(service_us + lag_us));
        }
        stats.lag_max = Nanos::from_micros(lag_us);
        stats
    }

    fn progress_snapshot<'a>(
        ms: u64,
        stats: &'a WorkerStats,
        rate_profile: Option<&'a RateProfile>,
    ) -> ProgressSnapshot<'a> {
        let at = Nanos::from_millis(ms);
        ProgressSnapshot {
            at,
            elapsed: at,
            in_flight: 3,
            stats,
            rate_profile,
            is_ending: false,
            agents: &[],
        }
    }

    #[test]
    fn an_interval_is_made_of_the_snapshots_in_it() {
        let rate_profile = RateProfile::constant(1000.0);
        let open = Some(&rate_profile);
        let mut gathering = IntervalCollector::new(Nanos::from_secs(1));
        assert_eq!(gathering.add(&progress_snapshot(500, &stats(400, 100, 20), open)), None);
        let interval = gathering.add(&progress_snapshot(1000, &stats(600, 100, 10), open)).unwrap();
        assert_eq!(interval.length, Nanos::from_secs(1));
        assert_eq!(interval.intended_per_s, Some(1000.0));
        assert_eq!(interval.offered_per_s, 2000.0, "two operations to a process");
        assert_eq!(interval.achieved_per_s, 1000.0);
        assert_eq!(interval.lag_max, Nanos::from_micros(20));
        assert_eq!(interval.lag_mean, Some(Nanos::from_micros(14)));
        assert_eq!(interval.service.unwrap().max, Nanos::from_micros(100));
        assert_eq!(interval.response.unwrap().max, Nanos::from_micros(120));
        let idle = gathering.add(&progress_snapshot(2000, &WorkerStats::default(), open)).unwrap();
        assert_eq!((idle.achieved_per_s, idle.response, idle.lag_mean), (0.0, None, None));
        assert_eq!(gathering.totals().with(Outcome::Done), 1000);
    }

    #[test]
    fn the_offered_rate_of_a_closed_load_is_the_issued_one() {
        let mut gathering = IntervalCollector::new(Nanos::from_secs(1));
        let interval = gathering.add(&progress_snapshot(2000, &stats(500, 9, 0), None)).unwrap();
        assert_eq!((interval.intended_per_s, interval.offered_per_s), (None, 250.0));
    }
}

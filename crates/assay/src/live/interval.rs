//! The figures of the last stretch of a run, beside the counts since its beginning.

use assay_model::{Kind, Nanos, Outcome};
use assay_run::{Latencies, Tally};

use crate::progress::Glance;

/// Kinds of operations.
pub const KINDS: usize = Kind::ALL.len();

/// Counts since the beginning.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Operations by kind, then by the code of their outcome.
    pub outcomes: [[u64; 4]; KINDS],
    /// Done, but nothing was found, by kind.
    pub missed: [u64; KINDS],
    /// Operations asked or dropped.
    pub offered: u64,
    /// Processes that ended.
    pub processes: u64,
}

/// What happened in one stretch of time.
#[derive(Clone, Debug, PartialEq)]
pub struct Interval {
    /// When it ended, on the run's time axis.
    pub until: Nanos,
    /// How long it was.
    pub length: Nanos,
    /// Processes in flight at its end.
    pub in_flight: u64,
    /// Arrivals per second that the load model intended; open load only.
    pub intended_per_s: Option<f64>,
    /// Operations per second: those that the intended arrivals stand for where the load is open,
    /// else those that were asked.
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

/// Gathers glances until an interval is full.
pub struct Gathering {
    every: Nanos,
    from: Nanos,
    tally: Tally,
    totals: Totals,
}

impl Totals {
    /// Adds what is fresh.
    pub fn add(&mut self, fresh: &Tally) {
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

    /// Operations per process so far; 1 as long as nobody knows better.
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

impl Gathering {
    /// Gathers intervals that last `every`, or a little longer.
    pub fn new(every: Nanos) -> Gathering {
        Gathering { every, from: Nanos::ZERO, tally: Tally::default(), totals: Totals::default() }
    }

    /// Counts since the beginning.
    pub fn totals(&self) -> &Totals {
        &self.totals
    }

    /// Adds what `glance` saw; gives the interval if that has filled one.
    pub fn add(&mut self, glance: &Glance<'_>) -> Option<Interval> {
        self.totals.add(glance.tally);
        self.tally.add(glance.tally);
        let length = glance.at.since(self.from);
        if length < self.every {
            return None;
        }
        let interval = self.interval(glance, length);
        self.tally.clear();
        self.from = glance.at;
        Some(interval)
    }

    fn interval(&self, glance: &Glance<'_>, length: Nanos) -> Interval {
        let tally = &self.tally;
        let per_s = |count: u64| count as f64 / length.as_secs_f64();
        let intended = glance.shape.map(|shape| shape.mean_rate(self.from, glance.at));
        let response = Latencies::merged(&tally.response);
        let service = Latencies::merged(&tally.service);
        let has_both = response.count > 0 && service.count > 0;
        Interval {
            until: glance.at,
            length,
            in_flight: glance.in_flight,
            intended_per_s: intended,
            offered_per_s: match intended {
                Some(arrivals) => arrivals * self.totals.width(),
                None => per_s(tally.offered),
            },
            achieved_per_s: per_s(tally.with(Outcome::Done)),
            failed: tally.failed(),
            dropped: tally.with(Outcome::Dropped),
            missed: tally.missed(),
            lag_max: tally.lag_max,
            lag_mean: has_both.then(|| response.mean().since(service.mean())),
            response: Quantiles::of(&response),
            service: Quantiles::of(&service),
            kinds: std::array::from_fn(|kind| KindQuantiles {
                response: Quantiles::of(&tally.response[kind]),
                service: Quantiles::of(&tally.service[kind]),
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use assay_run::arrival::Shape;

    use super::*;

    fn tally(done: u64, service_us: u64, lag_us: u64) -> Tally {
        let mut tally = Tally { offered: done, processes: done / 2, ..Tally::default() };
        tally.outcomes[Kind::Read as usize][Outcome::Done as usize] = done;
        for _ in 0..done {
            tally.service[0].record(Nanos::from_micros(service_us));
            tally.response[0].record(Nanos::from_micros(service_us + lag_us));
        }
        tally.lag_max = Nanos::from_micros(lag_us);
        tally
    }

    fn glance<'a>(ms: u64, tally: &'a Tally, shape: Option<&'a Shape>) -> Glance<'a> {
        let at = Nanos::from_millis(ms);
        Glance { at, elapsed: at, in_flight: 3, tally, shape, is_ending: false }
    }

    #[test]
    fn an_interval_is_made_of_the_glances_in_it() {
        let shape = Shape::constant(1000.0);
        let open = Some(&shape);
        let mut gathering = Gathering::new(Nanos::from_secs(1));
        assert_eq!(gathering.add(&glance(500, &tally(400, 100, 20), open)), None);
        let interval = gathering.add(&glance(1000, &tally(600, 100, 10), open)).unwrap();
        assert_eq!(interval.length, Nanos::from_secs(1));
        assert_eq!(interval.intended_per_s, Some(1000.0));
        assert_eq!(interval.offered_per_s, 2000.0, "two operations to a process");
        assert_eq!(interval.achieved_per_s, 1000.0);
        assert_eq!(interval.lag_max, Nanos::from_micros(20));
        assert_eq!(interval.lag_mean, Some(Nanos::from_micros(14)));
        assert_eq!(interval.service.unwrap().max, Nanos::from_micros(100));
        assert_eq!(interval.response.unwrap().max, Nanos::from_micros(120));
        let idle = gathering.add(&glance(2000, &Tally::default(), open)).unwrap();
        assert_eq!((idle.achieved_per_s, idle.response, idle.lag_mean), (0.0, None, None));
        assert_eq!(gathering.totals().with(Outcome::Done), 1000);
    }

    #[test]
    fn a_closed_load_offers_what_it_asks() {
        let mut gathering = Gathering::new(Nanos::from_secs(1));
        let interval = gathering.add(&glance(2000, &tally(500, 9, 0), None)).unwrap();
        assert_eq!((interval.intended_per_s, interval.offered_per_s), (None, 250.0));
    }
}

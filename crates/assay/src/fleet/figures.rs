//! Live counters of an agent as messages carry them, and back.

use assay_fleet::{LiveFigures, LiveTimes};
use assay_model::Nanos;
use assay_run::{Latencies, WorkerStats};

/// What the live counters say, for a message.
pub fn figures(stats: &WorkerStats) -> LiveFigures {
    LiveFigures {
        offered: stats.offered,
        processes: stats.processes,
        outcomes: stats.outcomes.to_vec(),
        missed: stats.missed.to_vec(),
        lag_max_ns: stats.lag_max.0,
        response: stats.response.iter().map(histogram).collect(),
        service: stats.service.iter().map(histogram).collect(),
    }
}

/// Adds what a message says to the live counters.
pub fn add(figures: &LiveFigures, stats: &mut WorkerStats) {
    let mut told = WorkerStats {
        offered: figures.offered,
        processes: figures.processes,
        lag_max: Nanos(figures.lag_max_ns),
        ..WorkerStats::default()
    };
    told.outcomes.iter_mut().zip(&figures.outcomes).for_each(|(mine, told)| *mine = *told);
    told.missed.iter_mut().zip(&figures.missed).for_each(|(mine, told)| *mine = *told);
    told.response.iter_mut().zip(&figures.response).for_each(|(mine, told)| *mine = times(told));
    told.service.iter_mut().zip(&figures.service).for_each(|(mine, told)| *mine = times(told));
    stats.add(&told);
}

fn histogram(latencies: &Latencies) -> LiveTimes {
    LiveTimes {
        sum_ns: u64::try_from(latencies.sum).unwrap_or(u64::MAX),
        min_ns: latencies.min,
        max_ns: latencies.max,
        buckets: latencies.buckets().collect(),
    }
}

fn times(histogram: &LiveTimes) -> Latencies {
    let LiveTimes { sum_ns, min_ns, max_ns, buckets } = histogram;
    let buckets = buckets.iter().map(|(number, count)| (*number, *count));
    Latencies::from_buckets(buckets, (u128::from(*sum_ns), *min_ns, *max_ns))
}

#[cfg(test)]
mod tests {
    use assay_model::{Kind, Outcome};

    use super::*;

    #[test]
    fn counters_of_two_agents_add_up_on_the_other_side() {
        let mut stats = WorkerStats { offered: 3, processes: 2, ..WorkerStats::default() };
        stats.outcomes[Kind::Update as usize] = [2, 1, 0, 0];
        stats.missed[Kind::Read as usize] = 5;
        stats.lag_max = Nanos(70);
        stats.response[Kind::Update as usize].record(Nanos::from_micros(40));
        stats.service[Kind::Update as usize].record(Nanos::from_micros(30));
        let mut both = WorkerStats::default();
        (0..2).for_each(|_| add(&figures(&stats), &mut both));
        assert_eq!((both.offered, both.processes, both.lag_max), (6, 4, Nanos(70)));
        assert_eq!((both.with(Outcome::Done), both.failed(), both.missed()), (4, 2, 10));
        let response = &both.response[Kind::Update as usize];
        assert_eq!((response.count, response.mean()), (2, Nanos::from_micros(40)));
        assert_eq!(both.service[Kind::Update as usize].quantile(0.5), Nanos::from_micros(30));
        assert_eq!(both.response[Kind::Read as usize].count, 0);
    }
}

//! Noise floor: the run's own operations on the null store.
//!
//! A percentile of a run that is not well above the same percentile of this floor tells as much
//! about this program and this machine as about the store.

use std::collections::BTreeMap;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use assay_analysis::{Histogram, LONGEST};
use assay_history::manifest::FloorSection;
use assay_model::{Nanos, Phase, Record};
use assay_run::{
    ArrivalProcess, Arrivals, Control, Extent, Latency, LiveCounters, Load, Open, Overflow, Sink,
    Workers, execute,
};
use assay_store::null::Null;
use assay_store::{Calls, Store};

use crate::load_config::LoadConfig;

/// The default bound on the floor's duration.
const LONGEST_BY_ITSELF: Nanos = Nanos::from_secs(1);

/// More operations than this make no percentile that we show more certain.
const OPERATIONS_MAX: u64 = 500_000;

/// One worker reaches this rate against the null store; beyond it the floor would be a backlog.
const RATE_MAX_PER_WORKER: f64 = 250_000.0;

/// The warm-up is this part of the time, and at most this part of the operations: a fast store's
/// closed loop can be through with all of them before a tenth of the time is over.
const WARM_UP: u64 = 10;

/// The floor's percentiles, with the names they have in reports.
const PERCENTILES: [(f64, &str); 4] = [(0.5, "p50"), (0.9, "p90"), (0.99, "p99"), (0.999, "p99.9")];

/// With fewer values beyond a percentile than this it is left out.
const BEYOND: f64 = 3.0;

/// Latencies that are gathered before they are counted: about as many as the records which a run
/// gathers before it hands them over.
const GATHERED: usize = 4096;

/// Counts the latencies of one worker.
struct Counts {
    response: Histogram,
    service: Histogram,
    /// Response with service, not counted yet: a copy is cheap beside counting, as it is in a run.
    gathered: Vec<(Nanos, Nanos)>,
    /// How the store of the run answers.
    calls: Calls,
    /// Operations that may still be left out as warm-up.
    warm_up: u64,
}

impl Counts {
    fn new(calls: Calls, warm_up: u64) -> Counts {
        let [response, service] = [(); 2].map(|()| {
            Histogram::new_with_bounds(1, LONGEST.0, 3).expect("3 significant digits are allowed")
        });
        Counts { response, service, gathered: Vec::with_capacity(GATHERED), calls, warm_up }
    }
}

impl Sink for Counts {
    #[inline]
    fn push(&mut self, record: Record) {
        if record.phase != Phase::Measure && self.warm_up > 0 {
            self.warm_up -= 1;
            return;
        }
        self.gathered.push((record.response(), record.service()));
        if self.gathered.len() == GATHERED {
            self.flush();
        }
    }

    fn observe(&mut self, _value: assay_model::ObservedValue) {}

    #[cold]
    fn flush(&mut self) {
        for (response, service) in self.gathered.drain(..) {
            self.response.saturating_record(response.0);
            self.service.saturating_record(service.0);
        }
    }

    fn is_broken(&self) -> bool {
        false
    }

    /// Bursts only where the run has them too: the store of the floor always answers at once.
    fn room(&self) -> usize {
        if self.calls == Calls::Inline { GATHERED - self.gathered.len() } else { 0 }
    }

    fn stalls(&self) -> u64 {
        0
    }
}

/// The default duration of the floor: a tenth of the run if its length is known.
pub fn usual_length(load_config: &LoadConfig, planned: Option<u64>) -> Nanos {
    let by_time = load_config.extent.duration.map(|duration| duration + load_config.extent.warm_up);
    let rate = match &load_config.load {
        Load::Open(open) => Some(mean_rate(&open.arrivals, load_config.extent)),
        Load::Closed(closed) => closed.target_rate,
    };
    let processes = load_config.processes(planned);
    let by_number = processes.zip(rate).map(|(number, rate)| number as f64 / rate * 1e9);
    let by_number = by_number.map(|nanoseconds| Nanos(nanoseconds as u64));
    let run = by_time.unwrap_or(Nanos::NEVER).min(by_number.unwrap_or(Nanos::NEVER));
    Nanos(run.0 / 10).min(LONGEST_BY_ITSELF)
}

/// Runs the operations of `run` against a store that responds as `calls` says, for `length`; rates
/// are bounded by the capacity of a worker.
pub fn measure(
    run: Workers<'_>,
    length: Nanos,
    calls: Calls,
) -> Result<Option<FloorSection>, assay_run::ExecuteError> {
    measure_on(run, length, calls, &Null::new())
}

/// The same against `store`.
pub fn measure_on(
    run: Workers<'_>,
    length: Nanos,
    calls: Calls,
    store: &dyn Store,
) -> Result<Option<FloorSection>, assay_run::ExecuteError> {
    let warm_up = Nanos(length.0 / WARM_UP);
    let processes = run.extent.processes.unwrap_or(u64::MAX).min(OPERATIONS_MAX);
    let extent =
        Extent { processes: Some(processes), duration: Some(length.since(warm_up)), warm_up };
    let run = Workers { load: bounded(&run), extent, stop_at_failure: false, ..run };
    let workers = run.workers;
    let control = Control::new();
    let worker_counters: Vec<LiveCounters> =
        (0..workers).map(|_| LiveCounters::new(Latency::Response)).collect();
    let left_out = processes / WARM_UP / workers as u64;
    let sinks = (0..workers).map(|_| Counts::new(calls, left_out)).collect();
    let sinks = thread::scope(|scope| {
        let (is_over, over) = mpsc::channel::<()>();
        let control = &control;
        scope.spawn(move || {
            // A machine too slow for the bounded rate must not make the floor longer than planned.
            if over.recv_timeout(Duration::from(length) * 2).is_err() {
                control.abort();
            }
        });
        let requested = execute(&run, store, sinks, &worker_counters, control);
        drop(is_over);
        requested.map(|(_, sinks)| sinks)
    })?;
    Ok(section(&run, &sinks))
}

/// The load model with a rate that the workers can reach without a store.
fn bounded(run: &Workers<'_>) -> Load {
    match &run.load {
        Load::Open(open) => {
            let process = match &open.arrivals.process {
                // Its moments are the run's own: here only how fast they come on average counts.
                ArrivalProcess::Recorded(_) => ArrivalProcess::Poisson,
                process => process.clone(),
            };
            let rate = mean_rate(&open.arrivals, run.extent);
            let rate = rate.min(RATE_MAX_PER_WORKER * run.workers as f64);
            let arrivals = Arrivals::constant_rate(rate, process);
            Load::Open(Open { arrivals, overflow: Overflow::Queue, ..open.clone() })
        }
        closed @ Load::Closed(_) => closed.clone(),
    }
}

/// Arrivals per second over the whole run, or at its beginning where it has no known end.
fn mean_rate(arrivals: &Arrivals, extent: Extent) -> f64 {
    let end = arrivals.rate_profile.end().unwrap_or(Nanos::NEVER).min(extent.end());
    match end {
        Nanos::NEVER => arrivals.rate_profile.rate(Nanos::ZERO),
        end => arrivals.rate_profile.mean_rate(Nanos::ZERO, end),
    }
}

fn section(run: &Workers<'_>, sinks: &[Counts]) -> Option<FloorSection> {
    let (first, others) = sinks.split_first()?;
    let (mut response, mut service) = (first.response.clone(), first.service.clone());
    for sink in others {
        response += &sink.response;
        service += &sink.service;
    }
    (!response.is_empty()).then(|| FloorSection {
        duration_ns: run.extent.end().0,
        operations: response.len(),
        rate_per_s: match &run.load {
            Load::Open(open) => open.arrivals.rate_profile.constant_rate(),
            Load::Closed(_) => None,
        },
        response_ns: percentiles(&response),
        service_ns: percentiles(&service),
    })
}

fn percentiles(values: &Histogram) -> BTreeMap<String, u64> {
    PERCENTILES
        .into_iter()
        .filter(|(quantile, _)| values.len() as f64 * (1.0 - quantile) >= BEYOND)
        .map(|(quantile, name)| (name.to_owned(), values.value_at_quantile(quantile)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn at_most_a_tenth_of_the_operations_is_warm_up() {
        let mut counts = Counts::new(Calls::Inline, 2);
        for phase in [Phase::WarmUp, Phase::WarmUp, Phase::WarmUp, Phase::Measure] {
            counts.push(Record { phase, ..Record::BLANK });
        }
        assert_eq!(counts.gathered.len(), 2);
    }

    #[test]
    fn percentiles_with_too_few_values_are_left_out() {
        let mut values = Histogram::new(3).unwrap();
        (1..=400).for_each(|value| values.record(value * 1000).unwrap());
        let found = percentiles(&values);
        assert_eq!(found.keys().collect::<Vec<_>>(), ["p50", "p90", "p99"]);
        assert!((199_900..200_300).contains(&found["p50"]), "{found:?}");
    }
}

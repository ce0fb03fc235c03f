//! Reads numbers of servers during a run: Prometheus endpoints, and the store's own.
//!
//! A thread for each, because an answer may take long. A reading that fails is counted and told
//! after the run; it ends nothing.

mod http;
mod prometheus;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use anyhow::Result;
use assay_analysis::scraped::{SOURCE, is_chosen};
use assay_history::Observation;
use assay_model::Nanos;
use assay_run::{Clock, Control, Wall};
use assay_store::{ServerReading, Store};

use crate::actions::begun;
use crate::exit::{Exit, Failure, from_open, usage};
use crate::options::{Options, SettingText};
use http::Endpoint;

/// The word for the store itself.
const STORE: &str = "store";
/// How often, unless told.
const EVERY: Nanos = Nanos::from_secs(1);
/// No two readings are closer than this.
const LEAST_EVERY: Nanos = Nanos::from_millis(100);
/// How long the thread that waits for the next reading sleeps at a time.
const NAP: Nanos = Nanos::from_millis(50);
/// Numbers of one reading that are kept.
const MOST_NUMBERS: usize = 2000;
/// Numbers of one target that are kept in all; when there are more, every second reading goes.
const MOST_KEPT: usize = 500_000;

/// What is read, and how often.
pub struct Scraper {
    targets: Vec<Target>,
    every: Nanos,
    /// Whether all numbers are kept, not only those that a report shows.
    takes_all: bool,
}

enum Target {
    Endpoint(Endpoint),
    Store(Arc<dyn Store>),
}

/// What was read during a run.
#[derive(Debug, Default, PartialEq)]
pub struct Scraped {
    /// The numbers, in order of time for each target.
    pub observations: Vec<Observation>,
    /// Readings that failed, a sentence for each target.
    pub failures: Vec<String>,
}

impl Scraper {
    /// Reads everything once that `options` name; `None` if they name nothing.
    pub fn open(options: &Options, store: &Arc<dyn Store>) -> Result<Option<Scraper>> {
        let every = options.scrape_every.get().unwrap_or(EVERY);
        if every < LEAST_EVERY {
            let reason = "give at least 100ms: a reading is no measurement";
            return Err(options.scrape_every.wrong(reason));
        }
        let takes_all = options.scrape_all.is_on();
        let Some(text) = options.scrape.text() else {
            let lonely: [&SettingText; 2] = [&options.scrape_all, &options.scrape_every];
            return match lonely.into_iter().find(|setting| setting.is_given()) {
                Some(setting) => Err(setting.wrong(
                    "it needs something to read: --scrape http://HOST:PORT/metrics, or --scrape \
                     store",
                )),
                None => Ok(None),
            };
        };
        let names = text.split(';').map(str::trim).filter(|name| !name.is_empty());
        let targets = names.map(|name| Target::open(name, store)).collect::<Result<_>>()?;
        Ok(Some(Scraper { targets, every, takes_all }))
    }

    /// Reads all targets until the flag is up. Nothing is read if the run never begins.
    pub fn watch(&self, control: &Control, is_over: &AtomicBool) -> Scraped {
        let Some(clock) = begun(control, is_over) else { return Scraped::default() };
        let clock = &clock;
        let series = thread::scope(|scope| {
            let threads: Vec<_> = self
                .targets
                .iter()
                .map(|target| scope.spawn(move || self.watch_one(target, clock, is_over)))
                .collect();
            // A panic has been reported; the other targets have their readings.
            threads.into_iter().filter_map(|thread| thread.join().ok()).collect::<Vec<_>>()
        });
        let mut scraped = Scraped::default();
        for one in series {
            scraped.failures.extend(one.failure());
            scraped.observations.extend(one.observations());
        }
        scraped
    }

    fn watch_one(&self, target: &Target, clock: &Wall, is_over: &AtomicBool) -> TargetSeries {
        let mut series = TargetSeries { name: target.name(), ..TargetSeries::default() };
        let mut every = self.every;
        let mut due = clock.now();
        loop {
            let is_last = is_over.load(Ordering::Relaxed);
            let at = clock.now();
            match target.read() {
                Ok(numbers) => series.push(at, self.kept(numbers)),
                Err(error) => series.fail(at, &error),
            }
            if series.numbers > MOST_KEPT {
                series.thin();
                every = Nanos(every.0 * 2);
            }
            if is_last {
                return series;
            }
            due = due.max(clock.now()) + every;
            while clock.now() < due && !is_over.load(Ordering::Relaxed) {
                clock.sleep_until(due.min(clock.now() + NAP));
            }
        }
    }

    fn kept(&self, mut numbers: Vec<Number>) -> (Vec<Number>, usize) {
        if !self.takes_all {
            numbers.retain(|number| is_chosen(&number.metric));
        }
        let excess = numbers.len().saturating_sub(MOST_NUMBERS);
        numbers.truncate(MOST_NUMBERS);
        (numbers, excess)
    }
}

/// One number of a reading.
#[derive(Clone, Debug, PartialEq)]
struct Number {
    /// The server, where a target has several; otherwise empty.
    node: String,
    /// What stands behind the name: labels of Prometheus.
    labels: String,
    metric: String,
    value: f64,
}

impl From<ServerReading> for Number {
    fn from(reading: ServerReading) -> Number {
        let ServerReading { node, name, value } = reading;
        Number { node, labels: String::new(), metric: name, value }
    }
}

impl Target {
    /// Reads it once, to see whether that works.
    fn open(name: &str, store: &Arc<dyn Store>) -> Result<Target> {
        if name == STORE {
            store.readings().map_err(from_open)?;
            return Ok(Target::Store(Arc::clone(store)));
        }
        let endpoint = Endpoint::parse(name).map_err(|error| {
            usage(format!(
                "--scrape {name:?}: {error}; write http://HOST:PORT/metrics, or {STORE} for what \
                 the store counts itself"
            ))
        })?;
        let target = Target::Endpoint(endpoint);
        let unreadable = |error: String| Failure {
            exit: Exit::Unreachable,
            message: format!(
                "--scrape {name}: {error}; start what answers there, correct the address, or \
                 leave it out"
            ),
        };
        let numbers = target.read().map_err(unreadable)?;
        match numbers.is_empty() {
            true => Err(unreadable("the answer has no metrics of Prometheus".into()).into()),
            false => Ok(target),
        }
    }

    fn name(&self) -> String {
        match self {
            Target::Endpoint(endpoint) => endpoint.to_string(),
            Target::Store(_) => STORE.to_owned(),
        }
    }

    fn read(&self) -> Result<Vec<Number>, String> {
        match self {
            Target::Endpoint(endpoint) => Ok(prometheus::parse(&endpoint.get()?)),
            Target::Store(store) => {
                let readings = store.readings().map_err(|error| error.to_string())?;
                Ok(readings.into_iter().map(Number::from).collect())
            }
        }
    }
}

/// All readings of one target.
#[derive(Default)]
struct TargetSeries {
    name: String,
    readings: Vec<(Nanos, Vec<Number>)>,
    /// How many numbers are in them.
    numbers: usize,
    /// The most numbers that a reading had beyond what is kept.
    excess: usize,
    failures: u64,
    first_failure: Option<(Nanos, String)>,
    tries: u64,
}

impl TargetSeries {
    fn push(&mut self, at: Nanos, (numbers, excess): (Vec<Number>, usize)) {
        self.tries += 1;
        self.numbers += numbers.len();
        self.excess = self.excess.max(excess);
        self.readings.push((at, numbers));
    }

    fn fail(&mut self, at: Nanos, error: &str) {
        self.tries += 1;
        self.failures += 1;
        self.first_failure.get_or_insert_with(|| (at, error.to_owned()));
    }

    /// Drops every second reading, the first never.
    fn thin(&mut self) {
        let mut place = 0;
        self.readings.retain(|_| {
            place += 1;
            place % 2 == 1
        });
        self.numbers = self.readings.iter().map(|(_, numbers)| numbers.len()).sum();
    }

    /// What is missing, in a sentence.
    fn failure(&self) -> Option<String> {
        let failed = self.first_failure.as_ref().map(|(at, error)| {
            let (failures, tries, name) = (self.failures, self.tries, &self.name);
            format!(
                "{failures} of {tries} readings of --scrape {name} failed, the first after {at}: \
                 {error}"
            )
        });
        let cut = (self.excess > 0).then(|| {
            let (excess, name) = (self.excess, &self.name);
            format!("--scrape {name}: {MOST_NUMBERS} numbers are kept, and {excess} are not")
        });
        match (failed, cut) {
            (Some(failed), Some(cut)) => Some(format!("{failed}; {cut}")),
            (failed, cut) => failed.or(cut),
        }
    }

    fn observations(self) -> Vec<Observation> {
        let mut sources: BTreeMap<String, String> = BTreeMap::new();
        let mut observations = Vec::with_capacity(self.numbers);
        for (at, numbers) in self.readings {
            for number in numbers {
                let source = sources.entry(number.node).or_insert_with_key(|node| {
                    let gap = if node.is_empty() { "" } else { " " };
                    format!("{SOURCE}{}{gap}{node}", self.name)
                });
                let source = source.clone();
                let Number { labels: part, metric, value, .. } = number;
                observations.push(Observation { at, source, part, metric, value });
            }
        }
        observations
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(readings: u64) -> TargetSeries {
        let mut series = TargetSeries { name: "store".into(), ..TargetSeries::default() };
        for second in 0..readings {
            let number = |metric: &str| Number {
                node: "h:1".into(),
                labels: String::new(),
                metric: metric.into(),
                value: second as f64,
            };
            let numbers = vec![number("used_memory"), number("evicted_keys_total")];
            series.push(Nanos::from_secs(second), (numbers, 0));
        }
        series
    }

    #[test]
    fn readings_become_observations_with_their_source() {
        let observations = series(2).observations();
        assert_eq!(observations.len(), 4);
        let last = &observations[3];
        assert_eq!(last.source, "scrape:store h:1");
        assert_eq!((last.metric.as_str(), last.value), ("evicted_keys_total", 1.0));
    }

    #[test]
    fn a_long_run_keeps_every_second_reading() {
        let mut series = series(5);
        series.thin();
        let moments: Vec<u64> =
            series.readings.iter().map(|(at, _)| at.0 / 1_000_000_000).collect();
        assert_eq!((moments, series.numbers), (vec![0, 2, 4], 6));
    }

    #[test]
    fn failures_are_told_with_the_first() {
        let mut series = series(3);
        assert_eq!(series.failure(), None);
        series.fail(Nanos::from_secs(3), "connection refused");
        series.fail(Nanos::from_secs(4), "no route");
        let told = series.failure().unwrap();
        assert!(told.starts_with("2 of 5 readings of --scrape store failed, the first"), "{told}");
        assert!(told.ends_with("connection refused"), "{told}");
    }
}

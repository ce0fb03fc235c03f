//! Observes the client machine during a run.
//!
//! One thread beside the workers: every millisecond it wakes to measure how late it runs
//! (after jHiccup by G. Tene), some times a second it reads what the system counts. It reads, it
//! never decides: the analyzer interprets the numbers, from `observations.parquet`.

mod hiccups;
pub mod scrape;
pub mod servers;
mod system;

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use assay_history::Observation;
use assay_model::Nanos;
use assay_results::observed::{CLIENT, metric, part};
use assay_run::{Clock, Control, Wall};

use hiccups::HiccupRecorder;
use system::{Reading, System};

/// How long the watching thread sleeps at a time.
const NAP: Nanos = Nanos::from_millis(1);

/// The system's counters are read this often, at least after a quarter of the time so far, so
/// that short runs have readings too.
const READ_EVERY: Nanos = Nanos::from_millis(250);

/// No two readings are closer than this: a reading costs some ten microseconds per worker.
const READ_AT_MOST_EVERY: Nanos = Nanos::from_millis(20);

/// Readings that are kept; when there are more, every second one goes.
const READINGS_MAX: usize = 4096;

/// A reading with the hiccups since the one before.
struct Sample {
    at: Nanos,
    reading: Reading,
    hiccups: Vec<(u64, u64)>,
}

/// Watches until the flag is up; returns what was seen, in order of time for each metric.
///
/// Nothing is seen if the run never begins.
pub fn watch(control: &Control, is_over: &AtomicBool) -> Vec<Observation> {
    assay_run::clock::be_punctual();
    let clock = loop {
        match control.clock() {
            Some(clock) => break clock,
            None if is_over.load(Ordering::Relaxed) => return Vec::new(),
            None => thread::sleep(Duration::from_millis(1)),
        }
    };
    Watch::new(System::open(), clock).until(is_over)
}

/// Watching under way.
struct Watch {
    system: System,
    clock: Wall,
    hiccups: HiccupRecorder,
    samples: Vec<Sample>,
    every: Nanos,
}

impl Watch {
    fn new(system: System, clock: Wall) -> Watch {
        let (hiccups, samples) = (HiccupRecorder::default(), Vec::new());
        Watch { system, clock, hiccups, samples, every: READ_EVERY }
    }

    fn until(mut self, is_over: &AtomicBool) -> Vec<Observation> {
        // All readings count from this one.
        let origin = self.system.read();
        self.clock.sleep_until(Nanos(1));
        let mut next = self.sample(&origin);
        while !is_over.load(Ordering::Relaxed) {
            let due = self.clock.now() + NAP;
            let late = self.clock.sleep_until(due);
            self.hiccups.add(due, late);
            if due >= next {
                next = self.sample(&origin);
            }
        }
        self.sample(&origin);
        self.observations()
    }

    /// Reads the system; returns when to do it again.
    fn sample(&mut self, origin: &Reading) -> Nanos {
        let at = self.clock.now();
        let reading = self.system.read().since(origin);
        let hiccups = self.hiccups.take();
        self.samples.push(Sample { at, reading, hiccups });
        if self.samples.len() > READINGS_MAX {
            thin(&mut self.samples);
            self.every = Nanos(self.every.0 * 2);
        }
        at + Nanos(at.0 / 4).clamp(READ_AT_MOST_EVERY, self.every)
    }

    fn observations(self) -> Vec<Observation> {
        let mut observations = Vec::new();
        let mut note = |at: Nanos, part: &str, metric: &str, value: f64| {
            let [source, part, metric] = [CLIENT, part, metric].map(str::to_owned);
            observations.push(Observation { at, source, part, metric, value });
        };
        for sample in &self.samples {
            sample.reading.each(&mut |part, metric, value| note(sample.at, part, metric, value));
            for (length, count) in &sample.hiccups {
                note(sample.at, &length.to_string(), metric::HICCUPS, *count as f64);
            }
        }
        for (at, length) in self.hiccups.longest() {
            note(at, part::MACHINE, metric::HICCUP, length.0 as f64);
        }
        observations
    }
}

/// Drops every second sample, the first and the last never; its hiccups go to the one after it.
fn thin(samples: &mut Vec<Sample>) {
    let last = samples.len().saturating_sub(1);
    let mut kept: Vec<Sample> = Vec::with_capacity(samples.len() / 2 + 1);
    let mut carried = Vec::new();
    for (place, mut sample) in samples.drain(..).enumerate() {
        if place % 2 == 1 && place != last {
            carried = sample.hiccups;
            continue;
        }
        sample.hiccups = hiccups::merged(std::mem::take(&mut carried), sample.hiccups);
        kept.push(sample);
    }
    *samples = kept;
}

#[cfg(test)]
mod tests;

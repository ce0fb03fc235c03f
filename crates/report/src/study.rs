//! The study of coordinated omission: one hiccup as three ways to measure see it.

mod charts;
mod csv;
mod document;
mod json;
mod rows;

use assay_analysis::Distribution;
use assay_analysis::sawtooth::{Agreement, Figures, LatencyCourse, Sawtooth, SlowClient};
use assay_model::named_enum;

pub use csv::study_csv;
pub use document::document;
pub use json::study_json;
pub(crate) use json::{STUDY_SCHEMA, StudyObject};

/// The quantiles that are shown of every run.
pub const STUDY_QUANTILES: [f64; 7] = [0.5, 0.8, 0.9, 0.95, 0.99, 0.999, 0.9999];

/// Everything that the study found.
#[derive(Clone, Debug)]
pub struct Study {
    /// Our version.
    pub version: String,
    /// The command that repeats it.
    pub command: String,
    /// The seed; no latency depends on it.
    pub seed: u64,
    /// Every run, once.
    pub runs: Vec<StudyRun>,
    /// Clients that lose time between an answer and their next request.
    pub slow: Vec<SlowClient>,
}

/// One run of a study.
#[derive(Clone, Debug)]
pub struct StudyRun {
    /// Sessions of the paced closed loop; `None` for the open model.
    pub sessions: Option<u32>,
    /// How exactly the store's clock goes.
    pub clock: StudyClock,
    /// Rate, capacity, hiccup.
    pub sawtooth: Sawtooth,
    /// What was measured.
    pub sights: Vec<MethodResult>,
}

named_enum! {
    /// How exactly the store's clock goes.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum StudyClock {
        /// In nanoseconds.
        Exact => "ns",
        /// In whole milliseconds with waits rounded up, as SickStore's.
        Milliseconds => "ms",
    }
}

named_enum! {
    /// A way to measure.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum MeasurementMethod {
        /// Ours: arrivals do not wait, latency is from the intended moment.
        Open => "open",
        /// YCSB's corrected latency: sessions wait, latency is from the intended moment.
        Intended => "YCSB intended",
        /// YCSB's plain latency: sessions wait, latency is from the moment of sending.
        Service => "YCSB service",
    }
}

/// What one way to measure sees of a run.
#[derive(Clone, Debug)]
pub struct MethodResult {
    /// The way.
    pub measure: MeasurementMethod,
    /// What was measured.
    pub found: Figures,
    /// What the closed form says; `None` for a store that has none.
    pub expected: Option<Figures>,
    /// Every percentile of what was measured.
    pub distribution: Distribution,
    /// The longest latency over time, around the hiccup.
    pub time_course: LatencyCourse,
}

impl MethodResult {
    /// The largest relative deviation from the closed form, if there is one.
    pub fn deviation(&self) -> Option<f64> {
        self.expected.as_ref().map(|expected| self.found.deviation(expected))
    }
}

impl StudyRun {
    /// What `measure` sees of it.
    pub fn method(&self, measure: MeasurementMethod) -> Option<&MethodResult> {
        self.sights.iter().find(|method| method.measure == measure)
    }

    /// What is done in it, in a few words.
    pub fn name(&self) -> String {
        match self.sessions {
            None => "open".to_owned(),
            Some(1) => "1 thread".to_owned(),
            Some(sessions) => format!("{sessions} threads"),
        }
    }
}

impl Study {
    /// How far all that has a closed form is from it.
    pub fn agreement(&self) -> Agreement {
        let sights =
            self.runs.iter().flat_map(|run| &run.sights).filter_map(MethodResult::deviation);
        Agreement::of(sights.chain(self.slow.iter().map(SlowClient::deviation)))
    }

    /// How many operations were issued.
    pub fn operations(&self) -> u64 {
        let slow = self.slow.len() as u64;
        let usual = self.runs.iter().map(|run| run.sawtooth.operations);
        usual.clone().sum::<u64>() + slow * usual.max().unwrap_or(0)
    }
}

#[cfg(test)]
pub(crate) mod tests;

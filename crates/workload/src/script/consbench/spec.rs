//! Spec of Consbench: number of tests, shape of each.

use assay_model::Nanos;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::readers::{PROBABILITY_MAX, readers_needed};
use crate::script::span::Span;
use crate::script::{ScriptDataset, ScriptName};
use crate::spec::{Problem, check_bounds, number, problem};

/// Keys are whole numbers of 32 bits.
const TESTS_MAX: u64 = i32::MAX as u64;
/// More replicas want thousands of readers.
const REPLICAS_MAX: u64 = 100;
/// A worker keeps the operations of a process in memory, transactions are numbered by 16 bits.
const READS_MAX: u64 = 60_000;
/// Operations are numbered by 64 bits, with room for the width of a process.
const READS_OF_ALL_MAX: u128 = 1_000_000_000_000_000;
/// The longest allowed wait: a hundred days.
const SPAN_MAX: Nanos = Nanos::from_secs(100 * 86_400);

/// Consbench.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ConsbenchSpec {
    /// `consbench`.
    pub workload: ScriptName,
    /// The rows that a load writes.
    pub dataset: ConsbenchDataset,
    /// What happens to each of them.
    pub test: TestSection,
    /// What is read before the first test.
    pub warm_up: WarmUpSection,
}

/// The rows that a load writes, one for each test.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ConsbenchDataset {
    /// How many tests there are.
    #[serde(with = "number::Whole")]
    pub tests: u64,
}

/// One test: a write with the reads around it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct TestSection {
    /// How long all tests together take; each begins the same time after the one before.
    pub duration: Span,
    /// How many replicas the data has.
    #[serde(with = "number::Whole")]
    pub replicas: u64,
    /// How likely the readers together reach all replicas.
    #[serde(with = "number::Share")]
    pub probability: f64,
    /// How many readers the load has for one that the probability requires.
    #[serde(with = "number::Whole")]
    pub readers_per_machine: u64,
    /// How long before the write its readers begin.
    pub lead: Span,
    /// How long after the write its readers go on: the longest expected staleness.
    pub staleness: Span,
    /// How one read follows another.
    pub poll: Poll,
    /// How long after a reader's read its next one comes; chained reads are so many as fit if each
    /// takes this long.
    pub interval: Span,
    /// Whether a test may begin before the one before has ended; chained reads only.
    pub overlap: bool,
}

/// How one read of a reader follows another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Poll {
    /// Each at a time of its own, however long the one before takes.
    #[default]
    Scheduled,
    /// Each as soon as the one before has ended, so many as were planned.
    Chained,
}

/// What is read before the first test.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct WarmUpSection {
    /// For how long.
    pub duration: Span,
    /// How often readers begin.
    pub interval: Span,
    /// How many begin at once for each machine of readers.
    #[serde(with = "number::Whole")]
    pub readers_per_machine: u64,
    /// How many rows each of them reads, drawn uniformly.
    #[serde(with = "number::Whole")]
    pub reads: u64,
}

impl Default for ConsbenchSpec {
    fn default() -> ConsbenchSpec {
        ConsbenchSpec {
            workload: ScriptName::Consbench,
            dataset: ConsbenchDataset::default(),
            test: TestSection::default(),
            warm_up: WarmUpSection::default(),
        }
    }
}

impl Default for ConsbenchDataset {
    fn default() -> ConsbenchDataset {
        ConsbenchDataset { tests: 10 }
    }
}

impl Default for TestSection {
    fn default() -> TestSection {
        TestSection {
            duration: Span::millis(120_000),
            replicas: 3,
            probability: 0.95,
            readers_per_machine: 2,
            lead: Span::millis(50),
            staleness: Span::millis(10_000),
            poll: Poll::Scheduled,
            interval: Span::millis(10),
            overlap: false,
        }
    }
}

impl Default for WarmUpSection {
    fn default() -> WarmUpSection {
        WarmUpSection {
            duration: Span::millis(5_000),
            interval: Span::millis(100),
            readers_per_machine: 8,
            reads: 10,
        }
    }
}

impl ConsbenchSpec {
    /// The machines that the generator plans for: one for each reader that the probability
    /// requires, and one for the writer.
    pub fn machines(&self) -> u64 {
        readers_needed(self.test.replicas, self.test.probability) + 1
    }

    /// Readers of one test.
    pub fn readers(&self) -> u64 {
        self.machines() * self.test.readers_per_machine
    }

    /// From the beginning of one test to that of the next.
    pub fn gap(&self) -> Nanos {
        Nanos(self.test.duration.0.0 / self.dataset.tests)
    }

    /// From a reader's first read to its last: the lead is waited for once more at the end.
    pub fn watched(&self) -> Nanos {
        let TestSection { lead, staleness, .. } = &self.test;
        lead.0 + staleness.0 + lead.0
    }

    /// Reads of one reader in a test.
    pub fn polls(&self) -> u64 {
        self.watched().0.div_ceil(self.test.interval.0.0)
    }

    /// What load and run must agree on.
    pub(crate) fn describe(&self) -> ScriptDataset {
        ScriptDataset::new(self.workload.name(), &[("tests", self.dataset.tests)])
    }

    pub(crate) fn find_problem(&self) -> Result<(), Problem> {
        let test = &self.test;
        if self.workload != ScriptName::Consbench {
            return problem("workload", self.workload.name(), "this is consbench");
        }
        self.check_numbers()?;
        if !(0.0..=PROBABILITY_MAX).contains(&test.probability) {
            let reason = "it must be from 0 to 0.999999: no number of readers is certain";
            return problem("test.probability", test.probability, reason);
        }
        let reads = u128::from(self.readers()) * u128::from(self.polls());
        if reads * u128::from(self.dataset.tests) > READS_OF_ALL_MAX {
            let reason = "these are more than 10^15 reads: read less often, or take fewer tests";
            return problem("test.interval", test.interval, reason);
        }
        let chained = test.poll == Poll::Chained;
        if test.overlap && !chained {
            let reason = "scheduled reads of one test end before the next test; \
                          with test.poll = \"chained\" tests may overlap";
            return problem("test.overlap", "true", reason);
        }
        if chained && self.polls() > READS_MAX {
            let reason = format!(
                "{} chained reads are more than {READS_MAX}; read less often or for a shorter time",
                self.polls()
            );
            return problem("test.interval", test.interval, reason);
        }
        let needed = if test.overlap { test.lead.0 } else { self.watched() };
        if self.gap() < needed {
            let (gap, needed) = (Span(self.gap()), Span(needed));
            let reason = format!(
                "a test begins every {gap}, but each takes {needed}: take fewer tests, a longer \
                 duration or a shorter staleness"
            );
            return problem("test.duration", test.duration, reason);
        }
        Ok(())
    }

    fn check_numbers(&self) -> Result<(), Problem> {
        let (test, warm_up) = (&self.test, &self.warm_up);
        check_bounds(&[
            ("dataset.tests", self.dataset.tests, 1, TESTS_MAX),
            ("test.replicas", test.replicas, 1, REPLICAS_MAX),
            ("test.readers_per_machine", test.readers_per_machine, 1, 1_000),
            ("warm_up.readers_per_machine", warm_up.readers_per_machine, 1, 1_000),
            ("warm_up.reads", warm_up.reads, 1, READS_MAX),
        ])?;
        let spans = [
            ("test.duration", test.duration, Nanos(1)),
            ("test.lead", test.lead, Nanos::ZERO),
            ("test.staleness", test.staleness, Nanos(1)),
            ("test.interval", test.interval, Nanos::from_micros(1)),
            ("warm_up.duration", warm_up.duration, Nanos::ZERO),
            ("warm_up.interval", warm_up.interval, Nanos::from_micros(1)),
        ];
        for (key, span, least) in spans {
            if !(least..=SPAN_MAX).contains(&span.0) {
                let reason = format!("it must be from {} to a hundred days", Span(least));
                return problem(key, span, reason);
            }
        }
        Ok(())
    }
}

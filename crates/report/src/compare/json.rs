//! A comparison as one JSON object.
//!
//! Names are in alphabetical order.

use assay_analysis::compare::{IntervalBasis, Row, Spread};
use schemars::JsonSchema;
use serde::Serialize;

use super::{ComparedSetup, Contrast, Difference, Run, Trial, figure_name};
use crate::facts::State;
use crate::object::{finite, pretty};
use crate::units::Letters;
use crate::verdict::{Finding, model_name};

/// The version of the object that [`json()`] prints.
pub const SCHEMA: &str = "assay/compare/v2";

/// The comparison as one indented JSON object with a line end.
pub fn json(contrast: &Contrast) -> String {
    pretty(&ComparisonObject::new(contrast))
}

/// Two set-ups side by side: times in nanoseconds, rates in operations per second, shares between
/// 0 and 1.
#[derive(JsonSchema, Serialize)]
#[schemars(title = "Two set-ups side by side")]
pub struct ComparisonObject {
    /// The first set-up.
    base: SideObject,
    /// Whether intervals are about runs, or within a run because one side has a single run.
    #[schemars(extend("enum" = ["runs", "within-run"]))]
    basis: &'static str,
    /// The conditions that were to fail on, with what became of them.
    conditions: Vec<ConditionObject>,
    /// The confidence in the verdict as a whole.
    confidence: f64,
    /// In what the set-ups are not alike beside their figures.
    differences: Vec<DifferenceObject>,
    /// The figures of both.
    figures: Vec<RowObject>,
    /// What a reader must know before any figure, worst first.
    findings: Vec<Finding>,
    /// Whether BASE and NEW are like for like, or forced.
    is_judged: bool,
    /// The confidence of the interval of each figure.
    level: f64,
    /// The smallest relative effect that counts, as a share.
    minimum: f64,
    /// The smallest difference of shares that counts.
    minimum_share: f64,
    /// The second set-up.
    new: SideObject,
    /// The version of this object.
    #[schemars(extend("const" = SCHEMA))]
    schema: &'static str,
}

impl ComparisonObject {
    fn new(contrast: &Contrast) -> ComparisonObject {
        let comparison = &contrast.comparison;
        let demands = &comparison.demands;
        ComparisonObject {
            base: SideObject::new(&contrast.old),
            basis: match comparison.basis {
                IntervalBasis::Runs => "runs",
                IntervalBasis::WithinRun => "within-run",
            },
            conditions: contrast.trials.iter().map(ConditionObject::new).collect(),
            confidence: demands.confidence,
            differences: contrast.differences.iter().map(DifferenceObject::new).collect(),
            figures: comparison.rows.iter().map(RowObject::new).collect(),
            findings: super::findings(contrast, Letters::Unicode),
            is_judged: contrast.is_analyzed(),
            level: demands.level(),
            minimum: demands.minimum,
            minimum_share: demands.minimum_share,
            new: SideObject::new(&contrast.new),
            schema: SCHEMA,
        }
    }
}

/// One set-up.
#[derive(JsonSchema, Serialize)]
struct SideObject {
    /// How it was named on the command line.
    name: String,
    /// Its runs.
    runs: Vec<ComparedRunObject>,
}

impl SideObject {
    fn new(side: &ComparedSetup) -> SideObject {
        SideObject { name: side.name.clone(), runs: ComparedRunObject::all(side) }
    }
}

/// One run of a set-up.
#[derive(JsonSchema, Serialize)]
pub struct ComparedRunObject {
    /// The command that repeats it, as one line for a shell.
    command: String,
    /// The name of the run directory.
    id: String,
    /// The load model in words.
    load: String,
    /// Whether arrivals have times of their own, or follow responses.
    #[schemars(extend("enum" = ["open", "closed"]))]
    model: &'static str,
    /// The 64-bit seed in decimal digits.
    seed: String,
    /// When it began, as a person reads it, in UTC.
    started: String,
    /// How it came to its end.
    #[schemars(extend("enum" = State::NAMES))]
    state: &'static str,
    /// The store's URL without secrets.
    store: String,
    /// A headline of a few words.
    title: String,
}

impl ComparedRunObject {
    /// The runs of one set-up.
    pub fn all(side: &ComparedSetup) -> Vec<ComparedRunObject> {
        let run = |run: &Run| ComparedRunObject {
            command: run.facts.command.clone(),
            id: run.facts.run_id.clone(),
            load: run.facts.load.clone(),
            model: model_name(run.summary.load),
            seed: run.facts.seed.to_string(),
            started: run.facts.started.clone(),
            state: run.facts.state.name(),
            store: run.facts.store.url.clone(),
            title: run.facts.title.clone(),
        };
        side.runs.iter().map(run).collect()
    }
}

/// A condition with what became of it.
#[derive(JsonSchema, Serialize)]
struct ConditionObject {
    /// What became of it.
    #[schemars(extend("enum" = ["met", "unsure", "not-met", "unknown", "withdrawn"]))]
    judgement: &'static str,
    /// As it was written.
    text: String,
}

impl ConditionObject {
    fn new(trial: &Trial) -> ConditionObject {
        ConditionObject { judgement: trial.judgement.name(), text: trial.text.clone() }
    }
}

/// Something in which the set-ups are not alike.
#[derive(JsonSchema, Serialize)]
struct DifferenceObject {
    /// What it is in the first set-up.
    base: String,
    /// What it is in the second set-up.
    new: String,
    /// What follows: the workload or the load differs, the store or the machine is another, or
    /// it matters little.
    #[schemars(extend("enum" = ["question", "place", "slight"]))]
    weight: &'static str,
    /// What it is.
    what: String,
}

impl DifferenceObject {
    fn new(found: &Difference) -> DifferenceObject {
        DifferenceObject {
            base: found.old.clone(),
            new: found.new.clone(),
            weight: found.weight.name(),
            what: found.what.clone(),
        }
    }
}

/// A figure of both set-ups.
#[derive(JsonSchema, Serialize)]
struct RowObject {
    /// The runs of the first set-up; null unless all of them have the figure.
    base: Option<SpreadObject>,
    /// A ratio of NEW to BASE, or a difference of shares; null if a side lacks the figure, or if
    /// only BASE is zero.
    effect: Option<f64>,
    /// The name of the figure.
    figure: String,
    /// What follows.
    #[schemars(extend("enum" = [
        "higher", "lower", "same", "open", "too-few", "absent", "withdrawn"
    ]))]
    finding: &'static str,
    /// The interval of the effect; null if there are too few values.
    interval: Option<EndsObject>,
    /// The runs of the second set-up; null unless all of them have the figure.
    new: Option<SpreadObject>,
    /// Whether the verdict is about it.
    requested: bool,
    /// Whether the effect is a ratio or a difference.
    #[schemars(extend("enum" = ["ratio", "difference"]))]
    scale: &'static str,
}

impl RowObject {
    fn new(row: &Row) -> RowObject {
        RowObject {
            base: row.old.as_ref().map(SpreadObject::new),
            effect: finite(row.effect),
            figure: figure_name(row.figure),
            finding: row.finding.name(),
            interval: row.interval.map(EndsObject::new),
            new: row.new.as_ref().map(SpreadObject::new),
            requested: row.is_requested,
            scale: if row.figure.measure.is_share() { "difference" } else { "ratio" },
        }
    }
}

/// The ends of an interval.
#[derive(JsonSchema, Serialize)]
struct EndsObject {
    /// The upper end, in the unit of the figure or of the effect; null if there is none.
    high: Option<f64>,
    /// The lower end, in the unit of the figure or of the effect; null if there is none.
    low: Option<f64>,
}

impl EndsObject {
    fn new((low, high): (f64, f64)) -> EndsObject {
        EndsObject { high: finite(high), low: finite(low) }
    }
}

/// The spread of a figure from run to run: nanoseconds, operations per second, or a share.
#[derive(JsonSchema, Serialize)]
pub struct SpreadObject {
    /// The 95 % interval of the mean; null of a single run.
    interval: Option<EndsObject>,
    /// The largest value, in the unit of the figure.
    max: f64,
    /// The mean, in the unit of the figure.
    mean: f64,
    /// The median, in the unit of the figure.
    median: f64,
    /// The smallest value, in the unit of the figure.
    min: f64,
    /// The value of each run, in the unit of the figure.
    values: Vec<f64>,
    /// The standard deviation between runs as a share of the mean; null of a single run, or if the
    /// mean is zero.
    variation: Option<f64>,
}

impl SpreadObject {
    /// The spread of one figure.
    pub fn new(spread: &Spread) -> SpreadObject {
        SpreadObject {
            interval: spread.interval.map(EndsObject::new),
            max: spread.max,
            mean: spread.mean,
            median: spread.median,
            min: spread.min,
            values: spread.values.clone(),
            variation: spread.variation,
        }
    }
}

//! A comparison as one JSON object.
//!
//! Names are in alphabetical order.

use assay_analysis::compare::{Row, Spread};

use super::{ComparedSetup, Contrast, Difference, Run, Trial, figure_name};
use crate::facts::State;
use crate::object::{finite, objects, pretty};
use crate::units::Letters;
use crate::verdict::{Finding, model_name};

/// The version of the object that [`json()`] prints.
pub const SCHEMA: &str = "assay/compare/v2";

/// The comparison as one indented JSON object with a line end.
pub fn json(contrast: &Contrast) -> String {
    pretty(&ComparisonObject::new(contrast))
}

objects! {
/// Two set-ups side by side: times in nanoseconds, rates in operations per second, shares between
/// 0 and 1.
#[schemars(title = "Two set-ups side by side")]
pub struct ComparisonObject(contrast: &Contrast)
where
    let comparison = &contrast.comparison;
    let demands = &comparison.demands;
{
    /// The first set-up.
    base: SideObject = SideObject::new(&contrast.old),
    /// Whether intervals are about runs, or within a run because one side has a single run.
    #[schemars(extend("enum" = ["runs", "within-run"]))]
    basis: &'static str = comparison.basis.name(),
    /// The conditions that were to fail on, with what became of them.
    conditions: Vec<ConditionObject> = contrast.trials.iter().map(ConditionObject::new).collect(),
    /// The confidence in the verdict as a whole.
    confidence: f64 = demands.confidence,
    /// In what the set-ups are not alike beside their figures.
    differences: Vec<DifferenceObject> =
        contrast.differences.iter().map(DifferenceObject::new).collect(),
    /// The figures of both.
    figures: Vec<RowObject> = comparison.rows.iter().map(RowObject::new).collect(),
    /// What a reader must know before any figure, worst first.
    findings: Vec<Finding> = super::findings(contrast, Letters::Unicode),
    /// Whether BASE and NEW are like for like, or forced.
    is_judged: bool = contrast.is_analyzed(),
    /// The confidence of the interval of each figure.
    level: f64 = demands.level(),
    /// The smallest relative effect that counts, as a share.
    minimum: f64 = demands.minimum,
    /// The smallest difference of shares that counts.
    minimum_share: f64 = demands.minimum_share,
    /// The second set-up.
    new: SideObject = SideObject::new(&contrast.new),
    /// The version of this object.
    #[schemars(extend("const" = SCHEMA))]
    schema: &'static str = SCHEMA,
}

/// One set-up.
struct SideObject(side: &ComparedSetup) {
    /// How it was named on the command line.
    name: String,
    /// Its runs.
    runs: Vec<ComparedRunObject> = side.runs.iter().map(ComparedRunObject::new).collect(),
}

/// One run of a set-up.
pub struct ComparedRunObject(run: &Run)
where
    let facts = &run.facts;
{
    /// The command that repeats it, as one line for a shell.
    command: String = facts.command.clone(),
    /// The name of the run directory.
    id: String = facts.run_id.clone(),
    /// The load model in words.
    load: String = facts.load.clone(),
    /// Whether arrivals have times of their own, or follow responses.
    #[schemars(extend("enum" = ["open", "closed"]))]
    model: &'static str = model_name(run.summary.load),
    /// The 64-bit seed in decimal digits.
    seed: String = facts.seed.to_string(),
    /// When it began, as a person reads it, in UTC.
    started: String = facts.started.clone(),
    /// How it came to its end.
    #[schemars(extend("enum" = State::NAMES))]
    state: &'static str = facts.state.name(),
    /// The store's URL without secrets.
    store: String = facts.store.url.clone(),
    /// A headline of a few words.
    title: String = facts.title.clone(),
}

/// A condition with what became of it.
struct ConditionObject(trial: &Trial) {
    /// What became of it.
    #[schemars(extend("enum" = ["met", "unsure", "not-met", "unknown", "withdrawn"]))]
    judgement: &'static str = trial.judgement.name(),
    /// As it was written.
    text: String,
}

/// Something in which the set-ups are not alike.
struct DifferenceObject(found: &Difference) {
    /// What it is in the first set-up.
    base: String = found.old.clone(),
    /// What it is in the second set-up.
    new: String,
    /// What follows: the workload or the load differs, the store or the machine is another, or
    /// it matters little.
    #[schemars(extend("enum" = ["question", "place", "slight"]))]
    weight: &'static str = found.weight.name(),
    /// What it is.
    what: String,
}

/// A figure of both set-ups.
struct RowObject(row: &Row) {
    /// The runs of the first set-up; null unless all of them have the figure.
    base: Option<SpreadObject> = row.old.as_ref().map(SpreadObject::new),
    /// A ratio of NEW to BASE, or a difference of shares; null if a side lacks the figure, or if
    /// only BASE is zero.
    effect: Option<f64> = finite(row.effect),
    /// The name of the figure.
    figure: String = figure_name(row.figure),
    /// What follows.
    #[schemars(extend("enum" = [
        "higher", "lower", "same", "open", "too-few", "absent", "withdrawn"
    ]))]
    finding: &'static str = row.finding.name(),
    /// The interval of the effect; null if there are too few values.
    interval: Option<EndsObject> = row.interval.map(EndsObject::new),
    /// The runs of the second set-up; null unless all of them have the figure.
    new: Option<SpreadObject> = row.new.as_ref().map(SpreadObject::new),
    /// Whether the verdict is about it.
    requested: bool = row.is_requested,
    /// Whether the effect is a ratio or a difference.
    #[schemars(extend("enum" = ["ratio", "difference"]))]
    scale: &'static str = if row.figure.measure.is_share() { "difference" } else { "ratio" },
}

/// The ends of an interval.
struct EndsObject(ends: (f64, f64)) {
    /// The upper end, in the unit of the figure or of the effect; null if there is none.
    high: Option<f64> = finite(ends.1),
    /// The lower end, in the unit of the figure or of the effect; null if there is none.
    low: Option<f64> = finite(ends.0),
}

/// The spread of a figure from run to run: nanoseconds, operations per second, or a share.
pub struct SpreadObject(spread: &Spread) {
    /// The 95 % interval of the mean; null of a single run.
    interval: Option<EndsObject> = spread.interval.map(EndsObject::new),
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
}

//! Comparison of two set-ups: differences that are more than chance.
//!
//! Each run gives its figures with replicates of them: its time is cut into blocks of about equal
//! counts by arrival, and blocks drawn with replacement say how far each figure moves by chance
//! within a run (block bootstrap; H. R. Künsch, Annals of Statistics 17, 1989). Where a set-up has
//! several runs, runs are drawn with replacement first (hierarchical bootstrap; T. Kalibera with
//! R. Jones, "Rigorous benchmarking in reasonable time", ISMM 2013). Draws at both levels count
//! the chance within runs twice, so they are scaled to the variance between the runs' figures, or
//! to what the blocks predict where that is larger; Student's t answers for few runs.
//!
//! Ratios are taken of geometric means over runs. A percentile is never averaged over time or
//! agents: each run's own percentile is one observation of that run.

mod bootstrap;
mod condition;
mod counted;
mod curve;
mod figure;
mod run_figure;
mod runs;
mod sampler;

#[cfg(test)]
mod tests;

pub use condition::{Condition, ConditionOutcome, Limit};
pub use figure::{Figure, Measure, PLACES};
pub use run_figure::{Counted, IntervalBasis, RunFigure, RunFigures};
pub use runs::{Spread, median_run, spread, spreads};
pub use sampler::{Resampling, Sampler};

use assay_model::{Seed, named_enum};

use bootstrap::ScaledRuns;
use figure::Scale;

/// Options of a comparison.
#[derive(Clone, Debug, PartialEq)]
pub struct Demands {
    /// The figures that the verdict is about. Together they raise a false alarm in at most
    /// 1 − `confidence` of the comparisons of equal set-ups (Bonferroni); others are shown at the
    /// same level for orientation.
    pub requested: Vec<Figure>,
    /// Confidence in the verdict as a whole, 0.99 by default: blocks tell a little less than the
    /// chance within a run, so that of 100 pairs of equal simulated queues 5 to 9 are called
    /// different at a nominal 0.95, but 0 to 3 at 0.99 (`examples/false_alarms.rs`).
    pub confidence: f64,
    /// The smallest relative effect that counts, such as 0.03.
    pub minimum: f64,
    /// The smallest difference of shares that counts, such as 0.001.
    pub minimum_share: f64,
    /// How many times runs are drawn.
    pub draws: u64,
    /// From which every draw follows.
    pub seed: Seed,
}

impl Default for Demands {
    fn default() -> Demands {
        Demands {
            requested: Figure::USUAL.to_vec(),
            confidence: 0.99,
            minimum: 0.03,
            minimum_share: 0.001,
            draws: 10_000,
            seed: Seed(0),
        }
    }
}

impl Demands {
    /// Makes the verdict about `figures`, each once; about the usual ones if there are none.
    pub fn request(&mut self, figures: impl Iterator<Item = Figure>) {
        let mut requested = Vec::new();
        for figure in figures {
            if !requested.contains(&figure) {
                requested.push(figure);
            }
        }
        if !requested.is_empty() {
            self.requested = requested;
        }
    }
}

impl Demands {
    /// The confidence of each single interval.
    pub fn level(&self) -> f64 {
        1.0 - (1.0 - self.confidence) / self.requested.len().max(1) as f64
    }
}

/// Two set-ups side by side.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// The options.
    pub demands: Demands,
    /// What the intervals rest on.
    pub basis: IntervalBasis,
    /// The figures that all runs have, in the order of [`Figure::all`]; those in question if only
    /// one of the runs has them.
    pub rows: Vec<Row>,
}

/// One figure of two set-ups.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Which figure.
    pub figure: Figure,
    /// Whether the verdict is about it.
    pub is_requested: bool,
    /// The runs of the first set-up; none unless all of them have the figure.
    pub old: Option<Spread>,
    /// The runs of the second set-up, likewise.
    pub new: Option<Spread>,
    /// Ratio of the second to the first; for shares the difference between them. Infinite if only
    /// the first is zero, NaN where a side lacks the figure.
    pub effect: f64,
    /// Where the true effect lies at [`Demands::level`], if there is enough to tell.
    pub interval: Option<(f64, f64)>,
    /// What follows.
    pub finding: Finding,
}

impl Row {
    /// The same without a verdict; a figure that the run lacks is still missing.
    fn withdrawn(self) -> Row {
        match self.finding {
            Finding::Absent => self,
            _ => Row { interval: None, finding: Finding::Withdrawn, ..self },
        }
    }
}

named_enum! {
    /// What a row says.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum Finding {
        /// The second is higher: the interval excludes no effect, the effect is at least the
        /// minimum.
        Higher => "higher",
        /// The second is lower, in the same sense.
        Lower => "lower",
        /// The whole interval is within the minimum effect: there is no difference that matters.
        Same => "same",
        /// Neither a difference nor its absence is shown: more runs, or longer ones, may tell.
        Open => "open",
        /// Too few values for an interval, or something was done in some runs of a side alone.
        TooFew => "too-few",
        /// A run has no value of it: nothing was found whose latency it could be.
        Absent => "absent",
        /// The hallmark of a run withdraws it, so that it is not compared.
        Withdrawn => "withdrawn",
    }
}

impl Finding {
    /// Whether it is a difference.
    pub const fn is_different(self) -> bool {
        matches!(self, Finding::Higher | Finding::Lower)
    }
}

impl Comparison {
    /// The row of `figure`, if there is one.
    pub fn row(&self, figure: Figure) -> Option<&Row> {
        self.rows.iter().find(|row| row.figure == figure)
    }

    /// The rows that the verdict is about.
    pub fn requested(&self) -> impl Iterator<Item = &Row> {
        self.rows.iter().filter(|row| row.is_requested)
    }

    /// What becomes of `condition`.
    pub fn analyze(&self, condition: &Condition) -> ConditionOutcome {
        self.row(condition.figure).map_or(ConditionOutcome::Unknown, |row| condition.analyze(row))
    }
}

/// Compares the runs of two set-ups figure by figure.
pub fn compare(old: &[RunFigures], new: &[RunFigures], demands: Demands) -> Comparison {
    let is_single = old.len() < 2 || new.len() < 2;
    let basis = if is_single { IntervalBasis::WithinRun } else { IntervalBasis::Runs };
    let rows = Figure::all()
        .filter(|figure| {
            let mut has = old.iter().chain(new).map(|run| run.get(*figure).is_some());
            if demands.requested.contains(figure) { has.any(|has| has) } else { has.all(|has| has) }
        })
        .enumerate()
        .filter_map(|(number, figure)| {
            let sides = [old, new].map(|runs| of_side(figure, runs));
            let is_requested = demands.requested.contains(&figure);
            let is_shown = is_requested || sides.iter().all(|side| !side.is_empty());
            let is_withdrawn = |run: &RunFigures| run.withdrawn.contains(&figure);
            let is_withdrawn = old.iter().chain(new).any(is_withdrawn);
            let row = is_shown.then(|| row(figure, number as u64, &sides, basis, &demands));
            row.map(|row| if is_withdrawn { row.withdrawn() } else { row })
        })
        .collect();
    Comparison { rows, basis, demands }
}

/// The figure in each run of a side; nothing if one of them lacks it.
fn of_side(figure: Figure, runs: &[RunFigures]) -> Vec<RunFigure> {
    let found: Option<Vec<RunFigure>> = runs.iter().map(|run| run.get(figure).cloned()).collect();
    found.unwrap_or_default()
}

fn row(
    figure: Figure,
    number: u64,
    [old, new]: &[Vec<RunFigure>; 2],
    basis: IntervalBasis,
    demands: &Demands,
) -> Row {
    let values = |runs: &[RunFigure]| {
        let values: Vec<f64> = runs.iter().map(|run| run.value).collect();
        (!values.is_empty()).then(|| spread(&values))
    };
    let scale = figure.measure.scale();
    let minimum = match scale {
        Scale::Ratio => demands.minimum,
        Scale::Difference => demands.minimum_share,
    };
    let is_absent = old.is_empty() || new.is_empty();
    let (effect, interval) = match is_absent {
        true => (f64::NAN, None),
        false => effect(figure.measure, [old, new], basis, demands, number),
    };
    let nothing = scale.back(0.0);
    Row {
        figure,
        is_requested: demands.requested.contains(&figure),
        old: values(old),
        new: values(new),
        effect,
        interval,
        finding: match is_absent {
            true => Finding::Absent,
            false => finding(effect - nothing, interval, nothing, minimum),
        },
    }
}

/// The effect, with its interval if there is one.
fn effect(
    measure: Measure,
    [old, new]: [&[RunFigure]; 2],
    basis: IntervalBasis,
    demands: &Demands,
    number: u64,
) -> (f64, Option<(f64, f64)>) {
    let (Some(first), Some(second)) =
        (ScaledRuns::new(measure, old), ScaledRuns::new(measure, new))
    else {
        return effect_of_nothing(measure, [old, new], basis, demands.level());
    };
    let is_from_zero = measure.is_time() && old.iter().all(|run| run.value < 1.0);
    let back = |shift: f64| match is_from_zero && shift > 0.0 {
        true => f64::INFINITY,
        false => measure.scale().back(shift),
    };
    let shift = second.centre() - first.centre();
    let can_tell = old.iter().chain(new).all(|run| run.is_enough(basis));
    let draws = (demands.seed, number, demands.draws);
    let reach = can_tell.then(|| bootstrap::reach(&first, &second, demands.level(), draws));
    let around = |(low, high): (f64, f64)| {
        // Blocks without a failure are alike, which does not make the next one certain.
        let counted = measure.is_share().then(|| counted::reach(old, new, demands.level()));
        let (least, most) = counted.unwrap_or_default();
        (back(shift + low.min(least)), back(shift + high.max(most)))
    };
    (back(shift), reach.flatten().map(around))
}

/// The effect where some runs did nothing, so that they have no logarithm.
///
/// That one side did nothing in any run, the other something in all, is certain if it is so of the
/// shares that were done. A zero in some runs of a side is reported without an interval.
fn effect_of_nothing(
    measure: Measure,
    [old, new]: [&[RunFigure]; 2],
    basis: IntervalBasis,
    level: f64,
) -> (f64, Option<(f64, f64)>) {
    let sum = |runs: &[RunFigure]| runs.iter().map(|run| run.value).sum::<f64>();
    let mean = |runs: &[RunFigure]| sum(runs) / runs.len() as f64;
    let effect = if mean(old) == mean(new) { 1.0 } else { mean(new) / mean(old) };
    let has_value = |run: &RunFigure| measure.forth(run.value).is_some();
    let is_certain = |nothing: &[RunFigure], something: &[RunFigure]| {
        nothing.iter().all(|run| !has_value(run) && run.is_enough_of_nothing(basis))
            && something.iter().all(|run| has_value(run) && run.is_enough(basis))
            && counted::is_another(nothing, something, level)
    };
    let is_certain = is_certain(old, new) || is_certain(new, old);
    (effect, is_certain.then_some((effect, effect)))
}

/// `change` is the effect's distance from `nothing`, which is no effect.
fn finding(change: f64, interval: Option<(f64, f64)>, nothing: f64, minimum: f64) -> Finding {
    let Some((low, high)) = interval else { return Finding::TooFew };
    // 1.03 − 1 is just below 0.03 in floating-point numbers.
    let is_large = change.abs() >= minimum * (1.0 - 1e-9);
    if low > nothing && is_large {
        return Finding::Higher;
    }
    if high < nothing && is_large {
        return Finding::Lower;
    }
    if low > nothing - minimum && high < nothing + minimum { Finding::Same } else { Finding::Open }
}

//! Figures of one run as a comparison takes them.

use assay_model::named_enum;

use crate::compare::figure::{Figure, Measure};
use crate::hallmark::{Figure as Withdrawn, Hallmark, Time};

/// With fewer non-empty blocks than this, the variation within a run is unknown.
pub(super) const FEWEST_BLOCKS: usize = 10;
/// Values that must lie beyond a quantile.
const FEWEST_BEYOND: f64 = 10.0;

named_enum! {
    /// What the intervals rest on.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum IntervalBasis {
        /// Several runs on each side: what differs from run to run is in the intervals.
        Runs => "runs",
        /// A single run on at least one side. How much runs differ from each other is unknown, so
        /// the intervals are too narrow by as much.
        WithinRun => "within-run",
    }
}

/// Operations of which a part was counted, as independent ones: both are divided by the dependence.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Counted {
    /// Those that were counted.
    pub part: f64,
    /// All of them.
    pub whole: f64,
}

/// One figure of one run.
#[derive(Clone, Debug, PartialEq)]
pub struct RunFigure {
    /// Which.
    pub figure: Figure,
    /// The run's own value: what its report says.
    pub value: f64,
    /// How far redrawn blocks move it, on the scale on which it is averaged; their mean is zero.
    /// Empty where blocks cannot tell.
    pub replicates: Vec<f64>,
    /// Values beyond the quantile; infinite for anything else.
    pub beyond: f64,
    /// How many independent values they are worth.
    pub effective_beyond: f64,
    /// Blocks that were drawn from.
    pub blocks: usize,
    /// What a share is the share of; for throughput what was done of what was offered.
    pub counted: Option<Counted>,
}

impl RunFigure {
    /// Whether it can carry an interval on that basis.
    ///
    /// Between runs the spread of a tail percentile is seen as it is, so each run needs only so
    /// many values that it is none of its extremes; within a run dependence hides it.
    pub fn is_enough(&self, basis: IntervalBasis) -> bool {
        match basis {
            IntervalBasis::Runs => self.beyond >= FEWEST_BEYOND,
            IntervalBasis::WithinRun => {
                !self.replicates.is_empty()
                    && self.blocks >= FEWEST_BLOCKS
                    && self.effective_beyond >= FEWEST_BEYOND
            }
        }
    }

    /// Whether a value of zero is a result.
    pub(super) fn is_enough_of_nothing(&self, basis: IntervalBasis) -> bool {
        basis == IntervalBasis::Runs || self.blocks >= FEWEST_BLOCKS
    }
}

/// All figures of one run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunFigures {
    /// In the order of [`Figure::all`].
    pub figures: Vec<RunFigure>,
    /// The figures that the run's hallmark withdraws.
    pub withdrawn: Vec<Figure>,
}

impl RunFigures {
    /// The figure, if the run has it.
    pub fn get(&self, figure: Figure) -> Option<&RunFigure> {
        self.figures.iter().find(|found| found.figure == figure)
    }

    /// The same, with what the hallmark of the run withdraws.
    pub fn examined(self, hallmark: &Hallmark) -> RunFigures {
        let is_withdrawn = |figure: &Figure| {
            let refuted = |one| !hallmark.refuted_by(one).is_empty();
            match figure.measure {
                Measure::Throughput => refuted(Withdrawn::Throughput),
                Measure::Response(at) => refuted(Withdrawn::Percentile(Time::Response, at)),
                Measure::Service(at) => refuted(Withdrawn::Percentile(Time::Service, at)),
                Measure::Errors | Measure::Misses | Measure::Cpu => refuted(Withdrawn::All),
            }
        };
        RunFigures { withdrawn: Figure::all().filter(is_withdrawn).collect(), ..self }
    }
}

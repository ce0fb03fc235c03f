//! The runs of one set-up as one JSON object.
//!
//! Names are in alphabetical order.

use assay_analysis::compare::{Figure, Spread};

use super::{RepeatedRuns, findings};
use crate::compare::words::figure_name;
use crate::compare::{ComparedRunObject, SpreadObject};
use crate::object::{objects, pretty};
use crate::units::Letters;
use crate::verdict::Finding;

/// The version of the object that [`json()`] prints.
pub const SCHEMA: &str = "assay/repeat/v1";

/// The group as one indented JSON object with a line end.
pub fn json(group: &RepeatedRuns) -> String {
    pretty(&RepeatObject::new(group))
}

objects! {
/// The repeated runs of one set-up: times in nanoseconds, rates in operations per second, shares
/// between 0 and 1.
#[schemars(title = "The repeated runs of one set-up")]
pub struct RepeatObject<'a>(group: &'a RepeatedRuns) {
    /// The command that repeats the group, as one line for a shell.
    command: &'a str = &group.command,
    /// The figures that all runs have.
    figures: Vec<RepeatedFigureObject> =
        group.figures.iter().map(RepeatedFigureObject::new).collect(),
    /// What a reader must know before any figure.
    findings: Vec<Finding> = findings(group, Letters::Unicode),
    /// In which state each run met the store, in a sentence.
    meeting: &'a str = &group.meeting,
    /// The runs.
    runs: Vec<ComparedRunObject> = group.side.runs.iter().map(ComparedRunObject::new).collect(),
    /// The version of this object.
    #[schemars(extend("const" = SCHEMA))]
    schema: &'static str = SCHEMA,
    /// The number of runs that were wanted.
    wanted: usize = group.expected,
}

/// A figure with its spread from run to run.
struct RepeatedFigureObject(figure: &(Figure, Spread)) {
    /// The name of the figure.
    figure: String = figure_name(figure.0),
    #[serde(flatten)]
    spread: SpreadObject = SpreadObject::new(&figure.1),
}
}

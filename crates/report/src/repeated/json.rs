//! The runs of one set-up as one JSON object.
//!
//! Names are in alphabetical order.

use assay_analysis::compare::{Figure, Spread};
use schemars::JsonSchema;
use serde::Serialize;

use super::{RepeatedRuns, findings};
use crate::compare::words::figure_name;
use crate::compare::{ComparedRunObject, SpreadObject};
use crate::object::pretty;
use crate::units::Letters;
use crate::verdict::Finding;

/// The version of the object that [`json()`] prints.
pub const SCHEMA: &str = "assay/repeat/v1";

/// The group as one indented JSON object with a line end.
pub fn json(group: &RepeatedRuns) -> String {
    let figure = |(figure, spread): &(Figure, Spread)| RepeatedFigureObject {
        figure: figure_name(*figure),
        spread: SpreadObject::new(spread),
    };
    pretty(&RepeatObject {
        command: &group.command,
        figures: group.figures.iter().map(figure).collect(),
        findings: findings(group, Letters::Unicode),
        meeting: &group.meeting,
        runs: ComparedRunObject::all(&group.side),
        schema: SCHEMA,
        wanted: group.expected,
    })
}

/// The repeated runs of one set-up: times in nanoseconds, rates in operations per second, shares
/// between 0 and 1.
#[derive(JsonSchema, Serialize)]
#[schemars(title = "The repeated runs of one set-up")]
pub struct RepeatObject<'a> {
    /// The command that repeats the group, as one line for a shell.
    command: &'a str,
    /// The figures that all runs have.
    figures: Vec<RepeatedFigureObject>,
    /// What a reader must know before any figure.
    findings: Vec<Finding>,
    /// In which state each run met the store, in a sentence.
    meeting: &'a str,
    /// The runs.
    runs: Vec<ComparedRunObject>,
    /// The version of this object.
    #[schemars(extend("const" = SCHEMA))]
    schema: &'static str,
    /// The number of runs that were wanted.
    wanted: usize,
}

/// A figure with its spread from run to run.
#[derive(JsonSchema, Serialize)]
struct RepeatedFigureObject {
    /// The name of the figure.
    figure: String,
    #[serde(flatten)]
    spread: SpreadObject,
}

//! Preparation of a history for the checkers, whole or in batches.
//!
//! Memory: 48 bytes per operation until all parts are done, besides what
//! [`crate::register::prepared`] says.

use assay_model::Outcome;

use crate::clock::ClockError;
use crate::register::partition::{Sessions, Survey};
use crate::register::prepared::{Clocks, PreparedHistory};
use crate::register::resolve::Resolver;
use crate::register::{RegisterHistory, RegisterOperation};
use crate::verdict::Limitation;

/// More operations than this are not judged: numbers of operations and versions have 32 bits.
pub const MAX_OPERATIONS: usize = 1 << 30;
/// Durations of this many operations, evenly spread, tell how long a typical one takes.
const DURATION_SAMPLE: usize = 4096;

/// Sorts and groups the operations and resolves their reads.
///
/// # Panics
///
/// If there is not the memory for it.
pub fn prepare<'h>(history: &'h RegisterHistory, error: &ClockError) -> PreparedHistory<'h> {
    resolve_parts(history, error, |_| {})
}

/// Prepares the records in batches that fit into the cache and gives each to `visit`; what is given
/// back has the counts but no records.
pub(super) fn each_part<'h>(
    history: &'h RegisterHistory,
    error: &ClockError,
    mut visit: impl FnMut(&PreparedHistory),
) -> PreparedHistory<'h> {
    resolve_parts(history, error, |part| {
        visit(part);
        part.forget_records();
    })
}

fn resolve_parts<'h>(
    history: &'h RegisterHistory,
    error: &ClockError,
    mut after: impl FnMut(&mut PreparedHistory<'h>),
) -> PreparedHistory<'h> {
    let operations = &history.operations;
    let survey = Survey::new(operations);
    let clocks = Clocks::new(survey.agents(), error, || typical_duration(operations));
    let mut prepared = PreparedHistory::new(history, clocks);
    if operations.len() > MAX_OPERATIONS {
        prepared.limitation = Some(Limitation::TooManyOperations);
        return prepared;
    }
    let mut sessions = Sessions::new(operations, &survey);
    let mut dealt = survey.deal_out(operations, &mut sessions);
    prepared.successors = sessions.successors(&mut dealt);
    prepared.reads_by_session = sessions.dealt.iter().map(|session| session.reads).collect();
    let mut resolver = Resolver::default();
    for part in dealt.parts() {
        resolver.resolve(part, &mut prepared, &mut after);
    }
    after(&mut prepared);
    prepared.duplicate_keys.sort_unstable();
    prepared.limitation = match (survey.has_known, prepared.weakest) {
        (false, _) => Some(Limitation::NothingKnown),
        (true, None) => Some(Limitation::DuplicateValues),
        (true, Some(_)) => None,
    };
    prepared
}

fn typical_duration(operations: &[RegisterOperation]) -> u64 {
    let step = operations.len().div_ceil(DURATION_SAMPLE).max(1);
    let known = operations.iter().filter(|operation| operation.outcome == Outcome::Done);
    let mut durations: Vec<u64> =
        known.step_by(step).map(|operation| operation.ended.since(operation.started).0).collect();
    durations.sort_unstable();
    durations.get(durations.len() / 2).copied().unwrap_or(0)
}

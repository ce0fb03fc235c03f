//! Queries of FMKe as operations on prescriptions.

use assay_model::observed::PrescriptionRole;
use assay_model::{Kind, Nanos, Outcome, QueryRole};

use super::{QueryOperation, Values, times};
use crate::fmke::{LISTS, PrescriptionAccess, PrescriptionOperation};

/// The queries of one transaction of the application, as what they did to prescriptions; a store
/// that makes nothing one has each query take effect by itself.
///
/// Prescriptions up to number `loaded` are left out of lists: nobody knows their creation.
pub(super) fn prescriptions(
    operations: &[QueryOperation],
    values: &Values,
    has_transactions: bool,
    loaded: u64,
    into: &mut Vec<PrescriptionOperation>,
) {
    let roles = || operations.iter().filter_map(|one| role(one).map(|role| (one, role)));
    let (begun, over) = times(operations);
    let commit = operations.iter().find(|one| one.kind == Kind::Commit);
    let writes_count = |outcome: Outcome| match (has_transactions, commit) {
        (true, Some(commit)) => commit.outcome,
        // Several queries without a commit were undone.
        (true, None) if operations.len() > 1 => Outcome::Refused,
        _ => outcome,
    };
    if let Some(creation) = creation(operations, has_transactions, commit) {
        into.push(creation);
    }
    for (one, role) in roles() {
        let is_write = matches!(role, PrescriptionRole::Process | PrescriptionRole::AddDrugs);
        let access = match role {
            PrescriptionRole::Create | PrescriptionRole::AddEntry(_) => continue,
            PrescriptionRole::Process => {
                PrescriptionAccess::Process { prescription: one.key, found: one.found }
            }
            PrescriptionRole::AddDrugs => {
                PrescriptionAccess::AddDrugs { prescription: one.key, found: one.found }
            }
            PrescriptionRole::Read => {
                PrescriptionAccess::Read { prescription: one.key, found: one.found }
            }
            PrescriptionRole::ReadEntries(kind) | PrescriptionRole::ReadProcessed(kind) => {
                let entries = values.of(one.index).flatten();
                let entries = entries.filter_map(|entry| u64::try_from(entry).ok());
                PrescriptionAccess::ReadList {
                    list: (kind, one.key),
                    entries: entries.filter(|entry| *entry > loaded).collect(),
                    processed: matches!(role, PrescriptionRole::ReadProcessed(_)),
                }
            }
        };
        // What a transaction reads may be as old as its beginning; what it writes counts at its
        // end.
        let (started, ended) = match has_transactions {
            true if is_write => (begun, over),
            true => (begun, one.ended),
            false => (one.started, one.ended),
        };
        let outcome = if is_write { writes_count(one.outcome) } else { one.outcome };
        let (index, session) = (one.index, one.session);
        into.push(PrescriptionOperation { index, session, started, ended, outcome, access });
    }
}

/// The creation of a prescription, if the transaction got so far as to write something.
fn creation(
    operations: &[QueryOperation],
    has_transactions: bool,
    commit: Option<&QueryOperation>,
) -> Option<PrescriptionOperation> {
    let is_create = |one: &&QueryOperation| role(one) == Some(PrescriptionRole::Create);
    let record = operations.iter().find(is_create)?;
    let mut owners = [0; LISTS];
    let mut written: Vec<Outcome> = vec![record.outcome];
    let mut last = record.ended;
    for one in operations {
        if let Some(PrescriptionRole::AddEntry(kind)) = role(one) {
            owners[usize::from(kind)] = one.key;
            written.push(one.outcome);
            last = Nanos::max(last, one.ended);
        }
    }
    let is_whole = written.len() == LISTS + 1;
    let all = |outcome: Outcome| written.iter().all(|one| *one == outcome);
    let outcome = match (has_transactions, commit) {
        (true, Some(commit)) => commit.outcome,
        (true, None) if operations.len() > 1 => Outcome::Refused,
        _ if is_whole && all(Outcome::Done) => Outcome::Done,
        _ if record.outcome == Outcome::Refused => Outcome::Refused,
        // Some of it is there: a reader may see that, or not.
        _ => Outcome::Unknown,
    };
    let ended = commit.filter(|_| has_transactions).map_or(last, |commit| commit.ended);
    Some(PrescriptionOperation {
        index: record.index,
        session: record.session,
        started: record.started,
        ended,
        outcome: if outcome == Outcome::Dropped { Outcome::Refused } else { outcome },
        access: PrescriptionAccess::Create { prescription: record.key, owners },
    })
}

fn role(one: &QueryOperation) -> Option<PrescriptionRole> {
    match one.role {
        QueryRole::Prescription(role) if one.outcome != Outcome::Dropped => Some(role),
        _ => None,
    }
}

//! Queries of FMKe as operations on prescriptions.

use assay_model::observed::PrescriptionRole;
use assay_model::{Kind, Nanos, Outcome, QueryRole};

use super::{QueryOperation, Values, node_of, times};
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
    if let Some(creation) = creation(operations, values, has_transactions, commit) {
        into.push(creation);
    }
    for (one, role) in roles() {
        let is_write = matches!(role, PrescriptionRole::Process | PrescriptionRole::AddDrugs);
        let access = match role {
            PrescriptionRole::Create
            | PrescriptionRole::CreateWithEntries
            | PrescriptionRole::AddEntry(_) => continue,
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
        // What a transaction reads may be as old as its beginning. What the application writes
        // counts when it is through with all copies.
        let started = if has_transactions { begun } else { one.started };
        let ended = if is_write { over } else { one.ended };
        let outcome = if is_write { writes_count(one.outcome) } else { one.outcome };
        into.push(PrescriptionOperation {
            index: one.index,
            session: one.session,
            node: one.node,
            started,
            ended,
            outcome,
            access,
        });
    }
}

/// The creation of a prescription, if the transaction got so far as to write something.
fn creation(
    operations: &[QueryOperation],
    values: &Values,
    has_transactions: bool,
    commit: Option<&QueryOperation>,
) -> Option<PrescriptionOperation> {
    let with_entries = Some(PrescriptionRole::CreateWithEntries);
    let is_create = |one: &&QueryOperation| {
        role(one) == with_entries || role(one) == Some(PrescriptionRole::Create)
    };
    let record = operations.iter().find(is_create)?;
    let has_entries = role(record) == with_entries;
    let mut owners = [0; LISTS];
    if has_entries {
        let mut given = values.of(record.index).map_while(|one| u64::try_from(one?).ok());
        for owner in &mut owners {
            // A history without the owners, as older ones are, cannot say what lists must have.
            *owner = given.next()?;
        }
    }
    let mut written: Vec<Outcome> = vec![record.outcome];
    let mut last = record.ended;
    for one in operations {
        if let Some(PrescriptionRole::AddEntry(kind)) = role(one) {
            owners[usize::from(kind)] = one.key;
            written.push(one.outcome);
            last = Nanos::max(last, one.ended);
        }
    }
    // A server that knows no such patient, or has such a number already, creates nothing.
    let is_whole = if has_entries { record.found } else { written.len() == LISTS + 1 };
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
        node: node_of(operations),
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

#[cfg(test)]
mod tests {
    use assay_model::ObservedValue;

    use super::*;

    /// Queries of one transaction at times 10, 20, 30 and so on, each 5 long.
    fn queries(all: &[(QueryRole, u64)], commit: Option<Outcome>) -> Vec<QueryOperation> {
        let query = |(place, (role, key)): (u64, &(QueryRole, u64))| QueryOperation {
            index: place,
            key: *key,
            started: Nanos(10 * (place + 1)),
            ended: Nanos(10 * (place + 1) + 5),
            transaction: (1, 0),
            session: 3,
            node: 0,
            agent: 0,
            kind: Kind::Update,
            outcome: Outcome::Done,
            role: *role,
            found: true,
            rows: 0,
            requests: 1,
            ends_transaction: false,
        };
        let mut queries: Vec<QueryOperation> = (0..).zip(all).map(query).collect();
        if let Some(outcome) = commit {
            let place = queries.len() as u64;
            let last = query((place, &(QueryRole::default(), 0)));
            let kind = Kind::Commit;
            queries.push(QueryOperation { kind, outcome, ends_transaction: true, ..last });
        }
        queries
    }

    fn collected(operations: &[QueryOperation], is_one: bool) -> Vec<PrescriptionOperation> {
        collected_with(&[100, 101, 102], operations, is_one)
    }

    /// With what the first operation returned, or was given.
    fn collected_with(
        of_first: &[i64],
        operations: &[QueryOperation],
        is_one: bool,
    ) -> Vec<PrescriptionOperation> {
        let value = |(item, value): (u32, &i64)| ObservedValue {
            index: 0,
            item,
            key: 4,
            value: Some(*value),
        };
        let values = Values((0..).zip(of_first).map(value).collect());
        let mut found = Vec::new();
        prescriptions(operations, &values, is_one, 100, &mut found);
        found
    }

    const fn of(role: PrescriptionRole) -> QueryRole {
        QueryRole::Prescription(role)
    }

    fn creation() -> [(QueryRole, u64); 4] {
        let entry = |kind| of(PrescriptionRole::AddEntry(kind));
        [(of(PrescriptionRole::Create), 101), (entry(0), 1), (entry(1), 2), (entry(2), 3)]
    }

    #[test]
    fn a_creation_is_its_record_with_three_entries() {
        let access = PrescriptionAccess::Create { prescription: 101, owners: [1, 2, 3] };
        let one = PrescriptionOperation {
            index: 0,
            session: 3,
            node: 0,
            started: Nanos(10),
            ended: Nanos(55),
            outcome: Outcome::Done,
            access,
        };
        assert_eq!(
            collected(&queries(&creation(), Some(Outcome::Done)), true),
            std::slice::from_ref(&one)
        );
        let by_itself = PrescriptionOperation { ended: Nanos(45), ..one };
        assert_eq!(collected(&queries(&creation(), Some(Outcome::Done)), false), [by_itself]);
    }

    #[test]
    fn a_creation_by_a_server_has_its_entries_with_it() {
        let create = [(of(PrescriptionRole::CreateWithEntries), 101)];
        let outcome = |outcome, owners: &[i64]| {
            let mut queries = queries(&create, None);
            queries[0].outcome = outcome;
            let found = collected_with(owners, &queries, false);
            found.first().map(|one| (one.outcome, one.access.clone()))
        };
        let access = PrescriptionAccess::Create { prescription: 101, owners: [1, 2, 3] };
        let owners = [1, 2, 3];
        for expected in [Outcome::Done, Outcome::Refused, Outcome::Unknown] {
            assert_eq!(outcome(expected, &owners), Some((expected, access.clone())));
        }
        assert_eq!(outcome(Outcome::Done, &[]), None);
        let mut refused = queries(&create, None);
        refused[0].found = false;
        assert_eq!(collected_with(&owners, &refused, false)[0].outcome, Outcome::Unknown);
    }

    #[test]
    fn a_creation_without_its_commit_was_undone_and_one_in_parts_is_unknown() {
        let outcome = |operations: &[QueryOperation], is_one| {
            collected(operations, is_one).first().map(|one| one.outcome)
        };
        let all = creation();
        assert_eq!(outcome(&queries(&all, None), true), Some(Outcome::Refused));
        let lost = queries(&all, Some(Outcome::Unknown));
        assert_eq!(outcome(&lost, true), Some(Outcome::Unknown));
        assert_eq!(outcome(&queries(&all[..2], None), false), Some(Outcome::Unknown));
        let mut refused = queries(&all[..1], None);
        refused[0].outcome = Outcome::Refused;
        assert_eq!(outcome(&refused, false), Some(Outcome::Refused));
    }

    #[test]
    fn lists_leave_out_what_was_loaded_and_reads_are_as_old_as_their_transaction() {
        let read = of(PrescriptionRole::ReadProcessed(1));
        let operations = queries(&[(read, 4), (of(PrescriptionRole::Process), 101)], None);
        let found = collected(&operations, false);
        let access =
            PrescriptionAccess::ReadList { list: (1, 4), entries: vec![101, 102], processed: true };
        assert_eq!(found[0].access, access);
        assert_eq!((found[1].started, found[1].ended), (Nanos(20), Nanos(25)));
        let committed =
            queries(&[(read, 4), (of(PrescriptionRole::Process), 101)], Some(Outcome::Refused));
        let found = collected(&committed, true);
        assert_eq!((found[1].started, found[1].ended), (Nanos(10), Nanos(35)));
        assert_eq!((found[0].outcome, found[1].outcome), (Outcome::Done, Outcome::Refused));
    }
}

//! Verdicts of `adya`, an independent checker of the same anomalies.

use std::collections::BTreeMap;

use adya::{History, Opts, Report, Valid, Workload};
use assay_consistency::{Quality, TransactionHistory};

use crate::converted::converted;
use crate::engine::Records;

/// The levels that both judge, with adya's names.
pub const LEVELS: [(Quality, &str); 8] = [
    (Quality::ReadCommitted, "read-committed"),
    (Quality::RepeatableRead, "repeatable-read"),
    (Quality::SnapshotIsolation, "snapshot-isolation"),
    (Quality::StrongSessionSnapshotIsolation, "strong-session-snapshot-isolation"),
    (Quality::StrongSnapshotIsolation, "strong-snapshot-isolation"),
    (Quality::Serializable, "serializable"),
    (Quality::StrongSessionSerializable, "strong-session-serializable"),
    (Quality::StrictSerializable, "strict-serializable"),
];

/// Whether adya says that each level is violated.
pub fn verdicts(history: &TransactionHistory, records: Records) -> BTreeMap<Quality, bool> {
    let foreign = converted(history);
    let verdict = |(quality, model): (Quality, &str)| {
        let report = report(&foreign, records, vec![model.to_owned()]);
        (quality, report.valid == Valid::False)
    };
    LEVELS.into_iter().map(verdict).collect()
}

/// What adya calls the anomalies of a history.
pub fn names(history: &TransactionHistory, records: Records) -> Vec<String> {
    let models = LEVELS.iter().map(|(_, model)| (*model).to_owned()).collect();
    report(&converted(history), records, models).anomaly_types
}

fn report(history: &History, records: Records, models: Vec<String>) -> Report {
    let is_list = records == Records::Lists;
    let workload = if is_list { Workload::ListAppend } else { Workload::RwRegister };
    // A write replaces what its transaction had read before: what Elle calls `wfr-keys?`.
    adya::check(history, workload, &Opts { models, wfr_keys: !is_list, ..Opts::default() })
}

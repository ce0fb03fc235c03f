//! Truth log of the store, a file next to the history.

use std::path::Path;

use assay_history::{TableError, TruthRow, TruthWriter};
use assay_model::Nanos;
use assay_store::{Store, Truth};

/// Writes the truth log of `store` into the run directory `dir`; no file without a log.
pub fn keep(store: &dyn Store, dir: &Path) -> Result<(), TableError> {
    let mut writer = None;
    store.truth(&mut |truth| {
        let writer = writer.get_or_insert_with(|| TruthWriter::create(dir));
        if let Ok(writer) = writer {
            writer.push(row(truth));
        }
    });
    writer.map_or(Ok(()), |writer| writer?.finish())
}

fn row(truth: &Truth) -> TruthRow {
    let is_answered = truth.answered_at != Nanos::NEVER;
    TruthRow {
        at: truth.at,
        answered_at: is_answered.then_some(truth.answered_at),
        session: truth.session,
        kind: truth.kind,
        key: String::from_utf8_lossy(&truth.key).into_owned(),
        node: truth.node,
        faults: truth.faults.to_string(),
        version: (truth.version != 0).then_some(truth.version),
        versions_behind: truth.versions_behind,
        staleness: truth.staleness,
        read_after_write: truth.read_after_write,
    }
}

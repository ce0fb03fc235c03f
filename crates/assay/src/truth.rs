//! Truth log of the store, beside the history.

use std::path::Path;

use assay_history::{TruthError, TruthRow, TruthWriter};
use assay_model::Nanos;
use assay_store::{Store, Truth};

/// Writes what `store` knows into the run directory `dir`; no file if it knows nothing.
///
/// # Errors
/// If the disk does not take it.
pub fn keep(store: &dyn Store, dir: &Path) -> Result<(), TruthError> {
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

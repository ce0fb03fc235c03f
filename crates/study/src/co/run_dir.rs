//! Keeps a run of the study as a run directory that every other command can read.

use assay_history::manifest::{
    CapabilitiesSection, HistorySection, OperationCounts, PhaseSection, RunSection, SettingSection,
    SpecSection, StoreSection,
};
use assay_history::{Manifest, Memory, RunDir, State};
use assay_model::{Nanos, Phase, Record};
use assay_sim::SimulatedStore;
use assay_store::Store;
use assay_workload::Plan;

use super::{KeptRuns, RunSpec};
use crate::error::{StudyError, as_invalid, other};

/// Writes `records` as a run directory of `kept`.
///
/// # Errors
/// If there is one already, or the disk does not take it.
pub fn keep(
    kept: &KeptRuns<'_>,
    command: &[String],
    target: &RunSpec,
    plan: &Plan,
    store: &SimulatedStore,
    records: &[Record],
) -> Result<(), StudyError> {
    let mut run_dir = RunDir::create(&kept.dir.join(target.name())).map_err(as_invalid)?;
    let manifest = manifest(kept, command, target, plan, store, records)?;
    run_dir.write_manifest(&manifest).map_err(other)?;
    let (writer, mut sinks) = run_dir.writer(1, Memory::default()).map_err(other)?;
    for sink in &mut sinks {
        records.iter().for_each(|record| sink.push(*record));
    }
    drop(sinks);
    writer.finish().map_err(other)?;
    run_dir.seal(0, &manifest.facts()).map_err(other)?;
    Ok(())
}

fn manifest(
    kept: &KeptRuns<'_>,
    command: &[String],
    target: &RunSpec,
    plan: &Plan,
    store: &SimulatedStore,
    records: &[Record],
) -> Result<Manifest, StudyError> {
    let settings = store.settings().map_err(other)?;
    let now = (kept.now)();
    let count = records.len() as u64;
    let last = records.iter().map(|record| record.intended).max().unwrap_or(Nanos::ZERO);
    Ok(Manifest {
        state: State::Finished,
        run: RunSection {
            id: target.name(),
            command: command.to_owned(),
            assay: env!("CARGO_PKG_VERSION").to_owned(),
            started: now.clone(),
            ended: now,
        },
        spec: SpecSection {
            name: "study-co".to_owned(),
            text: plan.spec().to_toml(),
            ..SpecSection::default()
        },
        load: (kept.describe)(&target.load()),
        store: StoreSection {
            url: "sim:".to_owned(),
            name: store.capabilities().name.to_owned(),
            version: String::new(),
            capabilities: CapabilitiesSection::default(),
            settings: settings.into_iter().map(SettingSection::from).collect(),
        },
        history: HistorySection {
            width: plan.width(),
            transaction_types: plan.transaction_types(),
            key_shape: plan.spec().dataset.key_prefix.clone(),
            records: count,
            ..HistorySection::default()
        },
        counters: OperationCounts { offered: count, done: count, ..OperationCounts::default() },
        phases: vec![PhaseSection {
            name: Phase::Measure.name().to_owned(),
            from_ns: 0,
            to_ns: last.0,
        }],
        ..Manifest::default()
    })
}

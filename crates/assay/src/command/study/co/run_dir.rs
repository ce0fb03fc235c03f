//! Keeps a run of the study as a run directory that every other command can read.

use std::path::Path;
use std::time::SystemTime;

use anyhow::Result;
use assay_analysis::DEADLINE;
use assay_history::manifest::{
    CapabilitiesSection, Counters, HistorySection, LoadPhase, LoadSection, PhaseSection,
    RunSection, SettingSection, SpecSection, StoreSection,
};
use assay_history::{Manifest, Memory, RunDir, State};
use assay_model::{Nanos, Phase, Record};
use assay_run::{Extent, Load, Spin};
use assay_store::sim::SimulatedStore;
use assay_store::{Store, StoreTime};
use assay_workload::Plan;

use super::RunSpec;
use crate::exit::{as_usage, from_open};
use crate::experiment::{load_settings, rfc3339};
use crate::load_config::LoadConfig;
use crate::setup;

/// Writes `records` as the run directory `dir`.
///
/// # Errors
/// If there is one already, or the disk does not take it.
pub fn keep(
    dir: &Path,
    target: &RunSpec,
    plan: &Plan,
    store: &SimulatedStore,
    records: &[Record],
) -> Result<()> {
    let mut run_dir = RunDir::create(dir).map_err(as_usage)?;
    let manifest = manifest(target, plan, store, records)?;
    run_dir.write_manifest(&manifest)?;
    let (writer, mut sinks) = run_dir.writer(1, Memory::default())?;
    for sink in &mut sinks {
        records.iter().for_each(|record| sink.push(*record));
    }
    drop(sinks);
    writer.finish()?;
    run_dir.seal(0, &manifest.facts())?;
    Ok(())
}

fn manifest(
    target: &RunSpec,
    plan: &Plan,
    store: &SimulatedStore,
    records: &[Record],
) -> Result<Manifest> {
    let load = target.load();
    let model = if matches!(load, Load::Open(_)) { "open" } else { "closed" };
    let (extent, timeout) = (Extent::default(), Nanos::from_secs(3600));
    let load_config = LoadConfig {
        load,
        extent,
        timeout,
        workers: 1,
        spin: Spin::Never,
        processors: Vec::new(),
        blocking_threads: 0,
        room: None,
        deadline: DEADLINE,
    };
    let settings = store.settings().map_err(from_open)?;
    let now = rfc3339(SystemTime::now());
    let count = records.len() as u64;
    let last = records.iter().map(|record| record.intended).max().unwrap_or(Nanos::ZERO);
    Ok(Manifest {
        state: State::Finished,
        run: RunSection {
            id: target.name(),
            command: setup::typed(),
            assay: env!("CARGO_PKG_VERSION").to_owned(),
            started: now.clone(),
            ended: now,
        },
        spec: SpecSection {
            name: "study-co".to_owned(),
            text: plan.spec().to_toml(),
            ..SpecSection::default()
        },
        load: LoadSection {
            model: model.to_owned(),
            text: format!("{}; in simulated time", load_config.describe()),
            workers: 1,
            settings: load_settings(&load_config, StoreTime::Simulated, LoadPhase::Run),
        },
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
        counters: Counters { offered: count, done: count, ..Counters::default() },
        phases: vec![PhaseSection {
            name: Phase::Measure.name().to_owned(),
            from_ns: 0,
            to_ns: last.0,
        }],
        ..Manifest::default()
    })
}

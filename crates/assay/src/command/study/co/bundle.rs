//! Keeps a run of the study as a bundle that every other command can read.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::SystemTime;

use anyhow::Result;
use assay_analysis::DEADLINE;
use assay_history::manifest::{
    Counters, HistorySection, LoadSection, PhaseSection, RunSection, SettingSection, SpecSection,
    StoreSection,
};
use assay_history::{Bundle, Manifest, Memory, State};
use assay_model::{Nanos, Phase, Record};
use assay_run::{Extent, Load, Spin};
use assay_store::sick::Sick;
use assay_store::{Store, StoreTime};
use assay_workload::Plan;

use super::Wanted;
use crate::asking::Asking;
use crate::exit::{as_usage, from_open};
use crate::experiment::{load_settings, rfc3339};
use crate::setup;

/// Writes `records` as the bundle `dir`.
///
/// # Errors
/// If there is one already, or the disk does not take it.
pub fn keep(
    dir: &Path,
    wanted: &Wanted,
    plan: &Plan,
    store: &Sick,
    records: &[Record],
) -> Result<()> {
    let mut bundle = Bundle::create(dir).map_err(as_usage)?;
    let manifest = manifest(wanted, plan, store, records)?;
    bundle.write_manifest(&manifest)?;
    let (writer, mut sinks) = bundle.writer(1, Memory::default())?;
    for sink in &mut sinks {
        records.iter().for_each(|record| sink.push(*record));
    }
    drop(sinks);
    writer.finish()?;
    bundle.seal(0, &manifest.facts())?;
    Ok(())
}

fn manifest(wanted: &Wanted, plan: &Plan, store: &Sick, records: &[Record]) -> Result<Manifest> {
    let load = wanted.load();
    let model = if matches!(load, Load::Open(_)) { "open" } else { "closed" };
    let (extent, patience) = (Extent::default(), Nanos::from_secs(3600));
    let asking = Asking {
        load,
        extent,
        patience,
        lanes: 1,
        spin: Spin::Never,
        processors: Vec::new(),
        workers: 0,
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
            id: wanted.name(),
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
            text: format!("{}; in told time", asking.describe()),
            lanes: 1,
            settings: load_settings(&asking, StoreTime::Told, false),
        },
        store: StoreSection {
            url: "sick:".to_owned(),
            name: store.capabilities().name.to_owned(),
            version: String::new(),
            capabilities: BTreeMap::new(),
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

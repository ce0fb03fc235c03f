//! Stores that take no queries by themselves, given a mapping.

use std::sync::Arc;

use anyhow::{Context, Result};
use assay_mapping::{Advice, Class, Expected, Keys, Mapped, Physical, advise};
use assay_model::{Catalogue, Seed};
use assay_store::{DataModel, Store};
use assay_workload::PlanPhase;

use crate::exit::{as_usage, usage};
use crate::options::Options;
use crate::workload::Workload;

/// The store that executes `workload`, drawn from `seed`: itself, or with a mapping
/// before it.
///
/// The physical schema is the one that `--mapping` names, else the one that is advised.
pub fn taking_queries(
    store: Arc<dyn Store>,
    workload: &Workload,
    seed: Seed,
    options: &Options,
) -> Result<Arc<dyn Store>> {
    let capabilities = store.capabilities();
    let given = options.mapping.text();
    if capabilities.takes_queries || workload.records().is_some() {
        return match given {
            Some(_) => Err(options
                .mapping
                .wrong(format!("{} needs no mapping for this workload", capabilities.name))),
            None => Ok(store),
        };
    }
    let physical = match given {
        Some(path) => read(path)?,
        None => {
            let plan = workload.plan(seed, PlanPhase::Run)?;
            let catalogue =
                plan.catalogue().context("a plan without record operations has queries")?;
            let class = match capabilities.data_model {
                DataModel::Column => Class::Column,
                DataModel::KeyValue | DataModel::Relational => Class::KeyValue,
            };
            let (frequencies, rows) = (plan.frequencies(), plan.relation_rows());
            let expected = Expected {
                frequencies: &frequencies,
                rows: &rows,
                keys: Keys::Checked,
                keeps_relations: plan.keeps_relations(),
            };
            advised(catalogue, class, &expected)?.best
        }
    };
    Ok(Arc::new(Mapped::new(store, physical)))
}

/// Reads the physical schema that `--mapping` names.
pub fn read(path: &str) -> Result<Physical> {
    let text = std::fs::read_to_string(path)
        .map_err(|error| usage(format!("cannot read {path}: {error}")))?;
    Physical::from_toml(&text).map_err(|error| usage(format!("{path}: {error}")))
}

/// The advisor's result. Load, run and `mapping explain` call it with the same input, so they
/// agree. Fails if a query cannot be answered from records.
pub fn advised(catalogue: &Catalogue, class: Class, expected: &Expected<'_>) -> Result<Advice> {
    advise(catalogue, class, expected).map_err(as_usage)
}

//! Stores that take no queries by themselves, given a mapping.

use std::sync::Arc;

use anyhow::Result;
use assay_mapping::{Class, Mapped, Physical};
use assay_store::{DataModel, Store};

use crate::compiled::Compiled;
use crate::exit::usage;
use crate::options::Options;

/// The store as it takes the queries of `plan`: itself, or with a mapping before it.
///
/// The physical schema is the one that `--mapping` names, else the one that is advised.
///
/// # Errors
/// If the file cannot be read, or is no physical schema.
pub fn taking_queries(
    store: Arc<dyn Store>,
    plan: &Compiled,
    options: &Options,
) -> Result<Arc<dyn Store>> {
    let capabilities = store.capabilities();
    let given = options.text("mapping");
    let Some(catalogue) = plan.catalogue().filter(|_| !capabilities.takes_queries) else {
        return match given {
            Some(_) => Err(options.wrong(
                "mapping",
                &format!("{} needs no mapping for this workload", capabilities.name),
            )),
            None => Ok(store),
        };
    };
    let physical = match given {
        Some(path) => {
            let text = std::fs::read_to_string(path)
                .map_err(|error| usage(format!("cannot read {path}: {error}")))?;
            Physical::from_toml(&text).map_err(|error| usage(format!("{path}: {error}")))?
        }
        None => {
            let class = match capabilities.data_model {
                DataModel::Column => Class::Column,
                DataModel::KeyValue | DataModel::Relational => Class::KeyValue,
            };
            Physical::plain(&catalogue.schema, class)
        }
    };
    Ok(Arc::new(Mapped::new(store, physical)))
}

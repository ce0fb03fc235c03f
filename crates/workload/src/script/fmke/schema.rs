//! The relations of FMKe in each layout.

use super::query::{ENTITIES, Entity, Owner};
use super::spec::{FmkeLayout, Population};

/// Columns of a prescription behind its number.
const PRESCRIPTION: &str = "patient_id BIGINT NOT NULL,
  prescriber_id BIGINT NOT NULL,
  pharmacy_id BIGINT NOT NULL,
  date_prescribed VARCHAR(64) NOT NULL,
  date_processed VARCHAR(64) NOT NULL,
  drugs TEXT NOT NULL,
  processed INTEGER NOT NULL";

/// Names with their text, in an order in which they can be created.
///
/// * Normalised: a list holds the numbers of its prescriptions.
/// * Nested: a list holds a copy of each prescription, a row each.
/// * Nested and packed: the list is a text in the row of its owner.
pub fn tables(layout: FmkeLayout) -> Vec<(&'static str, String)> {
    let is_packed = layout == FmkeLayout::NestedPacked;
    let mut tables: Vec<_> =
        ENTITIES.iter().map(|one| (one.table, entity(one, is_packed))).collect();
    let prescriptions = format!(
        "CREATE TABLE prescriptions (\n  prescription_id BIGINT NOT NULL,\n  {PRESCRIPTION},\n  \
         PRIMARY KEY (prescription_id)\n)"
    );
    tables.push(("prescriptions", prescriptions));
    if !is_packed {
        tables.extend(Owner::ALL.map(|owner| (owner.list(), list(owner, layout))));
    }
    tables
}

fn entity(entity: &Entity, lists_are_packed: bool) -> String {
    let Entity { table, name, columns, owner, .. } = entity;
    let mut text = format!("CREATE TABLE {table} (\n  {name}_id BIGINT NOT NULL,\n");
    for column in *columns {
        text += &format!("  {column} VARCHAR(64) NOT NULL,\n");
    }
    if lists_are_packed && owner.is_some() {
        text += "  packed TEXT NOT NULL,\n";
    }
    text + &format!("  PRIMARY KEY ({name}_id)\n)")
}

fn list(owner: Owner, layout: FmkeLayout) -> String {
    let (table, key) = (owner.list(), "  PRIMARY KEY (owner_id, entry_id)");
    let copy = match layout {
        FmkeLayout::Nested => format!("  {PRESCRIPTION},\n"),
        _ => String::new(),
    };
    format!(
        "CREATE TABLE {table} (\n  owner_id BIGINT NOT NULL,\n  entry_id BIGINT NOT NULL,\n{copy}\
         {key}\n)"
    )
}

/// Prescriptions that a run may have created when it is judged how queries reach their rows: every
/// run adds to them, so what reads all of them because there are few yet gets slower and slower.
const CREATED: u64 = 100_000;

/// How many rows each relation may have in a run.
pub(super) fn rows_of_run(layout: FmkeLayout, population: &Population) -> Vec<(&'static str, u64)> {
    let prescriptions = population.prescriptions.saturating_add(CREATED);
    rows(layout, &Population { prescriptions, ..*population })
}

/// How many rows each relation has after the load.
pub(super) fn rows(layout: FmkeLayout, population: &Population) -> Vec<(&'static str, u64)> {
    let mut rows = population.sizes().to_vec();
    if layout != FmkeLayout::NestedPacked {
        rows.extend(Owner::ALL.map(|owner| (owner.list(), population.prescriptions)));
    }
    rows
}

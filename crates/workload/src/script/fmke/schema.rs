//! The relations of FMKe in each layout.

use super::query::Owner;
use super::spec::{FmkeLayout, Population};

/// Columns of a person or place, with how many characters they have at most.
const PATIENT: [(&str, u64); 2] = [("name", 64), ("address", 64)];
const STAFF: [(&str, u64); 3] = [("name", 64), ("address", 64), ("speciality", 64)];
const FACILITY: [(&str, u64); 3] = [("name", 64), ("address", 64), ("type", 64)];

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
    let mut tables = vec![
        entity("patients", "patient", &PATIENT, layout == FmkeLayout::NestedPacked),
        entity("pharmacies", "pharmacy", &PATIENT, layout == FmkeLayout::NestedPacked),
        entity("staff", "staff", &STAFF, layout == FmkeLayout::NestedPacked),
        entity("facilities", "facility", &FACILITY, false),
        (
            "prescriptions",
            format!(
                "CREATE TABLE prescriptions (\n  prescription_id BIGINT NOT NULL,\n  \
                 {PRESCRIPTION},\n  PRIMARY KEY (prescription_id)\n)"
            ),
        ),
    ];
    if layout != FmkeLayout::NestedPacked {
        tables.extend(Owner::ALL.map(|owner| (owner.list(), list(owner, layout))));
    }
    tables
}

fn entity(
    table: &'static str,
    entity: &str,
    columns: &[(&str, u64)],
    is_packed: bool,
) -> (&'static str, String) {
    let mut text = format!("CREATE TABLE {table} (\n  {entity}_id BIGINT NOT NULL,\n");
    for (column, length) in columns {
        text += &format!("  {entity}_{column} VARCHAR({length}) NOT NULL,\n");
    }
    if is_packed {
        text += "  packed TEXT NOT NULL,\n";
    }
    (table, text + &format!("  PRIMARY KEY ({entity}_id)\n)"))
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
    let Population { patients, pharmacies, staff, facilities, prescriptions } = *population;
    let mut rows = vec![
        ("patients", patients),
        ("pharmacies", pharmacies),
        ("staff", staff),
        ("facilities", facilities),
        ("prescriptions", prescriptions),
    ];
    if layout != FmkeLayout::NestedPacked {
        rows.extend(Owner::ALL.map(|owner| (owner.list(), prescriptions)));
    }
    rows
}

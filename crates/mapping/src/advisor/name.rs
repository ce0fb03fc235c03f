//! Names for chosen tables, with what each of them is used for.

use assay_model::{Catalogue, Schema};

use crate::key_value::Compiled;
use crate::key_value::program::{Program, Rows, Step};
use crate::physical::view::View;
use crate::physical::{FitError, Physical, Role};

/// How many columns of the key a name tells.
const COLUMNS_TOLD: usize = 4;

/// A name that tells what the table holds, and by which columns.
pub(super) fn name(schema: &Schema, view: &View) -> String {
    let relations: Vec<String> =
        view.relations.iter().map(|one| schema.relation(*one).name.clone()).collect();
    let relations = relations.join("_");
    if view.role == Role::BaseTable {
        return relations;
    }
    let key = view.key.iter().take(COLUMNS_TOLD);
    let key: Vec<&str> = key
        .map(|(one, _)| schema.relation(one.relation).column(one.column).name.as_str())
        .collect();
    let verb = if view.role == Role::Lookup { "find" } else { "by" };
    format!("{relations}_{verb}_{}", key.join("_"))
}

/// Writes down which queries read each table, and how much of its key they all name.
pub(super) fn tell_uses(catalogue: &Catalogue, physical: &mut Physical) -> Result<(), FitError> {
    let compiled = Compiled::new(catalogue, physical)?;
    let indexed = physical.tables.iter().enumerate().filter(|(_, table)| table.index.is_some());
    let own = 0..physical.tables.len();
    let owners: Vec<usize> = own.chain(indexed.map(|(place, _)| place)).collect();
    for (query, costed) in catalogue.queries.iter().zip(&compiled.queries) {
        for step in steps(&costed.program) {
            let place = usize::from(step.table);
            let table = &mut physical.tables[owners[place]];
            if !table.serves.contains(&query.name) {
                table.serves.push(query.name.clone());
            }
            // A scan of everything names no partition, whatever the partition is.
            if owners[place] == place && !step.bound.is_empty() {
                table.partition = table.partition.min(step.bound.len() as u16);
            }
        }
    }
    Ok(())
}

fn steps(program: &Program) -> Vec<&Step> {
    match program {
        Program::Select(reading, _) => reading.accesses.iter().collect(),
        Program::Write(writing) => {
            let found: Vec<&Step> = match &writing.rows {
                Rows::Found(reading) => reading.accesses.iter().collect(),
                Rows::New { .. } | Rows::Keyed(_) => Vec::new(),
            };
            let partners = writing.copies.iter().flat_map(|copy| &copy.partners.accesses);
            found.into_iter().chain(partners).collect()
        }
    }
}

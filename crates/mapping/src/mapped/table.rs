//! One stored table as the executor needs it: names of its fields, types of its key.

use assay_model::query::Direction;
use assay_model::{ColumnType, Datum, Schema, Table};

use super::value;
use crate::key_value::view::View;
use crate::order;

/// A stored table.
#[derive(Clone, Debug)]
pub(super) struct Stored {
    pub(super) name: String,
    /// The names of its fields, the key's first.
    pub(super) fields: Vec<String>,
    pub(super) key: Vec<(ColumnType, Direction)>,
}

impl Stored {
    pub(super) fn new(schema: &Schema, name: &str, view: &View) -> Stored {
        let column =
            |of: crate::key_value::view::Attribute| schema.relation(of.relation).column(of.column);
        let is_unique = |name: &str| {
            let same = |of: &crate::key_value::view::Attribute| column(*of).name == name;
            view.fields().filter(same).count() == 1
        };
        let named = |of: crate::key_value::view::Attribute| match &column(of).name {
            name if is_unique(name) => name.clone(),
            name => format!("{}.{name}", schema.relation(of.relation).name),
        };
        Stored {
            name: name.into(),
            fields: view.fields().map(named).collect(),
            key: view.key.iter().map(|&(of, direction)| (column(of).kind, direction)).collect(),
        }
    }

    pub(super) fn layout(&self) -> Table {
        Table { name: self.name.clone(), fields: self.fields.clone(), needs_key_order: true }
    }

    pub(super) fn is_descending(&self, place: usize) -> bool {
        self.key[place].1 == Direction::Descending
    }

    /// Appends the value of column `place` of the key; `false` if no row's key has this value.
    pub(super) fn encode_key(&self, place: usize, datum: Datum<'_>, into: &mut Vec<u8>) -> bool {
        let (kind, direction) = self.key[place];
        let Some(datum) = value::compared(datum, kind) else { return false };
        order::encode(&datum, direction, into);
        true
    }
}

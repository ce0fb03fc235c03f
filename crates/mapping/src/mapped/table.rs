//! One stored table as the executor needs it: names of its fields, types of its key.

use assay_model::query::Direction;
use assay_model::{ColumnType, Datum, Schema, Table};

use super::lines::{self, NOWHERE, Slot};
use super::value;
use crate::order;
use crate::physical::view::{Attribute, View};

/// A stored table.
#[derive(Clone, Debug)]
pub(super) struct Stored {
    pub(super) name: String,
    /// The names of its fields, the key's first.
    pub(super) fields: Vec<String>,
    pub(super) key: Vec<(ColumnType, Direction)>,
    /// Whether scans return keys alone, of which the whole rows are made.
    pub(super) is_in_key: bool,
}

impl Stored {
    /// The table of `view` in a store that can scan for keys alone, or not.
    pub(super) fn new(schema: &Schema, name: &str, view: &View, scans_keys: bool) -> Stored {
        let column = |of: Attribute| schema.relation(of.relation).column(of.column);
        let is_unique = |name: &str| {
            let same = |of: &Attribute| column(*of).name == name;
            view.fields().filter(same).count() == 1
        };
        let is_free = |name: &str| view.fields().all(|of| column(of).name != name);
        // Document and SQL stores take a dot for a path into a value.
        let mut fields: Vec<String> = Vec::new();
        for of in view.fields() {
            let own = &column(of).name;
            let mut field = match is_unique(own) {
                true => own.clone(),
                false => format!("{}__{own}", schema.relation(of.relation).name),
            };
            while fields.contains(&field) || field != *own && !is_free(&field) {
                field.push('_');
            }
            fields.push(field);
        }
        let key: Vec<(ColumnType, Direction)> =
            view.key.iter().map(|&(of, direction)| (column(of).kind, direction)).collect();
        // Only whole numbers come out of a key as they were written.
        let is_whole = |(kind, _): &(ColumnType, _)| matches!(kind, ColumnType::Integer { .. });
        let is_in_key = scans_keys && key.len() == fields.len() && key.iter().all(is_whole);
        Stored { name: name.into(), fields, key, is_in_key }
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

    /// Appends the columns of a row whose key this is to `buffer`; `line` tells where they are.
    /// What is no key of this table leaves it without columns.
    pub(super) fn decode_key(&self, key: &[u8], buffer: &mut Vec<u8>, line: &mut [Slot]) {
        let mut rest = key;
        for (place, (_, direction)) in self.key.iter().enumerate() {
            let Some((number, behind)) = order::decode_whole(rest, *direction) else {
                return line.fill(NOWHERE);
            };
            line[place] = lines::keep(&Datum::Int(number), buffer);
            rest = behind;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::physical::{Class, Physical};

    #[test]
    fn fields_of_a_join_have_names_without_dots_each_its_own() {
        let named = |name: &str, text: &str| assay_model::query::Named {
            name: name.into(),
            text: text.into(),
        };
        let ddl = [
            named("a", "CREATE TABLE a (id INT PRIMARY KEY, x INT, a__y INT, y INT)"),
            named("b", "CREATE TABLE b (id INT PRIMARY KEY, a INT, x INT, y INT)"),
        ];
        let select = "SELECT a.x, b.x, a.y, b.y, a__y FROM a JOIN b ON b.a = a.id WHERE a.id = ?";
        let catalogue = assay_sql::catalogue(&ddl, &[named("q", select)]).unwrap();
        let mut physical = Physical::plain(&catalogue.schema, Class::KeyValue);
        physical.tables.push(toml::from_str(
            "name = \"ab\"\nrole = \"join\"\nrelations = [\"a\", \"b\"]\njoins = [\"b.a = a.id\"]\n\
             key = [\"a.id\", \"b.id\"]\npartition = 1\n\
             columns = [\"a.x\", \"b.x\", \"a.y\", \"b.y\", \"a.a__y\", \"b.a\"]\n",
        )
        .unwrap());
        let views = physical.views(&catalogue.schema).unwrap();
        let mut fields = Stored::new(&catalogue.schema, "ab", &views[2], false).fields;
        fields.sort();
        let expected = ["a", "a__id", "a__x", "a__y", "a__y_", "b__id", "b__x", "b__y"];
        assert_eq!(fields, expected);
    }
}

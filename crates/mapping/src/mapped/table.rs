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
        Stored {
            name: name.into(),
            fields,
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::physical::{Class, Physical};
    use crate::sql;

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
        let catalogue = sql::catalogue(&ddl, &[named("q", select)]).unwrap();
        let mut physical = Physical::plain(&catalogue.schema, Class::KeyValue);
        physical.tables.push(toml::from_str(
            "name = \"ab\"\nrole = \"join\"\nrelations = [\"a\", \"b\"]\njoins = [\"b.a = a.id\"]\n\
             key = [\"a.id\", \"b.id\"]\npartition = 1\n\
             columns = [\"a.x\", \"b.x\", \"a.y\", \"b.y\", \"a.a__y\", \"b.a\"]\n",
        )
        .unwrap());
        let views = physical.views(&catalogue.schema).unwrap();
        let mut fields = Stored::new(&catalogue.schema, "ab", &views[2]).fields;
        fields.sort();
        let expected = ["a", "a__id", "a__x", "a__y", "a__y_", "b__id", "b__x", "b__y"];
        assert_eq!(fields, expected);
    }
}

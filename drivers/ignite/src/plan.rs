//! The tables of a layout as caches.

use assay_driver_kit::java_hash::java_hash;
use assay_model::{Layout, Table as Laid};

use super::cache::type_name;
use super::keys::Keys;
use super::object::{self, Types};
use super::options::{Content, Options};

/// What was prepared last.
#[derive(Clone, Debug, Default)]
pub(super) struct Plan {
    pub(super) tables: Vec<Table>,
}

/// A table.
#[derive(Clone, Debug)]
pub(super) struct Table {
    /// The name of its cache.
    pub(super) cache: String,
    /// The number of its cache: Java's hash of the name.
    pub(super) number: i32,
    /// The names of its fields.
    pub(super) fields: Vec<String>,
    /// The numbers of its fields, in their order; together its schema.
    pub(super) numbers: Vec<i32>,
    /// The type of its records.
    pub(super) of_type: i32,
}

impl Plan {
    /// The plan of a layout, or why there is none.
    pub(super) fn new(layout: &Layout, options: &Options) -> Result<Plan, String> {
        let are_bytes = options.keys == Keys::Bytes && options.content == Content::Bytes;
        if layout.tables.iter().any(|table| table.needs_key_order) && !are_bytes {
            return Err("keys and fields of tables of a mapping are bytes: say \
                        keys=bytes&fields=bytes"
                .into());
        }
        let tables = layout.tables.iter().map(|table| Table::new(table, options));
        Ok(Plan { tables: tables.collect::<Result<_, _>>()? })
    }

    /// The types and schemas of its records.
    pub(super) fn types(&self, content: Content) -> Types {
        let mut types = Types::default();
        for table in &self.tables {
            types.add_type(table.of_type, type_name(content));
            table.fields.iter().for_each(|name| types.add_name(table.of_type, name));
            let schema = object::schema_number(&table.numbers);
            types.add_schema(table.of_type, schema, &table.numbers);
        }
        types
    }

    /// The numbers of the caches.
    pub(super) fn caches(&self) -> Vec<i32> {
        self.tables.iter().map(|table| table.number).collect()
    }
}

impl Table {
    fn new(table: &Laid, options: &Options) -> Result<Table, String> {
        let numbers: Vec<i32> = table.fields.iter().map(|name| object::number(name)).collect();
        for (place, number) in numbers.iter().enumerate() {
            if let Some(other) = numbers[..place].iter().position(|other| other == number) {
                return Err(format!(
                    "fields {} and {} of table {} are the same to it: it keeps fields apart by \
                     the Java hash of their names in lower case; rename one",
                    table.fields[other], table.fields[place], table.name
                ));
            }
        }
        let cache = options.cache(&table.name);
        Ok(Table {
            number: java_hash(cache.as_bytes()),
            cache,
            fields: table.fields.clone(),
            numbers,
            of_type: object::number(type_name(options.content)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(fields: &[&str]) -> Result<Plan, String> {
        let fields = fields.iter().map(|name| (*name).to_owned()).collect();
        let table = Laid { name: "usertable".into(), fields, needs_key_order: false };
        let layout = Layout { tables: vec![table], records: 1 };
        Plan::new(&layout, &"ignite://h".parse().unwrap())
    }

    #[test]
    fn tables_of_a_mapping_need_fields_as_bytes() {
        let fields = vec!["a".to_owned()];
        let table = Laid { name: "t".into(), fields, needs_key_order: true };
        let layout = Layout { tables: vec![table], records: 1 };
        let planned = |url: &str| Plan::new(&layout, &url.parse().unwrap());
        let reported = planned("ignite://h?keys=bytes").unwrap_err();
        assert!(reported.contains("keys=bytes&fields=bytes"), "{reported}");
        assert!(planned("ignite://h?keys=bytes&fields=bytes").is_ok());
    }

    #[test]
    fn numbers_are_hashes() {
        let plan = plan(&["a", "B"]).unwrap();
        let table = &plan.tables[0];
        assert_eq!(table.numbers, [97, 98]);
        assert_eq!(table.number, java_hash(b"usertable"));
        assert_eq!(table.of_type, java_hash(b"customtype"));
    }

    #[test]
    fn fields_that_hash_to_the_same_are_refused() {
        for fields in [["name", "NAME"], ["a~", "b_"]] {
            let error = plan(&fields).unwrap_err();
            assert!(error.contains("are the same to it"), "{error}");
        }
    }
}

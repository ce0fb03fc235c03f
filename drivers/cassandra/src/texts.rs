//! The CQL of requests for records.

use std::collections::HashMap;

use assay_model::{Fields, Kind, Table};
use assay_store::{Request, Values};

use super::options::{Content, Options, Writing};

/// The key's column, as YCSB's binding names it.
pub(super) const KEY: &str = "y_id";
/// The partition of a table whose records are kept in the order of their keys. It has one value.
const PARTITION: &str = "assay_partition";
/// Up to so many fields every statement about one of them is prepared before its first use.
const FIELDS_PREPARED_EARLY: u16 = 32;

/// One table, with all that is needed to access its records.
pub(super) struct TableTexts {
    table: Table,
    keyspace: String,
    insert: Writing,
    update: Writing,
    content: Content,
}

/// What a statement is about; the same shape of the same table is the same statement.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Shape {
    Read(Columns),
    Scan(Columns),
    Insert(Columns),
    Update(Columns),
    Delete,
}

/// Which fields a statement names.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Columns {
    All,
    One(u16),
    Some(Vec<u16>),
}

impl TableTexts {
    pub(super) fn new(table: &Table, options: &Options) -> TableTexts {
        // Tables of a mapping hold encoded values, which are no text.
        let content = if table.needs_key_order { Content::Bytes } else { options.content };
        TableTexts {
            table: table.clone(),
            keyspace: options.keyspace.clone(),
            insert: options.insert,
            update: options.update,
            content,
        }
    }

    /// The table's own name.
    pub(super) fn name(&self) -> &str {
        &self.table.name
    }

    /// What its keys and fields are.
    pub(super) fn content(&self) -> Content {
        self.content
    }

    /// The names of the fields that a read or scan returns; `None` if there is no such field.
    pub(super) fn names(&self, fields: Fields) -> Option<&[String]> {
        match fields {
            Fields::All | Fields::Named => Some(&self.table.fields),
            Fields::One(number) => {
                let place = usize::from(number);
                self.table.fields.get(place..=place)
            }
        }
    }

    /// The statement of `request`; `None` if there is no such field, or nothing is written.
    pub(super) fn shape(&self, request: &Request<'_>) -> Option<Shape> {
        match request.kind {
            Kind::Read => self.looked_at(request.fields).map(Shape::Read),
            Kind::Scan => self.looked_at(request.fields).map(Shape::Scan),
            Kind::Insert => self.written(&request.values).map(Shape::Insert),
            Kind::Update if request.values.is_empty() => None,
            Kind::Update => self.written(&request.values).map(Shape::Update),
            Kind::Delete => Some(Shape::Delete),
            Kind::Commit | Kind::Rollback => None,
        }
    }

    /// The frequent statements, to be prepared before their first use.
    pub(super) fn usual_shapes(&self) -> Vec<Shape> {
        let mut shapes = vec![Shape::Delete];
        let all = [Shape::Read, Shape::Scan, Shape::Insert, Shape::Update];
        let is_empty = self.table.fields.is_empty();
        shapes.extend(all.iter().filter(|_| !is_empty).map(|of| of(Columns::All)));
        let one: [fn(Columns) -> Shape; 3] = [Shape::Read, Shape::Scan, Shape::Update];
        let count = self.table.fields.len() as u16;
        if count <= FIELDS_PREPARED_EARLY {
            let numbers = (0..count).flat_map(|number| one.map(|of| of(Columns::One(number))));
            shapes.extend(numbers);
        }
        shapes
    }

    /// Whether the server answers with whether a condition held.
    pub(super) fn is_conditional(&self, shape: &Shape) -> bool {
        match shape {
            Shape::Read(_) | Shape::Scan(_) => false,
            Shape::Insert(_) => self.insert == Writing::Lwt,
            Shape::Update(_) | Shape::Delete => self.update == Writing::Lwt,
        }
    }

    /// The statement. Its arguments: first the values in an update, else the key; then the other;
    /// last the limit of a scan.
    pub(super) fn text(&self, shape: &Shape) -> String {
        let table = self.full_name();
        let of_key = self.of_key();
        match shape {
            Shape::Read(columns) => {
                let fields = self.list(columns, |name| name);
                format!("SELECT {fields} FROM {table} WHERE {of_key}")
            }
            Shape::Scan(columns) => {
                let fields = self.list(columns, |name| name);
                let from = match self.table.needs_key_order {
                    true => format!("{PARTITION} = 0 AND {KEY} >= ?"),
                    false => format!("token({KEY}) >= token(?)"),
                };
                format!("SELECT {fields} FROM {table} WHERE {from} LIMIT ?")
            }
            Shape::Insert(columns) => {
                let mut names = vec![KEY.to_owned()];
                names.extend(self.chosen(columns).map(quoted));
                let places = vec!["?"; names.len()].join(", ");
                let names = names.join(", ");
                let (partition, zero) = match self.table.needs_key_order {
                    true => (format!("{PARTITION}, "), "0, "),
                    false => (String::new(), ""),
                };
                let condition = if self.is_conditional(shape) { " IF NOT EXISTS" } else { "" };
                format!(
                    "INSERT INTO {table} ({partition}{names}) VALUES ({zero}{places}){condition}"
                )
            }
            Shape::Update(columns) => {
                let sets = self.list(columns, |name| format!("{name} = ?"));
                let condition = if self.is_conditional(shape) { " IF EXISTS" } else { "" };
                format!("UPDATE {table} SET {sets} WHERE {of_key}{condition}")
            }
            Shape::Delete => {
                let condition = if self.is_conditional(shape) { " IF EXISTS" } else { "" };
                format!("DELETE FROM {table} WHERE {of_key}{condition}")
            }
        }
    }

    /// Makes the table, if there is none of that name.
    pub(super) fn create(&self) -> String {
        let kind = match self.content {
            Content::Text => "varchar",
            Content::Bytes => "blob",
        };
        let mut text = format!("CREATE TABLE IF NOT EXISTS {} (", self.full_name());
        match self.table.needs_key_order {
            true => text.push_str(&format!("{PARTITION} tinyint, {KEY} {kind}, ")),
            false => text.push_str(&format!("{KEY} {kind} PRIMARY KEY, ")),
        }
        let fields = self.table.fields.iter().map(|name| format!("{} {kind}", quoted(name)));
        text.push_str(&fields.collect::<Vec<_>>().join(", "));
        if self.table.needs_key_order {
            text.push_str(&format!(", PRIMARY KEY ({PARTITION}, {KEY})"));
        }
        text.push(')');
        text
    }

    /// Removes the table, if it is there.
    pub(super) fn drop_table(&self) -> String {
        format!("DROP TABLE IF EXISTS {}", self.full_name())
    }

    /// What is wrong with the columns of the table that is there, by name with their CQL types.
    pub(super) fn misfit(&self, columns: &HashMap<String, String>) -> Option<String> {
        let table = &self.table.name;
        let (option, kind) = match self.content {
            Content::Text => ("text", "text"),
            Content::Bytes => ("bytes", "blob"),
        };
        if self.table.needs_key_order != columns.contains_key(PARTITION) {
            return Some(format!(
                "its table {table} keeps its records in another order than they are scanned in; \
                 choose another keyspace, or drop the table"
            ));
        }
        for name in [KEY].into_iter().chain(self.table.fields.iter().map(String::as_str)) {
            match columns.get(name).map(String::as_str) {
                None => {
                    return Some(format!(
                        "its table {table} has no column {name}; choose another keyspace, or drop \
                         the table"
                    ));
                }
                // A text by its other name, or one of plain letters.
                Some("varchar" | "ascii") if kind == "text" => {}
                Some(other) if other == kind => {}
                Some(other) => {
                    return Some(format!(
                        "column {name} of its table {table} is {other}, and columns={option} wants \
                         {kind}; say the other, choose another keyspace, or drop the table"
                    ));
                }
            }
        }
        None
    }

    fn of_key(&self) -> String {
        match self.table.needs_key_order {
            true => format!("{PARTITION} = 0 AND {KEY} = ?"),
            false => format!("{KEY} = ?"),
        }
    }

    fn full_name(&self) -> String {
        format!("{}.{}", quoted(&self.keyspace), quoted(&self.table.name))
    }

    fn looked_at(&self, fields: Fields) -> Option<Columns> {
        match fields {
            Fields::All | Fields::Named => Some(Columns::All),
            Fields::One(number) => self.has(number).then_some(Columns::One(number)),
        }
    }

    fn written(&self, values: &Values<'_>) -> Option<Columns> {
        if !values.iter().all(|(number, _)| self.has(number)) {
            return None;
        }
        let mut numbers = values.iter().map(|(number, _)| number);
        let in_order = (0..).zip(values.iter()).all(|(place, (number, _))| place == number);
        match values.len() {
            count if count == self.table.fields.len() && in_order => Some(Columns::All),
            1 => numbers.next().map(Columns::One),
            _ => Some(Columns::Some(numbers.collect())),
        }
    }

    fn has(&self, number: u16) -> bool {
        usize::from(number) < self.table.fields.len()
    }

    fn chosen<'a>(&'a self, columns: &'a Columns) -> impl Iterator<Item = &'a String> {
        let numbers: Vec<usize> = match columns {
            Columns::All => (0..self.table.fields.len()).collect(),
            Columns::One(number) => vec![usize::from(*number)],
            Columns::Some(numbers) => numbers.iter().map(|&number| usize::from(number)).collect(),
        };
        numbers.into_iter().map(|number| &self.table.fields[number])
    }

    fn list(&self, columns: &Columns, write: impl Fn(String) -> String) -> String {
        let names = self.chosen(columns).map(|name| write(quoted(name)));
        names.collect::<Vec<_>>().join(", ")
    }
}

/// A name as it is, with its capitals, and no word of the language.
pub(super) fn quoted(name: impl AsRef<str>) -> String {
    format!("\"{}\"", name.as_ref().replace('"', "\"\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(options: &str, needs_key_order: bool) -> TableTexts {
        let options: Options = format!("cassandra://h/ks{options}").parse().unwrap();
        let fields = ["a", "b", "c"].map(String::from).to_vec();
        TableTexts::new(&Table { name: "t".into(), fields, needs_key_order }, &options)
    }

    fn text(texts: &TableTexts, kind: Kind, fields: Fields, written: &[u16]) -> Option<String> {
        let spans: Vec<_> = written.iter().map(|&number| (number, 0..0)).collect();
        let values = Values::new(&spans, b"");
        let request = Request { fields, values, ..Request::new(kind, b"k") };
        texts.shape(&request).map(|shape| texts.text(&shape))
    }

    #[test]
    fn what_is_written_is_what_is_named() {
        let table = texts("", false);
        let written = |kind, numbers: &[u16]| text(&table, kind, Fields::All, numbers);
        for (kind, numbers, expected) in [
            (
                Kind::Insert,
                &[0, 1, 2][..],
                r#"INSERT INTO "ks"."t" (y_id, "a", "b", "c") VALUES (?, ?, ?, ?)"#,
            ),
            (Kind::Insert, &[2, 0], r#"INSERT INTO "ks"."t" (y_id, "c", "a") VALUES (?, ?, ?)"#),
            (Kind::Insert, &[], r#"INSERT INTO "ks"."t" (y_id) VALUES (?)"#),
            (Kind::Update, &[1], r#"UPDATE "ks"."t" SET "b" = ? WHERE y_id = ?"#),
            (Kind::Update, &[2, 1], r#"UPDATE "ks"."t" SET "c" = ?, "b" = ? WHERE y_id = ?"#),
            (Kind::Delete, &[], r#"DELETE FROM "ks"."t" WHERE y_id = ?"#),
        ] {
            assert_eq!(written(kind, numbers).as_deref(), Some(expected), "{kind:?} {numbers:?}");
        }
        assert_eq!(written(Kind::Update, &[]), None);
        assert_eq!(written(Kind::Update, &[3]), None);
        assert_eq!(written(Kind::Insert, &[0, 9]), None);
    }

    #[test]
    fn what_is_read_is_what_is_named() {
        let table = texts("", false);
        let read = |kind, fields| text(&table, kind, fields, &[]);
        let all = r#"SELECT "a", "b", "c" FROM "ks"."t" WHERE y_id = ?"#;
        assert_eq!(read(Kind::Read, Fields::All).as_deref(), Some(all));
        assert_eq!(read(Kind::Read, Fields::Named).as_deref(), Some(all));
        let one = r#"SELECT "b" FROM "ks"."t" WHERE y_id = ?"#;
        assert_eq!(read(Kind::Read, Fields::One(1)).as_deref(), Some(one));
        assert_eq!(read(Kind::Read, Fields::One(3)), None);
        let scan = r#"SELECT "a" FROM "ks"."t" WHERE token(y_id) >= token(?) LIMIT ?"#;
        assert_eq!(read(Kind::Scan, Fields::One(0)).as_deref(), Some(scan));
    }

    #[test]
    fn writes_are_conditional_where_the_url_says_so() {
        let table = texts("?insert=lwt&update=lwt", false);
        for (kind, ending) in [
            (Kind::Insert, "IF NOT EXISTS"),
            (Kind::Update, "IF EXISTS"),
            (Kind::Delete, "IF EXISTS"),
        ] {
            let text = text(&table, kind, Fields::All, &[0]).unwrap();
            assert!(text.ends_with(ending), "{text}");
        }
    }

    #[test]
    fn a_table_in_key_order_is_one_partition() {
        let table = texts("", true);
        assert_eq!(
            table.create(),
            r#"CREATE TABLE IF NOT EXISTS "ks"."t" (assay_partition tinyint, y_id blob, "a" blob, "#
                .to_owned()
                + r#""b" blob, "c" blob, PRIMARY KEY (assay_partition, y_id))"#
        );
        let of = |kind| text(&table, kind, Fields::One(0), &[0]).unwrap();
        assert_eq!(
            of(Kind::Scan),
            r#"SELECT "a" FROM "ks"."t" WHERE assay_partition = 0 AND y_id >= ? LIMIT ?"#
        );
        assert_eq!(
            of(Kind::Insert),
            r#"INSERT INTO "ks"."t" (assay_partition, y_id, "a") VALUES (0, ?, ?)"#
        );
    }

    #[test]
    fn a_table_of_others_must_fit() {
        let columns = |kinds: &[(&str, &str)]| {
            kinds.iter().map(|(name, kind)| ((*name).to_owned(), (*kind).to_owned())).collect()
        };
        let table = texts("", false);
        let ycsb = [("y_id", "text"), ("a", "text"), ("b", "text"), ("c", "text")];
        assert_eq!(table.misfit(&columns(&ycsb)), None);
        let lacks = table.misfit(&columns(&ycsb[..3])).unwrap();
        assert!(lacks.contains("has no column c"), "{lacks}");
        let bytes = texts("?columns=bytes", false).misfit(&columns(&ycsb)).unwrap();
        assert!(bytes.contains("is text, and columns=bytes wants blob"), "{bytes}");
        let ordered = texts("", true).misfit(&columns(&ycsb)).unwrap();
        assert!(ordered.contains("another order"), "{ordered}");
    }
}

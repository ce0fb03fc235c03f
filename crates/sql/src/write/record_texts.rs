//! The SQL of requests for records, written once for each table.

use std::borrow::Cow;

use assay_model::{Fields, Kind, Table};

use super::{Dialect, Records};

/// The statements of one table, ready for the frequent requests: all fields, or one of them.
pub struct RecordTexts {
    dialect: Dialect,
    table: Table,
    read: Choice,
    scan: Choice,
    update: Choice,
    insert: String,
    delete: String,
}

/// A statement about all fields with those about one of them.
struct Choice {
    all: String,
    one: Vec<String>,
}

impl RecordTexts {
    /// The statements of `table`.
    pub fn new(dialect: Dialect, table: &Table) -> RecordTexts {
        let records = Records::new(dialect, table);
        let all: Vec<u16> = (0..table.fields.len() as u16).collect();
        let choice = |text: &dyn Fn(&[u16], Fields) -> Option<String>| Choice {
            all: text(&all, Fields::All).unwrap_or_default(),
            one: all.iter().filter_map(|&one| text(&[one], Fields::One(one))).collect(),
        };
        RecordTexts {
            dialect,
            read: choice(&|_, fields| records.read(fields)),
            scan: choice(&|_, fields| records.scan(fields)),
            update: choice(&|numbers, _| records.update(numbers)),
            insert: records.insert(&all).unwrap_or_default(),
            delete: records.delete(),
            table: table.clone(),
        }
    }

    /// The table's name with those of its fields.
    pub fn table(&self) -> &Table {
        &self.table
    }

    /// The names of the fields that a read or scan returns; `None` if there is no such field.
    pub fn names(&self, fields: Fields) -> Option<&[String]> {
        match fields {
            Fields::All | Fields::Named => Some(&self.table.fields),
            Fields::One(number) => {
                let place = usize::from(number);
                self.table.fields.get(place..=place)
            }
        }
    }

    /// The statement of a request of this kind: a read or scan of `fields`, a write of those with
    /// the numbers in `written`; `None` if the table has no such field, or nothing is written.
    pub fn text(
        &self,
        kind: Kind,
        fields: Fields,
        written: impl Iterator<Item = u16> + Clone,
    ) -> Option<Cow<'_, str>> {
        match kind {
            Kind::Read => self.read.of(fields).map(Cow::Borrowed),
            Kind::Scan => self.scan.of(fields).map(Cow::Borrowed),
            Kind::Delete => Some(Cow::Borrowed(&*self.delete)),
            Kind::Insert if self.is_all(written.clone()) => Some(Cow::Borrowed(&*self.insert)),
            Kind::Insert => self.records().insert(&written.collect::<Vec<u16>>()).map(Cow::Owned),
            Kind::Update if self.is_all(written.clone()) => Some(Cow::Borrowed(&*self.update.all)),
            Kind::Update => match *written.collect::<Vec<u16>>() {
                [] => None,
                [one] => self.update.of(Fields::One(one)).map(Cow::Borrowed),
                ref some => self.records().update(some).map(Cow::Owned),
            },
            Kind::Commit | Kind::Rollback => None,
        }
    }

    fn records(&self) -> Records<'_> {
        Records::new(self.dialect, &self.table)
    }

    /// Whether all fields are written, in their order.
    fn is_all(&self, written: impl Iterator<Item = u16>) -> bool {
        !self.table.fields.is_empty() && written.eq(0..self.table.fields.len() as u16)
    }
}

impl Choice {
    fn of(&self, fields: Fields) -> Option<&str> {
        match fields {
            Fields::All | Fields::Named => Some(&self.all),
            Fields::One(number) => self.one.get(usize::from(number)).map(String::as_str),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(kind: Kind, fields: Fields, written: &[u16]) -> Option<String> {
        let fields_of_table = ["a", "b", "c"].map(String::from).to_vec();
        let table = Table { name: "t".into(), fields: fields_of_table, needs_key_order: false };
        let texts = RecordTexts::new(Dialect::MySql, &table);
        texts.text(kind, fields, written.iter().copied()).map(Cow::into_owned)
    }

    #[test]
    fn what_is_written_is_what_is_named() {
        let written = |kind, numbers: &[u16]| text(kind, Fields::All, numbers).unwrap_or_default();
        for (kind, numbers, expected) in [
            (Kind::Insert, &[0, 1, 2][..], "INSERT INTO t (YCSB_KEY, a, b, c) VALUES (?, ?, ?, ?)"),
            (Kind::Insert, &[2, 0], "INSERT INTO t (YCSB_KEY, c, a) VALUES (?, ?, ?)"),
            (Kind::Insert, &[2, 1, 0], "INSERT INTO t (YCSB_KEY, c, b, a) VALUES (?, ?, ?, ?)"),
            (Kind::Insert, &[], "INSERT INTO t (YCSB_KEY) VALUES (?)"),
            (Kind::Insert, &[3], ""),
            (Kind::Update, &[0, 1, 2], "UPDATE t SET a = ?, b = ?, c = ? WHERE YCSB_KEY = ?"),
            (Kind::Update, &[1], "UPDATE t SET b = ? WHERE YCSB_KEY = ?"),
            (Kind::Update, &[2, 1], "UPDATE t SET c = ?, b = ? WHERE YCSB_KEY = ?"),
            (Kind::Update, &[], ""),
            (Kind::Update, &[9], ""),
            (Kind::Delete, &[], "DELETE FROM t WHERE YCSB_KEY = ?"),
        ] {
            assert_eq!(written(kind, numbers), expected, "{kind:?} {numbers:?}");
        }
    }

    #[test]
    fn what_is_read_is_what_is_named() {
        let read = |fields| text(Kind::Read, fields, &[]);
        let all = "SELECT a, b, c FROM t WHERE YCSB_KEY = ?";
        assert_eq!(read(Fields::All).as_deref(), Some(all));
        assert_eq!(read(Fields::Named).as_deref(), Some(all));
        assert_eq!(read(Fields::One(1)).as_deref(), Some("SELECT b FROM t WHERE YCSB_KEY = ?"));
        assert_eq!(read(Fields::One(3)), None);
        assert_eq!(
            text(Kind::Scan, Fields::One(0), &[]).as_deref(),
            Some("SELECT a FROM t WHERE YCSB_KEY >= ? ORDER BY YCSB_KEY LIMIT ?")
        );
    }
}

//! Turns requests into Redis commands, in the layout of YCSB's Redis binding.
//!
//! A record is a hash under its own key, without a prefix. The sorted set `_indices` has every
//! key, scored by [`java_hash`] of it. Scans walk that set: in the order of the hash, not of the
//! key. Scores tie for keys of the same hash; Redis then goes by the bytes of the key.

use std::ops::Range;

use assay_model::{Fields, Kind, Reason};
use assay_store::Request;
use assay_store::resp::write;

use super::java_hash::java_hash;
use super::options::{Index, RecordShape};

/// The sorted set of all keys.
pub(super) const INDEX: &[u8] = b"_indices";

/// What the reply to a command means. An operation of two commands has a first and a second half.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// HGETALL: the record with all its fields.
    Record,
    /// HGET or GET: this one field.
    Field(u16),
    /// HMGET: every field of the layout, in its order.
    Named,
    /// HMSET or SET.
    Write,
    /// DEL.
    Delete,
    /// The first half of an insert: HMSET or SET.
    InsertRecord,
    /// The second half of an insert: ZADD.
    InsertEntry,
    /// The first half of a delete: DEL.
    DeleteRecord,
    /// The second half of a delete: ZREM.
    DeleteEntry,
    /// ZRANGEBYSCORE: the keys of the records that a scan returns.
    ScanKeys(Fields),
    /// One record of a scan; more follow.
    ScanRow(Fields),
    /// The last record of a scan.
    ScanLastRow(Fields),
    /// A command of the greeting that must succeed.
    GreetingMust,
    /// A command of the greeting that may fail.
    GreetingWish,
}

/// The replies that a request waits for.
pub(super) type Steps = (Step, Option<Step>);

/// The field names of the layout, in the forms that requests need.
#[derive(Debug)]
pub(super) struct Tongue {
    shape: RecordShape,
    index: Index,
    /// Each name as a word of a command.
    words: Vec<Vec<u8>>,
    /// All of them after one another.
    all_words: Vec<u8>,
    /// All names after one another, without anything between them.
    names: Vec<u8>,
    places: Vec<Range<u32>>,
}

impl Tongue {
    pub(super) fn new(fields: &[String], shape: RecordShape, index: Index) -> Tongue {
        let mut tongue = Tongue {
            shape,
            index,
            words: Vec::new(),
            all_words: Vec::new(),
            names: Vec::new(),
            places: Vec::new(),
        };
        for field in fields {
            let mut word = Vec::new();
            write::bulk(field.as_bytes(), &mut word);
            tongue.all_words.extend_from_slice(&word);
            tongue.words.push(word);
            let start = tongue.names.len() as u32;
            tongue.names.extend_from_slice(field.as_bytes());
            tongue.places.push(start..tongue.names.len() as u32);
        }
        tongue
    }

    /// All field names after one another.
    pub(super) fn names(&self) -> &[u8] {
        &self.names
    }

    /// Where each field's name is in [`Tongue::names`].
    pub(super) fn places(&self) -> &[Range<u32>] {
        &self.places
    }

    /// Appends the commands of `request`, or says why there are none.
    pub(super) fn encode(&self, request: &Request<'_>, out: &mut Vec<u8>) -> Result<Steps, Reason> {
        if request.table != 0 {
            return Err(Reason::Malformed);
        }
        let key = request.key;
        match request.kind {
            Kind::Commit | Kind::Rollback => Err(Reason::Unsupported),
            Kind::Read => Ok((self.read(key, request.fields, out)?, None)),
            Kind::Update => {
                self.write(request, out)?;
                Ok((Step::Write, None))
            }
            Kind::Insert => {
                self.write(request, out)?;
                if self.index == Index::Off {
                    return Ok((Step::Write, None));
                }
                out.extend_from_slice(b"*4\r\n$4\r\nZADD\r\n$8\r\n_indices\r\n");
                write::bulk_integer(i64::from(java_hash(key)), out);
                write::bulk(key, out);
                Ok((Step::InsertRecord, Some(Step::InsertEntry)))
            }
            Kind::Delete => {
                out.extend_from_slice(b"*2\r\n$3\r\nDEL\r\n");
                write::bulk(key, out);
                if self.index == Index::Off {
                    return Ok((Step::Delete, None));
                }
                out.extend_from_slice(b"*3\r\n$4\r\nZREM\r\n$8\r\n_indices\r\n");
                write::bulk(key, out);
                Ok((Step::DeleteRecord, Some(Step::DeleteEntry)))
            }
            Kind::Scan => {
                if self.index == Index::Off {
                    return Err(Reason::Unsupported);
                }
                self.check(request.fields)?;
                out.extend_from_slice(b"*7\r\n$13\r\nZRANGEBYSCORE\r\n$8\r\n_indices\r\n");
                write::bulk_integer(i64::from(java_hash(key)), out);
                out.extend_from_slice(b"$4\r\n+inf\r\n$5\r\nLIMIT\r\n$1\r\n0\r\n");
                write::bulk_integer(i64::from(request.limit), out);
                Ok((Step::ScanKeys(request.fields), None))
            }
        }
    }

    /// Appends the command that reads one record.
    pub(super) fn read(
        &self,
        key: &[u8],
        fields: Fields,
        out: &mut Vec<u8>,
    ) -> Result<Step, Reason> {
        self.check(fields)?;
        let step = self.step(fields);
        match step {
            Step::Field(_) if self.shape == RecordShape::String => {
                out.extend_from_slice(b"*2\r\n$3\r\nGET\r\n");
                write::bulk(key, out);
            }
            Step::Field(number) => {
                out.extend_from_slice(b"*3\r\n$4\r\nHGET\r\n");
                write::bulk(key, out);
                out.extend_from_slice(&self.words[usize::from(number)]);
            }
            Step::Named => {
                write::array(2 + self.words.len(), out);
                out.extend_from_slice(b"$5\r\nHMGET\r\n");
                write::bulk(key, out);
                out.extend_from_slice(&self.all_words);
            }
            _ => {
                out.extend_from_slice(b"*2\r\n$7\r\nHGETALL\r\n");
                write::bulk(key, out);
            }
        }
        Ok(step)
    }

    /// What the reply to the reading of one record means.
    pub(super) fn step(&self, fields: Fields) -> Step {
        match (self.shape, fields) {
            (RecordShape::String, _) => Step::Field(0),
            (RecordShape::Hash, Fields::All) => Step::Record,
            (RecordShape::Hash, Fields::One(number)) => Step::Field(number),
            (RecordShape::Hash, Fields::Named) => Step::Named,
        }
    }

    fn check(&self, fields: Fields) -> Result<(), Reason> {
        match fields {
            Fields::One(number) if usize::from(number) >= self.words.len() => {
                Err(Reason::Malformed)
            }
            _ => Ok(()),
        }
    }

    /// HMSET creates a missing record; that is how YCSB's binding updates.
    fn write(&self, request: &Request<'_>, out: &mut Vec<u8>) -> Result<(), Reason> {
        let values = &request.values;
        let last = self.words.len();
        if values.is_empty() || values.iter().any(|(number, _)| usize::from(number) >= last) {
            return Err(Reason::Malformed);
        }
        if self.shape == RecordShape::String {
            out.extend_from_slice(b"*3\r\n$3\r\nSET\r\n");
            write::bulk(request.key, out);
            for (_, value) in values.iter().take(1) {
                write::bulk(value, out);
            }
            return Ok(());
        }
        write::array(2 + 2 * values.len(), out);
        out.extend_from_slice(b"$5\r\nHMSET\r\n");
        write::bulk(request.key, out);
        for (number, value) in values.iter() {
            out.extend_from_slice(&self.words[usize::from(number)]);
            write::bulk(value, out);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use assay_store::Values;

    use super::*;

    fn encode(shape: RecordShape, index: Index, request: Request<'_>) -> Result<String, Reason> {
        let fields = match shape {
            RecordShape::Hash => vec!["f0".to_owned(), "f1".to_owned()],
            RecordShape::String => vec!["f0".to_owned()],
        };
        let mut out = Vec::new();
        let steps = Tongue::new(&fields, shape, index).encode(&request, &mut out)?;
        let text = String::from_utf8(out).unwrap();
        let lines: Vec<&str> =
            text.split("\r\n").filter(|line| !line.starts_with('$') && !line.is_empty()).collect();
        Ok(format!("{} {:?}", lines.join(" "), steps))
    }

    fn request(kind: Kind, fields: Fields) -> Request<'static> {
        let values = match kind {
            Kind::Update | Kind::Insert => Values::new(&[(0, 0..1)], b"v"),
            _ => Values::NONE,
        };
        Request { session: 0, kind, table: 0, key: b"user1", fields, limit: 9, values }
    }

    fn check(shape: RecordShape, index: Index, request: Request<'_>, expected: &str) {
        assert_eq!(encode(shape, index, request).unwrap(), expected);
    }

    #[test]
    fn requests_become_the_commands_of_ycsbs_binding() {
        let check = |kind, fields, expected: &str| {
            check(RecordShape::Hash, Index::Kept, request(kind, fields), expected);
        };
        check(Kind::Read, Fields::All, "*2 HGETALL user1 (Record, None)");
        check(Kind::Read, Fields::One(1), "*3 HGET user1 f1 (Field(1), None)");
        check(Kind::Read, Fields::Named, "*4 HMGET user1 f0 f1 (Named, None)");
        check(Kind::Update, Fields::All, "*4 HMSET user1 f0 v (Write, None)");
        check(
            Kind::Insert,
            Fields::All,
            "*4 HMSET user1 f0 v *4 ZADD _indices 111578566 user1 \
             (InsertRecord, Some(InsertEntry))",
        );
        check(
            Kind::Delete,
            Fields::All,
            "*2 DEL user1 *3 ZREM _indices user1 (DeleteRecord, Some(DeleteEntry))",
        );
        check(
            Kind::Scan,
            Fields::One(0),
            "*7 ZRANGEBYSCORE _indices 111578566 +inf LIMIT 0 9 (ScanKeys(One(0)), None)",
        );
    }

    #[test]
    fn without_the_index_writes_are_one_command() {
        let hash = |kind| encode(RecordShape::Hash, Index::Off, request(kind, Fields::All));
        assert_eq!(hash(Kind::Insert).unwrap(), "*4 HMSET user1 f0 v (Write, None)");
        assert_eq!(hash(Kind::Delete).unwrap(), "*2 DEL user1 (Delete, None)");
        assert_eq!(hash(Kind::Scan), Err(Reason::Unsupported));
    }

    #[test]
    fn a_single_field_can_be_a_string() {
        let check = |kind, fields, expected: &str| {
            check(RecordShape::String, Index::Off, request(kind, fields), expected);
        };
        check(Kind::Read, Fields::All, "*2 GET user1 (Field(0), None)");
        check(Kind::Read, Fields::Named, "*2 GET user1 (Field(0), None)");
        check(Kind::Update, Fields::All, "*3 SET user1 v (Write, None)");
    }

    #[test]
    fn what_cannot_be_said_is_malformed() {
        let wrong = |request| {
            assert_eq!(encode(RecordShape::Hash, Index::Kept, request), Err(Reason::Malformed));
        };
        wrong(request(Kind::Read, Fields::One(2)));
        wrong(request(Kind::Scan, Fields::One(2)));
        wrong(Request { table: 1, ..request(Kind::Read, Fields::All) });
        wrong(Request { values: Values::NONE, ..request(Kind::Insert, Fields::All) });
        let values = Values::new(&[(2, 0..1)], b"v");
        wrong(Request { values, ..request(Kind::Update, Fields::All) });
    }
}

//! Turns requests into Redis commands.
//!
//! A layout of one table is YCSB's: a record is a hash under its own key, without a prefix. The
//! sorted set `_indices` has every key, scored by [`java_hash`] of it. Scans walk that set: in the
//! order of the hash, not of the key. Scores tie for keys of the same hash; Redis then goes by the
//! bytes of the key.
//!
//! Several tables, or one that must be scanned by the order of its keys, are laid out otherwise: a
//! record of table `t` is a hash under `t:` and its key, the sorted set `_order:t` has every key
//! with the same score, so that Redis sorts them by their bytes. There an update is a script that
//! writes nothing if the record is missing, which HMSET would create without an entry.

use std::ops::Range;

use assay_driver_kit::java_hash::java_hash;
use assay_model::{Fields, Kind, Reason, Table};
use assay_store::Request;
use assay_store::resp::write;

use super::options::{Index, RecordShape};

/// The sorted set of all keys in YCSB's layout.
pub(super) const INDEX: &[u8] = b"_indices";
/// What the sorted set of a table's keys begins with.
const ORDER: &str = "_order:";

/// Changes fields of a record that is there.
const PATCH: &[u8] = b"if redis.call('EXISTS',KEYS[1])==0 then return 0 end \
redis.call('HSET',KEYS[1],unpack(ARGV)) return 1";

/// What the reply to a command means. An operation of two commands has a first and a second half.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// HGETALL: the record with all its fields.
    Record,
    /// HGET or GET: the field with this number among those of all tables.
    Field(u16),
    /// HMGET: every field of this table, in its order.
    Named(u16),
    /// HMSET or SET.
    Write,
    /// DEL, or EVAL of a change: how many records there were.
    Count,
    /// The first half of an insert: HMSET or SET.
    InsertRecord,
    /// The second half of an insert: ZADD.
    InsertEntry,
    /// The first half of a delete: DEL.
    DeleteRecord,
    /// The second half of a delete: ZREM.
    DeleteEntry,
    /// ZRANGEBYSCORE or ZRANGEBYLEX: the keys of the records that a scan returns.
    ScanKeys(RecordRequest),
    /// One record of a scan; more follow.
    ScanRow(RecordRequest),
    /// The last record of a scan.
    ScanLastRow(RecordRequest),
    /// ZRANGEBYSCORE or ZRANGEBYLEX: the keys themselves.
    Keys,
    /// CLUSTER SLOTS.
    Map,
    /// ASKING: the next command is for a slot that is on its way.
    Asking,
    /// A command of the greeting that must succeed.
    GreetingMust,
    /// The command of the greeting that must say that this is a master.
    GreetingMaster,
    /// The command of the greeting that must be answered with PONG.
    GreetingPong,
    /// A command of the greeting that may fail.
    GreetingWish,
}

/// The request for each record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RecordRequest {
    /// Number of the table.
    pub(super) table: u16,
    /// The fields wanted.
    pub(super) fields: Fields,
}

/// One command of a request, where they go to several servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// What concerns the record.
    Record,
    /// What concerns its entry in the index.
    Entry,
    /// The keys of the records that a scan returns.
    Keys,
}

/// The replies that a request waits for.
pub(super) type Steps = (Step, Option<Step>);

/// The tables of the layout, in the forms that requests need.
#[derive(Debug)]
pub(super) struct Codec {
    shape: RecordShape,
    index: Index,
    tables: Vec<TableCodec>,
    /// Each field's name as a word of a command, table by table.
    words: Vec<Vec<u8>>,
    /// All names after one another, without anything between them.
    names: Vec<u8>,
    places: Vec<Range<u32>>,
}

/// One table in the forms that requests need.
#[derive(Debug)]
struct TableCodec {
    order: Order,
    /// What stands before each key.
    prefix: Vec<u8>,
    /// The name of the sorted set of its keys.
    index: Vec<u8>,
    /// Its fields among those of all tables.
    fields: Range<usize>,
    /// All of its words after one another.
    all_words: Vec<u8>,
    /// Whether a scan tells of keys whose record is gone.
    tells_gaps: bool,
}

/// What scans go by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    /// The hash of the key, as YCSB's binding has it.
    Hash,
    /// The bytes of the key.
    Key,
}

impl Codec {
    pub(super) fn new(tables: &[Table], shape: RecordShape, index: Index) -> Codec {
        let mut codec = Codec {
            shape,
            index,
            tables: Vec::new(),
            words: Vec::new(),
            names: Vec::new(),
            places: Vec::new(),
        };
        let is_ycsbs = is_ycsbs(tables);
        for table in tables {
            let begin = codec.words.len();
            for field in &table.fields {
                let mut word = Vec::new();
                write::bulk(field.as_bytes(), &mut word);
                codec.words.push(word);
                let start = codec.names.len() as u32;
                codec.names.extend_from_slice(field.as_bytes());
                codec.places.push(start..codec.names.len() as u32);
            }
            let fields = begin..codec.words.len();
            let all_words = codec.words[fields.clone()].concat();
            let (order, prefix, index) = match is_ycsbs {
                true => (Order::Hash, Vec::new(), INDEX.to_vec()),
                false => {
                    let prefix = format!("{}:", table.name).into_bytes();
                    (Order::Key, prefix, format!("{ORDER}{}", table.name).into_bytes())
                }
            };
            let tells_gaps = table.needs_key_order;
            codec.tables.push(TableCodec { order, prefix, index, fields, all_words, tells_gaps });
        }
        codec
    }

    /// All field names after one another.
    pub(super) fn names(&self) -> &[u8] {
        &self.names
    }

    /// Where the name of the field with this number among those of all tables is in
    /// [`Codec::names`].
    pub(super) fn place(&self, number: u16) -> &Range<u32> {
        &self.places[usize::from(number)]
    }

    /// Where each field's name of a table is in [`Codec::names`].
    pub(super) fn places(&self, table: u16) -> &[Range<u32>] {
        &self.places[self.tables[usize::from(table)].fields.clone()]
    }

    /// Whether a scan of this table returns a record without fields for a key whose record is gone.
    pub(super) fn tells_gaps(&self, table: u16) -> bool {
        self.tables[usize::from(table)].tells_gaps
    }

    /// For each table the sorted set of its keys, with what stands before each of them.
    pub(super) fn indexes(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        self.tables.iter().map(|table| (&table.index[..], &table.prefix[..]))
    }

    /// Appends the commands of `request`, or says why there are none.
    pub(super) fn encode(&self, request: &Request<'_>, out: &mut Vec<u8>) -> Result<Steps, Reason> {
        let table = self.tables.get(usize::from(request.table)).ok_or(Reason::Malformed)?;
        let key = request.key;
        let requested = RecordRequest { table: request.table, fields: request.fields };
        match request.kind {
            Kind::Commit | Kind::Rollback => Err(Reason::Unsupported),
            Kind::Read => Ok((self.read(key, requested, out)?, None)),
            Kind::Update => {
                self.change(table, request, out)?;
                Ok((if table.order == Order::Key { Step::Count } else { Step::Write }, None))
            }
            Kind::Insert => {
                self.write(table, request, out)?;
                if self.index == Index::Off {
                    return Ok((Step::Write, None));
                }
                table.add_entry(key, out);
                Ok((Step::InsertRecord, Some(Step::InsertEntry)))
            }
            Kind::Delete => {
                table.remove(key, out);
                if self.index == Index::Off {
                    return Ok((Step::Count, None));
                }
                table.remove_entry(key, out);
                Ok((Step::DeleteRecord, Some(Step::DeleteEntry)))
            }
            Kind::Scan => {
                if self.index == Index::Off {
                    return Err(Reason::Unsupported);
                }
                self.field(requested)?;
                table.scan(request, out);
                let step = if request.wants_keys { Step::Keys } else { Step::ScanKeys(requested) };
                Ok((step, None))
            }
        }
    }

    /// Appends one command of `request`, where its commands go to several servers.
    pub(super) fn encode_part(
        &self,
        request: &Request<'_>,
        part: Part,
        out: &mut Vec<u8>,
    ) -> Result<Step, Reason> {
        let table = self.tables.get(usize::from(request.table)).ok_or(Reason::Malformed)?;
        let key = request.key;
        let requested = RecordRequest { table: request.table, fields: request.fields };
        match (part, request.kind) {
            (Part::Record, Kind::Read) => self.read(key, requested, out),
            (Part::Record, Kind::Update) => {
                self.change(table, request, out)?;
                Ok(if table.order == Order::Key { Step::Count } else { Step::Write })
            }
            (Part::Record, Kind::Insert) => self.write(table, request, out).map(|()| Step::Write),
            (Part::Record, Kind::Delete) => {
                table.remove(key, out);
                Ok(Step::Count)
            }
            (Part::Entry, Kind::Insert) => {
                table.add_entry(key, out);
                Ok(Step::Count)
            }
            (Part::Entry, Kind::Delete) => {
                table.remove_entry(key, out);
                Ok(Step::Count)
            }
            (Part::Keys, Kind::Scan) if self.index == Index::Kept => {
                self.field(requested)?;
                table.scan(request, out);
                Ok(Step::Keys)
            }
            _ => Err(Reason::Unsupported),
        }
    }

    /// Whether inserts and deletes keep an index.
    pub(super) fn keeps_index(&self) -> bool {
        self.index == Index::Kept
    }

    /// Puts the key under which a record lies into `into`, instead of what is there. False if there
    /// is no such table.
    pub(super) fn full_key(&self, table: u16, key: &[u8], into: &mut Vec<u8>) -> bool {
        let Some(table) = self.tables.get(usize::from(table)) else { return false };
        into.clear();
        into.extend_from_slice(&table.prefix);
        into.extend_from_slice(key);
        true
    }

    /// The key of a table's index.
    pub(super) fn index_key(&self, table: u16) -> &[u8] {
        &self.tables[usize::from(table)].index
    }

    /// Appends the command that reads one record.
    pub(super) fn read(
        &self,
        key: &[u8],
        requested: RecordRequest,
        out: &mut Vec<u8>,
    ) -> Result<Step, Reason> {
        self.field(requested)?;
        let step = self.step(requested);
        let table = &self.tables[usize::from(requested.table)];
        match step {
            Step::Field(_) if self.shape == RecordShape::String => {
                out.extend_from_slice(b"*2\r\n$3\r\nGET\r\n");
                write::bulk_pair(&table.prefix, key, out);
            }
            Step::Field(number) => {
                out.extend_from_slice(b"*3\r\n$4\r\nHGET\r\n");
                write::bulk_pair(&table.prefix, key, out);
                out.extend_from_slice(&self.words[usize::from(number)]);
            }
            Step::Named(_) => {
                write::array(2 + table.fields.len(), out);
                out.extend_from_slice(b"$5\r\nHMGET\r\n");
                write::bulk_pair(&table.prefix, key, out);
                out.extend_from_slice(&table.all_words);
            }
            _ => {
                out.extend_from_slice(b"*2\r\n$7\r\nHGETALL\r\n");
                write::bulk_pair(&table.prefix, key, out);
            }
        }
        Ok(step)
    }

    /// What the reply to the reading of one record means.
    pub(super) fn step(&self, requested: RecordRequest) -> Step {
        let first = self.tables[usize::from(requested.table)].fields.start as u16;
        match (self.shape, requested.fields) {
            (RecordShape::String, _) => Step::Field(first),
            (RecordShape::Hash, Fields::All) => Step::Record,
            (RecordShape::Hash, Fields::One(number)) => Step::Field(first + number),
            (RecordShape::Hash, Fields::Named) => Step::Named(requested.table),
        }
    }

    /// Whether the table has the requested field.
    fn field(&self, requested: RecordRequest) -> Result<(), Reason> {
        let table = &self.tables[usize::from(requested.table)];
        match requested.fields {
            Fields::One(number) if usize::from(number) >= table.fields.len() => {
                Err(Reason::Malformed)
            }
            _ => Ok(()),
        }
    }

    /// In YCSB's layout HMSET, which creates a missing record; elsewhere only one that is there.
    fn change(
        &self,
        table: &TableCodec,
        request: &Request<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), Reason> {
        if table.order == Order::Hash {
            return self.write(table, request, out);
        }
        self.check(table, request)?;
        write::array(4 + 2 * request.values.len(), out);
        out.extend_from_slice(b"$4\r\nEVAL\r\n");
        write::bulk(PATCH, out);
        write::bulk_integer(1, out);
        write::bulk_pair(&table.prefix, request.key, out);
        self.pairs(table, request, out);
        Ok(())
    }

    fn write(
        &self,
        table: &TableCodec,
        request: &Request<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), Reason> {
        self.check(table, request)?;
        if self.shape == RecordShape::String {
            out.extend_from_slice(b"*3\r\n$3\r\nSET\r\n");
            write::bulk_pair(&table.prefix, request.key, out);
            for (_, value) in request.values.iter().take(1) {
                write::bulk(value, out);
            }
            return Ok(());
        }
        write::array(2 + 2 * request.values.len(), out);
        out.extend_from_slice(b"$5\r\nHMSET\r\n");
        write::bulk_pair(&table.prefix, request.key, out);
        self.pairs(table, request, out);
        Ok(())
    }

    fn check(&self, table: &TableCodec, request: &Request<'_>) -> Result<(), Reason> {
        let last = table.fields.len();
        let mut values = request.values.iter();
        match request.values.is_empty() || values.any(|(number, _)| usize::from(number) >= last) {
            true => Err(Reason::Malformed),
            false => Ok(()),
        }
    }

    /// Each field's name with its value.
    fn pairs(&self, table: &TableCodec, request: &Request<'_>, out: &mut Vec<u8>) {
        for (number, value) in request.values.iter() {
            out.extend_from_slice(&self.words[table.fields.start + usize::from(number)]);
            write::bulk(value, out);
        }
    }
}

impl TableCodec {
    /// Removes a record.
    fn remove(&self, key: &[u8], out: &mut Vec<u8>) {
        out.extend_from_slice(b"*2\r\n$3\r\nDEL\r\n");
        write::bulk_pair(&self.prefix, key, out);
    }

    /// Puts a key into the index.
    fn add_entry(&self, key: &[u8], out: &mut Vec<u8>) {
        out.extend_from_slice(b"*4\r\n$4\r\nZADD\r\n");
        write::bulk(&self.index, out);
        match self.order {
            Order::Hash => write::bulk_integer(i64::from(java_hash(key)), out),
            Order::Key => write::bulk_integer(0, out),
        }
        write::bulk(key, out);
    }

    /// Takes a key out of the index.
    fn remove_entry(&self, key: &[u8], out: &mut Vec<u8>) {
        out.extend_from_slice(b"*3\r\n$4\r\nZREM\r\n");
        write::bulk(&self.index, out);
        write::bulk(key, out);
    }

    /// Encodes a request for the keys of a scan.
    fn scan(&self, request: &Request<'_>, out: &mut Vec<u8>) {
        let key = request.key;
        match self.order {
            Order::Hash => {
                out.extend_from_slice(b"*7\r\n$13\r\nZRANGEBYSCORE\r\n");
                write::bulk(&self.index, out);
                write::bulk_integer(i64::from(java_hash(key)), out);
                out.extend_from_slice(b"$4\r\n+inf\r\n");
            }
            Order::Key => {
                out.extend_from_slice(b"*7\r\n$11\r\nZRANGEBYLEX\r\n");
                write::bulk(&self.index, out);
                write::bulk_pair(b"[", key, out);
                match request.end {
                    [] => out.extend_from_slice(b"$1\r\n+\r\n"),
                    end => write::bulk_pair(b"(", end, out),
                }
            }
        }
        out.extend_from_slice(b"$5\r\nLIMIT\r\n$1\r\n0\r\n");
        write::bulk_integer(i64::from(request.limit), out);
    }
}

/// Whether the tables are laid out as YCSB's binding does it.
pub(super) fn is_ycsbs(tables: &[Table]) -> bool {
    matches!(tables, [table] if !table.needs_key_order)
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
        speak(&[("usertable", fields)], false, shape, index, request)
    }

    fn speak(
        tables: &[(&str, Vec<String>)],
        needs_key_order: bool,
        shape: RecordShape,
        index: Index,
        request: Request<'_>,
    ) -> Result<String, Reason> {
        let tables: Vec<Table> = tables
            .iter()
            .map(|(name, fields)| Table {
                name: (*name).into(),
                fields: fields.clone(),
                needs_key_order,
            })
            .collect();
        let mut out = Vec::new();
        let steps = Codec::new(&tables, shape, index).encode(&request, &mut out)?;
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
        Request { fields, limit: 9, values, ..Request::new(kind, b"user1") }
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
        check(Kind::Read, Fields::Named, "*4 HMGET user1 f0 f1 (Named(0), None)");
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
            "*7 ZRANGEBYSCORE _indices 111578566 +inf LIMIT 0 9 \
             (ScanKeys(RecordRequest { table: 0, fields: One(0) }), None)",
        );
    }

    #[test]
    fn without_the_index_writes_are_one_command() {
        let hash = |kind| encode(RecordShape::Hash, Index::Off, request(kind, Fields::All));
        assert_eq!(hash(Kind::Insert).unwrap(), "*4 HMSET user1 f0 v (Write, None)");
        assert_eq!(hash(Kind::Delete).unwrap(), "*2 DEL user1 (Count, None)");
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
    fn each_of_several_tables_has_its_keys_in_their_order() {
        let fields = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let tables = [("a", fields(&["f0"])), ("b", fields(&["g0", "g1"]))];
        let check = |kind, fields, expected: &str| {
            let request = Request { table: 1, ..request(kind, fields) };
            let said = speak(&tables, true, RecordShape::Hash, Index::Kept, request).unwrap();
            assert_eq!(said, expected);
        };
        check(Kind::Read, Fields::All, "*2 HGETALL b:user1 (Record, None)");
        check(Kind::Read, Fields::One(1), "*3 HGET b:user1 g1 (Field(2), None)");
        check(Kind::Read, Fields::Named, "*4 HMGET b:user1 g0 g1 (Named(1), None)");
        check(
            Kind::Update,
            Fields::All,
            "*6 EVAL if redis.call('EXISTS',KEYS[1])==0 then return 0 end \
             redis.call('HSET',KEYS[1],unpack(ARGV)) return 1 1 b:user1 g0 v (Count, None)",
        );
        check(
            Kind::Insert,
            Fields::All,
            "*4 HMSET b:user1 g0 v *4 ZADD _order:b 0 user1 (InsertRecord, Some(InsertEntry))",
        );
        check(
            Kind::Delete,
            Fields::All,
            "*2 DEL b:user1 *3 ZREM _order:b user1 (DeleteRecord, Some(DeleteEntry))",
        );
        check(
            Kind::Scan,
            Fields::All,
            "*7 ZRANGEBYLEX _order:b [user1 + LIMIT 0 9 \
             (ScanKeys(RecordRequest { table: 1, fields: All }), None)",
        );
        let bounded = Request { table: 1, end: b"user2", ..request(Kind::Scan, Fields::All) };
        let said = speak(&tables, true, RecordShape::Hash, Index::Kept, bounded).unwrap();
        assert!(said.starts_with("*7 ZRANGEBYLEX _order:b [user1 (user2 LIMIT 0 9 "), "{said}");
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

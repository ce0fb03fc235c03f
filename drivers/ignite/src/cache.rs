//! A cache: what it is to be when it is made, what it is when it is there.

use super::options::{Atomicity, Content, Options, WriteSync};
use super::wire::{Garbled, Reader, Value, code, put_i32, put_length, put_text};

/// The name of the only table that SQL sees in the schema of a cache.
pub(super) const SQL_TABLE: &str = "RECORDS";

/// The items of a configuration that we set.
const NAME: i16 = 0;
const MODE: i16 = 1;
const ATOMICITY: i16 = 2;
const BACKUPS: i16 = 3;
const WRITE_SYNC: i16 = 4;
const READ_FROM_BACKUP: i16 = 6;
const QUERY_ENTITIES: i16 = 200;

const PARTITIONED: i32 = 2;

/// The name of the type of the records. Types stay when caches go, and a field of a type keeps what
/// it may hold, so each content has a type of its own. That of texts is YCSB's.
pub(super) fn type_name(content: Content) -> &'static str {
    match content {
        Content::Text => "CustomType",
        Content::Bytes => "AssayRecord",
    }
}

/// What a cache is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Cache {
    pub(super) name: String,
    pub(super) mode: i32,
    pub(super) atomicity: Atomicity,
    pub(super) backups: u32,
    pub(super) write_sync: WriteSync,
    pub(super) reads_from_backup: bool,
    /// The data region; nothing for the default one.
    pub(super) region: Option<String>,
    /// What happens when all copies of a partition are lost.
    pub(super) loss_policy: i32,
    /// Whether SQL finds its records by their keys.
    pub(super) has_index: bool,
}

/// Appends the configuration of a cache to be made.
pub(super) fn configuration(
    name: &str,
    fields: Option<&[String]>,
    options: &Options,
    into: &mut Vec<u8>,
) {
    let begin = into.len();
    put_i32(0, into);
    let count: i16 = if fields.is_some() { 7 } else { 6 };
    into.extend_from_slice(&count.to_le_bytes());
    let item = |item: i16, into: &mut Vec<u8>| into.extend_from_slice(&item.to_le_bytes());
    item(NAME, into);
    put_text(name.as_bytes(), into);
    item(MODE, into);
    put_i32(PARTITIONED, into);
    item(ATOMICITY, into);
    put_i32(options.atomicity.unwrap_or(Atomicity::Atomic).number(), into);
    item(BACKUPS, into);
    put_i32(options.backups.unwrap_or(1) as i32, into);
    item(WRITE_SYNC, into);
    put_i32(options.write_sync.unwrap_or(WriteSync::FullSync).number(), into);
    item(READ_FROM_BACKUP, into);
    into.push(u8::from(options.reads_from_backup.unwrap_or(true)));
    if let Some(fields) = fields {
        item(QUERY_ENTITIES, into);
        put_i32(1, into);
        entity(fields, options.content, into);
    }
    let length = (into.len() - begin - 4) as i32;
    into[begin..begin + 4].copy_from_slice(&length.to_le_bytes());
}

/// What SQL is to see: a table of the records, whose key is indexed.
fn entity(fields: &[String], content: Content, into: &mut Vec<u8>) {
    let class = match content {
        Content::Text => "java.lang.String",
        Content::Bytes => "[B",
    };
    for text in ["java.lang.String", type_name(content), SQL_TABLE] {
        put_text(text.as_bytes(), into);
    }
    // Key and value have no names besides _KEY and _VAL.
    into.extend([code::NULL, code::NULL]);
    put_length(fields.len(), into);
    for field in fields {
        put_text(field.as_bytes(), into);
        put_text(class.as_bytes(), into);
        // It is no part of the key, may be missing, and has no default.
        into.extend([0, 0, code::NULL]);
        // Neither precision nor scale.
        put_i32(-1, into);
        put_i32(-1, into);
    }
    // Neither aliases nor further indexes.
    put_i32(0, into);
    put_i32(0, into);
}

impl Cache {
    /// Takes the answer apart that tells what a cache is.
    ///
    /// Source of the order: `ClientCacheConfigurationSerializer.write`.
    pub(super) fn parse(bytes: &[u8]) -> Result<Cache, Garbled> {
        let mut reader = Reader::new(bytes);
        reader.length()?;
        let atomicity = Atomicity::of(reader.i32()?).ok_or(Garbled)?;
        let backups = u32::try_from(reader.i32()?).map_err(|_| Garbled)?;
        let mode = reader.i32()?;
        let _copies_on_read = reader.truth()?;
        let region = reader.text()?.map(str::to_owned);
        let (_eager_ttl, _statistics) = (reader.truth()?, reader.truth()?);
        let _group = reader.text()?;
        let _lock_timeout = reader.i64()?;
        let (_async_operations, _iterators) = (reader.i32()?, reader.i32()?);
        let name = reader.text()?.ok_or(Garbled)?.to_owned();
        let _is_on_heap = reader.truth()?;
        let loss_policy = reader.i32()?;
        let (_detail_metrics, _parallelism) = (reader.i32()?, reader.i32()?);
        let reads_from_backup = reader.truth()?;
        // Rebalancing: batch size, batches, delay, mode, order, throttle, timeout.
        let _batch_size = reader.i32()?;
        let (_batches, _delay) = (reader.i64()?, reader.i64()?);
        let (_mode, _order) = (reader.i32()?, reader.i32()?);
        let (_throttle, _timeout) = (reader.i64()?, reader.i64()?);
        let _sql_escapes = reader.truth()?;
        let _inline_size = reader.i32()?;
        let _schema = reader.text()?;
        let write_sync = WriteSync::of(reader.i32()?).ok_or(Garbled)?;
        for _ in 0..reader.length()? {
            let (_type, _field) = (reader.text()?, reader.text()?);
        }
        let entities = reader.length()?;
        let mut has_index = false;
        for _ in 0..entities.min(1) {
            let (_key, _value, table) = (reader.text()?, reader.text()?, reader.value()?);
            has_index = table == Value::Text(SQL_TABLE.as_bytes());
        }
        Ok(Cache {
            name,
            mode,
            atomicity,
            backups,
            write_sync,
            reads_from_backup,
            region,
            loss_policy,
            has_index,
        })
    }

    /// The differences from the URL, with a remedy.
    pub(super) fn differs(&self, options: &Options) -> Option<String> {
        let name = &self.name;
        let what = |what: &str| {
            Some(format!(
                "its cache {name} has {what}; take the option out of the URL, choose another \
                 prefix, or remove the cache"
            ))
        };
        if options.atomicity.is_some_and(|expected| expected != self.atomicity) {
            return what(&format!("atomicity={}", self.atomicity.name()));
        }
        if options.backups.is_some_and(|expected| expected != self.backups) {
            return what(&format!("backups={}", self.backups));
        }
        if options.write_sync.is_some_and(|expected| expected != self.write_sync) {
            return what(&format!("write_sync={}", self.write_sync.name()));
        }
        if options.reads_from_backup.is_some_and(|expected| expected != self.reads_from_backup) {
            let word = if self.reads_from_backup { "on" } else { "off" };
            return what(&format!("read_from_backup={word}"));
        }
        if options.has_index && !self.has_index {
            return Some(format!(
                "its cache {name} has no index of its keys that a scan could follow; say \
                 index=off to do without scans, choose another prefix, or remove the cache"
            ));
        }
        None
    }
}

impl Atomicity {
    fn number(self) -> i32 {
        match self {
            Atomicity::Transactional => 0,
            Atomicity::Atomic => 1,
        }
    }

    fn of(number: i32) -> Option<Atomicity> {
        [Atomicity::Transactional, Atomicity::Atomic].into_iter().find(|a| a.number() == number)
    }
}

impl WriteSync {
    fn number(self) -> i32 {
        match self {
            WriteSync::FullSync => 0,
            WriteSync::FullAsync => 1,
            WriteSync::PrimarySync => 2,
        }
    }

    fn of(number: i32) -> Option<WriteSync> {
        let all = [WriteSync::FullSync, WriteSync::FullAsync, WriteSync::PrimarySync];
        all.into_iter().find(|sync| sync.number() == number)
    }
}

//! Options of a Cassandra URL.

use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use assay_driver_kit::address::Address;
use assay_driver_kit::url_options::{Count, Millis};
use assay_store::OpenError;
use scylla::frame::Compression;
use scylla::frame::types::{Consistency, SerialConsistency};
use scylla::statement::batch::BatchType;
use serde::Deserialize;

/// An example of a right URL, for errors.
const EXAMPLE: &str = "cassandra://user:password@10.0.0.1:9042,10.0.0.2/ycsb?consistency=QUORUM";
const SCHEMES: [&str; 2] = ["cassandra", "scylla"];
const PORT: u16 = 9042;
/// The keyspace of YCSB's own instructions.
const KEYSPACE: &str = "ycsb";
/// The longest name that a server takes.
const KEYSPACE_LENGTH_MAX: usize = 48;
/// The library gives a connection 32,768 numbers for what is in flight; a task is kept for each.
const MOST_IN_FLIGHT: usize = 16_384;
const MOST_CONNECTIONS: usize = 128;
/// What one turn of a worker gathers is less, and servers refuse batches above 50 KiB.
const MOST_BATCH: usize = 1024;
/// The largest plausible number of copies.
const MOST_REPLICAS: usize = 128;
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Where a Cassandra or ScyllaDB cluster is, and how to talk to it.
///
/// Parsed from `cassandra://[user[:password]@]host[:port][,host…][/keyspace][?option=value&…]`, or
/// `scylla://`. Parts with special characters are percent-encoded. Shown without the password.
#[derive(Clone, Debug)]
pub struct Options {
    pub(super) address: Address,
    /// The contact points, from which the other nodes are learned, as `host:port`.
    pub nodes: Vec<String>,
    /// The keyspace; `ycsb` if the URL names none.
    pub keyspace: String,
    /// Option `columns=text|bytes`: what keys and fields are.
    pub content: Content,
    /// Options `consistency` and `read_consistency`: what a read waits for.
    pub read: Consistency,
    /// Options `consistency` and `write_consistency`: what a write waits for.
    pub write: Consistency,
    /// Option `serial_consistency`: among whom a conditional write is agreed on.
    pub serial: SerialConsistency,
    /// Option `replication`: copies in each data center of a keyspace that is made.
    pub replication: Option<usize>,
    /// Option `insert=upsert|lwt`: whether an insert looks whether the record is there.
    pub insert: Writing,
    /// Option `update=upsert|lwt`: whether updates and deletes look whether it is there.
    pub update: Writing,
    /// Option `batch`: the most inserts in one request; one means that each is its own.
    pub batch: usize,
    /// Option `batch_type=unlogged|logged`: whether the coordinator notes a batch before it writes.
    pub batch_type: BatchType,
    /// Option `connections`: how many each worker has to each node.
    pub connections: usize,
    /// Option `in_flight`: how many requests each worker has in flight at most.
    pub in_flight: usize,
    /// Option `connect_timeout`, in milliseconds: for the discovery of the cluster.
    pub connect_timeout: Duration,
    /// Option `compression=none|lz4|snappy`: of what goes over the wire.
    pub compression: Option<Compression>,
    /// Option `datacenter`: requests go to its nodes alone.
    pub datacenter: Option<String>,
}

/// The options as the URL has them.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct UrlOptions {
    password_file: Option<PathBuf>,
    consistency: Option<Level>,
    read_consistency: Option<Level>,
    write_consistency: Option<Level>,
    insert: Option<Writing>,
    batch: Option<Count<MOST_BATCH>>,
    batch_type: Option<BatchTypeWord>,
    columns: Option<Content>,
    serial_consistency: Option<SerialWord>,
    replication: Option<Count<MOST_REPLICAS>>,
    update: Option<Writing>,
    connections: Option<Count<MOST_CONNECTIONS>>,
    in_flight: Option<Count<MOST_IN_FLIGHT>>,
    connect_timeout: Option<Millis>,
    compression: Option<CompressionWord>,
    datacenter: Option<String>,
}

/// One of the levels, in capitals or not.
#[derive(Deserialize)]
#[serde(try_from = "String")]
struct Level(Consistency);

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum BatchTypeWord {
    Unlogged,
    Logged,
}

#[derive(Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
enum SerialWord {
    Serial,
    LocalSerial,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum CompressionWord {
    None,
    Lz4,
    Snappy,
}

assay_driver_kit::option_words! {
    /// What keys and fields are.
    pub enum Content {
        /// UTF-8, as in YCSB's own tables.
        Text => "text",
        /// Any bytes.
        Bytes => "bytes",
    }

    /// How a write is made.
    pub enum Writing {
        /// Without looking whether the record is there.
        Upsert => "upsert",
        /// On a condition, which the replicas agree on by Paxos.
        Lwt => "lwt",
    }
}

const CONSISTENCIES: [(&str, Consistency); 11] = [
    ("ANY", Consistency::Any),
    ("ONE", Consistency::One),
    ("TWO", Consistency::Two),
    ("THREE", Consistency::Three),
    ("QUORUM", Consistency::Quorum),
    ("ALL", Consistency::All),
    ("LOCAL_QUORUM", Consistency::LocalQuorum),
    ("LOCAL_ONE", Consistency::LocalOne),
    ("EACH_QUORUM", Consistency::EachQuorum),
    ("SERIAL", Consistency::Serial),
    ("LOCAL_SERIAL", Consistency::LocalSerial),
];

/// The name of a level in URLs, settings, and the server's own words.
pub(super) fn level_name(level: Consistency) -> &'static str {
    let known = CONSISTENCIES.iter().find(|(_, other)| *other == level);
    known.map_or("unknown", |(name, _)| name)
}

impl TryFrom<String> for Level {
    type Error = String;

    fn try_from(text: String) -> Result<Level, String> {
        let known = CONSISTENCIES.iter().find(|(name, _)| name.eq_ignore_ascii_case(&text));
        let names = || CONSISTENCIES.map(|(name, _)| name).join(" or ");
        let wrong = || format!("is {}, not {text:?}", names());
        known.map(|(_, level)| Level(*level)).ok_or_else(wrong)
    }
}

impl FromStr for Options {
    type Err = OpenError;

    fn from_str(url: &str) -> Result<Options, OpenError> {
        let mut address = Address::parse(url, &SCHEMES, PORT, EXAMPLE)?;
        let declared: UrlOptions = address.declared()?;
        address.read_password(declared.password_file.as_deref())?;
        let level = |level: Option<Level>| level.map(|Level(level)| level);
        let both = level(declared.consistency).unwrap_or(Consistency::Quorum);
        let read = level(declared.read_consistency).unwrap_or(both);
        let write = level(declared.write_consistency).unwrap_or(both);
        check_levels(&address, read, write)?;
        let insert = declared.insert.unwrap_or(Writing::Upsert);
        if declared.batch.is_none() && declared.batch_type.is_some() {
            return Err(address.wrong("batch_type needs batch=N".into()));
        }
        let batch = declared.batch.map_or(1, usize::from);
        if batch > 1 && insert == Writing::Lwt {
            let reason = "the inserts of insert=lwt are agreed on one by one, which no batch can \
                          be: leave out batch or insert=lwt";
            return Err(address.wrong(reason.into()));
        }
        Ok(Options {
            nodes: address.authorities(),
            keyspace: keyspace(&address)?,
            content: declared.columns.unwrap_or(Content::Text),
            read,
            write,
            serial: match declared.serial_consistency {
                Some(SerialWord::LocalSerial) => SerialConsistency::LocalSerial,
                Some(SerialWord::Serial) | None => SerialConsistency::Serial,
            },
            replication: declared.replication.map(usize::from),
            insert,
            update: declared.update.unwrap_or(Writing::Upsert),
            batch,
            batch_type: match declared.batch_type {
                Some(BatchTypeWord::Logged) => BatchType::Logged,
                Some(BatchTypeWord::Unlogged) | None => BatchType::Unlogged,
            },
            connections: declared.connections.map_or(1, usize::from),
            in_flight: declared.in_flight.map_or(64, usize::from),
            connect_timeout: declared.connect_timeout.map_or(CONNECT_TIMEOUT, Duration::from),
            compression: match declared.compression {
                Some(CompressionWord::Lz4) => Some(Compression::Lz4),
                Some(CompressionWord::Snappy) => Some(Compression::Snappy),
                Some(CompressionWord::None) | None => None,
            },
            datacenter: declared.datacenter,
            address,
        })
    }
}

assay_driver_kit::display_address!(Options);

/// The keyspace is the path. Its name goes into statements, so it is what servers take as a name.
fn keyspace(address: &Address) -> Result<String, OpenError> {
    if address.path.is_empty() {
        return Ok(KEYSPACE.into());
    }
    let is_name = |character: char| character.is_ascii_alphanumeric() || character == '_';
    if address.path.len() > KEYSPACE_LENGTH_MAX || !address.path.chars().all(is_name) {
        return Err(address.wrong(format!(
            "a keyspace has up to {KEYSPACE_LENGTH_MAX} letters, digits or _ in its name, not {:?}",
            address.path
        )));
    }
    Ok(address.path.clone())
}

/// Not every level makes sense both ways.
fn check_levels(address: &Address, read: Consistency, write: Consistency) -> Result<(), OpenError> {
    if read == Consistency::Any {
        let reason = "a read cannot have consistency ANY; say write_consistency=ANY, and another \
                      read_consistency";
        return Err(address.wrong(reason.into()));
    }
    if write.is_serial() {
        let reason = "a write cannot have a serial consistency; say read_consistency=SERIAL, and \
                      insert=lwt, update=lwt for writes that are agreed on";
        return Err(address.wrong(reason.into()));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn right(url: &str) -> Options {
        url.parse().unwrap()
    }

    #[test]
    fn a_host_is_enough() {
        let options = right("cassandra://localhost");
        assert_eq!(options.nodes, ["localhost:9042"]);
        assert_eq!((options.keyspace.as_str(), options.content), ("ycsb", Content::Text));
        assert_eq!((options.read, options.write), (Consistency::Quorum, Consistency::Quorum));
        assert_eq!((options.insert, options.update), (Writing::Upsert, Writing::Upsert));
        assert_eq!((options.connections, options.in_flight), (1, 64));
        assert_eq!((options.batch, options.batch_type), (1, BatchType::Unlogged));
        assert_eq!((options.replication, options.address.user), (None, None));
    }

    #[test]
    fn every_part_has_its_place() {
        let options = right(
            "scylla://ann:p%40ss@10.0.0.1,10.0.0.2:9043/Shop?columns=bytes&consistency=one\
             &write_consistency=ALL&serial_consistency=LOCAL_SERIAL&replication=2&insert=lwt\
             &update=lwt&connections=2&in_flight=128&connect_timeout=900&compression=lz4\
             &datacenter=dc2",
        );
        assert_eq!(
            (options.address.user.as_deref(), options.address.password.as_deref()),
            (Some("ann"), Some("p@ss"))
        );
        assert_eq!(options.nodes, ["10.0.0.1:9042", "10.0.0.2:9043"]);
        assert_eq!((options.keyspace.as_str(), options.content), ("Shop", Content::Bytes));
        assert_eq!((options.read, options.write), (Consistency::One, Consistency::All));
        assert_eq!(options.serial, SerialConsistency::LocalSerial);
        assert_eq!((options.insert, options.update), (Writing::Lwt, Writing::Lwt));
        assert_eq!((options.connections, options.in_flight), (2, 128));
        assert_eq!(options.replication, Some(2));
        assert_eq!(options.connect_timeout, Duration::from_millis(900));
        assert!(matches!(options.compression, Some(Compression::Lz4)));
        assert_eq!(options.datacenter.as_deref(), Some("dc2"));
    }

    #[test]
    fn a_batch_has_a_size_and_a_type() {
        let options = right("cassandra://h?batch=16&batch_type=logged&update=lwt");
        assert_eq!((options.batch, options.batch_type), (16, BatchType::Logged));
        assert_eq!(right("cassandra://h?batch=2").batch_type, BatchType::Unlogged);
    }

    assay_driver_kit::url_tests! {
        str::parse::<Options>,
        EXAMPLE,
        hidden: [("cassandra://ann:secret@host/ks?in_flight=2", "&update=x")],
        wrong: [
            ("cql://h", "scheme \"cql\" is not cassandra or scylla"),
            ("cassandra:///ks", "the host is missing"),
            ("cassandra://h/a-b", "letters, digits or _"),
            ("cassandra://h?consistency=MOST", "is ANY or ONE or TWO"),
            ("cassandra://h?consistency=ANY", "say write_consistency=ANY"),
            ("cassandra://h?consistency=SERIAL", "insert=lwt"),
            ("cassandra://h?replication=0", "from 1 to 128"),
            ("cassandra://h?in_flight=99999", "from 1 to 16384"),
            ("cassandra://h?batch=2000", "from 1 to 1024"),
            ("cassandra://h?batch_type=logged", "needs batch=N"),
            ("cassandra://h?batch=4&batch_type=counter", "unlogged or logged"),
            ("cassandra://h?batch=4&insert=lwt", "leave out batch or insert=lwt"),
            ("cassandra://h?insert=cas", "upsert or lwt"),
            ("cassandra://h?columns=json", "text or bytes"),
            ("cassandra://h?compression=zip", "none or lz4 or snappy"),
            ("cassandra://h?consistancy=ONE", "did you mean \"consistency\""),
        ],
    }
}

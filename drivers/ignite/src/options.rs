//! Options of the URL of an Ignite cluster.

use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use assay_driver_kit::address::Address;
use assay_driver_kit::url_options::{Count, Millis, Switch};
use assay_store::{Isolation, OpenError};
use serde::Deserialize;

use super::keys::Keys;

const EXAMPLE: &str = "ignite://127.0.0.1:10800/bench?backups=1";
const DEFAULT_PORT: u16 = 10_800;
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
const MOST_CONNECTIONS: usize = 1024;
/// Less than the default timeout of a run, so that the cluster's error comes before the client
/// gives up.
const TRANSACTION_TIMEOUT: Duration = Duration::from_secs(5);
/// What one turn of a worker gathers is less.
const MOST_BATCH: usize = 1024;
/// A cluster with more copies than that is no cluster of ours.
const MOST_BACKUPS: usize = 31;

assay_driver_kit::option_words! {
    /// How a cache keeps changes together.
    pub enum Atomicity {
        /// Each change by itself.
        Atomic => "atomic": "each change is one by itself; transactions are not possible",
        /// Changes may be part of a transaction, and each is one by itself.
        Transactional => "transactional":
            "each change alone is a transaction of its own, over all copies, which costs more; \
             several requests may be one",
    }

    /// Which copies have a change before it is answered.
    pub enum WriteSync {
        /// All of them.
        FullSync => "full_sync": "a change is answered when all copies have it",
        /// The primary one.
        PrimarySync => "primary_sync":
            "a change is answered when the primary copy has it; its node's end may lose the last \
             changes, and a backup may show older values",
        /// None.
        FullAsync => "full_async":
            "a change is answered before any copy has it; it may be lost without an error",
    }

    /// What the fields of a record hold.
    pub enum Content {
        /// Texts, as YCSB's binding writes them; other bytes are refused.
        Text => "text",
        /// Any bytes.
        Bytes => "bytes",
    }

    /// How an insert is written.
    pub enum Insert {
        /// Over what is there, as YCSB's binding does.
        Put => "put": "an insert overwrites what is there",
        /// Only if nothing is there.
        PutIfAbsent => "put_if_absent": "an insert of a record that is there is refused",
    }

    /// When Ignite finds out that two transactions are in each other's way.
    pub(super) enum Concurrency {
        /// At the commit.
        Optimistic => "optimistic",
        /// At once: one of them waits.
        Pessimistic => "pessimistic",
    }
}

/// How transactions of several requests are kept apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transactions {
    /// Options `isolation`, `concurrency`: serializable compares at the commit what was read with
    /// what is there; the others lock: repeatable-read what is read, read-committed what is
    /// written.
    pub isolation: Isolation,
    /// Option `transaction_timeout`: how long one may take, with its waits for locks. Deadlocks end
    /// by it.
    pub timeout: Duration,
}

impl Transactions {
    /// Ignite's code for `isolation`.
    pub(super) fn concurrency(self) -> Concurrency {
        match self.isolation {
            Isolation::Serializable => Concurrency::Optimistic,
            Isolation::ReadCommitted | Isolation::RepeatableRead => Concurrency::Pessimistic,
        }
    }
}

/// `ignite://[user[:password]@]host[:port][,host[:port]…][/prefix][?option=value&…]`.
///
/// Parts with special characters are percent-encoded. Shown without the password.
#[derive(Clone, Debug)]
pub struct Options {
    pub(super) address: Address,
    /// What the names of the caches begin with; empty for the bare names of the tables.
    pub prefix: String,
    /// Option `atomicity`: of caches that are made; those that are there must agree.
    pub atomicity: Option<Atomicity>,
    /// Transactions of several requests, with `atomicity=transactional`.
    pub transactions: Option<Transactions>,
    /// Option `backups`: copies besides the primary one.
    pub backups: Option<u32>,
    /// Option `write_sync`: which copies have a change before it is answered.
    pub write_sync: Option<WriteSync>,
    /// Option `read_from_backup`: whether a node may answer a read from its backup copy.
    pub reads_from_backup: Option<bool>,
    /// Option `index`: whether the keys are indexed, which a scan needs.
    pub has_index: bool,
    /// Option `fields`: what the fields of a record hold.
    pub content: Content,
    /// Option `keys`: what keys are.
    pub keys: Keys,
    /// Option `insert`: what an insert does to a record that is there.
    pub insert: Insert,
    /// Option `batch`: the most inserts, or reads, in one request; one means that each is its own.
    pub batch: usize,
    /// Option `connections`: requests in flight of each worker.
    pub connections: usize,
    /// Option `partition_awareness`: whether a request goes to the node that owns its key.
    pub is_partition_aware: bool,
    /// Option `connect_timeout`: for a connection with its handshake.
    pub connect_timeout: Duration,
}

/// The options as the URL has them.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct UrlOptions {
    password_file: Option<PathBuf>,
    backups: Option<Count<MOST_BACKUPS, 0>>,
    atomicity: Option<Atomicity>,
    concurrency: Option<Concurrency>,
    isolation: Option<Isolation>,
    transaction_timeout: Option<Millis>,
    write_sync: Option<WriteSync>,
    read_from_backup: Option<Switch>,
    index: Option<Switch>,
    fields: Option<Content>,
    keys: Option<Keys>,
    insert: Option<Insert>,
    batch: Option<Count<MOST_BATCH>>,
    connections: Option<Count<MOST_CONNECTIONS>>,
    partition_awareness: Option<Switch>,
    connect_timeout: Option<Millis>,
}

impl FromStr for Options {
    type Err = OpenError;

    fn from_str(url: &str) -> Result<Options, OpenError> {
        let mut address = Address::parse(url, &["ignite"], DEFAULT_PORT, EXAMPLE)?;
        let declared: UrlOptions = address.declared()?;
        address.read_password(declared.password_file.as_deref())?;
        if address.path.contains('/') {
            let reason = "behind the hosts stands one prefix of the caches' names, without a /";
            return Err(address.wrong(reason.into()));
        }
        let transactions =
            transactions(&declared).map_err(|reason| address.wrong(reason.into()))?;
        Ok(Options {
            prefix: address.path.clone(),
            atomicity: declared.atomicity,
            transactions,
            backups: declared.backups.map(|backups| usize::from(backups) as u32),
            write_sync: declared.write_sync,
            reads_from_backup: declared.read_from_backup.map(bool::from),
            has_index: declared.index.is_none_or(bool::from),
            content: declared.fields.unwrap_or(Content::Text),
            keys: declared.keys.unwrap_or(Keys::Text),
            insert: declared.insert.unwrap_or(Insert::Put),
            batch: declared.batch.map_or(1, usize::from),
            connections: declared.connections.map_or(16, usize::from),
            is_partition_aware: declared.partition_awareness.is_none_or(bool::from),
            connect_timeout: declared.connect_timeout.map_or(CONNECT_TIMEOUT, Duration::from),
            address,
        })
    }
}

/// What the URL says about transactions of several requests.
fn transactions(declared: &UrlOptions) -> Result<Option<Transactions>, &'static str> {
    let &UrlOptions { atomicity, concurrency, isolation, transaction_timeout: timeout, .. } =
        declared;
    if atomicity != Some(Atomicity::Transactional) {
        if concurrency.is_none() && isolation.is_none() && timeout.is_none() {
            return Ok(None);
        }
        return Err("concurrency, isolation and transaction_timeout are of transactions, which \
                    there are with atomicity=transactional");
    }
    let isolation = isolation.unwrap_or(match concurrency {
        Some(Concurrency::Optimistic) => Isolation::Serializable,
        Some(Concurrency::Pessimistic) | None => Isolation::RepeatableRead,
    });
    let timeout = timeout.map_or(TRANSACTION_TIMEOUT, Duration::from);
    let transactions = Transactions { isolation, timeout };
    if concurrency.is_none_or(|target| target == transactions.concurrency()) {
        return Ok(Some(transactions));
    }
    Err(match isolation {
        Isolation::Serializable => {
            "with concurrency=pessimistic Ignite's serializable is its repeatable-read: say that, \
             or concurrency=optimistic"
        }
        Isolation::ReadCommitted | Isolation::RepeatableRead => {
            "concurrency=optimistic checks nothing but with isolation=serializable: a transaction \
             would write over what others changed since it read; say that, or \
             concurrency=pessimistic"
        }
    })
}

impl Options {
    /// The name of the cache of this table.
    pub(super) fn cache(&self, table: &str) -> String {
        match self.prefix.as_str() {
            "" => table.to_owned(),
            prefix => format!("{prefix}_{table}"),
        }
    }
}

assay_driver_kit::display_address!(Options);

#[cfg(test)]
mod tests {
    use super::*;

    fn right(url: &str) -> Options {
        url.parse().unwrap()
    }

    #[test]
    fn a_host_is_enough() {
        let options = right("ignite://localhost");
        assert_eq!(options.address.hosts, [("localhost".to_owned(), 10_800)]);
        assert_eq!(
            (options.address.user.as_deref(), options.address.password.as_deref()),
            (None, None)
        );
        assert_eq!((options.atomicity, options.backups, options.write_sync), (None, None, None));
        assert_eq!((options.connections, options.insert), (16, Insert::Put));
        assert_eq!(options.batch, 1);
        assert!(options.has_index && options.is_partition_aware);
        assert_eq!(options.cache("usertable"), "usertable");
    }

    #[test]
    fn every_part_has_its_place() {
        let options = right(
            "ignite://ann:p%40ss@a:1,b/bench?atomicity=transactional&backups=0&index=off\
             &write_sync=primary_sync&read_from_backup=off&fields=bytes&keys=bytes\
             &insert=put_if_absent\
             &connections=4&partition_awareness=off&connect_timeout=200&batch=32",
        );
        assert_eq!(options.batch, 32);
        assert_eq!(options.address.hosts, [("a".to_owned(), 1), ("b".to_owned(), 10_800)]);
        assert_eq!(options.address.password.as_deref(), Some("p@ss"));
        assert_eq!(options.atomicity, Some(Atomicity::Transactional));
        assert_eq!((options.backups, options.reads_from_backup), (Some(0), Some(false)));
        assert_eq!(options.write_sync, Some(WriteSync::PrimarySync));
        assert_eq!((options.content, options.insert), (Content::Bytes, Insert::PutIfAbsent));
        assert_eq!(options.keys, Keys::Bytes);
        assert!(!options.has_index && !options.is_partition_aware);
        assert_eq!((options.connections, options.connect_timeout.as_millis()), (4, 200));
        assert_eq!(options.cache("usertable"), "bench_usertable");
    }

    #[test]
    fn transactions_lock_unless_they_are_serializable() {
        let of = |rest: &str| {
            let options = right(&format!("ignite://h?{rest}"));
            options.transactions.map(|t| (t.isolation, t.concurrency(), t.timeout.as_millis()))
        };
        assert_eq!([of("backups=1"), of("atomicity=atomic")], [None, None]);
        let locks = Concurrency::Pessimistic;
        for (rest, expected) in [
            ("", (Isolation::RepeatableRead, locks, 5000)),
            ("&isolation=read-committed", (Isolation::ReadCommitted, locks, 5000)),
            ("&concurrency=pessimistic", (Isolation::RepeatableRead, locks, 5000)),
            ("&concurrency=optimistic", (Isolation::Serializable, Concurrency::Optimistic, 5000)),
            (
                "&isolation=serializable&transaction_timeout=70",
                (Isolation::Serializable, Concurrency::Optimistic, 70),
            ),
        ] {
            assert_eq!(of(&format!("atomicity=transactional{rest}")), Some(expected), "{rest}");
        }
    }

    assay_driver_kit::url_tests! {
        str::parse::<Options>,
        EXAMPLE,
        hidden: [("ignite://ann:secret@host?connections=2", "&index=x")],
        wrong: [
            ("ignite:localhost", "there is no ://"),
            ("ignite3://h", "scheme \"ignite3\""),
            ("ignite://", "the host is missing"),
            ("ignite://h/a/b", "one prefix"),
            ("ignite://h?backups=two", "a number up to 31"),
            ("ignite://h?backups=32", "a number up to 31"),
            ("ignite://h?atomicity=snapshot", "atomic or transactional"),
            ("ignite://h?isolation=serializable", "there are with atomicity=transactional"),
            ("ignite://h?atomicity=atomic&transaction_timeout=9", "with atomicity=transactional"),
            ("ignite://h?atomicity=transactional&isolation=snapshot", "read-committed or"),
            (
                "ignite://h?atomicity=transactional&concurrency=pessimistic&isolation=serializable",
                "is its repeatable-read",
            ),
            (
                "ignite://h?atomicity=transactional&isolation=read-committed\
                 &concurrency=optimistic",
                "checks nothing but with isolation=serializable",
            ),
            ("ignite://h?atomicity=transactional&transaction_timeout=0", "from 1 to"),
            ("ignite://h?write_sync=on", "full_sync or primary_sync or full_async"),
            ("ignite://h?backup=1", "did you mean \"backups\""),
            ("ignite://h?batch=0", "from 1 to 1024"),
            ("ignite://h?connections=0", "from 1 to 1024"),
            ("ignite://h?password_file=/no/such", "cannot be read"),
        ],
    }
}

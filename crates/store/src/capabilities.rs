//! Capabilities that a store declares, as plain data.

use assay_model::{Kind, named_enum};
use serde::Deserialize;

/// What a store can do and how it is to be called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Capabilities {
    /// The store's name in one word, for example `redis`.
    pub name: &'static str,
    /// The shape of its data.
    pub data_model: DataModel,
    /// The kinds of operation it can do.
    pub kinds: Vec<Kind>,
    /// How its client works.
    pub calls: Calls,
    /// Whether its client library tries again by itself, and how.
    pub hidden_retries: Option<&'static str>,
    /// Whether an update keeps the fields that it does not name.
    pub keeps_other_fields: bool,
    /// In which order a scan returns records.
    pub scan_order: ScanOrder,
    /// Whether it keeps nothing and returns no rows: its figures are a floor, no ranking.
    pub is_no_op: bool,
    /// Whether data outlive the process that called us.
    pub is_persistent: bool,
    /// Which time its answers live in.
    pub time: StoreTime,
    /// Whether it takes logical queries by itself; if not, a mapping translates them.
    pub takes_queries: bool,
    /// How its transactions, of queries or of requests, are kept apart; `None` if it has none.
    pub isolation: Option<Isolation>,
}

impl Capabilities {
    /// Those of a server that keeps records and does every kind of operation on them, as far as
    /// its driver says nothing else.
    pub fn of(name: &'static str) -> Capabilities {
        Capabilities {
            name,
            data_model: DataModel::KeyValue,
            kinds: Kind::OF_RECORDS.to_vec(),
            calls: Calls::Pipelined,
            hidden_retries: None,
            keeps_other_fields: true,
            scan_order: ScanOrder::Own,
            is_no_op: false,
            is_persistent: true,
            time: StoreTime::Wall,
            takes_queries: false,
            isolation: None,
        }
    }

    /// Whether the store can do `kind`.
    pub fn can(&self, kind: Kind) -> bool {
        self.kinds.contains(&kind)
    }
}

named_enum! {
    /// How a store keeps transactions that overlap apart, by the name that it uses itself.
    ///
    /// The names mean different things in different stores: PostgreSQL's repeatable read is
    /// snapshot isolation, MariaDB's lets updates see what their snapshot does not show.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum Isolation {
        /// A statement sees what was committed before it began.
        ReadCommitted => "read-committed",
        /// All statements of a transaction read from one snapshot.
        RepeatableRead => "repeatable-read",
        /// As if transactions had come one after another.
        Serializable => "serializable",
    }
}

/// Which time a store's answers live in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StoreTime {
    /// That of the world: an answer takes as long as it takes.
    Wall,
    /// Simulated time: the store computes when a response is due, so no real time passes.
    Simulated,
}

/// The shape of a store's data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DataModel {
    /// Opaque values, or values of named fields, under a key.
    KeyValue,
    /// Rows of typed columns, grouped by a partition key.
    Column,
    /// Rows in tables, queried in SQL.
    Relational,
}

/// In which order a scan returns records.
///
/// A store that scans by the hash of the key answers another question than one that scans by the
/// key itself: the figures of the two do not compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ScanOrder {
    /// By the bytes of the key.
    Key,
    /// By an order of the store's own, for example a hash of the key.
    Own,
}

/// How a client answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Calls {
    /// `start` answers at once and never waits for anything: memory, null.
    Inline,
    /// `start` answers before it returns but may wait, for a disk for example.
    Blocking,
    /// `start` sends; answers come from `poll`.
    Pipelined,
}

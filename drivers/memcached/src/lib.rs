//! memcached, one server or several, over pipelined connections of our own.
//!
//! A record is one value in our own encoding under `table-key`, accessed by the meta commands of
//! memcached 1.6. With several servers each key is on one of them, where YCSB's binding would have
//! it; its values, JSON texts, are distinguished from ours by the client flags and not read.
//!
//! What an answer means:
//! * An update reads the record with the number of its last change, changes it, and writes it if
//!   that number still holds; after a conflict again, eight times in all, then it is refused. A
//!   missing record is not created.
//! * An insert overwrites what is there.
//! * When memory is full the server evicts records silently: later reads are misses.
//! * A write for which the server finds no room is unknown, because the record that was there
//!   before is gone. Records that are larger than its bound are refused before they are sent.
//! * A connection that breaks makes unknown whatever may have left, except updates that had only
//!   read: those are refused. It is made anew as that with a Redis is.

mod admin;
mod codec;
mod connection;
mod connector;
mod failure;
mod options;
mod reply;
mod settings;
mod worker;

use std::rc::Rc;
use std::time::Duration;

use assay_driver_kit::StoreErrors;
use assay_driver_kit::latest::Latest;
use assay_model::{Kind, Layout, Setting, Table};
use assay_store::{Capabilities, Client, OpenError, Store};

use admin::AdminConnection;
use codec::{Codec, server_of};
use connection::{Connection, Shared};
use connector::Connector;
use options::Options;
use reply::Reply;
use settings::Facts;
use worker::Worker;

/// The item that says what was loaded. Those of YCSB begin with the name of a table.
const NOTE: &[u8] = b"_assay-data-set";
/// What is written, for a moment, to see whether the server takes what we say.
const PROBE: &[u8] = b"ms _assay-probe 2 T1\r\nok\r\n";
/// The table that YCSB loads, for clearing before anybody says which tables there are.
const TABLE: &str = "usertable";
/// How many items are removed at once when the store is cleared.
const CLEARED_AT_ONCE: usize = 1000;
/// How often the items that are ours are removed before we give up: once is enough, unless
/// somebody else writes.
const CLEARINGS: u32 = 5;
/// How often the list of items is requested again while the server is busy with another.
const LISTINGS: u32 = 100;
/// The pause between two of those.
const LISTING_PAUSE: Duration = Duration::from_millis(50);

/// Some memcached servers.
pub struct Memcached {
    connector: Connector,
    prepared: Latest<Option<Prepared>>,
}

/// The state after the servers were queried.
#[derive(Clone)]
struct Prepared {
    tables: Vec<Table>,
    item_bytes: usize,
}

impl Memcached {
    /// A store with the options that `url` says; nothing is connected yet.
    ///
    /// # Errors
    /// If the URL is invalid.
    pub fn from_url(url: &str) -> Result<Memcached, OpenError> {
        let connector = Connector { options: Options::parse(url)? };
        Ok(Memcached { connector, prepared: Latest::default() })
    }

    fn options(&self) -> &Options {
        &self.connector.options
    }

    fn servers(&self) -> usize {
        self.options().address.hosts.len()
    }

    fn facts(&self, server: usize, admin: &mut AdminConnection) -> Result<Facts, OpenError> {
        self.stats(server, admin, b"stats settings\r\n")
    }

    fn stats(
        &self,
        server: usize,
        admin: &mut AdminConnection,
        command: &[u8],
    ) -> Result<Facts, OpenError> {
        let lines = admin.lines(command);
        let lines = lines.map_err(|error| self.connector.explain(server, &error))?;
        Ok(Facts::parse(&lines))
    }

    /// Whether a server can do what we need; gives the largest item that it takes.
    fn check_server(&self, server: usize) -> Result<usize, OpenError> {
        let mut admin = self.connector.dial(server)?;
        let at = self.options().address.authority(server);
        let facts = self.facts(server, &mut admin)?;
        if !facts.numbers_changes() {
            return Err(self.options().unsupported(format!(
                "{at} was started without numbers of changes (-C), so no update would be safe; \
                 start it without -C"
            )));
        }
        let requested =
            admin.call(PROBE).map_err(|error| self.connector.explain(server, &error))?;
        match requested.0 {
            Reply::Done => {}
            other => {
                return Err(self.options().unsupported(format!(
                    "{at} does not take a meta set as version 1.6.18 does ({other:?}); use a later \
                     memcached"
                )));
            }
        }
        let unknown = || self.options().failed(format!("{at} does not tell its item_size_max"));
        facts.item_bytes().ok_or_else(unknown)
    }

    fn codec(&self) -> Option<Codec> {
        self.prepared.get().map(|prepared| Codec::new(&prepared.tables, prepared.item_bytes))
    }

    /// The keys of all items of a server, in whatever order.
    fn list(&self, server: usize, admin: &mut AdminConnection) -> Result<Vec<Vec<u8>>, OpenError> {
        let at = self.options().address.authority(server);
        // Walking the hash table sees every item; lists by age, which older versions have alone,
        // miss those that change lists meanwhile.
        let mut ways = [&b"lru_crawler metadump hash\r\n"[..], b"lru_crawler metadump all\r\n"];
        for _ in 0..LISTINGS {
            let lines = admin.lines(ways[0]);
            let lines = lines.map_err(|error| self.connector.explain(server, &error))?;
            let last = lines.last().map_or("", String::as_str);
            if last.starts_with("BUSY") {
                std::thread::sleep(LISTING_PAUSE);
                continue;
            }
            if last.starts_with("CLIENT_ERROR") && ways[0] != ways[1] {
                ways[0] = ways[1];
                continue;
            }
            if last.starts_with("ERROR") || last.starts_with("CLIENT_ERROR") {
                return Err(self.options().unsupported(format!(
                    "{at} does not list its keys (it says {last:?}), so nobody knows which are \
                     ours; start it without no_lru_crawler and -X, or empty it yourself with \
                     flush_all"
                )));
            }
            return Ok(lines.iter().filter_map(|line| listed_key(line)).collect());
        }
        let reason = format!("{at} was busy listing its keys for others; try again later");
        Err(self.options().failed(reason))
    }

    /// Removes what is ours from one server.
    fn clear_server(&self, server: usize, prefixes: &[Vec<u8>]) -> Result<(), OpenError> {
        let mut admin = self.connector.dial(server)?;
        let is_ours =
            |key: &Vec<u8>| key == NOTE || prefixes.iter().any(|prefix| key.starts_with(prefix));
        for _ in 0..CLEARINGS {
            let mut keys = self.list(server, &mut admin)?;
            keys.retain(is_ours);
            if keys.is_empty() {
                return Ok(());
            }
            for some in keys.chunks(CLEARED_AT_ONCE) {
                let mut commands = Vec::new();
                for key in some {
                    codec::delete(key, &mut commands);
                }
                let requested = admin.send_all(&commands, some.len());
                requested.map_err(|error| self.connector.explain(server, &error))?;
            }
        }
        let at = self.options().address.authority(server);
        let reason = format!("items of ours come back on {at}; is somebody else writing?");
        Err(self.options().failed(reason))
    }
}

/// The key in `key=… exp=… la=…`, which is percent-encoded.
fn listed_key(line: &str) -> Option<Vec<u8>> {
    let word = line.strip_prefix("key=")?.split(' ').next()?;
    let mut key = Vec::with_capacity(word.len());
    let mut rest = word.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        let hex = after.get(..2).and_then(|hex| std::str::from_utf8(hex).ok());
        match hex.and_then(|hex| u8::from_str_radix(hex, 16).ok()).filter(|_| byte == b'%') {
            Some(decoded) => {
                key.push(decoded);
                rest = &after[2..];
            }
            None => {
                key.push(byte);
                rest = after;
            }
        }
    }
    Some(key)
}

impl Store for Memcached {
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            kinds: vec![Kind::Read, Kind::Update, Kind::Insert, Kind::Delete],
            hidden_retries: Some(
                "an update whose record was changed meanwhile is tried again, eight times in all",
            ),
            ..Capabilities::of("memcached")
        }
    }

    fn prepare(&self, layout: &Layout) -> Result<(), OpenError> {
        if layout.tables.iter().any(|table| table.needs_key_order) {
            return Err(self.options().unsupported(
                "it cannot scan, and this workload scans a table in the order of its keys",
            ));
        }
        let mut item_bytes = usize::MAX;
        for server in 0..self.servers() {
            item_bytes = item_bytes.min(self.check_server(server)?);
        }
        let prepared = Prepared { tables: layout.tables.clone(), item_bytes };
        self.prepared.set(Some(prepared));
        Ok(())
    }

    fn open(&self, _worker: usize) -> Result<Box<dyn Client>, OpenError> {
        let unprepared =
            || self.options().failed("the names of the fields are not known before it is prepared");
        let codec = Rc::new(self.codec().ok_or_else(unprepared)?);
        let connector = Rc::new(self.connector.clone());
        let mut connections = Vec::new();
        for server in 0..self.servers() {
            let addresses = self.connector.resolve(server)?;
            let (connector, codec) = (connector.clone(), codec.clone());
            let shared = Rc::new(Shared { connector, codec, addresses });
            for _ in 0..self.options().connections {
                let socket = self.connector.dial(server)?.into_socket();
                socket.set_nonblocking(true).map_err(|error| {
                    self.options()
                        .failed(format!("the socket cannot be made to not block: {error}"))
                })?;
                connections.push(Connection::new(shared.clone(), socket));
            }
        }
        let depth = self.options().depth;
        Ok(Box::new(Worker::new(codec, connections, self.servers(), depth)))
    }

    fn room(&self) -> Option<usize> {
        let options = self.options();
        Some(self.servers() * options.connections * options.depth)
    }

    fn settings(&self) -> Result<Vec<Setting>, OpenError> {
        let (mut facts, mut counts, mut at) = (Vec::new(), Vec::new(), Vec::new());
        for server in 0..self.servers() {
            let mut admin = self.connector.dial(server)?;
            facts.push(self.facts(server, &mut admin)?);
            counts.push(self.stats(server, &mut admin, b"stats\r\n")?);
            at.push(self.options().address.authority(server));
        }
        Ok(settings::explain(&at, &facts, &counts))
    }

    fn note(&self) -> Result<Option<String>, OpenError> {
        let server = server_of(NOTE, self.servers());
        let mut command = Vec::new();
        codec::get(NOTE, false, &mut command);
        let requested = self.connector.dial(server)?.call(&command);
        let (reply, value) = requested.map_err(|error| self.connector.explain(server, &error))?;
        let is_there = matches!(reply, Reply::Value { .. });
        Ok(is_there.then(|| String::from_utf8_lossy(&value).into_owned()))
    }

    fn keep_note(&self, note: &str) -> Result<(), OpenError> {
        let server = server_of(NOTE, self.servers());
        let mut command = Vec::new();
        codec::set(NOTE, note.as_bytes(), None, &mut command);
        let requested = self.connector.dial(server)?.call(&command);
        match requested.map_err(|error| self.connector.explain(server, &error))? {
            (Reply::Done, _) => Ok(()),
            (other, _) => Err(self.options().failed(format!("it does not keep a note: {other:?}"))),
        }
    }

    /// Removes the items of our tables, whatever they hold, and the note. Others stay.
    fn clear(&self) -> Result<(), OpenError> {
        let prefixes: Vec<Vec<u8>> = match self.codec() {
            Some(codec) => codec.prefixes().map(<[u8]>::to_vec).collect(),
            None => vec![format!("{TABLE}-").into_bytes()],
        };
        (0..self.servers()).try_for_each(|server| self.clear_server(server, &prefixes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn listed_keys_are_decoded() {
        let key = |line| listed_key(line).map(|key| String::from_utf8(key).unwrap());
        assert_eq!(key("key=t-user1 exp=-1 la=1 cas=2"), Some("t-user1".into()));
        assert_eq!(key("key=a%20b%0D%0A%25 exp=-1"), Some("a b\r\n%".into()));
        assert_eq!(key("END"), None);
    }

    #[test]
    fn opening_needs_preparing_first() {
        let error = Memcached::from_url("memcached://h").unwrap().open(0).err().unwrap();
        assert!(error.to_string().contains("before it is prepared"), "{error}");
    }
}

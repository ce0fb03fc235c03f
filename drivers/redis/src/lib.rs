//! Redis or Valkey over connections of our own: a server, a cluster, or behind sentinels.
//!
//! A worker has some TCP connections, each of which carries many requests at once; a session always
//! uses the same connection, so its requests reach the server in its order. Records are laid out
//! as YCSB's Redis binding does, so that either reads what the other has loaded.
//!
//! What an answer means:
//! * A missing record, or one without the wanted field, is done with `found = false`. An update
//!   of a missing record creates it without an entry in the index, as in YCSB; where there are
//!   several tables, or one in the order of its keys, it writes nothing instead.
//! * Inserts and deletes are two commands. If one was refused while the other went through, the
//!   operation is unknown, with the reason of the refusal: half of it happened.
//! * Errors of the server that certainly refuse the command are refused; errors that we do not
//!   know, for example a proxy's, are unknown.
//! * A connection that breaks makes unknown whatever may have left, reads too, and refuses the
//!   rest. It is made anew in the background, first after 10 ms, then ever more slowly up to once
//!   a second; meanwhile its sessions' requests are refused at once as unreachable.
//!
//! In a cluster each command goes to the master that has its key, so an insert or delete is two
//! requests to two nodes, and a redirected request is sent again to the node that it names. Behind
//! sentinels, these are asked for the master whenever a connection is made. With `read=replica` or
//! `read=any` reads and scans go to the servers that were replicas when the client was opened.

mod admin;
mod cluster;
mod codec;
mod connection;
mod connector;
mod error;
mod options;
mod reply;
mod sentinel;
mod settings;
mod shared;
mod slots;
mod tls;
mod transport;
mod worker;

use std::rc::Rc;
use std::sync::Arc;

use assay_driver_kit::StoreErrors;
use assay_driver_kit::latest::Latest;
use assay_driver_kit::read_server::ReadServer;
use assay_driver_kit::wire::link::Wire;
use assay_driver_kit::wire::sockets;
use assay_model::{Kind, Layout, Setting};
use assay_store::resp::{Protocol, Value};
use assay_store::{Capabilities, Client, OpenError, ServerReading, Store};

use cluster::{AdminConnections, ClusterWorker, ONE_NODE};
use codec::{Codec, INDEX};
use connection::Connection;
use connector::{Connector, Target};
pub use options::{Index, Options, Password, RecordShape, Tls, Topology, Trust};
use settings::Facts;
use shared::Shared;
use worker::Worker;

/// How many keys are removed with one command when the store is cleared.
const CLEARED_AT_ONCE: usize = 1000;

/// The key that says what was loaded. YCSB's keys begin with "user", its index is `_indices`.
const NOTE: &[u8] = b"_assay:data-set";

/// What happens to a command that a node of a cluster sends elsewhere.
const FOLLOWED: &str =
    "a command that a node did not execute (MOVED, ASK) is sent once more, to the node it names";

/// A Redis or Valkey server, or a cluster of them.
pub struct Redis {
    connector: Arc<Connector>,
    codec: Latest<Option<Arc<Codec>>>,
    /// The number of the only node that is asked, if one was chosen.
    only: Option<u8>,
}

impl Redis {
    /// A store with these options; nothing is connected yet.
    ///
    /// # Errors
    /// If a file that the options name cannot be read.
    pub fn new(options: Options) -> Result<Redis, OpenError> {
        let connector = Arc::new(Connector::new(options)?);
        Ok(Redis { connector, codec: Latest::default(), only: None })
    }

    /// A store with the options that `url` says, see [`Options`].
    ///
    /// # Errors
    /// If the URL is invalid, or a file that it names cannot be read.
    pub fn from_url(url: &str) -> Result<Redis, OpenError> {
        Redis::new(url.parse()?)
    }

    /// The options; shown without secrets.
    pub fn options(&self) -> &Options {
        &self.connector.options
    }

    fn admins(&self) -> Result<AdminConnections<'_>, OpenError> {
        AdminConnections::open(&self.connector)
    }

    fn check_layout(&self, layout: &Layout) -> Result<(), OpenError> {
        let Options { shape, index, .. } = *self.options();
        let fields = layout.tables.first().map_or(0, |table| table.fields.len());
        if codec::is_ycsbs(&layout.tables) {
            if shape == RecordShape::String && fields != 1 {
                return Err(self.options().unsupported(format!(
                    "with layout=string a record has one field and not {fields}; leave the option \
                     out"
                )));
            }
            return Ok(());
        }
        // Tables are distinguished by prefixes, and their keys are kept in order beside them.
        match (shape, index) {
            (RecordShape::Hash, Index::Kept) => Ok(()),
            (RecordShape::String, _) => Err(self.options().unsupported(
                "with layout=string there is one table of one field; leave the option out",
            )),
            (_, Index::Off) => Err(self.options().unsupported(
                "with index=off nobody knows the order of keys; leave the option out",
            )),
        }
    }

    /// Removes the records that an index names, then the index.
    fn clear_table(
        &self,
        admins: &mut AdminConnections<'_>,
        index: &[u8],
        prefix: &[u8],
    ) -> Result<(), OpenError> {
        let last = (CLEARED_AT_ONCE - 1).to_string();
        loop {
            let keys = admins.query(index, &[b"ZRANGE", index, b"0", last.as_bytes()])?;
            let Value::Array(keys) = keys else { break };
            let keys = keys.iter().filter_map(Value::text);
            let keys: Vec<Vec<u8>> = keys.map(|key| [prefix, key].concat()).collect();
            if keys.is_empty() {
                break;
            }
            admins.remove(&keys)?;
            let last = (keys.len() - 1).to_string();
            admins.query(index, &[b"ZREMRANGEBYRANK", index, b"0", last.as_bytes()])?;
        }
        admins.remove(&[index.to_vec()])
    }

    /// Removes nothing but the note, if there is nothing else.
    fn clear_unindexed(&self, admins: &mut AdminConnections<'_>) -> Result<(), OpenError> {
        let count = |value: &Value| if let Value::Integer(count) = value { *count } else { 0 };
        let notes = count(&admins.query(NOTE, &[b"EXISTS", NOTE])?);
        let all: i64 = admins.query_each(&[b"DBSIZE"])?.iter().map(count).sum();
        if all == notes {
            return admins.remove(&[NOTE.to_vec()]);
        }
        Err(self.options().unsupported(
            "with index=off nobody knows which keys are records; empty the database yourself, or \
             leave the option out",
        ))
    }

    fn open_cluster(&self, codec: Arc<Codec>) -> Result<Box<dyn Client>, OpenError> {
        let (map, targets) = self.admins()?.into_map();
        if targets.len() * self.options().connections > sockets::MOST {
            let most = sockets::MOST;
            return Err(self.options().unsupported(format!(
                "{} masters times connections is more than {most}; use fewer connections",
                targets.len()
            )));
        }
        let mut connections = Vec::new();
        let mut protocol = Protocol::Resp2;
        for target in targets {
            let made = self.connect(target, codec.clone(), Vec::new())?;
            protocol = made.0;
            connections.extend(made.1);
        }
        let connector = self.connector.clone();
        Ok(Box::new(ClusterWorker::new(connector, codec, protocol, &map, connections)))
    }

    /// A client of the node of this number alone: of the master, or of one of its replicas.
    fn open_only(
        &self,
        node: u8,
        master: Target,
        codec: Arc<Codec>,
    ) -> Result<Box<dyn Client>, OpenError> {
        let mut targets = sentinel::replicas(&self.connector)?;
        targets.push(master);
        let is_meant = |target: &Target| {
            target.addresses.first().is_some_and(|address| self.connector.node(*address) == node)
        };
        let Some(target) = targets.into_iter().find(is_meant) else {
            let store = self.options();
            let reason = "a node that was read is neither the master nor a replica now";
            return Err(store.failed(reason));
        };
        let (_, connections) = self.connect(target, codec, Vec::new())?;
        let depth = self.options().depth;
        Ok(Box::new(Worker::new(connections, depth, ReadServer::Primary, 1)))
    }

    /// The connections of a worker with one server.
    fn connect(
        &self,
        target: Target,
        codec: Arc<Codec>,
        sentinels: Vec<Target>,
    ) -> Result<(Protocol, Vec<Connection>), OpenError> {
        let mut transports = Vec::new();
        let mut protocol = Protocol::Resp2;
        for _ in 0..self.options().connections {
            let (admin, spoken) = self.connector.dial(&target)?;
            let transport = admin.into_transport();
            if let Err(error) = transport.socket().set_nonblocking(true) {
                let store = self.options();
                let reason = format!("the socket cannot be made to not block: {error}");
                return Err(store.failed(reason));
            }
            protocol = spoken;
            transports.push(transport);
        }
        let tells_redirects = self.options().topology == Topology::Cluster;
        let connector = self.connector.clone();
        let shared =
            Rc::new(Shared { connector, codec, target, protocol, sentinels, tells_redirects });
        let connection = |transport| Connection::new(shared.clone(), transport);
        Ok((protocol, transports.into_iter().map(connection).collect()))
    }

    /// A node of a cluster answers for its own keys only; all of them must be here.
    fn check_alone(&self, admins: &mut AdminConnections<'_>) -> Result<(), OpenError> {
        let facts = admins.query(b"", &[b"INFO"]).unwrap_or(Value::Null);
        if !Facts::of(&facts).is_cluster() {
            return Ok(());
        }
        let answer = admins.query(b"", &[b"CLUSTER", b"INFO"])?;
        let text = String::from_utf8_lossy(answer.text().unwrap_or_default()).into_owned();
        let says = |fact: &str| text.lines().any(|line| line.trim() == fact);
        // A fresh node counts itself but has no slots yet.
        if says("cluster_size:1") && says("cluster_slots_assigned:16384") {
            return Ok(());
        }
        Err(self.options().unsupported(ONE_NODE))
    }
}

impl Store for Redis {
    fn capabilities(&self) -> Capabilities {
        let scans = self.options().index == Index::Kept;
        let kinds =
            Kind::OF_RECORDS.into_iter().filter(|kind| scans || *kind != Kind::Scan).collect();
        let (name, hidden_retries) = match self.options().topology {
            Topology::Cluster => ("redis-cluster", Some(FOLLOWED)),
            Topology::Single | Topology::Sentinel { .. } => ("redis", None),
        };
        Capabilities { kinds, hidden_retries, ..Capabilities::of(name) }
    }

    fn scans_keys(&self) -> bool {
        // In a cluster the keys that come are those of records that are looked up.
        self.options().topology != Topology::Cluster
    }

    fn prepare(&self, layout: &Layout) -> Result<(), OpenError> {
        self.check_layout(layout)?;
        let mut admins = self.admins()?;
        if self.options().topology != Topology::Cluster {
            self.check_alone(&mut admins)?;
        }
        let Options { shape, index, .. } = *self.options();
        let codec = Codec::new(&layout.tables, shape, index);
        self.codec.set(Some(Arc::new(codec)));
        Ok(())
    }

    fn open(&self, _worker: usize) -> Result<Box<dyn Client>, OpenError> {
        let Some(codec) = self.codec.get() else {
            let store = self.options();
            let reason = "the names of the fields are not known before it is prepared";
            return Err(store.failed(reason));
        };
        let options = self.options();
        let (target, sentinels) = match &options.topology {
            Topology::Single => (self.connector.target(&options.host, options.port)?, Vec::new()),
            Topology::Sentinel { .. } => {
                (sentinel::master(&self.connector)?, sentinel::sentinels(&self.connector))
            }
            Topology::Cluster => return self.open_cluster(codec),
        };
        if let Some(node) = self.only {
            return self.open_only(node, target, codec);
        }
        let (_, mut connections) = self.connect(target, codec.clone(), sentinels)?;
        let mut hosts = 1;
        if options.read != ReadServer::Primary {
            for replica in sentinel::replicas(&self.connector)? {
                connections.extend(self.connect(replica, codec.clone(), Vec::new())?.1);
                hosts += 1;
            }
        }
        if connections.len() > sockets::MOST {
            return Err(self.options().unsupported(format!(
                "{hosts} servers times connections is more than {}; use fewer connections",
                sockets::MOST
            )));
        }
        Ok(Box::new(Worker::new(connections, options.depth, options.read, hosts)))
    }

    fn room(&self) -> Option<usize> {
        let options = self.options();
        // The number of a cluster's masters, or of replicas, is not known in advance.
        let is_known = options.topology != Topology::Cluster && options.read == ReadServer::Primary;
        is_known.then_some(options.connections * options.depth)
    }

    fn nodes(&self) -> Vec<String> {
        self.connector.nodes.all()
    }

    /// Only where replicas are read: the nodes of a cluster answer for different keys.
    fn reading_at(&self, node: u8) -> Option<Box<dyn Store>> {
        let is_named = (1..=self.nodes().len()).contains(&usize::from(node));
        if !is_named || self.options().read == ReadServer::Primary {
            return None;
        }
        let (connector, codec) = (Arc::clone(&self.connector), Latest::new(self.codec.get()));
        Some(Box::new(Redis { connector, codec, only: Some(node) }))
    }

    fn settings(&self) -> Result<Vec<Setting>, OpenError> {
        let mut settings = cluster::settings(&self.connector)?;
        let (value, meaning) = match self.options().read {
            ReadServer::Primary => return Ok(settings),
            ReadServer::Replica => {
                ("replica", "reads and scans go to replicas, which may lag behind")
            }
            ReadServer::Any => ("any", "reads and scans go to the master and its replicas in turn"),
        };
        settings.push(Setting::new("read", value, meaning));
        Ok(settings)
    }

    fn readings(&self) -> Result<Vec<ServerReading>, OpenError> {
        let answers = self.admins()?.query_each_named(&[b"INFO"])?;
        let readings = answers.iter().map(|(node, answer)| settings::readings(node, answer));
        Ok(readings.flatten().collect())
    }

    fn note(&self) -> Result<Option<String>, OpenError> {
        let answer = self.admins()?.query(NOTE, &[b"GET", NOTE])?;
        Ok(answer.text().map(|text| String::from_utf8_lossy(text).into_owned()))
    }

    fn keep_note(&self, note: &str) -> Result<(), OpenError> {
        self.admins()?.query(NOTE, &[b"SET", NOTE, note.as_bytes()]).map(drop)
    }

    /// Removes the records that the index names, the index, the note. Whatever else is in the
    /// database stays, so a record that only updates have made stays too.
    fn clear(&self) -> Result<(), OpenError> {
        let mut admins = self.admins()?;
        if self.options().index == Index::Off {
            return self.clear_unindexed(&mut admins);
        }
        match self.codec.get() {
            None => self.clear_table(&mut admins, INDEX, b"")?,
            Some(codec) => {
                for (index, prefix) in codec.indexes() {
                    self.clear_table(&mut admins, index, prefix)?;
                }
            }
        }
        admins.remove(&[NOTE.to_vec()])
    }
}

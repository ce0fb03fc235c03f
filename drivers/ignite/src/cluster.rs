//! Cluster state of a worker: the nodes, their partitions, the types of records.
//!
//! It learns by itself: a response tells when something changed, and then a task of its own asks a
//! node for the new state, while requests go where they went before: every node forwards what it
//! does not own. A node that does not answer is left alone, and another task looks after it, so no
//! request waits for a connection to a node that is known to be gone.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use assay_driver_kit::unavailable::Unavailable;

use super::affinity::Owners;
use super::object::{self, Types};
use super::options::{Content, Options};
use super::socket::{Socket, Topology, Trouble};
use super::wire::{Garbled, Reader, code, operation, put_i32, put_i64, put_length, put_text};

/// The first pause before a node that did not answer is looked at again; each failure doubles it.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
/// The longest pause: a node that is back is found within this time.
const LONGEST_PAUSE: Duration = Duration::from_secs(1);
/// How long a node may take for the handshake when others can be used instead.
const SHORT_TIMEOUT: Duration = Duration::from_millis(500);
/// How often the nodes are asked for the owners after a change, until they know them.
const MOST_QUESTIONS: u32 = 50;

/// A node's number, and where it may be reached.
type Endpoint = (u128, Vec<(String, u16)>);

/// A node, as far as it is known.
pub(super) struct Node {
    /// Where it may be reached; the first that leads to it is taken.
    addresses: Vec<(String, u16)>,
    id: Cell<Option<u128>>,
    /// Whether the URL names it: then it is never forgotten.
    is_named: bool,
    is_down: Cell<bool>,
    is_forgotten: Cell<bool>,
}

impl Node {
    fn new(id: Option<u128>, addresses: Vec<(String, u16)>, is_named: bool) -> Rc<Node> {
        let (is_down, is_forgotten) = (Cell::new(false), Cell::new(false));
        Rc::new(Node { addresses, id: Cell::new(id), is_named, is_down, is_forgotten })
    }
}

/// What the worker's connections share.
pub(super) struct Cluster {
    pub(super) options: Arc<Options>,
    caches: Vec<i32>,
    nodes: RefCell<Vec<Rc<Node>>>,
    owners: RefCell<Owners>,
    pub(super) types: RefCell<Types>,
    is_issuing: Cell<bool>,
    /// Where the next connection begins to look for a node.
    turn: Cell<usize>,
}

impl Cluster {
    /// The nodes that the options name, and what is kept in these caches.
    pub(super) fn new(options: Arc<Options>, caches: Vec<i32>, types: Types) -> Rc<Cluster> {
        let node = |address: &(String, u16)| Node::new(None, vec![address.clone()], true);
        let nodes = options.address.hosts.iter().map(node).collect();
        Rc::new(Cluster {
            options,
            caches,
            nodes: RefCell::new(nodes),
            owners: RefCell::default(),
            types: RefCell::new(types),
            is_issuing: Cell::new(false),
            turn: Cell::new(0),
        })
    }

    /// Connections to every node that answers, or to one of them without partition awareness.
    pub(super) async fn connect(self: &Rc<Cluster>) -> Result<Vec<Socket>, Unavailable> {
        let mut sockets = Vec::new();
        let mut refusal = None;
        self.connect_more(&mut sockets, &mut refusal).await;
        let is_new = self.owners.borrow().topology == Topology::default();
        if self.options.is_partition_aware && is_new && !sockets.is_empty() {
            // Without an answer it goes on: the nodes pass on what they do not own.
            let learned = self.learn(&mut sockets[0]).await;
            if !matches!(learned, Ok(()) | Err(Trouble::Said(..))) {
                sockets.remove(0);
            }
            self.connect_more(&mut sockets, &mut refusal).await;
        }
        let nothing = || Unavailable::unreachable("none of its nodes answers at present");
        if sockets.is_empty() { Err(refusal.unwrap_or_else(nothing)) } else { Ok(sockets) }
    }

    /// Connects to the nodes that are up and that `sockets` lacks.
    async fn connect_more(
        self: &Rc<Cluster>,
        sockets: &mut Vec<Socket>,
        refusal: &mut Option<Unavailable>,
    ) {
        for node in self.up() {
            if !sockets.is_empty() && !self.options.is_partition_aware {
                return;
            }
            if sockets.iter().any(|socket| Some(socket.node) == node.id.get()) {
                continue;
            }
            match self.dial(&node, self.timeout()).await {
                Ok(socket) if sockets.iter().all(|other| other.node != socket.node) => {
                    sockets.push(socket);
                }
                // The node has two names.
                Ok(_) => {}
                Err(reason) => drop(refusal.get_or_insert(reason)),
            }
        }
    }

    /// The nodes that are not known to be gone, each time beginning with another.
    pub(super) fn up(&self) -> Vec<Rc<Node>> {
        let nodes = self.nodes.borrow();
        let mut up: Vec<_> = nodes.iter().filter(|node| !node.is_down.get()).cloned().collect();
        let turn = self.turn.get();
        self.turn.set(turn.wrapping_add(1));
        if !up.is_empty() {
            let count = up.len();
            up.rotate_left(turn % count);
        }
        up
    }

    /// The node with this number, if it is not known to be gone.
    pub(super) fn node(&self, id: u128) -> Option<Rc<Node>> {
        let nodes = self.nodes.borrow();
        nodes.iter().find(|node| node.id.get() == Some(id) && !node.is_down.get()).cloned()
    }

    /// How long a node may take to greet: as long as the URL says, as long as no other is known.
    pub(super) fn timeout(&self) -> Duration {
        let long = self.options.connect_timeout;
        let is_new = self.owners.borrow().topology == Topology::default();
        if is_new || self.nodes.borrow().len() < 2 { long } else { long.min(SHORT_TIMEOUT) }
    }

    /// Connects to `node`; one that does not answer is left alone until it does again.
    pub(super) async fn dial(
        self: &Rc<Cluster>,
        node: &Rc<Node>,
        timeout: Duration,
    ) -> Result<Socket, Unavailable> {
        let dialled = self.try_dial(node, timeout).await;
        if dialled.is_err() && !node.is_down.replace(true) {
            tokio::task::spawn_local(look_after(Rc::clone(self), Rc::clone(node)));
        }
        dialled
    }

    async fn try_dial(&self, node: &Node, timeout: Duration) -> Result<Socket, Unavailable> {
        let mut refusal = Unavailable::unreachable("it has no address");
        for address in &node.addresses {
            match Socket::dial(address, &self.options, timeout).await {
                // Nodes in the cluster's list may share an address in their own networks.
                Ok(socket) if !node.is_named && node.id.get() != Some(socket.node) => {}
                Ok(socket) => {
                    node.id.set(Some(socket.node));
                    return Ok(socket);
                }
                Err(reason) => refusal = reason,
            }
        }
        Err(refusal)
    }

    /// The owner of a key, if it is known.
    pub(super) fn owner(&self, cache: i32, key: &[u8]) -> Option<u128> {
        self.owners.borrow().owner(cache, key)
    }

    /// A node reported this version of the partition map.
    pub(super) fn notice(self: &Rc<Cluster>, reported: Topology) {
        let is_old = self.owners.borrow().topology < reported;
        if self.options.is_partition_aware && is_old && !self.is_issuing.replace(true) {
            let cluster = Rc::clone(self);
            tokio::task::spawn_local(async move {
                cluster.catch_up(reported).await;
                cluster.is_issuing.set(false);
            });
        }
    }

    /// Asks until the version is at least that which was reported.
    async fn catch_up(self: &Rc<Cluster>, reported: Topology) {
        for _ in 0..MOST_QUESTIONS {
            for node in self.up() {
                let Ok(mut socket) = self.dial(&node, self.timeout()).await else {
                    continue;
                };
                if self.learn(&mut socket).await.is_ok() {
                    break;
                }
            }
            if self.owners.borrow().topology >= reported {
                return;
            }
            tokio::time::sleep(FIRST_PAUSE).await;
        }
    }

    /// Asks for the nodes and the partitions that they own.
    async fn learn(&self, socket: &mut Socket) -> Result<(), Trouble> {
        // From the first version to the newest: all nodes there are.
        let all =
            |out: &mut Vec<u8>| [-1, -1].into_iter().for_each(|topology| put_i64(topology, out));
        match socket.send(operation::ENDPOINTS, all).await {
            Ok(reported) => self.update_nodes(endpoints(reported)?),
            // An old version does not tell.
            Err(Trouble::Said(..)) => {}
            Err(trouble) => return Err(trouble),
        }
        let reported = socket
            .send(operation::PARTITIONS, |out| {
                put_length(self.caches.len(), out);
                self.caches.iter().for_each(|cache| put_i32(*cache, out));
            })
            .await?;
        let reported = Owners::parse(reported)?;
        if reported.topology > self.owners.borrow().topology {
            *self.owners.borrow_mut() = reported;
        }
        Ok(())
    }

    /// Adds nodes of the cluster's list, and forgets those that left it.
    fn update_nodes(&self, endpoints: Vec<Endpoint>) {
        let mut nodes = self.nodes.borrow_mut();
        let is_there = |id: Option<u128>| endpoints.iter().any(|(other, _)| Some(*other) == id);
        nodes.retain(|node| {
            let stays = node.is_named || is_there(node.id.get());
            node.is_forgotten.set(!stays);
            stays
        });
        let is_near = self.options.address.hosts.iter().any(|(host, _)| is_loopback(host));
        for (id, addresses) in endpoints {
            if nodes.iter().any(|node| node.id.get() == Some(id)) {
                continue;
            }
            let same = |node: &&Rc<Node>| {
                node.is_named && node.addresses.iter().any(|address| addresses.contains(address))
            };
            if let Some(node) = nodes.iter().find(same) {
                node.id.set(Some(id));
                continue;
            }
            // A loopback address of a far node would lead to ourselves.
            let reachable = addresses.into_iter().filter(|(host, _)| is_near || !is_loopback(host));
            let addresses: Vec<_> = reachable.collect();
            if !addresses.is_empty() {
                nodes.push(Node::new(Some(id), addresses, false));
            }
        }
    }

    /// Asks for the fields and schemas of a type.
    pub(super) async fn learn_type(
        &self,
        socket: &mut Socket,
        of_type: i32,
    ) -> Result<(), Trouble> {
        let reported = socket.send(operation::GET_TYPE, |out| put_i32(of_type, out)).await?;
        Ok(read_type(reported, &mut self.types.borrow_mut())?)
    }
}

/// Looks after a node that did not answer until it does again.
async fn look_after(cluster: Rc<Cluster>, node: Rc<Node>) {
    let mut pause = FIRST_PAUSE;
    while !node.is_forgotten.get() {
        tokio::time::sleep(pause).await;
        pause = LONGEST_PAUSE.min(pause * 2);
        if cluster.try_dial(&node, cluster.options.connect_timeout).await.is_ok() {
            node.is_down.set(false);
            return;
        }
    }
}

fn is_loopback(host: &str) -> bool {
    let host = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost" || host.starts_with("127.") || host == "::1" || host == "0:0:0:0:0:0:0:1"
}

/// The nodes with their addresses. Source: `ClientClusterGroupGetNodesEndpointsResponse`.
fn endpoints(bytes: &[u8]) -> Result<Vec<Endpoint>, Garbled> {
    let mut reader = Reader::new(bytes);
    let _topology = reader.i64()?;
    let mut endpoints = Vec::new();
    for _ in 0..reader.length()? {
        let id = reader.uuid()?;
        let port = u16::try_from(reader.i32()?).map_err(|_| Garbled)?;
        let mut addresses = Vec::new();
        for _ in 0..reader.length()? {
            let host = reader.text()?.ok_or(Garbled)?;
            addresses.push((host.to_owned(), port));
        }
        endpoints.push((id, addresses));
    }
    Ok(endpoints)
}

/// Adds a type as the cluster describes it. Source: `PlatformUtils.writeBinaryMetadata`.
fn read_type(bytes: &[u8], types: &mut Types) -> Result<(), Garbled> {
    let mut reader = Reader::new(bytes);
    if !reader.truth()? {
        return Ok(());
    }
    let of_type = reader.i32()?;
    types.add_type(of_type, reader.text()?.unwrap_or_default());
    let _affinity_field = reader.text()?;
    for _ in 0..reader.length()? {
        types.add_name(of_type, reader.text()?.ok_or(Garbled)?);
        let (_code, _number) = (reader.i32()?, reader.i32()?);
    }
    if reader.truth()? {
        for _ in 0..reader.length()? {
            let (_name, _ordinal) = (reader.text()?, reader.i32()?);
        }
    }
    for _ in 0..reader.length()? {
        let schema = reader.i32()?;
        let mut fields = Vec::new();
        for _ in 0..reader.length()? {
            fields.push(reader.i32()?);
        }
        types.add_schema(of_type, schema, &fields);
    }
    Ok(())
}

/// Appends what tells the cluster of a schema of a type, and of these fields.
pub(super) fn put_type(
    of_type: i32,
    name: &str,
    fields: &[String],
    schema: &[i32],
    content: Content,
    into: &mut Vec<u8>,
) {
    put_i32(of_type, into);
    put_text(name.as_bytes(), into);
    into.push(code::NULL);
    put_length(fields.len(), into);
    for field in fields {
        put_text(field.as_bytes(), into);
        put_i32(
            i32::from(match content {
                Content::Text => code::TEXT,
                Content::Bytes => code::BYTES,
            }),
            into,
        );
        put_i32(object::number(field), into);
    }
    // It is no enumeration, and has one more schema.
    into.push(0);
    put_i32(1, into);
    put_i32(object::schema_number(schema), into);
    put_length(schema.len(), into);
    schema.iter().for_each(|field| put_i32(*field, into));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cluster(url: &str) -> Rc<Cluster> {
        Cluster::new(Arc::new(url.parse().unwrap()), Vec::new(), Types::default())
    }

    /// The nodes as `number@first address`, those without a number as `?`.
    fn describe(cluster: &Cluster) -> Vec<String> {
        let node = |node: &Rc<Node>| {
            let id = node.id.get().map_or("?".into(), |id| id.to_string());
            format!("{id}@{}:{}", node.addresses[0].0, node.addresses[0].1)
        };
        cluster.nodes.borrow().iter().map(node).collect()
    }

    fn at(host: &str, port: u16) -> (String, u16) {
        (host.into(), port)
    }

    #[test]
    fn nodes_come_and_go_except_those_that_the_url_names() {
        let cluster = cluster("ignite://127.0.0.1:1,127.0.0.1:2");
        cluster.update_nodes(vec![(7, vec![at("127.0.0.1", 2)]), (8, vec![at("127.0.0.1", 3)])]);
        assert_eq!(describe(&cluster), ["?@127.0.0.1:1", "7@127.0.0.1:2", "8@127.0.0.1:3"]);
        // The second was started again, the third left, another came.
        cluster.nodes.borrow()[1].id.set(None);
        cluster.update_nodes(vec![(9, vec![at("127.0.0.1", 2)]), (10, vec![at("127.0.0.1", 4)])]);
        assert_eq!(describe(&cluster), ["?@127.0.0.1:1", "9@127.0.0.1:2", "10@127.0.0.1:4"]);
    }

    #[test]
    fn loopback_addresses_of_far_nodes_lead_nowhere() {
        let cluster = cluster("ignite://db1");
        let addresses = vec![at("127.0.0.1", 10800), at("10.0.0.2", 10800)];
        cluster.update_nodes(vec![(7, addresses), (8, vec![at("0:0:0:0:0:0:0:1", 10800)])]);
        assert_eq!(describe(&cluster), ["?@db1:10800", "7@10.0.0.2:10800"]);
    }

    #[test]
    fn a_type_in_a_response_is_known() {
        let fields = ["A".to_owned(), "b".to_owned()];
        let schema: Vec<i32> = fields.iter().map(|field| object::number(field)).collect();
        let of_type = object::number("CustomType");
        let mut bytes = vec![1];
        put_type(of_type, "CustomType", &fields, &schema, Content::Text, &mut bytes);
        let mut types = Types::default();
        read_type(&bytes, &mut types).unwrap();
        assert!(types.knows(of_type, object::schema_number(&schema)));
        assert_eq!(types.name_of_type(of_type), Some("CustomType"));
        read_type(&[0], &mut types).unwrap();
        assert_eq!(read_type(&bytes[..20], &mut types), Err(Garbled));
    }
}

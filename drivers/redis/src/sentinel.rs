//! Discovery of the master through sentinels.
//!
//! Source of the protocol: "Guidelines for Redis clients with support for Redis Sentinel" of the
//! Redis project: ask one sentinel after the other for the master's address, connect to it, check
//! with ROLE that it is one, and begin anew whenever the connection breaks.

use std::net::{SocketAddr, TcpStream};
use std::rc::Rc;

use assay_driver_kit::StoreErrors;
use assay_driver_kit::address::authority;
use assay_driver_kit::wire::sockets::Interest;
use assay_driver_kit::wire::{Approach, Inbox, Link, LinkStage, Lost};
use assay_model::{Nanos, Setting};
use assay_store::OpenError;
use assay_store::resp::{Limits, Parser, Shape, Value, write};

use super::admin::AdminConnection;
use super::connector::{Connector, Target};
use super::options::Topology;
use super::shared::Shared;
use super::transport::Transport;

/// Where a server is, as far as is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    /// The answer is on its way.
    Asking,
    /// There.
    Found(SocketAddr),
    /// Nobody could tell.
    Lost,
}

/// One question to one sentinel, without waiting for anything.
pub(super) struct Guide {
    shared: Rc<Shared>,
    /// The sentinel that is asked.
    turn: usize,
    link: Link<Transport>,
    parser: Parser,
    /// How many answers are to come.
    missing: usize,
}

impl Guide {
    pub(super) fn new(shared: Rc<Shared>, turn: usize) -> Guide {
        let link = Link::down(Inbox::new(b""));
        Guide { shared, turn, link, parser: Parser::new(Limits::REPLY), missing: 0 }
    }

    /// The socket to wait for, with what is hoped of it.
    pub(super) fn socket(&self) -> Option<(&TcpStream, Interest)> {
        self.link.socket()
    }

    /// When something is to be done even if no byte moves.
    pub(super) fn due(&self) -> Option<Nanos> {
        self.link.due()
    }

    /// Goes on; after an answer other than [`Direction::Asking`] it is done with.
    pub(super) fn poll(&mut self, now: Nanos) -> Direction {
        match self.link.stage(now) {
            LinkStage::Talking => self.talk(now).unwrap_or(Direction::Lost),
            LinkStage::Apart => self.approach(now),
            LinkStage::Silent => Direction::Lost,
        }
    }

    fn approach(&mut self, now: Nanos) -> Direction {
        let sentinel = &self.shared.sentinels[self.turn];
        match self.link.approach(now) {
            Approach::Wait => Direction::Asking,
            Approach::Dial => {
                let timeout = Nanos::from(self.shared.connector.options.connect_timeout);
                let until = now.saturating_add(timeout);
                match self.link.dial(sentinel.addresses[0], until) {
                    Ok(()) => Direction::Asking,
                    Err(_) => Direction::Lost,
                }
            }
            Approach::Made => {
                let Some((socket, until)) = self.link.take_socket() else {
                    return Direction::Lost;
                };
                let Ok(transport) = self.shared.connector.secure(socket, sentinel) else {
                    return Direction::Lost;
                };
                self.link.greet(transport, until);
                for words in questions(&self.shared.connector) {
                    let words: Vec<&[u8]> = words.iter().map(Vec::as_slice).collect();
                    write::command(&words, &mut self.link.out);
                    self.missing += 1;
                }
                Direction::Asking
            }
            Approach::Failed => Direction::Lost,
        }
    }

    fn talk(&mut self, now: Nanos) -> Result<Direction, Lost> {
        self.link.flush()?;
        self.link.receive(now)?;
        while !self.link.inbox.unread().is_empty() {
            let Ok(parsed) = self.parser.parse(self.link.inbox.unread()) else {
                return Ok(Direction::Lost);
            };
            let Some(length) = parsed else { break };
            let is_reply = self.parser.tokens()[0].shape != Shape::Push;
            let value = Value::new(&self.link.inbox.unread()[..length], self.parser.tokens());
            self.link.inbox.consume(length);
            self.missing -= usize::from(is_reply);
            if self.missing == 0 {
                let address = address_in(&value).and_then(|(host, port)| {
                    host.parse().ok().map(|host| SocketAddr::new(host, port))
                });
                return Ok(address.map_or(Direction::Lost, Direction::Found));
            }
        }
        Ok(Direction::Asking)
    }
}

/// The commands to a sentinel; the last response is the address.
fn questions(connector: &Connector) -> Vec<Vec<Vec<u8>>> {
    let mut questions = Vec::new();
    if let Some(password) = connector.sentinel_password() {
        questions.push(vec![b"AUTH".to_vec(), password.to_vec()]);
    }
    let name = master_name(connector).as_bytes().to_vec();
    let words = [&b"SENTINEL"[..], b"GET-MASTER-ADDR-BY-NAME"].map(<[u8]>::to_vec);
    questions.push(words.into_iter().chain([name]).collect());
    questions
}

fn master_name(connector: &Connector) -> &str {
    match &connector.options.topology {
        Topology::Sentinel { master, .. } => master,
        Topology::Single | Topology::Cluster => "",
    }
}

/// Host and port in the answer of a sentinel.
fn address_in(value: &Value) -> Option<(String, u16)> {
    let Value::Array(words) = value else { return None };
    let [host, port] = words.as_slice() else { return None };
    let text = |value: &Value| value.text().map(|text| String::from_utf8_lossy(text).into_owned());
    Some((text(host)?, text(port)?.parse().ok()?))
}

/// The sentinels of the URL whose names are known now.
pub(super) fn sentinels(connector: &Connector) -> Vec<Target> {
    let hosts = connector.options.hosts();
    hosts.filter_map(|(host, port)| connector.target(host, port).ok()).collect()
}

/// The master's address, asked from one sentinel after the other.
pub(super) fn master(connector: &Connector) -> Result<Target, OpenError> {
    let mut why = None;
    for (host, port) in connector.options.hosts() {
        let requested = connector.target(host, port).and_then(|target| connector.call(&target));
        match requested.and_then(|mut admin| query(connector, &mut admin, &authority(host, port))) {
            Ok((host, port)) => return connector.target(&host, port),
            // An error of a reachable sentinel says more than one of an unreachable one.
            Err(error) if matches!(why, None | Some(OpenError::Unreachable { .. })) => {
                why = Some(error);
            }
            Err(_) => {}
        }
    }
    Err(why.expect("there is at least one host"))
}

/// The replicas that a sentinel knows and does not think to be gone.
pub(super) fn replicas(connector: &Connector) -> Result<Vec<Target>, OpenError> {
    let name = master_name(connector).as_bytes();
    let known = connector.options.hosts().find_map(|(host, port)| {
        let mut admin = connector.call(&connector.target(host, port).ok()?).ok()?;
        if let Some(password) = connector.sentinel_password() {
            admin.query(&[b"AUTH", password]).ok()?;
        }
        match admin.query(&[b"SENTINEL", b"REPLICAS", name]) {
            Ok(Value::Array(replicas)) => Some(replicas),
            _ => None,
        }
    });
    let mut targets = Vec::new();
    for replica in known.unwrap_or_default() {
        let place = fact(&replica, "ip").zip(fact(&replica, "port"));
        let place = place.and_then(|(host, port)| Some((host, port.parse().ok()?)));
        let is_there = fact(&replica, "flags").is_some_and(|flags| flags == "slave");
        if let Some((host, port)) = place.filter(|_| is_there) {
            let mut target = connector.target(&host, port)?;
            target.is_replica = true;
            targets.push(target);
        }
    }
    match targets.is_empty() {
        false => Ok(targets),
        true => Err(connector
            .options
            .unsupported("the sentinels know no replica that could be read; leave read= out")),
    }
}

fn query(
    connector: &Connector,
    admin: &mut AdminConnection,
    at: &str,
) -> Result<(String, u16), OpenError> {
    let mut answer = Value::Null;
    for words in questions(connector) {
        let words: Vec<&[u8]> = words.iter().map(Vec::as_slice).collect();
        answer = admin.query(&words).map_err(|error| connector.explain(&error))?;
        if let Value::Error(error) = &answer {
            return Err(turned_away(connector, at, error));
        }
    }
    address_in(&answer).ok_or_else(|| {
        let name = master_name(connector);
        let known = names(admin).map_or_else(String::new, |names| format!(" but {names}"));
        let reason = format!("the sentinel {at} knows no master {name:?}{known}; check the name");
        connector.options.unsupported(reason)
    })
}

fn turned_away(connector: &Connector, at: &str, error: &str) -> OpenError {
    let store = &connector.options;
    if error.starts_with("ERR unknown command") {
        return store.unsupported(format!(
            "{at} is no sentinel (it says: {error}); a sentinel's usual port is 26379, and a \
             server is queried by redis://"
        ));
    }
    let reason =
        match ["NOAUTH", "WRONGPASS", "ERR AUTH"].iter().any(|code| error.starts_with(code)) {
            true => format!("the sentinel {at} says: {error}; check sentinel_password_file="),
            false => format!("the sentinel {at} says: {error}"),
        };
    store.not_permitted(reason)
}

/// The names of the masters that a sentinel knows.
fn names(admin: &mut AdminConnection) -> Option<String> {
    let Ok(Value::Array(masters)) = admin.query(&[b"SENTINEL", b"MASTERS"]) else { return None };
    let names: Vec<String> = masters.iter().filter_map(|master| fact(master, "name")).collect();
    (!names.is_empty()).then(|| names.join(", "))
}

fn fact(facts: &Value, name: &str) -> Option<String> {
    let pairs = facts.pairs();
    let found = pairs.iter().find(|(key, _)| key.text() == Some(name.as_bytes()))?;
    found.1.text().map(|text| String::from_utf8_lossy(text).into_owned())
}

/// What the sentinels are set to, for a reader of the figures.
pub(super) fn settings(connector: &Connector) -> Vec<Setting> {
    let name = master_name(connector);
    let facts = connector.options.hosts().find_map(|(host, port)| {
        let mut admin = connector.call(&connector.target(host, port).ok()?).ok()?;
        if let Some(password) = connector.sentinel_password() {
            admin.query(&[b"AUTH", password]).ok()?;
        }
        admin.query(&[b"SENTINEL", b"MASTER", name.as_bytes()]).ok()
    });
    let value = |name: &str| facts.as_ref().and_then(|facts| fact(facts, name));
    let unknown = || "unknown".to_owned();
    let others = value("num-other-sentinels").and_then(|count| count.parse::<u64>().ok());
    let sentinels = others.map_or_else(unknown, |others| (others + 1).to_string());
    let mut settings = vec![Setting::new(
        "sentinels",
        sentinels,
        "they make a replica the master when it is gone; writes that no replica had yet \
                  are lost then",
    )];
    for (fact, meaning) in [
        ("quorum", "so many sentinels have to find the master gone before a failover begins"),
        (
            "down-after-milliseconds",
            "a master that is silent for so long counts as gone; until then requests fail",
        ),
        ("failover-timeout", "milliseconds after which a failover is tried anew"),
    ] {
        let value = value(fact).unwrap_or_else(unknown);
        settings.push(Setting::new(fact, value, meaning));
    }
    settings
}

//! Makes connections to a Redis: TCP, TLS if wanted, then the greeting.

use std::io;
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;

use assay_driver_kit::StoreErrors;
use assay_driver_kit::address::authority;
use assay_driver_kit::read_server::ReadServer;
use assay_driver_kit::wire::connect;
use assay_store::resp::{Protocol, Value, write};
use assay_store::{NodeNames, OpenError};
use rustls::ClientConfig;
use rustls::pki_types::ServerName;

use super::admin::{AdminConnection, RequestError};
use super::options::{Options, Password, Topology};
use super::tls;
use super::transport::Transport;

/// How we call ourselves in the server's list of clients.
const CLIENT_NAME: &[u8] = b"assay";

/// How much of an invalid response an error shows.
const SHOWN_CHARACTERS: usize = 60;

/// Everything that making a connection needs, read once.
pub(super) struct Connector {
    pub(super) options: Options,
    password: Option<Password>,
    /// Those of the sentinels, which have their own.
    sentinel_password: Option<Password>,
    tls: Option<Arc<ClientConfig>>,
    /// The servers that were connected to, where there may be several.
    pub(super) nodes: NodeNames,
}

/// A server to connect to.
#[derive(Clone, Debug)]
pub(super) struct Target {
    pub(super) host: String,
    pub(super) port: u16,
    /// At least one.
    pub(super) addresses: Vec<SocketAddr>,
    /// Whether it is read only, so that it need not be a master.
    pub(super) is_replica: bool,
    /// The name that its certificate must carry, with TLS.
    name: Option<ServerName<'static>>,
}

/// One command of the greeting, and what an error in answer to it means.
pub(super) struct Greeting {
    words: Vec<Vec<u8>>,
    pub(super) need: Need,
}

/// Whether the conversation can go on after an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Need {
    /// It can.
    Wish,
    /// It cannot.
    Must,
    /// It cannot, nor after an answer that this is no master.
    Master,
    /// It cannot, nor after a response other than PONG.
    Pong,
}

impl Connector {
    /// Reads the files that the options name.
    pub(super) fn new(options: Options) -> Result<Connector, OpenError> {
        let password = match (&options.password, &options.password_file) {
            (Some(password), _) => Some(password.clone()),
            (None, Some(path)) => Some(password_in(path, &options)?),
            (None, None) => None,
        };
        let sentinel_password = match &options.topology {
            Topology::Sentinel { password_file: Some(path), .. } => {
                Some(password_in(path, &options)?)
            }
            _ => None,
        };
        let tls = options.tls.as_ref().map(|tls| tls::configure(&options, tls)).transpose()?;
        let nodes = NodeNames::default();
        Ok(Connector { options, password, sentinel_password, tls, nodes })
    }

    /// The number of the server at `address`; 0 where there is only one.
    pub(super) fn node(&self, address: SocketAddr) -> u8 {
        let Options { topology, read, .. } = &self.options;
        match (topology, read) {
            (Topology::Single, ReadServer::Primary) => 0,
            _ => self.nodes.number(&address.to_string()),
        }
    }

    /// A server whose addresses are resolved now.
    pub(super) fn target(&self, host: &str, port: u16) -> Result<Target, OpenError> {
        let addresses =
            connect::resolve(host, port).map_err(|reason| self.options.unreachable(reason))?;
        let name = match &self.tls {
            Some(_) => Some(tls::name(&self.options, host)?),
            None => None,
        };
        Ok(Target { host: host.to_owned(), port, addresses, is_replica: false, name })
    }

    /// A connection that has been greeted, in blocking mode, and the protocol it speaks.
    pub(super) fn dial(&self, target: &Target) -> Result<(AdminConnection, Protocol), OpenError> {
        let mut admin = self.call(target)?;
        let mut protocol = Protocol::Resp2;
        for greeting in self.greetings(Protocol::Resp3, target) {
            let words: Vec<&[u8]> = greeting.words.iter().map(Vec::as_slice).collect();
            let answer = admin.query(&words).map_err(|error| self.explain(&error))?;
            match answer {
                Value::Error(error) if greeting.need != Need::Wish || is_final(&error) => {
                    return Err(self.turned_away(words[0], &error));
                }
                Value::Map(_) if words[0] == b"HELLO" => protocol = Protocol::Resp3,
                other if greeting.need == Need::Master && !is_master(&other) => {
                    return Err(self.no_master(target));
                }
                other if greeting.need == Need::Pong && other.text() != Some(b"PONG") => {
                    return Err(self.no_pong(&other));
                }
                _ => {}
            }
        }
        Ok((admin, protocol))
    }

    /// A connection that has not been greeted, in blocking mode.
    pub(super) fn call(&self, target: &Target) -> Result<AdminConnection, OpenError> {
        let socket = connect::to_any(&target.addresses, self.options.connect_timeout);
        let socket = socket.map_err(|reason| self.options.unreachable(reason))?;
        let transport = self.secure(socket, target);
        Ok(AdminConnection::new(
            transport.map_err(|error| self.options.unreachable(error.to_string()))?,
        ))
    }

    /// The password of the sentinels.
    pub(super) fn sentinel_password(&self) -> Option<&[u8]> {
        self.sentinel_password.as_ref().map(|password| password.reveal().as_bytes())
    }

    fn no_master(&self, target: &Target) -> OpenError {
        let at = authority(&target.host, target.port);
        self.options.failed(format!(
            "the sentinels name {at}, which is no master; a failover is under way, or they do not \
             know of one: try again in a few seconds"
        ))
    }

    fn no_pong(&self, answer: &Value) -> OpenError {
        let text = answer.text().map(String::from_utf8_lossy);
        let text = text.map_or_else(|| format!("{answer:?}"), |text| format!("{text:?}"));
        let displayed: String = text.chars().take(SHOWN_CHARACTERS).collect();
        self.options.unreachable(format!(
            "something answers there but it is no Redis: to PING it says {displayed} instead of \
             PONG; \
             check the port"
        ))
    }

    /// The greeting of a connection with `target` that shall speak `protocol`.
    pub(super) fn greetings(&self, protocol: Protocol, target: &Target) -> Vec<Greeting> {
        let words = |words: &[&[u8]]| words.iter().map(|word| word.to_vec()).collect();
        let mut greetings = Vec::new();
        if let Some(password) = &self.password {
            let mut login: Vec<Vec<u8>> = words(&[b"AUTH"]);
            login.extend(self.options.user.as_ref().map(|user| user.clone().into_bytes()));
            login.push(password.reveal().as_bytes().to_vec());
            greetings.push(Greeting { words: login, need: Need::Must });
        }
        if protocol == Protocol::Resp3 {
            greetings.push(Greeting { words: words(&[b"HELLO", b"3"]), need: Need::Wish });
        }
        let name: [&[u8]; 3] = [b"CLIENT", b"SETNAME", CLIENT_NAME];
        greetings.push(Greeting { words: words(&name), need: Need::Wish });
        if self.options.database != 0 {
            let number = self.options.database.to_string();
            let select = words(&[b"SELECT", number.as_bytes()]);
            greetings.push(Greeting { words: select, need: Need::Must });
        }
        let is_sentinel = matches!(self.options.topology, Topology::Sentinel { .. });
        if is_sentinel && !target.is_replica {
            greetings.push(Greeting { words: words(&[b"ROLE"]), need: Need::Master });
        }
        greetings.push(Greeting { words: words(&[b"PING"]), need: Need::Pong });
        greetings
    }

    /// Puts TLS around `socket`, if the options want it. The handshake happens while bytes move.
    pub(super) fn secure(&self, socket: TcpStream, target: &Target) -> io::Result<Transport> {
        let (Some(config), Some(name)) = (&self.tls, &target.name) else {
            return Ok(Transport::plain(socket));
        };
        let name = match self.options.topology {
            // A master that sentinels have found has another address than the one before.
            Topology::Sentinel { .. } => ServerName::IpAddress(socket.peer_addr()?.ip().into()),
            Topology::Single | Topology::Cluster => name.clone(),
        };
        Transport::tls(socket, config.clone(), name)
    }

    /// What a failed conversation means to the one who started us.
    pub(super) fn explain(&self, error: &RequestError) -> OpenError {
        let timeout = self.options.connect_timeout;
        let is_tls = self.tls.is_some();
        self.options.unreachable(match error {
            RequestError::Silent => format!(
                "a connection was made but nothing came back within {timeout:?}; the server is \
                 frozen, or it is no Redis{}",
                if is_tls { ", or it speaks no TLS: try redis://" } else { "" }
            ),
            RequestError::Closed if is_tls => {
                "the server closed the connection; if it speaks no TLS, use redis://".into()
            }
            RequestError::Closed => "the server closed the connection; if it speaks only TLS, use \
                                     rediss://"
                .into(),
            RequestError::Garbled { beginning, .. } if beginning.first() == Some(&TLS_ALERT) => {
                "the server speaks TLS; use rediss://".into()
            }
            RequestError::Garbled { beginning, error } => format!(
                "something answers there but it is no Redis ({error}; it says {:?}); check the \
                 port",
                String::from_utf8_lossy(beginning)
            ),
            RequestError::Tls(error) => tls::explain(error),
            RequestError::Broken(error) => format!("the connection broke: {error}"),
        })
    }

    fn turned_away(&self, command: &[u8], error: &str) -> OpenError {
        let store = &self.options;
        if command == b"SELECT" {
            let advice = "choose a lower number, or raise `databases` in the server's settings";
            let reason =
                format!("there is no database {} ({error}); {advice}", self.options.database);
            return store.unsupported(reason);
        }
        if error.starts_with("LOADING") {
            let reason = format!("it is still loading its data ({error}); try again later");
            return store.failed(reason);
        }
        if error.starts_with(FULL_HOUSE) {
            let reason = format!("it says: {error}; raise maxclients, or use fewer connections");
            return store.failed(reason);
        }
        if command == b"PING" && !needs_login(error) {
            return store.failed(format!("to PING it says: {error}"));
        }
        let reason = match &self.password {
            Some(_) => format!("it says: {error}; check user and password"),
            None => format!(
                "it says: {error}; put the password into the URL (redis://:password@host) or \
                 name a file with password_file="
            ),
        };
        store.not_permitted(reason)
    }
}

impl Greeting {
    /// Appends the command.
    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        write::array(self.words.len(), out);
        for word in &self.words {
            write::bulk(word, out);
        }
    }
}

/// Whether the answer to ROLE is that of a master.
fn is_master(answer: &Value) -> bool {
    matches!(answer, Value::Array(role) if role.first().and_then(Value::text) == Some(b"master"))
}

/// The first byte of a TLS record that carries an alert.
const TLS_ALERT: u8 = 0x15;
/// How a server says that it takes no more connections.
const FULL_HOUSE: &str = "ERR max number of clients reached";

/// Whether the connection is closed, whatever was sent.
fn is_final(error: &str) -> bool {
    needs_login(error) || error.starts_with(FULL_HOUSE)
}

fn needs_login(error: &str) -> bool {
    ["NOAUTH", "WRONGPASS", "DENIED"].iter().any(|code| error.starts_with(code))
}

fn password_in(path: &std::path::Path, options: &Options) -> Result<Password, OpenError> {
    let text = std::fs::read_to_string(path).map_err(|error| {
        options.invalid(format!("password_file {} cannot be read: {error}", path.display()))
    })?;
    Ok(Password::new(text.lines().next().unwrap_or_default()))
}

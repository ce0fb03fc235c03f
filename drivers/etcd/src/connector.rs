//! Makes connections to the members, or says in words why none can be made.

use std::cell::Cell;
use std::io;
use std::sync::Arc;

use assay_driver_kit::StoreErrors;
use assay_driver_kit::task::SharedConnection;
use assay_driver_kit::trust;
use assay_driver_kit::unavailable::{Unavailable, unconnected};
use assay_store::OpenError;
use rustls::pki_types::ServerName;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tonic::Code;
use tonic::codegen::http::Uri;

use super::messages::{
    AuthenticateRequest, AuthenticateResponse, StatusRequest, StatusResponse, method,
};
use super::options::Options;
use super::wire::{CallError, Wire, chain};

/// What is needed to connect.
pub(super) struct Connector {
    pub(super) options: Options,
    tls: Option<TlsConnector>,
}

impl Connector {
    /// Reads the certificates that the options name.
    pub(super) fn new(options: Options) -> Result<Connector, OpenError> {
        let wrong = |reason| options.invalid(reason);
        let tls = match &options.tls {
            None => None,
            Some(tls) => {
                let config = trust::configure(tls.ca_file.as_deref(), tls.trust);
                let mut config = config.map_err(wrong)?;
                config.alpn_protocols = vec![b"h2".to_vec()];
                Some(TlsConnector::from(Arc::new(config)))
            }
        };
        Ok(Connector { options, tls })
    }

    /// A connection to one member that has greeted us, with what it said about itself.
    pub(super) async fn dial(&self, place: usize) -> Result<(Wire, StatusResponse), Unavailable> {
        let timeout = self.options.connect_timeout;
        let greeted = tokio::time::timeout(timeout, self.greet(place)).await;
        greeted.unwrap_or_else(|_| {
            let millis = timeout.as_millis();
            Err(Unavailable::unreachable(format!(
                "no greeting came within {millis} ms; is it an etcd, and does it run?"
            )))
        })
    }

    async fn greet(&self, place: usize) -> Result<(Wire, StatusResponse), Unavailable> {
        let mut wire = self.connect(place).await?;
        if let Some(user) = &self.options.address.user {
            let password = self.options.address.password.clone().unwrap_or_default();
            let question = AuthenticateRequest { name: user.clone(), password };
            let answer: AuthenticateResponse =
                wire.send(method::AUTHENTICATE, question).await.map_err(|error| of_call(&error))?;
            if !wire.carry(&answer.token) {
                return Err(Unavailable::unreachable("it gave a token that no request can carry"));
            }
        }
        let status: StatusResponse =
            wire.send(method::STATUS, StatusRequest {}).await.map_err(|error| of_call(&error))?;
        let major = status.version.split('.').next().and_then(|text| text.parse().ok());
        if major.is_none_or(|major: u32| major < 3) {
            let reason =
                format!("it says that its version is {:?}; etcd 3 is needed", status.version);
            return Err(Unavailable::unsupported(reason));
        }
        Ok((wire, status))
    }

    async fn connect(&self, place: usize) -> Result<Wire, Unavailable> {
        let (host, port) = &self.options.address.hosts[place];
        let socket = TcpStream::connect((host.as_str(), *port)).await.map_err(|e| of_io(&e))?;
        socket.set_nodelay(true).map_err(|error| of_io(&error))?;
        let scheme = if self.tls.is_some() { "https" } else { "http" };
        let uri = format!("{scheme}://{}", self.options.address.authority(place)).parse::<Uri>();
        let uri =
            uri.map_err(|error| Unavailable::unreachable(format!("{host:?} is no host: {error}")))?;
        let opened = match &self.tls {
            None => Wire::open(socket, uri).await,
            Some(connector) => {
                let name = ServerName::try_from(host.clone()).map_err(|error| {
                    Unavailable::unreachable(format!("{host:?} is no name for TLS: {error}"))
                })?;
                let stream = connector.connect(name, socket).await.map_err(|e| of_tls(&e))?;
                Wire::open(stream, uri).await
            }
        };
        opened.map_err(|error| no_etcd(&chain(&error)))
    }

    /// The error while the store was set up or inspected.
    pub(super) fn failed(&self, error: &CallError) -> OpenError {
        let store = &self.options;
        match error {
            CallError::Told(..) if is_about_rights(error) => {
                store.not_permitted(of_call(error).reason)
            }
            CallError::Told(Code::Unavailable | Code::DeadlineExceeded, _) => {
                store.failed(format!("it says: {error}; have a majority of its members a leader?"))
            }
            CallError::Told(..) => store.failed(format!("it says: {error}")),
            CallError::Unsent(why) | CallError::Broken(why) => {
                store.unreachable(format!("the connection broke: {why}"))
            }
            CallError::Garbled(why) => store.failed(format!("its answer is invalid: {why}")),
        }
    }
}

fn no_etcd(why: &str) -> Unavailable {
    Unavailable::unreachable(format!(
        "what answers speaks no gRPC ({why}), so it is no etcd, or one that wants TLS (etcds://); \
         check host and port"
    ))
}

fn of_io(error: &io::Error) -> Unavailable {
    Unavailable::unreachable(unconnected(error))
}

fn of_tls(error: &io::Error) -> Unavailable {
    Unavailable::unreachable(format!(
        "no TLS with it: {error}; name the authority that signed its certificate with ca_file=, \
         or, if it speaks none, write etcd://"
    ))
}

fn is_about_rights(error: &CallError) -> bool {
    let CallError::Told(code, message) = error else { return false };
    let spoken = ["authentication", "user name", "auth token", "permission"];
    matches!(code, Code::PermissionDenied | Code::Unauthenticated)
        || spoken.iter().any(|word| message.contains(word))
}

/// Why a member that can be reached cannot be used.
fn of_call(error: &CallError) -> Unavailable {
    match error {
        CallError::Told(_, message) if is_about_rights(error) => {
            let advice = match message.as_str() {
                "etcdserver: authentication is not enabled" => {
                    "leave user and password out of the URL"
                }
                "etcdserver: user name is empty" => "name user and password in the URL",
                _ => "check user, password and their rights",
            };
            let reason = format!("it says: {message}; {advice}");
            Unavailable::not_permitted(reason)
        }
        CallError::Told(Code::Unimplemented, message) => {
            let reason =
                format!("what answers speaks gRPC, but it is no etcd of version 3 ({message})");
            Unavailable::unsupported(reason)
        }
        CallError::Told(..) => Unavailable::unreachable(format!("it says: {error}")),
        CallError::Unsent(why) | CallError::Broken(why) | CallError::Garbled(why) => no_etcd(why),
    }
}

/// The members as one worker uses them: one connection to each that was needed.
pub(super) struct Endpoints {
    connector: Arc<Connector>,
    places: Vec<SharedConnection<Wire, Unavailable>>,
    /// The member of the next connection.
    next: Cell<usize>,
}

impl Endpoints {
    /// Nothing is connected yet; `first` is the member that is used first.
    pub(super) fn new(connector: Arc<Connector>, first: usize) -> Endpoints {
        let count = connector.options.address.hosts.len();
        let places = std::iter::repeat_with(SharedConnection::default).take(count).collect();
        Endpoints { connector, places, next: Cell::new(first % count) }
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.places.len()
    }

    /// A connection to the member whose turn it is, or to the first one after it that can be
    /// reached, with its place among the endpoints.
    pub(super) async fn connect(&self) -> Result<(Wire, usize), OpenError> {
        let count = self.len();
        let first = self.next.get();
        self.next.set((first + 1) % count);
        let mut unavailable = Vec::new();
        for place in (0..count).map(|step| (first + step) % count) {
            match self.reach(place).await {
                Ok(wire) => return Ok((wire, place)),
                Err(error) => {
                    unavailable.push((self.connector.options.address.authority(place), error));
                }
            }
        }
        Err(Unavailable::all(&unavailable).explain(&self.connector.options))
    }

    /// The connection to one member: that which there is, or a new one.
    async fn reach(&self, place: usize) -> Result<Wire, Unavailable> {
        let dial = async { self.connector.dial(place).await.map(|(wire, _)| wire) };
        self.places[place].reach(Wire::is_usable, dial).await
    }
}

#[cfg(test)]
mod tests {
    use assay_driver_kit::unavailable::UnavailableKind;

    use super::*;

    fn check(code: Code, message: &str, kind: UnavailableKind, part: &str) {
        let unavailable = of_call(&CallError::Told(code, message.into()));
        assert_eq!(unavailable.kind, kind, "{message}");
        assert!(unavailable.reason.contains(part), "{}", unavailable.reason);
    }

    #[test]
    fn authentication_errors_say_what_to_do() {
        let kind = UnavailableKind::NotPermitted;
        let wrong = "etcdserver: authentication failed, invalid user ID or password";
        check(Code::InvalidArgument, wrong, kind, "check user, password and their rights");
        let none = "etcdserver: user name is empty";
        check(Code::InvalidArgument, none, kind, "name user and password in the URL");
        let off = "etcdserver: authentication is not enabled";
        check(Code::FailedPrecondition, off, kind, "leave user and password out");
        check(Code::PermissionDenied, "etcdserver: permission denied", kind, "their rights");
    }

    #[test]
    fn another_grpc_server_is_no_etcd() {
        let message = "unknown service etcdserverpb.Maintenance";
        check(Code::Unimplemented, message, UnavailableKind::Unsupported, "no etcd of version 3");
    }
}

//! Makes connections to the members, or says in words why none can be made.

use std::cell::{Cell, RefCell};
use std::io;
use std::sync::Arc;

use assay_driver_kit::StoreErrors;
use assay_driver_kit::trust;
use assay_store::OpenError;
use rustls::pki_types::ServerName;
use tokio::net::TcpStream;
use tokio::sync::Mutex;
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

/// Why a member cannot be used.
#[derive(Clone, Debug)]
pub(super) struct Unavailable {
    kind: UnavailableKind,
    reason: String,
}

/// In the order in which they are reported, if members differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum UnavailableKind {
    NotPermitted,
    Unsupported,
    Unreachable,
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
            Err(unreachable(format!(
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
                return Err(unreachable("it gave a token that no request can carry".into()));
            }
        }
        let status: StatusResponse =
            wire.send(method::STATUS, StatusRequest {}).await.map_err(|error| of_call(&error))?;
        let major = status.version.split('.').next().and_then(|text| text.parse().ok());
        if major.is_none_or(|major: u32| major < 3) {
            let reason =
                format!("it says that its version is {:?}; etcd 3 is needed", status.version);
            return Err(Unavailable { kind: UnavailableKind::Unsupported, reason });
        }
        Ok((wire, status))
    }

    async fn connect(&self, place: usize) -> Result<Wire, Unavailable> {
        let (host, port) = &self.options.address.hosts[place];
        let socket = TcpStream::connect((host.as_str(), *port)).await.map_err(|e| of_io(&e))?;
        socket.set_nodelay(true).map_err(|error| of_io(&error))?;
        let scheme = if self.tls.is_some() { "https" } else { "http" };
        let uri = format!("{scheme}://{}", self.options.address.authority(place)).parse::<Uri>();
        let uri = uri.map_err(|error| unreachable(format!("{host:?} is no host: {error}")))?;
        let opened = match &self.tls {
            None => Wire::open(socket, uri).await,
            Some(connector) => {
                let name = ServerName::try_from(host.clone()).map_err(|error| {
                    unreachable(format!("{host:?} is no name for TLS: {error}"))
                })?;
                let stream = connector.connect(name, socket).await.map_err(|e| of_tls(&e))?;
                Wire::open(stream, uri).await
            }
        };
        opened.map_err(|error| no_etcd(&chain(&error)))
    }

    /// Why no member can be used.
    fn explain(&self, unavailable: &[(usize, Unavailable)]) -> OpenError {
        let store = &self.options;
        let kind = unavailable.iter().map(|(_, unavailable)| unavailable.kind).min();
        let describe =
            |(place, unavailable): &(usize, Unavailable)| match self.options.address.hosts.len() {
                1 => unavailable.reason.clone(),
                _ => format!("{}: {}", self.options.address.authority(*place), unavailable.reason),
            };
        let describe: Vec<String> = unavailable.iter().map(describe).collect();
        let reason = describe.join("; ");
        match kind {
            Some(UnavailableKind::NotPermitted) => store.not_permitted(reason),
            Some(UnavailableKind::Unsupported) => store.unsupported(reason),
            Some(UnavailableKind::Unreachable) | None => store.unreachable(reason),
        }
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

fn unreachable(reason: String) -> Unavailable {
    Unavailable { kind: UnavailableKind::Unreachable, reason }
}

fn no_etcd(why: &str) -> Unavailable {
    unreachable(format!(
        "what answers speaks no gRPC ({why}), so it is no etcd, or one that wants TLS (etcds://); \
         check host and port"
    ))
}

fn of_io(error: &io::Error) -> Unavailable {
    unreachable(match error.kind() {
        io::ErrorKind::ConnectionRefused => format!("{error}; is the server running?"),
        _ => format!("{error}; check host and port"),
    })
}

fn of_tls(error: &io::Error) -> Unavailable {
    unreachable(format!(
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
            Unavailable { kind: UnavailableKind::NotPermitted, reason }
        }
        CallError::Told(Code::Unimplemented, message) => {
            let reason =
                format!("what answers speaks gRPC, but it is no etcd of version 3 ({message})");
            Unavailable { kind: UnavailableKind::Unsupported, reason }
        }
        CallError::Told(..) => unreachable(format!("it says: {error}")),
        CallError::Unsent(why) | CallError::Broken(why) | CallError::Garbled(why) => no_etcd(why),
    }
}

/// The members as one worker uses them: one connection to each that was needed.
pub(super) struct Endpoints {
    connector: Arc<Connector>,
    places: Vec<Place>,
    /// The member of the next connection.
    next: Cell<usize>,
}

#[derive(Default)]
struct Place {
    wire: Mutex<Option<Wire>>,
    /// How often dialling failed, and how it failed last.
    failures: Cell<u64>,
    last: RefCell<Option<Unavailable>>,
}

impl Endpoints {
    /// Nothing is connected yet; `first` is the member that is used first.
    pub(super) fn new(connector: Arc<Connector>, first: usize) -> Endpoints {
        let count = connector.options.address.hosts.len();
        let places = std::iter::repeat_with(Place::default).take(count).collect();
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
                Err(error) => unavailable.push((place, error)),
            }
        }
        Err(self.connector.explain(&unavailable))
    }

    /// The connection to one member: that which there is, or a new one.
    ///
    /// Those who wait while one dials in vain take that for an answer instead of dialling as well.
    async fn reach(&self, number: usize) -> Result<Wire, Unavailable> {
        let place = &self.places[number];
        let failures = place.failures.get();
        let mut kept = place.wire.lock().await;
        if let Some(wire) = kept.as_ref().filter(|wire| wire.is_usable()) {
            return Ok(wire.clone());
        }
        if place.failures.get() != failures
            && let Some(unavailable) = &*place.last.borrow()
        {
            return Err(unavailable.clone());
        }
        match self.connector.dial(number).await {
            Ok((wire, _)) => {
                *kept = Some(wire.clone());
                Ok(wire)
            }
            Err(unavailable) => {
                *kept = None;
                place.failures.set(failures + 1);
                place.last.replace(Some(unavailable.clone()));
                Err(unavailable)
            }
        }
    }
}

#[cfg(test)]
mod tests {
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

    #[test]
    fn of_several_failures_the_most_important_gives_the_kind() {
        let connector = Connector::new("etcd://one:1,two:2/p".parse().unwrap()).unwrap();
        let denied = Unavailable { kind: UnavailableKind::NotPermitted, reason: "no".into() };
        let message = connector.explain(&[(0, unreachable("gone".into())), (1, denied)]);
        assert!(matches!(message, OpenError::NotPermitted { .. }), "{message:?}");
        assert!(message.to_string().ends_with("one:1: gone; two:2: no"), "{message}");
    }
}

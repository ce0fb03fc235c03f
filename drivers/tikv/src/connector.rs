//! Finds a cluster through its placement drivers, or says in words why it cannot.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use assay_driver_kit::StoreErrors;
use assay_store::OpenError;
use tikv_client::{Backoff, Config, Error, RawClient, SecurityManager, TransactionClient};
use tokio::sync::Mutex;
use tonic_of_tikv::Code;

use super::options::{Mode, Options, Update};
use super::placement::{Driver, Members, Node, RequestError, chain};
use super::regions::Regions;

/// The largest answer that is taken. A scan may be that large.
const MOST_BYTES: usize = i32::MAX as usize;
/// How the region of a key is looked for again: at once, then ever more slowly, for 1.5 s in all.
const LOOK_AGAIN: Backoff = Backoff::no_jitter_backoff(2, 500, 10);
/// A node's state while it takes requests.
const UP: i32 = 0;

/// What is needed to find the cluster.
pub(super) struct Connector {
    pub(super) options: Options,
    security: SecurityManager,
}

/// Why the cluster cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Unavailable {
    NotPermitted(String),
    Unsupported(String),
    Unreachable(String),
}

/// The leading placement driver, with its settings.
pub(super) struct DiscoveredLeader {
    pub(super) driver: Driver,
    pub(super) members: Members,
    /// The TiKV servers, at least one of them up.
    pub(super) nodes: Vec<Node>,
}

/// The library's client, of one of TiKV's two interfaces.
pub(super) enum Clients {
    Raw {
        /// Sends the request once.
        swift: RawClient,
        /// Looks for the region of a key until it has found it; its writes are not atomic.
        patient: RawClient,
    },
    Transactions(TransactionClient),
}

impl Connector {
    /// Reads the certificates that the options name.
    pub(super) fn new(options: Options) -> Result<Connector, OpenError> {
        let security = match &options.tls {
            None => SecurityManager::default(),
            Some(tls) => SecurityManager::load(&tls.ca_file, &tls.cert_file, &tls.key_file)
                .map_err(|error| {
                    let reason = match error {
                        Error::InternalError { message } => message,
                        other => other.to_string(),
                    };
                    options.invalid(reason)
                })?,
        };
        Ok(Connector { options, security })
    }

    fn timeout(&self) -> Duration {
        self.options.connect_timeout
    }

    /// The placement driver that leads the others, and the TiKV servers that it knows.
    pub(super) async fn meet(&self) -> Result<DiscoveredLeader, Unavailable> {
        let mut unavailable = Vec::new();
        for address in &self.options.placement_drivers {
            match self.bounded(self.greet(address)).await {
                Ok(met) => return Ok(met),
                Err(reason) => unavailable.push((address, reason)),
            }
        }
        Err(worst(&unavailable))
    }

    async fn bounded<T>(
        &self,
        act: impl Future<Output = Result<T, Unavailable>>,
    ) -> Result<T, Unavailable> {
        let done = tokio::time::timeout(self.timeout(), act).await;
        done.unwrap_or_else(|_| {
            Err(Unavailable::Unreachable(format!(
                "no greeting came within {} ms; is it a placement driver (PD), and does it run?",
                self.timeout().as_millis()
            )))
        })
    }

    async fn greet(&self, address: &str) -> Result<DiscoveredLeader, Unavailable> {
        let mut driver = Driver::open(&self.security, address).await.map_err(|e| of_send(&e))?;
        let mut members = driver.members().await.map_err(|error| of_send(&error))?;
        let leader = members.leader.as_ref().and_then(|leader| leader.client_urls.first());
        let Some(leader) = leader.cloned() else {
            let reason = "the placement drivers have no leader now; do most of them run?";
            return Err(Unavailable::Unreachable(reason.into()));
        };
        if leader.split_once("://").map_or(&*leader, |(_, host)| host) != address {
            let unavailable = |error: RequestError| {
                Unavailable::Unreachable(format!(
                    "it says that its leader is at {leader}, which cannot be reached ({error}); is \
                     that address (--advertise-client-urls) right for this machine?"
                ))
            };
            driver = Driver::open(&self.security, &leader).await.map_err(unavailable)?;
            members = driver.members().await.map_err(unavailable)?;
        }
        let nodes = driver.nodes().await.map_err(|error| of_send(&error))?;
        if !nodes.iter().any(|node| node.state == UP) {
            let reason = "PD answers, but it knows no TiKV server that is up; start one, with \
                          this PD as its --pd-endpoints";
            return Err(Unavailable::Unreachable(reason.into()));
        }
        Ok(DiscoveredLeader { driver, members, nodes })
    }

    /// The client library's clients, which connect to the placement drivers by themselves.
    pub(super) async fn clients(&self) -> Result<Clients, Unavailable> {
        let options = &self.options;
        let mut config = Config::default()
            .with_timeout(options.request_timeout)
            .with_grpc_max_decoding_message_size(MOST_BYTES);
        if let Some(tls) = &options.tls {
            config = config.with_security(&tls.ca_file, &tls.cert_file, &tls.key_file);
        }
        let drivers = options.placement_drivers.clone();
        let made = async {
            let clients = match options.mode {
                Mode::Raw => {
                    let client = RawClient::new_with_config(drivers, config).await?;
                    let swift = match options.update {
                        // Other writes must not slip in between comparing and swapping.
                        Update::Cas => client.with_atomic_for_cas(),
                        Update::Put => client.clone(),
                    };
                    let swift = swift.with_backoff(Backoff::no_backoff());
                    Clients::Raw { swift, patient: client.with_backoff(LOOK_AGAIN) }
                }
                Mode::Optimistic | Mode::Pessimistic => Clients::Transactions(
                    TransactionClient::new_with_config(drivers, config).await?,
                ),
            };
            Ok::<Clients, Error>(clients)
        };
        let made = async { made.await.map_err(|error| Unavailable::Unreachable(display(&error))) };
        self.bounded(made).await
    }

    /// The error of a store that cannot be opened.
    pub(super) fn explain(&self, unavailable: Unavailable) -> OpenError {
        let store = &self.options;
        match unavailable {
            Unavailable::NotPermitted(reason) => store.not_permitted(reason),
            Unavailable::Unsupported(reason) => store.unsupported(reason),
            Unavailable::Unreachable(reason) => store.unreachable(reason),
        }
    }
}

/// An error of the client library in one line.
pub(super) fn display(error: &Error) -> String {
    match error {
        Error::Grpc(error) => chain(error),
        Error::GrpcAPI(status) => status.message().into(),
        Error::InternalError { message } => message.clone(),
        other => other.to_string(),
    }
}

/// The error if no placement driver can be reached.
fn worst(unavailable: &[(&String, Unavailable)]) -> Unavailable {
    let text = |unavailable: &Unavailable| match unavailable {
        Unavailable::NotPermitted(why)
        | Unavailable::Unsupported(why)
        | Unavailable::Unreachable(why) => why.clone(),
    };
    let reported: Vec<String> = match unavailable {
        [(_, only)] => vec![text(only)],
        several => several.iter().map(|(at, why)| format!("{at}: {}", text(why))).collect(),
    };
    let reason = reported.join("; ");
    let has = |kind: fn(&Unavailable) -> bool| {
        unavailable.iter().any(|(_, unavailable)| kind(unavailable))
    };
    if has(|unavailable| matches!(unavailable, Unavailable::NotPermitted(_))) {
        Unavailable::NotPermitted(reason)
    } else if has(|unavailable| matches!(unavailable, Unavailable::Unsupported(_))) {
        Unavailable::Unsupported(reason)
    } else {
        Unavailable::Unreachable(reason)
    }
}

/// Why a supposed placement driver cannot be used.
fn of_send(error: &RequestError) -> Unavailable {
    match error {
        RequestError::Unreachable(why) if why.contains("Connection refused") => {
            Unavailable::Unreachable(format!("{why}; is the placement driver (PD) running?"))
        }
        RequestError::Unreachable(why) => {
            Unavailable::Unreachable(format!("{why}; check host and port"))
        }
        RequestError::Broken(why) => Unavailable::Unreachable(format!(
            "what answers speaks no gRPC ({why}), so it is no placement driver (PD), or one that \
             wants TLS (ca_file, cert_file, key_file); check host and port"
        )),
        RequestError::Told(Code::Unimplemented, why) => Unavailable::Unsupported(format!(
            "what answers speaks gRPC, but it is no placement driver ({why}); name PD's address, \
             usually with port 2379, not that of a TiKV server or of an etcd"
        )),
        RequestError::Told(Code::Unauthenticated | Code::PermissionDenied, why) => {
            Unavailable::NotPermitted(format!("it says: {why}; check cert_file"))
        }
        RequestError::Told(..) | RequestError::Said(_) => {
            Unavailable::Unreachable(format!("it says: {error}; is the cluster bootstrapped?"))
        }
    }
}

/// The client of one worker: shared by all its connections, which are handles on it.
pub(super) struct Shared {
    pub(super) clients: Clients,
    pub(super) driver: Driver,
    pub(super) regions: Regions,
    /// How many TiKV servers there are.
    pub(super) nodes: usize,
    is_retired: Cell<bool>,
}

impl Shared {
    /// No new request may use it.
    pub(super) fn retire(&self) {
        self.is_retired.set(true);
    }
}

/// Retires the client of an abandoned request: there may be no response any
/// more.
pub(super) struct Watch(Option<Rc<Shared>>);

impl Watch {
    /// Begins to watch.
    pub(super) fn new(shared: &Rc<Shared>) -> Watch {
        Watch(Some(Rc::clone(shared)))
    }

    /// The request came to an end.
    pub(super) fn end(mut self) {
        self.0 = None;
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        if let Some(shared) = &self.0 {
            shared.retire();
        }
    }
}

/// A worker's client of the cluster.
pub(super) struct ClusterConnection {
    connector: Arc<Connector>,
    shared: Mutex<Option<Rc<Shared>>>,
    /// How often dialling failed, and how it failed last.
    failures: Cell<u64>,
    last: RefCell<Option<Unavailable>>,
}

impl ClusterConnection {
    /// Nothing is connected yet.
    pub(super) fn new(connector: Arc<Connector>) -> ClusterConnection {
        let shared = Mutex::new(None);
        ClusterConnection { connector, shared, failures: Cell::new(0), last: RefCell::default() }
    }

    /// The shared client of the worker's connections: the existing one, or a new one.
    ///
    /// Those who wait while one dials in vain take that for an answer instead of dialling as well.
    pub(super) async fn reach(&self) -> Result<Rc<Shared>, OpenError> {
        let failures = self.failures.get();
        let mut kept = self.shared.lock().await;
        if let Some(shared) = kept.as_ref().filter(|shared| !shared.is_retired.get()) {
            return Ok(Rc::clone(shared));
        }
        if self.failures.get() != failures
            && let Some(unavailable) = &*self.last.borrow()
        {
            return Err(self.connector.explain(unavailable.clone()));
        }
        match self.dial().await {
            Ok(shared) => {
                let shared = Rc::new(shared);
                *kept = Some(Rc::clone(&shared));
                Ok(shared)
            }
            Err(unavailable) => {
                *kept = None;
                self.failures.set(failures + 1);
                self.last.replace(Some(unavailable.clone()));
                Err(self.connector.explain(unavailable))
            }
        }
    }

    async fn dial(&self) -> Result<Shared, Unavailable> {
        let DiscoveredLeader { driver, nodes, .. } = self.connector.meet().await?;
        let clients = self.connector.clients().await?;
        let regions = Regions::new(self.connector.options.mode);
        Ok(Shared { clients, driver, regions, nodes: nodes.len(), is_retired: Cell::new(false) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unreachable(text: &str) -> Unavailable {
        Unavailable::Unreachable(text.into())
    }

    #[test]
    fn a_server_that_is_no_placement_driver_is_reported() {
        let reported = of_send(&RequestError::Told(Code::Unimplemented, "unknown service".into()));
        assert!(
            matches!(&reported, Unavailable::Unsupported(why) if why.contains("name PD's address"))
        );
        let reported = of_send(&RequestError::Broken("frame with invalid size".into()));
        assert!(
            matches!(&reported, Unavailable::Unreachable(why) if why.contains("speaks no gRPC"))
        );
        let reported = of_send(&RequestError::Said("cluster is not bootstrapped".into()));
        assert!(
            matches!(&reported, Unavailable::Unreachable(why) if why.contains("bootstrapped?"))
        );
        let reported = of_send(&RequestError::Told(Code::PermissionDenied, "CN".into()));
        assert!(matches!(&reported, Unavailable::NotPermitted(why) if why.contains("cert_file")));
    }

    #[test]
    fn of_several_failures_the_most_important_is_reported() {
        let (one, two) = ("one:1".to_owned(), "two:2".to_owned());
        let unavailable =
            [(&one, unreachable("gone")), (&two, Unavailable::Unsupported("an etcd".into()))];
        assert_eq!(
            worst(&unavailable),
            Unavailable::Unsupported("one:1: gone; two:2: an etcd".into())
        );
        assert_eq!(worst(&unavailable[..1]), unreachable("gone"));
    }
}

//! Finds a cluster through its placement drivers, or says in words why it cannot.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use assay_driver_kit::StoreErrors;
use assay_driver_kit::task::SharedConnection;
use assay_driver_kit::unavailable::Unavailable;
use assay_store::OpenError;
use tikv_client::{Backoff, Config, Error, RawClient, SecurityManager, TransactionClient};
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
                Err(reason) => unavailable.push((address.clone(), reason)),
            }
        }
        Err(Unavailable::all(&unavailable))
    }

    async fn bounded<T>(
        &self,
        act: impl Future<Output = Result<T, Unavailable>>,
    ) -> Result<T, Unavailable> {
        let done = tokio::time::timeout(self.timeout(), act).await;
        done.unwrap_or_else(|_| {
            Err(Unavailable::unreachable(format!(
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
            return Err(Unavailable::unreachable(reason));
        };
        if leader.split_once("://").map_or(&*leader, |(_, host)| host) != address {
            let unavailable = |error: RequestError| {
                Unavailable::unreachable(format!(
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
            return Err(Unavailable::unreachable(reason));
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
        let made = async { made.await.map_err(|error| Unavailable::unreachable(display(&error))) };
        self.bounded(made).await
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

/// Why a supposed placement driver cannot be used.
fn of_send(error: &RequestError) -> Unavailable {
    match error {
        RequestError::Unreachable(why) if why.contains("Connection refused") => {
            Unavailable::unreachable(format!("{why}; is the placement driver (PD) running?"))
        }
        RequestError::Unreachable(why) => {
            Unavailable::unreachable(format!("{why}; check host and port"))
        }
        RequestError::Broken(why) => Unavailable::unreachable(format!(
            "what answers speaks no gRPC ({why}), so it is no placement driver (PD), or one that \
             wants TLS (ca_file, cert_file, key_file); check host and port"
        )),
        RequestError::Told(Code::Unimplemented, why) => Unavailable::unsupported(format!(
            "what answers speaks gRPC, but it is no placement driver ({why}); name PD's address, \
             usually with port 2379, not that of a TiKV server or of an etcd"
        )),
        RequestError::Told(Code::Unauthenticated | Code::PermissionDenied, why) => {
            Unavailable::not_permitted(format!("it says: {why}; check cert_file"))
        }
        RequestError::Told(..) | RequestError::Said(_) => {
            Unavailable::unreachable(format!("it says: {error}; is the cluster bootstrapped?"))
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
    shared: SharedConnection<Rc<Shared>, Unavailable>,
}

impl ClusterConnection {
    /// Nothing is connected yet.
    pub(super) fn new(connector: Arc<Connector>) -> ClusterConnection {
        ClusterConnection { connector, shared: SharedConnection::default() }
    }

    /// The shared client of the worker's connections: the existing one, or a new one.
    pub(super) async fn reach(&self) -> Result<Rc<Shared>, OpenError> {
        let is_usable = |shared: &Rc<Shared>| !shared.is_retired.get();
        let reached = self.shared.reach(is_usable, self.dial()).await;
        reached.map_err(|unavailable| unavailable.explain(&self.connector.options))
    }

    async fn dial(&self) -> Result<Rc<Shared>, Unavailable> {
        let DiscoveredLeader { driver, nodes, .. } = self.connector.meet().await?;
        let clients = self.connector.clients().await?;
        let regions = Regions::new(self.connector.options.mode);
        let (nodes, is_retired) = (nodes.len(), Cell::new(false));
        Ok(Rc::new(Shared { clients, driver, regions, nodes, is_retired }))
    }
}

#[cfg(test)]
mod tests {
    use assay_driver_kit::unavailable::UnavailableKind::{
        self, NotPermitted, Unreachable, Unsupported,
    };

    use super::*;

    #[test]
    fn a_server_that_is_no_placement_driver_is_reported() {
        let told = |code, why: &str| RequestError::Told(code, why.into());
        let rows: [(RequestError, UnavailableKind, &str); 4] = [
            (told(Code::Unimplemented, "unknown service"), Unsupported, "name PD's address"),
            (RequestError::Broken("frame with invalid size".into()), Unreachable, "speaks no gRPC"),
            (
                RequestError::Said("cluster is not bootstrapped".into()),
                Unreachable,
                "bootstrapped?",
            ),
            (told(Code::PermissionDenied, "CN"), NotPermitted, "cert_file"),
        ];
        for (error, kind, phrase) in rows {
            let reported = of_send(&error);
            assert_eq!(reported.kind, kind, "{error:?}");
            assert!(reported.reason.contains(phrase), "{error:?}: {}", reported.reason);
        }
    }
}

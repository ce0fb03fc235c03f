//! Finds a cluster through its placement drivers, or says in words why it cannot.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use assay_store::OpenError;
use tikv_client::{Backoff, Config, Error, RawClient, SecurityManager, TransactionClient};
use tokio::sync::Mutex;
use tonic_of_tikv::Code;

use super::options::{Mode, Options, Update};
use super::placement::{AskError, Driver, Members, Node, chain};
use super::regions::Regions;

/// The largest answer that is taken. A scan may be that large.
const MOST_BYTES: usize = i32::MAX as usize;
/// How the region of a key is looked for again: at once, then ever more slowly, for 1.5 s in all.
const LOOK_AGAIN: Backoff = Backoff::no_jitter_backoff(2, 500, 10);
/// A node's state while it takes requests.
const UP: i32 = 0;

/// What is needed to find the cluster.
pub(super) struct Dialer {
    pub(super) options: Options,
    security: SecurityManager,
}

/// Why the cluster cannot be asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Unmet {
    NotPermitted(String),
    Unsupported(String),
    Unreachable(String),
}

/// A placement driver, the one that leads, with what it told.
pub(super) struct Met {
    pub(super) driver: Driver,
    pub(super) members: Members,
    /// The TiKV servers, at least one of them up.
    pub(super) nodes: Vec<Node>,
}

/// The client library's way to ask, in one of TiKV's two interfaces.
pub(super) enum Clients {
    Raw {
        /// Asks once.
        swift: RawClient,
        /// Looks for the region of a key until it has found it; its writes are not atomic.
        patient: RawClient,
    },
    Transactions(TransactionClient),
}

impl Dialer {
    /// Reads the certificates that the options name.
    pub(super) fn new(options: Options) -> Result<Dialer, OpenError> {
        let security = match &options.tls {
            None => SecurityManager::default(),
            Some(tls) => SecurityManager::load(&tls.ca_file, &tls.cert_file, &tls.key_file)
                .map_err(|error| {
                    let reason = match error {
                        Error::InternalError { message } => message,
                        other => other.to_string(),
                    };
                    OpenError::Url { url: options.to_string(), reason }
                })?,
        };
        Ok(Dialer { options, security })
    }

    fn patience(&self) -> Duration {
        self.options.connect_timeout
    }

    /// The placement driver that leads the others, and the TiKV servers that it knows.
    pub(super) async fn meet(&self) -> Result<Met, Unmet> {
        let mut unmet = Vec::new();
        for address in &self.options.placement_drivers {
            match self.bounded(self.greet(address)).await {
                Ok(met) => return Ok(met),
                Err(reason) => unmet.push((address, reason)),
            }
        }
        Err(worst(&unmet))
    }

    async fn bounded<T>(&self, act: impl Future<Output = Result<T, Unmet>>) -> Result<T, Unmet> {
        let done = tokio::time::timeout(self.patience(), act).await;
        done.unwrap_or_else(|_| {
            Err(Unmet::Unreachable(format!(
                "no greeting came within {} ms; is it a placement driver (PD), and does it run?",
                self.patience().as_millis()
            )))
        })
    }

    async fn greet(&self, address: &str) -> Result<Met, Unmet> {
        let mut driver = Driver::open(&self.security, address).await.map_err(|e| of_ask(&e))?;
        let mut members = driver.members().await.map_err(|error| of_ask(&error))?;
        let leader = members.leader.as_ref().and_then(|leader| leader.client_urls.first());
        let Some(leader) = leader.cloned() else {
            let reason = "the placement drivers have no leader now; do most of them run?";
            return Err(Unmet::Unreachable(reason.into()));
        };
        if leader.split_once("://").map_or(&*leader, |(_, host)| host) != address {
            let unmet = |error: AskError| {
                Unmet::Unreachable(format!(
                    "it says that its leader is at {leader}, which cannot be asked ({error}); is \
                     that address (--advertise-client-urls) right for this machine?"
                ))
            };
            driver = Driver::open(&self.security, &leader).await.map_err(unmet)?;
            members = driver.members().await.map_err(unmet)?;
        }
        let nodes = driver.nodes().await.map_err(|error| of_ask(&error))?;
        if !nodes.iter().any(|node| node.state == UP) {
            let reason = "PD answers, but it knows no TiKV server that is up; start one, with \
                          this PD as its --pd-endpoints";
            return Err(Unmet::Unreachable(reason.into()));
        }
        Ok(Met { driver, members, nodes })
    }

    /// The client library's clients, which connect to the placement drivers by themselves.
    pub(super) async fn clients(&self) -> Result<Clients, Unmet> {
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
        let made = async { made.await.map_err(|error| Unmet::Unreachable(shown(&error))) };
        self.bounded(made).await
    }

    /// The error of a store that cannot be opened.
    pub(super) fn explain(&self, unmet: Unmet) -> OpenError {
        let store = self.options.to_string();
        match unmet {
            Unmet::NotPermitted(reason) => OpenError::NotPermitted { store, reason },
            Unmet::Unsupported(reason) => OpenError::Unsupported { store, reason },
            Unmet::Unreachable(reason) => OpenError::Unreachable { store, reason },
        }
    }
}

/// An error of the client library in one line.
pub(super) fn shown(error: &Error) -> String {
    match error {
        Error::Grpc(error) => chain(error),
        Error::GrpcAPI(status) => status.message().into(),
        Error::InternalError { message } => message.clone(),
        other => other.to_string(),
    }
}

/// What is told where no placement driver can be asked.
fn worst(unmet: &[(&String, Unmet)]) -> Unmet {
    let text = |unmet: &Unmet| match unmet {
        Unmet::NotPermitted(why) | Unmet::Unsupported(why) | Unmet::Unreachable(why) => why.clone(),
    };
    let told: Vec<String> = match unmet {
        [(_, only)] => vec![text(only)],
        several => several.iter().map(|(at, why)| format!("{at}: {}", text(why))).collect(),
    };
    let reason = told.join("; ");
    let has = |kind: fn(&Unmet) -> bool| unmet.iter().any(|(_, unmet)| kind(unmet));
    if has(|unmet| matches!(unmet, Unmet::NotPermitted(_))) {
        Unmet::NotPermitted(reason)
    } else if has(|unmet| matches!(unmet, Unmet::Unsupported(_))) {
        Unmet::Unsupported(reason)
    } else {
        Unmet::Unreachable(reason)
    }
}

/// Why one that may be a placement driver cannot be asked.
fn of_ask(error: &AskError) -> Unmet {
    match error {
        AskError::Unreachable(why) if why.contains("Connection refused") => {
            Unmet::Unreachable(format!("{why}; is the placement driver (PD) running?"))
        }
        AskError::Unreachable(why) => Unmet::Unreachable(format!("{why}; check host and port")),
        AskError::Broken(why) => Unmet::Unreachable(format!(
            "what answers speaks no gRPC ({why}), so it is no placement driver (PD), or one that \
             wants TLS (ca_file, cert_file, key_file); check host and port"
        )),
        AskError::Told(Code::Unimplemented, why) => Unmet::Unsupported(format!(
            "what answers speaks gRPC, but it is no placement driver ({why}); name PD's address, \
             usually with port 2379, not that of a TiKV server or of an etcd"
        )),
        AskError::Told(Code::Unauthenticated | Code::PermissionDenied, why) => {
            Unmet::NotPermitted(format!("it says: {why}; check cert_file"))
        }
        AskError::Told(..) | AskError::Said(_) => {
            Unmet::Unreachable(format!("it says: {error}; is the cluster bootstrapped?"))
        }
    }
}

/// What one lane asks with: shared by all its connections, which are handles on it.
pub(super) struct Shared {
    pub(super) clients: Clients,
    pub(super) driver: Driver,
    pub(super) regions: Regions,
    /// How many TiKV servers there are.
    pub(super) nodes: usize,
    is_retired: Cell<bool>,
}

impl Shared {
    /// Nobody shall use it any more who does not already.
    pub(super) fn retire(&self) {
        self.is_retired.set(true);
    }
}

/// Retires what a request is asked with if the request is given up: there may be no answer any
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

/// A lane's way to the cluster.
pub(super) struct Way {
    dialer: Arc<Dialer>,
    shared: Mutex<Option<Rc<Shared>>>,
    /// How often dialling failed, and how it failed last.
    failures: Cell<u64>,
    last: RefCell<Option<Unmet>>,
}

impl Way {
    /// Nothing is connected yet.
    pub(super) fn new(dialer: Arc<Dialer>) -> Way {
        let shared = Mutex::new(None);
        Way { dialer, shared, failures: Cell::new(0), last: RefCell::default() }
    }

    /// What the lane's connections share: what there is, or new.
    ///
    /// Those who wait while one dials in vain take that for an answer instead of dialling as well.
    pub(super) async fn reach(&self) -> Result<Rc<Shared>, OpenError> {
        let failures = self.failures.get();
        let mut kept = self.shared.lock().await;
        if let Some(shared) = kept.as_ref().filter(|shared| !shared.is_retired.get()) {
            return Ok(Rc::clone(shared));
        }
        if self.failures.get() != failures
            && let Some(unmet) = &*self.last.borrow()
        {
            return Err(self.dialer.explain(unmet.clone()));
        }
        match self.dial().await {
            Ok(shared) => {
                let shared = Rc::new(shared);
                *kept = Some(Rc::clone(&shared));
                Ok(shared)
            }
            Err(unmet) => {
                *kept = None;
                self.failures.set(failures + 1);
                self.last.replace(Some(unmet.clone()));
                Err(self.dialer.explain(unmet))
            }
        }
    }

    async fn dial(&self) -> Result<Shared, Unmet> {
        let Met { driver, nodes, .. } = self.dialer.meet().await?;
        let clients = self.dialer.clients().await?;
        let regions = Regions::new(self.dialer.options.mode);
        Ok(Shared { clients, driver, regions, nodes: nodes.len(), is_retired: Cell::new(false) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unreachable(text: &str) -> Unmet {
        Unmet::Unreachable(text.into())
    }

    #[test]
    fn who_is_no_placement_driver_is_told() {
        let told = of_ask(&AskError::Told(Code::Unimplemented, "unknown service".into()));
        assert!(matches!(&told, Unmet::Unsupported(why) if why.contains("name PD's address")));
        let told = of_ask(&AskError::Broken("frame with invalid size".into()));
        assert!(matches!(&told, Unmet::Unreachable(why) if why.contains("speaks no gRPC")));
        let told = of_ask(&AskError::Said("cluster is not bootstrapped".into()));
        assert!(matches!(&told, Unmet::Unreachable(why) if why.contains("bootstrapped?")));
        let told = of_ask(&AskError::Told(Code::PermissionDenied, "CN".into()));
        assert!(matches!(&told, Unmet::NotPermitted(why) if why.contains("cert_file")));
    }

    #[test]
    fn what_matters_most_is_told_of_several_failures() {
        let (one, two) = ("one:1".to_owned(), "two:2".to_owned());
        let unmet = [(&one, unreachable("gone")), (&two, Unmet::Unsupported("an etcd".into()))];
        assert_eq!(worst(&unmet), Unmet::Unsupported("one:1: gone; two:2: an etcd".into()));
        assert_eq!(worst(&unmet[..1]), unreachable("gone"));
    }
}

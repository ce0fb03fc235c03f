//! Makes sessions with a cluster, or says in words why there is none.

use std::collections::BTreeSet;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use assay_driver_kit::StoreErrors;
use assay_driver_kit::unavailable::unconnected;
use assay_store::{NodeNames, OpenError};
use scylla::client::PoolSize;
use scylla::client::execution_profile::ExecutionProfile;
use scylla::client::session::Session;
use scylla::client::session_builder::SessionBuilder;
use scylla::errors::{
    ConnectionError, ConnectionPoolError, ConnectionSetupRequestErrorKind, DbError, ExecutionError,
    MetadataError, NewSessionError, PrepareError, RequestAttemptError,
};
use scylla::policies::load_balancing::DefaultPolicy;
use scylla::policies::retry::FallthroughRetryPolicy;
use scylla::policies::timestamp_generator::MonotonicTimestampGenerator;

use super::options::Options;

/// How often an idle connection is probed, and how long that may take: a node
/// that is frozen or cut off is found out within twice this time.
const KEEPALIVE: Duration = Duration::from_secs(5);

/// What is needed to make a session.
pub(super) struct Connector {
    pub(super) options: Options,
    /// One for all workers, so that of two writes that this process begins the later one wins.
    timestamps: Arc<MonotonicTimestampGenerator>,
    /// The coordinators that have answered.
    pub(super) nodes: NodeNames,
}

impl Connector {
    pub(super) fn new(options: Options) -> Connector {
        let timestamps = Arc::new(MonotonicTimestampGenerator::new().without_warnings());
        Connector { options, timestamps, nodes: NodeNames::default() }
    }

    /// A session that knows the cluster, is let in, and has a connection to a node at least.
    pub(super) async fn dial(&self) -> Result<Session, OpenError> {
        let timeout = self.options.connect_timeout;
        let session = match tokio::time::timeout(timeout, self.builder().build()).await {
            Ok(Ok(session)) => session,
            Ok(Err(error)) => return Err(self.explain(&error)),
            Err(_) => {
                return Err(self.options.unreachable(format!(
                    "the cluster was not known within {} ms: either a node does not answer or it \
                     is no Cassandra; check host and port",
                    timeout.as_millis()
                )));
            }
        };
        let state = session.get_cluster_state();
        if let Some(expected) = &self.options.datacenter {
            let centers = state.get_nodes_info().iter().filter_map(|node| node.datacenter.clone());
            let centers: BTreeSet<String> = centers.collect();
            if !centers.contains(expected) {
                let there = centers.into_iter().collect::<Vec<_>>().join(", ");
                let reason = format!("it has no datacenter {expected:?}; there is {there}");
                return Err(self.options.failed(reason));
            }
        }
        if is_alive(&session) {
            return Ok(session);
        }
        let nodes: Vec<String> =
            state.get_nodes_info().iter().map(|node| node.address.to_string()).collect();
        Err(self.options.unreachable(format!(
            "a node answers, but not under the addresses that it tells for the nodes: {}; set \
             broadcast_rpc_address to what can be reached from here, or check option datacenter",
            nodes.join(", ")
        )))
    }

    fn builder(&self) -> SessionBuilder {
        let options = &self.options;
        let mut policy = DefaultPolicy::builder().token_aware(true);
        if let Some(name) = &options.datacenter {
            policy = policy.prefer_datacenter(name.clone()).permit_dc_failover(false);
        }
        let profile = ExecutionProfile::builder()
            .consistency(options.read)
            .serial_consistency(Some(options.serial))
            // Timeouts are the executor's.
            .request_timeout(None)
            .retry_policy(Arc::new(FallthroughRetryPolicy::new()))
            .speculative_execution_policy(None)
            .load_balancing_policy(policy.build())
            .build();
        let connections = NonZeroUsize::new(options.connections);
        let pool = connections.map_or_else(PoolSize::default, PoolSize::PerHost);
        let mut builder = SessionBuilder::new()
            .known_nodes(&options.nodes)
            .default_execution_profile_handle(profile.into_handle())
            .pool_size(pool)
            .connection_timeout(options.connect_timeout)
            .hostname_resolution_timeout(Some(options.connect_timeout))
            .keepalive_interval(KEEPALIVE)
            .keepalive_timeout(KEEPALIVE)
            .tcp_nodelay(true)
            .compression(options.compression)
            .timestamp_generator(self.timestamps.clone())
            // Requests that are there together leave together as it is; nothing is waited for.
            .write_coalescing(false)
            // What routing by token needs to know, of one keyspace.
            .keyspaces_to_fetch([&options.keyspace])
            .fetch_full_schema_metadata(false)
            .driver_config_reporting(false);
        if let Some(user) = &options.address.user {
            builder = builder.user(user, options.address.password.as_deref().unwrap_or_default());
        }
        builder
    }

    /// Why there is no session.
    fn explain(&self, error: &NewSessionError) -> OpenError {
        match error {
            NewSessionError::FailedToResolveAnyHostname(names) => self.options.unreachable(
                format!("no address is known for {}; check the hosts", names.join(", ")),
            ),
            NewSessionError::MetadataError(error) => self.of_metadata(error),
            other => self.options.failed(other.to_string()),
        }
    }

    fn of_metadata(&self, error: &MetadataError) -> OpenError {
        match error {
            MetadataError::ConnectionPoolError(ConnectionPoolError::Broken {
                last_connection_error,
            }) => self.of_connection(last_connection_error),
            MetadataError::FetchError(error) => self.options.unsupported(format!(
                "it does not tell about itself as Cassandra 3.0 or newer does ({error})"
            )),
            other => self.options.failed(other.to_string()),
        }
    }

    fn of_connection(&self, error: &ConnectionError) -> OpenError {
        match error {
            ConnectionError::ConnectTimeout => self.options.unreachable(format!(
                "no connection came about within {} ms; check host and port",
                self.options.connect_timeout.as_millis()
            )),
            ConnectionError::IoError(error) => self.options.unreachable(unconnected(error)),
            ConnectionError::ConnectionSetupRequestError(error) => self.of_setup(&error.error),
            other => self.options.unreachable(format!("{other}; check host and port")),
        }
    }

    fn of_setup(&self, error: &ConnectionSetupRequestErrorKind) -> OpenError {
        use ConnectionSetupRequestErrorKind::{BrokenConnection, DbError as Said};
        let store = &self.options;
        match error {
            ConnectionSetupRequestErrorKind::MissingAuthentication => {
                store.not_permitted("it wants a user: write user:password@ before the host")
            }
            Said(DbError::AuthenticationError | DbError::Unauthorized, reported) => store
                .not_permitted(format!(
                    "it says: {reported}; check user, password and their rights"
                )),
            Said(DbError::ProtocolError, reported) => store.unsupported(format!(
                "it says: {reported}; version 4 of the protocol is needed: Cassandra 3.0 or \
                 newer"
            )),
            Said(_, reported) => store.failed(format!("it says: {reported}")),
            BrokenConnection(error) => self.options.unreachable(format!(
                "what answers hangs up or is no Cassandra ({error}); check host and port"
            )),
            other => self.options.unreachable(format!(
                "what answers is no Cassandra that we understand ({other}); check host and port"
            )),
        }
    }

    /// The error of `text`, which was to set the store up or to inspect it.
    pub(super) fn failed(&self, text: &str, error: &ExecutionError) -> OpenError {
        let store = &self.options;
        match error {
            ExecutionError::PrepareError(PrepareError::AllAttemptsFailed { first_attempt }) => {
                self.failed(text, &ExecutionError::LastAttemptError(first_attempt.clone()))
            }
            ExecutionError::EmptyPlan
            | ExecutionError::ConnectionPoolError(_)
            | ExecutionError::PrepareError(PrepareError::ConnectionPoolError(_))
            | ExecutionError::LastAttemptError(RequestAttemptError::BrokenConnectionError(_)) => {
                self.options.unreachable(format!("{error}; tried {text}"))
            }
            ExecutionError::LastAttemptError(RequestAttemptError::DbError(kind, reported)) => {
                let reason = format!("to {text} it says: {reported}");
                match kind {
                    DbError::Unauthorized | DbError::AuthenticationError => {
                        store.not_permitted(reason)
                    }
                    DbError::Unavailable { required, alive, .. } => store.failed(format!(
                        "{alive} replicas are up of the {required} that {text} needs; start \
                         nodes, or make the keyspace with fewer copies (replication=N)"
                    )),
                    _ => store.failed(reason),
                }
            }
            other => store.failed(format!("{other}; tried {text}")),
        }
    }
}

/// Whether a node accepts requests now.
pub(super) fn is_alive(session: &Session) -> bool {
    session.get_cluster_state().get_nodes_info().iter().any(|node| node.is_connected())
}

//! Makes connections, or says in words why one cannot be made.

use std::cell::Cell;
use std::error::Error as _;
use std::io;
use std::rc::Rc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use assay_driver_kit::StoreErrors;
use assay_store::OpenError;
use async_nats::jetstream::context::{
    CreateStreamError, DeleteStreamErrorKind, GetStreamErrorKind, RequestError, RequestErrorKind,
};
use async_nats::jetstream::{Context, ContextBuilder, ErrorCode, stream};
use async_nats::{Client, ConnectErrorKind, ConnectOptions, Event};
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};

use super::greeting::{self, Greeting};
use super::options::Options;

/// The library's own timeout of a response; the executor's is much shorter.
const NEVER: Duration = Duration::from_secs(3600);

/// The shortest timeout outside of a run: a bucket on three servers takes a while.
const ADMIN_TIMEOUT: Duration = Duration::from_secs(15);

/// The most bytes beyond the expected responses. The library buffers all input without a bound, so
/// a server whose response has no end would use all memory.
const UNASKED_BYTES_MAX: u64 = 64 << 20;
/// The most bytes of all expected responses together, whatever the server's maximum payload.
const AWAITED_BYTES_MAX: u64 = 256 << 20;
/// The size of a response without its value: its subject, headers, an acknowledgement.
const BYTES_AROUND: u64 = 16 << 10;
/// How often the received bytes are compared with the expected ones.
const LOOK: Duration = Duration::from_millis(20);

/// A closed port, so that connections are refused at once.
const NOWHERE: &str = "nats://127.0.0.1:0";

/// What is needed to connect.
pub(super) struct Connector {
    pub(super) options: Options,
}

/// One TCP connection, which ends when it breaks.
pub(super) struct Line {
    pub(super) client: Client,
    /// Becomes true when the connection has broken.
    pub(super) is_gone: watch::Receiver<bool>,
    /// How many bytes of responses may have come.
    due: Rc<Cell<u64>>,
    /// The largest value that a response can have.
    payload_bytes_max: u64,
    watching: JoinHandle<()>,
}

/// An expected response. When this is dropped, its bytes, or the most that an abandoned one may
/// have, are allowed to have come.
pub(super) struct Awaited<'a> {
    line: &'a Line,
    bytes: u64,
}

impl Line {
    /// A response is expected from now on.
    pub(super) fn await_answer(&self) -> Awaited<'_> {
        Awaited { line: self, bytes: self.payload_bytes_max }
    }
}

impl Awaited<'_> {
    /// It came, with a value of `bytes`.
    pub(super) fn came(mut self, bytes: usize) {
        self.bytes = bytes as u64;
    }
}

impl Drop for Awaited<'_> {
    fn drop(&mut self) {
        // A leader gives values in base64.
        let due = &self.line.due;
        due.set(due.get().saturating_add(2 * self.bytes + BYTES_AROUND));
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        // It has the client, whose end is the connection's.
        self.watching.abort();
    }
}

/// Breaks a connection over which more comes than is expected.
async fn watch_bytes(client: Client, due: Rc<Cell<u64>>) {
    let statistics = client.statistics();
    while statistics.in_bytes.load(Ordering::Relaxed) <= due.get() {
        tokio::time::sleep(LOOK).await;
    }
    // The receiver is gone then; an error means that the message was sent already.
    let _ = client.force_reconnect().await;
}

impl Connector {
    /// A connection that is greeted and let in.
    ///
    /// The library reconnects by itself and meanwhile buffers requests. A worker must know
    /// at once instead, so a new connection gets a list of unreachable servers: when it breaks, the
    /// library gives up, and all waiting requests end.
    pub(super) async fn dial(&self) -> Result<Line, OpenError> {
        let hosts = self.greeting_hosts().await?;
        let (gone, is_gone) = watch::channel(false);
        let mut options = ConnectOptions::new()
            .name("assay")
            .connection_timeout(self.options.connect_timeout)
            .request_timeout(None)
            .ignore_discovered_servers()
            .max_reconnects(hosts.len())
            .reconnect_delay_callback(|_| Duration::ZERO)
            .event_callback(move |event| {
                if matches!(event, Event::Disconnected | Event::Closed) {
                    gone.send_replace(true);
                }
                std::future::ready(())
            });
        let address = &self.options.address;
        options = match (address.user.clone(), address.password.clone()) {
            (Some(user), Some(password)) => options.user_and_password(user, password),
            (Some(token), None) | (None, Some(token)) => options.token(token),
            (None, None) => options,
        };
        let urls: Vec<String> = hosts.iter().map(|host| format!("nats://{host}")).collect();
        let client = options.connect(urls).await.map_err(|error| self.explain(&error))?;
        let given_up = client.set_server_pool(NOWHERE).await;
        given_up
            .map_err(|error| self.options.unreachable(format!("it hung up at once ({error})")))?;
        let reported = client.server_info().max_payload as u64;
        let payload_bytes_max = reported.min(AWAITED_BYTES_MAX);
        let awaited = payload_bytes_max * self.options.connections as u64;
        let due = Rc::new(Cell::new(UNASKED_BYTES_MAX + awaited.min(AWAITED_BYTES_MAX)));
        let watching = tokio::task::spawn_local(watch_bytes(client.clone(), Rc::clone(&due)));
        Ok(Line { client, is_gone, due, payload_bytes_max, watching })
    }

    /// The hosts without those that are no NATS server.
    async fn greeting_hosts(&self) -> Result<Vec<String>, OpenError> {
        let mut looks = JoinSet::new();
        for host in self.options.address.authorities() {
            looks.spawn(async move { (greeting::of(&host).await, host) });
        }
        let (mut hosts, mut said) = (Vec::new(), String::new());
        for (greeting, host) in looks.join_all().await {
            match greeting {
                Greeting::Foreign(what) => said = format!("{host} says {what:?}"),
                Greeting::Right | Greeting::Unknown => hosts.push(host),
            }
        }
        match hosts.is_empty() {
            true => Err(self.options.unreachable(format!(
                "what answers is no NATS that we understand ({said}); check host and port"
            ))),
            false => Ok(hosts),
        }
    }

    /// JetStream over a new connection, for what is no part of a run.
    pub(super) async fn admin(&self) -> Result<AdminConnection<'_>, OpenError> {
        let line = self.dial().await?;
        let timeout = self.options.connect_timeout.max(ADMIN_TIMEOUT);
        let context = ContextBuilder::new().timeout(timeout).build(line.client.clone());
        let admin = AdminConnection { connector: self, line, context };
        admin.check().await?;
        Ok(admin)
    }

    /// JetStream over `client`, where only the executor's timeout ends the wait for a response.
    pub(super) fn context(&self, client: &Client) -> Context {
        ContextBuilder::new()
            .timeout(NEVER)
            .max_ack_inflight(self.options.connections)
            .build(client.clone())
    }

    /// Why there is no connection.
    fn explain(&self, error: &async_nats::ConnectError) -> OpenError {
        match error.kind() {
            ConnectErrorKind::AuthorizationViolation | ConnectErrorKind::Authentication => {
                let reason = "it says: authorization violation; check user, password or token";
                self.options.not_permitted(reason)
            }
            ConnectErrorKind::TimedOut => self.options.unreachable(format!(
                "no greeting came within {} ms: either nobody listens there or it is no NATS, for \
                 PostgreSQL and Redis wait for their clients to speak first; check host and port",
                self.options.connect_timeout.as_millis()
            )),
            ConnectErrorKind::Dns => {
                self.options.unreachable(format!("no host has that name ({error}); check it"))
            }
            ConnectErrorKind::Tls => self.options.unsupported(format!(
                "it wants TLS with certificates that this driver has no options for ({error})"
            )),
            ConnectErrorKind::ServerParse => {
                self.options.invalid(format!("the library does not understand the host ({error})"))
            }
            ConnectErrorKind::Io | ConnectErrorKind::MaxReconnects => {
                let source = error.source().and_then(|source| source.downcast_ref::<io::Error>());
                match source.map(io::Error::kind) {
                    Some(io::ErrorKind::ConnectionRefused) => {
                        self.options.unreachable(format!("{error}; is the server running?"))
                    }
                    _ => self.options.unreachable(format!(
                        "what answers is no NATS that we understand ({error}); check host and port"
                    )),
                }
            }
        }
    }
}

/// JetStream over the admin connection, which no worker uses.
pub(super) struct AdminConnection<'a> {
    connector: &'a Connector,
    pub(super) line: Line,
    pub(super) context: Context,
}

impl AdminConnection<'_> {
    pub(super) fn failed(&self, reason: String) -> OpenError {
        self.connector.options.failed(reason)
    }

    pub(super) fn refused(&self, reason: String) -> OpenError {
        self.connector.options.contents(reason)
    }

    /// Whether the server has JetStream and lets us use it. Any question about a stream tells; what
    /// older servers say about the account itself the library does not understand.
    async fn check(&self) -> Result<(), OpenError> {
        let store = &self.connector.options;
        let requested =
            self.context.get_stream(format!("KV_{}", self.connector.options.prefix)).await;
        let Err(error) = requested else { return Ok(()) };
        if let GetStreamErrorKind::JetStream(error) = error.kind() {
            return match error.error_code() {
                ErrorCode::STREAM_NOT_FOUND => Ok(()),
                ErrorCode::JETSTREAM_NOT_ENABLED | ErrorCode::JETSTREAM_NOT_ENABLED_FOR_ACCOUNT => {
                    let reason = format!("it says: {error}; enable JetStream for the account");
                    Err(store.unsupported(reason))
                }
                _ => Err(store.failed(format!("it says: {error}"))),
            };
        }
        let source = error.source().and_then(|source| source.downcast_ref::<RequestError>());
        match source.map(RequestError::kind) {
            Some(RequestErrorKind::NoResponders) => Err(store.unsupported(
                "no JetStream answers there; start nats-server with -js, or wait until \
                 the cluster has a leader",
            )),
            _ => Err(store.failed(format!("JetStream does not say what it has ({error})"))),
        }
    }

    /// The bucket's stream with what the server says about it; `None` if there is none.
    pub(super) async fn stream(&self, bucket: &str) -> Result<Option<stream::Stream>, OpenError> {
        match self.context.get_stream(format!("KV_{bucket}")).await {
            Ok(stream) => Ok(Some(stream)),
            Err(error) => match error.kind() {
                GetStreamErrorKind::JetStream(error)
                    if error.error_code() == ErrorCode::STREAM_NOT_FOUND =>
                {
                    Ok(None)
                }
                _ => Err(self.failed(format!("bucket {bucket} cannot be looked at: {error}"))),
            },
        }
    }

    /// Makes a bucket, as NATS's clients make theirs.
    pub(super) async fn create(&self, bucket: &str) -> Result<(), OpenError> {
        let options = &self.connector.options;
        let config = stream::Config {
            name: format!("KV_{bucket}"),
            description: Some("records of a benchmark".into()),
            subjects: vec![format!("$KV.{bucket}.>")],
            max_messages_per_subject: 1,
            max_bytes: -1,
            discard: stream::DiscardPolicy::New,
            allow_rollup: true,
            deny_delete: true,
            allow_direct: true,
            num_replicas: options.replicas.unwrap_or(1),
            storage: options.storage.unwrap_or_default(),
            ..stream::Config::default()
        };
        let made = self.context.create_stream(config).await;
        made.map(|_| ()).map_err(|error| self.no_bucket(bucket, &error))
    }

    fn no_bucket(&self, bucket: &str, error: &CreateStreamError) -> OpenError {
        let expected = self.connector.options.replicas.unwrap_or(1);
        let hint = match expected {
            1 => String::new(),
            _ => format!("; {expected} replicas need a cluster of as many servers"),
        };
        self.failed(format!("bucket {bucket} cannot be made: {error}{hint}"))
    }

    /// Removes all that is in a bucket.
    pub(super) async fn empty(
        &self,
        stream: &stream::Stream,
        bucket: &str,
    ) -> Result<(), OpenError> {
        let purged = stream.purge().await;
        purged
            .map(|_| ())
            .map_err(|error| self.failed(format!("bucket {bucket} cannot be emptied: {error}")))
    }

    /// Removes a bucket with all that is in it.
    pub(super) async fn remove(&self, bucket: &str) -> Result<(), OpenError> {
        match self.context.delete_stream(format!("KV_{bucket}")).await {
            Ok(_) => Ok(()),
            Err(error) => match error.kind() {
                DeleteStreamErrorKind::JetStream(error)
                    if error.error_code() == ErrorCode::STREAM_NOT_FOUND =>
                {
                    Ok(())
                }
                _ => Err(self.failed(format!("bucket {bucket} cannot be removed: {error}"))),
            },
        }
    }
}

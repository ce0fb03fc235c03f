//! One connection to a server, which carries out one job at a time.

use std::sync::Arc;
use std::time::Duration;

use assay_driver_kit::StoreErrors;
use assay_driver_kit::task::{Completion, ConnectionState, JobCompletion, Library, Lost};
use assay_model::Reason;
use assay_store::OpenError;
use bytes::Bytes;
use http_body_util::{BodyExt, Full, Limited};
use hyper::client::conn::http1::{self, SendRequest};
use hyper::header::{CONTENT_TYPE, HOST, HeaderValue};
use hyper::{Method, Request, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::sync::watch;

use super::Plan;
use super::answer::{Status, completion};
use super::options::Options;
use super::request::Message;

/// The largest answer that is taken: the list of a pharmacy with 200,000 prescriptions.
const ANSWER_BYTES_MAX: usize = 64 << 20;

const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// The servers, as a pool of connections needs them.
pub(super) struct Http {
    pub(super) options: Options,
    pub(super) plan: Arc<Plan>,
}

/// One connection.
pub(super) struct Link {
    sender: SendRequest<Full<Bytes>>,
    host: HeaderValue,
    /// Closed when the connection is.
    ended: watch::Receiver<()>,
}

/// A query, with its arguments as encoded values.
#[derive(Debug, Default)]
pub(super) struct Job {
    /// Its place in the catalogue plus one.
    pub(super) query: u16,
    pub(super) arguments: Vec<u8>,
}

/// Why there is no answer.
enum NoAnswer {
    /// Nothing left this machine.
    Unsent,
    /// The connection broke.
    Broken,
    /// It did not come in time.
    Late,
    /// It is too long.
    TooLong,
}

impl Library for Http {
    type Connection = Link;
    type Job = Job;

    fn hosts(&self) -> usize {
        self.options.address.hosts.len()
    }

    async fn connect(&self) -> Result<Link, OpenError> {
        self.connect_to(0).await
    }

    async fn connect_to(&self, host: usize) -> Result<Link, OpenError> {
        let authority = self.options.address.authority(host);
        let unreachable =
            |reason: String| self.options.unreachable(format!("{authority}: {reason}"));
        let connect = async {
            let socket = TcpStream::connect(&authority).await?;
            socket.set_nodelay(true)?;
            Ok::<_, std::io::Error>(socket)
        };
        let timeout = self.options.connect_timeout;
        let socket = match tokio::time::timeout(timeout, connect).await {
            Ok(Ok(socket)) => socket,
            Ok(Err(error)) => {
                return Err(unreachable(format!("{error}; does a server run there?")));
            }
            Err(_) => {
                let millis = timeout.as_millis();
                return Err(unreachable(format!("no connection within {millis} ms")));
            }
        };
        let host = HeaderValue::from_str(&authority)
            .map_err(|_| unreachable("it is no name of a host".to_owned()))?;
        let (sender, connection) = http1::handshake(TokioIo::new(socket))
            .await
            .map_err(|error| unreachable(error.to_string()))?;
        let (ending, ended) = watch::channel(());
        tokio::task::spawn_local(async move {
            // The reason is passed to who waits for an answer.
            let _ = connection.await;
            drop(ending);
        });
        Ok(Link { sender, host, ended })
    }

    async fn perform(&self, link: &mut Link, job: &mut Job, rows: &mut Vec<u8>) -> JobCompletion {
        let requested = usize::from(job.query).checked_sub(1).and_then(|at| self.plan.get(at));
        let message = requested.and_then(|requested| requested.message(&job.arguments));
        let (Some(requested), Some(message)) = (requested, message) else {
            let ending = Completion::Refused(Reason::Malformed);
            return JobCompletion::new(ending, ConnectionState::Free);
        };
        let answered = match self.options.timeout {
            None => link.send(message).await,
            Some(timeout) => within(timeout, link.send(message)).await,
        };
        match answered {
            Ok((status, body)) => {
                let ending = completion(*requested, status, &body, rows);
                let after = match link.sender.is_closed() {
                    true => ConnectionState::Lost,
                    false => ConnectionState::Free,
                };
                JobCompletion::new(ending, after)
            }
            Err(no_answer) => {
                let ending = match no_answer {
                    NoAnswer::Unsent => Completion::Refused(Reason::Unreachable),
                    NoAnswer::Broken => Completion::Unknown(Reason::ConnectionLost),
                    NoAnswer::Late => Completion::Unknown(Reason::Timeout),
                    NoAnswer::TooLong => Completion::Unknown(Reason::Garbled),
                };
                JobCompletion::new(ending, ConnectionState::Lost)
            }
        }
    }

    async fn undo(&self, _link: &mut Link) -> Result<(), Lost> {
        // There is nothing to undo: each request is a transaction of the server's.
        Ok(())
    }

    async fn lost(&self, link: &mut Link) {
        while link.ended.changed().await.is_ok() {}
    }
}

async fn within<T>(
    timeout: Duration,
    send: impl Future<Output = Result<T, NoAnswer>>,
) -> Result<T, NoAnswer> {
    tokio::time::timeout(timeout, send).await.unwrap_or(Err(NoAnswer::Late))
}

impl Http {
    /// What the server at `host` says about itself.
    pub(super) async fn status(&self, host: usize) -> Result<Status, OpenError> {
        let mut link = self.connect_to(host).await?;
        let message = Message { method: Method::GET, path: "/".to_owned(), body: Bytes::new() };
        let answered = within(self.options.connect_timeout, link.send(message)).await;
        let status = answered.ok().and_then(|(status, body)| Status::of(status, &body));
        status.ok_or_else(|| {
            self.options.unsupported(format!(
                "what answers at {} is no server of FMKe; `assay fmke serve` starts one",
                self.options.address.authority(host)
            ))
        })
    }
}

impl Link {
    /// Sends, and waits for the whole answer.
    async fn send(&mut self, message: Message) -> Result<(StatusCode, Bytes), NoAnswer> {
        if self.sender.ready().await.is_err() {
            return Err(NoAnswer::Unsent);
        }
        let Message { method, path, body } = message;
        let mut request = Request::new(Full::new(body));
        *request.uri_mut() = path.parse().map_err(|_| NoAnswer::Unsent)?;
        let headers = request.headers_mut();
        headers.insert(HOST, self.host.clone());
        if method != Method::GET {
            headers.insert(CONTENT_TYPE, JSON);
        }
        *request.method_mut() = method;
        let answered = self.sender.try_send_request(request).await.map_err(|error| {
            match error.message().is_some() {
                true => NoAnswer::Unsent,
                false => NoAnswer::Broken,
            }
        });
        let (head, body) = answered?.into_parts();
        match Limited::new(body, ANSWER_BYTES_MAX).collect().await {
            Ok(body) => Ok((head.status, body.to_bytes())),
            Err(error) if error.is::<http_body_util::LengthLimitError>() => Err(NoAnswer::TooLong),
            Err(_) => Err(NoAnswer::Broken),
        }
    }
}

//! Makes the library's clients, or says in words why the server cannot be reached.

use assay_driver_kit::StoreErrors;
use assay_store::OpenError;
use mongodb::bson::{Document, doc};
use mongodb::error::{Error, ErrorKind};
use mongodb::{Client, Database};

use super::options::Options;

/// What is needed to connect.
pub(super) struct Connector {
    pub(super) options: Options,
}

impl Connector {
    /// A client that has not connected yet. Its tasks run on the runtime that calls this.
    pub(super) fn client(&self) -> Result<Client, OpenError> {
        Client::with_options(self.options.library()).map_err(|error| self.explain("", &error))
    }

    /// Waits until a server that accepts requests authenticates us.
    pub(super) async fn reach(&self, client: &Client) -> Result<(), OpenError> {
        let database = client.database(&self.options.database);
        let timeout = self.options.connect_timeout;
        let mut last = None;
        let reaching = async {
            loop {
                match database.run_command(doc! { "ping": 1 }).await {
                    Ok(_) => return Ok(()),
                    Err(error) if is_nobody_there(&error) => last = Some(error),
                    Err(error) => return Err(error),
                }
            }
        };
        let reached = tokio::time::timeout(timeout, reaching).await;
        match (reached, last) {
            (Ok(Ok(())), _) => Ok(()),
            (Ok(Err(error)), _) => Err(self.explain("ping", &error)),
            (Err(_), Some(error)) => Err(self.explain("ping", &error)),
            (Err(_), None) => Err(self.options.unreachable(format!(
                "no answer came within {} ms; check host and port",
                timeout.as_millis()
            ))),
        }
    }

    /// A database over admin connections, which no worker uses.
    pub(super) async fn admin(&self) -> Result<AdminConnection<'_>, OpenError> {
        let client = self.client()?;
        self.reach(&client).await?;
        let database = client.database(&self.options.database);
        Ok(AdminConnection { connector: self, client, database })
    }

    /// The error of `what`, which was to set the store up or to inspect it.
    fn explain(&self, what: &str, error: &Error) -> OpenError {
        let store = &self.options;
        match &*error.kind {
            ErrorKind::Authentication { message, .. } => {
                store.not_permitted(format!("{message}; check user, password and auth_source"))
            }
            ErrorKind::Command(error) => {
                let reported = format!("to {what} it says: {} ({})", error.message, error.code);
                match error.code {
                    13 | 18 | 8000 => store.not_permitted(format!(
                        "{reported}; check user, password, auth_source and their rights"
                    )),
                    _ => store.failed(reported),
                }
            }
            ErrorKind::IncompatibleServer { message, .. } => store.unsupported(message.clone()),
            ErrorKind::InvalidArgument { message, .. } => store.invalid(message.clone()),
            ErrorKind::ServerSelection { message, .. } if message.contains("onnection refused") => {
                self.options.unreachable("connection refused; is the server running?")
            }
            ErrorKind::ServerSelection { message, .. } if message.contains("incompatible") => {
                store.unsupported(message.clone())
            }
            ErrorKind::ServerSelection { message, .. } => self.options.unreachable(format!(
                "no MongoDB that can take these requests answers there ({message}); check host, \
                 port and replica_set"
            )),
            ErrorKind::Io(error) => self
                .options
                .unreachable(format!("{error}; check host and port, or look at its log")),
            _ => store.failed(format!("{what}: {}", error.kind)),
        }
    }
}

/// Whether the library has found no server yet.
fn is_nobody_there(error: &Error) -> bool {
    let kind = &*error.kind;
    matches!(kind, ErrorKind::ServerSelection { .. } | ErrorKind::ConnectionPoolCleared { .. })
}

/// A database over connections of its own.
pub(super) struct AdminConnection<'a> {
    connector: &'a Connector,
    pub(super) client: Client,
    pub(super) database: Database,
}

impl AdminConnection<'_> {
    pub(super) fn failed(&self, what: &str, error: &Error) -> OpenError {
        self.connector.explain(what, error)
    }

    /// What the server answers to a command of its `admin` database; `None` if it does not know it,
    /// or does not tell us.
    pub(super) async fn send(&self, command: Document) -> Result<Option<Document>, OpenError> {
        let what = command.keys().next().cloned().unwrap_or_default();
        match self.client.database("admin").run_command(command).await {
            Ok(answer) => Ok(Some(answer)),
            Err(error) => match &*error.kind {
                ErrorKind::Command(_) => Ok(None),
                _ => Err(self.failed(&what, &error)),
            },
        }
    }
}

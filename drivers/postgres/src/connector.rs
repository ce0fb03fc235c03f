//! Makes connections to a PostgreSQL, says why it cannot.

use std::error::Error as _;
use std::io;

use assay_driver_kit::StoreErrors;
use assay_store::{Isolation, OpenError};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_postgres::config::{Host, SslMode, SslNegotiation};
use tokio_postgres::{Client, Config, Connection, Error, NoTls};

use super::options::Options;
use super::stream::{Allowance, Carrier, Stream, Tls};
use super::wire::{Closed, Wire};

/// The most that a server may send before the first request: some dozens of short settings.
const GREETING_BYTES_MAX: usize = 1 << 20;

/// The port of a server that names none.
const DEFAULT_PORT: u16 = 5432;

/// Everything that making a connection needs, read once.
#[derive(Clone)]
pub(super) struct Connector {
    pub(super) options: Options,
    config: Config,
    tls: Option<Tls>,
}

impl Connector {
    /// Reads the file that the options name.
    pub(super) fn new(options: Options) -> Result<Connector, OpenError> {
        let wrong = |reason| options.invalid(reason);
        let mut config = options.config.clone();
        if let Some(path) = &options.password_file {
            let text = std::fs::read_to_string(path).map_err(|error| {
                wrong(format!("password_file {} cannot be read: {error}", path.display()))
            })?;
            config.password(text.lines().next().unwrap_or_default());
        }
        let tls = options.tls.map(|trust| Tls::new(options.ca_file.as_deref(), trust));
        let tls = tls.transpose().map_err(wrong)?;
        name_hosts(&mut config);
        let is_file = |host: &Host| matches!(host, Host::Unix(_));
        let files = config.get_hosts().iter().filter(|host| is_file(host)).count();
        if files > 0 && files < config.get_hosts().len() {
            return Err(wrong("sockets of this machine and hosts cannot be mixed".to_owned()));
        }
        Ok(Connector { options, config, tls })
    }

    /// The same for each of the standbys.
    pub(super) fn standbys(&self) -> Vec<Connector> {
        let of = |(host, port): &(String, u16)| {
            let mut config = Config::new();
            config.host(host).port(*port).ssl_mode(self.config.get_ssl_mode());
            config.connect_timeout(self.options.connect_timeout).application_name("assay");
            config.user(self.config.get_user().unwrap_or_default());
            if let Some(password) = self.config.get_password() {
                config.password(password);
            }
            // Without a name of its own a database is called like the user.
            if let Some(name) = self.config.get_dbname() {
                config.dbname(name);
            }
            Connector { options: self.options.clone(), config, tls: self.tls.clone() }
        };
        self.options.standbys.iter().map(of).collect()
    }

    /// A connection whose transactions are kept apart as the options say.
    pub(super) async fn dial(&self) -> Result<Wire, OpenError> {
        // The library bounds only the connecting: something that never answers needs a bound too.
        let timeout = self.options.connect_timeout;
        let connected = match tokio::time::timeout(timeout, self.connect()).await {
            Ok(connected) => connected,
            Err(_) => {
                return Err(self.options.unreachable(format!(
                    "nothing that a PostgreSQL would say came within {} ms: either nobody listens \
                     there or it is none; check host and port",
                    timeout.as_millis()
                )));
            }
        };
        let mut wire = connected?;
        let setting =
            format!("SET default_transaction_isolation = '{}'", level(self.options.isolation));
        self.run(&mut wire, &setting).await?;
        Ok(wire)
    }

    async fn connect(&self) -> Result<Wire, OpenError> {
        let allowance = Allowance::new(GREETING_BYTES_MAX);
        if self.tls.is_none() && matches!(self.config.get_hosts(), [Host::Unix(_), ..]) {
            return self.connect_file(allowance).await;
        }
        let carrier = Carrier { tls: self.tls.clone(), allowance: allowance.clone() };
        let mut config = self.config.clone();
        if self.tls.is_none() {
            // What the library takes for TLS without a greeting is the plain socket, counted.
            config.ssl_mode(SslMode::Require).ssl_negotiation(SslNegotiation::Direct);
        }
        let made = config.connect(carrier).await;
        made.map(|made| wired(made, allowance)).map_err(|error| self.turned_away(&error))
    }

    /// Connects to the first socket file that somebody listens at. The library would let nothing
    /// around it.
    async fn connect_file(&self, allowance: Allowance) -> Result<Wire, OpenError> {
        let ports = self.config.get_ports();
        let mut failed = "there is no socket".to_owned();
        for (place, host) in self.config.get_hosts().iter().enumerate() {
            let Host::Unix(folder) = host else { continue };
            let port = ports.get(place).or(ports.first()).copied().unwrap_or(DEFAULT_PORT);
            let path = folder.join(format!(".s.PGSQL.{port}"));
            match Stream::open(&path, allowance.clone()).await {
                Ok(stream) => {
                    let made = self.config.connect_raw(stream, NoTls).await;
                    let made = made.map(|made| wired(made, allowance));
                    return made.map_err(|error| self.turned_away(&error));
                }
                Err(error) => failed = format!("{} cannot be opened: {error}", path.display()),
            }
        }
        let reason = format!("{failed}; is the server running, and is this its folder?");
        Err(self.options.unreachable(reason))
    }

    /// Runs statements that give nothing back.
    pub(super) async fn run(&self, wire: &mut Wire, sql: &str) -> Result<(), OpenError> {
        match wire.drive(|client| client.batch_execute(sql)).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(error)) => Err(self.failed(sql, &error)),
            Err(closed) => Err(self.hung_up(&closed)),
        }
    }

    pub(super) fn hung_up(&self, closed: &Closed) -> OpenError {
        self.options.unreachable(match closed.is_flooded {
            true => "what it says is longer than any answer: it is no PostgreSQL",
            false => "the server closed the connection",
        })
    }

    /// What an error in answer to `sql` means to the one who started us.
    pub(super) fn failed(&self, sql: &str, error: &Error) -> OpenError {
        let store = &self.options;
        let Some(error) = error.as_db_error() else {
            return self.options.unreachable(format!("the connection broke: {}", deepest(error)));
        };
        let first: String = sql.chars().take(60).collect();
        let reason = format!("to {first:?} it says: {} ({})", error.message(), error.code().code());
        match error.code().code() {
            "42501" | "28000" => store.not_permitted(reason),
            _ => store.failed(reason),
        }
    }

    fn turned_away(&self, error: &Error) -> OpenError {
        let store = &self.options;
        if let Some(reported) = error.as_db_error() {
            let says = format!("it says: {}", reported.message());
            return match reported.code().code() {
                "28P01" | "28000" => {
                    store.not_permitted(format!("{says}; check user and password, and pg_hba.conf"))
                }
                "3D000" => {
                    store.unsupported(format!("{says}; make it with `createdb`, or name another"))
                }
                "53300" => {
                    let advice = "lower connections= or raise max_connections";
                    store.failed(format!("{says}; {advice}"))
                }
                "57P03" => store.failed(format!("{says}; try again later")),
                code => store.failed(format!("{says} ({code})")),
            };
        }
        let text = deepest(error);
        if text.contains("TLS") {
            return self.options.unreachable(format!(
                "{text}; if it speaks none use sslmode=disable, if its certificate is not trusted \
                 name the authority with ca_file=, or give up knowing it with sslmode=require"
            ));
        }
        if text.contains("password") {
            let advice = "put it into the URL, or name a file with password_file=";
            return store.not_permitted(format!("{text}; {advice}"));
        }
        let refused = error
            .source()
            .and_then(|source| source.downcast_ref::<io::Error>())
            .is_some_and(|error| error.kind() == io::ErrorKind::ConnectionRefused);
        self.options.unreachable(match refused {
            true => format!("{text}; is the server running, and is this its port?"),
            false => format!("{text}; check host and port, or give it longer (connect_timeout=)"),
        })
    }
}

fn wired<R, S>((client, mover): (Client, Connection<R, S>), allowance: Allowance) -> Wire
where
    R: AsyncRead + AsyncWrite + Unpin + 'static,
    S: AsyncRead + AsyncWrite + Unpin + 'static,
{
    Wire::new(client, Box::pin(mover), allowance)
}

/// Names for hosts that are given by address only: without a name the library cannot wrap a socket.
fn name_hosts(config: &mut Config) {
    if config.get_hosts().is_empty() {
        for address in config.get_hostaddrs().to_vec() {
            config.host(address.to_string());
        }
    }
}

/// The innermost reason of an error of the library, whose own words are few.
fn deepest(error: &Error) -> String {
    match error.source() {
        Some(source) => format!("{error}: {source}"),
        None => error.to_string(),
    }
}

/// A level as PostgreSQL calls it.
fn level(isolation: Isolation) -> &'static str {
    match isolation {
        Isolation::ReadCommitted => "read committed",
        Isolation::RepeatableRead => "repeatable read",
        Isolation::Serializable => "serializable",
    }
}

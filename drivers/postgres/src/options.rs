//! Options of a PostgreSQL URL.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use assay_driver_kit::address::{authority, require_encoded_login, split_host};
use assay_driver_kit::read_server::ReadServer;
use assay_driver_kit::secrets::Redaction;
use assay_driver_kit::url_options::{self, Count, Millis, OptionError};
use assay_sql::Content;
use assay_store::{Isolation, OpenError};
use serde::Deserialize;
use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode};

pub use assay_driver_kit::trust::Trust;

/// An example of a right URL, for errors.
const EXAMPLE: &str =
    "postgres://user:password@127.0.0.1:5432/database?isolation=read-committed&connections=16";

/// Options that PostgreSQL's own URLs have, as far as they make sense here.
const LIBRARY_OPTIONS: [&str; 9] = [
    "host",
    "hostaddr",
    "port",
    "user",
    "password",
    "dbname",
    "options",
    "tcp_user_timeout",
    "target_session_attrs",
];

/// Connections per worker: each is a process of the server.
const MOST_CONNECTIONS: usize = 1024;
/// The port of a standby that names none.
const DEFAULT_PORT: u16 = 5432;
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// Where a PostgreSQL is, and how to talk to it.
///
/// Parsed from `postgres://[user[:password]@]host[:port][/database][?option=value&…]`, or
/// `postgresql://`. A unix socket's folder is a percent-encoded host, or the option `host`. Shown
/// without the password.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// What the library needs to know.
    pub config: Config,
    /// Option `isolation`: how transactions are kept apart.
    pub isolation: Isolation,
    /// Option `connections`: how many each worker has with each server.
    pub connections: usize,
    /// Option `columns=text|bytes`: what the columns of records hold.
    pub content: Content,
    /// Option `password_file`: a file whose first line is the password.
    pub password_file: Option<PathBuf>,
    /// Option `sslmode=disable|require|verify-full`: how the connection is protected; none means
    /// plain TCP. `require` takes any certificate, as PostgreSQL's own clients do.
    pub tls: Option<Trust>,
    /// Option `connect_timeout`, in milliseconds.
    pub connect_timeout: Duration,
    /// Option `ca_file`: certificates in PEM that may vouch for the server; none means the
    /// operating system's.
    pub ca_file: Option<PathBuf>,
    /// Option `standbys`: `host[:port]` of each, with commas between them.
    pub standbys: Vec<(String, u16)>,
    /// Option `read=primary|standby|any`.
    pub read: ReadServer,
    displayed: String,
}

/// Our own options as the URL has them.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct UrlOptions {
    isolation: Option<Isolation>,
    connections: Option<Count<MOST_CONNECTIONS>>,
    columns: Option<Content>,
    password_file: Option<PathBuf>,
    sslmode: Option<Protection>,
    ca_file: Option<PathBuf>,
    connect_timeout: Option<Millis>,
    standbys: Option<String>,
    read: Option<ReadWord>,
}

/// How the connection is protected, by the words of option `sslmode`.
#[derive(Deserialize)]
#[serde(try_from = "String")]
struct Protection(Option<Trust>);

impl TryFrom<String> for Protection {
    type Error = String;

    fn try_from(word: String) -> Result<Protection, String> {
        match &*word {
            "disable" => Ok(Protection(None)),
            "require" => Ok(Protection(Some(Trust::Insecure))),
            "verify-full" => Ok(Protection(Some(Trust::Verified))),
            _ => Err(format!(
                "is disable, require or verify-full, not {word:?}: a measurement must know \
                 whether it is encrypted"
            )),
        }
    }
}

/// What option `read` calls the servers.
#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum ReadWord {
    Primary,
    Standby,
    Any,
}

impl Options {
    /// The primary, then each standby, as `host:port`.
    pub(super) fn authorities(&self) -> Vec<String> {
        let port = self.config.get_ports().first().copied().unwrap_or(DEFAULT_PORT);
        let primary = match self.config.get_hosts().first() {
            Some(Host::Tcp(host)) => authority(host, port),
            Some(Host::Unix(folder)) => format!("{}:{port}", folder.display()),
            None => match self.config.get_hostaddrs().first() {
                Some(address) => authority(&address.to_string(), port),
                None => "primary".to_owned(),
            },
        };
        let standbys = self.standbys.iter().map(|(host, port)| authority(host, *port));
        std::iter::once(primary).chain(standbys).collect()
    }
}

impl FromStr for Options {
    type Err = OpenError;

    fn from_str(url: &str) -> Result<Options, OpenError> {
        parse(url).map_err(|reason| OpenError::Url {
            url: display(url),
            reason: format!("{reason}; a right one is {EXAMPLE}"),
        })
    }
}

impl fmt::Display for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.displayed)
    }
}

fn parse(url: &str) -> Result<Options, String> {
    let (scheme, rest) = url.split_once("://").ok_or("there is no ://")?;
    if !["postgres", "postgresql"].contains(&scheme) {
        return Err(format!("scheme {scheme:?} is not postgres or postgresql"));
    }
    require_encoded_login(rest)?;
    let (address, query) = rest.split_once('?').unwrap_or((rest, ""));
    let is_theirs = |pair: &&str| {
        let name = pair.split_once('=').map(|(name, _)| name);
        name.is_some_and(|name| LIBRARY_OPTIONS.contains(&name))
    };
    let (theirs, ours): (Vec<&str>, Vec<&str>) = query.split('&').partition(is_theirs);
    let declared = declared(&ours.join("&"))?;
    let tls = declared.sslmode.and_then(|Protection(trust)| trust);
    if declared.ca_file.is_some() && tls != Some(Trust::Verified) {
        return Err("option ca_file needs sslmode=verify-full".into());
    }
    let read = declared.read.map_or(ReadServer::Primary, |read| match read {
        ReadWord::Primary => ReadServer::Primary,
        ReadWord::Standby => ReadServer::Replica,
        ReadWord::Any => ReadServer::Any,
    });
    let standbys = declared.standbys.as_deref().map(|hosts| {
        hosts.split(',').map(|host| split_host(host, DEFAULT_PORT)).collect::<Result<_, String>>()
    });
    let standbys: Vec<(String, u16)> = standbys.transpose()?.unwrap_or_default();
    let url_of_library = format!("postgres://{address}?{}", theirs.join("&"));
    let mut config: Config = url_of_library.parse().map_err(|error| explain(&error))?;
    if config.get_hosts().is_empty() && config.get_hostaddrs().is_empty() {
        return Err("the host is missing".into());
    }
    if read != ReadServer::Primary && standbys.is_empty() {
        return Err("option read needs standbys=host:port".into());
    }
    let connect_timeout = declared.connect_timeout.map_or(CONNECT_TIMEOUT, Duration::from);
    config.ssl_mode(if tls.is_some() { SslMode::Require } else { SslMode::Disable });
    if config.get_user().is_none() {
        config.user("postgres");
    }
    config.connect_timeout(connect_timeout);
    config.application_name("assay");
    Ok(Options {
        config,
        isolation: declared.isolation.unwrap_or(Isolation::ReadCommitted),
        connections: declared.connections.map_or(16, usize::from),
        content: declared.columns.unwrap_or(Content::Text),
        password_file: declared.password_file,
        tls,
        connect_timeout,
        ca_file: declared.ca_file,
        standbys,
        read,
        displayed: display(url),
    })
}

/// Our own options in a query that has no others.
fn declared(query: &str) -> Result<UrlOptions, String> {
    let all = |error| match error {
        OptionError::Unknown { name, names } => {
            OptionError::Unknown { name, names: [&names[..], &LIBRARY_OPTIONS].concat() }
        }
        other => other,
    };
    let pairs = url_options::pairs(query)?;
    url_options::declared(&pairs).map_err(|error| all(error).to_string())
}

/// What the library says of a URL, without its words around it.
fn explain(error: &tokio_postgres::Error) -> String {
    use std::error::Error as _;
    error.source().map_or_else(|| error.to_string(), ToString::to_string)
}

/// The URL without what could be a password, wherever it stands.
fn display(url: &str) -> String {
    let url = Redaction::NETWORK.url(url);
    let (address, query) = url.split_once('?').unwrap_or((&url, ""));
    let kept: Vec<&str> = query
        .split('&')
        .filter(|pair| !pair.is_empty() && !pair.starts_with("password="))
        .collect();
    match kept.is_empty() {
        true => address.into(),
        false => format!("{address}?{}", kept.join("&")),
    }
}

#[cfg(test)]
mod tests {
    use tokio_postgres::config::Host;

    use super::*;

    fn right(url: &str) -> Options {
        url.parse().unwrap()
    }

    #[test]
    fn a_host_is_enough() {
        let options = right("postgres://localhost");
        assert_eq!(options.config.get_user(), Some("postgres"));
        assert_eq!(options.config.get_connect_timeout(), Some(&Duration::from_secs(5)));
        assert_eq!((options.isolation, options.connections), (Isolation::ReadCommitted, 16));
        assert_eq!(options.content, Content::Text);
    }

    #[test]
    fn every_part_has_its_place() {
        let options = right(
            "postgresql://ann:p%40ss@[::1]:7000/shop?isolation=serializable&connections=4\
             &columns=bytes&password_file=/pw&sslmode=verify-full&ca_file=/ca&connect_timeout=250",
        );
        assert_eq!(options.config.get_user(), Some("ann"));
        assert_eq!(options.config.get_password(), Some(&b"p@ss"[..]));
        assert_eq!(options.config.get_ports(), [7000]);
        assert_eq!(options.config.get_dbname(), Some("shop"));
        assert_eq!(options.config.get_ssl_mode(), SslMode::Require);
        assert_eq!((options.tls, options.ca_file), (Some(Trust::Verified), Some("/ca".into())));
        assert_eq!(options.config.get_connect_timeout(), Some(&Duration::from_millis(250)));
        assert_eq!((options.isolation, options.connections), (Isolation::Serializable, 4));
        assert_eq!(options.content, Content::Bytes);
        assert_eq!(options.password_file, Some("/pw".into()));
    }

    #[test]
    fn standbys_are_servers_beside_the_primary() {
        let options = right("postgres://h/db?standbys=a:7000,[::1],b&read=any");
        let expected = [("a", 7000), ("::1", 5432), ("b", 5432)];
        assert_eq!(options.standbys, expected.map(|(host, port)| (host.to_owned(), port)));
        assert_eq!(
            (options.read, right("postgres://h").read),
            (ReadServer::Any, ReadServer::Primary)
        );
        assert_eq!(right("postgres://h?standbys=a&read=standby").read, ReadServer::Replica);
    }

    #[test]
    fn a_socket_may_be_a_file() {
        for url in ["postgres://%2Frun%2Fpg/db", "postgres:///db?host=/run/pg"] {
            assert_eq!(right(url).config.get_hosts(), [Host::Unix("/run/pg".into())]);
        }
    }

    #[test]
    fn all_but_the_password_shows() {
        for url in [
            "postgres://ann:secret@host/db?connections=2",
            "postgres://host/db?password=secret&connections=2",
        ] {
            let options = right(url);
            assert!(options.to_string().ends_with("host/db?connections=2"), "{options}");
        }
    }

    assay_driver_kit::url_tests! {
        str::parse::<Options>,
        EXAMPLE,
        hidden: [
            ("postgres://ann:secret@host/db?connections=2", "&isolation=x"),
            ("postgres://host/db?password=secret&connections=2", "&isolation=x"),
        ],
        wrong: [
            ("postgres:localhost", "there is no ://"),
            ("http://localhost", "scheme \"http\""),
            ("postgres:///db", "host is missing"),
            ("postgres://h:x", "port"),
            ("postgres://h/?connections=0", "from 1 to 1024"),
            ("postgres://h/?isolation=snapshot", "read-committed or repeatable-read"),
            ("postgres://h/?columns=json", "text or bytes"),
            ("postgres://h/?isolatio=x", "did you mean \"isolation\""),
            ("postgres://h/?fsync=off", "there are isolation, connections"),
            ("postgres://h/?sslmode=prefer", "disable, require or verify-full"),
            ("postgres://h/?ca_file=/ca", "needs sslmode=verify-full"),
            ("postgres://h/?columns", "has no value"),
            ("postgres://h/?read=standby", "needs standbys="),
            ("postgres://h/?standbys=a&read=replica", "primary or standby or any"),
            ("postgres://h/?standbys=a:x", "the port is a number"),
        ],
    }
}

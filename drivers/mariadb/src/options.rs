//! Options of a MariaDB URL.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use assay_driver_kit::address::Address;
use assay_driver_kit::url_options::{Count, Millis};
use assay_sql::Content;
use assay_store::{Isolation, OpenError};
use mysql_async::{Opts, OptsBuilder};
use serde::Deserialize;

/// An example of a right URL, for errors.
const EXAMPLE: &str =
    "mariadb://user:password@127.0.0.1:3306/database?isolation=repeatable-read&connections=16";

const DEFAULT_PORT: u16 = 3306;
/// Connections per worker: each has a thread of the server.
const MOST_CONNECTIONS: usize = 1024;
/// The default timeout for a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// Where a MariaDB or MySQL is, and how to talk to it.
///
/// Parsed from `mariadb://[user[:password]@]host[:port][,host[:port]…]/database[?option=value&…]`,
/// or `mysql://`. Parts with special characters are percent-encoded. Shown without the password.
///
/// Several hosts are nodes that all take writes, as Galera's do; option `host` says which one gets
/// a request.
#[derive(Clone)]
pub struct Options {
    /// What the library needs to know of each host, at least one.
    pub(super) hosts: Vec<Opts>,
    /// Option `isolation`: how transactions are kept apart.
    pub isolation: Isolation,
    /// Option `connections`: how many each worker has with each host.
    pub connections: usize,
    /// Option `columns=text|bytes`: what the columns of records hold.
    pub content: Content,
    /// Option `connect_timeout`, in milliseconds: for a connection with its handshake.
    pub connect_timeout: Duration,
    /// Option `host`.
    pub host: HostChoice,
    displayed: String,
}

/// The options as the URL has them.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct UrlOptions {
    isolation: Option<Isolation>,
    connections: Option<Count<MOST_CONNECTIONS>>,
    columns: Option<Content>,
    socket: Option<String>,
    host: Option<HostChoice>,
    password_file: Option<PathBuf>,
    connect_timeout: Option<Millis>,
}

/// Which of several hosts gets a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub enum HostChoice {
    /// Always the same one of a session: `host=session`.
    #[serde(rename = "session")]
    BySession,
    /// The next one, whichever session asks; a transaction stays where it began: `host=any`.
    #[serde(rename = "any")]
    InTurn,
}

impl FromStr for Options {
    type Err = OpenError;

    fn from_str(url: &str) -> Result<Options, OpenError> {
        let mut address = Address::parse(url, &["mariadb", "mysql"], DEFAULT_PORT, EXAMPLE)?;
        let declared: UrlOptions = address.declared()?;
        address.read_password(declared.password_file.as_deref())?;
        let isolation = declared.isolation.unwrap_or(Isolation::RepeatableRead);
        let database = address.path.trim_end_matches('/');
        if database.is_empty() {
            let reason = "the database is missing: write it behind the host, as in host/test";
            return Err(address.wrong(reason.into()));
        }
        if declared.socket.is_some() && address.hosts.len() > 1 {
            return Err(address.wrong("option socket is for one host".into()));
        }
        let login = OptsBuilder::default()
            .user(Some(address.user.as_deref().unwrap_or("root")))
            .pass(address.password.as_ref())
            .db_name(Some(database))
            // What is measured is what the URL names, not a socket that the server happens to have.
            .prefer_socket(Some(false))
            .socket(declared.socket)
            // An update is found if its row is there, also where it changes nothing.
            .client_found_rows(true)
            // A link keeps its statements itself.
            .stmt_cache_size(Some(0))
            .setup(set_up(isolation));
        let at = |(name, port): &(String, u16)| {
            login.clone().ip_or_hostname(name.as_str()).tcp_port(*port).into()
        };
        Ok(Options {
            hosts: address.hosts.iter().map(at).collect(),
            isolation,
            connections: declared.connections.map_or(16, usize::from),
            content: declared.columns.unwrap_or(Content::Text),
            connect_timeout: declared.connect_timeout.map_or(CONNECT_TIMEOUT, Duration::from),
            host: declared.host.unwrap_or(HostChoice::BySession),
            displayed: address.to_string(),
        })
    }
}

impl fmt::Display for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.displayed)
    }
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options").field("url", &self.displayed).finish_non_exhaustive()
    }
}

/// The set-up statements of a fresh connection, last first.
///
/// Values that do not fit are errors instead of being cut, moments have no time zone, and
/// transactions are kept apart as the URL says, whatever the server's own settings are.
fn set_up(isolation: Isolation) -> Vec<String> {
    let level = match isolation {
        Isolation::ReadCommitted => "READ COMMITTED",
        Isolation::RepeatableRead => "REPEATABLE READ",
        Isolation::Serializable => "SERIALIZABLE",
    };
    vec![
        "SET SESSION sql_mode = 'STRICT_ALL_TABLES,NO_ZERO_DATE,NO_ZERO_IN_DATE,\
         ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION', time_zone = '+00:00', autocommit = 1"
            .into(),
        format!("SET SESSION TRANSACTION ISOLATION LEVEL {level}"),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn right(url: &str) -> Options {
        url.parse().unwrap()
    }

    #[test]
    fn a_host_with_a_database_is_enough() {
        let options = right("mariadb://localhost/test");
        let library = &options.hosts[0];
        assert_eq!((library.ip_or_hostname(), library.tcp_port()), ("localhost", 3306));
        assert_eq!((library.user(), library.pass()), (Some("root"), None));
        assert_eq!((options.isolation, options.connections), (Isolation::RepeatableRead, 16));
        assert!(library.client_found_rows() && !library.prefer_socket());
        assert_eq!(options.content, Content::Text);
        assert_eq!(right("mariadb://localhost/test/").hosts[0].db_name(), Some("test"));
    }

    #[test]
    fn every_part_has_its_place() {
        let options = right(
            "mysql://ann:p%40ss@[::1]:7000/shop?isolation=serializable&connections=4&columns=bytes\
             &connect_timeout=200&socket=/run/my.sock",
        );
        let library = &options.hosts[0];
        assert_eq!((library.user(), library.pass()), (Some("ann"), Some("p@ss")));
        assert_eq!((library.tcp_port(), library.db_name()), (7000, Some("shop")));
        assert_eq!(library.socket(), Some("/run/my.sock"));
        assert_eq!(library.setup()[1], "SET SESSION TRANSACTION ISOLATION LEVEL SERIALIZABLE");
        assert_eq!((options.connections, options.content), (4, Content::Bytes));
        assert_eq!(options.connect_timeout, Duration::from_millis(200));
    }

    #[test]
    fn several_hosts_have_the_same_login_and_database() {
        let options = right("mariadb://ann:p%40ss@one,[::1]:7000,three:1/shop?connections=4");
        let hosts = options.hosts.iter().map(|host| (host.ip_or_hostname(), host.tcp_port()));
        assert_eq!(hosts.collect::<Vec<_>>(), [("one", 3306), ("::1", 7000), ("three", 1)]);
        for host in &options.hosts {
            assert_eq!((host.user(), host.pass()), (Some("ann"), Some("p@ss")));
            assert_eq!(host.db_name(), Some("shop"));
        }
        assert_eq!(options.host, HostChoice::BySession);
        assert_eq!(right("mariadb://a,b/db?host=any").host, HostChoice::InTurn);
    }

    assay_driver_kit::url_tests! {
        str::parse::<Options>,
        EXAMPLE,
        hidden: [("mariadb://ann:secret@host/db?connections=2", "&isolation=x")],
        wrong: [
            ("mariadb:localhost", "there is no ://"),
            ("http://localhost", "scheme \"http\""),
            ("mariadb://h", "the database is missing"),
            ("mariadb://h/", "the database is missing"),
            ("mariadb://h//", "the database is missing"),
            ("mariadb:///db", "the host is missing"),
            ("mariadb://ann@/db", "the host is missing"),
            ("mariadb://h,/db", "the host is missing"),
            ("mariadb://h,i/db?socket=/s", "socket is for one host"),
            ("mariadb://h:x/db", "port"),
            ("mariadb://h/d?connections=0", "from 1 to 1024"),
            ("mariadb://h/d?isolation=snapshot", "read-committed or repeatable-read"),
            ("mariadb://h/d?columns=json", "text or bytes"),
            ("mariadb://h/d?isolatio=x", "did you mean \"isolation\""),
            ("mariadb://h/d?fsync=off", "there are isolation, connections"),
            ("mariadb://h/d?host=all", "session or any"),
            ("mariadb://h/d?columns", "has no value"),
            ("mariadb://h/d?connect_timeout=1s", "option connect_timeout is a number"),
            ("mariadb://h/d?password_file=/none/pw", "password_file /none/pw cannot be read"),
            ("mariadb://a:b@h/d?password_file=/pw", "a password and a password_file"),
        ],
    }
}

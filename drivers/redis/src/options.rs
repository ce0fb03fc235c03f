//! Options of a Redis URL.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use assay_driver_kit::address::{self, Address, TWO_PASSWORDS, authority};
use assay_driver_kit::read_server::ReadServer;
use assay_driver_kit::url_options::{Count, Millis};
use assay_store::OpenError;
use serde::Deserialize;

pub use assay_driver_kit::trust::{Tls, Trust};

/// An example of a right URL, for errors.
const EXAMPLE: &str = "redis://user:password@127.0.0.1:6379/0?connections=1&depth=1024";
/// What option `read` calls the master, a replica, both.
const READ_WORDS: [&str; 3] = ["master", "replica", "any"];
const DEFAULT_PORT: u16 = 6379;
const SENTINEL_PORT: u16 = 26379;
/// Connections per worker: the arrays that waiting uses are as long as this.
pub(super) const MOST_CONNECTIONS: usize = 64;
/// Requests in flight per connection. Redis serves them in order, so more only lengthens a queue.
const MOST_DEPTH: usize = 1 << 20;

/// Where a Redis is, and how to talk to it.
///
/// Parsed from `redis://[user[:password]@]host[:port][/db][?option=value&…]`; `rediss://` is the
/// same over TLS, `valkey://` means `redis://`, and `valkeys://` means `rediss://`. Parts with
/// special characters are percent-encoded. Shown without the password.
///
/// `redis+cluster://host[:port][,host[:port]…]` names some nodes of a Redis Cluster,
/// `redis+sentinel://host[:port][,host[:port]…]/master[/db]` the sentinels that know where the
/// master is. `redis-cluster` and `redis-sentinel` are other spellings, and so are the other three
/// schemes instead of `redis`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// What `host` and `others` are.
    pub topology: Topology,
    /// Name or address: of the server, of one node, of one sentinel.
    pub host: String,
    /// TCP port.
    pub port: u16,
    /// More nodes or sentinels, for when one of them is gone.
    pub others: Vec<(String, u16)>,
    /// Number of the logical database.
    pub database: u32,
    /// The user of the access control list; none means Redis's `default`.
    pub user: Option<String>,
    /// The password in the URL, or one that the caller has from elsewhere.
    pub password: Option<Password>,
    /// Option `password_file`: a file whose first line is the password.
    pub password_file: Option<PathBuf>,
    /// How the connection is protected; none means plain TCP.
    pub tls: Option<Tls>,
    /// Option `connections`: TCP connections per worker.
    pub connections: usize,
    /// Option `depth`: requests in flight per connection on average: all of a worker share the sum.
    pub depth: usize,
    /// Option `index=on|off`: whether inserts keep the sorted set that scans need.
    pub index: Index,
    /// Option `layout=hash|string`: how a record is kept.
    pub shape: RecordShape,
    /// Option `connect_timeout`, in milliseconds: timeout of a connection and each reply of its
    /// greeting; the executor times the workload's requests.
    pub connect_timeout: Duration,
    /// Option `read=master|replica|any`, behind sentinels.
    pub read: ReadServer,
}

/// The options as the URL has them.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct UrlOptions {
    connections: Option<Count<MOST_CONNECTIONS>>,
    depth: Option<Count<MOST_DEPTH>>,
    index: Option<Index>,
    layout: Option<RecordShape>,
    password_file: Option<PathBuf>,
    ca_file: Option<PathBuf>,
    tls_insecure: Option<bool>,
    connect_timeout: Option<Millis>,
    sentinel_password_file: Option<PathBuf>,
    read: Option<ReadWord>,
}

/// What option `read` calls the servers.
#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum ReadWord {
    Master,
    Replica,
    Any,
}

/// What a URL's hosts are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Topology {
    /// The server itself.
    Single,
    /// Nodes of a Redis Cluster, which know the others.
    Cluster,
    /// Sentinels, which know where the master with this name is.
    Sentinel {
        /// The name of the master.
        master: String,
        /// Option `sentinel_password_file`: a file whose first line is the sentinels' password.
        password_file: Option<PathBuf>,
    },
}

assay_driver_kit::option_words! {
    /// Whether inserts keep the sorted set of keys.
    pub enum Index {
        /// As YCSB does: an insert adds the key to it, a delete removes it, a scan reads it.
        Kept => "on",
        /// Inserts are one command cheaper; scans cannot be done.
        Off => "off",
    }

    /// How a record is kept.
    pub enum RecordShape {
        /// A hash of its fields, as YCSB does.
        Hash => "hash",
        /// A string: for tables with a single field.
        String => "string",
    }
}

/// A password that is never printed by accident.
#[derive(Clone, PartialEq, Eq)]
pub struct Password(String);

impl Password {
    /// Hides `text`.
    pub fn new(text: impl Into<String>) -> Password {
        Password(text.into())
    }

    /// The password itself, for the store only.
    pub(super) fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Password {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Password(hidden)")
    }
}

impl Options {
    /// Plain TCP to `host` and `port`, everything else by default.
    pub fn new(host: impl Into<String>, port: u16) -> Options {
        Options {
            topology: Topology::Single,
            host: host.into(),
            port,
            others: Vec::new(),
            database: 0,
            user: None,
            password: None,
            password_file: None,
            tls: None,
            connections: 1,
            depth: 1024,
            index: Index::Kept,
            shape: RecordShape::Hash,
            connect_timeout: Duration::from_secs(5),
            read: ReadServer::Primary,
        }
    }

    /// The hosts with their ports, at least one.
    pub(super) fn hosts(&self) -> impl Iterator<Item = (&str, u16)> {
        let others = self.others.iter().map(|(host, port)| (host.as_str(), *port));
        std::iter::once((self.host.as_str(), self.port)).chain(others)
    }
}

impl FromStr for Options {
    type Err = OpenError;

    fn from_str(url: &str) -> Result<Options, OpenError> {
        let invalid = |reason: &str| address::invalid(url, reason, EXAMPLE);
        let (scheme, _) = url.split_once("://").ok_or_else(|| invalid("there is no ://"))?;
        let (server, topology) = split_scheme(scheme).map_err(|reason| invalid(&reason))?;
        let default_port = match topology {
            Topology::Sentinel { .. } => SENTINEL_PORT,
            Topology::Single | Topology::Cluster => DEFAULT_PORT,
        };
        let address = Address::parse(url, &[scheme], default_port, EXAMPLE)?;
        let declared = address.declared()?;
        let is_encrypted = matches!(server, "rediss" | "valkeys");
        let options = Options::of(&address, declared, is_encrypted, topology)?;
        let reason = match (&options.user, &options.password, &options.password_file) {
            (_, Some(_), Some(_)) => Some(TWO_PASSWORDS),
            (Some(_), None, None) => Some(
                "there is a user without a password; give :password behind it, or password_file",
            ),
            _ => None,
        };
        match reason {
            Some(reason) => Err(address.wrong(reason.into())),
            None => Ok(options),
        }
    }
}

/// The URL without the password; options that have their default value are left out.
impl fmt::Display for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.tls.is_some() { "rediss" } else { "redis" };
        let topology = match &self.topology {
            Topology::Single => "",
            Topology::Cluster => "+cluster",
            Topology::Sentinel { .. } => "+sentinel",
        };
        write!(f, "{scheme}{topology}://")?;
        if let Some(user) = &self.user {
            write!(f, "{user}@")?;
        }
        let hosts: Vec<String> = self.hosts().map(|(host, port)| authority(host, port)).collect();
        f.write_str(&hosts.join(","))?;
        if let Topology::Sentinel { master, .. } = &self.topology {
            write!(f, "/{master}")?;
        }
        if self.database != 0 {
            write!(f, "/{}", self.database)?;
        }
        let default = Options::new("", 0);
        let mut mark = '?';
        let mut option = |f: &mut fmt::Formatter<'_>, name: &str, value: &dyn fmt::Display| {
            let before = std::mem::replace(&mut mark, '&');
            write!(f, "{before}{name}={value}")
        };
        if self.connections != default.connections {
            option(f, "connections", &self.connections)?;
        }
        if self.depth != default.depth {
            option(f, "depth", &self.depth)?;
        }
        if self.index == Index::Off {
            option(f, "index", &self.index.name())?;
        }
        if self.shape == RecordShape::String {
            option(f, "layout", &self.shape.name())?;
        }
        if let Some(place) = ReadServer::ALL[1..].iter().position(|read| *read == self.read) {
            option(f, "read", &READ_WORDS[1 + place])?;
        }
        if self.tls.as_ref().is_some_and(|tls| tls.trust == Trust::Insecure) {
            option(f, "tls_insecure", &"true")?;
        }
        Ok(())
    }
}

/// The scheme of a single server, with what stands behind it.
fn split_scheme(scheme: &str) -> Result<(&str, Topology), String> {
    let unknown = || format!("scheme {scheme:?} is not redis, rediss, valkey or valkeys");
    let (first, rest) = scheme.split_once(['+', '-']).unwrap_or((scheme, ""));
    if !["redis", "rediss", "valkey", "valkeys"].contains(&first) {
        return Err(unknown());
    }
    let topology = match rest {
        "" if first == scheme => Topology::Single,
        "cluster" => Topology::Cluster,
        "sentinel" => Topology::Sentinel { master: String::new(), password_file: None },
        _ => return Err(unknown() + ", nor one of them with +cluster or +sentinel"),
    };
    Ok((first, topology))
}

impl Options {
    fn of(
        address: &Address,
        declared: UrlOptions,
        is_encrypted: bool,
        mut topology: Topology,
    ) -> Result<Options, OpenError> {
        let default = Options::new("", 0);
        let database = database(address, &mut topology)?;
        let mut hosts = address.hosts.clone();
        if hosts.len() > 1 && topology == Topology::Single {
            let reason = "there are several hosts; redis+cluster:// has several nodes";
            return Err(address.wrong(reason.into()));
        }
        let is_of_sentinels = declared.read.is_some() || declared.sentinel_password_file.is_some();
        match &mut topology {
            Topology::Sentinel { password_file, .. } => {
                *password_file = declared.sentinel_password_file;
            }
            _ if is_of_sentinels => {
                let reason = "options read and sentinel_password_file need redis+sentinel://";
                return Err(address.wrong(reason.into()));
            }
            _ => {}
        }
        let trusted = (declared.ca_file, declared.tls_insecure);
        let tls = Tls::of(is_encrypted, trusted, "rediss://");
        let (host, port) = hosts.remove(0);
        Ok(Options {
            topology,
            host,
            port,
            others: hosts,
            database,
            user: address.user.clone(),
            password: address.password.clone().map(Password),
            password_file: declared.password_file,
            tls: tls.map_err(|reason| address.wrong(reason))?,
            connections: declared.connections.map_or(default.connections, usize::from),
            depth: declared.depth.map_or(default.depth, usize::from),
            index: declared.index.unwrap_or(default.index),
            shape: declared.layout.unwrap_or(default.shape),
            connect_timeout: declared
                .connect_timeout
                .map_or(default.connect_timeout, Duration::from),
            read: declared.read.map_or(default.read, |read| match read {
                ReadWord::Master => ReadServer::Primary,
                ReadWord::Replica => ReadServer::Replica,
                ReadWord::Any => ReadServer::Any,
            }),
        })
    }
}

/// The database that the path names, behind the name of the master for sentinels.
fn database(address: &Address, topology: &mut Topology) -> Result<u32, OpenError> {
    let mut database = address.path.as_str();
    if let Topology::Sentinel { master, .. } = topology {
        let (name, rest) = database.split_once('/').unwrap_or((database, ""));
        if name.is_empty() {
            let reason = "the name of the master is missing behind the sentinels";
            return Err(address.wrong(reason.into()));
        }
        *master = name.to_owned();
        database = rest;
    }
    let number = if database.is_empty() { Ok(0) } else { database.parse() };
    match number {
        Err(_) => Err(address.wrong(format!("the database is a number from 0, not {database:?}"))),
        Ok(1..) if *topology == Topology::Cluster => {
            Err(address.wrong("a cluster has database 0 alone".into()))
        }
        Ok(number) => Ok(number),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn right(url: &str) -> Options {
        url.parse().unwrap()
    }

    fn wrong(url: &str) -> String {
        url.parse::<Options>().unwrap_err().to_string()
    }

    #[test]
    fn a_host_is_enough() {
        assert_eq!(right("redis://localhost"), Options::new("localhost", 6379));
        assert_eq!(right("valkey://localhost:7000/"), Options::new("localhost", 7000));
    }

    #[test]
    fn every_part_has_its_place() {
        let options = right(
            "rediss://ann:p%40ss:w@[::1]:7000/3?connections=4&depth=16&index=off&layout=string\
             &ca_file=/a%20b/ca.pem&tls_insecure=true&connect_timeout=250",
        );
        let expected = Options {
            topology: Topology::Single,
            host: "::1".into(),
            port: 7000,
            others: Vec::new(),
            database: 3,
            user: Some("ann".into()),
            password: Some(Password::new("p@ss:w")),
            password_file: None,
            tls: Some(Tls { ca_file: Some("/a b/ca.pem".into()), trust: Trust::Insecure }),
            connections: 4,
            depth: 16,
            index: Index::Off,
            shape: RecordShape::String,
            connect_timeout: Duration::from_millis(250),
            read: ReadServer::Primary,
        };
        assert_eq!(options, expected);
        assert_eq!(
            options.to_string(),
            "rediss://ann@[::1]:7000/3?connections=4&depth=16&index=off&layout=string\
             &tls_insecure=true"
        );
    }

    #[test]
    fn several_hosts_are_nodes_or_sentinels() {
        let options = right("redis+cluster://a:1,[::1]:2,c?connections=2");
        assert_eq!(options.topology, Topology::Cluster);
        let hosts: Vec<(&str, u16)> = options.hosts().collect();
        assert_eq!(hosts, [("a", 1), ("::1", 2), ("c", 6379)]);
        assert_eq!(options.to_string(), "redis+cluster://a:1,[::1]:2,c:6379?connections=2");
        assert_eq!(right("redis-cluster://a/0").topology, Topology::Cluster);
        let options = right("rediss+sentinel://ann:pw@a,b:7/m%201/3?sentinel_password_file=/f");
        let expected =
            Topology::Sentinel { master: "m 1".into(), password_file: Some("/f".into()) };
        assert_eq!(options.topology, expected);
        assert_eq!((options.database, options.tls.is_some()), (3, true));
        assert_eq!(options.to_string(), "rediss+sentinel://ann@a:26379,b:7/m 1/3");
        let options = right("redis+sentinel://a/m?read=any");
        assert_eq!((options.read, right("redis://a").read), (ReadServer::Any, ReadServer::Primary));
        assert_eq!(options.to_string(), "redis+sentinel://a:26379/m?read=any");
        assert!(matches!(right("valkey-sentinel://a/m").topology, Topology::Sentinel { .. }));
    }

    #[test]
    fn a_password_needs_no_user() {
        let options = right("redis://:secret@host");
        assert_eq!((options.user, options.password), (None, Some(Password::new("secret"))));
        let options = right("redis://ann@host?password_file=/pw");
        assert_eq!((options.user, options.password), (Some("ann".into()), None));
        assert_eq!(options.password_file, Some("/pw".into()));
    }

    #[test]
    fn passwords_that_are_not_encoded_never_show() {
        for url in ["redis://ann:12/34@host:x", "redis://ann:12?34@host", "redis://a@b:12/34@host"]
        {
            let displayed = wrong(url).replace(EXAMPLE, "");
            assert!(displayed.contains("write / as %2F"), "{displayed}");
            assert!(!displayed.contains("12") && !displayed.contains("34"), "{displayed}");
        }
        assert!(!wrong("ann:secret@host").contains("secret"));
    }

    assay_driver_kit::url_tests! {
        str::parse::<Options>,
        EXAMPLE,
        hidden: [("redis://ann:secret@host", "/0?depth=0")],
        wrong: [
            ("redis:localhost", "there is no ://"),
            ("http://localhost", "scheme \"http\""),
            ("redis://", "host is missing"),
            ("redis://h:0", "port is a number"),
            ("redis://h:99999", "port is a number"),
            ("redis://[::1", "not closed"),
            ("redis://[::1]6379", "a colon with the port"),
            ("redis://ann@h", "a user without a password"),
            ("redis://ann:x@h?password_file=/pw", "give one of them"),
            ("redis://h?depth=16&depth=1", "is there twice"),
            ("redis://h/x", "database is a number"),
            ("redis://h/?connections=65", "from 1 to 64"),
            ("redis://h/?depth=many", "option depth"),
            ("redis://h/?dept=1", "did you mean \"depth\""),
            ("redis://h/?cluster=1", "there are connections, depth"),
            ("redis://h/?index", "has no value"),
            ("redis://h/?index=maybe", "on or off"),
            ("redis://h/?ca_file=x", "need rediss://"),
            ("redis://h,i", "redis+cluster://"),
            ("redis+cluster://h/1", "database 0 alone"),
            ("redis+sentinel://h", "name of the master is missing"),
            ("redis+sentinel://h/m/x", "database is a number"),
            ("redis+ring://h", "+cluster or +sentinel"),
            ("redis+://h", "+cluster or +sentinel"),
            ("redis://h/?sentinel_password_file=f", "need redis+sentinel://"),
            ("redis://h/?read=replica", "need redis+sentinel://"),
            ("redis+sentinel://h/m?read=standby", "master or replica or any"),
            ("redis://%zz", "hexadecimal"),
            ("redis://%ff", "UTF-8"),
        ],
    }
}

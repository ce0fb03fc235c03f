//! Options of a Redis URL.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use assay_driver_kit::address::{TWO_PASSWORDS, decode, require_encoded_login, split_host};
use assay_driver_kit::read_server::ReadServer;
use assay_store::OpenError;

use assay_model::closest;

pub use assay_driver_kit::trust::Trust;

/// An example of a right URL, for errors.
const EXAMPLE: &str = "redis://user:password@127.0.0.1:6379/0?connections=1&depth=1024";
const OPTION_NAMES: [&str; 10] = [
    "connections",
    "depth",
    "index",
    "layout",
    "password_file",
    "ca_file",
    "tls_insecure",
    "connect_timeout",
    "sentinel_password_file",
    "read",
];
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

/// How a TLS server proves who it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tls {
    /// Option `ca_file`: certificates in PEM that may vouch for the server; none means the
    /// operating system's.
    pub ca_file: Option<PathBuf>,
    /// Option `tls_insecure`.
    pub trust: Trust,
}

/// Whether inserts keep the sorted set of keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Index {
    /// As YCSB does: an insert adds the key to it, a delete removes it, a scan reads it.
    Kept,
    /// Inserts are one command cheaper; scans cannot be done.
    Off,
}

/// How a record is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordShape {
    /// A hash of its fields, as YCSB does.
    Hash,
    /// A string: for tables with a single field.
    String,
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

    fn set(&mut self, name: &str, value: &str) -> Result<(), String> {
        match name {
            _ if !OPTION_NAMES.contains(&name) => return Err(unknown_option(name)),
            "connections" => self.connections = count(name, value, MOST_CONNECTIONS)?,
            "depth" => self.depth = count(name, value, MOST_DEPTH)?,
            "connect_timeout" => {
                let millis = count(name, value, 600_000)?;
                self.connect_timeout = Duration::from_millis(millis as u64);
            }
            "index" => {
                self.index = choose(name, value, &[("on", Index::Kept), ("off", Index::Off)])?;
            }
            "layout" => {
                let shapes = [("hash", RecordShape::Hash), ("string", RecordShape::String)];
                self.shape = choose(name, value, &shapes)?;
            }
            "read" => match self.topology {
                Topology::Sentinel { .. } => self.read = ReadServer::from_word(value, READ_WORDS)?,
                _ => return Err(format!("option {name} needs redis+sentinel://")),
            },
            "password_file" => self.password_file = Some(PathBuf::from(value)),
            "sentinel_password_file" => match &mut self.topology {
                Topology::Sentinel { password_file, .. } => {
                    *password_file = Some(PathBuf::from(value));
                }
                _ => return Err(format!("option {name} needs redis+sentinel://")),
            },
            "ca_file" => self.tls(name)?.ca_file = Some(PathBuf::from(value)),
            "tls_insecure" => {
                let trusts = [("true", Trust::Insecure), ("false", Trust::Verified)];
                self.tls(name)?.trust = choose(name, value, &trusts)?;
            }
            _ => return Err(unknown_option(name)),
        }
        Ok(())
    }

    /// The hosts with their ports, at least one.
    pub(super) fn hosts(&self) -> impl Iterator<Item = (&str, u16)> {
        let others = self.others.iter().map(|(host, port)| (host.as_str(), *port));
        std::iter::once((self.host.as_str(), self.port)).chain(others)
    }

    fn tls(&mut self, name: &str) -> Result<&mut Tls, String> {
        self.tls.as_mut().ok_or_else(|| format!("option {name} needs rediss://"))
    }
}

impl FromStr for Options {
    type Err = OpenError;

    fn from_str(url: &str) -> Result<Options, OpenError> {
        parse(url).map_err(|reason| OpenError::Url {
            url: without_secret(url),
            reason: format!("{reason}; a right one is {EXAMPLE}"),
        })
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
            option(f, "index", &"off")?;
        }
        if self.shape == RecordShape::String {
            option(f, "layout", &"string")?;
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

fn parse(url: &str) -> Result<Options, String> {
    let (scheme, rest) = url.split_once("://").ok_or("there is no ://")?;
    let (scheme, topology) = split_scheme(scheme)?;
    let tls = match scheme {
        "rediss" | "valkeys" => Some(Tls { ca_file: None, trust: Trust::Verified }),
        _ => None,
    };
    require_encoded_login(rest)?;
    let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
    let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
    let (login, addresses) = match authority.rsplit_once('@') {
        Some((login, addresses)) => (Some(login), addresses),
        None => (None, authority),
    };
    let mut options = Options { tls, topology, ..Options::new("", 0) };
    options.set_hosts(addresses)?;
    options.set_path(path)?;
    if let Some(login) = login {
        let (user, password) = login.split_once(':').unwrap_or((login, ""));
        options.user = Some(decode(user)?).filter(|user| !user.is_empty());
        options.password = Some(decode(password)?).filter(|text| !text.is_empty()).map(Password);
    }
    let mut names = Vec::new();
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) =
            pair.split_once('=').ok_or_else(|| format!("option {pair:?} has no value"))?;
        if names.contains(&name) {
            return Err(format!("option {name:?} is there twice"));
        }
        names.push(name);
        options.set(name, &decode(value)?)?;
    }
    match (&options.user, &options.password, &options.password_file) {
        (_, Some(_), Some(_)) => Err(TWO_PASSWORDS.into()),
        (Some(_), None, None) => {
            Err("there is a user without a password; give :password behind it, or password_file"
                .into())
        }
        _ => Ok(options),
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
    fn set_hosts(&mut self, addresses: &str) -> Result<(), String> {
        let default_port = match self.topology {
            Topology::Sentinel { .. } => SENTINEL_PORT,
            Topology::Single | Topology::Cluster => DEFAULT_PORT,
        };
        let mut hosts = Vec::new();
        for address in addresses.split(',') {
            hosts.push(split_host(address, default_port)?);
        }
        if hosts.len() > 1 && self.topology == Topology::Single {
            return Err("there are several hosts; redis+cluster:// has several nodes".into());
        }
        (self.host, self.port) = hosts.remove(0);
        self.others = hosts;
        Ok(())
    }

    /// The name of the master, for sentinels, then the database.
    fn set_path(&mut self, path: &str) -> Result<(), String> {
        let mut database = path;
        if let Topology::Sentinel { master, .. } = &mut self.topology {
            let (name, rest) = path.split_once('/').unwrap_or((path, ""));
            if name.is_empty() {
                return Err("the name of the master is missing behind the sentinels".into());
            }
            *master = decode(name)?;
            database = rest;
        }
        if !database.is_empty() {
            self.database = database
                .parse()
                .map_err(|_| format!("the database is a number from 0, not {database:?}"))?;
        }
        if self.database != 0 && self.topology == Topology::Cluster {
            return Err("a cluster has database 0 alone".into());
        }
        Ok(())
    }
}

/// `host:port`, an IPv6 address in brackets.
pub(super) fn authority(host: &str, port: u16) -> String {
    if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") }
}

fn unknown_option(name: &str) -> String {
    match closest(name, OPTION_NAMES.iter().copied()) {
        Some(near) => format!("there is no option {name:?}; did you mean {near:?}"),
        None => format!("there is no option {name:?}; there are {}", OPTION_NAMES.join(", ")),
    }
}

fn count(name: &str, value: &str, most: usize) -> Result<usize, String> {
    value
        .parse()
        .ok()
        .filter(|number| (1..=most).contains(number))
        .ok_or_else(|| format!("option {name} is a number from 1 to {most}, not {value:?}"))
}

fn choose<T: Copy>(name: &str, value: &str, choices: &[(&str, T)]) -> Result<T, String> {
    match choices.iter().find(|(word, _)| *word == value) {
        Some((_, choice)) => Ok(*choice),
        None => {
            let words: Vec<&str> = choices.iter().map(|(word, _)| *word).collect();
            Err(format!("option {name} is {}, not {value:?}", words.join(" or ")))
        }
    }
}

/// `url` with everything hidden that could be a password, however wrong the URL is otherwise.
fn without_secret(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else { return "…".into() };
    match rest.rsplit_once('@') {
        // An `@` may end a login with such a sign, or stand in an option.
        Some((login, _)) if login.contains('?') => format!("{scheme}://…"),
        Some((login, address)) => {
            let user = login.split_once(':').map_or("", |(user, _)| user);
            format!("{scheme}://{user}:…@{address}")
        }
        None => url.to_owned(),
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
    fn passwords_never_show() {
        let url = "redis://ann:secret@host/0?depth=0";
        assert!(!wrong(url).contains("secret"), "{}", wrong(url));
        let options = right("redis://ann:secret@host");
        assert!(!format!("{options} {options:?}").contains("secret"));
        for url in ["redis://ann:12/34@host:x", "redis://ann:12?34@host", "redis://a@b:12/34@host"]
        {
            let displayed = wrong(url).replace(EXAMPLE, "");
            assert!(displayed.contains("write / as %2F"), "{displayed}");
            assert!(!displayed.contains("12") && !displayed.contains("34"), "{displayed}");
        }
        assert!(!wrong("ann:secret@host").contains("secret"));
    }

    #[test]
    fn wrong_urls_say_what_is_wrong() {
        for (url, part) in [
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
            ("redis://h/?ca_file=x", "needs rediss://"),
            ("redis://h,i", "redis+cluster://"),
            ("redis+cluster://h/1", "database 0 alone"),
            ("redis+sentinel://h", "name of the master is missing"),
            ("redis+sentinel://h/m/x", "database is a number"),
            ("redis+ring://h", "+cluster or +sentinel"),
            ("redis+://h", "+cluster or +sentinel"),
            ("redis://h/?sentinel_password_file=f", "needs redis+sentinel://"),
            ("redis://h/?read=replica", "needs redis+sentinel://"),
            ("redis+sentinel://h/m?read=standby", "master or replica or any"),
            ("redis://%zz", "hexadecimal"),
            ("redis://%ff", "UTF-8"),
        ] {
            let error = wrong(url);
            assert!(error.contains(part), "{url}: {error}");
            assert!(error.contains(EXAMPLE), "{url}: {error}");
        }
    }
}

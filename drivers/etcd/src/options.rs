//! The URL of an etcd, taken apart.

use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use assay_driver_kit::address::Address;
pub use assay_driver_kit::trust::Tls;
use assay_driver_kit::url_options::{Count, Millis};
use assay_store::OpenError;
use serde::Deserialize;

const EXAMPLE: &str = "etcd://127.0.0.1:2379,127.0.0.2:2379/assay?connections=64";
const DEFAULT_PORT: u16 = 2379;
const DEFAULT_PREFIX: &str = "assay";
const DEFAULT_CONNECTIONS: usize = 64;
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// A worker searches all of them for an abandoned ticket.
const MOST_CONNECTIONS: usize = 4096;
/// A server takes no more operations in a transaction, unless its `--max-txn-ops` says otherwise.
const MOST_BATCH: usize = 128;

/// Where an etcd is, and how to use it.
///
/// Parsed from `etcd://[user:password@]host[:port][,host[:port]…][/PREFIX][?option=value&…]`;
/// `etcds://` is the same over TLS.
#[derive(Clone, Debug)]
pub struct Options {
    pub(super) address: Address,
    /// What every key begins with, without a slash at its end.
    pub prefix: String,
    /// How the connections are protected; none means plain TCP.
    pub tls: Option<Tls>,
    /// Option `connections`: requests in flight per worker.
    pub connections: usize,
    /// Option `batch`: the most inserts, or reads, in one request; one means that each is its own.
    pub batch: usize,
    /// Option `read`.
    pub read: Read,
    /// Option `connect_timeout`, in milliseconds: for a connection with its handshake.
    pub connect_timeout: Duration,
}

/// The options as the URL has them.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct UrlOptions {
    connections: Option<Count<MOST_CONNECTIONS>>,
    batch: Option<Count<MOST_BATCH>>,
    read: Option<Read>,
    password_file: Option<PathBuf>,
    ca_file: Option<PathBuf>,
    tls_insecure: Option<bool>,
    connect_timeout: Option<Millis>,
}

assay_driver_kit::option_words! {
    /// Who answers reads and scans.
    pub enum Read {
        /// The member that gets the request, after a majority has confirmed that it has the newest
        /// state.
        Linearizable => "linearizable":
            "reads and scans see every write answered before them: the member that gets one \
             asks the leader for the newest revision, which the leader confirms with a majority",
        /// The member that gets the request, from its own state; it may lag behind.
        Serializable => "serializable":
            "reads and scans see what the member that gets them has, which may lag behind what \
             was answered. Updates and transactions read linearizably all the same",
    }
}

impl FromStr for Options {
    type Err = OpenError;

    fn from_str(url: &str) -> Result<Options, OpenError> {
        let mut address = Address::parse(url, &["etcd", "etcds"], DEFAULT_PORT, EXAMPLE)?;
        let declared: UrlOptions = address.declared()?;
        address.read_password(declared.password_file.as_deref())?;
        let trusted = (declared.ca_file, declared.tls_insecure);
        let tls = Tls::of(address.scheme == "etcds", trusted, "etcds://");
        let tls = tls.map_err(|reason| address.wrong(reason))?;
        if address.user.is_none() && address.password.is_some() {
            return Err(address.wrong("there is a password without a user".into()));
        }
        let prefix = match address.path.trim_matches('/') {
            "" => DEFAULT_PREFIX,
            path => path,
        };
        Ok(Options {
            prefix: prefix.into(),
            tls,
            connections: declared.connections.map_or(DEFAULT_CONNECTIONS, usize::from),
            batch: declared.batch.map_or(1, usize::from),
            read: declared.read.unwrap_or(Read::Linearizable),
            connect_timeout: declared.connect_timeout.map_or(CONNECT_TIMEOUT, Duration::from),
            address,
        })
    }
}

assay_driver_kit::display_address!(Options);

#[cfg(test)]
mod tests {
    use assay_driver_kit::trust::Trust;

    use super::*;

    fn right(url: &str) -> Options {
        url.parse().unwrap()
    }

    #[test]
    fn a_host_is_enough() {
        let options = right("etcd://localhost");
        assert_eq!(options.address.hosts, [("localhost".to_owned(), 2379)]);
        assert_eq!((options.prefix.as_str(), options.connections), ("assay", 64));
        assert_eq!(options.batch, 1);
        assert_eq!((options.read, options.tls), (Read::Linearizable, None));
        assert_eq!((options.address.user, options.address.password), (None, None));
    }

    #[test]
    fn every_part_has_its_place() {
        let options = right(
            "etcds://ann:p%40ss@[::1]:1,two:2/bench/a/?connections=8&read=serializable\
             &connect_timeout=200&ca_file=/ca&tls_insecure=true&batch=16",
        );
        assert_eq!(options.batch, 16);
        assert_eq!(
            [options.address.authority(0), options.address.authority(1)],
            ["[::1]:1", "two:2"]
        );
        assert_eq!((options.prefix.as_str(), options.connections), ("bench/a", 8));
        assert_eq!(
            (options.address.user.as_deref(), options.address.password.as_deref()),
            (Some("ann"), Some("p@ss"))
        );
        assert_eq!(options.read, Read::Serializable);
        assert_eq!(options.connect_timeout, Duration::from_millis(200));
        let tls = Tls { ca_file: Some("/ca".into()), trust: Trust::Insecure };
        assert_eq!(options.tls, Some(tls));
    }

    assay_driver_kit::url_tests! {
        str::parse::<Options>,
        EXAMPLE,
        hidden: [("etcd://ann:secret@host/p?connections=2", "&read=x")],
        wrong: [
            ("etcd:localhost", "there is no ://"),
            ("http://localhost", "scheme \"http\""),
            ("etcd:///p", "the host is missing"),
            ("etcd://h:x/p", "the port is a number"),
            ("etcd://h,:2/p", "the host is missing"),
            ("etcd://:pw@h/p", "a password without a user"),
            ("etcd://h/p?connections=0", "from 1 to 4096"),
            ("etcd://h/p?batch=129", "from 1 to 128"),
            ("etcd://h/p?read=local", "linearizable or serializable"),
            ("etcd://h/p?reads=serializable", "did you mean \"read\""),
            ("etcd://h/p?ca_file=/ca", "need etcds://"),
            ("etcd://h/p?connect_timeout=1s", "connect_timeout"),
        ],
    }
}

//! Options of a memcached URL.

use std::path::PathBuf;
use std::time::Duration;

use assay_driver_kit::address::Address;
use assay_driver_kit::url_options::{Count, Millis};
use assay_store::OpenError;
use serde::Deserialize;

/// An example of a right URL, for errors.
const EXAMPLE: &str = "memcached://127.0.0.1:11211,127.0.0.1:11212/?connections=4";
const DEFAULT_PORT: u16 = 11211;
/// Connections per worker with each server.
const MOST_CONNECTIONS: usize = 64;
/// Requests in flight per connection. A server answers them in order, so more only lengthens a
/// queue.
const MOST_DEPTH: usize = 1 << 20;
/// The number of memcached's threads by default: a connection belongs to one of them.
const CONNECTIONS: usize = 4;
const DEPTH: usize = 1024;
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// Where the servers are, and how to talk to them. Shown without the password.
#[derive(Clone, Debug)]
pub(super) struct Options {
    /// With user and password of `-Y`, or neither.
    pub(super) address: Address,
    /// Option `connections`: per worker, with each server.
    pub(super) connections: usize,
    /// Option `depth`: requests in flight per connection.
    pub(super) depth: usize,
    /// Option `connect_timeout`, in milliseconds.
    pub(super) connect_timeout: Duration,
}

/// The options as the URL has them.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct UrlOptions {
    connections: Option<Count<MOST_CONNECTIONS>>,
    depth: Option<Count<MOST_DEPTH>>,
    password_file: Option<PathBuf>,
    connect_timeout: Option<Millis>,
}

impl Options {
    pub(super) fn parse(url: &str) -> Result<Options, OpenError> {
        let mut address = Address::parse(url, &["memcached"], DEFAULT_PORT, EXAMPLE)?;
        if !address.path.is_empty() {
            let reason = format!("there is no path, but {:?} stands behind the host", address.path);
            return Err(address.wrong(reason));
        }
        let declared: UrlOptions = address.declared()?;
        address.read_password(declared.password_file.as_deref())?;
        if address.user.is_some() != address.password.is_some() {
            return Err(address.wrong("a user needs a password, and the reverse".into()));
        }
        let connections = declared.connections.map_or(CONNECTIONS, usize::from);
        if address.hosts.len() * connections > assay_driver_kit::wire::sockets::MOST {
            let most = assay_driver_kit::wire::sockets::MOST;
            let reason = format!("hosts times connections is more than {most}");
            return Err(address.wrong(reason));
        }
        Ok(Options {
            connections,
            depth: declared.depth.map_or(DEPTH, usize::from),
            connect_timeout: declared.connect_timeout.map_or(CONNECT_TIMEOUT, Duration::from),
            address,
        })
    }
}

assay_driver_kit::display_address!(Options);

#[cfg(test)]
mod tests {
    use super::*;

    fn right(url: &str) -> Options {
        Options::parse(url).unwrap()
    }

    #[test]
    fn a_host_is_enough() {
        let options = right("memcached://localhost");
        assert_eq!(options.address.hosts, [("localhost".to_owned(), 11211)]);
        assert_eq!((options.connections, options.depth), (4, 1024));
        assert!(options.address.user.is_none());
    }

    #[test]
    fn every_part_has_its_place() {
        let options = right(
            "memcached://ann:p%40ss@a:1,[::1]:2,c/?connections=3&depth=7&connect_timeout=250",
        );
        let hosts = [("a".to_owned(), 1), ("::1".to_owned(), 2), ("c".to_owned(), 11211)];
        assert_eq!(options.address.hosts, hosts);
        let login = (options.address.user.as_deref(), options.address.password.as_deref());
        assert_eq!(login, (Some("ann"), Some("p@ss")));
        assert!(!format!("{options} {options:?}").contains("p@ss"));
        assert_eq!((options.connections, options.depth), (3, 7));
        assert_eq!(options.connect_timeout, Duration::from_millis(250));
        assert_eq!(options.address.authority(1), "[::1]:2");
        assert!(!options.to_string().contains("p%40ss"));
    }

    assay_driver_kit::url_tests! {
        Options::parse,
        EXAMPLE,
        wrong: [
            ("memcache://h", "scheme \"memcache\" is not memcached"),
            ("memcached://", "host is missing"),
            ("memcached://h/x", "there is no path"),
            ("memcached://h/?conections=1", "did you mean \"connections\""),
            ("memcached://h/?depth=0", "option depth is a number"),
            ("memcached://ann@h", "a user needs a password"),
            ("memcached://a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q/?connections=64", "more than 1024"),
        ],
    }
}

//! The URL of a server of FMKe, taken apart.

use std::str::FromStr;
use std::time::Duration;

use assay_driver_kit::address::Address;
use assay_driver_kit::url_options::{Count, Millis};
use assay_store::OpenError;
use serde::Deserialize;

const EXAMPLE: &str = "fmke+http://127.0.0.1:9090,127.0.0.2:9090?connections=64";
/// Where the original listens.
const DEFAULT_PORT: u16 = 9090;
const DEFAULT_CONNECTIONS: usize = 64;
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// A worker searches all of them for an abandoned ticket.
const MOST_CONNECTIONS: usize = 4096;

/// Where the servers are, and how to use them.
///
/// Parsed from `fmke+http://host[:port][,host[:port]…][?option=value&…]`.
#[derive(Clone, Debug)]
pub struct Options {
    pub(super) address: Address,
    /// Option `connections`: to each server, per worker.
    pub connections: usize,
    /// Option `timeout`, in milliseconds: for an answer; none means that of the run.
    pub timeout: Option<Duration>,
    /// Option `connect_timeout`, in milliseconds.
    pub connect_timeout: Duration,
}

/// The options as the URL has them.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct UrlOptions {
    connections: Option<Count<MOST_CONNECTIONS>>,
    timeout: Option<Millis>,
    connect_timeout: Option<Millis>,
}

impl FromStr for Options {
    type Err = OpenError;

    fn from_str(url: &str) -> Result<Options, OpenError> {
        let address = Address::parse(url, &["fmke+http"], DEFAULT_PORT, EXAMPLE)?;
        let declared: UrlOptions = address.declared()?;
        if address.user.is_some() || address.password.is_some() {
            return Err(
                address.wrong("it has no user or password: servers of FMKe ask nobody".into())
            );
        }
        if !address.path.is_empty() {
            return Err(address.wrong("its requests have paths of their own".into()));
        }
        Ok(Options {
            connections: declared.connections.map_or(DEFAULT_CONNECTIONS, usize::from),
            timeout: declared.timeout.map(Duration::from),
            connect_timeout: declared.connect_timeout.map_or(CONNECT_TIMEOUT, Duration::from),
            address,
        })
    }
}

assay_driver_kit::display_address!(Options);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_names_servers_and_options() {
        let options: Options = "fmke+http://one,[::1]:8?connections=3&timeout=200".parse().unwrap();
        assert_eq!(
            [options.address.authority(0), options.address.authority(1)],
            ["one:9090", "[::1]:8"]
        );
        assert_eq!((options.connections, options.timeout), (3, Some(Duration::from_millis(200))));
    }

    assay_driver_kit::url_tests! {
        str::parse::<Options>,
        EXAMPLE,
        wrong: [
            ("fmke+http:one", "there is no ://"),
            ("fmke+http://ann:secret@one", "no user or password"),
            ("fmke+http://one/patients", "paths of their own"),
            ("fmke+http://one?connections=0", "from 1 to 4096"),
            ("fmke+http://one?conections=2", "did you mean \"connections\""),
        ],
    }
}

//! The URL of a TiKV cluster, taken apart.

use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use assay_driver_kit::address::Address;
use assay_driver_kit::url_options::{Count, Millis};
use assay_store::OpenError;
use serde::Deserialize;

const EXAMPLE: &str = "tikv://127.0.0.1:2379,127.0.0.2:2379/?mode=optimistic&connections=64";
/// PD's, by which everything else is found.
const DEFAULT_PORT: u16 = 2379;
const DEFAULT_CONNECTIONS: usize = 64;
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);
/// A worker searches all of them for an abandoned ticket.
const MOST_CONNECTIONS: usize = 4096;
/// What one turn of a worker gathers is less.
const MOST_BATCH: usize = 1024;

/// Where a TiKV cluster is, and how to use it.
///
/// Parsed from `tikv://PD[:port][,PD[:port]…]/[?option=value&…]`.
#[derive(Clone, Debug)]
pub struct Options {
    pub(super) address: Address,
    /// The placement drivers, at least one, as `host:port`.
    pub placement_drivers: Vec<String>,
    /// Option `mode`.
    pub mode: Mode,
    /// Option `update`: how an update in raw mode writes what it has changed.
    pub update: Update,
    /// Option `batch`: the most inserts, or reads, that go together; one means each by itself.
    pub batch: usize,
    /// Option `connections`: requests in flight per worker.
    pub connections: usize,
    /// Option `connect_timeout`, in milliseconds: for the first response of a placement driver.
    pub connect_timeout: Duration,
    /// Option `request_timeout`, in milliseconds: after it the client library gives up an answer.
    pub request_timeout: Duration,
    /// Options `ca_file`, `cert_file`, `key_file`; none means plain TCP.
    pub tls: Option<Tls>,
}

/// The files by which connections are protected, all of them in PEM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tls {
    /// Those who may vouch for the servers.
    pub ca_file: PathBuf,
    /// Who we are.
    pub cert_file: PathBuf,
    /// The key that belongs to it.
    pub key_file: PathBuf,
}

assay_driver_kit::option_words! {
    /// Which of TiKV's interfaces is used.
    pub enum Mode {
        /// Keys with values, one request each.
        Raw => "raw":
            "keys with values, without transactions; a cluster that holds data of transactions \
             (TiDB's, for example) must not be issued so",
        /// A transaction for each operation, or for several; conflicts are found as it commits.
        Optimistic => "optimistic":
            "each operation is a transaction with snapshot isolation, committed in two phases; a \
             conflict is found as it commits, then all of it is tried again. A transaction of \
             several has the same, called repeatable-read here; after a conflict it is undone",
        /// A transaction for each operation, or for several; what is to be written is locked first.
        Pessimistic => "pessimistic":
            "each operation is a transaction with snapshot isolation, committed in two phases; \
             what it writes is locked first. Reads take no locks. A transaction of several reads \
             from one snapshot, called repeatable-read here, and updates what is there as it \
             locks it; if that is not what it has read before, there is a conflict, and it is \
             undone",
    }

    /// How an update in raw mode writes what it has changed.
    pub enum Update {
        /// If the record is still what was read: TiKV's compare-and-swap, which wants that all
        /// other writes are atomic as well.
        Cas => "cas":
            "an update writes if the record is still what was read, else again; every write is \
             atomic for that, which costs TiKV a latch",
        /// Unconditionally: concurrent changes are lost.
        Put => "put":
            "an update overwrites what is there with what it has read and changed: of two at once \
             one may be lost",
    }
}

/// The options as the URL has them.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct UrlOptions {
    mode: Option<Mode>,
    update: Option<Update>,
    batch: Option<Count<MOST_BATCH>>,
    connections: Option<Count<MOST_CONNECTIONS>>,
    connect_timeout: Option<Millis>,
    request_timeout: Option<Millis>,
    ca_file: Option<PathBuf>,
    cert_file: Option<PathBuf>,
    key_file: Option<PathBuf>,
}

impl FromStr for Options {
    type Err = OpenError;

    fn from_str(url: &str) -> Result<Options, OpenError> {
        let address = Address::parse(url, &["tikv"], DEFAULT_PORT, EXAMPLE)?;
        let declared: UrlOptions = address.declared()?;
        let mode = declared.mode.unwrap_or(Mode::Optimistic);
        if declared.update.is_some() && mode != Mode::Raw {
            return Err(address.wrong("option update is for mode=raw only".into()));
        }
        let tls = match (declared.ca_file, declared.cert_file, declared.key_file) {
            (None, None, None) => None,
            (Some(ca_file), Some(cert_file), Some(key_file)) => {
                Some(Tls { ca_file, cert_file, key_file })
            }
            _ => {
                let reason = "TLS needs all of ca_file, cert_file, key_file";
                return Err(address.wrong(reason.into()));
            }
        };
        if address.user.is_some() || address.password.is_some() {
            let reason = "TiKV knows no users; it tells clients apart by certificates (cert_file)";
            return Err(address.wrong(reason.into()));
        }
        if !address.path.is_empty() {
            let reason = format!("there is nothing like {:?} behind the hosts", address.path);
            return Err(address.wrong(reason));
        }
        let placement_drivers = address.authorities();
        for (at, one) in placement_drivers.iter().enumerate() {
            if placement_drivers[..at].contains(one) {
                return Err(address.wrong(format!("{one} is named twice")));
            }
        }
        Ok(Options {
            placement_drivers,
            mode,
            update: declared.update.unwrap_or(Update::Cas),
            batch: declared.batch.map_or(1, usize::from),
            connections: declared.connections.map_or(DEFAULT_CONNECTIONS, usize::from),
            connect_timeout: declared.connect_timeout.map_or(CONNECT_TIMEOUT, Duration::from),
            request_timeout: declared.request_timeout.map_or(REQUEST_TIMEOUT, Duration::from),
            tls,
            address,
        })
    }
}

assay_driver_kit::display_address!(Options);

#[cfg(test)]
mod tests {
    use super::*;

    fn right(url: &str) -> Options {
        url.parse().unwrap()
    }

    #[test]
    fn a_host_is_enough() {
        let options = right("tikv://localhost");
        assert_eq!(options.placement_drivers, ["localhost:2379"]);
        assert_eq!((options.mode, options.update), (Mode::Optimistic, Update::Cas));
        assert_eq!((options.connections, options.tls), (64, None));
        assert_eq!(options.batch, 1);
    }

    #[test]
    fn every_part_has_its_place() {
        let options = right(
            "tikv://[::1]:1,two/?mode=raw&update=put&connections=8&batch=16&connect_timeout=200\
             &request_timeout=300&ca_file=/ca&cert_file=/cert&key_file=/key",
        );
        assert_eq!(options.placement_drivers, ["[::1]:1", "two:2379"]);
        assert_eq!((options.mode, options.update), (Mode::Raw, Update::Put));
        assert_eq!((options.connections, options.batch), (8, 16));
        assert_eq!(options.connect_timeout, Duration::from_millis(200));
        assert_eq!(options.request_timeout, Duration::from_millis(300));
        let file = PathBuf::from;
        let tls = Tls { ca_file: file("/ca"), cert_file: file("/cert"), key_file: file("/key") };
        assert_eq!(options.tls, Some(tls));
    }

    assay_driver_kit::url_tests! {
        str::parse::<Options>,
        EXAMPLE,
        wrong: [
            ("tikv:localhost", "there is no ://"),
            ("http://localhost", "scheme \"http\""),
            ("tikv:///", "the host is missing"),
            ("tikv://h:x/", "the port is a number"),
            ("tikv://h/database", "nothing like \"database\""),
            ("tikv://h,h:2379/", "h:2379 is named twice"),
            ("tikv://ann:secret@h/", "knows no users"),
            ("tikv://h/?batch=0", "from 1 to 1024"),
            ("tikv://h/?connections=0", "from 1 to 4096"),
            ("tikv://h/?mode=txn", "raw or optimistic or pessimistic"),
            ("tikv://h/?modes=raw", "did you mean \"mode\""),
            ("tikv://h/?update=put", "for mode=raw only"),
            ("tikv://h/?mode=raw&update=get", "cas or put"),
            ("tikv://h/?ca_file=/ca", "all of ca_file, cert_file, key_file"),
            ("tikv://h/?connect_timeout=1s", "connect_timeout"),
        ],
    }
}

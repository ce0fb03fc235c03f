//! The URL of a NATS server, taken apart.

use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use async_nats::jetstream::stream::StorageType;

use assay_driver_kit::address::Address;
use assay_driver_kit::url_options::{Count, Millis};
use assay_store::OpenError;
use serde::Deserialize;

/// A right URL, for errors.
const EXAMPLE: &str = "nats://127.0.0.1:4222/bench?replicas=1";

/// What a bucket's name begins with when the URL does not say.
const DEFAULT_PREFIX: &str = "assay";

const DEFAULT_PORT: u16 = 4222;
const DEFAULT_CONNECTIONS: usize = 64;
const MOST_CONNECTIONS: usize = 1024;
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(5);

/// The most replicas that JetStream makes.
const MOST_REPLICAS: usize = 5;

/// `nats://[user:password@|token@]host[:port][,host[:port]…][/prefix][?option=value&…]`.
///
/// Options: `connections` (requests in flight per worker, over one TCP connection, 64), `read`
/// (`direct` or `leader`), `replicas` and `storage` (`file` or `memory`) of buckets that are made,
/// `connect_timeout` (milliseconds), `password_file`. Shown without the password.
#[derive(Clone, Debug)]
pub struct Options {
    pub(super) address: Address,
    /// What the names of buckets begin with.
    pub prefix: String,
    /// How many requests of a worker are in flight at most.
    pub connections: usize,
    /// Who answers reads.
    pub read: Source,
    /// On how many servers a bucket is kept, where the URL says so.
    pub replicas: Option<usize>,
    /// Where a bucket is kept, where the URL says so.
    pub storage: Option<StorageType>,
    /// How long a connection may take to be made.
    pub connect_timeout: Duration,
}

/// The options as the URL has them.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct UrlOptions {
    connections: Option<Count<MOST_CONNECTIONS>>,
    read: Option<Source>,
    replicas: Option<Count<MOST_REPLICAS>>,
    storage: Option<StorageWord>,
    password_file: Option<PathBuf>,
    connect_timeout: Option<Millis>,
}

/// Where a bucket is kept.
#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum StorageWord {
    File,
    Memory,
}

assay_driver_kit::option_words! {
    /// Who answers a read.
    pub enum Source {
        /// Any replica.
        Direct => "direct":
            "any replica answers, so a read may miss the last acknowledged writes; with one \
             replica it does not",
        /// The leader of the bucket's stream.
        Leader => "leader":
            "the leader of a bucket answers, as JSON with the record in base64; one that was \
             deposed and does not know it yet may miss the last writes",
    }
}

impl FromStr for Options {
    type Err = OpenError;

    fn from_str(url: &str) -> Result<Options, OpenError> {
        let mut address = Address::parse(url, &["nats"], DEFAULT_PORT, EXAMPLE)?;
        let declared: UrlOptions = address.declared()?;
        address.read_password(declared.password_file.as_deref())?;
        let prefix = match address.path.as_str() {
            "" => DEFAULT_PREFIX.to_owned(),
            path if is_name(path) => path.to_owned(),
            path => {
                return Err(address.wrong(format!(
                    "the buckets' prefix has letters, digits, - and _ only, not {path:?}"
                )));
            }
        };
        Ok(Options {
            address,
            prefix,
            connections: declared.connections.map_or(DEFAULT_CONNECTIONS, usize::from),
            read: declared.read.unwrap_or(Source::Direct),
            replicas: declared.replicas.map(usize::from),
            storage: declared.storage.map(|storage| match storage {
                StorageWord::File => StorageType::File,
                StorageWord::Memory => StorageType::Memory,
            }),
            connect_timeout: declared.connect_timeout.map_or(DEFAULT_TIMEOUT, Duration::from),
        })
    }
}

assay_driver_kit::display_address!(Options);

/// Whether a bucket may have this in its name.
pub(super) fn is_name(text: &str) -> bool {
    let is_right = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    !text.is_empty() && text.bytes().all(is_right)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn right(url: &str) -> Options {
        url.parse().unwrap()
    }

    #[test]
    fn a_host_is_enough() {
        let options = right("nats://localhost");
        assert_eq!(options.address.authorities(), ["localhost:4222"]);
        assert_eq!((options.prefix.as_str(), options.connections), ("assay", 64));
        assert_eq!((options.read, options.replicas), (Source::Direct, None));
        assert_eq!(options.storage, None);
        assert_eq!(options.connect_timeout, Duration::from_secs(5));
    }

    #[test]
    fn every_part_has_its_place() {
        let options = right(
            "nats://ann:pw@a:1,b/shop?connections=4&read=leader&replicas=3&storage=memory\
             &connect_timeout=200",
        );
        assert_eq!(options.address.authorities(), ["a:1", "b:4222"]);
        assert_eq!((options.prefix.as_str(), options.connections), ("shop", 4));
        assert_eq!((options.read, options.replicas), (Source::Leader, Some(3)));
        assert_eq!(options.storage, Some(StorageType::Memory));
        assert_eq!(options.connect_timeout, Duration::from_millis(200));
    }

    assay_driver_kit::url_tests! {
        str::parse::<Options>,
        EXAMPLE,
        hidden: [
            ("nats://ann:secret@host/b", "?read=x"),
            ("nats://secret@host/b", "?read=x"),
        ],
        wrong: [
            ("redis://h", "scheme \"redis\" is not nats"),
            ("nats://h/a.b", "letters, digits, - and _ only"),
            ("nats://h/b?replicas=6", "a number from 1 to 5"),
            ("nats://h/b?storage=disk", "file or memory"),
            ("nats://h/b?read=any", "direct or leader"),
            ("nats://h/b?replica=3", "did you mean \"replicas\""),
        ],
    }
}

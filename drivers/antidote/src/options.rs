//! The URL of an AntidoteDB, taken apart.

use std::str::FromStr;
use std::time::Duration;

use assay_driver_kit::address::Address;
use assay_driver_kit::url_options::{Count, Millis};
use assay_store::OpenError;
use serde::Deserialize;

const EXAMPLE: &str = "antidote://127.0.0.1:8087,127.0.0.2:8087?session=clock&connections=16";
const DEFAULT_PORT: u16 = 8087;
const DEFAULT_BUCKET: &str = "assay";
const DEFAULT_CONNECTIONS: usize = 16;
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// What a node takes in all.
const MOST_CONNECTIONS: usize = 1024;
/// Follows the bucket of a table that was cleared, before a number.
pub(super) const CLEARED: char = '~';

/// Where an AntidoteDB is, and how to use it.
///
/// Parsed from `antidote://host[:port][,host[:port]…][?option=value&…]`.
#[derive(Clone, Debug)]
pub struct Options {
    pub(super) address: Address,
    /// Option `bucket`: the bucket of every object.
    pub bucket: String,
    /// Option `session`.
    pub session: SessionOrder,
    /// Option `host`.
    pub host: HostChoice,
    /// Option `writes`.
    pub writes: Writes,
    /// Option `connections`: per worker with each host, each with one request at a time.
    pub connections: usize,
    /// Option `connect_timeout`, in milliseconds: for a connection with its first answer.
    pub connect_timeout: Duration,
}

/// The options as the URL has them.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct UrlOptions {
    bucket: Option<String>,
    session: Option<SessionOrder>,
    host: Option<HostChoice>,
    writes: Option<Writes>,
    connections: Option<Count<MOST_CONNECTIONS>>,
    connect_timeout: Option<Millis>,
}

assay_driver_kit::option_words! {
    /// What a session sees of its own past.
    pub enum SessionOrder {
        /// Each transaction includes all that the session has seen and written before, at whichever
        /// data centre: the clock of the last commit is passed on.
        Clock => "clock":
            "each transaction includes all that its session has seen and written before, at \
             whichever data centre; it may have to wait there until that has arrived",
        /// Each transaction sees what its data centre has.
        Free => "none":
            "each transaction sees what its data centre has; a session that changes its data \
             centre may not see its own writes",
    }

    /// Whether an update or a delete looks first whether its record is there.
    pub enum Writes {
        /// It does not, and says that it was: one request.
        Blind => "blind":
            "an update or a delete is one request, and says that its record was there: an update \
             of a missing one creates it",
        /// It does, in the same transaction, and writes nothing if it is not: four requests.
        Checked => "checked":
            "an update or a delete is a transaction of four requests, which looks first whether \
             its record is there, and is refused (conflict) if another one wrote it meanwhile",
    }

    /// The host of a request, where there are several.
    pub enum HostChoice {
        /// The first one takes all.
        First => "first": "the first host takes all requests",
        /// A session stays at one of them.
        BySession => "session": "a session stays at one of the hosts",
        /// Each request, or transaction, goes to the next.
        InTurn => "any": "each request, or transaction, goes to the next host",
    }
}

impl Options {
    /// How many of the hosts take requests.
    pub(super) fn hosts(&self) -> usize {
        match self.host {
            HostChoice::First => 1,
            HostChoice::BySession | HostChoice::InTurn => self.address.hosts.len(),
        }
    }
}

impl FromStr for Options {
    type Err = OpenError;

    fn from_str(url: &str) -> Result<Options, OpenError> {
        let address = Address::parse(url, &["antidote"], DEFAULT_PORT, EXAMPLE)?;
        let declared: UrlOptions = address.declared()?;
        if address.user.is_some() || address.password.is_some() {
            return Err(address.wrong("AntidoteDB knows no users and no passwords".into()));
        }
        if !address.path.is_empty() {
            return Err(address.wrong("there is no path; name the bucket with ?bucket=".into()));
        }
        let bucket = declared.bucket.unwrap_or_else(|| DEFAULT_BUCKET.into());
        if bucket.is_empty() || bucket.contains(CLEARED) {
            let reason = format!("option bucket is a name without {CLEARED}, not {bucket:?}");
            return Err(address.wrong(reason));
        }
        Ok(Options {
            bucket,
            session: declared.session.unwrap_or(SessionOrder::Clock),
            host: declared.host.unwrap_or(HostChoice::BySession),
            writes: declared.writes.unwrap_or(Writes::Blind),
            connections: declared.connections.map_or(DEFAULT_CONNECTIONS, usize::from),
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
        url.parse().unwrap()
    }

    #[test]
    fn a_host_is_enough() {
        let options = right("antidote://localhost");
        assert_eq!(options.address.hosts, [("localhost".to_owned(), 8087)]);
        assert_eq!((options.bucket.as_str(), options.connections), ("assay", 16));
        assert_eq!((options.session, options.host), (SessionOrder::Clock, HostChoice::BySession));
        assert_eq!(options.connect_timeout, Duration::from_secs(5));
        assert_eq!(options.writes, Writes::Blind);
    }

    #[test]
    fn every_part_has_its_place() {
        let options = right(
            "antidote://[::1]:1,two:2/?bucket=b&session=none&host=first&connections=3\
             &connect_timeout=200&writes=checked",
        );
        assert_eq!(
            [options.address.authority(0), options.address.authority(1)],
            ["[::1]:1", "two:2"]
        );
        assert_eq!((options.bucket.as_str(), options.connections), ("b", 3));
        assert_eq!((options.session, options.host), (SessionOrder::Free, HostChoice::First));
        assert_eq!(options.connect_timeout, Duration::from_millis(200));
        assert_eq!((options.hosts(), options.writes), (1, Writes::Checked));
        assert_eq!(right("antidote://a,b?host=any").hosts(), 2);
    }

    assay_driver_kit::url_tests! {
        str::parse::<Options>,
        EXAMPLE,
        wrong: [
            ("antidote:localhost", "there is no ://"),
            ("antidote://", "the host is missing"),
            ("antidote://h:x", "the port is a number"),
            ("antidote://ann:secret@h", "no users and no passwords"),
            ("antidote://h/db", "name the bucket with ?bucket="),
            ("antidote://h?bucket=", "a name without ~"),
            ("antidote://h?bucket=a~1", "a name without ~"),
            ("antidote://h?connections=1025", "from 1 to 1024"),
            ("antidote://h?session=off", "clock or none"),
            ("antidote://h?writes=no", "blind or checked"),
            ("antidote://h?host=second", "first or session or any"),
            ("antidote://h?sesion=none", "did you mean \"session\""),
        ],
    }
}

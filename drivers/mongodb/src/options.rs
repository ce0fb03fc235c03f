//! The URL of a MongoDB server, taken apart.

use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use mongodb::options::{
    Acknowledgment, ClientOptions, Credential, ReadConcern, ReadPreference, SelectionCriteria,
    ServerAddress, WriteConcern,
};

use assay_driver_kit::address::Address;
use assay_driver_kit::url_options::{Count, Millis};
use assay_store::OpenError;
use serde::Deserialize;

/// A right URL, for errors.
const EXAMPLE: &str = "mongodb://127.0.0.1:27017/bench?w=majority";

const DEFAULT_PORT: u16 = 27017;
const DEFAULT_CONNECTIONS: usize = 16;
const MOST_CONNECTIONS: usize = 1024;
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(5);

/// How long a request waits for a server to be there, so that it is soon refused where none is.
const SELECTION_TIMEOUT: Duration = Duration::from_millis(500);

/// `mongodb://[user:password@]host[:port][,host[:port]…]/database[?option=value&…]`.
///
/// Options: `connections` (per worker, 16), `keys` (`text` or `bytes`), `w` (`majority` or a
/// number), `journal`, `read_concern`, `read_preference`, `replica_set`, `auth_source`,
/// `connect_timeout` (milliseconds), `password_file`. Shown without the password.
#[derive(Clone, Debug)]
pub struct Options {
    pub(super) address: Address,
    /// The database's name.
    pub database: String,
    /// Connections per worker.
    pub connections: usize,
    /// What a record's key is kept as.
    pub keys: Keys,
    /// How many members have a write before it is acknowledged; the server's choice if `None`.
    pub w: Option<Acknowledgment>,
    /// Whether an acknowledged write is in the journal; the server's choice if `None`.
    pub journal: Option<bool>,
    /// What a read may see; the server's choice if `None`.
    pub read_concern: Option<String>,
    /// Who answers reads; the primary if `None`.
    pub read_preference: Option<Preference>,
    /// The name of the replica set that the hosts are members of.
    pub replica_set: Option<String>,
    /// The database that knows the user.
    pub auth_source: Option<String>,
    /// How long a connection may take to be made.
    pub connect_timeout: Duration,
}

/// The options as the URL has them.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct UrlOptions {
    connections: Option<Count<MOST_CONNECTIONS>>,
    keys: Option<Keys>,
    w: Option<String>,
    journal: Option<bool>,
    read_concern: Option<ReadConcernWord>,
    read_preference: Option<Preference>,
    replica_set: Option<String>,
    auth_source: Option<String>,
    password_file: Option<PathBuf>,
    connect_timeout: Option<Millis>,
}

assay_driver_kit::option_words! {
    /// What a record's key is kept as.
    pub enum Keys {
        /// A string, as YCSB's binding keeps it.
        Text => "text",
        /// Binary, which any key can be, and which sorts by its length first.
        Bytes => "bytes",
    }

    /// Who answers reads.
    pub enum Preference {
        /// The primary alone.
        Primary => "primary": "the primary answers reads",
        /// The primary, or a secondary if there is none.
        PrimaryPreferred => "primaryPreferred":
            "secondaries answer reads while there is no primary; then they may miss the last \
             writes",
        /// Secondaries alone.
        Secondary => "secondary":
            "secondaries answer reads, which may miss the last acknowledged writes",
        /// A secondary, or the primary if there is none.
        SecondaryPreferred => "secondaryPreferred":
            "secondaries answer reads, which may miss the last acknowledged writes",
        /// Whoever is near.
        Nearest => "nearest":
            "secondaries answer reads, which may miss the last acknowledged writes",
    }

    /// What a read may see.
    enum ReadConcernWord {
        Local => "local",
        Available => "available",
        Majority => "majority",
        Linearizable => "linearizable",
        Snapshot => "snapshot",
    }
}

impl Preference {
    fn library(self) -> ReadPreference {
        match self {
            Preference::Primary => ReadPreference::Primary,
            Preference::PrimaryPreferred => ReadPreference::PrimaryPreferred { options: None },
            Preference::Secondary => ReadPreference::Secondary { options: None },
            Preference::SecondaryPreferred => ReadPreference::SecondaryPreferred { options: None },
            Preference::Nearest => ReadPreference::Nearest { options: None },
        }
    }
}

impl FromStr for Options {
    type Err = OpenError;

    fn from_str(url: &str) -> Result<Options, OpenError> {
        let mut address = Address::parse(url, &["mongodb"], DEFAULT_PORT, EXAMPLE)?;
        let declared: UrlOptions = address.declared()?;
        address.read_password(declared.password_file.as_deref())?;
        let w = declared.w.as_deref().map(acknowledgment).transpose();
        let w = w.map_err(|reason| address.wrong(reason))?;
        let database = address.path.clone();
        if database.is_empty() {
            return Err(address.wrong("the database is missing".into()));
        }
        if database.contains(['/', '\\', '.', ' ', '"', '$', '\0']) {
            let reason = format!("{database:?} is no name that a database may have");
            return Err(address.wrong(reason));
        }
        Ok(Options {
            address,
            database,
            connections: declared.connections.map_or(DEFAULT_CONNECTIONS, usize::from),
            keys: declared.keys.unwrap_or(Keys::Text),
            w,
            journal: declared.journal,
            read_concern: declared.read_concern.map(|word| word.name().to_owned()),
            read_preference: declared.read_preference,
            replica_set: declared.replica_set,
            auth_source: declared.auth_source,
            connect_timeout: declared.connect_timeout.map_or(DEFAULT_TIMEOUT, Duration::from),
        })
    }
}

fn acknowledgment(text: &str) -> Result<Acknowledgment, String> {
    match text.parse() {
        Ok(0) => Err("option w is majority or a number from 1: a write whose answer is not \
                      awaited is no measurement"
            .into()),
        Ok(nodes) => Ok(Acknowledgment::Nodes(nodes)),
        Err(_) if text == "majority" => Ok(Acknowledgment::Majority),
        Err(_) => Err(format!("option w is majority or a number from 1, not {text:?}")),
    }
}

impl Options {
    /// What the library wants to know. It neither retries nor waits long for a server.
    pub(super) fn library(&self) -> ClientOptions {
        let mut options = ClientOptions::default();
        let hosts = self.address.hosts.iter();
        options.hosts = hosts
            .map(|(host, port)| ServerAddress::Tcp { host: host.clone(), port: Some(*port) })
            .collect();
        options.app_name = Some("assay".into());
        options.retry_reads = Some(false);
        options.retry_writes = Some(false);
        options.max_adaptive_retries = Some(0);
        options.connect_timeout = Some(self.connect_timeout);
        options.server_selection_timeout = Some(self.connect_timeout.min(SELECTION_TIMEOUT));
        options.max_pool_size = u32::try_from(self.connections).ok();
        options.min_pool_size = options.max_pool_size;
        options.repl_set_name = self.replica_set.clone();
        if self.w.is_some() || self.journal.is_some() {
            let mut concern = WriteConcern::default();
            concern.w = self.w.clone();
            concern.journal = self.journal;
            options.write_concern = Some(concern);
        }
        options.read_concern = self.read_concern.as_ref().map(ReadConcern::custom);
        options.selection_criteria = self
            .read_preference
            .map(|preference| SelectionCriteria::ReadPreference(preference.library()));
        if let Some(user) = &self.address.user {
            let mut credential = Credential::default();
            credential.username = Some(user.clone());
            credential.password = self.address.password.clone();
            credential.source = Some(self.auth_source.clone().unwrap_or_else(|| "admin".into()));
            options.credential = Some(credential);
        }
        options
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
    fn a_host_with_a_database_is_enough() {
        let options = right("mongodb://localhost/test");
        assert_eq!(options.address.authorities(), ["localhost:27017"]);
        assert_eq!((options.database.as_str(), options.connections), ("test", 16));
        assert_eq!((options.keys, options.read_preference), (Keys::Text, None));
        let library = options.library();
        assert_eq!((library.retry_reads, library.retry_writes), (Some(false), Some(false)));
        assert_eq!(library.max_adaptive_retries, Some(0));
        assert!(library.write_concern.is_none() && library.credential.is_none());
    }

    #[test]
    fn every_part_has_its_place() {
        let options = right(
            "mongodb://ann:p%40ss@a:1,b/shop?connections=4&keys=bytes&w=majority&journal=true\
             &read_concern=majority&read_preference=secondaryPreferred&replica_set=rs0\
             &auth_source=shop&connect_timeout=200",
        );
        let library = options.library();
        assert_eq!((library.hosts.len(), library.max_pool_size), (2, Some(4)));
        let concern = library.write_concern.unwrap();
        assert_eq!((concern.w, concern.journal), (Some(Acknowledgment::Majority), Some(true)));
        assert_eq!(library.read_concern, Some(ReadConcern::majority()));
        let criteria = Preference::SecondaryPreferred.library();
        let criteria = Some(SelectionCriteria::ReadPreference(criteria));
        assert_eq!(library.selection_criteria, criteria);
        assert_eq!(library.repl_set_name.as_deref(), Some("rs0"));
        let credential = library.credential.unwrap();
        assert_eq!(credential.password.as_deref(), Some("p@ss"));
        assert_eq!(credential.source.as_deref(), Some("shop"));
        assert_eq!(library.connect_timeout, Some(Duration::from_millis(200)));
        assert_eq!(library.server_selection_timeout, Some(Duration::from_millis(200)));
        assert_eq!(options.keys, Keys::Bytes);
    }

    assay_driver_kit::url_tests! {
        str::parse::<Options>,
        EXAMPLE,
        hidden: [("mongodb://ann:secret@host/db", "?w=x")],
        wrong: [
            ("mysql://h/d", "scheme \"mysql\" is not mongodb"),
            ("mongodb://h", "the database is missing"),
            ("mongodb://h/a.b", "no name that a database may have"),
            ("mongodb://h/d?w=0", "no measurement"),
            ("mongodb://h/d?w=all", "majority or a number"),
            ("mongodb://h/d?journal=yes", "true or false"),
            ("mongodb://h/d?read_preference=any", "primaryPreferred"),
            ("mongodb://h/d?keys=hex", "text or bytes"),
            ("mongodb://h/d?retryWrites=true", "there is no option \"retryWrites\""),
            ("mongodb://h/d?read_concerns=local", "did you mean \"read_concern\""),
        ],
    }
}

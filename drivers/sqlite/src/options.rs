//! Options of a URL of SQLite.

use std::path::PathBuf;
use std::time::Duration;

use assay_driver_kit::embedded::address::{Address, ByteCount};
use assay_model::Setting;
use assay_store::{Isolation, OpenError};
use serde::Deserialize;

/// How long a writer waits for its turn where the URL does not say it.
const TIMEOUT: Duration = Duration::from_secs(5);

/// The longest wait for the turn to write that a URL may set, in milliseconds.
const LONGEST_WAIT_MS: u64 = 600_000;

/// The page cache of each connection where the URL does not say it: SQLite's own default is 2 MiB,
/// which a hundred thousand records of YCSB overflow fifty times.
const CACHE_BYTES: u64 = 64 << 20;

/// Where a database is and how it is to be kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Options {
    pub(super) path: PathBuf,
    pub(super) synchronous: Synchronous,
    pub(super) journal: Journal,
    pub(super) begin: Begin,
    /// How long a writer waits for those before it.
    pub(super) timeout: Duration,
    pub(super) cache_bytes: u64,
}

/// The options as the URL has them.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct UrlOptions {
    synchronous: Option<Synchronous>,
    journal: Option<Journal>,
    busy_timeout: Option<Wait>,
    #[serde(rename = "isolation")]
    _isolation: Option<OnlyIsolation>,
    begin: Option<Begin>,
    cache: Option<ByteCount>,
}

/// The only isolation that there is.
#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum OnlyIsolation {
    Serializable,
}

/// A wait, which URLs have in milliseconds.
#[derive(Deserialize)]
#[serde(try_from = "String")]
struct Wait(Duration);

impl TryFrom<String> for Wait {
    type Error = String;

    fn try_from(text: String) -> Result<Wait, String> {
        let millis = text.parse().ok().filter(|millis| *millis <= LONGEST_WAIT_MS);
        let wait = millis.map(|millis| Wait(Duration::from_millis(millis)));
        wait.ok_or_else(|| format!("write it in milliseconds, up to {LONGEST_WAIT_MS}"))
    }
}

assay_driver_kit::option_words! {
    /// When SQLite waits for the disk, in its words.
    pub(super) enum Synchronous {
        Normal => "normal",
        Off => "off",
        Full => "full",
        Extra => "extra",
    }

    /// How a transaction that does not reach its end is undone, in SQLite's words.
    pub(super) enum Journal {
        /// New pages go to a log beside the file: readers and a writer do not meet.
        Wal => "wal",
        /// Old pages go to a journal that is deleted at the end: a writer keeps readers out.
        Delete => "delete",
    }

    /// When a transaction takes its turn to write.
    pub(super) enum Begin {
        /// As it begins.
        Immediate => "immediate",
        /// With its first write.
        Deferred => "deferred",
    }
}

impl Begin {
    /// The statement that begins a transaction.
    pub(super) fn statement(self) -> &'static str {
        match self {
            Begin::Immediate => "BEGIN IMMEDIATE",
            Begin::Deferred => "BEGIN DEFERRED",
        }
    }
}

impl Options {
    /// What `sqlite:PATH?option=value&…` says.
    pub(super) fn parse(url: &str) -> Result<Options, OpenError> {
        let address = Address::parse(url)?;
        if address.path.as_os_str() == ":memory:" {
            return Err(address.wrong(
                "in memory every connection has a database of its own, so workers would not see \
                 each other's records; give a path, with synchronous=off for the fastest, or use \
                 memory:"
                    .into(),
            ));
        }
        let declared: UrlOptions = address.declared()?;
        let cache_bytes = declared.cache.map_or(CACHE_BYTES, |ByteCount(bytes)| bytes);
        if cache_bytes < 1 << 20 {
            return Err(address.wrong("cache is below 1MiB".into()));
        }
        Ok(Options {
            synchronous: declared.synchronous.unwrap_or(Synchronous::Normal),
            journal: declared.journal.unwrap_or(Journal::Wal),
            begin: declared.begin.unwrap_or(Begin::Immediate),
            timeout: declared.busy_timeout.map_or(TIMEOUT, |Wait(timeout)| timeout),
            cache_bytes,
            path: address.path,
        })
    }

    /// The settings that decide the figures, as SQLite reports them: its name of the journal mode,
    /// its number for how synchronous it is.
    pub(super) fn settings(&self, journal: &str, synchronous: i64) -> Vec<Setting> {
        let (durability, loss) = durability(journal, synchronous);
        let word = ["off", "normal", "full", "extra"]
            .get(usize::try_from(synchronous).unwrap_or(usize::MAX))
            .map_or_else(|| synchronous.to_string(), |word| (*word).to_string());
        let meets = match journal {
            "wal" => "a log beside the file: readers and the one writer do not meet",
            _ => "a rollback journal: a commit waits for readers, and keeps them out",
        };
        let takes = match self.begin {
            Begin::Immediate => "a transaction takes its turn to write as it begins",
            Begin::Deferred => {
                "a transaction takes its turn to write with its first write, and is refused as a \
                 conflict if another has written since it read"
            }
        };
        vec![
            Setting::new("server", format!("sqlite {}", rusqlite::version()), "in this process"),
            Setting::new("journal_mode", journal, meets),
            Setting::new("synchronous", word, "when SQLite waits for the disk"),
            Setting::new("durability", durability, loss),
            Setting::new(
                "isolation",
                Isolation::Serializable.name(),
                "one writer at a time; readers see one moment of the database",
            ),
            Setting::new("begin", self.begin.statement(), takes),
            Setting::new(
                "busy_timeout",
                format!("{} ms", self.timeout.as_millis()),
                "the longest wait for the turn to write; then it is refused as busy",
            ),
            Setting::new(
                "cache",
                format!("{} MiB", self.cache_bytes >> 20),
                "pages kept in memory by each connection; the operating system caches too",
            ),
        ]
    }
}

/// What an answered commit survives.
fn durability(journal: &str, synchronous: i64) -> (&'static str, &'static str) {
    match (journal, synchronous) {
        (_, 0) => (
            "process",
            "a commit survives the end of this process; a loss of power may damage the database",
        ),
        ("wal", 1) => (
            "process",
            "a commit survives the end of this process (kill -9), but a loss of power may take \
             the last ones; the database stays whole",
        ),
        ("wal", _) => ("every commit", "the log is on disk before a commit is answered"),
        (_, 1) => (
            "nearly every commit",
            "a loss of power at a bad moment may take the last commit, or rarely damage the \
             database",
        ),
        (_, _) => ("every commit", "the file is on disk before a commit is answered"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_says_how_the_database_is_kept() {
        let options = Options::parse("sqlite:/d/x.db").unwrap();
        let expected = Options {
            path: "/d/x.db".into(),
            synchronous: Synchronous::Normal,
            journal: Journal::Wal,
            begin: Begin::Immediate,
            timeout: Duration::from_secs(5),
            cache_bytes: CACHE_BYTES,
        };
        assert_eq!(options, expected);
        let url = "sqlite:x?synchronous=extra&journal=delete&busy_timeout=20&begin=deferred\
                   &isolation=serializable&cache=1MiB";
        let expected = Options {
            path: "x".into(),
            synchronous: Synchronous::Extra,
            journal: Journal::Delete,
            begin: Begin::Deferred,
            timeout: Duration::from_millis(20),
            cache_bytes: 1 << 20,
        };
        assert_eq!(Options::parse(url).unwrap(), expected);
    }

    #[test]
    fn a_wrong_url_says_what_is_wrong() {
        for (url, reported) in [
            ("sqlite:", "it names no path; write sqlite:PATH"),
            ("sqlite::memory:", "every connection has a database of its own"),
            ("sqlite:x?synchronous=yes", "it can be normal or off or full or extra"),
            ("sqlite:x?isolation=read-committed", "it can be serializable"),
            ("sqlite:x?busy_timeout=5s", "write it in milliseconds, up to 600000"),
            ("sqlite:x?cache=1", "cache is below 1MiB"),
            ("sqlite:x?sync=off", "option \"sync\" is unknown; "),
        ] {
            let error = Options::parse(url).unwrap_err().to_string();
            assert!(error.contains(reported), "{url}: {error}");
        }
    }

    #[test]
    fn what_survives_follows_from_journal_with_synchronous() {
        for (journal, synchronous, value) in [
            ("wal", 0, "process"),
            ("wal", 1, "process"),
            ("wal", 2, "every commit"),
            ("delete", 1, "nearly every commit"),
            ("delete", 3, "every commit"),
        ] {
            assert_eq!(durability(journal, synchronous).0, value, "{journal} {synchronous}");
        }
    }
}

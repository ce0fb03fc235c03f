//! Opens a store by its URL, out of the list of those that there are.

use std::sync::Arc;

use assay_model::{Nanos, Seed, closest, quantity};
use assay_store::memory::Memory;
use assay_store::null::{Clock, Null};
use assay_store::{OpenError, Store};

/// The longest that the null store pretends to work on a request: nobody measures a slower one.
const SPIN_MAX: Nanos = Nanos::from_secs(60);

/// What a URL cannot say.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// A monotonic clock in nanoseconds, for stores that pretend to work for a while.
    pub clock: Clock,
    /// The run's seed, for stores that draw; a store's URL may name another.
    pub seed: Seed,
}

/// The scheme of the store that is used when none is named: on disk, in this process.
pub const EMBEDDED_DEFAULT: &str = "fjall";

/// A store as `assay stores` shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Listed {
    /// What its URL begins with.
    pub scheme: &'static str,
    /// What it is, in one line.
    pub summary: &'static str,
    /// How its URL is written, with every option.
    pub url: &'static str,
    /// What an acknowledged write survives.
    pub durability: &'static str,
    /// The cargo feature that brings it; `None` if it is always there.
    pub feature: Option<&'static str>,
    /// Whether this binary has it.
    pub is_compiled_in: bool,
}

/// Every store that Assay knows, whether compiled in or not.
pub fn list() -> Vec<Listed> {
    KNOWN.iter().map(|known| known.listed).collect()
}

/// Opens the store that `url` names. Nothing is created in it before it is prepared, except that a
/// store on this machine's disk makes its files.
///
/// # Errors
/// If no store has that scheme, this binary was built without it, or it does not open.
pub fn open(url: &str, options: &Options) -> Result<Arc<dyn Store>, OpenError> {
    let scheme = url.split_once(':').map_or(url, |(scheme, _)| scheme);
    let known = KNOWN.iter().find(|known| schemes(known).any(|other| other == scheme));
    let known = known.ok_or_else(|| unknown(url, scheme))?;
    (known.open)(url, options)
}

struct Known {
    listed: Listed,
    /// Other spellings of the scheme.
    aliases: &'static [&'static str],
    open: Open,
}

type Open = fn(&str, &Options) -> Result<Arc<dyn Store>, OpenError>;

fn schemes(known: &Known) -> impl Iterator<Item = &'static str> {
    std::iter::once(known.listed.scheme).chain(known.aliases.iter().copied())
}

const KNOWN: &[Known] = &[
    Known {
        listed: Listed {
            scheme: "fjall",
            summary: "log-structured merge tree in this process, in a directory",
            url: "fjall:PATH?durability=process|fsync&cache=256MiB",
            durability: "process: survives kill -9, not a power cut; fsync: survives both",
            feature: Some("fjall"),
            is_compiled_in: cfg!(feature = "fjall"),
        },
        aliases: &[],
        open: open_fjall,
    },
    Known {
        listed: Listed {
            scheme: "redb",
            summary: "copy-on-write B-tree in this process, in one file",
            url: "redb:PATH?durability=fsync|none&cache=256MiB",
            durability: "fsync: survives kill -9 and a power cut; none: survives neither",
            feature: Some("redb"),
            is_compiled_in: cfg!(feature = "redb"),
        },
        aliases: &[],
        open: open_redb,
    },
    Known {
        listed: Listed {
            scheme: "sqlite",
            summary: "tables in this process, in one file: transactions, logical queries",
            url: "sqlite:PATH?synchronous=normal|off|full|extra&journal=wal|delete\
                  &busy_timeout=5000&begin=immediate|deferred&isolation=serializable&cache=64MiB",
            durability: "normal: survives kill -9, not a power cut; full, extra: survive both",
            feature: Some("sqlite"),
            is_compiled_in: cfg!(feature = "sqlite"),
        },
        aliases: &[],
        open: open_sqlite,
    },
    Known {
        listed: Listed {
            scheme: "mariadb",
            summary: "MariaDB or MySQL, over connections of one transaction each",
            url: "mariadb://USER:PASSWORD@HOST:PORT/DATABASE?connections=16\
                  &isolation=read-committed|repeatable-read|serializable&columns=text|bytes\
                  &socket=FILE&password_file=FILE&connect_timeout=5000",
            durability: "as the server is set; each report says what a crash would lose",
            feature: Some("mariadb"),
            is_compiled_in: cfg!(feature = "mariadb"),
        },
        aliases: &["mysql"],
        open: open_mariadb,
    },
    Known {
        listed: Listed {
            scheme: "redis",
            summary: "Redis or Valkey, over pipelined connections; rediss:// is over TLS",
            url: "redis://USER:PASSWORD@HOST:PORT/DB?connections=1&depth=1024&index=on|off\
                  &layout=hash|string&password_file=FILE&connect_timeout=5000\
                  &ca_file=FILE&tls_insecure=true",
            durability: "as the server is set; each report says what a crash would lose",
            feature: Some("redis"),
            is_compiled_in: cfg!(feature = "redis"),
        },
        aliases: &["rediss", "valkey", "valkeys"],
        open: open_redis,
    },
    Known {
        listed: Listed {
            scheme: "postgres",
            summary: "PostgreSQL, over a pool of connections with prepared statements",
            url: "postgres://USER:PASSWORD@HOST:PORT/DB?isolation=read-committed|repeatable-read\
                  |serializable&connections=16&columns=text|bytes&password_file=FILE\
                  &connect_timeout=5000&sslmode=disable|require|verify-full&ca_file=FILE",
            durability: "as the server is set; each report says what a crash would lose",
            feature: Some("postgres"),
            is_compiled_in: cfg!(feature = "postgres"),
        },
        aliases: &["postgresql"],
        open: open_postgres,
    },
    Known {
        listed: Listed {
            scheme: "memory",
            summary: "records in this process's memory, without a disk",
            url: "memory:",
            durability: "none: everything ends with the process",
            feature: None,
            is_compiled_in: true,
        },
        aliases: &[],
        open: open_memory,
    },
    Known {
        listed: Listed {
            scheme: "sick",
            summary: "simulated, slow or ill in known ways: tests the instrument, in told time",
            url: "sick:PRESET|FILE.toml|FILE.yml?seed=7&KEY=VALUE",
            durability: "none: everything ends with the process",
            feature: None,
            is_compiled_in: true,
        },
        aliases: &[],
        open: open_sick,
    },
    Known {
        listed: Listed {
            scheme: "null",
            summary: "answers at once, keeps nothing: the floor of the instrument",
            url: "null:?spin=5us",
            durability: "none: nothing is kept",
            feature: None,
            is_compiled_in: true,
        },
        aliases: &[],
        open: open_null,
    },
];

fn unknown(url: &str, scheme: &str) -> OpenError {
    let names = || KNOWN.iter().flat_map(schemes);
    let reason = match closest(scheme, names()) {
        Some(near) => format!("there is no store {scheme:?}; did you mean {near}:?"),
        None => {
            let names: Vec<&str> = names().collect();
            format!("there is no store {scheme:?}; there are {}", names.join(", "))
        }
    };
    OpenError::Url { url: without_secrets(url), reason }
}

/// What stands before an `@` in the authority may hold a password.
pub fn without_secrets(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else { return url.into() };
    let authority = rest.split(['/', '?']).next().unwrap_or_default();
    match authority.rfind('@') {
        Some(at) => format!("{scheme}://…{}", &rest[at..]),
        None => url.into(),
    }
}

/// The error of a binary that was built without the store. Reached only without the feature.
#[allow(dead_code, reason = "with all features there is nothing that is not compiled in")]
fn not_compiled_in(url: &str, feature: &str) -> OpenError {
    let reason =
        format!("this binary was built without it; build with `--features {feature}` to have it");
    OpenError::Unsupported { store: without_secrets(url), reason }
}

fn open_memory(url: &str, _options: &Options) -> Result<Arc<dyn Store>, OpenError> {
    if url.trim_end_matches(':') != "memory" {
        let reason = "it has no path or options; write memory:".into();
        return Err(OpenError::Url { url: url.into(), reason });
    }
    Ok(Arc::new(Memory::new()))
}

fn open_sick(url: &str, options: &Options) -> Result<Arc<dyn Store>, OpenError> {
    Ok(Arc::new(crate::sick::open(url, options.seed)?))
}

fn open_null(url: &str, options: &Options) -> Result<Arc<dyn Store>, OpenError> {
    let wrong = |reason: String| OpenError::Url { url: url.into(), reason };
    let rest = url.split_once(':').map_or("", |(_, rest)| rest);
    let query = rest.strip_prefix('?').unwrap_or(rest);
    if query.is_empty() {
        return Ok(Arc::new(Null::new()));
    }
    let spin = query.strip_prefix("spin=");
    let spin = spin.ok_or_else(|| wrong("its only option is spin; write null:?spin=5us".into()))?;
    let length = quantity::time(spin)
        .filter(|length| *length <= SPIN_MAX)
        .ok_or_else(|| wrong(format!("spin is {spin:?}; write it as 500ns, 5us or 2ms")))?;
    Ok(Arc::new(Null::spinning(length.into(), options.clock)))
}

#[cfg(feature = "fjall")]
fn open_fjall(url: &str, _options: &Options) -> Result<Arc<dyn Store>, OpenError> {
    Ok(crate::fjall::open(url)?.into())
}

#[cfg(not(feature = "fjall"))]
fn open_fjall(url: &str, _options: &Options) -> Result<Arc<dyn Store>, OpenError> {
    Err(not_compiled_in(url, "fjall"))
}

#[cfg(feature = "redb")]
fn open_redb(url: &str, _options: &Options) -> Result<Arc<dyn Store>, OpenError> {
    Ok(crate::redb::open(url)?.into())
}

#[cfg(not(feature = "redb"))]
fn open_redb(url: &str, _options: &Options) -> Result<Arc<dyn Store>, OpenError> {
    Err(not_compiled_in(url, "redb"))
}

#[cfg(feature = "sqlite")]
fn open_sqlite(url: &str, _options: &Options) -> Result<Arc<dyn Store>, OpenError> {
    Ok(crate::sqlite::open(url)?.into())
}

#[cfg(not(feature = "sqlite"))]
fn open_sqlite(url: &str, _options: &Options) -> Result<Arc<dyn Store>, OpenError> {
    Err(not_compiled_in(url, "sqlite"))
}

#[cfg(feature = "postgres")]
fn open_postgres(url: &str, _options: &Options) -> Result<Arc<dyn Store>, OpenError> {
    Ok(Arc::new(crate::postgres::Postgres::from_url(url)?))
}

#[cfg(not(feature = "postgres"))]
fn open_postgres(url: &str, _options: &Options) -> Result<Arc<dyn Store>, OpenError> {
    Err(not_compiled_in(url, "postgres"))
}

#[cfg(feature = "mariadb")]
fn open_mariadb(url: &str, _options: &Options) -> Result<Arc<dyn Store>, OpenError> {
    Ok(Arc::new(crate::mariadb::MariaDb::from_url(url)?))
}

#[cfg(not(feature = "mariadb"))]
fn open_mariadb(url: &str, _options: &Options) -> Result<Arc<dyn Store>, OpenError> {
    Err(not_compiled_in(url, "mariadb"))
}

#[cfg(feature = "redis")]
fn open_redis(url: &str, _options: &Options) -> Result<Arc<dyn Store>, OpenError> {
    Ok(Arc::new(crate::redis::Redis::from_url(url)?))
}

#[cfg(not(feature = "redis"))]
fn open_redis(url: &str, _options: &Options) -> Result<Arc<dyn Store>, OpenError> {
    Err(not_compiled_in(url, "redis"))
}

#[cfg(test)]
mod tests;

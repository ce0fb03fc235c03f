//! Opens a store by its URL, out of the list of those that there are.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use assay_model::{Nanos, Seed, closest, quantity};
use assay_store::memory::Memory;
use assay_store::null::{Clock, Null};
use assay_store::{OpenError, Store};

use crate::address::decode;

/// The longest service time of the null store: a slower one is not useful.
const SPIN_MAX: Nanos = Nanos::from_secs(60);

/// What a URL cannot say.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// A monotonic clock in nanoseconds, for stores that pretend to work for a while.
    pub clock: Clock,
    /// The run's seed, for stores that draw; a store's URL may name another.
    pub seed: Seed,
    /// What is around this process, for stores that need programs of others.
    pub surroundings: Surroundings,
}

/// What a store may ask about the place where it runs; only the binary looks it up.
#[derive(Clone, Copy, Debug)]
pub struct Surroundings {
    /// The value of an environment variable.
    pub variable: fn(&str) -> Option<OsString>,
    /// Where this program is, if the system tells.
    pub program: fn() -> Option<PathBuf>,
}

impl Surroundings {
    /// An empty environment, and an unknown program.
    pub const NONE: Surroundings = Surroundings { variable: |_| None, program: || None };
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
    (find(url)?.open)(url, options).map_err(discreet)
}

/// The error without secrets.
fn discreet(error: OpenError) -> OpenError {
    match error {
        OpenError::Url { url, reason } => OpenError::Url { url: without_secrets(&url), reason },
        other => other,
    }
}

/// The store that has the scheme of `url`, whether compiled in or not.
///
/// # Errors
/// If there is none.
pub fn require_scheme(url: &str) -> Result<Listed, OpenError> {
    find(url).map(|known| known.listed)
}

/// What makes each request of a session go to the next node, by the scheme of the store; nothing
/// where requests do that anyway.
const ROAMING: [(&str, &str); 7] = [
    ("antidote", "host=any"),
    ("cassandra", ""),
    ("etcd", ""),
    ("mariadb", "host=any"),
    ("postgres", "read=any"),
    ("redis+sentinel", "read=any"),
    ("sim", "read_from=any"),
];

/// `url` with the option that makes each request of a session go to the next of the store's nodes.
///
/// # Errors
/// If no store has that scheme, sessions cannot roam there, or the URL says that they stay.
pub fn roaming(url: &str) -> Result<String, OpenError> {
    let scheme = find(url)?.listed.scheme;
    let Some((_, option)) = ROAMING.iter().find(|(able, _)| *able == scheme) else {
        let able = ROAMING.map(|(able, _)| able).join(", ");
        return Err(OpenError::Unsupported {
            store: without_secrets(url),
            reason: format!("its sessions cannot roam over nodes; those of {able} can"),
        });
    };
    let (place, query) = url.split_once('?').unwrap_or((url, ""));
    if option.starts_with("host=") && !place.contains(',') {
        return Err(OpenError::Unsupported {
            store: without_secrets(url),
            reason: "its sessions have one node only; name several hosts, with commas between \
                     them"
                .into(),
        });
    }
    let name = option.split('=').next().unwrap_or_default();
    let said = query.split('&').find(|pair| pair.split('=').next() == Some(name));
    match said {
        _ if option.is_empty() => Ok(url.to_owned()),
        Some(said) if said == *option => Ok(url.to_owned()),
        Some(said) => Err(OpenError::Url {
            url: without_secrets(url),
            reason: format!("{said} keeps sessions from roaming; leave it out, or say {option}"),
        }),
        None => {
            let mark = if url.contains('?') { '&' } else { '?' };
            Ok(format!("{url}{mark}{option}"))
        }
    }
}

fn find(url: &str) -> Result<&'static Known, OpenError> {
    let scheme = url.split_once(':').map_or(url, |(scheme, _)| scheme);
    let known = KNOWN.iter().find(|known| schemes(known).any(|other| other == scheme));
    known.ok_or_else(|| unknown(url, scheme))
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
            url: "fjall:PATH?durability=process|fsync&cache=256MiB&background_threads=N",
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
            scheme: "lmdb",
            summary: "copy-on-write B+tree in this process, mapped into memory from a directory",
            url: "lmdb:PATH?durability=fsync|no-meta-sync|none&map=4GiB&readers=126",
            durability: "fsync: survives kill -9 and a power cut; none: kill -9, nothing after a \
                         power cut",
            feature: Some("lmdb"),
            is_compiled_in: cfg!(feature = "lmdb"),
        },
        aliases: &[],
        open: open_lmdb,
    },
    Known {
        listed: Listed {
            scheme: "rocksdb",
            summary: "RocksDB: log-structured merge tree in this process, in a directory",
            url: "rocksdb:PATH?durability=process|fsync|none&cache=256MiB&compression=none|lz4",
            durability: "process: survives kill -9, not a power cut; fsync: survives both; none: \
                         neither",
            feature: Some("rocksdb"),
            is_compiled_in: cfg!(feature = "rocksdb"),
        },
        aliases: &[],
        open: open_rocksdb,
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
                  &socket=FILE&host=session|any&password_file=FILE&connect_timeout=5000",
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
            scheme: "redis+cluster",
            summary: "Redis Cluster, over pipelined connections with every master",
            url: "redis+cluster://USER:PASSWORD@HOST:PORT,HOST:PORT?connections=1&depth=1024\
                  &index=on|off&layout=hash|string&password_file=FILE&connect_timeout=5000\
                  &ca_file=FILE&tls_insecure=true",
            durability: "as the nodes are set; a failover loses what the replicas do not have yet",
            feature: Some("redis"),
            is_compiled_in: cfg!(feature = "redis"),
        },
        aliases: &[
            "redis-cluster",
            "rediss+cluster",
            "rediss-cluster",
            "valkey+cluster",
            "valkey-cluster",
            "valkeys+cluster",
            "valkeys-cluster",
        ],
        open: open_redis,
    },
    Known {
        listed: Listed {
            scheme: "redis+sentinel",
            summary: "Redis behind sentinels, which know where the master is",
            url: "redis+sentinel://USER:PASSWORD@HOST:PORT,HOST:PORT/MASTER/DB?connections=1\
                  &depth=1024&index=on|off&layout=hash|string&read=master|replica|any\
                  &password_file=FILE&sentinel_password_file=FILE&connect_timeout=5000\
                  &ca_file=FILE&tls_insecure=true",
            durability: "as the server is set; a failover loses what the replicas do not have yet",
            feature: Some("redis"),
            is_compiled_in: cfg!(feature = "redis"),
        },
        aliases: &[
            "redis-sentinel",
            "rediss+sentinel",
            "rediss-sentinel",
            "valkey+sentinel",
            "valkey-sentinel",
            "valkeys+sentinel",
            "valkeys-sentinel",
        ],
        open: open_redis,
    },
    Known {
        listed: Listed {
            scheme: "postgres",
            summary: "PostgreSQL, over a pool of connections with prepared statements",
            url: "postgres://USER:PASSWORD@HOST:PORT/DB?isolation=read-committed|repeatable-read\
                  |serializable&connections=16&columns=text|bytes&standbys=HOST:PORT,HOST:PORT\
                  &read=primary|standby|any&password_file=FILE&connect_timeout=5000\
                  &sslmode=disable|require|verify-full&ca_file=FILE",
            durability: "as the server is set; each report says what a crash would lose",
            feature: Some("postgres"),
            is_compiled_in: cfg!(feature = "postgres"),
        },
        aliases: &["postgresql"],
        open: open_postgres,
    },
    Known {
        listed: Listed {
            scheme: "mongodb",
            summary: "MongoDB, or FerretDB, over a pool of connections; documents as in YCSB",
            url: "mongodb://USER:PASSWORD@HOST:PORT,HOST:PORT/DATABASE?connections=16\
                  &w=majority|1&journal=true|false&read_concern=local|majority|linearizable\
                  |available|snapshot&read_preference=primary|primaryPreferred|secondary\
                  |secondaryPreferred|nearest&keys=text|bytes&replica_set=NAME\
                  &auth_source=admin&password_file=FILE&connect_timeout=5000",
            durability: "as the server is set; each report says what a crash would lose",
            feature: Some("mongodb"),
            is_compiled_in: cfg!(feature = "mongodb"),
        },
        aliases: &[],
        open: open_mongodb,
    },
    Known {
        listed: Listed {
            scheme: "nats",
            summary: "NATS JetStream's key-value buckets, over one connection per worker; no \
                      scans",
            url: "nats://USER:PASSWORD@HOST:PORT,HOST:PORT/BUCKET_PREFIX?connections=64\
                  &read=direct|leader&replicas=1&storage=file|memory&password_file=FILE\
                  &connect_timeout=5000",
            durability: "file: survives kill -9, of a power cut all but the last 2 minutes; \
                         memory: neither",
            feature: Some("nats"),
            is_compiled_in: cfg!(feature = "nats"),
        },
        aliases: &[],
        open: open_nats,
    },
    Known {
        listed: Listed {
            scheme: "etcd",
            summary: "etcd, over gRPC to one member or several; etcds:// is over TLS",
            url: "etcd://USER:PASSWORD@HOST:PORT,HOST:PORT/PREFIX?connections=64&batch=1\
                  &read=linearizable|serializable&password_file=FILE&connect_timeout=5000\
                  &ca_file=FILE&tls_insecure=true",
            durability: "every write is on the disks of a majority of the members",
            feature: Some("etcd"),
            is_compiled_in: cfg!(feature = "etcd"),
        },
        aliases: &["etcds"],
        open: open_etcd,
    },
    Known {
        listed: Listed {
            scheme: "tikv",
            summary: "TiKV, found through its placement drivers, raw or in transactions",
            url: "tikv://PD:PORT,PD:PORT/?mode=optimistic|pessimistic|raw&update=cas|put\
                  &connections=64&batch=1&connect_timeout=5000&request_timeout=30000&ca_file=FILE\
                  &cert_file=FILE&key_file=FILE",
            durability: "every write is on the disks of most copies of its region",
            feature: Some("tikv"),
            is_compiled_in: cfg!(feature = "tikv"),
        },
        aliases: &[],
        open: open_tikv,
    },
    Known {
        listed: Listed {
            scheme: "antidote",
            summary: "AntidoteDB, one data centre or several, in snapshot transactions",
            url: "antidote://HOST:PORT,HOST:PORT?session=clock|none&host=session|first|any\
                  &writes=blind|checked&bucket=assay&connections=16&connect_timeout=5000",
            durability: "none unless sync_log is set: a commit is answered before it is on disk",
            feature: Some("antidote"),
            is_compiled_in: cfg!(feature = "antidote"),
        },
        aliases: &[],
        open: open_antidote,
    },
    Known {
        listed: Listed {
            scheme: "cassandra",
            summary: "Cassandra or ScyllaDB in CQL, prepared, sent to nodes that have the record",
            url: "cassandra://USER:PASSWORD@HOST:PORT,HOST/KEYSPACE?consistency=QUORUM|ONE|ALL|…\
                  &read_consistency=…&write_consistency=…&serial_consistency=SERIAL|LOCAL_SERIAL\
                  &replication=3&insert=upsert|lwt&update=upsert|lwt&columns=text|bytes\
                  &connections=1&in_flight=64&batch=1&batch_type=unlogged|logged\
                  &compression=none|lz4|snappy&datacenter=NAME&password_file=FILE\
                  &connect_timeout=10000",
            durability: "as the cluster is set; each report says what a crash would lose",
            feature: Some("cassandra"),
            is_compiled_in: cfg!(feature = "cassandra"),
        },
        aliases: &["scylla"],
        open: open_cassandra,
    },
    Known {
        listed: Listed {
            scheme: "memcached",
            summary: "memcached 1.6 or later, one server or several, over pipelined connections",
            url: "memcached://USER:PASSWORD@HOST:PORT,HOST:PORT?connections=4&depth=1024\
                  &password_file=FILE&connect_timeout=5000",
            durability: "none: a restart loses everything; with full memory records are evicted",
            feature: Some("memcached"),
            is_compiled_in: cfg!(feature = "memcached"),
        },
        aliases: &[],
        open: open_memcached,
    },
    Known {
        listed: Listed {
            scheme: "dynamodb",
            summary: "DynamoDB, or DynamoDB Local, by Amazon's client; dynamodbs:// is over TLS",
            url: "dynamodb://ACCESS_KEY:SECRET@HOST:PORT/TABLE_PREFIX?region=us-east-1&key=y_id\
                  &columns=text|bytes&consistent_read=on|off&connections=16&password_file=FILE\
                  &connect_timeout=5000&ca_file=FILE",
            durability: "as the service promises; DynamoDB Local does not tell",
            feature: Some("dynamodb"),
            is_compiled_in: cfg!(feature = "dynamodb"),
        },
        aliases: &["dynamodbs"],
        open: open_dynamodb,
    },
    Known {
        listed: Listed {
            scheme: "ignite",
            summary: "Apache Ignite 2, over its thin protocol, to the node that owns the key",
            url: "ignite://USER:PASSWORD@HOST:PORT,…/PREFIX?connections=16&batch=1&backups=1\
                  &atomicity=atomic|transactional&write_sync=full_sync|primary_sync|full_async\
                  &read_from_backup=on|off&index=on|off&fields=text|bytes&keys=text|bytes\
                  &insert=put|put_if_absent&partition_awareness=on|off&password_file=FILE\
                  &isolation=read-committed|repeatable-read|serializable\
                  &concurrency=pessimistic|optimistic&transaction_timeout=5000\
                  &connect_timeout=5000",
            durability: "as the cluster is set; each report says what a crash would lose",
            feature: Some("ignite"),
            is_compiled_in: cfg!(feature = "ignite"),
        },
        aliases: &[],
        open: open_ignite,
    },
    Known {
        listed: Listed {
            scheme: "fmke+http",
            summary: "a server of FMKe, such as `assay fmke serve`: the workload fmke as requests",
            url: "fmke+http://HOST:PORT,HOST:PORT?connections=64&timeout=MS&connect_timeout=5000",
            durability: "that of the store behind the server",
            feature: Some("fmke"),
            is_compiled_in: cfg!(feature = "fmke"),
        },
        aliases: &[],
        open: open_fmke,
    },
    Known {
        listed: Listed {
            scheme: "exec",
            summary: "a driver of your own, a program in any language that speaks lines of JSON",
            url: "exec:PROGRAM?arg=WORD&p.NAME=VALUE&in_flight=N&hello_timeout=10000\
                  &admin_timeout=60000&stderr=FILE",
            durability: "as the driver says",
            feature: Some("exec"),
            is_compiled_in: cfg!(feature = "exec"),
        },
        aliases: &[],
        open: open_exec,
    },
    Known {
        listed: Listed {
            scheme: "jvm",
            summary: "a Java binding of YCSB, Chronicle Map among them, in a JVM in this process",
            url: "jvm:CLASS?classpath=DIR/*:FILE.jar&p.NAME=VALUE&properties=FILE\
                  &calls=inline|blocking&kinds=read,update,insert,scan,delete&scan=own|key\
                  &updates=fields|record&persistent=true|false&java=DIR&bridge=DIR&jvm=-Xmx2g",
            durability: "as the binding's store is set, which bindings do not tell",
            feature: Some("jvm"),
            is_compiled_in: cfg!(feature = "jvm"),
        },
        aliases: &[],
        open: open_jvm,
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
            scheme: "sim",
            summary: "simulated, slow or faulty in known ways: tests the instrument, in simulated \
                      time",
            url: "sim:PRESET|FILE.toml|FILE.yml?seed=7&KEY=VALUE",
            durability: "none: everything ends with the process",
            feature: None,
            is_compiled_in: true,
        },
        aliases: &["sick"],
        open: open_simulated,
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
    // In such a URL the password may be anything before the last `@`.
    let scheme = scheme.rsplit('@').next().unwrap_or_default();
    let url = match (url.rfind('@'), url.split_once("://")) {
        (Some(at), Some((scheme, _))) => format!("{scheme}://…{}", &url[at..]),
        (Some(at), None) => format!("…{}", &url[at..]),
        (None, _) => url.to_owned(),
    };
    let reason = match closest(scheme, names()) {
        Some(near) => format!("there is no store {scheme:?}; did you mean {near}:?"),
        None => {
            let names: Vec<&str> = names().collect();
            format!("there is no store {scheme:?}; there are {}", names.join(", "))
        }
    };
    OpenError::Url { url: without_secrets(&url), reason }
}

/// What stands before an `@` in the authority may hold a password, and so may an option.
pub fn without_secrets(url: &str) -> String {
    let url = without_secret_options(url);
    let Some((scheme, rest)) = url.split_once("://") else { return without_login(url) };
    let authority = rest.split(['/', '?']).next().unwrap_or_default();
    match authority.rfind('@') {
        Some(at) => format!("{scheme}://…{}", &rest[at..]),
        None => url,
    }
}

/// The URL of a store behind a network that lacks its slashes or its scheme, without what stands
/// before an `@`. The path of a store in this process may have one, and so may a word that is no
/// URL; a user and a password have a colon between.
fn without_login(url: String) -> String {
    let Some((scheme, rest)) = url.split_once(':') else { return url };
    let Some(at) = rest.rfind('@') else { return url };
    let known = KNOWN.iter().find(|known| schemes(known).any(|other| other == scheme));
    match known {
        Some(known) if known.listed.url.contains("://") => format!("{scheme}:…{}", &rest[at..]),
        Some(_) => url,
        None => format!("…{}", &rest[at..]),
    }
}

/// Whether the value of this name is a secret; a file's name is none.
pub fn names_a_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let is_secret =
        ["passw", "secret", "credential", "token"].iter().any(|mark| name.contains(mark));
    is_secret && !name.ends_with("file")
}

fn without_secret_options(url: &str) -> String {
    let Some((address, query)) = url.split_once('?') else { return url.into() };
    let pairs = query.split('&').map(|pair| match pair.split_once('=') {
        Some((name, value)) => format!("{name}={}", shown_value(name, value)),
        None => pair.to_owned(),
    });
    format!("{address}?{}", pairs.collect::<Vec<_>>().join("&"))
}

/// The value of an option, which may be a URL or a word of a command line itself, and encoded.
fn shown_value(name: &str, value: &str) -> String {
    if names_a_secret(name) {
        return "…".to_owned();
    }
    let plain = decode(value).unwrap_or_else(|_| value.to_owned());
    match word_without_secrets(&plain) {
        displayed if displayed == plain => value.to_owned(),
        displayed => displayed,
    }
}

/// The value of a URL's option, percent-decoded.
///
/// # Errors
/// If it is no such text.
pub fn decoded(value: &str) -> Result<String, String> {
    decode(value)
}

/// A word of a command line as anybody may see it: `-Dpassword=…`, `password=…`, a URL.
pub fn word_without_secrets(word: &str) -> String {
    match word.split_once('=') {
        // Its first `=` is within a URL.
        Some((before, _)) if before.contains('?') || before.contains("://") => {
            without_secrets(word)
        }
        Some((name, _)) if names_a_secret(name) => format!("{name}=…"),
        Some((flag, value)) if flag.starts_with('-') => {
            format!("{flag}={}", without_secrets(value))
        }
        _ => without_secrets(word),
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

fn open_simulated(url: &str, options: &Options) -> Result<Arc<dyn Store>, OpenError> {
    Ok(Arc::new(crate::sim::open(url, options.seed)?))
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

#[cfg(feature = "lmdb")]
fn open_lmdb(url: &str, _options: &Options) -> Result<Arc<dyn Store>, OpenError> {
    Ok(crate::lmdb::open(url)?.into())
}

#[cfg(not(feature = "lmdb"))]
fn open_lmdb(url: &str, _options: &Options) -> Result<Arc<dyn Store>, OpenError> {
    Err(not_compiled_in(url, "lmdb"))
}

#[cfg(feature = "rocksdb")]
fn open_rocksdb(url: &str, _options: &Options) -> Result<Arc<dyn Store>, OpenError> {
    Ok(crate::rocksdb::open(url)?.into())
}

#[cfg(not(feature = "rocksdb"))]
fn open_rocksdb(url: &str, _options: &Options) -> Result<Arc<dyn Store>, OpenError> {
    Err(not_compiled_in(url, "rocksdb"))
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

#[cfg(feature = "mongodb")]
fn open_mongodb(url: &str, _options: &Options) -> Result<Arc<dyn Store>, OpenError> {
    Ok(Arc::new(crate::mongodb::MongoDb::from_url(url)?))
}

#[cfg(not(feature = "mongodb"))]
fn open_mongodb(url: &str, _options: &Options) -> Result<Arc<dyn Store>, OpenError> {
    Err(not_compiled_in(url, "mongodb"))
}

#[cfg(feature = "nats")]
fn open_nats(url: &str, _options: &Options) -> Result<Arc<dyn Store>, OpenError> {
    Ok(Arc::new(crate::nats::Nats::from_url(url)?))
}

#[cfg(not(feature = "nats"))]
fn open_nats(url: &str, _options: &Options) -> Result<Arc<dyn Store>, OpenError> {
    Err(not_compiled_in(url, "nats"))
}

#[cfg(feature = "mariadb")]
fn open_mariadb(url: &str, _options: &Options) -> Result<Arc<dyn Store>, OpenError> {
    Ok(Arc::new(crate::mariadb::MariaDb::from_url(url)?))
}

#[cfg(not(feature = "mariadb"))]
fn open_mariadb(url: &str, _options: &Options) -> Result<Arc<dyn Store>, OpenError> {
    Err(not_compiled_in(url, "mariadb"))
}

#[cfg(feature = "etcd")]
fn open_etcd(url: &str, _options: &Options) -> Result<Arc<dyn Store>, OpenError> {
    Ok(Arc::new(crate::etcd::Etcd::from_url(url)?))
}

#[cfg(not(feature = "etcd"))]
fn open_etcd(url: &str, _options: &Options) -> Result<Arc<dyn Store>, OpenError> {
    Err(not_compiled_in(url, "etcd"))
}

#[cfg(feature = "tikv")]
fn open_tikv(url: &str, _options: &Options) -> Result<Arc<dyn Store>, OpenError> {
    Ok(Arc::new(crate::tikv::TiKv::from_url(url)?))
}

#[cfg(not(feature = "tikv"))]
fn open_tikv(url: &str, _options: &Options) -> Result<Arc<dyn Store>, OpenError> {
    Err(not_compiled_in(url, "tikv"))
}

#[cfg(feature = "antidote")]
fn open_antidote(url: &str, _options: &Options) -> Result<Arc<dyn Store>, OpenError> {
    Ok(Arc::new(crate::antidote::Antidote::from_url(url)?))
}

#[cfg(not(feature = "antidote"))]
fn open_antidote(url: &str, _options: &Options) -> Result<Arc<dyn Store>, OpenError> {
    Err(not_compiled_in(url, "antidote"))
}

#[cfg(feature = "memcached")]
fn open_memcached(url: &str, _options: &Options) -> Result<Arc<dyn Store>, OpenError> {
    Ok(Arc::new(crate::memcached::Memcached::from_url(url)?))
}

#[cfg(not(feature = "memcached"))]
fn open_memcached(url: &str, _options: &Options) -> Result<Arc<dyn Store>, OpenError> {
    Err(not_compiled_in(url, "memcached"))
}

#[cfg(feature = "redis")]
fn open_redis(url: &str, _options: &Options) -> Result<Arc<dyn Store>, OpenError> {
    Ok(Arc::new(crate::redis::Redis::from_url(url)?))
}

#[cfg(not(feature = "redis"))]
fn open_redis(url: &str, _options: &Options) -> Result<Arc<dyn Store>, OpenError> {
    Err(not_compiled_in(url, "redis"))
}

#[cfg(feature = "cassandra")]
fn open_cassandra(url: &str, _options: &Options) -> Result<Arc<dyn Store>, OpenError> {
    Ok(Arc::new(crate::cassandra::Cassandra::from_url(url)?))
}

#[cfg(not(feature = "cassandra"))]
fn open_cassandra(url: &str, _options: &Options) -> Result<Arc<dyn Store>, OpenError> {
    Err(not_compiled_in(url, "cassandra"))
}

#[cfg(feature = "dynamodb")]
fn open_dynamodb(url: &str, _options: &Options) -> Result<Arc<dyn Store>, OpenError> {
    Ok(Arc::new(crate::dynamodb::DynamoDb::from_url(url)?))
}

#[cfg(not(feature = "dynamodb"))]
fn open_dynamodb(url: &str, _options: &Options) -> Result<Arc<dyn Store>, OpenError> {
    Err(not_compiled_in(url, "dynamodb"))
}

#[cfg(feature = "exec")]
fn open_exec(url: &str, options: &Options) -> Result<Arc<dyn Store>, OpenError> {
    let redaction = crate::exec::Redaction {
        url: without_secrets,
        word: word_without_secrets,
        is_secret: names_a_secret,
    };
    Ok(Arc::new(crate::exec::Exec::open(url, &redaction, options.clock)?))
}

#[cfg(not(feature = "exec"))]
fn open_exec(url: &str, _options: &Options) -> Result<Arc<dyn Store>, OpenError> {
    Err(not_compiled_in(url, "exec"))
}

#[cfg(feature = "jvm")]
fn open_jvm(url: &str, options: &Options) -> Result<Arc<dyn Store>, OpenError> {
    Ok(crate::jvm::open(url, &options.surroundings)?.into())
}

#[cfg(not(feature = "jvm"))]
fn open_jvm(url: &str, _options: &Options) -> Result<Arc<dyn Store>, OpenError> {
    Err(not_compiled_in(url, "jvm"))
}

#[cfg(feature = "fmke")]
fn open_fmke(url: &str, _options: &Options) -> Result<Arc<dyn Store>, OpenError> {
    Ok(Arc::new(crate::fmke::Fmke::from_url(url)?))
}

#[cfg(not(feature = "fmke"))]
fn open_fmke(url: &str, _options: &Options) -> Result<Arc<dyn Store>, OpenError> {
    Err(not_compiled_in(url, "fmke"))
}

#[cfg(feature = "ignite")]
fn open_ignite(url: &str, _options: &Options) -> Result<Arc<dyn Store>, OpenError> {
    Ok(Arc::new(crate::ignite::Ignite::from_url(url)?))
}

#[cfg(not(feature = "ignite"))]
fn open_ignite(url: &str, _options: &Options) -> Result<Arc<dyn Store>, OpenError> {
    Err(not_compiled_in(url, "ignite"))
}

#[cfg(test)]
mod tests;

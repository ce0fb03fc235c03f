//! Table of every store that Assay knows, whether compiled in or not.

use assay_driver_kit::secrets::{Location, Redaction};

/// A store, as its users name it.
pub(crate) struct Known {
    /// What its URL begins with.
    pub(crate) scheme: &'static str,
    /// Other spellings of the scheme.
    pub(crate) aliases: &'static [&'static str],
    /// What it is, in one line.
    pub(crate) summary: &'static str,
    /// How its URL is written, with every option.
    pub(crate) url: &'static str,
    /// What an acknowledged write survives.
    pub(crate) durability: &'static str,
    /// The cargo feature that brings it; `None` if it is always there.
    pub(crate) feature: Option<&'static str>,
}

impl Known {
    /// Every spelling of the scheme.
    pub(crate) fn schemes(&self) -> impl Iterator<Item = &'static str> {
        std::iter::once(self.scheme).chain(self.aliases.iter().copied())
    }
}

/// The store that has this scheme.
pub(crate) fn find(scheme: &str) -> Option<&'static Known> {
    KNOWN.iter().find(|known| known.schemes().any(|other| other == scheme))
}

/// What makes texts that anybody may see.
pub(crate) const REDACTION: Redaction = Redaction { locate };

fn locate(scheme: &str) -> Option<Location> {
    let is_behind_a_network = find(scheme)?.url.contains("://");
    Some(if is_behind_a_network { Location::Network } else { Location::Process })
}

pub(crate) const KNOWN: &[Known] = &[
    Known {
        scheme: "fjall",
        aliases: &[],
        summary: "log-structured merge tree in this process, in a directory",
        url: "fjall:PATH?durability=process|fsync&cache=256MiB&background_threads=N",
        durability: "process: survives kill -9, not a power cut; fsync: survives both",
        feature: Some("fjall"),
    },
    Known {
        scheme: "redb",
        aliases: &[],
        summary: "copy-on-write B-tree in this process, in one file",
        url: "redb:PATH?durability=fsync|none&cache=256MiB",
        durability: "fsync: survives kill -9 and a power cut; none: survives neither",
        feature: Some("redb"),
    },
    Known {
        scheme: "lmdb",
        aliases: &[],
        summary: "copy-on-write B+tree in this process, mapped into memory from a directory",
        url: "lmdb:PATH?durability=fsync|no-meta-sync|none&map=4GiB&readers=126",
        durability: "fsync: survives kill -9 and a power cut; none: kill -9, nothing after a \
                     power cut",
        feature: Some("lmdb"),
    },
    Known {
        scheme: "rocksdb",
        aliases: &[],
        summary: "RocksDB: log-structured merge tree in this process, in a directory",
        url: "rocksdb:PATH?durability=process|fsync|none&cache=256MiB&compression=none|lz4",
        durability: "process: survives kill -9, not a power cut; fsync: survives both; none: \
                     neither",
        feature: Some("rocksdb"),
    },
    Known {
        scheme: "sqlite",
        aliases: &[],
        summary: "tables in this process, in one file: transactions, logical queries",
        url: "sqlite:PATH?synchronous=normal|off|full|extra&journal=wal|delete\
              &busy_timeout=5000&begin=immediate|deferred&isolation=serializable&cache=64MiB",
        durability: "normal: survives kill -9, not a power cut; full, extra: survive both",
        feature: Some("sqlite"),
    },
    Known {
        scheme: "mariadb",
        aliases: &["mysql"],
        summary: "MariaDB or MySQL, over connections of one transaction each",
        url: "mariadb://USER:PASSWORD@HOST:PORT/DATABASE?connections=16\
              &isolation=read-committed|repeatable-read|serializable&columns=text|bytes\
              &socket=FILE&host=session|any&password_file=FILE&connect_timeout=5000",
        durability: "as the server is set; each report says what a crash would lose",
        feature: Some("mariadb"),
    },
    Known {
        scheme: "redis",
        aliases: &["rediss", "valkey", "valkeys"],
        summary: "Redis or Valkey, over pipelined connections; rediss:// is over TLS",
        url: "redis://USER:PASSWORD@HOST:PORT/DB?connections=1&depth=1024&index=on|off\
              &layout=hash|string&password_file=FILE&connect_timeout=5000\
              &ca_file=FILE&tls_insecure=true",
        durability: "as the server is set; each report says what a crash would lose",
        feature: Some("redis"),
    },
    Known {
        scheme: "redis+cluster",
        aliases: &[
            "redis-cluster",
            "rediss+cluster",
            "rediss-cluster",
            "valkey+cluster",
            "valkey-cluster",
            "valkeys+cluster",
            "valkeys-cluster",
        ],
        summary: "Redis Cluster, over pipelined connections with every master",
        url: "redis+cluster://USER:PASSWORD@HOST:PORT,HOST:PORT?connections=1&depth=1024\
              &index=on|off&layout=hash|string&password_file=FILE&connect_timeout=5000\
              &ca_file=FILE&tls_insecure=true",
        durability: "as the nodes are set; a failover loses what the replicas do not have yet",
        feature: Some("redis"),
    },
    Known {
        scheme: "redis+sentinel",
        aliases: &[
            "redis-sentinel",
            "rediss+sentinel",
            "rediss-sentinel",
            "valkey+sentinel",
            "valkey-sentinel",
            "valkeys+sentinel",
            "valkeys-sentinel",
        ],
        summary: "Redis behind sentinels, which know where the master is",
        url: "redis+sentinel://USER:PASSWORD@HOST:PORT,HOST:PORT/MASTER/DB?connections=1\
              &depth=1024&index=on|off&layout=hash|string&read=master|replica|any\
              &password_file=FILE&sentinel_password_file=FILE&connect_timeout=5000\
              &ca_file=FILE&tls_insecure=true",
        durability: "as the server is set; a failover loses what the replicas do not have yet",
        feature: Some("redis"),
    },
    Known {
        scheme: "postgres",
        aliases: &["postgresql"],
        summary: "PostgreSQL, over a pool of connections with prepared statements",
        url: "postgres://USER:PASSWORD@HOST:PORT/DB?isolation=read-committed|repeatable-read\
              |serializable&connections=16&columns=text|bytes&standbys=HOST:PORT,HOST:PORT\
              &read=primary|standby|any&password_file=FILE&connect_timeout=5000\
              &sslmode=disable|require|verify-full&ca_file=FILE",
        durability: "as the server is set; each report says what a crash would lose",
        feature: Some("postgres"),
    },
    Known {
        scheme: "mongodb",
        aliases: &[],
        summary: "MongoDB, or FerretDB, over a pool of connections; documents as in YCSB",
        url: "mongodb://USER:PASSWORD@HOST:PORT,HOST:PORT/DATABASE?connections=16\
              &w=majority|1&journal=true|false&read_concern=local|majority|linearizable\
              |available|snapshot&read_preference=primary|primaryPreferred|secondary\
              |secondaryPreferred|nearest&keys=text|bytes&replica_set=NAME\
              &auth_source=admin&password_file=FILE&connect_timeout=5000",
        durability: "as the server is set; each report says what a crash would lose",
        feature: Some("mongodb"),
    },
    Known {
        scheme: "nats",
        aliases: &[],
        summary: "NATS JetStream's key-value buckets, over one connection per worker; no \
                  scans",
        url: "nats://USER:PASSWORD@HOST:PORT,HOST:PORT/BUCKET_PREFIX?connections=64\
              &read=direct|leader&replicas=1&storage=file|memory&password_file=FILE\
              &connect_timeout=5000",
        durability: "file: survives kill -9, of a power cut all but the last 2 minutes; \
                     memory: neither",
        feature: Some("nats"),
    },
    Known {
        scheme: "etcd",
        aliases: &["etcds"],
        summary: "etcd, over gRPC to one member or several; etcds:// is over TLS",
        url: "etcd://USER:PASSWORD@HOST:PORT,HOST:PORT/PREFIX?connections=64&batch=1\
              &read=linearizable|serializable&password_file=FILE&connect_timeout=5000\
              &ca_file=FILE&tls_insecure=true",
        durability: "every write is on the disks of a majority of the members",
        feature: Some("etcd"),
    },
    Known {
        scheme: "tikv",
        aliases: &[],
        summary: "TiKV, found through its placement drivers, raw or in transactions",
        url: "tikv://PD:PORT,PD:PORT/?mode=optimistic|pessimistic|raw&update=cas|put\
              &connections=64&batch=1&connect_timeout=5000&request_timeout=30000&ca_file=FILE\
              &cert_file=FILE&key_file=FILE",
        durability: "every write is on the disks of most copies of its region",
        feature: Some("tikv"),
    },
    Known {
        scheme: "antidote",
        aliases: &[],
        summary: "AntidoteDB, one data centre or several, in snapshot transactions",
        url: "antidote://HOST:PORT,HOST:PORT?session=clock|none&host=session|first|any\
              &writes=blind|checked&bucket=assay&connections=16&connect_timeout=5000",
        durability: "none unless sync_log is set: a commit is answered before it is on disk",
        feature: Some("antidote"),
    },
    Known {
        scheme: "cassandra",
        aliases: &["scylla"],
        summary: "Cassandra or ScyllaDB in CQL, prepared, sent to nodes that have the record",
        url: "cassandra://USER:PASSWORD@HOST:PORT,HOST/KEYSPACE?consistency=QUORUM|ONE|ALL|…\
              &read_consistency=…&write_consistency=…&serial_consistency=SERIAL|LOCAL_SERIAL\
              &replication=3&insert=upsert|lwt&update=upsert|lwt&columns=text|bytes\
              &connections=1&in_flight=64&batch=1&batch_type=unlogged|logged\
              &compression=none|lz4|snappy&datacenter=NAME&password_file=FILE\
              &connect_timeout=10000",
        durability: "as the cluster is set; each report says what a crash would lose",
        feature: Some("cassandra"),
    },
    Known {
        scheme: "memcached",
        aliases: &[],
        summary: "memcached 1.6 or later, one server or several, over pipelined connections",
        url: "memcached://USER:PASSWORD@HOST:PORT,HOST:PORT?connections=4&depth=1024\
              &password_file=FILE&connect_timeout=5000",
        durability: "none: a restart loses everything; with full memory records are evicted",
        feature: Some("memcached"),
    },
    Known {
        scheme: "dynamodb",
        aliases: &["dynamodbs"],
        summary: "DynamoDB, or DynamoDB Local, by Amazon's client; dynamodbs:// is over TLS",
        url: "dynamodb://ACCESS_KEY:SECRET@HOST:PORT/TABLE_PREFIX?region=us-east-1&key=y_id\
              &columns=text|bytes&consistent_read=on|off&connections=16&password_file=FILE\
              &connect_timeout=5000&ca_file=FILE",
        durability: "as the service promises; DynamoDB Local does not tell",
        feature: Some("dynamodb"),
    },
    Known {
        scheme: "ignite",
        aliases: &[],
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
    },
    Known {
        scheme: "fmke+http",
        aliases: &[],
        summary: "a server of FMKe, such as `assay fmke serve`: the workload fmke as requests",
        url: "fmke+http://HOST:PORT,HOST:PORT?connections=64&timeout=MS&connect_timeout=5000",
        durability: "that of the store behind the server",
        feature: Some("fmke"),
    },
    Known {
        scheme: "exec",
        aliases: &[],
        summary: "a driver of your own, a program in any language that speaks lines of JSON",
        url: "exec:PROGRAM?arg=WORD&p.NAME=VALUE&in_flight=N&hello_timeout=10000\
              &admin_timeout=60000&stderr=FILE",
        durability: "as the driver says",
        feature: Some("exec"),
    },
    Known {
        scheme: "jvm",
        aliases: &[],
        summary: "a Java binding of YCSB, Chronicle Map among them, in a JVM in this process",
        url: "jvm:CLASS?classpath=DIR/*:FILE.jar&p.NAME=VALUE&properties=FILE\
              &calls=inline|blocking&kinds=read,update,insert,scan,delete&scan=own|key\
              &updates=fields|record&persistent=true|false&java=DIR&bridge=DIR&jvm=-Xmx2g",
        durability: "as the binding's store is set, which bindings do not tell",
        feature: Some("jvm"),
    },
    Known {
        scheme: "memory",
        aliases: &[],
        summary: "records in this process's memory, without a disk",
        url: "memory:",
        durability: "none: everything ends with the process",
        feature: None,
    },
    Known {
        scheme: "sim",
        aliases: &["sick"],
        summary: "simulated, slow or faulty in known ways: tests the instrument, in simulated \
                  time",
        url: "sim:PRESET|FILE.toml|FILE.yml?seed=7&KEY=VALUE",
        durability: "none: everything ends with the process",
        feature: None,
    },
    Known {
        scheme: "null",
        aliases: &[],
        summary: "answers at once, keeps nothing: the floor of the instrument",
        url: "null:?spin=5us",
        durability: "none: nothing is kept",
        feature: None,
    },
];

//! Settings of a Redis that a reader of its figures must know.

use assay_driver_kit::known_settings::{KnownSetting, UNKNOWN};
use assay_model::Setting;
use assay_store::reading::{self, ServerReading};
use assay_store::resp::Value;

use super::admin::{AdminConnection, RequestError};

/// Counters of INFO, beside those that begin with `total_`.
const COUNTERS: [&str; 16] = [
    "acl_access_denied_auth",
    "client_query_buffer_limit_disconnections",
    "evicted_clients",
    "evicted_keys",
    "expired_keys",
    "keyspace_hits",
    "keyspace_misses",
    "rejected_connections",
    "rdb_saves",
    "sync_full",
    "sync_partial_ok",
    "unexpected_error_replies",
    "used_cpu_sys",
    "used_cpu_user",
    "used_cpu_sys_children",
    "used_cpu_user_children",
];

/// The numbers of a server's answer to INFO.
pub(super) fn readings(node: &str, answer: &Value) -> Vec<ServerReading> {
    let is_counter = |name: &str| name.starts_with("total_") || COUNTERS.contains(&name);
    reading::readings(node, Facts::of(answer).pairs(), is_counter)
}

/// The sections of INFO as one list of names and values.
pub(super) struct Facts(Vec<(String, String)>);

impl Facts {
    /// Asks the server; empty if permission is denied.
    fn query(admin: &mut AdminConnection) -> Result<Facts, RequestError> {
        Ok(Facts::of(&admin.query(&[b"INFO"])?))
    }

    /// What INFO has answered; nothing if it was refused.
    pub(super) fn of(answer: &Value) -> Facts {
        Facts::parse(&String::from_utf8_lossy(answer.text().unwrap_or_default()))
    }

    fn parse(text: &str) -> Facts {
        let pairs = text.lines().filter_map(|line| line.split_once(':'));
        Facts(pairs.map(|(name, value)| (name.into(), value.trim().into())).collect())
    }

    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(there, _)| there == name).map(|(_, value)| value.as_str())
    }

    fn pairs(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// Whether the keys are divided among several nodes.
    pub(super) fn is_cluster(&self) -> bool {
        self.get("cluster_enabled") == Some("1")
    }

    fn server(&self) -> Setting {
        let (name, version) = match (self.get("valkey_version"), self.get("redis_version")) {
            (Some(version), _) => ("valkey", version),
            (None, Some(version)) => ("redis", version),
            (None, None) => ("redis", UNKNOWN),
        };
        Setting::new("server", format!("{name} {version}"), "the software that was measured")
    }

    fn role(&self) -> Setting {
        let role = self.get("role").unwrap_or(UNKNOWN);
        let replicas = self.get("connected_slaves").unwrap_or("0");
        let meaning = match (role, replicas) {
            ("master", "0") => "the only copy of the data; what this server loses is lost".into(),
            ("master", count) => format!(
                "{count} replicas follow; writes reach them after the answer, so a failover loses \
                 the last ones"
            ),
            ("slave" | "replica", _) => {
                "a replica: reads may be stale, writes are refused if it is read-only".into()
            }
            _ => "the server does not tell whether it is a primary".into(),
        };
        Setting::new("role", role, meaning)
    }

    fn threads(&self) -> Setting {
        let threads = self.get("io_threads_active").unwrap_or(UNKNOWN);
        let meaning = "1 if more threads than one read or write sockets; commands run on one";
        Setting::new("io_threads_active", threads, meaning)
    }

    fn memory(&self) -> Setting {
        let used = self.get("used_memory_human").unwrap_or(UNKNOWN);
        Setting::new("used_memory", used, "what the data take now")
    }

    fn cluster(&self) -> Setting {
        let (value, meaning) = match self.get("cluster_enabled") {
            Some("1") => ("yes", "keys are divided among nodes; this server alone is used"),
            Some(_) => ("no", "every key is on this server"),
            None => (UNKNOWN, "the server does not tell"),
        };
        Setting::new("cluster-enabled", value, meaning)
    }
}

/// Settings that CONFIG GET tells.
const KNOWN: &[KnownSetting] = &[
    KnownSetting::new(
        "appendonly",
        &[("yes", "writes go to a log; appendfsync says when it reaches the disk")],
        "writes are in memory only, until a snapshot is saved",
    ),
    KnownSetting::new(
        "appendfsync",
        &[
            ("always", "the log, if there is one, is flushed to disk before each answer"),
            ("everysec", "the log, if there is one, is flushed to disk once a second"),
        ],
        "the log, if there is one, is flushed to disk when the operating system likes",
    ),
    KnownSetting::new(
        "save",
        &[("", "no snapshots are saved by themselves")],
        "pairs of seconds with numbers of writes after which a snapshot is saved; saving forks the \
         server, which shows as latency",
    ),
    KnownSetting::new(
        "maxmemory",
        &[("0", "no bound; the machine's memory is one")],
        "bytes; beyond them maxmemory-policy decides what happens",
    ),
    KnownSetting::new(
        "maxmemory-policy",
        &[("noeviction", "with full memory writes are refused, nothing is removed")],
        "with full memory keys are removed: later reads of them are misses",
    ),
    KnownSetting::new(
        "io-threads",
        &[("1", "one thread does everything: one core is the server's limit")],
        "threads that write to sockets; commands still run on one",
    ),
    KnownSetting::new(
        "min-replicas-to-write",
        &[("0", "writes are taken however few replicas follow")],
        "writes are refused while fewer replicas follow",
    ),
];

const UNTOLD: &str =
    "the server does not tell: CONFIG is forbidden here, or it has no such setting";

/// Everything worth knowing, read back from the server.
pub(super) fn read(admin: &mut AdminConnection) -> Result<Vec<Setting>, RequestError> {
    let facts = Facts::query(admin)?;
    let mut settings = vec![facts.server()];
    let mut values = Vec::new();
    for known in KNOWN {
        let value = config(admin, known.name)?;
        settings.push(known.explain(value.as_deref(), UNTOLD));
        values.push(value);
    }
    settings.push(durability(values[0].as_deref(), values[1].as_deref(), values[2].as_deref()));
    settings.extend([facts.role(), facts.cluster(), facts.threads(), facts.memory()]);
    Ok(settings)
}

/// What is to be known about a cluster as a whole.
pub(super) fn of_cluster(
    admin: &mut AdminConnection,
    masters: usize,
) -> Result<Vec<Setting>, RequestError> {
    let nodes = admin.query(&[b"CLUSTER", b"NODES"])?;
    let replicas = replicas_in(&String::from_utf8_lossy(nodes.text().unwrap_or_default()));
    let coverage = config(admin, "cluster-require-full-coverage")?;
    let coverage_means = match coverage.as_deref() {
        Some("no") => "while a master is gone, keys of the others are served",
        Some(_) => "while a master is gone, until a replica has taken over, all requests fail",
        None => UNTOLD,
    };
    let timeout = config(admin, "cluster-node-timeout")?;
    let each = "keys are divided among the masters by their slot; the index of all keys is on one";
    let copies = match replicas {
        0 => "there are no copies: with a master its keys are gone",
        _ => {
            "a replica takes over when its master is gone; writes reach it after they were \
             answered, so the last ones are lost"
        }
    };
    let describe = |value: Option<String>| value.unwrap_or_else(|| UNKNOWN.into());
    Ok(vec![
        Setting::new("masters", masters.to_string(), each),
        Setting::new("replicas", replicas.to_string(), copies),
        Setting::new("cluster-require-full-coverage", describe(coverage), coverage_means),
        Setting::new(
            "cluster-node-timeout",
            describe(timeout),
            "milliseconds of silence after which a node counts as gone",
        ),
    ])
}

/// How many nodes are replicas that are there, in the answer to CLUSTER NODES: id, address, flags …
fn replicas_in(nodes: &str) -> usize {
    let flags = nodes.lines().filter_map(|line| line.split(' ').nth(2));
    flags.filter(|flags| flags.contains("slave") && !flags.contains("fail")).count()
}

/// The value of a setting; `None` if the server does not tell.
fn config(admin: &mut AdminConnection, name: &str) -> Result<Option<String>, RequestError> {
    let answer = admin.query(&[b"CONFIG", b"GET", name.as_bytes()])?;
    let value = answer.pairs().first().and_then(|(_, value)| value.text().map(<[u8]>::to_vec));
    Ok(value.map(|value| String::from_utf8_lossy(&value).into_owned()))
}

/// The three settings that decide it together, in one sentence.
fn durability(append: Option<&str>, fsync: Option<&str>, save: Option<&str>) -> Setting {
    let (value, meaning) = match (append, fsync, save) {
        (Some("yes"), Some("always"), _) => ("every write", "an acknowledged write is on disk"),
        (Some("yes"), Some("everysec"), _) => {
            ("one second", "a crash of the machine loses up to about one second of writes")
        }
        (Some("yes"), Some(_), _) => (
            "operating system",
            "a crash of the server loses nothing, one of the machine what was not flushed",
        ),
        (Some(_), _, Some("")) => ("none", "a crash of the server loses everything"),
        (Some(_), _, Some(_)) => {
            ("snapshots", "a crash of the server loses all writes since the last snapshot")
        }
        _ => (UNKNOWN, "the server does not tell what a crash would lose"),
    };
    Setting::new("durability", value, meaning)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_servers_name_is_its_own() {
        let server = |text| Facts::parse(text).server().value;
        assert_eq!(server("# Server\r\nredis_version:7.0.15\r\n"), "redis 7.0.15");
        assert_eq!(server("redis_version:7.2.4\r\nvalkey_version:8.0.1\r\n"), "valkey 8.0.1");
        assert_eq!(server(""), "redis unknown");
    }

    #[test]
    fn the_role_says_what_a_failover_loses() {
        let role = |text| Facts::parse(text).role();
        assert_eq!(role("role:master\r\nconnected_slaves:0").value, "master");
        assert!(role("role:master\r\nconnected_slaves:2").meaning.starts_with("2 replicas"));
        assert!(role("role:slave").meaning.contains("stale"));
        assert_eq!(role("").value, "unknown");
    }

    #[test]
    fn a_cluster_reports_its_settings() {
        assert!(Facts::parse("cluster_enabled:1").is_cluster());
        assert!(!Facts::parse("cluster_enabled:0").is_cluster());
        assert!(!Facts::parse("").is_cluster());
    }

    #[test]
    fn durability_is_one_sentence() {
        let check = |append, fsync, save, value: &str| {
            assert_eq!(durability(append, fsync, save).value, value);
        };
        check(Some("yes"), Some("always"), Some(""), "every write");
        check(Some("yes"), Some("everysec"), Some(""), "one second");
        check(Some("yes"), Some("no"), Some(""), "operating system");
        check(Some("no"), Some("everysec"), Some("3600 1"), "snapshots");
        check(Some("no"), Some("everysec"), Some(""), "none");
        check(None, None, None, "unknown");
    }

    #[test]
    fn replicas_that_have_failed_do_not_count() {
        let nodes = "a h:1@2 myself,master - 0 0 1 connected 0-5\nb h:2@3 slave a 0 0 1 connected\n\
                     c h:3@4 slave,fail a 0 0 1 disconnected\nd h:4@5 slave,noaddr a 0 0 1 x\n";
        assert_eq!(replicas_in(nodes), 2);
        assert_eq!(replicas_in(""), 0);
    }

    #[test]
    fn forbidden_settings_are_unknown() {
        let message = KNOWN[0].explain(None, UNTOLD);
        assert_eq!((message.name.as_str(), message.value.as_str()), ("appendonly", "unknown"));
        assert!(message.meaning.contains("forbidden"));
        assert_eq!(KNOWN[2].explain(Some(""), UNTOLD).value, "(none)");
    }
}

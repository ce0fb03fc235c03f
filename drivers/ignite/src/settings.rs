//! Settings of a cluster that a reader of its figures must know.

use assay_model::Setting;
use assay_store::{Isolation, OpenError};

use super::admin::AdminConnection;
use super::cache::Cache;
use super::keys::Keys;
use super::options::{Insert, Options, Transactions, WriteSync};
use super::plan::Plan;

const VERSIONS: &str = "SELECT VERSION FROM SYS.NODES WHERE IS_CLIENT = FALSE";
const CONFIGURATION: &str = "SELECT NAME, \"VALUE\" FROM SYS.CONFIGURATION \
                             WHERE NAME LIKE 'DataStorageConfiguration.%'";
/// Where the configuration of the region begins that caches are in by default.
const DEFAULT_REGION: &str = "DataStorageConfiguration.DefaultDataRegionConfiguration.";
const UNKNOWN: &str = "unknown";

/// What happens when the last copy of a partition is lost, by number.
const LOSS_POLICIES: [(&str, &str); 5] = [
    ("READ_ONLY_SAFE", "reads of what was lost and all writes are refused"),
    ("READ_ONLY_ALL", "what was lost reads as missing, all writes are refused"),
    ("READ_WRITE_SAFE", "reads and writes of what was lost are refused"),
    ("READ_WRITE_ALL", "what was lost reads as missing, and can be written"),
    ("IGNORE", "what was lost reads as missing, without an error, and can be written"),
];

/// Reads the cluster's settings.
pub(super) async fn send(
    admin: &mut AdminConnection<'_>,
    plan: &Plan,
    options: &Options,
) -> Result<Vec<Setting>, OpenError> {
    let versions = admin.rows(VERSIONS).await?.into_iter().flatten().collect();
    let pairs = admin.rows(CONFIGURATION).await?.into_iter();
    let pairs = pairs.filter_map(|row| <[String; 2]>::try_from(row).ok());
    let reported = ClusterInfo { versions, pairs: pairs.collect() };
    let mut settings = reported.of_cluster();
    // The tables of a layout are made alike.
    if let Some(table) = plan.tables.first()
        && let Some(cache) = admin.cache(&table.cache).await?
    {
        settings.extend(reported.of_cache(&cache));
    }
    settings.extend(ours(options));
    Ok(settings)
}

/// The cluster's settings.
struct ClusterInfo {
    /// The version of each server.
    versions: Vec<String>,
    /// Names and values of one node's configuration.
    pairs: Vec<[String; 2]>,
}

/// What survives a crash, in one word and in a sentence.
type Durability = (&'static str, &'static str);

impl ClusterInfo {
    fn of_cluster(&self) -> Vec<Setting> {
        let mut versions = self.versions.clone();
        versions.sort_unstable();
        versions.dedup();
        let versions = if versions.is_empty() { UNKNOWN.into() } else { versions.join(", ") };
        let nodes = match self.versions.len() {
            0 => UNKNOWN.to_owned(),
            nodes => nodes.to_string(),
        };
        vec![
            Setting::new("server", format!("Ignite {versions}"), "the software that was measured"),
            Setting::new("nodes", nodes, "servers in the cluster"),
        ]
    }

    fn get(&self, name: &str) -> Option<&str> {
        let found = self.pairs.iter().find(|[other, _]| other == name);
        found.map(|[_, value]| value.as_str())
    }

    /// Whether the data region of a cache is on disk too.
    fn is_persistent(&self, region: Option<&str>) -> Option<bool> {
        let default = self.get(&format!("{DEFAULT_REGION}Name"));
        let prefix = match region {
            None => DEFAULT_REGION.to_owned(),
            Some(name) if Some(name) == default => DEFAULT_REGION.to_owned(),
            Some(name) => {
                let is_its = |[key, value]: &&[String; 2]| {
                    key.contains("DataRegionConfigurations[")
                        && key.ends_with(".Name")
                        && value == name
                };
                self.pairs.iter().find(is_its)?[0].strip_suffix("Name")?.to_owned()
            }
        };
        self.get(&format!("{prefix}PersistenceEnabled")).map(|value| value == "true")
    }

    fn durability(&self, cache: &Cache) -> Durability {
        match (self.is_persistent(cache.region.as_deref()), self.get(WAL_MODE)) {
            (Some(false), _) => (
                "none",
                "everything ends when all its copies end; a record survives a node as long as \
                 another node has a copy",
            ),
            (Some(true), Some("FSYNC")) => {
                ("every change", "the log is on the nodes' disks before a change is answered")
            }
            (Some(true), Some("LOG_ONLY")) => (
                "process",
                "a crash of all nodes loses nothing, one of their machines the last changes",
            ),
            (Some(true), Some("BACKGROUND")) => (
                "two seconds",
                "a crash of all nodes loses the changes since the log was flushed last, by default \
                 up to two seconds",
            ),
            (Some(true), Some("NONE")) => {
                ("checkpoint", "a crash of all nodes may lose everything since they were started")
            }
            _ => (UNKNOWN, "the cluster does not tell what a crash would lose"),
        }
    }

    fn of_cache(&self, cache: &Cache) -> Vec<Setting> {
        let (durability, loss) = self.durability(cache);
        let mut settings = vec![
            Setting::new("durability", durability, loss),
            Setting::new("backups", cache.backups.to_string(), self.copies(cache)),
            cache.atomicity.setting("atomicity"),
            cache.write_sync.setting("write_sync"),
            Setting::new("read_from_backup", on(cache.reads_from_backup), of_reads(cache)),
        ];
        let policy = usize::try_from(cache.loss_policy).ok();
        if let Some(&(name, meaning)) = policy.and_then(|policy| LOSS_POLICIES.get(policy)) {
            settings.push(Setting::new("partition_loss_policy", name, meaning));
        }
        let log = self.get(WAL_MODE).filter(|_| durability != "none");
        settings.extend(
            log.map(|mode| Setting::new("wal_mode", mode, "when the log goes to the disk")),
        );
        settings
    }

    /// How many copies there are of a record.
    fn copies(&self, cache: &Cache) -> String {
        let target = cache.backups as usize + 1;
        match self.versions.len() {
            0 => format!("copies of a record besides the primary one, {target} in all"),
            nodes if nodes < target => format!(
                "copies of a record besides the primary one; with {nodes} of the {target} nodes \
                 that this needs there are {nodes} in all"
            ),
            nodes => format!("copies besides the primary one: {target} of {nodes} nodes have it"),
        }
    }
}

const WAL_MODE: &str = "DataStorageConfiguration.WalMode";

fn of_reads(cache: &Cache) -> &'static str {
    match (cache.reads_from_backup, cache.write_sync) {
        (false, _) => "reads are answered from the primary copy",
        (true, WriteSync::FullSync) => {
            "the node that gets a request may answer from its backup copy, which has all that is \
             answered"
        }
        (true, _) => {
            "the node that gets a request may answer from its backup copy, which may be older"
        }
    }
}

/// What we do by ourselves.
fn ours(options: &Options) -> Vec<Setting> {
    let mut settings = vec![
        Setting::new(
            "connections",
            options.connections.to_string(),
            "requests in flight of each worker; the wait for one to end counts as lag",
        ),
        Setting::new(
            "partition_awareness",
            on(options.is_partition_aware),
            if options.is_partition_aware {
                "a request goes to the node that owns its key"
            } else {
                "a request goes to any node, which passes it on to the owner of its key"
            },
        ),
        Setting::new(
            "index",
            on(options.has_index),
            if options.has_index {
                "keys are indexed in their order, which scans need and each insert pays for"
            } else {
                "keys are not indexed, as in YCSB's binding: there are no scans"
            },
        ),
        options.insert.setting("insert"),
    ];
    if options.keys == Keys::Bytes {
        let meaning = "each byte of a key is one character of the text that Ignite keeps";
        settings.push(Setting::new("keys", "bytes", meaning));
    }
    settings.extend(options.transactions.into_iter().flat_map(of_transactions));
    settings.extend(batch(options));
    settings
}

/// How several requests become one transaction.
fn of_transactions(transactions: Transactions) -> [Setting; 4] {
    let isolation = transactions.isolation;
    let (kept, found) = match isolation {
        Isolation::ReadCommitted => (
            "what is written is locked until the end; what is read is not, and may change",
            "as the transaction reads them, without locks",
        ),
        Isolation::RepeatableRead => (
            "what is read or written is locked until the end, also against what other transactions \
             read",
            "as the transaction reads them, under its locks",
        ),
        Isolation::Serializable => (
            "the commit compares what was read with what is there, and is refused if it changed",
            "as the transaction reads them, compared at the commit",
        ),
    };
    let timeout = transactions.timeout.as_millis().to_string();
    let scans = format!(
        "a scan within a transaction queries in SQL for keys, then gets their records {found}; \
         what \
         others insert into its range is neither held off nor noticed, and what is being \
         committed over several nodes may be found in parts"
    );
    [
        Setting::new("isolation", isolation.name(), kept),
        Setting::new(
            "concurrency",
            transactions.concurrency().name(),
            "pessimistic: others wait; optimistic: one of two is refused when it commits",
        ),
        Setting::new(
            "transaction_timeout",
            timeout,
            "milliseconds after which a transaction is undone and refused, with its waits for \
             locks; deadlocks end by nothing else",
        ),
        Setting::new("scans_in_transactions", "by key", scans),
    ]
}

/// What `batch` means for the figures, where it is on.
fn batch(options: &Options) -> Option<Setting> {
    let inserts = match options.insert {
        Insert::Put => "inserts (putAll), or reads (getAll),",
        Insert::PutIfAbsent => "reads (getAll), but not inserts,",
    };
    let meaning = format!(
        "that many {inserts} which wait at the same time are one request, to the owner of the \
         first key; in an atomic cache each record is written by itself, in a transactional one \
         all are or none; a latency includes the wait for the others, and `requests` of a batch \
         are those of its first operation"
    );
    (options.batch > 1).then(|| Setting::new("batch", options.batch.to_string(), meaning))
}

fn on(is_on: bool) -> &'static str {
    if is_on { "on" } else { "off" }
}

#[cfg(test)]
mod tests {
    use super::super::options::Atomicity;
    use super::*;

    fn describe(nodes: usize, pairs: &[(&str, &str)]) -> ClusterInfo {
        let pairs = pairs
            .iter()
            .map(|(name, value)| [format!("DataStorageConfiguration.{name}"), (*value).to_owned()]);
        ClusterInfo { versions: vec!["2.17.0".into(); nodes], pairs: pairs.collect() }
    }

    fn cache(region: Option<&str>) -> Cache {
        Cache {
            name: "usertable".into(),
            mode: 2,
            atomicity: Atomicity::Atomic,
            backups: 1,
            write_sync: WriteSync::FullSync,
            reads_from_backup: true,
            region: region.map(str::to_owned),
            loss_policy: 4,
            has_index: true,
        }
    }

    const PERSISTENT: (&str, &str) = ("DefaultDataRegionConfiguration.PersistenceEnabled", "true");

    #[test]
    fn what_survives_follows_from_persistence_and_log() {
        let of = |pairs: &[(&str, &str)]| describe(1, pairs).durability(&cache(None)).0;
        let volatile = ("DefaultDataRegionConfiguration.PersistenceEnabled", "false");
        assert_eq!(of(&[volatile, ("WalMode", "LOG_ONLY")]), "none");
        assert_eq!(of(&[PERSISTENT, ("WalMode", "LOG_ONLY")]), "process");
        assert_eq!(of(&[PERSISTENT, ("WalMode", "FSYNC")]), "every change");
        assert_eq!(of(&[PERSISTENT, ("WalMode", "BACKGROUND")]), "two seconds");
        assert_eq!(of(&[PERSISTENT, ("WalMode", "NONE")]), "checkpoint");
        assert_eq!(of(&[]), "unknown");
    }

    #[test]
    fn a_region_of_its_own_decides_for_its_caches() {
        let reported = describe(
            1,
            &[
                PERSISTENT,
                ("DataRegionConfigurations[1].Name", "fast"),
                ("DataRegionConfigurations[1].PersistenceEnabled", "false"),
            ],
        );
        assert_eq!(reported.is_persistent(None), Some(true));
        assert_eq!(reported.is_persistent(Some("fast")), Some(false));
        assert_eq!(reported.is_persistent(Some("other")), None);
    }

    #[test]
    fn copies_that_no_node_is_there_for_are_reported() {
        let copies = |nodes| describe(nodes, &[]).copies(&cache(None));
        assert!(copies(1).contains("there are 1 in all"), "{}", copies(1));
        assert!(copies(3).contains("2 of 3 nodes have it"), "{}", copies(3));
        assert!(copies(0).contains("2 in all"), "{}", copies(0));
    }

    #[test]
    fn each_setting_says_what_it_means() {
        let url = "ignite://h?index=off&insert=put_if_absent&atomicity=transactional";
        let options: Options = url.parse().unwrap();
        let reported = describe(3, &[PERSISTENT, ("WalMode", "LOG_ONLY")]);
        let settings =
            [reported.of_cluster(), reported.of_cache(&cache(None)), ours(&options)].concat();
        let names: Vec<&str> = settings.iter().map(|setting| setting.name.as_str()).collect();
        let expected = [
            "server",
            "nodes",
            "durability",
            "backups",
            "atomicity",
            "write_sync",
            "read_from_backup",
            "partition_loss_policy",
            "wal_mode",
            "connections",
            "partition_awareness",
            "index",
            "insert",
            "isolation",
            "concurrency",
            "transaction_timeout",
            "scans_in_transactions",
        ];
        assert_eq!(names, expected);
        assert!(batch(&options).is_none());
        let options: Options = "ignite://h?batch=8".parse().unwrap();
        let last = ours(&options).pop();
        assert_eq!(last.map(|last| (last.name, last.value)), Some(("batch".into(), "8".into())));
        assert!(settings.iter().all(|setting| !setting.meaning.is_empty()));
    }
}

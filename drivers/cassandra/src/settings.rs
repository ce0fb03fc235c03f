//! Settings of a cluster that a reader of its figures must know.

use std::collections::{BTreeMap, HashMap};

use assay_model::Setting;
use scylla::frame::types::{Consistency, SerialConsistency};
use scylla::statement::batch::BatchType;

use super::options::{Options, Writing, level_name};

/// What was read back from a cluster.
#[derive(Clone, Debug, Default)]
pub(super) struct Facts {
    /// The version of the node that answered.
    pub(super) version: String,
    pub(super) cluster: String,
    pub(super) partitioner: String,
    /// Of each node its data center with its version, that of the node that answered first.
    pub(super) nodes: Vec<(String, String)>,
    /// The keyspace's strategy with its parameters; nothing if there is no such keyspace.
    pub(super) replication: Option<BTreeMap<String, String>>,
    pub(super) has_commit_log: bool,
    /// The settings of the node that answered; nothing where it does not tell.
    pub(super) variables: HashMap<String, String>,
    /// What our tables say about reads: name, `speculative_retry`, `read_repair`, compaction.
    pub(super) tables: Vec<[String; 4]>,
}

/// The variables that are shown as they are, under either of the names that versions have for them.
const KNOWN: &[(&str, &str)] = &[
    ("hinted_handoff_enabled", "whether a node keeps writes for replicas that are down"),
    ("read_request_timeout", "how long a coordinator waits for replicas to answer a read"),
    ("write_request_timeout", "how long a coordinator waits for replicas to answer a write"),
    ("concurrent_reads", "reads that a node has under way at a time"),
    ("concurrent_writes", "writes that a node has under way at a time"),
    ("memtable_heap_space", "memory for what is not on disk as a table yet"),
    ("authenticator", "how users are known"),
];

const UNKNOWN: &str = "unknown";

impl Facts {
    fn variable(&self, name: &str) -> Option<&str> {
        // Versions before 4.1 had the unit in the name.
        let old = [format!("{name}_in_ms"), format!("{name}_in_mb")];
        let mut names = std::iter::once(name).chain(old.iter().map(String::as_str));
        names.find_map(|name| self.variables.get(name)).map(String::as_str)
    }

    /// Copies of a record in all data centers; nothing if the strategy is an unknown one.
    fn copies(&self) -> Option<usize> {
        let replication = self.replication.as_ref()?;
        let class = replication.get("class")?;
        if class.ends_with("SimpleStrategy") {
            return first_number(replication.get("replication_factor")?);
        }
        if !class.ends_with("NetworkTopologyStrategy") {
            return None;
        }
        let others = replication.iter().filter(|(name, _)| *name != "class");
        others.map(|(_, count)| first_number(count)).sum()
    }

    fn is_one_center(&self) -> bool {
        self.nodes.windows(2).all(|pair| pair[0].0 == pair[1].0)
    }

    /// Everything worth knowing.
    pub(super) fn settings(&self, options: &Options) -> Vec<Setting> {
        let mut settings = vec![
            Setting::new("server", &self.version, "the software that was measured"),
            Setting::new("cluster", self.size(), "nodes that the cluster knows, up or not"),
        ];
        settings.extend(self.replication(options));
        settings.push(self.durability());
        settings.push(Setting::new(
            "read_consistency",
            level_name(options.read),
            waits(options.read),
        ));
        settings.push(Setting::new(
            "write_consistency",
            level_name(options.write),
            waits(options.write),
        ));
        settings.push(self.visibility(options));
        settings.extend(conditions(options));
        settings.extend(self.of_driver(options));
        settings.extend(batch(options));
        for [table, speculative, repair, compaction] in &self.tables {
            settings.push(Setting::new(
                format!("table {table}"),
                format!("speculative_retry={speculative} read_repair={repair} {compaction}"),
                "when the server itself queries another replica before the first has answered; \
                 whether a read mends replicas that differ; how its files are merged",
            ));
        }
        let known = KNOWN.iter().filter_map(|&(name, meaning)| {
            self.variable(name).map(|value| Setting::new(name, value, meaning))
        });
        settings.extend(known);
        settings
    }

    fn size(&self) -> String {
        let centers: BTreeMap<&str, usize> =
            self.nodes.iter().fold(BTreeMap::new(), |mut counts, (center, _)| {
                *counts.entry(center.as_str()).or_default() += 1;
                counts
            });
        let centers: Vec<String> =
            centers.iter().map(|(center, count)| format!("{count} in {center}")).collect();
        let others: Vec<&str> = self
            .nodes
            .iter()
            .map(|(_, version)| version.as_str())
            .filter(|v| *v != self.version)
            .collect();
        let mixed = match others.first() {
            Some(other) => format!(", another version too: {other}"),
            None => String::new(),
        };
        format!("{}: {}{mixed}; {}", self.cluster, centers.join(", "), self.partitioner)
    }

    fn replication(&self, options: &Options) -> Vec<Setting> {
        let Some(replication) = &self.replication else {
            let meaning = "the keyspace is not there yet; it is made when data are loaded";
            return vec![Setting::new("replication", "none yet", meaning)];
        };
        let displayed: Vec<String> = replication
            .iter()
            .map(|(name, value)| format!("{name}={}", value.rsplit('.').next().unwrap_or(value)))
            .collect();
        let meaning = match self.copies() {
            Some(1) => {
                "one copy of each record: a node that is lost takes its records with it, and \
                        one that is down makes them unavailable"
                    .to_owned()
            }
            Some(copies) => format!("{copies} copies of each record, on as many nodes"),
            None => "on how many nodes each record is kept".to_owned(),
        };
        let name = format!("replication of {}", options.keyspace);
        vec![Setting::new(name, displayed.join(" "), meaning)]
    }

    fn durability(&self) -> Setting {
        let (value, meaning) = if self.replication.is_some() && !self.has_commit_log {
            (
                "none".to_owned(),
                "the keyspace has durable_writes = false: no commit log; what is not in a table \
                 file yet is lost when its replicas crash",
            )
        } else {
            match self.variable("commitlog_sync") {
                Some("periodic") => {
                    let period = self.variable("commitlog_sync_period").unwrap_or("unknown period");
                    (
                        format!("commitlog_sync=periodic {period}"),
                        "a replica answers before its commit log is on the disk: an acknowledged \
                         write is lost if all replicas that took it lose power within the period; \
                         a process that is killed may lose what it acknowledged last",
                    )
                }
                Some("batch") => (
                    "commitlog_sync=batch".to_owned(),
                    "a replica answers when its commit log is on the disk",
                ),
                Some("group") => (
                    "commitlog_sync=group".to_owned(),
                    "a replica answers when its commit log is on the disk, for which it waits a \
                     little so that more writes share it",
                ),
                other => (
                    other.unwrap_or(UNKNOWN).to_owned(),
                    "the server does not tell what a crash would lose; Cassandra's default is \
                     periodic, 10 s",
                ),
            }
        };
        Setting::new("durability", value, meaning)
    }

    /// Whether the replicas of a read include one that the last write waited for.
    fn visibility(&self, options: &Options) -> Setting {
        let count = |level| self.replicas(level);
        let (value, meaning) = match (count(options.read), count(options.write), self.copies()) {
            (Some(read), Some(write), Some(copies)) if read + write > copies => (
                format!("{read} + {write} > {copies}"),
                "a read sees every write that was acknowledged before it began: the replicas \
                 that either waits for overlap",
            ),
            (Some(read), Some(write), Some(copies)) => (
                format!("{read} + {write} <= {copies}"),
                "a read may miss writes that were acknowledged before it began, and a later one \
                 may miss what an earlier one saw",
            ),
            _ => (
                UNKNOWN.to_owned(),
                "whether a read sees every acknowledged write depends on data centers and levels",
            ),
        };
        Setting::new("visibility", value, meaning)
    }

    /// How many replicas a request of this level waits for, in a cluster of one data center.
    fn replicas(&self, level: Consistency) -> Option<usize> {
        let copies = self.copies()?;
        let majority = copies / 2 + 1;
        match level {
            Consistency::Any => Some(0),
            Consistency::One => Some(1),
            Consistency::Two => Some(2),
            Consistency::Three => Some(3),
            Consistency::All => Some(copies),
            Consistency::Quorum | Consistency::Serial => Some(majority),
            _ if !self.is_one_center() => None,
            Consistency::LocalOne => Some(1),
            Consistency::LocalQuorum | Consistency::EachQuorum | Consistency::LocalSerial => {
                Some(majority)
            }
        }
    }

    fn of_driver(&self, options: &Options) -> Vec<Setting> {
        let count = |number: usize| number.to_string();
        vec![
            Setting::new(
                "retries",
                "none",
                "the library passes every error on, and tries no second node while it waits for \
                 one; a statement that a node has forgotten is prepared again, then executed",
            ),
            Setting::new(
                "routing",
                options.datacenter.as_deref().unwrap_or("by token"),
                "a request goes to one of the nodes that have the record, drawn anew for each; a \
                 node without a connection is passed over; a scan goes to any node",
            ),
            Setting::new(
                "timestamps",
                "this process",
                "of two writes that this process began the later one wins, whichever node takes \
                 them; against other writers the clocks decide",
            ),
            Setting::new(
                "in_flight",
                count(options.in_flight),
                "requests per worker at a time; the wait for a slot counts as lag",
            ),
            Setting::new("connections", count(options.connections), "per worker to each node"),
        ]
    }
}

/// What `batch` means for the figures, where it is on.
fn batch(options: &Options) -> Option<Setting> {
    let (name, kept) = match options.batch_type {
        BatchType::Logged => (
            "logged",
            "the coordinator has two other nodes note the batch before it writes, so that either \
             none or in the end all of it is written, though readers may see some of it before",
        ),
        BatchType::Unlogged | BatchType::Counter => {
            ("unlogged", "each is written by itself, so some may be though the batch is unknown")
        }
    };
    let meaning = format!(
        "that many inserts which wait at the same time are one request, to a node that has the \
         first of them; {kept}; a latency includes the wait for the others, and `requests` of a \
         batch are those of its first operation. Reads go alone"
    );
    let value = format!("{} {name}", options.batch);
    (options.batch > 1).then(|| Setting::new("batch", value, meaning))
}

/// What conditional writes are, where there are some.
fn conditions(options: &Options) -> Option<Setting> {
    let value = match (options.insert, options.update) {
        (Writing::Upsert, Writing::Upsert) => return None,
        (Writing::Lwt, Writing::Lwt) => "insert, update, delete",
        (Writing::Lwt, Writing::Upsert) => "insert",
        (Writing::Upsert, Writing::Lwt) => "update, delete",
    };
    let serial = match options.serial {
        SerialConsistency::Serial => "SERIAL",
        SerialConsistency::LocalSerial => "LOCAL_SERIAL",
    };
    let meaning = match options.insert == options.update {
        true => {
            "the replicas agree by Paxos on each such write before it is committed; only a read of \
             consistency SERIAL sees what is agreed on and not committed"
        }
        false => {
            "these go by Paxos, the other writes do not: the two kinds are not ordered against \
             each other"
        }
    };
    Some(Setting::new("lwt", format!("{value} at {serial}"), meaning))
}

fn waits(level: Consistency) -> &'static str {
    match level {
        Consistency::Any => "a write is acknowledged when anything of it is kept, even a hint only",
        Consistency::One => "one replica has answered",
        Consistency::Two => "two replicas have answered",
        Consistency::Three => "three replicas have answered",
        Consistency::Quorum => "more than half of all replicas have answered",
        Consistency::All => "all replicas have answered: one that is down makes it unavailable",
        Consistency::LocalQuorum => {
            "more than half of the replicas in the coordinator's data center have answered"
        }
        Consistency::EachQuorum => {
            "more than half of the replicas in every data center have answered"
        }
        Consistency::LocalOne => "one replica in the coordinator's data center has answered",
        Consistency::Serial => {
            "a read goes by Paxos, so it sees every conditional write that was acknowledged before"
        }
        Consistency::LocalSerial => "a read goes by Paxos in the coordinator's data center alone",
    }
}

/// `3` of `3`, and of `3/1`, where the one is a transient copy.
fn first_number(text: &str) -> Option<usize> {
    text.split('/').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(replication: &[(&str, &str)], variables: &[(&str, &str)]) -> Facts {
        let pairs = |pairs: &[(&str, &str)]| -> Vec<(String, String)> {
            pairs.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect()
        };
        Facts {
            nodes: vec![("dc1".into(), "5.0.6".into()); 3],
            replication: Some(pairs(replication).into_iter().collect()),
            has_commit_log: true,
            variables: pairs(variables).into_iter().collect(),
            ..Facts::default()
        }
    }

    fn describe(facts: &Facts, options: &str, name: &str) -> (String, String) {
        let options: Options = format!("cassandra://h/ks{options}").parse().unwrap();
        let settings = facts.settings(&options);
        let found = settings.into_iter().find(|setting| setting.name == name);
        found.map_or_else(Default::default, |setting| (setting.value, setting.meaning))
    }

    const THREE: [(&str, &str); 2] =
        [("class", "org.apache.cassandra.locator.NetworkTopologyStrategy"), ("dc1", "3")];

    #[test]
    fn overlapping_replicas_see_every_write() {
        let facts = facts(&THREE, &[]);
        let visibility = |options: &str| describe(&facts, options, "visibility").0;
        assert_eq!(visibility(""), "2 + 2 > 3");
        assert_eq!(visibility("?consistency=ONE"), "1 + 1 <= 3");
        assert_eq!(visibility("?consistency=ONE&write_consistency=ALL"), "1 + 3 > 3");
        assert_eq!(visibility("?read_consistency=ALL&write_consistency=ANY"), "3 + 0 <= 3");
        assert_eq!(visibility("?consistency=LOCAL_QUORUM"), "2 + 2 > 3");
    }

    #[test]
    fn consistency_levels_of_one_data_center_guarantee_nothing_about_two() {
        let mut facts = facts(&[THREE[0], THREE[1], ("dc2", "3")], &[]);
        facts.nodes.push(("dc2".into(), "5.0.6".into()));
        assert_eq!(describe(&facts, "?consistency=LOCAL_QUORUM", "visibility").0, "unknown");
        assert_eq!(describe(&facts, "?consistency=QUORUM", "visibility").0, "4 + 4 > 6");
    }

    #[test]
    fn what_a_crash_loses_follows_from_the_commit_log() {
        let durability =
            |variables: &[(&str, &str)]| describe(&facts(&THREE, variables), "", "durability").0;
        let periodic = [("commitlog_sync", "periodic"), ("commitlog_sync_period", "10000ms")];
        assert_eq!(durability(&periodic), "commitlog_sync=periodic 10000ms");
        let old = [("commitlog_sync", "periodic"), ("commitlog_sync_period_in_ms", "10000")];
        assert_eq!(durability(&old), "commitlog_sync=periodic 10000");
        assert_eq!(durability(&[("commitlog_sync", "batch")]), "commitlog_sync=batch");
        assert_eq!(durability(&[]), "unknown");
        let without = Facts { has_commit_log: false, ..facts(&THREE, &periodic) };
        assert_eq!(describe(&without, "", "durability").0, "none");
    }

    #[test]
    fn copies_are_reported_in_words() {
        let of = |pairs: &[(&str, &str)]| describe(&facts(pairs, &[]), "", "replication of ks");
        let (value, meaning) = of(&THREE);
        assert_eq!(value, "class=NetworkTopologyStrategy dc1=3");
        assert!(meaning.starts_with("3 copies"), "{meaning}");
        let one = [("class", "SimpleStrategy"), ("replication_factor", "1")];
        assert!(of(&one).1.contains("one copy"));
    }

    #[test]
    fn batches_are_reported_where_there_are_some() {
        let facts = facts(&THREE, &[]);
        assert_eq!(describe(&facts, "", "batch").0, "");
        assert_eq!(describe(&facts, "?batch=8", "batch").0, "8 unlogged");
        let (value, meaning) = describe(&facts, "?batch=8&batch_type=logged", "batch");
        assert_eq!(value, "8 logged");
        assert!(meaning.contains("in the end all"), "{meaning}");
    }

    #[test]
    fn conditional_writes_are_reported_where_there_are_some() {
        let facts = facts(&THREE, &[]);
        assert_eq!(describe(&facts, "", "lwt").0, "");
        assert_eq!(
            describe(&facts, "?insert=lwt&update=lwt", "lwt").0,
            "insert, update, delete at SERIAL"
        );
        let (value, meaning) = describe(&facts, "?update=lwt", "lwt");
        assert_eq!(value, "update, delete at SERIAL");
        assert!(meaning.contains("not ordered against each other"), "{meaning}");
    }
}

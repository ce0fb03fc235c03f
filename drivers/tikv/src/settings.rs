//! Settings of a cluster that a reader of its figures must know.

use assay_model::Setting;

use super::options::{Mode, Options};
use super::placement::{Members, Node};

/// The label by which a server says that it is none of TiKV's.
const STAND_IN: &str = "stand-in";

/// The reported settings.
#[derive(Debug, Default)]
pub(super) struct Facts {
    pub(super) cluster_id: u64,
    pub(super) members: Members,
    /// The TiKV servers, each with the number of regions that it has copies of.
    pub(super) nodes: Vec<(Node, Option<u32>)>,
    /// How many copies of each region there are to be.
    pub(super) replicas: Option<u32>,
}

/// What a server is that only speaks as TiKV does, if it says so.
pub(super) fn stand_in(node: &Node) -> Option<String> {
    let version = node.version.to_lowercase();
    let is_known = ["mocktikv", "unistore"].iter().any(|name| version.contains(name));
    let label = node.label(STAND_IN);
    (is_known || label.is_some()).then(|| match label {
        Some(label) => format!("{} ({label})", node.version),
        None => node.version.clone(),
    })
}

impl Facts {
    fn stand_in(&self) -> Option<String> {
        self.nodes.iter().find_map(|(node, _)| stand_in(node))
    }

    /// Everything worth knowing.
    pub(super) fn settings(&self, options: &Options) -> Vec<Setting> {
        let mut settings = vec![self.server(), self.drivers(), self.nodes(), self.replication()];
        settings.push(self.durability(options));
        settings.push(options.mode.setting("mode"));
        if options.mode == Mode::Raw {
            settings.push(options.update.setting("update"));
        }
        settings.push(Setting::new(
            "connections",
            options.connections.to_string(),
            "requests in flight per worker, over one HTTP/2 connection to each server; the wait \
             for \
             one counts as lag",
        ));
        settings.extend(batch(options));
        let millis = options.request_timeout.as_millis();
        let meaning = "after it the client library gives up an answer: what was to be written is \
                       unknown then";
        settings.push(Setting::new("request_timeout", format!("{millis} ms"), meaning));
        settings.push(Setting::new(
            "client",
            "tikv-client 0.4 (Rust)",
            "requests to a server are not gathered on their way as the Go client does; reads go to \
             the leader of a region",
        ));
        settings
    }

    fn server(&self) -> Setting {
        if let Some(what) = self.stand_in() {
            let meaning = "it speaks TiKV's protocol in front of something else; its figures are \
                           not TiKV's, and tell nothing of how fast TiKV is";
            return Setting::new("server", format!("{what}, not TiKV"), meaning);
        }
        let mut versions: Vec<&str> = self.nodes.iter().map(|(node, _)| &*node.version).collect();
        versions.sort_unstable();
        versions.dedup();
        let value = format!("TiKV {}", versions.join(", "));
        Setting::new(
            "server",
            value.trim_end(),
            "the software that was measured, as it says itself",
        )
    }

    fn drivers(&self) -> Setting {
        let leader = self.members.leader.as_ref().map(|leader| leader.member_id);
        let displayed = self.members.members.iter().map(|member| {
            let role = if Some(member.member_id) == leader { " leader" } else { "" };
            let text = format!("{} {}{role}", member.name, member.binary_version);
            text.trim_end().to_owned()
        });
        let displayed: Vec<String> = displayed.collect();
        let value = format!("cluster {}: {}", self.cluster_id, displayed.join(", "));
        let meaning = "placement drivers: they tell where regions are; each transaction asks \
                       their leader for two timestamps, a read for one, raw mode for none";
        Setting::new("placement drivers", value, meaning)
    }

    fn nodes(&self) -> Setting {
        let displayed = self.nodes.iter().map(|(node, regions)| {
            let state = match node.state {
                0 => "up",
                1 => "offline",
                _ => "gone",
            };
            let regions = match regions {
                Some(regions) => format!("{regions} regions"),
                None => "regions not reported".into(),
            };
            format!("{} ({state}, {regions})", node.address)
        });
        let displayed: Vec<String> = displayed.collect();
        let meaning = "the servers with the copies of regions that they have now; regions split \
                       and move while data grow";
        Setting::new("stores", displayed.join(", "), meaning)
    }

    fn replication(&self) -> Setting {
        let (value, meaning) = match self.replicas {
            Some(copies) if copies > 1 && self.stand_in().is_none() => {
                let majority = copies / 2 + 1;
                let meaning = format!(
                    "of each region, as far as there are servers; a write waits for {majority} of \
                     them, a read asks the leader, which responds by its lease"
                );
                (format!("{copies} copies"), meaning)
            }
            Some(_) => ("1 copy".into(), "the only copy of the data".into()),
            None => ("not reported".into(), "PD does not tell how many copies there are".into()),
        };
        Setting::new("replication", value, meaning)
    }

    fn durability(&self, options: &Options) -> Setting {
        let name = "durability";
        if self.stand_in().is_some() {
            let meaning = "what a stand-in keeps outlives the end of its process at most; a \
                           machine without power may lose the last writes";
            return Setting::new(name, "not TiKV's", meaning);
        }
        let meaning = match options.mode {
            Mode::Raw => {
                "TiKV writes its Raft log to the disks of most copies before it answers; whether \
                 that was turned off (raftstore, raft-engine) it does not tell"
            }
            Mode::Optimistic | Mode::Pessimistic => {
                "TiKV writes its Raft log to the disks of most copies before it answers, once for \
                 the lock with the value, once for the commit; whether that was turned off \
                 (raftstore, raft-engine) it does not tell"
            }
        };
        Setting::new(name, "every write, unless turned off", meaning)
    }
}

/// What `batch` means for the figures, where it is on.
fn batch(options: &Options) -> Option<Setting> {
    let together = match options.mode {
        Mode::Raw => {
            "one request to each region that has some of them; a write that fails in one is \
             unknown for all, for the others may have it"
        }
        Mode::Optimistic | Mode::Pessimistic => {
            "one transaction, an optimistic one in either mode: reads are of one moment, inserts \
             atomic, although that is not needed"
        }
    };
    let meaning = format!(
        "that many inserts, or reads, which wait at the same time are {together}; a latency \
         includes the wait for the others, and `requests` of a batch are those of its first \
         operation"
    );
    (options.batch > 1).then(|| Setting::new("batch", options.batch.to_string(), meaning))
}

#[cfg(test)]
mod tests {
    use super::super::placement::{Label, Member};
    use super::*;

    fn member(member_id: u64, name: &str) -> Member {
        let binary_version = "v8.5.0".into();
        Member { member_id, name: name.into(), binary_version, ..Member::default() }
    }

    fn node(id: u64, version: &str) -> Node {
        let address = format!("host{id}:20160");
        Node { id, address, version: version.into(), ..Node::default() }
    }

    fn value(facts: &Facts, url: &str, name: &str) -> String {
        let settings = facts.settings(&url.parse().unwrap());
        assert!(settings.iter().all(|it| !it.value.is_empty() && !it.meaning.is_empty()));
        let found = settings.into_iter().find(|setting| setting.name == name);
        found.map(|setting| setting.value).unwrap_or_default()
    }

    #[test]
    fn a_cluster_is_reported_with_its_servers() {
        let facts = Facts {
            cluster_id: 7,
            members: Members {
                members: vec![member(1, "pd1"), member(2, "pd2")],
                leader: Some(member(2, "pd2")),
                ..Members::default()
            },
            nodes: vec![(node(1, "8.5.0"), Some(12)), (node(4, "8.5.0"), None)],
            replicas: Some(3),
        };
        let url = "tikv://one,two";
        assert_eq!(value(&facts, url, "server"), "TiKV 8.5.0");
        let drivers = "cluster 7: pd1 v8.5.0, pd2 v8.5.0 leader";
        assert_eq!(value(&facts, url, "placement drivers"), drivers);
        let stores = "host1:20160 (up, 12 regions), host4:20160 (up, regions not reported)";
        assert_eq!(value(&facts, url, "stores"), stores);
        assert_eq!(value(&facts, url, "replication"), "3 copies");
        assert_eq!(value(&facts, url, "mode"), "optimistic");
        assert_eq!(value(&facts, url, "update"), "");
        assert_eq!(value(&facts, "tikv://one/?mode=raw&update=put", "update"), "put");
        assert_eq!(value(&facts, url, "batch"), "");
        assert_eq!(value(&facts, "tikv://one/?mode=raw&batch=9", "batch"), "9");
    }

    #[test]
    fn a_stand_in_is_not_reported_as_tikv() {
        let mut labelled = node(1, "0.1");
        labelled.labels = vec![Label { key: STAND_IN.into(), value: "a map".into() }];
        assert_eq!(stand_in(&labelled).as_deref(), Some("0.1 (a map)"));
        let unistore = stand_in(&node(1, "unistore-7.5"));
        assert_eq!(unistore.as_deref(), Some("unistore-7.5"));
        assert_eq!(stand_in(&node(1, "8.5.0")), None);
        let nodes = vec![(node(1, "mocktikv of client-go 2.0.4"), Some(1))];
        let facts = Facts { nodes, replicas: Some(1), ..Facts::default() };
        let server = value(&facts, "tikv://h", "server");
        assert_eq!(server, "mocktikv of client-go 2.0.4, not TiKV");
        assert_eq!(value(&facts, "tikv://h", "durability"), "not TiKV's");
        assert_eq!(value(&facts, "tikv://h", "replication"), "1 copy");
    }
}

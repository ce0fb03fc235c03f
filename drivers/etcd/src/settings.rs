//! Settings of an etcd that a reader of its figures must know.

use assay_model::Setting;

use super::messages::{Member, StatusResponse};
use super::options::Options;

/// The reported settings, and the requested ones.
pub(super) struct Facts {
    /// What each endpoint said about itself, as its place among them.
    pub(super) reported: Vec<(usize, StatusResponse)>,
    /// Every member of the cluster, as the first of them said; none if it did not.
    pub(super) members: Vec<Member>,
}

impl Facts {
    /// Everything worth knowing.
    pub(super) fn settings(&self, options: &Options) -> Vec<Setting> {
        let mut settings = vec![
            self.server(),
            self.durability(),
            self.replication(),
            options.read.setting("read"),
            self.members(),
            self.endpoints(options),
            self.term(),
            self.size(),
            self.quota(),
            Setting::new(
                "max-txn-ops",
                "not reported (128 unless set)",
                "a transaction that has read, or writes, more records than that is refused as \
                 unsupported when it commits",
            ),
            Setting::new(
                "connections",
                options.connections.to_string(),
                "requests in flight per worker, over one HTTP/2 connection to each endpoint; \
                 beyond \
                 that the wait is lag",
            ),
        ];
        settings.extend(batch(options));
        let alarms: Vec<&str> = self
            .reported
            .iter()
            .flat_map(|(_, reported)| &reported.errors)
            .map(String::as_str)
            .collect();
        if !alarms.is_empty() {
            let meaning = "what members complain about; with NOSPACE every write is refused";
            settings.push(Setting::new("alarms", alarms.join("; "), meaning));
        }
        settings
    }

    fn server(&self) -> Setting {
        let mut versions: Vec<&str> =
            self.reported.iter().map(|(_, reported)| reported.version.as_str()).collect();
        versions.sort_unstable();
        versions.dedup();
        let value = format!("etcd {}", versions.join(", "));
        Setting::new("server", value, "the software that was measured")
    }

    /// Members whose disks count.
    fn voters(&self) -> usize {
        self.members.iter().filter(|member| !member.is_learner).count()
    }

    fn durability(&self) -> Setting {
        let meaning = match self.voters() {
            0 => {
                "a write is answered after a majority of the members has it in its log on disk \
                 (fsync)"
            }
            1 => {
                "a write is answered after the only member has it in its log on disk (fsync): \
                 loss of power takes nothing, loss of that disk everything"
            }
            _ => {
                "a write is answered after a majority of the members has it in its log on disk \
                 (fsync): loss of power in all of them takes nothing"
            }
        };
        let exception = "; a server started with --unsafe-no-fsync does not tell so";
        Setting::new("durability", "every commit", format!("{meaning}{exception}"))
    }

    fn replication(&self) -> Setting {
        let voters = self.voters();
        let learners = self.members.len() - voters;
        if voters == 0 {
            let meaning = "how many members there are was not reported, perhaps for want of \
                           rights";
            return Setting::new("replication", "unknown", meaning);
        }
        let majority = voters / 2 + 1;
        let value = match learners {
            0 => format!("{voters} voters"),
            _ => format!("{voters} voters, {learners} learners"),
        };
        let meaning = match voters {
            1 => "the only copy of the data".into(),
            _ => format!(
                "each member has all data; a write waits for {majority} of {voters}, and with {} \
                 of them down nothing is written",
                voters - majority + 1
            ),
        };
        Setting::new("replication", value, meaning)
    }

    /// The member that most of the others name as the leader.
    fn leader(&self) -> u64 {
        let newest = self.reported.iter().max_by_key(|(_, reported)| reported.raft_term);
        newest.map_or(0, |(_, reported)| reported.leader)
    }

    fn members(&self) -> Setting {
        let name = |member: &Member| {
            let name = match member.name.as_str() {
                "" => format!("{:x} (never started)", member.id),
                name => name.to_owned(),
            };
            let role = match (member.id == self.leader(), member.is_learner) {
                (true, _) => " leader",
                (false, true) => " learner",
                (false, false) => "",
            };
            format!("{name}{role} {}", member.client_urls.join(" ")).trim_end().to_owned()
        };
        let names: Vec<String> = self.members.iter().map(name).collect();
        let value = if names.is_empty() { "unknown".into() } else { names.join(", ") };
        Setting::new("members", value, "the cluster as it was then; the leader may change")
    }

    fn endpoints(&self, options: &Options) -> Setting {
        let leader = self.leader();
        let display = |place: usize| {
            let reported = self.reported.iter().find(|(reported, _)| *reported == place);
            let state = match reported {
                None => " (did not answer)",
                Some((_, reported)) if reported.is_learner => " (learner)",
                Some((_, reported)) => match &reported.header {
                    Some(header) if header.member_id == leader => " (leader)",
                    _ => " (follower)",
                },
            };
            format!("{}{state}", options.address.authority(place))
        };
        let display: Vec<String> = (0..options.address.hosts.len()).map(display).collect();
        let meaning = "requests go to them in turns; followers pass writes and linearizable reads \
                       on to the leader, which costs a hop";
        Setting::new("endpoints", display.join(", "), meaning)
    }

    fn term(&self) -> Setting {
        let term = self.reported.iter().map(|(_, reported)| reported.raft_term).max().unwrap_or(0);
        let meaning =
            "grows with each election: another one after the run means a change of leader";
        Setting::new("raft-term", term.to_string(), meaning)
    }

    fn size(&self) -> Setting {
        let size = self.reported.iter().map(|(_, reported)| reported.db_size).max().unwrap_or(0);
        let in_use =
            self.reported.iter().map(|(_, reported)| reported.db_size_in_use).max().unwrap_or(0);
        let meaning = "bytes of the largest member's file; old values of every key stay in it \
                       until the history is compacted";
        Setting::new("db-size", format!("{size} ({in_use} in use)"), meaning)
    }

    fn quota(&self) -> Setting {
        let quota =
            self.reported.iter().map(|(_, reported)| reported.db_size_quota).min().unwrap_or(0);
        let value = match quota {
            0 => "not reported before etcd 3.6 (2147483648 unless set)".into(),
            bytes => bytes.to_string(),
        };
        let meaning = "db-size from which on every write fails as full";
        Setting::new("quota-backend-bytes", value, meaning)
    }
}

/// What `batch` means for the figures, where it is on.
fn batch(options: &Options) -> Option<Setting> {
    let meaning = "that many inserts, or reads, which wait at the same time are one transaction: \
                   atomic, although that is not needed, and together no larger than one request \
                   may be; a latency includes the wait for the others, and `requests` of a batch \
                   are those of its first operation";
    (options.batch > 1).then(|| Setting::new("batch", options.batch.to_string(), meaning))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::messages::ResponseHeader;

    fn member(id: u64, name: &str, is_learner: bool) -> Member {
        Member { id, name: name.into(), client_urls: Vec::new(), is_learner }
    }

    fn describe(member_id: u64, raft_term: u64, leader: u64) -> StatusResponse {
        StatusResponse {
            header: Some(ResponseHeader { cluster_id: 1, member_id, revision: 9 }),
            version: "3.4.23".into(),
            raft_term,
            leader,
            ..StatusResponse::default()
        }
    }

    fn value(facts: &Facts, name: &str) -> String {
        let options = "etcd://one:1,two:2,three:3/p?read=serializable&batch=9".parse().unwrap();
        let settings = facts.settings(&options);
        assert!(settings.iter().all(|setting| !setting.meaning.is_empty()));
        let found = settings.into_iter().find(|setting| setting.name == name);
        found.map(|setting| setting.value).unwrap_or_default()
    }

    #[test]
    fn a_cluster_is_reported_with_its_roles() {
        let members = vec![member(1, "n1", false), member(2, "n2", false), member(3, "", true)];
        let facts =
            Facts { reported: vec![(0, describe(1, 4, 1)), (1, describe(2, 5, 2))], members };
        assert_eq!(value(&facts, "server"), "etcd 3.4.23");
        assert_eq!(value(&facts, "replication"), "2 voters, 1 learners");
        assert_eq!(value(&facts, "members"), "n1, n2 leader, 3 (never started) learner");
        let endpoints = "one:1 (follower), two:2 (leader), three:3 (did not answer)";
        assert_eq!(value(&facts, "endpoints"), endpoints);
        assert_eq!(value(&facts, "raft-term"), "5");
        assert_eq!(value(&facts, "read"), "serializable");
        assert_eq!(value(&facts, "batch"), "9");
    }

    #[test]
    fn what_is_not_reported_is_unknown() {
        let facts = Facts { reported: vec![(0, describe(1, 4, 1))], members: Vec::new() };
        assert_eq!(value(&facts, "replication"), "unknown");
        assert_eq!(value(&facts, "members"), "unknown");
        assert!(value(&facts, "quota-backend-bytes").starts_with("not reported"));
        assert_eq!(value(&facts, "alarms"), "");
    }
}

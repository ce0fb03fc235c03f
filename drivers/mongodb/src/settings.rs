//! Settings of a server that a reader of its figures must know.

use assay_model::Setting;
use mongodb::bson::{Bson, Document};
use mongodb::options::Acknowledgment;

use super::options::{Options, Preference};

/// The responses of a server to the queries for its settings; each may be missing.
#[derive(Debug, Default)]
pub(super) struct Answers {
    /// To `buildInfo`.
    pub(super) build: Option<Document>,
    /// To `hello`.
    pub(super) hello: Option<Document>,
    /// To `getDefaultRWConcern`.
    pub(super) concerns: Option<Document>,
    /// To `serverStatus`.
    pub(super) status: Option<Document>,
    /// To `replSetGetConfig`.
    pub(super) replica_set: Option<Document>,
}

/// What is not MongoDB although it speaks as it does: its name, with the version if it has one.
pub(super) fn ferret(build: &Document) -> Option<String> {
    let plain = build.get_str("ferretdbVersion").ok();
    let nested = build.get_document("ferretdb").ok();
    let nested = nested.and_then(|ferretdb| ferretdb.get_str("version").ok());
    plain.or(nested).map(|version| match version {
        // It was built into another program.
        "unknown" | "" => "FerretDB of an unknown version".into(),
        _ => format!("FerretDB {}", version.trim_start_matches('v')),
    })
}

impl Answers {
    fn build(&self, name: &str) -> Option<&str> {
        self.build.as_ref()?.get_str(name).ok()
    }

    fn ferret(&self) -> Option<String> {
        self.build.as_ref().and_then(ferret)
    }

    /// Everything worth knowing.
    pub(super) fn settings(&self, options: &Options) -> Vec<Setting> {
        let mut settings = vec![self.server()];
        settings.push(self.members());
        settings.push(self.durability(options));
        if self.ferret().is_none() {
            settings.push(self.write_concern(options));
            settings.push(self.read_concern(options));
        }
        let preference = options.read_preference.unwrap_or(Preference::Primary);
        settings.push(preference.setting("read preference"));
        settings.extend(self.engine());
        settings.push(Setting::new(
            "connections",
            options.connections.to_string(),
            "per worker, each with one request in flight; the wait for one counts as lag. One more \
             watches the server",
        ));
        settings.push(Setting::new(
            "retryWrites, retryReads",
            "false",
            "the library retries nothing; applications usually leave both on",
        ));
        settings
    }

    fn server(&self) -> Setting {
        let version = self.build("version").unwrap_or(UNKNOWN);
        match self.ferret() {
            Some(ferret) => Setting::new(
                "server",
                format!("{ferret}, not MongoDB"),
                format!(
                    "it speaks MongoDB's protocol in front of another store, and says that it is \
                     like MongoDB {version}; its figures are not MongoDB's"
                ),
            ),
            None => Setting::new(
                "server",
                format!("MongoDB {version}"),
                "the software that was measured, as it says itself",
            ),
        }
    }

    fn members(&self) -> Setting {
        let Some(hello) = &self.hello else {
            return Setting::new("members", UNKNOWN, "the server does not tell who has copies");
        };
        if hello.get_str("msg").is_ok_and(|text| text == "isdbgrid") {
            let meaning = "a router in front of shards, each of which has members of its own";
            return Setting::new("members", "mongos", meaning);
        }
        match (hello.get_str("setName"), hello.get_array("hosts")) {
            (Ok(name), Ok(hosts)) => {
                let hosts: Vec<&str> = hosts.iter().filter_map(Bson::as_str).collect();
                let meaning = "the members of the replica set, which have a copy each";
                Setting::new("members", format!("{name}: {}", hosts.join(", ")), meaning)
            }
            _ => Setting::new("members", "1", "one server, no replica set: there is no other copy"),
        }
    }

    /// The default that the cluster has for writes.
    fn default_write(&self) -> Option<&Document> {
        self.concerns.as_ref()?.get_document("defaultWriteConcern").ok()
    }

    fn acknowledgment(&self, options: &Options) -> Option<String> {
        let requested = options.w.as_ref().map(|w| match w {
            Acknowledgment::Nodes(nodes) => nodes.to_string(),
            Acknowledgment::Majority => "majority".into(),
            Acknowledgment::Custom(name) => name.clone(),
            _ => UNKNOWN.into(),
        });
        requested.or_else(|| self.default_write()?.get("w").map(display))
    }

    fn journal(&self, options: &Options) -> Option<bool> {
        options.journal.or_else(|| self.default_write()?.get_bool("j").ok())
    }

    fn write_concern(&self, options: &Options) -> Setting {
        let w = self.acknowledgment(options);
        let value = match (&w, self.journal(options)) {
            (Some(w), Some(journal)) => format!("w={w}, journal={journal}"),
            (Some(w), None) => format!("w={w}, journal by the server's rule"),
            (None, Some(journal)) => format!("w by the server's rule, journal={journal}"),
            (None, None) => "by the server's rule".into(),
        };
        let meaning = match w.as_deref() {
            Some("1") => {
                "the primary alone has a write when it is acknowledged: it is rolled back if \
                 another becomes primary before it has it"
            }
            Some("majority") => {
                "most members have a write when it is acknowledged, so that it is not rolled back"
            }
            Some(_) => "so many members have a write when it is acknowledged",
            None => {
                "by default most members have a write when it is acknowledged, but only the \
                 primary where there are arbiters or no replica set"
            }
        };
        Setting::new("write concern", value, meaning)
    }

    fn read_concern(&self, options: &Options) -> Setting {
        let default = || {
            let concerns = self.concerns.as_ref()?;
            let concern = concerns.get_document("defaultReadConcern").ok()?;
            concern.get_str("level").ok().map(str::to_owned)
        };
        let level = options.read_concern.clone().or_else(default);
        let level = level.unwrap_or_else(|| "local".into());
        let meaning = match level.as_str() {
            "local" | "available" => {
                "a read may see what is rolled back later, when another becomes primary"
            }
            "majority" => "a read sees what most members have; it may be older than the newest",
            "linearizable" => "a read of one document on the primary sees all acknowledged writes",
            "snapshot" => "a read sees one moment that most members have",
            _ => "what a read may see",
        };
        Setting::new("read concern", level, meaning)
    }

    fn engine(&self) -> Option<Setting> {
        let engine = self.status.as_ref()?.get_document("storageEngine").ok()?;
        let name = engine.get_str("name").ok()?;
        let keeps = match engine.get_bool("persistent") {
            Ok(false) => "it keeps everything in memory only",
            _ => "what the server keeps its documents with",
        };
        Some(Setting::new("storage engine", name, keeps))
    }

    /// What an acknowledged write survives.
    fn durability(&self, options: &Options) -> Setting {
        let name = "durability";
        if self.ferret().is_some() {
            let meaning = "the store behind FerretDB decides it, which it does not tell; with \
                           SQLite a killed server loses nothing, a machine without power may lose \
                           the last writes";
            return Setting::new(name, UNKNOWN, meaning);
        }
        let majority = self.acknowledgment(options).is_none_or(|w| w == "majority");
        let majority_journals = self.replica_set.as_ref().map(|answer| {
            let config = answer.get_document("config").ok();
            config.is_none_or(|config| {
                config.get_bool("writeConcernMajorityJournalDefault").unwrap_or(true)
            })
        });
        match (self.journal(options), majority, majority_journals) {
            (Some(true), ..) | (None, true, Some(true)) => Setting::new(
                name,
                "every write",
                "a write is in the journal on the disk before it is acknowledged: a loss of power \
                 does not take it, once most members have it",
            ),
            _ => Setting::new(
                name,
                "up to 0.1 s",
                "a write is acknowledged before it is in the journal, which is written every 100 \
                 ms (storage.journal.commitIntervalMs): a killed server may lose the last writes, \
                 unless other members have them",
            ),
        }
    }
}

const UNKNOWN: &str = "not reported";

fn display(value: &Bson) -> String {
    match value {
        Bson::String(text) => text.clone(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use mongodb::bson::doc;

    use super::*;

    fn describe(answers: &Answers, url: &str, name: &str) -> String {
        let settings = answers.settings(&url.parse().unwrap());
        assert!(settings.iter().all(|it| !it.value.is_empty() && !it.meaning.is_empty()));
        let found = settings.into_iter().find(|setting| setting.name == name);
        found.map_or_else(|| "(no such setting)".into(), |setting| setting.value)
    }

    fn replica_set(journals: bool) -> Answers {
        Answers {
            build: Some(doc! { "version": "7.0.14" }),
            hello: Some(doc! { "setName": "rs0", "hosts": ["a:1", "b:2"] }),
            concerns: Some(doc! {
                "defaultWriteConcern": { "w": "majority", "wtimeout": 0 },
                "defaultReadConcern": { "level": "local" },
            }),
            status: Some(doc! { "storageEngine": { "name": "wiredTiger", "persistent": true } }),
            replica_set: Some(doc! {
                "config": { "writeConcernMajorityJournalDefault": journals },
            }),
        }
    }

    #[test]
    fn ferretdb_is_not_taken_for_mongodb() {
        let build = doc! { "version": "7.0.42", "ferretdbVersion": "v1.24.2" };
        let answers = Answers { build: Some(build), ..Answers::default() };
        let server = describe(&answers, "mongodb://h/d", "server");
        assert_eq!(server, "FerretDB 1.24.2, not MongoDB");
        assert_eq!(describe(&answers, "mongodb://h/d?journal=true", "durability"), UNKNOWN);
        let newer = doc! { "version": "7.0.77", "ferretdb": { "version": "v2.1.0" } };
        assert_eq!(ferret(&newer).as_deref(), Some("FerretDB 2.1.0"));
        let built_in = ferret(&doc! { "ferretdbVersion": "unknown" });
        assert_eq!(built_in.as_deref(), Some("FerretDB of an unknown version"));
        assert_eq!(ferret(&doc! { "version": "7.0.14" }), None);
    }

    #[test]
    fn a_replica_set_tells_its_members_with_its_rules() {
        let answers = replica_set(true);
        assert_eq!(describe(&answers, "mongodb://h/d", "server"), "MongoDB 7.0.14");
        assert_eq!(describe(&answers, "mongodb://h/d", "members"), "rs0: a:1, b:2");
        let concern = describe(&answers, "mongodb://h/d", "write concern");
        assert_eq!(concern, "w=majority, journal by the server's rule");
        let concern = describe(&answers, "mongodb://h/d?w=1&journal=true", "write concern");
        assert_eq!(concern, "w=1, journal=true");
        assert_eq!(describe(&answers, "mongodb://h/d", "read concern"), "local");
        assert_eq!(describe(&answers, "mongodb://h/d", "storage engine"), "wiredTiger");
    }

    #[test]
    fn what_survives_follows_from_the_journal() {
        let durability = |answers: &Answers, url| describe(answers, url, "durability");
        assert_eq!(durability(&replica_set(true), "mongodb://h/d"), "every write");
        assert_eq!(durability(&replica_set(false), "mongodb://h/d"), "up to 0.1 s");
        assert_eq!(durability(&replica_set(true), "mongodb://h/d?w=1"), "up to 0.1 s");
        assert_eq!(durability(&replica_set(true), "mongodb://h/d?journal=false"), "up to 0.1 s");
        let alone = Answers { build: Some(doc! { "version": "7.0.14" }), ..Answers::default() };
        assert_eq!(durability(&alone, "mongodb://h/d"), "up to 0.1 s");
        assert_eq!(durability(&alone, "mongodb://h/d?journal=true"), "every write");
    }
}

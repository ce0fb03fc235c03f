//! Settings of an AntidoteDB that a reader of its figures must know.

use assay_model::Setting;

use super::options::Options;

/// What the descriptors of our stand-in begin with; a server's own are opaque, and never read.
pub(super) const STAND_IN: &[u8] = b"assay stand-in ";

/// Everything worth knowing, given the descriptor of a transaction.
pub(super) fn settings(options: &Options, descriptor: &[u8]) -> Vec<Setting> {
    let is_stand_in = descriptor.starts_with(STAND_IN);
    let host = match options.address.hosts.len() {
        1 => Setting::new("host", options.host.name(), "there is one host"),
        _ => options.host.setting("host"),
    };
    let hosts = options.address.authorities().join(", ");
    let mut settings = vec![
        server(is_stand_in),
        durability(is_stand_in),
        Setting::new(
            "isolation",
            "repeatable-read",
            "snapshot isolation within a data centre: of two transactions that write one record \
             the first to commit wins, the other is refused (conflict); between data centres \
             nothing is certified, both commit, and for each field the last write wins",
        ),
        options.session.setting("session"),
        host,
        Setting::new("hosts", hosts, "nodes or data centres, as the URL names them"),
        options.writes.setting("writes"),
        Setting::new("bucket", &options.bucket, "the bucket of every object"),
        Setting::new(
            "deletes",
            "marks",
            "a delete marks the fields of its record as not there, and clearing a table begins \
             another bucket: AntidoteDB frees no space",
        ),
        Setting::new(
            "connections",
            options.connections.to_string(),
            "requests in flight per worker with each host, a connection each; beyond that the \
             wait is lag",
        ),
    ];
    if options.address.hosts.len() > 1 {
        settings.push(Setting::new(
            "replication",
            "asynchronous between data centres",
            "a write is visible elsewhere some time after its answer (1 to 2 s with the usual \
             heartbeat); nodes of one data centre share its records",
        ));
    }
    settings
}

fn server(is_stand_in: bool) -> Setting {
    let value = match is_stand_in {
        true => "a stand-in (one process of ours that keeps everything in memory), not AntidoteDB",
        false => "AntidoteDB, version not reported",
    };
    Setting::new("server", value, "the software that was measured; its protocol tells no version")
}

fn durability(is_stand_in: bool) -> Setting {
    let (value, meaning) = match is_stand_in {
        true => ("none", "a stand-in loses everything when it ends"),
        false => (
            "sync_log not reported (false unless set)",
            "with sync_log=false a commit is answered before its log is on disk: loss of power \
             takes the last commits; with true it is answered afterwards",
        ),
    };
    Setting::new("durability", value, meaning)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(url: &str, descriptor: &[u8], name: &str) -> Option<String> {
        let settings = settings(&url.parse().unwrap(), descriptor);
        assert!(settings.iter().all(|setting| !setting.meaning.is_empty()));
        settings.into_iter().find(|setting| setting.name == name).map(|setting| setting.value)
    }

    #[test]
    fn a_stand_in_is_never_taken_for_antidotedb() {
        let url = "antidote://one";
        let own = value(url, b"assay stand-in 7", "server").unwrap();
        assert!(own.contains("not AntidoteDB"), "{own}");
        assert_eq!(value(url, b"\x83h\x06", "server").unwrap(), "AntidoteDB, version not reported");
        let durability = value(url, b"\x83h\x06", "durability").unwrap();
        assert_eq!(durability, "sync_log not reported (false unless set)");
    }

    #[test]
    fn options_are_reported() {
        let url = "antidote://one,two:2?session=none&host=any&connections=3&bucket=b";
        for (name, expected) in [
            ("session", "none"),
            ("host", "any"),
            ("hosts", "one:8087, two:2"),
            ("bucket", "b"),
            ("connections", "3"),
            ("replication", "asynchronous between data centres"),
        ] {
            assert_eq!(value(url, b"", name).as_deref(), Some(expected), "{name}");
        }
        assert_eq!(value("antidote://one", b"", "replication"), None);
    }
}

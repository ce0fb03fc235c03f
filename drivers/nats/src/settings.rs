//! Settings of a server that a reader of its figures must know.

use assay_model::Setting;
use async_nats::ServerInfo;
use async_nats::jetstream::stream::{Info as StreamInfo, StorageType};

use super::options::Options;

/// What is known about the server itself.
pub(super) fn of_server(reported: &ServerInfo, options: &Options) -> Vec<Setting> {
    let cluster = reported.cluster.as_deref().unwrap_or("(none)");
    vec![
        Setting::new(
            "server",
            format!("nats-server {}", reported.version),
            "the software that was measured, as the server that we are connected to says",
        ),
        Setting::new("cluster", cluster, "the servers that buckets may have replicas on"),
        options.read.setting("read"),
        Setting::new(
            "max_payload",
            reported.max_payload.to_string(),
            "bytes of the largest message; larger records are refused (malformed)",
        ),
        Setting::new(
            "connections",
            options.connections.to_string(),
            "requests of a worker in flight at most, over one TCP connection; beyond that the wait \
             is lag",
        ),
        Setting::new(
            "sync_interval",
            "not reported",
            "how long the server leaves written messages to the system's memory before it waits \
             for the disk; no client can read it, nats-server's own choice is 2 minutes",
        ),
    ]
}

/// What is known about a bucket.
pub(super) fn of_bucket(bucket: &str, reported: &StreamInfo) -> Vec<Setting> {
    let replicas = reported.config.num_replicas;
    let name = |what: &str| format!("{bucket}.{what}");
    let mut settings = vec![
        Setting::new(name("replicas"), replicas.to_string(), acknowledged(replicas)),
        durability(&name("durability"), reported.config.storage, replicas),
        Setting::new(
            name("history"),
            reported.config.max_messages_per_subject.to_string(),
            "values of a record that are kept; a removed record leaves a marker behind for ever",
        ),
    ];
    if let Some(cluster) = &reported.cluster {
        let leader = cluster.leader.as_deref().unwrap_or("(none)");
        let meaning = "the server that takes the bucket's writes; without one they are refused";
        settings.push(Setting::new(name("leader"), leader, meaning));
        let behind: Vec<&str> = cluster
            .replicas
            .iter()
            .filter(|peer| !peer.current)
            .map(|peer| peer.name.as_str())
            .collect();
        let displayed = if behind.is_empty() { "(none)".into() } else { behind.join(", ") };
        let meaning = "replicas that have not all of the bucket at present";
        settings.push(Setting::new(name("behind"), displayed, meaning));
    }
    settings
}

fn acknowledged(replicas: usize) -> String {
    match replicas {
        0 | 1 => "one server has the bucket: while it is down no request succeeds".into(),
        _ => format!(
            "a write is acknowledged when {} of {replicas} servers have written it to their logs",
            replicas / 2 + 1
        ),
    }
}

fn durability(name: &str, storage: StorageType, replicas: usize) -> Setting {
    let many = replicas > 1;
    match (storage, many) {
        (StorageType::File, false) => Setting::new(
            name,
            "process",
            "a killed server loses nothing; a machine without power loses what was acknowledged \
             within the last sync_interval",
        ),
        (StorageType::File, true) => Setting::new(
            name,
            "process",
            "killed servers lose nothing; if most machines with a replica lose power at once, what \
             was acknowledged within the last sync_interval is lost",
        ),
        (StorageType::Memory, false) => {
            Setting::new(name, "none", "kept in memory only: everything ends with the server")
        }
        (StorageType::Memory, true) => Setting::new(
            name,
            "replicas",
            "kept in memory only: everything ends when most servers with a replica end at once",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn survives(storage: StorageType, replicas: usize) -> String {
        durability("durability", storage, replicas).value
    }

    #[test]
    fn what_survives_follows_from_storage_with_replicas() {
        assert_eq!(survives(StorageType::File, 1), "process");
        assert_eq!(survives(StorageType::File, 3), "process");
        assert_eq!(survives(StorageType::Memory, 1), "none");
        assert_eq!(survives(StorageType::Memory, 3), "replicas");
    }

    #[test]
    fn a_majority_acknowledges() {
        assert!(acknowledged(3).contains("when 2 of 3 servers"));
        assert!(acknowledged(5).contains("when 3 of 5 servers"));
        assert!(acknowledged(1).contains("one server"));
    }
}

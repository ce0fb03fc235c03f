//! Settings of a server that a reader of its figures must know.

use assay_model::Setting;
use assay_store::Isolation;

/// The variables that are queried; a server does not have all of them.
pub(super) const VARIABLES: &str = "SHOW SESSION VARIABLES WHERE Variable_name IN \
    ('version', 'version_comment', 'innodb_flush_log_at_trx_commit', 'sync_binlog', 'log_bin', \
    'innodb_buffer_pool_size', 'innodb_lock_wait_timeout', 'innodb_flush_method', 'tx_isolation', \
    'transaction_isolation', 'max_connections', 'read_only', 'wsrep_on', \
    'wsrep_sync_wait', 'innodb_snapshot_isolation', 'rpl_semi_sync_master_enabled')";

/// The numbers that a server counts about itself.
pub(super) const STATUS: &str = "SHOW GLOBAL STATUS";

/// Those of [`STATUS`] that are levels begin so, or are called so; all others are counters.
const LEVELS: [&str; 14] = [
    "Innodb_buffer_pool_bytes",
    "Innodb_buffer_pool_pages_data",
    "Innodb_buffer_pool_pages_dirty",
    "Innodb_buffer_pool_pages_free",
    "Innodb_buffer_pool_pages_total",
    "Innodb_history_list_length",
    "Innodb_num_open_files",
    "Innodb_row_lock_current_waits",
    "Max_used_connections",
    "Memory_used",
    "Open_",
    "Threads_",
    "Uptime",
    "wsrep_",
];

/// Whether the number of this name grows with what happens.
pub(super) fn is_counter(name: &str) -> bool {
    name == "Threads_created" || !LEVELS.iter().any(|level| name.starts_with(level))
}

/// The variables of a server by name.
pub(super) struct Variables(pub(super) Vec<(String, String)>);

impl Variables {
    fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(other, _)| other == name).map(|(_, value)| value.as_str())
    }

    fn is_on(&self, name: &str) -> bool {
        self.get(name).is_some_and(|value| value == "ON" || value == "1")
    }

    /// Everything worth knowing.
    pub(super) fn settings(&self, isolation: Isolation, connections: usize) -> Vec<Setting> {
        let (durability, loss) = self.durability();
        let version = self.get("version").unwrap_or(UNKNOWN);
        let comment = self.get("version_comment").unwrap_or("no comment");
        let reported = self.get("tx_isolation").or_else(|| self.get("transaction_isolation"));
        let reported = reported.unwrap_or(UNKNOWN).to_ascii_lowercase();
        let mut settings = vec![
            Setting::new(
                "server",
                format!("{version} ({comment})"),
                "the software that was measured",
            ),
            Setting::new("durability", durability, loss),
            Setting::new("isolation", reported, apart(isolation)),
            Setting::new(
                "connections",
                connections.to_string(),
                "per worker, each with its transaction; the wait for one counts as lag",
            ),
        ];
        let known = KNOWN.iter().filter_map(|&(name, meaning)| {
            self.get(name).map(|value| {
                let displayed = if value.is_empty() { "(none)" } else { value };
                Setting::new(name, displayed, meaning)
            })
        });
        settings.extend(known);
        settings
    }

    /// The three variables that decide it together, in one sentence.
    fn durability(&self) -> (&'static str, &'static str) {
        let logs = self.is_on("log_bin");
        let syncs = self.get("sync_binlog") == Some("1");
        match (self.get("innodb_flush_log_at_trx_commit"), logs, syncs) {
            (Some("1" | "3"), true, false) => (
                "process",
                "the redo log is on disk before a commit is answered, but the binary log that \
                 decides after a crash is not: a loss of power may take the last commits",
            ),
            (Some("1" | "3"), _, _) => {
                ("every commit", "the logs are on disk before a commit is answered")
            }
            (Some("2"), _, _) => (
                "process",
                "a crash of the server loses nothing, one of the machine up to about one second \
                 of commits",
            ),
            (Some("0"), _, _) => {
                ("one second", "a crash of the server loses up to about one second of commits")
            }
            _ => (UNKNOWN, "the server does not tell what a crash would lose"),
        }
    }
}

const UNKNOWN: &str = "unknown";

const KNOWN: &[(&str, &str)] = &[
    ("innodb_flush_log_at_trx_commit", "when the redo log goes to the disk: 1 with each commit"),
    ("log_bin", "whether changes go to a binary log too, which a commit waits for"),
    ("sync_binlog", "after how many commits the binary log goes to the disk; 0 never by itself"),
    ("innodb_flush_method", "how the server writes to the disk"),
    ("innodb_buffer_pool_size", "bytes of pages that the server keeps in memory"),
    ("innodb_lock_wait_timeout", "seconds a statement waits for a lock before it is a conflict"),
    ("max_connections", "connections that the server takes in all"),
    ("read_only", "ON: writes are refused"),
    (
        "wsrep_on",
        "ON: a node of a Galera cluster, where a commit is certified by the other nodes first",
    ),
    (
        "wsrep_sync_wait",
        "0: a node of Galera may answer reads before it has applied what others committed; 1: \
         reads wait for that",
    ),
    (
        "innodb_snapshot_isolation",
        "ON: at repeatable-read a change of what another transaction changed since is refused, \
         so that no update is lost",
    ),
    ("rpl_semi_sync_master_enabled", "ON: a commit waits until a replica has it"),
];

fn apart(isolation: Isolation) -> &'static str {
    match isolation {
        Isolation::ReadCommitted => "a statement sees what was committed before it began",
        Isolation::RepeatableRead => {
            "reads of a transaction see one snapshot; its changes see what is newest, so updates \
             may be lost unless rows are locked"
        }
        Isolation::Serializable => "reads lock what they see, until their transaction ends",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn durability(flush: &str, log_bin: &str, sync_binlog: &str) -> &'static str {
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let variables = Variables(vec![
            pair("innodb_flush_log_at_trx_commit", flush),
            pair("log_bin", log_bin),
            pair("sync_binlog", sync_binlog),
        ]);
        variables.durability().0
    }

    #[test]
    fn what_survives_follows_from_the_logs() {
        assert_eq!(durability("1", "OFF", "0"), "every commit");
        assert_eq!(durability("1", "ON", "1"), "every commit");
        assert_eq!(durability("1", "ON", "0"), "process");
        assert_eq!(durability("2", "OFF", "0"), "process");
        assert_eq!(durability("0", "OFF", "0"), "one second");
        assert_eq!(Variables(Vec::new()).durability().0, "unknown");
    }
}

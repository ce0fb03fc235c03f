//! Settings of a PostgreSQL that a reader of its figures must know.

use assay_driver_kit::known_settings::{KnownSetting, UNKNOWN};
use assay_driver_kit::read_server::ReadServer;
use assay_model::Setting;

/// Settings of `pg_settings`.
const KNOWN: &[KnownSetting] = &[
    KnownSetting::new(
        "fsync",
        &[("on", "what is to be on disk is flushed there")],
        "nothing is ever flushed: a crash of the machine may destroy everything",
    ),
    KnownSetting::new(
        "synchronous_commit",
        &[
            ("off", "a commit is answered before its log is on disk"),
            ("local", "a commit is answered when its log is on this server's disk"),
            (
                "remote_write",
                "a commit waits for standbys to have its log in memory, if there are any",
            ),
            ("remote_apply", "a commit waits for standbys to show it, if there are any"),
        ],
        "a commit is answered when its log is on disk, on standbys too if there are any",
    ),
    KnownSetting::new(
        "full_page_writes",
        &[("on", "the log has whole pages after each checkpoint, so that torn ones are mended")],
        "the log is smaller, but a page torn by a power cut stays so",
    ),
    KnownSetting::plain("wal_level", "how much the log says, for replicas"),
    KnownSetting::new(
        "synchronous_standby_names",
        &[("", "no commit waits for another server")],
        "these servers must have a commit before it is answered",
    ),
    KnownSetting::new(
        "commit_delay",
        &[("0", "a commit is flushed at once")],
        "microseconds that a commit waits for others to be flushed with it",
    ),
    KnownSetting::new(
        "default_transaction_isolation",
        &[
            ("read committed", "each statement sees what was committed before it"),
            ("repeatable read", "snapshot isolation: write skew is possible"),
            ("serializable", "serializable snapshot isolation: as if one after another"),
        ],
        "a level of its own",
    ),
    KnownSetting::plain("shared_buffers", "the server's own cache of pages"),
    KnownSetting::plain("max_wal_size", "log between checkpoints, roughly"),
    KnownSetting::plain(
        "checkpoint_timeout",
        "how often dirty pages are written at the latest, which shows as latency",
    ),
    KnownSetting::new(
        "autovacuum",
        &[("on", "old versions of rows are removed in the background, which shows as latency")],
        "old versions of rows stay: tables grow with every update",
    ),
    KnownSetting::plain("jit", "compiling of costly queries"),
    KnownSetting::plain("max_connections", "each connection is a process"),
    KnownSetting::plain(
        "deadlock_timeout",
        "how long a wait for a lock lasts before a deadlock is looked for",
    ),
    KnownSetting::new(
        "lock_timeout",
        &[("0", "statements wait for locks without a bound of the server")],
        "statements that wait longer for a lock are refused as busy",
    ),
    KnownSetting::new(
        "statement_timeout",
        &[("0", "statements take as long as they take")],
        "statements that take longer are refused as a timeout",
    ),
];

/// Queries for names and numbers, of views that every supported version has.
pub(super) const READINGS: [&str; 3] = [
    "SELECT name, value FROM pg_stat_database, LATERAL (VALUES \
     ('numbackends', numbackends::float8), ('xact_commit_total', xact_commit), \
     ('xact_rollback_total', xact_rollback), ('blks_read_total', blks_read), \
     ('blks_hit_total', blks_hit), ('tup_returned_total', tup_returned), \
     ('tup_fetched_total', tup_fetched), ('tup_inserted_total', tup_inserted), \
     ('tup_updated_total', tup_updated), ('tup_deleted_total', tup_deleted), \
     ('conflicts_total', conflicts), ('temp_bytes_total', temp_bytes), \
     ('deadlocks_total', deadlocks)) AS numbers (name, value) \
     WHERE datname = current_database()",
    "SELECT name, value FROM (SELECT count(*) FILTER (WHERE state = 'active') AS active, \
     count(*) FILTER (WHERE wait_event_type = 'Lock') AS waiting FROM pg_stat_activity \
     WHERE backend_type = 'client backend') AS activity, \
     LATERAL (VALUES ('active_backends', active), ('backends_waiting_for_locks', waiting)) \
     AS numbers (name, value)",
    "SELECT 'wal_bytes_total', CASE WHEN pg_is_in_recovery() THEN NULL \
     ELSE pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0') END",
];

/// The query that tells names, values and units of all known settings.
pub(super) fn question() -> String {
    let names: Vec<String> = KNOWN.iter().map(|known| format!("'{}'", known.name)).collect();
    format!(
        "SELECT name, current_setting(name) FROM pg_settings WHERE name IN ({}) \
         UNION ALL SELECT 'server_version', version() \
         UNION ALL SELECT 'in_recovery', pg_is_in_recovery()::text",
        names.join(", ")
    )
}

/// Everything worth knowing, out of the answer to [`question`].
pub(super) fn explain(reported: &[(String, String)]) -> Vec<Setting> {
    let get =
        |name: &str| reported.iter().find(|(there, _)| there == name).map(|(_, v)| v.as_str());
    let version = get("server_version").unwrap_or(UNKNOWN);
    let mut settings = vec![Setting::new("server", version, "the software that was measured")];
    let untold = "the server does not tell";
    settings.extend(KNOWN.iter().map(|known| known.explain(get(known.name), untold)));
    let names = ["fsync", "synchronous_commit", "full_page_writes", "synchronous_standby_names"];
    settings.push(durability(names.map(get)));
    settings.push(role(get("in_recovery")));
    settings
}

/// The settings, with who answers reads of records.
pub(super) fn with_read(mut settings: Vec<Setting>, read: ReadServer) -> Vec<Setting> {
    let (value, meaning) = match read {
        ReadServer::Primary => return settings,
        ReadServer::Replica => {
            ("standby", "reads of records and scans go to standbys, which may lag behind")
        }
        ReadServer::Any => {
            ("any", "reads of records and scans go to the primary and the standbys in turn")
        }
    };
    settings.push(Setting::new("read", value, meaning));
    settings
}

/// The settings that decide it together, in one sentence.
fn durability([fsync, commit, pages, standbys]: [Option<&str>; 4]) -> Setting {
    let has_standbys = standbys.is_some_and(|names| !names.is_empty());
    let (value, meaning) = match (fsync, commit, pages) {
        (Some("off"), _, _) => {
            ("operating system", "a crash of the server loses nothing, one of the machine anything")
        }
        (_, Some("off"), _) => {
            ("below a second", "a crash loses the last commits, up to three wal_writer_delay")
        }
        (Some("on"), _, Some("off")) => (
            "every commit, pages at risk",
            "commits are on disk, but a power cut may tear pages that no log can mend",
        ),
        (Some("on"), Some("remote_apply"), _) if has_standbys => (
            "every commit, on standbys too",
            "an acknowledged commit is on disk here, on disk and visible on the standbys",
        ),
        (Some("on"), Some("on"), _) if has_standbys => (
            "every commit, on standbys too",
            "an acknowledged commit is on disk here and on the standbys",
        ),
        (Some("on"), Some("remote_write"), _) if has_standbys => (
            "every commit, in standbys' memory",
            "an acknowledged commit is on disk here, with the standbys' operating systems there",
        ),
        (Some("on"), Some(_), _) => ("every commit", "an acknowledged commit is on disk"),
        _ => (UNKNOWN, "the server does not tell what a crash would lose"),
    };
    Setting::new("durability", value, meaning)
}

fn role(in_recovery: Option<&str>) -> Setting {
    let (value, meaning) = match in_recovery {
        Some("false") => ("primary", "it takes writes"),
        Some(_) => ("standby", "reads may be stale, writes are refused"),
        None => (UNKNOWN, "the server does not tell"),
    };
    Setting::new("role", value, meaning)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durability_is_one_sentence() {
        let check = |fsync, commit, pages, standbys, value: &str| {
            let reported = durability([Some(fsync), Some(commit), Some(pages), Some(standbys)]);
            assert_eq!(reported.value, value);
        };
        check("on", "on", "on", "", "every commit");
        check("on", "local", "on", "s1", "every commit");
        check("on", "on", "on", "s1", "every commit, on standbys too");
        check("on", "remote_apply", "on", "s1", "every commit, on standbys too");
        check("on", "remote_write", "on", "s1", "every commit, in standbys' memory");
        check("on", "off", "on", "s1", "below a second");
        check("on", "on", "off", "", "every commit, pages at risk");
        check("off", "on", "on", "", "operating system");
        assert_eq!(durability([None; 4]).value, "unknown");
    }

    #[test]
    fn what_is_not_reported_is_unknown() {
        let reported =
            [("fsync".to_owned(), "on".to_owned()), ("in_recovery".into(), "true".into())];
        let settings = explain(&reported);
        let value = |name: &str| {
            settings.iter().find(|setting| setting.name == name).map(|setting| &*setting.value)
        };
        assert_eq!(value("server"), Some("unknown"));
        assert_eq!(value("fsync"), Some("on"));
        assert_eq!(value("jit"), Some("unknown"));
        assert_eq!(value("role"), Some("standby"));
    }

    #[test]
    fn an_empty_value_is_none() {
        let settings = explain(&[("synchronous_standby_names".to_owned(), String::new())]);
        let standbys = settings.iter().find(|one| one.name == "synchronous_standby_names");
        assert_eq!(standbys.map(|one| &*one.value), Some("(none)"));
    }
}

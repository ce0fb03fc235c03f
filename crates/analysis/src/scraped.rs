//! Numbers that servers counted about themselves during a run, over time.

use std::collections::BTreeMap;

use assay_model::Nanos;

use crate::options::Window;

/// What the sources of such numbers begin with.
pub const SOURCE: &str = "scrape:";
/// What the names of counters end with, histograms of Prometheus among them.
const COUNTERS: [&str; 4] = ["_total", "_sum", "_count", "_bucket"];

/// The metrics that a report shows, the more telling first.
const CHOSEN: [&str; 62] = [
    // Redis, Valkey: INFO
    "used_cpu_user_total",
    "used_cpu_sys_total",
    "used_memory",
    "used_memory_rss",
    "evicted_keys_total",
    "expired_keys_total",
    "keyspace_hits_total",
    "keyspace_misses_total",
    "commands_processed_total",
    "connected_clients",
    "blocked_clients",
    "rejected_connections_total",
    "net_input_bytes_total",
    "net_output_bytes_total",
    "rdb_bgsave_in_progress",
    "aof_rewrite_in_progress",
    // PostgreSQL
    "xact_commit_total",
    "xact_rollback_total",
    "active_backends",
    "backends_waiting_for_locks",
    "blks_read_total",
    "blks_hit_total",
    "tup_fetched_total",
    "tup_inserted_total",
    "tup_updated_total",
    "deadlocks_total",
    "temp_bytes_total",
    "wal_bytes_total",
    // MariaDB, MySQL: SHOW GLOBAL STATUS
    "Queries_total",
    "Threads_running",
    "Threads_connected",
    "Innodb_row_lock_waits_total",
    "Innodb_row_lock_time_total",
    "Innodb_buffer_pool_reads_total",
    "Innodb_buffer_pool_pages_dirty",
    "Innodb_data_fsyncs_total",
    "Innodb_log_waits_total",
    "Innodb_history_list_length",
    "Bytes_received_total",
    "Bytes_sent_total",
    // etcd
    "etcd_server_has_leader",
    "etcd_server_leader_changes_seen_total",
    "etcd_server_proposals_pending",
    "etcd_server_proposals_failed_total",
    "etcd_disk_wal_fsync_duration_seconds_sum",
    "etcd_disk_wal_fsync_duration_seconds_count",
    "etcd_disk_backend_commit_duration_seconds_sum",
    "etcd_disk_backend_commit_duration_seconds_count",
    "etcd_mvcc_db_total_size_in_bytes",
    // Any process, and machines by node_exporter
    "process_cpu_seconds_total",
    "process_resident_memory_bytes",
    "process_open_fds",
    "go_goroutines",
    "jvm_gc_collection_seconds_sum",
    "node_load1",
    "node_memory_MemAvailable_bytes",
    "node_disk_io_time_seconds_total",
    "node_disk_written_bytes_total",
    "node_disk_read_bytes_total",
    "node_network_receive_bytes_total",
    "node_network_transmit_bytes_total",
    "node_pressure_cpu_waiting_seconds_total",
];

/// Whether a report shows the metric; others are kept only if all are.
pub fn is_chosen(metric: &str) -> bool {
    rank(metric).is_some()
}

fn rank(metric: &str) -> Option<usize> {
    CHOSEN.iter().position(|chosen| *chosen == metric)
}

/// Whether the metric only grows, so that what happened is the difference.
pub fn is_counter(metric: &str) -> bool {
    COUNTERS.iter().any(|end| metric.ends_with(end))
}

/// One number of a server at one moment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample<'a> {
    /// When, on the run's time axis.
    pub at: Nanos,
    /// Which server, behind [`SOURCE`].
    pub source: &'a str,
    /// Which part of it: labels of Prometheus.
    pub part: &'a str,
    /// What was counted.
    pub metric: &'a str,
    /// The number.
    pub value: f64,
}

/// A metric over time: of a counter how much it grew per second, of a level its value.
#[derive(Clone, Debug, PartialEq)]
pub struct ScrapedSeries {
    /// The server.
    pub source: String,
    /// The metric.
    pub metric: &'static str,
    /// Which part of the server: labels of Prometheus.
    pub part: String,
    /// Whether the values are per second.
    pub is_rate: bool,
    /// The values, in order of time.
    pub points: Vec<(Nanos, f64)>,
    /// Its extremes within the window; `None` if nothing of it lies there.
    pub used: Option<ScrapedUse>,
}

/// The least, the mean and the most of a metric within a window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ScrapedUse {
    /// The least value.
    pub least: f64,
    /// The mean over the readings.
    pub mean: f64,
    /// The greatest value.
    pub most: f64,
    /// When that was read first.
    pub most_at: Nanos,
}

type Readings = Vec<(Nanos, f64)>;

/// The chosen metrics of `samples`, by server, then the more telling first. A counter that fell was
/// started anew meanwhile: nothing is said there.
pub fn series<'a>(samples: impl Iterator<Item = Sample<'a>>, window: Window) -> Vec<ScrapedSeries> {
    let mut found: BTreeMap<(&str, usize, &str), Readings> = BTreeMap::new();
    for sample in samples {
        if let Some(rank) = rank(sample.metric) {
            let readings = found.entry((sample.source, rank, sample.part)).or_default();
            readings.push((sample.at, sample.value));
        }
    }
    let series = found.into_iter().map(|((source, rank, part), readings)| {
        let is_rate = is_counter(CHOSEN[rank]);
        let points = if is_rate { rates(&readings) } else { readings };
        ScrapedSeries {
            source: source.to_owned(),
            metric: CHOSEN[rank],
            part: part.to_owned(),
            is_rate,
            used: summed_up(&points, window),
            points,
        }
    });
    series.filter(|series| !series.points.is_empty()).collect()
}

fn rates(readings: &[(Nanos, f64)]) -> Vec<(Nanos, f64)> {
    let pairs = readings.windows(2).filter(|pair| pair[1].0 > pair[0].0 && pair[1].1 >= pair[0].1);
    let rate = |pair: &[(Nanos, f64)]| {
        (pair[1].0, (pair[1].1 - pair[0].1) / pair[1].0.since(pair[0].0).as_secs_f64())
    };
    pairs.map(rate).collect()
}

/// The extremes of what lies within the window.
fn summed_up(points: &[(Nanos, f64)], window: Window) -> Option<ScrapedUse> {
    let inside: Vec<(Nanos, f64)> =
        points.iter().copied().filter(|(at, _)| window.contains(*at)).collect();
    let (mut least, mut most) = (*inside.first()?, *inside.first()?);
    for point in &inside {
        least = if point.1 < least.1 { *point } else { least };
        most = if point.1 > most.1 { *point } else { most };
    }
    let mean = inside.iter().map(|(_, value)| value).sum::<f64>() / inside.len() as f64;
    Some(ScrapedUse { least: least.1, mean, most: most.1, most_at: most.0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(
        second: u64,
        part: &'static str,
        metric: &'static str,
        value: f64,
    ) -> Sample<'static> {
        Sample { at: Nanos::from_secs(second), source: "store", part, metric, value }
    }

    #[test]
    fn counters_become_rates_and_levels_stay() {
        let samples = [
            sample(0, "", "used_memory", 10.0),
            sample(0, "", "evicted_keys_total", 100.0),
            sample(2, "", "used_memory", 30.0),
            sample(2, "", "evicted_keys_total", 140.0),
            sample(3, "", "evicted_keys_total", 5.0),
            sample(4, "", "evicted_keys_total", 6.0),
            sample(4, "", "nobody_chose_this", 6.0),
        ];
        let second = Nanos::from_secs;
        let window = Window { from: second(1), until: second(9) };
        let series = series(samples.into_iter(), window);
        let names: Vec<&str> = series.iter().map(|one| one.metric).collect();
        assert_eq!(names, ["used_memory", "evicted_keys_total"]);
        assert_eq!(series[0].points, [(second(0), 10.0), (second(2), 30.0)]);
        let rates = [(second(2), 20.0), (second(4), 1.0)];
        assert_eq!(series[1].points, rates, "a counter that fell was started anew");
        let row = series[1].used.unwrap();
        assert_eq!((row.least, row.mean, row.most, row.most_at), (1.0, 10.5, 20.0, second(2)));
        assert_eq!(summed_up(&rates, Window { from: second(8), until: second(9) }), None);
    }

    #[test]
    fn each_part_has_a_series() {
        let of = |part| sample(1, part, "node_disk_io_time_seconds_total", 1.0);
        let later = Sample { at: Nanos::from_secs(2), value: 1.5, ..of("device=\"sda\"") };
        let samples = [of("device=\"sda\""), of("device=\"sdb\""), later];
        let window = Window { from: Nanos::ZERO, until: Nanos::NEVER };
        let series = series(samples.into_iter(), window);
        assert_eq!(series.len(), 1, "one reading of a counter is no rate");
        assert_eq!(series[0].part, "device=\"sda\"");
    }
}

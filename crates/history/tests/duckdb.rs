//! A run directory is read by DuckDB from PyPI, unchanged, with the same counts.

#![allow(clippy::unwrap_used, reason = "a test may end by a panic")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use assay_history::{
    Memory, Observation, RunDir, TruthRow, TruthWriter, write_events, write_observations,
};
use assay_model::{
    Ends, Event, EventKind, Kind, Nanos, Outcome, Phase, Reason, Record, Seed, version,
};

use python::send;

#[path = "duckdb/python.rs"]
mod python;

const QUERY: &str = r"
import duckdb, sys
root = sys.argv[1]
history = f'{root}/history/*/*.parquet'
rows = duckdb.sql(f'''
    SELECT agent, kind, phase, outcome, reason, verified, found, count(*),
           sum(index), sum(session), sum(process), sum(transaction), sum(transaction_type),
           count(*) FILTER (ends_transaction), sum(key), sum(intended), sum(started), sum(ended),
           sum(bytes), sum(rows), sum(coalesce(version_written, 0)),
           sum(coalesce(version_read, 0)), sum(verify_ns), count(version_read)
    FROM read_parquet('{history}', hive_partitioning = true) GROUP BY ALL''').fetchall()
for row in rows:
    print('\t'.join(str(value) for value in row))
for row in duckdb.sql(f'''SELECT e.at, e.kind, e.text FROM '{root}/events.parquet' e''').fetchall():
    print('event\t' + '\t'.join(str(value) for value in row))
for row in duckdb.sql(f'''SELECT part, max(value) - min(value) FROM '{root}/observations.parquet'
                           WHERE source = 'client' AND metric = 'cpu_ns'
                           GROUP BY part ORDER BY part''').fetchall():
    print('observed\t' + '\t'.join(str(value) for value in row))
";

/// Each request with a fault or without a response, with its record in the history.
const TRUTH: &str = r"
import duckdb, sys
root = sys.argv[1]
for row in duckdb.sql(f'''
    SELECT h.index, t.kind, t.key, t.node, t.faults, t.answered_at, t.versions_behind,
           t.staleness, t.version, t.read_after_write
    FROM '{root}/truth.parquet' t JOIN read_parquet('{root}/history/*/*.parquet') h
      ON h.session = t.session AND h.started = t.at
    WHERE t.faults <> '' OR t.answered_at IS NULL ORDER BY h.index''').fetchall():
    print('\t'.join(str(value) for value in row))
";

#[test]
fn duckdb_finds_the_same_counts_and_sums() {
    let dir = scratch("duckdb-bundle");
    let events = [Event { at: Nanos(7), kind: EventKind::Fault, text: "größer".to_owned() }];
    let mut expected = BTreeMap::new();
    for agent in [0, 12] {
        let records = records(u64::from(agent), 150_000);
        write_agent(&dir, agent, &records);
        count(agent, &records, &mut expected);
    }
    write_events(&dir, &events).unwrap();
    write_observations(&dir, &observations()).unwrap();
    let printed = send(QUERY, &dir);
    let (observed, rest): (Vec<_>, Vec<_>) =
        printed.lines().partition(|line| line.starts_with("observed\t"));
    let (events, groups): (Vec<_>, Vec<_>) =
        rest.into_iter().partition(|line| line.starts_with("event\t"));
    let found: BTreeMap<String, String> = groups.into_iter().map(split).collect();
    let expected: BTreeMap<String, String> =
        expected.into_iter().map(|(group, sums)| (group, joined(&sums))).collect();
    assert!(expected.len() > 20, "many groups: {}", expected.len());
    assert_eq!(found, expected);
    assert_eq!(events, ["event\t7\tfault\tgrößer"]);
    assert_eq!(observed, ["observed\tprocess\t10.5", "observed\tworker-0\t250.0"]);
}

/// Processor time of two parts at two moments, with rows that the query leaves out.
fn observations() -> Vec<Observation> {
    [
        (0, "worker-0", "cpu_ns", 0.0),
        (1_000, "worker-0", "cpu_ns", 250.0),
        (0, "process", "cpu_ns", 1.0),
        (1_000, "process", "cpu_ns", 11.5),
        (1_000, "process", "memory_bytes", 7.0),
    ]
    .map(|(at, part, metric, value)| {
        let [source, part, metric] = ["client", part, metric].map(str::to_owned);
        Observation { at: Nanos(at), source, part, metric, value }
    })
    .into()
}

#[test]
fn duckdb_joins_the_truth_with_the_history() {
    let dir = scratch("duckdb-truth");
    let record = |index: u64| Record {
        index,
        session: index as u32,
        started: Nanos(index * 1000),
        ended: Nanos(index * 1000 + 10),
        ..Record::BLANK
    };
    write_agent(&dir, 0, &(0..1000).map(record).collect::<Vec<Record>>());
    let mut truth = TruthWriter::create(&dir).unwrap();
    for index in 0..1000 {
        let is_ill = index == 700;
        truth.push(TruthRow {
            at: Nanos(index * 1000),
            answered_at: (index != 800).then_some(Nanos(index * 1000 + 10)),
            session: index as u32,
            kind: Kind::Read,
            key: format!("größer{index}"),
            node: 2,
            faults: if is_ill { "stale+torn-read".to_owned() } else { String::new() },
            version: Some(index),
            versions_behind: if is_ill { 3 } else { 0 },
            staleness: Nanos(if is_ill { 40 } else { 0 }),
            read_after_write: (!is_ill).then_some(Nanos(5)),
        });
    }
    truth.finish().unwrap();
    assert_eq!(
        send(TRUTH, &dir),
        "700\tread\tgrößer700\t2\tstale+torn-read\t700010\t3\t40\t700\tNone\n\
         800\tread\tgrößer800\t2\t\tNone\t0\t0\t800\t5\n"
    );
}

/// Seals `records` on two workers as the history of `agent` in the run directory `dir`.
fn write_agent(dir: &Path, agent: u32, records: &[Record]) {
    // Tests run side by side: each has places of its own.
    let own = dir.file_name().and_then(|name| name.to_str()).unwrap();
    let apart = scratch(&format!("{own}-agent-{agent}"));
    let mut run_dir = RunDir::create(&apart).unwrap();
    let (writer, mut sinks) = run_dir.writer(2, Memory::default()).unwrap();
    for (record, worker) in records.iter().zip((0..3).cycle()) {
        sinks[worker % 2].push(*record);
    }
    drop(sinks);
    writer.finish().unwrap();
    run_dir.seal(agent, &[("assay.width".to_owned(), "1".to_owned())]).unwrap();
    std::fs::create_dir_all(dir.join("history")).unwrap();
    let partition = format!("history/agent={agent}");
    std::fs::rename(apart.join(&partition), dir.join(&partition)).unwrap();
}

fn records(seed: u64, count: u64) -> Vec<Record> {
    (0..count).map(|index| record(seed, index, count)).collect()
}

/// A record whose rare columns are all in use somewhere.
fn record(seed: u64, index: u64, count: u64) -> Record {
    let mut draws = Seed(seed).draws(1, index);
    let kind = Kind::ALL[draws.below(Kind::ALL.len() as u64) as usize];
    let failed = draws.below(50) == 0;
    let intended = index * 1000 + draws.below(900);
    let started = intended + draws.below(500);
    Record {
        index,
        process: index / 2,
        key: draws.below(1 << (1 + index * 60 / count)),
        intended: Nanos(intended),
        started: Nanos(started),
        ended: Nanos(started + draws.below(1 << 20)),
        version_written: if kind.writes() { version::written(index) } else { version::NONE },
        version_read: if kind.writes() { version::NONE } else { draws.below(version::END) },
        session: draws.below(1 + index / 1000) as u32,
        bytes: draws.below(3) as u32 * 100,
        rows: u32::from(kind == Kind::Scan) * draws.below(1000) as u32,
        verify_ns: (draws.below(2) * draws.below(1 << 31)) as u32 | u32::from(index == 7) << 31,
        statement: 0,
        requests: 1,
        transaction: (index % 2) as u16,
        transaction_type: (index % 300) as u16,
        ends: Ends::of(index % 2 == 1, true),
        kind,
        phase: if index < 1000 { Phase::WarmUp } else { Phase::Measure },
        outcome: if failed { Outcome::Unknown } else { Outcome::Done },
        found: draws.below(10) > 0,
        reason: if failed { Reason::ConnectionLost } else { Reason::None },
        ..Record::BLANK
    }
}

/// Adds what DuckDB must find for these records.
fn count(agent: u32, records: &[Record], groups: &mut BTreeMap<String, [u128; 17]>) {
    for r in records {
        let words = [r.kind.name(), r.phase.name(), r.outcome.name(), r.reason.name()];
        let found = if r.found { "True" } else { "False" };
        let group = format!("{agent}\t{}\t{}\t{found}", words.join("\t"), r.verified.name());
        let values = [
            1,
            r.index,
            u64::from(r.session),
            r.process,
            u64::from(r.transaction),
            u64::from(r.transaction_type),
            u64::from(r.ends_transaction()),
            r.key,
            r.intended.0,
            r.started.0,
            r.ended.0,
            u64::from(r.bytes),
            u64::from(r.rows),
            r.version_written,
            r.version_read,
            u64::from(r.verify_ns),
            u64::from(r.version_read != version::NONE),
        ];
        for (sum, value) in groups.entry(group).or_default().iter_mut().zip(values) {
            *sum += u128::from(value);
        }
    }
}

fn joined(sums: &[u128; 17]) -> String {
    sums.map(|sum| sum.to_string()).join("\t")
}

/// A printed group: what it is grouped by, its counts and sums.
fn split(line: &str) -> (String, String) {
    let (at, _) = line.match_indices('\t').nth(6).expect("seven grouping columns come first");
    (line[..at].to_owned(), line[at + 1..].to_owned())
}

fn target() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).to_path_buf()
}

fn scratch(name: &str) -> PathBuf {
    let dir = target().join(name);
    let _ = std::fs::remove_dir_all(&dir);
    std::fs::create_dir_all(&dir).unwrap();
    dir
}

//! Writes a report of every format about a synthetic run into `target/samples`, to be looked at.
//!
//! The run is a queue with four servers that stands still once, refuses for a moment later, and
//! runs 20 000 operations per second over 64 sessions for a minute after ten seconds of warm-up.

use std::collections::BinaryHeap;
use std::fs;
use std::path::Path;

use assay_analysis::ycsb::Measurements;
use assay_analysis::{AnalysisOptions, Analyzer, LoadModel, Phases, Summary, Window};
use assay_model::{
    Draws, Ends, Event, EventKind, Kind, Nanos, Outcome, Phase, Reason, Record, Seed, Setting,
};
use assay_report::{Facts, Letters, PhaseSpan, State, StoreFacts, Style, ycsb};

const RATE: f64 = 20_000.0;
const WARM_UP: Nanos = Nanos::from_secs(10);
const END: Nanos = Nanos::from_secs(70);
const SERVERS: usize = 4;
const SESSIONS: usize = 64;
const TIMEOUT: Nanos = Nanos::from_millis(400);
const STALL: Window =
    Window { from: Nanos::from_millis(42_000), until: Nanos::from_millis(42_650) };
const REFUSAL: Window = Window { from: Nanos::from_millis(57_000), until: Nanos::from_secs(58) };

fn main() -> std::io::Result<()> {
    let records = history(Seed(7));
    let summary = analyzed(&records, Phases::Measure);
    let timeline = analyzed(&records, Phases::All).series;
    let facts = facts();

    let into = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/samples"));
    fs::create_dir_all(into)?;
    let style = Style { colour: false, width: 100, letters: Letters::Unicode };
    let log = assay_report::hdr_log(&facts, &summary).map_err(std::io::Error::other)?;
    let mut measurements = Measurements::new(Default::default());
    measurements.push(&records);
    let lines = ycsb::lines(&measurements.finish(), &ycsb::Options::default());
    let report = assay_report::run(&facts, &summary, Some(&timeline));
    for (name, text) in [
        ("report.html", report.page()),
        ("report.txt", report.text(style)),
        ("report.json", assay_report::json(&facts, &summary)),
        ("report.ndjson", assay_report::ndjson(&facts, &summary)),
        ("report.csv", assay_report::csv(&facts, &summary)),
        ("report.md", report.markdown()),
        ("report.ycsb", ycsb::print(&lines, ycsb::Exporter::Text)),
        ("report.hlog", log),
    ] {
        fs::write(into.join(name), text)?;
    }
    Ok(())
}

fn analyzed(records: &[Record], phases: Phases) -> Summary {
    let from = if phases == Phases::All { Nanos::ZERO } else { WARM_UP };
    let mut analyze = Analyzer::new(AnalysisOptions {
        phases,
        window: Some(Window { from, until: END }),
        load: LoadModel::Open { rate: Some(RATE), limit: Some(SESSIONS as u64) },
        ..AnalysisOptions::default()
    });
    analyze.push(records);
    analyze.finish()
}

/// Things of which a number is there, each free from a moment on.
struct Pool(BinaryHeap<std::cmp::Reverse<u64>>);

impl Pool {
    fn new(number: usize) -> Pool {
        Pool((0..number).map(|_| std::cmp::Reverse(0)).collect())
    }

    /// Takes the one that is free first; from when on it is.
    fn take(&mut self) -> u64 {
        self.0.pop().expect("what is taken is given back").0
    }

    fn give_back(&mut self, from: u64) {
        self.0.push(std::cmp::Reverse(from));
    }
}

/// Poisson arrivals at a queue, first come first served.
fn history(seed: Seed) -> Vec<Record> {
    let mut servers = Pool::new(SERVERS);
    let mut sessions = Pool::new(SESSIONS);
    let mut records = Vec::new();
    let mut intended = 0.0;
    for index in 0.. {
        let mut draws = seed.draws(1, index);
        intended += -(1.0 - draws.unit()).ln() * 1e9 / RATE;
        let at = Nanos(intended as u64);
        if at >= END {
            break;
        }
        let mut record = requested(index, at, &mut draws);
        record.started = Nanos(record.started.0.max(sessions.take()));
        let mut begin = record.started.0.max(servers.take());
        if STALL.contains(Nanos(begin)) {
            begin = STALL.until.0;
        }
        let done = begin + served(&record, &mut draws);
        servers.give_back(done);
        record.ended = Nanos(done + 18_000);
        fail(&mut record, &mut draws);
        sessions.give_back(record.ended.0);
        records.push(record);
    }
    records.sort_by_key(|record| record.ended);
    records
}

fn requested(index: u64, at: Nanos, draws: &mut Draws) -> Record {
    let kind = if draws.unit() < 0.95 { Kind::Read } else { Kind::Update };
    let lag =
        300.0 * (normal(draws) * 0.9).exp() + if draws.unit() < 0.004 { 9_000.0 } else { 0.0 };
    let phase = if at < WARM_UP { Phase::WarmUp } else { Phase::Measure };
    Record {
        index,
        process: index,
        key: draws.below(1_000_000),
        intended: at,
        started: Nanos(at.0 + lag as u64),
        ended: at,
        session: (index % 64) as u32,
        bytes: 1_000,
        rows: u32::from(kind == Kind::Read),
        ends: Ends::Both,
        kind,
        phase,
        found: kind != Kind::Read || draws.unit() > 0.004,
        ..Record::BLANK
    }
}

/// How long the store works on it: two humps for reads, one for updates, slow when cold.
fn served(record: &Record, draws: &mut Draws) -> u64 {
    let median_us = match record.kind {
        _ if !record.found => 25.0,
        Kind::Update => 190.0,
        _ if draws.unit() < 0.06 => 620.0,
        _ => 95.0,
    };
    let cold = 1.0 + 0.5 * (-record.intended.as_secs_f64() / 2.5).exp();
    let saw = 1.0 + 0.15 * (record.intended.as_secs_f64() / 4.0).fract();
    (median_us * cold * saw * (normal(draws) * 0.28).exp() * 1_000.0) as u64
}

fn fail(record: &mut Record, draws: &mut Draws) {
    if REFUSAL.contains(record.intended) && draws.unit() < 0.35 {
        record.outcome = Outcome::Refused;
        record.reason = Reason::Busy;
        record.ended = Nanos(record.started.0 + 60_000 + draws.below(20_000));
    } else if record.ended.since(record.started) > TIMEOUT {
        record.outcome = Outcome::Unknown;
        record.reason = Reason::Timeout;
        record.ended = Nanos(record.started.0 + TIMEOUT.0);
    }
    if record.outcome != Outcome::Done {
        record.found = false;
    }
}

/// A standard normal draw, by Box and Muller.
fn normal(draws: &mut Draws) -> f64 {
    let radius = (-2.0 * (1.0 - draws.unit()).ln()).sqrt();
    radius * (std::f64::consts::TAU * draws.unit()).cos()
}

fn facts() -> Facts {
    let setting = |name: &str, value: &str, meaning: &str| Setting {
        name: name.to_owned(),
        value: value.to_owned(),
        meaning: meaning.to_owned(),
    };
    let event = |at: Nanos, kind, text: &str| Event { at, kind, text: text.to_owned() };
    Facts {
        run_id: "2026-11-21T18-30-12Z-redis-ycsb-b-7f3c".to_owned(),
        title: "ycsb-b on redis".to_owned(),
        command: "assay run ycsb-b -t redis://127.0.0.1:6379 --rate 20k/s --duration 60s \
                  --warm-up 10s --seed 11400714819323198485"
            .to_owned(),
        seed: 11_400_714_819_323_198_485,
        spec: "ycsb-b".to_owned(),
        trace_hash_planned: Some("8d4f0c7e52a91b3680c1f6a2de97b045".to_owned()),
        trace_hash_executed: Some("8d4f0c7e52a91b3680c1f6a2de97b045".to_owned()),
        store: StoreFacts {
            name: "redis".to_owned(),
            url: "redis://127.0.0.1:6379".to_owned(),
            settings: vec![
                setting("redis_version", "7.0.15", "the server that answered"),
                setting("appendonly", "yes", "writes go to a log"),
                setting("appendfsync", "everysec", "a crash loses up to one second of writes"),
                setting("maxmemory-policy", "noeviction", "a full store refuses writes"),
            ],
            is_no_op: false,
            is_best_effort: false,
        },
        load: "Poisson arrivals, at most 64 in flight, then queue".to_owned(),
        sessions: 64,
        workers: 2,
        phases: vec![
            PhaseSpan { phase: Phase::WarmUp, began: Nanos::ZERO, ended: WARM_UP },
            PhaseSpan { phase: Phase::Measure, began: WARM_UP, ended: END },
        ],
        state: State::Finished,
        machine: "2 × AMD EPYC 7B13, 8 GiB, Linux 6.1".to_owned(),
        version: "0.1.0".to_owned(),
        started: "2026-11-21 18:30:12 UTC".to_owned(),
        started_unix_ms: 1_795_285_812_000,
        warnings: Vec::new(),
        findings: Vec::new(),
        figures: Vec::new(),
        effects: Vec::new(),
        agents: Vec::new(),
        servers: Vec::new(),
        scraped: Vec::new(),
        consistency: None,
        availability: None,
        hallmark: None,
        floor: Vec::new(),
        events: vec![
            event(WARM_UP, EventKind::Phase, "measure"),
            event(STALL.from, EventKind::Fault, "redis paused for 650 ms"),
            event(REFUSAL.from, EventKind::Change, "maxmemory lowered to 64 MiB"),
        ],
    }
}

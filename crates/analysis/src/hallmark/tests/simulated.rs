//! A healthy run, as plain values that a test can spoil.

use assay_model::{Kind, Nanos, Record, Seed};

use crate::hallmark::{
    Evidence, ExpectedArrivals, Floor, Gaps, Hallmark, Hiccups, NetworkLoss, Thresholds,
    TraceHashes, Validator, WorkerTime,
};
use crate::tests::done;
use crate::{AnalysisOptions, Analyzer, LoadModel, Window};

/// Arrivals per second.
pub const RATE: f64 = 500.0;
/// Seconds of the window, which begins at second 1.
pub const SECONDS: u64 = 40;

/// One run with the whole input of the validator.
#[derive(Clone, Debug)]
pub struct Run {
    pub options: AnalysisOptions,
    pub thresholds: Thresholds,
    pub records: Vec<Record>,
    pub evidence: Evidence,
    pub seed: u64,
}

/// Forty seconds of 500 arrivals a second, each served for a millisecond or so; two workers that
/// send within some microseconds.
pub fn healthy() -> Run {
    healthy_with(1)
}

pub fn healthy_with(seed: u64) -> Run {
    let mut run = Run {
        options: options(SECONDS),
        thresholds: Thresholds::default(),
        records: Vec::new(),
        evidence: evidence(),
        seed,
    };
    run.arrive(|draw| -(1.0 - draw).ln());
    run
}

pub fn options(seconds: u64) -> AnalysisOptions {
    AnalysisOptions {
        window: Some(Window { from: Nanos::from_secs(1), until: Nanos::from_secs(1 + seconds) }),
        load: LoadModel::Open { rate: Some(RATE), limit: Some(1000) },
        ..AnalysisOptions::default()
    }
}

pub fn evidence() -> Evidence {
    let worker = WorkerTime { busy: 0.4, waited: Some(0.001), useful: None };
    Evidence {
        arrivals: Some(ExpectedArrivals::steady(Gaps::Poisson)),
        trace: Some(TraceHashes { planned: 7, executed: 7 }),
        queued: Some(0),
        workers: vec![worker; 2],
        steal: Some(0.0),
        throttled: Some(0.0),
        hiccups: Some(Hiccups {
            counts: vec![(Nanos(60_000), 39_990), (Nanos(150_000), 10)],
            longest: vec![(Nanos::from_secs(7), Nanos(150_000))],
        }),
        lost_records: Some(0),
        contradictions: Some(0),
        network: Some(NetworkLoss { segments: 40_000, retransmits: 1 }),
        floor: Some(Floor { response: vec![(0.5, Nanos(20_000)), (0.99, Nanos(40_000))] }),
        expected_miss_share: Some(0.0),
        ..Evidence::default()
    }
}

impl Run {
    /// Makes the records anew, with gaps of the mean that the rate gives times what `gap` makes
    /// of a uniform draw.
    pub fn arrive(&mut self, gap: impl Fn(f64) -> f64) {
        let window = self.options.window.unwrap();
        let mut at = window.from.0 as f64;
        self.records.clear();
        for index in 0.. {
            let mut draws = Seed(self.seed).draws(1, index);
            at += gap(draws.unit()) * 1e9 / RATE;
            if at >= window.until.0 as f64 {
                break;
            }
            let intended = Nanos(at as u64);
            let started = intended + Nanos(300 + draws.below(3_000));
            let service = 1_400_000.0 - 600_000.0 * (1.0 - draws.unit()).ln();
            let ended = started + Nanos(service as u64);
            self.records.push(done(index, Kind::Read, intended, started, ended));
        }
    }

    /// Changes each record, in order of intended time.
    pub fn each(mut self, change: impl FnMut(&mut Record)) -> Run {
        self.records.iter_mut().for_each(change);
        self
    }

    /// Changes what was observed.
    pub fn observing(mut self, change: impl FnOnce(&mut Evidence)) -> Run {
        change(&mut self.evidence);
        self
    }

    /// The same in a closed loop, which promises no arrivals.
    pub fn closed(mut self, sessions: u64, target: Option<f64>) -> Run {
        self.options.load = LoadModel::Closed { sessions, target };
        self.evidence.arrivals = None;
        self
    }

    /// The same process, with service times multiplied by `factor` of the seconds since the
    /// window began.
    pub fn slower(self, factor: impl Fn(f64) -> f64) -> Run {
        self.each(|record| {
            let service = record.service().0 as f64;
            let since = record.intended.as_secs_f64() - 1.0;
            record.ended = record.started + Nanos((service * factor(since)) as u64);
        })
    }

    /// The hallmark, with records worker by worker in order of completion.
    pub fn examine(&self) -> Hallmark {
        let mut analyze = Analyzer::new(self.options.clone());
        let mut validator = Validator::new(self.options.clone(), self.thresholds.clone());
        for worker in 0..2 {
            let mine = self.records.iter().filter(|record| record.process % 2 == worker);
            let mut mine: Vec<Record> = mine.copied().collect();
            mine.sort_by_key(|record| record.ended);
            analyze.push(&mine);
            validator.push(&mine);
        }
        validator.finish(&analyze.finish(), &self.evidence)
    }
}

/// Moves what would begin within one of the stretches `period · k .. period · k + length` (seconds)
/// to its end, as a worker does that got no processor.
pub fn held_up(record: &mut Record, period: f64, length: f64) {
    let since = record.started.as_secs_f64() % period;
    if since < length {
        delay(record, Nanos(((length - since) * 1e9) as u64));
    }
}

/// Sends `record` so much later.
pub fn delay(record: &mut Record, late: Nanos) {
    record.started += late;
    record.ended += late;
}

//! Status of a run as the control port shows it.

use assay_fleet::StatusRow;
use assay_model::{Nanos, named_enum};
use serde_json::{Value, json};

use crate::interval::{IntervalCollector, KINDS, LiveInterval, Quantiles, Totals};
use crate::port::buckets::LatencyBuckets;
use crate::progress::ProgressSnapshot;

/// How long the stretches are that the latest figures are about.
const EVERY: Nanos = Nanos::from_secs(1);

/// What a run is about.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Subject {
    /// `load` or `run`; empty before either.
    pub verb: &'static str,
    /// The workload's name.
    pub workload: String,
    /// The store's URL without secrets.
    pub store: String,
    /// `open` or `closed`.
    pub model: &'static str,
    /// The load model in words.
    pub text: String,
    /// How long it takes, warm-up included, if that is known.
    pub duration: Option<Nanos>,
    /// How much of that is warm-up.
    pub warm_up: Nanos,
    /// Processes to issue, if there is a number.
    pub processes: Option<u64>,
}

named_enum! {
    /// Where a run stands.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum RunPhase {
        /// No operation is issued yet.
        #[default]
        Preparing => "preparing",
        /// Operations are issued.
        Issuing => "running",
        /// No more operations are issued; responses are awaited.
        Ending => "ending",
        /// All is over; the figures are the last ones.
        Over => "over",
    }
}

/// Everything that has been seen of a run.
pub struct RunStatus {
    /// What it is about.
    pub subject: Subject,
    /// Where it stands.
    pub phase: RunPhase,
    /// When that was seen, on the run's time axis.
    pub at: Nanos,
    /// Processes in flight then.
    pub in_flight: u64,
    /// Arrivals per second intended then; open load only.
    pub rate: Option<f64>,
    /// The figures of the last interval.
    pub latest: Option<LiveInterval>,
    /// Response times since the beginning, by kind.
    pub response: [LatencyBuckets; KINDS],
    /// Service times since the beginning, by kind.
    pub service: [LatencyBuckets; KINDS],
    /// The agents of a fleet; none if this process issues everything itself.
    pub agents: Vec<StatusRow>,
    gathering: IntervalCollector,
}

impl Default for RunStatus {
    fn default() -> RunStatus {
        RunStatus::beginning(Subject::default())
    }
}

impl RunStatus {
    /// A run of which nothing has been seen.
    pub fn beginning(subject: Subject) -> RunStatus {
        RunStatus {
            subject,
            phase: RunPhase::Preparing,
            at: Nanos::ZERO,
            in_flight: 0,
            rate: None,
            latest: None,
            response: Default::default(),
            service: Default::default(),
            agents: Vec::new(),
            gathering: IntervalCollector::new(EVERY),
        }
    }

    /// Counts since the beginning.
    pub fn totals(&self) -> &Totals {
        self.gathering.totals()
    }

    /// Adds `progress_snapshot`.
    pub fn add(&mut self, progress_snapshot: &ProgressSnapshot<'_>) {
        self.phase = match progress_snapshot.at {
            _ if progress_snapshot.is_ending => RunPhase::Ending,
            Nanos::ZERO => RunPhase::Preparing,
            _ => RunPhase::Issuing,
        };
        self.agents = progress_snapshot.agents.to_vec();
        (self.at, self.in_flight) = (progress_snapshot.at, progress_snapshot.in_flight);
        self.rate = progress_snapshot
            .rate_profile
            .map(|rate_profile| rate_profile.rate(progress_snapshot.at));
        for kind in 0..KINDS {
            self.response[kind].add(&progress_snapshot.stats.response[kind]);
            self.service[kind].add(&progress_snapshot.stats.service[kind]);
        }
        if let Some(interval) = self.gathering.add(progress_snapshot) {
            self.latest = Some(interval);
        }
    }

    /// The run is over.
    pub fn end(&mut self) {
        self.phase = RunPhase::Over;
        self.rate = None;
        self.in_flight = 0;
    }

    /// The part of the run that goes on.
    pub fn phase(&self) -> &'static str {
        match self.subject.verb {
            "run" if self.at < self.subject.warm_up => "warm-up",
            "run" => "measure",
            verb => verb,
        }
    }

    /// As a short status.
    pub fn json(&self) -> Value {
        let subject = &self.subject;
        let seconds = |time: Nanos| time.as_secs_f64();
        let [done, refused, unknown, dropped] =
            assay_model::Outcome::ALL.map(|outcome| self.totals().with(outcome));
        let mut status = json!({
            "state": self.phase.name(),
            "phase": self.phase(),
            "workload": subject.workload,
            "store": subject.store,
            "model": subject.model,
            "load": subject.text,
            "elapsed_s": seconds(self.at),
            "duration_s": subject.duration.map(seconds),
            "processes": { "ended": self.totals().processes, "planned": subject.processes },
            "rate_per_s": self.rate,
            "in_flight": self.in_flight,
            "operations": {
                "done": done,
                "refused": refused,
                "unknown": unknown,
                "dropped": dropped,
                "missed": self.totals().missed(),
            },
            "last_interval": self.latest.as_ref().map(latest),
        });
        if !self.agents.is_empty() {
            status["agents"] = self.agents.iter().map(StatusRow::json).collect();
        }
        status
    }
}

fn latest(interval: &LiveInterval) -> Value {
    let quantiles = |of: Quantiles| {
        json!({
            "p50_ns": of.p50.0,
            "p99_ns": of.p99.0,
            "p99.9_ns": of.p999.0,
            "max_ns": of.max.0,
        })
    };
    json!({
        "length_s": interval.length.as_secs_f64(),
        "offered_per_s": interval.offered_per_s,
        "achieved_per_s": interval.achieved_per_s,
        "failed": interval.failed,
        "dropped": interval.dropped,
        "missed": interval.missed,
        "lag_max_ns": interval.lag_max.0,
        "response": interval.response.map(quantiles),
        "service": interval.service.map(quantiles),
    })
}

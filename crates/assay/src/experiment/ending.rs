//! End of an experiment, as its manifest, its events and the exit code tell it.

use std::time::SystemTime;

use anyhow::{Context, Result};
use assay_history::manifest::{ExecutionSection, HeldStretch, PhaseSection, RateChangeSection};
use assay_history::{RunDir, State, WriteError, Writer};
use assay_model::{Event, EventKind, Nanos, Phase, Reason};
use assay_run::executor::{AbortReason, FailedOperation, WorkerOutcome};
use assay_run::{ArrivalProcess, Load, RateChange, RunOutcome};
use assay_trace::TraceHash;

use crate::exit::Exit;
use crate::experiment::Experiment;
use crate::units::rfc3339;

impl Experiment {
    /// The run could not begin: the run directory says so.
    pub fn close_failed(
        &mut self,
        run_dir: &mut RunDir,
        writer: Writer,
        error: &anyhow::Error,
    ) -> Result<()> {
        drop(writer.finish());
        self.manifest.state = State::Failed;
        self.manifest.reason = Some(error.to_string());
        self.manifest.run.ended = rfc3339(SystemTime::now());
        run_dir.write_manifest(&self.manifest).context("cannot note the failure")
    }

    /// Fills in what is known after the run.
    pub fn describe_end(&mut self, outcome: &RunOutcome, broken: Option<&WriteError>) {
        let (state, reason) = self.state(outcome, broken);
        let phases = self.phases(outcome);
        let planned_rate = self.planned_rate(&phases);
        let issued_all = self.has_issued_all(outcome);
        // Simulated time stands still while the history is written.
        let stalls = if self.is_simulated() { 0 } else { outcome.sum(|worker| worker.stalls) };
        let manifest = &mut self.manifest;
        manifest.state = state;
        manifest.reason = reason;
        manifest.run.ended = rfc3339(SystemTime::now());
        manifest.phases = phases;
        let [done, refused, unknown, dropped] =
            [0, 1, 2, 3].map(|code| outcome.sum(|worker| worker.outcomes[code]));
        let counters = &mut manifest.counters;
        counters.offered = outcome.sum(|worker| worker.offered);
        (counters.done, counters.refused) = (done, refused);
        (counters.unknown, counters.dropped) = (unknown, dropped);
        let records = counters.offered + self.read_finally.records;
        manifest.history.records = records - broken.map_or(0, |error| error.lost);
        manifest.history.lost = broken.map_or(0, |error| error.lost);
        manifest.history.stalls = stalls;
        let executed = TraceHash::from_sum(outcome.fingerprint()).seal(&self.header).to_string();
        let changes = self.listening.control.rate_changes();
        let changes = changes.iter();
        let read_finally = self.read_finally.records;
        manifest.execution = ExecutionSection {
            issued_all,
            executed_hash: Some(executed),
            planned_rate,
            queued: Some(outcome.sum(|worker| worker.queued)),
            held_back: held_back(outcome),
            late_answers: Some(outcome.sum(|worker| worker.late_answers)),
            in_flight_max: Some(outcome.sum(|worker| worker.in_flight_max as u64)),
            worker_cpu_ns: Some(outcome.sum(|worker| worker.cpu.0)),
            final_reads: self.final_reads.as_ref().map(|_| read_finally),
            rate_changes: changes
                .map(|change| RateChangeSection { at_ns: change.at.0, rate: change.rate })
                .collect(),
        };
        self.remark(outcome);
    }

    /// Fills in what the share of a fleet's run was, if this is one.
    pub fn describe_share(&mut self, outcome: &RunOutcome) {
        if let (Some(member), Some(share)) = (&self.member, self.share) {
            member.tell_end(&self.listening.control);
            let facts = (outcome.fingerprint(), self.used.map(|used| used.section()));
            let section = member.section(&self.manifest, share, facts);
            self.manifest.agents = vec![section];
        }
    }

    /// Whether the plan was issued in full.
    pub fn has_issued_all(&self, outcome: &RunOutcome) -> bool {
        let planned = self.planned.unwrap_or(u64::MAX);
        let extent = self.load_config.extent;
        outcome.ran_out() && extent.processes.is_none_or(|processes| processes >= planned)
    }

    /// Arrivals per second over the measured window, as the shape and its changes plan them.
    fn planned_rate(&self, phases: &[PhaseSection]) -> Option<f64> {
        let Load::Open(open) = &self.load_config.load else { return None };
        if matches!(open.arrivals.process, ArrivalProcess::Recorded(_)) {
            return None;
        }
        let measured = phases.iter().find(|phase| phase.name == Phase::Measure.name());
        let window = measured.filter(|window| window.from_ns < window.to_ns)?;
        let rate_profile = self.listening.control.rate_profile()?;
        Some(rate_profile.mean_rate(Nanos(window.from_ns), Nanos(window.to_ns)))
    }

    /// Remarks that a reader must see.
    fn remark(&mut self, outcome: &RunOutcome) {
        let notes = &mut self.manifest.notes;
        let changes = self.listening.control.rate_changes();
        if let [first, rest @ ..] = &changes[..] {
            let last = match rest.len() {
                0 => String::new(),
                more => format!(", then {more} times more until {}", changes[more].at),
            };
            notes.push(format!(
                "the rate was changed while the run went on: at {} {}{last}",
                first.at,
                rate_change(first)
            ));
        }
        notes.extend(self.done.notes().cloned());
        notes.extend(self.store.incidents());
        notes.append(&mut self.unread);
        let stalls = self.manifest.history.stalls;
        if stalls > 0 {
            notes.push(format!(
                "workers waited {stalls} times for the history to be written: part of the lag is \
                 ours"
            ));
        }
        let queued = outcome.sum(|worker| worker.queued);
        if queued > 0
            && let Load::Open(open) = &self.load_config.load
        {
            let bound = self.load_config.in_flight(open);
            let what = match bound < open.in_flight {
                true => "what the store's connections take",
                false => "--in-flight",
            };
            notes.push(format!(
                "{queued} arrivals waited because the bound on processes in flight was reached \
                 ({bound}: {what}); their wait is in the response time"
            ));
        }
        let late = outcome.sum(|worker| worker.late_answers);
        if late > 0 {
            notes.push(format!("{late} answers came after the timeout had expired"));
        }
        notes.extend(first_failure(outcome));
        notes.extend(self.read_finally.notes.iter().cloned());
    }

    fn state(&self, outcome: &RunOutcome, broken: Option<&WriteError>) -> (State, Option<String>) {
        if let Some(error) = broken {
            return (State::Failed, Some(error.to_string()));
        }
        match outcome.trouble() {
            Some(AbortReason::Plan(reason)) => (State::Failed, Some(reason.clone())),
            Some(AbortReason::History) => {
                (State::Failed, Some("the history could not be written".to_owned()))
            }
            Some(AbortReason::InFlightLimit) => (
                State::Failed,
                Some("the bound on processes in flight was reached (--overflow abort)".to_owned()),
            ),
            Some(AbortReason::Failure) => (State::Failed, Some(self.load_failure(outcome))),
            None if outcome.is_interrupted => {
                (State::Interrupted, Some("stopped from outside".to_owned()))
            }
            None => (State::Finished, None),
        }
    }

    fn load_failure(&self, outcome: &RunOutcome) -> String {
        let done = outcome.sum(|worker| worker.outcomes[0]);
        match outcome.first_failure() {
            Some(FailedOperation { key, reason, .. }) => format!(
                "the load stopped because the insert of record {key} failed ({}); {done} records \
                 are in; mend the store and load again with --fresh",
                reason.name()
            ),
            None => format!("the load stopped after {done} records"),
        }
    }

    fn phases(&self, outcome: &RunOutcome) -> Vec<PhaseSection> {
        let extent = self.load_config.extent;
        let ended = outcome.ended();
        let is_cut = outcome.ran_out() || outcome.is_interrupted || outcome.trouble().is_some();
        // Responses may come long after; the window is the time in which operations were issued.
        let end = match extent.duration {
            Some(_) if !is_cut => extent.end(),
            _ => outcome.issued_until().min(extent.end()),
        };
        let end = if end > extent.warm_up { end } else { ended.min(extent.end()) };
        let section = |phase: Phase, from: Nanos, to: Nanos| PhaseSection {
            name: phase.name().to_owned(),
            from_ns: from.0,
            to_ns: to.0,
        };
        if self.is_load {
            return vec![section(Phase::Load, Nanos::ZERO, ended)];
        }
        let mut phases = Vec::new();
        if extent.warm_up > Nanos::ZERO {
            phases.push(section(Phase::WarmUp, Nanos::ZERO, extent.warm_up.min(end)));
        }
        phases.push(section(Phase::Measure, extent.warm_up.min(end), end));
        phases.extend(self.read_finally.window.map(|(from, to)| section(Phase::Final, from, to)));
        phases
    }

    /// What happened during the run, in the order of time.
    pub fn events(&self, outcome: &RunOutcome) -> Vec<Event> {
        let mut events: Vec<Event> = self
            .manifest
            .phases
            .iter()
            .map(|phase| Event {
                at: Nanos(phase.from_ns),
                kind: EventKind::Phase,
                text: phase.name.clone(),
            })
            .collect();
        // What comes before the epoch has no place on the time axis but its beginning.
        let init = match self.is_simulated() {
            // The same run gives the same bytes there, and wall time does not matter.
            true => "init".to_owned(),
            false => format!("init, {} before", self.init),
        };
        events.insert(0, Event { at: Nanos::ZERO, kind: EventKind::Phase, text: init });
        events.extend(self.listening.control.rate_changes().iter().map(|change| Event {
            at: change.at,
            kind: EventKind::Change,
            text: format!("rate {}", rate_change(change)),
        }));
        events.extend(self.done.events.iter().cloned());
        if let Some(failure) = outcome.first_failure() {
            let text = format!("first failure: {}", failure.reason.name());
            events.push(Event { at: failure.at, kind: EventKind::Warning, text });
        }
        if self.manifest.state != State::Finished {
            let text = self.manifest.reason.clone().unwrap_or_default();
            events.push(Event { at: outcome.ended(), kind: EventKind::Warning, text });
        }
        events.sort_by_key(|event| event.at);
        events
    }

    /// Whether there was nothing to load: a trace that writes every key before it needs
    /// it.
    fn is_nothing(&self) -> bool {
        self.is_load && self.planned == Some(0)
    }

    /// Whether no operation succeeded.
    fn is_in_vain(&self, outcome: &RunOutcome) -> bool {
        outcome.sum(|worker| worker.outcomes[0]) == 0 && !self.is_nothing()
    }

    /// What was to be done and was not; of a run that was stopped, what goes on.
    pub fn say_undone(&self, outcome: &RunOutcome) {
        self.done.say_undone(self.manifest.state);
        if self.manifest.state == State::Finished && self.is_in_vain(outcome) {
            eprintln!("error: {}", in_vain(outcome));
        }
    }

    /// The code that the program should end with.
    pub fn exit(&self, outcome: &RunOutcome) -> Exit {
        let reason = outcome.first_failure().map(|failure| failure.reason);
        let is_away = reason.is_some_and(|reason| AWAY.contains(&reason))
            && outcome.trouble() == Some(&AbortReason::Failure);
        match self.manifest.state {
            // A run in which nothing went through has failed, whatever the store says.
            State::Finished if self.is_in_vain(outcome) => {
                match outcome.sum(|worker| worker.offered) {
                    // Too short for its rate.
                    0 => Exit::Usage,
                    _ => Exit::Unreachable,
                }
            }
            State::Failed if is_away => Exit::Unreachable,
            state => self.done.exit(state),
        }
    }
}

/// When arrivals of each worker waited because the bound on operations in flight was reached; empty
/// if none ever did.
fn held_back(outcome: &RunOutcome) -> Vec<Vec<HeldStretch>> {
    if outcome.workers.iter().all(|worker| worker.held_back.is_empty()) {
        return Vec::new();
    }
    let stretch = |(from, until): &(Nanos, Nanos)| (from.0, until.0);
    let worker = |worker: &WorkerOutcome| worker.held_back.iter().map(stretch).collect();
    outcome.workers.iter().map(worker).collect()
}

/// The first operation that was refused or is unknown, in a sentence.
fn first_failure(outcome: &RunOutcome) -> Option<String> {
    let FailedOperation { index, key, reason, at } = outcome.first_failure()?;
    let reason = reason.name();
    Some(format!("the first failure was operation {index} on record {key} after {at}: {reason}"))
}

/// Why a run in which nothing went through has come to nothing.
fn in_vain(outcome: &RunOutcome) -> String {
    match (outcome.sum(|worker| worker.offered), first_failure(outcome)) {
        (0, _) => "nothing was issued: the run was too short for its rate; give it more time by \
                   --duration, or a higher --rate"
            .to_owned(),
        (offered, Some(failure)) => format!("none of {offered} operations went through; {failure}"),
        (offered, None) => format!("none of {offered} operations went through"),
    }
}

/// Reasons of a first failure that say that the store is away, or does not let us.
const AWAY: [Reason; 4] =
    [Reason::Unreachable, Reason::ConnectionLost, Reason::Timeout, Reason::NotPermitted];

/// A change of the rate in words.
fn rate_change(change: &RateChange) -> String {
    format!("from {}/s to {}/s", change.before, change.rate)
}

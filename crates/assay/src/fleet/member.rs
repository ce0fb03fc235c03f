//! FleetMember of an agent in a run: its share, its start, its news.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Result;
use assay_fleet::{AgentState, Ending, Progress, Session};
use assay_history::Manifest;
use assay_history::manifest::{AgentSection, UsedSection};
use assay_live::interval::IntervalCollector;
use assay_live::progress::{Observer, ProgressSnapshot};
use assay_model::{Nanos, Outcome};
use assay_run::control::Urgency;
use assay_run::{Control, Share, Spin, Start, Wall};

use crate::exit::{Exit, Failure};
use crate::machine;

use super::figures::figures;
use super::machines::host;

/// How long the stretches are of which the worst lag is told.
const LAG_OF: Nanos = Nanos::from_secs(1);

/// An agent that carries out its share of a run.
pub struct FleetMember {
    /// The connection to the coordinator.
    pub session: Session,
    /// Whether the coordinator has ended the load: then an early end is no news.
    is_ended: Arc<AtomicBool>,
}

impl FleetMember {
    /// The member of an agent that has joined.
    pub fn new(session: Session) -> FleetMember {
        FleetMember { session, is_ended: Arc::default() }
    }

    /// The most workers of this agent if all agents together may have `most`.
    pub fn workers_max(&self, most: usize) -> usize {
        (most / self.session.agents() as usize).max(1)
    }

    /// From now on the coordinator's orders change the rate, and end the load.
    pub fn heed(&self, control: &Arc<Control>) {
        let steered = Arc::clone(control);
        self.session.on_rate(move |order| {
            // It was possible at the coordinator, before all agents ended. What comes too late
            // takes effect later, and the parts say so.
            let _ = steered.set_rate(Nanos(order.from_ns), order.rate);
        });
        let (control, is_ended) = (Arc::clone(control), Arc::clone(&self.is_ended));
        self.session.on_ending(move |ending| {
            is_ended.store(true, Ordering::Relaxed);
            match ending {
                Ending::Stop => control.drain(),
                Ending::Abort(_) => control.abort(),
            }
        });
    }

    /// The share of this agent, with `workers` workers, if all agents have the same `plan`. Fails
    /// if the run is called off.
    pub fn share(&self, workers: usize, plan: &str) -> Result<Share> {
        let place = self.session.place(workers, plan).map_err(called_off)?;
        Ok(Share {
            agent: u64::from(self.session.agent()),
            agents: u64::from(self.session.agents()),
            first_worker: place.first_worker as usize,
            workers: place.workers as usize,
        })
    }

    /// Says if the load ended early for a reason of this machine, so that it ends for all.
    pub fn tell_end(&self, control: &Control) {
        let is_early = control.urgency() > Urgency::None;
        if is_early && !self.is_ended.load(Ordering::Relaxed) {
            self.session.report_interrupted();
        }
    }

    /// What the manifest says of this agent, whose operations have the sum `fingerprint`.
    pub fn section(
        &self,
        manifest: &Manifest,
        share: Share,
        (fingerprint, used): (u128, Option<UsedSection>),
    ) -> AgentSection {
        AgentSection {
            agent: self.session.agent(),
            agents: self.session.agents(),
            host: host(),
            cores: machine::cores() as u32,
            workers: u32::from(manifest.load.workers),
            first_worker: share.first_worker as u32,
            counters: manifest.counters,
            records: manifest.history.records,
            sum: manifest.history.sum.clone(),
            fingerprint: format!("{fingerprint:032x}"),
            executed_hash: manifest.execution.executed_hash.clone().unwrap_or_default(),
            used,
            start_least_ns: None,
            start_most_ns: None,
        }
    }

    /// An observer that tells the coordinator how far the run is.
    pub fn observer(self: &Arc<FleetMember>) -> Box<dyn Observer> {
        Box::new(MemberObserver {
            member: Arc::clone(self),
            progress: Progress::default(),
            gathering: IntervalCollector::new(LAG_OF),
        })
    }
}

/// The code and the words of a run that came to nothing because of the fleet.
pub fn called_off(error: assay_fleet::AgentError) -> anyhow::Error {
    let exit = match error {
        assay_fleet::AgentError::Refused(_) => Exit::Usage,
        assay_fleet::AgentError::File(_) => Exit::Internal,
        _ => Exit::Unreachable,
    };
    Failure { exit, message: error.to_string() }.into()
}

impl Start for FleetMember {
    fn epoch(&self, spin: Spin) -> Result<Wall, String> {
        let reading = self.session.start().map_err(|error| error.to_string())?;
        Ok(Wall::starting_at(Nanos(reading), spin))
    }
}

struct MemberObserver {
    member: Arc<FleetMember>,
    progress: Progress,
    gathering: IntervalCollector,
}

impl Observer for MemberObserver {
    fn see(&mut self, snapshot: &ProgressSnapshot<'_>) {
        self.progress.offered += snapshot.stats.offered;
        self.progress.done += snapshot.stats.with(Outcome::Done);
        self.progress.failed += snapshot.stats.failed();
        self.progress.in_flight = snapshot.in_flight;
        if let Some(interval) = self.gathering.add(snapshot) {
            self.progress.lag_ns = interval.lag_max.0;
        }
        self.member.session.progress(self.progress, &figures(snapshot.stats));
        if snapshot.at > Nanos::ZERO {
            self.member.session.report(AgentState::Running);
        }
    }
}

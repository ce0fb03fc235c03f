//! Course of a fleet's run at its coordinator, from the first agent to the last part.
//!
//! Agents come, issue, deliver; meanwhile it acts on the store, looks at its servers, shows how far
//! all are, changes the rate.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use anyhow::Result;
use assay_fleet::{AgentState, Collecting, Coordinator, FleetOutcome};
use assay_live::progress::{self, Show};
use assay_live::rate_control::RateControl;
use assay_model::{Nanos, Probe};
use assay_run::control::Urgency;
use assay_run::{Snapshot, Spin, Wall};

use crate::exit::as_usage;
use crate::experiment::beside::{RaisedAtEnd, SeenBeside, spawn};
use crate::fleet::figures;
use crate::setup::Setup;

use super::local::LocalAgents;
use super::{Fleet, LOOK, fleet_options, job, keys, listen, summary};

/// What came of a fleet's run.
pub struct Driven {
    /// How it ended.
    pub outcome: FleetOutcome,
    /// Whether the start was told to the agents: some may have issued operations.
    pub has_begun: bool,
    /// Where the part of each agent is.
    pub parts: Vec<(u32, PathBuf)>,
    /// The probes of each agent's clock.
    pub clocks: Vec<(u32, Vec<Probe>)>,
    /// What went on beside the load.
    pub seen: SeenBeside,
}

/// Waits until the fleet has ended; what agents deliver goes into folders of `pieces`.
pub fn drive(
    setup: &Setup,
    fleet: &mut Fleet<'_>,
    collecting: Collecting,
    pieces: &Path,
) -> Result<Driven> {
    let options = &setup.plan.options;
    let is_local = options.local.is_on();
    let (own_keys, agent_keys) = keys(options, is_local, pieces)?;
    let target = setup.raw_target()?;
    let coordinator = Coordinator::open(
        listen(options, is_local),
        &own_keys,
        fleet_options(options, fleet)?,
        job(setup, fleet, (&target, is_local), collecting)?,
        pieces,
    )
    .map_err(as_usage)?;
    let coordinator = Arc::new(coordinator);
    let mut local = match agent_keys {
        Some(keys) => LocalAgents::start(fleet.agents, coordinator.address(), &keys, &target)?,
        None => {
            eprintln!(
                "waiting for {} agents at {} (assay agent --join HOST:PORT --keys agent.pem \
                 --index 0…{})",
                fleet.agents,
                coordinator.address(),
                fleet.agents - 1
            );
            LocalAgents::default()
        }
    };
    let control = &setup.listening.control;
    // The clock of a run before is not this one's.
    control.set_clock(None);
    fleet.experiment.run().begin(control);
    let rate_control = RateControl::new(Arc::clone(control), &fleet.experiment.load_config.load);
    let rate_control = Arc::new(rate_control.followed(Arc::clone(&coordinator) as _));
    let observers = fleet.experiment.observers(&rate_control);
    let is_over = Arc::new(AtomicBool::new(false));
    let experiment = &fleet.experiment;
    let (outcome, seen) = thread::scope(|scope| {
        // Even if something fails: who watches must not wait for ever.
        let over = RaisedAtEnd(&is_over);
        let watched = Arc::clone(&coordinator);
        let take = move |snapshot: &mut Snapshot| {
            figures::add(&watched.take_figures(), &mut snapshot.stats);
            let agents = watched.status();
            snapshot.in_flight = agents.iter().map(|row| row.progress.in_flight).sum();
            agents
        };
        let watch = || progress::watch(take, &rate_control, observers, &is_over);
        spawn(scope, "watcher", "watches the run", watch)?;
        let beside = experiment.begin_beside(scope, control, &is_over)?;
        let outcome = await_end(setup, &coordinator, (&mut local, &is_over));
        drop(over);
        anyhow::Ok((outcome, beside.join(Vec::new())))
    })?;
    let (parts, clocks) = (coordinator.parts(), coordinator.clocks());
    let has_begun = coordinator.start().is_some();
    local.end(&outcome);
    Ok(Driven { outcome, has_begun, parts, clocks, seen })
}

/// Waits for the end, says who is how far; raises the flag when no agent issues operations any
/// more.
fn await_end(
    setup: &Setup,
    coordinator: &Coordinator,
    (local, is_over): (&mut LocalAgents, &AtomicBool),
) -> FleetOutcome {
    let control = &setup.listening.control;
    let shows = setup.plan.show != Show::Nothing;
    let (mut shown, mut is_stopping) = (String::new(), false);
    let mut interrupted = None;
    loop {
        if interrupted.is_none() {
            interrupted = coordinator.interrupted();
            if let Some(agent) = &interrupted {
                let line = format!("{agent} was told to end (a signal): the load of all ends");
                setup.listening.stage.say(&line);
            }
        }
        if let Some(outcome) = coordinator.outcome() {
            return outcome;
        }
        if let Some(reason) = local.dead() {
            coordinator.withdraw(reason);
        }
        match control.urgency() {
            Urgency::Drain if !is_stopping => {
                is_stopping = true;
                coordinator.stop();
            }
            Urgency::None | Urgency::Drain => {}
            Urgency::Abort => coordinator.withdraw("interrupted twice".to_owned()),
        }
        if let (None, Some(start)) = (control.clock(), coordinator.start()) {
            control.set_clock(Some(Wall::starting_at(Nanos(start), Spin::Never)));
        }
        let status = coordinator.status();
        if status.iter().all(|row| row.state >= Some(AgentState::Done)) {
            is_over.store(true, Ordering::Relaxed);
        }
        let line = summary(&status);
        if shows && line != shown {
            setup.listening.stage.say(&format!("fleet: {line}"));
            shown = line;
        }
        thread::sleep(LOOK);
    }
}

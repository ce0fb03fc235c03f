//! Companions of a load: observers, actions on its lab, numbers of its servers.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, Scope, ScopedJoinHandle};

use anyhow::{Context, Result};
use assay_history::Observation;
use assay_live::dashboard::{Caption, Dashboard};
use assay_live::port::Subject;
use assay_live::progress::{Goal, Observer, Show};
use assay_live::rate_control::RateControl;
use assay_run::control::Urgency;
use assay_run::{Control, Latency, Load};

use crate::actions::action::ActionKind;
use crate::actions::{self, ExecutedActions};
use crate::experiment::Experiment;
use crate::fleet::FleetMember;
use crate::observe::scrape::Scraped;
use crate::observe::servers::Watched;
use crate::units::rfc3339;
use crate::{live, observe};

impl Experiment {
    /// Begins what goes on beside the load: actions on the store, a look at its servers.
    pub fn begin_beside<'scope, 'env: 'scope>(
        &'env self,
        scope: &'scope Scope<'scope, 'env>,
        control: &'env Control,
        is_over: &'env AtomicBool,
    ) -> Result<Beside<'scope>> {
        Ok(Beside {
            servers: self.watch_servers(scope, control, is_over)?,
            scraped: self.scrape(scope, control, is_over)?,
            actions: self.do_actions(scope, control, is_over)?,
        })
    }

    /// Watches the servers of the lab, if the store is in one.
    fn watch_servers<'scope, 'env: 'scope>(
        &'env self,
        scope: &'scope Scope<'scope, 'env>,
        control: &'env Control,
        is_over: &'env AtomicBool,
    ) -> Result<Option<ScopedJoinHandle<'scope, Watched>>> {
        let Some(lab) = &self.lab else { return Ok(None) };
        let watch = move || observe::servers::watch(lab.folder(), control, is_over);
        spawn(scope, "servers", "watches the servers", watch).map(Some)
    }

    /// Reads numbers of servers, if that is wanted.
    fn scrape<'scope, 'env: 'scope>(
        &'env self,
        scope: &'scope Scope<'scope, 'env>,
        control: &'env Control,
        is_over: &'env AtomicBool,
    ) -> Result<Option<ScopedJoinHandle<'scope, Scraped>>> {
        let Some(scraper) = &self.scraper else { return Ok(None) };
        let scrape = move || scraper.watch(control, is_over);
        spawn(scope, "scraper", "reads numbers of servers", scrape).map(Some)
    }

    /// Notes when the run's time began as soon as that is known, for a run that is killed.
    pub fn date<'scope, 'env: 'scope>(
        &'env self,
        scope: &'scope Scope<'scope, 'env>,
        control: &'env Control,
        is_over: &'env AtomicBool,
    ) -> Result<()> {
        if self.is_simulated() {
            return Ok(());
        }
        let (dir, mut manifest) = (self.dir.clone(), self.manifest.clone());
        let date = move || {
            let Some(clock) = actions::begun(control, is_over) else { return };
            manifest.run.started = rfc3339(clock.epoch());
            // A disk error will be reported at the end.
            drop(manifest.write(&dir));
        };
        spawn(scope, "date", "dates the run", date).map(drop)
    }

    /// Does to the lab what is to be done meanwhile.
    fn do_actions<'scope, 'env: 'scope>(
        &'env self,
        scope: &'scope Scope<'scope, 'env>,
        control: &'env Control,
        is_over: &'env AtomicBool,
    ) -> Result<Option<ScopedJoinHandle<'scope, ExecutedActions>>> {
        let (Some(lab), false) = (&self.lab, self.schedule.is_empty() || self.is_load) else {
            return Ok(None);
        };
        let schedule = &self.schedule;
        // A run that was stopped does not wait for what may take as long as it likes; only what
        // was broken is mended all the same.
        let is_stopped = || is_over.load(Ordering::Relaxed) && control.urgency() != Urgency::None;
        let act = move |act: &ActionKind| {
            act.upon(lab, &|| schedule.is_drawn() || act.is_mend() || !is_stopped())
        };
        let execute = move || actions::execute(schedule, control, is_over, act);
        spawn(scope, "actions", "scales or breaks the store", execute).map(Some)
    }

    /// The observers of the run; none for a run in simulated time.
    pub fn observers(&mut self, rate_control: &Arc<RateControl>) -> Vec<Box<dyn Observer>> {
        let run_observer = self.run_observer.take();
        if self.is_simulated() {
            return Vec::new();
        }
        let goal = self.goal();
        let mut observers: Vec<Box<dyn Observer>> = run_observer.into_iter().collect();
        observers.extend(self.member.as_ref().map(FleetMember::observer));
        if let Some(port) = &self.port {
            observers.push(port.watch(self.subject(), Arc::clone(rate_control)));
        }
        match self.show {
            Show::Nothing => {}
            Show::Lines => observers.push(Box::new(live::lines(goal))),
            Show::Dashboard => {
                let title = format!(
                    "assay {} {} on {}",
                    self.verb(),
                    self.manifest.spec.name,
                    self.manifest.store.url
                );
                let caption =
                    Caption { title, model: self.load_config.describe(), goal, style: self.style };
                let stage = Arc::clone(&self.listening.stage);
                observers.push(Box::new(Dashboard::new(stage, caption)));
            }
        }
        observers
    }

    fn goal(&self) -> Goal {
        let extent = &self.load_config.extent;
        Goal {
            processes: self.load_config.processes(self.planned),
            duration: extent.duration.map(|duration| duration + extent.warm_up),
            warm_up: extent.warm_up,
            is_load: self.is_load,
        }
    }

    fn subject(&self) -> Subject {
        let goal = self.goal();
        Subject {
            verb: self.verb(),
            workload: self.manifest.spec.name.clone(),
            store: self.manifest.store.url.clone(),
            model: match self.load_config.load {
                Load::Open(_) => "open",
                Load::Closed(_) => "closed",
            },
            text: self.load_config.describe(),
            duration: goal.duration,
            warm_up: goal.warm_up,
            processes: goal.processes,
        }
    }

    /// The command that this belongs to.
    pub fn verb(&self) -> &'static str {
        if self.is_load { "load" } else { "run" }
    }

    /// The latencies that are shown during the run.
    pub fn gauged(&self) -> Latency {
        let is_wanted = |member: &Arc<FleetMember>| member.session.job().shows_service;
        let shows_both = self.shows_service() || self.member.as_ref().is_some_and(is_wanted);
        if shows_both { Latency::Both } else { self.latency }
    }

    /// Whether service times are shown beside response times.
    pub fn shows_service(&self) -> bool {
        self.show == Show::Dashboard || self.port.is_some()
    }
}

/// What goes on beside a load.
pub struct Beside<'scope> {
    servers: Option<ScopedJoinHandle<'scope, Watched>>,
    scraped: Option<ScopedJoinHandle<'scope, Scraped>>,
    actions: Option<ScopedJoinHandle<'scope, ExecutedActions>>,
}

/// What came of it.
#[derive(Default)]
pub struct SeenBeside {
    /// What was seen of the machines.
    pub observations: Vec<Observation>,
    /// What of the servers' numbers could not be read, a sentence each.
    pub unread: Vec<String>,
    /// What was done to the store, with how that ended.
    pub done: ExecutedActions,
}

impl Beside<'_> {
    /// Waits for all of it; what was seen of this machine comes first.
    pub fn join(self, seen: Vec<Observation>) -> SeenBeside {
        let (servers, mut done) = (joined(self.servers), joined(self.actions));
        let scraped = joined(self.scraped);
        done.events.extend(servers.events);
        done.lab_end = servers.is_lab_gone.then(|| LAB_END.to_owned());
        let observations = seen.into_iter().chain(servers.observations).chain(scraped.observations);
        SeenBeside { observations: observations.collect(), unread: scraped.failures, done }
    }
}

impl SeenBeside {
    /// What stands in the way of final reads, if something does.
    pub fn obstacle(&self, is_stopped: bool) -> Option<&'static str> {
        match self.done.lab_end {
            Some(_) => Some("the lab has ended"),
            None => is_stopped.then_some("the run was stopped"),
        }
    }
}

/// The warning about a run that outlived its lab.
const LAB_END: &str = "lab: its supervisor was killed or instructed to end while the run went on, \
                       its servers ended with it: figures from then on are of no store";

/// Raises the flag that ends the watching, even if what is watched fails or panics.
pub struct RaisedAtEnd<'a>(pub &'a AtomicBool);

impl Drop for RaisedAtEnd<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Starts the thread `name`, which does what `purpose` says in the error if there is none.
pub fn spawn<'scope, T: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    name: &str,
    purpose: &str,
    act: impl FnOnce() -> T + Send + 'scope,
) -> Result<ScopedJoinHandle<'scope, T>> {
    let thread = thread::Builder::new().name(name.to_owned()).spawn_scoped(scope, act);
    thread.with_context(|| format!("cannot start the thread that {purpose}"))
}

/// What a thread came back with, if there was one; its panic goes on here.
pub fn joined<T: Default>(thread: Option<ScopedJoinHandle<'_, T>>) -> T {
    let ended = thread.map_or(Ok(T::default()), ScopedJoinHandle::join);
    ended.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

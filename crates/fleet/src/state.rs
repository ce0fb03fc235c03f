//! The coordinator's knowledge of its agents: who has come, how far they are, what they are told.
//!
//! All or nothing: a run has exactly the agents it was to have, or is called off for all of them
//! with a reason that names the agent. Nothing here waits or reads a clock.

use std::time::{Duration, Instant};

use assay_model::{Probe, band_at};

use crate::figures::LiveFigures;
use crate::protocol::{
    AgentState, Beat, Collecting, Command, Directive, Hello, Job, PROTOCOL, Progress, RateOrder,
    Welcome, WorkerPlace,
};

/// The least time between the choice of the start and the start.
const LEAD_MIN: i64 = 2_000_000_000;
/// The start is at least so many of the longest ways there and back ahead.
const LEAD_WAYS: i64 = 50;
/// Without an acknowledgement so long before the start, the run is called off.
const ARMED_BEFORE: i64 = 500_000_000;
/// Probes of an agent's clock before the start is chosen.
const PROBES_MIN: usize = 10;

/// The time between the news of all agents together during a run: 50 a second take about half a
/// hundredth of a processor.
const BEAT_ANY_MS: u64 = 20;
/// How often an agent tells its news, at most and at least.
const BEAT_MIN_MS: u64 = 100;
const BEAT_MAX_MS: u64 = 2000;
/// So often at least within a lease.
const BEATS_OF_LEASE: u64 = 5;

/// Changes of the rate in one answer.
const RATES_AT_ONCE: usize = 16;
/// A change of the rate lies so far ahead that agents, which are called, know of it before.
const RATE_LEAD: Duration = Duration::from_millis(300);
/// So much further for each agent.
const RATE_LEAD_AGENT: Duration = Duration::from_millis(1);
/// And so many of the longest ways there and back.
const RATE_LEAD_WAYS: i64 = 10;

/// What a fleet is like.
#[derive(Clone, Debug)]
pub struct FleetOptions {
    /// How many agents there are.
    pub agents: u32,
    /// How long is waited for all of them to come and to be ready.
    pub wait: Duration,
    /// How long either end may be without news from the other.
    pub lease: Duration,
    /// The version of Assay with its build, which agents must have too.
    pub version: String,
    /// The identity of this kernel.
    pub boot_id: String,
    /// What the coordinator would do itself: all agents must say the same of what they do.
    pub plan: String,
    /// What goes into the tokens.
    pub nonce: u64,
}

/// One agent as the coordinator sees it.
#[derive(Clone, Debug)]
pub(crate) struct Agent {
    hello: Hello,
    token: u64,
    state: AgentState,
    workers: u32,
    plan: String,
    progress: Progress,
    /// Where its part is, if it has left it there.
    left: Option<String>,
    /// The number of the figures that came last.
    number: u64,
    /// What has happened since somebody looked.
    figures: LiveFigures,
    last: Instant,
    start: Option<i64>,
    probes: Vec<Probe>,
    way_max: i64,
}

/// One line of the table of agents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatusRow {
    /// The agent.
    pub agent: u32,
    /// Its machine; empty if it has not come.
    pub host: String,
    /// How far it is; none if it has not come.
    pub state: Option<AgentState>,
    /// Its workers.
    pub workers: u32,
    /// Its live counters.
    pub progress: Progress,
}

impl StatusRow {
    /// As JSON.
    pub fn json(&self) -> serde_json::Value {
        let Progress { offered, done, failed, in_flight, lag_ns } = self.progress;
        serde_json::json!({
            "agent": self.agent,
            "host": self.host,
            "state": self.state.map_or("missing", AgentState::name),
            "workers": self.workers,
            "offered": offered,
            "done": done,
            "failed": failed,
            "in_flight": in_flight,
            "lag_ns": lag_ns,
        })
    }
}

/// How a fleet ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FleetOutcome {
    /// All agents have delivered.
    Delivered,
    /// It was called off, or its result was withdrawn; the text names the agent and what to do.
    Withdrawn(String),
}

/// Why a message is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refused(pub String);

/// All that the coordinator knows.
#[derive(Debug)]
pub(crate) struct Board {
    options: FleetOptions,
    job: Job,
    agents: Vec<Option<Agent>>,
    begun: Instant,
    places: Option<Vec<WorkerPlace>>,
    /// The start on the coordinator's clock.
    start: Option<i64>,
    /// The changes of the rate, all of them.
    rates: Vec<RateOrder>,
    is_stopping: bool,
    /// Who was told to end first, other than by us.
    interrupted: Option<String>,
    withdrawn: Option<(String, Instant)>,
}

impl Board {
    pub fn new(options: FleetOptions, job: Job, now: Instant) -> Board {
        let agents = vec![None; options.agents as usize];
        Board {
            options,
            job,
            agents,
            begun: now,
            places: None,
            start: None,
            rates: Vec::new(),
            is_stopping: false,
            interrupted: None,
            withdrawn: None,
        }
    }

    /// How often an agent tells its news while the run goes on.
    fn beat_every(&self) -> Duration {
        let lease_ms = self.options.lease.as_millis() as u64;
        let beat_ms = u64::from(self.options.agents) * BEAT_ANY_MS;
        let beat_ms = beat_ms.clamp(BEAT_MIN_MS, BEAT_MAX_MS).min(lease_ms / BEATS_OF_LEASE);
        Duration::from_millis(beat_ms)
    }

    /// An agent comes.
    pub fn join(&mut self, hello: Hello, now: Instant) -> Result<Welcome, Refused> {
        let number = hello.agent;
        if hello.protocol != PROTOCOL || hello.version != self.options.version {
            return Err(Refused(format!(
                "agent {number} on {} is assay {}, the coordinator is {}: use the same binary on \
                 all machines",
                hello.host, hello.version, self.options.version
            )));
        }
        if let Some((reason, _)) = &self.withdrawn {
            return Err(Refused(format!("the run was called off: {reason}")));
        }
        let count = self.options.agents;
        let lease_ms = self.options.lease.as_millis() as u64;
        let beat_ms = self.beat_every().as_millis() as u64;
        let Some(slot) = self.agents.get_mut(number as usize) else {
            return Err(Refused(format!(
                "there are {count} agents, numbered from 0: no agent {number} is expected"
            )));
        };
        if let Some(there) = slot.as_ref().filter(|there| there.hello == hello) {
            // The answer to its first attempt was lost.
            let (token, job) = (there.token, self.job.clone());
            return Ok(Welcome { token, job, agents: count, lease_ms, beat_ms });
        }
        if let Some(there) = slot {
            let Hello { host, pid, .. } = &there.hello;
            return Err(Refused(format!(
                "agent {number} is here already (process {pid} on {host}): give each agent a \
                 number of its own; one that was restarted does not come back, its run is lost"
            )));
        }
        let token = self.options.nonce.wrapping_mul(0x9E37_79B9_7F4A_7C15)
            ^ u64::from(number).wrapping_add(1).wrapping_mul(0xD6E8_FEB8_6659_FD93);
        *slot = Some(Agent {
            hello,
            token,
            state: AgentState::Joining,
            workers: 0,
            plan: String::new(),
            progress: Progress::default(),
            left: None,
            number: 0,
            figures: LiveFigures::default(),
            last: now,
            start: None,
            probes: Vec::new(),
            way_max: 0,
        });
        Ok(Welcome { token, job: self.job.clone(), agents: count, lease_ms, beat_ms })
    }

    /// The agent that a message is from.
    pub fn known(&mut self, agent: u32, token: u64) -> Result<&mut Agent, Refused> {
        let known = self.agents.get_mut(agent as usize).and_then(Option::as_mut);
        known
            .filter(|known| known.token == token)
            .ok_or_else(|| Refused(format!("no agent {agent} with this token has joined this run")))
    }

    /// News of an agent.
    pub fn beat(&mut self, beat: Beat, now: Instant) -> Result<Directive, Refused> {
        let agent = self.known(beat.agent, beat.token)?;
        let host = agent.hello.host.clone();
        agent.last = now;
        agent.state = agent.state.max(beat.state);
        agent.progress = beat.progress;
        agent.left = beat.left;
        if beat.number > agent.number {
            agent.number = beat.number;
            agent.figures.add(&beat.figures);
        }
        if let Some(plan) = beat.plan {
            (agent.workers, agent.plan) = (beat.workers, plan);
        }
        let start = agent.start.map(|start| start as u64);
        if let Some(failure) = beat.failure {
            self.withdraw(format!("agent {} on {host}: {failure}", beat.agent), now);
        }
        if beat.is_interrupted && !self.is_stopping {
            self.is_stopping = true;
            self.interrupted = Some(format!("agent {} on {host}", beat.agent));
        }
        let place = self.places.as_ref().map(|places| places[beat.agent as usize]);
        let (command, reason) = match &self.withdrawn {
            Some((reason, _)) => (Command::Abort, reason.clone()),
            None if self.is_stopping => (Command::Stop, String::new()),
            None => (Command::Continue, String::new()),
        };
        // Whoever does not issue operations yet has no rate to change.
        let taken =
            if beat.state == AgentState::Running { beat.rates as usize } else { usize::MAX };
        let rates = self.rates.iter().skip(taken).take(RATES_AT_ONCE).copied().collect();
        Ok(Directive { command, reason, place, start, rates })
    }

    /// How far ahead a change of the rate must lie for all agents to know of it before; none while
    /// they do not all issue operations.
    pub fn rate_lead(&self) -> Option<Duration> {
        let way = self.present().map(|agent| agent.way_max).max().unwrap_or(0);
        let ways = Duration::from_nanos((RATE_LEAD_WAYS * way).unsigned_abs());
        self.is_running().then(|| RATE_LEAD + RATE_LEAD_AGENT * self.options.agents + ways)
    }

    fn is_running(&self) -> bool {
        self.withdrawn.is_none()
            && self.is_complete()
            && self.present().all(|agent| agent.state == AgentState::Running)
    }

    /// Whether all agents issue operations, and nobody waits for them to end.
    pub fn is_quiet(&self) -> bool {
        self.is_running() && !self.is_stopping
    }

    /// All agents change the rate at this moment.
    pub fn order_rate(&mut self, order: RateOrder) {
        self.rates.push(order);
    }

    /// How much there is for the agents to hear that cannot wait.
    pub fn orders(&self) -> usize {
        let ends = [self.is_stopping, self.withdrawn.is_some()];
        self.rates.len() + ends.into_iter().filter(|is_said| *is_said).count()
    }

    /// The agents that say they have delivered.
    pub fn delivered(&self) -> impl Iterator<Item = u32> {
        let delivered = self.present().filter(|agent| agent.state == AgentState::Delivered);
        delivered.map(|agent| agent.hello.agent)
    }

    /// Whether agents leave their parts where they are.
    pub fn leaves_parts(&self) -> bool {
        self.job.collecting != Collecting::Send
    }

    /// Where each agent has left its part, of those that have.
    pub fn left(&self) -> Vec<(u32, String)> {
        self.present().filter_map(|agent| Some((agent.hello.agent, agent.left.clone()?))).collect()
    }

    /// When the run begins, on the coordinator's clock, once that is chosen.
    pub fn start(&self) -> Option<i64> {
        self.start
    }

    /// What has happened at all agents since this was called last.
    pub fn take_figures(&mut self) -> LiveFigures {
        self.agents.iter_mut().flatten().fold(LiveFigures::default(), |mut all, agent| {
            all.add(&std::mem::take(&mut agent.figures));
            all
        })
    }

    /// How many agents there are to be.
    pub fn agents(&self) -> u32 {
        self.options.agents
    }

    /// Whether an agent runs on the coordinator's kernel; its clock may be probed now.
    pub fn is_one_kernel(&mut self, agent: u32, token: u64) -> Result<bool, Refused> {
        let own = self.options.boot_id.clone();
        let known = self.known(agent, token)?;
        Ok(!own.is_empty() && known.hello.boot_id == own)
    }

    /// Probes of an agent's clock.
    pub fn add_probes(&mut self, agent: u32, probes: &[Probe]) {
        let Some(known) = self.agents.get_mut(agent as usize).and_then(Option::as_mut) else {
            return;
        };
        let ways = probes.iter().map(|probe| probe.returned - probe.sent);
        known.way_max = ways.fold(known.way_max, i64::max);
        known.probes.extend_from_slice(probes);
    }

    /// Calls the run off, or withdraws its result; the first reason stays.
    pub fn withdraw(&mut self, reason: String, now: Instant) {
        self.withdrawn.get_or_insert((reason, now));
    }

    /// The load is to end, everything issued until then counts. Before its start the run is called
    /// off.
    pub fn stop(&mut self, now: Instant) {
        self.is_stopping = true;
        if !self.present().all(|agent| agent.state >= AgentState::Running) || !self.is_complete() {
            self.withdraw("interrupted before the start".to_owned(), now);
        }
    }

    /// The agent, with its machine, that was told to end before anybody else was.
    pub fn interrupted(&self) -> Option<String> {
        self.interrupted.clone()
    }

    fn present(&self) -> impl Iterator<Item = &Agent> {
        self.agents.iter().flatten()
    }

    fn is_complete(&self) -> bool {
        self.agents.iter().all(Option::is_some)
    }

    fn all_are(&self, state: AgentState) -> bool {
        self.is_complete() && self.present().all(|agent| agent.state >= state)
    }

    /// Does what has become possible or due at `now`, which is `reading` on the clock that is
    /// compared with those of the agents.
    pub fn tick(&mut self, now: Instant, reading: i64) {
        if self.withdrawn.is_some() {
            return;
        }
        self.check_leases(now);
        if self.places.is_none() && self.all_are(AgentState::Planned) {
            self.give_places(now);
        }
        if self.start.is_none() && self.all_are(AgentState::Prepared) {
            self.choose_start(reading);
        }
        self.check_start(now, reading);
    }

    fn check_leases(&mut self, now: Instant) {
        let lease = self.options.lease;
        let silent = self.present().find(|agent| {
            agent.state < AgentState::Delivered && now.duration_since(agent.last) > lease
        });
        if let Some(agent) = silent {
            let Hello { agent: number, host, pid, .. } = &agent.hello;
            let state = agent.state.name();
            let reason = format!(
                "agent {number} on {host} (process {pid}) was lost while {state}: nothing was \
                 heard of it for {} s; the result is withdrawn",
                lease.as_secs_f64()
            );
            self.withdraw(reason, now);
        }
    }

    /// Numbers the workers of all agents, and compares what they are about to do.
    fn give_places(&mut self, now: Instant) {
        let workers = self.present().map(|agent| agent.workers).sum();
        let mut first_worker = 0;
        let places = self.present().map(|agent| {
            let place = WorkerPlace { first_worker, workers };
            first_worker += agent.workers;
            place
        });
        self.places = Some(places.collect());
        let own = self.options.plan.clone();
        let other = self.present().find(|agent| agent.plan != own).cloned();
        if let Some(other) = other {
            let differing = difference(&own, &other.plan);
            let reason = format!(
                "agent {} on {} has another plan than the coordinator:\n{differing}",
                other.hello.agent, other.hello.host
            );
            self.withdraw(reason, now);
        }
    }

    fn choose_start(&mut self, reading: i64) {
        if !self.present().all(|agent| agent.probes.len() >= PROBES_MIN) {
            return;
        }
        let way = self.present().map(|agent| agent.way_max).max().unwrap_or(0);
        let start = reading + LEAD_MIN.max(LEAD_WAYS * way);
        for agent in self.agents.iter_mut().flatten() {
            let band = band_at(&agent.probes, start);
            agent.start = band.map(|band| start + band.center());
        }
        self.start = Some(start);
    }

    /// Calls the run off if somebody is missing, or not ready in time.
    fn check_start(&mut self, now: Instant, reading: i64) {
        if let Some(start) = self.start {
            let late = self.present().find(|agent| agent.state < AgentState::Armed);
            if let Some(late) = late.filter(|_| reading > start - ARMED_BEFORE) {
                let Hello { agent, host, .. } = &late.hello;
                let reason = format!(
                    "agent {agent} on {host} did not acknowledge the start in time; the run was \
                     called off for all: try again, with a longer way to the coordinator too"
                );
                self.withdraw(reason, now);
            }
            return;
        }
        if now.duration_since(self.begun) <= self.options.wait {
            return;
        }
        self.withdraw(self.absence(), now);
    }

    /// Who is missing, or not ready, in words.
    fn absence(&self) -> String {
        let numbers = |is_wanted: &dyn Fn(&Option<Agent>) -> bool| {
            let wanted = (0..).zip(&self.agents).filter(|(_, agent)| is_wanted(agent));
            wanted.map(|(number, _): (u32, _)| number.to_string()).collect::<Vec<_>>().join(", ")
        };
        let (missing, here) = (numbers(&|agent| agent.is_none()), numbers(&Option::is_some));
        let wait = self.options.wait.as_secs_f64();
        if missing.is_empty() {
            let late = self.present().filter(|agent| agent.state < AgentState::Prepared);
            let late: Vec<String> = late
                .map(|agent| format!("{} ({})", agent.hello.agent, agent.state.name()))
                .collect();
            return format!(
                "not ready within {wait} s (--wait): agents {}; all others were",
                late.join(", ")
            );
        }
        format!(
            "agents {missing} have not come within {wait} s (--wait); here: {}. Each is `assay \
             agent --join HOST:PORT --keys agent.pem --index N`; on Kubernetes: kubectl get pods \
             -l app=assay-agent",
            if here.is_empty() { "none" } else { &here }
        )
    }

    /// How it ended, if it has: a run that was called off is over when its agents know, or are
    /// silent.
    pub fn outcome(&self, now: Instant, timeout: Duration) -> Option<FleetOutcome> {
        if let Some((reason, since)) = &self.withdrawn {
            let is_heard = self.present().all(|agent| agent.last > *since + timeout / 4);
            let is_over = is_heard || now.duration_since(*since) >= timeout;
            return is_over.then(|| FleetOutcome::Withdrawn(reason.clone()));
        }
        self.all_are(AgentState::Delivered).then_some(FleetOutcome::Delivered)
    }

    /// The table of agents.
    pub fn status(&self) -> Vec<StatusRow> {
        let row = |(number, agent): (u32, &Option<Agent>)| match agent {
            Some(agent) => StatusRow {
                agent: number,
                host: agent.hello.host.clone(),
                state: Some(agent.state),
                workers: agent.workers,
                progress: agent.progress,
            },
            None => StatusRow {
                agent: number,
                host: String::new(),
                state: None,
                workers: 0,
                progress: Progress::default(),
            },
        };
        (0..).zip(&self.agents).map(row).collect()
    }

    /// The probes of each agent, times counted from the run's start on each one's clock.
    pub fn clocks(&self) -> Vec<(u32, Vec<Probe>)> {
        let Some(start) = self.start else { return Vec::new() };
        let clock = |agent: &Agent| {
            let own = agent.start?;
            let since = |probe: &Probe| Probe {
                sent: probe.sent - start,
                received: probe.received - own,
                replied: probe.replied - own,
                returned: probe.returned - start,
            };
            Some((agent.hello.agent, agent.probes.iter().map(since).collect()))
        };
        self.present().filter_map(clock).collect()
    }
}

/// The lines in which two texts differ, with both values.
fn difference(one: &str, other: &str) -> String {
    let mut differing = Vec::new();
    let (mut left, mut right) = (one.lines(), other.lines());
    loop {
        match (left.next(), right.next()) {
            (None, None) => return differing.join("\n"),
            (one, other) if one == other => {}
            (one, other) => {
                let text = |line: Option<&str>| line.unwrap_or("nothing").to_owned();
                differing.push(format!("  {} there: {}", text(one), text(other)));
            }
        }
    }
}

#[cfg(test)]
mod tests;

//! Scheduler of a worker: decides which process is issued next.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use assay_model::{Nanos, Reason, Seed};

use crate::arrival::{Arrivals, Schedule};
use crate::load::{Closed, Think};
use crate::rates::Rates;

/// The stream of draws that belongs to think times.
const THINK_STREAM: u64 = 0x7468_696E;

/// How long a session rests after a request that could not even be sent.
///
/// Without a rest, a closed loop would record millions of refusals a second while a store is away.
const UNREACHABLE_REST: Nanos = Nanos::from_millis(10);

/// How far beyond the horizon the next arrival is looked for: much longer than a worker takes from
/// one look around to the next, with no more sojourns than are walked in a millisecond or two.
const REACH: Nanos = Nanos::from_secs(1);

/// A process that is to be issued now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DueProcess {
    pub process: u64,
    /// The conversation, unique within the agent.
    pub session: u32,
    /// The same, numbered without gaps among those of the worker.
    pub worker_session: u32,
    /// The intended time.
    pub intended: Nanos,
}

/// What is to be done next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    Issue(DueProcess),
    /// Nothing before this moment.
    At(Nanos),
    /// Nothing before an answer comes.
    AwaitAnswer,
    /// Nothing ever again.
    Over,
}

/// A session of the closed model whose process has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Freed {
    pub session: u32,
    pub process: u64,
    pub at: Nanos,
    pub reason: Reason,
    pub is_unknown: bool,
}

/// The load model as one worker sees it.
pub(crate) enum Scheduler {
    Open(OpenLoop),
    Closed(ClosedLoop),
}

impl Scheduler {
    /// What is to be done at `now`. In the open model every `DueProcess` is an arrival used up.
    #[inline]
    pub fn next(&mut self, now: Nanos) -> Next {
        match self {
            Scheduler::Open(open) => open.next(now),
            Scheduler::Closed(closed) => closed.next(now),
        }
    }

    /// When the next arrival of the open model is due; the closed model has no such thing.
    pub fn next_arrival(&self) -> Option<Nanos> {
        match self {
            Scheduler::Open(open) if !open.is_over() => Some(open.schedule.time()),
            _ => None,
        }
    }

    /// Reads changes of the rate. To be called whenever the worker checks its controls.
    #[inline]
    pub fn hear(&mut self, now: Nanos) {
        if let Scheduler::Open(open) = self {
            open.hear(now);
        }
    }

    /// Takes sessions back whose processes have ended.
    #[inline]
    pub fn take_back(&mut self, freed: &mut Vec<Freed>) {
        match self {
            Scheduler::Open(_) => freed.clear(),
            Scheduler::Closed(closed) => {
                freed.iter().for_each(|one| closed.take_back(*one));
                freed.clear();
            }
        }
    }

    /// Whether there is one session only, which issues as soon as it has its answer.
    pub fn has_lone_session(&self) -> bool {
        match self {
            Scheduler::Open(_) => false,
            Scheduler::Closed(closed) => {
                closed.think == Think::No && closed.target_rate.is_none() && closed.idle.len() == 1
            }
        }
    }

    /// The process that follows for the session that was last given one, now that it has its
    /// answer; `None` if there is none or in the open model.
    #[inline]
    pub fn follow(&mut self, now: Nanos) -> Option<u64> {
        match self {
            Scheduler::Open(_) => None,
            Scheduler::Closed(closed) => {
                let is_over = now >= closed.end || closed.claims.peek() >= closed.processes;
                (!is_over).then(|| closed.claims.next())
            }
        }
    }

    /// Before this number, processes are this worker's without gaps; 0 in the open model.
    pub fn claimed(&self) -> u64 {
        match self {
            Scheduler::Open(_) => 0,
            Scheduler::Closed(closed) => closed.claims.claimed().min(closed.processes),
        }
    }

    /// Whether no process will ever be issued again.
    pub fn is_over(&self, now: Nanos) -> bool {
        match self {
            Scheduler::Open(open) => open.is_over(),
            Scheduler::Closed(closed) => now >= closed.end || self.has_run_out(),
        }
    }

    /// Whether the number of processes, and not the time, ended the load.
    pub fn has_run_out(&self) -> bool {
        match self {
            Scheduler::Open(open) => open.schedule.index() >= open.processes,
            Scheduler::Closed(closed) => closed.claims.peek() >= closed.processes,
        }
    }

    /// There are no more processes in the plan.
    pub fn end(&mut self) {
        match self {
            Scheduler::Open(open) => open.processes = 0,
            Scheduler::Closed(closed) => closed.processes = 0,
        }
    }
}

/// Open arrivals, thinned to a worker.
///
/// A rate that changes does so for all workers at one place of the schedule. So a worker issues
/// only for arrivals before its *horizon*, up to which it knows all changes: it gets a later one
/// from [`Rates`], which puts every further change behind it.
pub(crate) struct OpenLoop {
    schedule: Schedule,
    workers: u64,
    processes: u64,
    end: Nanos,
    rates: Arc<Rates>,
    /// The version of the rates that the schedule has.
    received: u64,
    horizon: Nanos,
}

impl OpenLoop {
    /// The arrivals of worker `worker` of `workers`: processes below `processes`, before `end`.
    pub fn new(
        arrivals: &Arrivals,
        rates: Arc<Rates>,
        seed: Seed,
        (worker, workers): (usize, usize),
        processes: u64,
        end: Nanos,
    ) -> OpenLoop {
        OpenLoop {
            schedule: Schedule::reaching(arrivals, seed, (worker, workers), REACH),
            workers: workers as u64,
            processes,
            end,
            rates,
            received: 0,
            horizon: Nanos::ZERO,
        }
    }

    /// While the rate may still change, a next arrival beyond the end may come to lie before it.
    fn is_over(&self) -> bool {
        self.schedule.index() >= self.processes
            || (self.schedule.time() >= self.end && self.horizon >= self.end)
    }

    #[inline]
    fn hear(&mut self, now: Nanos) {
        if now >= self.horizon || self.rates.version() != self.received {
            self.look_ahead(now);
        }
    }

    #[cold]
    fn look_ahead(&mut self, now: Nanos) {
        let ahead = self.rates.look_ahead(self.received, now);
        let settled = self.horizon;
        self.horizon = self.horizon.max(ahead.horizon);
        if let Some(rate_profile) = ahead.rate_profile {
            self.received = ahead.version;
            self.schedule.reshape(&rate_profile);
        }
        self.schedule.look_further(settled, self.reach());
    }

    /// Before this the next arrival is known, if there is one.
    fn reach(&self) -> Nanos {
        self.horizon.saturating_add(REACH)
    }

    #[inline]
    fn next(&mut self, now: Nanos) -> Next {
        let is_ahead = self.schedule.time() <= now && self.schedule.time() >= self.horizon;
        if is_ahead || now >= self.reach() {
            self.look_ahead(now);
        }
        if self.is_over() {
            return Next::Over;
        }
        let due = self.schedule.time();
        if due > now || due >= self.end {
            return Next::At(due.min(self.end));
        }
        let process = self.schedule.index();
        self.schedule.advance();
        let worker_session = (process / self.workers) as u32;
        Next::Issue(DueProcess { process, session: process as u32, worker_session, intended: due })
    }
}

/// Sessions of the closed model that belong to a worker.
pub(crate) struct ClosedLoop {
    sessions: u32,
    think: Think,
    seed: Seed,
    target_rate: Option<Pacing>,
    /// Sessions that may issue now, each with the moment from which it could have.
    idle: VecDeque<(u32, Nanos)>,
    workers: u32,
    later: BinaryHeap<Reverse<(Nanos, u32)>>,
    claims: Claims,
    processes: u64,
    end: Nanos,
}

/// YCSB's pacing: session s issues at its offset plus a multiple of the tick, or as soon after as
/// its answer before has come.
struct Pacing {
    tick: f64,
    /// How many processes each of the worker's sessions has been given, by session / workers.
    given: Vec<u64>,
    workers: u32,
}

impl Pacing {
    /// When the next process of `session` should be issued.
    fn deadline(&self, session: u32, sessions: u32) -> Nanos {
        let session = session % sessions;
        let offset = f64::from(session) / f64::from(sessions);
        let given = self.given[(session / self.workers) as usize] as f64;
        Nanos((self.tick * (offset + given)) as u64)
    }
}

/// The next numbers of processes, taken from a counter that all workers of this process share.
///
/// The counter counts the processes of this agent: number `n` of agent `a` of `m` is process
/// `n * m + a` of the run.
pub(crate) struct Claims {
    counter: Arc<AtomicU64>,
    mine: Range<u64>,
    agent: u64,
    agents: u64,
    /// How many numbers are taken at once; more is cheaper, fewer keeps workers closer together.
    chunk: u64,
}

impl Claims {
    /// Claims from `counter` by `chunk` numbers, for agent `agent` of `agents`.
    pub fn new(counter: Arc<AtomicU64>, chunk: u64, (agent, agents): (u64, u64)) -> Claims {
        Claims { counter, mine: 0..0, agent, agents, chunk }
    }

    /// The process of the run that is the agent's own number `own`.
    #[inline]
    fn process(&self, own: u64) -> u64 {
        own * self.agents + self.agent
    }

    /// Before this number, processes are the worker's without gaps.
    fn claimed(&self) -> u64 {
        if self.agents == 1 { self.mine.end } else { 0 }
    }

    #[inline]
    fn next(&mut self) -> u64 {
        if self.mine.is_empty() {
            let first = self.counter.fetch_add(self.chunk, Ordering::Relaxed);
            self.mine = first..first + self.chunk;
        }
        let next = self.mine.start;
        self.mine.start += 1;
        self.process(next)
    }

    fn peek(&self) -> u64 {
        self.process(match self.mine.is_empty() {
            true => self.counter.load(Ordering::Relaxed),
            false => self.mine.start,
        })
    }
}

impl ClosedLoop {
    /// The sessions of worker `worker` of `workers`: those whose number is `worker` modulo
    /// `workers`.
    pub fn new(
        closed: &Closed,
        seed: Seed,
        (worker, workers): (usize, usize),
        claims: Claims,
        processes: u64,
        end: Nanos,
    ) -> ClosedLoop {
        let mine: Vec<u32> = (worker as u32..closed.sessions).step_by(workers).collect();
        let target_rate = closed.target_rate.map(|per_second| Pacing {
            tick: f64::from(closed.sessions) * 1e9 / per_second,
            given: vec![0; mine.len()],
            workers: workers as u32,
        });
        let mut scheduler = ClosedLoop {
            sessions: closed.sessions,
            think: closed.think,
            seed,
            target_rate,
            idle: VecDeque::with_capacity(mine.len()),
            workers: workers as u32,
            later: BinaryHeap::with_capacity(mine.len()),
            claims,
            processes,
            end,
        };
        for session in mine {
            scheduler.make_ready(session, Nanos::ZERO, Nanos::ZERO);
        }
        scheduler
    }

    /// Session `session` may issue again when it has paused after `at`.
    ///
    /// That moment is intended: if the worker, or the client's room, keeps the session waiting
    /// beyond it, that is lag.
    #[inline]
    fn make_ready(&mut self, session: u32, at: Nanos, pause: Nanos) {
        match &self.target_rate {
            None if pause == Nanos::ZERO => self.idle.push_back((session, at)),
            None => self.later.push(Reverse((at + pause, session))),
            Some(target_rate) => {
                let deadline = target_rate.deadline(session, self.sessions);
                self.later.push(Reverse((deadline.max(at + pause), session)));
            }
        }
    }

    #[inline]
    fn take_back(&mut self, freed: Freed) {
        // A session whose last answer is unknown is never used again: a new one takes its place.
        let session = match freed.is_unknown {
            true => freed.session.wrapping_add(self.sessions),
            false => freed.session,
        };
        let rest = match freed.reason {
            Reason::Unreachable => UNREACHABLE_REST,
            _ => Nanos::ZERO,
        };
        let think = match self.think {
            Think::No => Nanos::ZERO,
            Think::Constant(time) => time,
            Think::Exponential(mean) => {
                let unit = self.seed.draws(THINK_STREAM, freed.process).unit();
                Nanos((-libm::log(1.0 - unit) * mean.0 as f64) as u64)
            }
        };
        self.make_ready(session, freed.at, rest.max(think));
    }

    #[inline]
    fn next(&mut self, now: Nanos) -> Next {
        if now >= self.end || self.claims.peek() >= self.processes {
            return Next::Over;
        }
        let Some((session, from)) = self.idle.pop_front() else { return self.next_later(now) };
        self.issue(session, from)
    }

    fn next_later(&mut self, now: Nanos) -> Next {
        let Some(&Reverse((at, session))) = self.later.peek() else { return Next::AwaitAnswer };
        if at > now {
            return if at >= self.end { Next::At(self.end) } else { Next::At(at) };
        }
        self.later.pop();
        // A paced session that is late keeps its intended time.
        let intended = match &mut self.target_rate {
            Some(target_rate) => {
                let deadline = target_rate.deadline(session, self.sessions);
                target_rate.given[(session % self.sessions / target_rate.workers) as usize] += 1;
                deadline
            }
            None => at,
        };
        self.issue(session, intended)
    }

    #[inline]
    fn issue(&mut self, session: u32, intended: Nanos) -> Next {
        let process = self.claims.next();
        if process >= self.processes {
            return Next::Over;
        }
        let worker_session = self.worker_session(session);
        Next::Issue(DueProcess { process, session, worker_session, intended })
    }

    /// The number of `session` among those of its worker; divisions are spared where they can be.
    #[inline]
    fn worker_session(&self, session: u32) -> u32 {
        let place = |session: u32| if self.workers == 1 { session } else { session / self.workers };
        match session < self.sessions {
            true => place(session),
            // A renewed session keeps clear of the numbers of the others.
            false => {
                let per_worker = self.sessions.div_ceil(self.workers);
                session / self.sessions * per_worker + place(session % self.sessions)
            }
        }
    }
}

#[cfg(test)]
mod tests;

//! Decides, for one lane, which process is asked next.

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

/// How far beyond the horizon the next arrival is looked for: much longer than a lane takes from
/// one look around to the next, with no more sojourns than are walked in a millisecond or two.
const REACH: Nanos = Nanos::from_secs(1);

/// A process that is to be asked now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ask {
    pub process: u64,
    /// The conversation, unique within the agent.
    pub session: u32,
    /// The same, numbered without gaps among those of the lane.
    pub lane_session: u32,
    /// When the load model asked for it.
    pub intended: Nanos,
}

/// What is to be done next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    Ask(Ask),
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

/// The load model as one lane sees it.
pub(crate) enum Asker {
    Open(OpenAsker),
    Closed(ClosedAsker),
}

impl Asker {
    /// What is to be done at `now`. In the open model every `Ask` is an arrival used up.
    #[inline]
    pub fn next(&mut self, now: Nanos) -> Next {
        match self {
            Asker::Open(open) => open.next(now),
            Asker::Closed(closed) => closed.next(now),
        }
    }

    /// When the next arrival of the open model is due; the closed model has no such thing.
    pub fn next_arrival(&self) -> Option<Nanos> {
        match self {
            Asker::Open(open) if !open.is_over() => Some(open.schedule.time()),
            _ => None,
        }
    }

    /// Hears of rates that the outside has changed. To be called whenever the lane looks around.
    #[inline]
    pub fn hear(&mut self, now: Nanos) {
        if let Asker::Open(open) = self {
            open.hear(now);
        }
    }

    /// Takes sessions back whose processes have ended.
    #[inline]
    pub fn take_back(&mut self, freed: &mut Vec<Freed>) {
        match self {
            Asker::Open(_) => freed.clear(),
            Asker::Closed(closed) => {
                freed.iter().for_each(|one| closed.take_back(*one));
                freed.clear();
            }
        }
    }

    /// Whether there is one session only, which asks as soon as it has its answer.
    pub fn has_lone_session(&self) -> bool {
        match self {
            Asker::Open(_) => false,
            Asker::Closed(closed) => {
                closed.think == Think::No && closed.pace.is_none() && closed.idle.len() == 1
            }
        }
    }

    /// The process that follows for the session that was last given one, now that it has its
    /// answer; `None` if there is none or in the open model.
    #[inline]
    pub fn follow(&mut self, now: Nanos) -> Option<u64> {
        match self {
            Asker::Open(_) => None,
            Asker::Closed(closed) => {
                let is_over = now >= closed.end || closed.claims.peek() >= closed.processes;
                (!is_over).then(|| closed.claims.next())
            }
        }
    }

    /// Before this number, processes are this lane's without gaps; 0 in the open model.
    pub fn claimed(&self) -> u64 {
        match self {
            Asker::Open(_) => 0,
            Asker::Closed(closed) => closed.claims.mine.end.min(closed.processes),
        }
    }

    /// Whether nothing will ever be asked again.
    pub fn is_over(&self, now: Nanos) -> bool {
        match self {
            Asker::Open(open) => open.is_over(),
            Asker::Closed(closed) => now >= closed.end || self.has_run_out(),
        }
    }

    /// Whether the number of processes, and not the time, ended the asking.
    pub fn has_run_out(&self) -> bool {
        match self {
            Asker::Open(open) => open.schedule.index() >= open.processes,
            Asker::Closed(closed) => closed.claims.peek() >= closed.processes,
        }
    }

    /// There are no more processes in the plan.
    pub fn end(&mut self) {
        match self {
            Asker::Open(open) => open.processes = 0,
            Asker::Closed(closed) => closed.processes = 0,
        }
    }
}

/// Open arrivals, thinned to a lane.
///
/// A rate that changes does so for all lanes at one place of the schedule. So a lane asks only for
/// arrivals before its *horizon*, up to which it knows all changes: it gets a later one from
/// [`Rates`], which puts every further change behind it.
pub(crate) struct OpenAsker {
    schedule: Schedule,
    lanes: u64,
    processes: u64,
    end: Nanos,
    rates: Arc<Rates>,
    /// The version of the rates that the schedule has.
    heard: u64,
    horizon: Nanos,
}

impl OpenAsker {
    /// The arrivals of lane `lane` of `lanes`: processes below `processes`, before `end`.
    pub fn new(
        arrivals: &Arrivals,
        rates: Arc<Rates>,
        seed: Seed,
        (lane, lanes): (usize, usize),
        processes: u64,
        end: Nanos,
    ) -> OpenAsker {
        OpenAsker {
            schedule: Schedule::reaching(arrivals, seed, (lane, lanes), REACH),
            lanes: lanes as u64,
            processes,
            end,
            rates,
            heard: 0,
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
        if now >= self.horizon || self.rates.version() != self.heard {
            self.look_ahead(now);
        }
    }

    #[cold]
    fn look_ahead(&mut self, now: Nanos) {
        let ahead = self.rates.look_ahead(self.heard, now);
        let settled = self.horizon;
        self.horizon = self.horizon.max(ahead.horizon);
        if let Some(shape) = ahead.shape {
            self.heard = ahead.version;
            self.schedule.reshape(&shape);
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
        let lane_session = (process / self.lanes) as u32;
        Next::Ask(Ask { process, session: process as u32, lane_session, intended: due })
    }
}

/// Sessions of the closed model that belong to a lane.
pub(crate) struct ClosedAsker {
    sessions: u32,
    think: Think,
    seed: Seed,
    pace: Option<Pace>,
    /// Sessions that may ask at once, each with the moment from which it might have.
    idle: VecDeque<(u32, Nanos)>,
    lanes: u32,
    later: BinaryHeap<Reverse<(Nanos, u32)>>,
    claims: Claims,
    processes: u64,
    end: Nanos,
}

/// YCSB's pacing: session s asks at its offset plus a multiple of the tick, or as soon after as
/// its answer before has come.
struct Pace {
    tick: f64,
    /// How many processes each of the lane's sessions has been given, by session / lanes.
    given: Vec<u64>,
    lanes: u32,
}

impl Pace {
    /// When the next process of `session` should be asked.
    fn deadline(&self, session: u32, sessions: u32) -> Nanos {
        let session = session % sessions;
        let offset = f64::from(session) / f64::from(sessions);
        let given = self.given[(session / self.lanes) as usize] as f64;
        Nanos((self.tick * (offset + given)) as u64)
    }
}

/// The next numbers of processes, taken from a counter that all lanes share.
pub(crate) struct Claims {
    counter: Arc<AtomicU64>,
    mine: Range<u64>,
    /// How many numbers are taken at once; more is cheaper, fewer keeps lanes closer together.
    chunk: u64,
}

impl Claims {
    /// Claims from `counter` by `chunk` numbers.
    pub fn new(counter: Arc<AtomicU64>, chunk: u64) -> Claims {
        Claims { counter, mine: 0..0, chunk }
    }

    #[inline]
    fn next(&mut self) -> u64 {
        if self.mine.is_empty() {
            let first = self.counter.fetch_add(self.chunk, Ordering::Relaxed);
            self.mine = first..first + self.chunk;
        }
        let next = self.mine.start;
        self.mine.start += 1;
        next
    }

    fn peek(&self) -> u64 {
        match self.mine.is_empty() {
            true => self.counter.load(Ordering::Relaxed),
            false => self.mine.start,
        }
    }
}

impl ClosedAsker {
    /// The sessions of lane `lane` of `lanes`: those whose number is `lane` modulo `lanes`.
    pub fn new(
        closed: &Closed,
        seed: Seed,
        (lane, lanes): (usize, usize),
        claims: Claims,
        processes: u64,
        end: Nanos,
    ) -> ClosedAsker {
        let mine: Vec<u32> = (lane as u32..closed.sessions).step_by(lanes).collect();
        let pace = closed.pace.map(|per_second| Pace {
            tick: f64::from(closed.sessions) * 1e9 / per_second,
            given: vec![0; mine.len()],
            lanes: lanes as u32,
        });
        let mut asker = ClosedAsker {
            sessions: closed.sessions,
            think: closed.think,
            seed,
            pace,
            idle: VecDeque::with_capacity(mine.len()),
            lanes: lanes as u32,
            later: BinaryHeap::with_capacity(mine.len()),
            claims,
            processes,
            end,
        };
        for session in mine {
            asker.make_ready(session, Nanos::ZERO, Nanos::ZERO);
        }
        asker
    }

    /// Session `session` may ask again when it has paused after `at`.
    ///
    /// That moment is intended: if the lane, or the client's room, keeps the session waiting
    /// beyond it, that is lag.
    #[inline]
    fn make_ready(&mut self, session: u32, at: Nanos, pause: Nanos) {
        match &self.pace {
            None if pause == Nanos::ZERO => self.idle.push_back((session, at)),
            None => self.later.push(Reverse((at + pause, session))),
            Some(pace) => {
                let deadline = pace.deadline(session, self.sessions);
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
        self.ask(session, from)
    }

    fn next_later(&mut self, now: Nanos) -> Next {
        let Some(&Reverse((at, session))) = self.later.peek() else { return Next::AwaitAnswer };
        if at > now {
            return if at >= self.end { Next::At(self.end) } else { Next::At(at) };
        }
        self.later.pop();
        // A paced session that is late keeps the time at which it should have asked.
        let intended = match &mut self.pace {
            Some(pace) => {
                let deadline = pace.deadline(session, self.sessions);
                pace.given[(session % self.sessions / pace.lanes) as usize] += 1;
                deadline
            }
            None => at,
        };
        self.ask(session, intended)
    }

    #[inline]
    fn ask(&mut self, session: u32, intended: Nanos) -> Next {
        let process = self.claims.next();
        if process >= self.processes {
            return Next::Over;
        }
        let lane_session = self.lane_session(session);
        Next::Ask(Ask { process, session, lane_session, intended })
    }

    /// The number of `session` among those of its lane; divisions are spared where they can be.
    #[inline]
    fn lane_session(&self, session: u32) -> u32 {
        let place = |session: u32| if self.lanes == 1 { session } else { session / self.lanes };
        match session < self.sessions {
            true => place(session),
            // A renewed session keeps clear of the numbers of the others.
            false => {
                let per_lane = self.sessions.div_ceil(self.lanes);
                session / self.sessions * per_lane + place(session % self.sessions)
            }
        }
    }
}

#[cfg(test)]
mod tests;

//! The queue before a node, by the equations of the paper.
//!
//! Friedrich, Wingerath, Ritter: "Coordinated Omission in NoSQL Database Benchmarking", BTW 2017,
//! section 4. A node serves μ requests per second. `C` requests are outstanding; a request waits
//! `C / μ`, then adds one. Between requests `C` shrinks by μ per second (equation 1). A hiccup of
//! length H adds μ·H (equation 2). With a load λ < μ the response after a hiccup is a saw-tooth:
//! H at first, back to normal H·μ/(μ−λ) after the hiccup began.
//!
//! We keep `C / μ`, the *backlog* in nanoseconds, and differ in three points ([`Grain::Exact`]):
//!
//! * The paper adds the hiccup when the first request after it arrives, and drains from the
//!   request before on. Time in which the node was idle **before** the hiccup then shortens it:
//!   requests at 29.8 s and 30.2 s around a hiccup of 1 s at 30 s give a wait of 0.6 s, yet 0.8 s
//!   are left of it. Here the backlog is drained up to the hiccup first.
//! * The paper's wait leaves out the request's own service, so an idle node answers at once,
//!   however small its capacity. Here a request takes 1/μ when it does not queue, as in the
//!   queue M/D/1; `own_service = false` gives the paper's wait.
//! * SickStore counts in whole milliseconds and rounds waits up. Here the clock is in nanoseconds.
//!
//! [`Grain::Milliseconds`] does all of it as SickStore's code does.

use assay_model::Nanos;

/// How exactly a queue follows time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Grain {
    /// In nanoseconds, hiccups when they are due.
    #[default]
    Exact,
    /// As SickStore: whole milliseconds, hiccups when a request notices them.
    Milliseconds,
}

/// A time in which a node serves nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hiccup {
    /// When it begins, counted from the first request.
    pub after: Nanos,
    /// How long it lasts.
    pub length: Nanos,
    /// Whether it comes again every [`Hiccup::after`].
    pub is_periodic: bool,
}

/// The queue of a node, as the time that its requests will take.
#[derive(Clone, Debug)]
pub struct Queue {
    grain: Grain,
    /// What one request takes, in nanoseconds; 0 without limit.
    service: f64,
    /// Whether a request's own service is part of its wait.
    own_service: bool,
    hiccup: Option<Hiccup>,
    /// Time until the node would be idle, as of `last`, in nanoseconds.
    backlog: f64,
    last: Option<Nanos>,
    hiccup_memory: HiccupMemory,
}

/// What SickStore's rule remembers of hiccups.
#[derive(Clone, Copy, Debug)]
struct HiccupMemory {
    clock_ms: u64,
    is_armed: bool,
}

impl Queue {
    /// An idle queue before a node that serves `capacity` requests per second; 0 without limit.
    pub fn new(capacity: f64, hiccup: Option<Hiccup>, own_service: bool, grain: Grain) -> Queue {
        let service = if capacity > 0.0 { 1e9 / capacity } else { 0.0 };
        let hiccup_memory = HiccupMemory { clock_ms: 0, is_armed: hiccup.is_some() };
        Queue { grain, service, own_service, hiccup, backlog: 0.0, last: None, hiccup_memory }
    }

    /// A request comes `at` this time since the first; tells how long it waits.
    pub fn arrive(&mut self, at: Nanos) -> Nanos {
        match self.grain {
            Grain::Exact => self.arrive_exactly(at),
            Grain::Milliseconds => self.arrive_in_milliseconds(at),
        }
    }

    fn arrive_exactly(&mut self, at: Nanos) -> Nanos {
        let last = self.last.unwrap_or(Nanos::ZERO);
        let idle = at.since(last).0 as f64;
        // Only the first request can meet a hiccup at the very beginning.
        let begin = if self.last.is_some() { last } else { Nanos::ZERO };
        self.backlog = match self.hiccups_within(begin, at, self.last.is_none()) {
            None => (self.backlog - idle).max(0.0),
            Some(Passed { count, first, last, length }) => {
                // Lindley's recursion over the hiccups since the last request, unrolled: each of
                // them either found the node idle or not, and the backlog is the greatest of what
                // follows from each. What lies between the first and the last is never greatest.
                let since = |hiccup: Nanos| at.since(hiccup).0 as f64;
                let all = count as f64 * length;
                let kept = self.backlog + all - idle;
                kept.max(all - since(first)).max(length - since(last)).max(0.0)
            }
        };
        let own = if self.own_service { self.service } else { 0.0 };
        let wait = self.backlog + own;
        self.backlog += self.service;
        self.last = Some(at);
        Nanos(wait.round() as u64)
    }

    /// The hiccups that began after `from` (or at it, if `is_first`) and not after `to`.
    fn hiccups_within(&self, from: Nanos, to: Nanos, is_first: bool) -> Option<Passed> {
        let Hiccup { after, length, is_periodic } = self.hiccup?;
        let length = length.0 as f64;
        if !is_periodic || after == Nanos::ZERO {
            let is_within = after <= to && (after > from || is_first);
            return is_within.then_some(Passed { count: 1, first: after, last: after, length });
        }
        let (before, until) = (from.0 / after.0, to.0 / after.0);
        (until > before).then(|| Passed {
            count: until - before,
            first: Nanos((before + 1) * after.0),
            last: Nanos(until * after.0),
            length,
        })
    }

    fn arrive_in_milliseconds(&mut self, at: Nanos) -> Nanos {
        if self.service == 0.0 {
            // SickStore has no queue, and thus no hiccup, before a node without a limit.
            return Nanos::ZERO;
        }
        let now_ms = at.0 / 1_000_000;
        let idle_ms = now_ms - self.last.map_or(now_ms, |last| last.0 / 1_000_000);
        let per_ms = 1e6 / self.service;
        let mut outstanding = self.backlog / self.service;
        self.hiccup_memory.clock_ms += idle_ms;
        if let Some(hiccup) = self.hiccup
            && self.hiccup_memory.is_armed
            && self.hiccup_memory.clock_ms > hiccup.after.0 / 1_000_000
        {
            outstanding += per_ms * (hiccup.length.0 / 1_000_000) as f64;
            self.hiccup_memory = HiccupMemory { clock_ms: 0, is_armed: hiccup.is_periodic };
        }
        outstanding = (outstanding - per_ms * idle_ms as f64).max(0.0);
        let wait_ms = (outstanding / per_ms).ceil();
        self.backlog = (outstanding + 1.0) * self.service;
        self.last = Some(at);
        Nanos::from_millis(wait_ms as u64)
    }
}

/// The hiccups between two requests.
struct Passed {
    count: u64,
    first: Nanos,
    last: Nanos,
    length: f64,
}

#[cfg(test)]
mod tests;

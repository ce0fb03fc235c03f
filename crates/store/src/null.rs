//! The store that answers at once, keeps nothing: the floor that everything else stands on.
//!
//! Whatever a run against it shows is the cost of the instrument. With a spin it is a store whose
//! service time is known beforehand, which tests whether the instrument reports it.

use std::sync::Arc;
use std::time::Duration;

use assay_model::{Catalogue, Layout, Nanos, Setting};

use crate::answer::{Answer, Answers, Reply, Rows};
use crate::capabilities::{Calls, Capabilities};
use crate::request::{Call, Request, Ticket};
use crate::seam::{Client, Existing, OpenError, Store};

/// A monotonic clock in nanoseconds, passed in by the caller.
pub type ClockFn = fn() -> u64;

/// Answers everything with "found, no rows".
#[derive(Clone, Copy, Debug)]
pub struct Null {
    spin: Option<Spin>,
}

#[derive(Clone, Copy, Debug)]
struct Spin {
    nanos: u64,
    clock: ClockFn,
}

impl Null {
    /// Answers without doing anything.
    pub fn new() -> Null {
        Null { spin: None }
    }

    /// Keeps the processor busy for `length` before each answer.
    ///
    /// The length is read from `clock`, so it is exact to two readings of it; a length of zero is
    /// the same as [`Null::new`].
    pub fn spinning(length: Duration, clock: ClockFn) -> Null {
        let nanos = Nanos::from(length).0;
        Null { spin: (nanos > 0).then_some(Spin { nanos, clock }) }
    }
}

impl Default for Null {
    fn default() -> Null {
        Null::new()
    }
}

impl Store for Null {
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            calls: Calls::Inline,
            keeps_other_fields: false,
            is_no_op: true,
            is_persistent: false,
            takes_queries: true,
            ..Capabilities::of("null")
        }
    }

    fn prepare(&self, _layout: &Layout) -> Result<(), OpenError> {
        Ok(())
    }

    fn prepare_queries(
        &self,
        _catalogue: &Arc<Catalogue>,
        _existing: Existing,
    ) -> Result<(), OpenError> {
        Ok(())
    }

    fn open(&self, _worker: usize) -> Result<Box<dyn Client>, OpenError> {
        Ok(match self.spin {
            None => Box::new(Idle),
            Some(spin) => Box::new(spin),
        })
    }

    fn settings(&self) -> Result<Vec<Setting>, OpenError> {
        let length = self.spin.map_or(Nanos::ZERO, |spin| Nanos(spin.nanos));
        Ok(vec![Setting::new(
            "spin",
            length.to_string(),
            "every request keeps the processor busy for this long; nothing is kept",
        )])
    }

    fn clear(&self) -> Result<(), OpenError> {
        Ok(())
    }
}

const NOTHING: Answer<'static> = Answer::Done(Reply { found: true, rows: Rows::NONE });

struct Idle;

impl Client for Idle {
    #[inline]
    fn start(
        &mut self,
        _now: Nanos,
        ticket: Ticket,
        _request: &Request<'_>,
        answers: &mut dyn Answers,
    ) {
        answers.answer(ticket, NOTHING);
    }

    fn call(&mut self, _now: Nanos, ticket: Ticket, _call: &Call<'_>, answers: &mut dyn Answers) {
        answers.answer(ticket, NOTHING);
    }

    fn poll(&mut self, _now: Nanos, _answers: &mut dyn Answers) {}
}

impl Spin {
    fn spin(self) {
        let begin = (self.clock)();
        while (self.clock)().saturating_sub(begin) < self.nanos {
            std::hint::spin_loop();
        }
    }
}

impl Client for Spin {
    fn start(
        &mut self,
        _now: Nanos,
        ticket: Ticket,
        _request: &Request<'_>,
        answers: &mut dyn Answers,
    ) {
        self.spin();
        answers.answer(ticket, NOTHING);
    }

    fn call(&mut self, _now: Nanos, ticket: Ticket, _call: &Call<'_>, answers: &mut dyn Answers) {
        self.spin();
        answers.answer(ticket, NOTHING);
    }

    fn poll(&mut self, _now: Nanos, _answers: &mut dyn Answers) {}
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use assay_model::Kind;

    use super::*;
    use crate::conformance;

    static FAKE_NOW: AtomicU64 = AtomicU64::new(0);

    fn fake_clock() -> u64 {
        FAKE_NOW.fetch_add(100, Ordering::Relaxed)
    }

    #[test]
    fn null_conforms() {
        conformance::assert_conforms(&Null::new());
    }

    #[test]
    fn spinning_ends_when_the_clock_says_so() {
        struct Count(u32);
        impl Answers for Count {
            fn answer(&mut self, _ticket: Ticket, answer: Answer<'_>) {
                assert!(matches!(answer, Answer::Done(Reply { found: true, .. })));
                self.0 += 1;
            }
        }
        let request = Request::new(Kind::Read, b"k");
        let mut client = Null::spinning(Duration::from_micros(5), fake_clock).open(0).unwrap();
        let mut count = Count(0);
        let begin = FAKE_NOW.load(Ordering::Relaxed);
        client.start(Nanos::ZERO, Ticket(1), &request, &mut count);
        assert_eq!(count.0, 1);
        // One reading to begin with, fifty to see 5,000 ns pass in steps of 100.
        assert_eq!(FAKE_NOW.load(Ordering::Relaxed) - begin, 5_100);
    }

    #[test]
    fn a_spin_of_zero_is_no_spin() {
        let null = Null::spinning(Duration::ZERO, fake_clock);
        assert_eq!(null.settings().unwrap()[0].value, "0 ns");
        assert!(null.spin.is_none());
    }
}

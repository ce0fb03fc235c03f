//! Readers and writers of Consbench, in the order of time.

use assay_model::script::ProcessBuilder;
use assay_model::seed::Stream;
use assay_model::{Nanos, Seed};

use super::spec::{ConsbenchSpec, Poll};
use super::{QUERIES, READ, UPDATE};
use crate::plan::streams;
use crate::script::program::{Program, int, issue, text};

/// What a row holds before its test.
pub(super) const BEFORE: &str = "-1";

/// Numbers of the transaction types.
const WARM_UP: u16 = 1;
const WRITE: u16 = 2;
const POLL: u16 = 3;

/// The warm-up, then test after test.
pub(super) struct Run {
    tests: u64,
    /// Readers that begin at once in the warm-up.
    warmers: u64,
    warm_up_every: Nanos,
    /// Processes of the warm-up.
    warm_up: u64,
    warm_up_reads: u64,
    /// When the first test begins.
    begin: Nanos,
    gap: Nanos,
    lead: Nanos,
    interval: Nanos,
    poll: Poll,
    readers: u64,
    polls: u64,
    keys: Stream,
}

/// What one process does.
enum Part {
    WarmUp,
    Write {
        test: u64,
    },
    /// The place of the read, or of the reader if its reads are chained, among those of the test.
    Read {
        test: u64,
        place: u64,
    },
}

impl Run {
    pub(super) fn new(spec: &ConsbenchSpec, seed: Seed) -> Run {
        let (test, warm_up) = (&spec.test, &spec.warm_up);
        let warmers = spec.machines() * warm_up.readers_per_machine;
        Run {
            tests: spec.dataset.tests,
            warmers,
            warm_up_every: warm_up.interval.0,
            warm_up: warm_up.duration.0.0.div_ceil(warm_up.interval.0.0) * warmers,
            warm_up_reads: warm_up.reads,
            begin: warm_up.duration.0,
            gap: spec.gap(),
            lead: test.lead.0,
            interval: test.interval.0,
            poll: test.poll,
            readers: spec.readers(),
            polls: spec.polls(),
            keys: seed.stream(streams::SCRIPTS + 0x200),
        }
    }

    /// Reads of one test.
    pub(super) fn reads_of_test(&self) -> u64 {
        self.readers * self.polls
    }

    /// Processes of one test that read.
    fn processes(&self) -> u64 {
        match self.poll {
            Poll::Scheduled => self.reads_of_test(),
            Poll::Chained => self.readers,
        }
    }

    /// When the read at `place` of its test begins, after the test's begin: the readers are spread
    /// evenly over the interval of one, so that the key is polled that much more often.
    fn offset(&self, place: u64) -> Nanos {
        match self.poll {
            Poll::Scheduled => {
                let offset = u128::from(place) * u128::from(self.interval.0);
                Nanos((offset / u128::from(self.readers)) as u64)
            }
            Poll::Chained => Nanos::ZERO,
        }
    }

    /// How many reads of a test begin before its write, or with it.
    fn before(&self) -> u64 {
        match self.poll {
            Poll::Scheduled => {
                let reads = u128::from(self.lead.0) * u128::from(self.readers);
                (reads / u128::from(self.interval.0)) as u64 + 1
            }
            Poll::Chained => self.readers,
        }
        .min(self.processes())
    }

    fn part(&self, process: u64) -> Part {
        let Some(process) = process.checked_sub(self.warm_up) else { return Part::WarmUp };
        let of_test = self.processes() + 1;
        let (test, place) = (process / of_test, process % of_test);
        match place.cmp(&self.before()) {
            std::cmp::Ordering::Less => Part::Read { test, place },
            std::cmp::Ordering::Equal => Part::Write { test },
            std::cmp::Ordering::Greater => Part::Read { test, place: place - 1 },
        }
    }

    /// When the readers of a test begin.
    fn begin(&self, test: u64) -> Nanos {
        self.begin + Nanos(self.gap.0 * test)
    }
}

impl Program for Run {
    fn len(&self) -> Option<u64> {
        Some(self.warm_up + self.tests * (self.processes() + 1))
    }

    fn width(&self) -> u64 {
        let reads = match self.poll {
            Poll::Scheduled => 1,
            Poll::Chained => self.polls,
        };
        // The reads of the warm-up are one transaction with an end.
        if self.warm_up == 0 { reads } else { reads.max(self.warm_up_reads + 1) }
    }

    fn process(&self, process: u64, into: &mut ProcessBuilder<'_>) {
        let read = issue(&QUERIES, READ);
        match self.part(process) {
            Part::WarmUp => {
                let draws = &mut self.keys.draws(process);
                into.transaction(WARM_UP, Nanos::ZERO);
                for _ in 0..self.warm_up_reads {
                    let key = draws.below(self.tests);
                    into.issue(read, key, &[int(key)]);
                }
                into.commit();
            }
            Part::Write { test } => {
                let millis = (self.begin(test) + self.lead).0 / 1_000_000;
                let value = millis.to_string();
                into.transaction(WRITE, Nanos::ZERO)
                    .issue(issue(&QUERIES, UPDATE), test, &[text(&value), int(test)])
                    .commit();
            }
            Part::Read { test, .. } => {
                let reads = match self.poll {
                    Poll::Scheduled => 1,
                    Poll::Chained => self.polls,
                };
                for _ in 0..reads {
                    into.transaction(POLL, Nanos::ZERO).issue(read, test, &[int(test)]).commit();
                }
            }
        }
    }

    fn intended(&self, process: u64) -> Option<Nanos> {
        Some(match self.part(process) {
            Part::WarmUp => Nanos(process / self.warmers * self.warm_up_every.0),
            Part::Write { test } => self.begin(test) + self.lead,
            Part::Read { test, place } => self.begin(test) + self.offset(place),
        })
    }
}

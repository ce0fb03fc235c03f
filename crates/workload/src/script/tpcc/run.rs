//! The run: transactions drawn from the seed with their number.

use assay_model::script::ProcessBuilder;
use assay_model::seed::Stream;
use assay_model::{Nanos, Seed};

use super::district::{District, STREAMS};
use super::draw::Constants;
use super::rows::{LOADED_AT, Rows};
use super::spec::{Think, TpccSpec};
use super::turn::Turn;
use super::{DISTRICTS, delivery, new_order, order_status, payment, stock_level};
use crate::distribution::Discrete;
use crate::script::program::Program;

/// Keying time with mean think time of each transaction in seconds (clause 5.2.5.7).
const TIMES: [(u64, u64); 5] = [(18, 12), (3, 12), (2, 10), (2, 5), (2, 5)];
/// A think time is cut at so many times its mean (clause 5.2.5.4).
const THINK_MOST: f64 = 10.0;
/// The most operations that one transaction has.
const WIDTH: u64 =
    if new_order::WIDTH > delivery::WIDTH { new_order::WIDTH } else { delivery::WIDTH };

/// The transactions of a run.
pub(super) struct Run {
    rows: Rows,
    constants: Constants,
    mix: Discrete<5>,
    think: Think,
    /// How many transactions the run has.
    count: Option<u64>,
    /// How many of them a process has.
    transactions: u64,
    stream: Stream,
    homes: Stream,
    thoughts: Stream,
}

impl Run {
    pub(super) fn new(spec: &TpccSpec, seed: Seed, rows: Rows) -> Run {
        let loaded = Seed(spec.dataset.seed.unwrap_or(seed.0));
        Run {
            rows,
            constants: Constants::of_run(seed, loaded),
            mix: Discrete::new(&spec.transactions.weights()),
            think: spec.process.think,
            count: spec.transactions.count,
            transactions: spec.process.transactions,
            stream: seed.stream(STREAMS + 0x20),
            homes: seed.stream(STREAMS + 0x21),
            thoughts: seed.stream(STREAMS + 0x22),
        }
    }

    /// The time before transaction `number`: its keying time, and the think time of its type.
    fn delay(&self, kind: usize, number: u64) -> Nanos {
        if self.think == Think::None {
            return Nanos::ZERO;
        }
        let (keying, think) = TIMES[kind];
        let thoughts = -libm::log(1.0 - self.thoughts.draws(number).unit());
        let seconds = think as f64 * thoughts.min(THINK_MOST);
        Nanos::from_secs(keying) + Nanos((seconds * 1e9) as u64)
    }
}

impl Program for Run {
    fn len(&self) -> Option<u64> {
        self.count.map(|count| count.div_ceil(self.transactions))
    }

    fn width(&self) -> u64 {
        self.transactions * WIDTH
    }

    fn process(&self, process: u64, into: &mut ProcessBuilder<'_>) {
        let homes = &mut self.homes.draws(process);
        let warehouse = homes.below(self.rows.warehouses) + 1;
        let home = District { warehouse, number: homes.below(DISTRICTS) + 1 };
        let first = process * self.transactions;
        let end = first + self.transactions;
        for number in first..self.count.map_or(end, |count| count.min(end)) {
            let mut draws = self.stream.draws(number);
            let kind = self.mix.draw(&mut draws);
            let at = LOADED_AT + (number as i64 + 1) * 1_000;
            let (rows, constants) = (&self.rows, &self.constants);
            let turn = &mut Turn { rows, constants, home, at, draws };
            into.transaction(kind as u16 + 1, self.delay(kind, number));
            match kind {
                0 => new_order::add(turn, into),
                1 => payment::add(turn, into),
                2 => order_status::add(turn, into),
                3 => delivery::add(turn, into),
                _ => stock_level::add(turn, into),
            }
        }
    }
}

//! Processes of BenchFoundry's workload.

use assay_model::script::ProcessBuilder;
use assay_model::seed::{Stream, mix};
use assay_model::{Draws, Nanos, Seed};

use super::name::Name;
use super::query::Query;
use super::spec::{BenchfoundrySpec, Keys, Starts};
use super::table::{Rows, STREAMS, insert, update_customer};
use crate::distribution::Discrete;
use crate::script::program::{Program, int, locate};

/// The most operations that one process has: a New-Order with its end.
const WIDTH: u64 = 12;
/// New rows that a process inserts into one table: three lines.
const NEW_ROWS: u64 = 3;

/// One insert in each process, table by table.
pub(super) struct Load {
    pub rows: Rows,
}

impl Program for Load {
    fn len(&self) -> Option<u64> {
        Some(self.rows.count())
    }

    fn process(&self, process: u64, into: &mut ProcessBuilder<'_>) {
        let lengths = Name::ALL.map(|name| self.rows.of(name));
        let (table, key) = locate(process, lengths);
        into.transaction(1, Nanos::ZERO);
        self.rows.add(Name::ALL[table], key, into);
        into.commit();
    }
}

/// The processes of a run.
pub(super) struct Run {
    rows: Rows,
    keys: Keys,
    starts: Starts,
    count: u64,
    rate: f64,
    /// Processes of each type that begin at a full second.
    of_second: [u64; 4],
    types: Discrete<4>,
    stream: Stream,
    /// Where the keys of new rows begin, so that runs with other seeds do not meet them.
    new_keys: u64,
}

impl Run {
    pub(super) fn new(spec: &BenchfoundrySpec, seed: Seed, rows: Rows) -> Run {
        let process = &spec.process;
        let scaled = |weight: f64| (weight * process.process_target_scaler) as u64;
        Run {
            rows,
            keys: process.keys,
            starts: process.starts,
            count: process.count(),
            rate: process.rate(),
            of_second: process.weights().map(scaled),
            types: Discrete::new(&process.weights()),
            stream: seed.stream(STREAMS + 0x20),
            // 63 bits: 1 that keeps them beyond loaded rows, 22 of the seed, 40 that count.
            new_keys: (1 << 62) | (mix(seed.0) >> 42 << 40),
        }
    }

    /// The number of the transaction's type less one.
    fn kind(&self, process: u64, draws: &mut Draws) -> usize {
        if self.starts != Starts::Second {
            return self.types.draw(draws);
        }
        locate(process % self.of_second.iter().sum::<u64>(), self.of_second).0
    }

    fn new_key(&self, process: u64, place: u64) -> u64 {
        self.new_keys + process * NEW_ROWS + place
    }

    /// Adds the read of a row, with a key drawn uniformly; gives back the key.
    fn read(&self, name: Name, draws: &mut Draws, into: &mut ProcessBuilder<'_>) -> u64 {
        let key = draws.below(self.rows.of(name));
        let foreign = match self.keys {
            Keys::Independent => self.rows.draw_foreign(name, draws),
            Keys::Consistent => self.rows.foreign(name, key),
        };
        let arguments: Vec<_> = std::iter::once(key).chain(foreign).map(int).collect();
        into.issue(Query::Read(name).issue(), key, &arguments);
        key
    }

    fn insert(&self, name: Name, key: u64, draws: &mut Draws, into: &mut ProcessBuilder<'_>) {
        let foreign = self.rows.draw_foreign(name, draws);
        insert(name, key, &foreign, draws, into);
    }
}

impl Program for Run {
    fn len(&self) -> Option<u64> {
        Some(self.count)
    }

    fn width(&self) -> u64 {
        WIDTH
    }

    fn process(&self, process: u64, into: &mut ProcessBuilder<'_>) {
        let draws = &mut self.stream.draws(process);
        let kind = self.kind(process, draws);
        into.transaction(kind as u16 + 1, Nanos::ZERO);
        match kind {
            0 => {
                self.read(Name::Warehouse, draws, into);
                self.read(Name::District, draws, into);
                let customer = self.read(Name::Customer, draws, into);
                update_customer(customer, draws, into);
                self.insert(Name::History, self.new_key(process, 0), draws, into);
            }
            1 => {
                for name in [Name::Customer, Name::Orders, Name::OrderLine, Name::OrderLine] {
                    self.read(name, draws, into);
                }
            }
            2 => {
                for name in [Name::Warehouse, Name::District, Name::Customer] {
                    self.read(name, draws, into);
                }
                self.insert(Name::NewOrder, self.new_key(process, 0), draws, into);
                self.insert(Name::Orders, self.new_key(process, 0), draws, into);
                for place in 0..NEW_ROWS {
                    self.insert(Name::OrderLine, self.new_key(process, place), draws, into);
                    self.read(Name::Item, draws, into);
                }
            }
            _ => {
                let new_order = self.read(Name::NewOrder, draws, into);
                into.issue(Query::NewOrderDelete.issue(), new_order, &[int(new_order)]);
                let order = self.read(Name::Orders, draws, into);
                let carrier = int(draws.below(100));
                into.issue(Query::OrderCarrier.issue(), order, &[carrier, int(order)]);
                self.read(Name::OrderLine, draws, into);
                let customer = draws.below(self.rows.of(Name::Customer));
                update_customer(customer, draws, into);
            }
        }
        into.commit();
    }

    fn intended(&self, process: u64) -> Option<Nanos> {
        match self.starts {
            Starts::Model => None,
            Starts::Second => Some(Nanos::from_secs(process / self.of_second.iter().sum::<u64>())),
            Starts::Even => Some(Nanos((process as f64 / self.rate * 1e9) as u64)),
        }
    }
}

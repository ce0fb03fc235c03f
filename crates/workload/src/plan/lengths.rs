//! The length of each field of each operation, as a function of (seed, phase, index, field).

use assay_model::seed::Stream;
use assay_model::{Fields, Operation, Seed};

use super::streams;
use crate::distribution::{Counting, Histogram, Listed, Tail, Uniform, Zipfian};
use crate::spec::PlanPhase;
use crate::spec::{DatasetSection, FieldLength};

const THETA: f64 = 0.99;
/// Draws of the fields of one operation follow each other at this distance.
const FIELDS_END: u64 = 1 << 16;

/// Field lengths of one phase.
#[derive(Clone, Debug)]
pub(crate) struct Lengths {
    fields: u64,
    kind: LengthKind,
    stream: Stream,
}

#[derive(Clone, Debug)]
enum LengthKind {
    Constant(u64),
    Uniform(Uniform),
    Zipfian(u64, Box<Zipfian>),
    Histogram(Histogram, Counting),
    Listed(Listed),
    Tail(Tail),
    /// The operation says it.
    Recorded,
}

impl LengthKind {
    fn new(length: &FieldLength) -> LengthKind {
        match length {
            FieldLength::Constant(length) => LengthKind::Constant(*length),
            FieldLength::Uniform { min, max } => {
                LengthKind::Uniform(Uniform { first: *min, count: max - min + 1 })
            }
            FieldLength::Zipfian { min, max } => {
                LengthKind::Zipfian(*min, Box::new(Zipfian::new(max - min + 1, THETA)))
            }
            FieldLength::Histogram(histogram, counting) => {
                LengthKind::Histogram(histogram.clone(), *counting)
            }
            FieldLength::Listed { sizes, counts } => LengthKind::Listed(Listed::new(sizes, counts)),
            FieldLength::Tail(tail) => LengthKind::Tail(*tail),
            FieldLength::Recorded => LengthKind::Recorded,
            FieldLength::HistogramFile(..) => {
                unreachable!("a checked specification has its histogram read")
            }
        }
    }
}

impl Lengths {
    pub(crate) fn new(dataset: &DatasetSection, seed: Seed, phase: PlanPhase) -> Lengths {
        let kind = LengthKind::new(&dataset.field_length);
        let stream = match phase {
            PlanPhase::Load => streams::LENGTHS_LOAD,
            PlanPhase::Run => streams::LENGTHS_RUN,
        };
        Lengths { fields: dataset.fields, kind, stream: seed.stream(stream) }
    }

    /// Lengths of keys by the numbers of their records. The same for every seed: a key must not
    /// depend on the caller.
    pub(crate) fn of_keys(length: &FieldLength) -> Lengths {
        let stream = Seed(0).stream(streams::LENGTHS_KEYS);
        Lengths { fields: 1, kind: LengthKind::new(length), stream }
    }

    /// The length of `field` that `operation` writes, in bytes.
    #[inline]
    pub(crate) fn written(&self, operation: &Operation, field: u16) -> u64 {
        match &self.kind {
            LengthKind::Recorded => u64::from(operation.bytes),
            _ => self.of(operation.index, field),
        }
    }

    /// The length of `field` of the operation with this `index`, in bytes; 0 if only the
    /// operation says it.
    #[inline]
    pub(crate) fn of(&self, index: u64, field: u16) -> u64 {
        match &self.kind {
            LengthKind::Constant(length) => *length,
            kind => self.draw(kind, index, field),
        }
    }

    #[inline(never)]
    fn draw(&self, kind: &LengthKind, index: u64, field: u16) -> u64 {
        let number = index.wrapping_mul(FIELDS_END).wrapping_add(u64::from(field));
        let draws = &mut self.stream.draws(number);
        match kind {
            LengthKind::Constant(length) => *length,
            LengthKind::Uniform(uniform) => uniform.draw(draws),
            LengthKind::Zipfian(min, zipfian) => min + zipfian.draw(draws),
            LengthKind::Histogram(histogram, counting) => histogram.draw(*counting, draws),
            LengthKind::Listed(listed) => listed.draw(draws),
            LengthKind::Tail(tail) => tail.draw(draws),
            LengthKind::Recorded => 0,
        }
    }

    /// The length of all `fields` of the operation with this `index` together, in bytes.
    #[inline]
    pub(crate) fn sum(&self, index: u64, fields: Fields) -> u32 {
        let sum = match (&self.kind, fields) {
            (_, Fields::One(field)) => self.of(index, field),
            (LengthKind::Constant(length), _) => length * self.fields,
            _ => (0..self.fields).map(|field| self.of(index, field as u16)).sum(),
        };
        u32::try_from(sum).expect("a checked specification has records below 4 GiB")
    }

    /// Whether one of the values that `operation` writes has at least `least` bytes.
    #[inline]
    pub(crate) fn reaches(&self, operation: &Operation, least: u64) -> bool {
        match (&self.kind, operation.fields) {
            (LengthKind::Constant(length), _) => *length >= least,
            (LengthKind::Recorded, _) => u64::from(operation.bytes) >= least,
            (_, Fields::One(field)) => self.of(operation.index, field) >= least,
            _ => (0..self.fields).any(|field| self.of(operation.index, field as u16) >= least),
        }
    }
}

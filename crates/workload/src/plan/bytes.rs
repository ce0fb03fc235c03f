//! Keys with values as bytes, cut from numbers only.

mod decimal;
mod integrity;
mod key;
mod pool;

use assay_model::seed::Stream;
use assay_model::{Kind, Operation, OperationEncoder, Seed, version};

use super::lengths::Lengths;
use super::streams;
use crate::spec::PlanPhase;
use crate::spec::{Dataset, Spec, WriteFields};
use crate::value_header::{self, Header};
use key::KeyForm;
use pool::Pool;

/// Draws of the fields of one operation follow each other at this distance.
const FIELDS_END: u64 = 1 << 16;

/// Renders the operations of one phase.
#[derive(Debug)]
pub(crate) struct Bytes {
    key: KeyForm,
    phase: PlanPhase,
    lengths: Lengths,
    values: Values,
    writes_all_fields: bool,
}

#[derive(Debug)]
enum Values {
    /// Values follow from key with field.
    Integrity { field_names: Vec<Vec<u8>> },
    /// Values are a header, where there is room, with random characters.
    Random { header: Header, pool: Pool, cuts: Stream },
}

impl Bytes {
    pub(crate) fn new(
        spec: &Spec,
        dataset: &Dataset,
        seed: Seed,
        phase: PlanPhase,
        lengths: Lengths,
    ) -> Bytes {
        let section = &spec.dataset;
        let key = KeyForm::new(
            section.key_prefix.as_bytes(),
            usize::try_from(section.key_digits).expect("digits are checked to be few"),
            section.key_order,
            section.key_length.as_ref().map(Lengths::of_keys),
        );
        let values = if section.integrity {
            let name = |field| format!("{}{field}", section.field_prefix).into_bytes();
            Values::Integrity { field_names: (0..section.fields).map(name).collect() }
        } else {
            let cuts = match phase {
                PlanPhase::Load => streams::CUTS_LOAD,
                PlanPhase::Run => streams::CUTS_RUN,
            };
            Values::Random {
                header: Header::new(dataset.digest()),
                pool: Pool::new(seed),
                cuts: seed.stream(cuts),
            }
        };
        let writes_all_fields =
            section.fields > 1 && spec.operations.write_fields == WriteFields::All;
        Bytes { key, phase, lengths, values, writes_all_fields }
    }

    #[inline]
    fn version_of(&self, operation: &Operation) -> u64 {
        match self.phase {
            PlanPhase::Load => version::loaded(operation.key),
            PlanPhase::Run => version::written(operation.index),
        }
    }
}

impl OperationEncoder for Bytes {
    #[inline]
    fn key(&self, key: u64, into: &mut Vec<u8>) {
        self.key.append(key, into);
    }

    /// # Panics
    /// If values are checked and the data set has no field with this number.
    #[inline]
    fn value(&self, operation: &Operation, field: u16, into: &mut Vec<u8>) {
        let length = self.lengths.written(operation, field) as usize;
        match &self.values {
            Values::Random { header, pool, cuts } => {
                let number = operation.index.wrapping_mul(FIELDS_END) + u64::from(field);
                let start = Pool::start(cuts.draws(number).bits());
                // One copy with the header put over its beginning is less work than two pieces.
                let begin = into.len();
                pool.append(start, length, into);
                if let Some(place) = into[begin..].first_chunk_mut() {
                    header.put(self.version_of(operation), place);
                }
            }
            Values::Integrity { field_names } => {
                let name = &field_names[usize::from(field)];
                integrity::append(&self.key, operation.key, name, length, into);
            }
        }
    }

    #[inline]
    fn version(&self, value: &[u8]) -> Option<u64> {
        match &self.values {
            Values::Random { header, .. } => header.version(value),
            Values::Integrity { .. } => None,
        }
    }

    #[inline]
    fn version_written(&self, operation: &Operation) -> u64 {
        let writes = matches!(operation.kind, Kind::Insert | Kind::Update);
        let carries = matches!(self.values, Values::Random { .. });
        if writes && carries && self.lengths.reaches(operation, value_header::LENGTH as u64) {
            self.version_of(operation)
        } else {
            version::NONE
        }
    }

    fn writes_all_fields(&self) -> bool {
        self.writes_all_fields
    }

    fn verifies(&self) -> bool {
        matches!(self.values, Values::Integrity { .. })
    }

    fn is_expected(&self, key: u64, field: u16, value: &[u8]) -> bool {
        let Values::Integrity { field_names } = &self.values else { return false };
        let Some(name) = field_names.get(usize::from(field)) else { return false };
        let length = self.lengths.of(0, field) as usize;
        integrity::is_expected(&self.key, key, name, length, value)
    }
}

//! The load phase: process *k* inserts record first + *k*.

use assay_model::{Fields, Filled, Kind, Nanos, Operation, Source, SourceError};

use super::lengths::Lengths;
use crate::spec::DatasetSection;

/// One insert for each record of the share.
#[derive(Clone, Debug)]
pub(crate) struct Load {
    first: u64,
    count: u64,
    lengths: Lengths,
}

impl Load {
    pub(crate) fn new(dataset: &DatasetSection, lengths: Lengths) -> Load {
        Load { first: dataset.first, count: dataset.share(), lengths }
    }
}

impl Source for Load {
    fn len(&self) -> Option<u64> {
        Some(self.count)
    }

    fn width(&self) -> u64 {
        1
    }

    fn fill(&mut self, process: u64, into: &mut Vec<Operation>) -> Result<Filled, SourceError> {
        into.clear();
        if process >= self.count {
            return Ok(Filled::End);
        }
        into.push(Operation {
            index: process,
            key: self.first + process,
            kind: Kind::Insert,
            fields: Fields::All,
            limit: 1,
            bytes: self.lengths.sum(process, Fields::All),
            statement: 0,
            transaction: 0,
            transaction_type: 0,
            ends_transaction: true,
            think: Nanos::ZERO,
        });
        Ok(Filled::Process)
    }
}

//! A plan that could not be opened: it fails at its first operation.

use assay_model::{Filled, Operation, Source, SourceError};

/// Fails with the reason for which the real plan could not be opened.
pub struct Broken {
    reason: String,
}

impl Broken {
    /// Fails because of `reason`.
    pub fn because(reason: String) -> Broken {
        Broken { reason }
    }
}

impl Source for Broken {
    fn len(&self) -> Option<u64> {
        None
    }

    fn width(&self) -> u64 {
        1
    }

    fn fill(&mut self, process: u64, _into: &mut Vec<Operation>) -> Result<Filled, SourceError> {
        Err(SourceError { process, reason: self.reason.clone() })
    }
}

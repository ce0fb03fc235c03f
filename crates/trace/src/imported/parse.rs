//! Parser of one format of imported traces.

use super::request::{ImportedRequest, TimestampPrecision};

/// Why a line gives no request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// It is no line of this format.
    Bad(String),
    /// It is one, of a command with this name that is not supported.
    PassedOver(String),
}

/// One format's lines or records.
pub(crate) trait Parse {
    /// How finely it says when.
    fn timestamps(&self) -> TimestampPrecision;

    /// The length of its records; `None` if it has lines.
    fn record(&self) -> Option<usize> {
        None
    }

    /// Appends the requests of one line without its end, or of one record.
    ///
    /// What was appended before a fault is taken back by the caller.
    fn parse(&mut self, line: &[u8], into: &mut Vec<ImportedRequest>) -> Result<(), Fault>;
}

//! Failures of requests.

use assay_model::Reason;
use assay_store::Answer;

/// How a request ended that did not go through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestFailure {
    /// It certainly did not happen.
    Refused(Reason),
    /// The outcome is unknown.
    Unknown(Reason),
}

impl RequestFailure {
    /// The reply is invalid.
    pub const GARBLED: RequestFailure = RequestFailure::Unknown(Reason::Garbled);

    /// The answer to the request.
    pub fn answer(self) -> Answer<'static> {
        match self {
            RequestFailure::Refused(reason) => Answer::Refused(reason),
            RequestFailure::Unknown(reason) => Answer::Unknown(reason),
        }
    }
}

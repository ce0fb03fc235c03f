//! The errors of stores that are not ready.

use std::fmt::Display;

use assay_store::OpenError;

/// The errors of what shows as a store's URL without secrets, such as its options.
pub trait StoreErrors: Display {
    /// Connection refused: what was tried, what happened, and what to do.
    fn unreachable(&self, reason: impl Into<String>) -> OpenError {
        OpenError::Unreachable { store: self.to_string(), reason: reason.into() }
    }

    /// The store answers but does not let us: what it said, and what to do.
    fn not_permitted(&self, reason: impl Into<String>) -> OpenError {
        OpenError::NotPermitted { store: self.to_string(), reason: reason.into() }
    }

    /// The store cannot execute the request: what is missing, and what to do.
    fn unsupported(&self, reason: impl Into<String>) -> OpenError {
        OpenError::Unsupported { store: self.to_string(), reason: reason.into() }
    }

    /// The store does not hold what it should: what is there or missing, and what to do.
    fn contents(&self, reason: impl Into<String>) -> OpenError {
        OpenError::Contents { store: self.to_string(), reason: reason.into() }
    }

    /// The URL is invalid: what is wrong, and what a right one looks like.
    fn invalid(&self, reason: impl Into<String>) -> OpenError {
        OpenError::Url { url: self.to_string(), reason: reason.into() }
    }

    /// The store failed while it was made ready: what happened, and what to do.
    fn failed(&self, reason: impl Into<String>) -> OpenError {
        OpenError::Failed { store: self.to_string(), reason: reason.into() }
    }
}

impl<T: Display + ?Sized> StoreErrors for T {}

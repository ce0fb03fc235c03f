//! Outcome of an operation, as far as the client can know.

use serde::{Deserialize, Serialize};

use crate::named_enum;

named_enum! {
    /// How an operation ended.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
    #[repr(u8)]
    pub enum Outcome {
        /// The store answered. A missing key is done too, with `found = false`.
        Done = 0 => "done",
        /// It certainly did not happen.
        Refused = 1 => "refused",
        /// It is unknown whether it happened: the timeout expired, or the connection was lost after
        /// sending.
        Unknown = 2 => "unknown",
        /// It never left us: the bound on operations in flight was reached, or the run was cut
        /// short.
        Dropped = 3 => "dropped",
    }
}

impl Outcome {
    /// The outcome with this code.
    pub const fn from_code(code: u8) -> Option<Outcome> {
        if (code as usize) < Outcome::ALL.len() { Some(Outcome::ALL[code as usize]) } else { None }
    }
}

named_enum! {
    /// Why an operation was refused, is unknown or was dropped; or what is wrong with one that was
    /// done.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
    #[repr(u8)]
    pub enum Reason {
        /// Nothing went wrong.
        None = 0 => "none",
        /// No response within the timeout of the run.
        Timeout = 1 => "timeout",
        /// The connection broke while an answer was awaited.
        ConnectionLost = 2 => "connection-lost",
        /// No connection could be made, so nothing was sent.
        Unreachable = 3 => "unreachable",
        /// The store does not know us or does not let us.
        NotPermitted = 4 => "not-permitted",
        /// The store has no room left.
        Full = 5 => "full",
        /// The store takes no writes, for example because it is a replica.
        ReadOnly = 6 => "read-only",
        /// The store is starting, failing over or overloaded, and said so.
        Busy = 7 => "busy",
        /// Another transaction was in the way.
        Conflict = 8 => "conflict",
        /// The record is there already.
        Exists = 9 => "exists",
        /// The store cannot do this at all.
        Unsupported = 10 => "unsupported",
        /// The store holds something else under this key.
        WrongType = 11 => "wrong-type",
        /// The store says that the request is invalid.
        Malformed = 12 => "malformed",
        /// The response is invalid.
        Garbled = 13 => "garbled",
        /// The store's own error that fits nothing above.
        StoreError = 14 => "store-error",
        /// The bound on operations in flight was reached.
        InFlightLimit = 15 => "in-flight-limit",
        /// The run ended before the operation could be issued.
        RunEnded = 16 => "run-ended",
        /// The first operation of its transaction failed, so this one was not issued.
        TransactionFailed = 17 => "transaction-failed",
        /// Done, but the fields that were read are of several writes, each of which wrote all of
        /// them.
        Torn = 18 => "torn",
    }
}

impl Reason {
    /// The reason with this code.
    pub const fn from_code(code: u8) -> Option<Reason> {
        if (code as usize) < Reason::ALL.len() { Some(Reason::ALL[code as usize]) } else { None }
    }

    /// Whether a store that refuses for this reason works, and would accept another request: the
    /// reason is the request itself, or a conflict with another one.
    pub const fn is_about_request(self) -> bool {
        use Reason::{Conflict, Exists, Malformed, Unsupported, WrongType};
        matches!(self, Conflict | Exists | Unsupported | WrongType | Malformed)
    }
}

named_enum! {
    /// What checking the returned values against the expected ones found.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
    #[repr(u8)]
    pub enum Verified {
        /// Not checked.
        No = 0 => "no",
        /// Every returned field held what it must.
        Right = 1 => "right",
        /// A returned field held something else.
        Wrong = 2 => "wrong",
        /// Nothing came back.
        Empty = 3 => "empty",
    }
}

impl Verified {
    /// The finding with this code.
    pub const fn from_code(code: u8) -> Option<Verified> {
        if (code as usize) < Verified::ALL.len() {
            Some(Verified::ALL[code as usize])
        } else {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_round_trip() {
        for outcome in Outcome::ALL {
            assert_eq!(Outcome::from_code(outcome as u8), Some(outcome));
        }
        for reason in Reason::ALL {
            assert_eq!(Reason::from_code(reason as u8), Some(reason));
        }
        for verified in Verified::ALL {
            assert_eq!(Verified::from_code(verified as u8), Some(verified));
        }
    }
}

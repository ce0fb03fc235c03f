//! Servers that cannot be used, and why.

use std::fmt::Display;
use std::io;

use assay_store::OpenError;

use crate::StoreErrors;

/// Why a server cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unavailable {
    /// What stands in the way.
    pub kind: UnavailableKind,
    /// What happened, and what to do.
    pub reason: String,
}

/// In the order in which they are reported, if servers differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum UnavailableKind {
    /// Permission denied.
    NotPermitted,
    /// It is of another version or kind.
    Unsupported,
    /// Nothing answers, or nothing of its kind.
    Unreachable,
}

impl Unavailable {
    /// Permission denied.
    pub fn not_permitted(reason: impl Into<String>) -> Unavailable {
        Unavailable { kind: UnavailableKind::NotPermitted, reason: reason.into() }
    }

    /// A server of another version or kind.
    pub fn unsupported(reason: impl Into<String>) -> Unavailable {
        Unavailable { kind: UnavailableKind::Unsupported, reason: reason.into() }
    }

    /// Nothing answers, or nothing of its kind.
    pub fn unreachable(reason: impl Into<String>) -> Unavailable {
        Unavailable { kind: UnavailableKind::Unreachable, reason: reason.into() }
    }

    /// None of several servers, each with its address, can be used.
    pub fn all(servers: &[(String, Unavailable)]) -> Unavailable {
        let kinds = servers.iter().map(|(_, unavailable)| unavailable.kind);
        let kind = kinds.min().unwrap_or(UnavailableKind::Unreachable);
        let reasons: Vec<String> = match servers {
            [(_, only)] => vec![only.reason.clone()],
            several => several.iter().map(|(at, it)| format!("{at}: {}", it.reason)).collect(),
        };
        Unavailable { kind, reason: reasons.join("; ") }
    }

    /// The error of `store`, which shows as its URL without secrets.
    pub fn explain(self, store: &impl Display) -> OpenError {
        match self.kind {
            UnavailableKind::NotPermitted => store.not_permitted(self.reason),
            UnavailableKind::Unsupported => store.unsupported(self.reason),
            UnavailableKind::Unreachable => store.unreachable(self.reason),
        }
    }
}

/// Why there is no connection, with advice.
pub fn unconnected(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::ConnectionRefused => format!("{error}; is the server running?"),
        _ => format!("{error}; check host and port"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_several_failures_the_most_important_gives_the_kind() {
        let one = |it: Unavailable| ("one:1".to_owned(), it);
        let gone = || one(Unavailable::unreachable("gone"));
        for (it, kind) in [
            (Unavailable::not_permitted("no"), UnavailableKind::NotPermitted),
            (Unavailable::unsupported("no"), UnavailableKind::Unsupported),
        ] {
            let reported = Unavailable::all(&[gone(), ("two:2".to_owned(), it)]);
            let expected = Unavailable { kind, reason: "one:1: gone; two:2: no".into() };
            assert_eq!(reported, expected, "{kind:?}");
        }
        assert_eq!(Unavailable::all(&[gone()]), Unavailable::unreachable("gone"));
    }

    #[test]
    fn the_kind_is_that_of_the_error() {
        let denied = Unavailable::not_permitted("no").explain(&"store");
        assert!(matches!(denied, OpenError::NotPermitted { .. }), "{denied:?}");
        assert!(denied.to_string().ends_with("no"), "{denied}");
        let strange = Unavailable::unsupported("no").explain(&"store");
        assert!(matches!(strange, OpenError::Unsupported { .. }), "{strange:?}");
    }
}

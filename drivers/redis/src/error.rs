//! Errors of Redis as outcomes of requests.

use assay_model::Reason;
use assay_store::Answer;

/// How a request ended that did not go through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Failure {
    /// It certainly did not happen.
    Refused(Reason),
    /// The outcome is unknown.
    Unknown(Reason),
}

impl Failure {
    /// The reply is invalid.
    pub(super) const GARBLED: Failure = Failure::Unknown(Reason::Garbled);

    pub(super) fn answer(self) -> Answer<'static> {
        match self {
            Failure::Refused(reason) => Answer::Refused(reason),
            Failure::Unknown(reason) => Answer::Unknown(reason),
        }
    }
}

/// The errors with which Redis or Valkey certainly refuses a command, by their first word.
///
/// Words that are not here (a proxy's, a module's) leave it open whether the command ran.
const REFUSALS: &[(&str, Reason)] = &[
    ("OOM", Reason::Full),
    ("READONLY", Reason::ReadOnly),
    ("MISCONF", Reason::ReadOnly),
    ("NOREPLICAS", Reason::ReadOnly),
    ("LOADING", Reason::Busy),
    ("BUSY", Reason::Busy),
    ("CLUSTERDOWN", Reason::Busy),
    ("MASTERDOWN", Reason::Busy),
    ("TRYAGAIN", Reason::Busy),
    ("NOAUTH", Reason::NotPermitted),
    ("WRONGPASS", Reason::NotPermitted),
    ("NOPERM", Reason::NotPermitted),
    ("DENIED", Reason::NotPermitted),
    ("WRONGTYPE", Reason::WrongType),
    ("MOVED", Reason::Unsupported),
    ("ASK", Reason::Unsupported),
    ("CROSSSLOT", Reason::Unsupported),
    ("NOPROTO", Reason::Unsupported),
];

/// The errors of the general code `ERR` that are certain refusals, by how they go on.
const ERR_REFUSALS: &[(&str, Reason)] = &[
    ("unknown command", Reason::Unsupported),
    ("unknown subcommand", Reason::Unsupported),
    ("wrong number of arguments", Reason::Malformed),
    ("syntax error", Reason::Malformed),
    ("value is not", Reason::Malformed),
    ("min or max is not a float", Reason::Malformed),
    ("Protocol error", Reason::Malformed),
    ("max number of clients reached", Reason::Busy),
    ("DB index is out of range", Reason::Unsupported),
    ("invalid DB index", Reason::Unsupported),
    ("invalid password", Reason::NotPermitted),
    ("AUTH", Reason::NotPermitted),
    ("Client sent AUTH", Reason::NotPermitted),
    ("operation not permitted", Reason::NotPermitted),
];

/// What `error`, the text of an error reply, means.
pub(super) fn failure(error: &[u8]) -> Failure {
    let first = error.split(|&byte| byte == b' ').next().unwrap_or_default();
    if let Some((_, reason)) = REFUSALS.iter().find(|(code, _)| code.as_bytes() == first) {
        return Failure::Refused(*reason);
    }
    let rest = error.strip_prefix(b"ERR ").unwrap_or_default();
    match ERR_REFUSALS.iter().find(|(start, _)| rest.starts_with(start.as_bytes())) {
        Some((_, reason)) => Failure::Refused(*reason),
        None => Failure::Unknown(Reason::StoreError),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(error: &str, reason: Reason) {
        assert_eq!(failure(error.as_bytes()), Failure::Refused(reason), "{error}");
    }

    #[test]
    fn full_memory_is_refused() {
        refused("OOM command not allowed when used memory > 'maxmemory'.", Reason::Full);
    }

    #[test]
    fn a_replica_takes_no_writes() {
        refused("READONLY You can't write against a read only replica.", Reason::ReadOnly);
    }

    #[test]
    fn a_full_disk_stops_writes() {
        refused("MISCONF Redis is configured to save RDB snapshots, but …", Reason::ReadOnly);
    }

    #[test]
    fn missing_replicas_stop_writes() {
        refused("NOREPLICAS Not enough good replicas to write.", Reason::ReadOnly);
    }

    #[test]
    fn a_loading_server_is_busy() {
        refused("LOADING Redis is loading the dataset in memory", Reason::Busy);
    }

    #[test]
    fn a_server_within_a_script_is_busy() {
        refused("BUSY Redis is busy running a script. …", Reason::Busy);
    }

    #[test]
    fn a_cluster_in_trouble_is_busy() {
        refused("CLUSTERDOWN The cluster is down", Reason::Busy);
        refused("MASTERDOWN Link with MASTER is down", Reason::Busy);
        refused("TRYAGAIN Multiple keys request during rehashing of slot", Reason::Busy);
    }

    #[test]
    fn too_many_clients_are_busy() {
        refused("ERR max number of clients reached", Reason::Busy);
    }

    #[test]
    fn clients_without_permission_are_refused() {
        refused("NOAUTH Authentication required.", Reason::NotPermitted);
        refused(
            "WRONGPASS invalid username-password pair or user is disabled.",
            Reason::NotPermitted,
        );
        refused(
            "NOPERM this user has no permissions to run the 'hgetall' command",
            Reason::NotPermitted,
        );
        refused("DENIED Redis is running in protected mode …", Reason::NotPermitted);
        refused("ERR invalid password", Reason::NotPermitted);
        refused(
            "ERR AUTH <password> called without any password configured …",
            Reason::NotPermitted,
        );
        refused("ERR Client sent AUTH, but no password is set", Reason::NotPermitted);
        refused("ERR operation not permitted", Reason::NotPermitted);
    }

    #[test]
    fn another_type_under_the_key_is_reported() {
        refused(
            "WRONGTYPE Operation against a key holding the wrong kind of value",
            Reason::WrongType,
        );
    }

    #[test]
    fn a_redirection_to_another_node_is_unsupported() {
        refused("MOVED 3999 127.0.0.1:6381", Reason::Unsupported);
        refused("ASK 3999 127.0.0.1:6381", Reason::Unsupported);
        refused("CROSSSLOT Keys in request don't hash to the same slot", Reason::Unsupported);
    }

    #[test]
    fn unknown_commands_are_unsupported() {
        refused("ERR unknown command 'HGETALL', with args beginning with: ", Reason::Unsupported);
        refused("ERR unknown subcommand 'x'", Reason::Unsupported);
        refused("NOPROTO unsupported protocol version", Reason::Unsupported);
        refused("ERR DB index is out of range", Reason::Unsupported);
        refused("ERR invalid DB index", Reason::Unsupported);
    }

    #[test]
    fn senseless_requests_are_malformed() {
        refused("ERR wrong number of arguments for 'hmset' command", Reason::Malformed);
        refused("ERR syntax error", Reason::Malformed);
        refused("ERR value is not an integer or out of range", Reason::Malformed);
        refused("ERR min or max is not a float", Reason::Malformed);
        refused("ERR Protocol error: invalid bulk length", Reason::Malformed);
    }

    #[test]
    fn unknown_errors_leave_the_outcome_unknown() {
        for error in ["ERR upstream timed out", "PROXYERR gone", "", "OOMPH", "ERR"] {
            let expected = Failure::Unknown(Reason::StoreError);
            assert_eq!(failure(error.as_bytes()), expected, "{error}");
        }
    }
}

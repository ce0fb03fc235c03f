//! Errors of Redis as outcomes of requests.

pub(super) use assay_driver_kit::wire::RequestFailure as Failure;
use assay_model::Reason;

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

    /// Errors of the server, each group under what it shows and what they mean.
    const GROUPS: &str = "
        full memory is refused → Refused(Full)
            OOM command not allowed when used memory > 'maxmemory'.
        a replica takes no writes → Refused(ReadOnly)
            READONLY You can't write against a read only replica.
        a full disk stops writes → Refused(ReadOnly)
            MISCONF Redis is configured to save RDB snapshots, but …
        missing replicas stop writes → Refused(ReadOnly)
            NOREPLICAS Not enough good replicas to write.
        a loading server is busy → Refused(Busy)
            LOADING Redis is loading the dataset in memory
        a server within a script is busy → Refused(Busy)
            BUSY Redis is busy running a script. …
        a cluster in trouble is busy → Refused(Busy)
            CLUSTERDOWN The cluster is down
            MASTERDOWN Link with MASTER is down
            TRYAGAIN Multiple keys request during rehashing of slot
        too many clients are busy → Refused(Busy)
            ERR max number of clients reached
        clients without permission are refused → Refused(NotPermitted)
            NOAUTH Authentication required.
            WRONGPASS invalid username-password pair or user is disabled.
            NOPERM this user has no permissions to run the 'hgetall' command
            DENIED Redis is running in protected mode …
            ERR invalid password
            ERR AUTH <password> called without any password configured …
            ERR Client sent AUTH, but no password is set
            ERR operation not permitted
        another type under the key is reported → Refused(WrongType)
            WRONGTYPE Operation against a key holding the wrong kind of value
        a redirection to another node is unsupported → Refused(Unsupported)
            MOVED 3999 127.0.0.1:6381
            ASK 3999 127.0.0.1:6381
            CROSSSLOT Keys in request don't hash to the same slot
        unknown commands are unsupported → Refused(Unsupported)
            ERR unknown command 'HGETALL', with args beginning with:
            ERR unknown subcommand 'x'
            NOPROTO unsupported protocol version
            ERR DB index is out of range
            ERR invalid DB index
        senseless requests are malformed → Refused(Malformed)
            ERR wrong number of arguments for 'hmset' command
            ERR syntax error
            ERR value is not an integer or out of range
            ERR min or max is not a float
            ERR Protocol error: invalid bulk length
        unknown errors leave the outcome unknown → Unknown(StoreError)
            ERR upstream timed out
            PROXYERR gone
            OOMPH
            ERR";

    #[test]
    fn errors_mean_what_their_first_words_say() {
        let (mut shown, mut meaning) = ("", "");
        for line in GROUPS.trim_start().lines().map(str::trim) {
            match line.split_once(" → ") {
                Some(group) => (shown, meaning) = group,
                None => {
                    let found = format!("{:?}", failure(line.as_bytes()));
                    assert_eq!(found, meaning, "{shown}: {line}");
                }
            }
        }
        assert_eq!(failure(b""), Failure::Unknown(Reason::StoreError));
    }
}

//! The cache traces that Twitter published in 2020.
//!
//! Lines without a header: timestamp in seconds, anonymised key, key size, value size, client,
//! operation, TTL. A read that missed has value size 0. See Yang, Yue, Rashmi: "A large scale
//! analysis of hundreds of in-memory cache clusters at Twitter", OSDI 2020.

use assay_model::Nanos;

use super::cells::{display, size, time, whole};
use super::parse::{Fault, Parse};
use super::request::{ImportedRequest, TimestampPrecision, ValueSize, Verb, key_number};

/// Lines of seven values.
pub(crate) struct Twitter;

impl Parse for Twitter {
    fn timestamps(&self) -> TimestampPrecision {
        TimestampPrecision::Each(Nanos::from_secs(1))
    }

    fn parse(&mut self, line: &[u8], into: &mut Vec<ImportedRequest>) -> Result<(), Fault> {
        // A key may hold commas, so the last five values are found from the end.
        let mut ends = line.rsplitn(6, |&byte| byte == b',');
        let (ttl, verb, client) = (ends.next(), ends.next(), ends.next());
        let (value_size, key_size, rest) = (ends.next(), ends.next(), ends.next());
        let split = rest.and_then(|rest| {
            let comma = rest.iter().position(|&byte| byte == b',')?;
            Some((&rest[..comma], &rest[comma + 1..]))
        });
        let (Some(ttl), Some(verb), Some(client), Some(value_size), Some(key_size), Some(split)) =
            (ttl, verb, client, value_size, key_size, split)
        else {
            let commas = line.iter().filter(|&&byte| byte == b',').count();
            return Err(Fault::Bad(format!("it has {} values instead of 7", commas + 1)));
        };
        let (timestamp, key) = split;
        let at = time("timestamp", timestamp, Nanos::from_secs(1))?;
        let length = whole("key size", key_size)?;
        let bytes = size("value size", value_size)?;
        whole("client", client)?;
        whole("TTL", ttl)?;
        let verb = verb_of(verb)?;
        let value = match (verb, bytes) {
            (Verb::Get, 0) => ValueSize::Absent,
            (Verb::Delete, 0) => ValueSize::Unknown,
            _ => ValueSize::Bytes(bytes),
        };
        into.push(ImportedRequest { at, key: key_number(key, length), verb, value, count: 1 });
        Ok(())
    }
}

/// Whether Twitter's traces know an operation with this name.
pub(crate) fn knows(name: &[u8]) -> bool {
    verb_of(name).is_ok()
}

fn verb_of(name: &[u8]) -> Result<Verb, Fault> {
    match name {
        b"get" | b"gets" => Ok(Verb::Get),
        b"set" => Ok(Verb::Set),
        b"add" => Ok(Verb::Add),
        b"replace" | b"cas" | b"append" | b"prepend" | b"incr" | b"decr" => Ok(Verb::Change),
        b"delete" => Ok(Verb::Delete),
        other => Err(Fault::Bad(format!(
            "operation {} is none of get, gets, set, add, replace, cas, append, prepend, delete, \
             incr, decr",
            display(other)
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::imported::requests::tests::{bad, parsed};

    #[test]
    fn a_line_is_a_request() {
        let expected = ImportedRequest {
            at: Nanos::from_secs(100),
            key: key_number(b"q:x", 22),
            verb: Verb::Get,
            value: ValueSize::Bytes(304),
            count: 1,
        };
        assert_eq!(parsed(Twitter, "100,q:x,22,304,127,get,0"), [expected]);
        let missed = ImportedRequest { value: ValueSize::Absent, ..expected };
        assert_eq!(parsed(Twitter, "100,q:x,22,0,127,gets,0"), [missed]);
        let emptied = ImportedRequest { verb: Verb::Set, value: ValueSize::Bytes(0), ..expected };
        assert_eq!(parsed(Twitter, "100,q:x,22,0,127,set,3600"), [emptied]);
    }

    #[test]
    fn a_key_may_hold_commas() {
        let [request] = parsed(Twitter, "100,a,b,c,5,1,9,delete,0")[..] else { panic!() };
        assert_eq!((request.key, request.verb), (key_number(b"a,b,c", 5), Verb::Delete));
    }

    #[test]
    fn every_operation_has_its_verb() {
        let verb = |name: &str| parsed(Twitter, format!("1,k,1,1,1,{name},0"))[0].verb;
        for name in ["replace", "cas", "append", "prepend", "incr", "decr"] {
            assert_eq!(verb(name), Verb::Change, "{name}");
        }
        assert_eq!([verb("set"), verb("add"), verb("get")], [Verb::Set, Verb::Add, Verb::Get]);
    }

    #[test]
    fn bad_lines_say_what_is_wrong() {
        assert_eq!(bad(Twitter, "100,k,1,2,get,0"), "it has 6 values instead of 7");
        assert_eq!(bad(Twitter, "x,k,1,2,3,get,0"), "timestamp \"x\" is no time");
        assert_eq!(bad(Twitter, "1,k,1,-2,3,get,0"), "value size \"-2\" is no whole number");
        assert!(bad(Twitter, "1,k,1,2,3,GET,0").starts_with("operation \"GET\" is none of get"));
    }
}

//! The lines of KV-replay: `op,key,milliseconds[,size]`.

use assay_model::Nanos;

use super::cells::{display, size, time};
use super::parse::{Fault, Parse};
use super::request::{ImportedRequest, TimestampPrecision, ValueSize, Verb, key_number};

/// Lines of three or four values.
pub(crate) struct KvReplay;

impl Parse for KvReplay {
    fn timestamps(&self) -> TimestampPrecision {
        TimestampPrecision::Each(Nanos::from_millis(1))
    }

    fn parse(&mut self, line: &[u8], into: &mut Vec<ImportedRequest>) -> Result<(), Fault> {
        let cells: Vec<&[u8]> = line.split(|&byte| byte == b',').map(<[u8]>::trim_ascii).collect();
        let (op, key, timestamp, bytes) = match cells[..] {
            [op, key, timestamp] => (op, key, timestamp, None),
            [op, key, timestamp, bytes] => (op, key, timestamp, Some(bytes)),
            _ => {
                return Err(Fault::Bad(format!("it has {} values instead of 3 or 4", cells.len())));
            }
        };
        let at = time("timestamp", timestamp, Nanos::from_millis(1))?;
        let value = match bytes {
            Some(bytes) => ValueSize::Bytes(size("size", bytes)?),
            None => ValueSize::Unknown,
        };
        if key.is_empty() {
            return Err(Fault::Bad("it has no key".to_owned()));
        }
        let key = key_number(key, key.len() as u64);
        let verbs: &[Verb] = match op.to_ascii_uppercase().as_slice() {
            b"READ" => &[Verb::Get],
            b"INSERT" => &[Verb::Set],
            b"UPDATE" => &[Verb::Change],
            b"DELETE" => &[Verb::Delete],
            b"READMODIFYWRITE" => &[Verb::Get, Verb::Change],
            b"SCAN" => return Err(Fault::PassedOver("SCAN".to_owned())),
            _ => {
                return Err(Fault::Bad(format!(
                    "op {} is none of READ, INSERT, UPDATE, DELETE, READMODIFYWRITE",
                    display(op)
                )));
            }
        };
        into.extend(verbs.iter().map(|&verb| ImportedRequest { at, key, verb, value, count: 1 }));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::imported::requests::tests::{bad, parsed};

    #[test]
    fn a_line_is_a_request_with_or_without_a_size() {
        let expected = ImportedRequest {
            at: Nanos::from_millis(1500),
            key: key_number(b"user1", 5),
            verb: Verb::Get,
            value: ValueSize::Bytes(100),
            count: 1,
        };
        assert_eq!(parsed(KvReplay, "READ,user1,1500,100"), [expected]);
        let unsized_one = ImportedRequest { value: ValueSize::Unknown, ..expected };
        assert_eq!(parsed(KvReplay, "read, user1, 1500"), [unsized_one]);
    }

    #[test]
    fn a_read_modify_write_is_two_requests() {
        let verbs: Vec<Verb> =
            parsed(KvReplay, "READMODIFYWRITE,k,1").iter().map(|one| one.verb).collect();
        assert_eq!(verbs, [Verb::Get, Verb::Change]);
    }

    #[test]
    fn bad_lines_say_what_is_wrong() {
        assert_eq!(bad(KvReplay, "READ,k"), "it has 2 values instead of 3 or 4");
        assert!(bad(KvReplay, "POKE,k,1").starts_with("op \"POKE\" is none of READ"));
        assert_eq!(bad(KvReplay, "READ,,1"), "it has no key");
    }
}

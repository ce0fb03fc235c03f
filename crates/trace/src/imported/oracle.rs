//! libCacheSim's oracleGeneral: one request in 24 bytes.
//!
//! Packed, lowest byte first: time in seconds (u32), object (u64), size (u32), place of the next
//! request of the same object (i64, −1 if there is none). There is no operation: all are reads.

use assay_model::Nanos;

use super::parse::{Fault, Parse};
use super::request::{
    ImportedRequest, TimestampPrecision, VALUE_MAX, ValueSize, Verb, object_number,
};

/// The bytes of a record.
pub(crate) const RECORD: usize = 24;

/// Records of 24 bytes.
pub(crate) struct Oracle;

impl Parse for Oracle {
    fn timestamps(&self) -> TimestampPrecision {
        TimestampPrecision::Each(Nanos::from_secs(1))
    }

    fn record(&self) -> Option<usize> {
        Some(RECORD)
    }

    fn parse(&mut self, record: &[u8], into: &mut Vec<ImportedRequest>) -> Result<(), Fault> {
        let (Some(time), Some(object), Some(size), Some(next)) = (
            record.first_chunk::<4>(),
            record.get(4..).and_then(<[u8]>::first_chunk::<8>),
            record.get(12..).and_then(<[u8]>::first_chunk::<4>),
            record.get(16..).and_then(<[u8]>::first_chunk::<8>),
        ) else {
            let length = record.len();
            return Err(Fault::Bad(format!("the file ends {length} bytes into a record of 24")));
        };
        let size = u32::from_le_bytes(*size);
        if u64::from(size) > VALUE_MAX {
            let reason = format!("size {size} is above {VALUE_MAX}, the most for a value");
            return Err(Fault::Bad(reason));
        }
        let next = i64::from_le_bytes(*next);
        if next < -2 {
            return Err(Fault::Bad(format!("its next request is at {next}, which is no place")));
        }
        into.push(ImportedRequest {
            at: Nanos::from_secs(u64::from(u32::from_le_bytes(*time))),
            key: object_number(u64::from_le_bytes(*object)),
            verb: Verb::Get,
            value: ValueSize::Bytes(size),
            count: 1,
        });
        Ok(())
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::imported::requests::tests::{bad, parsed};

    /// One record.
    pub(crate) fn record(time: u32, object: u64, size: u32, next: i64) -> Vec<u8> {
        let mut bytes = time.to_le_bytes().to_vec();
        bytes.extend(object.to_le_bytes());
        bytes.extend(size.to_le_bytes());
        bytes.extend(next.to_le_bytes());
        bytes
    }

    #[test]
    fn a_record_is_a_read() {
        let expected = ImportedRequest {
            at: Nanos::from_secs(5),
            key: object_number(77),
            verb: Verb::Get,
            value: ValueSize::Bytes(4096),
            count: 1,
        };
        assert_eq!(parsed(Oracle, record(5, 77, 4096, -1)), [expected]);
        assert_eq!(parsed(Oracle, record(5, 77, 4096, i64::MAX)), [expected]);
    }

    #[test]
    fn what_is_no_record_is_reported() {
        let cut = &record(5, 77, 4096, -1)[..10];
        assert_eq!(bad(Oracle, cut), "the file ends 10 bytes into a record of 24");
        assert!(bad(Oracle, record(5, 77, u32::MAX, -1)).contains("the most for a value"));
        assert!(bad(Oracle, record(5, 77, 1, i64::MIN)).contains("no place"));
    }
}

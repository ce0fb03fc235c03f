//! Checksum over all records of a part: it proves that they are read as they were written.
//!
//! Parquet's own checksums protect the bytes of pages, but not the data around them, such as the
//! number of values in a page or the name of a column. The checksum over the records changes with
//! any value of any record.

use std::fmt;
use std::ops::AddAssign;

use assay_model::Record;
use assay_model::seed::mix;

/// Odd multiples of it keep the words of a record apart.
const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;

/// The sum of the fingerprints of records, modulo 2^64; their order does not matter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RecordSum(u64);

impl RecordSum {
    /// Adds `records`, with all their columns.
    pub fn add(&mut self, records: &[Record]) {
        for record in records {
            self.0 = self.0.wrapping_add(fingerprint(record));
        }
    }

    /// The text form of a [`RecordSum`]: 16 hexadecimal digits.
    pub fn parse(text: &str) -> Option<RecordSum> {
        let is_hex = text.len() == 16 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        u64::from_str_radix(text, 16).ok().filter(|_| is_hex).map(RecordSum)
    }
}

impl AddAssign for RecordSum {
    fn add_assign(&mut self, other: RecordSum) {
        self.0 = self.0.wrapping_add(other.0);
    }
}

impl fmt::Display for RecordSum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

/// A hash of every column. Nodes came later: a record without one has the hash that it had before.
fn fingerprint(record: &Record) -> u64 {
    mix(words_hash(record) ^ u64::from(record.node).wrapping_mul(GOLDEN))
}

/// A hash of every column but the node: products of pairs of words, folded as wyhash does it
/// (Wang Yi), which takes a few nanoseconds.
fn words_hash(record: &Record) -> u64 {
    let pair = |low: u32, high: u32| u64::from(low) | u64::from(high) << 32;
    let short = |values: [u16; 4]| {
        values.iter().rev().fold(0, |word, value| word << 16 | u64::from(*value))
    };
    let bits = [
        record.kind as u64,
        record.phase as u64,
        record.outcome as u64,
        record.reason as u64,
        record.verified as u64,
        u64::from(record.found),
        u64::from(record.ends_transaction()),
        u64::from(record.ends_process()),
    ];
    let words = [
        record.index,
        record.process,
        record.key,
        record.intended.0,
        record.started.0,
        record.ended.0,
        record.version_written,
        record.version_read,
        pair(record.session, record.bytes),
        pair(record.rows, record.verify_ns),
        short([record.statement, record.requests, record.transaction, record.transaction_type]),
        bits.iter().fold(0, |word, value| word << 8 | value),
    ];
    let mut hash = 0u64;
    for (place, two) in (0u64..).zip(words.chunks_exact(2)) {
        let key = |odd: u64| GOLDEN.wrapping_mul(4 * place + odd);
        let product = u128::from(two[0] ^ key(1)) * u128::from(two[1] ^ key(3));
        hash = hash.rotate_left(23) ^ product as u64 ^ (product >> 64) as u64;
    }
    hash
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::column::Column;
    use crate::samples;

    fn sum(records: &[Record]) -> RecordSum {
        let mut sum = RecordSum::default();
        sum.add(records);
        sum
    }

    #[test]
    fn the_order_of_records_does_not_matter() {
        let records = samples::wild(3, 100);
        let turned: Vec<Record> = records.iter().rev().copied().collect();
        assert_eq!(sum(&records), sum(&turned));
        let mut halves = sum(&records[..40]);
        halves += sum(&records[40..]);
        assert_eq!(sum(&records), halves);
    }

    #[test]
    fn another_value_in_any_column_is_another_sum() {
        let [one, other] = [samples::wild(3, 64), samples::wild(4, 64)];
        for column in Column::ALL {
            let (mut values, mut mixed) = (Vec::new(), one.clone());
            let differs = |(one, other): &(&Record, &Record)| {
                let value = |record: &Record| {
                    let mut values = Vec::new();
                    column.gather(std::slice::from_ref(record), &[0], &mut values);
                    values[0]
                };
                value(one) != value(other)
            };
            let place = one.iter().zip(&other).position(|pair| differs(&pair));
            let place = place.unwrap_or_else(|| panic!("{column:?} never differs"));
            column.gather(&other[place..=place], &[0], &mut values);
            column.scatter(values.into_iter(), &mut mixed[place..=place]);
            assert_ne!(sum(&one), sum(&mixed), "{column:?}");
        }
    }

    #[test]
    fn records_without_a_node_have_the_sum_that_earlier_releases_wrote() {
        let records: Vec<Record> =
            samples::wild(7, 9).iter().map(|record| Record { node: 0, ..*record }).collect();
        let again = |record: &Record| mix(words_hash(record));
        let expected = records.iter().fold(0u64, |sum, one| sum.wrapping_add(again(one)));
        assert_eq!(sum(&records), RecordSum(expected));
    }

    #[test]
    fn a_sum_reads_back_what_it_shows() {
        let some = sum(&samples::wild(1, 3));
        assert_eq!(RecordSum::parse(&some.to_string()), Some(some));
        for wrong in ["", "12", "+00000000000000f", "g000000000000000"] {
            assert_eq!(RecordSum::parse(wrong), None, "{wrong}");
        }
    }
}

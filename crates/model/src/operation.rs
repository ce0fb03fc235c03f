//! One logical operation as numbers, before anything is encoded into bytes.

use crate::arguments::Arguments;
use crate::named_enum;
use crate::nanos::Nanos;
use crate::seed::mix;

named_enum! {
    /// What an operation does with a store.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
    #[repr(u8)]
    pub enum Kind {
        /// Fetch one record.
        Read = 0 => "read",
        /// Change some fields of one record and keep the others.
        Update = 1 => "update",
        /// Add one record with all its fields.
        Insert = 2 => "insert",
        /// Fetch records in the store's key order, starting at a key.
        Scan = 3 => "scan",
        /// Remove one record.
        Delete = 4 => "delete",
        /// Make what a transaction did final.
        Commit = 5 => "commit",
        /// Undo what a transaction did.
        Rollback = 6 => "rollback",
    }
}

impl Kind {
    /// The kinds that access records; the others end transactions.
    pub const OF_RECORDS: [Kind; 5] =
        [Kind::Read, Kind::Update, Kind::Insert, Kind::Scan, Kind::Delete];

    /// The kind with this name.
    pub fn from_name(name: &str) -> Option<Kind> {
        Kind::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// The kind with this code.
    pub const fn from_code(code: u8) -> Option<Kind> {
        if (code as usize) < Kind::ALL.len() { Some(Kind::ALL[code as usize]) } else { None }
    }

    /// Whether the operation changes the store. By a bit mask, which needs no branch: kinds come in
    /// random order, so a processor would often predict it wrongly.
    #[inline]
    pub const fn writes(self) -> bool {
        const WRITES: u32 =
            1 << Kind::Update as u32 | 1 << Kind::Insert as u32 | 1 << Kind::Delete as u32;
        WRITES >> self as u32 & 1 == 1
    }

    /// Whether it ends a transaction instead of accessing records.
    pub const fn ends_transaction(self) -> bool {
        matches!(self, Kind::Commit | Kind::Rollback)
    }
}

/// Which fields of a record an operation touches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fields {
    /// Every field; a read does not name them.
    All,
    /// Every field; a read names each of them (YCSB's `readallfieldsbyname`).
    Named,
    /// The field with this number.
    One(u16),
}

impl Fields {
    /// A code for files: 0 all, 1 named, 2 + n for field n.
    pub const fn code(self) -> u32 {
        match self {
            Fields::All => 0,
            Fields::Named => 1,
            Fields::One(field) => 2 + field as u32,
        }
    }

    /// The selection with this code.
    pub const fn from_code(code: u32) -> Option<Fields> {
        match code {
            0 => Some(Fields::All),
            1 => Some(Fields::Named),
            n if n - 2 <= u16::MAX as u32 => Some(Fields::One((n - 2) as u16)),
            _ => None,
        }
    }
}

/// One operation of a process.
///
/// An operation holds numbers only;
/// [`OperationEncoder`](crate::source::OperationEncoder) turns them into key
/// and value bytes. Value bytes are a function of (seed, phase, index, field), so they need no
/// space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operation {
    /// The operation's own number in the whole stream: process × width + its place in the process.
    pub index: u64,
    /// The number of the record it is about.
    pub key: u64,
    /// Its kind.
    pub kind: Kind,
    /// The fields it reads or writes.
    pub fields: Fields,
    /// The most records a scan returns; 1 for everything else.
    pub limit: u32,
    /// The sum of the sizes of the values it writes, in bytes.
    pub bytes: u32,
    /// The query it executes: its place in the [`Catalogue`](crate::Catalogue) plus one; 0 means
    /// records by key.
    pub statement: u16,
    /// Place of its transaction in the process, from 0.
    pub transaction: u16,
    /// Number of the transaction's type in the plan's list of names; 0 is a lone operation.
    pub transaction_type: u16,
    /// Whether it is the last operation of its transaction.
    pub ends_transaction: bool,
    /// The think time before this operation.
    pub think: Nanos,
}

/// The name of transaction type 0: one operation by itself.
pub const LONE: &str = "operation";
/// YCSB's read followed by an update of the same record.
pub const READ_MODIFY_WRITE: &str = "read-modify-write";

impl Operation {
    /// A fingerprint of the operation; timing does not enter it.
    ///
    /// The hash of a trace is the sum of the fingerprints of its operations modulo 2^128. A sum
    /// does not care about order, so workers and agents each add up their share and the total is
    /// the same however many there are. Two 64-bit halves are mixed from different linear
    /// combinations, each by two rounds of [`mix`].
    #[inline]
    pub fn fingerprint(&self) -> u128 {
        let shape = u64::from(self.kind as u8)
            | u64::from(self.fields.code()) << 8
            | u64::from(self.limit) << 32;
        let size = u64::from(self.bytes)
            | u64::from(self.transaction) << 32
            | u64::from(self.transaction_type) << 48;
        // Operations on records keep the fingerprints that they had before there were statements.
        let statement = match self.statement {
            0 => 0,
            number => mix(u64::from(number)),
        };
        let place = mix(self.index ^ 0x6173_7361_7900_0001) ^ statement;
        let first = mix(place ^ self.key.rotate_left(17) ^ mix(shape));
        let second = mix(first ^ size.wrapping_add(0x9E37_79B9_7F4A_7C15) ^ place.rotate_left(32));
        u128::from(first.wrapping_add(second.rotate_left(29))) << 64 | u128::from(second)
    }
}

/// A fingerprint of the operation with its arguments, which the hash of a trace sums up.
///
/// Operations on records have no arguments, so theirs is [`Operation::fingerprint`]. Those of a
/// query are mixed with the operation's own, so that two queries cannot exchange theirs unseen.
#[inline]
pub fn fingerprint_with(operation: &Operation, arguments: &Arguments, place: usize) -> u128 {
    let own = operation.fingerprint();
    if operation.statement == 0 {
        return own;
    }
    let reported = arguments.fingerprint(place);
    let first = mix(reported ^ (own >> 64) as u64);
    let second = mix(first ^ reported.rotate_left(32) ^ own as u64);
    own.wrapping_add(u128::from(first) << 64 | u128::from(second))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn updates_inserts_and_deletes_write() {
        let writing: Vec<Kind> = Kind::ALL.into_iter().filter(|kind| kind.writes()).collect();
        assert_eq!(writing, [Kind::Update, Kind::Insert, Kind::Delete]);
    }

    fn read(index: u64, key: u64) -> Operation {
        Operation {
            index,
            key,
            kind: Kind::Read,
            fields: Fields::All,
            limit: 1,
            bytes: 0,
            statement: 0,
            transaction: 0,
            transaction_type: 0,
            ends_transaction: true,
            think: Nanos::ZERO,
        }
    }

    #[test]
    fn every_part_of_an_operation_moves_its_fingerprint() {
        let plain = read(3, 9);
        let others = [
            Operation { index: 4, ..plain },
            Operation { key: 10, ..plain },
            Operation { kind: Kind::Update, ..plain },
            Operation { fields: Fields::One(0), ..plain },
            Operation { limit: 2, ..plain },
            Operation { bytes: 1, ..plain },
            Operation { transaction: 1, ..plain },
            Operation { transaction_type: 1, ..plain },
            Operation { statement: 1, ..plain },
        ];
        for other in others {
            assert_ne!(plain.fingerprint(), other.fingerprint(), "{other:?}");
        }
    }

    #[test]
    fn swapping_two_keys_changes_the_sum() {
        let sum = |a: Operation, b: Operation| a.fingerprint().wrapping_add(b.fingerprint());
        assert_ne!(sum(read(1, 5), read(2, 6)), sum(read(1, 6), read(2, 5)));
    }

    #[test]
    fn arguments_move_the_fingerprint_of_a_query_alone() {
        let arguments = |numbers: &[i64]| {
            let mut arguments = Arguments::default();
            for number in numbers {
                arguments.push(crate::Argument::Given(crate::Datum::Int(*number)));
                arguments.end_operation();
            }
            arguments
        };
        let record = read(1, 5);
        assert_eq!(fingerprint_with(&record, &arguments(&[7]), 0), record.fingerprint());
        let queries = [1, 2].map(|index| Operation { statement: 3, ..read(index, 5) });
        let sum = |numbers| {
            let arguments = arguments(numbers);
            let each = (0..2).map(|place| fingerprint_with(&queries[place], &arguments, place));
            each.fold(0u128, u128::wrapping_add)
        };
        assert_ne!(sum(&[7, 8]), sum(&[8, 7]));
        assert_ne!(sum(&[7, 8]), sum(&[7, 9]));
    }

    #[test]
    fn field_codes_round_trip() {
        for fields in [Fields::All, Fields::Named, Fields::One(0), Fields::One(u16::MAX)] {
            assert_eq!(Fields::from_code(fields.code()), Some(fields));
        }
    }
}

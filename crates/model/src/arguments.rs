//! The arguments of a process's queries: given by the plan, or taken from an earlier answer.

use crate::datum::{Datum, Decimal};
use crate::seed::mix;

/// The arguments of every operation of one process, in one buffer that is used again and again.
#[derive(Debug, Default, PartialEq)]
pub struct Arguments {
    bytes: Vec<u8>,
    /// Where the arguments of each operation end in `bytes`.
    ends: Vec<u32>,
    /// The places of the operations whose rows a later one takes from, rising.
    sources: Vec<u16>,
}

/// One argument.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Argument<'a> {
    /// The plan has decided it.
    Given(Datum<'a>),
    /// It follows from what the store answered earlier in the process.
    Taken(Taken),
}

impl<'a> From<Datum<'a>> for Argument<'a> {
    fn from(datum: Datum<'a>) -> Argument<'a> {
        Argument::Given(datum)
    }
}

impl From<Taken> for Argument<'_> {
    fn from(taken: Taken) -> Self {
        Argument::Taken(taken)
    }
}

/// How an argument follows from the answer of an earlier operation of the same process.
///
/// `pick(rows of operation, column) × times + plus`, then `+ wrap.by` if that is below
/// `wrap.below`. An answer without rows, or that never came, gives [`Datum::Null`].
///
/// This is what TPC-C needs and no more: an order's number (`d_next_o_id - 1`), a line's amount
/// (price × quantity), a stock that is filled up when it gets low, the middle one of the customers
/// of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Taken {
    /// Place of the earlier operation in the process.
    pub operation: u16,
    /// Place of the column in its output.
    pub column: u16,
    /// Which rows count.
    pub pick: Pick,
    /// A factor; 1 changes nothing, also for what is no number.
    pub times: i64,
    /// A summand; 0 changes nothing.
    pub plus: i64,
    /// What happens to a number that gets too small.
    pub wrap: Option<Wrap>,
}

/// A number below `below` is raised by `by`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Wrap {
    /// The smallest number that stays.
    pub below: i64,
    /// What is added to smaller ones, once.
    pub by: i64,
}

/// Which rows of an answer an argument is taken from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Pick {
    /// The first row.
    First = 0,
    /// The last row.
    Last = 1,
    /// Row n/2 rounded up of n, counted from 1 (TPC-C 2.5.2.2: the customer of a last name).
    Middle = 2,
    /// The sum over all rows.
    Sum = 3,
}

impl Pick {
    /// All picks, in the order of their codes.
    pub const ALL: [Pick; 4] = [Pick::First, Pick::Last, Pick::Middle, Pick::Sum];
}

/// Marks an argument that is taken; no datum's tag.
const TAKEN: u8 = 0xFF;

/// Bytes of a taken argument behind its mark.
const TAKEN_LENGTH: usize = 2 + 2 + 1 + 8 + 8 + 1 + 8 + 8;

impl Taken {
    /// The value of `column` in the first row that `operation` returned.
    pub const fn first(operation: u16, column: u16) -> Taken {
        Taken { operation, column, pick: Pick::First, times: 1, plus: 0, wrap: None }
    }

    /// The argument's value, given the picked one; text and other values that are no exact numbers
    /// stay as they are.
    pub fn apply<'a>(&self, picked: Datum<'a>) -> Datum<'a> {
        let Some(number) = picked.exact() else { return picked };
        let shifted = number
            .times(self.times)
            .and_then(|product| product.plus(Decimal { mantissa: self.plus, scale: 0 }));
        let wrapped = shifted.and_then(|shifted| match self.wrap {
            Some(wrap) if shifted < (Decimal { mantissa: wrap.below, scale: 0 }) => {
                shifted.plus(Decimal { mantissa: wrap.by, scale: 0 })
            }
            _ => Some(shifted),
        });
        match wrapped {
            Some(Decimal { mantissa, scale: 0 }) => Datum::Int(mantissa),
            Some(decimal) => Datum::Decimal(decimal),
            None => Datum::Null,
        }
    }

    fn encode(&self, into: &mut Vec<u8>) {
        into.push(TAKEN);
        into.extend(self.operation.to_le_bytes());
        into.extend(self.column.to_le_bytes());
        into.push(self.pick as u8);
        into.extend(self.times.to_le_bytes());
        into.extend(self.plus.to_le_bytes());
        into.push(u8::from(self.wrap.is_some()));
        let wrap = self.wrap.unwrap_or(Wrap { below: 0, by: 0 });
        into.extend(wrap.below.to_le_bytes());
        into.extend(wrap.by.to_le_bytes());
    }

    fn decode(bytes: &[u8; TAKEN_LENGTH]) -> Option<Taken> {
        let short = |at: usize| u16::from_le_bytes([bytes[at], bytes[at + 1]]);
        let long = |at: usize| {
            let mut number = [0; 8];
            number.copy_from_slice(&bytes[at..at + 8]);
            i64::from_le_bytes(number)
        };
        let wrap = Wrap { below: long(22), by: long(30) };
        Some(Taken {
            operation: short(0),
            column: short(2),
            pick: *Pick::ALL.get(usize::from(bytes[4]))?,
            times: long(5),
            plus: long(13),
            wrap: (bytes[21] != 0).then_some(wrap),
        })
    }
}

impl Clone for Arguments {
    fn clone(&self) -> Arguments {
        let Arguments { bytes, ends, sources } = self;
        Arguments { bytes: bytes.clone(), ends: ends.clone(), sources: sources.clone() }
    }

    /// Keeps the buffers: workers copy the arguments of process after process.
    fn clone_from(&mut self, other: &Arguments) {
        self.bytes.clone_from(&other.bytes);
        self.ends.clone_from(&other.ends);
        self.sources.clone_from(&other.sources);
    }
}

impl Arguments {
    /// Forgets everything, for another process.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
        self.sources.clear();
    }

    /// Adds an argument to the operation that is being described.
    ///
    /// # Panics
    /// If the arguments of a process grow beyond 4 GiB.
    pub fn push(&mut self, argument: Argument<'_>) {
        match argument {
            Argument::Given(datum) => datum.encode(&mut self.bytes),
            Argument::Taken(taken) => {
                taken.encode(&mut self.bytes);
                self.add_source(taken.operation);
            }
        }
    }

    /// Ends the description of an operation; the next argument belongs to the one after it.
    ///
    /// # Panics
    /// If the arguments of a process grow beyond 4 GiB.
    pub fn end_operation(&mut self) {
        self.ends.push(u32::try_from(self.bytes.len()).expect("arguments fit into 4 GiB"));
    }

    /// Adds an operation whose arguments are encoded already, for example in a trace.
    ///
    /// Gives back whether `bytes` are whole arguments; if not, nothing was added.
    pub fn push_encoded(&mut self, bytes: &[u8]) -> bool {
        let begin = self.bytes.len();
        self.bytes.extend_from_slice(bytes);
        let mut rest = bytes;
        while !rest.is_empty() {
            let Some((argument, behind)) = decode(rest) else {
                self.bytes.truncate(begin);
                return false;
            };
            if let Argument::Taken(taken) = argument {
                self.add_source(taken.operation);
            }
            rest = behind;
        }
        self.end_operation();
        true
    }

    fn add_source(&mut self, operation: u16) {
        if let Err(place) = self.sources.binary_search(&operation) {
            self.sources.insert(place, operation);
        }
    }

    /// How many operations have been described.
    pub fn operations(&self) -> usize {
        self.ends.len()
    }

    /// The encoded arguments of the operation at `place`; empty if it was not described.
    pub fn encoded(&self, place: usize) -> &[u8] {
        let Some(&end) = self.ends.get(place) else { return &[] };
        let begin = place.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.bytes[begin as usize..end as usize]
    }

    /// The arguments of the operation at `place`.
    pub fn of(&self, place: usize) -> impl Iterator<Item = Argument<'_>> {
        let mut rest = self.encoded(place);
        std::iter::from_fn(move || {
            let (argument, behind) = decode(rest)?;
            rest = behind;
            Some(argument)
        })
    }

    /// Whether a later operation takes something from the rows of the one at `place`.
    pub fn is_source(&self, place: usize) -> bool {
        u16::try_from(place).is_ok_and(|place| self.sources.binary_search(&place).is_ok())
    }

    /// A fingerprint of the arguments of the operation at `place`, for the hash of a trace.
    pub fn fingerprint(&self, place: usize) -> u64 {
        let bytes = self.encoded(place);
        let (words, rest) = bytes.as_chunks::<8>();
        let start = mix(bytes.len() as u64 ^ 0x6172_6775_6d65_6e74);
        let whole = words.iter().fold(start, |sum, word| mix(sum ^ u64::from_le_bytes(*word)));
        rest.iter().fold(whole, |sum, byte| mix(sum ^ u64::from(*byte)))
    }
}

/// The first argument of `bytes`, with what follows it.
fn decode(bytes: &[u8]) -> Option<(Argument<'_>, &[u8])> {
    if let Some((&TAKEN, rest)) = bytes.split_first() {
        let (taken, rest) = rest.split_first_chunk::<TAKEN_LENGTH>()?;
        return Some((Argument::Taken(Taken::decode(taken)?), rest));
    }
    Datum::decode(bytes).map(|(datum, rest)| (Argument::Given(datum), rest))
}

/// The arguments of one call: values only, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameters<'a> {
    encoded: &'a [u8],
}

impl<'a> Parameters<'a> {
    /// No arguments.
    pub const NONE: Parameters<'static> = Parameters { encoded: &[] };

    /// The values that [`Datum::encode`] has put into `encoded` one after another.
    pub fn new(encoded: &'a [u8]) -> Parameters<'a> {
        Parameters { encoded }
    }

    /// Their encoding.
    pub fn encoded(&self) -> &'a [u8] {
        self.encoded
    }

    /// Each value in order.
    pub fn iter(&self) -> impl Iterator<Item = Datum<'a>> + use<'a> {
        let mut rest = self.encoded;
        std::iter::from_fn(move || {
            let (datum, behind) = Datum::decode(rest)?;
            rest = behind;
            Some(datum)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(text: &str) -> Datum<'static> {
        Datum::Decimal(text.parse().unwrap())
    }

    #[test]
    fn arguments_come_back_by_operation() {
        let taken =
            Taken { plus: -1, wrap: Some(Wrap { below: 10, by: 91 }), ..Taken::first(2, 1) };
        let mut arguments = Arguments::default();
        arguments.push(Argument::Given(Datum::Int(4)));
        arguments.push(Argument::Given(Datum::Text("x")));
        arguments.end_operation();
        arguments.end_operation();
        arguments.push(Argument::Taken(taken));
        arguments.end_operation();
        let of = |place| arguments.of(place).collect::<Vec<_>>();
        assert_eq!(of(0), [Argument::Given(Datum::Int(4)), Argument::Given(Datum::Text("x"))]);
        assert_eq!(of(1), []);
        assert_eq!(of(2), [Argument::Taken(taken)]);
        assert!(arguments.is_source(2) && !arguments.is_source(0));
        let mut again = Arguments::default();
        (0..3).for_each(|place| assert!(again.push_encoded(arguments.encoded(place))));
        assert_eq!(again, arguments);
        assert!(!again.push_encoded(&[TAKEN, 0]));
        assert_eq!(again, arguments);
    }

    #[test]
    fn a_taken_number_is_scaled_shifted_and_wrapped() {
        let first = Taken::first(0, 0);
        assert_eq!(Taken { plus: -1, ..first }.apply(Datum::Int(3001)), Datum::Int(3000));
        assert_eq!(Taken { times: 5, ..first }.apply(number("1.20")), number("6.00"));
        let stock = Taken { plus: -5, wrap: Some(Wrap { below: 10, by: 91 }), ..first };
        assert_eq!(stock.apply(Datum::Int(15)), Datum::Int(10));
        assert_eq!(stock.apply(Datum::Int(14)), Datum::Int(100));
        assert_eq!(first.apply(Datum::Text("a")), Datum::Text("a"));
        assert_eq!(Taken { times: 2, ..first }.apply(Datum::Int(i64::MAX)), Datum::Null);
    }

    #[test]
    fn a_fingerprint_sees_every_argument() {
        let one = |datums: &[Datum<'_>]| {
            let mut arguments = Arguments::default();
            datums.iter().for_each(|datum| arguments.push(Argument::Given(*datum)));
            arguments.end_operation();
            arguments.fingerprint(0)
        };
        let all = [
            one(&[]),
            one(&[Datum::Null]),
            one(&[Datum::Int(1)]),
            one(&[Datum::Int(1), Datum::Int(2)]),
            one(&[Datum::Int(2), Datum::Int(1)]),
        ];
        let distinct: std::collections::BTreeSet<u64> = all.into_iter().collect();
        assert_eq!(distinct.len(), all.len());
    }
}

//! First accesses to keys, which decide the data that a trace needs before it is run.

use std::collections::hash_map::{Entry, HashMap};
use std::hash::BuildHasherDefault;

use super::request::{ImportedRequest, ValueSize, Verb};
use crate::stat::KeyHasher;

/// Keys at most: a table for so many takes 3.4 GB, and 2.8 GB more when they are sorted.
pub const KEYS_MAX: usize = 117_000_000;

/// Whether a key must be there before the trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// So far it was only looked for in vain, so it must not be there.
    Missed,
    /// It was read before it was written.
    Needed,
    /// It was written before it was read.
    Written,
}

/// The state of one key after the requests so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FirstAccess {
    /// Whether it must be there before.
    pub state: State,
    /// The first size that is known of its value.
    pub size: Option<u32>,
}

impl FirstAccess {
    /// What one request says.
    pub fn of(request: &ImportedRequest) -> FirstAccess {
        let size = match request.value {
            ValueSize::Bytes(size) => Some(size),
            ValueSize::Unknown | ValueSize::Absent => None,
        };
        let state = match (request.verb, request.value) {
            (Verb::Get, ValueSize::Absent) => State::Missed,
            (Verb::Set | Verb::Add, _) => State::Written,
            (Verb::Get | Verb::Change | Verb::Delete, _) => State::Needed,
        };
        FirstAccess { state, size }
    }

    /// What both say together, `later` being about later requests; associative.
    pub fn then(self, later: FirstAccess) -> FirstAccess {
        let state = match self.state {
            State::Missed => later.state,
            state => state,
        };
        FirstAccess { state, size: self.size.or(later.size) }
    }
}

type Table = HashMap<u64, FirstAccess, BuildHasherDefault<KeyHasher>>;

/// All keys of a trace.
#[derive(Default)]
pub struct FirstAccesses(Table);

impl FirstAccesses {
    /// Notes a request; false if it names a key more than `most`.
    pub fn add(&mut self, request: &ImportedRequest, most: usize) -> bool {
        let first_access = FirstAccess::of(request);
        let has_room = self.0.len() < most;
        match self.0.entry(request.key) {
            Entry::Occupied(mut there) => {
                let both = there.get().then(first_access);
                there.insert(both);
            }
            Entry::Vacant(_) if !has_room => return false,
            Entry::Vacant(free) => drop(free.insert(first_access)),
        }
        true
    }

    /// All keys in rising order, each with what all of its requests say.
    pub fn sorted(self) -> Vec<(u64, FirstAccess)> {
        let mut keys: Vec<(u64, FirstAccess)> = self.0.into_iter().collect();
        keys.sort_unstable_by_key(|&(key, _)| key);
        keys
    }
}

#[cfg(test)]
mod tests {
    use assay_model::Nanos;

    use super::*;

    fn request(key: u64, verb: Verb, value: ValueSize) -> ImportedRequest {
        ImportedRequest { at: Nanos::ZERO, key, verb, value, count: 1 }
    }

    /// Requests of one key in a language of letters: g get, m missed, s set, c change, d delete,
    /// each with a size if one is known.
    fn describe(steps: &str) -> (State, Option<u32>) {
        let touches = steps.split(' ').map(|word| {
            let (letter, size) = word.split_at(1);
            let value = size.parse().map_or(ValueSize::Unknown, ValueSize::Bytes);
            FirstAccess::of(&match letter {
                "g" => request(1, Verb::Get, value),
                "m" => request(1, Verb::Get, ValueSize::Absent),
                "s" => request(1, Verb::Set, value),
                "c" => request(1, Verb::Change, value),
                _ => request(1, Verb::Delete, value),
            })
        });
        let all = touches.reduce(FirstAccess::then).expect("a steps has words");
        (all.state, all.size)
    }

    #[test]
    fn the_first_access_to_a_key_decides() {
        assert_eq!(describe("g5 s9"), (State::Needed, Some(5)));
        assert_eq!(describe("s9 g5"), (State::Written, Some(9)));
        assert_eq!(describe("m m s7 g7"), (State::Written, Some(7)));
        assert_eq!(describe("m g7 s9"), (State::Needed, Some(7)));
        assert_eq!(describe("m"), (State::Missed, None));
        assert_eq!(describe("g s9"), (State::Needed, Some(9)), "the first size that is known");
        assert_eq!(describe("d"), (State::Needed, None));
        assert_eq!(describe("c3"), (State::Needed, Some(3)));
    }

    #[test]
    fn keys_come_in_order_and_no_more_than_there_is_room_for() {
        let mut first_accesses = FirstAccesses::default();
        let mut add =
            |key| first_accesses.add(&request(key, Verb::Get, ValueSize::Bytes(key as u32)), 3);
        assert_eq!([5, 2, 9, 2, 7, 5].map(&mut add), [true, true, true, true, false, true]);
        let keys: Vec<u64> = first_accesses.sorted().iter().map(|(key, _)| *key).collect();
        assert_eq!(keys, [2, 5, 9]);
    }
}

//! First accesses to keys, which decide the data that a trace needs before it is run.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::hash_map::{Entry, HashMap};
use std::fs::File;
use std::hash::BuildHasherDefault;
use std::io::{self, BufReader, BufWriter, Read, Seek, Write};
use std::path::PathBuf;

use super::request::{ImportedRequest, ValueSize, Verb};
use crate::stat::KeyHasher;

/// Keys held in memory at most: a table for so many takes about 105 MB, the next larger one twice
/// that.
pub const KEYS_MAX: usize = 3_600_000;
/// The bytes of a key in a sorted run: number, size, state, padding.
const ENTRY: usize = 16;
/// The text of an unknown size.
const NO_SIZE: u32 = u32::MAX;

/// Whether a key must be there before the trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum State {
    /// So far it was only looked for in vain, so it must not be there.
    Missed,
    /// It was read before it was written.
    Needed,
    /// It was written before it was read.
    Written,
}

/// The state of one key after the requests so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
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

    fn to_bytes(self, key: u64) -> [u8; ENTRY] {
        let mut bytes = [0; ENTRY];
        bytes[..8].copy_from_slice(&key.to_le_bytes());
        bytes[8..12].copy_from_slice(&self.size.unwrap_or(NO_SIZE).to_le_bytes());
        bytes[12] = self.state as u8;
        bytes
    }

    fn from_bytes(bytes: [u8; ENTRY]) -> (u64, FirstAccess) {
        let (key, rest) = bytes.split_first_chunk().expect("an entry begins with its key");
        let size = rest.first_chunk().expect("a size follows the key");
        let size = Some(u32::from_le_bytes(*size)).filter(|&size| size != NO_SIZE);
        let states = [State::Missed, State::Needed, State::Written];
        let state = states[usize::from(bytes[12]).min(2)];
        (u64::from_le_bytes(*key), FirstAccess { state, size })
    }
}

type Table = HashMap<u64, FirstAccess, BuildHasherDefault<KeyHasher>>;

/// All keys of a trace, in bounded memory: what does not fit lies sorted in files without names.
pub struct FirstAccesses {
    table: Table,
    most: usize,
    /// The files are made beside this one.
    beside: PathBuf,
    runs: Vec<File>,
}

impl FirstAccesses {
    /// No key yet; at most `most` are held in memory, the others in files beside `beside`.
    pub fn new(most: usize, beside: PathBuf) -> FirstAccesses {
        FirstAccesses { table: Table::default(), most: most.max(1), beside, runs: Vec::new() }
    }

    /// Notes a request.
    ///
    /// # Errors
    /// If a file cannot be written.
    pub fn add(&mut self, request: &ImportedRequest) -> io::Result<()> {
        let first_access = FirstAccess::of(request);
        match self.table.entry(request.key) {
            Entry::Occupied(mut there) => {
                let both = there.get().then(first_access);
                there.insert(both);
            }
            Entry::Vacant(free) => {
                free.insert(first_access);
                if self.table.len() == self.most {
                    self.spill()?;
                }
            }
        }
        Ok(())
    }

    fn sorted(&mut self) -> Vec<(u64, FirstAccess)> {
        let mut keys: Vec<(u64, FirstAccess)> = self.table.drain().collect();
        keys.sort_unstable_by_key(|&(key, _)| key);
        keys
    }

    /// Writes all keys in memory as one sorted run.
    fn spill(&mut self) -> io::Result<()> {
        let mut name = self.beside.as_os_str().to_owned();
        name.push(format!(".keys-{}.partial", self.runs.len()));
        let path = PathBuf::from(name);
        let file =
            File::options().create(true).truncate(true).read(true).write(true).open(&path)?;
        // Open but without a name: it goes with us, whatever becomes of us.
        std::fs::remove_file(&path)?;
        let mut into = BufWriter::new(file);
        for (key, first_access) in self.sorted() {
            into.write_all(&first_access.to_bytes(key))?;
        }
        let mut file = into.into_inner().map_err(io::IntoInnerError::into_error)?;
        file.rewind()?;
        self.runs.push(file);
        Ok(())
    }

    /// All keys in rising order, each once.
    ///
    /// # Errors
    /// If a file cannot be read.
    pub fn merge(mut self) -> io::Result<Merged> {
        let memory = self.sorted().into_iter();
        let mut runs: Vec<Run> =
            self.runs.into_iter().map(|file| Run::File(BufReader::new(file))).collect();
        runs.push(Run::Memory(memory));
        let mut heads = BinaryHeap::new();
        for (number, run) in runs.iter_mut().enumerate() {
            if let Some((key, first_access)) = run.next()? {
                heads.push(Reverse((key, number, first_access)));
            }
        }
        Ok(Merged { runs, heads })
    }
}

enum Run {
    File(BufReader<File>),
    Memory(std::vec::IntoIter<(u64, FirstAccess)>),
}

impl Run {
    fn next(&mut self) -> io::Result<Option<(u64, FirstAccess)>> {
        match self {
            Run::Memory(keys) => Ok(keys.next()),
            Run::File(file) => {
                let mut bytes = [0; ENTRY];
                match file.read_exact(&mut bytes) {
                    Ok(()) => Ok(Some(FirstAccess::from_bytes(bytes))),
                    Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(None),
                    Err(error) => Err(error),
                }
            }
        }
    }
}

/// All keys of a trace in rising order.
pub struct Merged {
    /// Runs in the order of time, so that of equal keys the earlier comes first.
    runs: Vec<Run>,
    heads: BinaryHeap<Reverse<(u64, usize, FirstAccess)>>,
}

impl Merged {
    fn pop(&mut self) -> io::Result<Option<(u64, FirstAccess)>> {
        let Some(Reverse((key, number, first_access))) = self.heads.pop() else {
            return Ok(None);
        };
        if let Some((next, first_access)) = self.runs[number].next()? {
            self.heads.push(Reverse((next, number, first_access)));
        }
        Ok(Some((key, first_access)))
    }

    /// The next key with what all of its requests say.
    ///
    /// # Errors
    /// If a file cannot be read.
    pub fn advance(&mut self) -> io::Result<Option<(u64, FirstAccess)>> {
        let Some((key, mut first_access)) = self.pop()? else { return Ok(None) };
        while self.heads.peek().is_some_and(|Reverse((other, _, _))| *other == key) {
            if let Some((_, later)) = self.pop()? {
                first_access = first_access.then(later);
            }
        }
        Ok(Some((key, first_access)))
    }
}

#[cfg(test)]
mod tests {
    use assay_model::{Nanos, Seed};

    use super::*;

    const VERBS: [Verb; 5] = [Verb::Get, Verb::Set, Verb::Add, Verb::Change, Verb::Delete];

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

    /// Ten thousand requests of two hundred keys.
    fn requests() -> Vec<ImportedRequest> {
        let mut draws = Seed(5).draws(1, 0);
        (0..10_000)
            .map(|_| {
                let verb = VERBS[draws.below(5) as usize];
                let value = match draws.below(3) {
                    0 => ValueSize::Unknown,
                    1 => ValueSize::Absent,
                    _ => ValueSize::Bytes(draws.below(1000) as u32),
                };
                request(draws.below(200), verb, value)
            })
            .collect()
    }

    fn merged(most: usize) -> Vec<(u64, FirstAccess)> {
        let folder = tempfile::tempdir().unwrap();
        let mut first_accesses = FirstAccesses::new(most, folder.path().join("out.trace"));
        requests().iter().for_each(|request| first_accesses.add(request).unwrap());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "no file has a name");
        let mut merged = first_accesses.merge().unwrap();
        std::iter::from_fn(|| merged.advance().unwrap()).collect()
    }

    #[test]
    fn the_bound_on_memory_changes_nothing() {
        let expected = merged(1000);
        assert_eq!(expected.len(), 200);
        assert!(expected.is_sorted_by_key(|(key, _)| *key));
        for most in [1, 7, 50, 199] {
            assert_eq!(merged(most), expected, "{most} keys in memory");
        }
    }
}

//! One request of an imported trace, whatever format it was written in.

use assay_model::seed::mix;
use assay_model::{Kind, Nanos, named_enum};

/// The bits of a key's number that say how long the key is.
pub const LENGTH_BITS: u32 = 12;
/// Keys are distinguished by their lengths up to this one; longer ones count as this long.
pub const LENGTH_MAX: u64 = (1 << LENGTH_BITS) - 1;
/// The greatest value that is taken over: the largest string that Redis keeps.
pub const VALUE_MAX: u64 = 512 << 20;

named_enum! {
    /// A format of imported traces.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum Format {
        /// Twitter's cache traces of 2020: lines of seven values.
        Twitter => "twitter",
        /// Meta's key-value cache traces as CacheBench replays them: lines under a header.
        CacheLib => "cachelib",
        /// libCacheSim's oracleGeneral: binary records of 24 bytes.
        Oracle => "oracle",
        /// What Redis's command MONITOR prints.
        Monitor => "monitor",
        /// The lines of KV-replay, a replay client that grew from YCSB.
        KvReplay => "kv-replay",
    }
}

impl Format {
    /// The format with this name.
    pub fn from_name(name: &str) -> Option<Format> {
        Format::ALL.into_iter().find(|format| format.name() == name)
    }

    /// The form of its records, for errors about other files.
    pub const fn expected(self) -> &'static str {
        match self {
            Format::Twitter => {
                "timestamp,key,key size,value size,client,operation,TTL, such as \
                 1583990400,nz:u:eeW511W3dcH3de3d15ec,22,304,127,get,0"
            }
            Format::CacheLib => {
                "a header that names at least key, op, size, then lines in its order, such as \
                 op_time,key,key_size,op,op_count,size"
            }
            Format::Oracle => {
                "24 bytes: time (4), object (8), size (4), place of its next request (8), each \
                 with the lowest byte first"
            }
            Format::Monitor => {
                "a time in seconds, [database address], quoted words, such as \
                 1460100081.165665 [0 127.0.0.1:51706] \"get\" \"user:1\""
            }
            Format::KvReplay => "op,key,milliseconds[,size], such as READ,user1,1500,100",
        }
    }
}

/// The time resolution of a format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimestampPrecision {
    /// Not at all: there is only an order.
    Absent,
    /// To this unit; several requests may carry the same stamp.
    Each(Nanos),
}

/// What a request does, in the terms of caches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verb {
    /// Fetch a value.
    Get,
    /// Write a value, whether or not there is one.
    Set,
    /// Write a value only if there is none.
    Add,
    /// Change a value that is there.
    Change,
    /// Remove a value.
    Delete,
}

impl Verb {
    /// The operation that stands for it.
    ///
    /// Our insert writes a record whether or not there is one, as a set does; our update leaves a
    /// missing record alone, as replace, append or increment do. An add to a key that is there
    /// would change nothing, but a trace does not say which those were: it writes.
    pub const fn kind(self) -> Kind {
        match self {
            Verb::Get => Kind::Read,
            Verb::Set | Verb::Add => Kind::Insert,
            Verb::Change => Kind::Update,
            Verb::Delete => Kind::Delete,
        }
    }
}

/// What is known of the value that a request is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueSize {
    /// Nothing.
    Unknown,
    /// There was none: the request missed.
    Absent,
    /// It has this many bytes.
    Bytes(u32),
}

/// One request of an imported trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ImportedRequest {
    /// When, since whatever moment the format counts from; zero if it does not say.
    pub at: Nanos,
    /// The number of its key; see [`key_number`].
    pub key: u64,
    /// Its kind.
    pub verb: Verb,
    /// The value that it found or writes.
    pub value: ValueSize,
    /// How often it is sent at this moment.
    pub count: u32,
}

/// The number of the key called `name`, whose length in bytes is `length`, or 0 if unknown.
///
/// The upper 52 bits are a hash of the name, so that the same name has the same number in every
/// file, without a table of names. Among n names the chance that any two share a hash is about
/// n² / 2^53: one in nine thousand for a million, about one expected pair for a hundred million.
pub fn key_number(name: &[u8], length: u64) -> u64 {
    let chunks = name.chunks_exact(8);
    let mut rest = [0; 8];
    rest[..chunks.remainder().len()].copy_from_slice(chunks.remainder());
    let word = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().expect("a chunk is a word"));
    let start = mix(name.len() as u64 ^ 0x666F_7265_6967_6E00);
    let hash = chunks.map(word).chain([u64::from_le_bytes(rest)]).fold(start, |hash, word| {
        mix(hash.rotate_left(23) ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15)
    });
    with_length(mix(hash), length)
}

/// The number of the object with this number, whose key's length is unknown.
pub fn object_number(object: u64) -> u64 {
    with_length(mix(object ^ 0x6F62_6A65_6374_0000), 0)
}

/// The number that `key` has in another copy of the key space; copy 0 is the original.
pub fn copied(key: u64, copy: u32) -> u64 {
    match copy {
        0 => key,
        copy => {
            let name = (key >> LENGTH_BITS) ^ u64::from(copy).rotate_left(52);
            with_length(mix(mix(name) ^ u64::from(copy)), key & LENGTH_MAX)
        }
    }
}

fn with_length(hash: u64, length: u64) -> u64 {
    (hash & !LENGTH_MAX) | length.min(LENGTH_MAX)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn names_get_numbers_of_their_own_with_their_length() {
        let names = (0..100_000).map(|number| format!("user:{number}"));
        let numbers: HashSet<u64> =
            names.map(|name| key_number(name.as_bytes(), 9) >> LENGTH_BITS).collect();
        assert_eq!(numbers.len(), 100_000);
        assert_eq!(key_number(b"a", 22) & LENGTH_MAX, 22);
        assert_eq!(key_number(b"a", 1 << 20) & LENGTH_MAX, LENGTH_MAX);
        assert_ne!(key_number(b"", 0), key_number(b"\0", 0), "a length is part of a name");
        assert_eq!(key_number(b"stable", 6), 0x7A53_2B90_27BF_4006, "files must agree for ever");
    }

    #[test]
    fn copies_of_a_key_space_do_not_overlap() {
        let numbers: HashSet<u64> = (0..1000)
            .flat_map(|object| (0..50).map(move |copy| copied(object_number(object), copy)))
            .collect();
        assert_eq!(numbers.len(), 50_000);
        assert_eq!(copied(key_number(b"a", 7), 0), key_number(b"a", 7));
        assert_eq!(copied(key_number(b"a", 7), 3) & LENGTH_MAX, 7);
    }
}

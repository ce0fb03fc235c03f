//! Affinity: the node that owns a key.
//!
//! The cluster tells for each cache which partitions a node owns; a key's partition follows from
//! its Java hash. Source: `RendezvousAffinityFunction` and `ClientCachePartitionsResponse`.

use std::collections::HashMap;

use super::socket::Topology;
use super::wire::{Garbled, Reader, Value};
use assay_driver_kit::java_hash::java_hash;

/// The maximum of `RendezvousAffinityFunction`.
const MOST_PARTITIONS: usize = 65_000;

/// The owners of the partitions of each cache.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Owners {
    /// The version of it; larger ones are newer.
    pub(super) topology: Topology,
    /// For each cache, the owner of each partition.
    caches: HashMap<i32, Vec<Option<u128>>>,
}

impl Owners {
    /// Takes the answer apart that tells them.
    pub(super) fn parse(bytes: &[u8]) -> Result<Owners, Garbled> {
        let mut reader = Reader::new(bytes);
        let topology = (reader.i64()?, reader.i32()?);
        let mut caches = HashMap::new();
        for _ in 0..reader.length()? {
            let is_known = reader.truth()?;
            let mut group = Vec::new();
            for _ in 0..reader.length()? {
                group.push(reader.i32()?);
                if is_known {
                    // By which field of a key of several the partition is chosen: ours are texts.
                    for _ in 0..reader.length()? {
                        reader.i64()?;
                    }
                }
            }
            if is_known {
                let owners = owners(&mut reader)?;
                caches.extend(group.into_iter().map(|cache| (cache, owners.clone())));
            }
        }
        Ok(Owners { topology, caches })
    }

    /// The owner of `key`, if it is known.
    pub(super) fn owner(&self, cache: i32, key: &[u8]) -> Option<u128> {
        let owners = self.caches.get(&cache)?;
        *owners.get(partition(java_hash(key), owners.len())?)?
    }
}

fn owners(reader: &mut Reader<'_>) -> Result<Vec<Option<u128>>, Garbled> {
    let mut owners = Vec::new();
    for _ in 0..reader.length()? {
        let Value::Uuid(node) = reader.value()? else { return Err(Garbled) };
        for _ in 0..reader.length()? {
            let partition = reader.length()?;
            if partition >= MOST_PARTITIONS {
                return Err(Garbled);
            }
            if partition >= owners.len() {
                owners.resize(partition + 1, None);
            }
            owners[partition] = Some(node);
        }
    }
    Ok(owners)
}

/// The partition of a key with this hash, of `count`.
fn partition(hash: i32, count: usize) -> Option<usize> {
    let count = i32::try_from(count).ok().filter(|count| *count > 0)?;
    let partition = if count & (count - 1) == 0 {
        (hash ^ (hash as u32 >> 16) as i32) & (count - 1)
    } else {
        (hash % count).unsigned_abs() as i32
    };
    usize::try_from(partition).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::{code, put_i32, put_i64};

    #[test]
    fn a_key_is_in_the_partition_that_java_says() {
        assert_eq!(partition(java_hash(b"hello"), 1024), Some(315));
        assert_eq!(partition(java_hash(b"hello"), 1000), Some(322));
        assert_eq!(partition(i32::MIN, 7), Some(2));
        assert_eq!(partition(-1, 1024), Some(0));
        assert_eq!(partition(5, 0), None);
    }

    #[test]
    fn owners_are_reported_by_cache() {
        let mut bytes = Vec::new();
        put_i64(7, &mut bytes);
        put_i32(1, &mut bytes);
        put_i32(2, &mut bytes);
        // A cache of another kind.
        bytes.push(0);
        put_i32(1, &mut bytes);
        put_i32(11, &mut bytes);
        // Two caches whose two partitions two nodes own.
        bytes.push(1);
        put_i32(2, &mut bytes);
        for cache in [12, 13] {
            put_i32(cache, &mut bytes);
            put_i32(0, &mut bytes);
        }
        put_i32(2, &mut bytes);
        for (node, partition) in [(5, 1), (6, 0)] {
            bytes.push(code::UUID);
            put_i64(0, &mut bytes);
            put_i64(node, &mut bytes);
            put_i32(1, &mut bytes);
            put_i32(partition, &mut bytes);
        }
        let owners = Owners::parse(&bytes).unwrap();
        assert_eq!(owners.topology, (7, 1));
        let of = |cache, key: &str| owners.owner(cache, key.as_bytes());
        // "a" hashes to 97, "b" to 98.
        assert_eq!([of(12, "a"), of(12, "b"), of(13, "a")], [Some(5), Some(6), Some(5)]);
        assert_eq!(of(11, "a"), None);
        assert_eq!(Owners::parse(&bytes[..bytes.len() - 1]), Err(Garbled));
    }
}

//! Bounds of regions, as far as scans need them.
//!
//! The client library queries every region of a range at once, each of them for as many records as
//! the whole scan wants; its scan in raw mode begins again from the first key when it comes to the
//! end of the last region (tikv-client 0.4.0, `scan_inner`). So a scan goes region by region.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ops::Bound;

use super::options::Mode;
use super::placement::{Driver, Region, RequestError};

/// How often the cached location of a region is used before it is looked up again: it may have
/// split, and then more than one region would be queried at once. The responses would be right all
/// the same.
const USES: u32 = 256;
/// How many keys a group has, of which regions' bounds are made; source: TiKV's `codec/bytes.rs`.
const GROUP: usize = 8;

/// One worker's cache of regions.
pub(super) struct Regions {
    mode: Mode,
    /// By their first keys.
    known: RefCell<BTreeMap<Vec<u8>, Known>>,
}

struct Known {
    /// The first key behind it, if there is one.
    end: Option<Vec<u8>>,
    uses_left: u32,
}

impl Regions {
    /// Nothing is known yet.
    pub(super) fn new(mode: Mode) -> Regions {
        Regions { mode, known: RefCell::default() }
    }

    /// The first key behind the region that has `key`; none if there is no other behind it.
    pub(super) async fn end_of(
        &self,
        key: &[u8],
        driver: &Driver,
    ) -> Result<Option<Vec<u8>>, RequestError> {
        if let Some(end) = self.find(key) {
            return Ok(end);
        }
        let bound = match self.mode {
            Mode::Raw => key.to_vec(),
            Mode::Optimistic | Mode::Pessimistic => encode(key),
        };
        let region = driver.region(bound).await?;
        let Some(Region { start_key, end_key }) = region else {
            return Err(RequestError::Said("it knows no region for a key".into()));
        };
        let (start, end) = (self.key_of(&start_key)?, self.key_of(&end_key)?);
        let end = Some(end).filter(|end| !end.is_empty());
        let known = Known { end: end.clone(), uses_left: USES };
        self.known.borrow_mut().insert(start, known);
        Ok(end)
    }

    fn find(&self, key: &[u8]) -> Option<Option<Vec<u8>>> {
        let mut all = self.known.borrow_mut();
        let up_to = (Bound::Unbounded, Bound::Included(key));
        let (_, known) = all.range_mut::<[u8], _>(up_to).next_back()?;
        let has_it = known.end.as_deref().is_none_or(|end| key < end);
        if !has_it || known.uses_left == 0 {
            return None;
        }
        known.uses_left -= 1;
        Some(known.end.clone())
    }

    fn key_of(&self, bound: &[u8]) -> Result<Vec<u8>, RequestError> {
        match self.mode {
            Mode::Raw => Ok(bound.to_vec()),
            Mode::Optimistic | Mode::Pessimistic => decode(bound).ok_or_else(|| {
                RequestError::Said(
                    "a region's bound is no key of transactions; is this mode=raw?".into(),
                )
            }),
        }
    }
}

/// A key as regions' bounds are written for transactions: groups of eight bytes, each followed by
/// 255 less the number of zeros that fill it up; the last one is never full.
fn encode(key: &[u8]) -> Vec<u8> {
    let mut bound = Vec::with_capacity((key.len() / GROUP + 1) * (GROUP + 1));
    for begin in (0..=key.len()).step_by(GROUP) {
        let group = &key[begin..key.len().min(begin + GROUP)];
        let zeros = GROUP - group.len();
        bound.extend_from_slice(group);
        bound.resize(bound.len() + zeros, 0);
        bound.push(u8::MAX - zeros as u8);
    }
    bound
}

/// The key of such a bound; an empty one has none.
fn decode(bound: &[u8]) -> Option<Vec<u8>> {
    let mut key = Vec::with_capacity(bound.len());
    for group in bound.chunks(GROUP + 1) {
        let (&mark, bytes) = group.split_last()?;
        let zeros = usize::from(u8::MAX - mark);
        key.extend_from_slice(bytes.get(..GROUP.checked_sub(zeros)?)?);
        if zeros > 0 {
            break;
        }
    }
    Some(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_groups_of_eight() {
        let check = |key: &[u8], bound: &[u8]| {
            assert_eq!(encode(key), bound, "{key:?}");
            assert_eq!(decode(bound).as_deref(), Some(key));
        };
        check(b"", b"\0\0\0\0\0\0\0\0\xf7");
        check(b"abc", b"abc\0\0\0\0\0\xfa");
        check(b"abcdefgh", b"abcdefgh\xff\0\0\0\0\0\0\0\0\xf7");
        check(b"abcdefghi", b"abcdefgh\xffi\0\0\0\0\0\0\0\xf8");
        assert_eq!(decode(b"").as_deref(), Some(&b""[..]));
        assert_eq!(decode(b"usertable:user5"), None);
    }

    #[test]
    fn bounds_sort_as_their_keys_do() {
        let keys: [&[u8]; 6] = [b"", b"\0", b"abc", b"abcdefgh", b"abcdefgh\0", b"b"];
        assert!(keys.windows(2).all(|pair| encode(pair[0]) < encode(pair[1])));
    }

    #[test]
    fn what_is_known_of_a_region_is_used_for_its_keys() {
        let regions = Regions::new(Mode::Raw);
        let know = |start: &[u8], end: Option<&[u8]>, uses_left| {
            let known = Known { end: end.map(<[u8]>::to_vec), uses_left };
            regions.known.borrow_mut().insert(start.to_vec(), known);
        };
        know(b"b", Some(b"d"), 3);
        know(b"m", None, 1);
        assert_eq!(regions.find(b"a"), None);
        assert_eq!(regions.find(b"b"), Some(Some(b"d".to_vec())));
        assert_eq!(regions.find(b"czz"), Some(Some(b"d".to_vec())));
        assert_eq!(regions.find(b"d"), None);
        assert_eq!(regions.find(b"zzz"), Some(None));
        // It may have split by now.
        assert_eq!(regions.find(b"zzz"), None);
    }
}

//! Order of a record's versions, from the strongest source that the history has.

use crate::register::prepared::{NONE, PreparedHistory, RecordGroup, RecordVersion};
use crate::register::{ToldVersions, WrittenValue, radix};
use crate::verdict::VersionOrder;

/// Gives each version of a new group its `low` and `high`, lists them by the time at which they
/// were known, and says where the order came from.
pub(super) fn assign(
    group: &RecordGroup,
    to: &mut PreparedHistory,
    scratch: &mut Vec<(u64, u32)>,
) -> VersionOrder {
    let first = group.versions.start as u32;
    let versions = &mut to.versions[group.versions.clone()];
    scratch.clear();
    scratch.extend(versions.iter().zip(first..).map(|(version, number)| (version.known, number)));
    radix::sort_by_key(scratch, |pair| pair.0);
    to.by_known.extend(scratch.iter().map(|pair| pair.1));
    let is_whole = to.history.writes_whole_records;
    let follows = |one: &RecordVersion, other: &RecordVersion| {
        let writer = |version: &RecordVersion| &to.operations[version.writer as usize];
        to.successors.of(one.session, writer(one).number) <= writer(other).number
    };
    if is_sequential(versions, follows) && (is_whole || numbers_grow(versions.iter())) {
        for (version, place) in versions.iter_mut().zip(0..) {
            (version.low, version.high) = (place, place);
        }
        return VersionOrder::SingleWriter;
    }
    if is_whole && is_told(group.key, versions, &to.history.told) {
        return VersionOrder::ToldByStore;
    }
    let read_by = |version: &RecordVersion| match version.writer {
        NONE => NONE,
        writer => to.operations[writer as usize].read,
    };
    if let Some(chain) = chain(versions, first, read_by)
        && (is_whole || numbers_grow(chain.iter().map(|&place| &versions[place])))
    {
        for (place, number) in chain.into_iter().zip(0..) {
            (versions[place].low, versions[place].high) = (number, number);
        }
        return VersionOrder::ReadBeforeWrite;
    }
    real_time(versions, is_whole);
    VersionOrder::RealTime
}

/// Whether one session wrote all versions one after another, a loaded first one aside; `follows`
/// says of two of its writes whether the second came after the first.
fn is_sequential(
    versions: &[RecordVersion],
    follows: impl Fn(&RecordVersion, &RecordVersion) -> bool,
) -> bool {
    let is_ordered = |(place, two): (usize, &[RecordVersion])| {
        let [one, other] = two else { return false };
        let is_own = one.session == other.session && one.is_done;
        let is_loaded = place == 0 && one.known < other.early;
        is_loaded || (is_own && follows(one, other))
    };
    versions[1..].windows(2).enumerate().all(is_ordered)
}

/// Takes the store's word for the order of the versions, if it has given it of all that an answer
/// was about.
fn is_told(key: u64, versions: &mut [RecordVersion], told: &ToldVersions) -> bool {
    if told.is_empty() {
        return false;
    }
    // The absence and what was loaded before the run come first; a write of which nobody knows
    // whether it happened has no place.
    for version in &mut versions[1..] {
        let number = told.number(key, WrittenValue(version.value));
        let is_loaded = version.early <= 1;
        let is_known = !is_loaded && (version.is_done || version.last_reader != NONE);
        match number {
            Some(number) => (version.low, version.high) = (number, number),
            None if is_known => return false,
            None => (version.low, version.high) = (0, 0),
        }
    }
    (versions[0].low, versions[0].high) = (0, 0);
    let mut numbers: Vec<u64> =
        versions[1..].iter().map(|version| version.low).filter(|number| *number > 0).collect();
    numbers.sort_unstable();
    numbers.is_sorted_by(|one, other| one < other)
}

fn numbers_grow<'v>(versions: impl Iterator<Item = &'v RecordVersion>) -> bool {
    versions.map(|version| version.value).is_sorted_by(|one, other| one < other)
}

/// The places of all versions in the order in which each replaced the one that it had read, if
/// there is just one such order.
///
/// Two writes that read the same version (a lost update) leave no single order.
fn chain(
    versions: &[RecordVersion],
    first: u32,
    read_by: impl Fn(&RecordVersion) -> u32,
) -> Option<Vec<usize>> {
    let unread = versions[1..].iter().filter(|version| read_by(version) == NONE);
    if unread.take(2).count() == 2 {
        return None;
    }
    let mut next = vec![NONE; versions.len()];
    let mut begin = None;
    for (place, version) in versions.iter().enumerate().skip(1) {
        match read_by(version) {
            NONE if begin.is_some() => return None,
            NONE => begin = Some(place),
            parent => {
                let next = &mut next[(parent - first) as usize];
                if *next != NONE {
                    return None;
                }
                *next = place as u32;
            }
        }
    }
    let mut chain = vec![0];
    let mut place = match (begin, next[0]) {
        (Some(_), other) if other != NONE => return None,
        (Some(begin), _) => begin as u32,
        (None, after) => after,
    };
    // A circle is not reached from the absence, so it leaves the chain too short.
    while place != NONE && chain.len() < versions.len() {
        chain.push(place as usize);
        place = next[place as usize];
    }
    (chain.len() == versions.len() && place == NONE).then_some(chain)
}

fn real_time(versions: &mut [RecordVersion], is_whole: bool) {
    for version in versions.iter_mut() {
        (version.low, version.high) = (version.known, version.early);
    }
    if is_whole {
        return;
    }
    let mut by_number: Vec<u32> = (0..versions.len() as u32).collect();
    by_number.sort_by_key(|&place| (versions[place as usize].value, place));
    let mut ended = 0;
    for place in by_number {
        let version = &mut versions[place as usize];
        ended = version.late.max(ended);
        version.low = ended;
    }
}

//! A set of members in the order of their scores.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

/// Members with scores; members of the same score are in the order of their bytes.
#[derive(Debug, Default)]
pub(super) struct Sorted {
    scores: BTreeMap<Vec<u8>, f64>,
    order: BTreeSet<Place>,
    /// What its members take, twice each.
    bytes: usize,
}

/// Where a member stands.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Place {
    pub score: f64,
    pub member: Vec<u8>,
}

impl Eq for Place {}

impl PartialOrd for Place {
    fn partial_cmp(&self, other: &Place) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Place {
    fn cmp(&self, other: &Place) -> Ordering {
        // There are two zeros, which are equal: adding a zero makes them one.
        let (mine, its) = (self.score + 0.0, other.score + 0.0);
        mine.total_cmp(&its).then_with(|| self.member.cmp(&other.member))
    }
}

/// One end of a range of scores.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct End {
    pub score: f64,
    pub is_open: bool,
}

impl End {
    /// `5`, `(5`, `-inf` or `+inf`.
    pub fn parse(text: &[u8]) -> Option<End> {
        let text = std::str::from_utf8(text).ok()?;
        let (number, is_open) = match text.strip_prefix('(') {
            Some(number) => (number, true),
            None => (text, false),
        };
        let score: f64 = number.parse().ok().filter(|score: &f64| !score.is_nan())?;
        Some(End { score, is_open })
    }
}

impl Sorted {
    pub fn len(&self) -> usize {
        self.scores.len()
    }

    /// What it takes to keep, about.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Adds or moves a member; tells whether it is new.
    pub fn put(&mut self, score: f64, member: &[u8]) -> bool {
        let before = self.remove(member);
        self.bytes += bytes_of(member);
        self.scores.insert(member.to_vec(), score);
        self.order.insert(Place { score, member: member.to_vec() });
        !before
    }

    /// Removes a member; tells whether it was there.
    pub fn remove(&mut self, member: &[u8]) -> bool {
        let Some((member, score)) = self.scores.remove_entry(member) else { return false };
        self.bytes -= bytes_of(&member);
        self.order.remove(&Place { score, member });
        true
    }

    pub fn score(&self, member: &[u8]) -> Option<f64> {
        self.scores.get(member).copied()
    }

    /// The members from place `start` to place `stop`, both included; negative ones count from the
    /// end.
    pub fn by_rank(&self, start: i64, stop: i64) -> Vec<Place> {
        let len = self.len() as i64;
        let from_end = |place: i64| if place < 0 { place + len } else { place };
        let (start, stop) = (from_end(start).max(0), from_end(stop).min(len - 1));
        let count = if start <= stop { (stop - start + 1) as usize } else { 0 };
        self.order.iter().skip(start as usize).take(count).cloned().collect()
    }

    /// Up to `count` members with scores between two ends, after leaving out `skip`.
    pub fn by_score(&self, min: End, max: End, skip: usize, count: usize) -> Vec<Place> {
        let first = Place { score: min.score, member: Vec::new() };
        let is_below = |place: &&Place| match max.is_open {
            true => place.score < max.score,
            false => place.score <= max.score,
        };
        self.order
            .range(first..)
            .skip_while(|place| min.is_open && place.score <= min.score)
            .take_while(is_below)
            .skip(skip)
            .take(count)
            .cloned()
            .collect()
    }
}

/// What a member takes: it is there under its name and in its place.
fn bytes_of(member: &[u8]) -> usize {
    2 * (size_of::<Place>() + member.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sorted() -> Sorted {
        let mut set = Sorted::default();
        for (score, member) in [(3.0, "c"), (1.0, "a"), (2.0, "b2"), (2.0, "b1"), (9.0, "a")] {
            set.put(score, member.as_bytes());
        }
        set
    }

    fn names(places: &[Place]) -> String {
        let names = places.iter().map(|place| String::from_utf8_lossy(&place.member).into_owned());
        names.collect::<Vec<String>>().join(" ")
    }

    #[test]
    fn members_are_in_the_order_of_their_scores() {
        let set = sorted();
        assert_eq!(names(&set.by_rank(0, -1)), "b1 b2 c a");
        assert_eq!(names(&set.by_rank(1, 2)), "b2 c");
        assert_eq!(names(&set.by_rank(-1, -1)), "a");
        assert_eq!(names(&set.by_rank(3, 1)) + &names(&Sorted::default().by_rank(0, -1)), "");
        assert_eq!((set.len(), set.score(b"a")), (4, Some(9.0)));
    }

    #[test]
    fn places_beyond_all_bounds_are_no_places() {
        let set = sorted();
        assert_eq!(names(&set.by_rank(i64::MIN, i64::MAX)), "b1 b2 c a");
        assert_eq!(names(&set.by_rank(i64::MAX, i64::MIN)), "");
        assert_eq!(names(&set.by_rank(3, i64::MIN)), "");
    }

    #[test]
    fn both_zeros_are_one_score() {
        let mut set = Sorted::default();
        set.put(-0.0, b"b");
        set.put(0.0, b"a");
        let zero = End { score: 0.0, is_open: false };
        assert_eq!(names(&set.by_score(zero, End { score: 1.0, is_open: false }, 0, 9)), "a b");
        assert!(set.remove(b"b"));
        assert_eq!(names(&set.by_rank(0, -1)), "a");
    }

    #[test]
    fn ranges_of_scores_have_open_and_closed_ends() {
        let set = sorted();
        let range = |min: &str, max: &str| {
            let end = |text: &str| End::parse(text.as_bytes()).unwrap();
            names(&set.by_score(end(min), end(max), 0, 10))
        };
        assert_eq!(range("2", "3"), "b1 b2 c");
        assert_eq!(range("(2", "+inf"), "c a");
        assert_eq!(range("-inf", "(3"), "b1 b2");
        let all = End { score: f64::NEG_INFINITY, is_open: false };
        let top = End { score: f64::INFINITY, is_open: false };
        assert_eq!(names(&set.by_score(all, top, 1, 2)), "b2 c");
        assert_eq!(End::parse(b"nan"), None);
    }
}

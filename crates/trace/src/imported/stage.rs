//! Stages after the requests are read: iterators over iterators.

use assay_model::seed::{Draws, mix};
use assay_model::{Nanos, Seed};

use super::request::{ImportedRequest, LENGTH_BITS, copied};
use super::requests::{ImportedTraceError, Requests};

/// Lines with the same stamp that are held in memory at most, about 100 MB of them.
pub const CROWD_MAX: usize = 1 << 21;
/// Keeps the choice of keys independent of everything else that mixes their numbers.
const SAMPLE: u64 = 0x7361_6D70_6C65_6B73;
/// The stream of a seed that places requests within a stamp.
const SPREAD: u64 = 0x7370_7265_6164;

/// One more request, or why there is none.
pub type Next = Result<ImportedRequest, ImportedTraceError>;

/// How requests with the same stamp are placed within it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StampSpacing {
    /// At equal distances.
    Even,
    /// As uniform draws of a seed, in order: Poisson arrivals under the condition of their number.
    Random(Seed),
}

/// Keeps the requests of about `share` of the keys, the same keys in every file.
///
/// All requests of a key are kept, or none: popularity among the keys that are kept stays as it
/// was, as in SHARDS (Waldspurger et al., "Efficient MRC construction with SHARDS", FAST 2015).
pub fn sampled(from: impl Iterator<Item = Next>, share: f64) -> impl Iterator<Item = Next> {
    // 2^64 as a number saturates to the greatest one, which keeps all keys but one in 2^64.
    let below = (share * 18_446_744_073_709_551_616.0) as u64;
    let is_kept = move |key: u64| mix((key >> LENGTH_BITS) ^ SAMPLE) < below;
    from.filter(move |next| next.as_ref().map_or(true, |request| is_kept(request.key)))
}

/// Issues each request once in each of `copies` key spaces, the original first.
pub fn replicated(from: impl Iterator<Item = Next>, copies: u32) -> impl Iterator<Item = Next> {
    multiplied(from, move |request| {
        (0..copies).map(move |copy| ImportedRequest { key: copied(request.key, copy), ..request })
    })
}

/// Gives each request as often as it was sent.
pub fn repeated(from: impl Iterator<Item = Next>) -> impl Iterator<Item = Next> {
    multiplied(from, |request| {
        (0..request.count).map(move |_| ImportedRequest { count: 1, ..request })
    })
}

/// Gives what `make` makes of each request; errors stay where they are.
fn multiplied<Made: Iterator<Item = ImportedRequest>>(
    from: impl Iterator<Item = Next>,
    make: impl Fn(ImportedRequest) -> Made,
) -> impl Iterator<Item = Next> {
    from.flat_map(move |next| {
        let (made, error) = match next {
            Ok(request) => (Some(make(request)), None),
            Err(error) => (None, Some(Err(error))),
        };
        made.into_iter().flatten().map(Ok).chain(error)
    })
}

/// Gives each request as often as it was sent, those with the same stamp spread over `unit`.
///
/// A timestamp says in which unit of time a request came; issued as they stand, all of a second
/// would come at once. Lines keep their order.
pub fn spread(
    from: impl Iterator<Item = Next>,
    unit: Nanos,
    how: StampSpacing,
) -> impl Iterator<Item = Next> {
    Spreading {
        from,
        unit,
        how,
        ahead: None,
        crowd: Vec::new(),
        lines: 0,
        within: Within::default(),
    }
}

struct Spreading<I> {
    from: I,
    unit: Nanos,
    how: StampSpacing,
    /// The first request of the next stamp.
    ahead: Option<ImportedRequest>,
    /// The requests of this stamp.
    crowd: Vec<ImportedRequest>,
    /// Requests taken so far, for messages.
    lines: u64,
    within: Within,
}

/// How far the requests of one stamp have been given.
#[derive(Default)]
struct Within {
    /// Which of the crowd.
    place: usize,
    /// How often it was given.
    given: u32,
    /// How many were given of all.
    turn: u64,
    /// How many there are with repetitions.
    total: u64,
    /// The last random place, 0 to 1.
    last: f64,
    draws: Option<Draws>,
}

impl<I: Iterator<Item = Next>> Spreading<I> {
    /// Gathers the requests of the next stamp; false at the end.
    fn gather(&mut self) -> Result<bool, ImportedTraceError> {
        self.crowd.clear();
        self.crowd.extend(self.ahead.take());
        for next in self.from.by_ref() {
            let request = next?;
            if request.count == 0 {
                continue;
            }
            self.lines += 1;
            if self.crowd.first().is_some_and(|first| first.at != request.at) {
                self.ahead = Some(request);
                break;
            }
            if self.crowd.len() == CROWD_MAX {
                return Err(Requests::crowd(CROWD_MAX, self.lines));
            }
            self.crowd.push(request);
        }
        let Some(first) = self.crowd.first() else { return Ok(false) };
        let draws = match self.how {
            StampSpacing::Even => None,
            StampSpacing::Random(seed) => Some(seed.draws(SPREAD, first.at.0)),
        };
        let total = self.crowd.iter().map(|request| u64::from(request.count)).sum();
        self.within = Within { total, draws, ..Within::default() };
        Ok(true)
    }

    /// The next place within the stamp, from 0 to below 1.
    fn share(&mut self) -> f64 {
        let within = &mut self.within;
        let left = (within.total - within.turn) as f64;
        match &mut within.draws {
            None => within.turn as f64 / within.total as f64,
            Some(draws) => {
                // The least of n uniform numbers above the last one: Devroye, "Non-uniform random
                // variate generation", 1986, section V.3.
                let step = 1.0 - libm::pow(1.0 - draws.unit(), 1.0 / left);
                within.last += (1.0 - within.last) * step;
                within.last
            }
        }
    }
}

impl<I: Iterator<Item = Next>> Iterator for Spreading<I> {
    type Item = Next;

    fn next(&mut self) -> Option<Next> {
        if self.within.turn == self.within.total {
            match self.gather() {
                Ok(true) => {}
                Ok(false) => return None,
                Err(error) => return Some(Err(error)),
            }
        }
        let share = self.share();
        let request = self.crowd[self.within.place];
        self.within.turn += 1;
        self.within.given += 1;
        if self.within.given == request.count {
            self.within.place += 1;
            self.within.given = 0;
        }
        // Rounding must not carry a request into the next stamp.
        let offset = ((share * self.unit.0 as f64) as u64).min(self.unit.0 - 1);
        Some(Ok(ImportedRequest { at: request.at + Nanos(offset), count: 1, ..request }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::imported::request::{ValueSize, Verb, object_number};

    fn request(second: u64, object: u64, count: u32) -> ImportedRequest {
        ImportedRequest {
            at: Nanos::from_secs(second),
            key: object_number(object),
            verb: Verb::Get,
            value: ValueSize::Unknown,
            count,
        }
    }

    fn requests(list: &[(u64, u64, u32)]) -> impl Iterator<Item = Next> {
        let list: Vec<ImportedRequest> =
            list.iter().map(|&(second, object, count)| request(second, object, count)).collect();
        list.into_iter().map(Ok)
    }

    fn millis(from: impl Iterator<Item = Next>) -> Vec<u64> {
        from.map(|next| next.unwrap().at.0 / 1_000_000).collect()
    }

    #[test]
    fn requests_of_a_second_are_spread_evenly_over_it() {
        let from = requests(&[(1, 1, 1), (1, 2, 3), (3, 1, 1), (4, 1, 2)]);
        let spread = spread(from, Nanos::from_secs(1), StampSpacing::Even);
        assert_eq!(millis(spread), [1000, 1250, 1500, 1750, 3000, 4000, 4500]);
    }

    #[test]
    fn random_places_are_uniform_in_order_and_the_same_for_a_seed() {
        let place = |seed: u64| {
            let how = StampSpacing::Random(Seed(seed));
            let spread = spread(requests(&[(5, 1, 10_000)]), Nanos::from_secs(1), how);
            spread.map(|next| next.unwrap().at.0 - 5_000_000_000).collect::<Vec<u64>>()
        };
        let places = place(1);
        assert!(places.is_sorted());
        // Kolmogorov–Smirnov: sqrt(n) D is above 1.95 once in a thousand.
        let distance = places
            .iter()
            .enumerate()
            .map(|(turn, &at)| (at as f64 / 1e9 - (turn as f64 + 0.5) / 10_000.0).abs());
        assert!(distance.fold(0.0, f64::max) < 1.95 / 100.0);
        assert_eq!(places, place(1));
        assert_ne!(places, place(2));
    }

    #[test]
    fn every_stage_keeps_the_sum_of_operations() {
        let list: Vec<(u64, u64, u32)> =
            (0..500).map(|line| (line / 7, line % 31, (line % 5) as u32)).collect();
        let sum: u64 = list.iter().map(|line| u64::from(line.2)).sum();
        let all = || requests(&list);
        assert_eq!(repeated(all()).count() as u64, sum);
        for how in [StampSpacing::Even, StampSpacing::Random(Seed(3))] {
            assert_eq!(spread(all(), Nanos::from_secs(1), how).count() as u64, sum);
        }
        assert_eq!(repeated(replicated(all(), 3)).count() as u64, 3 * sum);
        let parts: usize = repeated(sampled(all(), 0.4)).count();
        assert!((parts as u64) < sum && parts > 0);
        assert_eq!(repeated(sampled(all(), 1.0)).count() as u64, sum);
    }

    #[test]
    fn a_sample_keeps_whole_keys_in_their_share() {
        let list: Vec<(u64, u64, u32)> = (0..40_000).map(|line| (1, line % 20_000, 1)).collect();
        let mut kept = std::collections::HashMap::new();
        for next in sampled(requests(&list), 0.1) {
            *kept.entry(next.unwrap().key).or_insert(0) += 1;
        }
        assert!(kept.values().all(|&count| count == 2), "a key is kept whole");
        // Binomial: 2,000 keys, standard deviation 42.
        assert!(kept.len().abs_diff(2000) < 170, "{}", kept.len());
    }

    #[test]
    fn replication_multiplies_keys_with_their_popularity() {
        let mut counts = std::collections::HashMap::new();
        for next in replicated(requests(&[(1, 1, 1), (1, 1, 1), (2, 2, 1)]), 4) {
            *counts.entry(next.unwrap().key).or_insert(0) += 1;
        }
        assert_eq!(counts.len(), 8);
        assert_eq!(counts.values().filter(|&&count| count == 2).count(), 4);
        assert_eq!(counts[&object_number(1)], 2, "the first copy is the original");
    }
}

//! Popularity of keys, exact or estimated in bounded memory.

use assay_model::seed::mix;

use super::frequent::{Counts, Frequent};
use super::zipf::{Step, ZipfFit, fit};

/// The hottest fractions of the keys whose share is reported.
const HOTTEST: [f64; 3] = [0.01, 0.10, 0.20];
/// Rank–frequency points per factor of ten.
const POINTS_PER_DECADE: f64 = 10.0;
/// A frequent key is trusted if its count is at least this many times its possible error.
const TRUSTED: u64 = 16;
/// Keeps the choice of sampled keys independent of their places in hash tables.
const SAMPLE: u64 = 0x7361_6D70_6C65_6B65;

/// How popular the keys of a trace are.
#[derive(Clone, Debug, PartialEq)]
pub struct Popularity {
    /// Whether the figures are counts or estimates.
    pub accuracy: Accuracy,
    /// How many distinct keys are accessed.
    pub distinct: u64,
    /// The most popular keys, most popular first.
    pub top: Vec<KeyShare>,
    /// The shares of the hottest 1 %, 10 % and 20 % of the distinct keys.
    pub hottest: Vec<Hottest>,
    /// Counts at ranks that are equally far apart on a log scale, about ten per factor of ten.
    pub ranks: Vec<RankPoint>,
    /// The share of the most popular keys up to the ranks of `ranks`, and up to the last.
    pub shares: Vec<SharePoint>,
    /// The variance of the keys' counts over their mean; 1 if all keys are equally popular.
    pub dispersion: f64,
    /// The zipf that fits best; `None` if there are too few popular keys to tell.
    pub zipf: Option<ZipfFit>,
}

/// How far the figures of a [`Popularity`] can be trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Accuracy {
    /// Every key was counted.
    Exact,
    /// There were too many keys to count each.
    Estimated {
        /// No count of a top key is off by more than this.
        count_error: u64,
        /// How many keys were drawn to stand for the others.
        sampled: u64,
    },
}

/// One key's popularity.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KeyShare {
    /// The key's number.
    pub key: u64,
    /// How often it is accessed; a lower bound if estimated.
    pub count: u64,
    /// Its share of all operations, 0 to 1.
    pub share: f64,
}

/// The share of the hottest keys.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hottest {
    /// Which fraction of the distinct keys, 0 to 1.
    pub keys: f64,
    /// Their share of all operations, 0 to 1.
    pub share: f64,
}

/// One point of the curve of shares.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SharePoint {
    /// The rank, from 1.
    pub rank: f64,
    /// The share of all operations that the keys up to this rank have, 0 to 1.
    pub share: f64,
}

/// One point of the rank–frequency curve.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RankPoint {
    /// The rank, from 1.
    pub rank: u64,
    /// How often the key of this rank is accessed.
    pub count: f64,
}

/// Counts keys exactly until there are too many, then estimates.
pub(super) struct KeyCounts {
    bound: usize,
    operations: u64,
    counts: State,
}

enum State {
    Exact(Counts),
    Estimated(Sketch),
}

/// What stands for all counts when they do not fit: frequent keys, beside an even sample of all.
///
/// The sample keeps the keys whose hash begins with `level` zero bits, each with its exact count:
/// adaptive sampling after Wegman (Flajolet, "On adaptive sampling", Computing 43, 1990). A
/// sampled key stands for 2^`level` keys. Alone it would miss most of the few hot keys, which
/// carry much of the load; they come from [`Frequent`].
struct Sketch {
    frequent: Frequent,
    sample: Counts,
    level: u32,
}

impl Sketch {
    fn new(bound: usize, exact: Counts) -> Sketch {
        let frequent = Frequent::new(bound / 2, &exact);
        let mut sketch = Sketch { frequent, sample: exact, level: 0 };
        sketch.thin(bound / 2);
        sketch
    }

    fn add(&mut self, key: u64, bound: usize) {
        self.frequent.add(key);
        if is_sampled(key, self.level) {
            *self.sample.entry(key).or_insert(0) += 1;
            self.thin(bound / 2);
        }
    }

    fn thin(&mut self, most: usize) {
        while self.sample.len() > most.max(1) && self.level < 63 {
            self.level += 1;
            let level = self.level;
            self.sample.retain(|&key, _| is_sampled(key, level));
        }
    }
}

fn is_sampled(key: u64, level: u32) -> bool {
    mix(key ^ SAMPLE).leading_zeros() >= level
}

impl KeyCounts {
    /// Counts up to `bound` keys exactly.
    pub fn new(bound: usize) -> KeyCounts {
        KeyCounts { bound, operations: 0, counts: State::Exact(Counts::default()) }
    }

    pub fn add(&mut self, key: u64) {
        self.operations += 1;
        match &mut self.counts {
            State::Estimated(sketch) => sketch.add(key, self.bound),
            State::Exact(counts) => {
                *counts.entry(key).or_insert(0) += 1;
                if counts.len() > self.bound {
                    let counts = std::mem::take(counts);
                    self.counts = State::Estimated(Sketch::new(self.bound, counts));
                }
            }
        }
    }

    /// The figures, with the `top` most popular keys named.
    pub fn finish(&self, top: usize) -> Popularity {
        match &self.counts {
            State::Exact(counts) => {
                let keys = counts.iter().map(|(&key, &count)| (key, count));
                let steps = counts.values().map(|&count| Step { count: count as f64, keys: 1.0 });
                let mut figures = self.figures(keys.collect(), steps.collect(), top);
                figures.distinct = counts.len() as u64;
                figures
            }
            State::Estimated(sketch) => self.estimate(sketch, top),
        }
    }

    fn estimate(&self, sketch: &Sketch, top: usize) -> Popularity {
        let error = sketch.frequent.removed();
        let is_trusted = |count: u64| count >= error.saturating_mul(TRUSTED);
        let keys: Vec<(u64, u64)> = sketch
            .frequent
            .iter()
            .map(|(key, count)| (key, sketch.sample.get(&key).copied().unwrap_or(count)))
            .collect();
        let head: std::collections::HashSet<u64> =
            keys.iter().filter(|(_, count)| is_trusted(*count)).map(|(key, _)| *key).collect();
        let stands_for = libm::exp2(f64::from(sketch.level));
        let hot = keys.iter().filter(|(key, _)| head.contains(key));
        let hot = hot.map(|&(_, count)| Step { count: count as f64, keys: 1.0 });
        let rest = sketch.sample.iter().filter(|(key, _)| !head.contains(key));
        let rest = rest.map(|(_, &count)| Step { count: count as f64, keys: stands_for });
        let mut figures = self.figures(keys.clone(), hot.chain(rest).collect(), top);
        let sampled = sketch.sample.len() as u64;
        figures.accuracy = Accuracy::Estimated { count_error: error, sampled };
        figures.distinct = sampled.saturating_mul(1 << sketch.level);
        figures
    }

    fn figures(&self, mut keys: Vec<(u64, u64)>, steps: Vec<Step>, top: usize) -> Popularity {
        let by_count = |a: &(u64, u64), b: &(u64, u64)| b.1.cmp(&a.1).then(a.0.cmp(&b.0));
        if top < keys.len() {
            keys.select_nth_unstable_by(top, by_count);
            keys.truncate(top);
        }
        keys.sort_unstable_by(by_count);
        let share = |count: u64| count as f64 / self.operations as f64;
        let top = keys.iter().map(|&(key, count)| KeyShare { key, count, share: share(count) });
        let steps = gather(steps);
        Popularity {
            accuracy: Accuracy::Exact,
            distinct: 0,
            top: top.collect(),
            hottest: hottest(&steps),
            ranks: rank_points(&steps),
            shares: share_points(&steps),
            dispersion: dispersion(&steps),
            zipf: fit(&steps),
        }
    }
}

/// The steps from popular to rare, with equal counts in one step.
fn gather(mut steps: Vec<Step>) -> Vec<Step> {
    steps.sort_unstable_by(|a, b| b.count.total_cmp(&a.count));
    let mut gathered: Vec<Step> = Vec::new();
    for step in steps {
        match gathered.last_mut() {
            Some(last) if last.count == step.count => last.keys += step.keys,
            _ => gathered.push(step),
        }
    }
    gathered
}

fn hottest(steps: &[Step]) -> Vec<Hottest> {
    let keys: f64 = steps.iter().map(|step| step.keys).sum();
    let total: f64 = steps.iter().map(|step| step.keys * step.count).sum();
    if total == 0.0 {
        return Vec::new();
    }
    let share_of = |mut expected: f64| {
        let mut requested = 0.0;
        for step in steps {
            let taken = step.keys.min(expected);
            requested += taken * step.count;
            expected -= taken;
        }
        requested / total
    };
    HOTTEST.iter().map(|&part| Hottest { keys: part, share: share_of(part * keys) }).collect()
}

fn rank_points(steps: &[Step]) -> Vec<RankPoint> {
    let mut points = Vec::new();
    let mut rank = 0.0;
    let mut place = 0;
    let mut next = 1.0;
    for step in steps {
        rank += step.keys;
        while next <= rank {
            points.push(RankPoint { rank: next as u64, count: step.count });
            while libm::round(libm::exp10(f64::from(place) / POINTS_PER_DECADE)) <= next {
                place += 1;
            }
            next = libm::round(libm::exp10(f64::from(place) / POINTS_PER_DECADE));
        }
    }
    points
}

/// The curve of shares at the ranks of [`rank_points`], and at the last.
fn share_points(steps: &[Step]) -> Vec<SharePoint> {
    let total: f64 = steps.iter().map(|step| step.keys * step.count).sum();
    let keys: f64 = steps.iter().map(|step| step.keys).sum();
    let expected = rank_points(steps).into_iter().map(|point| point.rank as f64).chain([keys]);
    let (mut rest, mut rank, mut requested) = (steps.iter(), 0.0, 0.0);
    let mut step = rest.next();
    let mut points = Vec::new();
    for expected in expected {
        while let Some(whole) = step.filter(|step| rank + step.keys < expected) {
            rank += whole.keys;
            requested += whole.keys * whole.count;
            step = rest.next();
        }
        let part = step.map_or(0.0, |step| (expected - rank).max(0.0) * step.count);
        points.push(SharePoint { rank: expected, share: (requested + part) / total });
    }
    points
}

/// The index of dispersion, by which Poisson counts are recognised.
fn dispersion(steps: &[Step]) -> f64 {
    let keys: f64 = steps.iter().map(|step| step.keys).sum();
    let mean = steps.iter().map(|step| step.keys * step.count).sum::<f64>() / keys;
    let squares = steps.iter().map(|step| step.keys * (step.count - mean).powi(2)).sum::<f64>();
    squares / keys / mean
}

#[cfg(test)]
mod tests;

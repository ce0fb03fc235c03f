//! The synthetic workload that comes closest to a trace, in numbers.

use std::collections::HashSet;

use assay_model::seed::mix;
use assay_model::{Kind, Operation};

use crate::imported::request::LENGTH_MAX;
use crate::reader::{ReadError, Trace};
use crate::stat::{Popularity, StatOptions, TraceStat, TraceStatBuilder, zipf};

/// Sizes of a doubling are distinguished in so many steps.
const STEPS: u64 = 4;
/// Distinct keys whose lengths are looked at.
const KEYS_MAX: usize = 1 << 16;
/// Keeps the choice of those keys independent of other uses of their numbers.
const SAMPLE: u64 = 0x6C65_6E67_7468_7321;
/// The hot sets that are tried.
const HOT: [f64; 7] = [0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5];
/// Exponents that are tried, one after the other, before the best is looked at closely.
const EXPONENTS: u32 = 40;
/// A hot set must come this much closer than Zipf's law, which has one parameter less.
const CLOSER: f64 = 0.5;

/// How popular keys are, as a law.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Law {
    /// All alike: the counts scatter no more than Poisson counts would.
    Uniform,
    /// Zipf's law.
    Zipf {
        /// The exponent.
        exponent: f64,
    },
    /// A hot set.
    Hotspot {
        /// The fraction of the keys in it.
        keys: f64,
        /// The fraction of the operations on it.
        operations: f64,
    },
}

/// Sizes with how often each comes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SizeList {
    /// The sizes, rising.
    pub sizes: Vec<u64>,
    /// How often each comes.
    pub counts: Vec<u64>,
}

impl SizeList {
    /// The arithmetic mean.
    pub fn mean(&self) -> f64 {
        let pairs = self.sizes.iter().zip(&self.counts);
        let sum: f64 = pairs.map(|(&size, &count)| size as f64 * count as f64).sum();
        sum / self.counts.iter().sum::<u64>() as f64
    }
}

/// What a trace comes down to.
#[derive(Clone, Debug, PartialEq)]
pub struct Fit {
    /// The trace in figures.
    pub stat: TraceStat,
    /// How popular its keys are.
    pub law: Law,
    /// The greatest difference between the shares of the law and those of the trace, over ranks.
    pub distance: f64,
    /// Sizes of values that are loaded or written; `None` if there are none.
    pub values: Option<SizeList>,
    /// Lengths of keys, each key once; `None` if the trace does not record them.
    pub keys: Option<SizeList>,
}

/// Fits a synthetic workload to `trace`, which runs on the data of `load`, if it is there.
///
/// # Errors
/// If a trace cannot be read.
pub fn fit(trace: &Trace, load: Option<&Trace>, keys: KeyLengths) -> Result<Fit, ReadError> {
    let mut stats = TraceStatBuilder::new(StatOptions::default());
    let (mut values, mut sample) = (Sizes::default(), KeySample::default());
    each(trace, |operations| {
        stats.add(operations);
        operations.iter().for_each(|operation| {
            values.add_written(operation);
            sample.add(operation.key);
        });
    })?;
    if let Some(load) = load {
        each(load, |operations| operations.iter().for_each(|one| values.add_written(one)))?;
    }
    let stat = stats.finish(trace.header());
    let (law, distance) = law(&stat.popularity);
    let keys = match keys {
        KeyLengths::Recorded => sample.lengths(),
        KeyLengths::Unknown => None,
    };
    Ok(Fit { stat, law, distance, values: values.list(), keys })
}

/// Whether the numbers of keys say how long they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyLengths {
    /// In their lowest bits.
    Recorded,
    /// Nowhere.
    Unknown,
}

fn each(trace: &Trace, mut visit: impl FnMut(&[Operation])) -> Result<(), ReadError> {
    let mut reader = trace.reader()?;
    let mut operations = Vec::new();
    while reader.advance(&mut operations)?.is_some() {
        visit(&operations);
    }
    Ok(())
}

/// The law that comes closest, with its distance: that of Kolmogorov and Smirnov between the
/// cumulative shares over ranks.
///
/// Ranks are sorted by count, so even uniform draws look skewed; whether keys are equally popular
/// is therefore reported by the index of dispersion of their counts, which is 1 with a deviation of
/// √(2 / keys) for Poisson counts (Cochran, Biometrics 10, 1954). Zipf's exponent is the one with
/// the least distance over all ranks: maximum likelihood over the head alone (Clauset, Shalizi,
/// Newman, SIAM Review 51, 2009), which `stat` tells, leaves the shares of the tail to chance.
pub fn law(popularity: &Popularity) -> (Law, f64) {
    let Some(last) = popularity.shares.last() else { return (Law::Uniform, 0.0) };
    let keys = last.rank;
    let even = distance(popularity, |rank| rank / keys);
    if keys < 2.0 || popularity.dispersion <= 1.0 + 3.0 * libm::sqrt(2.0 / keys) {
        return (Law::Uniform, even);
    }
    let zipf_at = |exponent: f64| distance(popularity, |rank| zipf::share(exponent, rank, keys));
    let exponent = least(zipf_at);
    let zipf = (Law::Zipf { exponent }, zipf_at(exponent));
    let hotspot = HOT.into_iter().map(|part| hotspot(popularity, part, keys));
    let hotspot = hotspot.min_by(|one, other| one.1.total_cmp(&other.1));
    match hotspot {
        Some(hotspot) if hotspot.1 < zipf.1 * CLOSER => hotspot,
        _ => zipf,
    }
}

/// The exponent up to 4 with the least distance: a coarse look, then a golden section.
fn least(distance: impl Fn(f64) -> f64) -> f64 {
    let exponent = |step: u32| 0.1 * f64::from(step);
    let best = (1..=EXPONENTS).map(exponent);
    let best = best.min_by(|one, other| distance(*one).total_cmp(&distance(*other)));
    let best = best.unwrap_or(1.0);
    let (mut low, mut high) = ((best - 0.1).max(0.001), best + 0.1);
    let golden = (libm::sqrt(5.0) - 1.0) / 2.0;
    for _ in 0..20 {
        let (one, other) = (high - golden * (high - low), low + golden * (high - low));
        if distance(one) < distance(other) { high = other } else { low = one }
    }
    (low + high) / 2.0
}

fn hotspot(popularity: &Popularity, part: f64, keys: f64) -> (Law, f64) {
    let operations = share_at(popularity, part * keys);
    let model = |rank: f64| match rank / keys {
        hot if hot <= part => operations * hot / part,
        cold => operations + (1.0 - operations) * (cold - part) / (1.0 - part),
    };
    (Law::Hotspot { keys: part, operations }, distance(popularity, model))
}

/// The share of the keys up to `rank`, between the points that are known.
fn share_at(popularity: &Popularity, rank: f64) -> f64 {
    let mut before = (0.0, 0.0);
    for point in &popularity.shares {
        if point.rank >= rank {
            let part = (rank - before.0) / (point.rank - before.0).max(f64::MIN_POSITIVE);
            return before.1 + (point.share - before.1) * part;
        }
        before = (point.rank, point.share);
    }
    1.0
}

fn distance(popularity: &Popularity, model: impl Fn(f64) -> f64) -> f64 {
    let differences = popularity.shares.iter().map(|point| (point.share - model(point.rank)).abs());
    differences.fold(0.0, f64::max)
}

/// Sizes in steps that grow with them.
#[derive(Default)]
struct Sizes {
    /// Count with sum of each step.
    steps: Vec<(u64, u64)>,
}

impl Sizes {
    fn add_written(&mut self, operation: &Operation) {
        if matches!(operation.kind, Kind::Insert | Kind::Update) {
            self.add(u64::from(operation.bytes));
        }
    }

    fn add(&mut self, size: u64) {
        let step = step(size);
        if self.steps.len() <= step {
            self.steps.resize(step + 1, (0, 0));
        }
        self.steps[step].0 += 1;
        self.steps[step].1 += size;
    }

    /// Each step stands for its mean, as the two whole numbers around it, so that the mean of all
    /// stays as it is.
    fn list(&self) -> Option<SizeList> {
        let mut list = SizeList { sizes: Vec::new(), counts: Vec::new() };
        for &(count, sum) in self.steps.iter().filter(|(count, _)| *count > 0) {
            let (least, above) = (sum / count, sum % count);
            let around = [(least, count - above), (least + 1, above)];
            for (size, count) in around.into_iter().filter(|(_, count)| *count > 0) {
                list.sizes.push(size);
                list.counts.push(count);
            }
        }
        (!list.counts.is_empty()).then_some(list)
    }
}

/// Sizes below 8 have a step of their own, each doubling above has four.
fn step(size: u64) -> usize {
    if size < 2 * STEPS {
        return size as usize;
    }
    let doubling = u64::from(size.ilog2()) - 3;
    let within = (size >> (doubling + 1)) - STEPS;
    (2 * STEPS + doubling * STEPS + within) as usize
}

/// An even sample of distinct keys in bounded memory: adaptive sampling after Wegman (Flajolet, "On
/// adaptive sampling", Computing 43, 1990).
#[derive(Default)]
struct KeySample {
    keys: HashSet<u64>,
    level: u32,
}

impl KeySample {
    fn add(&mut self, key: u64) {
        let is_sampled = |key: u64, level: u32| mix(key ^ SAMPLE).leading_zeros() >= level;
        if is_sampled(key, self.level) && self.keys.insert(key) {
            while self.keys.len() > KEYS_MAX {
                self.level += 1;
                let level = self.level;
                self.keys.retain(|&key| is_sampled(key, level));
            }
        }
    }

    /// The lengths that are known.
    fn lengths(&self) -> Option<SizeList> {
        let mut sizes = Sizes::default();
        let lengths = self.keys.iter().map(|key| key & LENGTH_MAX);
        lengths.filter(|length| *length > 0).for_each(|length| sizes.add(length));
        sizes.list()
    }
}

#[cfg(test)]
mod tests {
    use assay_model::Seed;

    use super::*;
    use crate::imported::import::lone;

    /// The popularity of 200,000 draws of keys.
    fn drawn(draw: impl Fn(f64) -> f64) -> Popularity {
        let mut stats = TraceStatBuilder::new(StatOptions::default());
        let mut draws = Seed(8).draws(1, 0);
        for process in 0..200_000 {
            let key = draw(draws.unit()) as u64;
            stats.add(&[lone(process, key, Kind::Read, 0)]);
        }
        stats.finish(&crate::header::Header::example()).popularity
    }

    #[test]
    fn the_law_of_the_keys_is_found() {
        assert_eq!(law(&drawn(|unit| unit * 1000.0)).0, Law::Uniform);
        // Ranks up to x have ln x / ln 2000 of all: Zipf's law with exponent 1.
        let (found, distance) = law(&drawn(|unit| 2000f64.powf(unit)));
        let Law::Zipf { exponent } = found else { panic!("{found:?}") };
        assert!((exponent - 1.0).abs() < 0.1 && distance < 0.05, "{exponent} {distance}");
        let (found, distance) = law(&drawn(|unit| match unit {
            hot if hot < 0.9 => hot / 0.9 * 100.0,
            cold => 100.0 + (cold - 0.9) * 9000.0,
        }));
        let Law::Hotspot { keys, operations } = found else { panic!("{found:?}") };
        assert_eq!(keys, 0.1);
        assert!((operations - 0.9).abs() < 0.01 && distance < 0.05, "{operations} {distance}");
    }

    #[test]
    fn one_key_alone_is_no_law() {
        assert_eq!(law(&drawn(|_| 5.0)).0, Law::Uniform);
    }

    #[test]
    fn sizes_keep_their_mean_in_few_steps() {
        let mut sizes = Sizes::default();
        let mut sum = 0;
        for number in 0..100_000u64 {
            let size = number * number % 70_001;
            sizes.add(size);
            sum += size;
        }
        let list = sizes.list().unwrap();
        assert!(list.sizes.len() <= 128 && list.sizes.is_sorted(), "{:?}", list.sizes);
        assert_eq!(list.counts.iter().sum::<u64>(), 100_000);
        assert!((list.mean() / (sum as f64 / 100_000.0) - 1.0).abs() < 1e-9);
    }

    #[test]
    fn steps_follow_each_other_without_a_gap() {
        let mut last = 0;
        for size in 0..100_000 {
            let step = step(size);
            assert!(step == last || step == last + 1, "{size}: {last} then {step}");
            last = step;
        }
        let mut one = Sizes::default();
        (0..9).for_each(|_| one.add(2439));
        assert_eq!(one.list(), Some(SizeList { sizes: vec![2439], counts: vec![9] }));
    }

    #[test]
    fn lengths_of_keys_count_each_key_once() {
        let mut sample = KeySample::default();
        for turn in 0..5 {
            (0..100_000u64).for_each(|name| sample.add(name << 12 | (10 + name % 2)));
            sample.add(u64::MAX << 12 | (90 * turn / 5));
        }
        assert!(sample.keys.len() <= KEYS_MAX && sample.level == 1);
        let list = sample.lengths().unwrap();
        assert!((list.mean() - 10.5).abs() < 0.05, "{list:?}");
    }
}

//! Choice of the record of an operation.

use assay_model::Draws;

use crate::distribution::{
    Exponential, Hotspot, Scatter, ScrambledZipfian, Sequential, SkewedLatest, Uniform, Zipf,
};
use crate::spec::{KeyDistribution, Spec};

/// The chosen distribution over the records of a plan.
#[derive(Clone, Debug)]
pub(crate) enum Choice {
    Uniform(Uniform),
    Sequential(Sequential),
    Zipfian { first: u64, ranks: Zipf, scatter: Option<Scatter> },
    YcsbZipfian(ScrambledZipfian),
    Latest(Zipf),
    YcsbLatest(SkewedLatest),
    Hotspot(Hotspot),
    Exponential(Exponential),
}

impl Choice {
    /// For a checked specification.
    pub(crate) fn new(spec: &Spec) -> Choice {
        let keys = &spec.keys;
        let (first, count) = (spec.dataset.first, spec.dataset.share());
        match keys.distribution {
            KeyDistribution::Uniform => Choice::Uniform(Uniform { first, count }),
            KeyDistribution::Sequential => Choice::Sequential(Sequential { first, count }),
            KeyDistribution::Zipfian => Choice::Zipfian {
                first,
                ranks: Zipf::new(count, keys.theta()),
                scatter: keys.scatter().then(|| Scatter::new(count)),
            },
            KeyDistribution::YcsbZipfian => {
                let items = count + spec.expected_inserts() + 1;
                Choice::YcsbZipfian(ScrambledZipfian::new(first, items))
            }
            KeyDistribution::Latest => {
                Choice::Latest(Zipf::new(spec.dataset.records, keys.theta()))
            }
            KeyDistribution::YcsbLatest => {
                Choice::YcsbLatest(SkewedLatest::new(spec.dataset.records - 1, keys.theta()))
            }
            KeyDistribution::Hotspot => Choice::Hotspot(
                Hotspot::new(first, count, keys.hot_records(), keys.hot_operations())
                    .expect("a checked hotspot has a hot set with a cold one"),
            ),
            KeyDistribution::Exponential => Choice::Exponential(Exponential::new(
                keys.percentile(),
                spec.dataset.records as f64 * keys.fraction(),
            )),
        }
    }

    /// A record number that depends on nothing but the draws, if there is such a thing here.
    ///
    /// It may be beyond the last record: then [`Choice::draw`] goes on with what is left of the
    /// draws.
    #[inline]
    pub(crate) fn draw_ahead(&self, draws: &mut Draws) -> Option<u64> {
        match self {
            Choice::YcsbZipfian(zipfian) => Some(zipfian.draw(draws)),
            Choice::Uniform(uniform) => Some(uniform.draw(draws)),
            Choice::Zipfian { first, ranks, scatter } => {
                Some(scattered(*first, ranks, scatter.as_ref(), draws))
            }
            Choice::Hotspot(hotspot) => Some(hotspot.draw(draws)),
            Choice::Sequential(_)
            | Choice::Latest(_)
            | Choice::YcsbLatest(_)
            | Choice::Exponential(_) => None,
        }
    }

    /// One record number, at most `last`; `turn` counts the draws before this one.
    ///
    /// Only two distributions can give a number beyond `last`, or below zero, and draw again.
    pub(crate) fn draw(&mut self, last: u64, turn: u64, draws: &mut Draws) -> u64 {
        match self {
            Choice::YcsbZipfian(zipfian) => loop {
                let key = zipfian.draw(draws);
                if key <= last {
                    return key;
                }
            },
            Choice::Uniform(uniform) => uniform.draw(draws),
            Choice::Sequential(sequential) => sequential.at(turn),
            Choice::Zipfian { first, ranks, scatter } => {
                scattered(*first, ranks, scatter.as_ref(), draws)
            }
            Choice::Latest(distances) => {
                if distances.ranks() != last + 1 {
                    distances.resize(last + 1);
                }
                last - distances.draw(draws)
            }
            Choice::YcsbLatest(latest) => latest.draw(last, draws),
            Choice::Hotspot(hotspot) => hotspot.draw(draws),
            Choice::Exponential(exponential) => loop {
                let distance = exponential.draw(draws);
                if distance < last as f64 + 1.0 {
                    return last - (distance as u64).min(last);
                }
            },
        }
    }
}

#[inline]
fn scattered(first: u64, ranks: &Zipf, scatter: Option<&Scatter>, draws: &mut Draws) -> u64 {
    let rank = ranks.draw(draws);
    first + scatter.map_or(rank, |scatter| scatter.place(rank))
}

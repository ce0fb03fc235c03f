//! Places of arrivals on an axis on which one arrives per unit, as one worker walks along it.

use assay_model::seed::Stream;
use assay_model::{Nanos, Seed};

use super::mmpp2::Modulation;
use super::process::ArrivalProcess;
use super::rate_profile::RateProfile;
use super::recorded::WrittenPlaces;
use super::{gamma, jitter, lognormal, poisson};

/// The stream of draws that belongs to arrivals.
const STREAM: u64 = 0x6172_7269;

/// The places of a process, read in rising order.
pub(crate) enum Places {
    /// Arrival `i` lies at `i`.
    Even,
    /// Near `i`.
    Jittered { stream: Stream, share: f64 },
    /// At the sum of all gaps until then.
    Renewal(Walk),
    /// As `Renewal`, with bursts.
    Modulated(Walk, Box<Modulation>),
    /// Where somebody has written.
    Written(WrittenPlaces),
}

/// A sum of gaps. Every worker adds up those of the others too, in the same order, so that all see
/// the same places.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Walk {
    stream: Stream,
    gaps: Gaps,
    /// How many gaps are in the sum.
    count: u64,
    sum: f64,
}

#[derive(Clone, Copy, Debug)]
enum Gaps {
    Exponential,
    Gamma { rate_profile: f64 },
    Lognormal { parameters: (f64, f64) },
}

impl Places {
    pub fn new(process: &ArrivalProcess, seed: Seed, rate_profile: &RateProfile) -> Places {
        let stream = seed.stream(STREAM);
        let walk = |gaps| Walk { stream, gaps, count: 0, sum: 0.0 };
        match process {
            ArrivalProcess::Constant => Places::Even,
            ArrivalProcess::Poisson => Places::Renewal(walk(Gaps::Exponential)),
            ArrivalProcess::Jitter(share) => Places::Jittered { stream, share: *share },
            ArrivalProcess::Mmpp2(chain) => {
                let modulation = Box::new(Modulation::new(*chain, seed, rate_profile));
                Places::Modulated(walk(Gaps::Exponential), modulation)
            }
            ArrivalProcess::Gamma(cv) => {
                Places::Renewal(walk(Gaps::Gamma { rate_profile: gamma::rate_profile(*cv) }))
            }
            ArrivalProcess::Lognormal(cv) => {
                let parameters = lognormal::parameters(*cv);
                Places::Renewal(walk(Gaps::Lognormal { parameters }))
            }
            ArrivalProcess::Recorded(timetable) => Places::Written(timetable.places()),
        }
    }

    /// How many arrivals the shape expects before arrival `index` comes; may be infinite if that
    /// is not before `reach`.
    #[inline]
    pub fn expected(&mut self, index: u64, rate_profile: &RateProfile, reach: Nanos) -> f64 {
        match self {
            Places::Even => index as f64,
            Places::Jittered { stream, share } => jitter::place(*stream, index, *share),
            Places::Renewal(walk) => walk.to(index),
            Places::Modulated(walk, modulation) => {
                modulation.settle();
                modulation.expected(walk.to(index), rate_profile, reach)
            }
            Places::Written(written) => written.place(index),
        }
    }

    /// As [`Places::expected`] for the arrival that was read last, whose place was `last`,
    /// after a change of the shape from a moment on that it has not passed.
    pub fn expected_again(&mut self, last: f64, rate_profile: &RateProfile, reach: Nanos) -> f64 {
        match self {
            Places::Modulated(walk, modulation) => {
                modulation.reshape(rate_profile);
                modulation.expected(walk.sum, rate_profile, reach)
            }
            _ => last,
        }
    }

    /// As [`Places::expected`] for the arrival that was read last, whose place was `last`,
    /// with a later `reach`. The shape will not change before `settled`.
    pub fn expected_further(
        &mut self,
        last: f64,
        rate_profile: &RateProfile,
        settled: Nanos,
        reach: Nanos,
    ) -> f64 {
        match self {
            Places::Modulated(walk, modulation) if last == f64::INFINITY => {
                modulation.settle_until(settled, rate_profile);
                modulation.expected(walk.sum, rate_profile, reach)
            }
            _ => last,
        }
    }
}

impl Walk {
    #[inline]
    fn to(&mut self, index: u64) -> f64 {
        match self.gaps {
            Gaps::Exponential => self.add(index, poisson::gap),
            Gaps::Gamma { rate_profile } => {
                self.add(index, |stream, i| gamma::gap(stream, i, rate_profile))
            }
            Gaps::Lognormal { parameters } => {
                self.add(index, |stream, i| lognormal::gap(stream, i, parameters))
            }
        }
    }

    #[inline]
    fn add(&mut self, index: u64, gap: impl Fn(Stream, u64) -> f64) -> f64 {
        while self.count <= index {
            self.sum += gap(self.stream, self.count);
            self.count += 1;
        }
        self.sum
    }
}

//! Bursts: a Poisson process whose rate is switched between two by a Markov chain.

use assay_model::{Nanos, Seed};

use super::rate_profile::RateProfile;

/// The stream of draws that belongs to sojourns.
const SOJOURNS: u64 = 0x6D6D_7070;

/// A two-state Markov-modulated Poisson process.
///
/// Bursts and calms follow each other for exponentially distributed times. Which state rules, and
/// for how long, is a function of (seed, number of the sojourn) on the run's own time axis: a
/// shape that halves the rate does not make bursts last twice as long. The rate on average is
/// that of the shape, exactly: the chain begins in its steady state.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mmpp2 {
    /// The rate in a burst in multiples of that in a calm; from 1.
    pub ratio: f64,
    /// How long a burst lasts on average; above 0.
    pub burst: Nanos,
    /// How long a calm lasts on average; above 0.
    pub calm: Nanos,
}

impl Mmpp2 {
    /// The rates in a burst and in a calm, in multiples of the mean rate.
    pub fn factors(&self) -> (f64, f64) {
        let (burst, calm) = (self.burst.as_secs_f64(), self.calm.as_secs_f64());
        let low = (burst + calm) / (self.ratio * burst + calm);
        (self.ratio * low, low)
    }

    /// The coefficient of variation of gaps at a mean `rate` per second.
    ///
    /// Fischer and Meier-Hellstern, "The Markov-modulated Poisson process (MMPP) cookbook" (1993),
    /// for two states: 1 + 2σ₁σ₂(λ₁−λ₂)² / ((σ₁+σ₂)²(λ₁λ₂+λ₁σ₂+λ₂σ₁)), of which this is the root.
    pub fn cv(&self, rate: f64) -> f64 {
        let (high, low, leave_burst, leave_calm) = self.rates(rate);
        let both = leave_burst + leave_calm;
        let spread = 2.0 * leave_burst * leave_calm * (high - low).powi(2);
        let weight = high * low + high * leave_calm + low * leave_burst;
        (1.0 + spread / (both * both * weight)).sqrt()
    }

    /// The index of dispersion of counts in windows of `window` at a mean `rate` per second:
    /// variance over mean, 1 for a Poisson process. Same source, equation for IDC(t).
    pub fn dispersion(&self, rate: f64, window: Nanos) -> f64 {
        let (high, low, leave_burst, leave_calm) = self.rates(rate);
        let both = leave_burst + leave_calm;
        let spread = 2.0 * leave_burst * leave_calm * (high - low).powi(2)
            / (both * both * (high * leave_calm + low * leave_burst));
        let time = both * window.as_secs_f64();
        1.0 + spread * (1.0 + libm::expm1(-time) / time)
    }

    fn rates(&self, rate: f64) -> (f64, f64, f64, f64) {
        let (high, low) = self.factors();
        (high * rate, low * rate, 1.0 / self.burst.as_secs_f64(), 1.0 / self.calm.as_secs_f64())
    }

    /// Whether the chain begins with a burst: as likely as there is one at any other moment.
    fn begins_with_burst(&self, seed: Seed) -> bool {
        let (burst, calm) = (self.burst.as_secs_f64(), self.calm.as_secs_f64());
        seed.draws(SOJOURNS, u64::MAX).unit() < burst / (burst + calm)
    }

    /// How long sojourn `number` lasts.
    fn sojourn(&self, seed: Seed, number: u64, is_burst: bool) -> Nanos {
        let mean = if is_burst { self.burst } else { self.calm };
        let unit = -libm::log(1.0 - seed.draws(SOJOURNS, number).unit());
        Nanos((unit * mean.0 as f64) as u64 + 1)
    }
}

/// Turns places of a Poisson process into places on the shape's axis, sojourn by sojourn.
#[derive(Clone, Debug)]
pub(crate) struct Modulation {
    chain: Mmpp2,
    seed: Seed,
    /// The sojourn of the last arrival that was let go, or a later one that no change will touch:
    /// a changed shape is walked again from here.
    settled: Sojourn,
    ahead: Sojourn,
}

/// One sojourn with where it lies on the three axes.
#[derive(Clone, Copy, Debug)]
struct Sojourn {
    number: u64,
    is_burst: bool,
    until: Nanos,
    /// Arrivals that the shape expects before it.
    expected: f64,
    /// Places of the Poisson process before it, then before the next one.
    places: f64,
    places_until: f64,
    factor: f64,
}

impl Modulation {
    pub fn new(chain: Mmpp2, seed: Seed, rate_profile: &RateProfile) -> Modulation {
        let is_burst = chain.begins_with_burst(seed);
        let (high, low) = chain.factors();
        let mut first = Sojourn {
            number: 0,
            is_burst,
            until: chain.sojourn(seed, 0, is_burst),
            expected: 0.0,
            places: 0.0,
            places_until: 0.0,
            factor: if is_burst { high } else { low },
        };
        first.fit(rate_profile);
        Modulation { chain, seed, settled: first, ahead: first }
    }

    /// The arrivals that the shape expects before `place`, which must not fall from call to call;
    /// infinite if it is never reached, or not before `reach`.
    #[inline]
    pub fn expected(&mut self, place: f64, rate_profile: &RateProfile, reach: Nanos) -> f64 {
        while place >= self.ahead.places_until {
            if self.ahead.until >= reach || rate_profile.is_silent_from(self.ahead.until) {
                return f64::INFINITY;
            }
            self.ahead = self.next(&self.ahead, rate_profile);
        }
        self.ahead.expected + (place - self.ahead.places) / self.ahead.factor
    }

    /// The last argument will not be used again.
    pub fn settle(&mut self) {
        self.settled = self.ahead;
    }

    /// The shape will not change before `moment`.
    pub fn settle_until(&mut self, moment: Nanos, rate_profile: &RateProfile) {
        while self.settled.number < self.ahead.number && self.settled.until <= moment {
            self.settled = self.next(&self.settled, rate_profile);
        }
    }

    /// The shape has changed after what is settled.
    pub fn reshape(&mut self, rate_profile: &RateProfile) {
        self.settled.fit(rate_profile);
        self.ahead = self.settled;
    }

    fn next(&self, last: &Sojourn, rate_profile: &RateProfile) -> Sojourn {
        let (high, low) = self.chain.factors();
        let (number, is_burst) = (last.number + 1, !last.is_burst);
        let length = self.chain.sojourn(self.seed, number, is_burst);
        let mut next = Sojourn {
            number,
            is_burst,
            until: last.until.saturating_add(length),
            expected: rate_profile.integral(last.until),
            places: last.places_until,
            places_until: 0.0,
            factor: if is_burst { high } else { low },
        };
        next.fit(rate_profile);
        next
    }
}

impl Sojourn {
    fn fit(&mut self, rate_profile: &RateProfile) {
        let arrivals = rate_profile.integral(self.until) - self.expected;
        self.places_until = self.places + self.factor * arrivals;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHORT: Mmpp2 =
        Mmpp2 { ratio: 10.0, burst: Nanos::from_micros(100), calm: Nanos::from_micros(900) };

    #[test]
    fn a_place_that_is_hours_away_is_not_walked_to_at_once() {
        let (rate_profile, seed) = (RateProfile::constant(0.0003), Seed(4));
        let mut modulation = Modulation::new(SHORT, seed, &rate_profile);
        let second = Nanos::from_secs(1);
        assert_eq!(modulation.expected(1.0, &rate_profile, second), f64::INFINITY);
        assert!((1_000..4_000).contains(&modulation.ahead.number), "{:?}", modulation.ahead);
        modulation.settle_until(second, &rate_profile);
        assert_eq!(modulation.settled.number, modulation.ahead.number);
    }

    #[test]
    fn a_place_is_the_same_in_many_strides_as_in_one() {
        let (rate_profile, seed) = (RateProfile::constant(0.5), Seed(4));
        let mut at_once = Modulation::new(SHORT, seed, &rate_profile);
        let target = at_once.expected(1.0, &rate_profile, Nanos::NEVER);
        let mut in_strides = Modulation::new(SHORT, seed, &rate_profile);
        let strides = (1..100).map(|number| Nanos::from_millis(100 * number));
        let found = strides.map(|reach| {
            in_strides.settle_until(Nanos(reach.0 / 2), &rate_profile);
            in_strides.reshape(&rate_profile);
            in_strides.expected(1.0, &rate_profile, reach)
        });
        let found: Vec<f64> = found.collect();
        assert_eq!((found[9], found[98]), (f64::INFINITY, target));
    }
}

//! Delay: a constant, or drawn from a distribution.

use std::f64::consts::TAU;
use std::fmt;
use std::str::FromStr;

use assay_model::{Draws, Nanos};

use super::quantity::{length, share, spell};

/// A length of time, or where it is drawn from.
#[derive(Clone, Debug, PartialEq)]
pub enum Delay {
    /// Always this long.
    Constant(Nanos),
    /// Anything between the two, with equal chance.
    Uniform(Nanos, Nanos),
    /// Memoryless, with this mean.
    Exponential(Nanos),
    /// Lognormal with this median; the second is the deviation of the logarithm.
    Lognormal(Nanos, f64),
    /// One of several bands by their shares, then anything within it with equal chance.
    Bands(Vec<Band>),
}

/// One band of [`Delay::Bands`].
#[derive(Clone, Debug, PartialEq)]
pub struct Band {
    /// Its share of all draws; the shares of all bands together are 1.
    pub share: f64,
    /// The shortest length.
    pub from: Nanos,
    /// Lengths are below this.
    pub to: Nanos,
    /// Whether nothing else goes on while a length of this band passes.
    pub stops: bool,
}

/// One length that was drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Drawn {
    /// How long.
    pub length: Nanos,
    /// Whether nothing else goes on meanwhile.
    pub stops: bool,
}

impl Delay {
    /// No time at all.
    pub const NONE: Delay = Delay::Constant(Nanos::ZERO);

    /// Whether it is no time at all, always.
    pub fn is_none(&self) -> bool {
        *self == Delay::NONE
    }

    /// One length. A constant draws nothing.
    pub fn draw(&self, draws: &mut Draws) -> Drawn {
        let plain = |length: Nanos| Drawn { length, stops: false };
        match self {
            Delay::Constant(length) => plain(*length),
            Delay::Uniform(from, to) => plain(between(*from, *to, draws)),
            Delay::Exponential(mean) => {
                let unit = draws.unit();
                plain(scaled(*mean, -libm::log(1.0 - unit)))
            }
            Delay::Lognormal(median, sigma) => {
                plain(scaled(*median, libm::exp(sigma * normal(draws))))
            }
            Delay::Bands(bands) => {
                let mut left = draws.unit();
                let last = bands.last().expect("a checked delay has bands");
                let chosen = bands.iter().find(|band| {
                    left -= band.share;
                    left < 0.0
                });
                let band = chosen.unwrap_or(last);
                Drawn { length: between(band.from, band.to, draws), stops: band.stops }
            }
        }
    }

    /// The mean length, in nanoseconds.
    pub fn mean(&self) -> f64 {
        let middle = |from: &Nanos, to: &Nanos| (from.0 as f64 + to.0 as f64) / 2.0;
        match self {
            Delay::Constant(length) | Delay::Exponential(length) => length.0 as f64,
            Delay::Uniform(from, to) => middle(from, to),
            Delay::Lognormal(median, sigma) => median.0 as f64 * libm::exp(sigma * sigma / 2.0),
            Delay::Bands(bands) => {
                bands.iter().map(|band| band.share * middle(&band.from, &band.to)).sum()
            }
        }
    }
}

fn between(from: Nanos, to: Nanos, draws: &mut Draws) -> Nanos {
    match to.since(from) {
        Nanos::ZERO => from,
        Nanos(span) => from + Nanos(draws.below(span)),
    }
}

/// Lengths of distributions without an end are cut at a thousand hours.
fn scaled(unit: Nanos, times: f64) -> Nanos {
    Nanos((unit.0 as f64 * times).min(3.6e15) as u64)
}

/// A standard normal number (Box, Muller: "A note on the generation of random normal deviates",
/// 1958), of the two that it gives the first.
fn normal(draws: &mut Draws) -> f64 {
    let radius = libm::sqrt(-2.0 * libm::log(1.0 - draws.unit()));
    radius * libm::cos(TAU * draws.unit())
}

const FORMS: &str = "write 2ms, `uniform 1ms..3ms`, `exponential 2ms`, `lognormal 2ms 0.5` \
                     (median, sigma) or `bands 90% 1ms..2ms, 10% 1s..2s`";

impl FromStr for Delay {
    type Err = String;

    /// As [`fmt::Display`] spells it; `:` may stand for a space, so that it fits into a URL.
    fn from_str(text: &str) -> Result<Delay, String> {
        let text = text.trim().replace(':', " ");
        let (name, rest) = text.split_once(' ').unwrap_or(("", &text));
        let rest = rest.trim();
        let wrong = || format!("{text:?} is no delay; {FORMS}");
        match name {
            "" => length(rest).map(Delay::Constant).map_err(|_| wrong()),
            "uniform" => range(rest).map(|(from, to)| Delay::Uniform(from, to)),
            "exponential" => length(rest).map(Delay::Exponential),
            "lognormal" => {
                let (median, sigma) = rest.split_once(' ').ok_or_else(wrong)?;
                let sigma = sigma.trim().parse::<f64>().map_err(|_| wrong())?;
                if !(0.0..=10.0).contains(&sigma) {
                    return Err(format!("a sigma of {sigma} lies beyond 0 … 10"));
                }
                Ok(Delay::Lognormal(length(median)?, sigma))
            }
            "bands" => {
                let bands: Result<Vec<Band>, String> = rest.split(',').map(str::parse).collect();
                let bands = bands?;
                let sum: f64 = bands.iter().map(|band| band.share).sum();
                if (sum - 1.0).abs() > 1e-9 {
                    return Err(format!("the shares of the bands add up to {sum}, not to 1"));
                }
                Ok(Delay::Bands(bands))
            }
            _ => Err(wrong()),
        }
    }
}

impl FromStr for Band {
    type Err = String;

    fn from_str(text: &str) -> Result<Band, String> {
        let words: Vec<&str> = text.split_whitespace().collect();
        let (of, lengths, stops) = match words[..] {
            [of, lengths] => (of, lengths, false),
            [of, lengths, "stop"] => (of, lengths, true),
            _ => return Err(format!("{text:?} is no band; write 90% 1ms..2ms or 1% 1s..2s stop")),
        };
        let (from, to) = range(lengths)?;
        Ok(Band { share: share(of)?, from, to, stops })
    }
}

fn range(text: &str) -> Result<(Nanos, Nanos), String> {
    let (from, to) =
        text.split_once("..").ok_or_else(|| format!("{text:?} is no span; {FORMS}"))?;
    let (from, to) = (length(from)?, length(to)?);
    if from > to {
        return Err(format!("{text} ends before it begins"));
    }
    Ok((from, to))
}

impl fmt::Display for Delay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Delay::Constant(length) => f.write_str(&spell(*length)),
            Delay::Uniform(from, to) => write!(f, "uniform {}..{}", spell(*from), spell(*to)),
            Delay::Exponential(mean) => write!(f, "exponential {}", spell(*mean)),
            Delay::Lognormal(median, sigma) => write!(f, "lognormal {} {sigma}", spell(*median)),
            Delay::Bands(bands) => {
                for (place, band) in bands.iter().enumerate() {
                    let before = if place == 0 { "bands " } else { ", " };
                    let after = if band.stops { " stop" } else { "" };
                    let (from, to) = (spell(band.from), spell(band.to));
                    write!(f, "{before}{} {from}..{to}{after}", band.share)?;
                }
                Ok(())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use assay_model::Seed;

    use super::*;

    const MANY: u64 = 20_000;

    fn mean_of(text: &str) -> (f64, f64) {
        let delay: Delay = text.parse().unwrap();
        let sum: u64 =
            (0..MANY).map(|index| delay.draw(&mut Seed(5).draws(1, index)).length.0).sum();
        (sum as f64 / MANY as f64 / 1e6, delay.mean() / 1e6)
    }

    #[test]
    fn draws_have_the_mean_that_is_computed() {
        for text in ["2ms", "uniform 1ms..3ms", "exponential 2ms", "lognormal 2ms 0.5"] {
            let (drawn, computed) = mean_of(text);
            assert!((drawn / computed - 1.0).abs() < 0.03, "{text}: {drawn} {computed}");
        }
    }

    #[test]
    fn bands_are_hit_by_their_shares() {
        let delay: Delay = "bands 75% 1ms..2ms, 25% 10ms..20ms stop".parse().unwrap();
        let stops = |index: &u64| delay.draw(&mut Seed(5).draws(1, *index)).stops;
        let hit = (0..MANY).filter(stops).count() as f64 / MANY as f64;
        assert!((hit - 0.25).abs() < 0.01, "{hit}");
        for index in 0..1000 {
            let Drawn { length, stops } = delay.draw(&mut Seed(6).draws(1, index));
            let (from, to) = if stops { (10, 20) } else { (1, 2) };
            assert!((Nanos::from_millis(from)..Nanos::from_millis(to)).contains(&length));
        }
    }

    #[test]
    fn delays_are_read_as_they_are_spelled() {
        for text in [
            "0",
            "250us",
            "uniform 1ms..3ms",
            "exponential 2ms",
            "lognormal 2ms 0.5",
            "bands 0.75 1ms..2ms, 0.25 10ms..20ms stop",
        ] {
            assert_eq!(text.parse::<Delay>().unwrap().to_string(), text);
        }
        assert_eq!("exponential:2ms".parse(), Ok(Delay::Exponential(Nanos::from_millis(2))));
        for text in ["", "2", "gamma 2ms", "uniform 2ms", "uniform 2ms..1ms", "bands 50% 1s..2s"] {
            assert!(text.parse::<Delay>().is_err(), "{text}");
        }
    }
}

//! Fits the exponent of a zipf distribution to counts by rank.

/// Ranks accessed less often than this do not enter the fit.
///
/// Sorting by count puts lucky keys first, so among rare keys the order is noise that makes the
/// curve look steeper than it is.
pub(super) const LEAST_COUNT: f64 = 30.0;
/// Fewer ranks than this say nothing about a curve.
const LEAST_RANKS: f64 = 10.0;
/// The greatest exponent that is distinguished.
const GREATEST: f64 = 10.0;
/// Ranks up to here are summed one by one; beyond, the sum is an integral.
const SUMMED: u32 = 1000;
/// Pieces of the integral over the logarithm of the rank.
const PIECES: u32 = 512;

/// A zipf distribution fitted to the most popular keys.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ZipfFit {
    /// The exponent s of P(rank) ∝ rank^-s; 0 is uniform, YCSB's zipfian is 0.99.
    pub exponent: f64,
    /// How many ranks entered the fit, from the most popular on.
    pub ranks: u64,
    /// The Kolmogorov–Smirnov distance over these ranks; small if the keys are zipfian.
    pub distance: f64,
}

/// Keys that were accessed equally often.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Step {
    /// How often each.
    pub count: f64,
    /// How many of them; fractional if estimated.
    pub keys: f64,
}

/// Fits the exponent to `steps`, which go from popular to rare.
///
/// Maximum likelihood, as Clauset, Shalizi with Newman advise against least squares on log-log
/// axes ("Power-law distributions in empirical data", SIAM Review 51, 2009), for a zipf that is
/// cut off at the last rank with enough counts. The likelihood is greatest where the expected
/// logarithm of the rank equals the one found, which falls with the exponent: bisection finds it.
pub(super) fn fit(steps: &[Step]) -> Option<ZipfFit> {
    let popular: Vec<Step> =
        steps.iter().copied().take_while(|step| step.count >= LEAST_COUNT).collect();
    let ranks: f64 = popular.iter().map(|step| step.keys).sum();
    if ranks < LEAST_RANKS {
        return None;
    }
    let total: f64 = popular.iter().map(|step| step.keys * step.count).sum();
    let mut rank = 0.0;
    let mut logarithms = 0.0;
    for step in &popular {
        let after = rank + step.keys;
        // The sum of the logarithms of the ranks after `rank` up to `after`.
        logarithms += step.count * (libm::lgamma(after + 1.0) - libm::lgamma(rank + 1.0));
        rank = after;
    }
    let found = logarithms / total;
    let (mut low, mut high) = (0.0, GREATEST);
    for _ in 0..60 {
        let middle = (low + high) / 2.0;
        let (weight, weighted) = sums(middle, ranks);
        if weighted / weight > found { low = middle } else { high = middle }
    }
    let exponent = (low + high) / 2.0;
    let distance = distance(&popular, exponent, ranks, total);
    Some(ZipfFit { exponent, ranks: ranks.round() as u64, distance })
}

/// The share of the first `rank` of `ranks` ranks under a zipf with exponent `s`.
pub(crate) fn share(s: f64, rank: f64, ranks: f64) -> f64 {
    sums(s, rank).0 / sums(s, ranks).0
}

/// The sums of r^-s with and without the factor ln r, over ranks 1 to `ranks`.
fn sums(s: f64, ranks: f64) -> (f64, f64) {
    let summed = ranks.min(f64::from(SUMMED)).round() as u32;
    let (mut weight, mut weighted) = (0.0, 0.0);
    for rank in 1..=summed {
        let logarithm = libm::log(f64::from(rank));
        let term = libm::exp(-s * logarithm);
        weight += term;
        weighted += term * logarithm;
    }
    if ranks <= f64::from(SUMMED) {
        return (weight, weighted);
    }
    // The midpoint rule turns the rest of the sum into an integral from half a rank before to
    // half a rank after; with u = ln r it is smooth enough for Simpson's rule.
    let (from, to) = (libm::log(f64::from(SUMMED) + 0.5), libm::log(ranks + 0.5));
    let width = (to - from) / f64::from(PIECES);
    for piece in 0..=PIECES {
        let u = from + width * f64::from(piece);
        let factor = match piece {
            0 | PIECES => 1.0,
            odd if odd % 2 == 1 => 4.0,
            _ => 2.0,
        };
        let term = factor * width / 3.0 * libm::exp(u * (1.0 - s));
        weight += term;
        weighted += term * u;
    }
    (weight, weighted)
}

/// The greatest difference between the cumulative shares found and fitted, at about 16 ranks per
/// factor of e.
fn distance(steps: &[Step], exponent: f64, ranks: f64, total: f64) -> f64 {
    let all = sums(exponent, ranks).0;
    let (mut rank, mut requested) = (0.0, 0.0);
    let mut next = 1.0;
    let mut greatest: f64 = 0.0;
    for step in steps {
        while next <= rank + step.keys && next <= ranks {
            let share = (requested + (next - rank) * step.count) / total;
            greatest = greatest.max((share - sums(exponent, next).0 / all).abs());
            next = f64::max(next + 1.0, libm::floor(next * libm::exp(1.0 / 16.0)));
        }
        rank += step.keys;
        requested += step.keys * step.count;
    }
    greatest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curve(exponent: f64, ranks: u32, first: f64) -> Vec<Step> {
        let count = |rank: u32| first * f64::from(rank).powf(-exponent);
        (1..=ranks).map(|rank| Step { count: count(rank), keys: 1.0 }).collect()
    }

    #[test]
    fn the_exponent_of_an_exact_curve_is_found() {
        for exponent in [0.0, 0.5, 0.99, 1.0, 1.5] {
            let fit = fit(&curve(exponent, 20_000, 1e9)).unwrap();
            assert!((fit.exponent - exponent).abs() < 1e-4, "{exponent}: {fit:?}");
            assert!(fit.distance < 1e-4, "{fit:?}");
        }
    }

    #[test]
    fn the_integral_continues_the_sum() {
        for s in [0.0, 0.99, 1.0, 2.0] {
            let direct: f64 = (1..=50_000).map(|rank| f64::from(rank).powf(-s)).sum();
            assert!((sums(s, 50_000.0).0 / direct - 1.0).abs() < 1e-7, "{s}");
        }
    }

    #[test]
    fn two_plateaus_are_far_from_any_zipf() {
        let steps = [Step { count: 4000.0, keys: 1000.0 }, Step { count: 250.0, keys: 4000.0 }];
        assert!(fit(&steps).unwrap().distance > 0.1);
    }

    #[test]
    fn a_few_keys_have_no_exponent() {
        assert_eq!(fit(&curve(0.99, 9, 1e6)), None);
        assert_eq!(fit(&[Step { count: 2.0, keys: 1e6 }]), None);
    }
}

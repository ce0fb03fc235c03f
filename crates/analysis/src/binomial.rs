//! The binomial distribution for counts that need not be whole.
//!
//! Dependent operations tell less than their number says; their counts are divided by the
//! dependence τ before they are held against the binomial distribution, so they become real
//! numbers. The distribution is continued to them by the incomplete beta function:
//! F(t; n, p) = I₁₋ₚ(n − t, t + 1). Source: NIST Digital Library of Mathematical Functions,
//! §8.17(i); the continued fraction is §8.17.22, evaluated as W. J. Lentz did (modified by
//! I. J. Thompson with A. R. Barnett, J. Comput. Phys. 64, 1986).

use crate::plausibility::Verdict;

/// Terms of the continued fraction after which it has converged for any counts of ours.
const TERMS_MAX: u32 = 10_000;

/// P(X ≤ `over`) for X ~ Bin(`of`, `share`).
pub fn at_most(over: f64, of: f64, share: f64) -> f64 {
    if over >= of {
        return 1.0;
    }
    if over < 0.0 {
        return 0.0;
    }
    incomplete_beta(of - over, over + 1.0, 1.0 - share)
}

/// P(X ≥ `over`) for X ~ Bin(`of`, `share`).
pub fn at_least(over: f64, of: f64, share: f64) -> f64 {
    if over <= 0.0 {
        return 1.0;
    }
    if over > of {
        return 0.0;
    }
    incomplete_beta(over, of - over + 1.0, share)
}

/// Whether a share of at most `allowed` is exceeded, after `over` of `of` independent tries were.
///
/// The rule by which MLPerf stops early: with t tries over the limit of n it is passed at
/// confidence c when F(t; n, 1 − p) ≤ 1 − c, in words: when so few would be a surprise if the share
/// were only just too large. The other way round it is missed when so many would be a surprise if
/// the share were only just small enough. In between nobody can tell yet.
///
/// Example: 0 of 298 over a p99 limit is no proof yet at 95 %, 0 of 299 is.
///
/// Source: V. J. Reddi et al., "MLPerf Inference Benchmark", ISCA 2020, §III-D, with its early
/// stopping rules since v2.0. Without MLPerf's tolerance (its d is 0 here).
pub fn early_stop(over: f64, of: f64, allowed: f64, confidence: f64) -> Verdict {
    if at_most(over, of, allowed) <= 1.0 - confidence {
        Verdict::Held
    } else if at_least(over, of, allowed) <= 1.0 - confidence {
        Verdict::Violated
    } else {
        Verdict::Unknown
    }
}

/// The least number of tries of which `over` may be over the limit and [`early_stop`] passes.
pub fn least_tries(over: f64, allowed: f64, confidence: f64) -> u64 {
    let passes = |of: u64| early_stop(over, of as f64, allowed, confidence) == Verdict::Held;
    let mut high = 1_u64;
    while !passes(high) && high < 1 << 40 {
        high *= 2;
    }
    let mut low = high / 2;
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if passes(middle) {
            high = middle;
        } else {
            low = middle;
        }
    }
    high
}

/// The regularized incomplete beta function Iₓ(a, b), for a, b > 0.
fn incomplete_beta(a: f64, b: f64, x: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    if x >= 1.0 {
        return 1.0;
    }
    let log_beta = libm::lgamma(a) + libm::lgamma(b) - libm::lgamma(a + b);
    let front = (a * x.ln() + b * (-x).ln_1p() - log_beta).exp();
    // Beyond the mean the fraction converges faster from the other side.
    if x < (a + 1.0) / (a + b + 2.0) {
        front * fraction(a, b, x) / a
    } else {
        1.0 - front * fraction(b, a, 1.0 - x) / b
    }
}

/// The continued fraction of the incomplete beta function by Lentz's method.
fn fraction(a: f64, b: f64, x: f64) -> f64 {
    const TINY: f64 = 1e-300;
    let away_from_zero = |value: f64| if value.abs() < TINY { TINY } else { value };
    let mut upper = 1.0;
    let mut lower = 1.0 / away_from_zero(1.0 - (a + b) * x / (a + 1.0));
    let mut value = lower;
    for place in 1..=TERMS_MAX {
        let m = f64::from(place);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        for term in [even, odd] {
            lower = 1.0 / away_from_zero(1.0 + term * lower);
            upper = away_from_zero(1.0 + term / upper);
            value *= lower * upper;
        }
        if (lower * upper - 1.0).abs() < 1e-14 {
            break;
        }
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The same by adding up probabilities.
    fn summed(over: u32, of: u32, share: f64) -> f64 {
        let term = |k: u32| {
            let ways = libm::lgamma(f64::from(of) + 1.0)
                - libm::lgamma(f64::from(k) + 1.0)
                - libm::lgamma(f64::from(of - k) + 1.0);
            (ways + f64::from(k) * share.ln() + f64::from(of - k) * (-share).ln_1p()).exp()
        };
        (0..=over).map(term).sum()
    }

    #[test]
    fn the_distribution_is_what_its_terms_add_up_to() {
        for (of, share) in [(1, 0.3), (10, 0.5), (299, 0.01), (3_000, 0.001), (3_000, 0.9)] {
            for over in (0..of).step_by(1 + of as usize / 20) {
                let (found, expected) =
                    (at_most(f64::from(over), f64::from(of), share), summed(over, of, share));
                assert!((found - expected).abs() < 1e-9, "F({over}; {of}, {share}) = {found}");
                let rest = at_least(f64::from(over) + 1.0, f64::from(of), share);
                assert!((found + rest - 1.0).abs() < 1e-9, "{found} + {rest}");
            }
        }
    }

    #[test]
    fn the_number_of_tries_is_that_of_the_table() {
        for (over, p99, p999) in
            [(0.0, 299, 2_995), (1.0, 473, 4_742), (10.0, 1_693, 16_959), (20.0, 2_902, 29_058)]
        {
            assert_eq!(least_tries(over, 0.01, 0.95), p99, "{over} over p99");
            assert_eq!(least_tries(over, 0.001, 0.95), p999, "{over} over p99.9");
        }
    }

    #[test]
    fn many_tries_over_the_limit_are_no_chance() {
        assert_eq!(early_stop(0.0, 298.0, 0.01, 0.95), Verdict::Unknown);
        assert_eq!(early_stop(0.0, 299.0, 0.01, 0.95), Verdict::Held);
        assert_eq!(early_stop(15.0, 1_000.0, 0.01, 0.95), Verdict::Unknown);
        assert_eq!(early_stop(17.0, 1_000.0, 0.01, 0.95), Verdict::Violated);
        assert_eq!(early_stop(3.0, 3.0, 0.01, 0.95), Verdict::Violated);
        assert_eq!(early_stop(0.0, 0.0, 0.01, 0.95), Verdict::Unknown);
    }

    #[test]
    fn counts_between_whole_numbers_lie_between_their_neighbours() {
        let at = |over: f64| at_most(over, 473.0, 0.01);
        assert!(at(0.0) < at(0.5) && at(0.5) < at(1.0));
        assert!(least_tries(0.5, 0.01, 0.95) > 299 && least_tries(0.5, 0.01, 0.95) < 473);
    }

    #[test]
    fn large_counts_stay_exact_enough() {
        // The normal approximation with continuity correction, at three standard deviations.
        let (of, share) = (1e7_f64, 0.01_f64);
        let deviation = (of * share * (1.0 - share)).sqrt();
        let found = at_most(of * share - 3.0 * deviation - 0.5, of, share);
        assert!((found / 0.001_35 - 1.0).abs() < 0.02, "{found}");
    }
}

//! The generalised harmonic number that normalises a zipfian distribution.

/// Up to here the sum is formed term by term, as YCSB does; beyond, the rest is integrated.
pub const SUMMED: u64 = 1 << 20;

/// Σ i^-theta for i = 1..=n.
///
/// Terms are added in ascending order up to [`SUMMED`]; the rest is the Euler–Maclaurin formula
/// with its first two corrections: the term left out is below 10^-25, so beyond [`SUMMED`] the
/// result is closer to the truth than a sum in floating point, from which it differs by less than
/// 10^-12 of its size.
pub fn zeta(n: u64, theta: f64) -> f64 {
    let head = extend(0.0, 0, n.min(SUMMED), theta);
    if n <= SUMMED { head } else { head + tail(SUMMED as f64, n as f64, theta) }
}

/// Adds the terms of `from` + 1 to `to`, one by one, to the sum up to `from`.
pub fn extend(sum: f64, from: u64, to: u64, theta: f64) -> f64 {
    (from + 1..=to).fold(sum, |sum, i| sum + 1.0 / libm::pow(i as f64, theta))
}

/// Σ i^-theta for i = m+1..=n.
fn tail(m: f64, n: f64, theta: f64) -> f64 {
    let rise = 1.0 - theta;
    let stretch = libm::log(n / m);
    let area =
        if rise == 0.0 { stretch } else { libm::pow(m, rise) * libm::expm1(rise * stretch) / rise };
    let value = |x: f64| libm::pow(x, -theta);
    let slope = |x: f64| -theta * libm::pow(x, -theta - 1.0);
    area + (value(n) - value(m)) / 2.0 + (slope(n) - slope(m)) / 12.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(found: f64, expected: f64, relative: f64) {
        assert!((found / expected - 1.0).abs() < relative, "found {found:?}, wanted {expected:?}");
    }

    #[test]
    fn sums_equal_those_of_ycsb() {
        close(zeta(2, 0.99), 1.5034777750283594, 1e-15);
        close(zeta(1000, 0.99), 7.728953217284729, 1e-14);
        close(zeta(10_000, 0.99), 10.224361459595578, 1e-14);
        close(zeta(100_000, 0.99), 12.778338062551246, 1e-13);
        close(zeta(1_000_000, 0.99), 15.391849746037371, 1e-13);
        close(zeta(10_000_000, 0.99), 18.066242574968303, 1e-12);
        close(zeta(10_000_000_001, 0.99), 26.46902820178302, 1e-9);
    }

    #[test]
    fn integrated_tail_equals_the_sum() {
        for theta in [0.1, 0.5, 0.99, 1.0, 1.2, 2.0] {
            let summed = extend(0.0, 0, 3_000_000, theta);
            close(zeta(3_000_000, theta), summed, 1e-12);
        }
    }
}

//! Little's law as a lie detector for any throughput that is claimed together with a latency.

use assay_model::named_enum;

/// Rates and means are rounded, windows cut operations: this much above the limit is still honest.
const TOLERANCE: f64 = 1.02;

named_enum! {
    /// What the evidence says about a claim.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum Verdict {
        /// It holds.
        Held => "held",
        /// It cannot be true.
        Violated => "violated",
        /// There is not enough to tell.
        Unknown => "unknown",
    }
}

/// Little's law, L = λ · W, beside the concurrency that was possible.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Plausibility {
    /// Throughput in operations per second (λ).
    pub lambda_per_s: f64,
    /// Mean time of an operation in seconds (W).
    pub mean_s: f64,
    /// The mean concurrency that follows (L).
    pub little_l: f64,
    /// The most that could be there at once: sessions, threads, or the bound in flight.
    pub limit: Option<f64>,
    /// Held if L does not exceed the limit (2 % are forgiven), unknown without a limit or without
    /// operations.
    pub verdict: Verdict,
}

/// Holds a throughput and a mean latency against the concurrency that was possible.
///
/// Example: 3 threads that do 100,000 operations per second at a mean of 80 µs keep 8 operations
/// in flight, which 3 threads cannot: one of the three numbers is wrong.
///
/// Source: J. D. C. Little, "A proof for the queuing formula L = λW", Operations Research 9 (1961).
pub fn plausibility(lambda_per_s: f64, mean_s: f64, limit: Option<f64>) -> Plausibility {
    let little_l = lambda_per_s * mean_s;
    let verdict = match limit {
        Some(limit) if lambda_per_s > 0.0 => {
            if little_l <= limit * TOLERANCE {
                Verdict::Held
            } else {
                Verdict::Violated
            }
        }
        _ => Verdict::Unknown,
    };
    Plausibility { lambda_per_s, mean_s, little_l, limit, verdict }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_threads_cannot_keep_eight_operations_in_flight() {
        let claim = plausibility(100_000.0, 80e-6, Some(3.0));
        assert!((claim.little_l - 8.0).abs() < 1e-9);
        assert_eq!(claim.verdict, Verdict::Violated);
    }

    #[test]
    fn a_claim_without_a_limit_stays_unknown() {
        assert_eq!(plausibility(100.0, 1.0, None).verdict, Verdict::Unknown);
        assert_eq!(plausibility(0.0, 0.0, Some(1.0)).verdict, Verdict::Unknown);
        assert_eq!(plausibility(100.0, 0.01, Some(1.0)).verdict, Verdict::Held);
    }
}

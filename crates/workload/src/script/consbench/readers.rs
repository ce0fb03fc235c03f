//! How many readers reach all replicas.

/// The probability that `readers`, each at a replica drawn uniformly, reach all `replicas`.
///
/// By inclusion and exclusion over the sets of replicas that nobody reaches:
/// 1 - sum over i from 1 to n - 1 of (-1)^(i + 1) C(n, i) ((n - i) / n)^m.
///
/// # Panics
/// If there are no replicas.
pub fn probability(replicas: u64, readers: u64) -> f64 {
    assert!(replicas > 0, "data lies on at least one replica");
    if readers < replicas {
        return 0.0;
    }
    let n = replicas as f64;
    let (mut missed, mut choices, mut sign) = (0.0, 1.0, 1.0);
    for i in 1..replicas {
        choices *= (n - (i - 1) as f64) / i as f64;
        missed += sign * choices * libm::pow((n - i as f64) / n, readers as f64);
        sign = -sign;
    }
    (1.0 - missed).clamp(0.0, 1.0)
}

/// The least number of readers that reach all `replicas` with at least this probability.
///
/// # Panics
/// If there are no replicas, or the probability is not below 1.
pub fn readers_needed(replicas: u64, at_least: f64) -> u64 {
    assert!(at_least < 1.0, "a probability that can be reached is below 1");
    let is_enough = |readers: &u64| probability(replicas, *readers) >= at_least;
    (replicas..).find(is_enough).expect("the probability tends to 1")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The same by going through all ways to choose a replica for each reader.
    fn counted(replicas: u64, readers: u64) -> f64 {
        let ways = replicas.pow(readers as u32);
        let reaches_all = |way: &u64| {
            let (mut left, mut reached) = (*way, 0u64);
            for _ in 0..readers {
                reached |= 1 << (left % replicas);
                left /= replicas;
            }
            reached == (1 << replicas) - 1
        };
        (0..ways).filter(reaches_all).count() as f64 / ways as f64
    }

    #[test]
    fn the_formula_equals_what_counting_gives() {
        for (replicas, readers) in [(1, 1), (1, 3), (2, 1), (2, 5), (3, 3), (3, 7), (4, 6), (5, 7)]
        {
            let (formula, count) = (probability(replicas, readers), counted(replicas, readers));
            assert!((formula - count).abs() < 1e-12, "{replicas} {readers}: {formula} {count}");
        }
    }

    #[test]
    fn ninety_five_per_cent_need_as_many_readers_as_the_literature_says() {
        assert_eq!([3, 5, 7].map(|replicas| readers_needed(replicas, 0.95)), [11, 21, 33]);
        assert_eq!(readers_needed(1, 0.99), 1);
        assert_eq!(readers_needed(3, 0.0), 3);
    }
}

//! Number of readers that reach all replicas.

/// The probability that `readers`, each at a replica drawn uniformly, reach all `replicas`.
///
/// It equals 1 - sum over i from 1 to n - 1 of (-1)^(i + 1) C(n, i) ((n - i) / n)^m, by inclusion
/// and exclusion over the sets of replicas that no reader reaches. That sum alternates between
/// numbers so large that for some dozens of replicas no digit of it is right; so readers are added
/// one after another here, each at a new replica or not.
///
/// # Panics
/// If there are no replicas.
pub fn probability(replicas: u64, readers: u64) -> f64 {
    let mut reached = Reached::nobody(replicas);
    (0..readers).for_each(|_| reached.add_reader());
    reached.all()
}

/// The least number of readers that reach all `replicas` with at least this probability.
///
/// # Panics
/// If there are no replicas, or the probability is above [`PROBABILITY_MAX`].
pub fn readers_needed(replicas: u64, at_least: f64) -> u64 {
    assert!(at_least <= PROBABILITY_MAX, "a probability that can be reached is below 1");
    let mut reached = Reached::nobody(replicas);
    let mut readers = 0;
    while readers < replicas || reached.all() < at_least {
        reached.add_reader();
        readers += 1;
    }
    readers
}

/// The greatest probability in use; closer to 1 rounding would count.
pub const PROBABILITY_MAX: f64 = 0.999_999;

/// How likely each number of replicas is reached.
struct Reached {
    shares: Vec<f64>,
}

impl Reached {
    fn nobody(replicas: u64) -> Reached {
        assert!(replicas > 0, "data lies on at least one replica");
        let mut shares = vec![0.0; replicas as usize + 1];
        shares[0] = 1.0;
        Reached { shares }
    }

    fn add_reader(&mut self) {
        let replicas = self.shares.len() as f64 - 1.0;
        for count in (1..self.shares.len()).rev() {
            let again = self.shares[count] * count as f64 / replicas;
            let new = self.shares[count - 1] * (replicas - (count - 1) as f64) / replicas;
            self.shares[count] = again + new;
        }
        self.shares[0] = 0.0;
    }

    fn all(&self) -> f64 {
        self.shares[self.shares.len() - 1]
    }
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

    fn by_inclusion_and_exclusion(replicas: u64, readers: u64) -> f64 {
        let n = replicas as f64;
        let (mut missed, mut choices, mut sign) = (0.0, 1.0, 1.0);
        for i in 1..replicas {
            choices *= (n - (i - 1) as f64) / i as f64;
            missed += sign * choices * ((n - i as f64) / n).powi(readers as i32);
            sign = -sign;
        }
        1.0 - missed
    }

    #[test]
    fn readers_one_by_one_give_what_inclusion_and_exclusion_gives() {
        for replicas in 1..=9 {
            for readers in replicas..40 {
                let (ours, formula) =
                    (probability(replicas, readers), by_inclusion_and_exclusion(replicas, readers));
                assert!((ours - formula).abs() < 1e-10, "{replicas} {readers}: {ours} {formula}");
            }
        }
    }

    #[test]
    fn a_hundred_replicas_cause_no_rounding_error() {
        // The coupon collector's limit: about n (ln n - ln -ln p) draws.
        let needed = readers_needed(100, 0.95) as f64;
        assert!((needed / (100.0 * (100f64.ln() - (-0.95f64.ln()).ln())) - 1.0).abs() < 0.02);
        assert!(readers_needed(100, PROBABILITY_MAX) < 2_000);
    }

    #[test]
    fn the_probability_equals_what_counting_gives() {
        for (replicas, readers) in [(1, 1), (1, 3), (2, 1), (2, 5), (3, 3), (3, 7), (4, 6), (5, 7)]
        {
            let (ours, count) = (probability(replicas, readers), counted(replicas, readers));
            assert!((ours - count).abs() < 1e-12, "{replicas} {readers}: {ours} {count}");
        }
    }

    #[test]
    fn ninety_five_per_cent_need_as_many_readers_as_the_literature_says() {
        assert_eq!([3, 5, 7].map(|replicas| readers_needed(replicas, 0.95)), [11, 21, 33]);
        assert_eq!(readers_needed(1, 0.99), 1);
        assert_eq!(readers_needed(3, 0.0), 3);
    }
}

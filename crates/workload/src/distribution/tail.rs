//! Sizes with a heavy tail: the generalized Pareto distribution beside that of extreme values.

use assay_model::Draws;

/// Which curve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Curve {
    /// Generalized Pareto: F(x) = 1 − (1 + shape · z)^(−1 / shape) with z = (x − location) / scale.
    Pareto,
    /// Generalized extreme values: F(x) = exp(−(1 + shape · z)^(−1 / shape)).
    ExtremeValue,
}

/// A size drawn from one of the curves, rounded up, within bounds.
///
/// Signs of shapes are those of Atikoglu et al. ("Workload analysis of a large-scale key-value
/// store", SIGMETRICS 2012) or of RocksDB's db_bench: above 0 the tail is heavy.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tail {
    /// Which curve.
    pub curve: Curve,
    /// Where it begins, or where its bulk lies.
    pub location: f64,
    /// How wide it is.
    pub scale: f64,
    /// How heavy its tail is.
    pub shape: f64,
    /// Smaller sizes become this one.
    pub min: u64,
    /// Larger sizes become this one.
    pub max: u64,
}

impl Tail {
    /// One size.
    pub fn draw(&self, draws: &mut Draws) -> u64 {
        let unit = 1.0 - draws.unit();
        // What is raised to a power is uniform for Pareto, exponential for extreme values.
        let raised = match self.curve {
            Curve::Pareto => unit,
            Curve::ExtremeValue => -libm::log(unit),
        };
        let size = match self.shape {
            0.0 => self.location - self.scale * libm::log(raised),
            shape => self.location + self.scale * (libm::pow(raised, -shape) - 1.0) / shape,
        };
        // A number beyond 64 bits saturates.
        (libm::ceil(size).max(0.0) as u64).clamp(self.min, self.max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_model::Seed;

    /// The distance between the sizes drawn and the curve, times the root of their number.
    fn distance(tail: Tail, below: impl Fn(f64) -> f64) -> f64 {
        const DRAWS: usize = 20_000;
        let mut sizes: Vec<u64> =
            (0..DRAWS as u64).map(|item| tail.draw(&mut Seed(3).draws(9, item))).collect();
        sizes.sort_unstable();
        let mut greatest: f64 = 0.0;
        for (rank, pair) in sizes.windows(2).enumerate() {
            // Rounded up: all up to a size lie at or below it.
            if pair[0] != pair[1] && pair[0] > tail.min && pair[1] < tail.max {
                let share = (rank + 1) as f64 / DRAWS as f64;
                greatest = greatest.max((share - below(pair[0] as f64)).abs());
            }
        }
        greatest * (DRAWS as f64).sqrt()
    }

    #[test]
    fn sizes_follow_their_curve() {
        let values = Tail {
            curve: Curve::Pareto,
            location: 0.0,
            scale: 214.476,
            shape: 0.348238,
            min: 1,
            max: 1 << 20,
        };
        let below = |x: f64| 1.0 - (1.0 + 0.348238 * x / 214.476).powf(-1.0 / 0.348238);
        // Kolmogorov–Smirnov: above 1.95 once in a thousand.
        assert!(distance(values, below) < 1.95);
        let keys = Tail {
            curve: Curve::ExtremeValue,
            location: 30.7984,
            scale: 8.20449,
            shape: 0.078688,
            min: 1,
            max: 250,
        };
        let below = |x: f64| {
            let z = (x - 30.7984) / 8.20449;
            (-(1.0 + 0.078688 * z).powf(-1.0 / 0.078688)).exp()
        };
        assert!(distance(keys, below) < 1.95);
    }

    #[test]
    fn bounds_hold() {
        let tail = Tail {
            curve: Curve::Pareto,
            location: 0.0,
            scale: 25.45,
            shape: 3.0,
            min: 10,
            max: 1024,
        };
        let sizes = (0..10_000).map(|item| tail.draw(&mut Seed(1).draws(1, item)));
        let sizes: Vec<u64> = sizes.collect();
        assert!(sizes.iter().all(|size| (10..=1024).contains(size)));
        assert!(sizes.contains(&10) && sizes.contains(&1024));
        let light = Tail { shape: 0.0, ..tail };
        let mean = (0..10_000).map(|item| light.draw(&mut Seed(1).draws(1, item))).sum::<u64>();
        assert!((mean / 10_000).abs_diff(28) < 2, "{mean}");
    }
}

//! Quantiles of the normal distribution with those of Student's t.

/// Points on which a density is summed up; the quantiles are then right to four digits.
const GRID: usize = 1_000;

/// Beyond this many degrees of freedom t is the normal distribution to three digits.
const MANY: f64 = 400.0;

/// The value that a standard normal variable exceeds with probability (1 − `level`) / 2.
pub fn normal(level: f64) -> f64 {
    quantile(|x| (-x * x / 2.0).exp(), 9.0, level)
}

/// The value that Student's t with `degrees` ≥ 1 of freedom, whole or not, exceeds with
/// probability (1 − `level`) / 2.
///
/// With t = √ν · tan θ the density of θ is cos^(ν−1) θ from 0 to π/2, so that no constant is
/// needed.
pub fn student(level: f64, degrees: f64) -> f64 {
    if degrees > MANY {
        return normal(level);
    }
    let density = |angle: f64| angle.cos().max(0.0).powf(degrees - 1.0);
    let angle = quantile(density, std::f64::consts::FRAC_PI_2, level);
    degrees.sqrt() * angle.tan()
}

/// Where the share `level` of the area below `density` between 0 and `until` is reached.
fn quantile(density: impl Fn(f64) -> f64, until: f64, level: f64) -> f64 {
    let step = until / GRID as f64;
    let heights: Vec<f64> = (0..=GRID).map(|place| density(place as f64 * step)).collect();
    let areas = || heights.windows(2).map(|pair| f64::midpoint(pair[0], pair[1]));
    let expected = level * areas().sum::<f64>();
    let mut before = 0.0;
    for (place, area) in areas().enumerate() {
        if before + area >= expected {
            let within = if area > 0.0 { (expected - before) / area } else { 0.0 };
            return (place as f64 + within) * step;
        }
        before += area;
    }
    until
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_what_tables_say() {
        for (level, degrees, table) in [
            (0.95, 1.0, 12.706),
            (0.95, 2.0, 4.303),
            (0.95, 4.0, 2.776),
            (0.95, 8.0, 2.306),
            (0.95, 29.0, 2.045),
            (0.99, 4.0, 4.604),
            (0.98, 8.0, 2.896),
        ] {
            let found = student(level, degrees);
            assert!((found / table - 1.0).abs() < 0.001, "{level} {degrees}: {found}");
        }
        assert!((normal(0.95) - 1.95996).abs() < 1e-3);
        assert!((normal(0.99) - 2.57583).abs() < 1e-3);
    }
}

//! Compares the mix that a spec wants with the one that a trace has.

/// The least expected count for which chi-square says anything (Cochran, Biometrics 10, 1954).
const LEAST_EXPECTED: f64 = 5.0;
/// Below this probability chance is no explanation any more.
const LEAST_PROBABILITY: f64 = 0.001;

/// A wanted mix beside the one found.
#[derive(Clone, Debug, PartialEq)]
pub struct Mix {
    /// Every name that is wanted or found: the wanted ones first, in their order.
    pub rows: Vec<MixRow>,
    /// Pearson's chi-square statistic over the rows; infinite if something unwanted was found.
    pub chi_square: f64,
    /// Its degrees of freedom: wanted names with a share above zero, less one.
    pub degrees: u32,
    /// The probability of at least this chi-square if the mix is the wanted one.
    pub probability: f64,
    /// What follows.
    pub verdict: MixVerdict,
}

/// One name of a mix.
#[derive(Clone, Debug, PartialEq)]
pub struct MixRow {
    /// The name.
    pub name: String,
    /// The wanted share, 0 to 1.
    pub target: f64,
    /// The share found, 0 to 1.
    pub found: f64,
    /// How many were found.
    pub count: u64,
}

/// Whether the mix found is the one wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MixVerdict {
    /// Chance alone explains the difference.
    Held,
    /// Chance alone would differ so much less than once in a thousand traces.
    Violated,
    /// Too few operations to tell.
    Unknown,
}

/// Compares wanted shares, which need not sum to 1, with the counts found.
pub fn compare_mix(target: &[(String, f64)], found: &[(String, u64)]) -> Mix {
    let wanted_sum: f64 = target.iter().map(|(_, share)| share).sum();
    let found_sum: u64 = found.iter().map(|(_, count)| count).sum();
    let count_of = |name: &str| {
        found.iter().filter(|(known, _)| known == name).map(|(_, count)| count).sum::<u64>()
    };
    let share_of = |count: u64| if found_sum == 0 { 0.0 } else { count as f64 / found_sum as f64 };
    let row = |name: &str, target: f64| {
        let count = count_of(name);
        MixRow { name: name.to_owned(), target, found: share_of(count), count }
    };
    let is_target = |name: &str| target.iter().any(|(known, _)| known == name);
    let unwanted = found.iter().filter(|(name, _)| !is_target(name));
    let rows: Vec<MixRow> = target
        .iter()
        .map(|(name, share)| row(name, if wanted_sum > 0.0 { share / wanted_sum } else { 0.0 }))
        .chain(unwanted.map(|(name, _)| row(name, 0.0)))
        .collect();
    analyze(rows, found_sum)
}

fn analyze(rows: Vec<MixRow>, found_sum: u64) -> Mix {
    let expected = |row: &MixRow| row.target * found_sum as f64;
    let term = |row: &MixRow| match expected(row) {
        expected if expected > 0.0 => (row.count as f64 - expected).powi(2) / expected,
        _ if row.count == 0 => 0.0,
        _ => f64::INFINITY,
    };
    let chi_square: f64 = rows.iter().map(term).sum();
    let classes = rows.iter().filter(|row| row.target > 0.0).count();
    let degrees = u32::try_from(classes.saturating_sub(1)).unwrap_or(u32::MAX);
    let probability = exceedance(chi_square, degrees);
    let is_thin = rows.iter().any(|row| row.target > 0.0 && expected(row) < LEAST_EXPECTED);
    let verdict = match () {
        () if chi_square.is_infinite() => MixVerdict::Violated,
        () if is_thin || found_sum == 0 => MixVerdict::Unknown,
        () if probability < LEAST_PROBABILITY => MixVerdict::Violated,
        () => MixVerdict::Held,
    };
    Mix { rows, chi_square, degrees, probability, verdict }
}

/// The probability that chi-square with `degrees` degrees of freedom exceeds `x`.
///
/// That is the regularised upper incomplete gamma function Q(degrees / 2, x / 2), reached from
/// Q(1/2, h) = erfc √h or Q(1, h) = e^-h by the recurrence of DLMF 8.8.6.
fn exceedance(x: f64, degrees: u32) -> f64 {
    if degrees == 0 {
        return if x > 0.0 { 0.0 } else { 1.0 };
    }
    if x.is_infinite() {
        return 0.0;
    }
    let half = x / 2.0;
    let (mut order, mut above) = match degrees % 2 {
        1 => (0.5, libm::erfc(libm::sqrt(half))),
        _ => (1.0, libm::exp(-half)),
    };
    while order < f64::from(degrees) / 2.0 {
        above += libm::exp(order * libm::log(half) - half - libm::lgamma(order + 1.0));
        order += 1.0;
    }
    above.clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names<T: Copy>(pairs: &[(&str, T)]) -> Vec<(String, T)> {
        pairs.iter().map(|&(name, value)| (name.to_owned(), value)).collect()
    }

    fn compare(target: &[(&str, f64)], found: &[(&str, u64)]) -> Mix {
        compare_mix(&names(target), &names(found))
    }

    #[test]
    fn probabilities_are_those_of_the_tables() {
        // Abramowitz and Stegun, table 26.8: the points exceeded with the given probability.
        let table = [
            (1, 3.84146, 0.05),
            (1, 10.828, 0.001),
            (2, 5.99147, 0.05),
            (3, 7.81473, 0.05),
            (4, 9.48773, 0.05),
            (5, 20.515, 0.001),
            (6, 16.8119, 0.01),
            (9, 21.6660, 0.01),
            (10, 29.588, 0.001),
        ];
        for (degrees, x, probability) in table {
            let found = exceedance(x, degrees);
            assert!((found / probability - 1.0).abs() < 2e-3, "{degrees} {x}: {found}");
        }
    }

    #[test]
    fn a_mix_that_chance_explains_is_held() {
        let mix = compare(&[("read", 0.5), ("update", 0.5)], &[("read", 5040), ("update", 4960)]);
        assert!((mix.chi_square - 0.64).abs() < 1e-12);
        assert_eq!((mix.degrees, mix.verdict), (1, MixVerdict::Held));
        assert_eq!(mix.rows[0].found, 0.504);
    }

    #[test]
    fn a_mix_that_is_off_is_violated() {
        let mix = compare(&[("read", 95.0), ("update", 5.0)], &[("read", 9000), ("update", 1000)]);
        assert_eq!(mix.verdict, MixVerdict::Violated);
        assert_eq!(mix.rows[1].target, 0.05);
    }

    #[test]
    fn an_unplanned_kind_violates_the_mix_however_rare() {
        let mix = compare(&[("read", 1.0)], &[("read", 1_000_000), ("scan", 1)]);
        assert_eq!(mix.verdict, MixVerdict::Violated);
        assert_eq!(mix.rows[1].name, "scan");
        assert_eq!((mix.chi_square, mix.probability), (f64::INFINITY, 0.0));
    }

    #[test]
    fn a_mix_of_one_kind_is_met_by_that_kind() {
        let mix = compare(&[("read", 1.0)], &[("read", 100)]);
        assert_eq!((mix.degrees, mix.verdict), (0, MixVerdict::Held));
    }

    #[test]
    fn few_operations_leave_it_unknown() {
        let mix = compare(&[("read", 0.5), ("update", 0.5)], &[("read", 3), ("update", 2)]);
        assert_eq!(mix.verdict, MixVerdict::Unknown);
        assert_eq!(compare(&[("read", 1.0)], &[]).verdict, MixVerdict::Unknown);
    }
}

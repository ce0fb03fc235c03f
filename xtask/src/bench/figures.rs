//! Repeated measurements as medians with their spread.

/// One measurement of one run.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// What was measured.
    pub what: String,
    /// At which size.
    pub size: String,
    /// The value.
    pub value: f64,
    /// Its unit.
    pub unit: String,
}

/// What several runs say about one thing at one size.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// What was measured.
    pub what: String,
    /// At which size.
    pub size: String,
    /// The unit of all values.
    pub unit: String,
    /// The median of the runs.
    pub median: f64,
    /// The smallest.
    pub min: f64,
    /// The largest.
    pub max: f64,
    /// How many runs.
    pub runs: usize,
}

/// The samples by what and size, in the order in which they first appear.
pub fn figures(samples: &[Sample]) -> Vec<Figure> {
    let mut groups: Vec<(&Sample, Vec<f64>)> = Vec::new();
    for sample in samples {
        let same = |(first, _): &&mut (&Sample, Vec<f64>)| {
            first.what == sample.what && first.size == sample.size
        };
        match groups.iter_mut().find(same) {
            Some((_, values)) => values.push(sample.value),
            None => groups.push((sample, vec![sample.value])),
        }
    }
    groups.into_iter().map(|(first, values)| figure(first, values)).collect()
}

fn figure(first: &Sample, mut values: Vec<f64>) -> Figure {
    values.sort_by(f64::total_cmp);
    Figure {
        what: first.what.clone(),
        size: first.size.clone(),
        unit: first.unit.clone(),
        median: median(&values),
        min: values[0],
        max: values[values.len() - 1],
        runs: values.len(),
    }
}

/// The middle of sorted values, or the mean of the two in the middle.
fn median(sorted: &[f64]) -> f64 {
    let middle = sorted.len() / 2;
    if sorted.len() % 2 == 1 { sorted[middle] } else { (sorted[middle - 1] + sorted[middle]) / 2.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(what: &str, size: &str, value: f64) -> Sample {
        Sample { what: what.into(), size: size.into(), value, unit: "ns".into() }
    }

    #[test]
    fn runs_of_one_thing_become_one_figure() {
        let samples = [sample("a", "1", 3.0), sample("b", "1", 9.0), sample("a", "1", 1.0)];
        let found = figures(&samples);
        let short: Vec<_> =
            found.iter().map(|f| (f.what.as_str(), f.median, f.min, f.max, f.runs)).collect();
        assert_eq!(short, [("a", 2.0, 1.0, 3.0, 2), ("b", 9.0, 9.0, 9.0, 1)]);
    }

    #[test]
    fn sizes_are_kept_apart() {
        assert_eq!(figures(&[sample("a", "1", 3.0), sample("a", "2", 1.0)]).len(), 2);
    }

    #[test]
    fn one_outlier_does_not_move_the_median() {
        assert_eq!(median(&[1.0, 2.0, 900.0]), 2.0);
    }
}

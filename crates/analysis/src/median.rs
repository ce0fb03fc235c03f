//! Rising values, and the one in their midst.

/// Values, rising.
pub fn sorted(values: impl IntoIterator<Item = f64>) -> Vec<f64> {
    let mut values: Vec<f64> = values.into_iter().collect();
    values.sort_by(f64::total_cmp);
    values
}

/// The median of rising values; nothing of none.
pub fn median(rising: &[f64]) -> Option<f64> {
    let (upper, lower) = (rising.len() / 2, rising.len().checked_sub(1)? / 2);
    Some(f64::midpoint(rising[lower], rising[upper]))
}

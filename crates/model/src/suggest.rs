//! Suggestion of a known word for a misspelt one.

/// The candidate nearest to `word`, if it is near enough to be a slip.
///
/// Distance is Damerau's: insertions, deletions, substitutions, swaps of neighbours, each part of
/// the word changed once (optimal string alignment), letter case ignored. A third of the
/// letters may be wrong, at least one.
pub fn closest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let length = word.chars().count();
    let allowed = (length / 3).max(1);
    candidates
        .into_iter()
        // So many letters at least would have to be added, or removed.
        .filter(|candidate| candidate.chars().count().abs_diff(length) <= allowed)
        .map(|candidate| (distance(word, candidate), candidate))
        .filter(|(distance, _)| *distance <= allowed)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

fn distance(a: &str, b: &str) -> usize {
    strsim::osa_distance(&a.to_lowercase(), &b.to_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn misspellings_are_counted() {
        for (a, b, expected) in
            [("", "abc", 3), ("abc", "abc", 0), ("acb", "abc", 1), ("kitten", "sitting", 3)]
        {
            assert_eq!(distance(a, b), expected, "{a} {b}");
        }
    }

    #[test]
    fn near_words_are_found_but_far_ones_are_not() {
        let known = ["recordcount", "readproportion", "requestdistribution"];
        assert_eq!(closest("recrodcount", known), Some("recordcount"));
        assert_eq!(closest("RecordCount", known), Some("recordcount"));
        assert_eq!(closest("banana", known), None);
    }
}

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
    let letters = |word: &str| word.to_lowercase().chars().collect::<Vec<char>>();
    let (a, b) = (letters(a), letters(b));
    let mut before = vec![0; b.len() + 1];
    let mut above: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i; b.len() + 1];
        for j in 1..=b.len() {
            let changed = above[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            row[j] = changed.min(above[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                row[j] = row[j].min(before[j - 2] + 1);
            }
        }
        before = std::mem::replace(&mut above, row);
    }
    above[b.len()]
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

//! The known word nearest to a misspelt one, for "did you mean".

/// The word of `known` that differs least from `word`, if it is near enough to be meant.
///
/// Near enough are up to two edits, but fewer than half of the letters.
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let measured = known.into_iter().map(|other| (edits(word, other), other));
    let (distance, other) = measured.min_by_key(|(distance, _)| *distance)?;
    (distance <= 2 && distance * 2 < other.chars().count().max(2)).then_some(other)
}

/// Insertions, deletions, replacements and swaps of neighbours between two words: the optimal
/// string alignment distance (Boytsov, "Indexing methods for approximate dictionary searching",
/// 2011, section 2), in which no piece is edited twice.
fn edits(from: &str, to: &str) -> usize {
    let from: Vec<char> = from.chars().collect();
    let to: Vec<char> = to.chars().collect();
    let mut rows = vec![(0..=to.len()).collect::<Vec<usize>>()];
    for (i, a) in from.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, b) in to.iter().enumerate() {
            let mut best =
                (rows[i][j] + usize::from(a != b)).min(rows[i][j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && *a == to[j - 1] && from[i - 1] == *b {
                best = best.min(rows[i - 1][j - 1] + 1);
            }
            row.push(best);
        }
        rows.push(row);
    }
    rows[from.len()][to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edits_are_counted() {
        for (from, to, count) in [
            ("", "", 0),
            ("redis", "redis", 0),
            ("rdeis", "redis", 1),
            ("fjal", "fjall", 1),
            ("fjalll", "fjall", 1),
            ("", "abc", 3),
            ("kitten", "sitting", 3),
        ] {
            assert_eq!(edits(from, to), count, "{from} {to}");
        }
    }

    #[test]
    fn far_words_are_not_meant() {
        let known = ["null", "memory", "fjall", "redb", "redis"];
        assert_eq!(nearest("fjal", known), Some("fjall"));
        assert_eq!(nearest("memroy", known), Some("memory"));
        assert_eq!(nearest("postgres", known), None);
        assert_eq!(nearest("n", known), None);
    }
}

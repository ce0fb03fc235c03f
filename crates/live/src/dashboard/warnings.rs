//! Warnings printed while the dashboard is up.

use std::collections::VecDeque;

/// More than this fit on no screen.
const KEPT: usize = 64;

/// The last notices, oldest first, each with the number of times it was said in a row.
#[derive(Clone, Debug, Default)]
pub struct Warnings {
    lines: VecDeque<(String, u64)>,
}

impl Warnings {
    /// Adds a notice.
    pub fn add(&mut self, text: &str) {
        match self.lines.back_mut() {
            Some((last, times)) if last == text => *times += 1,
            _ => self.lines.push_back((text.to_owned(), 1)),
        }
        if self.lines.len() > KEPT {
            self.lines.pop_front();
        }
    }

    /// The last `most` of them as lines, oldest first.
    pub fn last(&self, most: usize) -> Vec<String> {
        let lines = self.lines.iter().skip(self.lines.len().saturating_sub(most));
        lines
            .map(|(text, times)| match times {
                1 => text.clone(),
                _ => format!("{text} ({times} times)"),
            })
            .collect()
    }

    /// Takes all of them, to be printed where lines stay.
    pub fn take(&mut self) -> Vec<String> {
        let lines = self.last(KEPT);
        self.lines.clear();
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repetitions_are_counted() {
        let mut warnings = Warnings::default();
        ["a", "b", "b", "b"].into_iter().for_each(|text| warnings.add(text));
        assert_eq!(warnings.last(9), ["a", "b (3 times)"]);
        assert_eq!(warnings.last(1), ["b (3 times)"]);
        assert_eq!(warnings.take().len(), 2);
        assert!(warnings.last(9).is_empty());
    }

    #[test]
    fn old_warnings_are_removed() {
        let mut warnings = Warnings::default();
        (0..1000).for_each(|number| warnings.add(&number.to_string()));
        assert_eq!(warnings.last(1000).len(), KEPT);
        assert_eq!(warnings.last(1), ["999"]);
    }
}

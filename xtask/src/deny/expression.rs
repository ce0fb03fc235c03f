//! Licence expressions of SPDX: names joined by `AND`, `OR`, `WITH`, brackets.

/// Whether `expression` can be satisfied by licences that `is_allowed` accepts.
///
/// `AND` binds stronger than `OR`, as SPDX 2.3 annex D says. The old spelling `MIT/Apache-2.0` is
/// an `OR`. A licence with an exception, such as `Apache-2.0 WITH LLVM-exception`, is looked up as
/// a whole first, then by its licence alone, as exceptions only ever permit more.
pub fn is_satisfied(expression: &str, is_allowed: &dyn Fn(&str) -> bool) -> bool {
    let spaced = expression.replace('(', " ( ").replace(')', " ) ").replace('/', " OR ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let mut reader = Reader { words: &words, at: 0, is_allowed };
    let satisfied = reader.any_of();
    satisfied && reader.at == words.len()
}

struct Reader<'a> {
    words: &'a [&'a str],
    at: usize,
    is_allowed: &'a dyn Fn(&str) -> bool,
}

impl Reader<'_> {
    fn next_is(&mut self, word: &str) -> bool {
        let is_next = self.words.get(self.at) == Some(&word);
        self.at += usize::from(is_next);
        is_next
    }

    fn any_of(&mut self) -> bool {
        let mut satisfied = self.all_of();
        while self.next_is("OR") {
            satisfied |= self.all_of();
        }
        satisfied
    }

    fn all_of(&mut self) -> bool {
        let mut satisfied = self.one();
        while self.next_is("AND") {
            satisfied &= self.one();
        }
        satisfied
    }

    fn one(&mut self) -> bool {
        if self.next_is("(") {
            let satisfied = self.any_of();
            return self.next_is(")") && satisfied;
        }
        let Some(name) = self.words.get(self.at) else { return false };
        self.at += 1;
        if self.next_is("WITH") {
            let exception = self.words.get(self.at).copied().unwrap_or("");
            self.at += 1;
            let whole = format!("{name} WITH {exception}");
            return (self.is_allowed)(&whole) || (self.is_allowed)(name);
        }
        (self.is_allowed)(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(expression: &str, expected: bool) {
        let is_allowed = |name: &str| ["MIT", "Apache-2.0", "Unicode-3.0"].contains(&name);
        assert_eq!(is_satisfied(expression, &is_allowed), expected, "{expression}");
    }

    #[test]
    fn expressions_are_analyzed_as_spdx_says() {
        check("MIT", true);
        check("GPL-3.0", false);
        check("GPL-3.0 OR MIT", true);
        check("GPL-3.0 AND MIT", false);
        check("MIT OR GPL-3.0 AND GPL-2.0", true);
        check("(MIT OR GPL-3.0) AND GPL-2.0", false);
        check("(MIT OR Apache-2.0) AND Unicode-3.0", true);
        check("MIT/Apache-2.0", true);
        check("Apache-2.0 WITH LLVM-exception", true);
        check("GPL-3.0 WITH GCC-exception", false);
    }

    #[test]
    fn malformed_licence_expressions_are_refused() {
        check("", false);
        check("(MIT", false);
        check("MIT MIT", false);
        check("MIT OR", true);
    }
}

//! Rust source as a flat list of tokens with their comments set apart, by the compiler's own lexer.
//!
//! A full parser is not needed: every rule of the house looks at neighbouring tokens, at matching
//! brackets or at comments.

use ra_ap_rustc_lexer::{FrontmatterAllowed, TokenKind, tokenize};

/// What sort of token it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sort {
    /// A name or a keyword.
    Name,
    /// One character of punctuation.
    Sign,
    /// A string, character or number; the text is the literal as written.
    Literal,
    /// A lifetime or loop label.
    Lifetime,
}

/// One token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    /// What sort it is.
    pub sort: Sort,
    /// Its text as written.
    pub text: String,
    /// The line it begins on, from 1.
    pub line: usize,
}

impl Token {
    /// Whether it is the name, keyword or sign `text`, never a literal.
    pub fn is(&self, text: &str) -> bool {
        matches!(self.sort, Sort::Name | Sort::Sign) && self.text == text
    }
}

/// One comment line or block comment, without its marks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Comment {
    /// The text after `//`, `///`, `//!`, or between `/*` and `*/`.
    pub text: String,
    /// The line it begins on, from 1.
    pub line: usize,
}

/// A file taken apart.
#[derive(Clone, Debug, Default)]
pub struct Lexed {
    /// The tokens in order.
    pub tokens: Vec<Token>,
    /// The comments in order.
    pub comments: Vec<Comment>,
}

impl Lexed {
    /// The index of the bracket that closes the one at `open`, or the last token.
    pub fn closing(&self, open: usize) -> usize {
        let mut depth = 0usize;
        for (index, token) in self.tokens.iter().enumerate().skip(open) {
            if token.is("{") || token.is("(") || token.is("[") {
                depth += 1;
            } else if token.is("}") || token.is(")") || token.is("]") {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return index;
                }
            }
        }
        self.tokens.len().saturating_sub(1)
    }

    /// Whether the tokens from `start` are exactly `texts`.
    pub fn matches(&self, start: usize, texts: &[&str]) -> bool {
        texts
            .iter()
            .enumerate()
            .all(|(place, text)| self.tokens.get(start + place).is_some_and(|token| token.is(text)))
    }

    /// The paths that a path or tree such as `a::{b, c::d}` names, with their lines.
    ///
    /// `before` is its prefix.
    pub fn leaves(&self, at: usize, mut before: Vec<String>) -> Vec<(Vec<String>, usize)> {
        let Some(token) = self.tokens.get(at) else { return Vec::new() };
        if token.is("{") {
            let mut found = Vec::new();
            let mut starts = true;
            let mut at = at + 1;
            while at < self.tokens.len() && !self.tokens[at].is("}") {
                if starts {
                    found.extend(self.leaves(at, before.clone()));
                }
                starts = self.tokens[at].is(",");
                at = if self.tokens[at].is("{") { self.closing(at) + 1 } else { at + 1 };
            }
            return found;
        }
        if token.sort != Sort::Name {
            return Vec::new();
        }
        match token.text.as_str() {
            "super" => drop(before.pop()),
            _ => before.push(token.text.clone()),
        }
        match self.matches(at + 1, &[":", ":"]) {
            true => self.leaves(at + 3, before),
            false => vec![(before, token.line)],
        }
    }
}

/// Takes `source` apart. Never fails: what is not understood becomes signs.
pub fn lex(source: &str) -> Lexed {
    let mut lexed = Lexed::default();
    let (mut rest, mut line) = (source, 1);
    for token in tokenize(source, FrontmatterAllowed::No) {
        let (text, after) = rest.split_at(token.len as usize);
        let mut comment = |text: &str| {
            lexed.comments.push(Comment { text: text.to_owned(), line });
            None
        };
        let sort = match token.kind {
            TokenKind::Whitespace => None,
            TokenKind::LineComment { .. } => comment(text.trim_start_matches(['/', '!']).trim()),
            TokenKind::BlockComment { .. } => {
                let text = text.strip_prefix("/*").unwrap_or(text);
                comment(text.strip_suffix("*/").unwrap_or(text))
            }
            TokenKind::Ident | TokenKind::RawIdent => Some(Sort::Name),
            TokenKind::Literal { .. } => Some(Sort::Literal),
            TokenKind::Lifetime { .. } | TokenKind::RawLifetime => Some(Sort::Lifetime),
            _ => Some(Sort::Sign),
        };
        lexed.tokens.extend(sort.map(|sort| Token { sort, text: text.to_owned(), line }));
        line += text.matches('\n').count();
        rest = after;
    }
    lexed
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(source: &str) -> Vec<String> {
        lex(source).tokens.into_iter().map(|token| token.text).collect()
    }

    #[test]
    fn strings_are_one_token_whatever_they_hold() {
        assert_eq!(texts(r#"f("a \" // b", 'x')"#), ["f", "(", r#""a \" // b""#, ",", "'x'", ")"]);
        assert_eq!(texts("r#\"a \" b\"# c"), ["r#\"a \" b\"#", "c"]);
        assert_eq!(texts("b\"x\" br\"y\" b'\\'' z"), ["b\"x\"", "br\"y\"", "b'\\''", "z"]);
    }

    #[test]
    fn lifetimes_are_not_characters() {
        let sorts: Vec<Sort> = lex("&'a T, 'a', '{'").tokens.iter().map(|t| t.sort).collect();
        use Sort::{Lifetime, Literal, Name, Sign};
        assert_eq!(sorts, [Sign, Lifetime, Name, Sign, Literal, Sign, Literal]);
    }

    #[test]
    fn comments_are_set_apart_with_their_lines() {
        let lexed = lex("//! head\nfn f() {} // tail\n/* a /* b */ c */ x");
        let comments: Vec<_> = lexed.comments.iter().map(|c| (c.line, c.text.as_str())).collect();
        assert_eq!(comments, [(1, "head"), (2, "tail"), (3, " a /* b */ c ")]);
        assert_eq!(lexed.tokens.last().map(|t| (t.line, t.text.as_str())), Some((3, "x")));
    }

    #[test]
    fn a_tree_of_imports_is_the_paths_it_names() {
        let paths = |source: &str| {
            let leaves = lex(source).leaves(0, vec!["x".to_owned(), "y".to_owned()]);
            leaves.iter().map(|(path, _)| path.join("::")).collect::<Vec<_>>()
        };
        assert_eq!(paths("a::b(1)"), ["x::y::a::b"]);
        assert_eq!(paths("super::a"), ["x::a"]);
        assert_eq!(
            paths("{a, b::{self, c as d}, e}"),
            ["x::y::a", "x::y::b::self", "x::y::b::c", "x::y::e"]
        );
    }

    #[test]
    fn brackets_find_their_partner() {
        let lexed = lex("a { b ( [ ] ) } c");
        assert_eq!(lexed.closing(1), 7);
        assert_eq!(lexed.closing(3), 6);
    }
}

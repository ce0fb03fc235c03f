//! Rust source as a flat list of tokens with their comments set apart.
//!
//! A full parser is not needed: every rule of the house looks at neighbouring tokens, at matching
//! brackets or at comments. What must be right is where strings, characters, lifetimes or comments
//! begin, so that a banned word inside a string is not a call.

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
    /// The text after `//`, `///`, `//!` or `/*`.
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
    let mut cursor = Cursor { chars: source.chars().collect(), at: 0, line: 1 };
    let mut lexed = Lexed::default();
    while let Some(first) = cursor.peek(0) {
        let line = cursor.line;
        if first.is_whitespace() {
            cursor.take();
        } else if first == '/' && cursor.peek(1) == Some('/') {
            let text = cursor.take_while(|c| c != '\n');
            let text = text.trim_start_matches(['/', '!']).trim().to_owned();
            lexed.comments.push(Comment { text, line });
        } else if first == '/' && cursor.peek(1) == Some('*') {
            lexed.comments.push(Comment { text: cursor.take_block_comment(), line });
        } else {
            let (sort, text) = cursor.take_token(first);
            lexed.tokens.push(Token { sort, text, line });
        }
    }
    lexed
}

struct Cursor {
    chars: Vec<char>,
    at: usize,
    line: usize,
}

impl Cursor {
    fn peek(&self, ahead: usize) -> Option<char> {
        self.chars.get(self.at + ahead).copied()
    }

    fn take(&mut self) -> Option<char> {
        let next = self.peek(0)?;
        self.at += 1;
        self.line += usize::from(next == '\n');
        Some(next)
    }

    fn take_while(&mut self, expected: impl Fn(char) -> bool) -> String {
        let mut text = String::new();
        while self.peek(0).is_some_and(&expected) {
            text.extend(self.take());
        }
        text
    }

    fn take_token(&mut self, first: char) -> (Sort, String) {
        if let Some(hashes) = self.raw_string_hashes() {
            return (Sort::Literal, self.take_raw_string(hashes));
        }
        if matches!((first, self.peek(1)), ('b' | 'c', Some('"')) | ('b', Some('\''))) {
            self.take();
            return self.take_token(self.peek(0).expect("a quote was just seen"));
        }
        match first {
            '"' => (Sort::Literal, self.take_quoted('"')),
            '\'' if self.is_char_literal() => (Sort::Literal, self.take_quoted('\'')),
            '\'' => {
                self.take();
                (Sort::Lifetime, self.take_while(is_name_char))
            }
            c if c.is_ascii_digit() => (Sort::Literal, self.take_while(is_name_char)),
            c if is_name_char(c) => (Sort::Name, self.take_while(is_name_char)),
            _ => (Sort::Sign, self.take().into_iter().collect()),
        }
    }

    /// A quote begins a character unless a name follows that no quote closes: that is a lifetime.
    fn is_char_literal(&self) -> bool {
        match self.peek(1) {
            Some('\\') => true,
            Some(c) if is_name_char(c) => self.peek(2) == Some('\''),
            _ => true,
        }
    }

    fn take_quoted(&mut self, quote: char) -> String {
        let mut text: String = self.take().into_iter().collect();
        while let Some(next) = self.take() {
            text.push(next);
            if next == '\\' {
                text.extend(self.take());
            } else if next == quote {
                break;
            }
        }
        text
    }

    fn raw_string_hashes(&self) -> Option<usize> {
        let mut ahead = usize::from(matches!(self.peek(0), Some('b' | 'c')));
        if self.peek(ahead) != Some('r') {
            return None;
        }
        ahead += 1;
        let mut hashes = 0;
        while self.peek(ahead + hashes) == Some('#') {
            hashes += 1;
        }
        (self.peek(ahead + hashes) == Some('"')).then_some(hashes)
    }

    fn take_raw_string(&mut self, hashes: usize) -> String {
        let mut text = self.take_while(|c| c != '"');
        text.extend(self.take());
        let end: String = std::iter::once('"').chain("#".repeat(hashes).chars()).collect();
        let mut body = String::new();
        while !body.ends_with(&end) {
            let Some(next) = self.take() else { break };
            body.push(next);
        }
        text + &body
    }

    fn take_block_comment(&mut self) -> String {
        let mut text = String::new();
        let mut depth = 0usize;
        loop {
            match (self.peek(0), self.peek(1)) {
                (Some('/'), Some('*')) => depth += 1,
                (Some('*'), Some('/')) => depth -= 1,
                (None, _) => return text,
                _ => {
                    text.extend(self.take());
                    continue;
                }
            }
            self.take();
            self.take();
            if depth == 0 {
                return text;
            }
        }
    }
}

fn is_name_char(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
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
        assert_eq!(texts("b\"x\" br\"y\" b'\\'' z"), ["\"x\"", "br\"y\"", "'\\''", "z"]);
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
        assert_eq!(comments, [(1, "head"), (2, "tail"), (3, " a  b  c ")]);
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

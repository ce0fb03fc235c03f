//! One text of SQL with its tokens, for places in messages.

use assay_model::closest;
use sqlparser::ast::{Expr, Ident, ObjectName, ObjectNamePart, Statement, TypedString};
use sqlparser::dialect::GenericDialect;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::{Location, Token, TokenWithSpan, Tokenizer};

use super::error::{ParseError, Place};

/// The most tokens between two semicolons. Long chains of operators become deep trees, which are
/// walked and dropped on the stack.
const TOKENS_MAX: usize = 4_096;

/// The most characters of an expression in a message.
const SHOWN_MAX: usize = 60;

/// The dialect that texts are read in: it takes `?` and quotes of either kind.
pub(super) const DIALECT: GenericDialect = GenericDialect {};

/// A text whose tokens are known.
pub(super) struct Text {
    origin: String,
    tokens: Vec<TokenWithSpan>,
    questions: Vec<Location>,
}

/// Words that open a clause which not every class of store can answer, with what to do.
const CLAUSES: &[(&[&str], &str)] = &[
    (&["GROUP", "BY"], "leave it out"),
    (&["HAVING"], "leave it out"),
    (&["DISTINCT"], "leave it out, rows with equal columns all count"),
    (&["UNION"], "make it two queries"),
    (&["INTERSECT"], "make it two queries"),
    (&["EXCEPT"], "make it two queries"),
    (&["WITH"], "write the query without it"),
    (&["OFFSET"], "select the rows behind a key instead"),
    (&["FETCH"], "write LIMIT"),
    (&["TOP"], "write LIMIT"),
    (&["RETURNING"], "select the row in a query of its own"),
    (&["ON", "DUPLICATE"], "leave it out, or make it two queries"),
    (&["ON", "CONFLICT"], "leave it out, or make it two queries"),
    (&["REPLACE"], "write INSERT, or DELETE before it"),
    (&["IGNORE"], "leave it out"),
    (&["OR"], "make it two queries"),
    (&["WINDOW"], "leave it out"),
    (&["OVER"], "leave it out"),
    (&["PARTITION"], "leave it out"),
    (&["USE"], "leave it out, indexes are the mapping's matter"),
    (&["FORCE"], "leave it out, indexes are the mapping's matter"),
    (&["SKIP", "LOCKED"], "leave it out"),
    (&["NOWAIT"], "leave it out"),
    (&["INTO"], "leave it out"),
    (&["FROM"], "name one relation only"),
    (&["USING"], "name one relation only"),
    (&["ORDER", "BY"], "leave it out"),
    (&["LIMIT"], "leave it out"),
    (&["AS"], "leave it out"),
    (&["LIKE"], "write the columns out"),
    (&["TEMPORARY"], "leave it out"),
    (&["UNIQUE"], "write INDEX: most stores could not guarantee it"),
];

impl Text {
    /// Splits `sql` into tokens.
    pub(super) fn read(origin: String, sql: &str) -> Result<Text, ParseError> {
        let tokens = match Tokenizer::new(&DIALECT, sql).tokenize_with_location() {
            Ok(tokens) => tokens,
            Err(error) => {
                let place = place(origin, error.location);
                return Err(ParseError::Syntax { place, reason: error.message });
            }
        };
        let mut text = Text { origin, tokens, questions: Vec::new() };
        let mut length = 0;
        for token in &text.tokens {
            length = if token.token == Token::SemiColon { 0 } else { length + 1 };
            if length > TOKENS_MAX {
                let reason = format!(
                    "the statement is longer than {TOKENS_MAX} words, blanks and signs: shorten it"
                );
                return Err(text.wrong(token.span.start, reason));
            }
            let Token::Placeholder(sign) = &token.token else { continue };
            if sign != "?" {
                let reason = format!("write ? for an argument instead of {sign}");
                return Err(text.wrong(token.span.start, reason));
            }
            text.questions.push(token.span.start);
        }
        Ok(text)
    }

    /// The statements of the text; empty ones are left out.
    pub(super) fn statements(&self) -> Result<Vec<Statement>, ParseError> {
        Parser::new(&DIALECT)
            .with_tokens_with_locations(self.tokens.clone())
            .parse_statements()
            .map_err(|error| self.syntax(error))
    }

    fn syntax(&self, error: ParserError) -> ParseError {
        let message = match error {
            ParserError::TokenizerError(message) | ParserError::ParserError(message) => message,
            ParserError::RecursionLimitExceeded => "it is nested too deeply".into(),
        };
        // The parser appends the place to its text: " at Line: 1, Column: 7".
        let end = self.tokens.last().map_or(Location::empty(), |token| token.span.end);
        let (reason, location) = match message.rsplit_once(" at Line: ") {
            Some((reason, numbers)) => (reason.to_owned(), location(numbers).unwrap_or(end)),
            None => (message, end),
        };
        ParseError::Syntax { place: self.place(location), reason }
    }

    /// Where the first word of the text stands.
    pub(super) fn first(&self) -> Location {
        let is_word = |token: &&TokenWithSpan| !matches!(token.token, Token::Whitespace(_));
        let first = self.tokens.iter().find(is_word);
        first.map_or(Location::empty(), |token| token.span.start)
    }

    /// The place of the first word.
    pub(super) fn start(&self) -> Place {
        self.place(self.first())
    }

    /// Where a word stands first, in any letter case, outside of quotes.
    pub(super) fn word(&self, expected: &str) -> Option<Location> {
        let is_it = |token: &&TokenWithSpan| match &token.token {
            Token::Word(word) => {
                word.quote_style.is_none() && word.value.eq_ignore_ascii_case(expected)
            }
            _ => false,
        };
        self.tokens.iter().find(is_it).map(|token| token.span.start)
    }

    /// The place that a location names.
    pub(super) fn place(&self, location: Location) -> Place {
        place(self.origin.clone(), location)
    }

    /// The number of `?` in the text.
    pub(super) fn questions(&self) -> usize {
        self.questions.len()
    }

    /// Which of the `?` stands at `location`, from 0.
    pub(super) fn question(&self, location: Location) -> Option<u16> {
        let place = self.questions.binary_search(&location).ok()?;
        u16::try_from(place).ok()
    }

    pub(super) fn wrong(&self, location: Location, reason: impl Into<String>) -> ParseError {
        ParseError::Wrong { place: self.place(location), reason: reason.into() }
    }

    pub(super) fn outside(
        &self,
        location: Location,
        clause: impl Into<String>,
        advice: impl Into<String>,
    ) -> ParseError {
        let place = self.place(location);
        ParseError::Outside { place, clause: clause.into(), advice: advice.into() }
    }

    /// The clause, among `words` or else among all that are known, which is not taken.
    ///
    /// `taken` are words that open clauses which this kind of statement may have.
    pub(super) fn clause(&self, statement: &str, taken: &[&str]) -> ParseError {
        let words: Vec<(&str, Location)> = self
            .tokens
            .iter()
            .filter_map(|token| match &token.token {
                Token::Word(word) if word.quote_style.is_none() => {
                    Some((word.value.as_str(), token.span.start))
                }
                _ => None,
            })
            .collect();
        for at in 0..words.len() {
            let opens = |clause: &[&str]| {
                let found = words[at..].iter().map(|(word, _)| *word);
                clause.len() <= words.len() - at
                    && clause.iter().zip(found).all(|(want, word)| word.eq_ignore_ascii_case(want))
            };
            let known =
                CLAUSES.iter().find(|(words, _)| !taken.contains(&words[0]) && opens(words));
            if let Some((clause, advice)) = known {
                return self.outside(words[at].1, clause.join(" "), *advice);
            }
        }
        let location = words.first().map_or(Location::empty(), |(_, location)| *location);
        self.outside(location, format!("a clause of this {statement}"), "write it more plainly")
    }

    /// The one name of an object that may not be qualified.
    pub(super) fn plain<'a>(&self, name: &'a ObjectName) -> Result<&'a Ident, ParseError> {
        match name.0.as_slice() {
            [ObjectNamePart::Identifier(ident)] => Ok(ident),
            parts => {
                let location = parts.iter().find_map(|part| match part {
                    ObjectNamePart::Identifier(ident) => Some(ident.span.start),
                    ObjectNamePart::Function(_) => None,
                });
                let location = location.unwrap_or(Location::empty());
                Err(self.outside(location, format!("the name {name}"), "write it without dots"))
            }
        }
    }
}

fn place(origin: String, location: Location) -> Place {
    // Expressions that the parser made up itself have no place.
    Place { origin, line: location.line.max(1), column: location.column.max(1) }
}

fn location(numbers: &str) -> Option<Location> {
    let (line, column) = numbers.split_once(", Column: ")?;
    Some(Location { line: line.trim().parse().ok()?, column: column.trim().parse().ok()? })
}

/// Where an expression begins.
///
/// Follows the left edge without recursion; what has no place of its own is somewhere, which the
/// caller replaces by the start of the text.
pub(super) fn begin(mut expr: &Expr) -> Location {
    loop {
        expr = match expr {
            Expr::BinaryOp { left, .. } => left,
            Expr::Nested(inner) | Expr::UnaryOp { expr: inner, .. } => inner,
            Expr::IsNull(inner) | Expr::IsNotNull(inner) => inner,
            Expr::InList { expr: inner, .. } | Expr::InSubquery { expr: inner, .. } => inner,
            Expr::Like { expr: inner, .. } | Expr::Between { expr: inner, .. } => inner,
            Expr::Identifier(ident) => return ident.span.start,
            Expr::CompoundIdentifier(parts) => {
                return parts.first().map_or(Location::empty(), |part| part.span.start);
            }
            Expr::Value(value) => return value.span.start,
            Expr::TypedString(TypedString { value, .. }) => return value.span.start,
            Expr::Function(function) => {
                return match function.name.0.first() {
                    Some(ObjectNamePart::Identifier(ident)) => ident.span.start,
                    _ => Location::empty(),
                };
            }
            _ => return Location::empty(),
        };
    }
}

/// The expression as it is written, cut where it gets long.
pub(super) fn display(expr: &Expr) -> String {
    let text = expr.to_string();
    match text.char_indices().nth(SHOWN_MAX) {
        Some((end, _)) => format!("{} …", &text[..end]),
        None => text,
    }
}

/// `: did you mean …?` if a known word is near, else the known words.
pub(super) fn meant<'a>(word: &str, known: impl Iterator<Item = &'a str> + Clone) -> String {
    match closest(word, known.clone()) {
        Some(near) => format!("did you mean {near}?"),
        None => format!("there are {}", known.collect::<Vec<_>>().join(", ")),
    }
}

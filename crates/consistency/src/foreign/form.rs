//! Forms of EDN and values of JSON, read one at a time from a text.
//!
//! EDN as <https://github.com/edn-format/edn>, JSON as RFC 8259. Tags are skipped, because what is
//! tagged in histories is a map or a vector with the meaning of an untagged one. Numbers that are
//! no 64-bit integers are kept as they are written: keys and values are only ever compared.

use std::fmt;

use super::error::{ForeignError, ForeignProblem, TextPosition};
use super::text::Text;

/// Deeper than any history (transactions are five levels deep), and far from the stack's end.
const MAX_DEPTH: usize = 64;
/// A list of two million elements. Memory is bounded by this, however long the file is.
const MAX_FORM_BYTES: u64 = 16 * 1024 * 1024;
/// Of a form in a message.
const MAX_SHOWN: usize = 60;
/// Tags that everybody who reads histories knows.
const KNOWN_TAGS: [&str; 4] = ["jepsen.history.Op", "knossos.op.Op", "inst", "uuid"];

/// A value of EDN or JSON.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Form {
    Nil,
    Boolean(bool),
    Integer(i64),
    /// A number that is no 64-bit integer, as it is written.
    Number(Box<str>),
    Text(Box<str>),
    /// A keyword with its colon, a symbol or a character.
    Word(Box<str>),
    /// A vector, list or set.
    Sequence(Vec<Form>),
    Map(Vec<(Form, Form)>),
}

impl Form {
    /// The text of a string, keyword or symbol, without the keyword's colon.
    pub(super) fn name(&self) -> Option<&str> {
        match self {
            Form::Text(text) => Some(text),
            Form::Word(word) => Some(word.strip_prefix(':').unwrap_or(word)),
            _ => None,
        }
    }

    /// The value of a map's member, if it has it.
    pub(super) fn member(&self, name: &str) -> Option<&Form> {
        let Form::Map(members) = self else { return None };
        members.iter().find(|(key, _)| key.name() == Some(name)).map(|(_, value)| value)
    }

    pub(super) fn integer(&self) -> Option<i64> {
        if let Form::Integer(number) = self { Some(*number) } else { None }
    }

    pub(super) fn sequence(&self) -> Option<&[Form]> {
        if let Form::Sequence(items) = self { Some(items) } else { None }
    }

    /// As EDN, for messages: shortened.
    pub(super) fn shown(&self) -> String {
        let whole = self.to_string();
        match whole.char_indices().nth(MAX_SHOWN) {
            Some((end, _)) => format!("{}…", &whole[..end]),
            None => whole,
        }
    }
}

impl fmt::Display for Form {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Form::Nil => out.write_str("nil"),
            Form::Boolean(truth) => write!(out, "{truth}"),
            Form::Integer(number) => write!(out, "{number}"),
            Form::Number(text) | Form::Word(text) => out.write_str(text),
            Form::Text(text) => write!(out, "{text:?}"),
            Form::Sequence(items) => {
                out.write_str("[")?;
                for (position, item) in items.iter().enumerate() {
                    let blank = if position == 0 { "" } else { " " };
                    write!(out, "{blank}{item}")?;
                }
                out.write_str("]")
            }
            Form::Map(members) => {
                out.write_str("{")?;
                for (position, (key, value)) in members.iter().enumerate() {
                    let blank = if position == 0 { "" } else { ", " };
                    write!(out, "{blank}{key} {value}")?;
                }
                out.write_str("}")
            }
        }
    }
}

/// The problem that something else is expected where `found` is.
pub(super) fn expected(expected: &'static str, found: &Form) -> ForeignProblem {
    ForeignProblem::Expected { expected, found: found.shown() }
}

/// Which notation a text is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Notation {
    Edn,
    Json,
}

/// The forms of a text.
pub(super) struct Forms<'a> {
    text: Text<'a>,
    notation: Notation,
    /// The bytes of the token that is being read.
    token: Vec<u8>,
    /// Where the outermost form began.
    began: TextPosition,
    unknown_tags: Option<(u64, u64)>,
}

impl<'a> Forms<'a> {
    pub(super) fn new(text: Text<'a>, notation: Notation) -> Forms<'a> {
        Forms {
            text,
            notation,
            token: Vec::new(),
            began: TextPosition::default(),
            unknown_tags: None,
        }
    }

    /// How many unknown tags there were so far, and the line of the first one.
    pub(super) fn unknown_tags(&self) -> Option<(u64, u64)> {
        self.unknown_tags
    }

    /// An error of the form that was read last.
    pub(super) fn error(&self, problem: ForeignProblem) -> ForeignError {
        ForeignError { position: self.began, problem }
    }

    /// Gives every form to `each`: those inside one sequence around all of them, or, where there is
    /// none, those after each other.
    pub(super) fn for_each(
        &mut self,
        mut each: impl FnMut(TextPosition, Form) -> Result<(), ForeignError>,
    ) -> Result<(), ForeignError> {
        if matches!(self.peek()?, Some(b'[' | b'(')) {
            self.items(|forms| {
                let form = forms.form()?;
                each(forms.began, form)
            })?;
            return match self.peek()? {
                Some(byte) => Err(self.unexpected(byte)),
                None => Ok(()),
            };
        }
        while self.peek()?.is_some() {
            let form = self.form()?;
            each(self.began, form)?;
        }
        Ok(())
    }

    /// Opens a sequence, calls `item` before each of its items and closes it.
    pub(super) fn items(
        &mut self,
        mut item: impl FnMut(&mut Forms<'a>) -> Result<(), ForeignError>,
    ) -> Result<(), ForeignError> {
        self.begin();
        let close = match self.peek()? {
            Some(b'[') => b']',
            Some(b'(') if self.notation == Notation::Edn => b')',
            other => return Err(self.refuse(other)),
        };
        self.text.advance();
        let mut first = true;
        while !self.closes(close, first)? {
            item(self)?;
            first = false;
        }
        Ok(())
    }

    /// Opens a map, calls `member` with each key before its value and closes it.
    pub(super) fn members(
        &mut self,
        mut member: impl FnMut(&mut Forms<'a>, &Form) -> Result<(), ForeignError>,
    ) -> Result<(), ForeignError> {
        self.begin();
        match self.peek()? {
            Some(b'{') => self.text.advance(),
            other => return Err(self.refuse(other)),
        }
        let mut first = true;
        while !self.closes(b'}', first)? {
            let key = self.key(1)?;
            member(self, &key)?;
            first = false;
        }
        Ok(())
    }

    /// The next byte that means something; the end of the text is none.
    pub(super) fn peek(&mut self) -> Result<Option<u8>, ForeignError> {
        let edn = self.notation == Notation::Edn;
        loop {
            match self.text.peek()? {
                Some(byte) if byte.is_ascii_whitespace() => self.text.advance(),
                Some(b',') if edn => self.text.advance(),
                Some(b';') if edn => {
                    while self.text.peek()?.is_some_and(|byte| byte != b'\n') {
                        self.text.advance();
                    }
                }
                other => return Ok(other),
            }
        }
    }

    /// The next form.
    pub(super) fn form(&mut self) -> Result<Form, ForeignError> {
        self.peek()?;
        self.begin();
        self.value(0)
    }

    fn begin(&mut self) {
        self.began = self.text.position();
    }

    /// The next byte that means something, inside a form.
    fn within(&mut self) -> Result<u8, ForeignError> {
        if self.text.position().byte - self.began.byte > MAX_FORM_BYTES {
            return Err(self.error(ForeignProblem::TooLong(MAX_FORM_BYTES)));
        }
        self.peek()?.ok_or_else(|| self.error(ForeignProblem::Truncated))
    }

    /// Whether a sequence or map ends here, past the separator if it does not.
    fn closes(&mut self, close: u8, first: bool) -> Result<bool, ForeignError> {
        let Some(byte) = self.peek()? else {
            return Err(self.error(ForeignProblem::Truncated));
        };
        if byte == close {
            self.text.advance();
            return Ok(true);
        }
        if self.notation == Notation::Json && !first {
            self.expect(b',')?;
        }
        Ok(false)
    }

    fn expect(&mut self, byte: u8) -> Result<(), ForeignError> {
        let found = self.within()?;
        if found != byte {
            return Err(self.unexpected(found));
        }
        self.text.advance();
        Ok(())
    }

    /// The next byte, which must be there.
    fn byte(&mut self) -> Result<u8, ForeignError> {
        self.text.next()?.ok_or_else(|| self.error(ForeignProblem::Truncated))
    }

    fn refuse(&self, found: Option<u8>) -> ForeignError {
        match found {
            Some(byte) => self.unexpected(byte),
            None => self.error(ForeignProblem::Truncated),
        }
    }

    fn unexpected(&self, byte: u8) -> ForeignError {
        self.text.error(ForeignProblem::Unexpected(char::from(byte)))
    }

    /// A form, after `depth` others around it.
    fn value(&mut self, depth: usize) -> Result<Form, ForeignError> {
        loop {
            if let Some(form) = self.value_or_discard(depth)? {
                return Ok(form);
            }
        }
    }

    /// A form, or nothing where it was discarded.
    fn value_or_discard(&mut self, depth: usize) -> Result<Option<Form>, ForeignError> {
        if depth > MAX_DEPTH {
            return Err(self.text.error(ForeignProblem::TooDeep(MAX_DEPTH)));
        }
        let byte = self.within()?;
        let edn = self.notation == Notation::Edn;
        match byte {
            b'[' => self.sequence(b']', depth).map(Some),
            b'(' if edn => self.sequence(b')', depth).map(Some),
            b'{' => self.map(depth).map(Some),
            b'"' => self.string().map(Some),
            b'#' if edn => self.dispatch(depth),
            b']' | b')' | b'}' => Err(self.unexpected(byte)),
            _ => self.atom().map(Some),
        }
    }

    fn sequence(&mut self, close: u8, depth: usize) -> Result<Form, ForeignError> {
        self.text.advance();
        let mut items = Vec::new();
        while !self.closes(close, items.is_empty())? {
            items.extend(self.value_or_discard(depth + 1)?);
        }
        Ok(Form::Sequence(items))
    }

    fn map(&mut self, depth: usize) -> Result<Form, ForeignError> {
        self.text.advance();
        let mut members = Vec::new();
        while !self.closes(b'}', members.is_empty())? {
            if self.notation == Notation::Json {
                let key = self.key(depth + 1)?;
                members.push((key, self.value(depth + 1)?));
            } else if let Some(key) = self.value_or_discard(depth + 1)? {
                members.push((key, self.value(depth + 1)?));
            }
        }
        Ok(Form::Map(members))
    }

    /// A map's key, past the colon where the notation has one.
    fn key(&mut self, depth: usize) -> Result<Form, ForeignError> {
        if self.notation == Notation::Edn {
            return self.value(depth);
        }
        match self.within()? {
            b'"' => {}
            byte => return Err(self.unexpected(byte)),
        }
        let key = self.string()?;
        self.expect(b':')?;
        Ok(key)
    }

    /// What a number sign begins: a set, a discarded form, a tagged form or a symbolic number.
    fn dispatch(&mut self, depth: usize) -> Result<Option<Form>, ForeignError> {
        self.text.advance();
        match self.text.peek()?.ok_or_else(|| self.error(ForeignProblem::Truncated))? {
            b'{' => return self.sequence(b'}', depth).map(Some),
            b'_' => {
                self.text.advance();
                self.value(depth + 1)?;
                return Ok(None);
            }
            b'#' => {
                self.text.advance();
                let word = self.word()?;
                return Ok(Some(Form::Number(format!("##{word}").into())));
            }
            _ => {}
        }
        let line = self.text.position().line;
        let tag = self.word()?;
        if !KNOWN_TAGS.contains(&tag) {
            self.unknown_tags.get_or_insert((0, line)).0 += 1;
        }
        self.value(depth + 1).map(Some)
    }

    /// A token up to the next byte that ends one, not empty.
    fn word(&mut self) -> Result<&str, ForeignError> {
        self.token.clear();
        if self.notation == Notation::Json {
            self.text.take_while(&mut self.token, MAX_FORM_BYTES, |byte| {
                byte.is_ascii_alphanumeric() || b"+-.".contains(&byte)
            })?;
        } else {
            if self.text.peek()? == Some(b'\\') {
                // A character may be a byte that ends tokens.
                self.text.advance();
                self.token.push(b'\\');
                self.token.extend(self.text.next()?);
            }
            let belongs = |byte| !ENDS_TOKEN[usize::from(byte)];
            self.text.take_while(&mut self.token, MAX_FORM_BYTES, belongs)?;
        }
        if self.token.is_empty() {
            let found = self.text.peek()?;
            return Err(self.refuse(found));
        }
        if self.token.len() as u64 > MAX_FORM_BYTES {
            return Err(self.error(ForeignProblem::TooLong(MAX_FORM_BYTES)));
        }
        std::str::from_utf8(&self.token).map_err(|_| self.text.error(ForeignProblem::InvalidUtf8))
    }

    fn atom(&mut self) -> Result<Form, ForeignError> {
        let position = self.text.position();
        let notation = self.notation;
        let word = self.word()?;
        let unexpected = || {
            let first = word.chars().next().unwrap_or(' ');
            ForeignError { position, problem: ForeignProblem::Unexpected(first) }
        };
        if word.trim_start_matches(['+', '-']).starts_with(|first: char| first.is_ascii_digit()) {
            return number(word).ok_or_else(unexpected);
        }
        match (notation, word) {
            (Notation::Edn, "nil") | (Notation::Json, "null") => Ok(Form::Nil),
            (_, "true") => Ok(Form::Boolean(true)),
            (_, "false") => Ok(Form::Boolean(false)),
            (Notation::Edn, _) => Ok(Form::Word(word.into())),
            (Notation::Json, _) => Err(unexpected()),
        }
    }

    fn string(&mut self) -> Result<Form, ForeignError> {
        self.text.advance();
        let mut token = std::mem::take(&mut self.token);
        token.clear();
        loop {
            self.text.take_while(&mut token, MAX_FORM_BYTES, |byte| {
                byte != b'"' && byte != b'\\' && byte != b'\n'
            })?;
            if token.len() as u64 > MAX_FORM_BYTES {
                return Err(self.error(ForeignProblem::TooLong(MAX_FORM_BYTES)));
            }
            match self.byte()? {
                b'"' => break,
                b'\\' => self.escape(&mut token)?,
                byte => token.push(byte),
            }
        }
        let text = match std::str::from_utf8(&token) {
            Ok(text) => Form::Text(text.into()),
            Err(_) => return Err(self.text.error(ForeignProblem::InvalidUtf8)),
        };
        self.token = token;
        Ok(text)
    }

    /// What follows a backslash in a string.
    fn escape(&mut self, token: &mut Vec<u8>) -> Result<(), ForeignError> {
        let byte = self.byte()?;
        token.push(match byte {
            b'n' => b'\n',
            b't' => b'\t',
            b'r' => b'\r',
            b'b' => 8,
            b'f' => 12,
            b'"' | b'\\' | b'/' => byte,
            b'u' => {
                let character = self.escaped_character()?;
                token.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
                return Ok(());
            }
            _ => return Err(self.unexpected(byte)),
        });
        Ok(())
    }

    /// The character of four digits, or of a pair of surrogates; half a pair is replaced.
    fn escaped_character(&mut self) -> Result<char, ForeignError> {
        let first = self.four_digits()?;
        if !(0xd800..0xdc00).contains(&first) {
            return Ok(char::from_u32(first).unwrap_or(char::REPLACEMENT_CHARACTER));
        }
        for byte in *b"\\u" {
            let found = self.byte()?;
            if found != byte {
                return Err(self.unexpected(found));
            }
        }
        let second = self.four_digits()?;
        let code = 0x1_0000 + ((first - 0xd800) << 10) + (second.wrapping_sub(0xdc00) & 0x3ff);
        Ok(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER))
    }

    fn four_digits(&mut self) -> Result<u32, ForeignError> {
        let mut code = 0;
        for _ in 0..4 {
            let byte = self.byte()?;
            let digit = char::from(byte).to_digit(16).ok_or_else(|| self.unexpected(byte))?;
            code = code * 16 + digit;
        }
        Ok(code)
    }
}

/// A number, as an integer where it is one of 64 bits; nothing if it is none at all.
fn number(word: &str) -> Option<Form> {
    let digits = word.strip_suffix('N').unwrap_or(word);
    if let Ok(integer) = digits.parse() {
        return Some(Form::Integer(integer));
    }
    word.bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || b"+-./".contains(&byte))
        .then(|| Form::Number(word.into()))
}

/// The bytes that end a token of EDN.
const ENDS_TOKEN: [bool; 256] = {
    let mut ends = [false; 256];
    let bytes = b" \t\r\n\x0c,;()[]{}\"";
    let mut at = 0;
    while at < bytes.len() {
        ends[bytes[at] as usize] = true;
        at += 1;
    }
    ends
};

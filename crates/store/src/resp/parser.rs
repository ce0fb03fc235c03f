//! Finds frames in a buffer that is still being filled.

use super::token::{Shape, Token, parse_integer};

/// What a peer may make us hold; beyond it a frame is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// How deep elements may be nested.
    pub depth: usize,
    /// How many elements a frame may have.
    pub elements: usize,
    /// How long a line may be, in bytes: a simple string, an error, a number.
    pub line: usize,
    /// How long a length-prefixed string may be, in bytes.
    pub string: usize,
    /// How long a frame may be, in bytes; below 4 GiB because places are 32 bits wide.
    pub frame: usize,
}

impl Limits {
    /// What a client accepts of a server: strings up to Redis's own bound of 512 MiB.
    pub const REPLY: Limits =
        Limits { depth: 32, elements: 1 << 24, line: 64 << 10, string: 512 << 20, frame: 1 << 30 };
}

impl Default for Limits {
    fn default() -> Limits {
        Limits::REPLY
    }
}

/// The bytes are not a frame, or one larger than the limits allow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParseError {
    /// No element begins with this byte.
    #[error("no element begins with byte 0x{0:02x}")]
    Marker(u8),
    /// A number, length, boolean or null is spelled wrongly.
    #[error("a number, length, boolean or null is spelled wrongly")]
    Spelling,
    /// Something is not followed by carriage return, line feed.
    #[error("an element does not end with carriage return, line feed")]
    Ending,
    /// Elements are nested deeper than the limit.
    #[error("elements are nested too deep")]
    Depth,
    /// A frame has more elements than the limit.
    #[error("a frame has too many elements")]
    Elements,
    /// A line, a string or a frame is longer than the limit.
    #[error("a line, string or frame is too long")]
    Length,
}

/// Finds one frame after the other, resuming where it stopped for want of bytes.
///
/// Works without allocation once its lists have grown to the size of the usual frame.
#[derive(Debug)]
pub struct Parser {
    limits: Limits,
    tokens: Vec<Token>,
    open: Vec<Open>,
    at: usize,
    is_whole: bool,
}

/// An aggregate whose elements are still to come.
#[derive(Clone, Copy, Debug)]
struct Open {
    remaining: u32,
    purpose: Purpose,
}

#[derive(Clone, Copy, Debug)]
enum Purpose {
    Value,
    /// An attribute: when it ends, the tokens from this number on are dropped.
    Attribute(usize),
}

/// What stands at a place of the buffer.
enum Element {
    /// An element without elements of its own, and the place after it.
    Leaf(Token, usize),
    /// The head of an aggregate, and the place after it.
    Head(Token, usize),
    /// The head of an attribute with this many elements, and the place after it.
    Attribute(u32, usize),
    /// Not all of it is there yet.
    Cut,
}

/// A line up to, not including, its end; `None` if the end is not there yet.
type Line = Option<(usize, usize)>;

impl Parser {
    /// A parser at the beginning of a frame.
    pub fn new(limits: Limits) -> Parser {
        let open = Vec::with_capacity(limits.depth);
        Parser { limits, tokens: Vec::with_capacity(64), open, at: 0, is_whole: false }
    }

    /// Looks for the frame that `bytes` begins with, and gives its length once all of it is there.
    ///
    /// As long as the answer is `None`, call again with the same beginning and more bytes behind
    /// it: the parser goes on where it stopped. The buffer may have moved meanwhile. After a whole
    /// frame the next call begins a new one.
    ///
    /// Attributes (`|`) are checked and left out of the tokens.
    ///
    /// # Errors
    /// If the bytes are no frame or exceed the limits. The stream is then lost: [`Parser::reset`].
    #[inline]
    pub fn parse(&mut self, bytes: &[u8]) -> Result<Option<usize>, ParseError> {
        if self.is_whole {
            self.reset();
        }
        loop {
            match self.element(bytes)? {
                Element::Cut => {
                    let is_long = bytes.len() > self.limits.frame;
                    return if is_long { Err(ParseError::Length) } else { Ok(None) };
                }
                Element::Leaf(token, next) => {
                    self.push(token)?;
                    self.at = next;
                }
                Element::Head(token, next) => {
                    self.push(token)?;
                    self.at = next;
                    if token.count > 0 {
                        self.enter(token.count, Purpose::Value)?;
                        continue;
                    }
                }
                Element::Attribute(count, next) => {
                    self.at = next;
                    if count > 0 {
                        self.enter(count, Purpose::Attribute(self.tokens.len()))?;
                    }
                    continue;
                }
            }
            if self.leave() {
                self.is_whole = true;
                return Ok(Some(self.at));
            }
        }
    }

    /// The elements of the frame, each aggregate before what belongs to it.
    ///
    /// Places are counted from the beginning of the frame. Before [`Parser::parse`] has given a
    /// length they are only those found so far.
    #[inline]
    pub fn tokens(&self) -> &[Token] {
        &self.tokens
    }

    /// Forgets what was found; the next call of [`Parser::parse`] begins a frame.
    #[inline]
    pub fn reset(&mut self) {
        self.tokens.clear();
        self.open.clear();
        self.at = 0;
        self.is_whole = false;
    }

    #[inline]
    fn push(&mut self, token: Token) -> Result<(), ParseError> {
        if self.tokens.len() >= self.limits.elements {
            return Err(ParseError::Elements);
        }
        self.tokens.push(token);
        Ok(())
    }

    fn enter(&mut self, remaining: u32, purpose: Purpose) -> Result<(), ParseError> {
        if self.open.len() >= self.limits.depth {
            return Err(ParseError::Depth);
        }
        if remaining as usize > self.limits.elements {
            return Err(ParseError::Elements);
        }
        self.open.push(Open { remaining, purpose });
        Ok(())
    }

    /// A value ended: closes the aggregates that end with it. True if the frame ended too.
    #[inline]
    fn leave(&mut self) -> bool {
        while let Some(open) = self.open.last_mut() {
            open.remaining -= 1;
            if open.remaining > 0 {
                return false;
            }
            let purpose = open.purpose;
            self.open.pop();
            if let Purpose::Attribute(first) = purpose {
                // An attribute is no value: the value that it belongs to is still to come.
                self.tokens.truncate(first);
                return false;
            }
        }
        true
    }

    #[inline]
    fn element(&self, bytes: &[u8]) -> Result<Element, ParseError> {
        let Some(&marker) = bytes.get(self.at) else { return Ok(Element::Cut) };
        let after = self.at + 1;
        match marker {
            b'$' => self.string(bytes, after, Shape::Bulk),
            b'*' => self.aggregate(bytes, after, Shape::Array),
            b'%' => self.aggregate(bytes, after, Shape::Map),
            b':' => self.line(bytes, after, Shape::Integer),
            b'+' => self.line(bytes, after, Shape::Simple),
            b'-' => self.line(bytes, after, Shape::Error),
            b'_' => self.line(bytes, after, Shape::Null),
            b'#' => self.line(bytes, after, Shape::Boolean),
            b',' => self.line(bytes, after, Shape::Double),
            b'(' => self.line(bytes, after, Shape::BigNumber),
            b'!' => self.string(bytes, after, Shape::Error),
            b'=' => self.string(bytes, after, Shape::Verbatim),
            b'~' => self.aggregate(bytes, after, Shape::Set),
            b'>' => self.aggregate(bytes, after, Shape::Push),
            b'|' => match length(bytes, after)? {
                None => Ok(Element::Cut),
                Some((Some(pairs), next)) => Ok(Element::Attribute(double(pairs)?, next)),
                Some((None, _)) => Err(ParseError::Spelling),
            },
            other => Err(ParseError::Marker(other)),
        }
    }

    #[inline]
    fn string(&self, bytes: &[u8], at: usize, shape: Shape) -> Result<Element, ParseError> {
        let Some((length, start)) = length(bytes, at)? else { return Ok(Element::Cut) };
        let Some(length) = length else {
            return match shape {
                Shape::Bulk => Ok(Element::Leaf(leaf(Shape::Null, start, start), start)),
                _ => Err(ParseError::Spelling),
            };
        };
        let length = length as usize;
        let end = start + length;
        if length > self.limits.string || end + 2 > self.limits.frame {
            return Err(ParseError::Length);
        }
        let Some(ending) = bytes.get(end..end + 2) else { return Ok(Element::Cut) };
        if ending != b"\r\n" {
            return Err(ParseError::Ending);
        }
        if shape != Shape::Verbatim {
            return Ok(Element::Leaf(leaf(shape, start, end), end + 2));
        }
        match bytes[start..end].get(3) {
            Some(b':') => Ok(Element::Leaf(leaf(shape, start + 4, end), end + 2)),
            _ => Err(ParseError::Spelling),
        }
    }

    #[inline]
    fn aggregate(&self, bytes: &[u8], at: usize, shape: Shape) -> Result<Element, ParseError> {
        let Some((length, next)) = length(bytes, at)? else { return Ok(Element::Cut) };
        if next > self.limits.frame {
            return Err(ParseError::Length);
        }
        let count = match (length, shape) {
            (Some(pairs), Shape::Map) => double(pairs)?,
            (Some(count), _) => count,
            (None, Shape::Array) => {
                return Ok(Element::Leaf(leaf(Shape::Null, next, next), next));
            }
            (None, _) => return Err(ParseError::Spelling),
        };
        Ok(Element::Head(Token { count, ..leaf(shape, next, next) }, next))
    }

    fn line(&self, bytes: &[u8], start: usize, shape: Shape) -> Result<Element, ParseError> {
        let Some((end, next)) = self.line_end(bytes, start)? else { return Ok(Element::Cut) };
        if next > self.limits.frame {
            return Err(ParseError::Length);
        }
        let text = &bytes[start..end];
        let is_right = match shape {
            Shape::Integer => parse_integer(text).is_some(),
            Shape::Null => text.is_empty(),
            Shape::Boolean => matches!(text, b"t" | b"f"),
            Shape::Double => is_double(text),
            Shape::BigNumber => is_big_number(text),
            _ => true,
        };
        if !is_right {
            return Err(ParseError::Spelling);
        }
        Ok(Element::Leaf(leaf(shape, start, end), next))
    }

    fn line_end(&self, bytes: &[u8], start: usize) -> Result<Line, ParseError> {
        let there = bytes.get(start..).unwrap_or_default();
        let Some(length) = there.iter().position(|&byte| byte == b'\r' || byte == b'\n') else {
            let is_long = there.len() > self.limits.line;
            return if is_long { Err(ParseError::Length) } else { Ok(None) };
        };
        if length > self.limits.line {
            return Err(ParseError::Length);
        }
        match there[length..] {
            [b'\r'] => Ok(None),
            [b'\r', b'\n', ..] => Ok(Some((start + length, start + length + 2))),
            _ => Err(ParseError::Ending),
        }
    }
}

/// Lengths have at most this many digits; more are refused before they are read.
const LENGTH_DIGITS: usize = 10;

/// A length or `-1` at `at`, and the place after its line; `None` if the line is not whole yet.
#[inline]
fn length(bytes: &[u8], at: usize) -> Result<Option<(Option<u32>, usize)>, ParseError> {
    let mut number: u64 = 0;
    let mut place = at;
    loop {
        let Some(&byte) = bytes.get(place) else { return Ok(None) };
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            break;
        }
        if place - at >= LENGTH_DIGITS {
            return Err(ParseError::Length);
        }
        number = number * 10 + u64::from(digit);
        place += 1;
    }
    if place == at {
        return minus_one(bytes, at);
    }
    match bytes[place..] {
        [b'\r'] => Ok(None),
        [b'\r', b'\n', ..] => match u32::try_from(number) {
            Ok(number) => Ok(Some((Some(number), place + 2))),
            Err(_) => Err(ParseError::Length),
        },
        _ => Err(ParseError::Spelling),
    }
}

#[cold]
fn minus_one(bytes: &[u8], at: usize) -> Result<Option<(Option<u32>, usize)>, ParseError> {
    const SPELLING: &[u8] = b"-1\r\n";
    let there = &bytes[at..];
    if there.starts_with(SPELLING) {
        return Ok(Some((None, at + SPELLING.len())));
    }
    if SPELLING.starts_with(there) { Ok(None) } else { Err(ParseError::Spelling) }
}

fn double(pairs: u32) -> Result<u32, ParseError> {
    pairs.checked_mul(2).ok_or(ParseError::Elements)
}

#[inline]
fn leaf(shape: Shape, start: usize, end: usize) -> Token {
    // The limit on frames, checked by every caller, is what keeps these below 2^32.
    Token { shape, count: 0, start: start as u32, end: end as u32 }
}

fn is_double(text: &[u8]) -> bool {
    std::str::from_utf8(text).is_ok_and(|text| text.parse::<f64>().is_ok())
}

fn is_big_number(text: &[u8]) -> bool {
    let digits = text.strip_prefix(b"-").or(text.strip_prefix(b"+")).unwrap_or(text);
    !digits.is_empty() && digits.iter().all(u8::is_ascii_digit)
}

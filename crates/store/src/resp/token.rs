//! One element of a frame, as a place in the buffer that holds the frame.

/// What an element is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Shape {
    /// `+OK`
    Simple,
    /// `-ERR …`, or the length-prefixed `!` of RESP3.
    Error,
    /// `:42`
    Integer,
    /// `$3\r\nabc`
    Bulk,
    /// `_`, and RESP2's `$-1` or `*-1`.
    Null,
    /// `*2`, followed by its elements.
    Array,
    /// `%1`, followed by names and values in turn.
    Map,
    /// `~2`, followed by its elements.
    Set,
    /// `>2`, followed by its elements: out of band, never the reply to a command.
    Push,
    /// `,1.5`, with `inf`, `-inf` and `nan`.
    Double,
    /// `#t` or `#f`
    Boolean,
    /// `(12345678901234567890`
    BigNumber,
    /// `=7\r\ntxt:abc`; the token's bytes leave out the three letters of the format.
    Verbatim,
}

/// One element of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token {
    /// What it is.
    pub shape: Shape,
    /// How many elements follow that belong to it; a map of n pairs has 2 n.
    pub count: u32,
    /// Where its bytes begin, counted from the beginning of the frame.
    pub start: u32,
    /// Where its bytes end; equal to `start` for nulls and for everything that has elements.
    pub end: u32,
}

impl Token {
    /// The bytes of the element; `frame` begins where the frame begins.
    ///
    /// # Panics
    /// If `frame` is not the buffer that the token was found in.
    pub fn bytes<'a>(&self, frame: &'a [u8]) -> &'a [u8] {
        &frame[self.start as usize..self.end as usize]
    }

    /// The number of an integer; `None` for every other shape.
    pub fn integer(&self, frame: &[u8]) -> Option<i64> {
        match self.shape {
            Shape::Integer => parse_integer(self.bytes(frame)),
            _ => None,
        }
    }

    /// Whether it is text of any spelling: a bulk, simple or verbatim string.
    pub fn is_text(&self) -> bool {
        matches!(self.shape, Shape::Bulk | Shape::Simple | Shape::Verbatim)
    }
}

/// A signed decimal number; `None` if it is anything else or does not fit.
pub(crate) fn parse_integer(text: &[u8]) -> Option<i64> {
    let (negative, digits) = match text {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        _ => (false, text),
    };
    if digits.is_empty() {
        return None;
    }
    let mut number: i64 = 0;
    for &digit in digits {
        let digit = i64::from(digit.wrapping_sub(b'0'));
        if digit > 9 {
            return None;
        }
        // Counting downwards reaches i64::MIN, whose absolute value has no place.
        number = number.checked_mul(10)?.checked_sub(digit)?;
    }
    if negative { Some(number) } else { number.checked_neg() }
}

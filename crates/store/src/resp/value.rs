//! A frame as a tree, for everything that is not hot.

use super::token::{Shape, Token};

/// A frame that owns its bytes.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Text of any spelling: bulk, simple or verbatim.
    Text(Vec<u8>),
    /// An error.
    Error(String),
    /// A number.
    Integer(i64),
    /// A floating-point number.
    Double(f64),
    /// A truth.
    Boolean(bool),
    /// A number of any length, in decimal.
    BigNumber(String),
    /// Nothing.
    Null,
    /// An array or a set.
    Array(Vec<Value>),
    /// Names and values.
    Map(Vec<(Value, Value)>),
    /// A message out of band.
    Push(Vec<Value>),
}

impl Value {
    /// The tree of a whole frame; `frame` begins where the frame begins.
    ///
    /// # Panics
    /// If `tokens` are not those of a whole frame that `frame` begins with.
    pub fn new(frame: &[u8], tokens: &[Token]) -> Value {
        let mut tokens = tokens.iter();
        let value = build(frame, &mut tokens);
        assert!(tokens.next().is_none(), "a frame is one value");
        value
    }

    /// The text, if it is text.
    pub fn text(&self) -> Option<&[u8]> {
        match self {
            Value::Text(bytes) => Some(bytes),
            _ => None,
        }
    }

    /// Names and values of a map, or of an array that lists them in turn as RESP2 does.
    pub fn pairs(&self) -> Vec<(&Value, &Value)> {
        match self {
            Value::Map(pairs) => pairs.iter().map(|(name, value)| (name, value)).collect(),
            Value::Array(flat) => flat.chunks_exact(2).map(|pair| (&pair[0], &pair[1])).collect(),
            _ => Vec::new(),
        }
    }
}

fn build(frame: &[u8], tokens: &mut std::slice::Iter<'_, Token>) -> Value {
    let token = tokens.next().expect("every element of a whole frame is there");
    let bytes = token.bytes(frame);
    let text = || String::from_utf8_lossy(bytes).into_owned();
    match token.shape {
        Shape::Bulk | Shape::Simple | Shape::Verbatim => Value::Text(bytes.to_vec()),
        Shape::Error => Value::Error(text()),
        Shape::Integer => Value::Integer(token.integer(frame).expect("the parser checked it")),
        Shape::Double => Value::Double(text().parse().expect("the parser checked it")),
        Shape::Boolean => Value::Boolean(bytes == b"t"),
        Shape::BigNumber => Value::BigNumber(text()),
        Shape::Null => Value::Null,
        Shape::Array | Shape::Set => Value::Array(elements(frame, token.count, tokens)),
        Shape::Push => Value::Push(elements(frame, token.count, tokens)),
        Shape::Map => {
            let pairs = (0..token.count / 2)
                .map(|_| {
                    let name = build(frame, tokens);
                    (name, build(frame, tokens))
                })
                .collect();
            Value::Map(pairs)
        }
    }
}

fn elements(frame: &[u8], count: u32, tokens: &mut std::slice::Iter<'_, Token>) -> Vec<Value> {
    (0..count).map(|_| build(frame, tokens)).collect()
}

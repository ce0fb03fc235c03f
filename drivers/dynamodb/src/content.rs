//! Records as items: what an attribute can hold, how much an item can.

use std::collections::HashMap;

use assay_model::Reason;
use assay_store::answer::{encode_field, encode_row};
use aws_sdk_dynamodb::primitives::Blob;
use aws_sdk_dynamodb::types::{AttributeValue, ScalarAttributeType};
use serde::Deserialize;

/// The most bytes of an item, names of its attributes included. Source: "Quotas in Amazon
/// DynamoDB".
pub(super) const LARGEST_ITEM: usize = 400 << 10;

/// The most bytes of a key of one attribute; same source.
const LONGEST_KEY: usize = 2048;

/// Attributes by their names.
pub(super) type Item = HashMap<String, AttributeValue>;

/// What keys and fields are kept as.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Content {
    /// Text, as YCSB keeps them.
    Text,
    /// Any bytes.
    Bytes,
}

impl Content {
    /// The type of a key's attribute.
    pub(super) fn scalar(self) -> ScalarAttributeType {
        match self {
            Content::Text => ScalarAttributeType::S,
            Content::Bytes => ScalarAttributeType::B,
        }
    }

    /// `value` as an attribute.
    ///
    /// # Errors
    /// If attributes are text and it is none.
    pub(super) fn value(self, value: &[u8]) -> Result<AttributeValue, Reason> {
        match self {
            Content::Bytes => Ok(AttributeValue::B(Blob::new(value))),
            Content::Text => match str::from_utf8(value) {
                Ok(text) => Ok(AttributeValue::S(text.into())),
                Err(_) => Err(Reason::Malformed),
            },
        }
    }

    /// `key` as an attribute.
    ///
    /// # Errors
    /// If it is empty, too long, or no text where attributes are.
    pub(super) fn key(self, key: &[u8]) -> Result<AttributeValue, Reason> {
        if key.is_empty() || key.len() > LONGEST_KEY {
            return Err(Reason::Malformed);
        }
        self.value(key)
    }
}

/// The bytes of an attribute, if it is one that a record can have.
fn bytes(value: &AttributeValue) -> Option<&[u8]> {
    match value {
        AttributeValue::S(text) | AttributeValue::N(text) => Some(text.as_bytes()),
        AttributeValue::B(blob) => Some(blob.as_ref()),
        _ => None,
    }
}

/// Appends `item` to `rows` as a record, without the attribute `key`.
///
/// # Errors
/// If an attribute holds what no field can.
pub(super) fn encode(item: &Item, key: &str, rows: &mut Vec<u8>) -> Result<(), Reason> {
    let fields = item.len() - usize::from(item.contains_key(key));
    encode_row(u16::try_from(fields).map_err(|_| Reason::Garbled)?, rows);
    for (name, value) in item.iter().filter(|(name, _)| *name != key) {
        encode_field(name.as_bytes(), bytes(value).ok_or(Reason::WrongType)?, rows);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use assay_store::Rows;

    use super::*;

    #[test]
    fn text_takes_text_alone() {
        assert_eq!(Content::Text.value(b"a\0b"), Ok(AttributeValue::S("a\0b".into())));
        assert_eq!(Content::Text.value(b"\xff"), Err(Reason::Malformed));
        assert_eq!(Content::Bytes.value(b"\xff"), Ok(AttributeValue::B(Blob::new(*b"\xff"))));
    }

    #[test]
    fn a_key_is_neither_empty_nor_too_long() {
        assert_eq!(Content::Bytes.key(b""), Err(Reason::Malformed));
        assert_eq!(Content::Text.key(&[b'k'; 2049]), Err(Reason::Malformed));
        assert!(Content::Text.key(&[b'k'; 2048]).is_ok());
    }

    #[test]
    fn an_item_is_a_record_without_its_key() {
        let text = |text: &str| AttributeValue::S(text.into());
        let number = AttributeValue::N("7".into());
        let mut item = Item::from([("id".into(), text("k")), ("a".into(), number)]);
        let mut rows = Vec::new();
        encode(&item, "id", &mut rows).unwrap();
        let mut fields = Vec::new();
        Rows::Encoded(&rows).each(|field| fields.push((field.name.to_vec(), field.value.to_vec())));
        assert_eq!(fields, [(b"a".to_vec(), b"7".to_vec())]);
        item.insert("b".into(), AttributeValue::Bool(true));
        assert_eq!(encode(&item, "id", &mut rows), Err(Reason::WrongType));
    }
}

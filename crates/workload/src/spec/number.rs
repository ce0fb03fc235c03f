//! Numbers in a TOML text: plain, or text with a unit.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserializer, Error, Unexpected, Visitor};
use serde::{Serialize, Serializer};

use assay_model::quantity;

/// A whole number from 0, such as `1000`, `"1M"` or `"4KiB"`: how a `u64` is written, or an
/// `Option<u64>` whose key may be left out.
pub(crate) struct Whole;

impl Whole {
    pub(crate) fn deserialize<'de, D: Deserializer<'de>, T: From<u64>>(
        from: D,
    ) -> Result<T, D::Error> {
        from.deserialize_any(Whole).map(T::from)
    }

    /// Writes an integer where TOML can hold it, otherwise text.
    pub(crate) fn serialize<T: Copy + Into<Option<u64>>, S: Serializer>(
        number: &T,
        into: S,
    ) -> Result<S::Ok, S::Error> {
        match (*number).into() {
            Some(number) => match i64::try_from(number) {
                Ok(number) => into.serialize_i64(number),
                Err(_) => into.collect_str(&number),
            },
            None => into.serialize_none(),
        }
    }
}

impl JsonSchema for Whole {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Whole".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "anyOf": [
                {"type": "integer", "minimum": 0},
                {"type": "string", "pattern": "^[0-9][0-9_]*(\\.[0-9]+)? ?[kKMGT]?i?B?$"},
            ],
        })
    }
}

impl Visitor<'_> for Whole {
    type Value = u64;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a whole number from 0 such as 1000, \"1M\" or \"4KiB\"")
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<u64, E> {
        Ok(number)
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<u64, E> {
        u64::try_from(number).map_err(|_| E::invalid_value(Unexpected::Signed(number), &self))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<u64, E> {
        quantity::whole(text).ok_or_else(|| E::invalid_value(Unexpected::Str(text), &self))
    }
}

/// A number such as `0.5`, `95` or `"50%"`: how an `f64` is written, or an `Option<f64>` whose key
/// may be left out.
pub(crate) struct Share;

impl Share {
    pub(crate) fn deserialize<'de, D: Deserializer<'de>, T: From<f64>>(
        from: D,
    ) -> Result<T, D::Error> {
        from.deserialize_any(Share).map(T::from)
    }

    pub(crate) fn serialize<T: Serialize, S: Serializer>(
        number: &T,
        into: S,
    ) -> Result<S::Ok, S::Error> {
        number.serialize(into)
    }
}

impl JsonSchema for Share {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Share".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "anyOf": [
                {"type": "number", "minimum": 0},
                {"type": "string", "pattern": "^[0-9]+(\\.[0-9]+)?([eE][+-]?[0-9]+)? ?%?$"},
            ],
        })
    }
}

impl Visitor<'_> for Share {
    type Value = f64;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number such as 0.5, 95 or \"50%\"")
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<f64, E> {
        Ok(number as f64)
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<f64, E> {
        Ok(number as f64)
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<f64, E> {
        Ok(number)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<f64, E> {
        quantity::share(text).ok_or_else(|| E::invalid_value(Unexpected::Str(text), &self))
    }
}

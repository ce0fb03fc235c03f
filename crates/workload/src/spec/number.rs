//! Numbers in a TOML text: plain, or text with a unit.

use std::fmt;

use schemars::{Schema, SchemaGenerator, json_schema};
use serde::de::{Deserializer, Error, Unexpected, Visitor};

use assay_model::quantity;

/// A whole number from 0, such as `1000`, `"1M"` or `"4KiB"`.
pub(crate) fn whole<'de, D: Deserializer<'de>>(from: D) -> Result<u64, D::Error> {
    from.deserialize_any(Whole)
}

/// As [`whole`], for keys that may be left out.
pub(crate) fn some_whole<'de, D: Deserializer<'de>>(from: D) -> Result<Option<u64>, D::Error> {
    whole(from).map(Some)
}

/// A number such as `0.5`, `95` or `"50%"`.
pub(crate) fn share<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
    from.deserialize_any(Share)
}

/// As [`share`], for keys that may be left out.
pub(crate) fn some_share<'de, D: Deserializer<'de>>(from: D) -> Result<Option<f64>, D::Error> {
    share(from).map(Some)
}

/// Writes a number as an integer where TOML can hold it, otherwise as text.
pub(crate) fn write_some<S: serde::Serializer>(
    number: &Option<u64>,
    into: S,
) -> Result<S::Ok, S::Error> {
    match number {
        Some(number) => match i64::try_from(*number) {
            Ok(number) => into.serialize_i64(number),
            Err(_) => into.collect_str(number),
        },
        None => into.serialize_none(),
    }
}

pub(crate) fn whole_schema(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "anyOf": [
            {"type": "integer", "minimum": 0},
            {"type": "string", "pattern": "^[0-9][0-9_]*(\\.[0-9]+)? ?[kKMGT]?i?B?$"},
        ],
    })
}

pub(crate) fn share_schema(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "anyOf": [
            {"type": "number", "minimum": 0},
            {"type": "string", "pattern": "^[0-9]+(\\.[0-9]+)?([eE][+-]?[0-9]+)? ?%?$"},
        ],
    })
}

struct Whole;

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

struct Share;

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

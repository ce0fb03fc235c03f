//! A length of time in a TOML text, such as `10ms` or `2m`.

use assay_model::{Nanos, quantity};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserialize, Deserializer, Error, Unexpected};
use serde::ser::{Serialize, Serializer};

/// A length of time as a key's value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Span(pub Nanos);

impl Span {
    pub(super) const fn millis(whole: u64) -> Span {
        Span(Nanos::from_millis(whole))
    }
}

impl std::fmt::Display for Span {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&quantity::write_time(self.0))
    }
}

impl Serialize for Span {
    fn serialize<S: Serializer>(&self, into: S) -> Result<S::Ok, S::Error> {
        into.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Span {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Span, D::Error> {
        let text = String::deserialize(from)?;
        let expected = "a length of time such as \"50ms\" or \"2m\"";
        quantity::time(&text)
            .map(Span)
            .ok_or_else(|| D::Error::invalid_value(Unexpected::Str(&text), &expected))
    }
}

impl JsonSchema for Span {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Span".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "pattern": "^[0-9]+(\\.[0-9]+)? ?(ns|us|µs|ms|s|m|h)$",
        })
    }
}

//! Think time of a process, as text such as `10ms` or `exp:10ms`.

use std::fmt;

use assay_model::{Draws, Nanos};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserialize, Deserializer, Error, Unexpected};
use serde::ser::{Serialize, Serializer};

use assay_model::quantity;

/// The longest allowed think time: a hundred days.
const THINK_MAX: Nanos = Nanos::from_secs(100 * 86_400);

/// The think time before the next transaction of a process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ThinkTime {
    /// Not at all.
    #[default]
    No,
    /// Always the same time.
    Constant(Nanos),
    /// Exponentially distributed with this mean.
    Exponential(Nanos),
}

impl ThinkTime {
    /// The think time that a text stands for.
    pub(crate) fn parse(text: &str) -> Option<ThinkTime> {
        let time = |text: &str| quantity::time(text).filter(|time| *time <= THINK_MAX);
        match text.trim().strip_prefix("exp:") {
            Some(mean) => time(mean).filter(|mean| *mean > Nanos::ZERO).map(ThinkTime::Exponential),
            None => time(text).map(|time| match time {
                Nanos::ZERO => ThinkTime::No,
                time => ThinkTime::Constant(time),
            }),
        }
    }

    /// One think time.
    #[inline]
    pub(crate) fn draw(self, draws: &mut Draws) -> Nanos {
        match self {
            ThinkTime::No => Nanos::ZERO,
            ThinkTime::Constant(time) => time,
            ThinkTime::Exponential(mean) => {
                Nanos((-libm::log(1.0 - draws.unit()) * mean.0 as f64) as u64)
            }
        }
    }
}

impl fmt::Display for ThinkTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ThinkTime::No => f.write_str("0s"),
            ThinkTime::Constant(time) => f.write_str(&quantity::write_time(*time)),
            ThinkTime::Exponential(mean) => write!(f, "exp:{}", quantity::write_time(*mean)),
        }
    }
}

impl Serialize for ThinkTime {
    fn serialize<S: Serializer>(&self, into: S) -> Result<S::Ok, S::Error> {
        into.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for ThinkTime {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<ThinkTime, D::Error> {
        let text = String::deserialize(from)?;
        let expected = "a length of time such as \"10ms\", or \"exp:10ms\" for exponential ones";
        ThinkTime::parse(&text)
            .ok_or_else(|| D::Error::invalid_value(Unexpected::Str(&text), &expected))
    }
}

impl JsonSchema for ThinkTime {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "ThinkTime".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "pattern": "^(exp:)?[0-9]+(\\.[0-9]+)? ?(ns|us|µs|ms|s|m|h)$",
        })
    }
}

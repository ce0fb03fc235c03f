//! Length of the fields of a record.

use std::borrow::Cow;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, Error, MapAccess, Visitor};
use serde::ser::Serializer;
use serde::{Deserialize, Serialize};

use super::error::{Place, SpecError};
use super::number;
use crate::distribution::{Counting, Curve, Histogram, Tail};
use assay_model::quantity;

/// How a specification says that a trace records the lengths.
const RECORDED: &str = "recorded";

/// The length of a field in bytes, as a distribution.
#[derive(Clone, Debug, PartialEq)]
pub enum FieldLength {
    /// Always the same.
    Constant(u64),
    /// Each length of a range is as likely as any other.
    Uniform {
        /// The shortest.
        min: u64,
        /// The longest.
        max: u64,
    },
    /// YCSB's zipfian with the constant 0.99: the shortest is the most likely.
    Zipfian {
        /// The shortest.
        min: u64,
        /// The longest.
        max: u64,
    },
    /// As counted before.
    Histogram(Histogram, Counting),
    /// As counted in a file that has not been read yet.
    HistogramFile(PathBuf, Counting),
    /// Each of the sizes as often as its count says.
    Listed {
        /// The sizes.
        sizes: Vec<u64>,
        /// How often each comes.
        counts: Vec<u64>,
    },
    /// From a curve with a heavy tail.
    Tail(Tail),
    /// As long as the operation of a trace says.
    Recorded,
}

impl FieldLength {
    /// The shortest length that can come.
    pub fn min(&self) -> u64 {
        match self {
            FieldLength::Constant(length) => *length,
            FieldLength::Uniform { min, .. } | FieldLength::Zipfian { min, .. } => *min,
            FieldLength::Histogram(histogram, Counting::Exact) => histogram.block,
            FieldLength::Histogram(..) | FieldLength::HistogramFile(..) => 0,
            FieldLength::Listed { sizes, .. } => sizes.iter().copied().min().unwrap_or(0),
            FieldLength::Tail(tail) => tail.min,
            FieldLength::Recorded => 0,
        }
    }

    /// The longest length that can come.
    pub fn max(&self) -> u64 {
        match self {
            FieldLength::Constant(length) => *length,
            FieldLength::Uniform { max, .. } | FieldLength::Zipfian { max, .. } => *max,
            FieldLength::Histogram(histogram, _) => histogram.max(),
            FieldLength::HistogramFile(..) => 0,
            FieldLength::Listed { sizes, .. } => sizes.iter().copied().max().unwrap_or(0),
            FieldLength::Tail(tail) => tail.max,
            FieldLength::Recorded => u64::from(u32::MAX),
        }
    }
}

impl fmt::Display for FieldLength {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FieldLength::Constant(length) => write!(f, "{length} bytes"),
            FieldLength::Uniform { min, max } => write!(f, "uniform from {min} to {max} bytes"),
            FieldLength::Zipfian { min, max } => write!(f, "zipfian from {min} to {max} bytes"),
            FieldLength::Histogram(histogram, counting) => {
                let Histogram { block, counts } = histogram;
                write!(f, "{} {counts:?} in blocks of {block} bytes", counting_name(*counting))
            }
            FieldLength::HistogramFile(path, counting) => {
                write!(f, "{} of file {}", counting_name(*counting), path.display())
            }
            FieldLength::Listed { sizes, counts } => {
                write!(f, "one of {sizes:?} bytes, as often as {counts:?}")
            }
            FieldLength::Tail(Tail { curve, location, scale, shape, min, max }) => write!(
                f,
                "{} with location {location}, scale {scale}, shape {shape}, from {min} to {max} \
                 bytes",
                curve_name(*curve)
            ),
            FieldLength::Recorded => write!(f, "{RECORDED}"),
        }
    }
}

/// Gives the text of a file that a specification names; usually `std::fs::read_to_string`.
pub type ReadFile<'a> = &'a dyn Fn(&Path) -> io::Result<String>;

/// For specifications that cannot name files, such as those of the built-in workloads.
///
/// # Errors
/// Always.
pub fn no_files(_: &Path) -> io::Result<String> {
    Err(io::ErrorKind::NotFound.into())
}

/// Reads a histogram file for the key or property `name`.
///
/// A relative path is looked for beside the text that names it, then as it stands.
pub(crate) fn read_histogram(
    files: ReadFile<'_>,
    path: &Path,
    name: &str,
    place: &Place,
) -> Result<Histogram, SpecError> {
    let folder = place.file.as_deref().and_then(|file| Path::new(file).parent());
    let beside = folder.unwrap_or(Path::new("")).join(path);
    let found = match files(&beside) {
        Err(error) if error.kind() == io::ErrorKind::NotFound && beside != path => files(path),
        found => found,
    };
    let text = found.map_err(|source| SpecError::File {
        place: place.clone(),
        name: name.to_owned(),
        path: path.to_owned(),
        source,
    })?;
    Histogram::parse(&text).map_err(|error| SpecError::Syntax {
        place: Place::line(&path.display().to_string(), error.line),
        reason: error.reason,
    })
}

fn curve_name(curve: Curve) -> &'static str {
    match curve {
        Curve::Pareto => "generalized-pareto",
        Curve::ExtremeValue => "extreme-value",
    }
}

fn counting_name(counting: Counting) -> &'static str {
    match counting {
        Counting::Exact => "histogram",
        Counting::Ycsb => "ycsb-histogram",
    }
}

/// The names of the length distributions in a specification.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum LengthDistribution {
    #[default]
    Constant,
    Uniform,
    Zipfian,
    Histogram,
    YcsbHistogram,
    Sizes,
    GeneralizedPareto,
    ExtremeValue,
    Recorded,
}

/// A length as a TOML table.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct LengthTable {
    /// The distribution of lengths.
    distribution: LengthDistribution,
    /// The length, if constant.
    #[serde(default, with = "number::Whole", skip_serializing_if = "Option::is_none")]
    length: Option<u64>,
    /// The shortest length, if it is drawn between bounds.
    #[serde(default, with = "number::Whole", skip_serializing_if = "Option::is_none")]
    min: Option<u64>,
    /// The longest length, if it is drawn between bounds.
    #[serde(default, with = "number::Whole", skip_serializing_if = "Option::is_none")]
    max: Option<u64>,
    /// The size of one block of a histogram.
    #[serde(default, with = "number::Whole", skip_serializing_if = "Option::is_none")]
    block: Option<u64>,
    /// The sizes of a list.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    sizes: Option<Vec<u64>>,
    /// How often 1, 2, … blocks come in a histogram, or each of the sizes of a list.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    counts: Option<Vec<u64>>,
    /// Where a generalized Pareto begins, or where the bulk of extreme values lies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    location: Option<f64>,
    /// How wide such a curve is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    scale: Option<f64>,
    /// How heavy its tail is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    shape: Option<f64>,
    /// A histogram file in YCSB's form, beside the specification.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    file: Option<PathBuf>,
}

impl LengthTable {
    fn empty(distribution: LengthDistribution) -> LengthTable {
        LengthTable { distribution, ..LengthTable::default() }
    }

    fn length(self) -> Result<FieldLength, String> {
        use LengthDistribution as Name;
        let given = self.clone();
        let min = self.min.unwrap_or(1);
        let histogram = |counting| match (self.block, self.counts, self.file) {
            (Some(block), Some(counts), None) => {
                Some(FieldLength::Histogram(Histogram { block, counts }, counting))
            }
            (None, None, Some(path)) => Some(FieldLength::HistogramFile(path, counting)),
            _ => None,
        };
        let tail = |curve| {
            let (scale, shape) = (self.scale?, self.shape?);
            let (location, max) = (self.location.unwrap_or(0.0), self.max?);
            Some(FieldLength::Tail(Tail { curve, location, scale, shape, min, max }))
        };
        let length = match self.distribution {
            Name::Constant => self.length.map(FieldLength::Constant),
            Name::Uniform => self.max.map(|max| FieldLength::Uniform { min, max }),
            Name::Zipfian => self.max.map(|max| FieldLength::Zipfian { min, max }),
            Name::Histogram => histogram(Counting::Exact),
            Name::YcsbHistogram => histogram(Counting::Ycsb),
            Name::Sizes => match (given.sizes.clone(), given.counts.clone()) {
                (Some(sizes), Some(counts)) => Some(FieldLength::Listed { sizes, counts }),
                _ => None,
            },
            Name::GeneralizedPareto => tail(Curve::Pareto),
            Name::ExtremeValue => tail(Curve::ExtremeValue),
            Name::Recorded => Some(FieldLength::Recorded),
        };
        // A key that the distribution does not use is lost on the way there, so it is missed here.
        let is_used_up = |length: &FieldLength| {
            let again = LengthTable::from(length);
            let location = given.location.and(again.location);
            LengthTable { min: given.min.and(again.min), location, ..again } == given
        };
        length.filter(is_used_up).ok_or_else(|| {
            "constant needs length; uniform or zipfian needs max, may have min; \
             histogram or ycsb-histogram needs block with counts, or file; sizes needs sizes with \
             counts; generalized-pareto or extreme-value needs scale, shape, max, may have \
             location, min; nothing else"
                .to_owned()
        })
    }
}

impl From<&FieldLength> for LengthTable {
    fn from(length: &FieldLength) -> LengthTable {
        use LengthDistribution as Name;
        let counted = |counting| match counting {
            Counting::Exact => LengthTable::empty(Name::Histogram),
            Counting::Ycsb => LengthTable::empty(Name::YcsbHistogram),
        };
        match length.clone() {
            FieldLength::Constant(length) => {
                LengthTable { length: Some(length), ..LengthTable::empty(Name::Constant) }
            }
            FieldLength::Uniform { min, max } => {
                LengthTable { min: Some(min), max: Some(max), ..LengthTable::empty(Name::Uniform) }
            }
            FieldLength::Zipfian { min, max } => {
                LengthTable { min: Some(min), max: Some(max), ..LengthTable::empty(Name::Zipfian) }
            }
            FieldLength::Histogram(Histogram { block, counts }, counting) => {
                LengthTable { block: Some(block), counts: Some(counts), ..counted(counting) }
            }
            FieldLength::HistogramFile(path, counting) => {
                LengthTable { file: Some(path), ..counted(counting) }
            }
            FieldLength::Listed { sizes, counts } => LengthTable {
                sizes: Some(sizes),
                counts: Some(counts),
                ..LengthTable::empty(Name::Sizes)
            },
            FieldLength::Tail(Tail { curve, location, scale, shape, min, max }) => LengthTable {
                location: Some(location),
                scale: Some(scale),
                shape: Some(shape),
                min: Some(min),
                max: Some(max),
                ..LengthTable::empty(match curve {
                    Curve::Pareto => Name::GeneralizedPareto,
                    Curve::ExtremeValue => Name::ExtremeValue,
                })
            },
            FieldLength::Recorded => LengthTable::empty(Name::Recorded),
        }
    }
}

impl Serialize for FieldLength {
    fn serialize<S: Serializer>(&self, into: S) -> Result<S::Ok, S::Error> {
        match self {
            FieldLength::Constant(length) => into.serialize_u64(*length),
            FieldLength::Recorded => into.serialize_str(RECORDED),
            other => LengthTable::from(other).serialize(into),
        }
    }
}

impl<'de> Deserialize<'de> for FieldLength {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<FieldLength, D::Error> {
        from.deserialize_any(LengthVisitor)
    }
}

struct LengthVisitor;

impl<'de> Visitor<'de> for LengthVisitor {
    type Value = FieldLength;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a length such as 100 or \"4KiB\", or a table with a distribution")
    }

    fn visit_u64<E: Error>(self, length: u64) -> Result<FieldLength, E> {
        Ok(FieldLength::Constant(length))
    }

    fn visit_i64<E: Error>(self, length: i64) -> Result<FieldLength, E> {
        let length = u64::try_from(length)
            .map_err(|_| E::invalid_value(serde::de::Unexpected::Signed(length), &self))?;
        Ok(FieldLength::Constant(length))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<FieldLength, E> {
        if text == RECORDED {
            return Ok(FieldLength::Recorded);
        }
        quantity::whole(text)
            .map(FieldLength::Constant)
            .ok_or_else(|| E::invalid_value(serde::de::Unexpected::Str(text), &self))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<FieldLength, A::Error> {
        let table = LengthTable::deserialize(MapAccessDeserializer::new(map))?;
        table.length().map_err(A::Error::custom)
    }
}

impl JsonSchema for FieldLength {
    fn schema_name() -> Cow<'static, str> {
        "FieldLength".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let table = generator.subschema_for::<LengthTable>();
        let whole = number::Whole::json_schema(generator);
        json_schema!({ "anyOf": [whole, { "const": RECORDED }, table] })
    }
}

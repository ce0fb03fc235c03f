//! Options of a URL, declared as the fields of a struct.
//!
//! A driver derives [`serde::Deserialize`] for a struct with a field for each option, all of them
//! optional, with `#[serde(deny_unknown_fields)]`; enums name the words that an option may have.
//! What is refused, and what could have been meant, follows from that.

use std::fmt::{self, Display};
use std::str::FromStr;
use std::time::Duration;

use assay_model::closest;
use serde::de::value::{MapDeserializer, StrDeserializer};
use serde::de::{DeserializeOwned, Deserializer, Error as _, IntoDeserializer, Visitor};
use serde::{Deserialize, forward_to_deserialize_any};

/// The longest timeout that a URL may set, in milliseconds.
pub(crate) const MOST_MILLIS: usize = 600_000;

/// A whole number from 1 to `MOST`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Count<const MOST: usize>(usize);

impl<const MOST: usize> From<Count<MOST>> for usize {
    fn from(count: Count<MOST>) -> usize {
        count.0
    }
}

impl<'de, const MOST: usize> Deserialize<'de> for Count<MOST> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Count<MOST>, D::Error> {
        let text = String::deserialize(from)?;
        let number = text.parse().ok().filter(|number| (1..=MOST).contains(number));
        let reason = || D::Error::custom(format!("is a number from 1 to {MOST}, not {text:?}"));
        number.map(Count).ok_or_else(reason)
    }
}

/// A time, which URLs have in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Millis(Duration);

impl From<Millis> for Duration {
    fn from(millis: Millis) -> Duration {
        millis.0
    }
}

impl<'de> Deserialize<'de> for Millis {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Millis, D::Error> {
        let count = Count::<MOST_MILLIS>::deserialize(from)?;
        Ok(Millis(Duration::from_millis(count.0 as u64)))
    }
}

/// The options among these names and values.
///
/// # Errors
/// If there is no option of a name, or its value does not fit: a sentence.
pub(crate) fn declared<T: DeserializeOwned>(pairs: &[(String, String)]) -> Result<T, String> {
    let values = pairs.iter().map(|(name, text)| (name.as_str(), Value { name, text }));
    T::deserialize(MapDeserializer::new(values)).map_err(|refused: Refused| refused.0)
}

/// The text of an option.
#[derive(Clone, Copy)]
struct Value<'a> {
    name: &'a str,
    text: &'a str,
}

impl<'de> IntoDeserializer<'de, Refused> for Value<'de> {
    type Deserializer = Value<'de>;

    fn into_deserializer(self) -> Value<'de> {
        self
    }
}

impl<'de> Deserializer<'de> for Value<'de> {
    type Error = Refused;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refused> {
        visitor.visit_str(self.text)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refused> {
        let named = |refused: Refused| Refused(format!("option {} {}", self.name, refused.0));
        visitor.visit_some(self).map_err(named)
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refused> {
        let reason = |_| Refused(format!("is true or false, not {:?}", self.text));
        visitor.visit_bool(bool::from_str(self.text).map_err(reason)?)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        words: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Refused> {
        let word: StrDeserializer<Refused> = self.text.into_deserializer();
        word.deserialize_enum(name, words, visitor)
    }

    forward_to_deserialize_any! {
        i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit
        unit_struct newtype_struct seq tuple tuple_struct map struct identifier ignored_any
    }
}

/// Why options are refused.
#[derive(Debug)]
struct Refused(String);

impl Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Refused {}

impl serde::de::Error for Refused {
    fn custom<T: Display>(reason: T) -> Refused {
        Refused(reason.to_string())
    }

    fn unknown_variant(word: &str, words: &'static [&'static str]) -> Refused {
        Refused(format!("is {}, not {word:?}", words.join(" or ")))
    }

    fn unknown_field(name: &str, names: &'static [&'static str]) -> Refused {
        Refused(unknown(name, names))
    }
}

/// What is said of an option that there is not.
pub(crate) fn unknown(name: &str, names: &[&'static str]) -> String {
    match closest(name, names.iter().copied()) {
        Some(near) => format!("there is no option {name:?}; did you mean {near:?}"),
        None if names.is_empty() => format!("there is no option {name:?}, nor any other"),
        None => format!("there is no option {name:?}; there are {}", names.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    enum Level {
        Low,
        VeryHigh,
    }

    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Options {
        connections: Option<Count<64>>,
        timeout: Option<Millis>,
        level: Option<Level>,
        file: Option<PathBuf>,
        insecure: Option<bool>,
    }

    fn options(text: &str) -> Result<Options, String> {
        let pair = |pair: &str| {
            let (name, value) = pair.split_once('=').unwrap();
            (name.to_owned(), value.to_owned())
        };
        declared(&text.split('&').filter(|text| !text.is_empty()).map(pair).collect::<Vec<_>>())
    }

    #[test]
    fn each_option_has_its_field() {
        let all = "connections=64&timeout=1&level=very-high&file=/a b&insecure=true";
        let expected = Options {
            connections: Some(Count(64)),
            timeout: Some(Millis(Duration::from_millis(1))),
            level: Some(Level::VeryHigh),
            file: Some("/a b".into()),
            insecure: Some(true),
        };
        assert_eq!(options(all), Ok(expected));
        let none =
            Options { connections: None, timeout: None, level: None, file: None, insecure: None };
        assert_eq!(options(""), Ok(none));
    }

    #[test]
    fn refusals_name_the_option_and_what_it_could_be() {
        for (text, reason) in [
            ("connections=65", "option connections is a number from 1 to 64, not \"65\""),
            ("connections=-1", "option connections is a number from 1 to 64, not \"-1\""),
            ("timeout=1s", "option timeout is a number from 1 to 600000, not \"1s\""),
            ("level=high", "option level is low or very-high, not \"high\""),
            ("insecure=yes", "option insecure is true or false, not \"yes\""),
            ("conections=1", "there is no option \"conections\"; did you mean \"connections\""),
            (
                "x=1",
                "there is no option \"x\"; there are connections, timeout, level, file, insecure",
            ),
        ] {
            assert_eq!(options(text).unwrap_err(), reason);
        }
    }
}

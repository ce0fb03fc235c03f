//! Options of a URL, declared as the fields of a struct.
//!
//! A driver derives [`serde::Deserialize`] for a struct with a field for each option, all of them
//! optional, with `#[serde(deny_unknown_fields)]`; enums name the words that an option may have. An
//! option that may be there several times is a [`Vec`] with `#[serde(default)]`. What is refused,
//! and what could have been meant, follows from that.

use std::fmt::{self, Display};
use std::time::Duration;

use assay_model::closest;
use serde::de::value::{MapDeserializer, SeqDeserializer, StrDeserializer};
use serde::de::{DeserializeOwned, Deserializer, Error, IntoDeserializer, Unexpected, Visitor};
use serde::{Deserialize, forward_to_deserialize_any};

/// The longest timeout that a URL may set where its driver does not say it, in milliseconds.
const MOST_MILLIS: usize = 600_000;
/// The name of an option that is handed on stands behind this.
const HANDED_ON: &str = "p.";

/// A whole number from `LEAST` to `MOST`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Count<const MOST: usize, const LEAST: usize = 1>(usize);

impl<const MOST: usize, const LEAST: usize> From<Count<MOST, LEAST>> for usize {
    fn from(count: Count<MOST, LEAST>) -> usize {
        count.0
    }
}

impl<'de, const MOST: usize, const LEAST: usize> Deserialize<'de> for Count<MOST, LEAST> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Count<MOST, LEAST>, D::Error> {
        let text = String::deserialize(from)?;
        let number = text.parse().ok().filter(|number| (LEAST..=MOST).contains(number));
        let expected = match LEAST {
            0 => format!("a number up to {MOST}"),
            _ => format!("a number from {LEAST} to {MOST}"),
        };
        let reason = || D::Error::invalid_value(Unexpected::Str(&text), &expected.as_str());
        number.map(Count).ok_or_else(reason)
    }
}

/// A time of up to `MOST` milliseconds, in which URLs have it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct Millis<const MOST: usize = MOST_MILLIS>(Count<MOST>);

impl<const MOST: usize> From<Millis<MOST>> for Duration {
    fn from(millis: Millis<MOST>) -> Duration {
        Duration::from_millis(usize::from(millis.0) as u64)
    }
}

/// Whether something is done: `on` or `off`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Switch {
    /// It is.
    On,
    /// It is not.
    Off,
}

impl From<Switch> for bool {
    fn from(switch: Switch) -> bool {
        switch == Switch::On
    }
}

/// The names and values in what stands behind the `?` of a URL, the values percent-decoded.
///
/// # Errors
/// If an option has no value, or one that is wrongly encoded: a sentence.
pub fn pairs(query: &str) -> Result<Vec<(String, String)>, String> {
    let pairs = query.split('&').filter(|pair| !pair.is_empty()).map(|pair| {
        let (name, value) = pair
            .split_once('=')
            .ok_or_else(|| format!("option {pair:?} has no value; write {pair}=…"))?;
        let value = decode(value).map_err(|reason| format!("option {name}: {reason}"))?;
        Ok((name.to_owned(), value))
    });
    pairs.collect()
}

/// Undoes percent-encoding.
pub fn decode(text: &str) -> Result<String, String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let hex = after.get(..2).and_then(|hex| std::str::from_utf8(hex).ok());
        let decoded = hex.and_then(|hex| u8::from_str_radix(hex, 16).ok());
        bytes.push(decoded.ok_or("a % is not followed by two hexadecimal digits")?);
        rest = &after[2..];
    }
    String::from_utf8(bytes).map_err(|_| "percent-encoded bytes are not UTF-8".into())
}

/// The options among these names and values.
///
/// # Errors
/// If there is no option of a name, it is there twice, or its value does not fit.
pub fn declared<T: DeserializeOwned>(pairs: &[(String, String)]) -> Result<T, OptionError> {
    let mut options: Vec<Given<'_>> = Vec::new();
    for (name, text) in pairs {
        match options.iter_mut().find(|option| option.name == name) {
            Some(option) => option.texts.push(text),
            None => options.push(Given { name, texts: vec![text] }),
        }
    }
    T::deserialize(MapDeserializer::new(options.into_iter().map(|option| (option.name, option))))
}

/// The options in a query, and the names and values that it hands on to what is called `what`:
/// `p.NAME=VALUE`.
///
/// # Errors
/// As [`declared`], and if a name is handed on twice: a sentence.
pub fn declared_and_handed_on<T: DeserializeOwned>(
    query: &str,
    what: &str,
) -> Result<(T, Vec<(String, String)>), String> {
    let is_handed_on = |(name, _): &(String, String)| name.starts_with(HANDED_ON);
    let (handed_on, own) = pairs(query)?.into_iter().partition::<Vec<_>, _>(is_handed_on);
    for (at, (name, _)) in handed_on.iter().enumerate() {
        if handed_on[..at].iter().any(|(other, _)| other == name) {
            return Err(OptionError::Twice(name.clone()).to_string());
        }
    }
    let handed_on = handed_on
        .into_iter()
        .map(|(name, value)| Ok((decode(&name[HANDED_ON.len()..])?, value)))
        .collect::<Result<_, String>>()?;
    let explain = |error: OptionError| match &error {
        OptionError::Unknown { name, names } if closest(name, names.iter().copied()).is_none() => {
            format!("{error}; {what} is {HANDED_ON}{name}=…")
        }
        _ => error.to_string(),
    };
    Ok((declared(&own).map_err(explain)?, handed_on))
}

/// An option, as it stands in a URL.
struct Given<'a> {
    name: &'a str,
    /// At least one.
    texts: Vec<&'a str>,
}

impl<'de> IntoDeserializer<'de, OptionError> for Given<'de> {
    type Deserializer = Given<'de>;

    fn into_deserializer(self) -> Given<'de> {
        self
    }
}

impl<'de> Deserializer<'de> for Given<'de> {
    type Error = OptionError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, OptionError> {
        visitor.visit_str(self.texts[0])
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, OptionError> {
        let (name, text) = (self.name, self.texts[0]);
        if self.texts.len() > 1 {
            return Err(OptionError::Twice(name.into()));
        }
        visitor.visit_some(self).map_err(|error| error.of(name, text))
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, OptionError> {
        visitor.visit_seq(SeqDeserializer::new(self.texts.into_iter()))
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, OptionError> {
        let reason = |_| OptionError::value(Allowed::Form("true or false".into()));
        visitor.visit_bool(self.texts[0].parse().map_err(reason)?)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        words: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, OptionError> {
        let word: StrDeserializer<'_, OptionError> = self.texts[0].into_deserializer();
        word.deserialize_enum(name, words, visitor)
    }

    forward_to_deserialize_any! {
        i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit
        unit_struct newtype_struct tuple tuple_struct map struct identifier ignored_any
    }
}

/// Why options are refused.
#[derive(Debug)]
pub enum OptionError {
    /// There is no option of this name.
    Unknown {
        /// The name in the URL.
        name: String,
        /// Those that there are.
        names: Vec<&'static str>,
    },
    /// The option of this name is there twice.
    Twice(String),
    /// An option has a text that it cannot have.
    Value {
        /// The name of the option.
        name: String,
        /// The text in the URL.
        text: String,
        /// What it can be.
        allowed: Allowed,
    },
}

/// What an option can be.
#[derive(Debug)]
pub enum Allowed {
    /// One of these words.
    Words(&'static [&'static str]),
    /// Something of this form: `a number from 1 to 16`.
    Form(String),
    /// What the rest of a sentence says: `write it as 64MiB`.
    Sentence(String),
}

impl OptionError {
    fn value(allowed: Allowed) -> OptionError {
        OptionError::Value { name: String::new(), text: String::new(), allowed }
    }

    fn of(self, name: &str, text: &str) -> OptionError {
        match self {
            OptionError::Value { allowed, .. } => {
                OptionError::Value { name: name.into(), text: text.into(), allowed }
            }
            other => other,
        }
    }
}

impl Display for OptionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OptionError::Unknown { name, names } => {
                write!(f, "there is no option {name:?}")?;
                match closest(name, names.iter().copied()) {
                    Some(near) => write!(f, "; did you mean {near:?}"),
                    None if names.is_empty() => f.write_str(", nor any other"),
                    None => write!(f, "; there are {}", names.join(", ")),
                }
            }
            OptionError::Twice(name) => write!(f, "option {name:?} is there twice"),
            OptionError::Value { name, text, allowed } => match allowed {
                Allowed::Words(words) => {
                    write!(f, "option {name} is {}, not {text:?}", words.join(" or "))
                }
                Allowed::Form(form) => write!(f, "option {name} is {form}, not {text:?}"),
                Allowed::Sentence(sentence) => write!(f, "option {name} {sentence}"),
            },
        }
    }
}

impl std::error::Error for OptionError {}

impl Error for OptionError {
    fn custom<T: Display>(sentence: T) -> OptionError {
        OptionError::value(Allowed::Sentence(sentence.to_string()))
    }

    fn invalid_value(_: Unexpected<'_>, form: &dyn serde::de::Expected) -> OptionError {
        OptionError::value(Allowed::Form(form.to_string()))
    }

    fn unknown_variant(_: &str, words: &'static [&'static str]) -> OptionError {
        OptionError::value(Allowed::Words(words))
    }

    fn unknown_field(name: &str, names: &'static [&'static str]) -> OptionError {
        OptionError::Unknown { name: name.into(), names: names.to_vec() }
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
        index: Option<Switch>,
        copies: Option<Count<2, 0>>,
        #[serde(default)]
        host: Vec<String>,
    }

    fn options(text: &str) -> Result<Options, String> {
        declared(&pairs(text)?).map_err(|error| error.to_string())
    }

    #[test]
    fn each_option_has_its_field() {
        let all = "connections=64&timeout=1&level=very-high&file=/a%20b&insecure=true&index=off\
                   &copies=0&host=a&host=b";
        let expected = Options {
            connections: Some(Count(64)),
            timeout: Some(Millis(Count(1))),
            level: Some(Level::VeryHigh),
            file: Some("/a b".into()),
            insecure: Some(true),
            index: Some(Switch::Off),
            copies: Some(Count(0)),
            host: vec!["a".into(), "b".into()],
        };
        assert_eq!(options(all), Ok(expected));
        assert_eq!(options("&").map(|none| (none.connections, none.host)), Ok((None, vec![])));
    }

    #[test]
    fn refusals_name_the_option_and_what_it_could_be() {
        for (text, reason) in [
            ("connections=65", "option connections is a number from 1 to 64, not \"65\""),
            ("connections=-1", "option connections is a number from 1 to 64, not \"-1\""),
            ("timeout=1s", "option timeout is a number from 1 to 600000, not \"1s\""),
            ("level=high", "option level is low or very-high, not \"high\""),
            ("index=true", "option index is on or off, not \"true\""),
            ("copies=3", "option copies is a number up to 2, not \"3\""),
            ("level=low&level=low", "option \"level\" is there twice"),
            ("level", "option \"level\" has no value; write level=…"),
            ("level=%zz", "option level: a % is not followed by two hexadecimal digits"),
            ("insecure=yes", "option insecure is true or false, not \"yes\""),
            ("conections=1", "there is no option \"conections\"; did you mean \"connections\""),
            (
                "x=1",
                "there is no option \"x\"; there are connections, timeout, level, file, insecure, \
                 index, copies, host",
            ),
        ] {
            assert_eq!(options(text).unwrap_err(), reason);
        }
    }

    #[test]
    fn options_behind_p_are_handed_on() {
        #[derive(Debug, PartialEq, Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Own {
            level: Option<Level>,
        }
        let split = |query| declared_and_handed_on::<Own>(query, "an option of the driver");
        let handed_on = vec![("a=b".to_owned(), "c".to_owned())];
        assert_eq!(split("p.a%3Db=c&level=low"), Ok((Own { level: Some(Level::Low) }, handed_on)));
        for (query, reason) in [
            ("p.a=1&p.a=2", "option \"p.a\" is there twice"),
            ("levle=low", "there is no option \"levle\"; did you mean \"level\""),
            (
                "path=x",
                "there is no option \"path\"; there are level; an option of the driver is p.path=…",
            ),
        ] {
            assert_eq!(split(query).unwrap_err(), reason);
        }
    }
}

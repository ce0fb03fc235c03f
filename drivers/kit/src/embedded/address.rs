//! The URL of a store on this machine's disk: `scheme:path?option=value&…`.

use std::path::{Path, PathBuf};
use std::{fs, io};

use assay_model::closest;
use assay_store::OpenError;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::url_options::{self, Allowed, OptionError};

/// A URL in its parts. The path is taken as it is written, up to the first `?`; values of options
/// are percent-decoded.
pub struct Address<'a> {
    url: &'a str,
    /// What stands between the scheme and the options.
    pub path: PathBuf,
    options: Vec<(String, String)>,
}

impl<'a> Address<'a> {
    /// Takes `url` apart.
    pub fn parse(url: &'a str) -> Result<Address<'a>, OpenError> {
        let wrong = |reason: String| OpenError::Url { url: url.into(), reason };
        let (scheme, rest) = url.split_once(':').unwrap_or((url, ""));
        let (path, query) = rest.split_once('?').unwrap_or((rest, ""));
        if path.is_empty() {
            return Err(wrong(format!("it names no path; write {scheme}:PATH")));
        }
        let options = url_options::pairs(query).map_err(wrong)?;
        Ok(Address { url, path: PathBuf::from(path), options })
    }

    /// All options, each declared by a field of `T`; see [`crate::url_options`].
    ///
    /// # Errors
    /// If one of them is not declared, or has a value that it cannot have.
    pub fn declared<T: DeserializeOwned>(&self) -> Result<T, OpenError> {
        url_options::declared(&self.options).map_err(|error| self.wrong(explain(error)))
    }

    /// The reason why the URL is invalid.
    pub fn wrong(&self, reason: String) -> OpenError {
        OpenError::Url { url: self.url.into(), reason }
    }

    /// The store could not be opened for this reason.
    pub fn failed(&self, reason: String) -> OpenError {
        OpenError::Failed { store: self.url.into(), reason }
    }

    /// What an operating system's error on opening means.
    pub fn denied(&self, path: &Path, error: &std::io::Error) -> OpenError {
        use std::io::ErrorKind::{PermissionDenied, ReadOnlyFilesystem};
        let reason = format!("{}: {error}", path.display());
        match error.kind() {
            PermissionDenied | ReadOnlyFilesystem => {
                let reason = format!("{reason}; choose a place where you may write");
                OpenError::NotPermitted { store: self.url.into(), reason }
            }
            _ => self.failed(reason),
        }
    }

    /// Refuses a path where there is something else than a directory of `software`, which has a
    /// file `mark` in each of its own. It would spread its files among whatever is there.
    pub fn check_directory(&self, software: &str, mark: &str) -> Result<(), OpenError> {
        let path = self.path.as_path();
        let wrong = |reason: String| self.failed(format!("{} {reason}", path.display()));
        let entries = match fs::read_dir(path) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) if error.kind() == io::ErrorKind::NotADirectory => {
                return Err(wrong(format!(
                    "is a file; {software} needs a directory, which may be new or empty"
                )));
            }
            Err(error) => return Err(self.denied(path, &error)),
        };
        if !path.join(mark).is_file() && entries.count() > 0 {
            return Err(wrong(format!(
                "holds something that is no {software} database; choose a new or empty directory"
            )));
        }
        Ok(())
    }

    /// Another process has it open.
    pub fn taken(&self) -> OpenError {
        let reason = "another process has it open; end that or choose another path".into();
        OpenError::NotPermitted { store: self.url.into(), reason }
    }
}

fn explain(error: OptionError) -> String {
    match error {
        OptionError::Unknown { name, names } => match closest(&name, names.iter().copied()) {
            Some(near) => format!("option {name:?} is unknown; did you mean {near:?}?"),
            None => format!("option {name:?} is unknown; it can be {}", names.join(", ")),
        },
        OptionError::Twice(name) => format!("option {name:?} is given twice"),
        OptionError::Value { name, text, allowed } => match allowed {
            Allowed::Words(words) => {
                format!("{name} is {text:?}; it can be {}", words.join(" or "))
            }
            Allowed::Form(form) => format!("{name} is {text:?}; it is {form}"),
            Allowed::Sentence(sentence) => format!("{name} is {text:?}; {sentence}"),
        },
    }
}

/// A number of bytes, written as `64MiB`, `1GiB` or a plain number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct ByteCount(pub u64);

impl TryFrom<String> for ByteCount {
    type Error = &'static str;

    fn try_from(text: String) -> Result<ByteCount, &'static str> {
        let digits = text.bytes().take_while(u8::is_ascii_digit).count();
        let (number, unit) = text.split_at(digits);
        let shift = match unit {
            "" | "B" => Some(0),
            "KiB" => Some(10),
            "MiB" => Some(20),
            "GiB" => Some(30),
            _ => None,
        };
        let bytes = number.parse::<u64>().ok().zip(shift);
        let bytes = bytes.and_then(|(number, shift)| number.checked_mul(1 << shift));
        bytes.map(ByteCount).ok_or("write it as 64MiB or 1GiB")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::url_options::Count;

    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(rename_all = "lowercase")]
    enum Durability {
        Process,
        Fsync,
    }

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Options {
        durability: Option<Durability>,
        cache: Option<ByteCount>,
        threads: Option<Count<8>>,
    }

    fn parse(url: &str) -> Result<(PathBuf, Options), String> {
        let parsed = Address::parse(url).and_then(|address| {
            let options = address.declared()?;
            Ok((address.path, options))
        });
        parsed.map_err(|error| error.to_string())
    }

    fn complaint(url: &str) -> String {
        parse(url).unwrap_err()
    }

    #[test]
    fn a_url_is_parsed_into_its_parts() {
        let url = "fjall:runs/a b:c?cache=64MiB&durability=fsync&threads=8";
        let (path, options) = parse(url).unwrap();
        assert_eq!(path, Path::new("runs/a b:c"));
        assert_eq!(options.cache, Some(ByteCount(64 << 20)));
        assert_eq!(options.durability, Some(Durability::Fsync));
        assert_eq!(options.threads.map(usize::from), Some(8));
    }

    #[test]
    fn a_wrong_url_says_what_is_wrong() {
        for (url, reported) in [
            ("fjall:", "it names no path; write fjall:PATH"),
            ("fjall", "it names no path; write fjall:PATH"),
            ("fjall:p?durabilty=fsync", "\"durabilty\" is unknown; did you mean \"durability\"?"),
            ("fjall:p?x=1", "option \"x\" is unknown; it can be durability, cache, threads"),
            ("fjall:p?cache", "option \"cache\" has no value; write cache=…"),
            ("fjall:p?cache=1&cache=2", "option \"cache\" is given twice"),
            ("fjall:p?durability=x", "durability is \"x\"; it can be process or fsync"),
            ("fjall:p?threads=9", "threads is \"9\"; it is a number from 1 to 8"),
            ("fjall:p?cache=1MB", "cache is \"1MB\"; write it as 64MiB or 1GiB"),
        ] {
            assert!(complaint(url).contains(reported), "{url}: {}", complaint(url));
        }
    }

    #[test]
    fn sizes_have_binary_units() {
        let bytes = |text: &str| ByteCount::try_from(text.to_owned()).ok();
        assert_eq!(bytes("4096"), Some(ByteCount(4096)));
        assert_eq!(bytes("2KiB"), Some(ByteCount(2048)));
        assert_eq!(bytes("1GiB"), Some(ByteCount(1 << 30)));
        for wrong in
            ["", "MiB", "1MB", "-1", "1.5GiB", "99999999999999999999", "18446744073709551615GiB"]
        {
            assert_eq!(bytes(wrong), None, "{wrong}");
        }
    }
}

//! The URL of a store on this machine's disk: `scheme:path?option=value&…`.

use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::{fs, io};

use assay_store::OpenError;

use assay_model::closest;

/// A URL in its parts. The path is taken as it is written, up to the first `?`.
pub struct Address<'a> {
    url: &'a str,
    /// What stands between the scheme and the options.
    pub path: PathBuf,
    options: Vec<(&'a str, &'a str)>,
}

impl<'a> Address<'a> {
    /// Takes `url` apart; `known` are the options that it may have.
    pub fn parse(url: &'a str, known: &[&str]) -> Result<Address<'a>, OpenError> {
        let wrong = |reason: String| OpenError::Url { url: url.into(), reason };
        let (scheme, rest) = url.split_once(':').unwrap_or((url, ""));
        let (path, query) = rest.split_once('?').unwrap_or((rest, ""));
        if path.is_empty() {
            return Err(wrong(format!("it names no path; write {scheme}:PATH")));
        }
        let mut options: Vec<(&str, &str)> = Vec::new();
        for part in query.split('&').filter(|part| !part.is_empty()) {
            let (name, value) = part
                .split_once('=')
                .ok_or_else(|| wrong(format!("option {part:?} has no value; write {part}=…")))?;
            if !known.contains(&name) {
                return Err(wrong(unknown_option(name, known)));
            }
            if options.iter().any(|(other, _)| *other == name) {
                return Err(wrong(format!("option {name:?} is given twice")));
            }
            options.push((name, value));
        }
        Ok(Address { url, path: PathBuf::from(path), options })
    }

    /// The value of option `name`, if it is given.
    pub fn option(&self, name: &str) -> Option<&'a str> {
        self.options.iter().find(|(other, _)| *other == name).map(|(_, value)| *value)
    }

    /// One of `choices` by its name, or the first of them if the option is not given.
    pub fn choose<T: Copy>(&self, name: &str, choices: &[(&str, T)]) -> Result<T, OpenError> {
        let Some(value) = self.option(name) else { return Ok(choices[0].1) };
        let chosen = choices.iter().find(|(choice, _)| *choice == value);
        chosen.map(|(_, choice)| *choice).ok_or_else(|| {
            let names: Vec<&str> = choices.iter().map(|(choice, _)| *choice).collect();
            self.wrong(format!("{name} is {value:?}; it can be {}", names.join(" or ")))
        })
    }

    /// The bytes of option `name`, written as `64MiB`, `1GiB` or a plain number.
    pub fn bytes(&self, name: &str) -> Result<Option<u64>, OpenError> {
        let Some(value) = self.option(name) else { return Ok(None) };
        let digits = value.bytes().take_while(u8::is_ascii_digit).count();
        let (number, unit) = value.split_at(digits);
        let shift = match unit {
            "" | "B" => Some(0),
            "KiB" => Some(10),
            "MiB" => Some(20),
            "GiB" => Some(30),
            _ => None,
        };
        let bytes = number.parse::<u64>().ok().zip(shift);
        let bytes = bytes.and_then(|(number, shift)| number.checked_mul(1 << shift));
        match bytes {
            Some(bytes) => Ok(Some(bytes)),
            None => Err(self.wrong(format!("{name} is {value:?}; write it as 64MiB or 1GiB"))),
        }
    }

    /// The whole number of option `name`, one of `range`.
    pub fn count(&self, name: &str, range: RangeInclusive<u32>) -> Result<Option<u32>, OpenError> {
        let Some(value) = self.option(name) else { return Ok(None) };
        match value.parse().ok().filter(|count| range.contains(count)) {
            Some(count) => Ok(Some(count)),
            None => Err(self.wrong(format!(
                "{name} is {value:?}; it is a number from {} to {}",
                range.start(),
                range.end()
            ))),
        }
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

fn unknown_option(name: &str, known: &[&str]) -> String {
    match closest(name, known.iter().copied()) {
        Some(near) => format!("option {name:?} is unknown; did you mean {near:?}?"),
        None => format!("option {name:?} is unknown; it can be {}", known.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KNOWN: [&str; 2] = ["durability", "cache"];

    fn parse(url: &str) -> Result<Address<'_>, String> {
        Address::parse(url, &KNOWN).map_err(|error| error.to_string())
    }

    fn complaint(url: &str) -> String {
        parse(url).err().unwrap()
    }

    #[test]
    fn a_url_is_parsed_into_its_parts() {
        let address = parse("fjall:runs/a b:c?cache=64MiB&durability=fsync").unwrap();
        assert_eq!(address.path, Path::new("runs/a b:c"));
        assert_eq!(address.bytes("cache").unwrap(), Some(64 << 20));
        let choices = [("process", 1), ("fsync", 2)];
        assert_eq!(address.choose("durability", &choices).unwrap(), 2);
        assert_eq!(parse("fjall:p").unwrap().choose("durability", &choices).unwrap(), 1);
    }

    #[test]
    fn a_wrong_url_says_what_is_wrong() {
        for (url, reported) in [
            ("fjall:", "it names no path; write fjall:PATH"),
            ("fjall", "it names no path; write fjall:PATH"),
            ("fjall:p?durabilty=fsync", "\"durabilty\" is unknown; did you mean \"durability\"?"),
            ("fjall:p?x=1", "option \"x\" is unknown; it can be durability, cache"),
            ("fjall:p?cache", "option \"cache\" has no value; write cache=…"),
            ("fjall:p?cache=1&cache=2", "option \"cache\" is given twice"),
        ] {
            assert!(complaint(url).contains(reported), "{url}: {}", complaint(url));
        }
    }

    #[test]
    fn sizes_have_binary_units() {
        let bytes = |value: &str| parse(&format!("x:p?cache={value}")).unwrap().bytes("cache").ok();
        assert_eq!(bytes("4096"), Some(Some(4096)));
        assert_eq!(bytes("2KiB"), Some(Some(2048)));
        assert_eq!(bytes("1GiB"), Some(Some(1 << 30)));
        for wrong in
            ["", "MiB", "1MB", "-1", "1.5GiB", "99999999999999999999", "18446744073709551615GiB"]
        {
            assert_eq!(bytes(wrong), None, "{wrong}");
        }
    }
}

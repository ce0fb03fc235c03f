//! The URL of a store behind a network, taken apart.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use assay_store::OpenError;
use serde::de::DeserializeOwned;

use crate::url_options::{self, MOST_MILLIS, unknown};

/// What is said of a password here and another one there.
pub const TWO_PASSWORDS: &str = "there is a password and a password_file; give one of them";

/// `scheme://[user[:password]@]host[:port][,host[:port]…][/path][?option=value&…]`, where parts
/// with special characters are percent-encoded.
///
/// A driver declares its options and gets them by [`Address::declared`], or takes one after another
/// and calls [`Address::finish`], which refuses those that are left. Shown without the password.
#[derive(Clone)]
pub struct Address {
    /// What stands before `://`.
    pub scheme: String,
    /// The user, where one is named.
    pub user: Option<String>,
    /// The password, where there is one.
    pub password: Option<String>,
    /// The hosts with their ports, at least one.
    pub hosts: Vec<(String, u16)>,
    /// What stands behind the hosts, without the slash.
    pub path: String,
    options: Vec<(String, String)>,
    /// The names that were looked up.
    known: Vec<&'static str>,
    displayed: String,
    example: &'static str,
}

impl Address {
    /// Takes `url` apart. `schemes` are the right ones, `example` is a right URL, for errors.
    pub fn parse(
        url: &str,
        schemes: &[&str],
        default_port: u16,
        example: &'static str,
    ) -> Result<Address, OpenError> {
        let displayed = without_password(url);
        parse(url, schemes, default_port)
            .map(|address| Address { displayed: displayed.clone(), example, ..address })
            .map_err(|reason| wrong(&displayed, &reason, example))
    }

    /// The first host with its port, for stores that have one.
    pub fn host(&self) -> (&str, u16) {
        let (host, port) = &self.hosts[0];
        (host, *port)
    }

    /// Every host as `host:port`, an IPv6 address in brackets.
    pub fn authorities(&self) -> Vec<String> {
        self.hosts.iter().map(|(host, port)| authority(host, *port)).collect()
    }

    /// All options, each declared by a field of `T`; see [`crate::url_options`].
    ///
    /// # Errors
    /// If one of them is not declared, or has a value that it cannot have.
    pub fn declared<T: DeserializeOwned>(&self) -> Result<T, OpenError> {
        url_options::declared(&self.options).map_err(|reason| self.wrong(reason))
    }

    /// The option's text, percent-decoded.
    pub fn text(&mut self, name: &'static str) -> Option<String> {
        self.known.push(name);
        let at = self.options.iter().position(|(other, _)| other == name)?;
        Some(self.options.remove(at).1)
    }

    /// The option's text as something that a text can be.
    pub fn parsed<T: FromStr>(
        &mut self,
        name: &'static str,
        what: &str,
    ) -> Result<Option<T>, OpenError> {
        let Some(text) = self.text(name) else { return Ok(None) };
        let parsed = text.parse().ok();
        let wrong = || self.wrong(format!("option {name} is {what}, not {text:?}"));
        parsed.map(Some).ok_or_else(wrong)
    }

    /// A whole number from 1 to `most`.
    pub fn count(&mut self, name: &'static str, most: usize) -> Result<Option<usize>, OpenError> {
        let Some(text) = self.text(name) else { return Ok(None) };
        let number = text.parse().ok().filter(|number| (1..=most).contains(number));
        let reason = || format!("option {name} is a number from 1 to {most}, not {text:?}");
        number.map(Some).ok_or_else(|| self.wrong(reason()))
    }

    /// One of a few words.
    pub fn choose<T: Copy>(
        &mut self,
        name: &'static str,
        choices: &[(&str, T)],
    ) -> Result<Option<T>, OpenError> {
        let Some(text) = self.text(name) else { return Ok(None) };
        let chosen = choices.iter().find(|(word, _)| *word == text);
        let words = || choices.iter().map(|(word, _)| *word).collect::<Vec<_>>().join(" or ");
        let reason = || format!("option {name} is {}, not {text:?}", words());
        chosen.map(|(_, value)| Some(*value)).ok_or_else(|| self.wrong(reason()))
    }

    /// A timeout in milliseconds.
    pub fn millis(&mut self, name: &'static str) -> Result<Option<Duration>, OpenError> {
        let millis = self.count(name, MOST_MILLIS)?;
        Ok(millis.map(|millis| Duration::from_millis(millis as u64)))
    }

    /// Option `connections`: how many, up to `most`.
    pub fn connections(&mut self, most: usize) -> Result<Option<usize>, OpenError> {
        self.count("connections", most)
    }

    /// Option `connect_timeout`.
    pub fn connect_timeout(&mut self) -> Result<Option<Duration>, OpenError> {
        self.millis("connect_timeout")
    }

    /// Option `batch`: how many records one request may be about, up to `most`.
    pub fn batch(&mut self, most: usize) -> Result<Option<usize>, OpenError> {
        self.count("batch", most)
    }

    /// Reads the first line of the file that option `password_file` names.
    pub fn password_file(&mut self) -> Result<(), OpenError> {
        let path = self.text("password_file").map(PathBuf::from);
        self.read_password(path.as_deref())
    }

    /// Reads the first line of the file that holds the password, if there is one.
    pub fn read_password(&mut self, file: Option<&Path>) -> Result<(), OpenError> {
        let Some(path) = file else { return Ok(()) };
        if self.password.is_some() {
            return Err(self.wrong(TWO_PASSWORDS.into()));
        }
        let unreadable =
            |error| self.wrong(format!("password_file {} cannot be read: {error}", path.display()));
        let text = std::fs::read_to_string(path).map_err(unreadable)?;
        self.password = Some(text.lines().next().unwrap_or_default().to_owned());
        Ok(())
    }

    /// Refuses unknown options.
    pub fn finish(self) -> Result<(), OpenError> {
        let Some((name, _)) = self.options.first() else { return Ok(()) };
        Err(self.wrong(unknown(name, &self.known)))
    }

    /// The error of a URL with something wrong in it.
    pub fn wrong(&self, reason: String) -> OpenError {
        wrong(&self.displayed, &reason, self.example)
    }
}

/// The URL without the password.
impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.displayed)
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Address").field(&self.displayed).finish()
    }
}

/// `host:port`, an IPv6 address in brackets.
pub fn authority(host: &str, port: u16) -> String {
    if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") }
}

/// The error of `url`, of which so much is wrong that it is no address; shown without a password.
pub fn invalid(url: &str, reason: &str, example: &str) -> OpenError {
    wrong(&without_password(url), reason, example)
}

fn wrong(displayed: &str, reason: &str, example: &str) -> OpenError {
    OpenError::Url { url: displayed.into(), reason: format!("{reason}; a right one is {example}") }
}

fn parse(url: &str, schemes: &[&str], default_port: u16) -> Result<Address, String> {
    let (scheme, rest) = url.split_once("://").ok_or("there is no ://")?;
    if !schemes.contains(&scheme) {
        return Err(format!("scheme {scheme:?} is not {}", schemes.join(" or ")));
    }
    require_encoded_login(rest)?;
    let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
    let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
    let (login, hosts) = match authority.rsplit_once('@') {
        Some((login, hosts)) => (login, hosts),
        None => ("", authority),
    };
    let (user, password) = login.split_once(':').unwrap_or((login, ""));
    let some = |text: String| Some(text).filter(|text| !text.is_empty());
    let hosts = hosts.split(',').map(|host| split_host(host, default_port));
    let pairs = query.split('&').filter(|pair| !pair.is_empty()).map(|pair| {
        let pair = pair.split_once('=').ok_or_else(|| format!("option {pair:?} has no value"));
        pair.and_then(|(name, value)| Ok((name.to_owned(), decode(value)?)))
    });
    let options: Vec<(String, String)> = pairs.collect::<Result<_, String>>()?;
    for (at, (name, _)) in options.iter().enumerate() {
        if options[..at].iter().any(|(other, _)| other == name) {
            return Err(format!("option {name:?} is there twice"));
        }
    }
    Ok(Address {
        scheme: scheme.to_owned(),
        user: some(decode(user)?),
        password: some(decode(password)?),
        hosts: hosts.collect::<Result<_, String>>()?,
        path: decode(path)?,
        options,
        known: Vec::new(),
        displayed: String::new(),
        example: "",
    })
}

/// The host with its port, or with `default_port`.
pub fn split_host(address: &str, default_port: u16) -> Result<(String, u16), String> {
    let (host, port) = match address.strip_prefix('[') {
        Some(rest) => {
            let (host, port) = rest.split_once(']').ok_or("an address in [ ] is not closed")?;
            let port = match port {
                "" => "",
                port => port.strip_prefix(':').ok_or("behind ] stands a colon with the port")?,
            };
            (host, port)
        }
        None => address.split_once(':').unwrap_or((address, "")),
    };
    if host.is_empty() {
        return Err("the host is missing".into());
    }
    let port = match port {
        "" => default_port,
        port => port
            .parse()
            .ok()
            .filter(|&port| port != 0)
            .ok_or_else(|| format!("the port is a number from 1 to 65535, not {port:?}"))?,
    };
    Ok((decode(host)?, port))
}

/// Refuses a URL whose password hides a / or ?, for what follows would be taken for other parts of
/// it, and shown.
pub fn require_encoded_login(behind_scheme: &str) -> Result<(), String> {
    match behind_scheme.find(['/', '?']) {
        Some(end) if behind_scheme[end..].contains('@') => {
            Err("an @ stands behind a / or ?: write / as %2F, ? as %3F and @ as %40 in user, \
                 password and options"
                .into())
        }
        _ => Ok(()),
    }
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

/// `url` with everything hidden that could be a password, however wrong the URL is otherwise.
fn without_password(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else { return "…".into() };
    match rest.rsplit_once('@') {
        // An `@` may end a login with such a sign, or stand in an option.
        Some((login, _)) if login.contains('?') => format!("{scheme}://…"),
        Some((login, address)) => match login.split_once(':') {
            Some((user, _)) => format!("{scheme}://{user}:…@{address}"),
            None => format!("{scheme}://…@{address}"),
        },
        None => url.to_owned(),
    }
}

#[cfg(test)]
mod tests;

//! The URL of a store behind a network, taken apart.

use std::fmt;
use std::path::Path;

use assay_store::OpenError;
use serde::de::DeserializeOwned;

use crate::url_options::{self, decode};

/// What is said of a password here and another one there.
pub const TWO_PASSWORDS: &str = "there is a password and a password_file; give one of them";

/// `scheme://[user[:password]@]host[:port][,host[:port]…][/path][?option=value&…]`, where parts
/// with special characters are percent-encoded.
///
/// A driver declares its options and gets them by [`Address::declared`]. Shown without the
/// password.
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

    /// The `host:port` of the host at this place.
    pub fn authority(&self, place: usize) -> String {
        let (host, port) = &self.hosts[place];
        authority(host, *port)
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
        url_options::declared(&self.options).map_err(|error| self.wrong(error.to_string()))
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

/// Shows options as their field `address`, which is the URL without the password.
#[macro_export]
macro_rules! display_address {
    ($options:ty) => {
        impl std::fmt::Display for $options {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                std::fmt::Display::fmt(&self.address, f)
            }
        }
    };
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
    Ok(Address {
        scheme: scheme.to_owned(),
        user: some(decode(user)?),
        password: some(decode(password)?),
        hosts: hosts.collect::<Result<_, String>>()?,
        path: decode(path)?,
        options: url_options::pairs(query)?,
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

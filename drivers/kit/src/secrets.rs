//! Redaction of secrets: URLs and words as anybody may see them.

use crate::url_options::decode;

/// Where a store is, as its scheme tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Location {
    /// Behind a network: an `@` may end a user and a password.
    Network,
    /// In this process: its path may have an `@`.
    Process,
}

/// How texts are made that anybody may see.
#[derive(Clone, Copy, Debug)]
pub struct Redaction {
    /// Where the store of a scheme is; `None` if there is no such scheme.
    pub locate: fn(&str) -> Option<Location>,
}

impl Redaction {
    /// That of a store which knows of its own URL alone that it has a network behind it.
    pub const NETWORK: Redaction = Redaction { locate: |_| Some(Location::Network) };

    /// That of a store which knows of its own URL alone that it is in this process.
    pub const PROCESS: Redaction = Redaction { locate: |_| Some(Location::Process) };

    /// What stands before an `@` in the authority may hold a password, and so may an option.
    pub fn url(&self, url: &str) -> String {
        match url.split_once("://") {
            // The login first: what it has behind a `?` is no option.
            Some((scheme, rest)) if !scheme.contains('?') => match login_end(rest) {
                Some(at) => {
                    let behind = behind_login(rest, at);
                    self.without_secret_options(&format!("{scheme}://…{behind}"))
                }
                None => self.without_secret_options(url),
            },
            _ => self.without_login(self.without_secret_options(url)),
        }
    }

    /// A word of a command line: `-Dpassword=…`, `password=…`, a URL.
    pub fn word(&self, word: &str) -> String {
        match word.split_once('=') {
            // Its first `=` is within a URL.
            Some((before, _)) if before.contains('?') || before.contains("://") => self.url(word),
            Some((name, _)) if names_a_secret(name) => format!("{name}=…"),
            Some((flag, value)) if flag.starts_with('-') => format!("{flag}={}", self.url(value)),
            _ => self.url(word),
        }
    }

    /// Names with their values in one line.
    pub fn pairs(&self, pairs: &[(String, String)]) -> String {
        let shown = pairs.iter().map(|(name, value)| match names_a_secret(name) {
            true => format!("{name}=…"),
            false => format!("{name}={}", self.url(value)),
        });
        shown.collect::<Vec<_>>().join(", ")
    }

    /// The URL of a store behind a network that lacks its slashes or its scheme, without what
    /// stands before an `@`. The path of a store in this process may have one, and so may a word
    /// that is no URL; a user and a password have a colon between.
    fn without_login(&self, url: String) -> String {
        let Some((scheme, rest)) = url.split_once(':') else { return url };
        let Some(at) = rest.rfind('@') else { return url };
        match (self.locate)(scheme) {
            Some(Location::Network) => format!("{scheme}:…{}", &rest[at..]),
            Some(Location::Process) => url,
            // Its options have been looked at each by itself.
            None if rest.contains("://") => url,
            None => format!("…{}", &rest[at..]),
        }
    }

    fn without_secret_options(&self, url: &str) -> String {
        // Where the login had a `?`, the options behind it begin with the `&` of the next one.
        let Some(mark) = url.find(['?', '&']) else { return url.into() };
        let (address, query) = url.split_at(mark + 1);
        let pairs = query.split('&').map(|pair| match pair.split_once('=') {
            Some((name, value)) => format!("{name}={}", self.shown_value(name, value)),
            None => pair.to_owned(),
        });
        format!("{address}{}", pairs.collect::<Vec<_>>().join("&"))
    }

    /// The value of an option, which may be a URL or a word of a command line itself, and encoded.
    fn shown_value(&self, name: &str, value: &str) -> String {
        if names_a_secret(name) {
            return "…".to_owned();
        }
        let plain = decode(value).unwrap_or_else(|_| value.to_owned());
        match self.word(&plain) {
            displayed if displayed == plain => value.to_owned(),
            displayed => displayed,
        }
    }
}

/// The `@` that ends the login of what stands behind `://`: the last one, because a password that
/// is not encoded may have any sign, also those that end the authority. One behind the authority
/// counts only if a user and a password, which have a colon between, may stand before it.
fn login_end(behind_scheme: &str) -> Option<usize> {
    let at = behind_scheme.rfind('@')?;
    let authority = behind_scheme.split(['/', '?']).next().unwrap_or_default();
    (authority.contains('@') || behind_scheme[..at].contains(':')).then_some(at)
}

/// What stands behind the login, from its `@` on. That `@` may as well be within the value of an
/// option that is a secret, which ends at the next `&`.
fn behind_login(behind_scheme: &str, at: usize) -> &str {
    let (before, behind) = behind_scheme.split_at(at);
    let pair = before.split_once('?').and_then(|(_, query)| query.rsplit('&').next());
    match pair.and_then(|pair| pair.split_once('=')) {
        Some((name, _)) if names_a_secret(name) => {
            behind.find('&').map_or("", |end| &behind[end..])
        }
        _ => behind,
    }
}

/// Whether the value of this name is a secret; a file's name is none.
pub fn names_a_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let is_secret =
        ["passw", "secret", "credential", "token"].iter().any(|mark| name.contains(mark));
    is_secret && !name.ends_with("file")
}

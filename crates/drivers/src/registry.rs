//! Opens a store by its URL, out of the list of those that there are.

use std::sync::Arc;

pub use assay_driver_kit::Surroundings;
pub use assay_driver_kit::secrets::names_a_secret;
use assay_driver_kit::url_options::decode;
use assay_model::closest;
use assay_store::{OpenError, Store};

use crate::known::{KNOWN, Known, REDACTION};
pub use crate::stores::Options;
use crate::{known, stores};

/// The scheme of the store that is used when none is named: on disk, in this process.
pub const EMBEDDED_DEFAULT: &str = "fjall";

/// A store as `assay stores` shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ListedStore {
    /// What its URL begins with.
    pub scheme: &'static str,
    /// What it is, in one line.
    pub summary: &'static str,
    /// How its URL is written, with every option.
    pub url: &'static str,
    /// What an acknowledged write survives.
    pub durability: &'static str,
    /// The cargo feature that brings it; `None` if it is always there.
    pub feature: Option<&'static str>,
    /// Whether this binary has it.
    pub is_compiled_in: bool,
}

/// Every store that Assay knows, whether compiled in or not.
pub fn list() -> Vec<ListedStore> {
    KNOWN.iter().map(listed).collect()
}

/// Opens the store that `url` names. Nothing is created in it before it is prepared, except that a
/// store on this machine's disk makes its files.
///
/// # Errors
/// If no store has that scheme, this binary was built without it, or it does not open.
pub fn open(url: &str, options: &Options) -> Result<Arc<dyn Store>, OpenError> {
    let known = find(url)?;
    match driver(known) {
        Some(open) => open(url, options).map_err(discreet),
        None => Err(not_compiled_in(url, known.feature.unwrap_or(known.scheme))),
    }
}

/// The error without secrets.
fn discreet(error: OpenError) -> OpenError {
    match error {
        OpenError::Url { url, reason } => OpenError::Url { url: without_secrets(&url), reason },
        other => other,
    }
}

/// The store that has the scheme of `url`, whether compiled in or not.
///
/// # Errors
/// If there is none.
pub fn require_scheme(url: &str) -> Result<ListedStore, OpenError> {
    find(url).map(listed)
}

/// What makes each request of a session go to the next node, by the scheme of the store; nothing
/// where requests do that anyway.
const ROAMING: [(&str, &str); 7] = [
    ("antidote", "host=any"),
    ("cassandra", ""),
    ("etcd", ""),
    ("mariadb", "host=any"),
    ("postgres", "read=any"),
    ("redis+sentinel", "read=any"),
    ("sim", "read_from=any"),
];

/// `url` with the option that makes each request of a session go to the next of the store's nodes.
///
/// # Errors
/// If no store has that scheme, sessions cannot roam there, or the URL says that they stay.
pub fn roaming(url: &str) -> Result<String, OpenError> {
    let scheme = find(url)?.scheme;
    let Some((_, option)) = ROAMING.iter().find(|(able, _)| *able == scheme) else {
        let able = ROAMING.map(|(able, _)| able).join(", ");
        return Err(OpenError::Unsupported {
            store: without_secrets(url),
            reason: format!("its sessions cannot roam over nodes; those of {able} can"),
        });
    };
    let (place, query) = url.split_once('?').unwrap_or((url, ""));
    if option.starts_with("host=") && !place.contains(',') {
        return Err(OpenError::Unsupported {
            store: without_secrets(url),
            reason: "its sessions have one node only; name several hosts, with commas between \
                     them"
                .into(),
        });
    }
    let name = option.split('=').next().unwrap_or_default();
    let said = query.split('&').find(|pair| pair.split('=').next() == Some(name));
    match said {
        _ if option.is_empty() => Ok(url.to_owned()),
        Some(said) if said == *option => Ok(url.to_owned()),
        Some(said) => Err(OpenError::Url {
            url: without_secrets(url),
            reason: format!("{said} keeps sessions from roaming; leave it out, or say {option}"),
        }),
        None => {
            let mark = if url.contains('?') { '&' } else { '?' };
            Ok(format!("{url}{mark}{option}"))
        }
    }
}

fn find(url: &str) -> Result<&'static Known, OpenError> {
    let scheme = url.split_once(':').map_or(url, |(scheme, _)| scheme);
    known::find(scheme).ok_or_else(|| unknown(url, scheme))
}

/// The function of the store's driver; `None` if this program was built without it.
fn driver(known: &Known) -> Option<stores::Open> {
    let name = known.feature.unwrap_or(known.scheme);
    stores::DRIVERS.iter().find(|driver| driver.name == name)?.open
}

fn listed(known: &Known) -> ListedStore {
    ListedStore {
        scheme: known.scheme,
        summary: known.summary,
        url: known.url,
        durability: known.durability,
        feature: known.feature,
        is_compiled_in: driver(known).is_some(),
    }
}

fn unknown(url: &str, scheme: &str) -> OpenError {
    let names = || KNOWN.iter().flat_map(Known::schemes);
    // In such a URL the password may be anything before the last `@`.
    let scheme = scheme.rsplit('@').next().unwrap_or_default();
    let url = match (url.rfind('@'), url.split_once("://")) {
        // It may as well be in an option.
        (Some(at), _) if url[..at].contains('?') => "…".to_owned(),
        (Some(at), Some((scheme, _))) => format!("{scheme}://…{}", &url[at..]),
        (Some(at), None) => format!("…{}", &url[at..]),
        (None, _) => url.to_owned(),
    };
    let reason = match closest(scheme, names()) {
        Some(near) => format!("there is no store {scheme:?}; did you mean {near}:?"),
        None => {
            let names: Vec<&str> = names().collect();
            format!("there is no store {scheme:?}; there are {}", names.join(", "))
        }
    };
    OpenError::Url { url: without_secrets(&url), reason }
}

/// The error of a binary that was built without the store.
fn not_compiled_in(url: &str, feature: &str) -> OpenError {
    let reason =
        format!("this binary was built without it; build with `--features {feature}` to have it");
    OpenError::Unsupported { store: without_secrets(url), reason }
}

/// A URL as anybody may see it.
pub fn without_secrets(url: &str) -> String {
    REDACTION.url(url)
}

/// A word of a command line as anybody may see it: `-Dpassword=…`, `password=…`, a URL.
pub fn word_without_secrets(word: &str) -> String {
    REDACTION.word(word)
}

/// The value of a URL's option, percent-decoded.
///
/// # Errors
/// If it is no such text.
pub fn decoded(value: &str) -> Result<String, String> {
    decode(value)
}

#[cfg(test)]
mod tests;

//! Opening a store where there is no server, or another one: what every store says.
//!
//! In the URLs of rows, `PORT` is the port of the test.

use std::time::{Duration, Instant};

use assay_store::OpenError;

use crate::impostor;
use crate::server::{Server as Redis, free_port};
use crate::stores::store;
use crate::test_client::layout;

const PORT: &str = "PORT";
/// How long it may take to find out that a server cannot be used.
const TIMEOUT: Duration = Duration::from_secs(30);

/// URLs with a part of what is said of them.
type Rows<'a> = &'a [(&'a str, &'a str)];

/// What preparing the store says, which must not take long.
#[track_caller]
pub fn turned_away(url: &str) -> OpenError {
    let begun = Instant::now();
    let Err(error) = store(url).prepare(&layout(2)) else { panic!("{url} must not be prepared") };
    assert!(begun.elapsed() < TIMEOUT, "{url}: {:?}", begun.elapsed());
    error
}

/// The error is this variant of [`OpenError`], any if it is empty, and says `part`; all that it
/// says.
#[track_caller]
pub fn assert_error(error: &OpenError, variant: &str, part: &str) -> String {
    let (kind, said) = (format!("{error:?}"), error.to_string());
    assert!(kind.starts_with(variant), "no {variant}: {kind}");
    assert!(said.contains(part), "no {part:?}: {said}");
    said
}

/// Preparing the store fails with such an error, which names nobody's password.
#[track_caller]
pub fn assert_turned_away(url: &str, variant: &str, part: &str) -> String {
    let said = assert_error(&turned_away(url), variant, part);
    let login = url.split_once("://").and_then(|(_, rest)| rest.rsplit_once('@'));
    if let Some((_, password)) = login.and_then(|(login, _)| login.split_once(':')) {
        assert!(!said.contains(&format!("{password}@")), "{url}: {said}");
    }
    said
}

#[track_caller]
pub fn check_unreachable(url: &str, part: &str) {
    assert_turned_away(url, "Unreachable", part);
}

#[track_caller]
fn check_rows(rows: Rows<'_>, port: impl Fn() -> u16) {
    for (url, part) in rows {
        let mut url = (*url).to_owned();
        while url.contains(PORT) {
            url = url.replacen(PORT, &port().to_string(), 1);
        }
        check_unreachable(&url, part);
    }
}

pub fn a_closed_port_is_an_error_that_asks_whether_the_server_runs(rows: Rows<'_>) {
    check_rows(rows, free_port);
}

pub fn redis_behind_the_port_is_another_store(rows: Rows<'_>) {
    let redis = Redis::start(&[]);
    check_rows(rows, || redis.port);
}

/// It takes connections, and does nothing with them.
pub fn a_silent_server_is_given_up(rows: Rows<'_>) {
    let port = impostor::listen(std::mem::forget);
    check_rows(rows, || port);
}

/// Every text that `say` lets a server say gets the same error.
pub fn a_server_that_says_something_else_is_another_store(
    say: fn(&'static [u8]) -> u16,
    url: &str,
    part: &str,
    texts: &[&'static str],
) {
    for text in texts {
        let port = say(text.as_bytes());
        let error = turned_away(&url.replace(PORT, &port.to_string()));
        assert!(matches!(error, OpenError::Unreachable { .. }), "{text:?}: {error:?}");
        assert!(error.to_string().contains(part), "{text:?}: {error}");
    }
}

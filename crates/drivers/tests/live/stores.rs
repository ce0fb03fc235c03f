//! Stores by their URLs, with clients of them and what they say of themselves.

use std::sync::Arc;

use assay_drivers::registry::{self, Options, Surroundings};
use assay_model::{Seed, Setting};
use assay_store::Store;
use assay_store::conformance::check;

use crate::test_client::{RequestResult, TestClient, insert, read};

/// Options that no server takes notice of.
pub const OPTIONS: Options =
    Options { clock: || 0, seed: Seed(1), surroundings: Surroundings::NONE };

/// A rule that a store breaks, with the reason of its refusal.
pub type Broken = (&'static str, &'static str);

pub const ANY_BYTES: Broken = ("a value of any bytes comes back unchanged", "malformed");
pub const ONE_MIB: Broken = ("a value of one MiB comes back unchanged", "malformed");
pub const REPLACED_BY_ONE_MIB: Broken =
    ("a small value can be replaced by one of one MiB", "malformed");
pub const LONG_KEYS: Broken =
    ("keys of 512 bytes that differ in the last are two keys", "malformed");

/// The store behind `url`.
#[track_caller]
pub fn store(url: &str) -> Arc<dyn Store> {
    registry::open(url, &OPTIONS).unwrap_or_else(|error| panic!("{url}: {error}"))
}

/// A client of the store behind `url`, for records of two fields.
#[track_caller]
pub fn test_client(url: &str) -> TestClient {
    wide_client(url, 2)
}

/// The same for records of `fields` fields.
#[track_caller]
pub fn wide_client(url: &str, fields: usize) -> TestClient {
    let test_client = TestClient::open_wide(&*store(url), fields);
    test_client.unwrap_or_else(|error| panic!("{url}: {error}")).named(url)
}

/// Writes a record of its own, then reads it back.
#[track_caller]
pub fn assert_works(url: &str) {
    let mut test_client = test_client(url);
    let key = format!("user{}", url.len());
    test_client.expect(&insert(&key, &["a", "b"]), RequestResult::WRITTEN);
    test_client.expect(&read(&key), RequestResult::row("field0=a field1=b"));
}

/// The store behind `url` breaks these rules, each by a refusal, and no other.
#[track_caller]
pub fn assert_conforms_but_for(url: &str, expected: &[Broken]) {
    let findings = check(&*store(url));
    let rules: Vec<&str> = findings.iter().map(|finding| finding.rule).collect();
    let names: Vec<&str> = expected.iter().map(|(rule, _)| *rule).collect();
    assert_eq!(rules, names, "{url}: {findings:#?}");
    for (finding, (_, reason)) in findings.iter().zip(expected) {
        assert!(finding.instead.contains(&format!("refused ({reason})")), "{url}: {finding:?}");
    }
}

/// What a store says of itself.
#[derive(Debug)]
pub struct Settings(Vec<Setting>);

impl Settings {
    /// Those of the store behind `url`, which has prepared nothing.
    #[track_caller]
    pub fn at(url: &str) -> Settings {
        Settings::of(&*store(url))
    }

    /// Those of `store`; each has a meaning.
    #[track_caller]
    pub fn of(store: &dyn Store) -> Settings {
        let settings = store.settings().expect("the server tells its settings");
        assert!(settings.iter().all(|setting| !setting.meaning.is_empty()), "{settings:?}");
        Settings(settings)
    }

    /// The value of the setting; nothing if there is none.
    pub fn value(&self, name: &str) -> &str {
        let setting = self.0.iter().find(|setting| setting.name == name);
        setting.map_or("", |setting| setting.value.as_str())
    }

    /// What the setting means.
    pub fn meaning(&self, name: &str) -> &str {
        let setting = self.0.iter().find(|setting| setting.name == name);
        setting.map_or("", |setting| setting.meaning.as_str())
    }

    /// Settings with their values.
    #[track_caller]
    pub fn expect(&self, expected: &[(&str, &str)]) {
        for (name, value) in expected {
            assert_eq!(self.value(name), *value, "{name} in {:?}", self.0);
        }
    }
}

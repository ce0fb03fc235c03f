//! Right addresses, wrong ones.

use std::path::PathBuf;

use serde::Deserialize;

use super::*;
use crate::url_options::Count;

const EXAMPLE: &str = "store://127.0.0.1:7000/space?connections=4";

fn parsed(url: &str) -> Result<Address, OpenError> {
    Address::parse(url, &["store", "stores"], 7000, EXAMPLE)
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Options {
    connections: Option<Count<8>>,
    password_file: Option<PathBuf>,
}

fn describe(url: &str) -> String {
    let read = |url: &str| {
        let mut address = parsed(url)?;
        let options: Options = address.declared()?;
        address.read_password(options.password_file.as_deref())
    };
    read(url).expect_err("the URL is wrong").to_string()
}

#[test]
fn a_host_is_enough() {
    let address = parsed("store://localhost").unwrap();
    assert_eq!(address.host(), ("localhost", 7000));
    assert_eq!((address.path.as_str(), address.user.clone()), ("", None));
    assert!(address.declared::<Options>().unwrap().connections.is_none());
}

#[test]
fn every_part_has_its_place() {
    let address =
        parsed("stores://ann:p%40ss:w@[::1]:1,other:2,third/a%20b?connections=8").unwrap();
    assert_eq!(address.scheme, "stores");
    assert_eq!(address.authorities(), ["[::1]:1", "other:2", "third:7000"]);
    assert_eq!(
        (address.user.as_deref(), address.password.as_deref()),
        (Some("ann"), Some("p@ss:w"))
    );
    assert_eq!(address.path, "a b");
    let options: Options = address.declared().unwrap();
    assert_eq!(options.connections.map(usize::from), Some(8));
}

#[test]
fn passwords_never_show() {
    let address = parsed("store://ann:secret@host").unwrap();
    assert_eq!(address.to_string(), "store://ann:…@host");
    assert_eq!(format!("{address:?}"), "Address(\"store://ann:…@host\")");
    for url in ["store://ann:secret@host:x", "ann:secret@host", "store://a:sec/secret@h:x"] {
        assert!(!describe(url).contains("secret"), "{}", describe(url));
    }
    for url in ["store://a:12/34@h", "store://a:12?34@h", "store://a@b:12/34@h"] {
        let said = describe(url);
        assert!(said.contains("write / as %2F"), "{said}");
        let displayed = said.replace(EXAMPLE, "");
        assert!(!displayed.contains("12") && !displayed.contains("34"), "{said}");
    }
}

#[test]
fn wrong_addresses_say_what_is_wrong() {
    for (url, part) in [
        ("store:localhost", "there is no ://"),
        ("http://localhost", "scheme \"http\" is not store or stores"),
        ("store://", "the host is missing"),
        ("store://a,,b", "the host is missing"),
        ("store://h:0", "port is a number"),
        ("store://h:99999", "port is a number"),
        ("store://[::1", "not closed"),
        ("store://[::1]6379", "a colon with the port"),
        ("store://a:b@h?password_file=/pw", "give one of them"),
        ("store://h?connections=9", "from 1 to 8, not \"9\""),
        ("store://h?conections=1", "did you mean \"connections\""),
        ("store://h?connections", "has no value"),
        ("store://h?connections=1&connections=1", "is there twice"),
        ("store://h?password_file=/no/such/file", "cannot be read"),
        ("store://%zz", "hexadecimal"),
        ("store://%ff", "UTF-8"),
    ] {
        let error = describe(url);
        assert!(error.contains(part), "{url}: {error}");
        assert!(error.contains(EXAMPLE), "{url}: {error}");
    }
}

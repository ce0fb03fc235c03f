//! Right addresses, wrong ones.

use super::*;

const EXAMPLE: &str = "store://127.0.0.1:7000/space?connections=4";

fn parsed(url: &str) -> Result<Address, OpenError> {
    Address::parse(url, &["store", "stores"], 7000, EXAMPLE)
}

/// The error of an address whose driver knows `connections`, `mode` and `timeout`.
fn describe(url: &str) -> String {
    let known = |url: &str| {
        let mut address = parsed(url)?;
        address.count("connections", 8)?;
        address.choose("mode", &[("fast", 1), ("safe", 2)])?;
        address.millis("timeout")?;
        address.parsed::<u64>("cas", "a number")?;
        address.password_file()?;
        address.finish()
    };
    known(url).expect_err("the URL is wrong").to_string()
}

#[test]
fn a_host_is_enough() {
    let address = parsed("store://localhost").unwrap();
    assert_eq!(address.host(), ("localhost", 7000));
    assert_eq!((address.path.as_str(), address.user.clone()), ("", None));
    address.finish().unwrap();
}

#[test]
fn every_part_has_its_place() {
    let mut address =
        parsed("stores://ann:p%40ss:w@[::1]:1,other:2,third/a%20b?mode=safe&timeout=250").unwrap();
    assert_eq!(address.scheme, "stores");
    assert_eq!(address.authorities(), ["[::1]:1", "other:2", "third:7000"]);
    assert_eq!(
        (address.user.as_deref(), address.password.as_deref()),
        (Some("ann"), Some("p@ss:w"))
    );
    assert_eq!(address.path, "a b");
    assert_eq!(address.choose("mode", &[("fast", 1), ("safe", 2)]).unwrap(), Some(2));
    assert_eq!(address.millis("timeout").unwrap(), Some(Duration::from_millis(250)));
    assert_eq!(address.count("connections", 8).unwrap(), None);
    address.finish().unwrap();
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
        ("store://h?mode=slow", "fast or safe, not \"slow\""),
        ("store://h?timeout=1s", "from 1 to 600000"),
        ("store://h?cas=x", "option cas is a number, not \"x\""),
        ("store://h?mod=fast", "did you mean \"mode\""),
        ("store://h?fsync=off", "there are connections, mode, timeout"),
        ("store://h?mode", "has no value"),
        ("store://h?mode=fast&mode=safe", "is there twice"),
        ("store://h?password_file=/no/such/file", "cannot be read"),
        ("store://%zz", "hexadecimal"),
        ("store://%ff", "UTF-8"),
    ] {
        let error = describe(url);
        assert!(error.contains(part), "{url}: {error}");
        assert!(error.contains(EXAMPLE), "{url}: {error}");
    }
}

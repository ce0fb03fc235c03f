//! Rules about scans: where they begin, in which order they go, where they end.

use assay_model::{Fields, Kind};

use super::talk::{Got, TestRequest, TestSession};
use super::{Broken, FIELDS, Rule, ensure, expect, keeps_and_can, rule, whole};
use crate::capabilities::ScanOrder;
use crate::seam::Store;

pub(super) const RULES: &[Rule] = &[
    rule(scans, "a scan returns the record that it starts at first", starts_there),
    rule(scans, "scans from every record agree on one order", one_order),
    rule(scans, "a scan returns no more than its limit", limit),
    rule(scans, "a scan returns the fields that it names", fields),
    rule(in_key_order, "a scan goes in the order of the keys' bytes", key_order),
    rule(in_key_order, "a scan from a missing key starts at the next one", missing_start),
    rule(in_key_order, "a scan beyond the last key finds nothing", beyond),
    rule(in_key_order, "a scan with an end misses nothing before it", end),
    rule(keys_alone, "a scan for keys alone returns those of its records", only_keys),
    rule(deletes, "a scan does not return what was deleted", deleted),
];

/// The keys, in the order of their bytes; the lengths differ so that shorter comes before longer.
const KEYS: [&str; 12] =
    ["B", "Ba", "b", "c", "user1", "user10", "user100", "user11", "user2", "user9", "v", "vv"];

fn scans(store: &dyn Store) -> bool {
    keeps_and_can(store, Kind::Scan)
}

fn deletes(store: &dyn Store) -> bool {
    scans(store) && keeps_and_can(store, Kind::Delete)
}

fn in_key_order(store: &dyn Store) -> bool {
    scans(store) && store.capabilities().scan_order == ScanOrder::Key
}

fn keys_alone(store: &dyn Store) -> bool {
    scans(store) && store.scans_keys() && in_key_order(store)
}

/// A conversation in which [`KEYS`] are there, each with its own name in its first field.
fn filled(store: &dyn Store) -> Result<TestSession, Broken> {
    let mut talk = TestSession::open(store, 0)?;
    for place in 0..KEYS.len() {
        // Five and twelve have no common divisor: every key comes once, in disorder.
        let key = KEYS[place * 5 % KEYS.len()];
        expect(&mut talk, &TestRequest::insert(key, &[key.as_bytes(), b"b", b"c"]), Got::WRITTEN)?;
    }
    Ok(talk)
}

/// The keys that a scan returned.
fn keys(talk: &mut TestSession, test_request: &TestRequest) -> Result<Vec<String>, Broken> {
    let got = talk.send(test_request);
    let Got::Done { found, rows } = &got else {
        return Err(Broken::by(format!("{test_request} gave {got}")));
    };
    ensure(*found != rows.is_empty(), || format!("{test_request} gave {got}"))?;
    let key = |value: Option<&Vec<u8>>| {
        value.map_or("?".into(), |value| String::from_utf8_lossy(value).into_owned())
    };
    Ok(rows.iter().map(|row| key(row.get(FIELDS[0].as_bytes()))).collect())
}

fn starts_there(store: &dyn Store) -> Result<(), Broken> {
    let mut talk = filled(store)?;
    for key in KEYS {
        let got = talk.send(&TestRequest::scan(key, 1));
        let expected = whole(&[key.as_bytes(), b"b", b"c"]);
        ensure(got == expected, || format!("a scan from {key} of one record gave {got}"))?;
    }
    Ok(())
}

/// Whatever the order is, a scan from a record returns what a longer scan returns from there on.
fn one_order(store: &dyn Store) -> Result<(), Broken> {
    let mut talk = filled(store)?;
    let mut tails = Vec::new();
    for key in KEYS {
        tails.push(keys(&mut talk, &TestRequest::scan(key, 100))?);
    }
    tails.sort_by_key(|tail| tail.len());
    let all = tails.last().cloned().unwrap_or_default();
    ensure(all.len() == KEYS.len(), || format!("the longest scan returned only {all:?}"))?;
    for (place, tail) in tails.iter().enumerate() {
        ensure(tail.len() == place + 1 && all.ends_with(tail), || {
            format!("one scan returned {all:?}, another {tail:?}")
        })?;
    }
    Ok(())
}

fn limit(store: &dyn Store) -> Result<(), Broken> {
    let mut talk = filled(store)?;
    for key in KEYS {
        let all = keys(&mut talk, &TestRequest::scan(key, 100))?;
        for limit in [1, 2, 5] {
            let some = keys(&mut talk, &TestRequest::scan(key, limit))?;
            ensure(some == all[..all.len().min(limit as usize)], || {
                format!("with limit {limit} it returned {some:?} of {all:?}")
            })?;
        }
    }
    Ok(())
}

fn fields(store: &dyn Store) -> Result<(), Broken> {
    let mut talk = filled(store)?;
    for key in KEYS {
        let one = TestRequest { fields: Fields::One(0), ..TestRequest::scan(key, 1) };
        expect(&mut talk, &one, Got::row(&[(FIELDS[0], key.as_bytes())]))?;
        let named = TestRequest { fields: Fields::Named, ..TestRequest::scan(key, 1) };
        expect(&mut talk, &named, whole(&[key.as_bytes(), b"b", b"c"]))?;
    }
    Ok(())
}

fn key_order(store: &dyn Store) -> Result<(), Broken> {
    let found = keys(&mut filled(store)?, &TestRequest::scan(KEYS[0], 100))?;
    ensure(found == KEYS, || format!("it returned {found:?}"))
}

fn missing_start(store: &dyn Store) -> Result<(), Broken> {
    let mut talk = filled(store)?;
    for (start, expected) in [("A", "B"), ("user", "user1"), ("user1000", "user11"), ("u", "user1")]
    {
        let found = keys(&mut talk, &TestRequest::scan(start, 1))?;
        ensure(found == [expected], || format!("from {start} it returned {found:?}"))?;
    }
    Ok(())
}

fn beyond(store: &dyn Store) -> Result<(), Broken> {
    let mut talk = filled(store)?;
    for start in ["vvv", "w", "\u{7f}"] {
        expect(&mut talk, &TestRequest::scan(start, 10), Got::MISSING)?;
    }
    Ok(())
}

/// What lies behind the end may be returned, too.
fn end(store: &dyn Store) -> Result<(), Broken> {
    let mut talk = filled(store)?;
    for (start, end) in [("b", "user10"), ("c", "user0"), ("user", "zz"), ("v", "v"), ("v", "b")] {
        let test_request = TestRequest { end: end.into(), ..TestRequest::scan(start, 100) };
        let found = keys(&mut talk, &test_request)?;
        let from = KEYS.partition_point(|key| *key < start);
        let least = KEYS.partition_point(|key| *key < end).saturating_sub(from);
        ensure(found.len() >= least && KEYS[from..].starts_with(&as_texts(&found)), || {
            format!("from {start} to {end} it returned {found:?}")
        })?;
    }
    Ok(())
}

fn only_keys(store: &dyn Store) -> Result<(), Broken> {
    let mut talk = filled(store)?;
    for limit in [1, 5, 100] {
        let test_request = TestRequest { wants_keys: true, ..TestRequest::scan("b", limit) };
        let all = KEYS[2..].iter().take(limit as usize);
        let rows = all.map(|key| [(Vec::new(), key.as_bytes().to_vec())].into()).collect();
        expect(&mut talk, &test_request, Got::Done { found: true, rows })?;
    }
    let beyond = TestRequest { wants_keys: true, ..TestRequest::scan("w", 10) };
    expect(&mut talk, &beyond, Got::MISSING)
}

fn as_texts(keys: &[String]) -> Vec<&str> {
    keys.iter().map(String::as_str).collect()
}

fn deleted(store: &dyn Store) -> Result<(), Broken> {
    let mut talk = filled(store)?;
    let all = keys(&mut talk, &TestRequest::scan("c", 100))?;
    let Some(second) = all.get(1) else { return Ok(()) };
    talk.send(&TestRequest::delete(second));
    let after = keys(&mut talk, &TestRequest::scan("c", 100))?;
    ensure(!after.contains(second) && after.len() + 1 == all.len(), || {
        format!("{second} was deleted from {all:?}; it returned {after:?}")
    })
}

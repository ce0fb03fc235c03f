//! Rules about what bytes may be: none at all, any at all, many.

use assay_model::{Kind, Reason};

use super::talk::{Got, TestRequest, TestSession};
use super::{Broken, Rule, ensure, expect, keeps, keeps_and_can, rule, whole};
use crate::seam::Store;

pub(super) const RULES: &[Rule] = &[
    rule(keeps, "an empty value comes back empty", empty),
    rule(keeps, "a value of any bytes comes back unchanged", binary),
    rule(keeps, "a value of one MiB comes back unchanged", large),
    rule(updates, "a small value can be replaced by one of one MiB", grown),
    rule(keeps, "keys of 512 bytes that differ in the last are two keys", long_keys),
    rule(keeps, "keys with spaces, line ends or zeros are keys like others", odd_keys),
];

const MIB: usize = 1 << 20;

fn updates(store: &dyn Store) -> bool {
    keeps_and_can(store, Kind::Update) && store.capabilities().keeps_other_fields
}

/// Writes, or tells that the store refuses such keys and values: then there must be what was there
/// before, if the store supports such a key at all.
fn write(talk: &mut TestSession, test_request: &TestRequest, before: Got) -> Result<(), Broken> {
    let got = talk.send(test_request);
    let Got::Refused(Reason::Malformed | Reason::Full) = got else {
        let expected = Got::WRITTEN;
        return ensure(got == expected, || {
            format!("{test_request} gave {got} instead of {expected}")
        });
    };
    let left = talk.send(&TestRequest::read(test_request.key.clone()));
    let is_untouched = left == before || left == Got::Refused(Reason::Malformed);
    ensure(is_untouched, || {
        format!("{test_request} gave {got}, and left {left} instead of {before}")
    })?;
    Err(Broken { is_limit: true, ..Broken::by(format!("{test_request} gave {got}")) })
}

fn round_trip(store: &dyn Store, values: &[&[u8]; 3]) -> Result<(), Broken> {
    let mut talk = TestSession::open(store, 0)?;
    write(&mut talk, &TestRequest::insert("k", values), Got::MISSING)?;
    expect(&mut talk, &TestRequest::read("k"), whole(values))
}

fn empty(store: &dyn Store) -> Result<(), Broken> {
    round_trip(store, &[b"", b"b", b""])
}

fn binary(store: &dyn Store) -> Result<(), Broken> {
    let all: Vec<u8> = (0..=255).collect();
    round_trip(store, &[&all, b"\0\r\n\xff\r\n", b"$-1\r\n*0\r\n"])
}

/// Bytes without a period that divides any buffer size.
fn many() -> Vec<u8> {
    (0..MIB as u32).map(|place| (place.wrapping_mul(2_654_435_761) >> 24) as u8).collect()
}

fn large(store: &dyn Store) -> Result<(), Broken> {
    round_trip(store, &[b"before", &many(), b"after"])
}

fn grown(store: &dyn Store) -> Result<(), Broken> {
    let mut talk = TestSession::open(store, 0)?;
    expect(&mut talk, &TestRequest::insert("k", &[b"a", b"b", b"c"]), Got::WRITTEN)?;
    write(&mut talk, &TestRequest::update("k", &[(1, &many())]), whole(&[b"a", b"b", b"c"]))?;
    expect(&mut talk, &TestRequest::read("k"), whole(&[b"a", &many(), b"c"]))
}

fn long_keys(store: &dyn Store) -> Result<(), Broken> {
    let mut talk = TestSession::open(store, 0)?;
    let key = |last: char| format!("{}{last}", "long".repeat(127) + "key");
    for last in ['a', 'b'] {
        let value = last.to_string();
        let test_request = TestRequest::insert(key(last), &[value.as_bytes(), b"", b""]);
        write(&mut talk, &test_request, Got::MISSING)?;
    }
    expect(&mut talk, &TestRequest::read(key('a')), whole(&[b"a", b"", b""]))?;
    expect(&mut talk, &TestRequest::read(key('b')), whole(&[b"b", b"", b""]))?;
    expect(&mut talk, &TestRequest::read(key('c')), Got::MISSING)
}

fn odd_keys(store: &dyn Store) -> Result<(), Broken> {
    let keys: [&[u8]; 5] = [b"a b", b"a\r\nb", b"a\0b", b"a\0", b"\xc3\xa4"];
    let mut talk = TestSession::open(store, 0)?;
    for key in keys {
        write(&mut talk, &TestRequest::insert(key, &[key, b"", b""]), Got::MISSING)?;
    }
    for key in keys {
        expect(&mut talk, &TestRequest::read(key), whole(&[key, b"", b""]))?;
    }
    expect(&mut talk, &TestRequest::read("a"), Got::MISSING)
}

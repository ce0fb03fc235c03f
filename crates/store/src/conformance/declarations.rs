//! Rules about the store as a whole: what it declares, prepares, clears, flushes.

use assay_model::Kind;

use super::talk::{Got, TestRequest, TestSession};
use super::{Broken, FIELDS, Rule, always, ensure, expect, keeps, layout, rule, whole};
use crate::seam::Store;

pub(super) const RULES: &[Rule] = &[
    rule(always, "a store has a name in lower case", name),
    rule(always, "a store that keeps nothing does not call itself persistent", no_op),
    rule(always, "settings say what they mean", settings),
    rule(always, "flushing acknowledged writes succeeds", flush),
    rule(always, "a kind that is not declared is refused", undeclared),
    rule(always, "every declared kind is answered", declared),
    rule(keeps, "a field that the layout does not have is refused", unknown_field),
    rule(keeps, "clearing removes every record", clear),
    rule(persistent, "a note is kept beside the data until it is cleared", note),
    rule(keeps, "preparing again keeps the records", prepare_again),
];

fn persistent(store: &dyn Store) -> bool {
    store.capabilities().is_persistent
}

fn name(store: &dyn Store) -> Result<(), Broken> {
    let name = store.capabilities().name;
    let is_right = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    ensure(!name.is_empty() && name.bytes().all(is_right), || format!("it is {name:?}"))
}

fn no_op(store: &dyn Store) -> Result<(), Broken> {
    let capabilities = store.capabilities();
    ensure(!(capabilities.is_no_op && capabilities.is_persistent), || "this one does".into())
}

fn settings(store: &dyn Store) -> Result<(), Broken> {
    for setting in store.settings()? {
        let parts = [&setting.name, &setting.value, &setting.meaning];
        ensure(parts.iter().all(|part| !part.trim().is_empty()), || {
            format!("one of name, value, meaning is empty in {setting:?}")
        })?;
    }
    Ok(())
}

fn flush(store: &dyn Store) -> Result<(), Broken> {
    let mut talk = TestSession::open(store, 0)?;
    talk.send(&TestRequest::insert("flushed", &[b"a", b"b", b"c"]));
    Ok(store.flush()?)
}

fn of_kind(kind: Kind) -> TestRequest {
    match kind {
        Kind::Read => TestRequest::read("k"),
        Kind::Update => TestRequest::update("k", &[(0, b"x")]),
        Kind::Insert => TestRequest::insert("k", &[b"a", b"b", b"c"]),
        Kind::Scan => TestRequest::scan("k", 5),
        Kind::Delete => TestRequest::delete("k"),
        Kind::Commit | Kind::Rollback => unreachable!("no record request has it"),
    }
}

fn undeclared(store: &dyn Store) -> Result<(), Broken> {
    let capabilities = store.capabilities();
    let mut talk = TestSession::open(store, 0)?;
    for kind in Kind::OF_RECORDS.into_iter().filter(|&kind| !capabilities.can(kind)) {
        let got = talk.send(&of_kind(kind));
        ensure(matches!(got, Got::Refused(_)), || format!("{} gave {got}", kind.name()))?;
    }
    Ok(())
}

fn declared(store: &dyn Store) -> Result<(), Broken> {
    let capabilities = store.capabilities();
    let mut talk = TestSession::open(store, 0)?;
    for kind in Kind::OF_RECORDS.into_iter().filter(|&kind| capabilities.can(kind)) {
        let got = talk.send(&of_kind(kind));
        ensure(matches!(got, Got::Done { .. }), || format!("{} gave {got}", kind.name()))?;
    }
    Ok(())
}

fn unknown_field(store: &dyn Store) -> Result<(), Broken> {
    let beyond = FIELDS.len() as u16;
    let mut talk = TestSession::open(store, 0)?;
    talk.send(&TestRequest::insert("k", &[b"a", b"b", b"c"]));
    let got = talk.send(&TestRequest::update("k", &[(beyond, b"x")]));
    ensure(matches!(got, Got::Refused(_)), || format!("an update of it gave {got}"))?;
    expect(&mut talk, &TestRequest::read("k"), whole(&[b"a", b"b", b"c"]))
}

fn clear(store: &dyn Store) -> Result<(), Broken> {
    let mut talk = TestSession::open(store, 0)?;
    for number in 0..50 {
        talk.send(&TestRequest::insert(format!("k{number}"), &[b"a", b"b", b"c"]));
    }
    drop(talk);
    store.clear()?;
    store.prepare(&layout())?;
    let mut talk = TestSession::open(store, 0)?;
    for number in 0..50 {
        expect(&mut talk, &TestRequest::read(format!("k{number}")), Got::MISSING)?;
    }
    if !store.capabilities().can(Kind::Scan) {
        return Ok(());
    }
    expect(&mut talk, &TestRequest::scan("k", 100), Got::MISSING)
}

fn prepare_again(store: &dyn Store) -> Result<(), Broken> {
    let values: [&[u8]; 3] = [b"a", b"b", b"c"];
    TestSession::open(store, 0)?.send(&TestRequest::insert("kept", &values));
    store.prepare(&layout())?;
    expect(&mut TestSession::open(store, 0)?, &TestRequest::read("kept"), whole(&values))
}

fn note(store: &dyn Store) -> Result<(), Broken> {
    let expect_note = |expected: Option<&str>| {
        let note = store.note()?;
        ensure(note.as_deref() == expected, || format!("{note:?} came instead of {expected:?}"))
    };
    expect_note(None)?;
    for text in ["one", "another,\nlonger: ä"] {
        store.keep_note(text)?;
        expect_note(Some(text))?;
    }
    store.prepare(&layout())?;
    expect_note(Some("another,\nlonger: ä"))?;
    store.clear()?;
    expect_note(None)
}

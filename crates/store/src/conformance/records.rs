//! Rules about single records: written, read, changed, removed.

use assay_model::{Fields, Kind, Reason};

use super::talk::{Got, TestRequest, TestSession};
use super::{Broken, FIELDS, Rule, ensure, expect, keeps, keeps_and_can, rule, whole};
use crate::seam::Store;

pub(super) const RULES: &[Rule] = &[
    rule(keeps, "a missing record is done with found = false", missing),
    rule(keeps, "an inserted record is read back whole", read_all),
    rule(keeps, "a read of one field returns that field alone", read_one),
    rule(keeps, "a read of every field by name returns them all", read_named),
    rule(keeps, "an insert over a record overwrites it or is refused", insert_again),
    rule(updates_in_part, "an update keeps the fields that it does not name", update_one),
    rule(updates, "an update of every field changes them all", update_all),
    rule(updates, "an update of a missing record does what its answer says", update_missing),
    rule(deletes, "a deleted record is gone", delete),
    rule(deletes, "deleting a missing record is done", delete_missing),
    rule(deletes, "a deleted record can be inserted again", insert_deleted),
    rule(keeps, "one client sees what was acknowledged to another", two_clients),
    rule(tells_versions, "a version that is told is of the last write, and grows", versions),
];

const OLD: [&[u8]; 3] = [b"a", b"bb", b"ccc"];
const NEW: [&[u8]; 3] = [b"dddd", b"", b"f"];

fn updates(store: &dyn Store) -> bool {
    keeps_and_can(store, Kind::Update)
}

fn updates_in_part(store: &dyn Store) -> bool {
    updates(store) && store.capabilities().keeps_other_fields
}

fn deletes(store: &dyn Store) -> bool {
    keeps_and_can(store, Kind::Delete)
}

fn tells_versions(store: &dyn Store) -> bool {
    updates(store) && store.tells_versions()
}

/// A conversation in which record `k` holds [`OLD`].
fn with_old(store: &dyn Store) -> Result<TestSession, Broken> {
    let mut talk = TestSession::open(store, 0)?;
    expect(&mut talk, &TestRequest::insert("k", &OLD), Got::WRITTEN)?;
    Ok(talk)
}

fn missing(store: &dyn Store) -> Result<(), Broken> {
    let mut talk = with_old(store)?;
    expect(&mut talk, &TestRequest::read("K"), Got::MISSING)?;
    expect(&mut talk, &TestRequest::read("kk"), Got::MISSING)?;
    expect(
        &mut talk,
        &TestRequest { fields: Fields::One(0), ..TestRequest::read("K") },
        Got::MISSING,
    )?;
    expect(
        &mut talk,
        &TestRequest { fields: Fields::Named, ..TestRequest::read("K") },
        Got::MISSING,
    )
}

fn read_all(store: &dyn Store) -> Result<(), Broken> {
    expect(&mut with_old(store)?, &TestRequest::read("k"), whole(&OLD))
}

fn read_one(store: &dyn Store) -> Result<(), Broken> {
    let mut talk = with_old(store)?;
    for (number, (name, value)) in (0..).zip(FIELDS.into_iter().zip(OLD)) {
        let test_request = TestRequest { fields: Fields::One(number), ..TestRequest::read("k") };
        expect(&mut talk, &test_request, Got::row(&[(name, value)]))?;
    }
    Ok(())
}

fn read_named(store: &dyn Store) -> Result<(), Broken> {
    let test_request = TestRequest { fields: Fields::Named, ..TestRequest::read("k") };
    expect(&mut with_old(store)?, &test_request, whole(&OLD))
}

fn insert_again(store: &dyn Store) -> Result<(), Broken> {
    let mut talk = with_old(store)?;
    let got = talk.send(&TestRequest::insert("k", &NEW));
    let after = match got {
        ref got if *got == Got::WRITTEN => NEW,
        Got::Refused(Reason::Exists) => OLD,
        _ => return Err(Broken::by(format!("it gave {got}"))),
    };
    expect(&mut talk, &TestRequest::read("k"), whole(&after))
}

fn update_one(store: &dyn Store) -> Result<(), Broken> {
    let mut talk = with_old(store)?;
    expect(&mut talk, &TestRequest::update("k", &[(1, b"BB")]), Got::WRITTEN)?;
    expect(&mut talk, &TestRequest::read("k"), whole(&[b"a", b"BB", b"ccc"]))?;
    let longer = [b'x'; 300];
    expect(&mut talk, &TestRequest::update("k", &[(0, &longer)]), Got::WRITTEN)?;
    expect(&mut talk, &TestRequest::read("k"), whole(&[&longer, b"BB", b"ccc"]))?;
    expect(&mut talk, &TestRequest::update("k", &[(2, b""), (0, b"a")]), Got::WRITTEN)?;
    expect(&mut talk, &TestRequest::read("k"), whole(&[b"a", b"BB", b""]))
}

fn update_all(store: &dyn Store) -> Result<(), Broken> {
    let mut talk = with_old(store)?;
    let values: Vec<(u16, &[u8])> = (0..).zip(NEW).collect();
    expect(&mut talk, &TestRequest::update("k", &values), Got::WRITTEN)?;
    expect(&mut talk, &TestRequest::read("k"), whole(&NEW))
}

fn update_missing(store: &dyn Store) -> Result<(), Broken> {
    let mut talk = with_old(store)?;
    let got = talk.send(&TestRequest::update("other", &[(1, b"x")]));
    let after = match got {
        ref got if *got == Got::MISSING => Got::MISSING,
        ref got if *got == Got::WRITTEN => Got::row(&[(FIELDS[1], b"x")]),
        _ => return Err(Broken::by(format!("it gave {got}"))),
    };
    expect(
        &mut talk,
        &TestRequest { fields: Fields::One(1), ..TestRequest::read("other") },
        after,
    )?;
    expect(&mut talk, &TestRequest::read("k"), whole(&OLD))
}

fn delete(store: &dyn Store) -> Result<(), Broken> {
    let mut talk = with_old(store)?;
    expect(&mut talk, &TestRequest::insert("l", &NEW), Got::WRITTEN)?;
    expect(&mut talk, &TestRequest::delete("k"), Got::WRITTEN)?;
    expect(&mut talk, &TestRequest::read("k"), Got::MISSING)?;
    expect(&mut talk, &TestRequest::read("l"), whole(&NEW))
}

fn delete_missing(store: &dyn Store) -> Result<(), Broken> {
    let mut talk = with_old(store)?;
    let got = talk.send(&TestRequest::delete("other"));
    ensure([Got::MISSING, Got::WRITTEN].contains(&got), || format!("it gave {got}"))?;
    expect(&mut talk, &TestRequest::read("other"), Got::MISSING)
}

fn insert_deleted(store: &dyn Store) -> Result<(), Broken> {
    let mut talk = with_old(store)?;
    expect(&mut talk, &TestRequest::delete("k"), Got::WRITTEN)?;
    expect(&mut talk, &TestRequest::insert("k", &NEW), Got::WRITTEN)?;
    expect(&mut talk, &TestRequest::read("k"), whole(&NEW))
}

fn two_clients(store: &dyn Store) -> Result<(), Broken> {
    let mut one = TestSession::open(store, 0)?;
    let mut other = TestSession::open(store, 1)?;
    expect(&mut other, &TestRequest::read("k"), Got::MISSING)?;
    expect(&mut one, &TestRequest::insert("k", &OLD), Got::WRITTEN)?;
    expect(&mut other, &TestRequest::read("k"), whole(&OLD))?;
    expect(&mut other, &TestRequest::insert("l", &NEW), Got::WRITTEN)?;
    expect(&mut one, &TestRequest::read("l"), whole(&NEW))
}

fn versions(store: &dyn Store) -> Result<(), Broken> {
    let mut talk = with_old(store)?;
    let mut last = 0;
    let values: Vec<(u16, &[u8])> = (0..).zip(NEW).collect();
    for written in [
        TestRequest::insert("k", &OLD),
        TestRequest::update("k", &values),
        TestRequest::update("k", &values),
    ] {
        expect(&mut talk, &written, Got::WRITTEN)?;
        let told = talk.take_told();
        ensure(told > last, || format!("a write made version {told} of version {last}"))?;
        last = told;
        // What happens to others does not change it.
        expect(&mut talk, &TestRequest::insert("l", &NEW), Got::WRITTEN)?;
        talk.take_told();
        talk.send(&TestRequest::read("k"));
        let read = talk.take_told();
        ensure(read == last, || format!("a read told version {read} of version {last}"))?;
    }
    expect(&mut talk, &TestRequest::read("other"), Got::MISSING)?;
    let told = talk.take_told();
    ensure(told == 0, || format!("a record that is not there has version {told}"))
}

//! Rules about transactions of requests, for stores that declare an isolation.

use assay_model::{Kind, Reason};

use super::talk::{Got, TestRequest, TestSession};
use super::{Broken, FIELDS, Rule, ensure, expect, keeps, keeps_and_can, rule, whole};
use crate::capabilities::{Calls, Isolation, ScanOrder};
use crate::request::Ticket;
use crate::seam::Store;

pub(super) const RULES: &[Rule] = &[
    rule(atomic, "writes of a transaction of requests are there after the commit", commit),
    rule(atomic, "writes of a transaction of requests are gone after the rollback", roll_back),
    rule(atomic, "a read within a transaction sees what it wrote itself", own_writes),
    rule(scans, "a scan within a transaction sees what it wrote itself", own_scans),
    rule(atomic, "an abandoned transaction is rolled back", abort),
    rule(atomic, "a failed request rolls its transaction back", failure),
    rule(atomic, "a new transaction is independent of an unfinished one", begin_again),
    rule(atomic, "a commit without a transaction is refused", commit_nothing),
    rule(concurrent, "writes of a transaction are invisible until it is committed", hidden),
    rule(concurrent, "an abandoned request rolls its transaction back", abandon),
    rule(
        snapshots,
        "of two that read a record before they write it, one commits at most",
        lost_update,
    ),
];

const OLD: [&[u8]; 3] = [b"old", b"b", b"c"];
const NEW: [&[u8]; 3] = [b"new", b"b", b"c"];

fn atomic(store: &dyn Store) -> bool {
    let capabilities = store.capabilities();
    let is_its_own = capabilities.isolation.is_some() && !capabilities.takes_queries;
    is_its_own && keeps(store) && capabilities.can(Kind::Update) && capabilities.can(Kind::Delete)
}

fn scans(store: &dyn Store) -> bool {
    let is_ordered = store.capabilities().scan_order == ScanOrder::Key;
    atomic(store) && is_ordered && keeps_and_can(store, Kind::Scan)
}

/// A store whose calls wait could wait for another session of the same client for ever.
fn concurrent(store: &dyn Store) -> bool {
    atomic(store) && store.capabilities().calls == Calls::Pipelined
}

fn snapshots(store: &dyn Store) -> bool {
    concurrent(store) && store.capabilities().isolation != Some(Isolation::ReadCommitted)
}

/// A conversation in which records `changed` and `deleted` hold [`OLD`].
fn with_old(store: &dyn Store) -> Result<TestSession, Broken> {
    let mut talk = TestSession::open(store, 0)?;
    expect(&mut talk, &TestRequest::insert("changed", &OLD), Got::WRITTEN)?;
    expect(&mut talk, &TestRequest::insert("deleted", &OLD), Got::WRITTEN)?;
    Ok(talk)
}

fn change() -> TestRequest {
    TestRequest::update("changed", &[(0, NEW[0])]).in_session(1)
}

/// Session 1 has changed, deleted and inserted a record each, and ended nothing.
fn half_way(talk: &mut TestSession) -> Result<(), Broken> {
    talk.begin(1);
    let deletes = TestRequest::delete("deleted").in_session(1);
    let inserts = TestRequest::insert("inserted", &NEW).in_session(1);
    for test_request in [change(), deletes, inserts] {
        expect(talk, &test_request, Got::WRITTEN)?;
    }
    Ok(())
}

/// The three records as `session` reads them.
fn expect_records(talk: &mut TestSession, session: u32, records: [Got; 3]) -> Result<(), Broken> {
    for (key, expected) in ["changed", "deleted", "inserted"].into_iter().zip(records) {
        expect(talk, &TestRequest::read(key).in_session(session), expected)?;
    }
    Ok(())
}

fn undone() -> [Got; 3] {
    [whole(&OLD), whole(&OLD), Got::MISSING]
}

fn done() -> [Got; 3] {
    [whole(&NEW), Got::MISSING, whole(&NEW)]
}

fn ended(talk: &mut TestSession, test_request: TestRequest) -> Result<(), Broken> {
    let got = talk.send(&test_request.in_session(1));
    ensure(matches!(got, Got::Done { .. }), || format!("its end gave {got}"))
}

/// After a transaction that was undone by `act`, the same session commits one.
fn undone_by(
    store: &dyn Store,
    act: fn(&mut TestSession) -> Result<(), Broken>,
) -> Result<(), Broken> {
    let mut talk = with_old(store)?;
    half_way(&mut talk)?;
    act(&mut talk)?;
    expect_records(&mut talk, 0, undone())?;
    half_way(&mut talk)?;
    ended(&mut talk, TestRequest::commit())?;
    expect_records(&mut talk, 0, done())
}

fn commit(store: &dyn Store) -> Result<(), Broken> {
    let mut talk = with_old(store)?;
    half_way(&mut talk)?;
    ended(&mut talk, TestRequest::commit())?;
    expect_records(&mut talk, 1, done())?;
    drop(talk);
    expect_records(&mut TestSession::open(store, 1)?, 0, done())
}

fn roll_back(store: &dyn Store) -> Result<(), Broken> {
    undone_by(store, |talk| ended(talk, TestRequest::rollback()))
}

fn abort(store: &dyn Store) -> Result<(), Broken> {
    undone_by(store, |talk| {
        talk.abort(1);
        Ok(())
    })
}

fn failure(store: &dyn Store) -> Result<(), Broken> {
    undone_by(store, |talk| {
        let beyond = FIELDS.len() as u16;
        let got = talk.send(&TestRequest::update("changed", &[(beyond, b"x")]).in_session(1));
        ensure(matches!(got, Got::Refused(_)), || format!("a field too many gave {got}"))?;
        let got = talk.send(&TestRequest::commit().in_session(1));
        ensure(matches!(got, Got::Refused(_)), || format!("its commit gave {got}"))
    })
}

fn begin_again(store: &dyn Store) -> Result<(), Broken> {
    let mut talk = with_old(store)?;
    half_way(&mut talk)?;
    talk.begin(1);
    expect_records(&mut talk, 1, undone())?;
    ended(&mut talk, TestRequest::commit())?;
    expect_records(&mut talk, 0, undone())
}

fn commit_nothing(store: &dyn Store) -> Result<(), Broken> {
    let mut talk = with_old(store)?;
    let refused = Got::Refused(Reason::TransactionFailed);
    expect(&mut talk, &TestRequest::commit().in_session(1), refused.clone())?;
    half_way(&mut talk)?;
    ended(&mut talk, TestRequest::commit())?;
    expect(&mut talk, &TestRequest::commit().in_session(1), refused)?;
    // One without a request is a transaction all the same.
    talk.begin(1);
    ended(&mut talk, TestRequest::commit())
}

fn own_writes(store: &dyn Store) -> Result<(), Broken> {
    let mut talk = with_old(store)?;
    half_way(&mut talk)?;
    expect_records(&mut talk, 1, done())?;
    // What it wrote is a record like others: it can be changed, deleted, inserted again.
    let steps = [
        (TestRequest::update("inserted", &[(0, OLD[0])]), Got::WRITTEN),
        (TestRequest::read("inserted"), whole(&OLD)),
        (TestRequest::insert("deleted", &NEW), Got::WRITTEN),
        (TestRequest::delete("changed"), Got::WRITTEN),
    ];
    for (test_request, expected) in steps {
        expect(&mut talk, &test_request.in_session(1), expected)?;
    }
    let last = [Got::MISSING, whole(&NEW), whole(&OLD)];
    expect_records(&mut talk, 1, last.clone())?;
    ended(&mut talk, TestRequest::commit())?;
    expect_records(&mut talk, 0, last)
}

fn own_scans(store: &dyn Store) -> Result<(), Broken> {
    let mut talk = with_old(store)?;
    expect(&mut talk, &TestRequest::insert("last", &OLD), Got::WRITTEN)?;
    half_way(&mut talk)?;
    let rows = |records: &[[&[u8]; 3]]| {
        let row = |values| match whole(values) {
            Got::Done { rows, .. } => rows,
            _ => Vec::new(),
        };
        Got::Done { found: true, rows: records.iter().flat_map(row).collect() }
    };
    // changed, inserted, last: what it deleted takes no place within a limit.
    for (limit, expected) in [(1, &[NEW][..]), (2, &[NEW, NEW]), (3, &[NEW, NEW, OLD])] {
        expect(&mut talk, &TestRequest::scan("c", limit).in_session(1), rows(expected))?;
    }
    expect(&mut talk, &TestRequest::scan("d", 1).in_session(1), rows(&[NEW]))?;
    ended(&mut talk, TestRequest::commit())?;
    expect(&mut talk, &TestRequest::scan("c", 10), rows(&[NEW, NEW, OLD]))
}

fn hidden(store: &dyn Store) -> Result<(), Broken> {
    let mut talk = with_old(store)?;
    half_way(&mut talk)?;
    let got = talk.send(&TestRequest::read("changed").in_session(2));
    // A store that locks what is read may rather refuse.
    let is_hidden = matches!(got, Got::Refused(_)) || got == whole(&OLD);
    ensure(is_hidden, || format!("another session read {got}"))?;
    ended(&mut talk, TestRequest::commit())?;
    expect_records(&mut talk, 2, done())
}

fn abandon(store: &dyn Store) -> Result<(), Broken> {
    undone_by(store, |talk| {
        let ticket = talk.start(&change()).ok_or_else(never)?;
        talk.abandon(ticket);
        Ok(())
    })
}

fn never() -> Broken {
    Broken::by("the client was never ready")
}

/// Whether `got` is an answer; anything but that or a conflict breaks the rule.
fn came_through(got: &Got) -> Result<bool, Broken> {
    match got {
        Got::Done { .. } => Ok(true),
        Got::Refused(Reason::Conflict | Reason::Busy | Reason::Timeout) => Ok(false),
        other => Err(Broken::by(format!("a step gave {other}"))),
    }
}

/// Both read what they then change: both committed would lose one of the changes.
fn lost_update(store: &dyn Store) -> Result<(), Broken> {
    let mut talk = with_old(store)?;
    let mut under_way: Vec<(Ticket, u32, Kind)> = Vec::new();
    for session in [1, 2] {
        talk.begin(session);
        let got = talk.send(&TestRequest::read("changed").in_session(session));
        if !came_through(&got)? {
            // Kept apart from the very beginning.
            return Ok(());
        }
    }
    for session in [1, 2] {
        let ticket = talk.start(&change().in_session(session)).ok_or_else(never)?;
        under_way.push((ticket, session, Kind::Update));
    }
    let mut committed = 0;
    while let Some((ticket, got)) = talk.take() {
        let place = under_way.iter().position(|(other, ..)| *other == ticket);
        let place = place.ok_or_else(|| Broken::by(format!("{ticket:?} was answered twice")))?;
        let (_, session, kind) = under_way.swap_remove(place);
        match (came_through(&got)?, kind) {
            (false, _) => talk.abort(session),
            (true, Kind::Commit) => committed += 1,
            (true, _) => {
                let test_request = TestRequest::commit().in_session(session);
                under_way.push((
                    talk.start(&test_request).ok_or_else(never)?,
                    session,
                    Kind::Commit,
                ));
            }
        }
        if under_way.is_empty() {
            break;
        }
    }
    ensure(under_way.is_empty(), || "they wait for each other for ever".into())?;
    // Stores that notice a conflict late may refuse both.
    ensure(committed <= 1, || format!("{committed} of them committed"))?;
    let is_changed = committed == 1;
    expect(&mut talk, &TestRequest::read("changed"), whole(if is_changed { &NEW } else { &OLD }))
}

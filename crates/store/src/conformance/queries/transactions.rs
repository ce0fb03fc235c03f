//! Rules about transactions, for stores that have them.

use std::collections::HashMap;

use assay_model::{Datum, Reason};

use super::bank::query_ids;
use super::caller::{Caller, QueryAnswer, same};
use super::singles::{ANN, BOB, int, money, open, with_ann};
use crate::capabilities::{Calls, Isolation};
use crate::conformance::{Broken, Rule, ensure, rule};
use crate::request::{Step, Ticket};
use crate::seam::Store;

pub(super) const RULES: &[Rule] = &[
    rule(atomic, "writes of a transaction are there after the commit", commit),
    rule(atomic, "writes of a transaction are gone after the rollback", roll_back),
    rule(atomic, "a transaction reads what it wrote itself", own_writes),
    rule(atomic, "an abandoned transaction of queries is rolled back", abort),
    rule(
        atomic,
        "a transaction with a failed step is rolled back, and its session goes on",
        failure,
    ),
    rule(atomic, "a commit outside a transaction commits no failed step", late_commit),
    rule(atomic, "a transaction is independent of an earlier unfinished one", begin_again),
    rule(concurrent, "uncommitted writes are invisible to others", isolation),
    rule(concurrent, "an abandoned step rolls its transaction back", abandon),
    rule(concurrent, "many transactions under way together are each answered", many),
    rule(concurrent, "transactions that wait for each other come to an end", deadlock),
    rule(concurrent, "who reads a row for update waits for its change, or writes nothing", lock),
    rule(snapshots, "a transaction reads the same twice", read_twice),
    rule(serializable, "of two that read before they write, one conflicts", lost_update),
];

const FIRST: [Datum<'static>; 2] = [Datum::Int(1), Datum::Int(1)];
const SECOND: [Datum<'static>; 2] = [Datum::Int(1), Datum::Int(2)];

fn atomic(store: &dyn Store) -> bool {
    store.capabilities().isolation.is_some()
}

/// A store whose calls wait could wait for another session of the same client for ever.
fn concurrent(store: &dyn Store) -> bool {
    atomic(store) && store.capabilities().calls == Calls::Pipelined
}

fn snapshots(store: &dyn Store) -> bool {
    let level = store.capabilities().isolation;
    concurrent(store) && level.is_some_and(|level| level != Isolation::ReadCommitted)
}

fn serializable(store: &dyn Store) -> bool {
    concurrent(store) && store.capabilities().isolation == Some(Isolation::Serializable)
}

fn deposit(cents: i64, [branch, number]: [Datum<'static>; 2]) -> [Datum<'static>; 3] {
    [money(cents), branch, number]
}

/// Session 1 has begun to open a second account, and has raised the first by one.
fn half_way(caller: &mut Caller) -> Result<(), Broken> {
    let received = caller.begin(1, query_ids::OPEN, &[int(1), int(2), BOB, money(5)]);
    same(query_ids::OPEN, received, QueryAnswer::WRITTEN)?;
    caller.expect_in(1, query_ids::DEPOSIT, &deposit(100, FIRST), QueryAnswer::WRITTEN)
}

fn expect_neither(caller: &mut Caller) -> Result<(), Broken> {
    caller.expect(query_ids::ACCOUNT, &FIRST, QueryAnswer::rows(&["'Ann' 10.5"]))?;
    caller.expect(query_ids::ACCOUNT, &SECOND, QueryAnswer::MISSING)
}

fn expect_both(caller: &mut Caller) -> Result<(), Broken> {
    caller.expect(query_ids::ACCOUNT, &FIRST, QueryAnswer::rows(&["'Ann' 11.5"]))?;
    caller.expect(query_ids::ACCOUNT, &SECOND, QueryAnswer::rows(&["'Bob' 0.05"]))
}

fn ended(caller: &mut Caller, session: u32, step: Step) -> Result<(), Broken> {
    let received = caller.end(session, step);
    ensure(received.is_done(), || format!("{step:?} gave {received}"))
}

fn commit(store: &dyn Store) -> Result<(), Broken> {
    let mut caller = with_ann(store)?;
    half_way(&mut caller)?;
    ended(&mut caller, 1, Step::Commit)?;
    expect_both(&mut caller)?;
    drop(caller);
    expect_both(&mut Caller::open(store, 1)?)
}

fn roll_back(store: &dyn Store) -> Result<(), Broken> {
    let mut caller = with_ann(store)?;
    half_way(&mut caller)?;
    ended(&mut caller, 1, Step::Rollback)?;
    expect_neither(&mut caller)
}

fn own_writes(store: &dyn Store) -> Result<(), Broken> {
    let mut caller = with_ann(store)?;
    half_way(&mut caller)?;
    caller.expect_in(1, query_ids::ACCOUNT, &FIRST, QueryAnswer::rows(&["'Ann' 11.5"]))?;
    caller.expect_in(1, query_ids::ACCOUNT, &SECOND, QueryAnswer::rows(&["'Bob' 0.05"]))?;
    ended(&mut caller, 1, Step::Commit)
}

fn abort(store: &dyn Store) -> Result<(), Broken> {
    let mut caller = with_ann(store)?;
    half_way(&mut caller)?;
    caller.abort(1);
    expect_neither(&mut caller)?;
    half_way(&mut caller)?;
    ended(&mut caller, 1, Step::Commit)?;
    expect_both(&mut caller)
}

fn failure(store: &dyn Store) -> Result<(), Broken> {
    let mut caller = with_ann(store)?;
    let received = caller.send(0, query_ids::OPEN, &[int(1), int(1), BOB, money(1)]);
    if received.is_done() {
        // This store overwrites, so nothing fails.
        return Ok(());
    }
    half_way(&mut caller)?;
    let again = [int(1), int(1), BOB, money(1)];
    caller.expect_in(1, query_ids::OPEN, &again, QueryAnswer::Refused(Reason::Exists))?;
    expect_neither(&mut caller)?;
    half_way(&mut caller)?;
    ended(&mut caller, 1, Step::Commit)?;
    expect_both(&mut caller)
}

fn late_commit(store: &dyn Store) -> Result<(), Broken> {
    let mut caller = with_ann(store)?;
    half_way(&mut caller)?;
    caller.abort(1);
    // No caller should do it; it must have no effect.
    caller.end(1, Step::Commit);
    expect_neither(&mut caller)
}

fn begin_again(store: &dyn Store) -> Result<(), Broken> {
    let mut caller = with_ann(store)?;
    half_way(&mut caller)?;
    let received = caller.begin(1, query_ids::OPEN, &[int(1), int(2), BOB, money(5)]);
    if matches!(received, QueryAnswer::Refused(_)) {
        // Its connection was the only one, and is still busy with undoing.
        return expect_neither(&mut caller);
    }
    same(query_ids::OPEN, received, QueryAnswer::WRITTEN)?;
    caller.expect_in(1, query_ids::DEPOSIT, &deposit(100, FIRST), QueryAnswer::WRITTEN)?;
    ended(&mut caller, 1, Step::Commit)?;
    expect_both(&mut caller)
}

fn isolation(store: &dyn Store) -> Result<(), Broken> {
    let mut caller = with_ann(store)?;
    half_way(&mut caller)?;
    let received = caller.send(2, query_ids::ACCOUNT, &SECOND);
    // A store that locks what is read may rather refuse, or make the reader wait too long.
    let is_hidden = matches!(received, QueryAnswer::Refused(_)) || received == QueryAnswer::MISSING;
    ensure(is_hidden, || format!("another session read {received}"))?;
    ended(&mut caller, 1, Step::Commit)?;
    expect_both(&mut caller)
}

fn abandon(store: &dyn Store) -> Result<(), Broken> {
    let mut caller = with_ann(store)?;
    half_way(&mut caller)?;
    let ticket = caller.start(1, query_ids::DEPOSIT, &deposit(100, FIRST));
    let ticket = ticket.ok_or_else(never)?;
    caller.abandon(1, ticket);
    caller.pass(20);
    expect_neither(&mut caller)?;
    half_way(&mut caller)?;
    ended(&mut caller, 1, Step::Commit)?;
    expect_both(&mut caller)
}

fn lock(store: &dyn Store) -> Result<(), Broken> {
    let mut caller = with_ann(store)?;
    let received = caller.begin(1, query_ids::BALANCE, &FIRST);
    same(query_ids::BALANCE, received, QueryAnswer::rows(&["10.5"]))?;
    let second = caller.start_first(2, query_ids::BALANCE, &FIRST).ok_or_else(never)?;
    caller.pass(10);
    let change =
        caller.start(1, query_ids::SET_BALANCE, &deposit(1150, FIRST)).ok_or_else(never)?;
    let (mut waiting, mut received) = (HashMap::from([(second, 2), (change, 1)]), None);
    while let Some((ticket, answer)) = caller.take() {
        match waiting.remove(&ticket) {
            Some(1) => {
                same(query_ids::SET_BALANCE, answer, QueryAnswer::WRITTEN)?;
                let commit = caller.start_end(1, Step::Commit).ok_or_else(never)?;
                waiting.insert(commit, 3);
            }
            Some(2) => received = Some(answer),
            Some(_) => ensure(answer.is_done(), || format!("the commit gave {answer}"))?,
            None => return Err(Broken::by(format!("{ticket:?} was answered twice"))),
        }
        if waiting.is_empty() {
            break;
        }
    }
    let received = received.unwrap_or(QueryAnswer::Silence);
    if received == QueryAnswer::rows(&["10.5"]) {
        writes_nothing(&mut caller)?;
    } else if may_conflict(&received)? {
        same(query_ids::BALANCE, received, QueryAnswer::rows(&["11.5"]))?;
        ended(&mut caller, 2, Step::Commit)?;
    }
    caller.expect(query_ids::ACCOUNT, &FIRST, QueryAnswer::rows(&["'Ann' 11.5"]))
}

/// Session 2 has read a balance that was changed since: a store that makes nobody wait must not
/// let it write by that.
fn writes_nothing(caller: &mut Caller) -> Result<(), Broken> {
    let received = caller.send(2, query_ids::SET_BALANCE, &deposit(1150, FIRST));
    if may_conflict(&received)? {
        let received = caller.end(2, Step::Commit);
        ensure(!may_conflict(&received)?, || "who read the old balance wrote by it".into())?;
    }
    Ok(())
}

/// Sessions that each open an account and commit, all at once; more than there are connections.
fn many(store: &dyn Store) -> Result<(), Broken> {
    const SESSIONS: u32 = 40;
    let mut caller = Caller::open(store, 0)?;
    let mut open: HashMap<Ticket, (u32, bool)> = HashMap::new();
    let mut begun = 0;
    let mut committed = 0;
    while committed < SESSIONS {
        // Two at a time: a store with few connections must still succeed.
        while begun < SESSIONS && open.len() < 2 {
            let arguments = [int(1), int(begun.into()), ANN, money(1)];
            let ticket =
                caller.start_first(begun, query_ids::OPEN, &arguments).ok_or_else(never)?;
            open.insert(ticket, (begun, false));
            begun += 1;
        }
        let Some((ticket, received)) = caller.take() else {
            return Err(Broken::by(format!("{} tickets were never answered", open.len())));
        };
        let (session, is_last) = open
            .remove(&ticket)
            .ok_or_else(|| Broken::by(format!("{ticket:?} was answered twice")))?;
        match received {
            QueryAnswer::Done { .. } if is_last => committed += 1,
            QueryAnswer::Done { .. } => {
                let ticket = caller.start_end(session, Step::Commit).ok_or_else(never)?;
                open.insert(ticket, (session, true));
            }
            // They may be in each other's way; then the session tries again from the start.
            QueryAnswer::Refused(Reason::Conflict | Reason::Busy) => {
                caller.abort(session);
                let arguments = [int(1), int(session.into()), ANN, money(1)];
                let ticket = caller.start_first(session, query_ids::OPEN, &arguments);
                open.insert(ticket.ok_or_else(never)?, (session, false));
            }
            other => return Err(Broken::by(format!("session {session} got {other}"))),
        }
    }
    let rows: Vec<String> = (0..SESSIONS).map(|number| number.to_string()).collect();
    let numbers: Vec<&str> = rows.iter().map(String::as_str).collect();
    let all = [int(1), int(0), int(1_000), int(1_000)];
    caller.expect(query_ids::RANGE, &all, QueryAnswer::rows(&numbers))
}

/// How a step that may be refused came out; anything but an answer or a conflict breaks the rule.
fn may_conflict(received: &QueryAnswer) -> Result<bool, Broken> {
    match received {
        QueryAnswer::Done { .. } => Ok(true),
        QueryAnswer::Refused(Reason::Conflict | Reason::Busy | Reason::Timeout) => Ok(false),
        other => Err(Broken::by(format!("a step gave {other}"))),
    }
}

/// Lets two sessions whose last steps are under way come to their ends: who gets through commits,
/// who does not is undone. Tells how many committed.
fn come_to_ends(caller: &mut Caller, steps: [(Ticket, u32); 2]) -> Result<u32, Broken> {
    let mut open = HashMap::from(steps.map(|(ticket, session)| (ticket, (session, false))));
    let mut committed = 0;
    while !open.is_empty() {
        let Some((ticket, received)) = caller.take() else {
            return Err(Broken::by("they wait for each other for ever"));
        };
        let (session, is_commit) = open
            .remove(&ticket)
            .ok_or_else(|| Broken::by(format!("{ticket:?} was answered twice")))?;
        match (may_conflict(&received)?, is_commit) {
            (true, true) => committed += 1,
            (true, false) => {
                let commit = caller.start_end(session, Step::Commit).ok_or_else(never)?;
                open.insert(commit, (session, true));
            }
            (false, _) => caller.abort(session),
        }
    }
    Ok(committed)
}

fn never() -> Broken {
    Broken::by("the client was never ready")
}

/// Two sessions change two rows in opposite order.
fn deadlock(store: &dyn Store) -> Result<(), Broken> {
    let mut caller = with_ann(store)?;
    open(&mut caller, 1, 2, BOB, 0)?;
    let first = caller.begin(1, query_ids::DEPOSIT, &deposit(1, FIRST));
    let second = caller.begin(2, query_ids::DEPOSIT, &deposit(1, SECOND));
    if !may_conflict(&first)? || !may_conflict(&second)? {
        // Kept apart from the very beginning.
        return Ok(());
    }
    let one = caller.start(1, query_ids::DEPOSIT, &deposit(1, SECOND)).ok_or_else(never)?;
    let other = caller.start(2, query_ids::DEPOSIT, &deposit(1, FIRST)).ok_or_else(never)?;
    let committed = come_to_ends(&mut caller, [(one, 1), (other, 2)])?;
    ensure(committed < 2, || "both went through".into())?;
    let balance = if committed == 1 { "'Ann' 10.51" } else { "'Ann' 10.5" };
    caller.expect(query_ids::ACCOUNT, &FIRST, QueryAnswer::rows(&[balance]))
}

fn read_twice(store: &dyn Store) -> Result<(), Broken> {
    let mut caller = with_ann(store)?;
    let before = caller.begin(1, query_ids::ACCOUNT, &FIRST);
    same(query_ids::ACCOUNT, before, QueryAnswer::rows(&["'Ann' 10.5"]))?;
    // A store that locks what was read makes the writer wait, so nobody waits for it here.
    let writer = caller.start(2, query_ids::DEPOSIT, &deposit(100, FIRST)).ok_or_else(never)?;
    caller.pass(10);
    let reader = caller.start(1, query_ids::ACCOUNT, &FIRST).ok_or_else(never)?;
    let mut tickets = HashMap::from([(reader, "read"), (writer, "write")]);
    while let Some((ticket, received)) = caller.take() {
        let what = tickets.remove(&ticket);
        if what == Some("read") {
            same(query_ids::ACCOUNT, received, QueryAnswer::rows(&["'Ann' 10.5"]))?;
            ended(&mut caller, 1, Step::Commit)?;
            break;
        }
        may_conflict(&received)?;
    }
    ensure(!tickets.contains_key(&reader), || "the second read was never answered".into())
}

/// Both read 10.50, both write what they read and one more: both committed would lose one.
fn lost_update(store: &dyn Store) -> Result<(), Broken> {
    let mut caller = with_ann(store)?;
    let reads = [1, 2].map(|session| caller.begin(session, query_ids::ACCOUNT, &FIRST));
    for received in &reads {
        if !may_conflict(received)? {
            // Kept apart from the very beginning.
            return Ok(());
        }
    }
    let arguments = deposit(1150, FIRST);
    let one = caller.start(1, query_ids::SET_BALANCE, &arguments).ok_or_else(never)?;
    let other = caller.start(2, query_ids::SET_BALANCE, &arguments).ok_or_else(never)?;
    let committed = come_to_ends(&mut caller, [(one, 1), (other, 2)])?;
    ensure(committed == 1, || format!("{committed} of them committed"))?;
    caller.expect(query_ids::ACCOUNT, &FIRST, QueryAnswer::rows(&["'Ann' 11.5"]))
}

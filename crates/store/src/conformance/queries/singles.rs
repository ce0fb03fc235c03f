//! Rules about queries that are transactions by themselves.

use std::sync::Arc;

use assay_model::{Datum, Decimal, Reason};

use super::bank::{catalogue, query_ids};
use super::caller::{Caller, QueryAnswer};
use super::fresh;
use crate::conformance::{Broken, Rule, always, ensure, rule};
use crate::seam::{Existing, Store};

pub(super) const RULES: &[Rule] = &[
    rule(always, "values of every type come back as they were written", types),
    rule(always, "the largest and smallest values of every type come back", extremes),
    rule(always, "no value comes back as no value, and equals nothing", no_value),
    rule(always, "a row that is not there is not found", missing),
    rule(always, "an insert of a row that is there overwrites it or is refused", insert_again),
    rule(always, "an update tells whether it found a row, and keeps the other columns", update),
    rule(always, "sums of exact numbers are exact", sums),
    rule(always, "a deleted row is gone, and can be inserted again", delete),
    rule(always, "a range has its bounds, its order and its limit", range),
    rule(always, "an order by other columns holds, up to a limit", order),
    rule(always, "rows are found by a column that is no key", by_owner),
    rule(always, "rows of two relations are joined", join),
    rule(always, "one client sees what was acknowledged to another", two_clients),
    rule(always, "a query that does not exist is refused, as are wrong arguments", wrong),
    rule(always, "relations that exist are refused, replaced or used", existing),
];

pub(super) const ANN: Datum<'static> = Datum::Text("Ann");
pub(super) const BOB: Datum<'static> = Datum::Text("Bob");

pub(super) fn int(number: i64) -> Datum<'static> {
    Datum::Int(number)
}

pub(super) fn money(cents: i64) -> Datum<'static> {
    Datum::Decimal(Decimal { mantissa: cents, scale: 2 })
}

/// A conversation in which account (1, 1) of Ann has 10.50.
pub(super) fn with_ann(store: &dyn Store) -> Result<Caller, Broken> {
    let mut caller = Caller::open(store, 0)?;
    open(&mut caller, 1, 1, ANN, 1050)?;
    Ok(caller)
}

pub(super) fn open(
    caller: &mut Caller,
    branch: i64,
    number: i64,
    owner: Datum<'_>,
    cents: i64,
) -> Result<(), Broken> {
    let arguments = [int(branch), int(number), owner, money(cents)];
    caller.expect(query_ids::OPEN, &arguments, QueryAnswer::WRITTEN)
}

/// One row of all types, read back.
fn there_and_back(store: &dyn Store, values: &[Datum<'_>; 10], row: &[&str]) -> Result<(), Broken> {
    let mut caller = Caller::open(store, 0)?;
    let mut arguments = vec![int(7)];
    arguments.extend(values);
    caller.expect(query_ids::ADD_KINDS, &arguments, QueryAnswer::WRITTEN)?;
    let row = row.iter().map(|value| (*value).to_owned()).collect();
    let expected = QueryAnswer::Done { found: true, rows: vec![row] };
    caller.expect(query_ids::KINDS, &[int(7)], expected)
}

fn types(store: &dyn Store) -> Result<(), Broken> {
    let values = [
        int(-3),
        int(70_000),
        int(5_000_000_000),
        money(-1205),
        Datum::Double(0.1),
        Datum::Text("it's \"größer\" \\ ?"),
        Datum::Text("GC"),
        Datum::Bytes(&[0, 39, 92, 255]),
        Datum::Timestamp(1_700_000_000_123_456),
        Datum::Bool(true),
    ];
    let row = [
        "-3",
        "70000",
        "5000000000",
        "-12.05",
        "0.1",
        "'it''s \"größer\" \\ ?'",
        "'GC'",
        "X'00275CFF'",
        "TIMESTAMP '2023-11-14 22:13:20.123456'",
        "TRUE",
    ];
    there_and_back(store, &values, &row)
}

fn extremes(store: &dyn Store) -> Result<(), Broken> {
    let values = [
        int(i16::MIN.into()),
        int(i32::MAX.into()),
        int(i64::MIN),
        money(999_999_999_999),
        Datum::Double(-1.5e300),
        Datum::Text(""),
        Datum::Text("ABCD"),
        Datum::Bytes(&[]),
        Datum::Timestamp(-2_000_000),
        Datum::Bool(false),
    ];
    let small = i64::MIN.to_string();
    let double = (-1.5e300).to_string();
    let row = [
        "-32768",
        "2147483647",
        &small,
        "9999999999.99",
        &double,
        "''",
        "'ABCD'",
        "X''",
        "TIMESTAMP '1969-12-31 23:59:58'",
        "FALSE",
    ];
    there_and_back(store, &values, &row)
}

fn no_value(store: &dyn Store) -> Result<(), Broken> {
    there_and_back(store, &[Datum::Null; 10], &["NULL"; 10])?;
    let mut caller = with_ann(store)?;
    open(&mut caller, 1, 2, Datum::Null, 0)?;
    caller.expect(query_ids::ACCOUNT, &[int(1), int(2)], QueryAnswer::rows(&["NULL 0"]))?;
    caller.expect(query_ids::OF_OWNER, &[Datum::Null], QueryAnswer::MISSING)?;
    caller.expect(query_ids::ACCOUNT, &[int(1), Datum::Null], QueryAnswer::MISSING)?;
    caller.expect(query_ids::RENAME, &[Datum::Null, int(1), int(1)], QueryAnswer::WRITTEN)?;
    caller.expect(query_ids::ACCOUNT, &[int(1), int(1)], QueryAnswer::rows(&["NULL 10.5"]))?;
    caller.expect(query_ids::CLOSE, &[int(1), Datum::Null], QueryAnswer::MISSING)
}

fn missing(store: &dyn Store) -> Result<(), Broken> {
    let mut caller = with_ann(store)?;
    caller.expect(query_ids::ACCOUNT, &[int(1), int(2)], QueryAnswer::MISSING)?;
    caller.expect(query_ids::ACCOUNT, &[int(2), int(1)], QueryAnswer::MISSING)?;
    caller.expect(query_ids::RANGE, &[int(1), int(2), int(9), int(10)], QueryAnswer::MISSING)?;
    caller.expect(query_ids::WITH_CITY, &[int(1)], QueryAnswer::MISSING)
}

fn insert_again(store: &dyn Store) -> Result<(), Broken> {
    let mut caller = with_ann(store)?;
    let received = caller.send(0, query_ids::OPEN, &[int(1), int(1), BOB, money(1)]);
    let after = match received {
        QueryAnswer::Refused(Reason::Exists) => "'Ann' 10.5",
        QueryAnswer::Done { found: true, .. } => "'Bob' 0.01",
        _ => return Err(Broken::by(format!("it gave {received}"))),
    };
    caller.expect(query_ids::ACCOUNT, &[int(1), int(1)], QueryAnswer::rows(&[after]))
}

fn update(store: &dyn Store) -> Result<(), Broken> {
    let mut caller = with_ann(store)?;
    caller.expect(query_ids::RENAME, &[BOB, int(1), int(1)], QueryAnswer::WRITTEN)?;
    caller.expect(query_ids::ACCOUNT, &[int(1), int(1)], QueryAnswer::rows(&["'Bob' 10.5"]))?;
    caller.expect(query_ids::RENAME, &[ANN, int(1), int(2)], QueryAnswer::MISSING)?;
    caller.expect(query_ids::ACCOUNT, &[int(1), int(2)], QueryAnswer::MISSING)
}

fn sums(store: &dyn Store) -> Result<(), Broken> {
    let mut caller = with_ann(store)?;
    let account = [int(1), int(1)];
    for _ in 0..10 {
        caller.expect(query_ids::DEPOSIT, &[money(10), int(1), int(1)], QueryAnswer::WRITTEN)?;
    }
    caller.expect(query_ids::ACCOUNT, &account, QueryAnswer::rows(&["'Ann' 11.5"]))?;
    caller.expect(query_ids::WITHDRAW, &[money(1151), int(1), int(1)], QueryAnswer::WRITTEN)?;
    caller.expect(query_ids::ACCOUNT, &account, QueryAnswer::rows(&["'Ann' -0.01"]))?;
    caller.expect(query_ids::DEPOSIT, &[int(2), int(1), int(1)], QueryAnswer::WRITTEN)?;
    caller.expect(query_ids::ACCOUNT, &account, QueryAnswer::rows(&["'Ann' 1.99"]))
}

fn delete(store: &dyn Store) -> Result<(), Broken> {
    let mut caller = with_ann(store)?;
    let account = [int(1), int(1)];
    caller.expect(query_ids::CLOSE, &account, QueryAnswer::WRITTEN)?;
    caller.expect(query_ids::ACCOUNT, &account, QueryAnswer::MISSING)?;
    caller.expect(query_ids::OF_OWNER, &[ANN], QueryAnswer::MISSING)?;
    caller.expect(query_ids::CLOSE, &account, QueryAnswer::MISSING)?;
    open(&mut caller, 1, 1, BOB, 5)?;
    caller.expect(query_ids::ACCOUNT, &account, QueryAnswer::rows(&["'Bob' 0.05"]))
}

/// Accounts whose numbers are of both signs and of several lengths, and one of another branch.
fn numbered(store: &dyn Store) -> Result<Caller, Broken> {
    let mut caller = Caller::open(store, 0)?;
    for number in [9, -1, 100, 10, 0, 2, -20] {
        open(&mut caller, 1, number, ANN, number)?;
    }
    open(&mut caller, 2, 3, BOB, 3)?;
    Ok(caller)
}

fn range(store: &dyn Store) -> Result<(), Broken> {
    let mut caller = numbered(store)?;
    let mut expect = |from, below, most, rows: &[&str]| {
        let arguments = [int(1), int(from), int(below), int(most)];
        caller.expect(query_ids::RANGE, &arguments, QueryAnswer::rows(rows))
    };
    expect(-100, 1_000, 10, &["-20", "-1", "0", "2", "9", "10", "100"])?;
    expect(-1, 10, 10, &["-1", "0", "2", "9"])?;
    expect(1, 1_000, 2, &["2", "9"])?;
    expect(5, 5, 10, &[])
}

fn order(store: &dyn Store) -> Result<(), Broken> {
    let mut caller = numbered(store)?;
    caller.expect(query_ids::RICHEST, &[int(1)], QueryAnswer::rows(&["100 1", "10 0.1"]))?;
    open(&mut caller, 1, 50, ANN, 10)?;
    caller.expect(query_ids::CLOSE, &[int(1), int(100)], QueryAnswer::WRITTEN)?;
    caller.expect(query_ids::RICHEST, &[int(1)], QueryAnswer::rows(&["10 0.1", "50 0.1"]))
}

fn by_owner(store: &dyn Store) -> Result<(), Broken> {
    let mut caller = numbered(store)?;
    caller.expect(query_ids::OF_OWNER, &[BOB], QueryAnswer::rows(&["2 3"]))?;
    caller.expect(query_ids::RENAME, &[ANN, int(2), int(3)], QueryAnswer::WRITTEN)?;
    caller.expect(query_ids::OF_OWNER, &[BOB], QueryAnswer::MISSING)?;
    let received = caller.send(0, query_ids::OF_OWNER, &[ANN]);
    let QueryAnswer::Done { rows, .. } = &received else {
        return Err(Broken::by(format!("it gave {received}")));
    };
    ensure(rows.len() == 8, || format!("eight accounts are Ann's, it gave {received}"))
}

fn join(store: &dyn Store) -> Result<(), Broken> {
    let mut caller = numbered(store)?;
    for (id, city) in [(2, "Bonn"), (3, "Ulm")] {
        caller.expect(
            query_ids::ADD_BRANCH,
            &[int(id), Datum::Text(city)],
            QueryAnswer::WRITTEN,
        )?;
    }
    open(&mut caller, 2, 1, ANN, 1)?;
    caller.expect(query_ids::WITH_CITY, &[int(2)], QueryAnswer::rows(&["'Bonn' 1", "'Bonn' 3"]))?;
    caller.expect(query_ids::WITH_CITY, &[int(3)], QueryAnswer::MISSING)?;
    caller.expect(query_ids::WITH_CITY, &[int(1)], QueryAnswer::MISSING)
}

fn two_clients(store: &dyn Store) -> Result<(), Broken> {
    let mut one = Caller::open(store, 0)?;
    let mut other = Caller::open(store, 1)?;
    other.expect(query_ids::ACCOUNT, &[int(1), int(1)], QueryAnswer::MISSING)?;
    open(&mut one, 1, 1, ANN, 7)?;
    other.expect(query_ids::ACCOUNT, &[int(1), int(1)], QueryAnswer::rows(&["'Ann' 0.07"]))
}

fn wrong(store: &dyn Store) -> Result<(), Broken> {
    let mut caller = with_ann(store)?;
    let beyond = u16::try_from(catalogue().queries.len() + 1).unwrap_or(u16::MAX);
    let account = [int(1), int(1)];
    let too_few = &account[..1];
    let too_many = [int(1), int(1), int(1)];
    for (query, arguments) in [
        (0, &account[..]),
        (beyond, &account[..]),
        (query_ids::ACCOUNT, too_few),
        (query_ids::ACCOUNT, &too_many[..]),
    ] {
        let received = caller.send(0, query, arguments);
        let count = arguments.len();
        ensure(matches!(received, QueryAnswer::Refused(_)), || {
            format!("query {query} with {count} arguments gave {received}")
        })?;
    }
    caller.expect(query_ids::ACCOUNT, &account, QueryAnswer::rows(&["'Ann' 10.5"]))
}

fn existing(store: &dyn Store) -> Result<(), Broken> {
    drop(with_ann(store)?);
    let catalogue = Arc::new(catalogue());
    let refused = store.prepare_queries(&catalogue, Existing::Refuse);
    ensure(refused.is_err(), || "relations that are there were taken for new ones".into())?;
    store.prepare_queries(&catalogue, Existing::Use)?;
    let mut caller = Caller::open(store, 0)?;
    caller.expect(query_ids::ACCOUNT, &[int(1), int(1)], QueryAnswer::rows(&["'Ann' 10.5"]))?;
    drop(caller);
    fresh(store)?;
    let mut caller = Caller::open(store, 0)?;
    caller.expect(query_ids::ACCOUNT, &[int(1), int(1)], QueryAnswer::MISSING)?;
    drop(caller);
    store.clear()?;
    let missing = store.prepare_queries(&catalogue, Existing::Use);
    ensure(missing.is_err(), || "relations that are not there were used".into())?;
    store.prepare_queries(&catalogue, Existing::Refuse)?;
    Ok(())
}

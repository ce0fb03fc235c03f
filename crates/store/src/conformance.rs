//! Conformance suite for every store: the required behaviour of a client.
//!
//! The suite takes a store that nobody else uses, **removes everything in it** and uses it in ways
//! that the store's own [`Capabilities`](crate::Capabilities) allow. A store that declares nothing
//! is checked for little, so the declarations belong into the store's own tests.
//!
//! Where stores may differ, the suite demands that the response be true instead of demanding one
//! behaviour. An update of a missing record may create it (`found = true`, as in Redis or
//! Cassandra) or write nothing (`found = false`, as in relational stores); an insert over an
//! existing record may overwrite it or be refused as [`Reason::Exists`](assay_model::Reason). What
//! a later read finds must agree with what was answered.

mod declarations;
pub mod ledger;
pub mod queries;
mod records;
mod scans;
pub mod talk;
mod tickets;
mod transactions;
mod values;

use std::cell::Cell;
use std::fmt;

use assay_model::{Kind, Layout, Table};

use crate::seam::{OpenError, Store};
use talk::{Got, TestRequest, TestSession};

/// One way in which a store does not keep the contract.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContractViolation {
    /// The rule that is broken, as a sentence.
    pub rule: &'static str,
    /// What happened instead.
    pub instead: String,
}

impl fmt::Display for ContractViolation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; but {}", self.rule, self.instead)
    }
}

/// What a store made of a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It keeps it.
    Held,
    /// It breaks it; this happened instead.
    Violated(String),
    /// It cannot keep such a key or value, and says so before anything happens; this was sent.
    Refused(String),
    /// It does not declare what the rule is about.
    NotDeclared,
}

/// A rule with what a store made of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ruling {
    /// The rule, as a sentence.
    pub rule: &'static str,
    /// What the store made of it.
    pub verdict: Verdict,
}

/// Checks `store` against every rule on records, in order.
///
/// Everything in the store is removed, before and after.
pub fn survey(store: &dyn Store) -> Vec<Ruling> {
    // A store that is prepared knows what to clear.
    let is_prepared = Cell::new(false);
    rule_on(store, &RULES, |store| {
        let outcome = if is_prepared.get() { emptied(store) } else { fresh(store) };
        is_prepared.set(is_prepared.get() || outcome.is_ok());
        outcome
    })
}

/// Checks every rule that applies to `store`; what is returned is broken.
///
/// Everything in the store is removed, before and after.
pub fn check(store: &dyn Store) -> Vec<ContractViolation> {
    broken(survey(store))
}

/// Checks every rule that applies to `store`, for use in tests.
///
/// # Panics
/// If a rule is broken, with a sentence for each.
pub fn assert_conforms(store: &dyn Store) {
    let findings = check(store);
    let reported: Vec<String> = findings.iter().map(|finding| format!("\n  {finding}")).collect();
    assert!(
        reported.is_empty(),
        "{} does not conform:{}",
        store.capabilities().name,
        reported.concat()
    );
}

/// Leaves a record in an emptied store; close the store, open it again and call [`find_mark`].
///
/// # Errors
/// If the store cannot be written to.
pub fn leave_mark(store: &dyn Store) -> Result<(), ContractViolation> {
    let written = fresh(store).and_then(|()| {
        let mut talk = TestSession::open(store, 0)?;
        expect(&mut talk, &TestRequest::insert("mark", &MARK), Got::WRITTEN)?;
        store.flush().map_err(Broken::from)
    });
    written.map_err(|broken| ContractViolation { rule: SURVIVES, instead: broken.instead })
}

/// Looks for what [`leave_mark`] left.
///
/// # Errors
/// If it is not there.
pub fn find_mark(store: &dyn Store) -> Result<(), ContractViolation> {
    let found = store.prepare(&layout()).map_err(Broken::from).and_then(|()| {
        let mut talk = TestSession::open(store, 0)?;
        expect(&mut talk, &TestRequest::read("mark"), whole(&MARK))
    });
    found.map_err(|broken| ContractViolation { rule: SURVIVES, instead: broken.instead })
}

const SURVIVES: &str = "what was flushed is there when a persistent store is opened again";
const MARK: [&[u8]; 3] = [b"one", b"two", b"three"];

/// The names of the fields of the suite's only table.
const FIELDS: [&str; 3] = ["field0", "field1", "field2"];

/// The suite's layout: one table, named as YCSB names it.
fn layout() -> Layout {
    let fields = FIELDS.map(String::from).to_vec();
    Layout {
        tables: vec![Table { name: "usertable".into(), fields, needs_key_order: false }],
        records: 100,
    }
}

#[derive(Clone, Copy)]
struct Rule {
    sentence: &'static str,
    applies: fn(&dyn Store) -> bool,
    check: fn(&dyn Store) -> Result<(), Broken>,
}

/// What happened instead of what the rule says.
struct Broken {
    instead: String,
    /// Whether it is that the store refused, before anything happened, what it cannot keep.
    is_limit: bool,
}

impl Broken {
    fn by(instead: impl Into<String>) -> Broken {
        Broken { instead: instead.into(), is_limit: false }
    }
}

impl From<OpenError> for Broken {
    fn from(error: OpenError) -> Broken {
        Broken::by(error.to_string())
    }
}

const fn rule(
    applies: fn(&dyn Store) -> bool,
    sentence: &'static str,
    check: fn(&dyn Store) -> Result<(), Broken>,
) -> Rule {
    Rule { applies, sentence, check }
}

const RULES: [&[Rule]; 6] = [
    declarations::RULES,
    records::RULES,
    values::RULES,
    scans::RULES,
    tickets::RULES,
    transactions::RULES,
];

/// What `store` makes of each of `rules`; before every one it is emptied by `empty`.
fn rule_on(
    store: &dyn Store,
    rules: &[&'static [Rule]],
    empty: impl Fn(&dyn Store) -> Result<(), Broken>,
) -> Vec<Ruling> {
    let analyze = |rule: Rule| {
        if !(rule.applies)(store) {
            return Ruling { rule: rule.sentence, verdict: Verdict::NotDeclared };
        }
        let outcome = empty(store).and_then(|()| (rule.check)(store));
        Ruling { rule: rule.sentence, verdict: outcome.into() }
    };
    let mut rulings: Vec<Ruling> = rules.iter().copied().flatten().copied().map(analyze).collect();
    let cleared = store.clear().map_err(Broken::from);
    rulings.push(Ruling { rule: "a store can be cleared", verdict: cleared.into() });
    rulings
}

impl From<Result<(), Broken>> for Verdict {
    fn from(outcome: Result<(), Broken>) -> Verdict {
        match outcome {
            Ok(()) => Verdict::Held,
            Err(Broken { instead, is_limit: true }) => Verdict::Refused(instead),
            Err(Broken { instead, .. }) => Verdict::Violated(instead),
        }
    }
}

/// Those of `rulings` that the store does not keep.
fn broken(rulings: Vec<Ruling>) -> Vec<ContractViolation> {
    let finding = |ruling: Ruling| match ruling.verdict {
        Verdict::Violated(instead) | Verdict::Refused(instead) => {
            Some(ContractViolation { rule: ruling.rule, instead })
        }
        Verdict::Held | Verdict::NotDeclared => None,
    };
    rulings.into_iter().filter_map(finding).collect()
}

fn always(_store: &dyn Store) -> bool {
    true
}

fn keeps(store: &dyn Store) -> bool {
    !store.capabilities().is_no_op
}

fn keeps_and_can(store: &dyn Store, kind: Kind) -> bool {
    let capabilities = store.capabilities();
    !capabilities.is_no_op && capabilities.can(kind)
}

fn fresh(store: &dyn Store) -> Result<(), Broken> {
    store.prepare(&layout())?;
    emptied(store)
}

/// Empties a store that was prepared before.
fn emptied(store: &dyn Store) -> Result<(), Broken> {
    store.clear()?;
    store.prepare(&layout())?;
    Ok(())
}

/// The record with these values in the order of the fields.
fn whole(values: &[&[u8]; 3]) -> Got {
    Got::row(&[(FIELDS[0], values[0]), (FIELDS[1], values[1]), (FIELDS[2], values[2])])
}

/// Sends, and compares the response.
fn expect(talk: &mut TestSession, test_request: &TestRequest, expected: Got) -> Result<(), Broken> {
    let got = talk.send(test_request);
    if got == expected {
        return Ok(());
    }
    Err(Broken::by(format!("{test_request} gave {got} instead of {expected}")))
}

/// Complains with `instead` unless `holds`.
fn ensure(holds: bool, instead: impl FnOnce() -> String) -> Result<(), Broken> {
    if holds { Ok(()) } else { Err(Broken::by(instead())) }
}

#[cfg(test)]
mod tests;

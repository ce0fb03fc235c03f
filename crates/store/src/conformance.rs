//! One suite for every store: what a client must answer, told as sentences when it does not.
//!
//! The suite takes a store that nobody else uses, **removes everything in it** and asks it in ways
//! that the store's own [`Capabilities`](crate::Capabilities) allow. A store that declares nothing
//! is checked for little, so the declarations belong into the store's own tests.
//!
//! Where stores differ rightly, the suite asks that the answer be true instead of asking for one
//! behaviour. An update of a missing record may create it (`found = true`, as in Redis or
//! Cassandra) or write nothing (`found = false`, as in relational stores); an insert over an
//! existing record may overwrite it or be refused as [`Reason::Exists`](assay_model::Reason). What
//! a later read finds must agree with what was answered.

mod declarations;
pub mod queries;
mod records;
mod scans;
pub mod talk;
mod tickets;
mod values;

use std::fmt;

use assay_model::{Kind, Layout, Table};

use crate::seam::{OpenError, Store};
use talk::{Ask, Got, Talk};

/// One way in which a store breaks the contract.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The rule that is broken, as a sentence.
    pub rule: &'static str,
    /// What happened instead.
    pub instead: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; but {}", self.rule, self.instead)
    }
}

/// Checks every rule that applies to `store`; what is returned is broken.
///
/// Everything in the store is removed, before and after.
pub fn check(store: &dyn Store) -> Vec<Finding> {
    let mut findings = Vec::new();
    for rule in RULES.iter().copied().flatten() {
        if !(rule.applies)(store) {
            continue;
        }
        let outcome = fresh(store).and_then(|()| (rule.check)(store));
        if let Err(broken) = outcome {
            findings.push(Finding { rule: rule.sentence, instead: broken.0 });
        }
    }
    if let Err(error) = store.clear() {
        let rule = "a store can be cleared";
        findings.push(Finding { rule, instead: error.to_string() });
    }
    findings
}

/// Checks every rule that applies to `store`, for use in tests.
///
/// # Panics
/// If a rule is broken, with a sentence for each.
pub fn assert_conforms(store: &dyn Store) {
    let findings = check(store);
    let told: Vec<String> = findings.iter().map(|finding| format!("\n  {finding}")).collect();
    assert!(told.is_empty(), "{} does not conform:{}", store.capabilities().name, told.concat());
}

/// Leaves a record in an emptied store; close the store, open it again and call [`find_mark`].
///
/// # Errors
/// If the store cannot be written to.
pub fn leave_mark(store: &dyn Store) -> Result<(), Finding> {
    let written = fresh(store).and_then(|()| {
        let mut talk = Talk::open(store, 0)?;
        expect(&mut talk, &Ask::insert("mark", &MARK), Got::WRITTEN)?;
        store.settle().map_err(Broken::from)
    });
    written.map_err(|broken| Finding { rule: SURVIVES, instead: broken.0 })
}

/// Looks for what [`leave_mark`] left.
///
/// # Errors
/// If it is not there.
pub fn find_mark(store: &dyn Store) -> Result<(), Finding> {
    let found = store.prepare(&layout()).map_err(Broken::from).and_then(|()| {
        let mut talk = Talk::open(store, 0)?;
        expect(&mut talk, &Ask::read("mark"), whole(&MARK))
    });
    found.map_err(|broken| Finding { rule: SURVIVES, instead: broken.0 })
}

const SURVIVES: &str = "what was settled is there when a persistent store is opened again";
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

struct Rule {
    sentence: &'static str,
    applies: fn(&dyn Store) -> bool,
    check: fn(&dyn Store) -> Result<(), Broken>,
}

/// What happened instead of what the rule says.
struct Broken(String);

impl From<OpenError> for Broken {
    fn from(error: OpenError) -> Broken {
        Broken(error.to_string())
    }
}

const fn rule(
    applies: fn(&dyn Store) -> bool,
    sentence: &'static str,
    check: fn(&dyn Store) -> Result<(), Broken>,
) -> Rule {
    Rule { applies, sentence, check }
}

const RULES: [&[Rule]; 5] =
    [declarations::RULES, records::RULES, values::RULES, scans::RULES, tickets::RULES];

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
    store.clear()?;
    store.prepare(&layout())?;
    Ok(())
}

/// The record with these values in the order of the fields.
fn whole(values: &[&[u8]; 3]) -> Got {
    Got::row(&[(FIELDS[0], values[0]), (FIELDS[1], values[1]), (FIELDS[2], values[2])])
}

/// Asks, and compares the answer.
fn expect(talk: &mut Talk, ask: &Ask, expected: Got) -> Result<(), Broken> {
    let got = talk.ask(ask);
    if got == expected {
        return Ok(());
    }
    Err(Broken(format!("{ask} gave {got} instead of {expected}")))
}

/// Complains with `instead` unless `holds`.
fn ensure(holds: bool, instead: impl FnOnce() -> String) -> Result<(), Broken> {
    if holds { Ok(()) } else { Err(Broken(instead())) }
}

#[cfg(test)]
mod tests;

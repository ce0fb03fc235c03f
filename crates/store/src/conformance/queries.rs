//! The suite for stores that take logical queries, by themselves or through a mapping.
//!
//! As in the suite for records, **everything in the store is removed**, and where stores differ
//! rightly the answer has to be true instead of being one: an insert over a row that is there may
//! be refused as `Exists` or overwrite it. Rules about transactions apply to stores that declare
//! an isolation level; those about what keeps transactions apart, to the level that they declare.

mod bank;
mod caller;
mod singles;
mod transactions;

use std::sync::Arc;

use super::{Broken, ContractViolation, Rule, Ruling, broken, rule_on};
use crate::seam::{Existing, Store};

pub use bank::catalogue;
pub use caller::{Caller, QueryAnswer};

/// Checks `store` against every rule on queries, in order.
///
/// Everything in the store is removed, before and after.
pub fn survey_queries(store: &dyn Store) -> Vec<Ruling> {
    rule_on(store, &RULES, fresh)
}

/// Checks every rule about queries that applies to `store`; what is returned is broken.
///
/// Everything in the store is removed, before and after.
pub fn check_queries(store: &dyn Store) -> Vec<ContractViolation> {
    broken(survey_queries(store))
}

/// Checks every rule about queries that applies to `store`, for use in tests.
///
/// # Panics
/// If a rule is broken, with a sentence for each.
pub fn assert_queries_conform(store: &dyn Store) {
    let findings = check_queries(store);
    let reported: Vec<String> = findings.iter().map(|finding| format!("\n  {finding}")).collect();
    assert!(
        reported.is_empty(),
        "{} does not conform:{}",
        store.capabilities().name,
        reported.concat()
    );
}

const RULES: [&[Rule]; 2] = [singles::RULES, transactions::RULES];

/// The relations of [`catalogue`] are there, without a row.
fn fresh(store: &dyn Store) -> Result<(), Broken> {
    Ok(store.prepare_queries(&Arc::new(catalogue()), Existing::Replace)?)
}

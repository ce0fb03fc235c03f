//! Merge of two tables into one.
//!
//! Other than the paper, only tables with the same rows are merged: it also puts a relation into a
//! join that it takes part in, but a row without a partner would vanish there, and no store checks
//! foreign keys for us.

use crate::physical::Role;
use crate::physical::view::View;

/// How many columns a merged table may have more than the larger of the two.
const COLUMNS_MORE: usize = 10;
/// How many states of merging one option leads to at most.
pub(super) const STATES_MOST: usize = 16;

/// The table that does for both: the same rows, the same key, at most one index.
pub(super) fn merged(one: &View, other: &View) -> Option<View> {
    let is_same = one.relations == other.relations && one.joins == other.joins;
    if !is_same || one.key != other.key {
        return None;
    }
    let index = match (one.index, other.index) {
        (Some(one), Some(other)) if one != other => return None,
        (one, other) => one.or(other),
    };
    let mut merged = one.clone();
    merged.role = match (one.role, other.role) {
        (Role::Lookup, role) | (role, Role::Lookup) => role,
        (Role::BaseTable, _) | (_, Role::BaseTable) => Role::BaseTable,
        (role, _) => role,
    };
    merged.columns.extend(&other.columns);
    merged.tidy();
    merged.index = index;
    let largest = one.columns.len().max(other.columns.len());
    (merged.columns.len() <= largest + COLUMNS_MORE).then_some(merged)
}

//! Joins along keys: of each pair of rows, one is found by its key.

use std::collections::BTreeSet;

use assay_model::query::{ColumnRef, Comparison, Filter, Join};

use super::error::ParseError;
use super::scope::Scope;
use super::text::Text;

/// Checks that each relation but the first is joined with earlier ones along a key.
///
/// Along a key means that the joined columns cover the primary key of one side, together with
/// columns of it that are compared with a value by equality. A foreign key that is joined as a
/// whole does, since it names a primary key.
pub(super) fn check(
    text: &Text,
    scope: &Scope<'_>,
    joins: &[Join],
    filters: &[Filter],
) -> Result<(), ParseError> {
    let fixed: BTreeSet<ColumnRef> = filters
        .iter()
        .filter(|filter| filter.comparison == Comparison::Equal)
        .map(|filter| filter.column)
        .collect();
    for later in 1..scope.relations().len() as u16 {
        let pairs: Vec<Join> =
            joins.iter().copied().filter(|join| join.right.relation == later).collect();
        let name = &scope.relation(later).name;
        if pairs.is_empty() {
            let clause = format!("a join of {name} without a pair of columns");
            let advice = "write which of its columns equals which of an earlier relation";
            return Err(ParseError::Outside { place: text.start(), clause, advice: advice.into() });
        }
        let covers = |place: u16, joined: &BTreeSet<ColumnRef>| {
            scope.relation(place).primary_key.iter().all(|column| {
                let column = ColumnRef { relation: place, column: *column };
                joined.contains(&column) || fixed.contains(&column)
            })
        };
        let left: BTreeSet<ColumnRef> = pairs.iter().map(|join| join.left).collect();
        let right: BTreeSet<ColumnRef> = pairs.iter().map(|join| join.right).collect();
        let earlier: BTreeSet<u16> = left.iter().map(|column| column.relation).collect();
        if covers(later, &right) || earlier.into_iter().any(|place| covers(place, &left)) {
            continue;
        }
        let clause = format!("a join of {name} that follows no key");
        let advice = "join the whole primary key of one side with the columns that point to it";
        return Err(ParseError::Outside { place: text.start(), clause, advice: advice.into() });
    }
    Ok(())
}

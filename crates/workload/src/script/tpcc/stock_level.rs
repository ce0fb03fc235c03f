//! Stock-Level: the stock of what was ordered last is looked at (clause 2.8).

use assay_model::Taken;
use assay_model::script::ProcessBuilder;

use super::district::keyed;
use super::query::Query;
use super::turn::Turn;
use crate::script::program::int;

/// Place in the output of the query.
const NEXT_ORDER: u16 = 1;
/// So many orders back.
const ORDERS: i64 = 20;

/// Adds one Stock-Level.
///
/// The standard counts the items below a threshold; a logical query does not count, so all of them
/// are returned with what is left of each.
pub(super) fn add(turn: &mut Turn<'_>, into: &mut ProcessBuilder<'_>) {
    let home = turn.home;
    let (warehouse, district) = (int(home.warehouse), int(home.number));
    let key = keyed(&[home.warehouse, home.number]);
    let read = into.issue(Query::District.issue(), key, &[warehouse, district]).last();
    let next = Taken::first(read, NEXT_ORDER);
    let from = Taken { plus: -ORDERS, ..next };
    into.issue(Query::RecentStock.issue(), key, &[warehouse, district, from.into(), next.into()]);
    into.commit();
}

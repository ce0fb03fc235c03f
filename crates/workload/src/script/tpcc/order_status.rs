//! Order-Status: a customer asks for the status of the last order (clause 2.6).

use assay_model::Taken;
use assay_model::script::ProcessBuilder;

use super::payment::{draw_customer, find};
use super::query::Query;
use super::turn::Turn;
use crate::script::program::int;

/// Place in the output of the query.
const ORDER: u16 = 0;

/// Adds one Order-Status.
pub(super) fn add(turn: &mut Turn<'_>, into: &mut ProcessBuilder<'_>) {
    let place = turn.district();
    let named = draw_customer(place, turn);
    let (warehouse, district) = (int(place.warehouse), int(place.number));
    let key = place.key(named.customer);
    let customer = find(&named, into);
    if named.name.is_none() {
        into.issue(Query::CustomerBalance.issue(), key, &[warehouse, district, customer]);
    }
    let last = into.issue(Query::LastOrder.issue(), key, &[warehouse, district, customer]).last();
    let order = Taken::first(last, ORDER);
    into.issue(Query::Lines.issue(), key, &[warehouse, district, order.into()]).commit();
}

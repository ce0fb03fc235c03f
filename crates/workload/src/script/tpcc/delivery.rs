//! Delivery: the oldest open order of every district is delivered (clause 2.7).

use assay_model::script::ProcessBuilder;
use assay_model::{Argument, Pick, Taken};

use super::DISTRICTS;
use super::district::{District, keyed};
use super::query::Query;
use super::rows::moment;
use super::turn::Turn;
use crate::script::program::int;

/// The most operations: seven for each district, the end.
pub(super) const WIDTH: u64 = 7 * DISTRICTS + 1;

/// Place in the output of every query that something is taken from.
const FIRST: u16 = 0;

/// Adds one Delivery, of all districts in one transaction.
///
/// The standard queues it and lets the terminal go on; here it is executed as any other. The oldest
/// order is locked as it is found, so that no other delivery takes it.
pub(super) fn add(turn: &mut Turn<'_>, into: &mut ProcessBuilder<'_>) {
    let carrier = turn.draws.below(10) + 1;
    for district in 1..=DISTRICTS {
        let place = District { warehouse: turn.home.warehouse, number: district };
        deliver(place, carrier, turn.at, into);
    }
    into.commit();
}

fn deliver(place: District, carrier: u64, at: i64, into: &mut ProcessBuilder<'_>) {
    let (warehouse, district) = (int(place.warehouse), int(place.number));
    let key = keyed(&[place.warehouse, place.number]);
    let oldest = into.issue(Query::OldestNewOrder.issue(), key, &[warehouse, district]).last();
    let order: Argument<'_> = Taken::first(oldest, FIRST).into();
    let named = [warehouse, district, order];
    into.issue(Query::NewOrderDelete.issue(), key, &named);
    let orderer = into.issue(Query::OrderCustomer.issue(), key, &named).last();
    let [.., number] = named;
    into.issue(Query::OrderCarrier.issue(), key, &[int(carrier), warehouse, district, number]);
    into.issue(Query::LinesDelivered.issue(), key, &[moment(at), warehouse, district, number]);
    let amounts = into.issue(Query::LineAmounts.issue(), key, &named).last();
    let sum = Taken { pick: Pick::Sum, ..Taken::first(amounts, FIRST) };
    let customer = Taken::first(orderer, FIRST);
    let change = [sum.into(), warehouse, district, customer.into()];
    into.issue(Query::CustomerDelivered.issue(), key, &change);
}

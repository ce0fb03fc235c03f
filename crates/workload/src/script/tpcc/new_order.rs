//! New-Order: a customer orders from 5 to 15 items (clause 2.4).

use assay_model::script::ProcessBuilder;
use assay_model::{Argument, Datum, Taken, Wrap};

use super::district::{District, keyed};
use super::query::Query;
use super::rows::{LINES_LEAST, LINES_MOST, moment};
use super::turn::Turn;
use crate::script::program::int;

/// The most operations: six before the lines, four for each, the end.
pub(super) const WIDTH: u64 = 6 + 4 * LINES_MOST + 1;

/// Of a hundred orders so many name an item that does not exist, and are undone.
const UNDONE: u64 = 1;
/// Of a hundred lines so many are supplied by another warehouse.
const REMOTE: u64 = 1;
/// Clause 2.4.2.2: a stock that would fall below this is filled up.
const REFILL: Wrap = Wrap { below: 10, by: 91 };

/// Places in the output of the queries.
const NEXT_ORDER: u16 = 1;
const PRICE: u16 = 0;
const QUANTITY: u16 = 0;
const FIRST_DISTRICT: u16 = 2;

#[derive(Clone, Copy, Debug)]
struct Line {
    number: u64,
    item: u64,
    supplier: u64,
    quantity: u64,
}

/// Adds one New-Order.
///
/// The district's counter is raised first, which locks its row until the end, then read: so the
/// number belongs to this order alone under read committed as well. Lines are read in the
/// order of their stocks, so that two orders never wait for each other.
pub(super) fn add(turn: &mut Turn<'_>, into: &mut ProcessBuilder<'_>) {
    let place = turn.district();
    let customer = turn.constants.customer(turn.rows.customers.of_district, &mut turn.draws);
    let is_undone = turn.happens(UNDONE);
    let mut lines = lines(turn);
    let is_local = lines.iter().all(|line| line.supplier == place.warehouse);
    let (warehouse, district) = (int(place.warehouse), int(place.number));
    let key = keyed(&[place.warehouse, place.number]);
    into.issue(Query::WarehouseTax.issue(), place.warehouse, &[warehouse]);
    into.issue(Query::NextOrder.issue(), key, &[warehouse, district]);
    let read = into.issue(Query::District.issue(), key, &[warehouse, district]).last();
    let order = Argument::Taken(Taken { plus: -1, ..Taken::first(read, NEXT_ORDER) });
    let named = [warehouse, district, int(customer)];
    into.issue(Query::CustomerDiscount.issue(), place.key(customer), &named);
    let (count, local) = (int(lines.len() as u64), int(u64::from(is_local)));
    let carrier = Argument::Given(Datum::Null);
    let row = [warehouse, district, order, int(customer), moment(turn.at), carrier, count, local];
    into.issue(Query::OrderInsert.issue(), key, &row);
    into.issue(Query::NewOrderInsert.issue(), key, &[warehouse, district, order]);
    let missing = is_undone.then(|| lines.pop()).flatten();
    lines.sort_unstable_by_key(|line| (line.supplier, line.item, line.number));
    lines.iter().for_each(|line| add_line(place, order, line, into));
    if missing.is_some() {
        let unused = turn.rows.items + 1;
        into.issue(Query::Item.issue(), unused, &[int(unused)]);
        into.rollback();
    } else {
        into.commit();
    }
}

fn lines(turn: &mut Turn<'_>) -> Vec<Line> {
    let count = turn.draws.below(LINES_MOST - LINES_LEAST + 1) + LINES_LEAST;
    let line = |number: u64| {
        let item = turn.constants.item(turn.rows.items, &mut turn.draws);
        let is_remote = turn.happens(REMOTE);
        let supplier = if is_remote { turn.other_warehouse() } else { turn.home.warehouse };
        Line { number, item, supplier, quantity: turn.draws.below(10) + 1 }
    };
    (1..=count).map(line).collect()
}

fn add_line(place: District, order: Argument<'_>, line: &Line, into: &mut ProcessBuilder<'_>) {
    let Line { number, item, supplier, quantity } = *line;
    let stock = keyed(&[supplier, item]);
    let priced = into.issue(Query::Item.issue(), item, &[int(item)]).last();
    let read = into.issue(Query::Stock.issue(), stock, &[int(supplier), int(item)]).last();
    let left =
        Taken { plus: -(quantity as i64), wrap: Some(REFILL), ..Taken::first(read, QUANTITY) };
    let remote = int(u64::from(supplier != place.warehouse));
    let change = [left.into(), int(quantity), remote, int(supplier), int(item)];
    into.issue(Query::StockUpdate.issue(), stock, &change);
    let amount = Taken { times: quantity as i64, ..Taken::first(priced, PRICE) };
    let note = Taken::first(read, FIRST_DISTRICT + place.number as u16 - 1);
    let row = [
        int(place.warehouse),
        int(place.number),
        order,
        int(number),
        int(item),
        int(supplier),
        Argument::Given(Datum::Null),
        int(quantity),
        amount.into(),
        note.into(),
    ];
    into.issue(Query::LineInsert.issue(), stock, &row);
}

//! Payment: a customer pays (clause 2.5).

use assay_model::script::ProcessBuilder;
use assay_model::{Argument, Pick, Taken};

use super::DISTRICTS;
use super::district::{District, keyed};
use super::draw::last_name;
use super::query::Query;
use super::rows::moment;
use super::turn::Turn;
use crate::script::program::{cents, int, text};

/// Of a hundred payments so many are of a customer of another warehouse.
const REMOTE: u64 = 15;
/// Of a hundred customers so many are looked for by their last name.
const BY_NAME: u64 = 60;
/// C_DATA has at most so many characters.
const NOTES_MOST: usize = 500;

/// Places in the output of the queries.
const CUSTOMER: u16 = 0;
const PAYMENTS: u16 = 0;

/// A customer as a transaction names it.
pub(super) struct Named {
    pub place: District,
    /// The number that the customer has, as the seed tells.
    pub customer: u64,
    /// The number of the last name that is looked for, if it is not the customer's own number.
    pub name: Option<u64>,
}

/// The customer of a Payment or an Order-Status at `place`.
pub(super) fn draw_customer(place: District, turn: &mut Turn<'_>) -> Named {
    let (constants, customers) = (turn.constants, &turn.rows.customers);
    if turn.happens(BY_NAME) {
        let name = constants.name(customers.of_district, &mut turn.draws);
        let customer = customers.middle(place, name).expect("one of the first customers has it");
        return Named { place, customer, name: Some(name) };
    }
    let customer = constants.customer(customers.of_district, &mut turn.draws);
    Named { place, customer, name: None }
}

/// Looks for the customer by last name, if that is what is known; gives back the customer's number
/// as an argument.
pub(super) fn find<'a>(named: &Named, into: &mut ProcessBuilder<'_>) -> Argument<'a> {
    let Some(name) = named.name else { return int(named.customer) };
    let District { warehouse, number: district } = named.place;
    let last = last_name(name);
    let arguments = [int(warehouse), int(district), text(&last)];
    let key = named.place.key(named.customer);
    let place = into.issue(Query::CustomerByName.issue(), key, &arguments).last();
    Taken { pick: Pick::Middle, ..Taken::first(place, CUSTOMER) }.into()
}

/// Adds one Payment.
///
/// Sums are changed before they are read, which locks each row until the end. A customer's payment
/// is numbered by the count of payments after it, which the lock makes its own.
pub(super) fn add(turn: &mut Turn<'_>, into: &mut ProcessBuilder<'_>) {
    let place = turn.district();
    let is_remote = turn.happens(REMOTE);
    let of_customer = match is_remote {
        true if turn.rows.warehouses > 1 => {
            District { warehouse: turn.other_warehouse(), number: turn.draws.below(DISTRICTS) + 1 }
        }
        _ => place,
    };
    let named = draw_customer(of_customer, turn);
    let amount = turn.draws.below(499_901) as i64 + 100;
    let (warehouse, district) = (int(place.warehouse), int(place.number));
    let key = keyed(&[place.warehouse, place.number]);
    into.issue(Query::WarehousePaid.issue(), place.warehouse, &[cents(amount), warehouse]);
    into.issue(Query::WarehouseAddress.issue(), place.warehouse, &[warehouse]);
    into.issue(Query::DistrictPaid.issue(), key, &[cents(amount), warehouse, district]);
    into.issue(Query::DistrictAddress.issue(), key, &[warehouse, district]);
    let customer = find(&named, into);
    let read = add_customer(&named, customer, place, amount, turn, into);
    let note = turn.rows.paid_at(place);
    let row = [
        int(of_customer.warehouse),
        int(of_customer.number),
        customer,
        Taken::first(read, PAYMENTS).into(),
        warehouse,
        district,
        moment(turn.at),
        cents(amount),
        text(&note),
    ];
    into.issue(Query::HistoryInsert.issue(), of_customer.key(named.customer), &row).commit();
}

/// Changes the customer, then reads it; gives back the place of the latter.
fn add_customer(
    named: &Named,
    customer: Argument<'_>,
    paid_at: District,
    amount: i64,
    turn: &Turn<'_>,
    into: &mut ProcessBuilder<'_>,
) -> u16 {
    let Named { place, customer: number, .. } = *named;
    let customers = &turn.rows.customers;
    let key = place.key(number);
    let (warehouse, district) = (int(place.warehouse), int(place.number));
    let who = [warehouse, district, customer];
    if !customers.has_bad_credit(place, number) {
        let change = [cents(amount), cents(amount), warehouse, district, customer];
        into.issue(Query::CustomerPaid.issue(), key, &change);
        return into.issue(Query::Customer.issue(), key, &who).last();
    }
    let mut notes = format!(
        "{number} {} {} {} {} {}.{:02}|",
        place.number,
        place.warehouse,
        paid_at.number,
        paid_at.warehouse,
        amount / 100,
        amount % 100
    );
    notes += &customers.notes(place, number);
    notes.truncate(NOTES_MOST);
    let change = [cents(amount), cents(amount), text(&notes), warehouse, district, customer];
    into.issue(Query::BadCustomerPaid.issue(), key, &change);
    into.issue(Query::BadCustomer.issue(), key, &who).last()
}

//! The rows that a load writes (clause 4.3.3).

use assay_model::script::ProcessBuilder;
use assay_model::seed::Stream;
use assay_model::{Argument, Datum, Draws, Seed};

use super::DISTRICTS;
use super::customer::Customers;
use super::district::{District, STREAMS, keyed};
use super::query::Query;
use super::spec::TpccSpec;
use crate::distribution::Scatter;
use crate::script::program::{cents, decimal, int, text};
use crate::script::text::{ALPHANUMERICS, DIGITS, LETTERS, random};

/// What every date of the load is: 2026-01-01 00:00:00 UTC in microseconds.
pub(super) const LOADED_AT: i64 = 1_767_225_600_000_000;

/// Lines of an order, at least and at most.
pub(super) const LINES_LEAST: u64 = 5;
/// As [`LINES_LEAST`].
pub(super) const LINES_MOST: u64 = 15;

/// A moment in microseconds since 1970 as an argument.
pub(super) fn moment(micros: i64) -> Argument<'static> {
    Argument::Given(Datum::Timestamp(micros))
}

/// Every row of a load as a function of its key.
#[derive(Clone, Debug)]
pub(super) struct Rows {
    pub warehouses: u64,
    pub items: u64,
    pub orders: u64,
    pub customers: Customers,
    orderers: Scatter,
    item: Stream,
    stock: Stream,
    warehouse: Stream,
    district: Stream,
    customer: Stream,
    order: Stream,
    line: Stream,
}

/// How many rows each relation has, lines at their mean.
pub(super) fn by_relation(spec: &TpccSpec) -> Vec<(&'static str, u64)> {
    let dataset = &spec.dataset;
    let districts = dataset.warehouses * DISTRICTS;
    let customers = districts * dataset.customers_per_district;
    let orders = districts * dataset.orders_per_district;
    vec![
        ("warehouse", dataset.warehouses),
        ("district", districts),
        ("customer", customers),
        ("history", customers),
        ("orders", orders),
        // The last three of ten orders were not delivered yet.
        ("new_order", orders * 3 / 10),
        ("order_line", orders * (LINES_LEAST + LINES_MOST) / 2),
        ("item", dataset.items),
        ("stock", dataset.warehouses * dataset.items),
    ]
}

impl Rows {
    pub(super) fn new(spec: &TpccSpec, seed: Seed) -> Rows {
        let seed = Seed(spec.dataset.seed.unwrap_or(seed.0));
        let customers = spec.dataset.customers_per_district;
        let stream = |place: u64| seed.stream(STREAMS + place);
        Rows {
            warehouses: spec.dataset.warehouses,
            items: spec.dataset.items,
            orders: spec.dataset.orders_per_district,
            customers: Customers::new(customers, seed),
            orderers: Scatter::new(customers),
            item: stream(0),
            stock: stream(1),
            warehouse: stream(2),
            district: stream(3),
            customer: stream(4),
            order: stream(5),
            line: stream(6),
        }
    }

    /// How many rows there are, with the mean number of lines in every order.
    pub(super) fn count(&self) -> u64 {
        let lines = (LINES_LEAST + LINES_MOST) / 2;
        let of_district =
            1 + 2 * self.customers.of_district + self.orders * (1 + lines) + self.undelivered();
        self.items + self.warehouses * (1 + self.items + DISTRICTS * of_district)
    }

    /// How many orders of a district are not delivered yet: the last three of ten.
    pub(super) fn undelivered(&self) -> u64 {
        self.orders * 3 / 10
    }

    fn order_index(&self, place: District, order: u64) -> u64 {
        place.index() * self.orders + order - 1
    }

    fn order_draws(&self, place: District, order: u64) -> Draws {
        self.order.draws(self.order_index(place, order))
    }

    /// Who ordered: the customers of a district in an order of their own, again from the first
    /// where there are more orders than customers.
    pub(super) fn orderer(&self, place: District, order: u64) -> u64 {
        let count = self.customers.of_district;
        let turn = self.district.draws(place.index() + (1 << 40)).below(count);
        self.orderers.place((order - 1 + turn) % count) + 1
    }

    pub(super) fn add_item(&self, id: u64, into: &mut ProcessBuilder<'_>) {
        let draws = &mut self.item.draws(id);
        let image = draws.below(10_000) + 1;
        let name = random(ALPHANUMERICS, 14, 24, draws);
        let price = draws.below(9_901) as i64 + 100;
        let notes = brand(draws);
        let row = [int(id), int(image), text(&name), cents(price), text(&notes)];
        into.issue(Query::ItemInsert.issue(), id, &row);
    }

    pub(super) fn add_stock(&self, warehouse: u64, item: u64, into: &mut ProcessBuilder<'_>) {
        let draws = &mut self.stock.draws((warehouse - 1) * self.items + item - 1);
        let quantity = draws.below(91) + 10;
        let districts: [String; 10] = std::array::from_fn(|_| random(ALPHANUMERICS, 24, 24, draws));
        let notes = brand(draws);
        let mut row = vec![int(warehouse), int(item), int(quantity)];
        row.extend(districts.iter().map(|district| text(district)));
        row.extend([int(0), int(0), int(0), text(&notes)]);
        into.issue(Query::StockInsert.issue(), keyed(&[warehouse, item]), &row);
    }

    /// W_NAME with the draws that follow.
    fn warehouse_name(&self, id: u64) -> (String, Draws) {
        let mut draws = self.warehouse.draws(id);
        (random(ALPHANUMERICS, 6, 10, &mut draws), draws)
    }

    /// D_NAME with the draws that follow.
    fn district_name(&self, place: District) -> (String, Draws) {
        let mut draws = self.district.draws(place.index());
        (random(ALPHANUMERICS, 6, 10, &mut draws), draws)
    }

    /// H_DATA of a payment at a district (clause 2.5.2.2).
    pub(super) fn paid_at(&self, place: District) -> String {
        format!("{}    {}", self.warehouse_name(place.warehouse).0, self.district_name(place).0)
    }

    pub(super) fn add_warehouse(&self, id: u64, into: &mut ProcessBuilder<'_>) {
        let (name, mut draws) = self.warehouse_name(id);
        let draws = &mut draws;
        let address = Address::new(draws);
        let tax = draws.below(2_001) as i64;
        let mut row = vec![int(id), text(&name)];
        row.extend(address.arguments());
        row.extend([decimal(tax, 4), cents(30_000_000)]);
        into.issue(Query::WarehouseInsert.issue(), id, &row);
    }

    pub(super) fn add_district(&self, place: District, into: &mut ProcessBuilder<'_>) {
        let (name, mut draws) = self.district_name(place);
        let draws = &mut draws;
        let address = Address::new(draws);
        let tax = draws.below(2_001) as i64;
        let mut row = vec![int(place.warehouse), int(place.number), text(&name)];
        row.extend(address.arguments());
        row.extend([decimal(tax, 4), cents(3_000_000), int(self.orders + 1)]);
        into.issue(Query::DistrictInsert.issue(), keyed(&[place.warehouse, place.number]), &row);
    }

    /// The customer with the one payment that every customer has made.
    pub(super) fn add_customer(&self, place: District, id: u64, into: &mut ProcessBuilder<'_>) {
        let customers = &self.customers;
        let draws = &mut self.customer.draws(customers.index(place, id));
        let (first, last) = (customers.first(place, id), customers.last(place, id));
        let address = Address::new(draws);
        let phone = random(DIGITS, 16, 16, draws);
        let credit = if customers.has_bad_credit(place, id) { "BC" } else { "GC" };
        let discount = draws.below(5_001) as i64;
        let notes = customers.notes(place, id);
        let (warehouse, district) = (int(place.warehouse), int(place.number));
        let mut row = vec![warehouse, district, int(id), text(&first), text("OE"), text(&last)];
        row.extend(address.arguments());
        row.extend([text(&phone), moment(LOADED_AT), text(credit), cents(5_000_000)]);
        row.extend([decimal(discount, 4), cents(-1_000), cents(1_000), int(1), int(0)]);
        row.push(text(&notes));
        into.issue(Query::CustomerInsert.issue(), place.key(id), &row);
        let paid = random(ALPHANUMERICS, 12, 24, draws);
        let history = [
            warehouse,
            district,
            int(id),
            int(1),
            warehouse,
            district,
            moment(LOADED_AT),
            cents(1_000),
            text(&paid),
        ];
        into.issue(Query::HistoryInsert.issue(), place.key(id), &history);
    }

    /// The order with its lines, and the note that it is not delivered yet, if so.
    pub(super) fn add_order(&self, place: District, id: u64, into: &mut ProcessBuilder<'_>) {
        let is_delivered = id <= self.orders - self.undelivered();
        let draws = &mut self.order_draws(place, id);
        let lines = draws.below(LINES_MOST - LINES_LEAST + 1) + LINES_LEAST;
        let carrier = match is_delivered {
            true => int(draws.below(10) + 1),
            false => Argument::Given(Datum::Null),
        };
        let (warehouse, district) = (int(place.warehouse), int(place.number));
        let orderer = int(self.orderer(place, id));
        let entry = moment(LOADED_AT);
        let row = [warehouse, district, int(id), orderer, entry, carrier, int(lines), int(1)];
        into.issue(Query::OrderInsert.issue(), place.key(id), &row);
        for number in 1..=lines {
            self.add_line(place, id, number, is_delivered, into);
        }
        if !is_delivered {
            let row = [warehouse, district, int(id)];
            into.issue(Query::NewOrderInsert.issue(), place.key(id), &row);
        }
    }

    fn add_line(
        &self,
        place: District,
        order: u64,
        number: u64,
        is_delivered: bool,
        into: &mut ProcessBuilder<'_>,
    ) {
        let index = self.order_index(place, order) * (LINES_MOST + 1) + number;
        let draws = &mut self.line.draws(index);
        let item = draws.below(self.items) + 1;
        let amount = draws.below(999_999) as i64 + 1;
        let notes = random(ALPHANUMERICS, 24, 24, draws);
        let (delivered, amount) = match is_delivered {
            true => (moment(LOADED_AT), 0),
            false => (Argument::Given(Datum::Null), amount),
        };
        let row = [
            int(place.warehouse),
            int(place.number),
            int(order),
            int(number),
            int(item),
            int(place.warehouse),
            delivered,
            int(5),
            cents(amount),
            text(&notes),
        ];
        into.issue(Query::LineInsert.issue(), place.key(order), &row);
    }
}

/// I_DATA or S_DATA: every tenth holds ORIGINAL somewhere.
fn brand(draws: &mut Draws) -> String {
    const ORIGINAL: &str = "ORIGINAL";
    let mut notes = random(ALPHANUMERICS, 26, 50, draws);
    if draws.below(10) == 0 {
        let begin = draws.below((notes.len() - ORIGINAL.len() + 1) as u64) as usize;
        notes.replace_range(begin..begin + ORIGINAL.len(), ORIGINAL);
    }
    notes
}

/// An address (clause 4.3.2.7 for the last part).
struct Address {
    streets: [String; 2],
    city: String,
    state: String,
    zip: String,
}

impl Address {
    fn new(draws: &mut Draws) -> Address {
        let mut part = || random(ALPHANUMERICS, 10, 20, draws);
        let (streets, city) = ([part(), part()], part());
        let state = random(LETTERS, 2, 2, draws);
        let zip = random(DIGITS, 4, 4, draws) + "11111";
        Address { streets, city, state, zip }
    }

    fn arguments(&self) -> [Argument<'_>; 5] {
        let [first, second] = &self.streets;
        [first, second, &self.city, &self.state, &self.zip].map(|part| text(part))
    }
}

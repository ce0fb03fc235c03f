//! The load: processes of one transaction of a bounded number of rows each.

use assay_model::Nanos;
use assay_model::script::ProcessBuilder;

use super::DISTRICTS;
use super::customer::district_of;
use super::district::District;
use super::rows::{LINES_MOST, Rows};
use crate::script::program::{Program, locate};

/// Rows of a transaction that writes items, or stocks of one warehouse.
const ROWS: u64 = 100;
/// Customers of one transaction, each with one payment.
const CUSTOMERS: u64 = 50;
/// Orders of one transaction, each with its lines.
const ORDERS: u64 = 10;
/// The most that one transaction holds, its end included.
const WIDTH: u64 = ORDERS * (LINES_MOST + 2) + 1;

/// Number of the transaction type.
const LOAD: u16 = 1;

/// Items first, then warehouses with their districts, stocks, customers, orders.
pub(super) struct Load {
    rows: Rows,
}

impl Load {
    pub(super) fn new(rows: Rows) -> Load {
        Load { rows }
    }

    /// How many processes write items, warehouses, stocks, customers, orders.
    fn counts(&self) -> [u64; 5] {
        let rows = &self.rows;
        let districts = rows.warehouses * DISTRICTS;
        [
            rows.items.div_ceil(ROWS),
            rows.warehouses,
            rows.warehouses * rows.items.div_ceil(ROWS),
            districts * rows.customers.of_district.div_ceil(CUSTOMERS),
            districts * rows.orders.div_ceil(ORDERS),
        ]
    }
}

/// The numbers of a chunk of rows that are counted from 1.
fn chunk(number: u64, size: u64, rows: u64) -> std::ops::RangeInclusive<u64> {
    number * size + 1..=((number + 1) * size).min(rows)
}

impl Program for Load {
    fn len(&self) -> Option<u64> {
        Some(self.counts().iter().sum())
    }

    fn width(&self) -> u64 {
        WIDTH
    }

    fn process(&self, process: u64, into: &mut ProcessBuilder<'_>) {
        let rows = &self.rows;
        let (part, place) = locate(process, self.counts());
        let split = |chunks: u64| (place / chunks, place % chunks);
        into.transaction(LOAD, Nanos::ZERO);
        match part {
            0 => chunk(place, ROWS, rows.items).for_each(|item| rows.add_item(item, into)),
            1 => {
                let warehouse = place + 1;
                rows.add_warehouse(warehouse, into);
                for district in 1..=DISTRICTS {
                    rows.add_district(District { warehouse, number: district }, into);
                }
            }
            2 => {
                let (warehouse, part) = split(rows.items.div_ceil(ROWS));
                chunk(part, ROWS, rows.items)
                    .for_each(|item| rows.add_stock(warehouse + 1, item, into));
            }
            3 => {
                let customers = rows.customers.of_district;
                let (district, part) = split(customers.div_ceil(CUSTOMERS));
                chunk(part, CUSTOMERS, customers)
                    .for_each(|customer| rows.add_customer(district_of(district), customer, into));
            }
            _ => {
                let (district, part) = split(rows.orders.div_ceil(ORDERS));
                chunk(part, ORDERS, rows.orders)
                    .for_each(|order| rows.add_order(district_of(district), order, into));
            }
        }
        into.commit();
    }
}

//! The load: processes of one transaction of a bounded number of rows each.

use assay_model::Nanos;
use assay_model::script::ProcessBuilder;

use super::DISTRICTS;
use super::customer::district_of;
use super::district::District;
use super::rows::{LINES_MOST, Rows};
use crate::script::program::Program;

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

/// What one process of the load writes.
enum Part {
    Items(u64),
    Warehouse(u64),
    Stocks { warehouse: u64, chunk: u64 },
    Customers { district: District, chunk: u64 },
    Orders { district: District, chunk: u64 },
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

    fn part(&self, process: u64) -> Part {
        let counts = self.counts();
        let mut left = process;
        let mut block = 0;
        while left >= counts[block] {
            left -= counts[block];
            block += 1;
        }
        let split = |of_one: u64| (left / of_one, left % of_one);
        match block {
            0 => Part::Items(left),
            1 => Part::Warehouse(left + 1),
            2 => {
                let (warehouse, chunk) = split(self.rows.items.div_ceil(ROWS));
                Part::Stocks { warehouse: warehouse + 1, chunk }
            }
            3 => {
                let (index, chunk) = split(self.rows.customers.of_district.div_ceil(CUSTOMERS));
                Part::Customers { district: district_of(index), chunk }
            }
            _ => {
                let (index, chunk) = split(self.rows.orders.div_ceil(ORDERS));
                Part::Orders { district: district_of(index), chunk }
            }
        }
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
        into.transaction(LOAD, Nanos::ZERO);
        match self.part(process) {
            Part::Items(part) => {
                chunk(part, ROWS, rows.items).for_each(|item| rows.add_item(item, into));
            }
            Part::Warehouse(warehouse) => {
                rows.add_warehouse(warehouse, into);
                for district in 1..=DISTRICTS {
                    rows.add_district(District { warehouse, number: district }, into);
                }
            }
            Part::Stocks { warehouse, chunk: part } => {
                chunk(part, ROWS, rows.items)
                    .for_each(|item| rows.add_stock(warehouse, item, into));
            }
            Part::Customers { district, chunk: part } => {
                chunk(part, CUSTOMERS, rows.customers.of_district)
                    .for_each(|customer| rows.add_customer(district, customer, into));
            }
            Part::Orders { district, chunk: part } => {
                chunk(part, ORDERS, rows.orders)
                    .for_each(|order| rows.add_order(district, order, into));
            }
        }
        into.commit();
    }
}

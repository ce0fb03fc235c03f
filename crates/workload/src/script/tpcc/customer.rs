//! Properties of a customer that follow from its number alone, without a query.

use assay_model::Seed;
use assay_model::seed::Stream;

use super::DISTRICTS;
use super::district::{District, STREAMS};
use super::draw::{A_LAST, constant_of_load, last_name, nurand};
use crate::script::text::{ALPHANUMERICS, LETTERS, random};

/// Customers up to this number of a district have all last names in turn (clause 4.3.3.1).
const NAMED_IN_TURN: u64 = 1000;

/// The customers of all districts, as a load writes them.
#[derive(Clone, Debug)]
pub(super) struct Customers {
    /// How many a district has.
    pub of_district: u64,
    last: u64,
    names: Stream,
    firsts: Stream,
    credits: Stream,
    notes: Stream,
}

impl Customers {
    pub(super) fn new(of_district: u64, rows: Seed) -> Customers {
        Customers {
            of_district,
            last: constant_of_load(rows),
            names: rows.stream(STREAMS + 0x10),
            firsts: rows.stream(STREAMS + 0x11),
            credits: rows.stream(STREAMS + 0x12),
            notes: rows.stream(STREAMS + 0x13),
        }
    }

    /// The number of a customer among those of all districts, from 0.
    pub(super) fn index(&self, district: District, customer: u64) -> u64 {
        district.index() * self.of_district + customer - 1
    }

    /// The number of the last name.
    fn name(&self, district: District, customer: u64) -> u64 {
        if customer <= NAMED_IN_TURN {
            return customer - 1;
        }
        nurand(A_LAST, self.last, 0, 999, &mut self.names.draws(self.index(district, customer)))
    }

    /// C_LAST.
    pub(super) fn last(&self, district: District, customer: u64) -> String {
        last_name(self.name(district, customer))
    }

    /// C_FIRST: capital letters only, so that every store sorts them alike.
    pub(super) fn first(&self, district: District, customer: u64) -> String {
        random(LETTERS, 8, 16, &mut self.firsts.draws(self.index(district, customer)))
    }

    /// Whether C_CREDIT is BC, as for one of ten.
    pub(super) fn has_bad_credit(&self, district: District, customer: u64) -> bool {
        self.credits.draws(self.index(district, customer)).below(10) == 0
    }

    /// C_DATA, as loaded.
    pub(super) fn notes(&self, district: District, customer: u64) -> String {
        random(ALPHANUMERICS, 300, 500, &mut self.notes.draws(self.index(district, customer)))
    }

    /// The customer that a transaction finds by the last name with this number (clause 2.5.2.2):
    /// row n/2 rounded up of those with the name, by first name.
    ///
    /// `None` if there is no such customer.
    pub(super) fn middle(&self, district: District, name: u64) -> Option<u64> {
        let named =
            (1..=self.of_district).filter(|customer| self.name(district, *customer) == name);
        let mut found: Vec<(String, u64)> =
            named.map(|customer| (self.first(district, customer), customer)).collect();
        found.sort_unstable();
        let middle = found.len().checked_sub(1)? / 2;
        Some(found[middle].1)
    }
}

/// The district with this number among those of all warehouses, from 0.
pub(super) fn district_of(index: u64) -> District {
    District { warehouse: index / DISTRICTS + 1, number: index % DISTRICTS + 1 }
}

//! The load: processes of one transaction of a bounded number of rows each.

use std::collections::HashMap;

use assay_model::script::ProcessBuilder;
use assay_model::{Nanos, Seed};

use super::query::{FmkeQuery, Owner, Queries};
use super::rows::Rows;
use super::spec::{FmkeLayout, FmkeSpec, Through};
use crate::script::program::{Program, int, locate, text};

/// Rows of a transaction that writes persons or places.
const ROWS: u64 = 100;
/// Prescriptions of a transaction.
const PRESCRIPTIONS: u64 = 25;
/// The most that one transaction holds, its end included.
const WIDTH: u64 = ROWS + 1;

/// Number of the transaction type.
const LOAD: u16 = 1;

/// Patients first, then facilities, pharmacies, staff, prescriptions.
pub(super) struct Load {
    layout: FmkeLayout,
    through: Through,
    queries: Queries,
    rows: Rows,
    /// The packed lists that are not empty, by their owners.
    packed: HashMap<(Owner, u64), String>,
}

impl Load {
    pub(super) fn new(spec: &FmkeSpec, seed: Seed) -> Load {
        let rows = Rows::new(spec.population(), seed);
        let mut packed: HashMap<(Owner, u64), String> = HashMap::new();
        if spec.layout == FmkeLayout::NestedPacked && spec.through == Through::Store {
            for number in 1..=rows.population.prescriptions {
                let prescription = rows.prescription(number);
                for owner in Owner::ALL {
                    let list = packed.entry((owner, prescription.owner(owner))).or_default();
                    *list += &prescription.packed();
                }
            }
        }
        let queries = Queries::of(spec);
        Load { layout: spec.layout, through: spec.through, queries, rows, packed }
    }

    /// What is inserted in which order, with how many of it there are.
    fn sorts(&self) -> [(Option<FmkeQuery>, u64); 5] {
        let of = &self.rows.population;
        [
            (Some(FmkeQuery::PatientInsert), of.patients),
            (Some(FmkeQuery::FacilityInsert), of.facilities),
            (Some(FmkeQuery::PharmacyInsert), of.pharmacies),
            (Some(FmkeQuery::StaffInsert), of.staff),
            (None, of.prescriptions),
        ]
    }

    /// How many transactions write each sort.
    fn chunks(&self) -> [u64; 5] {
        self.sorts().map(|(query, rows)| rows.div_ceil(self.chunk(query)))
    }

    /// How many rows one transaction of a sort writes; a request to a server is one row.
    fn chunk(&self, query: Option<FmkeQuery>) -> u64 {
        match (self.through, query) {
            (Through::Server, _) => 1,
            (Through::Store, Some(_)) => ROWS,
            (Through::Store, None) => PRESCRIPTIONS,
        }
    }

    fn entity(&self, query: FmkeQuery, number: u64, into: &mut ProcessBuilder<'_>) {
        let (sort, owner, texts) = match query {
            FmkeQuery::PatientInsert => (0, Some(Owner::Patient), 2),
            FmkeQuery::PharmacyInsert => (1, Some(Owner::Pharmacy), 2),
            FmkeQuery::StaffInsert => (2, Some(Owner::Staff), 3),
            _ => (3, None, 3),
        };
        let values = self.rows.texts(sort, number);
        let mut arguments = vec![int(number)];
        arguments.extend(values[..texts].iter().map(|value| text(value)));
        let has_list = self.layout == FmkeLayout::NestedPacked && self.through == Through::Store;
        if let Some(owner) = owner.filter(|_| has_list) {
            arguments.push(text(self.packed.get(&(owner, number)).map_or("", String::as_str)));
        }
        into.issue(self.queries.issue(query), number, &arguments);
    }

    fn prescription(&self, number: u64, into: &mut ProcessBuilder<'_>) {
        let prescription = self.rows.prescription(number);
        prescription.insert(&self.queries, into);
        if self.through == Through::Store && self.layout != FmkeLayout::NestedPacked {
            for owner in Owner::ALL {
                prescription.add_to_list(owner, self.layout, &self.queries, into);
            }
        }
    }
}

impl Program for Load {
    fn len(&self) -> Option<u64> {
        Some(self.chunks().iter().sum())
    }

    fn width(&self) -> u64 {
        WIDTH
    }

    fn process(&self, process: u64, into: &mut ProcessBuilder<'_>) {
        let (sort, place) = locate(process, self.chunks());
        let (query, rows) = self.sorts()[sort];
        let size = self.chunk(query);
        into.transaction(LOAD, Nanos::ZERO);
        for number in place * size + 1..=((place + 1) * size).min(rows) {
            match query {
                Some(query) => self.entity(query, number, into),
                None => self.prescription(number, into),
            }
        }
        into.commit();
    }
}

//! The rows of FMKe, and how a process writes a prescription.

use assay_model::script::ProcessBuilder;
use assay_model::seed::Stream;
use assay_model::{Argument, Draws, Seed};

use super::query::{FmkeQuery, Owner, Queries};
use super::spec::{FmkeLayout, Population};
use crate::distribution::Zipf;
use crate::plan::streams;
use crate::script::program::{int, text};
use crate::script::text::{ALPHANUMERICS, random};

/// Where the streams of FMKe begin.
pub(super) const STREAMS: u64 = streams::SCRIPTS + 0x500;

/// The date of processing of a prescription that was not processed.
pub(super) const NOT_PROCESSED: &str = "undefined";

/// A prescription as it is created.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Prescription {
    pub number: u64,
    pub patient: u64,
    pub prescriber: u64,
    pub pharmacy: u64,
    pub date: String,
    /// Names, a comma between them.
    pub drugs: String,
}

impl Prescription {
    /// Who has it in a list.
    pub(super) fn owner(&self, owner: Owner) -> u64 {
        match owner {
            Owner::Patient => self.patient,
            Owner::Pharmacy => self.pharmacy,
            Owner::Staff => self.prescriber,
        }
    }

    /// Its entry in a packed list: a line of the columns of [`FmkeQuery::PrescriptionInsert`].
    pub(super) fn packed(&self) -> String {
        let Prescription { number, patient, prescriber, pharmacy, date, drugs } = self;
        format!("{number}|{patient}|{prescriber}|{pharmacy}|{date}|{NOT_PROCESSED}|{drugs}|0\n")
    }

    /// Inserts the prescription itself.
    pub(super) fn insert(&self, queries: &Queries, into: &mut ProcessBuilder<'_>) {
        into.issue(queries.issue(FmkeQuery::PrescriptionInsert), self.number, &self.columns());
    }

    fn columns(&self) -> [Argument<'_>; 8] {
        [
            int(self.number),
            int(self.patient),
            int(self.prescriber),
            int(self.pharmacy),
            text(&self.date),
            text(NOT_PROCESSED),
            text(&self.drugs),
            int(0),
        ]
    }

    /// Adds it to the list of `owner`.
    pub(super) fn add_to_list(
        &self,
        owner: Owner,
        layout: FmkeLayout,
        queries: &Queries,
        into: &mut ProcessBuilder<'_>,
    ) {
        let (query, number) = (queries.issue(FmkeQuery::ListAdd(owner)), self.owner(owner));
        match layout {
            FmkeLayout::Normalised => into.issue(query, number, &[int(number), int(self.number)]),
            FmkeLayout::Nested => {
                let columns = self.columns();
                let mut arguments = [int(number); 9];
                arguments[1..].copy_from_slice(&columns);
                into.issue(query, number, &arguments)
            }
            FmkeLayout::NestedPacked => {
                into.issue(query, number, &[text(&self.packed()), int(number)])
            }
        };
    }
}

/// The rows of a load as functions of their numbers, which are counted from 1.
#[derive(Clone, Debug)]
pub(super) struct Rows {
    pub population: Population,
    texts: Stream,
    prescriptions: Stream,
    patient: Zipf,
}

impl Rows {
    pub(super) fn new(population: Population, seed: Seed) -> Rows {
        Rows {
            population,
            texts: seed.stream(STREAMS),
            prescriptions: seed.stream(STREAMS + 1),
            // Ranks are not scattered: patient 1 has the most.
            patient: Zipf::new(population.patients, 1.0),
        }
    }

    /// Name, address, and speciality or type of row `number` of the sort with number `sort`, as
    /// long as the base64 of 16 to 40, 21 to 40, 9 to 18 random bytes.
    pub(super) fn texts(&self, sort: u64, number: u64) -> [String; 3] {
        let draws = &mut self.texts.draws(sort << 32 | number);
        let mut of = |least: u64, most: u64| {
            let bytes = least + draws.below(most - least + 1);
            let length = bytes.div_ceil(3) * 4;
            random(ALPHANUMERICS, length, length, draws)
        };
        [of(16, 40), of(21, 40), of(9, 18)]
    }

    /// The prescription with this number that a load creates.
    pub(super) fn prescription(&self, number: u64) -> Prescription {
        let draws = &mut self.prescriptions.draws(number);
        let drugs = 1 + draws.below(3);
        let drug = |draws: &mut Draws| random(ALPHANUMERICS, 16, 40, draws);
        let drugs: Vec<String> = (0..drugs).map(|_| drug(draws)).collect();
        Prescription {
            number,
            patient: self.patient.draw(draws) + 1,
            prescriber: draws.below(self.population.staff) + 1,
            pharmacy: draws.below(self.population.pharmacies) + 1,
            date: random(ALPHANUMERICS, 16, 16, draws),
            drugs: drugs.join(","),
        }
    }
}

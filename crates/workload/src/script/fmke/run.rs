//! The run: operations of the application, each a transaction.

use assay_model::script::{ProcessBuilder, QueryRef};
use assay_model::seed::Stream;
use assay_model::{Argument, Arguments, Draws, Nanos, Seed, Taken};

use super::deck::{BLOCK, Card, Deck, LATER};
use super::query::{FmkeQuery, Owner, Queries};
use super::rows::{Prescription, STREAMS};
use super::spec::{FmkeCompat, FmkeLayout, FmkeSpec, Population, Through};
use crate::script::program::{Program, int, text};

/// The most queries of an operation, with its end: a creation.
const WIDTH: u64 = 9;
/// Identifiers of new prescriptions in the repository: so many behind the loaded ones.
const REPO_IDS: u64 = 10_000_000;
/// Drugs have numbers from 1 on.
const DRUGS: u64 = 10;

/// Places of columns in the output of [`FmkeQuery::PrescriptionRead`].
const PATIENT: u16 = 1;
const PRESCRIBER: u16 = 2;
const PHARMACY: u16 = 3;

/// The operations of a run.
pub(super) struct Run {
    layout: FmkeLayout,
    compat: FmkeCompat,
    through: Through,
    population: Population,
    /// The share of changes and reads that others make at about the same time.
    contested: f64,
    queries: Queries,
    deck: Deck,
    seed: u64,
    operations: Stream,
    creations: Stream,
}

impl Run {
    pub(super) fn new(spec: &FmkeSpec, seed: Seed) -> Run {
        Run {
            layout: spec.layout,
            compat: spec.compat,
            through: spec.through,
            population: spec.population(),
            contested: spec.checks.share,
            queries: Queries::of(spec),
            deck: Deck::new(&spec.weights()),
            seed: seed.stream(STREAMS + 2).draws(0).bits(),
            operations: seed.stream(STREAMS + 3),
            creations: seed.stream(STREAMS + 4),
        }
    }

    /// How often each query occurs in one operation, on average: counted over a block.
    pub(super) fn frequencies(&self) -> Vec<f64> {
        let mut frequencies = vec![0.0; self.queries.texts().len()];
        let (mut operations, mut arguments) = (Vec::new(), Arguments::default());
        for process in LATER * BLOCK..(LATER + 1) * BLOCK {
            let mut builder =
                ProcessBuilder::begin(process, WIDTH, &mut operations, &mut arguments);
            self.process(process, &mut builder);
            builder.end();
            let statements = operations.iter().map(|operation| usize::from(operation.statement));
            for place in statements.filter_map(|statement| statement.checked_sub(1)) {
                frequencies[place] += 1.0 / BLOCK as f64;
            }
        }
        frequencies
    }

    /// The prescription that creation number `creation` creates.
    fn created(&self, creation: u64) -> Prescription {
        let draws = &mut self.creations.draws(creation);
        let Population { patients, staff, pharmacies, prescriptions, .. } = self.population;
        let number = match self.compat {
            FmkeCompat::Repo => prescriptions + 1 + draws.below(REPO_IDS),
            FmkeCompat::Corrected | FmkeCompat::Paper => prescriptions + 1 + creation,
        };
        let drugs = 1 + draws.below(3);
        let drugs: Vec<String> = (0..drugs).map(|_| drug(draws)).collect();
        Prescription {
            number,
            patient: draws.below(patients) + 1,
            prescriber: draws.below(staff) + 1,
            pharmacy: draws.below(pharmacies) + 1,
            date: date(draws),
            drugs: drugs.join(","),
        }
    }

    /// The prescription that this operation processes: each is processed once, but for those of
    /// the repository's programs when they have none of their own left.
    fn to_process(&self, card: Card, draws: &mut Draws) -> u64 {
        let Card { block, number, .. } = card;
        let turn = block * self.deck.processed() + number;
        let is_created = |creation| match block.checked_sub(LATER) {
            Some(earlier) => creation < (earlier + 1) * self.deck.created(),
            None => false,
        };
        match self.compat {
            FmkeCompat::Repo if is_created(turn) => self.created(turn).number,
            FmkeCompat::Repo => self.loaded(draws),
            FmkeCompat::Corrected | FmkeCompat::Paper => match block.checked_sub(LATER) {
                Some(earlier) => self.created(earlier * self.deck.created() + number).number,
                None => turn + 1,
            },
        }
    }

    /// The prescription that gets other drugs: a loaded one, which is never processed unless the
    /// repository's programs do so.
    fn to_change(&self, draws: &mut Draws) -> u64 {
        match self.compat {
            FmkeCompat::Repo => self.loaded(draws),
            FmkeCompat::Corrected | FmkeCompat::Paper => {
                let processed = LATER * self.deck.processed();
                processed + 1 + draws.below(self.population.prescriptions - processed)
            }
        }
    }

    /// A prescription that an earlier block has created and that others process now, if this
    /// operation is to be about one; else `another`.
    fn contested(
        &self,
        card: Card,
        draws: &mut Draws,
        another: impl FnOnce(&mut Draws) -> u64,
    ) -> u64 {
        match card.block.checked_sub(LATER) {
            Some(earlier) if self.contested > 0.0 && draws.unit() < self.contested => {
                let of_block = self.deck.processed().clamp(1, self.deck.created());
                self.created(earlier * self.deck.created() + draws.below(of_block)).number
            }
            _ => another(draws),
        }
    }

    fn loaded(&self, draws: &mut Draws) -> u64 {
        draws.below(self.population.prescriptions) + 1
    }

    fn query(&self, query: FmkeQuery) -> QueryRef {
        self.queries.issue(query)
    }

    fn read(&self, query: FmkeQuery, number: u64, into: &mut ProcessBuilder<'_>) -> u16 {
        into.issue(self.query(query), number, &[int(number)]).last()
    }

    /// Reads an owner with its list: `wanted` of it, where the layout has lists by themselves.
    fn list(&self, owner: Owner, wanted: FmkeQuery, number: u64, into: &mut ProcessBuilder<'_>) {
        if self.through == Through::Server {
            return self.issue_list(wanted, number, into);
        }
        self.read(FmkeQuery::OwnerRead(owner), number, into);
        let wanted = match (self.layout, self.compat) {
            (FmkeLayout::NestedPacked, _) => return,
            (FmkeLayout::Nested, FmkeCompat::Repo) => FmkeQuery::ListRead(owner),
            (FmkeLayout::Nested, _) if wanted == FmkeQuery::ListNumbers(owner) => {
                FmkeQuery::ListRead(owner)
            }
            (FmkeLayout::Normalised, FmkeCompat::Repo) => FmkeQuery::ListNumbers(owner),
            _ => wanted,
        };
        self.issue_list(wanted, number, into);
    }

    fn issue_list(&self, wanted: FmkeQuery, number: u64, into: &mut ProcessBuilder<'_>) {
        let arguments = [int(number), int(1)];
        let given = if matches!(wanted, FmkeQuery::ListProcessed(_)) { 2 } else { 1 };
        into.issue(self.query(wanted), number, &arguments[..given]);
    }

    fn create(&self, card: Card, into: &mut ProcessBuilder<'_>) {
        let prescription = self.created(card.block * self.deck.created() + card.number);
        if self.through == Through::Server {
            return prescription.insert(&self.queries, into);
        }
        self.read(FmkeQuery::PrescriptionRead, prescription.number, into);
        for owner in [Owner::Patient, Owner::Staff, Owner::Pharmacy] {
            self.read(FmkeQuery::OwnerRead(owner), prescription.owner(owner), into);
        }
        prescription.insert(&self.queries, into);
        for owner in Owner::ALL {
            prescription.add_to_list(owner, self.layout, &self.queries, into);
        }
    }

    /// Changes a prescription, then its copies; `change` is what they get.
    fn change(&self, number: u64, queries: Change, change: &str, into: &mut ProcessBuilder<'_>) {
        let read = match self.through {
            Through::Store => self.read(FmkeQuery::PrescriptionRead, number, into),
            Through::Server => 0,
        };
        let mut arguments = vec![text(change)];
        arguments.extend(queries.processed.map(int));
        let given = arguments.len();
        arguments.extend([int(number), int(0)]);
        into.issue(self.query(queries.record), number, &arguments);
        if self.through == Through::Server {
            return;
        }
        let owners =
            [(Owner::Patient, PATIENT), (Owner::Pharmacy, PHARMACY), (Owner::Staff, PRESCRIBER)];
        for (owner, column) in owners {
            let of_owner: Argument<'_> = Taken::first(read, column).into();
            match self.layout {
                FmkeLayout::Normalised => {}
                FmkeLayout::Nested => {
                    let copy = self.query((queries.copy)(owner));
                    arguments.truncate(given);
                    arguments.extend([of_owner, int(number)]);
                    into.issue(copy, number, &arguments);
                }
                FmkeLayout::NestedPacked => {
                    let entry = format!("{number}|{}{change}\n", queries.mark);
                    let append = self.query(FmkeQuery::ListAdd(owner));
                    into.issue(append, number, &[text(&entry), of_owner]);
                }
            }
        }
    }
}

/// How a prescription is changed.
struct Change {
    record: FmkeQuery,
    /// What `processed` is set to.
    processed: Option<u64>,
    copy: fn(Owner) -> FmkeQuery,
    /// What an entry of a packed list has before the change.
    mark: char,
}

/// It is processed at a date.
const PROCESS: Change = Change {
    record: FmkeQuery::PrescriptionProcess,
    processed: Some(1),
    copy: FmkeQuery::CopyProcess,
    mark: '!',
};
/// It gets other drugs.
const ADD_DRUGS: Change = Change {
    record: FmkeQuery::PrescriptionAddDrugs,
    processed: None,
    copy: FmkeQuery::CopyAddDrugs,
    mark: '+',
};

/// One of the drugs of the load client.
fn drug(draws: &mut Draws) -> String {
    (1 + draws.below(DRUGS)).to_string()
}

/// A day from 2001 to 2100.
fn date(draws: &mut Draws) -> String {
    let [year, month, day] = [100, 12, 28].map(|of| draws.below(of) + 1);
    format!("{}-{month:02}-{day:02}", 2000 + year)
}

impl Program for Run {
    fn len(&self) -> Option<u64> {
        None
    }

    fn width(&self) -> u64 {
        WIDTH
    }

    fn process(&self, process: u64, into: &mut ProcessBuilder<'_>) {
        let card = self.deck.card(process, self.seed);
        let draws = &mut self.operations.draws(process);
        let Population { patients, staff, pharmacies, .. } = self.population;
        into.transaction(card.operation as u16 + 1, Nanos::ZERO);
        let is_repo = self.compat == FmkeCompat::Repo;
        match card.operation {
            0 => {
                let wanted = FmkeQuery::ListRead(Owner::Pharmacy);
                self.list(Owner::Pharmacy, wanted, draws.below(pharmacies) + 1, into);
            }
            1 if !is_repo => {
                self.read(FmkeQuery::PrescriptionDrugs, self.loaded(draws), into);
            }
            2 => {
                let wanted = FmkeQuery::ListRead(Owner::Staff);
                self.list(Owner::Staff, wanted, draws.below(staff) + 1, into);
            }
            3 => self.create(card, into),
            4 => {
                let wanted = FmkeQuery::ListProcessed(Owner::Pharmacy);
                self.list(Owner::Pharmacy, wanted, draws.below(pharmacies) + 1, into);
            }
            5 => {
                // A server answers with the patient and its list.
                let wanted = match self.through {
                    Through::Store => FmkeQuery::ListNumbers(Owner::Patient),
                    Through::Server => FmkeQuery::OwnerRead(Owner::Patient),
                };
                self.list(Owner::Patient, wanted, draws.below(patients) + 1, into);
            }
            6 => {
                let number = self.contested(card, draws, |draws| self.to_process(card, draws));
                self.change(number, PROCESS, &date(draws), into);
            }
            7 => {
                let number = self.contested(card, draws, |draws| self.to_change(draws));
                self.change(number, ADD_DRUGS, &format!(",{}", drug(draws)), into);
            }
            _ => {
                let number = self.contested(card, draws, |draws| self.loaded(draws));
                self.read(FmkeQuery::PrescriptionRead, number, into);
            }
        }
        into.commit();
    }
}

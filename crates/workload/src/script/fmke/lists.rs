//! One read of each list, when a run is over.

use assay_model::Nanos;
use assay_model::script::{ProcessBuilder, QueryRef};

use super::query::{FmkeQuery, Owner, Queries};
use super::spec::{FmkeLayout, FmkeSpec, Population};
use crate::script::program::{Program, int, locate};

/// Reads every list that there is: those of patients, of pharmacies, of the staff. An application
/// server has no list of a patient alone.
pub(super) struct FinalLists {
    /// The query for the lists of an owner, and how many of these there are.
    lists: Vec<(QueryRef, u64)>,
}

impl FinalLists {
    /// Of a layout whose lists can be judged.
    pub(super) fn new(spec: &FmkeSpec) -> FinalLists {
        let queries = Queries::of(spec);
        let Population { patients, pharmacies, staff, .. } = spec.population();
        let list = |(owner, count): (Owner, u64)| {
            let query = match spec.layout {
                FmkeLayout::Normalised => FmkeQuery::ListNumbers(owner),
                FmkeLayout::Nested | FmkeLayout::NestedPacked => FmkeQuery::ListRead(owner),
            };
            let there = queries.place(query).map(|_| query);
            let served = FmkeQuery::ListRead(owner);
            let query = there.or_else(|| queries.place(served).map(|_| served))?;
            Some((queries.issue(query), count))
        };
        let lists = Owner::ALL.into_iter().zip([patients, pharmacies, staff]);
        FinalLists { lists: lists.filter_map(list).collect() }
    }
}

impl Program for FinalLists {
    fn len(&self) -> Option<u64> {
        Some(self.lists.iter().map(|(_, count)| count).sum())
    }

    fn width(&self) -> u64 {
        2
    }

    fn process(&self, process: u64, into: &mut ProcessBuilder<'_>) {
        let (list, place) = locate(process, self.lists.iter().map(|(_, count)| *count));
        let owner = place + 1;
        into.transaction(1, Nanos::ZERO).issue(self.lists[list].0, owner, &[int(owner)]).commit();
    }
}

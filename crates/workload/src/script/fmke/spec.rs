//! Spec of FMKe.

use assay_model::{Setting, named_enum};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::OPERATIONS;
use super::deck::{BLOCK, Deck};
use crate::script::{ScriptDataset, ScriptName};
use crate::spec::{Problem, check_bounds, number, problem};

/// The most rows of a sort.
const ROWS_MAX: u64 = 1_000_000_000;

/// FMKe.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct FmkeSpec {
    /// Always `fmke`.
    pub workload: ScriptName,
    /// How prescriptions lie in the lists of patients, pharmacies and staff.
    pub layout: FmkeLayout,
    /// Whose FMKe it is.
    pub compat: FmkeCompat,
    /// Whom operations are sent to.
    pub through: Through,
    /// The rows that a load writes.
    pub dataset: FmkeDataset,
    /// How often each operation is issued, in any unit.
    pub operations: FmkeOperations,
    /// What is looked for beside the mix of FMKe.
    pub checks: FmkeChecks,
}

/// What is looked for beside the mix of FMKe.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct FmkeChecks {
    /// Whether what lists show is kept beside the history, so that it can be judged.
    pub verdicts: bool,
    /// This share of the operations that process, add drugs or read a prescription are about one
    /// that others process at about the same time.
    #[serde(with = "number::Share")]
    pub share: f64,
}

named_enum! {
    /// How prescriptions lie in the lists of patients, pharmacies and staff.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "kebab-case")]
    pub enum FmkeLayout {
        /// Lists hold numbers of prescriptions.
        #[default]
        Normalised => "normalised",
        /// Lists hold copies of prescriptions, a row each.
        Nested => "nested",
        /// Lists hold copies of prescriptions in one text in the row of their owner.
        NestedPacked => "nested-packed",
    }
}

impl FmkeLayout {
    /// What a list holds.
    const fn meaning(self) -> &'static str {
        match self {
            FmkeLayout::Normalised => "lists hold numbers of prescriptions",
            FmkeLayout::Nested => "lists hold copies of prescriptions, a row each",
            FmkeLayout::NestedPacked => {
                "lists hold copies of prescriptions, in one text in the row of their owner"
            }
        }
    }
}

/// Whom operations are sent to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Through {
    /// To the store: each operation is a transaction of queries.
    #[default]
    Store,
    /// To an application server: each operation is one query, which stands for a request of its
    /// interface. The server knows the layout.
    Server,
}

/// Whose FMKe it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FmkeCompat {
    /// Each operation does what its name says, and no identifier is used twice.
    #[default]
    Corrected,
    /// What the programs in the repository do: lists are read as numbers only, three operations
    /// are the same, identifiers of new prescriptions collide, processed ones are processed again.
    Repo,
    /// The operations of the paper's table, without the two that it does not have; 5,000 doctors.
    Paper,
}

impl FmkeCompat {
    /// The name as it is written.
    const fn name(self) -> &'static str {
        match self {
            FmkeCompat::Corrected => "corrected",
            FmkeCompat::Repo => "repo",
            FmkeCompat::Paper => "paper",
        }
    }

    /// What it means for the figures.
    const fn meaning(self) -> &'static str {
        match self {
            FmkeCompat::Corrected => {
                "each operation does what its name says, and no number is used twice"
            }
            FmkeCompat::Repo => {
                "as FMKe's own programs: lists are read as numbers only, numbers of new \
                 prescriptions collide, processed ones are processed again"
            }
            FmkeCompat::Paper => "the operations of the paper's table; 5,000 doctors",
        }
    }
}

/// The rows that a load writes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct FmkeDataset {
    /// The sizes that hold unless one of the following is given.
    pub population: PopulationName,
    /// Patients.
    #[serde(with = "number::Whole", skip_serializing_if = "Option::is_none")]
    pub patients: Option<u64>,
    /// Pharmacies.
    #[serde(with = "number::Whole", skip_serializing_if = "Option::is_none")]
    pub pharmacies: Option<u64>,
    /// Members of the staff, who prescribe.
    #[serde(with = "number::Whole", skip_serializing_if = "Option::is_none")]
    pub staff: Option<u64>,
    /// Facilities, which are loaded and never used.
    #[serde(with = "number::Whole", skip_serializing_if = "Option::is_none")]
    pub facilities: Option<u64>,
    /// Prescriptions that are there before the run.
    #[serde(with = "number::Whole", skip_serializing_if = "Option::is_none")]
    pub prescriptions: Option<u64>,
}

/// The sizes that FMKe's populator knows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PopulationName {
    /// A million patients, 10,000 doctors.
    Standard,
    /// 10,000 patients, 1,000 doctors.
    #[default]
    Medium,
    /// 1,000 patients, 500 doctors.
    Small,
    /// 100 patients, 50 doctors.
    Minimal,
}

/// How many rows of each sort there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Population {
    /// Patients.
    pub patients: u64,
    /// Pharmacies.
    pub pharmacies: u64,
    /// Members of the staff.
    pub staff: u64,
    /// Facilities.
    pub facilities: u64,
    /// Prescriptions.
    pub prescriptions: u64,
}

impl Population {
    /// The sizes by their keys, which are the names of the tables as well.
    pub(super) fn sizes(&self) -> [(&'static str, u64); 5] {
        [
            ("patients", self.patients),
            ("pharmacies", self.pharmacies),
            ("staff", self.staff),
            ("facilities", self.facilities),
            ("prescriptions", self.prescriptions),
        ]
    }
}

/// How often each operation is issued, in any unit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[allow(missing_docs, reason = "they are named as in the documentation")]
pub struct FmkeOperations {
    #[serde(with = "number::Share")]
    pub get_pharmacy_prescriptions: f64,
    #[serde(with = "number::Share")]
    pub get_prescription_medication: f64,
    #[serde(with = "number::Share")]
    pub get_staff_prescriptions: f64,
    #[serde(with = "number::Share")]
    pub create_prescription: f64,
    #[serde(with = "number::Share")]
    pub get_processed_prescriptions: f64,
    #[serde(with = "number::Share")]
    pub get_patient: f64,
    #[serde(with = "number::Share")]
    pub process_prescription: f64,
    #[serde(with = "number::Share")]
    pub add_medication: f64,
    #[serde(with = "number::Share")]
    pub get_prescription: f64,
}

impl Default for FmkeSpec {
    fn default() -> FmkeSpec {
        FmkeSpec {
            workload: ScriptName::Fmke,
            layout: FmkeLayout::default(),
            compat: FmkeCompat::default(),
            through: Through::default(),
            dataset: FmkeDataset::default(),
            operations: FmkeOperations::default(),
            checks: FmkeChecks::default(),
        }
    }
}

impl Default for FmkeChecks {
    fn default() -> FmkeChecks {
        FmkeChecks { verdicts: true, share: 0.0 }
    }
}

impl Default for FmkeOperations {
    fn default() -> FmkeOperations {
        FmkeOperations {
            get_pharmacy_prescriptions: 0.27,
            get_prescription_medication: 0.27,
            get_staff_prescriptions: 0.14,
            create_prescription: 0.08,
            get_processed_prescriptions: 0.07,
            get_patient: 0.05,
            process_prescription: 0.04,
            add_medication: 0.04,
            get_prescription: 0.04,
        }
    }
}

impl FmkeSpec {
    /// Which FMKe it is, for reports. Before a server the layout is the server's.
    pub fn settings(&self) -> Vec<Setting> {
        let setting = |name: &str, value: &str, meaning: &str| Setting {
            name: name.to_owned(),
            value: value.to_owned(),
            meaning: meaning.to_owned(),
        };
        let mut settings = vec![setting("FMKe compat", self.compat.name(), self.compat.meaning())];
        if self.through == Through::Store {
            settings.push(setting("FMKe layout", self.layout.name(), self.layout.meaning()));
        }
        settings
    }

    /// Whether a run can be judged: packed lists are texts that nobody reads.
    pub fn is_checked(&self) -> bool {
        self.checks.verdicts && self.layout != FmkeLayout::NestedPacked
    }

    /// How many rows of each sort there are.
    pub fn population(&self) -> Population {
        let FmkeDataset { population, patients, pharmacies, staff, facilities, prescriptions } =
            self.dataset;
        // Patients, pharmacies, staff, facilities, prescriptions.
        let named = match population {
            PopulationName::Standard if self.compat == FmkeCompat::Paper => {
                [1_000_000, 300, 5_000, 50, 5_000]
            }
            PopulationName::Standard => [1_000_000, 300, 10_000, 50, 5_000],
            PopulationName::Medium => [10_000, 300, 1_000, 50, 500],
            PopulationName::Small => [1_000, 300, 500, 100, 100],
            PopulationName::Minimal => [100, 30, 50, 10, 100],
        };
        let given = [patients, pharmacies, staff, facilities, prescriptions];
        let [patients, pharmacies, staff, facilities, prescriptions] =
            std::array::from_fn(|sort| given[sort].unwrap_or(named[sort]));
        Population { patients, pharmacies, staff, facilities, prescriptions }
    }

    /// The weights of [`OPERATIONS`].
    pub fn weights(&self) -> [f64; OPERATIONS.len()] {
        let of = &self.operations;
        let is_paper = self.compat == FmkeCompat::Paper;
        let unless_paper = |weight: f64| if is_paper { 0.0 } else { weight };
        [
            of.get_pharmacy_prescriptions,
            of.get_prescription_medication,
            of.get_staff_prescriptions,
            of.create_prescription,
            of.get_processed_prescriptions,
            unless_paper(of.get_patient),
            of.process_prescription,
            of.add_medication,
            unless_paper(of.get_prescription),
        ]
    }

    /// What load and run must agree on.
    pub(crate) fn describe(&self) -> ScriptDataset {
        let sizes = self.population().sizes();
        let workload = match self.through {
            Through::Store => format!("{} ({})", self.workload.name(), self.layout.name()),
            Through::Server => self.workload.name().to_owned(),
        };
        ScriptDataset::new(workload, &sizes)
    }

    pub(crate) fn find_problem(&self) -> Result<(), Problem> {
        let Population { patients, pharmacies, staff, facilities, prescriptions } =
            self.population();
        check_bounds(&[
            ("dataset.patients", patients, 1, ROWS_MAX),
            ("dataset.pharmacies", pharmacies, 1, ROWS_MAX),
            ("dataset.staff", staff, 1, ROWS_MAX),
            ("dataset.facilities", facilities, 0, ROWS_MAX),
            ("dataset.prescriptions", prescriptions, 1, ROWS_MAX),
        ])?;
        let weights = self.weights();
        if weights.iter().any(|weight| !weight.is_finite() || *weight < 0.0)
            || weights.iter().sum::<f64>() <= 0.0
        {
            let reason = "weights are numbers from 0, one of them above";
            return problem("operations", format!("{weights:?}"), reason);
        }
        let share = self.checks.share;
        if !(0.0..=1.0).contains(&share) {
            return problem("checks.share", share, "it must be from 0 % to 100 %");
        }
        let deck = Deck::new(&weights);
        if share > 0.0 && deck.created() == 0 {
            let reason = "nothing creates prescriptions that they could be about";
            return problem("checks.share", share, reason);
        }
        if self.compat != FmkeCompat::Repo && deck.processed() > deck.created() {
            let reason = format!(
                "a prescription is processed once: of {BLOCK} operations at most as many process \
                 as create one"
            );
            let weight = self.operations.process_prescription;
            return problem("operations.process_prescription", weight, reason);
        }
        let least = deck.least_prescriptions();
        if self.compat != FmkeCompat::Repo && prescriptions < least {
            let reason =
                format!("the first operations process {} of them: at least {least}", least - 1);
            return problem("dataset.prescriptions", prescriptions, reason);
        }
        Ok(())
    }
}

//! Observations: what the answers to queries showed, for the judge of consistency.

/// What a query means to the judge. Only queries of workloads that are made to be judged have one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum QueryRole {
    /// Its answers are not checked.
    #[default]
    Unchecked,
    /// Appends [`written`] to the list of the operation's key.
    Append,
    /// Writes [`written`] to the register of the operation's key.
    Write,
    /// Adds one to the counter of the operation's key.
    Add,
    /// Returns the list of the operation's key: its first column is a text of numbers.
    ReadList,
    /// Returns the number, or the numbers, of the operation's key: the first column of each row.
    Read,
    /// Something with FMKe's prescriptions.
    Prescription(PrescriptionRole),
}

/// What a query of FMKe does with prescriptions. Lists have kinds from 0 to 2: of patients,
/// pharmacies, staff; the operation's key is their owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PrescriptionRole {
    /// Creates the prescription with the number that is the operation's key.
    Create,
    /// Adds the prescription that its transaction creates to a list of this kind.
    AddEntry(u8),
    /// Creates it together with its entries, as an application server does: the owners of the lists
    /// are the arguments at [`OWNER_ARGUMENTS`], which are observed.
    CreateWithEntries,
    /// Returns the numbers of a list of this kind: the first column of each row.
    ReadEntries(u8),
    /// As [`PrescriptionRole::ReadEntries`], those which were processed.
    ReadProcessed(u8),
    /// Reads the prescription with the number that is the operation's key.
    Read,
    /// Marks it as processed unless it is.
    Process,
    /// Adds drugs to it unless it is processed.
    AddDrugs,
}

/// Places of the owners among the arguments of a creation, by the kinds of their lists: number,
/// patient, prescriber, pharmacy.
pub const OWNER_ARGUMENTS: [usize; 3] = [1, 3, 2];

impl QueryRole {
    /// Whether its rows are observed.
    pub const fn reads(self) -> bool {
        matches!(
            self,
            QueryRole::ReadList
                | QueryRole::Read
                | QueryRole::Prescription(
                    PrescriptionRole::ReadEntries(_) | PrescriptionRole::ReadProcessed(_)
                )
        )
    }

    /// Whether its arguments are observed: what it writes is in no other operation.
    pub const fn shows_arguments(self) -> bool {
        matches!(self, QueryRole::Prescription(PrescriptionRole::CreateWithEntries))
    }

    /// Whether it writes a value that no other operation of the run writes.
    pub const fn writes_once(self) -> bool {
        matches!(self, QueryRole::Append | QueryRole::Write)
    }
}

/// One value that an operation returned, or was given where its role says so; a list of values has
/// one of these for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ObservedValue {
    /// The operation.
    pub index: u64,
    /// Place among the values of the operation, from 0.
    pub item: u32,
    /// The record.
    pub key: u64,
    /// The value; `None` if it is no whole number, so that no operation can have written it.
    pub value: Option<i64>,
}

/// The number that operation `index` appends or writes: unique in a run, never 0.
pub const fn written(index: u64) -> i64 {
    (index & (i64::MAX as u64 >> 1)) as i64 + 1
}

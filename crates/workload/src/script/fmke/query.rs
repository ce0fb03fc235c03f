//! Queries of FMKe in SQL.

use assay_model::observed::PrescriptionRole;
use assay_model::script::QueryRef;
use assay_model::{Kind, Named, QueryRole};

use super::spec::{FmkeLayout, FmkeSpec, Through};

/// Who has a list of prescriptions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Owner {
    /// Whom it is for.
    Patient,
    /// Where it is processed.
    Pharmacy,
    /// Who prescribed it.
    Staff,
}

impl Owner {
    /// All of them, in the order of their numbers.
    pub const ALL: [Owner; 3] = [Owner::Patient, Owner::Pharmacy, Owner::Staff];

    /// The relation of the lists.
    pub const fn list(self) -> &'static str {
        match self {
            Owner::Patient => "patient_prescriptions",
            Owner::Pharmacy => "pharmacy_prescriptions",
            Owner::Staff => "staff_prescriptions",
        }
    }
}

/// What a query does, in whichever layout. Arguments come in the order in which they are named.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FmkeQuery {
    /// A new patient: number, name, address; where lists are packed, an empty text, here and below.
    PatientInsert,
    /// A new pharmacy: number, name, address.
    PharmacyInsert,
    /// A new member of the staff: number, name, address, speciality.
    StaffInsert,
    /// A new facility: number, name, address, type.
    FacilityInsert,
    /// Other name and address of the patient with this number.
    PatientUpdate,
    /// Other name and address of the pharmacy with this number.
    PharmacyUpdate,
    /// Other name, address and speciality of the member of the staff with this number.
    StaffUpdate,
    /// Other name, address and type of the facility with this number.
    FacilityUpdate,
    /// The owner with this number: its number, then its texts; the packed list last.
    OwnerRead(Owner),
    /// The facility with this number.
    FacilityRead,
    /// A new prescription: number, patient, prescriber, pharmacy, date, date of processing, drugs,
    /// whether it was processed.
    PrescriptionInsert,
    /// The prescription with this number: the columns of [`FmkeQuery::PrescriptionInsert`].
    PrescriptionRead,
    /// The drugs of the prescription with this number.
    PrescriptionDrugs,
    /// Date of processing, 1; the prescription with this number whose `processed` is 0.
    PrescriptionProcess,
    /// Drugs that are added to the prescription with this number whose `processed` is 0.
    PrescriptionAddDrugs,
    /// Adds to the list of the owner with this number: the prescription's number or all of its
    /// columns. Packed: the text that is appended, then the owner.
    ListAdd(Owner),
    /// The numbers of the prescriptions in the list of this owner. Not if lists are packed.
    ListNumbers(Owner),
    /// The prescriptions in the list of this owner. Not if lists are packed.
    ListRead(Owner),
    /// Those of them whose `processed` is 1. Not if lists are packed.
    ListProcessed(Owner),
    /// Date of processing, 1; owner and prescription of the copy. Nested only.
    CopyProcess(Owner),
    /// Drugs that are added; owner and prescription of the copy. Nested only.
    CopyAddDrugs(Owner),
}

impl FmkeQuery {
    /// Whether an application server has a request for it: it knows layouts and lists by itself.
    fn is_request(&self) -> bool {
        match self {
            FmkeQuery::ListRead(owner) => *owner != Owner::Patient,
            FmkeQuery::ListProcessed(owner) => *owner == Owner::Pharmacy,
            FmkeQuery::ListAdd(_)
            | FmkeQuery::ListNumbers(_)
            | FmkeQuery::CopyProcess(_)
            | FmkeQuery::CopyAddDrugs(_) => false,
            _ => true,
        }
    }
}

/// Columns of a prescription behind its number.
const COLUMNS: &str = "patient_id, prescriber_id, pharmacy_id, date_prescribed, date_processed, \
                       drugs, processed";

/// The queries of one layout.
#[derive(Clone, Debug)]
pub struct Queries {
    queries: Vec<FmkeQuery>,
    kinds: Vec<Kind>,
    texts: Vec<Named>,
}

impl Queries {
    /// Those of `layout`.
    pub fn new(layout: FmkeLayout) -> Queries {
        Queries::from(written(layout).into_iter())
    }

    fn from(all: impl Iterator<Item = Written>) -> Queries {
        let mut queries = Queries { queries: Vec::new(), kinds: Vec::new(), texts: Vec::new() };
        for (query, name, kind, text) in all {
            queries.queries.push(query);
            queries.kinds.push(kind);
            queries.texts.push(Named { name, text });
        }
        queries
    }

    /// Those that a workload with this specification issues: in its layout, or those that stand for
    /// requests to an application server, which knows the layout.
    pub(super) fn of(spec: &FmkeSpec) -> Queries {
        match spec.through {
            Through::Store => Queries::new(spec.layout),
            Through::Server => Queries::of_server(),
        }
    }

    /// Those that stand for a request to an application server.
    pub fn of_server() -> Queries {
        let all = written(FmkeLayout::Normalised);
        Queries::from(all.into_iter().filter(|(query, ..)| query.is_request()))
    }

    /// Names with their SQL, in the order of their places.
    pub fn texts(&self) -> &[Named] {
        &self.texts
    }

    /// What each query means to the judge of consistency, by its place.
    pub(super) fn roles(&self, through: Through) -> Vec<QueryRole> {
        self.queries.iter().map(|query| role(*query, through)).collect()
    }

    /// The place of `query`; `None` if the layout has no such query.
    pub fn place(&self, query: FmkeQuery) -> Option<usize> {
        self.queries.iter().position(|one| *one == query)
    }

    /// How a process names `query`.
    ///
    /// # Panics
    /// If the layout has no such query.
    pub fn issue(&self, query: FmkeQuery) -> QueryRef {
        let place = self.place(query).unwrap_or_else(|| panic!("{query:?} is of another layout"));
        QueryRef { statement: place as u16 + 1, kind: self.kinds[place] }
    }
}

fn role(query: FmkeQuery, through: Through) -> QueryRole {
    let role = match query {
        FmkeQuery::PrescriptionInsert => match through {
            Through::Store => PrescriptionRole::Create,
            Through::Server => PrescriptionRole::CreateWithEntries,
        },
        FmkeQuery::PrescriptionRead => PrescriptionRole::Read,
        FmkeQuery::PrescriptionProcess => PrescriptionRole::Process,
        FmkeQuery::PrescriptionAddDrugs => PrescriptionRole::AddDrugs,
        FmkeQuery::ListAdd(owner) => PrescriptionRole::AddEntry(owner as u8),
        FmkeQuery::ListNumbers(owner) | FmkeQuery::ListRead(owner) => {
            PrescriptionRole::ReadEntries(owner as u8)
        }
        FmkeQuery::ListProcessed(owner) => PrescriptionRole::ReadProcessed(owner as u8),
        _ => return QueryRole::default(),
    };
    QueryRole::Prescription(role)
}

/// What it does, its name, its kind, its SQL.
type Written = (FmkeQuery, String, Kind, String);

/// What one sort of persons or places is called.
pub(super) struct Entity {
    pub table: &'static str,
    pub name: &'static str,
    pub columns: &'static [&'static str],
    pub owner: Option<Owner>,
    insert: FmkeQuery,
    update: FmkeQuery,
}

pub(super) const ENTITIES: [Entity; 4] = [
    Entity {
        table: "patients",
        name: "patient",
        columns: &["patient_name", "patient_address"],
        owner: Some(Owner::Patient),
        insert: FmkeQuery::PatientInsert,
        update: FmkeQuery::PatientUpdate,
    },
    Entity {
        table: "pharmacies",
        name: "pharmacy",
        columns: &["pharmacy_name", "pharmacy_address"],
        owner: Some(Owner::Pharmacy),
        insert: FmkeQuery::PharmacyInsert,
        update: FmkeQuery::PharmacyUpdate,
    },
    Entity {
        table: "staff",
        name: "staff",
        columns: &["staff_name", "staff_address", "staff_speciality"],
        owner: Some(Owner::Staff),
        insert: FmkeQuery::StaffInsert,
        update: FmkeQuery::StaffUpdate,
    },
    Entity {
        table: "facilities",
        name: "facility",
        columns: &["facility_name", "facility_address", "facility_type"],
        owner: None,
        insert: FmkeQuery::FacilityInsert,
        update: FmkeQuery::FacilityUpdate,
    },
];

/// The queries of one layout.
fn written(layout: FmkeLayout) -> Vec<Written> {
    let mut all = of_entities(layout == FmkeLayout::NestedPacked);
    all.extend(of_prescriptions());
    for owner in Owner::ALL {
        match layout {
            FmkeLayout::NestedPacked => all.push(packed(owner)),
            _ => all.extend(of_list(owner, layout == FmkeLayout::Nested)),
        }
    }
    all
}

fn of_entities(lists_are_packed: bool) -> Vec<Written> {
    let mut written = Vec::new();
    for Entity { table, name, columns, owner, insert, update } in &ENTITIES {
        let (packed, empty) = match lists_are_packed && owner.is_some() {
            true => (", packed", ", ?"),
            false => ("", ""),
        };
        let all = columns.join(", ");
        let arguments = ", ?".repeat(columns.len());
        let text =
            format!("INSERT INTO {table} ({name}_id, {all}{packed}) VALUES (?{arguments}{empty})");
        written.push((*insert, format!("{name}.insert"), Kind::Insert, text));
        let changes: Vec<String> = columns.iter().map(|column| format!("{column} = ?")).collect();
        let text = format!("UPDATE {table} SET {} WHERE {name}_id = ?", changes.join(", "));
        written.push((*update, format!("{name}.update"), Kind::Update, text));
        let text = format!("SELECT {name}_id, {all}{packed} FROM {table} WHERE {name}_id = ?");
        let read = owner.map_or(FmkeQuery::FacilityRead, FmkeQuery::OwnerRead);
        written.push((read, format!("{name}.read"), Kind::Read, text));
    }
    written
}

fn of_prescriptions() -> Vec<Written> {
    let written = |query, name: &str, kind, text: String| (query, name.to_owned(), kind, text);
    vec![
        written(
            FmkeQuery::PrescriptionInsert,
            "prescription.insert",
            Kind::Insert,
            format!(
                "INSERT INTO prescriptions (prescription_id, {COLUMNS}) \
                 VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
            ),
        ),
        written(
            FmkeQuery::PrescriptionRead,
            "prescription.read",
            Kind::Read,
            format!(
                "SELECT prescription_id, {COLUMNS} FROM prescriptions WHERE prescription_id = ?"
            ),
        ),
        written(
            FmkeQuery::PrescriptionDrugs,
            "prescription.drugs",
            Kind::Read,
            "SELECT drugs FROM prescriptions WHERE prescription_id = ?".to_owned(),
        ),
        written(
            FmkeQuery::PrescriptionProcess,
            "prescription.process",
            Kind::Update,
            "UPDATE prescriptions SET date_processed = ?, processed = ? \
             WHERE prescription_id = ? AND processed = ?"
                .to_owned(),
        ),
        written(
            FmkeQuery::PrescriptionAddDrugs,
            "prescription.add_drugs",
            Kind::Update,
            "UPDATE prescriptions SET drugs = drugs || ? \
             WHERE prescription_id = ? AND processed = ?"
                .to_owned(),
        ),
    ]
}

/// The queries on the list of `owner`, whose entries are copies or numbers.
fn of_list(owner: Owner, has_copies: bool) -> Vec<Written> {
    let list = owner.list();
    let named = |name: &str| format!("{list}.{name}");
    let (columns, arguments) = match has_copies {
        true => (format!(", {COLUMNS}"), "?, ?, ?, ?, ?, ?, ?, ?, ?"),
        false => (String::new(), "?, ?"),
    };
    let entries = match has_copies {
        true => format!("SELECT entry_id, {COLUMNS} FROM {list} WHERE owner_id = ?"),
        false => format!(
            "SELECT entry_id, {COLUMNS} FROM {list} \
             JOIN prescriptions ON prescription_id = entry_id WHERE owner_id = ?"
        ),
    };
    let mut written = vec![
        (
            FmkeQuery::ListAdd(owner),
            named("add"),
            Kind::Insert,
            format!("INSERT INTO {list} (owner_id, entry_id{columns}) VALUES ({arguments})"),
        ),
        (
            FmkeQuery::ListNumbers(owner),
            named("numbers"),
            Kind::Scan,
            format!("SELECT entry_id FROM {list} WHERE owner_id = ?"),
        ),
        (FmkeQuery::ListRead(owner), named("read"), Kind::Scan, entries.clone()),
        (
            FmkeQuery::ListProcessed(owner),
            named("processed"),
            Kind::Scan,
            entries + " AND processed = ?",
        ),
    ];
    if has_copies {
        written.extend(of_copies(owner));
    }
    written
}

/// The queries that change a copy in the list of `owner`.
fn of_copies(owner: Owner) -> [Written; 2] {
    let list = owner.list();
    let change =
        |changes: &str| format!("UPDATE {list} SET {changes} WHERE owner_id = ? AND entry_id = ?");
    [
        (
            FmkeQuery::CopyProcess(owner),
            format!("{list}.process"),
            Kind::Update,
            change("date_processed = ?, processed = ?"),
        ),
        (
            FmkeQuery::CopyAddDrugs(owner),
            format!("{list}.add_drugs"),
            Kind::Update,
            change("drugs = drugs || ?"),
        ),
    ]
}

/// The query that appends to the packed list of `owner`.
fn packed(owner: Owner) -> Written {
    let entity = ENTITIES.iter().find(|entity| entity.owner == Some(owner));
    let Entity { table, name, .. } = entity.expect("every owner is an entity");
    (
        FmkeQuery::ListAdd(owner),
        format!("{table}.append"),
        Kind::Update,
        format!("UPDATE {table} SET packed = packed || ? WHERE {name}_id = ?"),
    )
}

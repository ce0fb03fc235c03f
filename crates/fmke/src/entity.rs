//! The persons and places of the application.

use assay_workload::script::fmke::{FmkeQuery, Owner};

/// One sort of persons or places.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Entity {
    Patient,
    Pharmacy,
    Staff,
    Facility,
}

impl Entity {
    /// The sort whose requests begin with `segment`.
    pub(crate) fn of_segment(segment: &str) -> Option<Entity> {
        match segment {
            "patients" => Some(Entity::Patient),
            "pharmacies" => Some(Entity::Pharmacy),
            "staff" => Some(Entity::Staff),
            "facilities" => Some(Entity::Facility),
            _ => None,
        }
    }

    /// The fields of a request's body, in the order of the columns behind the identifier.
    pub(crate) const fn body_fields(self) -> &'static [&'static str] {
        match self {
            Entity::Patient | Entity::Pharmacy => &["name", "address"],
            Entity::Staff => &["name", "address", "speciality"],
            Entity::Facility => &["name", "address", "type"],
        }
    }

    /// The names of an answer's members: identifier, the columns behind it.
    pub(crate) const fn members(self) -> &'static [&'static str] {
        match self {
            Entity::Patient => &["patientId", "patientName", "patientAddress"],
            Entity::Pharmacy => &["pharmacyId", "pharmacyName", "pharmacyAddress"],
            Entity::Staff => &["staffId", "staffName", "staffAddress", "staffSpeciality"],
            Entity::Facility => &["facilityId", "facilityName", "facilityAddress", "facilityType"],
        }
    }

    /// The name of the member with the list of prescriptions, if there is one.
    pub(crate) const fn list_member(self) -> Option<&'static str> {
        match self {
            Entity::Patient => Some("patientPrescriptions"),
            Entity::Pharmacy => Some("pharmacyPrescriptions"),
            Entity::Staff => Some("staffPrescriptions"),
            Entity::Facility => None,
        }
    }

    /// Whose list it is.
    pub(crate) const fn owner(self) -> Option<Owner> {
        match self {
            Entity::Patient => Some(Owner::Patient),
            Entity::Pharmacy => Some(Owner::Pharmacy),
            Entity::Staff => Some(Owner::Staff),
            Entity::Facility => None,
        }
    }

    pub(crate) const fn insert(self) -> FmkeQuery {
        match self {
            Entity::Patient => FmkeQuery::PatientInsert,
            Entity::Pharmacy => FmkeQuery::PharmacyInsert,
            Entity::Staff => FmkeQuery::StaffInsert,
            Entity::Facility => FmkeQuery::FacilityInsert,
        }
    }

    pub(crate) const fn update(self) -> FmkeQuery {
        match self {
            Entity::Patient => FmkeQuery::PatientUpdate,
            Entity::Pharmacy => FmkeQuery::PharmacyUpdate,
            Entity::Staff => FmkeQuery::StaffUpdate,
            Entity::Facility => FmkeQuery::FacilityUpdate,
        }
    }

    pub(crate) const fn read(self) -> FmkeQuery {
        match self {
            Entity::Patient => FmkeQuery::OwnerRead(Owner::Patient),
            Entity::Pharmacy => FmkeQuery::OwnerRead(Owner::Pharmacy),
            Entity::Staff => FmkeQuery::OwnerRead(Owner::Staff),
            Entity::Facility => FmkeQuery::FacilityRead,
        }
    }

    /// What an answer says if the identifier is in use.
    pub(crate) const fn taken(self) -> &'static str {
        match self {
            Entity::Patient => "patient_id_taken",
            Entity::Pharmacy => "pharmacy_id_taken",
            Entity::Staff => "staff_id_taken",
            Entity::Facility => "facility_id_taken",
        }
    }

    /// What an answer says if there is nobody with the identifier.
    pub(crate) const fn missing(self) -> &'static str {
        match self {
            Entity::Patient => "no_such_patient",
            Entity::Pharmacy => "no_such_pharmacy",
            Entity::Staff => "no_such_staff",
            Entity::Facility => "no_such_facility",
        }
    }
}

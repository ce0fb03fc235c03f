//! A request's method, path and body become an operation of the application.

use hyper::Method;
use serde_json::Value;

use crate::entity::Entity;

/// What a request is.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Routed {
    /// It wants the state of the server.
    Status,
    /// An operation of the application.
    Operation(Operation),
    /// None of these.
    Wrong(Wrong),
}

/// An operation of the application.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Operation {
    /// A new person or place, with its texts.
    Create(Entity, i64, Vec<String>),
    /// Other texts for it.
    Update(Entity, Id, Vec<String>),
    /// It, with its list if it has one.
    Read(Entity, Id),
    /// Its list alone.
    List(Entity, Id, Selection),
    CreatePrescription(NewPrescription),
    ReadPrescription(Id),
    /// With the date.
    Process(Id, String),
    /// With names, a comma between them.
    AddDrugs(Id, String),
}

/// Which prescriptions of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Selection {
    All,
    Processed,
}

/// The identifier in a path. The application takes numbers of any size, stores those of 64 bits: a
/// larger one names nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Id {
    Number(i64),
    TooLarge,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct NewPrescription {
    pub(crate) id: i64,
    pub(crate) patient: i64,
    pub(crate) prescriber: i64,
    pub(crate) pharmacy: i64,
    pub(crate) date: String,
    /// Names, a comma between them.
    pub(crate) drugs: String,
}

/// What is wrong with a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wrong {
    /// There is no such path: 404.
    Path,
    /// None of the fields is there: 400.
    NoFields,
    /// The identifier is no number, or one that no store can keep: 400.
    Id,
    /// The original server fails here, so this one says that it does: 500.
    Unclear,
}

/// What the request with this method, path and body is. The path comes without a query.
pub(crate) fn route(method: &Method, path: &str, body: &[u8]) -> Routed {
    match find(method, path, body) {
        Ok(routed) => routed,
        Err(wrong) => Routed::Wrong(wrong),
    }
}

fn find(method: &Method, path: &str, body: &[u8]) -> Result<Routed, Wrong> {
    let path = path.strip_prefix('/').ok_or(Wrong::Path)?;
    let path = path.strip_suffix('/').unwrap_or(path);
    let mut segments = path.split('/');
    let first = segments.next().unwrap_or_default();
    let (id, list) = (segments.next(), segments.next());
    if segments.next().is_some() || id == Some("") {
        return Err(Wrong::Path);
    }
    let operation = match (first, id, list) {
        ("", None, None) => {
            let is_known = [Method::GET, Method::POST, Method::PUT].contains(method);
            return if is_known { Ok(Routed::Status) } else { Err(Wrong::Unclear) };
        }
        ("prescriptions", id, None) => of_prescription(method, id, body)?,
        (_, id, None) => {
            of_entity(Entity::of_segment(first).ok_or(Wrong::Path)?, method, id, body)?
        }
        (_, Some(id), Some(list)) => of_list(first, id, list, method, body)?,
        _ => return Err(Wrong::Path),
    };
    Ok(Routed::Operation(operation))
}

/// The original forgets which route it was: other methods than GET do what they do without it.
fn of_list(
    first: &str,
    id: &str,
    list: &str,
    method: &Method,
    body: &[u8],
) -> Result<Operation, Wrong> {
    let entity = Entity::of_segment(first).ok_or(Wrong::Path)?;
    let selection = match (entity, list) {
        (Entity::Pharmacy | Entity::Staff, "prescriptions") => Selection::All,
        (Entity::Pharmacy, "processed_prescriptions") => Selection::Processed,
        _ => return Err(Wrong::Path),
    };
    match *method {
        Method::GET => Ok(Operation::List(entity, path_id(id)?, selection)),
        _ => of_entity(entity, method, Some(id), body),
    }
}

fn of_entity(
    entity: Entity,
    method: &Method,
    id: Option<&str>,
    body: &[u8],
) -> Result<Operation, Wrong> {
    let names = entity.body_fields();
    match (method, id) {
        (&Method::GET, Some(id)) => Ok(Operation::Read(entity, path_id(id)?)),
        (&Method::POST, _) => {
            let fields = Fields::of(body)?;
            let (number, texts) = (fields.id("id"), fields.texts(names));
            let is_empty = number.is_none() && texts.iter().all(Option::is_none);
            let texts = whole(is_empty, texts)?;
            Ok(Operation::Create(entity, kept(number)?, texts))
        }
        (&Method::PUT, Some(id)) => {
            let texts = Fields::of(body)?.texts(names);
            let texts = whole(texts.iter().all(Option::is_none), texts)?;
            Ok(Operation::Update(entity, path_id(id)?, texts))
        }
        _ => Err(Wrong::Unclear),
    }
}

fn of_prescription(method: &Method, id: Option<&str>, body: &[u8]) -> Result<Operation, Wrong> {
    match (method, id) {
        (&Method::GET, Some(id)) => Ok(Operation::ReadPrescription(path_id(id)?)),
        (&Method::POST, _) => {
            let fields = Fields::of(body)?;
            let ids = ["id", "patient_id", "prescriber_id", "pharmacy_id"];
            let ids = ids.map(|name| fields.id(name));
            let (date, drugs) = (fields.string("date_prescribed"), fields.drugs());
            if ids.iter().all(Option::is_none) && date.is_none() && drugs.is_none() {
                return Err(Wrong::NoFields);
            }
            let (Some(date), Some(drugs)) = (date, drugs) else { return Err(Wrong::Unclear) };
            if ids.iter().any(Option::is_none) {
                return Err(Wrong::Unclear);
            }
            let [id, patient, prescriber, pharmacy] = ids;
            Ok(Operation::CreatePrescription(NewPrescription {
                id: kept(id)?,
                patient: kept(patient)?,
                prescriber: kept(prescriber)?,
                pharmacy: kept(pharmacy)?,
                date,
                drugs,
            }))
        }
        (&Method::PUT, Some(id)) => {
            let fields = Fields::of(body)?;
            match (fields.string("date_processed"), fields.drugs()) {
                (Some(date), None) => Ok(Operation::Process(path_id(id)?, date)),
                (None, Some(drugs)) => Ok(Operation::AddDrugs(path_id(id)?, drugs)),
                (None, None) => Err(Wrong::NoFields),
                (Some(_), Some(_)) => Err(Wrong::Unclear),
            }
        }
        _ => Err(Wrong::Unclear),
    }
}

fn whole(is_empty: bool, texts: Vec<Option<String>>) -> Result<Vec<String>, Wrong> {
    match texts.into_iter().collect() {
        Some(texts) => Ok(texts),
        None if is_empty => Err(Wrong::NoFields),
        None => Err(Wrong::Unclear),
    }
}

/// An identifier that is to be written.
fn kept(id: Option<Id>) -> Result<i64, Wrong> {
    match id {
        Some(Id::Number(id)) => Ok(id),
        Some(Id::TooLarge) => Err(Wrong::Id),
        None => Err(Wrong::Unclear),
    }
}

fn path_id(text: &str) -> Result<Id, Wrong> {
    id_of(text).ok_or(Wrong::Id)
}

/// Digits, of any number.
fn id_of(text: &str) -> Option<Id> {
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| text.parse().map_or(Id::TooLarge, Id::Number))
}

/// The fields of a body.
struct Fields(Value);

impl Fields {
    /// An empty body, or one that is no JSON, is unclear; JSON of another shape has no fields.
    fn of(body: &[u8]) -> Result<Fields, Wrong> {
        serde_json::from_slice(body).map(Fields).map_err(|_| Wrong::Unclear)
    }

    /// A field of another type counts as missing.
    fn string(&self, name: &str) -> Option<String> {
        self.0.get(name)?.as_str().map(str::to_owned)
    }

    fn texts(&self, names: &[&str]) -> Vec<Option<String>> {
        names.iter().map(|name| self.string(name)).collect()
    }

    /// A number, or its digits as a text.
    fn id(&self, name: &str) -> Option<Id> {
        match self.0.get(name)? {
            Value::Number(number) if number.is_f64() => beyond(number.as_f64()),
            Value::Number(number) => id_of(&number.to_string()),
            Value::String(text) => id_of(text),
            _ => None,
        }
    }

    /// Names, from one text with commas between them.
    fn drugs(&self) -> Option<String> {
        let text = self.string("drugs")?;
        let names: Vec<&str> =
            text.split(',').map(str::trim).filter(|name| !name.is_empty()).collect();
        (!names.is_empty()).then(|| names.join(","))
    }
}

/// A whole number that 64 bits do not hold is read as a floating-point one.
fn beyond(number: Option<f64>) -> Option<Id> {
    number.filter(|number| *number >= 9.2e18 && number.fract() == 0.0).map(|_| Id::TooLarge)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn routed(method: Method, path: &str, body: &str) -> Routed {
        route(&method, path, body.as_bytes())
    }

    fn wrong(method: Method, path: &str, body: &str) -> Wrong {
        match routed(method, path, body) {
            Routed::Wrong(wrong) => wrong,
            other => panic!("{path} {body}: {other:?}"),
        }
    }

    fn texts(of: &[&str]) -> Vec<String> {
        of.iter().map(|text| (*text).to_owned()).collect()
    }

    #[test]
    fn every_route_is_an_operation() {
        let id = Id::Number(7);
        let operation = |method, path: &str, body: &str| match routed(method, path, body) {
            Routed::Operation(operation) => operation,
            other => panic!("{path} {body}: {other:?}"),
        };
        let entity = r#"{"id":7,"name":"A","address":"B","speciality":"C","type":"D"}"#;
        for (path, entity_of, of) in [
            ("/patients", Entity::Patient, texts(&["A", "B"])),
            ("/pharmacies", Entity::Pharmacy, texts(&["A", "B"])),
            ("/staff", Entity::Staff, texts(&["A", "B", "C"])),
            ("/facilities", Entity::Facility, texts(&["A", "B", "D"])),
        ] {
            let with_id = format!("{path}/7");
            let create = Operation::Create(entity_of, 7, of.clone());
            assert_eq!(operation(Method::POST, path, entity), create);
            assert_eq!(operation(Method::GET, &with_id, ""), Operation::Read(entity_of, id));
            let update = Operation::Update(entity_of, id, of);
            assert_eq!(operation(Method::PUT, &with_id, entity), update);
        }
        let list = |entity, selection| Operation::List(entity, id, selection);
        for (path, expected) in [
            ("/pharmacies/7/prescriptions", list(Entity::Pharmacy, Selection::All)),
            ("/staff/7/prescriptions", list(Entity::Staff, Selection::All)),
            ("/pharmacies/7/processed_prescriptions", list(Entity::Pharmacy, Selection::Processed)),
            ("/prescriptions/7", Operation::ReadPrescription(id)),
            ("/prescriptions/7/", Operation::ReadPrescription(id)),
        ] {
            assert_eq!(operation(Method::GET, path, ""), expected);
        }
        let process = operation(Method::PUT, "/prescriptions/7", r#"{"date_processed":"x"}"#);
        assert_eq!(process, Operation::Process(id, "x".into()));
        let add = operation(Method::PUT, "/prescriptions/7", r#"{"drugs":" a ,, b;c"}"#);
        assert_eq!(add, Operation::AddDrugs(id, "a,b;c".into()));
        let body = r#"{"id":"1","patient_id":2,"prescriber_id":3,"pharmacy_id":4,
                       "date_prescribed":"d","drugs":"a, b"}"#;
        let created = NewPrescription {
            id: 1,
            patient: 2,
            prescriber: 3,
            pharmacy: 4,
            date: "d".into(),
            drugs: "a,b".into(),
        };
        let create = operation(Method::POST, "/prescriptions", body);
        assert_eq!(create, Operation::CreatePrescription(created));
        assert_eq!(routed(Method::PUT, "/", ""), Routed::Status);
    }

    #[test]
    fn what_is_wrong_decides_the_status() {
        use Method as M;
        let new = r#"{"id":1,"patient_id":2,"prescriber_id":3,"pharmacy_id":4}"#;
        let large = r#"{"id":18446744073709551616,"name":"A","address":"B"}"#;
        for (method, path, body, expected) in [
            (M::GET, "/nothing", "", Wrong::Path),
            (M::GET, "/patients/1/prescriptions", "", Wrong::Path),
            (M::GET, "/staff/1/processed_prescriptions", "", Wrong::Path),
            (M::GET, "/patients//1", "", Wrong::Path),
            (M::GET, "/patients/1/2/3", "", Wrong::Path),
            (M::GET, "/prescriptions/1/2", "", Wrong::Path),
            (M::GET, "/patients", "", Wrong::Unclear),
            (M::DELETE, "/patients/1", "", Wrong::Unclear),
            (M::DELETE, "/", "", Wrong::Unclear),
            (M::GET, "/patients/abc", "", Wrong::Id),
            (M::GET, "/patients/-1", "", Wrong::Id),
            (M::POST, "/patients", "", Wrong::Unclear),
            (M::POST, "/patients", "not json", Wrong::Unclear),
            (M::POST, "/patients", "{}", Wrong::NoFields),
            (M::POST, "/patients", "\"\"", Wrong::NoFields),
            (M::POST, "/patients", "[1]", Wrong::NoFields),
            (M::POST, "/patients", r#"{"id":2,"name":"A"}"#, Wrong::Unclear),
            (M::POST, "/patients", r#"{"id":"abc","name":"A","address":"B"}"#, Wrong::Unclear),
            (M::POST, "/patients", r#"{"id":-1,"name":"A","address":"B"}"#, Wrong::Unclear),
            (M::POST, "/patients", r#"{"id":1.5,"name":"A","address":"B"}"#, Wrong::Unclear),
            (M::POST, "/patients", r#"{"id":1,"name":5,"address":"B"}"#, Wrong::Unclear),
            (M::POST, "/patients", large, Wrong::Id),
            (M::PUT, "/patients/1", "{}", Wrong::NoFields),
            (M::PUT, "/patients/1", r#"{"name":"A"}"#, Wrong::Unclear),
            (M::PUT, "/patients", r#"{"name":"A","address":"B"}"#, Wrong::Unclear),
            (M::PUT, "/prescriptions/1", "{}", Wrong::NoFields),
            (M::PUT, "/prescriptions/1", r#"{"drugs":" , "}"#, Wrong::NoFields),
            (M::PUT, "/prescriptions/1", r#"{"drugs":"a","date_processed":"b"}"#, Wrong::Unclear),
            (M::PUT, "/prescriptions/x", r#"{"drugs":"a"}"#, Wrong::Id),
            (M::POST, "/prescriptions", new, Wrong::Unclear),
            (M::POST, "/prescriptions", "{}", Wrong::NoFields),
        ] {
            assert_eq!(wrong(method.clone(), path, body), expected, "{method} {path} {body}");
        }
    }

    #[test]
    fn an_identifier_beyond_64_bits_names_nothing() {
        let read = Operation::Read(Entity::Patient, Id::TooLarge);
        let path = "/patients/99999999999999999999";
        assert_eq!(routed(Method::GET, path, ""), Routed::Operation(read));
    }

    #[test]
    fn a_body_that_is_nested_deeply_is_refused() {
        let body = "[".repeat(60_000);
        assert_eq!(wrong(Method::POST, "/patients", &body), Wrong::Unclear);
    }
}

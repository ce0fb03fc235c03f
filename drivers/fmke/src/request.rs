//! Queries of the workload as requests.

use assay_model::{Datum, Parameters};
use bytes::Bytes;
use hyper::Method;

/// What a query asks of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Requested {
    /// A new person or place: the path, the names of the texts.
    Create(&'static str, &'static [&'static str]),
    /// Other texts for it.
    Update(&'static str, &'static [&'static str]),
    /// A person or place; how many columns it has.
    Read(&'static str, usize),
    /// A list: what stands before and behind the identifier.
    List(&'static str, &'static str),
    CreatePrescription,
    Prescription,
    /// The drugs of a prescription, which the interface does not have by themselves.
    Drugs,
    Process,
    AddDrugs,
}

/// A request as it is sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Message {
    pub(super) method: Method,
    pub(super) path: String,
    pub(super) body: Bytes,
}

const NAME: &[&str] = &["name", "address"];
const STAFF: &[&str] = &["name", "address", "speciality"];
const FACILITY: &[&str] = &["name", "address", "type"];

impl Requested {
    /// What the query with this name asks; `None` if the interface does not have it.
    pub(super) fn of(query: &str) -> Option<Requested> {
        Some(match query {
            "patient.insert" => Requested::Create("/patients", NAME),
            "pharmacy.insert" => Requested::Create("/pharmacies", NAME),
            "staff.insert" => Requested::Create("/staff", STAFF),
            "facility.insert" => Requested::Create("/facilities", FACILITY),
            "patient.update" => Requested::Update("/patients", NAME),
            "pharmacy.update" => Requested::Update("/pharmacies", NAME),
            "staff.update" => Requested::Update("/staff", STAFF),
            "facility.update" => Requested::Update("/facilities", FACILITY),
            "patient.read" => Requested::Read("/patients", 3),
            "pharmacy.read" => Requested::Read("/pharmacies", 3),
            "staff.read" => Requested::Read("/staff", 4),
            "facility.read" => Requested::Read("/facilities", 4),
            "pharmacy_prescriptions.read" => Requested::List("/pharmacies", "/prescriptions"),
            "pharmacy_prescriptions.processed" => {
                Requested::List("/pharmacies", "/processed_prescriptions")
            }
            "staff_prescriptions.read" => Requested::List("/staff", "/prescriptions"),
            "prescription.insert" => Requested::CreatePrescription,
            "prescription.read" => Requested::Prescription,
            "prescription.drugs" => Requested::Drugs,
            "prescription.process" => Requested::Process,
            "prescription.add_drugs" => Requested::AddDrugs,
            _ => return None,
        })
    }

    /// The request with these arguments; `None` if they are not those of the query.
    pub(super) fn message(self, arguments: &[u8]) -> Option<Message> {
        let mut arguments = Parameters::new(arguments).iter();
        let (method, path, body) = match self {
            Requested::Create(path, names) => {
                let mut body = Body::new();
                body.number("id", &mut arguments)?;
                names.iter().try_for_each(|name| body.text(name, &mut arguments))?;
                (Method::POST, path.to_owned(), body.end())
            }
            Requested::Update(path, names) => {
                let mut body = Body::new();
                names.iter().try_for_each(|name| body.text(name, &mut arguments))?;
                (Method::PUT, format!("{path}/{}", int(arguments.next()?)?), body.end())
            }
            Requested::Read(path, _) => get(format!("{path}/{}", int(arguments.next()?)?)),
            Requested::List(path, list) => get(format!("{path}/{}{list}", int(arguments.next()?)?)),
            Requested::Prescription | Requested::Drugs => {
                get(format!("/prescriptions/{}", int(arguments.next()?)?))
            }
            Requested::CreatePrescription => {
                let mut body = Body::new();
                let ids = ["id", "patient_id", "prescriber_id", "pharmacy_id"];
                ids.iter().try_for_each(|name| body.number(name, &mut arguments))?;
                body.text("date_prescribed", &mut arguments)?;
                // The server sets the date of processing.
                arguments.next()?;
                body.text("drugs", &mut arguments)?;
                (Method::POST, "/prescriptions".to_owned(), body.end())
            }
            Requested::Process => {
                let mut body = Body::new();
                body.text("date_processed", &mut arguments)?;
                arguments.next()?;
                let id = int(arguments.next()?)?;
                (Method::PUT, format!("/prescriptions/{id}"), body.end())
            }
            Requested::AddDrugs => {
                let Datum::Text(drugs) = arguments.next()? else { return None };
                let mut body = Body::new();
                // The query appends to a text, so its argument begins with a comma.
                body.member("drugs", drugs.strip_prefix(',').unwrap_or(drugs))?;
                let id = int(arguments.next()?)?;
                (Method::PUT, format!("/prescriptions/{id}"), body.end())
            }
        };
        Some(Message { method, path, body })
    }
}

fn get(path: String) -> (Method, String, Bytes) {
    (Method::GET, path, Bytes::new())
}

fn int(datum: Datum<'_>) -> Option<i64> {
    match datum {
        Datum::Int(number) => Some(number),
        _ => None,
    }
}

/// A body under way.
struct Body(Vec<u8>);

impl Body {
    fn new() -> Body {
        Body(Vec::with_capacity(160))
    }

    fn name(&mut self, name: &str) {
        self.0.push(if self.0.is_empty() { b'{' } else { b',' });
        self.0.push(b'"');
        self.0.extend_from_slice(name.as_bytes());
        self.0.extend_from_slice(b"\":");
    }

    fn member(&mut self, name: &str, value: &str) -> Option<()> {
        self.name(name);
        serde_json::to_writer(&mut self.0, value).ok()
    }

    fn text<'a>(&mut self, name: &str, from: &mut impl Iterator<Item = Datum<'a>>) -> Option<()> {
        match from.next()? {
            Datum::Text(value) => self.member(name, value),
            _ => None,
        }
    }

    fn number<'a>(&mut self, name: &str, from: &mut impl Iterator<Item = Datum<'a>>) -> Option<()> {
        let number = int(from.next()?)?;
        self.name(name);
        serde_json::to_writer(&mut self.0, &number).ok()
    }

    fn end(mut self) -> Bytes {
        self.0.push(b'}');
        self.0.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(query: &str, arguments: &[Datum<'_>]) -> String {
        let mut encoded = Vec::new();
        arguments.iter().for_each(|datum| datum.encode(&mut encoded));
        let Message { method, path, body } =
            Requested::of(query).unwrap().message(&encoded).unwrap();
        format!("{method} {path} {}", String::from_utf8(body.to_vec()).unwrap())
    }

    #[test]
    fn each_query_is_a_request() {
        use Datum::{Int, Text};
        for (query, arguments, expected) in [
            (
                "staff.insert",
                &[Int(7), Text("A\"b"), Text("B"), Text("C")][..],
                r#"POST /staff {"id":7,"name":"A\"b","address":"B","speciality":"C"}"#,
            ),
            (
                "facility.update",
                &[Text("A"), Text("B"), Text("C"), Int(7)],
                r#"PUT /facilities/7 {"name":"A","address":"B","type":"C"}"#,
            ),
            ("patient.read", &[Int(7)], "GET /patients/7 "),
            ("prescription.drugs", &[Int(7)], "GET /prescriptions/7 "),
            ("staff_prescriptions.read", &[Int(7)], "GET /staff/7/prescriptions "),
            (
                "pharmacy_prescriptions.processed",
                &[Int(7), Int(1)],
                "GET /pharmacies/7/processed_prescriptions ",
            ),
            (
                "prescription.insert",
                &[Int(1), Int(2), Int(3), Int(4), Text("d"), Text("u"), Text("a,b"), Int(0)],
                r#"POST /prescriptions {"id":1,"patient_id":2,"prescriber_id":3,
                    "pharmacy_id":4,"date_prescribed":"d","drugs":"a,b"}"#,
            ),
            (
                "prescription.process",
                &[Text("d"), Int(1), Int(7), Int(0)],
                r#"PUT /prescriptions/7 {"date_processed":"d"}"#,
            ),
            (
                "prescription.add_drugs",
                &[Text(",5"), Int(7), Int(0)],
                r#"PUT /prescriptions/7 {"drugs":"5"}"#,
            ),
        ] {
            let expected: String = expected.lines().map(str::trim_start).collect();
            assert_eq!(sent(query, arguments), expected);
        }
    }

    #[test]
    fn other_queries_and_arguments_are_refused() {
        assert_eq!(Requested::of("patient_prescriptions.add"), None);
        assert_eq!(Requested::of("stock_level"), None);
        let read = Requested::of("patient.read").unwrap();
        assert_eq!(read.message(&[]), None);
        let mut encoded = Vec::new();
        Datum::Text("7").encode(&mut encoded);
        assert_eq!(read.message(&encoded), None);
    }
}

//! Answers of a server, in the shapes that servers of FMKe have.
//!
//! Texts are texts, or arrays of character codes; identifiers are numbers or texts; a list has
//! the keys of prescriptions, or the prescriptions; a route for a list may answer with the owner.

use std::fmt;
use std::marker::PhantomData;

use assay_driver_kit::task::Completion;
use assay_model::{Datum, Reason};
use assay_store::answer::{encode_field, encode_row};
use hyper::StatusCode;
use serde::Deserialize;
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{self, Deserializer, MapAccess, SeqAccess, Visitor};

use super::request::Requested;

/// How a request ended that was answered with this status and body. The rows that it gave, as the
/// query's, go into `rows`.
pub(super) fn completion(
    requested: Requested,
    status: StatusCode,
    body: &[u8],
    rows: &mut Vec<u8>,
) -> Completion {
    match status {
        StatusCode::OK => read(requested, body, rows),
        StatusCode::NOT_FOUND => Completion::Refused(Reason::Unsupported),
        StatusCode::SERVICE_UNAVAILABLE => {
            let said = parse(body, |_: Nothing| true);
            match said {
                Some(Completion::Refused(reason)) if reason != Reason::StoreError => {
                    Completion::Refused(reason)
                }
                _ => Completion::Refused(Reason::Busy),
            }
        }
        StatusCode::REQUEST_TIMEOUT => Completion::Refused(Reason::Busy),
        status if status.is_client_error() => Completion::Refused(Reason::Malformed),
        _ => Completion::Unknown(Reason::StoreError),
    }
}

fn read(requested: Requested, body: &[u8], rows: &mut Vec<u8>) -> Completion {
    let read = match requested {
        Requested::Read(_, columns) => parse(body, |entity: Entity| entity.row(columns, rows)),
        Requested::Prescription => parse(body, |one: Prescription| one.row(rows)),
        Requested::Drugs => parse(body, |one: Prescription| one.drugs_row(rows)),
        Requested::List(..) => parse(body, |list: List| list.rows(rows)),
        _ => parse(body, |_: Nothing| true),
    };
    read.unwrap_or_else(|| {
        rows.clear();
        Completion::Unknown(Reason::Garbled)
    })
}

/// The completion that `body` tells of, `take` having had its result; `None` if it is no answer.
fn parse<'a, T: Deserialize<'a>>(
    body: &'a [u8],
    take: impl FnOnce(T) -> bool,
) -> Option<Completion> {
    let envelope: Envelope<T> = serde_json::from_slice(body).ok()?;
    match (envelope.success, envelope.result) {
        // A write is answered with `ok`.
        (true, Answered::Word(_)) => Some(Completion::Done { found: true }),
        (true, Answered::Value(value)) => Some(Completion::Done { found: take(value) }),
        (false, Answered::Word(word)) => Some(failed(&word)),
        (false, Answered::Value(_)) => None,
    }
}

/// What the word of an operation that did not succeed means.
fn failed(word: &str) -> Completion {
    let is_decided = word == "not_found"
        || word == "prescription_already_processed"
        || word.starts_with("no_such_")
        || word.ends_with("_taken");
    if is_decided {
        return Completion::Done { found: false };
    }
    let reason = match word {
        "aborted" | "txn_aborted" => Reason::Conflict,
        word => {
            let known = Reason::ALL.iter().find(|reason| reason.name() == word);
            known.copied().unwrap_or(Reason::StoreError)
        }
    };
    Completion::Refused(reason)
}

/// What a server says about itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(super) struct Status {
    pub(super) fmke_up: bool,
    pub(super) driver: String,
    pub(super) target_database: String,
}

impl Status {
    /// `None` if no server of FMKe says so.
    pub(super) fn of(status: StatusCode, body: &[u8]) -> Option<Status> {
        let envelope: Envelope<Status> = serde_json::from_slice(body).ok()?;
        match envelope.result {
            Answered::Value(of) if status == StatusCode::OK && of.fmke_up => Some(of),
            _ => None,
        }
    }
}

#[derive(Deserialize)]
struct Envelope<T> {
    success: bool,
    result: Answered<T>,
}

/// A word, or what was asked for.
enum Answered<T> {
    Word(String),
    Value(T),
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Answered<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AnsweredVisitor(PhantomData))
    }
}

struct AnsweredVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for AnsweredVisitor<T> {
    type Value = Answered<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a word, an object or an array")
    }

    fn visit_str<E: de::Error>(self, word: &str) -> Result<Self::Value, E> {
        Ok(Answered::Word(word.to_owned()))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        T::deserialize(MapAccessDeserializer::new(map)).map(Answered::Value)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, sequence: A) -> Result<Self::Value, A::Error> {
        T::deserialize(SeqAccessDeserializer::new(sequence)).map(Answered::Value)
    }
}

/// What comes where nothing but a word is expected.
struct Nothing;

impl<'de> Deserialize<'de> for Nothing {
    fn deserialize<D: Deserializer<'de>>(_: D) -> Result<Self, D::Error> {
        Err(de::Error::custom("a word is expected"))
    }
}

/// A text, or an array of character codes.
#[derive(Debug, Default, PartialEq, Eq)]
struct Text(String);

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct TextVisitor;
        impl<'de> Visitor<'de> for TextVisitor {
            type Value = Text;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text, or an array of character codes")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Text, E> {
                Ok(Text(text.to_owned()))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut codes: A) -> Result<Text, A::Error> {
                let mut text = String::new();
                while let Some(code) = codes.next_element::<u32>()? {
                    let letter = char::from_u32(code);
                    text.push(letter.ok_or_else(|| de::Error::custom("no character"))?);
                }
                Ok(Text(text))
            }
        }
        deserializer.deserialize_any(TextVisitor)
    }
}

/// A number, or its digits behind whatever stands before them: `7`, `"7"`, `"prescription_7"`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Id(i64);

impl<'de> Deserialize<'de> for Id {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(IdVisitor)
    }
}

struct IdVisitor;

impl Visitor<'_> for IdVisitor {
    type Value = Id;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an identifier")
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<Id, E> {
        i64::try_from(number).map(Id).map_err(E::custom)
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Id, E> {
        let digits = text.strip_prefix("prescription_").unwrap_or(text);
        digits.parse().map(Id).map_err(E::custom)
    }
}

#[derive(Debug, Deserialize)]
struct Prescription {
    #[serde(rename = "prescriptionId")]
    id: Id,
    #[serde(rename = "prescriptionPatientId")]
    patient: Id,
    #[serde(rename = "prescriptionPrescriberId")]
    prescriber: Id,
    #[serde(rename = "prescriptionPharmacyId")]
    pharmacy: Id,
    #[serde(rename = "prescriptionDatePrescribed")]
    prescribed: Text,
    #[serde(rename = "prescriptionDateProcessed")]
    processed: Text,
    #[serde(rename = "prescriptionDrugs")]
    drugs: Vec<Text>,
    #[serde(rename = "prescriptionIsProcessed")]
    state: Text,
}

/// How many columns a prescription has.
const COLUMNS: u16 = 8;

impl Prescription {
    fn drugs(&self) -> String {
        let names: Vec<&str> = self.drugs.iter().map(|drug| drug.0.as_str()).collect();
        names.join(",")
    }

    fn row(&self, rows: &mut Vec<u8>) -> bool {
        let is_processed = self.state.0 == "prescription_processed";
        let values = [
            Datum::Int(self.id.0),
            Datum::Int(self.patient.0),
            Datum::Int(self.prescriber.0),
            Datum::Int(self.pharmacy.0),
            Datum::Text(&self.prescribed.0),
            Datum::Text(&self.processed.0),
            Datum::Text(&self.drugs()),
            Datum::Int(i64::from(is_processed)),
        ];
        row(&values, rows);
        true
    }

    fn drugs_row(&self, rows: &mut Vec<u8>) -> bool {
        row(&[Datum::Text(&self.drugs())], rows);
        true
    }
}

#[derive(Debug, Deserialize)]
struct Entity {
    #[serde(alias = "patientId", alias = "pharmacyId", alias = "staffId", alias = "facilityId")]
    id: Id,
    #[serde(
        alias = "patientName",
        alias = "pharmacyName",
        alias = "staffName",
        alias = "facilityName"
    )]
    name: Text,
    #[serde(
        alias = "patientAddress",
        alias = "pharmacyAddress",
        alias = "staffAddress",
        alias = "facilityAddress"
    )]
    address: Text,
    #[serde(alias = "staffSpeciality", alias = "facilityType", default)]
    sort: Text,
    #[serde(
        alias = "patientPrescriptions",
        alias = "pharmacyPrescriptions",
        alias = "staffPrescriptions",
        default
    )]
    list: Vec<Entry>,
}

impl Entity {
    fn row(&self, columns: usize, rows: &mut Vec<u8>) -> bool {
        let values = [
            Datum::Int(self.id.0),
            Datum::Text(&self.name.0),
            Datum::Text(&self.address.0),
            Datum::Text(&self.sort.0),
        ];
        row(&values[..columns.min(values.len())], rows);
        true
    }
}

/// An element of a list.
#[derive(Debug)]
enum Entry {
    Key(Id),
    Whole(Box<Prescription>),
}

impl<'de> Deserialize<'de> for Entry {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct EntryVisitor;
        impl<'de> Visitor<'de> for EntryVisitor {
            type Value = Entry;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the key of a prescription, or a prescription")
            }

            fn visit_str<E: de::Error>(self, key: &str) -> Result<Entry, E> {
                IdVisitor.visit_str(key).map(Entry::Key)
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Entry, A::Error> {
                let whole = Prescription::deserialize(MapAccessDeserializer::new(map))?;
                Ok(Entry::Whole(Box::new(whole)))
            }
        }
        deserializer.deserialize_any(EntryVisitor)
    }
}

/// A list, by itself or within its owner.
struct List(Vec<Entry>);

impl<'de> Deserialize<'de> for List {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ListVisitor;
        impl<'de> Visitor<'de> for ListVisitor {
            type Value = List;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of prescriptions, or its owner")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, sequence: A) -> Result<List, A::Error> {
                Vec::deserialize(SeqAccessDeserializer::new(sequence)).map(List)
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<List, A::Error> {
                let owner = Entity::deserialize(MapAccessDeserializer::new(map))?;
                Ok(List(owner.list))
            }
        }
        deserializer.deserialize_any(ListVisitor)
    }
}

impl List {
    /// A row for each; of a key alone only the first column is known.
    fn rows(&self, rows: &mut Vec<u8>) -> bool {
        for entry in &self.0 {
            match entry {
                Entry::Whole(one) => drop(one.row(rows)),
                Entry::Key(id) => {
                    let mut values = [Datum::Null; COLUMNS as usize];
                    values[0] = Datum::Int(id.0);
                    row(&values, rows);
                }
            }
        }
        !self.0.is_empty()
    }
}

fn row(values: &[Datum<'_>], rows: &mut Vec<u8>) {
    encode_row(values.len() as u16, rows);
    let mut encoded = Vec::new();
    for value in values {
        encoded.clear();
        value.encode(&mut encoded);
        encode_field(b"", &encoded, rows);
    }
}

#[cfg(test)]
mod tests {
    use assay_store::Rows;

    use super::*;

    const OK: StatusCode = StatusCode::OK;

    fn query(name: &str) -> Requested {
        Requested::of(name).unwrap()
    }

    /// The completion, and the rows in words.
    fn answered(name: &str, body: &str) -> (Completion, Vec<String>) {
        let mut rows = Vec::new();
        let completion = completion(query(name), OK, body.as_bytes(), &mut rows);
        let mut texts: Vec<String> = Vec::new();
        Rows::Encoded(&rows).each(|field| {
            let text = Datum::decode(field.value).unwrap().0.to_string();
            match texts.get_mut(field.row as usize) {
                Some(row) => *row += &format!(" {text}"),
                None => texts.push(text),
            }
        });
        (completion, texts)
    }

    fn ended(name: &str, status: u16, body: &str) -> Completion {
        let status = StatusCode::from_u16(status).unwrap();
        completion(query(name), status, body.as_bytes(), &mut Vec::new())
    }

    const FOUND: Completion = Completion::Done { found: true };
    const MISSED: Completion = Completion::Done { found: false };

    #[test]
    fn all_three_shapes_are_one_record() {
        let row = "1 'Ann' 'Road 1'";
        for (id, name, address) in [
            ("1", "\"Ann\"", "\"Road 1\""),
            ("\"1\"", "\"Ann\"", "\"Road 1\""),
            ("1", "[65,110,110]", "[82,111,97,100,32,49]"),
        ] {
            let body = format!(
                r#"{{"success":true,"result":{{"patientId":{id},"patientName":{name},
                    "patientAddress":{address},
                    "patientPrescriptions":["prescription_1"]}}}}"#
            );
            assert_eq!(answered("patient.read", &body), (FOUND, vec![row.to_owned()]));
        }
    }

    const PRESCRIPTION: &str = r#"{"prescriptionId":"9","prescriptionPatientId":1,
        "prescriptionPharmacyId":3,"prescriptionPrescriberId":2,"prescriptionDrugs":["a","b"],
        "prescriptionIsProcessed":"prescription_processed",
        "prescriptionDatePrescribed":[50,48],"prescriptionDateProcessed":"x"}"#;

    #[test]
    fn lists_are_rows_whatever_they_hold() {
        let whole = "9 1 2 3 '20' 'x' 'a,b' 1".to_owned();
        let name = "pharmacy_prescriptions.read";
        let list = |list: &str| format!(r#"{{"success":true,"result":{list}}}"#);
        assert_eq!(
            answered(name, &list(&format!("[{PRESCRIPTION},{PRESCRIPTION}]"))),
            (FOUND, vec![whole.clone(), whole.clone()])
        );
        let owner = format!(
            r#"{{"pharmacyId":1,"pharmacyName":"P","pharmacyAddress":"A",
                "pharmacyPrescriptions":[{PRESCRIPTION},"prescription_4"]}}"#
        );
        let key = "4 NULL NULL NULL NULL NULL NULL NULL".to_owned();
        assert_eq!(answered(name, &list(&owner)), (FOUND, vec![whole.clone(), key]));
        assert_eq!(answered(name, &list("[]")), (MISSED, vec![]));
        let one = list(PRESCRIPTION);
        assert_eq!(answered("prescription.read", &one), (FOUND, vec![whole]));
        assert_eq!(answered("prescription.drugs", &one), (FOUND, vec!["'a,b'".to_owned()]));
    }

    #[test]
    fn words_decide_the_outcome() {
        let says = |word: &str| {
            let body = format!(r#"{{"success":false,"result":"{word}"}}"#);
            answered("prescription.process", &body).0
        };
        for word in
            ["not_found", "no_such_patient", "patient_id_taken", "prescription_already_processed"]
        {
            assert_eq!(says(word), MISSED, "{word}");
        }
        for (word, reason) in [
            ("aborted", Reason::Conflict),
            ("txn_aborted", Reason::Conflict),
            ("unreachable", Reason::Unreachable),
            ("full", Reason::Full),
            ("whatever", Reason::StoreError),
        ] {
            assert_eq!(says(word), Completion::Refused(reason), "{word}");
        }
        let ok = r#"{"success":true,"result":"ok"}"#;
        assert_eq!(answered("prescription.insert", ok).0, FOUND);
    }

    #[test]
    fn the_status_decides_before_the_body() {
        let insert = "prescription.insert";
        for (status, completion) in [
            (400, Completion::Refused(Reason::Malformed)),
            (404, Completion::Refused(Reason::Unsupported)),
            (408, Completion::Refused(Reason::Busy)),
            (413, Completion::Refused(Reason::Malformed)),
            (503, Completion::Refused(Reason::Busy)),
            (500, Completion::Unknown(Reason::StoreError)),
            (302, Completion::Unknown(Reason::StoreError)),
        ] {
            assert_eq!(ended(insert, status, ""), completion, "{status}");
        }
        let gone = r#"{"success":false,"result":"unreachable"}"#;
        assert_eq!(ended(insert, 503, gone), Completion::Refused(Reason::Unreachable));
    }

    #[test]
    fn what_cannot_be_read_is_garbled() {
        let garbled = Completion::Unknown(Reason::Garbled);
        for body in [
            "",
            "{}",
            "<html>",
            r#"{"success":true,"result":{}}"#,
            r#"{"success":true,"result":7}"#,
            r#"{"success":false,"result":[]}"#,
            r#"{"success":true,"result":{"patientId":"x","patientName":"","patientAddress":""}}"#,
        ] {
            assert_eq!(answered("patient.read", body), (garbled, vec![]), "{body}");
        }
    }
}

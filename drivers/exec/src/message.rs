//! Lines of the protocol: what we write, and what a driver answers.

use std::borrow::Cow;
use std::fmt::{self, Write as _};

use assay_model::{Fields, Kind, Layout, Reason, Table};
use assay_store::answer::{encode_field, encode_row};
use assay_store::{Capabilities, Request, ScanOrder};
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

use super::text::{pull_bytes, push_bytes};

/// The version of the protocol.
pub(super) const PROTOCOL: u32 = 1;
/// The table of the note about what was loaded.
pub(super) const NOTES: &str = "assay_notes";
/// Its only field, and its only key.
pub(super) const NOTE: &str = "note";
/// The longest part of a line of the driver that a message shows, in characters.
const MOST_DISPLAYED: usize = 200;

/// The line that begins a conversation.
pub(super) fn greeting(worker: usize, parameters: &[(String, String)]) -> Vec<u8> {
    let mut line = Vec::new();
    line.extend_from_slice(format!("{{\"assay\":{PROTOCOL},\"worker\":{worker}").as_bytes());
    line.extend_from_slice(b",\"options\":");
    push_object(
        parameters.iter().map(|(name, value)| (name.as_str(), value.as_bytes())),
        &mut line,
    );
    line.extend_from_slice(b"}\n");
    line
}

/// A driver's first line: what it is and what it can do.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(super) struct Hello {
    /// The version of the protocol that it speaks.
    assay: u32,
    /// The store's name in small letters.
    name: String,
    /// The version of the driver, or of the store behind it.
    #[serde(default)]
    pub(super) version: String,
    /// What it can do, by the names of operations, and `flush`.
    operations: Vec<String>,
    /// The most requests in flight per process.
    #[serde(default = "one")]
    in_flight: usize,
    /// The most processes at a time; `None` if there may be any number.
    #[serde(default)]
    pub(super) workers: Option<usize>,
    /// Whether data outlive the driver.
    #[serde(default = "yes")]
    persistent: bool,
    /// Whether it keeps anything at all.
    #[serde(default = "yes")]
    keeps: bool,
    /// `fields` if an update keeps the fields that it does not name, `record` if not.
    #[serde(default)]
    updates: Updates,
    /// `key` if scans go by the bytes of keys.
    #[serde(default)]
    scan: Scan,
    /// Whether it tries again by itself, and how.
    #[serde(default)]
    hidden_retries: Option<String>,
    /// What an acknowledged write survives.
    #[serde(default)]
    pub(super) durability: Option<String>,
    /// Settings that decide what the figures mean.
    #[serde(default)]
    pub(super) settings: Vec<HelloSetting>,
}

/// A setting that a driver tells.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(super) struct HelloSetting {
    pub(super) name: String,
    pub(super) value: String,
    pub(super) meaning: String,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Updates {
    #[default]
    Fields,
    Record,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Scan {
    Key,
    #[default]
    Own,
}

const fn one() -> usize {
    1
}

const fn yes() -> bool {
    true
}

/// The word for an operation that makes acknowledged writes durable.
const FLUSH: &str = "flush";

impl Hello {
    /// What `line` says.
    ///
    /// # Errors
    /// A sentence about what is wrong with it, or the refusal of the driver.
    pub(super) fn parse(line: &[u8]) -> Result<Hello, HelloError> {
        if let Ok(refusal) = serde_json::from_slice::<Refusal<'_>>(line) {
            let reason = reason(&refusal.reason).unwrap_or(Reason::StoreError);
            return Err(HelloError::Refused(reason, refusal.text.into_owned()));
        }
        let hello: Hello = serde_json::from_slice(line)
            .map_err(|error| HelloError::Wrong(format!("its first line is no hello ({error})")))?;
        hello.check().map_err(HelloError::Wrong)?;
        Ok(hello)
    }

    fn check(&self) -> Result<(), String> {
        if self.assay != PROTOCOL {
            let spoken = self.assay;
            return Err(format!("it speaks version {spoken} of the protocol, not {PROTOCOL}"));
        }
        let is_letter =
            |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        if self.name.is_empty() || !self.name.bytes().all(is_letter) {
            let name = &self.name;
            return Err(format!("its name has other than small letters, digits, -: {name:?}"));
        }
        let known = |word: &&String| *word != FLUSH && kind(word).is_none();
        if let Some(word) = self.operations.iter().find(known) {
            return Err(format!(
                "operations are read, update, insert, scan, delete, flush, not {word:?}"
            ));
        }
        let settings = self.settings.iter();
        let mut texts = settings.flat_map(|one| [&one.name, &one.value, &one.meaning]);
        if texts.any(|text| text.trim().is_empty()) {
            return Err("one of its settings has no name, value or meaning".into());
        }
        match (self.in_flight, self.workers) {
            (0, _) => Err("in_flight is 0, so nothing could be sent".into()),
            (_, Some(0)) => Err("workers is 0, so nothing could be sent".into()),
            _ => Ok(()),
        }
    }

    /// Whether it wants to be told to flush.
    pub(super) fn flushes(&self) -> bool {
        self.operations.iter().any(|word| word == FLUSH)
    }

    /// The most requests in flight per process, `most` where that is less.
    pub(super) fn in_flight(&self, most: usize) -> usize {
        self.in_flight.min(most)
    }

    /// What the store can do.
    pub(super) fn capabilities(&self) -> Capabilities {
        Capabilities {
            kinds: Kind::OF_RECORDS
                .into_iter()
                .filter(|one| self.operations.iter().any(|word| kind(word) == Some(*one)))
                .collect(),
            hidden_retries: self.hidden_retries.clone().map(|text| &*text.leak()),
            keeps_other_fields: self.updates == Updates::Fields && self.keeps,
            scan_order: match self.scan {
                Scan::Key => ScanOrder::Key,
                Scan::Own => ScanOrder::Own,
            },
            is_no_op: !self.keeps,
            is_persistent: self.persistent && self.keeps,
            // One short text for each store that is opened, for the rest of the process.
            ..Capabilities::of(self.name.clone().leak())
        }
    }
}

/// There is no conversation.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum HelloError {
    /// The driver says why it cannot work.
    Refused(Reason, String),
    /// The line is none of the protocol.
    Wrong(String),
}

#[derive(Deserialize)]
struct Refusal<'a> {
    #[serde(borrow, rename = "refused")]
    reason: Cow<'a, str>,
    #[serde(borrow)]
    text: Cow<'a, str>,
}

fn kind(word: &str) -> Option<Kind> {
    Kind::OF_RECORDS.into_iter().find(|kind| kind.name() == word)
}

fn reason(word: &str) -> Option<Reason> {
    Reason::ALL.iter().copied().find(|reason| reason.name() == word && *reason != Reason::None)
}

/// The request that makes the store ready to hold `tables`, behind its number.
pub(super) fn prepare(tables: &[Table], records: u64) -> Vec<u8> {
    let mut body = b"\"op\":\"prepare\",\"tables\":[".to_vec();
    for (place, table) in tables.iter().enumerate() {
        body.extend_from_slice(if place == 0 { b"{\"name\":" } else { b",{\"name\":" });
        push_bytes(table.name.as_bytes(), &mut body);
        body.extend_from_slice(b",\"fields\":");
        push_list(table.fields.iter().map(String::as_bytes), &mut body);
        let ordered = if table.needs_key_order { "true" } else { "false" };
        body.extend_from_slice(format!(",\"ordered\":{ordered}}}").as_bytes());
    }
    body.extend_from_slice(format!("],\"records\":{records}").as_bytes());
    body
}

/// The tables of `layout`, and one for the note.
pub(super) fn tables(layout: Option<&Layout>) -> Vec<Table> {
    let notes = Table { name: NOTES.into(), fields: vec![NOTE.into()], needs_key_order: false };
    let tables = layout.map_or(&[][..], |layout| &layout.tables);
    tables.iter().cloned().chain([notes]).collect()
}

/// Appends the line of a request to a driver, number `id`, whose other members are `body`.
pub(super) fn push_request(id: u64, body: &[u8], into: &mut Vec<u8>) {
    push_number(b"{\"id\":", id, into);
    into.push(b',');
    into.extend_from_slice(body);
    into.extend_from_slice(b"}\n");
}

/// Appends the members of an operation on records, without the number of the request.
///
/// # Errors
/// Malformed if the layout has no such table or field, and what was appended is of no use.
pub(super) fn push_operation(
    request: &Request<'_>,
    tables: &[Table],
    into: &mut Vec<u8>,
) -> Result<(), Reason> {
    let table = tables.get(usize::from(request.table)).ok_or(Reason::Malformed)?;
    let name = |number: u16| table.fields.get(usize::from(number)).ok_or(Reason::Malformed);
    into.extend_from_slice(b"\"op\":\"");
    into.extend_from_slice(request.kind.name().as_bytes());
    into.extend_from_slice(b"\",\"table\":");
    push_bytes(table.name.as_bytes(), into);
    into.extend_from_slice(b",\"key\":");
    push_bytes(request.key, into);
    match request.kind {
        Kind::Read | Kind::Scan => match request.fields {
            Fields::All => {}
            Fields::One(number) => {
                into.extend_from_slice(b",\"fields\":");
                push_list([name(number)?.as_bytes()].into_iter(), into);
            }
            Fields::Named => {
                into.extend_from_slice(b",\"fields\":");
                push_list(table.fields.iter().map(String::as_bytes), into);
            }
        },
        Kind::Update | Kind::Insert => {
            for (number, _) in request.values.iter() {
                name(number)?;
            }
            into.extend_from_slice(b",\"values\":");
            let pairs = request
                .values
                .iter()
                .map(|(number, value)| (table.fields[usize::from(number)].as_str(), value));
            push_object(pairs, into);
        }
        Kind::Delete | Kind::Commit | Kind::Rollback => {}
    }
    if request.kind == Kind::Scan {
        push_number(b",\"limit\":", u64::from(request.limit), into);
    }
    Ok(())
}

fn push_number(before: &[u8], number: u64, into: &mut Vec<u8>) {
    let mut digits = DigitText::default();
    // Twenty digits hold every number.
    let _ = write!(digits, "{number}");
    into.extend_from_slice(before);
    into.extend_from_slice(&digits.bytes[..digits.length]);
}

/// Decimal digits without an allocation.
#[derive(Default)]
struct DigitText {
    bytes: [u8; 20],
    length: usize,
}

impl fmt::Write for DigitText {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let end = self.length + text.len();
        self.bytes.get_mut(self.length..end).ok_or(fmt::Error)?.copy_from_slice(text.as_bytes());
        self.length = end;
        Ok(())
    }
}

fn push_list<'a>(texts: impl Iterator<Item = &'a [u8]>, into: &mut Vec<u8>) {
    into.push(b'[');
    for (place, text) in texts.enumerate() {
        if place > 0 {
            into.push(b',');
        }
        push_bytes(text, into);
    }
    into.push(b']');
}

fn push_object<'a>(pairs: impl Iterator<Item = (&'a str, &'a [u8])>, into: &mut Vec<u8>) {
    into.push(b'{');
    for (place, (name, value)) in pairs.enumerate() {
        if place > 0 {
            into.push(b',');
        }
        push_bytes(name.as_bytes(), into);
        into.push(b':');
        push_bytes(value, into);
    }
    into.push(b'}');
}

/// A driver's line about a request.
#[derive(Debug, Deserialize)]
struct AnswerLine<'a> {
    id: u64,
    outcome: Word,
    #[serde(borrow, default)]
    reason: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    text: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    rows: Vec<Row<'a>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Word {
    Done,
    Missing,
    Refused,
    Unknown,
}

/// Names and values of a record, in the order of the line.
#[derive(Debug)]
struct Row<'a>(Vec<(Text<'a>, Text<'a>)>);

/// A text that borrows from the line where nothing in it is escaped.
#[derive(Debug, Deserialize)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

impl<'de: 'a, 'a> Deserialize<'de> for Row<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Row<'a>, D::Error> {
        struct Fields;
        impl<'de> Visitor<'de> for Fields {
            type Value = Row<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object of texts: the fields of a record")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Row<'de>, A::Error> {
                let mut fields = Vec::new();
                while let Some(field) = map.next_entry()? {
                    fields.push(field);
                }
                Ok(Row(fields))
            }
        }
        deserializer.deserialize_map(Fields)
    }
}

/// How a request ended, as the driver tells.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Response {
    /// It did what was requested; with so many records, which were encoded.
    Done { rows: usize },
    /// The record is not there.
    Missing,
    /// It certainly did not happen, with what the driver says about it.
    Refused(Reason, Option<String>),
    /// Whether it happened is unknown, with what the driver says about it.
    Unknown(Reason, Option<String>),
}

/// The number of the request that `line` answers, with the response; records are encoded into
/// `rows`, over what is there.
///
/// # Errors
/// A sentence about what is wrong with the line.
pub(super) fn parse_answer(line: &[u8], rows: &mut Vec<u8>) -> Result<(u64, Response), String> {
    let answer: AnswerLine<'_> =
        serde_json::from_slice(line).map_err(|error| format!("it is no answer ({error})"))?;
    rows.clear();
    let text = || answer.text.as_ref().map(|text| text.clone().into_owned());
    let why = || match &answer.reason {
        Some(word) => reason(word).ok_or_else(|| format!("there is no reason {word:?}")),
        None => Ok(Reason::StoreError),
    };
    let response = match answer.outcome {
        Word::Missing => Response::Missing,
        Word::Refused => Response::Refused(why()?, text()),
        Word::Unknown => Response::Unknown(why()?, text()),
        Word::Done => {
            let mut bytes = Vec::new();
            for row in &answer.rows {
                encode(row, &mut bytes, rows)?;
            }
            Response::Done { rows: answer.rows.len() }
        }
    };
    Ok((answer.id, response))
}

fn encode(row: &Row<'_>, bytes: &mut Vec<u8>, into: &mut Vec<u8>) -> Result<(), String> {
    let count = u16::try_from(row.0.len()).map_err(|_| "a record has more than 65535 fields")?;
    encode_row(count, into);
    for (name, value) in &row.0 {
        bytes.clear();
        let no_byte = |character| format!("the character {character:?} stands for no byte");
        pull_bytes(&name.0, bytes).map_err(no_byte)?;
        let length = bytes.len();
        if length > usize::from(u16::MAX) {
            return Err("the name of a field is longer than 65535 bytes".into());
        }
        pull_bytes(&value.0, bytes).map_err(no_byte)?;
        encode_field(&bytes[..length], &bytes[length..], into);
    }
    Ok(())
}

/// What `line` looks like, short enough for a message.
pub(super) fn displayed_line(line: &[u8]) -> String {
    let text = String::from_utf8_lossy(line);
    let beginning: String = text.chars().take(MOST_DISPLAYED).collect();
    let rest = if beginning.len() < text.len() { "…" } else { "" };
    format!("{beginning:?}{rest}")
}

#[cfg(test)]
mod tests {
    use assay_store::{Rows, Values};

    use super::*;

    fn table() -> Vec<Table> {
        tables(Some(&Layout {
            tables: vec![Table {
                name: "usertable".into(),
                fields: vec!["field0".into(), "field1".into()],
                needs_key_order: true,
            }],
            records: 7,
        }))
    }

    fn line(kind: Kind, fields: Fields, values: Values<'_>) -> String {
        let request = Request { fields, limit: 5, values, ..Request::new(kind, b"k\n") };
        let mut body = Vec::new();
        push_operation(&request, &table(), &mut body).unwrap();
        let mut line = Vec::new();
        push_request(18, &body, &mut line);
        String::from_utf8(line).unwrap()
    }

    #[test]
    fn requests_are_lines_of_json() {
        let values = [(1, 0..1), (0, 1..2)];
        let values = Values::new(&values, b"a\xff");
        assert_eq!(
            line(Kind::Insert, Fields::All, values),
            "{\"id\":18,\"op\":\"insert\",\"table\":\"usertable\",\"key\":\"k\\u000a\",\
             \"values\":{\"field1\":\"a\",\"field0\":\"\\u00ff\"}}\n"
        );
        assert_eq!(
            line(Kind::Scan, Fields::One(1), Values::NONE),
            "{\"id\":18,\"op\":\"scan\",\"table\":\"usertable\",\"key\":\"k\\u000a\",\
             \"fields\":[\"field1\"],\"limit\":5}\n"
        );
        assert_eq!(
            line(Kind::Delete, Fields::All, Values::NONE),
            "{\"id\":18,\"op\":\"delete\",\"table\":\"usertable\",\"key\":\"k\\u000a\"}\n"
        );
        let prepared = String::from_utf8(prepare(&table(), 7)).unwrap();
        assert_eq!(
            prepared,
            "\"op\":\"prepare\",\"tables\":[{\"name\":\"usertable\",\
             \"fields\":[\"field0\",\"field1\"],\"ordered\":true},\
             {\"name\":\"assay_notes\",\"fields\":[\"note\"],\"ordered\":false}],\"records\":7"
        );
        let greeted = greeting(2, &[("a".into(), "b".into())]);
        assert_eq!(
            String::from_utf8(greeted).unwrap(),
            "{\"assay\":1,\"worker\":2,\"options\":{\"a\":\"b\"}}\n"
        );
    }

    #[test]
    fn a_field_that_the_layout_does_not_have_is_malformed() {
        let values = [(9, 0..1)];
        let values = Values::new(&values, b"a");
        let request = Request { values, ..Request::new(Kind::Update, b"k") };
        let malformed = push_operation(&request, &table(), &mut Vec::new());
        assert_eq!(malformed, Err(Reason::Malformed));
    }

    #[test]
    fn records_of_an_answer_are_encoded() {
        let mut rows = Vec::new();
        let line = br#"{"id":3,"outcome":"done","rows":[{"a":"1","b":"\u00ff"},{"a":"2"}]}"#;
        assert_eq!(parse_answer(line, &mut rows), Ok((3, Response::Done { rows: 2 })));
        let mut fields = Vec::new();
        Rows::Encoded(&rows)
            .each(|field| fields.push((field.row, field.name.to_vec(), field.value.to_vec())));
        let expected = [(0, "a", &b"1"[..]), (0, "b", b"\xff"), (1, "a", b"2")];
        let expected =
            expected.map(|(row, name, value)| (row, name.as_bytes().to_vec(), value.to_vec()));
        assert_eq!(fields, expected);
    }

    #[test]
    fn outcomes_are_told_apart() {
        let parse = |line: &str| parse_answer(line.as_bytes(), &mut Vec::new());
        assert_eq!(parse(r#"{"id":1,"outcome":"missing"}"#), Ok((1, Response::Missing)));
        assert_eq!(
            parse(r#"{"id":1,"outcome":"refused","reason":"busy","text":"wait"}"#),
            Ok((1, Response::Refused(Reason::Busy, Some("wait".into()))))
        );
        assert_eq!(
            parse(r#"{"id":1,"outcome":"unknown"}"#),
            Ok((1, Response::Unknown(Reason::StoreError, None)))
        );
        for (line, reported) in [
            ("Traceback", "it is no answer (expected value"),
            (r#"{"id":1,"outcome":"fine"}"#, "unknown variant `fine`"),
            (r#"{"outcome":"done"}"#, "missing field `id`"),
            (r#"{"id":1,"outcome":"refused","reason":"lazy"}"#, "there is no reason \"lazy\""),
            (r#"{"id":1,"outcome":"done","rows":[{"a":"€"}]}"#, "'€' stands for no byte"),
        ] {
            let error = parse(line).unwrap_err();
            assert!(error.contains(reported), "{line}: {error}");
        }
    }

    #[test]
    fn a_hello_says_what_the_driver_can_do() {
        let line = r#"{"assay":1,"name":"my-store","operations":["read","insert","flush"],
            "in_flight":16,"scan":"key","updates":"record","persistent":false}"#;
        let hello = Hello::parse(line.as_bytes()).unwrap();
        let capabilities = hello.capabilities();
        assert_eq!(capabilities.name, "my-store");
        assert_eq!(capabilities.kinds, [Kind::Read, Kind::Insert]);
        assert_eq!(capabilities.scan_order, ScanOrder::Key);
        assert!(!capabilities.keeps_other_fields && !capabilities.is_persistent);
        assert!(hello.flushes());
        assert_eq!((hello.in_flight(4), hello.in_flight(99)), (4, 16));
    }

    #[test]
    fn a_wrong_hello_says_what_is_wrong() {
        let parse = |line: &str| Hello::parse(line.as_bytes()).unwrap_err();
        for (line, reported) in [
            ("hello", "its first line is no hello"),
            (r#"{"assay":2,"name":"a","operations":[]}"#, "version 2 of the protocol, not 1"),
            (r#"{"assay":1,"name":"A b","operations":[]}"#, "small letters"),
            (r#"{"assay":1,"name":"a","operations":["fly"]}"#, "not \"fly\""),
            (r#"{"assay":1,"name":"a","operations":[],"in_flight":0}"#, "in_flight is 0"),
            (r#"{"assay":1,"name":"a","operations":[],"scan":"hash"}"#, "unknown variant `hash`"),
        ] {
            let HelloError::Wrong(error) = parse(line) else { panic!("{line}") };
            assert!(error.contains(reported), "{line}: {error}");
        }
        assert_eq!(
            parse(r#"{"refused":"unreachable","text":"no server at h:1"}"#),
            HelloError::Refused(Reason::Unreachable, "no server at h:1".into())
        );
    }

    #[test]
    fn long_lines_are_displayed_in_part() {
        assert_eq!(displayed_line(b"a\"b"), "\"a\\\"b\"");
        let long = displayed_line("x".repeat(1000).as_bytes());
        assert_eq!((long.chars().count(), long.ends_with("\"…")), (203, true));
    }
}

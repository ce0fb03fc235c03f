//! Records as text in, records as text out.

use assay_model::{Fields, Reason};

use super::*;

fn names() -> Vec<String> {
    ["a", "b", "c"].map(String::from).to_vec()
}

/// Values written as `0=x 2=yy`, given to `use_them`.
fn with_values<T>(text: &str, use_them: impl FnOnce(&Values<'_>) -> T) -> T {
    let mut bytes = Vec::new();
    let mut spans = Vec::new();
    for part in text.split_whitespace() {
        let (number, value) = part.split_once('=').unwrap();
        let begin = bytes.len() as u32;
        bytes.extend_from_slice(value.as_bytes());
        spans.push((number.parse().unwrap(), begin..bytes.len() as u32));
    }
    use_them(&Values::new(&spans, &bytes))
}

fn record(text: &str) -> Vec<u8> {
    let mut row = Vec::new();
    with_values(text, |values| make(values, &names(), &mut row)).unwrap();
    row
}

fn show(rows: &Rows<'_>) -> String {
    let mut parts = Vec::new();
    rows.each(|field| {
        let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
        parts.push(format!("{}:{}={}", field.row, text(field.name), text(field.value)));
    });
    parts.join(" ")
}

#[test]
fn a_record_is_made_of_its_values() {
    assert_eq!(show(&Rows::Encoded(&record("0=x 1= 2=zz"))), "0:a=x 0:b= 0:c=zz");
}

#[test]
fn values_of_the_same_length_are_changed_in_place() {
    let mut row = record("0=x 1=yy 2=z");
    assert_eq!(with_values("2=Z 0=X", |values| patch(&mut row, values, &names())), Ok(true));
    assert_eq!(show(&Rows::Encoded(&row)), "0:a=X 0:b=yy 0:c=Z");
}

#[test]
fn a_change_that_does_not_fit_leaves_the_record_alone() {
    for change in ["0=X 1=longer", "0=X 2=new"] {
        let mut row = record("0=x 1=yy");
        let patched = with_values(change, |values| patch(&mut row, values, &names()));
        assert_eq!(patched, Ok(false), "{change}");
        assert_eq!(row, record("0=x 1=yy"), "{change}");
    }
}

#[test]
fn merging_replaces_keeps_and_adds() {
    let mut merged = b"before".to_vec();
    with_values("2=new 0=longer", |values| {
        merge(&record("0=x 1=yy"), values, &names(), &mut merged)
    })
    .unwrap();
    assert_eq!(show(&Rows::Encoded(&merged[6..])), "0:a=longer 0:b=yy 0:c=new");
}

#[test]
fn a_field_number_without_a_name_is_malformed() {
    let mut into = Vec::new();
    let mut row = record("0=x");
    let refused = Err(Reason::Malformed);
    with_values("7=x", |values| {
        assert_eq!(make(values, &names(), &mut into), refused);
        assert_eq!(merge(&row, values, &names(), &mut into), refused);
        assert_eq!(patch(&mut row, values, &names()).map(|_| ()), refused);
    });
    assert_eq!(copy(&row, Fields::One(7), &names(), &mut into), refused);
}

#[test]
fn a_read_chooses_its_fields_without_copying() {
    let row = record("0=x 1=yy 2=z");
    let mut spans = Vec::new();
    let mut check = |fields, names: &[String], expected: &str| {
        let rows = choose(&row, fields, names, &mut spans).unwrap();
        assert_eq!((rows.count(), show(&rows).as_str()), (1, expected));
    };
    check(Fields::All, &names(), "0:a=x 0:b=yy 0:c=z");
    check(Fields::One(1), &names(), "0:b=yy");
    check(Fields::Named, &names()[..2], "0:a=x 0:b=yy");
    check(Fields::One(0), &["other".to_string()], "");
}

#[test]
fn a_scan_copies_what_it_chose() {
    let mut into = Vec::new();
    copy(&record("0=x 1=yy"), Fields::One(1), &names(), &mut into).unwrap();
    copy(&record("0=w 1=vv"), Fields::All, &names(), &mut into).unwrap();
    assert_eq!(show(&Rows::Encoded(&into)), "0:b=yy 1:a=w 1:b=vv");
}

#[test]
fn pieces_of_a_buffer_become_an_encoding_of_the_same_records() {
    let span = |row, at: u32| Span { row, name: at..at + 1, value: at + 1..at + 2 };
    let spans = [span(0, 0), span(2, 2), span(2, 4)];
    let mut encoded = Vec::new();
    flatten(&Rows::Spans { bytes: b"a1b2c3", spans: &spans, rows: 4 }, &mut encoded);
    let rows = Rows::Encoded(&encoded);
    assert_eq!((rows.count(), show(&rows).as_str()), (4, "0:a=1 2:b=2 2:c=3"));
}

#[test]
fn a_cut_record_shows_what_is_whole() {
    let row = record("0=x 1=yy");
    for length in 0..row.len() {
        assert!(walk(&row[..length]).count() < 2, "{length} bytes");
    }
}

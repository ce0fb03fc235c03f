//! Binary objects byte by byte.

use super::*;
use assay_store::answer::Rows;

const TYPE: &str = "CustomType";

fn names() -> Vec<String> {
    ["field0", "field1", "field2"].map(str::to_owned).to_vec()
}

fn numbers() -> Vec<i32> {
    names().iter().map(|name| number(name)).collect()
}

/// The types of one table.
fn types() -> Types {
    let mut types = Types::default();
    types.add_type(number(TYPE), TYPE);
    names().iter().for_each(|name| types.add_name(number(TYPE), name));
    types.add_schema(number(TYPE), schema_number(&numbers()), &numbers());
    types
}

/// An object with these values of fields.
fn make(values: &[(u16, &[u8])], content: Content, is_compact: bool) -> Vec<u8> {
    let numbers = numbers();
    let mut draft = Draft { is_compact, ..Draft::empty(number(TYPE), &numbers) };
    set(&mut draft, values, content).unwrap();
    write(&draft)
}

fn write(draft: &Draft<'_>) -> Vec<u8> {
    let mut bytes = Vec::new();
    draft.write(&mut bytes);
    bytes
}

fn set<'a>(
    draft: &mut Draft<'a>,
    values: &[(u16, &'a [u8])],
    content: Content,
) -> Result<(), Reason> {
    // The values lie behind each other, as those of a request do.
    let all: Vec<u8> = values.iter().flat_map(|(_, value)| value.iter().copied()).collect();
    let all: &'static [u8] = all.leak();
    let mut end = 0;
    let spans: Vec<(u16, std::ops::Range<u32>)> = values
        .iter()
        .map(|(field, value)| {
            let begin = end;
            end += value.len() as u32;
            (*field, begin..end)
        })
        .collect();
    let spans: &'static [_] = spans.leak();
    draft.set(&Values::new(spans, all), content, &numbers())
}

/// The record as `name=value`, as an answer has it.
fn describe(bytes: &[u8], requested: Fields) -> String {
    let mut rows = Vec::new();
    Object::parse(bytes).unwrap().encode(requested, &names(), &types(), &mut rows).unwrap();
    let mut words = Vec::new();
    Rows::Encoded(&rows).each(|field| {
        let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
        words.push(format!("{}={}", text(field.name), text(field.value)));
    });
    words.join(" ")
}

#[test]
fn numbers_are_those_of_java() {
    assert_eq!(number("Name"), 3_373_707);
    assert_eq!(schema_number(&[number("name")]), 1_975_878_747);
    assert_eq!(schema_number(&[]), -2_128_831_035);
    assert_eq!(hash(&[1, 255]), 31 * (31 + 1) - 1);
}

#[test]
fn a_record_is_laid_out_as_the_protocol_says() {
    let bytes = make(&[(0, b"a")], Content::Text, true);
    let mut expected = vec![103, 1, 0x2b, 0];
    put_i32(number(TYPE), &mut expected);
    put_i32(hash(&[9, 1, 0, 0, 0, b'a', 101, 101]), &mut expected);
    put_i32(35, &mut expected);
    put_i32(schema_number(&numbers()), &mut expected);
    put_i32(32, &mut expected);
    expected.extend([9, 1, 0, 0, 0, b'a', 101, 101, 24, 30, 31]);
    assert_eq!(bytes, expected);
}

#[test]
fn records_come_back_with_what_was_written() {
    for is_compact in [true, false] {
        for content in [Content::Text, Content::Bytes] {
            let bytes = make(&[(2, b"c"), (0, b"")], content, is_compact);
            assert_eq!(describe(&bytes, Fields::All), "field0= field2=c");
            assert_eq!(describe(&bytes, Fields::Named), "field0= field2=c");
            assert_eq!(describe(&bytes, Fields::One(2)), "field2=c");
            assert_eq!(describe(&bytes, Fields::One(1)), "");
        }
    }
}

#[test]
fn offsets_are_as_wide_as_the_last_needs() {
    for length in [0, 225, 226, 65_505, 65_506, 1 << 20] {
        let long = "x".repeat(length);
        let bytes = make(&[(0, long.as_bytes()), (2, b"c")], Content::Text, true);
        let whole = format!("field0={long} field2=c");
        assert_eq!(describe(&bytes, Fields::All), whole, "{length}");
        let width = match length {
            0..226 => 1,
            226..65_506 => 2,
            _ => 4,
        };
        let footer = i32::from_le_bytes(*bytes[20..].first_chunk().unwrap()) as usize;
        assert_eq!(bytes.len() - footer, 3 * width, "{length}");
    }
}

#[test]
fn a_change_keeps_what_it_does_not_name() {
    let old = make(&[(0, b"a"), (1, b"b"), (2, b"c")], Content::Text, true);
    let types = types();
    let mut draft = Object::parse(&old).unwrap().draft(&types).unwrap();
    set(&mut draft, &[(1, b"new")], Content::Text).unwrap();
    let new = write(&draft);
    assert_eq!(describe(&new, Fields::All), "field0=a field1=new field2=c");
    assert_eq!(Object::parse(&new).unwrap().schema, Object::parse(&old).unwrap().schema);
}

#[test]
fn a_field_that_the_record_never_had_is_added_behind() {
    let mut types = types();
    let one = &numbers()[..1];
    types.add_schema(number(TYPE), schema_number(one), one);
    let mut draft = Draft::empty(number(TYPE), one);
    set(&mut draft, &[(0, b"a")], Content::Text).unwrap();
    let old = write(&draft);
    let mut draft = Object::parse(&old).unwrap().draft(&types).unwrap();
    set(&mut draft, &[(2, b"c")], Content::Text).unwrap();
    assert_eq!(draft.numbers(), [numbers()[0], numbers()[2]]);
    let new = write(&draft);
    assert!(Object::parse(&new).unwrap().is_strange_to(&types));
    types.add_schema(number(TYPE), schema_number(&draft.numbers()), &draft.numbers());
    assert!(!Object::parse(&new).unwrap().is_strange_to(&types));
}

#[test]
fn what_is_no_text_or_no_field_is_refused() {
    let mut draft = Draft::empty(number(TYPE), &numbers());
    assert_eq!(set(&mut draft, &[(0, &[255])], Content::Text), Err(Reason::Malformed));
    assert_eq!(set(&mut draft, &[(0, &[255])], Content::Bytes), Ok(()));
    assert_eq!(set(&mut draft, &[(3, b"a")], Content::Text), Err(Reason::Malformed));
}

#[test]
fn what_is_cut_is_garbled() {
    let bytes = make(&[(0, b"a"), (1, b"b")], Content::Text, true);
    for length in 0..bytes.len() {
        assert!(Object::parse(&bytes[..length]).is_err(), "{length}");
    }
    let mut wrong = bytes.clone();
    // The first offset points behind the footer.
    let footer = bytes.len() - 3;
    wrong[footer] = 255;
    let places = Object::parse(&wrong).unwrap().places(&types());
    assert_eq!(places.err(), Some(Garbled));
}

//! One record in the encoding of [`encode_row`], made from values or looked into.
//!
//! Stores that keep a record as one value share these functions, so that a read hands out what is
//! kept without touching its fields. Field names come from the layout: a request has numbers only.

use std::ops::Range;

use assay_model::{Fields, Reason};

use crate::answer::{Rows, Span, encode_field, encode_row};
use crate::request::Values;

const COUNT_BYTES: usize = 2;
const FIELD_HEADER_BYTES: usize = 6;

/// Appends the record that consists of `values`.
///
/// # Errors
/// [`Reason::Malformed`] if `names` has no name for one of the field numbers.
pub fn make(values: &Values<'_>, names: &[String], into: &mut Vec<u8>) -> Result<(), Reason> {
    encode_row(count(values.len())?, into);
    for (number, value) in values.iter() {
        encode_field(name_of(number, names)?, value, into);
    }
    Ok(())
}

/// Overwrites the named values within `row` and tells whether that could be done.
///
/// It can if each of them is there with the same length; otherwise `row` is as before and
/// [`merge`] makes a new record.
///
/// # Errors
/// [`Reason::Malformed`] if `names` has no name for one of the field numbers.
pub fn patch(row: &mut [u8], values: &Values<'_>, names: &[String]) -> Result<bool, Reason> {
    for (number, value) in values.iter() {
        match find(row, name_of(number, names)?) {
            Some(place) if place.len() == value.len() => {}
            _ => return Ok(false),
        }
    }
    for (number, value) in values.iter() {
        let place = find(row, name_of(number, names)?).expect("the loop above found every field");
        row[place].copy_from_slice(value);
    }
    Ok(true)
}

/// Appends `row` with the named values put in place of the old ones, or at the end if they are new.
///
/// # Errors
/// [`Reason::Malformed`] if `names` has no name for one of the field numbers.
pub fn merge(
    row: &[u8],
    values: &Values<'_>,
    names: &[String],
    into: &mut Vec<u8>,
) -> Result<(), Reason> {
    let begin = into.len();
    encode_row(0, into);
    let mut fields = 0;
    for place in walk(row) {
        let name = &row[place.name];
        let new = values.iter().find(|(number, _)| is_named(*number, name, names));
        encode_field(name, new.map_or(&row[place.value], |(_, value)| value), into);
        fields += 1;
    }
    for (number, value) in values.iter() {
        let name = name_of(number, names)?;
        if find(row, name).is_none() {
            encode_field(name, value, into);
            fields += 1;
        }
    }
    into[begin..begin + COUNT_BYTES].copy_from_slice(&count(fields)?.to_le_bytes());
    Ok(())
}

/// The fields of `row` that a read returns, without copying them.
///
/// `spans` is scratch space: it is emptied first and holds what the rows point to.
///
/// # Errors
/// [`Reason::Malformed`] if `names` has no name for the field number.
pub fn choose<'a>(
    row: &'a [u8],
    fields: Fields,
    names: &[String],
    spans: &'a mut Vec<Span>,
) -> Result<Rows<'a>, Reason> {
    spans.clear();
    match fields {
        Fields::All => return Ok(Rows::Encoded(row)),
        Fields::One(number) => {
            let name = name_of(number, names)?;
            spans.extend(walk(row).find(|place| &row[place.name.clone()] == name).map(span));
        }
        Fields::Named => {
            let known = |place: &Place| {
                names.iter().any(|name| name.as_bytes() == &row[place.name.clone()])
            };
            spans.extend(walk(row).filter(known).map(span));
        }
    }
    Ok(Rows::Spans { bytes: row, spans, rows: 1 })
}

/// Whether `row` is one record from its first byte to its last: what others keep under a key is
/// hardly ever.
pub fn is_whole(row: &[u8]) -> bool {
    let Some(&count) = row.first_chunk() else { return false };
    let (mut fields, mut end) = (0, COUNT_BYTES);
    for place in walk(row) {
        (fields, end) = (fields + 1, place.value.end);
    }
    fields == usize::from(u16::from_le_bytes(count)) && end == row.len()
}

/// Appends the record of those fields of `row` that a scan returns.
///
/// # Errors
/// [`Reason::Malformed`] if `names` has no name for the field number.
pub fn copy(
    row: &[u8],
    fields: Fields,
    names: &[String],
    into: &mut Vec<u8>,
) -> Result<(), Reason> {
    if fields == Fields::All {
        into.extend_from_slice(row);
        return Ok(());
    }
    let mut spans = Vec::new();
    flatten(&choose(row, fields, names, &mut spans)?, into);
    Ok(())
}

/// Appends `rows` in the encoding of [`encode_row`], whatever shape they have.
///
/// # Panics
/// If a record has more than 65,535 fields.
pub fn flatten(rows: &Rows<'_>, into: &mut Vec<u8>) {
    match rows {
        Rows::Encoded(bytes) => into.extend_from_slice(bytes),
        Rows::Spans { bytes, spans, rows } => {
            let mut rest = *spans;
            for row in 0..*rows {
                let (fields, after) = rest.split_at(rest.partition_point(|span| span.row <= row));
                rest = after;
                let count = u16::try_from(fields.len()).expect("a record has fewer fields");
                encode_row(count, into);
                for field in fields {
                    let piece =
                        |range: &Range<u32>| &bytes[range.start as usize..range.end as usize];
                    encode_field(piece(&field.name), piece(&field.value), into);
                }
            }
        }
    }
}

/// Where one field is within an encoded record.
struct Place {
    name: Range<usize>,
    value: Range<usize>,
}

/// The places of the fields of the one record in `row`. A cut record ends early.
fn walk(row: &[u8]) -> impl Iterator<Item = Place> + '_ {
    let mut left = row.first_chunk().map_or(0, |bytes| u16::from_le_bytes(*bytes));
    let mut at = COUNT_BYTES;
    std::iter::from_fn(move || {
        left = left.checked_sub(1)?;
        let header = row.get(at..at + FIELD_HEADER_BYTES)?;
        let name_length = usize::from(u16::from_le_bytes([header[0], header[1]]));
        let value_length = u32::from_le_bytes([header[2], header[3], header[4], header[5]]);
        let name = at + FIELD_HEADER_BYTES..at + FIELD_HEADER_BYTES + name_length;
        let value = name.end..name.end + value_length as usize;
        at = value.end;
        (at <= row.len()).then_some(Place { name, value })
    })
}

fn find(row: &[u8], name: &[u8]) -> Option<Range<usize>> {
    walk(row).find(|place| &row[place.name.clone()] == name).map(|place| place.value)
}

fn span(place: Place) -> Span {
    let narrow = |range: Range<usize>| range.start as u32..range.end as u32;
    Span { row: 0, name: narrow(place.name), value: narrow(place.value) }
}

fn name_of(number: u16, names: &[String]) -> Result<&[u8], Reason> {
    names.get(usize::from(number)).map(|name| name.as_bytes()).ok_or(Reason::Malformed)
}

fn is_named(number: u16, name: &[u8], names: &[String]) -> bool {
    names.get(usize::from(number)).is_some_and(|known| known.as_bytes() == name)
}

fn count(fields: usize) -> Result<u16, Reason> {
    u16::try_from(fields).map_err(|_| Reason::Malformed)
}

#[cfg(test)]
mod tests;

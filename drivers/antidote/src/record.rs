//! A record as a map of registers, whose entries can be written but not removed.
//!
//! A register holds a field's value as it is, with two exceptions: one byte 0 says that the field
//! is not there, and a value that begins with a 0 has another one before it. A record is there if
//! one of its fields is.

use assay_model::{Fields, Reason, Table};
use assay_store::Values;
use assay_store::answer::{encode_field, encode_row};

use super::messages::{BoundObject, GROW_ONLY_MAP, MapEntry, ObjectValue, Operation};

/// The register of a field that is not there.
const ABSENT: [u8; 1] = [0];

/// Where the records of one table are.
#[derive(Clone, Debug)]
pub(super) struct Records {
    bucket: Vec<u8>,
    /// What every key of the table begins with.
    begin: Vec<u8>,
    fields: Vec<String>,
}

impl Records {
    /// Keys are `table/key`, in `bucket`.
    pub(super) fn new(bucket: String, table: &Table) -> Records {
        let begin = format!("{}/", table.name).into_bytes();
        Records { bucket: bucket.into_bytes(), begin, fields: table.fields.clone() }
    }

    /// The name of a record's map.
    pub(super) fn object(&self, key: &[u8]) -> BoundObject {
        let key = [&self.begin, key].concat();
        BoundObject { key, kind: GROW_ONLY_MAP, bucket: self.bucket.clone() }
    }

    fn name(&self, number: u16) -> Result<&str, Reason> {
        let name = self.fields.get(usize::from(number));
        name.map(String::as_str).ok_or(Reason::Malformed)
    }

    /// Writes these fields, and no other.
    pub(super) fn update(&self, values: &Values<'_>) -> Result<Operation, Reason> {
        let entry = |(number, value): (u16, &[u8])| Ok((self.name(number)?, escape(value)));
        let entries: Result<Vec<_>, Reason> = values.iter().map(entry).collect();
        Ok(Operation::assign(entries?))
    }

    /// Writes these fields, and that every other one is not there.
    pub(super) fn insert(&self, values: &Values<'_>) -> Result<Operation, Reason> {
        if values.is_empty() {
            // Without a field there is no record.
            return Err(Reason::Unsupported);
        }
        if let Some((number, _)) = values.iter().find(|(number, _)| self.name(*number).is_err()) {
            self.name(number)?;
        }
        let entry = |(number, name): (u16, &String)| {
            let value = values.get(number).map_or_else(|| ABSENT.to_vec(), escape);
            (name.clone(), value)
        };
        let entries: Vec<(String, Vec<u8>)> = (0..).zip(&self.fields).map(entry).collect();
        Ok(Operation::assign(entries.iter().map(|(name, value)| (name.as_str(), value.clone()))))
    }

    /// Writes that no field is there.
    pub(super) fn delete(&self) -> Operation {
        Operation::assign(self.fields.iter().map(|name| (name.as_str(), ABSENT.to_vec())))
    }

    /// Whether a map is a record.
    pub(super) fn is_there(&self, found: &ObjectValue) -> Result<bool, Reason> {
        self.hand_out(found, Fields::All, &mut Vec::new())
    }

    /// Appends the record that a read returns; tells whether there is one.
    pub(super) fn hand_out(
        &self,
        found: &ObjectValue,
        fields: Fields,
        rows: &mut Vec<u8>,
    ) -> Result<bool, Reason> {
        // A map that nobody has written comes as one without entries.
        let Some(map) = &found.map else { return Err(Reason::WrongType) };
        let mut present: Vec<(&[u8], &[u8])> = Vec::with_capacity(map.entries.len());
        for MapEntry { key, value } in &map.entries {
            let Some(register) = &value.register else { return Err(Reason::WrongType) };
            if let Some(value) = unescape(&register.value) {
                present.push((&key.key, value));
            }
        }
        let is_there = !present.is_empty();
        match fields {
            Fields::All => {}
            Fields::One(number) => {
                let name = self.name(number)?.as_bytes();
                present.retain(|(other, _)| *other == name);
            }
            Fields::Named => {
                let is_named = |name: &[u8]| self.fields.iter().any(|own| own.as_bytes() == name);
                present.retain(|(name, _)| is_named(name));
            }
        }
        let is_short = |(name, _): &(&[u8], &[u8])| u16::try_from(name.len()).is_ok();
        let count = u16::try_from(present.len()).map_err(|_| Reason::WrongType)?;
        if !present.iter().all(is_short) {
            return Err(Reason::WrongType);
        }
        if is_there {
            encode_row(count, rows);
            present.iter().for_each(|(name, value)| encode_field(name, value, rows));
        }
        Ok(is_there)
    }
}

fn escape(value: &[u8]) -> Vec<u8> {
    match value.first() {
        Some(0) => [&ABSENT, value].concat(),
        _ => value.to_vec(),
    }
}

/// The value in a register, if the field is there.
fn unescape(register: &[u8]) -> Option<&[u8]> {
    match register {
        [0] => None,
        [0, value @ ..] => Some(value),
        value => Some(value),
    }
}

#[cfg(test)]
mod tests {
    use assay_store::Rows;

    use super::super::messages::{MapKey, MapValue, REGISTER, RegisterValue};
    use super::*;

    fn records() -> Records {
        let fields = vec!["a".to_owned(), "b".to_owned()];
        let table = Table { name: "t".into(), fields, needs_key_order: false };
        Records::new("p~1".into(), &table)
    }

    fn value(register: &[u8]) -> ObjectValue {
        ObjectValue { register: Some(RegisterValue { value: register.to_vec() }), map: None }
    }

    fn map(entries: &[(&str, &[u8])]) -> ObjectValue {
        let entry = |(name, register): &(&str, &[u8])| MapEntry {
            key: MapKey { key: (*name).into(), kind: REGISTER },
            value: value(register),
        };
        let entries = entries.iter().map(entry).collect();
        ObjectValue { register: None, map: Some(Box::new(MapValue { entries })) }
    }

    /// The map that is there after `operation`.
    fn written(operation: Operation) -> ObjectValue {
        let entries = operation.map.unwrap().entries.into_iter().map(|entry| MapEntry {
            key: entry.key,
            value: ObjectValue { register: entry.operation.register, map: None },
        });
        let map = MapValue { entries: entries.collect() };
        ObjectValue { register: None, map: Some(Box::new(map)) }
    }

    fn shown(found: &ObjectValue, fields: Fields) -> Result<String, Reason> {
        let mut rows = Vec::new();
        let is_there = records().hand_out(found, fields, &mut rows)?;
        let mut texts = vec![is_there.to_string()];
        Rows::Encoded(&rows).each(|field| {
            let text = |bytes| String::from_utf8_lossy(bytes).replace('\0', "+");
            texts.push(format!("{}={}", text(field.name), text(field.value)));
        });
        assert_eq!(Rows::Encoded(&rows).count(), u32::from(is_there));
        Ok(texts.join(" "))
    }

    #[test]
    fn a_record_has_its_place() {
        let object = records().object(b"k/1");
        assert_eq!((object.key, object.bucket), (b"t/k/1".to_vec(), b"p~1".to_vec()));
        assert_eq!(object.kind, 8);
    }

    #[test]
    fn what_is_inserted_is_read() {
        let inserted = |values: &Values<'_>| written(records().insert(values).unwrap());
        let whole = inserted(&Values::new(&[(1, 0..1), (0, 1..1)], b"x"));
        assert_eq!(shown(&whole, Fields::All).unwrap(), "true a= b=x");
        assert_eq!(shown(&whole, Fields::One(1)).unwrap(), "true b=x");
        assert_eq!(shown(&whole, Fields::One(2)), Err(Reason::Malformed));
        // Of an earlier record with the same key nothing is left.
        let part = inserted(&Values::new(&[(1, 0..1)], b"\0"));
        assert_eq!(shown(&part, Fields::All).unwrap(), "true b=+");
        assert_eq!(shown(&part, Fields::One(0)).unwrap(), "true");
        let two = inserted(&Values::new(&[(0, 0..2)], b"\0z"));
        assert_eq!(shown(&two, Fields::All).unwrap(), "true a=+z");
    }

    #[test]
    fn what_is_deleted_is_not_there() {
        assert_eq!(shown(&written(records().delete()), Fields::All).unwrap(), "false");
        assert_eq!(shown(&map(&[]), Fields::All).unwrap(), "false");
    }

    #[test]
    fn fields_of_others_are_shown_unless_names_are_given() {
        let found = map(&[("a", b"1"), ("c", b"2")]);
        assert_eq!(shown(&found, Fields::All).unwrap(), "true a=1 c=2");
        assert_eq!(shown(&found, Fields::Named).unwrap(), "true a=1");
    }

    #[test]
    fn other_things_are_of_the_wrong_type() {
        assert_eq!(shown(&value(b"x"), Fields::All), Err(Reason::WrongType));
        assert_eq!(shown(&ObjectValue::default(), Fields::All), Err(Reason::WrongType));
        let nested =
            MapEntry { key: MapKey { key: b"a".to_vec(), kind: GROW_ONLY_MAP }, value: map(&[]) };
        let map = MapValue { entries: vec![nested] };
        let found = ObjectValue { register: None, map: Some(Box::new(map)) };
        assert_eq!(shown(&found, Fields::All), Err(Reason::WrongType));
    }

    #[test]
    fn fields_without_a_name_are_refused() {
        let values = Values::new(&[(0, 0..1), (2, 0..1)], b"x");
        assert_eq!(records().insert(&values), Err(Reason::Malformed));
        assert_eq!(records().update(&values), Err(Reason::Malformed));
        assert_eq!(records().insert(&Values::NONE), Err(Reason::Unsupported));
    }
}

//! A record as one of Ignite's binary objects, as YCSB's binding makes them.
//!
//! An object is a header of 24 bytes (code, version, flags, type, hash, length, schema, where the
//! footer begins), its fields, each a value with its code, then a footer that says where each field
//! begins. A compact footer has offsets only: which field is which is the schema's, which the
//! cluster keeps with the type. Types, fields and schemas are named by hashes. Source: the
//! protocol's documentation ("Data Format: Complex Object") and `BinaryWriterExImpl`.

use std::collections::HashMap;
use std::rc::Rc;

use assay_driver_kit::java_hash::java_hash;
use assay_model::{Fields, Reason};
use assay_store::Values;
use assay_store::answer::{encode_field, encode_row};

use super::options::Content;
use super::wire::{Garbled, Reader, Value, code, put_bytes, put_i32, put_length, put_text};

const HEADER: usize = 24;
const VERSION: u8 = 1;

/// It is of a type of the user's, instead of one of Ignite's own.
const USER_TYPE: u16 = 1;
const HAS_SCHEMA: u16 = 2;
/// Something follows the fields that is not described.
const HAS_RAW: u16 = 4;
const OFFSETS_OF_ONE_BYTE: u16 = 8;
const OFFSETS_OF_TWO_BYTES: u16 = 16;
const COMPACT: u16 = 32;

/// The number of a type or a field: Java's hash of its name in lower case.
pub(super) fn number(name: &str) -> i32 {
    java_hash(name.to_lowercase().as_bytes())
}

/// The number of a schema: FNV-1 over the bytes of its fields' numbers, in their order.
pub(super) fn schema_number(fields: &[i32]) -> i32 {
    let step = |hash: u32, byte: u8| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193);
    let bytes = fields.iter().flat_map(|field| field.to_le_bytes());
    bytes.fold(0x811C_9DC5, step) as i32
}

/// What Java's `Arrays.hashCode` makes of the fields: by it the cluster keeps objects apart.
fn hash(fields: &[u8]) -> i32 {
    let step = |hash: i32, byte: &u8| hash.wrapping_mul(31).wrapping_add(i32::from(*byte as i8));
    fields.iter().fold(1, step)
}

/// The types and schemas that are known.
#[derive(Clone, Debug, Default)]
pub(super) struct Types {
    /// The fields of a schema of a type, in their order.
    schemas: HashMap<(i32, i32), Rc<[i32]>>,
    /// The name of a type's field.
    names: HashMap<(i32, i32), Rc<str>>,
    /// The name of a type.
    types: HashMap<i32, Rc<str>>,
}

impl Types {
    /// Adds a schema with these fields.
    pub(super) fn add_schema(&mut self, of_type: i32, schema: i32, fields: &[i32]) {
        self.schemas.insert((of_type, schema), fields.into());
    }

    /// Adds a field.
    pub(super) fn add_name(&mut self, of_type: i32, name: &str) {
        self.names.insert((of_type, number(name)), name.into());
    }

    /// Whether this schema is known.
    pub(super) fn knows(&self, of_type: i32, schema: i32) -> bool {
        self.schemas.contains_key(&(of_type, schema))
    }

    /// Adds a type.
    pub(super) fn add_type(&mut self, of_type: i32, name: &str) {
        self.types.insert(of_type, name.into());
    }

    /// The name of a type.
    pub(super) fn name_of_type(&self, of_type: i32) -> Option<&str> {
        self.types.get(&of_type).map(|name| &**name)
    }
}

/// An object that lies somewhere.
#[derive(Clone, Copy, Debug)]
pub(super) struct Object<'a> {
    bytes: &'a [u8],
    flags: u16,
    pub(super) of_type: i32,
    pub(super) schema: i32,
    footer: usize,
}

/// A field of an object: its number, and its value with the code.
type Place<'a> = (i32, &'a [u8]);

impl<'a> Object<'a> {
    /// Takes the header of `bytes` apart.
    pub(super) fn parse(bytes: &'a [u8]) -> Result<Object<'a>, Garbled> {
        let mut reader = Reader::new(bytes);
        if reader.u8()? != code::OBJECT || reader.u8()? != VERSION {
            return Err(Garbled);
        }
        let flags = reader.i16()? as u16;
        let of_type = reader.i32()?;
        let _hash = reader.i32()?;
        let length = reader.length()?;
        let schema = reader.i32()?;
        let footer = reader.length()?;
        let footer = if flags & HAS_SCHEMA == 0 { length } else { footer };
        if length != bytes.len() || !(HEADER..=length).contains(&footer) {
            return Err(Garbled);
        }
        Ok(Object { bytes, flags, of_type, schema, footer })
    }

    /// Whether its schema must be known before its fields can be distinguished.
    pub(super) fn is_strange_to(&self, types: &Types) -> bool {
        self.has_schema() && self.is_compact() && !types.knows(self.of_type, self.schema)
    }

    fn has_schema(&self) -> bool {
        self.flags & HAS_SCHEMA != 0
    }

    fn is_compact(&self) -> bool {
        self.flags & COMPACT != 0
    }

    /// Its fields in their order, from a schema that is known.
    fn places(&self, types: &Types) -> Result<Vec<Place<'a>>, Garbled> {
        let width = match self.flags {
            flags if flags & OFFSETS_OF_ONE_BYTE != 0 => 1,
            flags if flags & OFFSETS_OF_TWO_BYTES != 0 => 2,
            _ => 4,
        };
        let raw = if self.flags & HAS_RAW == 0 { 0 } else { 4 };
        let end = self.bytes.len().saturating_sub(raw).max(self.footer);
        let mut footer = Reader::new(&self.bytes[self.footer..end]);
        let fields = if self.is_compact() && self.has_schema() {
            Some(types.schemas.get(&(self.of_type, self.schema)).ok_or(Garbled)?)
        } else {
            None
        };
        let mut places = Vec::new();
        while !footer.rest.is_empty() {
            let field = match fields {
                Some(fields) => *fields.get(places.len()).ok_or(Garbled)?,
                None => footer.i32()?,
            };
            let mut offset = [0; 8];
            offset[..width].copy_from_slice(footer.take(width)?);
            let offset = u64::from_le_bytes(offset) as usize;
            let from_there = self.bytes.get(offset..self.footer).ok_or(Garbled)?;
            let mut reader = Reader::new(from_there);
            reader.value()?;
            places.push((field, &from_there[..from_there.len() - reader.rest.len()]));
        }
        Ok(places)
    }

    /// Appends the record, with the requested fields, in the format of a response.
    pub(super) fn encode(
        &self,
        requested: Fields,
        names: &[String],
        types: &Types,
        rows: &mut Vec<u8>,
    ) -> Result<(), Reason> {
        let one = match requested {
            Fields::One(number) => {
                Some(names.get(usize::from(number)).ok_or(Reason::Malformed)?.as_str())
            }
            Fields::All | Fields::Named => None,
        };
        let begin = rows.len();
        encode_row(0, rows);
        let mut count = 0_u16;
        for (field, place) in self.places(types).map_err(|Garbled| Reason::Garbled)? {
            let name = types.names.get(&(self.of_type, field)).ok_or(Reason::WrongType)?;
            let is_requested = match requested {
                Fields::All => true,
                Fields::One(_) => one == Some(name),
                Fields::Named => names.iter().any(|other| **other == **name),
            };
            let value = match Reader::new(place).value() {
                Ok(Value::Text(bytes) | Value::Bytes(bytes)) => bytes,
                // What was never written.
                Ok(Value::Null) => continue,
                _ => return Err(Reason::WrongType),
            };
            if is_requested {
                encode_field(name.as_bytes(), value, rows);
                count += 1;
            }
        }
        rows[begin..begin + 2].copy_from_slice(&count.to_le_bytes());
        Ok(())
    }

    /// Begins an object of the same type with the same fields.
    pub(super) fn draft(&self, types: &Types) -> Result<Draft<'a>, Garbled> {
        let fields = self.places(types)?;
        let fields = fields.into_iter().map(|(field, place)| (field, Piece::Encoded(place)));
        let is_compact = self.is_compact() || !self.has_schema();
        Ok(Draft { of_type: self.of_type, is_compact, fields: fields.collect() })
    }
}

/// An object to be made.
#[derive(Clone, Debug)]
pub(super) struct Draft<'a> {
    pub(super) of_type: i32,
    pub(super) is_compact: bool,
    fields: Vec<(i32, Piece<'a>)>,
}

#[derive(Clone, Copy, Debug)]
enum Piece<'a> {
    Null,
    Encoded(&'a [u8]),
    New(Content, &'a [u8]),
}

impl<'a> Draft<'a> {
    /// An object of which no field is written.
    pub(super) fn empty(of_type: i32, fields: &[i32]) -> Draft<'a> {
        let fields = fields.iter().map(|field| (*field, Piece::Null)).collect();
        Draft { of_type, is_compact: true, fields }
    }

    /// Puts these values in, as new fields where it has none of that number.
    ///
    /// # Errors
    /// [`Reason::Malformed`] if the table lacks the field, or a value is to be a text and is none.
    pub(super) fn set(
        &mut self,
        values: &Values<'a>,
        content: Content,
        numbers: &[i32],
    ) -> Result<(), Reason> {
        for (field, value) in values.iter() {
            let number = *numbers.get(usize::from(field)).ok_or(Reason::Malformed)?;
            if content == Content::Text && std::str::from_utf8(value).is_err() {
                return Err(Reason::Malformed);
            }
            let piece = Piece::New(content, value);
            match self.fields.iter_mut().find(|(other, _)| *other == number) {
                Some((_, old)) => *old = piece,
                None => self.fields.push((number, piece)),
            }
        }
        Ok(())
    }

    /// The numbers of its fields, in their order.
    pub(super) fn numbers(&self) -> Vec<i32> {
        self.fields.iter().map(|(field, _)| *field).collect()
    }

    /// Appends the object.
    pub(super) fn write(&self, into: &mut Vec<u8>) {
        let begin = into.len();
        into.resize(begin + HEADER, 0);
        let mut offsets = Vec::with_capacity(self.fields.len());
        for (_, piece) in &self.fields {
            offsets.push(into.len() - begin);
            match *piece {
                Piece::Null => into.push(code::NULL),
                Piece::Encoded(bytes) => into.extend_from_slice(bytes),
                Piece::New(Content::Text, bytes) => put_text(bytes, into),
                Piece::New(Content::Bytes, bytes) => put_bytes(bytes, into),
            }
        }
        let footer = into.len() - begin;
        let (width, offsets_flag) = match offsets.last() {
            None | Some(0..0x100) => (1, OFFSETS_OF_ONE_BYTE),
            Some(0x100..0x1_0000) => (2, OFFSETS_OF_TWO_BYTES),
            Some(_) => (4, 0),
        };
        for ((field, _), offset) in self.fields.iter().zip(&offsets) {
            if !self.is_compact {
                put_i32(*field, into);
            }
            into.extend_from_slice(&offset.to_le_bytes()[..width]);
        }
        let compact = if self.is_compact { COMPACT } else { 0 };
        let flags = USER_TYPE | HAS_SCHEMA | compact | offsets_flag;
        let mut header = vec![code::OBJECT, VERSION];
        header.extend_from_slice(&flags.to_le_bytes());
        put_i32(self.of_type, &mut header);
        put_i32(hash(&into[begin + HEADER..begin + footer]), &mut header);
        put_length(into.len() - begin, &mut header);
        put_i32(schema_number(&self.numbers()), &mut header);
        put_length(footer, &mut header);
        into[begin..begin + HEADER].copy_from_slice(&header);
    }
}

#[cfg(test)]
mod tests;

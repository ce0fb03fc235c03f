//! Protobuf by hand, as far as the stand-in needs it: nothing of the driver's own encoding.

/// A field's value: a number, or bytes of any meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field<'a> {
    Number(u64),
    Bytes(&'a [u8]),
}

/// A message taken apart.
#[derive(Clone, Debug, Default)]
pub struct Fields<'a>(Vec<(u64, Field<'a>)>);

impl<'a> Fields<'a> {
    /// `None` if the bytes are no message.
    pub fn parse(mut bytes: &'a [u8]) -> Option<Fields<'a>> {
        let mut fields = Vec::new();
        while !bytes.is_empty() {
            let tag = varint(&mut bytes)?;
            let field = match tag & 7 {
                0 => Field::Number(varint(&mut bytes)?),
                2 => {
                    let length = usize::try_from(varint(&mut bytes)?).ok()?;
                    let (taken, rest) = bytes.split_at_checked(length)?;
                    bytes = rest;
                    Field::Bytes(taken)
                }
                _ => return None,
            };
            fields.push((tag >> 3, field));
        }
        Some(Fields(fields))
    }

    /// Every value of a repeated field of bytes.
    pub fn all(&self, number: u64) -> impl Iterator<Item = &'a [u8]> + '_ {
        let bytes = move |(other, field): &(u64, Field<'a>)| match field {
            Field::Bytes(bytes) if *other == number => Some(*bytes),
            _ => None,
        };
        self.0.iter().filter_map(bytes)
    }

    /// The last value of a field of bytes.
    pub fn bytes(&self, number: u64) -> Option<&'a [u8]> {
        self.all(number).last()
    }

    /// The message in a field.
    pub fn message(&self, number: u64) -> Option<Fields<'a>> {
        Fields::parse(self.bytes(number)?)
    }

    /// The last value of a field that is a number.
    pub fn number(&self, number: u64) -> Option<u64> {
        let value = |(other, field): &(u64, Field<'a>)| match field {
            Field::Number(value) if *other == number => Some(*value),
            _ => None,
        };
        self.0.iter().rev().find_map(value)
    }
}

fn varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some(value);
        }
    }
    None
}

fn put_varint(mut value: u64, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

pub fn put_number(number: u64, value: u64, out: &mut Vec<u8>) {
    put_varint(number << 3, out);
    put_varint(value, out);
}

pub fn put_bytes(number: u64, bytes: &[u8], out: &mut Vec<u8>) {
    put_varint(number << 3 | 2, out);
    put_varint(bytes.len() as u64, out);
    out.extend_from_slice(bytes);
}

/// A number with a sign as protobuf's `sint64` has it.
pub fn zigzag(value: i64) -> u64 {
    (value << 1 ^ value >> 63) as u64
}

pub fn unzigzag(value: u64) -> i64 {
    (value >> 1) as i64 ^ -((value & 1) as i64)
}

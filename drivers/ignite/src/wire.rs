//! The layout of the messages of Ignite's binary client protocol.
//!
//! Everything is little-endian. A message is its length (i32) and as many bytes. A request begins
//! with its operation (i16) and a number of ours (i64) that its answer repeats. Source: the
//! protocol's documentation ("Binary Client Protocol") and the classes `Client*Request`.

/// The codes that stand before a value.
pub(super) mod code {
    pub(crate) const BYTE: u8 = 1;
    pub(crate) const SHORT: u8 = 2;
    pub(crate) const INT: u8 = 3;
    pub(crate) const LONG: u8 = 4;
    pub(crate) const BOOL: u8 = 8;
    pub(crate) const TEXT: u8 = 9;
    pub(crate) const UUID: u8 = 10;
    pub(crate) const BYTES: u8 = 12;
    pub(crate) const WRAPPED: u8 = 27;
    pub(crate) const NULL: u8 = 101;
    pub(crate) const OBJECT: u8 = 103;
}

/// The codes of the operations that we use.
pub(super) mod operation {
    pub(crate) const GET: i16 = 1000;
    pub(crate) const PUT: i16 = 1001;
    pub(crate) const PUT_IF_ABSENT: i16 = 1002;
    pub(crate) const GET_ALL: i16 = 1003;
    pub(crate) const PUT_ALL: i16 = 1004;
    pub(crate) const REPLACE_IF_EQUALS: i16 = 1010;
    pub(crate) const REMOVE_KEY: i16 = 1016;
    pub(crate) const CACHE_NAMES: i16 = 1050;
    pub(crate) const GET_OR_CREATE_CACHE: i16 = 1054;
    pub(crate) const CACHE_CONFIGURATION: i16 = 1055;
    pub(crate) const DESTROY_CACHE: i16 = 1056;
    pub(crate) const PARTITIONS: i16 = 1101;
    pub(crate) const SQL: i16 = 2004;
    pub(crate) const SQL_NEXT_PAGE: i16 = 2005;
    pub(crate) const GET_TYPE: i16 = 3002;
    pub(crate) const PUT_TYPE: i16 = 3003;
    pub(crate) const TX_START: i16 = 4000;
    pub(crate) const TX_END: i16 = 4001;
    pub(crate) const CLUSTER_STATE: i16 = 5000;
    pub(crate) const ENDPOINTS: i16 = 5102;
}

/// The longest message that is believed: anything longer is no Ignite.
pub(super) const LONGEST_MESSAGE: usize = 256 << 20;

pub(super) fn put_i32(number: i32, into: &mut Vec<u8>) {
    into.extend_from_slice(&number.to_le_bytes());
}

pub(super) fn put_i64(number: i64, into: &mut Vec<u8>) {
    into.extend_from_slice(&number.to_le_bytes());
}

/// A count or length. Messages are shorter than 2 GiB: what is longer is refused before.
pub(super) fn put_length(length: usize, into: &mut Vec<u8>) {
    put_i32(i32::try_from(length).expect("messages are shorter than 2 GiB"), into);
}

/// A value that is a text.
pub(super) fn put_text(text: &[u8], into: &mut Vec<u8>) {
    put_sized(code::TEXT, text, into);
}

/// A value that is bytes.
pub(super) fn put_bytes(bytes: &[u8], into: &mut Vec<u8>) {
    put_sized(code::BYTES, bytes, into);
}

fn put_sized(code: u8, bytes: &[u8], into: &mut Vec<u8>) {
    into.push(code);
    put_length(bytes.len(), into);
    into.extend_from_slice(bytes);
}

/// Begins a request in an empty buffer, see [`end`].
pub(super) fn begin(operation: i16, number: i64, into: &mut Vec<u8>) {
    put_i32(0, into);
    into.extend_from_slice(&operation.to_le_bytes());
    put_i64(number, into);
}

/// Ends the message in `bytes`, whose length was not known when it began.
pub(super) fn end(bytes: &mut [u8]) {
    let length = i32::try_from(bytes.len() - 4).expect("messages are shorter than 2 GiB");
    bytes[..4].copy_from_slice(&length.to_le_bytes());
}

/// A message that ends too early or says what it cannot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Garbled;

/// A value, as far as we need it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Value<'a> {
    Null,
    Text(&'a [u8]),
    Bytes(&'a [u8]),
    /// A binary object with its header.
    Object(&'a [u8]),
    Number(i64),
    Truth(bool),
    Uuid(u128),
}

/// Takes a message apart from its beginning.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reader<'a> {
    pub(super) rest: &'a [u8],
}

impl<'a> Reader<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Reader<'a> {
        Reader { rest: bytes }
    }

    pub(super) fn take(&mut self, count: usize) -> Result<&'a [u8], Garbled> {
        let (taken, rest) = self.rest.split_at_checked(count).ok_or(Garbled)?;
        self.rest = rest;
        Ok(taken)
    }

    fn chunk<const N: usize>(&mut self) -> Result<[u8; N], Garbled> {
        let (chunk, rest) = self.rest.split_first_chunk::<N>().ok_or(Garbled)?;
        self.rest = rest;
        Ok(*chunk)
    }

    pub(super) fn u8(&mut self) -> Result<u8, Garbled> {
        self.chunk::<1>().map(|[byte]| byte)
    }

    pub(super) fn truth(&mut self) -> Result<bool, Garbled> {
        self.u8().map(|byte| byte != 0)
    }

    pub(super) fn i16(&mut self) -> Result<i16, Garbled> {
        self.chunk().map(i16::from_le_bytes)
    }

    pub(super) fn i32(&mut self) -> Result<i32, Garbled> {
        self.chunk().map(i32::from_le_bytes)
    }

    pub(super) fn i64(&mut self) -> Result<i64, Garbled> {
        self.chunk().map(i64::from_le_bytes)
    }

    /// A count or length.
    pub(super) fn length(&mut self) -> Result<usize, Garbled> {
        self.i32().and_then(|number| usize::try_from(number).map_err(|_| Garbled))
    }

    fn sized(&mut self) -> Result<&'a [u8], Garbled> {
        let length = self.length()?;
        self.take(length)
    }

    /// A UUID without a code before it: the more significant half comes first.
    pub(super) fn uuid(&mut self) -> Result<u128, Garbled> {
        let (high, low) = (self.i64()? as u64, self.i64()? as u64);
        Ok(u128::from(high) << 64 | u128::from(low))
    }

    /// A value with its code.
    pub(super) fn value(&mut self) -> Result<Value<'a>, Garbled> {
        let begin = self.rest;
        Ok(match self.u8()? {
            code::NULL => Value::Null,
            code::TEXT => Value::Text(self.sized()?),
            code::BYTES => Value::Bytes(self.sized()?),
            code::BYTE => Value::Number(i64::from(self.u8()? as i8)),
            code::SHORT => Value::Number(i64::from(self.i16()?)),
            code::INT => Value::Number(i64::from(self.i32()?)),
            code::LONG => Value::Number(self.i64()?),
            code::BOOL => Value::Truth(self.truth()?),
            code::UUID => Value::Uuid(self.uuid()?),
            code::OBJECT => {
                // The length is behind version, flags, type and hash, and counts from the code on.
                let length = Reader::new(begin.get(12..).ok_or(Garbled)?).length()?;
                let (object, rest) = begin.split_at_checked(length).ok_or(Garbled)?;
                self.rest = rest;
                Value::Object(object)
            }
            code::WRAPPED => {
                let bytes = self.sized()?;
                let offset = self.length()?;
                match Reader::new(bytes.get(offset..).ok_or(Garbled)?).value()? {
                    Value::Object(object) => Value::Object(object),
                    _ => return Err(Garbled),
                }
            }
            _ => return Err(Garbled),
        })
    }

    /// A text with its code, or nothing.
    pub(super) fn text(&mut self) -> Result<Option<&'a str>, Garbled> {
        match self.value()? {
            Value::Null => Ok(None),
            Value::Text(bytes) => std::str::from_utf8(bytes).map(Some).map_err(|_| Garbled),
            _ => Err(Garbled),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_its_length_operation_number_and_rest() {
        let mut bytes = Vec::new();
        begin(operation::GET, 7, &mut bytes);
        put_text(b"ab", &mut bytes);
        end(&mut bytes);
        let expected = [17, 0, 0, 0, 0xe8, 3, 7, 0, 0, 0, 0, 0, 0, 0, 9, 2, 0, 0, 0, b'a', b'b'];
        assert_eq!(bytes, expected);
    }

    #[test]
    fn values_come_back() {
        let mut bytes = Vec::new();
        put_text("ä".as_bytes(), &mut bytes);
        put_bytes(&[0, 255], &mut bytes);
        bytes.extend([code::NULL, code::BOOL, 1, code::INT, 254, 255, 255, 255]);
        bytes.push(code::UUID);
        put_i64(1, &mut bytes);
        put_i64(2, &mut bytes);
        let mut reader = Reader::new(&bytes);
        let mut values = Vec::new();
        while !reader.rest.is_empty() {
            values.push(reader.value().unwrap());
        }
        let expected = [
            Value::Text("ä".as_bytes()),
            Value::Bytes(&[0, 255]),
            Value::Null,
            Value::Truth(true),
            Value::Number(-2),
            Value::Uuid(1 << 64 | 2),
        ];
        assert_eq!(values, expected);
    }

    #[test]
    fn what_is_cut_or_unknown_is_garbled() {
        for bytes in [&[][..], &[9, 2, 0, 0, 0, b'a'], &[9, 255, 255, 255, 255], &[77], &[103, 1]] {
            assert_eq!(Reader::new(bytes).value(), Err(Garbled), "{bytes:?}");
        }
    }

    #[test]
    fn a_wrapped_object_is_found_where_its_offset_says() {
        let mut object = vec![0; 24];
        object[0] = code::OBJECT;
        object[12] = 24;
        let mut bytes = vec![code::WRAPPED, 26, 0, 0, 0, 5, 5];
        bytes.extend(&object);
        bytes.extend([2, 0, 0, 0]);
        let mut reader = Reader::new(&bytes);
        assert_eq!(reader.value(), Ok(Value::Object(&object)));
        assert!(reader.rest.is_empty());
    }
}

//! Turns requests into meta commands.
//!
//! A record of table `t` lies under `t-` and its key, where YCSB's binding has it, as one value in
//! the encoding of [`assay_store::row`]. Client flags tell our values from those of others.

use assay_driver_kit::java_hash::java_hash;
use assay_model::{Reason, Table};

/// The client flags of a value in our encoding: "AS".
pub(super) const OURS: u32 = 0x4153;
/// A key may have as many bytes, in base64 if it needs that.
const LONGEST_KEY: usize = 250;
/// What an item takes beside key and value: its header, the numbers of its last change and of the
/// client flags, and three ends of texts. Seen with memcached 1.6.18 on 64 bits.
const ITEM_BYTES: usize = 48 + 8 + 4 + 3;

/// How a key is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Spelling {
    /// As it is.
    Plain,
    /// In base64, because it has bytes that would end a word.
    Base64,
}

/// The tables of the layout, in the forms that commands need.
#[derive(Debug)]
pub(super) struct Codec {
    tables: Vec<TableCodec>,
    /// The largest item that every server takes.
    item_bytes: usize,
}

/// One table.
#[derive(Debug)]
struct TableCodec {
    /// What stands before each key.
    prefix: Vec<u8>,
    /// The names of its fields.
    fields: Vec<String>,
}

impl Codec {
    pub(super) fn new(tables: &[Table], item_bytes: usize) -> Codec {
        let tables = tables.iter().map(|table| TableCodec {
            prefix: format!("{}-", table.name).into_bytes(),
            fields: table.fields.clone(),
        });
        Codec { tables: tables.collect(), item_bytes }
    }

    /// What stands before the keys of each table.
    pub(super) fn prefixes(&self) -> impl Iterator<Item = &[u8]> {
        self.tables.iter().map(|table| &table.prefix[..])
    }

    /// The names of a table's fields; `None` if there is no such table.
    pub(super) fn fields(&self, table: u16) -> Option<&[String]> {
        self.tables.get(usize::from(table)).map(|table| &table.fields[..])
    }

    /// Puts the item's key into `into`, instead of what is there.
    pub(super) fn key(&self, table: u16, key: &[u8], into: &mut Vec<u8>) -> Result<(), Reason> {
        let table = self.tables.get(usize::from(table)).ok_or(Reason::Malformed)?;
        into.clear();
        into.extend_from_slice(&table.prefix);
        into.extend_from_slice(key);
        spelling(into).map(drop)
    }

    /// Whether the servers take an item with this key and a value of `length` bytes. One that is
    /// too large is not sent, because a server that refuses it removes the record that was there.
    pub(super) fn fits(&self, key: &[u8], length: usize) -> Result<(), Reason> {
        match key.len() + length + ITEM_BYTES <= self.item_bytes {
            true => Ok(()),
            false => Err(Reason::Full),
        }
    }
}

/// The number of the server, out of so many, that has this item. As in spymemcached, which YCSB's
/// binding uses: Java's `String.hashCode` of the key as a number without sign, modulo the servers.
pub(super) fn server_of(key: &[u8], servers: usize) -> usize {
    java_hash(key).cast_unsigned() as usize % servers
}

/// Appends `mg`: the value with its client flags, and if wanted the number of its last change.
pub(super) fn get(key: &[u8], wants_cas: bool, out: &mut Vec<u8>) {
    out.extend_from_slice(b"mg ");
    let flag = word(key, out);
    out.extend_from_slice(if wants_cas { b" v f c" } else { b" v f" });
    out.extend_from_slice(flag);
    out.extend_from_slice(b"\r\n");
}

/// Appends `ms`: stores `value`, where `cas` is given only if that is still the last change.
pub(super) fn set(key: &[u8], value: &[u8], cas: Option<u64>, out: &mut Vec<u8>) {
    out.extend_from_slice(b"ms ");
    let flag = word(key, out);
    out.push(b' ');
    decimal(value.len() as u64, out);
    out.extend_from_slice(b" F");
    decimal(u64::from(OURS), out);
    if let Some(cas) = cas {
        out.extend_from_slice(b" C");
        decimal(cas, out);
    }
    out.extend_from_slice(flag);
    out.extend_from_slice(b"\r\n");
    out.extend_from_slice(value);
    out.extend_from_slice(b"\r\n");
}

/// Appends `md`: deletes.
pub(super) fn delete(key: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(b"md ");
    let flag = word(key, out);
    out.extend_from_slice(flag);
    out.extend_from_slice(b"\r\n");
}

/// Appends the key; gives the flag that says how it is written.
fn word(key: &[u8], out: &mut Vec<u8>) -> &'static [u8] {
    match spelling(key) {
        Ok(Spelling::Base64) => {
            base64(key, out);
            b" b"
        }
        // Keys that are too long never come here.
        Ok(Spelling::Plain) | Err(_) => {
            out.extend_from_slice(key);
            b""
        }
    }
}

/// How `key` is to be written, if it can be.
fn spelling(key: &[u8]) -> Result<Spelling, Reason> {
    let is_plain = key.iter().all(|&byte| byte > b' ' && byte != 0x7f);
    let (spelling, length) = match is_plain {
        true => (Spelling::Plain, key.len()),
        false => (Spelling::Base64, key.len().div_ceil(3) * 4),
    };
    match (1..=LONGEST_KEY).contains(&length) {
        true => Ok(spelling),
        false => Err(Reason::Malformed),
    }
}

/// RFC 4648, with padding.
fn base64(bytes: &[u8], out: &mut Vec<u8>) {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for chunk in bytes.chunks(3) {
        let byte = |place: usize| u32::from(chunk.get(place).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for place in 0..4 {
            match place <= chunk.len() {
                true => out.push(ALPHABET[(bits >> (18 - 6 * place) & 63) as usize]),
                false => out.push(b'='),
            }
        }
    }
}

fn decimal(mut number: u64, out: &mut Vec<u8>) {
    // 2^64 has twenty digits.
    let mut digits = [0; 20];
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[at..]);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(say: impl FnOnce(&mut Vec<u8>)) -> String {
        let mut out = Vec::new();
        say(&mut out);
        String::from_utf8(out).unwrap()
    }

    fn codec() -> Codec {
        let table = |name: &str| Table {
            name: name.into(),
            fields: vec!["f0".into()],
            needs_key_order: false,
        };
        Codec::new(&[table("a"), table("b")], 1 << 20)
    }

    fn key(table: u16, key: &[u8]) -> Result<Vec<u8>, Reason> {
        let mut into = b"before".to_vec();
        codec().key(table, key, &mut into).map(|()| into)
    }

    #[test]
    fn commands_are_those_of_the_protocol() {
        assert_eq!(said(|out| get(b"k", false, out)), "mg k v f\r\n");
        assert_eq!(said(|out| get(b"k", true, out)), "mg k v f c\r\n");
        assert_eq!(said(|out| set(b"k", b"abc", None, out)), "ms k 3 F16723\r\nabc\r\n");
        assert_eq!(said(|out| set(b"k", b"", Some(0), out)), "ms k 0 F16723 C0\r\n\r\n");
        let most = said(|out| set(b"k", b"", Some(u64::MAX), out));
        assert_eq!(most, "ms k 0 F16723 C18446744073709551615\r\n\r\n");
        assert_eq!(said(|out| delete(b"k", out)), "md k\r\n");
    }

    #[test]
    fn keys_that_would_end_a_word_are_written_in_base64() {
        assert_eq!(said(|out| get(b"a b", false, out)), "mg YSBi v f b\r\n");
        assert_eq!(said(|out| set(b"a\r\nb", b"x", Some(7), out)), {
            "ms YQ0KYg== 1 F16723 C7 b\r\nx\r\n"
        });
        assert_eq!(said(|out| delete(b"\0\x7f", out)), "md AH8= b\r\n");
        assert_eq!(said(|out| delete("ä".as_bytes(), out)), "md ä\r\n");
    }

    #[test]
    fn base64_is_that_of_the_rfc() {
        for (text, expected) in [
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
            ("fooba", "Zm9vYmE="),
            ("foobar", "Zm9vYmFy"),
        ] {
            assert_eq!(said(|out| base64(text.as_bytes(), out)), expected);
        }
    }

    #[test]
    fn a_key_stands_behind_its_table() {
        assert_eq!(key(0, b"user1"), Ok(b"a-user1".to_vec()));
        assert_eq!(key(1, b"user1"), Ok(b"b-user1".to_vec()));
        assert_eq!(key(2, b"user1"), Err(Reason::Malformed));
    }

    #[test]
    fn keys_that_are_too_long_are_malformed() {
        assert!(key(0, &[b'x'; 248]).is_ok());
        assert_eq!(key(0, &[b'x'; 249]), Err(Reason::Malformed));
        assert!(key(0, &[b' '; 184]).is_ok());
        assert_eq!(key(0, &[b' '; 185]), Err(Reason::Malformed));
    }

    #[test]
    fn items_that_are_too_large_do_not_fit() {
        // The largest value that a server with -I 1m takes under a key of two bytes.
        assert_eq!(codec().fits(b"bb", 1_048_511), Ok(()));
        assert_eq!(codec().fits(b"bb", 1_048_512), Err(Reason::Full));
    }

    #[test]
    fn keys_lie_where_spymemcached_looks_for_them() {
        // What Java prints for hashCode, without its sign.
        for (key, server) in [("a", 97 % 3), ("polygenelubricants", 0x8000_0000_usize % 3)] {
            assert_eq!(server_of(key.as_bytes(), 3), server);
        }
        let mut counts = [0; 3];
        for number in 0..3000 {
            counts[server_of(format!("usertable-user{number}").as_bytes(), 3)] += 1;
        }
        assert!(counts.iter().all(|count| (900..1100).contains(count)), "{counts:?}");
    }
}

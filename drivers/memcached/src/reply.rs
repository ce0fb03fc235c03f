//! Finds the replies to meta commands in what has come from the server.
//!
//! Source of the format: memcached's `doc/protocol.txt`, 1.6.18.

use std::ops::Range;

use super::failure::{Failure, failure};

/// No reply line of memcached is as long; keys do not come back.
const LONGEST_LINE: usize = 2048;
/// Items cannot be larger than 1 GiB (`-I`).
const LONGEST_VALUE: usize = 1 << 30;

/// One whole reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Reply {
    /// `VA`: what lies under the key.
    Value {
        /// The client flags.
        flags: u32,
        /// Its CAS number; 0 if it was not requested.
        cas: u64,
        /// Where the value is within the bytes.
        value: Range<usize>,
    },
    /// `HD`, `STORED`: it was done.
    Done,
    /// `EN`, `NF`: nothing lies under the key.
    Missing,
    /// `EX`: somebody else has changed it meanwhile.
    Changed,
    /// `NS`: it was not stored, and that is no error.
    NotStored,
    /// `MN`, `VERSION …`: somebody is there.
    Alive,
    /// An error line.
    Failed(Failure),
}

/// The bytes are no reply of memcached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Garbled;

/// The reply that `bytes` begins with and its length; `None` if it is not whole yet.
#[inline]
pub(super) fn parse(bytes: &[u8]) -> Result<Option<(Reply, usize)>, Garbled> {
    let Some(end) = line_end(bytes)? else { return Ok(None) };
    let line = &bytes[..end];
    let next = end + 2;
    let (code, rest) = line.split_at(line.iter().position(|&byte| byte == b' ').unwrap_or(end));
    let reply = match code {
        b"VA" => return value(bytes, rest, next),
        b"HD" | b"STORED" => Reply::Done,
        b"EN" | b"NF" => Reply::Missing,
        b"EX" => Reply::Changed,
        b"NS" => Reply::NotStored,
        b"MN" | b"VERSION" => Reply::Alive,
        _ => Reply::Failed(failure(line).ok_or(Garbled)?),
    };
    Ok(Some((reply, next)))
}

/// Where the first line ends, without its end.
#[inline]
fn line_end(bytes: &[u8]) -> Result<Option<usize>, Garbled> {
    let looked_at = &bytes[..bytes.len().min(LONGEST_LINE)];
    match looked_at.iter().position(|&byte| byte == b'\n') {
        Some(0) => Err(Garbled),
        Some(end) if bytes[end - 1] == b'\r' => Ok(Some(end - 1)),
        Some(_) => Err(Garbled),
        None if bytes.len() >= LONGEST_LINE => Err(Garbled),
        None => Ok(None),
    }
}

/// ` <size> <flags>*` with the value behind the line.
#[inline]
fn value(bytes: &[u8], line: &[u8], start: usize) -> Result<Option<(Reply, usize)>, Garbled> {
    let mut words = line.split(|&byte| byte == b' ').skip(1);
    let length = words.next().and_then(number).ok_or(Garbled)?;
    let length = usize::try_from(length).map_err(|_| Garbled)?;
    if length > LONGEST_VALUE {
        return Err(Garbled);
    }
    let (mut flags, mut cas) = (0, 0);
    for word in words {
        match word.split_first() {
            Some((b'f', digits)) => {
                let reported = number(digits).ok_or(Garbled)?;
                flags = u32::try_from(reported).map_err(|_| Garbled)?;
            }
            Some((b'c', digits)) => cas = number(digits).ok_or(Garbled)?,
            _ => {}
        }
    }
    let end = start + length;
    let Some(ending) = bytes.get(end..end + 2) else { return Ok(None) };
    if ending != b"\r\n" {
        return Err(Garbled);
    }
    Ok(Some((Reply::Value { flags, cas, value: start..end }, end + 2)))
}

#[inline]
fn number(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0_u64, |number, &byte| {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        number.checked_mul(10)?.checked_add(u64::from(digit))
    })
}

#[cfg(test)]
mod tests {
    use assay_model::Reason;

    use super::*;

    /// Parses `bytes` at once, then fed byte by byte; both must give `expected`.
    fn check(bytes: &str, expected: Reply) {
        let bytes = bytes.as_bytes();
        assert_eq!(parse(bytes), Ok(Some((expected, bytes.len()))));
        for end in 0..bytes.len() {
            assert_eq!(parse(&bytes[..end]), Ok(None), "whole after {end} bytes already");
        }
    }

    #[test]
    fn values_come_with_flags_in_any_order() {
        check("VA 3 f7 c12\r\nabc\r\n", Reply::Value { flags: 7, cas: 12, value: 13..16 });
        check("VA 0 c1 b f0\r\n\r\n", Reply::Value { flags: 0, cas: 1, value: 14..14 });
        check("VA 4\r\n\r\n\r\n\r\n", Reply::Value { flags: 0, cas: 0, value: 6..10 });
    }

    #[test]
    fn codes_say_what_became_of_a_write() {
        check("HD\r\n", Reply::Done);
        check("HD c5\r\n", Reply::Done);
        check("STORED\r\n", Reply::Done);
        check("EN\r\n", Reply::Missing);
        check("NF\r\n", Reply::Missing);
        check("EX\r\n", Reply::Changed);
        check("NS\r\n", Reply::NotStored);
        check("MN\r\n", Reply::Alive);
        check("VERSION 1.6.18\r\n", Reply::Alive);
    }

    #[test]
    fn errors_are_failures() {
        let malformed = Failure::Refused(Reason::Malformed);
        check("CLIENT_ERROR bad command line format\r\n", Reply::Failed(malformed));
        check("ERROR\r\n", Reply::Failed(Failure::Refused(Reason::Unsupported)));
    }

    #[test]
    fn what_is_no_reply_is_garbled() {
        for bytes in [
            "\n",
            "HD\n",
            "EXISTS\r\n",
            "END\r\n",
            "-ERR unknown command\r\n",
            "VA\r\n",
            "VA x\r\n",
            "VA -1\r\n",
            "VA 99999999999999999999\r\n",
            "VA 2000000000\r\n",
            "VA 1 fx\r\nab\r\n",
            "VA 1 f99999999999\r\nab\r\n",
            "VA 1\r\nabc\r\n",
        ] {
            assert_eq!(parse(bytes.as_bytes()), Err(Garbled), "{bytes:?}");
        }
        assert_eq!(parse(&[b'x'; 4000]), Err(Garbled));
    }
}

//! Appends commands or replies to a buffer.

use super::Protocol;

const PAIRS: &[u8; 200] = b"0001020304050607080910111213141516171819\
2021222324252627282930313233343536373839\
4041424344454647484950515253545556575859\
6061626364656667686970717273747576777879\
8081828384858687888990919293949596979899";

/// Appends `number` in decimal.
#[inline]
pub fn decimal(number: u64, out: &mut Vec<u8>) {
    if number < 10 {
        out.push(b'0' + number as u8);
    } else if number < 100 {
        let pair = number as usize * 2;
        out.extend_from_slice(&PAIRS[pair..pair + 2]);
    } else {
        long_decimal(number, out);
    }
}

fn long_decimal(mut number: u64, out: &mut Vec<u8>) {
    // The largest number has 20 digits.
    let mut digits = [0_u8; 20];
    let mut first = digits.len();
    while number >= 100 {
        let pair = (number % 100) as usize * 2;
        number /= 100;
        first -= 2;
        digits[first..first + 2].copy_from_slice(&PAIRS[pair..pair + 2]);
    }
    if number >= 10 {
        let pair = number as usize * 2;
        first -= 2;
        digits[first..first + 2].copy_from_slice(&PAIRS[pair..pair + 2]);
    } else {
        first -= 1;
        digits[first] = b'0' + number as u8;
    }
    out.extend_from_slice(&digits[first..]);
}

/// Appends `number` in decimal with its sign.
pub fn signed_decimal(number: i64, out: &mut Vec<u8>) {
    if number < 0 {
        out.push(b'-');
    }
    decimal(number.unsigned_abs(), out);
}

#[inline]
fn head(marker: u8, number: usize, out: &mut Vec<u8>) {
    out.push(marker);
    decimal(number as u64, out);
    out.extend_from_slice(b"\r\n");
}

/// The head of an array, or of a command of `count` words; its elements follow.
#[inline]
pub fn array(count: usize, out: &mut Vec<u8>) {
    head(b'*', count, out);
}

/// Appends a bulk string of two parts.
#[inline]
pub fn bulk_pair(first: &[u8], second: &[u8], out: &mut Vec<u8>) {
    head(b'$', first.len() + second.len(), out);
    out.extend_from_slice(first);
    out.extend_from_slice(second);
    out.extend_from_slice(b"\r\n");
}

/// A string of any bytes: a word of a command, or a reply.
#[inline]
pub fn bulk(bytes: &[u8], out: &mut Vec<u8>) {
    head(b'$', bytes.len(), out);
    out.extend_from_slice(bytes);
    out.extend_from_slice(b"\r\n");
}

/// A number as a word of a command.
pub fn bulk_integer(number: i64, out: &mut Vec<u8>) {
    let magnitude = number.unsigned_abs();
    let digits = magnitude.checked_ilog10().unwrap_or(0) as usize + 1;
    head(b'$', digits + usize::from(number < 0), out);
    signed_decimal(number, out);
    out.extend_from_slice(b"\r\n");
}

/// A whole command of these words.
pub fn command(words: &[&[u8]], out: &mut Vec<u8>) {
    array(words.len(), out);
    for word in words {
        bulk(word, out);
    }
}

/// A reply of plain text.
///
/// # Panics
/// If the text has a line break.
pub fn simple(text: &str, out: &mut Vec<u8>) {
    line(b'+', text, out);
}

/// An error; its first word is its code, in capitals.
///
/// # Panics
/// If the text has a line break.
pub fn error(text: &str, out: &mut Vec<u8>) {
    line(b'-', text, out);
}

/// A number as a reply.
pub fn integer(number: i64, out: &mut Vec<u8>) {
    out.push(b':');
    signed_decimal(number, out);
    out.extend_from_slice(b"\r\n");
}

/// The reply for what is not there.
pub fn null(protocol: Protocol, out: &mut Vec<u8>) {
    out.extend_from_slice(match protocol {
        Protocol::Resp2 => b"$-1\r\n",
        Protocol::Resp3 => b"_\r\n",
    });
}

/// The head of a map of `pairs` names with their values, which follow in turn.
pub fn map(protocol: Protocol, pairs: usize, out: &mut Vec<u8>) {
    match protocol {
        Protocol::Resp2 => head(b'*', pairs * 2, out),
        Protocol::Resp3 => head(b'%', pairs, out),
    }
}

/// The head of a set of `count` elements, which follow.
pub fn set(protocol: Protocol, count: usize, out: &mut Vec<u8>) {
    match protocol {
        Protocol::Resp2 => head(b'*', count, out),
        Protocol::Resp3 => head(b'~', count, out),
    }
}

/// The head of a message out of band of `count` elements, which follow; RESP3 only.
pub fn push(count: usize, out: &mut Vec<u8>) {
    head(b'>', count, out);
}

/// A floating-point number as a reply, spelled so that reading it gives the same number.
pub fn double(protocol: Protocol, number: f64, out: &mut Vec<u8>) {
    let text = if number.is_infinite() {
        String::from(if number > 0.0 { "inf" } else { "-inf" })
    } else if number.is_nan() {
        String::from("nan")
    } else {
        number.to_string()
    };
    match protocol {
        Protocol::Resp2 => bulk(text.as_bytes(), out),
        Protocol::Resp3 => line(b',', &text, out),
    }
}

/// A truth as a reply.
pub fn boolean(protocol: Protocol, truth: bool, out: &mut Vec<u8>) {
    out.extend_from_slice(match (protocol, truth) {
        (Protocol::Resp2, true) => b":1\r\n",
        (Protocol::Resp2, false) => b":0\r\n",
        (Protocol::Resp3, true) => b"#t\r\n",
        (Protocol::Resp3, false) => b"#f\r\n",
    });
}

/// Text for people as a reply, of the format `txt`.
pub fn verbatim(protocol: Protocol, text: &str, out: &mut Vec<u8>) {
    match protocol {
        Protocol::Resp2 => bulk(text.as_bytes(), out),
        Protocol::Resp3 => {
            head(b'=', text.len() + 4, out);
            out.extend_from_slice(b"txt:");
            out.extend_from_slice(text.as_bytes());
            out.extend_from_slice(b"\r\n");
        }
    }
}

fn line(marker: u8, text: &str, out: &mut Vec<u8>) {
    assert!(!text.contains(['\r', '\n']), "a line has no line break within");
    out.push(marker);
    out.extend_from_slice(text.as_bytes());
    out.extend_from_slice(b"\r\n");
}

//! A record's key as one token of a NATS subject.

use std::fmt::Write;

/// The longest token that fits a request beside its subject's other parts and its reply's: a server
/// hangs up on control lines above 4096 bytes (its `max_control_line`).
const LONGEST: usize = 3500;

/// Appends `key` to `subject`; tells whether that could be done.
///
/// Letters, digits, `-`, `_` and `/` stand for themselves, every other byte is `=` with two
/// hexadecimal digits: `user/1` stays as it is, `a.b` is `a=2Eb`. The empty key is a lone `=`. So
/// every key is one token that any client of the bucket may name, and no two keys are one.
pub(super) fn append(key: &[u8], subject: &mut String) -> bool {
    let begin = subject.len();
    for &byte in key {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'/' => {
                subject.push(char::from(byte));
            }
            _ => write!(subject, "={byte:02X}").expect("a string takes everything"),
        }
    }
    if key.is_empty() {
        subject.push('=');
    }
    subject.len() - begin <= LONGEST
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    fn check(key: &[u8], expected: &str) {
        let mut subject = String::from("$KV.b.");
        assert!(append(key, &mut subject));
        assert_eq!(subject, format!("$KV.b.{expected}"));
    }

    #[test]
    fn plain_keys_can_be_read() {
        check(b"user6284781860667377211", "user6284781860667377211");
        check(b"a-b_c/d", "a-b_c/d");
    }

    #[test]
    fn what_means_something_in_a_subject_is_escaped() {
        check(b"a.b", "a=2Eb");
        check(b"*", "=2A");
        check(b">", "=3E");
        check(b"a b\r\n", "a=20b=0D=0A");
        check(b"a=2Eb", "a=3D2Eb");
        check(b"\xc3\xa4", "=C3=A4");
        check(b"\0\xff", "=00=FF");
        check(b"", "=");
    }

    #[test]
    fn no_two_keys_are_one() {
        let all: Vec<u8> = (0..=255).collect();
        let mut keys: Vec<Vec<u8>> = all.iter().map(|&byte| vec![byte]).collect();
        keys.extend([&b""[..], b"=", b"==", b"=3D", b"=3d"].map(<[u8]>::to_vec));
        let tokens = keys.iter().map(|key| {
            let mut token = String::new();
            assert!(append(key, &mut token));
            token
        });
        // The key `=` is there twice.
        assert_eq!(tokens.collect::<HashSet<_>>().len(), keys.len() - 1);
    }

    #[test]
    fn what_a_server_would_hang_up_on_is_reported() {
        assert!(append(&[b'a'; 3500], &mut String::new()));
        assert!(!append(&[b'a'; 3501], &mut String::new()));
        assert!(!append(&[0; 1200], &mut String::new()));
    }
}

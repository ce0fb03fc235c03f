//! Guess of a file's format from its first lines, for errors about a wrong format.

use std::fmt;

use super::oracle::RECORD;
use super::request::Format;
use super::{cachelib, twitter};

/// Two neighbouring records of a binary trace are hardly further apart than this, in seconds.
const APART: u32 = 7 * 24 * 3600;

/// What a file looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look {
    /// An imported trace.
    Foreign(Format),
    /// A trace of our own.
    Trace,
    /// A trace of our own as comma-separated text.
    Csv,
}

impl fmt::Display for Look {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whose, why, what) = match self {
            Look::Foreign(Format::Twitter) => ("Twitter's", "seven values in a line", "twitter"),
            Look::Foreign(Format::CacheLib) => {
                ("CacheLib's", "a header that names op or key", "cachelib")
            }
            Look::Foreign(Format::Oracle) => ("oracleGeneral", "24 bytes a record", "oracle"),
            Look::Foreign(Format::Monitor) => {
                ("Redis's MONITOR", "a time before [database address]", "monitor")
            }
            Look::Foreign(Format::KvReplay) => ("KV-replay's", "op,key,timestamp", "kv-replay"),
            Look::Trace => {
                return write!(
                    f,
                    "this is a trace of assay already: `assay run` takes it as it is"
                );
            }
            Look::Csv => {
                return write!(
                    f,
                    "this looks like the output of `assay trace export`: give \
                     `assay trace import FILE -o OUT` without a format"
                );
            }
        };
        write!(f, "this looks like {whose} ({why}): give `assay trace import {what}`")
    }
}

/// What a file that begins with `start`, unpacked, looks like, if like anything we know.
pub fn guess(start: &[u8]) -> Option<Look> {
    if start.starts_with(b"PAR1") {
        return Some(Look::Trace);
    }
    let line = start.split(|&byte| byte == b'\n').next().unwrap_or_default().trim_ascii_end();
    let is_text = !line.iter().any(|&byte| byte < b' ' && byte != b'\t');
    if !is_text {
        return is_oracle(start).then_some(Look::Foreign(Format::Oracle));
    }
    if line.starts_with(b"index,process,") {
        return Some(Look::Csv);
    }
    if line == b"OK" || is_monitor(line) {
        return Some(Look::Foreign(Format::Monitor));
    }
    if cachelib::CacheLib::new(line).is_ok() {
        return Some(Look::Foreign(Format::CacheLib));
    }
    let cells: Vec<&[u8]> = line.split(|&byte| byte == b',').collect();
    let is_number = |cell: &[u8]| !cell.is_empty() && cell.iter().all(u8::is_ascii_digit);
    if cells.len() >= 7 && is_number(cells[0]) && twitter::knows(cells[cells.len() - 2]) {
        return Some(Look::Foreign(Format::Twitter));
    }
    let is_word = |cell: &[u8]| cell.iter().all(u8::is_ascii_alphabetic);
    if (3..=4).contains(&cells.len()) && is_word(cells[0]) && is_number(cells[2].trim_ascii()) {
        return Some(Look::Foreign(Format::KvReplay));
    }
    None
}

fn is_monitor(line: &[u8]) -> bool {
    let digits = line.iter().take_while(|byte| byte.is_ascii_digit() || **byte == b'.').count();
    digits > 0 && line[digits..].starts_with(b" [")
}

/// Whether the first two records have times that can follow each other.
fn is_oracle(start: &[u8]) -> bool {
    let time = |record: usize| {
        let bytes = start.get(record * RECORD..)?.first_chunk::<4>()?;
        Some(u32::from_le_bytes(*bytes))
    };
    match (time(0), time(1)) {
        (Some(first), Some(second)) => {
            second.checked_sub(first).is_some_and(|apart| apart <= APART)
        }
        (Some(_), None) => start.len() == RECORD,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::imported::oracle::tests::record;

    #[test]
    fn beginnings_are_recognised() {
        let imported = |format| Some(Look::Foreign(format));
        let binary = [record(7, 1, 100, -1), record(8, 2, 100, -1)].concat();
        let table: [(&[u8], Option<Look>); 10] = [
            (b"1583990400,nz:u:eeW,22,304,127,get,0\n", imported(Format::Twitter)),
            (b"op_time,key,key_size,op,op_count,size\n1,", imported(Format::CacheLib)),
            (b"key,op,size,op_count,key_size\r\n", imported(Format::CacheLib)),
            (b"1460100081.165665 [0 127.0.0.1:5] \"get\" \"a\"\n", imported(Format::Monitor)),
            (b"OK\n1460100081.165665 [0", imported(Format::Monitor)),
            (b"READ,user1,1500,100\n", imported(Format::KvReplay)),
            (&binary, imported(Format::Oracle)),
            (b"PAR1\x15\x04", Some(Look::Trace)),
            (b"index,process,transaction,", Some(Look::Csv)),
            (b"dear reader,\n", None),
        ];
        for (start, expected) in table {
            assert_eq!(guess(start), expected, "{:?}", String::from_utf8_lossy(start));
        }
        assert_eq!(guess(b""), None);
        assert_eq!(guess(&[record(9, 1, 1, -1), record(3, 1, 1, -1)].concat()), None);
    }

    #[test]
    fn a_guess_says_which_format_to_give() {
        let text = Look::Foreign(Format::CacheLib).to_string();
        assert!(text.starts_with("this looks like CacheLib's (a header"), "{text}");
        assert!(text.ends_with("give `assay trace import cachelib`"), "{text}");
    }
}

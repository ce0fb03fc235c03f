//! Output of Redis's MONITOR: a time in seconds, the database with the client, quoted words.
//!
//! Commands on strings, hashes or keys are taken over as far as they say which keys they are about;
//! all others are counted by name. Values that are read have no size here; the first write of the
//! same key tells it.

use assay_model::Nanos;

use super::cells::{display, time};
use super::parse::{Fault, Parse};
use super::request::{ImportedRequest, TimestampPrecision, VALUE_MAX, ValueSize, Verb, key_number};

/// A number as Redis keeps it.
const COUNTER_BYTES: u32 = 8;

/// Lines of quoted words, or commands as words.
#[derive(Default)]
pub struct Monitor {
    /// The words of one line after each other.
    text: Vec<u8>,
    /// The end of each word in it.
    ends: Vec<usize>,
}

/// The place of a command's keys, and the operation on them.
enum Shape {
    /// The first word after the command.
    One(Verb),
    /// All words after the command.
    Each(Verb),
    /// The first word; the value is the word at this place, the command being at 0.
    Writes(Verb, usize),
    /// Keys and values in turns.
    Pairs(Verb),
    /// One key, then fields and values in turns.
    Fields,
    /// The first word, which holds a counter.
    Counts,
}

impl Parse for Monitor {
    fn timestamps(&self) -> TimestampPrecision {
        TimestampPrecision::Each(Nanos::from_micros(1))
    }

    fn parse(&mut self, line: &[u8], into: &mut Vec<ImportedRequest>) -> Result<(), Fault> {
        if line == b"OK" {
            return Ok(());
        }
        let Some(blank) = line.iter().position(|&byte| byte == b' ') else {
            return Err(Fault::Bad(format!("{} is no time with a command", display(line))));
        };
        let at = time("time", &line[..blank], Nanos::from_secs(1))?;
        let rest = &line[blank + 1..];
        let Some(end) = rest.windows(3).position(|bytes| bytes == b"] \"") else {
            return Err(Fault::Bad("no [database address] stands before the words".to_owned()));
        };
        let Some(source) = rest[..end].strip_prefix(b"[") else {
            return Err(Fault::Bad("no [database address] follows the time".to_owned()));
        };
        let database = source.split(|&byte| byte == b' ').next().unwrap_or_default().to_vec();
        self.split(&rest[end + 2..])?;
        self.requests(at, &database, into)
    }
}

impl Monitor {
    fn word(&self, place: usize) -> Option<&[u8]> {
        let end = *self.ends.get(place)?;
        let start = if place == 0 { 0 } else { self.ends[place - 1] };
        Some(&self.text[start..end])
    }

    /// Splits quoted words and undoes Redis's escapes.
    fn split(&mut self, quoted: &[u8]) -> Result<(), Fault> {
        self.text.clear();
        self.ends.clear();
        let mut rest = quoted;
        while !rest.is_empty() {
            let Some(word) = rest.strip_prefix(b"\"") else {
                return Err(Fault::Bad(format!("a quoted word must stand at {}", display(rest))));
            };
            let Some(length) = self.unescape(word) else {
                return Err(Fault::Bad("a quoted word has no end".to_owned()));
            };
            self.ends.push(self.text.len());
            rest = &word[length..];
            rest = rest.strip_prefix(b" ").unwrap_or(rest);
        }
        Ok(())
    }

    /// Appends a word up to its closing quote, and gives the place behind that.
    fn unescape(&mut self, word: &[u8]) -> Option<usize> {
        let mut place = 0;
        loop {
            match *word.get(place)? {
                b'"' => return Some(place + 1),
                b'\\' => {
                    let (byte, length) = escaped(word.get(place + 1..)?)?;
                    self.text.push(byte);
                    place += 1 + length;
                }
                byte => {
                    self.text.push(byte);
                    place += 1;
                }
            }
        }
    }

    /// Appends the requests of a command that was not printed but sent, as its words.
    ///
    /// # Errors
    /// Its name, if it is none of those that are taken over, or lacks words.
    pub fn take<'a>(
        &mut self,
        at: Nanos,
        database: &[u8],
        words: impl Iterator<Item = &'a [u8]>,
        into: &mut Vec<ImportedRequest>,
    ) -> Result<(), String> {
        self.text.clear();
        self.ends.clear();
        for word in words {
            self.text.extend_from_slice(word);
            self.ends.push(self.text.len());
        }
        let before = into.len();
        self.requests(at, database, into).map_err(|fault| {
            into.truncate(before);
            match fault {
                Fault::PassedOver(name) => name,
                Fault::Bad(_) => {
                    String::from_utf8_lossy(self.word(0).unwrap_or_default()).to_ascii_uppercase()
                }
            }
        })
    }

    fn requests(
        &self,
        at: Nanos,
        database: &[u8],
        into: &mut Vec<ImportedRequest>,
    ) -> Result<(), Fault> {
        let Some(command) = self.word(0) else {
            return Err(Fault::Bad("it has no command".to_owned()));
        };
        let name = command.to_ascii_uppercase();
        let Some(shape) = shape(&name) else {
            return Err(Fault::PassedOver(String::from_utf8_lossy(&name).into_owned()));
        };
        let words = self.ends.len();
        let short = || Fault::Bad(format!("{} lacks words", String::from_utf8_lossy(&name)));
        let mut push = |place: usize, verb: Verb, value: ValueSize| {
            let name = self.word(place).ok_or_else(short)?;
            let key = number(database, name);
            into.push(ImportedRequest { at, key, verb, value, count: 1 });
            Ok(())
        };
        if words < 2 {
            return Err(short());
        }
        match shape {
            Shape::One(verb) => push(1, verb, ValueSize::Unknown),
            Shape::Counts => push(1, Verb::Change, ValueSize::Bytes(COUNTER_BYTES)),
            Shape::Each(verb) => {
                (1..words).try_for_each(|place| push(place, verb, ValueSize::Unknown))
            }
            Shape::Writes(verb, value) => push(1, verb, self.size(&[value], &name)?),
            Shape::Pairs(verb) => (1..words)
                .step_by(2)
                .try_for_each(|place| push(place, verb, self.size(&[place + 1], &name)?)),
            Shape::Fields => {
                let values: Vec<usize> = (3..words.max(4)).step_by(2).collect();
                push(1, Verb::Change, self.size(&values, &name)?)
            }
        }
    }

    /// The sizes of the words at these places together.
    fn size(&self, places: &[usize], command: &[u8]) -> Result<ValueSize, Fault> {
        let mut sum = 0;
        for &place in places {
            let word = self.word(place).ok_or_else(|| {
                Fault::Bad(format!("{} lacks words", String::from_utf8_lossy(command)))
            })?;
            sum += word.len() as u64;
        }
        Ok(ValueSize::Bytes(sum.min(VALUE_MAX) as u32))
    }
}

/// The byte that an escape stands for, with how many bytes follow the backslash.
fn escaped(rest: &[u8]) -> Option<(u8, usize)> {
    Some(match *rest.first()? {
        b'n' => (b'\n', 1),
        b'r' => (b'\r', 1),
        b't' => (b'\t', 1),
        b'a' => (7, 1),
        b'b' => (8, 1),
        b'x' => {
            let digits = std::str::from_utf8(rest.get(1..3)?).ok()?;
            (u8::from_str_radix(digits, 16).ok()?, 3)
        }
        byte => (byte, 1),
    })
}

/// The number of a key; in another database than 0 the same name is another key.
fn number(database: &[u8], name: &[u8]) -> u64 {
    let length = name.len() as u64;
    match database {
        b"0" => key_number(name, length),
        other => key_number(&[other, b"\0", name].concat(), length),
    }
}

fn shape(command: &[u8]) -> Option<Shape> {
    Some(match command {
        b"GET" | b"GETEX" | b"GETRANGE" | b"SUBSTR" | b"STRLEN" | b"GETBIT" | b"BITCOUNT"
        | b"HGET" | b"HMGET" | b"HGETALL" | b"HKEYS" | b"HVALS" | b"HLEN" | b"HEXISTS"
        | b"HSTRLEN" | b"HSCAN" | b"DUMP" => Shape::One(Verb::Get),
        b"MGET" | b"EXISTS" => Shape::Each(Verb::Get),
        b"SET" | b"GETSET" => Shape::Writes(Verb::Set, 2),
        b"SETEX" | b"PSETEX" => Shape::Writes(Verb::Set, 3),
        b"SETNX" => Shape::Writes(Verb::Add, 2),
        b"MSET" => Shape::Pairs(Verb::Set),
        b"MSETNX" => Shape::Pairs(Verb::Add),
        b"APPEND" => Shape::Writes(Verb::Change, 2),
        b"SETRANGE" => Shape::Writes(Verb::Change, 3),
        b"HSET" | b"HMSET" => Shape::Fields,
        b"HSETNX" => Shape::Writes(Verb::Change, 3),
        b"HDEL" | b"SETBIT" => Shape::One(Verb::Change),
        b"INCR" | b"DECR" | b"INCRBY" | b"DECRBY" | b"INCRBYFLOAT" | b"HINCRBY"
        | b"HINCRBYFLOAT" => Shape::Counts,
        b"DEL" | b"UNLINK" => Shape::Each(Verb::Delete),
        b"GETDEL" => Shape::One(Verb::Delete),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::imported::requests::tests::{bad, parsed, passed_over};

    fn requested(words: &str) -> Vec<ImportedRequest> {
        parsed(Monitor::default(), format!("10.000002 [0 127.0.0.1:5] {words}"))
    }

    fn display(words: &str) -> Vec<(Verb, u64, ValueSize)> {
        requested(words).iter().map(|one| (one.verb, one.key, one.value)).collect()
    }

    fn key(name: &str) -> u64 {
        key_number(name.as_bytes(), name.len() as u64)
    }

    #[test]
    fn commands_become_requests() {
        let (unknown, bytes) = (ValueSize::Unknown, ValueSize::Bytes);
        let table = [
            (r#""get" "a""#, vec![(Verb::Get, key("a"), unknown)]),
            (r#""HGETALL" "a""#, vec![(Verb::Get, key("a"), unknown)]),
            (r#""SET" "a" "four" "EX" "9""#, vec![(Verb::Set, key("a"), bytes(4))]),
            (r#""setex" "a" "9" "four""#, vec![(Verb::Set, key("a"), bytes(4))]),
            (r#""HSET" "a" "f" "12" "g" "345""#, vec![(Verb::Change, key("a"), bytes(5))]),
            (r#""INCR" "a""#, vec![(Verb::Change, key("a"), bytes(8))]),
            (
                r#""MGET" "a" "b""#,
                vec![(Verb::Get, key("a"), unknown), (Verb::Get, key("b"), unknown)],
            ),
            (
                r#""MSET" "a" "1" "b" "22""#,
                vec![(Verb::Set, key("a"), bytes(1)), (Verb::Set, key("b"), bytes(2))],
            ),
            (
                r#""DEL" "a" "b""#,
                vec![(Verb::Delete, key("a"), unknown), (Verb::Delete, key("b"), unknown)],
            ),
        ];
        for (words, expected) in table {
            assert_eq!(display(words), expected, "{words}");
        }
        assert_eq!(requested(r#""get" "a""#)[0].at, Nanos(10_000_002_000));
    }

    #[test]
    fn escapes_are_undone() {
        let [request] = requested(r#""SET" "q\"\\\x00\n" "\xff\t ""#)[..] else { panic!() };
        assert_eq!(request.key, key_number(b"q\"\\\0\n", 5));
        assert_eq!(request.value, ValueSize::Bytes(3));
    }

    #[test]
    fn a_database_is_part_of_the_key() {
        let key = |line: &str| parsed(Monitor::default(), line)[0].key;
        let zero = key(r#"1.0 [0 127.0.0.1:5] "GET" "a""#);
        assert_ne!(zero, key(r#"1.0 [3 127.0.0.1:5] "GET" "a""#));
        assert_eq!(zero, key(r#"1.0 [0 [::1]:5] "GET" "a""#));
        assert_eq!(zero, key(r#"1.0 [0 lua] "GET" "a""#));
    }

    #[test]
    fn what_has_no_key_is_passed_over_by_name() {
        for words in ["\"PING\"", "\"lpush\" \"a\" \"1\"", "\"EVAL\" \"x\" \"0\""] {
            let line = format!("1.0 [0 127.0.0.1:5] {words}");
            let name = words.split('"').nth(1).unwrap().to_ascii_uppercase();
            assert_eq!(passed_over(Monitor::default(), &line), name);
        }
        assert_eq!(parsed(Monitor::default(), "OK"), []);
    }

    #[test]
    fn bad_lines_say_what_is_wrong() {
        let bad = |line: &str| bad(Monitor::default(), line);
        assert_eq!(bad("hello"), "\"hello\" is no time with a command");
        assert_eq!(bad("1.0 \"GET\" \"a\""), "no [database address] stands before the words");
        assert_eq!(bad(r#"1.0 [0 a:1] "GET" "a"#), "a quoted word has no end");
        assert_eq!(bad(r#"1.0 [0 a:1] "GET""#), "GET lacks words");
        assert_eq!(bad(r#"1.0 [0 a:1] "MSET" "a" "1" "b""#), "MSET lacks words");
        assert_eq!(bad(r#"1.0 [0 a:1] "HSET" "a" "b""#), "HSET lacks words");
        assert_eq!(bad(r#"1.0 [0 a:1] "GET" a"#), "a quoted word must stand at \"a\"");
    }
}

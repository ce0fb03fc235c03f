//! Records of comma-separated text: lines, or several where a quote holds line breaks.

use std::io::{self, BufRead};

use super::ImportError;

/// A longer record is no operation on records: twelve numbers of twenty digits fit twice.
pub(super) const LONGEST_LINE: usize = 512;

/// A longer record is no operation of queries: a process's arguments stay far below.
pub(super) const LONGEST_RECORD: usize = 1 << 24;

/// Reads records one after another and knows their lines.
pub(super) struct Records<R> {
    from: R,
    /// The last line of the record that was read last, from 1.
    pub line: u64,
    text: String,
}

impl<R: BufRead> Records<R> {
    pub fn new(from: R) -> Records<R> {
        Records { from, line: 0, text: String::new() }
    }

    /// Reads the next record without its end, `None` if there is none. It has at most `longest`
    /// bytes; quotes that are open at the end of a line go on in the next one.
    pub fn read(&mut self, longest: usize) -> Result<Option<&str>, ImportError> {
        self.text.clear();
        loop {
            let line = self.line + 1;
            let room = (longest - self.text.len()) as u64;
            let mut limited = io::Read::take(&mut self.from, room);
            let length = limited.read_line(&mut self.text);
            let length = length.map_err(|source| ImportError::Io { line, source })?;
            if length as u64 == room {
                let reason = format!("it is longer than {longest} bytes, so it is no operation");
                return Err(ImportError::Line { line, reason });
            }
            if length == 0 && self.text.is_empty() {
                return Ok(None);
            }
            self.line += u64::from(length > 0);
            let is_open = self.text.bytes().filter(|&byte| byte == b'"').count() % 2 == 1;
            if is_open && length == 0 {
                let reason = "a quote is never closed".to_owned();
                return Err(ImportError::Line { line: self.line, reason });
            }
            if !is_open {
                break;
            }
        }
        let text = self.text.strip_suffix('\n').unwrap_or(&self.text);
        Ok(Some(text.strip_suffix('\r').unwrap_or(text)))
    }
}

/// The fields of a record; a quoted one holds commas, line breaks, doubled quotes.
///
/// # Errors
/// If something comes behind a closing quote.
pub(super) fn fields(record: &str) -> Result<Vec<String>, String> {
    let mut fields = Vec::new();
    let mut rest = record;
    loop {
        let (field, behind) = match rest.strip_prefix('"') {
            Some(quoted) => unquote(quoted)?,
            None => {
                let end = rest.find(',').unwrap_or(rest.len());
                (rest[..end].to_owned(), &rest[end..])
            }
        };
        fields.push(field);
        match behind.strip_prefix(',') {
            Some(next) => rest = next,
            None if behind.is_empty() => return Ok(fields),
            None => return Err("something comes behind a closing quote".to_owned()),
        }
    }
}

/// What is within the quote whose inside `text` begins with, with what follows the quote.
fn unquote(text: &str) -> Result<(String, &str), String> {
    let mut field = String::new();
    let mut rest = text;
    loop {
        let end = rest.find('"').ok_or("a quote is never closed")?;
        field.push_str(&rest[..end]);
        rest = &rest[end + 1..];
        match rest.strip_prefix('"') {
            Some(next) => {
                field.push('"');
                rest = next;
            }
            None => return Ok((field, rest)),
        }
    }
}

/// `text` within quotes.
pub(super) fn quote(text: &str) -> String {
    format!("\"{}\"", text.replace('"', "\"\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_go_on_where_a_quote_is_open() {
        let mut records = Records::new("a,\"b\n,\"\"c\"\"\",d\r\ne\n".as_bytes());
        let record = records.read(100).unwrap().unwrap().to_owned();
        assert_eq!(fields(&record).unwrap(), ["a", "b\n,\"c\"", "d"]);
        assert_eq!((records.line, records.read(100).unwrap()), (2, Some("e")));
        assert_eq!(records.read(100).unwrap(), None);
        assert_eq!(records.line, 3);
        let error = Records::new("a,\"b\nc".as_bytes()).read(100).unwrap_err();
        assert_eq!(error.to_string(), "line 2: a quote is never closed");
        assert!(fields("\"a\"b,c").unwrap_err().contains("behind a closing quote"));
        assert_eq!(fields(&format!("{},", quote("a\"b"))).unwrap(), ["a\"b", ""]);
    }
}

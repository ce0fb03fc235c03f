//! The lines of a file that say something.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use super::InputSetError;

/// A longer line is no line of such a file.
const LONGEST_LINE: u64 = 1 << 24;

/// Reads a file line by line; comments, empty lines, blanks around lines are passed over.
pub(super) struct Lines {
    path: PathBuf,
    from: BufReader<File>,
    /// The line that was read last, from 1.
    pub line: u64,
    text: String,
}

impl Lines {
    pub fn open(path: &Path) -> Result<Lines, InputSetError> {
        let file = File::open(path)
            .map_err(|source| InputSetError::Io { path: path.to_owned(), source })?;
        Ok(Lines {
            path: path.to_owned(),
            from: BufReader::new(file),
            line: 0,
            text: String::new(),
        })
    }

    /// The next line that says something, or `None` at the end.
    pub fn read(&mut self) -> Result<Option<&str>, InputSetError> {
        loop {
            self.text.clear();
            let mut limited = Read::take(&mut self.from, LONGEST_LINE);
            let length = limited.read_line(&mut self.text).map_err(|source| self.io(source))?;
            if length == 0 {
                return Ok(None);
            }
            self.line += 1;
            if length as u64 == LONGEST_LINE {
                return Err(self.wrong(format!("it is longer than {LONGEST_LINE} bytes")));
            }
            let is_said = |text: &str| !text.is_empty() && !text.starts_with('#');
            if is_said(self.text.trim()) {
                return Ok(Some(self.text.trim()));
            }
        }
    }

    /// Something is wrong with the line that was read last.
    pub fn wrong(&self, reason: impl Into<String>) -> InputSetError {
        InputSetError::Line { path: self.path.clone(), line: self.line, reason: reason.into() }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    fn io(&self, source: io::Error) -> InputSetError {
        match source.kind() {
            io::ErrorKind::InvalidData => InputSetError::Line {
                path: self.path.clone(),
                line: self.line + 1,
                reason: "it is not UTF-8: convert the file".to_owned(),
            },
            _ => InputSetError::Io { path: self.path.clone(), source },
        }
    }
}

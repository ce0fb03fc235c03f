//! Remarks on input sets that BenchFoundry's own reader reads in another way.

use std::fmt;
use std::path::{Path, PathBuf};

/// Where its reader goes astray.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Trouble {
    /// A line of a list has a second colon.
    Colon,
    /// A value within quotes has a semicolon.
    Semicolon,
    /// A value has a question mark.
    QuestionMark,
    /// A value has a backslash.
    Backslash,
    /// The value of a property has a colon.
    Property,
    /// A process has fewer than five lines.
    Short,
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Trouble::Colon => "a second colon: BenchFoundry itself cuts the line there",
            Trouble::Semicolon => "a semicolon within quotes: BenchFoundry itself parts it there",
            Trouble::QuestionMark => {
                "a question mark within a value: BenchFoundry itself puts the next value there"
            }
            Trouble::Backslash => "a backslash within a value: MariaDB takes it as an escape",
            Trouble::Property => "a colon within a property: BenchFoundry itself passes it over",
            Trouble::Short => {
                "fewer than five lines in a process: BenchFoundry itself passes it over"
            }
        })
    }
}

/// One trouble in one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remark {
    /// The file.
    pub path: PathBuf,
    /// What is troublesome.
    pub trouble: Trouble,
    /// In how many lines.
    pub count: u64,
    /// The first of them.
    pub line: u64,
}

/// All troubles, one remark for each file and kind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Remarks {
    remarks: Vec<Remark>,
}

impl Remarks {
    /// Notes `trouble` in line `line` of the file at `path`.
    pub fn add(&mut self, path: &Path, line: u64, trouble: Trouble) {
        let known = |remark: &&mut Remark| remark.trouble == trouble && remark.path == path;
        match self.remarks.iter_mut().find(known) {
            Some(remark) => remark.count += 1,
            None => self.remarks.push(Remark { path: path.to_owned(), trouble, count: 1, line }),
        }
    }

    /// What there is, in the order in which it was found.
    pub fn iter(&self) -> impl Iterator<Item = &Remark> {
        self.remarks.iter()
    }

    /// Notes what is troublesome about a line `id:content` of a list.
    pub(super) fn add_content(&mut self, path: &Path, line: u64, content: &str) {
        if content.contains(':') {
            self.add(path, line, Trouble::Colon);
        }
    }

    /// Notes what is troublesome about a value of a list of parameters.
    pub(super) fn add_value(&mut self, path: &Path, line: u64, piece: &str) {
        let troubles =
            [(';', Trouble::Semicolon), ('?', Trouble::QuestionMark), ('\\', Trouble::Backslash)];
        for (letter, trouble) in troubles {
            if piece.contains(letter) {
                self.add(path, line, trouble);
            }
        }
    }
}

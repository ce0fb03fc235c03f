//! A list of texts by their numbers: one `id:text` per line.

use std::path::{Path, PathBuf};

use super::lines::Lines;
use super::{InputSetError, Remarks};

/// A list, in memory as BenchFoundry has it.
pub(super) struct List {
    path: PathBuf,
    text: String,
    /// In the order of their numbers.
    items: Vec<Item>,
}

struct Item {
    id: i64,
    begin: usize,
    end: usize,
    line: u64,
}

/// One text of a list.
#[derive(Clone, Copy)]
pub(super) struct Listed<'a> {
    /// Its place in the order of numbers.
    pub place: usize,
    pub id: i64,
    pub text: &'a str,
    pub line: u64,
}

impl List {
    /// A list without texts.
    pub fn none() -> List {
        List { path: PathBuf::new(), text: String::new(), items: Vec::new() }
    }

    /// Reads the list at `path`. Everything behind the first colon of a line belongs to the text.
    pub fn read(path: &Path, remarks: &mut Remarks) -> Result<List, InputSetError> {
        let mut lines = Lines::open(path)?;
        let mut list = List { path: path.to_owned(), text: String::new(), items: Vec::new() };
        while let Some(text) = lines.read()? {
            let parted = text.split_once(':');
            let parsed = parted.and_then(|(id, text)| Some((id.trim().parse().ok()?, text.trim())));
            let Some((id, text)) = parsed else {
                return Err(lines.wrong("it is not of the form id:text with a whole number"));
            };
            let begin = list.text.len();
            list.text.push_str(text);
            let end = list.text.len();
            let line = lines.line;
            remarks.add_content(path, line, &list.text[begin..end]);
            list.items.push(Item { id, begin, end, line });
        }
        list.items.sort_by_key(|item| (item.id, item.line));
        let twice = list.items.windows(2).find(|pair| pair[0].id == pair[1].id);
        if let Some([first, second]) = twice.map(|pair| [&pair[0], &pair[1]]) {
            let reason = format!("id {} is in line {} already", second.id, first.line);
            return Err(InputSetError::Line { path: path.to_owned(), line: second.line, reason });
        }
        Ok(list)
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// The text with number `id`.
    pub fn find(&self, id: i64) -> Option<Listed<'_>> {
        let place = self.items.binary_search_by_key(&id, |item| item.id).ok()?;
        Some(self.listed(place))
    }

    /// All texts in the order of their numbers.
    pub fn iter(&self) -> impl Iterator<Item = Listed<'_>> {
        (0..self.items.len()).map(|place| self.listed(place))
    }

    fn listed(&self, place: usize) -> Listed<'_> {
        let item = &self.items[place];
        let text = &self.text[item.begin..item.end];
        Listed { place, id: item.id, text, line: item.line }
    }
}

//! A file of settings as a tree of texts that know their lines, whatever it is written in.

use std::ops::Range;

use saphyr_parser::{Event, Parser};
use toml::de::{DeTable, DeValue};

/// A value and the line that it begins on, from 1.
#[derive(Clone, Debug, PartialEq)]
pub struct Tree {
    /// The line.
    pub line: usize,
    /// What is there.
    pub value: TreeValue,
}

/// What is written somewhere.
#[derive(Clone, Debug, PartialEq)]
pub enum TreeValue {
    /// A text, a number or a truth: as it is spelled.
    Text(String),
    /// Several values.
    List(Vec<Tree>),
    /// Names with values, in their order; each name with its line.
    Table(Vec<(String, usize, Tree)>),
}

/// Something about a file is invalid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wrong {
    /// On which line.
    pub line: usize,
    /// What, and how it would be right.
    pub reason: String,
}

impl Wrong {
    /// Something on `line`.
    pub fn at(line: usize, reason: impl Into<String>) -> Wrong {
        Wrong { line, reason: reason.into() }
    }
}

impl Tree {
    /// The text, if it is one.
    ///
    /// # Errors
    /// If it is a list or a table.
    pub fn text(&self) -> Result<&str, Wrong> {
        match &self.value {
            TreeValue::Text(text) => Ok(text),
            _ => Err(Wrong::at(self.line, "a single value belongs here")),
        }
    }

    /// The values of a list.
    ///
    /// # Errors
    /// If it is something else.
    pub fn list(&self) -> Result<&[Tree], Wrong> {
        match &self.value {
            TreeValue::List(list) => Ok(list),
            _ => Err(Wrong::at(self.line, "a list belongs here")),
        }
    }

    /// The names and values of a table.
    ///
    /// # Errors
    /// If it is something else.
    pub fn table(&self) -> Result<&[(String, usize, Tree)], Wrong> {
        match &self.value {
            TreeValue::Table(table) => Ok(table),
            _ => Err(Wrong::at(self.line, "names with values belong here")),
        }
    }

    /// What `read` makes of the text.
    ///
    /// # Errors
    /// If it is no text, or `read` complains.
    pub fn read<T>(&self, read: impl FnOnce(&str) -> Result<T, String>) -> Result<T, Wrong> {
        read(self.text()?).map_err(|reason| Wrong::at(self.line, reason))
    }
}

/// The tree of a TOML text.
///
/// # Errors
/// If it is no TOML, with the line.
pub fn from_toml(text: &str) -> Result<Tree, Wrong> {
    let table = DeTable::parse(text).map_err(|error| {
        let line = error.span().map_or(1, |span| line_of(text, &span));
        Wrong::at(line, error.message().replace('\n', " "))
    })?;
    Ok(Tree { line: 1, value: toml_table(table.get_ref(), text) })
}

fn toml_table(table: &DeTable<'_>, text: &str) -> TreeValue {
    let mut entries: Vec<(String, usize, Tree)> = table
        .iter()
        .map(|(name, value)| {
            let line = line_of(text, &value.span());
            let value = Tree { line, value: toml_value(value.get_ref(), text) };
            (name.get_ref().to_string(), line_of(text, &name.span()), value)
        })
        .collect();
    entries.sort_by_key(|(_, line, _)| *line);
    TreeValue::Table(entries)
}

fn toml_value(value: &DeValue<'_>, text: &str) -> TreeValue {
    let list = |value: &toml::Spanned<DeValue<'_>>| Tree {
        line: line_of(text, &value.span()),
        value: toml_value(value.get_ref(), text),
    };
    match value {
        DeValue::String(word) => TreeValue::Text(word.to_string()),
        DeValue::Integer(number) => TreeValue::Text(number.to_string()),
        DeValue::Float(number) => TreeValue::Text(number.to_string()),
        DeValue::Boolean(truth) => TreeValue::Text(truth.to_string()),
        DeValue::Datetime(moment) => TreeValue::Text(moment.to_string()),
        DeValue::Array(array) => TreeValue::List(array.iter().map(list).collect()),
        DeValue::Table(table) => toml_table(table, text),
    }
}

fn line_of(text: &str, span: &Range<usize>) -> usize {
    let before = &text.as_bytes()[..span.start.min(text.len())];
    before.iter().filter(|&&byte| byte == b'\n').count() + 1
}

/// Lists and tables of a file may be nested this deep; SickStore's own go to eight.
const DEEPEST: usize = 32;

/// The tree of a YAML text of one document, without aliases.
///
/// # Errors
/// If it is no such text, with the line.
pub fn from_yaml(text: &str) -> Result<Tree, Wrong> {
    let mut open: Vec<Open> = Vec::new();
    let mut whole = None;
    for event in Parser::new_from_str(text) {
        let (event, span) = event
            .map_err(|error| Wrong::at(error.marker().line().max(1), error.info().to_owned()))?;
        let line = span.start.line().max(1);
        if open.len() > DEEPEST {
            return Err(Wrong::at(line, "lists and tables are nested too deep"));
        }
        let ended = match event {
            Event::Alias(_) => return Err(Wrong::at(line, "aliases are not followed")),
            Event::DocumentStart(_) if whole.is_some() => {
                return Err(Wrong::at(line, "a second document begins"));
            }
            Event::SequenceStart(..) => {
                open.push(Open { line, name: None, value: TreeValue::List(Vec::new()) });
                continue;
            }
            Event::MappingStart(..) => {
                open.push(Open { line, name: None, value: TreeValue::Table(Vec::new()) });
                continue;
            }
            Event::Scalar(text, ..) => Tree { line, value: TreeValue::Text(text.into_owned()) },
            Event::SequenceEnd | Event::MappingEnd => {
                let Some(Open { line, value, .. }) = open.pop() else { continue };
                Tree { line, value }
            }
            _ => continue,
        };
        match open.last_mut() {
            None => whole = Some(ended),
            Some(parent) => parent.take(ended)?,
        }
    }
    whole.ok_or_else(|| Wrong::at(1, "the file is empty"))
}

/// A list or table that has not ended.
struct Open {
    line: usize,
    /// The name whose value is to come, in a table.
    name: Option<(String, usize)>,
    value: TreeValue,
}

impl Open {
    fn take(&mut self, tree: Tree) -> Result<(), Wrong> {
        match (&mut self.value, self.name.take()) {
            (TreeValue::List(list), _) => list.push(tree),
            (TreeValue::Table(table), Some((name, line))) => {
                if table.iter().any(|(other, ..)| *other == name) {
                    return Err(Wrong::at(line, format!("`{name}` is there twice")));
                }
                table.push((name, line, tree));
            }
            _ => self.name = Some((tree.text()?.to_owned(), tree.line)),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_languages_give_the_same_tree() {
        let toml = from_toml("a = 1\nb = [true, \"x\"]\n[c]\nd = 2.5\n").unwrap();
        let yaml = from_yaml("a: 1\nb: [true, x]\nc:\n  d: 2.5\n").unwrap();
        let texts = |tree: &Tree| {
            let table = tree.table().unwrap();
            let a = table[0].2.text().unwrap().to_owned();
            let b: Vec<&str> =
                table[1].2.list().unwrap().iter().map(|one| one.text().unwrap()).collect();
            let d = table[2].2.table().unwrap()[0].2.text().unwrap();
            format!("{a} {b:?} {d} {}", table[2].2.table().unwrap()[0].1)
        };
        assert_eq!(texts(&toml), "1 [\"true\", \"x\"] 2.5 4");
        assert_eq!(texts(&yaml), texts(&toml));
    }

    #[test]
    fn what_is_wrong_has_a_line() {
        let wrong = |result: Result<Tree, Wrong>| result.unwrap_err();
        assert_eq!(wrong(from_toml("a = 1\nb = \n")).line, 2);
        assert_eq!(wrong(from_yaml("a: 1\nb: *x\n")).line, 2);
        assert_eq!(wrong(from_yaml("a: 1\na: 2\n")), Wrong::at(2, "`a` is there twice"));
        assert_eq!(wrong(from_yaml("")).reason, "the file is empty");
        assert!(from_yaml(&"- ".repeat(100)).is_err());
    }
}

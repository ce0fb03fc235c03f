//! Sections of a spec that say how to run, not what: they are cut out before it is read.

use std::borrow::Cow;
use std::ops::Range;

use toml_parser::Source;
use toml_parser::parser::{Event, EventKind, parse_document};

/// The text of a spec without its section `name`, with that section. What is left stays at its
/// lines, so that what is wrong with it is found where its author has it.
///
/// A text that is no TOML, or has something else than a section there, is left as it is: whoever
/// reads it says what is wrong.
pub fn cut(text: &str, name: &str) -> (String, toml::Table) {
    let document = text.parse::<toml::Table>().ok();
    let Some(toml::Value::Table(section)) = document.and_then(|mut all| all.remove(name)) else {
        return (text.to_owned(), toml::Table::new());
    };
    let mut kept = String::with_capacity(text.len());
    let mut end = 0;
    for part in parts(text, name) {
        kept.push_str(&text[end..part.start]);
        kept.extend(text[part.clone()].chars().filter(|letter| matches!(letter, '\r' | '\n')));
        end = part.end;
    }
    kept.push_str(&text[end..]);
    (kept, section)
}

/// Whose keys follow a header.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Under {
    /// There was none yet.
    Nobody,
    /// The section's, or that of a table in it.
    Section,
    /// Another one.
    Other,
}

/// Where a TOML text has the headers of section `name`, and its keys with their values.
fn parts(text: &str, name: &str) -> Vec<Range<usize>> {
    let source = Source::new(text);
    let mut events = Vec::new();
    parse_document(&source.lex().into_vec(), &mut events, &mut ());
    let mut under = Under::Nobody;
    let mut parts = Vec::new();
    for expression in expressions(&events) {
        let (first, last) = (&expression[0], &expression[expression.len() - 1]);
        let key = expression.iter().find(|event| event.kind() == EventKind::SimpleKey);
        let is_named = key.is_some_and(|key| decoded(&source, key) == name);
        if matches!(first.kind(), EventKind::StdTableOpen | EventKind::ArrayTableOpen) {
            under = if is_named { Under::Section } else { Under::Other };
        }
        if under == Under::Section || under == Under::Nobody && is_named {
            parts.push(first.span().start()..last.span().end());
        }
    }
    parts
}

/// The headers, and the keys with their values, without what is around them.
fn expressions(events: &[Event]) -> Vec<Vec<Event>> {
    let mut depth = 0;
    let lines = events.split(|event| {
        match event.kind() {
            EventKind::ArrayOpen | EventKind::InlineTableOpen => depth += 1,
            EventKind::ArrayClose | EventKind::InlineTableClose => depth -= 1,
            _ => {}
        }
        // Within brackets an expression goes on in the next line.
        depth == 0 && event.kind() == EventKind::Newline
    });
    let says_something = |event: &&Event| {
        !matches!(event.kind(), EventKind::Whitespace | EventKind::Comment | EventKind::Newline)
    };
    let lines = lines.map(|line| line.iter().filter(says_something).copied().collect::<Vec<_>>());
    lines.filter(|line| !line.is_empty()).collect()
}

/// A key as it is meant: without quotes or escapes.
fn decoded<'a>(source: &Source<'a>, key: &Event) -> Cow<'a, str> {
    let mut text = Cow::default();
    if let Some(raw) = source.get(key) {
        raw.decode_key(&mut text, &mut ());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is left of each line; the section is the same as the parser's.
    fn left(text: &str) -> Vec<String> {
        let (kept, section) = cut(text, "run");
        let document: toml::Table = text.parse().unwrap();
        assert_eq!(Some(&toml::Value::Table(section)), document.get("run"), "{text}");
        let mut rest: toml::Table = document.clone();
        rest.remove("run");
        assert_eq!(kept.parse::<toml::Table>().unwrap(), rest, "{kept}");
        assert_eq!(kept.matches('\n').count(), text.matches('\n').count(), "{kept}");
        kept.split('\n').map(|line| line.trim_end_matches(' ').to_owned()).collect()
    }

    #[test]
    fn a_section_is_cut_out_and_lines_keep_their_numbers() {
        let text = "[dataset]\nrecords = 10\n\n[run]\nrate = \"1k/s\"\nat = [\n  \"1s: kill 1\",\n]\
                    \n\n[operations]\nread = 1\nrunning = 2\n";
        let lines = left(text);
        assert_eq!(lines[1], "records = 10");
        assert!(lines[3..9].iter().all(String::is_empty), "{lines:?}");
        assert_eq!(lines[9..], ["[operations]", "read = 1", "running = 2", ""]);
    }

    #[test]
    fn arrays_of_arrays_end_at_their_own_bracket() {
        let text =
            "[run]\nat = [\n[\"a\"],\n[\"b]\", \"[other]\"], # ]\n]\nrate = 1\n[other]\na = 1";
        assert_eq!(left(text)[6..], ["[other]", "a = 1"]);
        // What looks like a header of the section is a value of another one.
        let text = "[other]\nat = [\n[\"run\"],\n[1, 2],\n]\nb = 1\n[run]\nc = 1\n";
        assert_eq!(left(text)[2..6], ["[\"run\"],", "[1, 2],", "]", "b = 1"]);
        let text = "[run]\nat = [\n[ 1 ],\n]\nrate = 2\n";
        assert!(left(text).iter().all(String::is_empty));
    }

    #[test]
    fn strings_may_hold_what_looks_like_a_header() {
        let text = "[run]\nnote = \"\"\"\n[dataset]\nx = 1\n\"\"\"\nrate = '[x]'\n[other]\na = 1\n";
        let lines = left(text);
        assert!(lines[..6].iter().all(String::is_empty), "{lines:?}");
        let text = "[other]\nnote = '''\n[run]\nrun.x = 1\n'''\n[run]\na = 1\n";
        assert_eq!(left(text)[..5], ["[other]", "note = '''", "[run]", "run.x = 1", "'''"]);
    }

    #[test]
    fn tables_of_a_section_are_of_it_wherever_they_are() {
        let text =
            "[run.a]\nx = 1\n[other]\ny = 1\n[run]\nz = 1\n[[run.list]]\nq = 1\n[more]\nr = 1";
        let expected = ["", "", "[other]", "y = 1", "", "", "", "", "[more]", "r = 1"];
        assert_eq!(left(text), expected);
        let text = "run = { rate = \"1k\", at = [\n\"x\" ] }\n[other]\nrun = 1\nrun-of = 2";
        assert_eq!(left(text), ["", "", "[other]", "run = 1", "run-of = 2"]);
    }

    #[test]
    fn keys_are_meant_as_toml_reads_them() {
        let text = "run.rate = 1\n\"run\" . 'at' = 2\n'run'.\"\\u0061\" = 3\nother = 4\n";
        assert_eq!(left(text), ["", "", "", "other = 4", ""]);
        assert_eq!(left("[ \"run\" ]\na = 1\n[ other ]\nb = 1"), ["", "", "[ other ]", "b = 1"]);
        let text = "other.run.x = 1\nrunning.y = 2\nrun.z = 3";
        assert_eq!(left(text), ["other.run.x = 1", "running.y = 2", ""]);
    }

    #[test]
    fn comments_stay_where_they_are() {
        let text = "# [run]\n[run] # run = 1\nrate = 1 # [other]\n# a = 1\n[other]# b\nc = 1";
        let expected = ["# [run]", " # run = 1", " # [other]", "# a = 1", "[other]# b", "c = 1"];
        assert_eq!(left(text), expected);
    }

    #[test]
    fn lines_of_windows_stay_as_they_are() {
        let text = "[run]\r\nat = [\r\n  1,\r\n]\r\n\r\n[other]\r\na = 1\r\n";
        assert_eq!(cut(text, "run").0, "\r\n\r\n\r\n\r\n\r\n[other]\r\na = 1\r\n");
        assert_eq!(left(text)[5..], ["[other]\r", "a = 1\r", ""]);
    }

    #[test]
    fn other_texts_stay_as_they_are() {
        for text in ["a = 1\n", "no toml", "run = 3\n", "[[run]]\na = 1\n", "[run]\na = \n"] {
            assert_eq!(cut(text, "run"), (text.to_owned(), toml::Table::new()));
        }
        let (text, section) = cut("hallmark.lag = 0.5\n[dataset]\nrecords = 1\n", "hallmark");
        assert_eq!((text.as_str(), section.len()), ("\n[dataset]\nrecords = 1\n", 1));
    }
}

//! Form of a file: first line, columns, lengths of functions, depth of nesting.

use crate::tidy::finding::Finding;
use crate::tidy::lexer::{Lexed, Sort};
use crate::tidy::source::Source;

const COLUMNS_MAX: usize = 100;
const FUNCTION_LINES_MAX: usize = 70;
const NESTING_MAX: usize = 4;

/// Words that begin a question instead of a name.
const QUESTIONS: [&str; 5] = ["What", "Where", "When", "How", "Whether"];

/// The first line is `//!` with one sentence that names a thing.
pub fn check_headline(source: &Source) -> Vec<Finding> {
    let first = source.text.lines().next().unwrap_or("");
    let Some(sentence) = first.strip_prefix("//! ") else {
        return vec![source.finding(
            1,
            "headline",
            "begin the file with `//! ` plus one sentence that says what it is",
        )];
    };
    let prose: String = sentence.split('`').step_by(2).collect();
    let first_word = sentence.split(|c: char| !c.is_alphanumeric()).next().unwrap_or("");
    if QUESTIONS.contains(&first_word) {
        let advice = format!("name the thing that the file defines, not \"{first_word} …\"");
        return vec![source.finding(1, "headline", advice)];
    }
    // A full stop before a small letter belongs to an abbreviation, as in "et al. with".
    let is_end = |rest: &str| rest.starts_with(|c: char| !c.is_lowercase());
    if !sentence.ends_with('.') || prose.split(". ").skip(1).any(is_end) {
        let advice = "fit one sentence that ends in a full stop into the first line";
        return vec![source.finding(1, "headline", advice)];
    }
    Vec::new()
}

/// Lines have at most 100 columns, unless they are a table or a comment with an address.
pub fn check_columns(source: &Source) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (index, line) in source.text.lines().enumerate() {
        let columns = line.chars().count();
        let is_address = line.trim_start().starts_with("//") && line.contains("://");
        if columns > COLUMNS_MAX && !is_address && !source.is_exempt("columns", index + 1) {
            let advice = format!("break the line, it has {columns} columns of {COLUMNS_MAX}");
            findings.push(source.finding(index + 1, "columns", advice));
        }
    }
    findings
}

/// Functions fit a screen, in length as in depth.
pub fn check_functions(source: &Source) -> Vec<Finding> {
    let mut findings = Vec::new();
    for function in functions(&source.lexed) {
        let Function { name, line, lines, depth } = function;
        if lines > FUNCTION_LINES_MAX && !source.is_exempt("length", line) {
            let advice = format!("split `{name}`: {lines} lines of {FUNCTION_LINES_MAX}");
            findings.push(source.finding(line, "length", advice));
        }
        if depth > NESTING_MAX && !source.is_exempt("nesting", line) {
            let advice = format!("flatten `{name}`: {depth} levels of {NESTING_MAX}");
            findings.push(source.finding(line, "nesting", advice));
        }
    }
    findings
}

struct Function {
    name: String,
    line: usize,
    lines: usize,
    depth: usize,
}

fn functions(lexed: &Lexed) -> Vec<Function> {
    let mut found = Vec::new();
    for (at, token) in lexed.tokens.iter().enumerate() {
        let Some(name) = lexed.tokens.get(at + 1) else { continue };
        if !token.is("fn") || name.sort != Sort::Name {
            continue;
        }
        let Some(open) = body(lexed, at + 2) else { continue };
        let close = lexed.closing(open);
        found.push(Function {
            name: name.text.clone(),
            line: token.line,
            lines: lexed.tokens[close].line + 1 - token.line,
            depth: depth(lexed, open, close),
        });
    }
    found
}

/// The `{` of a function whose signature goes on at `at`, or `None` if it has no body.
fn body(lexed: &Lexed, mut at: usize) -> Option<usize> {
    loop {
        let token = lexed.tokens.get(at)?;
        if token.is("{") {
            return Some(at);
        }
        if token.is(";") {
            return None;
        }
        let opens = token.is("(") || token.is("[");
        at = if opens { lexed.closing(at) + 1 } else { at + 1 };
    }
}

/// The deepest nesting of branches, loops, matches or closures with a body.
///
/// Struct literals, plain blocks, the arms of a match add nothing: a reader need not remember a
/// condition to understand what is inside. An `else if` is as deep as its `if`.
fn depth(lexed: &Lexed, open: usize, close: usize) -> usize {
    let mut blocks: Vec<Option<bool>> = Vec::new();
    let mut pending = false;
    let mut deepest = 0;
    for at in open + 1..close {
        let token = &lexed.tokens[at];
        let starts = ["if", "match", "for", "while", "loop", "else"].iter().any(|w| token.is(w));
        if starts && !lexed.matches(at + 1, &["<"]) && token.sort == Sort::Name {
            pending = true;
        } else if token.is("fn") || token.is("impl") {
            pending = false;
        } else if token.is("=") && lexed.matches(at + 1, &[">"]) {
            // A guard `if` of a match arm opens no block of its own.
            pending = false;
        } else if token.is("{") {
            let counts = pending || lexed.tokens[at - 1].is("|");
            pending = false;
            blocks.push(Some(counts));
            deepest = deepest.max(blocks.iter().filter(|block| **block == Some(true)).count());
        } else if token.is("(") || token.is("[") {
            blocks.push(None);
        } else if token.is("}") || token.is(")") || token.is("]") {
            blocks.pop();
        }
    }
    deepest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(text: &str) -> Source {
        Source::new("crates/run/src/a.rs", text)
    }

    #[test]
    fn a_first_line_is_one_sentence_that_names_a_thing() {
        let count = |text: &str| check_headline(&source(text)).len();
        assert_eq!(count("//! One operation's life.\n"), 0);
        assert_eq!(count("//! The word `and` in code is no conjunction.\n"), 0);
        assert_eq!(count("//! Reader of files and sockets.\n"), 0);
        assert_eq!(count("//! What a reader does.\n"), 1);
        assert_eq!(count("//! Whether a file can be read.\n"), 1);
        assert_eq!(count("//! No full stop\n"), 1);
        assert_eq!(count("//! Two. Sentences.\n"), 1);
        assert_eq!(count("//! The generator of Gray et al. with a constant.\n"), 0);
        assert_eq!(count("use std::fmt;\n"), 1);
        assert_eq!(count(""), 1);
    }

    #[test]
    fn long_lines_are_found_outside_tables() {
        let long = "x".repeat(101);
        let count = |text: &str| check_columns(&source(text)).len();
        assert_eq!(count(&format!("const A: &str = \"{}\";\n", "x".repeat(20))), 0);
        assert_eq!(count(&format!("{long}\n")), 1);
        let table = format!("// tidy: table: the published test vectors\nconst A: {long} = [];\n");
        assert_eq!(count(&table), 0);
        assert_eq!(count(&format!("/// See <https://example.org/{long}>.\n")), 0);
    }

    #[test]
    fn columns_are_characters_rather_than_bytes() {
        assert_eq!(check_columns(&source(&"µ".repeat(100))).len(), 0);
    }

    #[test]
    fn long_functions_are_found_unless_they_say_why() {
        let long = format!("fn a() {{\n{}}}\n", "    b();\n".repeat(70));
        assert_eq!(check_functions(&source(&long)).len(), 1);
        let fits = format!("fn a() {{\n{}}}\n", "    b();\n".repeat(68));
        assert_eq!(check_functions(&source(&fits)).len(), 0);
        let exempt = format!("// tidy: allow length: one row per error\n{long}");
        assert_eq!(check_functions(&source(&exempt)).len(), 0);
    }

    fn depth_of(text: &str) -> usize {
        functions(&lexed(text))[0].depth
    }

    fn lexed(text: &str) -> Lexed {
        crate::tidy::lexer::lex(text)
    }

    #[test]
    fn depth_counts_what_a_reader_must_remember() {
        assert_eq!(depth_of("fn a() { S { x: T { y: 1 } } }"), 0);
        assert_eq!(depth_of("fn a() { if x { b() } else if y { c() } else { d() } }"), 1);
        assert_eq!(depth_of("fn a() { match x { A => { b() } C if d => { e() } } }"), 1);
        assert_eq!(depth_of("fn a() { for x in y { while z { loop { if q { } } } } }"), 4);
        assert_eq!(depth_of("fn a() { f(|x| { if x { y() } }) }"), 2);
        assert_eq!(depth_of("fn a() { let f: Box<dyn for<'a> Fn(&'a u8)> = S { }; }"), 0);
    }

    #[test]
    fn five_levels_are_too_deep() {
        let text = "fn a() { if a { if b { if c { if d { if e { } } } } } }";
        assert_eq!(check_functions(&source(text)).len(), 1);
        let text = "fn a() { if a { if b { if c { if d { } } } } }";
        assert_eq!(check_functions(&source(text)).len(), 0);
    }

    #[test]
    fn declarations_without_a_body_are_no_functions() {
        assert_eq!(functions(&lexed("trait T { fn a(); fn b(x: [u8; 4]) -> u8; }")).len(), 0);
    }
}

//! Names that say nothing are found where they are declared.

use crate::tidy::finding::Finding;
use crate::tidy::lexer::{Lexed, Sort};
use crate::tidy::prose::Page;
use crate::tidy::source::Source;

/// Ordinary nouns such as `manager` or `data` are names where they fit; these are not.
const BANNED: [&str; 4] = ["helper", "util", "misc", "impl"];

/// Declared names have no banned word in them; names of others may be used as they are.
pub fn check_words(source: &Source) -> Vec<Finding> {
    let mut findings = Vec::new();
    let stem = source.path.rsplit('/').next().unwrap_or("").trim_end_matches(".rs");
    let mut declared = vec![(stem.to_owned(), 1)];
    declared.extend(declarations(&source.lexed));
    for (name, line) in declared {
        let Some(word) = banned_word(&name) else { continue };
        let is_sentence = source.is_test(line) && name.matches('_').count() > 2;
        if !is_sentence && !source.is_exempt("words", line) {
            let advice = format!("name `{name}` for what it is: \"{word}\" says nothing");
            findings.push(source.finding(line, "words", advice));
        }
    }
    findings
}

/// Words with a standard term: texts for users have the term.
const TERMS: [(&str, &str); 19] = [
    ("lane", "worker, or thread"),
    ("lanes", "workers, or threads"),
    ("patience", "timeout"),
    ("told time", "simulated time"),
    ("sick store", "simulated store"),
    ("illness", "fault"),
    ("illnesses", "faults"),
    ("victim", "faulty store"),
    ("victims", "faulty stores"),
    ("deed", "action"),
    ("deeds", "actions"),
    ("errand", "job, or query execution"),
    ("gallery", "built-in workloads"),
    ("bundle", "run directory"),
    ("bundles", "run directories"),
    ("makes no sense", "invalid"),
    ("asks nothing", "the rate must be above 0"),
    ("nobody answers there", "connection refused"),
    ("everything asked", "all operations"),
];

/// Strings of several words use the standard term.
pub fn check_strings(source: &Source) -> Vec<Finding> {
    let mut findings = Vec::new();
    let literals = source.lexed.tokens.iter().filter(|token| token.sort == Sort::Literal);
    for token in literals.filter(|token| token.text.contains(' ')) {
        let line = token.line;
        if source.is_test(line) || source.is_exempt("words", line) || source.room() == "xtask" {
            continue;
        }
        findings.extend(terms(&token.text).map(|advice| source.finding(line, "terms", advice)));
    }
    findings
}

/// Pages that name former words, to give the new ones.
const FORMER: [&str; 2] = ["CHANGELOG.md", "GLOSSARY.md"];

/// Pages use the standard term, except in code spans.
pub fn check_pages(pages: &[Page]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for page in pages.iter().filter(|page| !FORMER.contains(&page.path.as_str())) {
        for (index, line) in page.text.lines().enumerate() {
            let prose = line.split('`').step_by(2).collect::<Vec<_>>().join("`");
            findings.extend(terms(&prose).map(|advice| page.finding(index + 1, "terms", advice)));
        }
    }
    findings
}

/// What to say instead of each word that has a standard term; `a-lane`, `lane=` are names.
fn terms(text: &str) -> impl Iterator<Item = String> {
    let text = text.to_lowercase();
    let is_name = |c: char| c.is_alphanumeric() || "-_=/".contains(c);
    let is_said = move |word: &str| {
        text.match_indices(word).any(|(at, _)| {
            !text[..at].ends_with(is_name) && !text[at + word.len()..].starts_with(is_name)
        })
    };
    let said = TERMS.iter().filter(move |(word, _)| is_said(word));
    said.map(|(word, term)| format!("say \"{term}\" instead of \"{word}\""))
}

fn banned_word(name: &str) -> Option<&'static str> {
    let singular = |text: &str| text.strip_suffix('s').unwrap_or(text).to_owned();
    let words = split_words(name);
    let is_banned =
        |banned: &&str| words.iter().any(|word| word == banned || singular(word) == **banned);
    BANNED.into_iter().find(|banned| is_banned(banned))
}

/// The words of a `snake_case` or `CamelCase` name, in small letters.
fn split_words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut previous = '_';
    for c in name.chars() {
        if c == '_' || c.is_uppercase() && !previous.is_uppercase() {
            words.push(String::new());
        }
        if c != '_' {
            words.last_mut().expect("there is always a word").extend(c.to_lowercase());
        }
        previous = c;
    }
    words.retain(|word| !word.is_empty());
    words
}

fn declarations(lexed: &Lexed) -> Vec<(String, usize)> {
    let mut names = Vec::new();
    for (at, token) in lexed.tokens.iter().enumerate() {
        if token.sort != Sort::Name {
            continue;
        }
        let next_name = |from: usize| {
            let skip = usize::from(lexed.matches(from, &["mut"]));
            lexed.tokens.get(from + skip).filter(|token| token.sort == Sort::Name)
        };
        match token.text.as_str() {
            "struct" | "enum" | "union" | "trait" | "type" | "mod" | "static" | "const" | "let"
            | "fn" => {
                names.extend(next_name(at + 1).map(|token| (token.text.clone(), token.line)));
            }
            _ => continue,
        }
        match token.text.as_str() {
            "struct" | "union" | "fn" => members(lexed, at + 2, Members::Fields, &mut names),
            "enum" => members(lexed, at + 2, Members::Variants, &mut names),
            _ => {}
        }
    }
    names
}

#[derive(Clone, Copy)]
enum Members {
    Fields,
    Variants,
}

/// Adds the fields, parameters or variants of the first bracketed group after `at`.
fn members(lexed: &Lexed, at: usize, what: Members, names: &mut Vec<(String, usize)>) {
    let Some(open) = (at..lexed.tokens.len()).find(|&i| {
        let token = &lexed.tokens[i];
        token.is("{") || token.is("(") || token.is(";")
    }) else {
        return;
    };
    if lexed.tokens[open].is(";") {
        return;
    }
    let close = lexed.closing(open);
    let mut at = open + 1;
    while at < close {
        let token = &lexed.tokens[at];
        let before = &lexed.tokens[at - 1];
        if token.is("#") {
            at = lexed.closing(at + 1) + 1;
            continue;
        }
        let is_field = lexed.matches(at + 1, &[":"]) && !lexed.matches(at + 2, &[":"]);
        let is_path = before.is(":") && at >= 2 && lexed.tokens[at - 2].is(":");
        let is_variant = before.is(",") || at == open + 1 || before.is("]");
        let expected = match what {
            Members::Fields => is_field && !is_path,
            Members::Variants => is_variant || is_field && !is_path,
        };
        if token.sort == Sort::Name && expected {
            names.push((token.text.clone(), token.line));
        }
        at += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<usize> {
        let source = Source::new("crates/run/src/worker.rs", text);
        check_words(&source).iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn names_split_into_words() {
        assert_eq!(split_words("LatencyAnalyzer"), ["latency", "analyzer"]);
        assert_eq!(split_words("lag_ns_max"), ["lag", "ns", "max"]);
        assert_eq!(split_words("UTIL_2"), ["util", "2"]);
    }

    #[test]
    fn empty_names_are_found_where_they_are_declared() {
        assert_eq!(found("struct LaneHelper;"), [1]);
        assert_eq!(found("fn f(\n    util: &[u8],\n) {}"), [2]);
        assert_eq!(found("struct S {\n    pub misc: u8,\n}"), [2]);
        assert_eq!(found("enum E {\n    A,\n    #[x]\n    MiscCase { helpers: u8 },\n}"), [4, 4]);
        assert_eq!(found("fn f() {\n    let mut helper = 1;\n}"), [2]);
        assert_eq!(found("mod utils;"), [1]);
    }

    #[test]
    fn names_of_others_may_be_used() {
        assert_eq!(found("use futures::util::FutureExt;"), [0; 0]);
        assert_eq!(found("fn f() { x.helper().misc(); }"), [0; 0]);
        assert_eq!(found("impl Worker { fn f(utility: u8) {} }"), [0; 0]);
    }

    #[test]
    fn ordinary_nouns_are_names() {
        assert_eq!(found("struct ConnectionManager { data: u8 } mod common;"), [0; 0]);
        assert_eq!(found("fn f(info: u8, base: u8) {}"), [0; 0]);
    }

    #[test]
    fn a_test_is_a_sentence_in_which_any_word_may_stand() {
        assert_eq!(found("#[test]\nfn old_data_are_read_for_ever() {}"), [0; 0]);
        assert_eq!(found("#[test]\nfn helper() {}"), [2]);
    }

    #[test]
    fn strings_say_the_standard_term() {
        let found = |text: &str| check_strings(&Source::new("crates/run/src/a.rs", text)).len();
        assert_eq!(found("const A: &str = \"one lane for each core\";"), 1);
        assert_eq!(found("const A: &str = \"that makes no sense\";"), 1);
        assert_eq!(
            found("const A: [&str; 2] = [\"lanes\", \"a ca-bundle, a planet, lane=1\"];"),
            0
        );
        assert_eq!(found("#[test]\nfn f() { g(\"one lane for each core\"); }"), 0);
        let reason = "// tidy: allow words: the flag of older versions\n";
        assert_eq!(found(&format!("{reason}const A: &str = \"one lane\";")), 0);
    }

    #[test]
    fn pages_say_the_standard_term() {
        let found = |path: &str| {
            let text = "The told time of `lane` one.\nA victim.\n".to_owned();
            check_pages(&[Page { path: path.to_owned(), text }]).len()
        };
        assert_eq!(found("docs/load.md"), 2);
        assert_eq!(found("CHANGELOG.md"), 0);
        assert_eq!(found("GLOSSARY.md"), 0);
    }

    #[test]
    fn files_have_names_too() {
        let source = Source::new("crates/run/src/helpers.rs", "");
        assert_eq!(check_words(&source).len(), 1);
    }
}

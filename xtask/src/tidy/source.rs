//! One Rust file with what the rules need to know about its place in the house.

use std::ops::RangeInclusive;

use crate::tidy::finding::Finding;
use crate::tidy::lexer::{Lexed, lex};

/// What a file is for, by where it lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Code that ships.
    Product,
    /// A crate's `tests` folder, or a file of tests beside the code.
    Test,
    /// `benches` or `examples`.
    Demonstration,
    /// `build.rs`.
    Build,
}

/// A Rust file.
pub struct Source {
    /// Its path from the root, with forward slashes.
    pub path: String,
    /// Its text.
    pub text: String,
    /// Its tokens.
    pub lexed: Lexed,
    /// What it is for.
    pub purpose: Purpose,
    test_lines: Vec<RangeInclusive<usize>>,
    exempt: Vec<Exemption>,
}

struct Exemption {
    rule: String,
    lines: RangeInclusive<usize>,
}

/// The rules that a comment may switch off for one item.
pub const EXEMPTIBLE: [&str; 7] =
    ["columns", "length", "nesting", "words", "globals", "text", "sockets"];

impl Source {
    /// Takes a file apart.
    pub fn new(path: &str, text: &str) -> Source {
        let lexed = lex(text);
        let test_lines = test_lines(&lexed);
        let exempt = exemptions(&lexed);
        Source {
            path: path.to_owned(),
            text: text.to_owned(),
            purpose: purpose(path),
            lexed,
            test_lines,
            exempt,
        }
    }

    /// The crate's folder name, for example `run`, or `xtask`.
    pub fn room(&self) -> &str {
        room(&self.path)
    }

    /// Whether `line` is compiled for tests only.
    pub fn is_test(&self, line: usize) -> bool {
        self.purpose == Purpose::Test || self.test_lines.iter().any(|lines| lines.contains(&line))
    }

    /// Whether a comment with a reason switches `rule` off at `line`.
    pub fn is_exempt(&self, rule: &str, line: usize) -> bool {
        self.exempt.iter().any(|exempt| {
            let covers_rule = exempt.rule == rule
                || exempt.rule == "table" && ["columns", "length", "nesting"].contains(&rule);
            covers_rule && exempt.lines.contains(&line)
        })
    }

    /// A finding in this file.
    pub fn finding(&self, line: usize, rule: &'static str, advice: impl Into<String>) -> Finding {
        Finding { path: self.path.clone(), line, rule, advice: advice.into() }
    }
}

/// The folder name of the crate that `path` is in; all drivers are one room, `drivers`.
pub fn room(path: &str) -> &str {
    let mut parts = path.split('/');
    match parts.next() {
        Some("crates") => parts.next().unwrap_or(""),
        Some(first) => first,
        None => "",
    }
}

/// The path that `path`, written in a file of `folder`, leads to.
pub fn resolve(folder: &str, path: &str) -> String {
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in path.split('/') {
        match part {
            ".." => drop(parts.pop()),
            "." | "" => {}
            _ => parts.push(part),
        }
    }
    parts.join("/")
}

/// Exemptions that do not say why, or name a rule that has none.
pub fn check_exemptions(source: &Source) -> Vec<Finding> {
    let mut findings = Vec::new();
    for comment in &source.lexed.comments {
        let Some(text) = comment.text.strip_prefix("tidy:") else { continue };
        let advice = match parse_exemption(text) {
            Ok(_) => continue,
            Err(advice) => advice,
        };
        findings.push(source.finding(comment.line, "exemption", advice));
    }
    findings
}

fn parse_exemption(text: &str) -> Result<&str, &'static str> {
    let (what, reason) = text.trim().split_once(':').unwrap_or((text.trim(), ""));
    let rule = what.strip_prefix("allow ").unwrap_or(what).trim();
    let known = rule == "table" || what.starts_with("allow ") && EXEMPTIBLE.contains(&rule);
    if !known {
        return Err("write `tidy: table: reason` or `tidy: allow RULE: reason`");
    }
    if reason.split_whitespace().count() < 3 {
        return Err("say in at least three words why the rule does not fit here");
    }
    Ok(rule)
}

/// An exemption covers its own line up to the end of the next bracketed block.
fn exemptions(lexed: &Lexed) -> Vec<Exemption> {
    let mut exempt = Vec::new();
    for comment in &lexed.comments {
        let Some(text) = comment.text.strip_prefix("tidy:") else { continue };
        let Ok(rule) = parse_exemption(text) else { continue };
        let rule = rule.to_owned();
        exempt.push(Exemption { rule, lines: comment.line..=item_end(lexed, comment.line) });
    }
    exempt
}

/// The last line of the item after `line`: its `;`, or the end of its block.
fn item_end(lexed: &Lexed, line: usize) -> usize {
    let mut at = lexed.tokens.partition_point(|token| token.line <= line);
    while let Some(token) = lexed.tokens.get(at) {
        if token.is(";") {
            return token.line;
        }
        if token.is("#") {
            at = lexed.closing(at + 1) + 1;
            continue;
        }
        if token.is("{") || token.is("(") || token.is("[") {
            let close = lexed.closing(at);
            if token.is("{") {
                return lexed.tokens[close].line;
            }
            at = close;
        }
        at += 1;
    }
    lexed.tokens.last().map_or(line, |token| token.line)
}

fn purpose(path: &str) -> Purpose {
    let parts: Vec<&str> = path.split('/').collect();
    let name = parts.last().copied().unwrap_or("");
    if parts.contains(&"tests") || name == "tests.rs" {
        Purpose::Test
    } else if parts.contains(&"benches") || parts.contains(&"examples") {
        Purpose::Demonstration
    } else if name == "build.rs" && !parts.contains(&"src") {
        Purpose::Build
    } else {
        Purpose::Product
    }
}

fn test_lines(lexed: &Lexed) -> Vec<RangeInclusive<usize>> {
    let mut ranges = Vec::new();
    for (at, token) in lexed.tokens.iter().enumerate() {
        let is_attribute = lexed.matches(at, &["#", "["]);
        if !is_attribute {
            continue;
        }
        let close = lexed.closing(at + 1);
        let words: Vec<&str> =
            lexed.tokens[at + 2..close].iter().map(|token| token.text.as_str()).collect();
        let for_tests = match words.as_slice() {
            ["test"] => true,
            ["cfg", "(", rest @ ..] => rest.contains(&"test") && !rest.contains(&"not"),
            _ => false,
        };
        if for_tests {
            ranges.push(token.line..=item_end(lexed, lexed.tokens[close].line));
        }
    }
    ranges
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_module_is_reported_from_the_code_around_it() {
        let source = Source::new(
            "crates/run/src/a.rs",
            "fn a() {\n}\n#[cfg(test)]\nmod tests {\n    fn b() {}\n}\nfn c() {}\n",
        );
        let tests: Vec<usize> = (1..=7).filter(|&line| source.is_test(line)).collect();
        assert_eq!(tests, [3, 4, 5, 6]);
        assert_eq!(source.room(), "run");
    }

    #[test]
    fn code_for_everything_but_tests_is_no_test() {
        let source = Source::new("crates/run/src/a.rs", "#[cfg(not(test))]\nfn a() {\n}\n");
        assert!(!source.is_test(2));
    }

    #[test]
    fn an_exemption_covers_the_next_item_only() {
        let text = "// tidy: allow length: one arm per error\n#[x]\nfn a(b: u8) {\n}\nfn c() {}\n";
        let source = Source::new("crates/run/src/a.rs", text);
        let covered: Vec<usize> = (1..=5).filter(|&n| source.is_exempt("length", n)).collect();
        assert_eq!(covered, [1, 2, 3, 4]);
        assert!(!source.is_exempt("nesting", 3));
    }

    #[test]
    fn an_exemption_needs_a_known_rule_with_a_reason() {
        let check = |comment: &str| {
            let source = Source::new("crates/run/src/a.rs", &format!("// {comment}\n"));
            check_exemptions(&source).len()
        };
        assert_eq!(check("tidy: table: bytes of the published vectors"), 0);
        assert_eq!(check("tidy: allow words: name of the protocol's own field"), 0);
        assert_eq!(check("tidy: table"), 1);
        assert_eq!(check("tidy: allow length: long"), 1);
        assert_eq!(check("tidy: allow clock: it is only once here"), 1);
    }

    #[test]
    fn the_directory_tells_the_purpose_of_a_file() {
        assert_eq!(purpose("crates/run/src/clock.rs"), Purpose::Product);
        assert_eq!(purpose("crates/run/src/clock/tests.rs"), Purpose::Test);
        assert_eq!(purpose("crates/run/benches/lag.rs"), Purpose::Demonstration);
        assert_eq!(purpose("crates/run/build.rs"), Purpose::Build);
    }
}

//! The documents agree with the tree: crates named, decisions listed, links alive, terms used.

use std::collections::BTreeSet;

use crate::tidy::finding::Finding;
use crate::tidy::source::{Source, resolve};

const ARCHITECTURE_LINES_MAX: usize = 250;

/// A Markdown file.
pub struct Page {
    /// Its path from the root.
    pub path: String,
    /// Its text.
    pub text: String,
}

impl Page {
    /// A finding in this file.
    pub fn finding(&self, line: usize, rule: &'static str, advice: String) -> Finding {
        Finding { path: self.path.clone(), line, rule, advice }
    }
}

/// Everything the document rules look at.
pub struct Library<'a> {
    /// The Markdown files.
    pub pages: &'a [Page],
    /// The Rust files.
    pub sources: &'a [Source],
    /// The names of the crates' folders.
    pub crates: &'a [String],
    /// All files of the tree, from the root.
    pub files: &'a BTreeSet<String>,
}

/// All document rules; a rule whose page is missing finds that alone.
pub fn check_prose(library: &Library<'_>) -> Vec<Finding> {
    let checks = [check_architecture, check_decisions, check_links, check_mentions, check_glossary];
    checks.iter().flat_map(|check| check(library).unwrap_or_else(|missing| vec![missing])).collect()
}

fn page<'a>(library: &'a Library<'_>, path: &str) -> Result<&'a Page, Finding> {
    library.pages.iter().find(|page| page.path == path).ok_or_else(|| {
        let missing = Page { path: path.to_owned(), text: String::new() };
        missing.finding(1, "missing-page", "write this page".to_owned())
    })
}

fn check_architecture(library: &Library<'_>) -> Result<Vec<Finding>, Finding> {
    let page = page(library, "ARCHITECTURE.md")?;
    let mut findings = Vec::new();
    for name in library.crates {
        if !page.text.contains(&format!("`{name}`")) {
            let advice = format!("put the crate `{name}` on the map");
            findings.push(page.finding(1, "architecture", advice));
        }
    }
    let lines = page.text.lines().count();
    if lines > ARCHITECTURE_LINES_MAX {
        let advice = format!("shorten it: {lines} lines of {ARCHITECTURE_LINES_MAX}");
        findings.push(page.finding(lines, "architecture", advice));
    }
    Ok(findings)
}

fn check_decisions(library: &Library<'_>) -> Result<Vec<Finding>, Finding> {
    let index = page(library, "docs/decisions/README.md")?;
    let mut findings = Vec::new();
    let mut numbers = BTreeSet::new();
    for page in library.pages {
        let Some(name) = page.path.strip_prefix("docs/decisions/") else { continue };
        let number = name.split('-').next().unwrap_or("");
        if !number.chars().all(|c| c.is_ascii_digit()) || number.len() != 4 {
            continue;
        }
        if !index.text.contains(&format!("({name})")) {
            let advice = "list it in docs/decisions/README.md".to_owned();
            findings.push(page.finding(1, "decisions", advice));
        }
        if !numbers.insert(number) {
            let advice = format!("give it a number of its own, {number} is taken");
            findings.push(page.finding(1, "decisions", advice));
        }
    }
    Ok(findings)
}

fn check_links(library: &Library<'_>) -> Result<Vec<Finding>, Finding> {
    let mut findings = Vec::new();
    for page in library.pages {
        let folder = page.path.rsplit_once('/').map_or("", |(folder, _)| folder);
        for (line, target) in links(&page.text) {
            let path = target.split(['#', '?']).next().unwrap_or("");
            let is_elsewhere = target.contains("://") || target.starts_with("mailto:");
            if path.is_empty() || is_elsewhere || exists(library.files, &resolve(folder, path)) {
                continue;
            }
            let advice = format!("point the link somewhere: `{target}` is not there");
            findings.push(page.finding(line, "links", advice));
        }
    }
    Ok(findings)
}

/// The targets of `[text](target)` outside code, with their lines.
fn links(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut in_code = false;
    for (index, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            in_code = !in_code;
        }
        let prose: String = line.split('`').step_by(2).collect::<Vec<_>>().join("`");
        for part in prose.split("](").skip(1).filter(|_| !in_code) {
            let target = part.split([')', ' ']).next().unwrap_or("");
            found.push((index + 1, target.to_owned()));
        }
    }
    found
}

/// Comments in code that name a document name one that exists.
fn check_mentions(library: &Library<'_>) -> Result<Vec<Finding>, Finding> {
    let mut findings = Vec::new();
    for source in library.sources {
        for comment in &source.lexed.comments {
            for mention in mentions(&comment.text) {
                let found = library.files.iter().any(|file| file.starts_with(mention));
                if !found && source.room() != "xtask" {
                    let advice = format!("name a document that exists: `{mention}` does not");
                    findings.push(source.finding(comment.line, "links", advice));
                }
            }
        }
    }
    Ok(findings)
}

fn mentions(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !(c.is_alphanumeric() || "/._-".contains(c)))
        .filter(|word| word.starts_with("docs/"))
        .map(|word| word.trim_end_matches(['.', '/']))
}

/// A glossary holds the words that are used: each term occurs outside it.
fn check_glossary(library: &Library<'_>) -> Result<Vec<Finding>, Finding> {
    let glossary = page(library, "GLOSSARY.md")?;
    let pages = library.pages.iter().filter(|page| page.path != glossary.path);
    let everywhere: Vec<String> = pages
        .map(|page| page.text.to_lowercase())
        .chain(library.sources.iter().map(|source| source.text.to_lowercase()))
        .collect();
    let mut findings = Vec::new();
    for (line, term) in terms(&glossary.text) {
        let spellings = [term.clone(), term.replace([' ', '-'], "_"), term.replace(' ', "")];
        let used = everywhere.iter().any(|text| spellings.iter().any(|word| text.contains(word)));
        if !used {
            let advice = format!("use the term \"{term}\" or take it out");
            findings.push(glossary.finding(line, "glossary", advice));
        }
    }
    Ok(findings)
}

/// The terms that a glossary defines: what is bold at the beginning of an entry.
fn terms(text: &str) -> Vec<(usize, String)> {
    let entry = |line: &str| {
        let rest = line.trim_start_matches(['-', '|', ' ']).strip_prefix("**")?;
        Some(rest.split("**").next()?.to_lowercase())
    };
    text.lines().enumerate().filter_map(|(at, line)| Some((at + 1, entry(line)?))).collect()
}

fn exists(files: &BTreeSet<String>, path: &str) -> bool {
    let folder = format!("{path}/");
    files.contains(path) || files.iter().any(|file| file.starts_with(&folder))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The rules broken by these pages in a tree with the crate `run`.
    fn rules(pages: &[(&str, &str)], code: &str) -> Vec<String> {
        let pages: Vec<Page> = pages
            .iter()
            .map(|(path, text)| Page { path: (*path).to_owned(), text: (*text).to_owned() })
            .collect();
        let files = pages.iter().map(|page| page.path.clone()).collect();
        let sources = [Source::new("crates/run/src/worker.rs", code)];
        let crates = ["run".to_owned()];
        let library = Library { pages: &pages, sources: &sources, crates: &crates, files: &files };
        check_prose(&library).iter().map(|f| format!("{} {}", f.path, f.rule)).collect()
    }

    const MAP: (&str, &str) = ("ARCHITECTURE.md", "`run` issues");
    const INDEX: (&str, &str) = ("docs/decisions/README.md", "[a](0001-a.md)");
    const WORDS: (&str, &str) = ("GLOSSARY.md", "- **in flight**: issued, not answered");
    const DECISION: (&str, &str) = ("docs/decisions/0001-a.md", "why");

    #[test]
    fn a_tree_without_findings_passes() {
        let code = "// see docs/decisions/0001\nlet in_flight = 1;";
        assert_eq!(rules(&[MAP, INDEX, WORDS, DECISION], code), Vec::<String>::new());
    }

    #[test]
    fn a_crate_that_is_not_on_the_map_is_found() {
        let pages = [("ARCHITECTURE.md", "nothing"), INDEX, WORDS, DECISION];
        assert_eq!(rules(&pages, "in flight"), ["ARCHITECTURE.md architecture"]);
    }

    #[test]
    fn a_map_longer_than_ten_screens_is_found() {
        let long = format!("`run`\n{}", "x\n".repeat(250));
        let pages = [("ARCHITECTURE.md", long.as_str()), INDEX, WORDS, DECISION];
        assert_eq!(rules(&pages, "in flight"), ["ARCHITECTURE.md architecture"]);
    }

    #[test]
    fn an_unlisted_decision_is_found() {
        let other = ("docs/decisions/0002-b.md", "why");
        let found = rules(&[MAP, INDEX, WORDS, DECISION, other], "in flight");
        assert_eq!(found, ["docs/decisions/0002-b.md decisions"]);
    }

    #[test]
    fn two_decisions_of_one_number_are_found() {
        let other = ("docs/decisions/0001-b.md", "why");
        let index = ("docs/decisions/README.md", "[a](0001-a.md) [b](0001-b.md)");
        let found = rules(&[MAP, index, WORDS, DECISION, other], "in flight");
        assert_eq!(found, ["docs/decisions/0001-b.md decisions"]);
    }

    #[test]
    fn a_dead_link_is_found_outside_code() {
        let page = ("README.md", "[a](docs/a.md) `[b](b.md)` [c](https://example.org) [d](#d)");
        let found = rules(&[MAP, INDEX, WORDS, DECISION, page], "in flight");
        assert_eq!(found, ["README.md links"]);
    }

    #[test]
    fn a_document_named_in_a_comment_exists() {
        let found = rules(&[MAP, INDEX, WORDS, DECISION], "// docs/nothing.md\n// in flight");
        assert_eq!(found, ["crates/run/src/worker.rs links"]);
    }

    #[test]
    fn a_term_that_nobody_uses_is_found() {
        assert_eq!(rules(&[MAP, INDEX, WORDS, DECISION], ""), ["GLOSSARY.md glossary"]);
    }

    #[test]
    fn missing_pages_are_findings() {
        let found = rules(&[MAP, WORDS], "in flight");
        assert_eq!(found, ["docs/decisions/README.md missing-page"]);
    }
}

//! Settings that are strings where a declared field could be.

use crate::tidy::finding::Finding;
use crate::tidy::lexer::Sort;
use crate::tidy::source::{Purpose, Source};

/// Look-ups of a setting by its name.
const LOOK_UPS: [&str; 9] =
    ["text", "note", "choose", "choice", "count", "number", "millis", "switch", "get_flag"];

const MAP: [&str; 6] = ["BTreeMap", "<", "String", ",", "String", ">"];

/// Look-ups by a literal name as the first argument, fields that map strings to strings.
pub fn check_settings(source: &Source) -> Vec<Finding> {
    let lexed = &source.lexed;
    let mut findings = Vec::new();
    let is_product = source.purpose == Purpose::Product && source.room() != "xtask";
    for (at, token) in lexed.tokens.iter().enumerate() {
        if !is_product || source.is_test(token.line) {
            continue;
        }
        let is_call = token.is(".") && lexed.matches(at + 2, &["("]);
        let name = lexed.tokens.get(at + 3).filter(|name| name.sort == Sort::Literal);
        if let Some(name) = name.filter(|name| is_call && name.text.starts_with('"')) {
            let call = &lexed.tokens[at + 1].text;
            if LOOK_UPS.contains(&call.as_str()) {
                let advice = format!("declare a field for {} instead of `.{call}(…)`", name.text);
                findings.push(source.finding(name.line, "settings", advice));
            }
        }
        if !token.is("struct") {
            continue;
        }
        let is_end = |i: &usize| [";", "(", "{"].iter().any(|sign| lexed.tokens[*i].is(sign));
        let open = (at..lexed.tokens.len()).find(is_end);
        let Some(open) = open.filter(|&open| lexed.tokens[open].is("{")) else { continue };
        for place in (open..lexed.closing(open)).filter(|&place| lexed.matches(place, &MAP)) {
            let advice = "declare a struct instead of a field that maps strings to strings";
            findings.push(source.finding(lexed.tokens[place].line, "settings", advice));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<usize> {
        let source = Source::new("crates/run/src/a.rs", text);
        check_settings(&source).iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn look_ups_by_name_are_found() {
        assert_eq!(lines("fn f() {\n    options.text(\"rate\");\n}"), [2]);
        assert_eq!(lines("fn f() {\n    manifest.note(\"queued\", 1);\n}"), [2]);
        assert_eq!(lines("fn f() { options.text(name); page.title(\"a\"); }"), [0; 0]);
    }

    #[test]
    fn fields_that_map_strings_to_strings_are_found() {
        assert_eq!(lines("struct S {\n    pub facts: BTreeMap<String, String>,\n}"), [2]);
        assert_eq!(lines("struct S;\nfn f(facts: BTreeMap<String, String>) {}"), [0; 0]);
        assert_eq!(lines("struct S {\n    times: BTreeMap<String, u64>,\n}"), [0; 0]);
    }
}

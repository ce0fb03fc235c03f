//! Statistics that `report` computes where it should only show.

use std::collections::BTreeSet;

use crate::tidy::finding::Finding;
use crate::tidy::source::{Purpose, Source};

/// Methods that compute.
const METHODS: [&str; 9] = [
    "percentile",
    "quantile",
    "median",
    "mean",
    "variance",
    "bootstrap",
    "fit",
    "spread",
    "analyze",
];

/// Functions of `analysis` that `report` names, methods that compute.
pub fn check_computed(sources: &[Source]) -> Vec<Finding> {
    let product = sources.iter().filter(|source| source.purpose == Purpose::Product);
    let functions: BTreeSet<&str> =
        product.clone().filter(|s| s.room() == "analysis").flat_map(functions).collect();
    let report = product.filter(|source| source.room() == "report");
    report.flat_map(|source| computed(source, &functions)).collect()
}

fn functions(source: &Source) -> impl Iterator<Item = &str> {
    let is_public = |at: usize| source.lexed.matches(at, &["pub", "fn"]);
    let tokens = &source.lexed.tokens;
    (0..tokens.len().saturating_sub(2))
        .filter(move |&at| is_public(at))
        .map(|at| &*tokens[at + 2].text)
}

fn computed(source: &Source, functions: &BTreeSet<&str>) -> Vec<Finding> {
    let lexed = &source.lexed;
    let mut found: Vec<(String, usize)> = Vec::new();
    for (at, token) in lexed.tokens.iter().enumerate() {
        if token.is("assay_analysis") && lexed.matches(at + 1, &[":", ":"]) {
            for (path, line) in lexed.leaves(at + 3, Vec::new()) {
                let is_method = path.iter().any(|part| part.starts_with(char::is_uppercase));
                let name = path.last().filter(|name| functions.contains(name.as_str()));
                found.extend(name.filter(|_| !is_method).map(|name| (name.clone(), line)));
            }
        }
        if token.is(".") && lexed.matches(at + 2, &["("]) {
            let name = &lexed.tokens[at + 1].text;
            found.extend(METHODS.contains(&name.as_str()).then(|| (name.clone(), token.line)));
        }
    }
    found.retain(|(_, line)| !source.is_test(*line));
    let finding = |(name, line): (String, usize)| {
        let advice = format!("take the result of `{name}` as an argument: `analysis` computes");
        source.finding(line, "computed", advice)
    };
    found.into_iter().map(finding).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(path: &str, text: &str) -> Vec<usize> {
        let analysis = Source::new("crates/analysis/src/sweep.rs", "pub fn knee() {}");
        let found = check_computed(&[analysis, Source::new(path, text)]);
        found.iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn functions_of_analysis_are_found_in_report_alone() {
        let text = "use assay_analysis::sweep::{\n    Sweep, knee};\n";
        assert_eq!(lines("crates/report/src/a.rs", text), [2]);
        assert_eq!(lines("crates/assay/src/a.rs", text), [0; 0]);
        let call = "fn f() {\n    assay_analysis::sweep::knee(x);\n}";
        assert_eq!(lines("crates/report/src/a.rs", call), [2]);
    }

    #[test]
    fn methods_that_compute_are_found() {
        let path = "crates/report/src/a.rs";
        assert_eq!(lines(path, "fn f() {\n    runs.median();\n}"), [2]);
        assert_eq!(lines(path, "use assay_analysis::sweep::Sweep;\nfn f() { s.name(); }"), [0; 0]);
    }
}

//! A result in Markdown, for a pull request or an issue.

use assay_analysis::Summary;

use crate::facts::Facts;
use crate::hallmark::{self, Rows};
use crate::recovery::{self, AvailabilityFacts};
use crate::units::Letters;
use crate::verdict::{self, Finding, Opening};
use crate::{agents, prose, scraped, servers, tables};

/// The result as Markdown: verdict, circumstances, tables. Texts cannot become markup.
pub fn markdown(facts: &Facts, summary: &Summary) -> String {
    let letters = Letters::Unicode;
    let mut out = format!("### {}\n\n", escape(&facts.title));
    if let Some(line) = hallmark::line(facts) {
        let reasons = match line.reasons.as_str() {
            "" => String::new(),
            reasons => format!(": {}", escape(reasons)),
        };
        out += &format!("**{}**{reasons}\n\n", line.name);
    }
    for text in hallmark::changed(facts) {
        out += &format!("**THRESHOLD CHANGED**: {}\n\n", escape(&text));
    }
    for line in verdict::opening(facts, summary, letters) {
        match line {
            Opening::Finding(Finding { name, text, .. }) => {
                let name = escape(&name.to_uppercase());
                out += &format!("**{name}**: {}\n\n", escape(&text));
            }
            Opening::Headline(text) => out += &format!("{text}\n\n"),
        }
    }
    out += &tables::throughput(summary).markdown();
    out.push('\n');
    let latency = tables::latency(facts, summary, letters);
    out += &latency.markdown();
    out.push('\n');
    for meaning in tables::legend(&latency) {
        out += &format!("{meaning}\n\n");
    }
    let transactions = tables::transactions(facts, summary, letters);
    for table in transactions.into_iter().chain(tables::queries(facts, summary, letters)) {
        out += &table.markdown();
        out.push('\n');
    }
    out += &tables::outcomes(summary).markdown();
    out.push('\n');
    if tables::has_failures(summary) {
        out += &tables::reasons(summary).markdown();
        out.push('\n');
    }
    for text in servers::effects(facts, letters) {
        out += &format!("* {}\n", escape(&text));
    }
    if !facts.effects.is_empty() {
        out.push('\n');
    }
    if let Some(availability) = &facts.availability {
        out += &recoveries(availability, letters);
    }
    let of_servers = [
        agents::table(facts, letters),
        tables::nodes(facts, summary, letters),
        servers::table(facts, summary),
        scraped::table(facts),
    ];
    for table in of_servers.into_iter().flatten() {
        out += &table.markdown();
        out.push('\n');
    }
    let checks = hallmark::checks(facts, Rows::Notable);
    if !checks.is_empty() {
        out += &checks.markdown();
        out.push('\n');
    }
    out += &details(facts, summary, letters);
    out
}

/// States, and recoveries if there were faults.
fn recoveries(facts: &AvailabilityFacts, letters: Letters) -> String {
    let mut out = format!("* states: {}\n", recovery::states(facts, letters));
    out += &format!("* baseline: {}\n", recovery::baseline(facts, letters));
    for text in recovery::what_if(facts, letters) {
        out += &format!("* what if: {}\n", escape(&text));
    }
    out.push('\n');
    let injections =
        facts.has_faults().then(|| recovery::injections(facts, recovery::Room::Wide, letters));
    let rows = recovery::consistability_table(facts).filter(|_| facts.has_faults());
    for table in injections.into_iter().chain(recovery::pooled(facts, letters)).chain(rows) {
        out += &table.markdown();
        out.push('\n');
    }
    out
}

/// What was run against what, folded away.
fn details(facts: &Facts, summary: &Summary, letters: Letters) -> String {
    let mut out = "<details><summary>Circumstances</summary>\n\n".to_owned();
    for (title, text) in prose::circumstances(facts, summary, letters) {
        out += &format!("- {title}: {}\n", escape(&text));
    }
    let untold = hallmark::untold(facts);
    if !untold.is_empty() {
        out += &format!("- unchecked: {untold}\n");
    }
    if let Some(text) = hallmark::floor(facts, letters) {
        out += &format!("- floor: {text}\n");
    }
    out += &format!("- in flight: {}\n", prose::concurrency(summary));
    for (title, text) in prose::availability(summary, letters) {
        out += &format!("- {title}: {text}\n");
    }
    if let Some(text) = prose::consistency(facts) {
        out += &format!("- consistency: {text}\n");
    }
    for text in prose::workload(facts) {
        out += &format!("- {}\n", escape(&text));
    }
    for setting in &facts.store.settings {
        out += &format!(
            "- setting {} = {}: {}\n",
            escape(&setting.name),
            escape(&setting.value),
            escape(&setting.meaning)
        );
    }
    out + &format!("- reproduce with: {}\n\n</details>\n", code(&facts.command))
}

/// Text in which nothing is markup, on one line.
pub(crate) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '#' | '~' | '!' | '@' => {
                out.push('\\');
                out.push(letter);
            }
            letter if letter.is_control() => out.push(' '),
            letter => out.push(letter),
        }
    }
    out
}

/// A code span, with a fence that is longer than any run of backticks within.
pub(crate) fn code(text: &str) -> String {
    let longest = text.split(|letter| letter != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest + 1);
    let text: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    if longest > 0 { format!("{fence} {text} {fence}") } else { format!("{fence}{text}{fence}") }
}

#[cfg(test)]
mod tests {
    use expect_test::expect_file;

    use super::*;
    use crate::sample;

    #[test]
    fn a_run_is_a_few_tables() {
        let text = markdown(&sample::facts(), &sample::summary());
        expect_file!["../snapshots/report.md.txt"].assert_eq(&text);
    }

    #[test]
    fn texts_cannot_become_markup() {
        assert_eq!(escape("<b>*x*</b>\n# @you"), "&lt;b&gt;\\*x\\*&lt;/b&gt; \\# \\@you");
        assert_eq!(code("a `b`` c"), "``` a `b`` c ```");
    }
}

//! The study as text, Markdown.

use super::{MEANING, PAPER, Precision, PrecisionRun, circumstances, findings, numbers};
use crate::terminal::{Page, Style};
use crate::units::Letters;

/// The study for a person at a terminal; its first line is the verdict.
pub fn precision_text(precision: &Precision, style: Style) -> String {
    let letters = style.letters;
    let mut page = Page::new(style);
    findings(precision, letters).iter().for_each(|finding| page.finding(finding));
    page.heading(&precision.title);
    for (title, text) in circumstances(precision, letters) {
        page.titled(title, &text);
    }
    page.heading("Scheduling latency (us) and response time, by load factor");
    page.table(&numbers(precision, letters));
    page.note(MEANING);
    let reasons = reasons(precision);
    if !reasons.is_empty() {
        page.heading("Hallmarks with a reason");
        reasons.iter().for_each(|(title, text)| page.indented(&format!("{title}: {text}")));
    }
    page.heading("The paper's own runs");
    PAPER.iter().for_each(|text| page.indented(text));
    page.heading("Reproduce with");
    page.command(&precision.command);
    page.text
}

/// What the hallmarks say, of the runs whose hallmark has a reason.
pub(crate) fn reasons(precision: &Precision) -> Vec<(String, String)> {
    let describe = |run: &PrecisionRun| {
        let reasons = run.figures.as_ref()?.reasons.clone();
        (!reasons.is_empty()).then(|| (format!("factor {}", run.factor), reasons))
    };
    precision.runs.iter().filter_map(describe).collect()
}

/// The study for a document. Texts cannot become markup.
pub fn precision_markdown(precision: &Precision) -> String {
    use crate::markdown::{code, escape};
    let letters = Letters::Unicode;
    let mut out = format!("### {}\n\n", escape(&precision.title));
    for finding in findings(precision, letters) {
        let (name, text) = (escape(&finding.name.to_uppercase()), escape(&finding.text));
        out += &format!("**{name}**: {text}\n\n");
    }
    out += &numbers(precision, letters).markdown();
    out += &format!("\n{MEANING}\n\n");
    for (title, text) in reasons(precision) {
        out += &format!("- hallmark of {title}: {}\n", escape(&text));
    }
    out += "\n<details><summary>Circumstances</summary>\n\n";
    for (title, text) in circumstances(precision, letters) {
        out += &format!("- {title}: {}\n", escape(&text));
    }
    out += &format!("- reproduce with: {}\n\n</details>\n", code(&precision.command));
    PAPER.iter().fold(out, |out, text| out + &format!("\n{text}\n"))
}

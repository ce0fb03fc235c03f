//! The study as text, Markdown, JSON.

use assay_analysis::{BOX_QUANTILES, Boxplot};
use serde_json::{Map, Value, json};

use super::{
    MEANING, PAPER, Precision, PrecisionRun, RunEnd, circumstances, findings, numbers, paper,
};
use crate::terminal::{Page, Style};
use crate::units::{Letters, percentile_name};

/// The name of the JSON form.
pub const PRECISION_SCHEMA: &str = "assay.study-benchfoundry.1";

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

/// The study as one JSON object, times in nanoseconds.
pub fn precision_json(precision: &Precision) -> String {
    let value = json!({
        "schema": PRECISION_SCHEMA,
        "assay": precision.version,
        "command": precision.command,
        "title": precision.title,
        "store": precision.url,
        "no_op": precision.is_no_op,
        "starts": precision.starts,
        "loaded": precision.loaded,
        "unit_per_s": precision.unit_per_s,
        "duration_ns": precision.duration.0,
        "seed": precision.seed,
        "machine": precision.machine,
        "dir": precision.dir,
        "findings": findings(precision, Letters::Unicode).iter().map(|finding| json!({
            "level": finding.level.name(),
            "name": finding.name,
            "text": finding.text,
        })).collect::<Vec<_>>(),
        "runs": precision.runs.iter().map(run_object).collect::<Vec<_>>(),
        "paper": PAPER,
    });
    format!("{value:#}\n")
}

fn run_object(run: &PrecisionRun) -> Value {
    let figures = run.figures.as_ref();
    let (ending, reason) = match &run.ending {
        RunEnd::Whole => ("whole", None),
        RunEnd::Interrupted => ("interrupted", None),
        RunEnd::Failed(reason) => ("failed", Some(reason)),
    };
    json!({
        "factor": run.factor,
        "planned_per_s": run.planned_per_s,
        "run_dir": run.run_dir,
        "ending": ending,
        "reason": reason,
        "scheduling_latency_ns": figures.and_then(|figures| figures.starts).map(boxplot),
        "response_ns": figures.and_then(|figures| figures.response).map(boxplot),
        "done_per_s": figures.map(|figures| figures.done_per_s),
        "failed": figures.map(|figures| figures.failed),
        "hallmark": figures.map(|figures| &figures.hallmark),
        "hallmark_reasons": figures.map(|figures| &figures.reasons),
        "paper": paper(run.factor),
    })
}

fn boxplot(found: Boxplot) -> Value {
    let mut object = Map::from_iter([("count".to_owned(), json!(found.count))]);
    for (quantile, time) in BOX_QUANTILES.iter().zip(found.quantiles) {
        object.insert(percentile_name(*quantile), json!(time.0));
    }
    object.insert("max".to_owned(), json!(found.max.0));
    Value::Object(object)
}

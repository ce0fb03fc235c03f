//! The verdicts as a document.

use super::{
    ConsistencyResult, checks, lost_writes, of_sample, operations, staleness, title, verdicts,
    witnesses,
};
use crate::document::{Block, Document, DocumentSection, Finding, Opening};
use crate::units::{Letters, plural};

/// The verdicts; the first line of their text is what was judged.
pub fn document(result: &ConsistencyResult) -> Document<'_> {
    let letters = Letters::Unicode;
    let warning = |text: &String| Opening::Finding(Finding::caution("warning", text));
    let headline = Opening::Headline(heading(result));
    let listed = |title: &str, texts: Vec<String>| {
        let list = (!texts.is_empty()).then(|| Block::List(texts));
        DocumentSection::of_lines(title).with_all(list).filled()
    };
    let checks = checks(result, letters);
    let checks = (!checks.is_empty()).then(|| checks.into());
    let sections = [
        Some(DocumentSection::of_lines("").with(verdicts(result, letters).into())),
        listed("Staleness", staleness(result, letters)),
        listed("Lost writes", lost_writes(result)),
        DocumentSection::of_lines("Checks of the verdicts").with_all(checks).filled(),
    ];
    let witnesses = witnesses(result).into_iter().map(|(of, named)| {
        let table = operations(result, &named, letters).into();
        DocumentSection::of_lines(title(result, of, letters)).with(table)
    });
    Document {
        title: result.title.clone(),
        opening: [headline].into_iter().chain(result.warnings.iter().map(warning)).collect(),
        is_headed: true,
        sections: sections.into_iter().flatten().chain(witnesses).collect(),
        ..Document::default()
    }
}

fn heading(result: &ConsistencyResult) -> String {
    let judged = match (result.operations, result.transactions) {
        (operations, 0) => plural(operations, "operation"),
        (0, transactions) => plural(transactions, "transaction"),
        (operations, transactions) => {
            let transactions = plural(transactions, "transaction");
            format!("{} and {transactions}", plural(operations, "operation"))
        }
    };
    let all = if result.is_sample() { ", with all their operations" } else { "" };
    format!("{}: {judged} judged{}{all}", result.title, of_sample(result))
}

//! Verdicts on consistency: text, JSON, Markdown.

mod json;
mod words;

use std::collections::BTreeSet;

use assay_consistency::register::RegisterReport;
use assay_consistency::{
    Access, QualityFinding, QualityVerdict, RegisterHistory, RegisterOperation, Seen, Violations,
    Witness, WrittenValue,
};
use assay_model::{Nanos, Outcome, version};

use crate::table::{Align, Table};
use crate::units::{Letters, count, duration, percent, plural};

pub(crate) use json::object;
pub use json::{SCHEMA, json};

/// Verdicts on one history, with the operations that their witnesses name.
#[derive(Clone, Debug, PartialEq)]
pub struct ConsistencyResult {
    /// The run directory or file.
    pub source: String,
    /// What it is, such as `ycsb-a on redis`.
    pub title: String,
    /// Operations that were judged.
    pub operations: u64,
    /// The share of the records that were judged, each with all its operations.
    pub share: f64,
    /// What the history holds beside them.
    pub seen: Seen,
    /// The verdicts.
    pub report: RegisterReport,
    /// The operations of witnesses, by rising index.
    pub witnessed: Vec<RegisterOperation>,
}

/// Witnesses of one quality that a text shows; JSON has all.
const SHOWN: usize = 2;

impl ConsistencyResult {
    /// The result with the operations of `history` that `report` names.
    pub fn new(
        source: String,
        title: String,
        history: &RegisterHistory,
        report: RegisterReport,
    ) -> ConsistencyResult {
        let witnesses = report.findings.iter().flat_map(violations).flat_map(|all| &all.witnesses);
        let named: BTreeSet<(u64, u64)> = witnesses
            .flat_map(|witness| witness.operations.iter().map(|index| (*index, witness.key)))
            .collect();
        let is_named =
            |operation: &&RegisterOperation| named.contains(&(operation.index, operation.key));
        let mut witnessed: Vec<RegisterOperation> =
            history.operations.iter().filter(is_named).copied().collect();
        witnessed.sort_unstable_by_key(|operation| (operation.index, operation.key));
        ConsistencyResult {
            source,
            title,
            operations: history.operations.len() as u64,
            share: 1.0,
            seen: Seen::default(),
            report,
            witnessed,
        }
    }

    /// Whether anything could be judged.
    pub fn is_judged(&self) -> bool {
        let is_judged = |finding: &QualityFinding| match &finding.verdict {
            QualityVerdict::Violated(_) => true,
            QualityVerdict::NoneFound(power) => power.opportunities > 0,
            QualityVerdict::NotAssessable(_) => false,
        };
        self.report.findings.iter().any(is_judged)
    }

    fn operation(&self, witness: &Witness, index: u64) -> Option<&RegisterOperation> {
        let named = (index, witness.key);
        let place = |operation: &RegisterOperation| (operation.index, operation.key).cmp(&named);
        self.witnessed.binary_search_by(place).ok().map(|place| &self.witnessed[place])
    }
}

fn violations(finding: &QualityFinding) -> Option<&Violations> {
    match &finding.verdict {
        QualityVerdict::Violated(violations) => Some(violations),
        _ => None,
    }
}

/// The verdicts for a terminal.
pub fn terminal(result: &ConsistencyResult, letters: Letters) -> String {
    let mut lines = vec![heading(result), String::new()];
    lines.extend(verdicts(result, letters).lines().into_iter().map(|line| format!("  {line}")));
    let staleness = staleness(result, letters);
    if !staleness.is_empty() {
        lines.extend([String::new(), "Staleness".to_owned()]);
        lines.extend(staleness.into_iter().map(|line| format!("  {line}")));
    }
    for ((finding, witness), named) in witnesses(result) {
        lines.extend([String::new(), title(finding, witness, letters)]);
        let table = operations(&named, letters);
        lines.extend(table.lines().into_iter().map(|line| format!("  {line}")));
    }
    lines.join("\n") + "\n"
}

/// The verdicts as Markdown.
pub fn markdown(result: &ConsistencyResult) -> String {
    let letters = Letters::Unicode;
    let mut text = format!("{}\n\n{}", heading(result), verdicts(result, letters).markdown());
    let staleness = staleness(result, letters);
    if !staleness.is_empty() {
        let lines: Vec<String> = staleness.iter().map(|line| format!("* {line}\n")).collect();
        text += &format!("\n{}", lines.concat());
    }
    for ((finding, witness), named) in witnesses(result) {
        let title = title(finding, witness, letters);
        text += &format!("\n{title}\n\n{}", operations(&named, letters).markdown());
    }
    text
}

/// The violated qualities in a line, each with the number of its violations; `None` if none is.
pub(crate) fn violated(result: &ConsistencyResult) -> Option<String> {
    let named = result.report.findings.iter().filter_map(|finding| {
        let violations = violations(finding)?;
        Some(format!("{} ({})", finding.quality.name(), count(violations.count)))
    });
    let named: Vec<String> = named.collect();
    (!named.is_empty()).then(|| named.join(", "))
}

/// The qualities of which no violation was found, in a line; `None` if none could be judged.
pub(crate) fn silent(result: &ConsistencyResult) -> Option<String> {
    let silent = result.report.findings.iter().filter(|finding| match &finding.verdict {
        QualityVerdict::NoneFound(power) => power.opportunities > 0,
        _ => false,
    });
    let names: Vec<&str> = silent.map(|finding| finding.quality.name()).collect();
    (!names.is_empty()).then(|| names.join(", "))
}

fn heading(result: &ConsistencyResult) -> String {
    let share = match result.share < 1.0 {
        true => {
            format!(" ({} of the records, each with all its operations)", percent(result.share))
        }
        false => String::new(),
    };
    format!("{}: {} operations judged{share}", result.title, count(result.operations))
}

pub(crate) fn verdicts(result: &ConsistencyResult, letters: Letters) -> Table {
    let mut table = Table::new(&[
        ("quality", Align::Left),
        ("verdict", Align::Left),
        ("violations", Align::Right),
        ("opportunities", Align::Right),
        ("remark", Align::Left),
    ]);
    for finding in &result.report.findings {
        let (violated, opportunities, remark) = match &finding.verdict {
            QualityVerdict::Violated(all) => {
                let margin = all.witnesses.iter().map(|witness| witness.margin).max();
                (
                    count(all.count),
                    count(all.power.opportunities),
                    margin.map_or_else(String::new, |margin| by(margin, letters)),
                )
            }
            QualityVerdict::NoneFound(power) => (
                "0".to_owned(),
                count(power.opportunities),
                format!("at most {} of them (95 %)", percent(power.bound())),
            ),
            QualityVerdict::NotAssessable(limitation) => {
                (String::new(), String::new(), words::limitation(*limitation).to_owned())
            }
        };
        table.row(vec![
            finding.quality.name().to_owned(),
            words::verdict(&finding.verdict).to_owned(),
            violated,
            opportunities,
            remark,
        ]);
    }
    table
}

/// By how much a violation is one, if time has a part in it.
fn by(margin: Nanos, letters: Letters) -> String {
    match margin {
        Nanos::ZERO => String::new(),
        margin => format!("by up to {}", duration(margin, letters)),
    }
}

pub(crate) fn staleness(result: &ConsistencyResult, letters: Letters) -> Vec<String> {
    let staleness = &result.report.staleness;
    if staleness.stale_reads == 0 {
        return Vec::new();
    }
    let exact = match staleness.is_exact {
        true => "",
        false => ", or more: concurrent writes have no certain order",
    };
    let share = staleness.stale_reads as f64 / staleness.reads.max(1) as f64;
    let mut lines = vec![
        format!(
            "{} of {} reads missed an acknowledged write ({}){exact}",
            count(staleness.stale_reads),
            count(staleness.reads),
            percent(share),
        ),
        format!(
            "the stalest were {} behind, and {} old",
            plural(staleness.most_behind, "version"),
            duration(staleness.oldest, letters)
        ),
    ];
    let (mut reads, mut visible, mut points) = (0, 0, Vec::new());
    for bin in staleness.visibility.iter().rev() {
        reads += bin.reads;
        visible += bin.visible;
        points.push((bin.from, visible as f64 / reads as f64));
    }
    points.reverse();
    let told: Vec<String> = VISIBLE
        .iter()
        .filter_map(|share| {
            let (from, _) = points.iter().find(|(_, visible)| visible >= share)?;
            Some(format!("{} of reads from {} on", percent(*share), duration(*from, letters)))
        })
        .collect();
    if !told.is_empty() {
        lines.push(format!("visible after the answer: to {}", told.join(", ")));
    }
    if staleness.longest_window > Nanos::ZERO {
        let window = duration(staleness.longest_window, letters);
        lines.push(format!("the longest window in which a write was not seen by all: {window}"));
    }
    lines
}

/// Shares of reads for which a text says after what time they saw a write.
const VISIBLE: [f64; 3] = [0.9, 0.99, 0.999];

/// A quality with one of its witnesses, and the operations of that.
pub(crate) type ShownWitness<'a> = ((&'a QualityFinding, &'a Witness), Vec<RegisterOperation>);

/// Some witnesses of each quality, but none twice: a read that nobody can explain breaks several.
pub(crate) fn witnesses(result: &ConsistencyResult) -> Vec<ShownWitness<'_>> {
    let mut shown: Vec<&Witness> = Vec::new();
    let mut all = Vec::new();
    for finding in &result.report.findings {
        let Some(violations) = violations(finding) else { continue };
        let mut fresh = Vec::new();
        for witness in &violations.witnesses {
            let is_new = !shown.iter().any(|one| one.operations == witness.operations);
            if is_new && fresh.len() < SHOWN {
                fresh.push(witness);
            }
        }
        for witness in &fresh {
            let operations = witness.operations.iter();
            let operations = operations.filter_map(|index| result.operation(witness, *index));
            all.push(((finding, *witness), operations.copied().collect()));
        }
        shown.extend(fresh);
    }
    all
}

pub(crate) fn title(finding: &QualityFinding, witness: &Witness, letters: Letters) -> String {
    let margin = match witness.margin {
        Nanos::ZERO => String::new(),
        margin => format!(", by {}", duration(margin, letters)),
    };
    let anomaly = words::anomaly(witness.anomaly);
    format!("{}: {anomaly}, record {}{margin}", finding.quality.name(), witness.key)
}

fn operations(operations: &[RegisterOperation], letters: Letters) -> Table {
    let mut table = Table::new(&[
        ("operation", Align::Right),
        ("session", Align::Right),
        ("did", Align::Left),
        ("started", Align::Right),
        ("ended", Align::Right),
    ]);
    for operation in operations {
        table.row(cells(operation, letters).to_vec());
    }
    table
}

/// An operation's number, session, what it did, its start and its end.
pub(crate) fn cells(operation: &RegisterOperation, letters: Letters) -> [String; 5] {
    let did = did(operation.access, letters);
    if operation.index == u64::MAX {
        return [String::new(), String::new(), did, "before the run".to_owned(), String::new()];
    }
    let ended = match operation.outcome {
        Outcome::Done => precise(operation.ended),
        other => other.name().to_owned(),
    };
    let session = count(u64::from(operation.session));
    [count(operation.index), session, did, precise(operation.started), ended]
}

/// Seconds of the run's axis to the microsecond: windows of stale reads are short.
fn precise(at: Nanos) -> String {
    format!("{:.6} s", at.as_secs_f64())
}

fn did(access: Access, letters: Letters) -> String {
    match access {
        Access::Read(WrittenValue::ABSENT) => "read: no record".to_owned(),
        Access::Read(value) => format!("read {}", value_name(value)),
        Access::Write(value) => format!("wrote {}", value_name(value)),
        Access::ReadThenWrite { read, written } => {
            let arrow = letters.pick("→", "->");
            format!("read {} {arrow} wrote {}", value_name(read), value_name(written))
        }
    }
}

/// A value by the operation that wrote it.
fn value_name(value: WrittenValue) -> String {
    match value {
        WrittenValue::ABSENT => "nothing".to_owned(),
        WrittenValue::GARBAGE => "a value without a version".to_owned(),
        WrittenValue(number) if (version::RUN..version::END).contains(&number) => {
            format!("what operation {} wrote", count(number - version::RUN))
        }
        WrittenValue(number) => format!("what was loaded ({})", count(number)),
    }
}

#[cfg(test)]
pub(crate) mod tests;

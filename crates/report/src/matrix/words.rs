//! First lines of a study's report.

use assay_analysis::Verdict;
use assay_analysis::hallmark;
use assay_analysis::matrix::{Cell, DurabilityClass, LatencyStatistic, Metric, OperationFilter};
use assay_model::{Nanos, Setting};

use super::MatrixStudy;
use crate::document::{Finding, Level};
use crate::units::{Letters, count, duration, percent, plural, rate};

/// Settings by what they say, with the names that drivers have for it.
const SETTINGS: [(&str, &[&str]); 4] = [
    ("server", &["server", "version"]),
    ("durability", &["durability"]),
    ("replication", &["replication", "backups", "replicas", "copies"]),
    (
        "consistency",
        &["visibility", "consistency", "read", "isolation", "atomicity", "write_sync", "lwt"],
    ),
];

/// What the settings say about `which`, one of the four columns of the table.
pub fn setting_of(settings: &[Setting], which: &str) -> String {
    let names = SETTINGS.iter().find(|(name, _)| *name == which).map_or(&[][..], |(_, all)| *all);
    let is_about = |setting: &&Setting| {
        let first = setting.name.split(" of ").next().unwrap_or_default();
        names.iter().any(|name| first == *name || first.ends_with(&format!("_{name}")))
    };
    let found: Vec<String> = settings
        .iter()
        .filter(is_about)
        .map(|setting| match (which, setting.name.as_str()) {
            ("server" | "durability", _) => setting.value.clone(),
            (_, name) if name == which => setting.value.clone(),
            (_, name) => format!("{name} {}", setting.value),
        })
        .collect();
    found.join(", ")
}

/// The name of a figure as a column or chart has it.
pub fn metric_name(metric: Metric) -> String {
    let of = |of: OperationFilter| match of {
        OperationFilter::All => String::new(),
        of => format!("{} ", of.name()),
    };
    match metric {
        Metric::Throughput => "throughput".to_owned(),
        Metric::RunTime => "run time".to_owned(),
        Metric::TimePerOperation => "run time per operation".to_owned(),
        Metric::Response(sort, statistic) => format!("{}response {}", of(sort), statistic.name()),
        Metric::Service(sort, statistic) => format!("{}service {}", of(sort), statistic.name()),
    }
}

/// What a figure is, in a sentence's part.
pub fn metric_text(metric: Metric) -> String {
    let operations = |of: OperationFilter| match of {
        OperationFilter::All => "operations".to_owned(),
        OperationFilter::ReadModifyWrite => "read-modify-writes as wholes".to_owned(),
        OperationFilter::Kind(kind) => format!("{}s", kind.name()),
    };
    let name = |statistic: LatencyStatistic| match statistic {
        LatencyStatistic::Mean => "mean",
        LatencyStatistic::P50 => "median",
        LatencyStatistic::P99 => "99th percentile",
    };
    match metric {
        Metric::Throughput => {
            "operations, or an application's transactions, done per second; more is better"
                .to_owned()
        }
        Metric::RunTime => "how long the whole run took; less is better".to_owned(),
        Metric::TimePerOperation => {
            "how long the whole run took, divided by its operations; less is better".to_owned()
        }
        Metric::Response(of, at) => {
            let (of, at) = (operations(of), name(at));
            format!("{at} of the response time of {of} that hit: what a user waits; less is better")
        }
        Metric::Service(of, at) => {
            let (of, at) = (operations(of), name(at));
            format!(
                "{at} of the service time of {of} that hit: what the store needs; less is better"
            )
        }
    }
}

/// A figure's value with its unit.
pub fn value(metric: Metric, value: f64, letters: Letters) -> String {
    match metric {
        Metric::Throughput => rate(value),
        _ => duration(Nanos(value.max(0.0).round() as u64), letters),
    }
}

/// The checks of one run in a few words: nothing to say if all hold.
pub fn verdict_of_checks(cell: &Cell) -> String {
    let mut words = Vec::new();
    if cell.is_no_op {
        words.push("no-op".to_owned());
    }
    if cell.figures.little.verdict == Verdict::Violated {
        words.push("contradicts Little's law".to_owned());
    }
    if cell.figures.failed > 0.0 {
        words.push(format!("{} failed", percent(cell.figures.failed)));
    }
    if let Some((of, share)) = cell.figures.least_found()
        && share < 1.0
    {
        let of = match of {
            OperationFilter::All => String::new(),
            of => format!(" of {}s", of.name()),
        };
        words.push(format!("{}{of} missed", percent(1.0 - share)));
    }
    words.join(", ")
}

/// What a reader must know first, the worst first.
pub fn findings(study: &MatrixStudy, letters: Letters) -> Vec<Finding> {
    let mut findings = vec![extent(study, letters)];
    let mut add = |level: Level, name: &'static str, text: String| {
        findings.push(Finding { level, name, text });
    };
    if study.is_interrupted {
        add(
            Level::Alarm,
            "interrupted",
            "somebody stopped the study; the same command goes on \
            with what is missing"
                .to_owned(),
        );
    }
    if !study.failed.is_empty() {
        let failed = plural(study.failed.len() as u64, "run");
        add(Level::Alarm, "failed", format!("{failed} failed; the list says why"));
    }
    if let Some(text) = durability_classes(study) {
        add(Level::Caution, "durability differs", text);
    }
    for store in no_ops(study) {
        let text = format!(
            "{store} keeps nothing and finds nothing: what it shows is the cost of issuing, so it \
             is in no ranking"
        );
        add(Level::Caution, "no-op", text);
    }
    for store in study.stores.iter().filter(|store| !store.label.is_empty()) {
        add(Level::Caution, "label", format!("{}: {}", store.name, store.label));
    }
    if !study.is_as_drawn {
        let text = "cells were issued in several goes, not in the order that was drawn, so what \
                    changed with time may look like a difference between stores; the page has the \
                    order";
        add(Level::Caution, "order", text.to_owned());
    }
    if study.scale != 1.0 {
        let text = format!(
            "every run issued {} of the operations, or for that share of the time, that the study \
             file says; one that measured for less than 10 s has no hallmark",
            percent(study.scale)
        );
        add(Level::Caution, "scaled", text);
    }
    let cells = &study.matrix.cells;
    let has_failed = |verdict: fn(&Cell) -> bool| cells.iter().filter(|cell| verdict(cell)).count();
    let lying = has_failed(|cell| cell.figures.little.verdict == Verdict::Violated);
    if lying > 0 {
        let text = format!(
            "in {} runs throughput, latency and number of clients contradict each other",
            count(lying as u64)
        );
        add(Level::Alarm, "Little's law", text);
    }
    if let Some((level, text)) = hallmarks(study) {
        add(level, "hallmarks", text);
    }
    for note in &study.notes {
        add(Level::Caution, "note", note.clone());
    }
    findings
}

fn extent(study: &MatrixStudy, letters: Letters) -> Finding {
    let (done, planned) = (study.matrix.cells.len(), study.planned);
    let took = duration(study.took, letters);
    let text = format!(
        "{} of {} runs came to their ends, in {took} of work",
        count(done as u64),
        count(planned as u64)
    );
    if done > 0 && believable(study) == 0 {
        let text = format!("{text}; none of them is valid");
        return Finding { level: Level::Alarm, name: "no valid run", text };
    }
    match done == planned {
        true => Finding { level: Level::Fine, name: "complete", text },
        false => Finding { level: Level::Caution, name: "incomplete", text },
    }
}

/// How many runs have a hallmark, with or without remarks.
pub fn believable(study: &MatrixStudy) -> usize {
    let verdicts = study.matrix.cells.iter().filter_map(|cell| cell.figures.hallmark);
    verdicts.filter(|verdict| verdict.is_valid()).count()
}

fn durability_classes(study: &MatrixStudy) -> Option<String> {
    let durability_classes = study.matrix.durability_classes();
    if durability_classes.len() < 2 {
        return None;
    }
    let of = |durability: &DurabilityClass| {
        let mut names: Vec<&str> = study
            .matrix
            .cells
            .iter()
            .filter(|cell| cell.durability == *durability && !cell.is_no_op)
            .map(|cell| study.stores[cell.setup.store].name.as_str())
            .collect();
        names.sort_unstable();
        names.dedup();
        format!("{} ({})", durability_text(*durability), names.join(", "))
    };
    let all: Vec<String> = durability_classes.iter().map(of).collect();
    Some(format!(
        "the stores do not keep an answered write alike, so a faster one may only have promised \
         less: {}",
        all.join("; ")
    ))
}

/// What an answered write survives.
pub fn durability_text(durability: DurabilityClass) -> &'static str {
    match durability {
        DurabilityClass::Untold => "does not tell",
        DurabilityClass::Nothing => "lost with its processes",
        DurabilityClass::Moments => "a crash takes the last moments",
        DurabilityClass::Process => "survives the process, not the power",
        DurabilityClass::Interval => "loss of power takes the last moments",
        DurabilityClass::EveryWrite => "on disk before the answer",
    }
}

fn no_ops(study: &MatrixStudy) -> Vec<String> {
    let mut places: Vec<usize> = study
        .matrix
        .cells
        .iter()
        .filter(|cell| cell.is_no_op)
        .map(|cell| cell.setup.store)
        .collect();
    places.sort_unstable();
    places.dedup();
    places.into_iter().map(|place| study.stores[place].name.clone()).collect()
}

fn hallmarks(study: &MatrixStudy) -> Option<(Level, String)> {
    let cells = &study.matrix.cells;
    let of = |expected: hallmark::Verdict| {
        cells.iter().filter(|cell| cell.figures.hallmark == Some(expected)).count() as u64
    };
    let valid = of(hallmark::Verdict::Valid) + of(hallmark::Verdict::ValidWithRemarks);
    let (invalid, untold) = (of(hallmark::Verdict::Invalid), of(hallmark::Verdict::NotAssessable));
    if cells.is_empty() {
        return None;
    }
    let all = cells.len() as u64;
    if valid == all {
        return Some((Level::Fine, "every run has one".to_owned()));
    }
    let text = format!(
        "{} of {} runs have one, {} are invalid, {} not assessable; † marks figures of setups with \
         a run that has none",
        count(valid),
        count(all),
        count(invalid),
        count(untold)
    );
    Some((if invalid > 0 { Level::Caution } else { Level::Fine }, text))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn setting(name: &str, value: &str) -> Setting {
        Setting { name: name.into(), value: value.into(), meaning: String::new() }
    }

    #[test]
    fn settings_of_drivers_are_gathered_into_four_columns() {
        let settings = [
            setting("server", "Cassandra 5.0.6"),
            setting("durability", "commitlog_sync=periodic 10000ms"),
            setting("replication of ycsb", "class=NetworkTopologyStrategy dc1=3"),
            setting("read_consistency", "QUORUM"),
            setting("visibility", "2 + 2 > 3"),
            setting("connections", "1"),
        ];
        let of = |which: &str| setting_of(&settings, which);
        assert_eq!(of("server"), "Cassandra 5.0.6");
        assert_eq!(of("replication"), "replication of ycsb class=NetworkTopologyStrategy dc1=3");
        assert_eq!(of("consistency"), "read_consistency QUORUM, visibility 2 + 2 > 3");
        assert_eq!(of("durability"), "commitlog_sync=periodic 10000ms");
        assert_eq!(setting_of(&[setting("backups", "1")], "replication"), "backups 1");
    }

    #[test]
    fn figures_have_names_and_units() {
        let scan =
            Metric::Response(OperationFilter::Kind(assay_model::Kind::Scan), LatencyStatistic::P99);
        assert_eq!(metric_name(scan), "scan response p99");
        assert_eq!(value(scan, 1_234_000.0, Letters::Unicode), "1.23 ms");
        assert_eq!(
            metric_name(Metric::Service(OperationFilter::All, LatencyStatistic::Mean)),
            "service mean"
        );
        assert_eq!(value(Metric::Throughput, 12_345.6, Letters::Ascii), "12 346/s");
        assert!(metric_text(Metric::RunTime).contains("less is better"));
    }
}

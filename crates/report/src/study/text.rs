//! The study as text, Markdown, CSV, JSON.

use std::fmt::Write as _;

use assay_analysis::sawtooth::Figures;
use assay_model::Nanos;
use serde_json::{Value, json};

use super::rows::{self, DIFFERENCES, MEANING};
use super::{Measure, MethodResult, SlowClient, Study, StudyRun};
use crate::units::{Letters, percentile_name};

/// The study for a terminal.
pub fn study_text(study: &Study, letters: Letters) -> String {
    let mut out = format!("The study of coordinated omission\n{}\n", rows::headline(study));
    for group in rows::groups(study) {
        let _ = write!(out, "\n{}\n", group.title);
        for line in rows::numbers(&group.runs, letters).lines() {
            let _ = writeln!(out, "  {line}");
        }
    }
    if !study.slow.is_empty() {
        out += "\nSlow clients: 1000/s at a capacity of 1250/s, intended latency\n";
        for line in rows::slow_clients(&study.slow, letters).lines() {
            let _ = writeln!(out, "  {line}");
        }
    }
    let _ = write!(out, "\n{MEANING}\nreproduce with: {}\n", study.command);
    out
}

/// The study for a document.
pub fn study_markdown(study: &Study) -> String {
    let letters = Letters::Unicode;
    let mut out = format!("## The study of coordinated omission\n\n{}.\n", rows::headline(study));
    for group in rows::groups(study) {
        let table = rows::numbers(&group.runs, letters).markdown();
        let _ = write!(out, "\n### {}\n\n{table}", group.title);
    }
    if !study.slow.is_empty() {
        let table = rows::slow_clients(&study.slow, letters).markdown();
        let _ = write!(out, "\n### Slow clients\n\n{table}");
    }
    let _ = write!(out, "\n{MEANING}\n\n### Where our figures are not those of the paper\n");
    for (title, text) in DIFFERENCES {
        let _ = write!(out, "\n* *{title}.* {text}\n");
    }
    let _ = write!(out, "\nReproduce with: `{}`\n", study.command);
    out
}

/// The study as long-format CSV, one row for each number.
///
/// The columns are `rate,capacity,clock,sessions,measure,metric,unit,found,expected`; `sessions`
/// is empty for the open model, `expected` where there is no closed form.
pub fn study_csv(study: &Study) -> String {
    let mut out = "rate,capacity,clock,sessions,measure,metric,unit,found,expected\n".to_owned();
    for run in &study.runs {
        for method in &run.sights {
            csv_rows(run, method, &mut out);
        }
    }
    for client in &study.slow {
        let time = |time: Option<Nanos>| time.map_or(String::new(), |time| time.0.to_string());
        let _ = writeln!(
            out,
            "1000,1250,ns,{},{},back_with_pause_of_{}ns,ns,{},{}",
            client.sessions,
            Measure::Intended.name(),
            client.pause.0,
            time(client.found_back),
            time(client.expected_back)
        );
    }
    out
}

fn csv_rows(run: &StudyRun, method: &MethodResult, out: &mut String) {
    let sessions = run.sessions.map_or(String::new(), |sessions| sessions.to_string());
    let found = metrics(&method.found);
    let expected = method.expected.as_ref().map(metrics);
    for (place, (metric, unit, value)) in found.iter().enumerate() {
        let target = expected.as_ref().map_or(String::new(), |all| all[place].2.to_string());
        let _ = writeln!(
            out,
            "{},{},{},{sessions},{},{metric},{unit},{value},{target}",
            run.sawtooth.rate,
            run.sawtooth.capacity,
            run.clock.name(),
            method.measure.name(),
        );
    }
}

/// Every figure with its name and unit.
fn metrics(figures: &Figures) -> Vec<(String, &'static str, u64)> {
    let mut metrics = vec![("mean".to_owned(), "ns", figures.mean_ns.round() as u64)];
    let quantiles = figures.quantiles.iter();
    metrics.extend(quantiles.map(|(quantile, time)| (percentile_name(*quantile), "ns", time.0)));
    metrics.push(("max".to_owned(), "ns", figures.max.0));
    metrics.push(("affected".to_owned(), "operations", figures.affected));
    metrics.push(("back".to_owned(), "ns", figures.back_after.0));
    metrics
}

/// The study as one JSON object.
pub fn study_json(study: &Study) -> String {
    let agreement = study.agreement();
    let value = json!({
        "schema": "assay.study-co.1",
        "assay": study.version,
        "command": study.command,
        "seed": study.seed,
        "holds": agreement.holds(),
        "compared": agreement.compared,
        "largest_deviation": finite(agreement.worst),
        "operations": study.operations(),
        "runs": study.runs.iter().map(run_object).collect::<Vec<_>>(),
        "slow_clients": study.slow.iter().map(slow_object).collect::<Vec<_>>(),
    });
    format!("{value:#}\n")
}

fn run_object(run: &StudyRun) -> Value {
    let sawtooth = &run.sawtooth;
    json!({
        "model": if run.sessions.is_some() { "closed" } else { "open" },
        "sessions": run.sessions,
        "clock": run.clock.name(),
        "rate_per_s": sawtooth.rate,
        "capacity_per_s": sawtooth.capacity,
        "operations": sawtooth.operations,
        "hiccup": {
            "at_ns": sawtooth.at.0,
            "length_ns": sawtooth.hiccup.0,
        },
        "measured": run.sights.iter().map(|method| json!({
            "measure": method.measure.name(),
            "found": figures_object(&method.found),
            "expected": method.expected.as_ref().map(figures_object),
            "deviation": method.deviation().map(finite),
        })).collect::<Vec<_>>(),
    })
}

fn figures_object(figures: &Figures) -> Value {
    let quantiles = figures.quantiles.iter();
    let quantiles = quantiles.map(|(quantile, time)| (percentile_name(*quantile), json!(time.0)));
    json!({
        "mean_ns": figures.mean_ns,
        "percentiles_ns": quantiles.collect::<serde_json::Map<_, _>>(),
        "max_ns": figures.max.0,
        "affected": figures.affected,
        "back_after_ns": figures.back_after.0,
    })
}

fn slow_object(client: &SlowClient) -> Value {
    json!({
        "sessions": client.sessions,
        "pause_ns": client.pause.0,
        "catching_up_per_s": client.catching_up_at,
        "expected_back_ns": client.expected_back.map(|time| time.0),
        "found_back_ns": client.found_back.map(|time| time.0),
        "deviation": finite(client.deviation()),
    })
}

/// JSON has no infinity: a deviation without bound is none.
fn finite(number: f64) -> Value {
    if number.is_finite() { json!(number) } else { Value::Null }
}

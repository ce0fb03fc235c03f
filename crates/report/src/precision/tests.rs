//! A study of three runs with known figures, in every form.

use super::*;
use crate::Style;

fn boxplot(micros: u64) -> Boxplot {
    let quantiles = [1, 2, 3, 5, 10].map(|part| Nanos::from_micros(micros * part));
    Boxplot { count: 240, quantiles, max: Nanos::from_micros(micros * 100) }
}

fn run(factor: f64, micros: u64) -> PrecisionRun {
    PrecisionRun {
        factor,
        planned_per_s: 2.0 * factor,
        run_dir: format!("factor-{factor}"),
        ending: RunEnd::Whole,
        figures: Some(PrecisionFigures {
            starts: Some(boxplot(micros)),
            response: Some(boxplot(micros * 50)),
            done_per_s: 2.0 * factor,
            failed: 0,
            hallmark: "valid".to_owned(),
            reasons: String::new(),
        }),
    }
}

pub(crate) fn study() -> Precision {
    Precision {
        title: "tpcc-benchfoundry-paper on postgres".to_owned(),
        command: "assay study benchfoundry -t 'postgres://localhost/bench'".to_owned(),
        dir: "runs/study".to_owned(),
        url: "postgres://localhost/<script>".to_owned(),
        is_no_op: false,
        starts: "at even distances".to_owned(),
        loaded: "loaded for this study".to_owned(),
        unit_per_s: 2.0,
        duration: Nanos::from_secs(120),
        seed: 7,
        machine: "2 x Some CPU".to_owned(),
        version: "0.1.0".to_owned(),
        runs: vec![run(1.0, 4), run(25.0, 6), run(125.0, 9)],
    }
}

/// The findings as they are shouted.
fn describe(study: &Precision) -> Vec<String> {
    findings(study, Letters::Ascii).iter().map(Finding::shout).collect()
}

#[test]
fn a_study_that_was_in_time_says_up_to_where() {
    let text = "PUNCTUAL: 95 % of the processes begin within 90.0 us of their moment up to factor \
                125, 250/s";
    assert_eq!(describe(&study()), [text]);
}

#[test]
fn the_first_factor_that_is_late_is_named() {
    let mut study = study();
    study.runs[2] = run(125.0, 100);
    let text = "PUNCTUAL AT FIRST: 95 % of the processes begin within 60.0 us of their moment up \
                to factor 25, 50/s; at factor 125 not within 1.00 ms";
    assert_eq!(describe(&study), [text]);
    study.runs[0] = run(1.0, 100);
    let text = "LATE: no load factor had 95 % of its processes begin within 1.00 ms";
    assert_eq!(describe(&study), [text]);
}

#[test]
fn a_run_without_a_hallmark_is_named() {
    let mut study = study();
    study.runs[1].figures.as_mut().unwrap().hallmark = "invalid".to_owned();
    let text = "HALLMARK: the hallmark of factor 25 is invalid; the reasons are below";
    assert_eq!(describe(&study)[0], text);
}

#[test]
fn runs_that_did_not_come_to_their_end_are_reported() {
    let mut study = study();
    study.runs[1].ending = RunEnd::Interrupted;
    study.runs[2].ending = RunEnd::Failed("the store is away".to_owned());
    study.runs[2].figures = None;
    let reported = describe(&study);
    assert!(
        reported[0].ends_with("up to factor 1, 2/s; at factor 25 not within 1.00 ms"),
        "{reported:?}"
    );
    assert_eq!(
        reported[1..],
        [
            "INTERRUPTED: the run with factor 25 was stopped before its end",
            "FAILED: the run with factor 125 did not come to its end: the store is away"
        ]
    );
    let table = numbers(&study, Letters::Ascii).lines();
    assert!(table[3].contains("no run") && table[3].contains("overloaded"), "{table:?}");
}

#[test]
fn the_table_stands_beside_the_paper() {
    let table = numbers(&study(), Letters::Ascii).lines();
    let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(
        words(&table[3]),
        "125 250/s 250/s 9.00 18.0 27.0 45.0 90.0 900 1.35 ms 4.50 ms 0 valid overloaded"
    );
    assert_eq!(paper(625.0), "out of memory");
    assert_eq!(paper(10.0), "-");
}

#[test]
fn every_form_has_the_figures() {
    let study = study();
    let style = Style { colour: false, width: 100, letters: Letters::Ascii };
    let text = document(&study).text(style);
    assert!(text.starts_with("PUNCTUAL: ") && text.contains("overloaded"), "{text}");
    assert!(document(&study).markdown().contains("| valid    | overloaded |"));
    let json: serde_json::Value = serde_json::from_str(&precision_json(&study)).unwrap();
    assert_eq!(json["schema"], PRECISION_SCHEMA);
    assert_eq!(json["runs"][2]["scheduling_latency_ns"]["p95"], 90_000);
    assert_eq!(json["runs"][2]["response_ns"]["p50"], 1_350_000);
}

#[test]
fn the_page_is_self_contained() {
    let html = document(&study()).page();
    for part in ["id=\"scheduling\"", "×125", "class=\"band lag\"", "want of memory", "ICSOC"] {
        assert!(html.contains(part), "{part} is missing");
    }
    assert!(!html.contains("localhost/<script>") && !html.contains("src="));
    assert_eq!(html, document(&study()).page(), "the same study gives the same bytes");
}

//! A study of two runs with known figures, in every form.

use assay_analysis::sawtooth::LatencyKind;
use assay_analysis::{AnalysisOptions, Analyzer};
use assay_model::Nanos;
use assay_model::{Ends, Phase, Record, version};
use expect_test::expect;

use super::*;

fn sawtooth() -> Sawtooth {
    Sawtooth {
        rate: 1000.0,
        capacity: 1250.0,
        at: Nanos::from_secs(30),
        hiccup: Nanos::from_secs(1),
        healthy: Nanos::from_micros(50),
        operations: 90_000,
    }
}

/// A distribution of two operations; what is in it is not what these tests are about.
fn distribution() -> Distribution {
    let record = |index: u64| Record {
        index,
        process: index,
        intended: Nanos(index),
        started: Nanos(index),
        ended: Nanos(index + 50_000),
        version_written: version::NONE,
        version_read: version::NONE,
        rows: 1,
        ends: Ends::Both,
        phase: Phase::Measure,
        found: true,
        ..Record::BLANK
    };
    let mut analyze = Analyzer::new(AnalysisOptions::default());
    analyze.push(&[record(0), record(1)]);
    analyze.finish().overall.hits.response
}

fn method(measure: MeasurementMethod, observed: LatencyKind, factor: f64) -> MethodResult {
    let expected = sawtooth().figures(observed, &STUDY_QUANTILES);
    let found = Figures { mean_ns: expected.mean_ns * factor, ..expected.clone() };
    let time_course = LatencyCourse {
        from: Nanos::from_secs(30),
        width: Nanos::from_secs(1),
        longest: vec![Some(expected.max), None, Some(Nanos::from_millis(600))],
    };
    MethodResult {
        measure,
        found,
        expected: Some(expected),
        distribution: distribution(),
        time_course,
    }
}

/// The open model and four threads, whose mean is off by `factor`.
pub(crate) fn study(factor: f64) -> Study {
    let service = LatencyKind::Service { sessions: 4 };
    let run = |sessions, sights| StudyRun {
        sessions,
        clock: StudyClock::Exact,
        sawtooth: sawtooth(),
        sights,
    };
    let closed = vec![
        method(MeasurementMethod::Intended, LatencyKind::Response, 1.0),
        method(MeasurementMethod::Service, service, factor),
    ];
    Study {
        version: "0.0.0".to_owned(),
        command: "assay study co <x>".to_owned(),
        seed: 1,
        runs: vec![
            run(Some(4), closed),
            run(None, vec![method(MeasurementMethod::Open, LatencyKind::Response, 1.0)]),
        ],
        slow: vec![SlowClient {
            sessions: 4,
            pause: Nanos::from_micros(3_950),
            catching_up_at: 1000.0,
            expected_back: None,
            found_back: None,
            time_course: LatencyCourse::default(),
        }],
    }
}

fn plain(study: &Study) -> String {
    document(study).text(crate::Style::PLAIN)
}

#[test]
fn the_tables_begin_with_the_open_model() {
    let text = plain(&study(1.0));
    let cells = |line: &str| {
        let cells = line.split("  ").map(str::trim).filter(|cell| !cell.is_empty());
        // The cells beside the figures that are the same in both rows.
        cells
            .enumerate()
            .filter(|(at, _)| ![5, 6, 7].contains(at))
            .map(|(_, cell)| cell)
            .collect::<Vec<_>>()
            .join("|")
    };
    let group = |line: &&str| !line.starts_with("Figures 3 and 4");
    let lines: Vec<String> = text.lines().skip_while(group).take(4).map(cells).collect();
    expect![[r#"
        Figures 3 and 4: 1000/s at a capacity of 1250/s, by threads
        measured|clients|capacity|clock|mean|p95|p99|p99.9|max|affected|back|off
        open|open|1 250/s|ns|27.8 ms|100 ms|820 ms|982 ms|1.00 s|5 000|5.00 s|0 %
        YCSB intended|4 threads|1 250/s|ns|27.8 ms|100 ms|820 ms|982 ms|1.00 s|5 000|5.00 s|0 %"#]]
    .assert_eq(&lines.join("\n"));
    assert!(text.contains("never           never"), "{text}");
}

#[test]
fn a_missed_closed_form_is_said_first() {
    assert!(study(1.009).agreement().holds() && !study(1.02).agreement().holds());
    let text = plain(&study(1.02));
    let target =
        "a result misses its closed form: the largest deviation of 4 is 2 %, allowed is 1 %";
    assert_eq!(text.lines().next(), Some(format!("NO AGREEMENT: {target}").as_str()));
    assert!(document(&study(1.02)).page().contains("<p class=\"alarm first\">"));
    assert!(document(&study(1.0)).page().contains("<p class=\"fine first\">"));
}

#[test]
fn a_client_that_comes_back_against_the_formula_is_a_miss() {
    let mut study = study(1.0);
    study.slow[0].found_back = Some(Nanos::from_secs(5));
    assert!(!study.agreement().holds());
    let object: serde_json::Value = serde_json::from_str(&study_json(&study)).unwrap();
    assert_eq!(object["holds"], false);
    assert_eq!(object["largest_deviation"], serde_json::Value::Null);
}

#[test]
fn every_form_holds_the_same_figures() {
    let study = study(1.0);
    let object: serde_json::Value = serde_json::from_str(&study_json(&study)).unwrap();
    let service = &object["runs"][0]["measured"][1];
    assert_eq!(service["found"]["percentiles_ns"]["p99.9"], 3_200_000);
    let row = "1000,1250,ns,4,YCSB service,p99.9,ns,3200000,3200000";
    assert!(study_csv(&study).lines().any(|line| line == row));
    assert!(
        document(&study).markdown().contains("| YCSB service  | 4 threads |  1 250/s | ns    |")
    );
    let page = document(&study).page();
    assert!(page.contains("id=\"figure-3-4\"") && page.contains("assay study co &lt;x&gt;"));
    assert!(!page.contains("id=\"figure-5\""), "there is nothing to show of figure 5");
}

#[test]
fn a_study_without_comparisons_does_not_hold() {
    let nothing = Study { runs: Vec::new(), slow: Vec::new(), ..study(1.0) };
    assert!(!nothing.agreement().holds() && !study(f64::NAN).agreement().holds());
    let text = plain(&nothing);
    let line = "NO AGREEMENT: no result was compared with a closed form";
    assert_eq!(text.lines().next(), Some(line));
}

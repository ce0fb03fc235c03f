//! Tests of the first lines of a comparison, in every form.

use assay_analysis::compare::{
    Comparison, ConditionOutcome, Demands, Figure, Finding as RowFinding, IntervalBasis, Measure,
    Row, spread,
};

use super::*;
use crate::sample;
use crate::units::Letters;

fn row(measure: Measure, finding: RowFinding, effect: f64) -> Row {
    let is_known = finding != RowFinding::TooFew;
    Row {
        figure: Figure::overall(measure),
        is_requested: true,
        old: Some(spread(&[2_000_000.0])),
        new: Some(spread(&[2_000_000.0 * effect])),
        effect,
        interval: is_known.then_some((effect - 0.02, effect + 0.04)),
        finding,
    }
}

fn contrast(rows: Vec<Row>) -> Contrast {
    let facts = || Facts { warnings: Vec::new(), ..sample::facts() };
    let side = |name: &str| ComparedSetup {
        name: name.to_owned(),
        runs: vec![Run { facts: facts(), summary: sample::summary() }],
    };
    Contrast {
        old: side("last-1"),
        new: side("<b>last</b>"),
        differences: Vec::new(),
        comparison: Comparison {
            demands: Demands::default(),
            basis: IntervalBasis::WithinRun,
            rows,
        },
        trials: Vec::new(),
    }
}

fn first(contrast: &Contrast) -> String {
    findings(contrast, Letters::Ascii)[0].shout()
}

const P99: Measure = Measure::Response(0.99);

#[test]
fn what_differs_for_the_worse_is_said_first() {
    let slower = row(P99, RowFinding::Higher, 1.12);
    assert_eq!(
        first(&contrast(vec![slower.clone()])),
        "WORSE: response p99 +12.0 % (+10.0 to +16.0 %)"
    );
    let more = row(Measure::Throughput, RowFinding::Higher, 1.12);
    assert!(first(&contrast(vec![more.clone()])).starts_with("BETTER: throughput +12.0 %"));
    let both = first(&contrast(vec![slower, more]));
    assert!(both.starts_with("BETTER IN PART, WORSE IN PART: response p99"), "{both}");
}

#[test]
fn no_difference_is_not_the_same_as_none_shown() {
    let same = row(P99, RowFinding::Same, 1.0);
    let found = first(&contrast(vec![same.clone()]));
    assert!(found.starts_with("NO DIFFERENCE: response p99 +0.00 %"), "{found}");
    let open = row(Measure::Response(0.5), RowFinding::Open, 1.02);
    let found = first(&contrast(vec![same, open, row(P99, RowFinding::TooFew, 1.5)]));
    assert_eq!(
        found,
        "NO DIFFERENCE SHOWN: none is excluded either for response p50 +2.0 % (+0.00 to +6.0 %), \
         response p99 +50.0 % (too few values for an interval)"
    );
}

#[test]
fn another_question_is_said_before_any_verdict() {
    let mut requested = contrast(vec![row(P99, RowFinding::Lower, 0.5)]);
    requested.differences.push(Difference {
        what: "load model".to_owned(),
        old: "open".to_owned(),
        new: "closed".to_owned(),
        weight: Weight::Question,
    });
    let found = findings(&requested, Letters::Ascii);
    assert_eq!(found[0].name, "not the same question");
    assert_eq!(found[1].name, "better");
}

#[test]
fn a_failed_condition_is_said_before_everything() {
    let slower = row(P99, RowFinding::Higher, 1.2);
    let trial = |text: &str, judgement| Trial {
        text: text.to_owned(),
        judgement,
        row: Some(slower.clone()),
    };
    let mut analyzed = contrast(vec![slower.clone()]);
    analyzed.trials = vec![
        trial("p99>+30%", ConditionOutcome::NotMet),
        trial("p99>+19%", ConditionOutcome::Unsure),
        trial("p99>+10%", ConditionOutcome::Met),
    ];
    let names: Vec<&str> =
        findings(&analyzed, Letters::Ascii).iter().take(4).map(|found| found.name).collect();
    assert_eq!(names, ["failed", "unsure", "passed", "worse"]);
    let xml = crate::junit::compare(&analyzed);
    assert!(xml.contains("tests=\"3\" failures=\"1\" skipped=\"1\""), "{xml}");
}

#[test]
fn a_page_is_whole_and_takes_names_as_text() {
    let displayed = contrast(vec![row(P99, RowFinding::Higher, 1.12)]);
    let page = crate::compare_html(&displayed);
    assert_eq!(page, crate::compare_html(&displayed));
    assert!(!page.contains("<b>last</b>") && page.contains("&lt;b&gt;last&lt;/b&gt;"));
    assert!(!page.contains("<script>alert(1)"));
    let body = page.split("<script type").next().expect("a page has a body before its scripts");
    for name in ["section", "div", "figure", "table", "tbody", "svg", "dl", "h2", "h3", "p", "span"]
    {
        let begins =
            body.matches(&format!("<{name}>")).count() + body.matches(&format!("<{name} ")).count();
        assert_eq!(begins, body.matches(&format!("</{name}>")).count(), "{name}");
    }
    for id in ["spectrum", "over-time-response", "over-time-service", "over-time-throughput"] {
        assert!(body.contains(&format!("id=\"{id}\"")), "{id}");
    }
    assert!(!markdown(&displayed).contains("<script>"));
}

#[test]
fn exports_are_what_programs_expect() {
    let displayed = contrast(vec![
        row(P99, RowFinding::Higher, 1.12),
        row(Measure::Response(0.999), RowFinding::TooFew, 1.5),
    ]);
    let object: serde_json::Value = serde_json::from_str(&json(&displayed)).unwrap();
    assert_eq!(object["schema"], SCHEMA);
    assert_eq!(object["figures"][0]["finding"], "higher");
    assert_eq!(object["figures"][1]["interval"], serde_json::Value::Null);
    let text = csv(&displayed);
    let cells: Vec<usize> = text.lines().map(|line| line.split(',').count()).collect();
    assert_eq!(cells, [11, 11, 11]);
}

#[test]
fn a_new_side_that_answers_nothing_is_worse_in_every_form() {
    let dead =
        Row { interval: Some((0.0, 0.0)), ..row(Measure::Throughput, RowFinding::Lower, 0.0) };
    let gone =
        Row { new: None, interval: None, effect: f64::NAN, ..row(P99, RowFinding::Absent, 1.0) };
    let alone = first(&contrast(vec![gone.clone()]));
    assert_eq!(
        alone,
        "NO DIFFERENCE SHOWN: none is excluded either for response p99 (no values in NEW)"
    );
    let mut displayed = contrast(vec![dead.clone(), gone.clone()]);
    assert_eq!(first(&displayed), "WORSE: throughput -100.0 % (in all runs)");
    let xml = crate::junit::compare(&displayed);
    assert!(xml.contains("tests=\"2\" failures=\"1\" skipped=\"1\""), "{xml}");
    let table = markdown(&displayed);
    assert!(table.contains("n/a") && table.contains("no values"), "{table}");
    assert!(crate::compare_html(&displayed).contains("no values in NEW"));
    let object: serde_json::Value = serde_json::from_str(&json(&displayed)).unwrap();
    let figure = &object["figures"][1];
    assert!(figure["new"].is_null() && figure["effect"].is_null() && figure["base"].is_object());
    assert_eq!(figure["finding"], "absent");
    assert!(csv(&displayed).contains("response p99,ns,2000000,,1,0,NaN,,,absent,true"));
    let from =
        Row { effect: f64::INFINITY, interval: Some((f64::INFINITY, f64::INFINITY)), ..dead };
    displayed.comparison.rows = vec![Row { finding: RowFinding::Higher, ..from }, gone];
    assert_eq!(first(&displayed), "BETTER: throughput from 0 (in all runs)");
}

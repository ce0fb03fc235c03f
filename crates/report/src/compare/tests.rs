//! Tests of the first lines of a comparison, in every form.

use assay_analysis::compare::{
    Comparison, ConditionOutcome, Demands, Figure, Finding as RowFinding, IntervalBasis, Measure,
    Row, spread,
};
use assay_analysis::hallmark::{self, Check, CheckId, CheckVerdict, Hallmark};

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
        typical: 0,
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
        is_forced: false,
    }
}

/// The names of the findings other than hallmarks.
fn names(contrast: &Contrast) -> Vec<&'static str> {
    let found = findings(contrast, Letters::Ascii).into_iter().map(|found| found.name);
    found.filter(|name| !name.starts_with("HALLMARK")).collect()
}

fn first(contrast: &Contrast) -> String {
    findings(contrast, Letters::Ascii)[0].shout()
}

const P99: Measure = Measure::Response(0.99);

/// A comparison with every kind of finding.
pub(crate) fn whole() -> Contrast {
    let absent =
        Row { new: None, interval: None, effect: f64::NAN, ..row(P99, RowFinding::Absent, 1.0) };
    let withdrawn =
        Row { interval: None, ..row(Measure::Service(0.5), RowFinding::Withdrawn, 1.0) };
    let slower = row(Measure::Response(0.5), RowFinding::Higher, 1.2);
    let difference = |weight| Difference {
        what: "x".to_owned(),
        old: String::new(),
        new: "1".to_owned(),
        weight,
    };
    Contrast {
        differences: [Weight::Question, Weight::Place].map(difference).into(),
        trials: vec![Trial {
            text: "p50>+10%".to_owned(),
            judgement: ConditionOutcome::Met,
            row: Some(slower.clone()),
        }],
        ..contrast(vec![slower, absent, withdrawn])
    }
}

/// Two runs of one set-up.
pub(crate) fn repeated() -> crate::repeated::RepeatedRuns {
    let mut side = contrast(Vec::new()).old;
    side.runs.push(side.runs[0].clone());
    crate::repeated::RepeatedRuns {
        side,
        expected: 2,
        meeting: "each run meets a store of its own".to_owned(),
        command: "assay bench ycsb-b --repeat 2".to_owned(),
        figures: vec![(Figure::overall(P99), spread(&[2e6, 3e6]))],
    }
}

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
fn differing_workloads_are_said_before_any_verdict() {
    let mut requested = contrast(vec![row(P99, RowFinding::Lower, 0.5)]);
    requested.differences.push(Difference {
        what: "load model".to_owned(),
        old: "open".to_owned(),
        new: "closed".to_owned(),
        weight: Weight::Question,
    });
    assert_eq!(names(&requested)[..2], ["not like for like", "no verdict"]);
    requested.comparison.rows = vec![row(P99, RowFinding::Higher, 1.5)];
    let found = findings(&requested, Letters::Ascii);
    let verdict = found.iter().find(|found| found.name == "no verdict").expect("it says so");
    assert_eq!(verdict.level, crate::document::Level::Caution);
    assert!(verdict.text.contains("neither better nor worse"), "{}", verdict.text);
    let xml = crate::junit::compare(&requested);
    assert!(xml.contains("failures=\"0\" skipped=\"1\""), "{xml}");
    requested.is_forced = true;
    assert_eq!(names(&requested)[..2], ["not like for like", "worse"]);
}

/// A hallmark without remarks, or one that a late client has lost.
fn hallmark(verdict: hallmark::Verdict) -> Option<Hallmark> {
    let valid = Hallmark { verdict, ..Hallmark::default() };
    if verdict.is_valid() {
        return Some(valid);
    }
    let late = Check::bare(CheckId::WorkerCpu, CheckVerdict::Fail);
    let check = Check { withdraws: vec![hallmark::Figure::All], ..late };
    Some(Hallmark { reasons: vec![CheckId::WorkerCpu], checks: vec![check], ..valid })
}

#[test]
fn the_hallmarks_of_both_sides_stand_right_below_the_first_line() {
    let mut displayed = contrast(vec![row(P99, RowFinding::Higher, 1.12)]);
    displayed.old.runs[0].facts.hallmark = hallmark(hallmark::Verdict::Valid);
    displayed.new.runs[0].facts.hallmark = hallmark(hallmark::Verdict::Invalid);
    let found = findings(&displayed, Letters::Ascii);
    assert_eq!(found[0].name, "worse");
    assert_eq!(found[1].shout(), "HALLMARK VALID: BASE");
    assert_eq!(found[2].name, "HALLMARK INVALID");
    assert!(found[2].text.starts_with("NEW: worker-cpu"), "{}", found[2].text);
    let reported = found.iter().filter(|found| found.name.starts_with("HALLMARK")).count();
    assert_eq!(reported, 2, "once for each side");
    displayed.new.runs.push(displayed.old.runs[0].clone());
    let found = findings(&displayed, Letters::Ascii);
    assert!(found[2].text.starts_with("NEW in 1 of 2 runs: worker-cpu"), "{}", found[2].text);
}

#[test]
fn a_withdrawn_figure_is_not_analyzed_and_says_so() {
    let withdrawn = Row { interval: None, ..row(P99, RowFinding::Withdrawn, 1.5) };
    let displayed = contrast(vec![withdrawn.clone()]);
    assert_eq!(first(&displayed), "NOT COMPARED: the hallmarks withdraw every figure in question");
    let mut analyzed = contrast(vec![row(Measure::Throughput, RowFinding::Same, 1.0), withdrawn]);
    assert!(first(&analyzed).ends_with("for response p99 (withdrawn by a hallmark)"));
    let trial = Trial {
        text: "p99>+10%".to_owned(),
        judgement: ConditionOutcome::Withdrawn,
        row: Some(analyzed.comparison.rows[1].clone()),
    };
    analyzed.trials.push(trial);
    assert!(
        first(&analyzed).starts_with("NOT COMPARED: p99>+10% is about a figure that a hallmark")
    );
    assert!(crate::junit::compare(&analyzed).contains("failures=\"0\" skipped=\"1\""));
    let page = document(&analyzed).page();
    assert!(page.contains("response p99: withdrawn"), "{page}");
    assert!(csv(&analyzed).contains(",,,withdrawn,true"));
    assert!(document(&analyzed).markdown().contains("Withdrawn: not compared"));
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
    assert_eq!(names(&analyzed)[..4], ["failed", "unsure", "passed", "worse"]);
    let xml = crate::junit::compare(&analyzed);
    assert!(xml.contains("tests=\"3\" failures=\"1\" skipped=\"1\""), "{xml}");
}

#[test]
fn a_page_is_whole_and_takes_names_as_text() {
    let displayed = contrast(vec![row(P99, RowFinding::Higher, 1.12)]);
    let page = document(&displayed).page();
    assert_eq!(page, document(&displayed).page());
    assert!(!page.contains("<b>last</b>") && page.contains("&lt;b&gt;last&lt;/b&gt;"));
    assert!(!page.contains("<script>alert(1)"));
    let body = page.split("<script type").next().expect("a page has a body before its scripts");
    crate::run::tests::assert_elements_end(&page);
    for id in ["spectrum", "over-time-response", "over-time-service", "over-time-throughput"] {
        assert!(body.contains(&format!("id=\"{id}\"")), "{id}");
    }
    assert!(!document(&displayed).markdown().contains("<script>"));
    for axis in ["start, by intended moment</p>", "start, by moment of sending</p>"] {
        assert!(body.contains(axis), "{axis}");
    }
    let place = |id: &str| body.find(&format!("<section id=\"{id}\"")).expect("it is there");
    assert!(
        place("course") < place("figures") && place("figures") < place("circumstances"),
        "charts stand before the settings"
    );
    for figure in body.split("<figure>").skip(1) {
        assert!(figure.starts_with("<figcaption>") && figure.contains("aria-label=\""));
    }
}

/// How many columns of four, or of two, each card of a page with so many has.
fn widths(count: usize, columns: usize) -> Vec<usize> {
    let rows = (0..count).map(|_| row(P99, RowFinding::Same, 1.0)).collect();
    let page = document(&contrast(rows)).page();
    let styles = page.split("class=\"card\" style=\"grid-column:").skip(1);
    let wide = |style: &str| match style.split('"').next() {
        Some("1/-1") => columns,
        Some("span 2") => 2,
        _ => 1,
    };
    styles.map(wide).collect()
}

#[test]
fn the_cards_leave_no_hole_in_their_rows() {
    for count in 1..10 {
        for columns in [4, 2] {
            let mut room = columns;
            for wide in widths(count, columns) {
                assert!(wide <= room, "{count} cards on {columns} columns leave a hole");
                room = if wide == room { columns } else { room - wide };
            }
            assert_eq!(room, columns, "{count} cards on {columns} columns leave a hole");
        }
    }
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
fn a_new_side_without_responses_is_worse_in_every_form() {
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
    let table = document(&displayed).markdown();
    assert!(table.contains("n/a") && table.contains("no values"), "{table}");
    assert!(document(&displayed).page().contains("no values in NEW"));
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

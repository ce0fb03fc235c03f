//! The one line in all its forms, with the numbers that it takes away.

use assay_analysis::hallmark::{Inapplicable, Limits, Measure, Statistic};

use super::*;
use crate::sample;

fn check(id: CheckId, verdict: CheckVerdict, measure: Option<(Statistic, f64, Limits)>) -> Check {
    let measure = measure.map(|(statistic, value, limits)| Measure {
        statistic,
        figure: None,
        value,
        limits: Some(limits),
    });
    Check { measures: measure.into_iter().collect(), ..Check::bare(id, verdict) }
}

fn facts(verdict: Verdict, checks: Vec<Check>) -> Facts {
    let reasons = checks.iter().map(|check| check.id).collect();
    let hallmark = Hallmark { verdict, reasons, checks, ..Hallmark::default() };
    Facts { hallmark: Some(hallmark), ..sample::facts() }
}

/// A run that was validated and has lost its hallmark.
pub(crate) fn examined() -> Facts {
    let mut lost = rate();
    lost.withdraws = vec![Figure::All, Figure::Percentile(Time::Response, 0.99)];
    let mut facts = facts(Verdict::Invalid, vec![lost]);
    facts.floor = vec![("p99".to_owned(), assay_model::Nanos(900))];
    facts
}

fn text(verdict: Verdict, checks: Vec<Check>) -> String {
    line(&facts(verdict, checks)).expect("it was examined").shout()
}

fn rate() -> Check {
    let measure = (Statistic::RateError, 0.754, Limits::at_most(0.01, 0.05));
    check(CheckId::Rate, CheckVerdict::Fail, Some(measure))
}

#[test]
fn the_line_names_the_verdict_with_its_reasons() {
    assert_eq!(text(Verdict::Valid, Vec::new()), "HALLMARK VALID");
    assert_eq!(
        text(Verdict::Invalid, vec![rate()]),
        "HALLMARK INVALID: rate: the rate sent is 75.4 % off the promised one (at most 5 %)"
    );
    let measure = (Statistic::Drift, 0.07, Limits::remark_above(0.05));
    let drift = check(CheckId::Trend, CheckVerdict::Remark, Some(measure));
    assert_eq!(
        text(Verdict::ValidWithRemarks, vec![drift]),
        "HALLMARK VALID WITH REMARKS: trend: a figure drifts by 7 % (at most 5 %)"
    );
}

#[test]
fn an_invalid_hallmark_says_what_to_change() {
    let busy = || check(CheckId::WorkerCpu, CheckVerdict::Fail, None);
    let remark = check(CheckId::Trend, CheckVerdict::Remark, None);
    let invalid = facts(Verdict::Invalid, vec![rate(), busy(), remark]);
    let closed = |sessions| LoadModel::Closed { sessions, target: None };
    assert_eq!(
        next_steps(&invalid, &closed(2)),
        [
            "rate: a lower --target-throughput, or more sessions: --closed",
            "worker-cpu: --closed 1 leaves the store room; or wait until the machine is quiet: \
             `assay doctor`",
        ]
    );
    let alone = next_steps(&invalid, &closed(1));
    assert!(alone[1].starts_with("worker-cpu: wait until the machine is quiet"), "{alone:?}");
    let valid = facts(Verdict::ValidWithRemarks, vec![busy()]);
    assert!(next_steps(&valid, &closed(2)).is_empty());
}

#[test]
fn checks_with_the_same_obstacle_share_its_words() {
    let unseen = |id| check(id, CheckVerdict::NotAssessable(Inapplicable::NotObserved), None);
    assert_eq!(
        text(Verdict::NotAssessable, vec![unseen(CheckId::WorkerCpu), unseen(CheckId::Hiccups)]),
        "HALLMARK NOT ASSESSABLE: worker-cpu, hiccups: it was not observed"
    );
}

#[test]
fn of_many_reasons_the_last_are_only_named() {
    let steal = || {
        let measure = (Statistic::Steal, 0.2, Limits::at_most(0.01, 0.05));
        check(CheckId::WorkerCpu, CheckVerdict::Fail, Some(measure))
    };
    let text = text(Verdict::Invalid, vec![rate(), rate(), rate(), steal()]);
    assert!(text.ends_with("; also worker-cpu"), "{text}");
}

#[test]
fn a_withdrawn_percentile_is_marked_and_others_are_not() {
    let mut lag = check(CheckId::Lag, CheckVerdict::Fail, None);
    lag.withdraws = vec![Figure::Percentile(Time::Response, 0.99)];
    let facts = facts(Verdict::Invalid, vec![lag]);
    assert!(withdraws(&facts, Stretch::Response, 0.99));
    assert!(!withdraws(&facts, Stretch::Response, 0.9));
    assert!(!withdraws(&facts, Stretch::Service, 0.99));
    assert!(!withdraws(&sample::facts(), Stretch::Response, 0.99));
}

#[test]
fn too_short_a_run_marks_every_percentile_and_too_few_values_none() {
    let mut size = check(CheckId::SampleSize, CheckVerdict::Fail, None);
    size.withdraws = vec![Figure::Percentile(Time::Response, 0.99)];
    let few = facts(Verdict::Invalid, vec![size.clone()]);
    assert!(!withdraws(&few, Stretch::Response, 0.99));
    size.withdraws.push(Figure::All);
    let short = facts(Verdict::Invalid, vec![size]);
    assert!(withdraws(&short, Stretch::Response, 0.99));
    assert!(withdraws(&short, Stretch::Service, 0.5));
}

#[test]
fn what_nobody_observed_of_a_check_is_named_beside_what_was_found() {
    let mut cpu = check(CheckId::WorkerCpu, CheckVerdict::Pass, None);
    cpu.unobserved = vec![Statistic::Steal, Statistic::Throttled];
    assert_eq!(words::found(&cpu), "-; steal, throttled not observed");
}

#[test]
fn what_did_not_pass_is_a_row_with_its_threshold() {
    let facts = facts(
        Verdict::Invalid,
        vec![
            rate(),
            check(CheckId::Saturation, CheckVerdict::NotApplicable(Inapplicable::OneAgent), None),
            check(CheckId::LostRecords, CheckVerdict::Pass, None),
        ],
    );
    let notable = checks(&facts, ShownChecks::Notable);
    let found = "the rate sent is 75.4 % off the promised one";
    let [row] = &notable[..] else { panic!("{} rows", notable.len()) };
    let cells = [row.code, row.name, row.verdict, &row.found];
    assert_eq!(cells, ["A1", "rate", "fail", found]);
    let threshold = row.threshold.as_deref();
    assert_eq!(threshold, Some("passes up to 1 %, fails above 5 %"));
    assert_eq!(row.withdraws, None);
    assert_eq!(checks(&facts, ShownChecks::All).len(), 3);
}

#[test]
fn withdrawn_percentiles_are_named_together() {
    let mut hiccups = check(CheckId::Hiccups, CheckVerdict::Fail, None);
    let (response, service) = (Time::Response, Time::Service);
    hiccups.withdraws = [0.999, 1.0]
        .into_iter()
        .flat_map(|q| [Figure::Percentile(response, q), Figure::Percentile(service, q)])
        .collect();
    let withdrawn = words::withdrawn(&hiccups);
    assert_eq!(withdrawn.as_deref(), Some("response p99.9, max; service p99.9, max"));
    hiccups.withdraws = vec![Figure::All];
    assert_eq!(words::withdrawn(&hiccups).as_deref(), Some("all figures"));
}

#[test]
fn what_is_not_known_is_said_in_one_line() {
    let alone =
        check(CheckId::Saturation, CheckVerdict::NotAssessable(Inapplicable::OneAgent), None);
    let facts = facts(Verdict::Valid, vec![alone]);
    assert_eq!(untold(&facts), "saturation: `assay compare` with a run of more agents tells it");
    // As far in as what all titles say.
    let page = crate::run(&facts, &crate::sample::summary(), None).text(crate::Style::PLAIN);
    assert!(
        page.contains(
            "\n  unchecked saturation: `assay compare` with a run of more agents tells it\n"
        ),
        "{page}"
    );
}

#[test]
fn every_word_that_can_be_needed_is_there() {
    for id in CheckId::ALL {
        assert!(!what(id).is_empty());
        for statistic in Statistic::ALL {
            let measure = (statistic, 0.5, Limits::at_most(0.1, 0.2));
            let found = words::reason(&check(id, CheckVerdict::Fail, Some(measure)));
            assert!(found.ends_with(')'), "{found}");
        }
    }
}

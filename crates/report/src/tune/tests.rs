//! A tune that is known by heart, in every form.

use assay_analysis::hallmark::CheckId;
use assay_analysis::slo::{Comparison, Measure, ObjectiveTerm, Scope, Stretch, TermFinding, Value};
use assay_analysis::sweep::{Spread, curve, held_up_to, knee};
use assay_analysis::tune::{
    Figures, Purpose, Request, Search, StepOutcome, StepReason, Undecided, bracket, inversions,
};
use assay_model::{Kind, Nanos};
use expect_test::{Expect, expect, expect_file};

use super::*;
use crate::Style;

const READ_P99: ObjectiveTerm = ObjectiveTerm {
    scope: Scope::Kind(Kind::Read),
    measure: Measure::Latency {
        stretch: Stretch::Response,
        quantile: 0.99,
        limit: Nanos::from_millis(5),
    },
    comparison: Comparison::Below,
};

const ERRORS: ObjectiveTerm = ObjectiveTerm {
    scope: Scope::All,
    measure: Measure::Errors { limit: 0.01 },
    comparison: Comparison::Below,
};

/// A store with a service time of 1 ms that sustains up to `capacity`.
fn answer(request: Request, capacity: f64) -> StepOutcome {
    let holds = request.rate <= capacity;
    let millis = if holds { 1.0 + request.rate / 1_000.0 } else { request.rate / 100.0 };
    let latency = Nanos((millis * 1e6) as u64);
    let count = request.rate as u64 * 10;
    let verdict = if holds { Verdict::Held } else { Verdict::Violated };
    let found = |term, value, over, verdict| TermFinding {
        term,
        value,
        count,
        over,
        dependence: 3.0,
        needed: 897,
        verdict,
    };
    let over = if holds { 0 } else { count / 10 };
    StepOutcome {
        verdict,
        reasons: if holds {
            Vec::new()
        } else {
            vec![StepReason::Objective(0), StepReason::Backlog(37.0)]
        },
        terms: vec![
            found(READ_P99, Value::Latency(latency), over, verdict),
            found(ERRORS, Value::Share(0.0), 0, Verdict::Held),
        ],
        figures: Figures {
            seconds: 10.0,
            offered_per_s: request.rate,
            done_per_s: request.rate.min(1_000.0),
            p50: Nanos::from_millis(1),
            p99: latency,
            p999: latency,
            lag_p99: Nanos::from_micros(20),
            latency: Some(latency),
        },
    }
}

fn tuning(time_course: TuneKind, steps: Vec<Step>) -> Tuning {
    let curve = curve(&steps);
    let held = match time_course {
        TuneKind::Search { best, .. } => best,
        TuneKind::Sweep { held, .. } => held,
    };
    Tuning {
        title: "ycsb-c on sim".to_owned(),
        command: "assay tune ycsb-c -t sim:healthy --slo read.p99<5ms --seed 7".to_owned(),
        dir: "runs/2026-11-21T18-30-12Z-ycsb-c-0007".to_owned(),
        url: "sim:<script>alert(1)</script>".to_owned(),
        is_no_op: false,
        load: "poisson arrivals, at most 4096 in flight, then queue".to_owned(),
        seed: 7,
        machine: "2 × Some CPU, 8 GiB, Linux 6.1".to_owned(),
        version: "0.1.0".to_owned(),
        objective: Some(Objective { terms: vec![READ_P99, ERRORS] }),
        knee: knee(&curve),
        inversions: inversions(&steps),
        bracket: bracket(&steps, held),
        curve,
        time_course,
        steps,
        is_interrupted: false,
        warnings: Vec::new(),
    }
}

fn searched(plan: Plan, mut store: impl FnMut(Request) -> StepOutcome) -> Tuning {
    let mut search = Search::new(plan);
    while let Some(request) = search.request() {
        search.take(store(request));
    }
    let time_course = TuneKind::Search { plan, ending: search.ending(), best: search.best() };
    tuning(time_course, search.steps().to_vec())
}

/// A search that found 800/s.
pub(crate) fn found() -> Tuning {
    let plan = Plan { min: 200.0, within: 0.2, ..Plan::default() };
    searched(plan, |request| answer(request, 820.0))
}

/// A sweep of six rates that holds up to 1000/s.
pub(crate) fn swept() -> Tuning {
    let sweep = Sweep { from: 100.0, to: 10_000.0, points: 6, spread: Spread::Log };
    let step = |(number, rate)| {
        let request = Request { number, rate, purpose: Purpose::Sweep, length: 1 };
        Step { request, outcome: answer(request, 1_000.0) }
    };
    let steps: Vec<Step> = sweep.rates().into_iter().enumerate().map(step).collect();
    let held = held_up_to(&steps);
    tuning(TuneKind::Sweep { sweep, held }, steps)
}

#[test]
fn a_search_is_shown_on_a_terminal() {
    let text = document(&found()).text(Style { letters: Letters::Unicode, ..Style::PLAIN });
    expect_file!["../../snapshots/tune.txt"].assert_eq(&text);
}

#[test]
fn a_sweep_is_shown_on_a_terminal() {
    expect_file!["../../snapshots/sweep.txt"].assert_eq(&document(&swept()).text(Style::PLAIN));
}

#[test]
fn a_search_is_shown_in_markdown() {
    expect_file!["../../snapshots/tune.md.txt"].assert_eq(&document(&found()).markdown());
}

#[test]
fn a_search_is_an_object_for_programs() {
    expect_file!["../../snapshots/tune.json"].assert_eq(&json(&found()));
}

#[test]
fn every_step_is_a_line_with_as_many_cells_as_there_are_titles() {
    let (text, tuning) = (csv(&found()), found());
    let cells: Vec<usize> = text.lines().map(|line| line.split(',').count()).collect();
    assert_eq!(cells, vec![12; tuning.steps.len() + 1]);
    assert!(text.contains("\n1,climb,400,10,400,400,1000000,1400000,"), "{text}");
}

fn first_line(tuning: &Tuning) -> String {
    let text = document(tuning).text(Style { width: 76, ..Style::PLAIN });
    text.split("\n\n").next().unwrap_or_default().to_owned()
}

fn check(tuning: &Tuning, line: &Expect) {
    line.assert_eq(&first_line(tuning));
}

#[test]
fn the_first_line_says_how_it_ended() {
    let plan = Plan::default();
    let at_most = |max| Plan { max: Some(max), confirmations: 1, ..plan };
    check(
        &searched(at_most(400.0), |request| answer(request, 1e6)),
        &expect![[r#"
            SUSTAINED: 400/s with read.p99 < 5 ms, errors < 1 %; confirmed by a fresh
            run, the highest rate that was tried: there may be more
            INTERVAL: held at 400/s, no higher rate failed"#]],
    );
    check(
        &searched(plan, |request| answer(request, 1.0)),
        &expect![[r#"
            NOT SUSTAINED: not even 100/s with read.p99 < 5 ms, errors < 1 %
            INTERVAL: no rate held, failed at 100/s"#]],
    );
    let endless = Plan { steps_max: 3, ..plan };
    check(
        &searched(endless, |request| answer(request, 1e9)),
        &expect![[r#"
            UNDECIDED: the search took too many steps; 400/s held last with read.p99 < 5
            ms, errors < 1 %, unconfirmed
            INTERVAL: held at 400/s, no higher rate failed"#]],
    );
    let mut stopped = found();
    stopped.time_course = TuneKind::Search { plan, ending: None, best: None };
    check(
        &stopped,
        &expect![[r#"
            INTERRUPTED: no rate held yet with read.p99 < 5 ms, errors < 1 %
            INTERVAL: held at 800/s, failed at 840/s
            KNEE: the curve bends upwards at 800/s, 1.80 ms"#]],
    );
    let ending = SearchEnd::Undecided { best: None, why: Undecided::NonMonotone };
    stopped.time_course = TuneKind::Search { plan, ending: Some(ending), best: None };
    assert!(first_line(&stopped).starts_with("UNDECIDED: rates held again and again above"));
}

/// A search that is undecided above 400/s because the client was late.
pub(crate) fn untold() -> Tuning {
    searched(Plan { min: 200.0, ..Plan::default() }, |request| match request.rate > 400.0 {
        false => answer(request, 1e6),
        true => StepOutcome {
            verdict: Verdict::Unknown,
            reasons: vec![StepReason::Objective(0), StepReason::Client(CheckId::WorkerCpu)],
            ..answer(request, 1.0)
        },
    })
}

#[test]
fn missing_facts_of_the_machine_are_named() {
    check(
        &untold(),
        &expect![[r#"
        CANNOT TELL: this machine cannot tell what the store sustains: the client
        was not fit to measure at 800/s (worker-cpu failed); repeat when the machine
        is quiet, from another machine, or with a lower --max
        INTERVAL: held at 400/s, unknown at 800/s, no higher rate failed"#]],
    );
    let object: serde_json::Value = serde_json::from_str(&json(&untold())).expect("it is JSON");
    assert_eq!(object["state"], "cannot-tell");
    assert_eq!(object["interval"]["held_per_s"], 400.0);
    assert_eq!(object["interval"]["unknown_per_s"], 800.0);
    assert!(object["interval"]["failed_per_s"].is_null() && object["rate_per_s"].is_null());
    assert_eq!(object["steps"][2]["reasons"][1]["check"], "worker-cpu");
}

#[test]
fn what_is_not_monotone_is_said() {
    let tuning = searched(Plan::default(), |request| match request.number {
        2 => answer(request, 1.0),
        _ => answer(request, 700.0),
    });
    let text = document(&tuning).text(Style::PLAIN);
    assert!(text.contains("NOT MONOTONE: 400/s failed (step 3) although "), "{text}");
}

#[test]
fn every_reason_has_words() {
    let mut outcome = answer(Request { rate: 100.0, ..swept().steps[0].request }, 1.0);
    outcome.terms[1].value = Value::Share(0.02);
    outcome.terms[1].over = 20;
    outcome.reasons = vec![
        StepReason::Objective(0),
        StepReason::Objective(1),
        StepReason::Undecided(0),
        StepReason::Overload,
        StepReason::Backlog(12.5),
        StepReason::Short,
        StepReason::Rate(0.83),
        StepReason::Hallmark,
        StepReason::Client(CheckId::WorkerCpu),
        StepReason::Broken,
    ];
    expect![[r#"
        read.p99 < 5 ms is broken: 1.00 ms, 100 of 1 000 over it
        errors < 1 % is broken: 20 of 1 000 failed
        read.p99 is not known from 1 000 operations with 100 over, of which
        3 tell as much as one
        it takes about 897
        stopped early: more waited than could still be answered in time
        backlog grows by 12.5/s
        too short to tell whether the backlog grows
        only 83 % of the rate was issued
        the run has no hallmark
        the client may be why, not the store: worker-cpu failed
        the run broke off"#]]
    .assert_eq(
        &words::outcome(&outcome, Letters::Unicode)
            .replace("; ", "\n")
            .replace("which 3", "which\n3"),
    );
}

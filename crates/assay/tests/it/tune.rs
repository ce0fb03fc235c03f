//! Tunes in simulated time, whose true result is known.

use expect_test::expect;
use rustix::process::Signal;
use serde_json::Value;

use crate::place::{Place, Ran};
use crate::queue::highest_rate;
use crate::signals::until_finished;
use crate::transcript::refused;

/// A store that serves 1250 requests per second, one after the other.
const STORE: &str = "sim:healthy?max=1250";

/// A tune of a few records.
fn tune(place: &Place, words: &str) -> Ran {
    place.assay(&format!("tune ycsb-c -t {STORE} --records 50 --seed 7 {words}"))
}

fn steps(result: &Value) -> &[Value] {
    result["steps"].as_array().expect("there are steps")
}

#[test]
fn the_rate_found_is_the_one_that_theory_gives() {
    let place = Place::new();
    let words = format!(
        "tune ycsb-c -t {STORE} --records 50 --seed 5 --slo read.p90<4ms --min 800 --max 1250 \
         --step 10s --within 5% --confirm 1 -q"
    );
    let result = place.json(&words);
    let found = result["rate_per_s"].as_f64().expect("it was found");
    // The response time is the wait with the own service of 0.8 ms.
    let expected = highest_rate(0.9, 0.004 - 0.000_8, 0.000_8);
    assert!((expected - 947.1).abs() < 0.1, "M/D/1 sustains {expected}/s");
    assert!((found / expected - 1.0).abs() < 0.05, "found {found}/s, theory says {expected}/s");
    assert!(found < expected, "what is sustained is proven, so it lies below: {found}/s");
    assert_eq!(result["state"], "found");
    let exceeded = result["search"]["exceeded_by_step"].as_u64().expect("more must fail") as usize;
    let step = &steps(&result)[exceeded];
    assert_eq!((&step["purpose"], &step["verdict"]), (&"exceed".into(), &"violated".into()));
    let ratio = step["rate_per_s"].as_f64().unwrap() / found;
    assert!((1.049..=1.101).contains(&ratio), "{ratio}");
}

#[test]
fn every_step_has_a_run_directory_that_says_how_to_repeat_it() {
    let place = Place::new();
    let words = "--slo p90<50ms --max 400 --step 4s --confirm 1 --run-dir t -q";
    let ran = tune(&place, words).code(0);
    let said = "SUSTAINED: 400/s with p90 < 50 ms, errors < 1 %; ";
    assert!(ran.out.starts_with(said), "{}", ran.out);
    let names = place.list("t");
    assert_eq!(names, ["data-set", "step-001", "step-002", "step-003", "step-004", "tune.json"]);
    let manifest: toml::Table = place.read("t/step-003/run.toml").parse().unwrap();
    let command = manifest["run"]["command"].as_array().unwrap();
    let words: Vec<&str> = command.iter().map(|word| word.as_str().unwrap()).collect();
    assert_eq!(
        words.join(" "),
        "assay run ycsb-c -t sim:healthy?max=1250 --records 50 -q --rate 400 --duration 4s \
         --warm-up 400ms --seed 7 --arrival-seed 10"
    );
    let settings = &manifest["load"]["settings"];
    assert_eq!(settings["tune"]["directory"].as_str(), Some("t"));
    assert_eq!(settings["tune"]["purpose"].as_str(), Some("climb"));
    // The step as a run of its own gives the same figures.
    let again = place.json(&words[1..].join(" "));
    let reported = place.json("report t/step-003");
    assert!(reported["overall"]["counts"]["done"].as_u64().is_some_and(|done| done > 1_000));
    assert_eq!(again["overall"], reported["overall"]);
}

#[test]
fn a_store_without_the_minimal_operations_is_reported() {
    let place = Place::new();
    let ran = tune(&place, "--slo p99<20ms --min 2k/s --step 3s -q").code(99);
    assert!(ran.out.starts_with("NOT SUSTAINED: not even 2 000/s with p99 < 20 ms"), "{}", ran.out);
}

#[test]
fn the_same_seed_finds_the_same() {
    let result = || {
        let place = Place::new();
        let words = "--slo p50<20ms --max 400 --step 4s --run-dir t --format csv -q";
        tune(&place, words).code(0).out
    };
    assert_eq!(result(), result());
}

#[test]
fn a_sweep_draws_the_curve_with_its_limit() {
    let place = Place::new();
    let words = "--slo p90<20ms --sweep rate=200..1400:lin:7 --step 4s -o curve.html -q";
    tune(&place, words).code(0);
    let page = place.read("curve.html");
    for part in ["<strong>swept</strong>", "<strong>knee</strong>", "objective", "tune-latency"] {
        assert!(page.contains(part), "{part} is missing");
    }
    let words = "--sweep rate=100..800:log:4 --step 2s --format json -q";
    let result = tune(&place, words).code(0).json();
    let rates: Vec<u64> =
        steps(&result).iter().map(|step| step["rate_per_s"].as_f64().unwrap() as u64).collect();
    assert_eq!(rates, [100, 200, 400, 800]);
    assert_eq!((&result["rate_per_s"], &result["state"]), (&Value::Null, &"swept".into()));
}

#[test]
fn a_tune_that_was_cut_off_goes_on() {
    let place = Place::new();
    let words = "--slo p50<20ms --max 400 --step 4s --run-dir t --format csv -q";
    let whole = tune(&place, words).code(0).out;
    place.remove("t/step-004");
    let manifest = place.read("t/step-003/run.toml");
    place.write("t/step-003/run.toml", manifest.replace("\"finished\"", "\"running\""));
    tune(&place, words).code(2).says("go on with --resume");
    let again = tune(&place, &format!("{words} --resume")).code(0).out;
    assert_eq!(again, whole);
    assert!(place.list("t").contains(&"step-003-cut-off-1".to_owned()));
    let other = words.replace("--step", "--min 150 --step");
    tune(&place, &format!("{other} --resume")).code(2).says("is of another tune");
}

#[test]
fn an_overloaded_store_fails_the_step_before_it_violates_the_objective() {
    let place = Place::new();
    let words = "tune ycsb-c -t sim:?max=1000 --records 50 --seed 7 --slo p99<500ms --min 1020 \
                 --max 1020 --arrivals constant -q";
    // At the usual step of 10 s and at shorter ones, which have few intervals or none.
    for step in ["", "--step 5s", "--step 1s"] {
        place.assay(&format!("{words} {step}")).code(99).shows("backlog grows by 20");
    }
}

#[test]
fn bursts_do_not_fail_a_store_that_serves_them() {
    let place = Place::new();
    let words = "tune ycsb-c -t sim:?latency=1ms --records 50 --slo p99<50ms --min 100 --max 400 \
                 --arrivals mmpp2:10,1s,9s --confirm 1 --seed";
    for seed in 1..=3 {
        place.fine(&format!("{words} {seed} -q")).shows("SUSTAINED: 400/s");
    }
    // Processes of several operations are issued at their rate, too.
    let words = "tune ycsb-f -t sim:?latency=1ms --records 50 --slo p99<50ms --min 100 --max 400 \
                 --confirm 1 --seed 3 -q";
    place.fine(words).shows("SUSTAINED: 400/s");
}

#[test]
fn a_step_that_broke_off_does_not_end_those_after_it() {
    let place = Place::new();
    let words = "--slo read.p90<20ms --step 4s --in-flight 50 --overflow abort --confirm 1 \
                 --min 400 --within 20% --format json -q";
    let result = tune(&place, words).code(0).json();
    let steps = steps(&result);
    let broken = steps.iter().position(|step| step["reasons"][0]["reason"] == "broken");
    let broken = broken.unwrap_or_else(|| panic!("no step broke off: {steps:#?}"));
    assert!(steps[broken..].iter().any(|step| step["verdict"] == "held"), "{steps:#?}");
    assert_eq!(result["state"], "found");
}

#[test]
fn an_interrupt_between_two_steps_ends_a_tune_with_its_result() {
    let place = Place::new();
    let words = "tune ycsb-c -t null: --slo p50<10s --min 20k --step 1s --floor 0s --run-dir t -q";
    let running = place.start(words);
    until_finished(&place, "t/step-001");
    running.signal(Signal::INT);
    running.wait().code(130).shows("20 000/s");
    assert!(place.list("t").contains(&"tune.json".to_owned()));
}

#[test]
fn a_store_in_wall_time_is_tuned_too() {
    let place = Place::new();
    let words = "tune ycsb-a -t memory: --records 100 --slo p50<10s --min 1k/s --max 1k/s \
                 --step 500ms --confirm 0 --floor 0s --format json";
    let ran = place.assay(words).says("loading first").says("step 1 climb 1 000/s");
    let result = ran.json();
    // How much of the rate a busy machine issues is up to it; all else is not.
    match result["state"].as_str() {
        Some("found") => assert_eq!((ran.code, &result["rate_per_s"]), (Some(0), &1_000.0.into())),
        Some("below-floor" | "cannot-tell") => assert_eq!(ran.code, Some(99)),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_tune_needs_an_objective_with_a_limit() {
    refused(
        &Place::new(),
        &expect![[r#"
            $ assay tune ycsb-c -t sim:
            what must hold? give --slo, for example --slo 'p99<5ms'
            $ assay tune ycsb-c -t sim: --slo read.p99
            --slo: at column 1: "read.p99" has no limit; write read.p99<5ms or errors<0.1%
            $ assay tune ycsb-c -t sim: --slo 'read.p99<fast'
            --slo: at column 10: "fast" is no limit: a latency needs a time with its unit, such as
            5ms or 250us
            $ assay tune ycsb-c -t sim: --slo 'read.p99<5ms,erors<1%'
            --slo: at column 14: there is no "erors"; did you mean errors?
            $ assay tune ycsb-c -t sim: --slo 'mean<5ms'
            --slo: at column 1: a mean tells nothing about those who wait longest; bound a
            percentile: p99
            $ assay tune ycsb-c -t sim: --slo 'update.p99<5ms'
            --slo: ycsb-c has no update operations; it has read
        "#]],
    );
}

#[test]
fn bounds_of_a_search_make_sense() {
    refused(
        &Place::new(),
        &expect![[r#"
            $ assay tune ycsb-c -t sim: --slo 'p99<5ms' --min 2k --max 1k
            --max: 1000/s is below --min, which is 2000/s: rates rise
            $ assay tune ycsb-c -t sim: --slo 'p99<5ms' --within 0%
            --within: give a percentage from 0.1% to 50%, such as 2%
            $ assay tune ycsb-c -t sim: --slo 'p99<5ms' --step 0s
            --step: nothing would be issued; give more than 0s
            $ assay tune ycsb-c -t sim: --slo 'p99<5ms' --confirm 1k
            --confirm: give at most 100
            $ assay tune ycsb-c -t sim: --slo 'p99<5ms' --sweep rate=1k..2k:log:4 --max 3k
            --max: --sweep names its own rates and searches nothing
            $ assay tune ycsb-c -t sim: --slo 'p99<5ms' --sweep rate=2k..1k:log:4
            --sweep: 2k..1k does not rise; rates are approached from below
            $ assay tune ycsb-c -t sim: --slo 'p99<5ms' --resume
            --resume: which tune goes on? name its directory with --run-dir
        "#]],
    );
}

#[test]
fn a_tune_chooses_rate_with_duration_itself() {
    refused(
        &Place::new(),
        &expect![[r#"
            $ assay tune ycsb-c -t sim: --slo 'p99<5ms' --closed 4
            --closed: a tune issues in open loop: sessions that wait for the store have no rate that
            could be sought
            $ assay tune ycsb-c -t sim: --slo 'p99<5ms' --think 1ms
            --think: a tune issues in open loop: sessions that wait for the store have no rate that
            could be sought
            $ assay tune ycsb-c -t sim: --slo 'p99<5ms' --target-throughput 1k
            --target-throughput: a tune issues in open loop: sessions that wait for the store have
            no rate that could be sought
            $ assay tune ycsb-c -t sim: --slo 'p99<5ms' --rate 1k
            --rate: the rate is what a tune seeks; bound it with --min or --max
            $ assay tune ycsb-c -t sim: --slo 'p99<5ms' --duration 10s
            --duration: --step says how long a step of a tune is
            $ assay tune ycsb-c -t sim: --slo 'p99<5ms' --format ycsb
            --format: a tune is shown as text, json, csv, md or html; the other formats are for one
            run (`assay report RUN --format …`)
        "#]],
    );
}

//! Runs against stores that compute their responses: time is simulated, so no test waits.

use std::fs;

use assay_history::{State, TruthRow, read_truth};
use assay_model::{Nanos, Outcome, Phase, Record};
use rustix::process::Signal;

use crate::place::{Place, wait_until};
use crate::run_dir::{
    assert_balanced, assert_sealed, count, counted, figure, manifest, number, records, text,
};

const STEADY: &str = "--rate 1k/s --arrivals constant --records 100 --seed 5 -q --format json";

#[test]
fn a_hiccup_is_the_sawtooth_of_the_closed_form() {
    let place = Place::new();
    let words = "run ycsb-c -t sim:hickup1000_max1250 --operations 37000 --run-dir b";
    let ran = place.fine(&format!("{words} {STEADY}"));
    assert_balanced(&ran.json());
    let records = records(&place.path("b"));
    assert_eq!(records.len(), 37_000);
    // A request that does not queue takes its own service, 1/1250 s.
    let healthy = Nanos::from_micros(800);
    let response: Vec<Nanos> = records.iter().map(Record::response).collect();
    let peak = response.iter().max().expect("there are records").as_secs_f64();
    assert!((peak / 1.0008 - 1.0).abs() < 0.01, "peak {peak} s");
    let slow = |record: &&Record| record.response() > healthy + Nanos::from_micros(1);
    let last = records.iter().filter(slow).map(|record| record.intended).max();
    let back = last.expect("the hiccup is felt").as_secs_f64() - 30.0 + 0.001;
    assert!((back / 5.0 - 1.0).abs() < 0.01, "back after {back} s");
    assert_eq!(records.iter().filter(slow).count(), 5_000);
}

/// A store that stalls for five seconds and otherwise serves 50,000 operations per second.
const STILL: &str = "run ycsb-c -t sim:healthy?max=50000&hiccup=7s+for+5s --rate 2k/s \
                     --duration 20s --records 100 --seed 5 -q --run-dir b";

#[test]
fn a_stalled_store_is_not_available() {
    let place = Place::new();
    let ran = place.fine(&format!("{STILL} --in-flight 1024"));
    ran.shows("OUTAGE: 4.").shows("held back by the store").shows("silence");
    let result = place.json("report b");
    let at = |path: &str| figure(&result, &format!("/availability/{path}"));
    // The gap that the records themselves have.
    let mut ended: Vec<Nanos> = records(&place.path("b")).iter().map(|one| one.ended).collect();
    ended.sort_unstable();
    let gap = ended.windows(2).map(|two| (two[1].since(two[0]), two[0])).max().unwrap();
    let silence = at("longest_silence/until_ns") - at("longest_silence/from_ns");
    assert!((4.9e9..5.1e9).contains(&silence), "{silence}");
    assert!((silence - gap.0.0 as f64).abs() < 5e6, "{silence} beside {gap:?}");
    assert!((0.75..0.82).contains(&at("in_time_ratio")), "{}", at("in_time_ratio"));
    assert!(at("late") > 7_500.0 && at("success_ratio") == 1.0);
    // The bound held arrivals back because the store did not respond: the run is valid.
    assert_eq!(text(&result, "/hallmark/verdict"), "valid-with-remarks");
    assert!(number(&result, "/held_back/operations") > 8_000);
    assert!(number(&result, "/held_back/own_lag/percentiles_ns/p99") < 1_000_000);
    for format in ["md", "html"] {
        let displayed = place.fine(&format!("report b --format {format}")).out;
        assert!(displayed.contains("without any response"), "{format} does not say it");
    }
}

#[test]
fn a_deadline_decides_what_is_late() {
    let place = Place::new();
    place.fine(&format!("{STILL} --deadline 10s"));
    let result = place.json("report b");
    assert_eq!(number(&result, "/availability/late"), 0);
    let many = |name: &str| result["availability"][name].as_array().map(Vec::len);
    assert_eq!((many("outages"), many("silences")), (Some(0), Some(1)));
    let other = STILL.replace("--run-dir b", "--run-dir c");
    place.refuses(&format!("{other} --deadline 0s"), "deadline");
}

#[test]
fn the_same_seed_gives_the_same_bytes() {
    let place = Place::new();
    let words = "run ycsb-a -t sim:hickup200_max400?silent=0.01&refused=0.02 --rate 300/s \
                 --operations 12000 --records 100 --timeout 2s --seed 7 -q";
    for run_dir in ["first", "second"] {
        // The second is made at another moment, which must leave no trace in the history.
        place.fine(&format!("{words} --run-dir {run_dir}"));
    }
    let bytes = |run_dir: &str, file: &str| place.bytes(&format!("{run_dir}/{file}"));
    let part = "history/agent=0/part-0.parquet";
    for file in [part, "truth.parquet", "events.parquet", "load/history/agent=0/part-0.parquet"] {
        assert!(bytes("first", file) == bytes("second", file), "{file} differs");
    }
    place.fine(&words.replace("--seed 7", "--seed 8 --run-dir third"));
    assert!(bytes("first", part) != bytes("third", part), "the seed changes nothing");
}

#[test]
fn the_truth_lies_beside_the_history() {
    let place = Place::new();
    let words = "run ycsb-a -t sim:healthy?silent=0.05&refused=0.1&max=5000 --operations 2000";
    place.fine(&format!("{words} --timeout 500ms --run-dir b {STEADY}"));
    let records = records(&place.path("b"));
    let truths: Vec<TruthRow> =
        read_truth(&place.path("b")).expect("it can be read").expect("it is there");
    assert_eq!(truths.len(), records.len());
    let ill = |name: &str| truths.iter().filter(|row| row.faults == name).count() as u64;
    assert!(ill("refused") > 100 && ill("silent") > 50, "{} {}", ill("refused"), ill("silent"));
    assert_eq!(ill("refused"), count(&records, Outcome::Refused));
    assert_eq!(ill("silent"), count(&records, Outcome::Unknown));
    for (record, truth) in records.iter().zip(&truths) {
        assert_eq!((record.started, record.session), (truth.at, truth.session));
        match truth.answered_at {
            Some(answered_at) => assert_eq!(record.ended, answered_at),
            None => assert_eq!(record.service(), Nanos::from_millis(500)),
        }
    }
}

#[test]
fn a_closed_loop_that_is_paced_shows_the_omission_in_one_report() {
    let place = Place::new();
    let words = "run ycsb-c -t sim:hickup1000_max1250 --closed 4 --target-throughput 1k/s \
                 --operations 36000 --records 100 --seed 5 -q --run-dir b";
    place.fine(words);
    let records = records(&place.path("b"));
    let longer = |latency: fn(&Record) -> Nanos| {
        records.iter().filter(|record| latency(record) > Nanos::from_millis(500)).count()
    };
    // Each of four sessions has one slow request; half of the 5,000 that were due waited so long.
    assert_eq!(longer(Record::service), 4);
    assert!((2_450..=2_550).contains(&longer(Record::response)), "{}", longer(Record::response));
    assert!(records.iter().all(|record| record.session < 4));
}

#[test]
fn ten_simulated_minutes_have_a_warm_up_that_is_left_out() {
    let place = Place::new();
    let words = "run ycsb-b -t sim:goodbadugly --rate 5/s --warm-up 1m --duration 9m";
    let result = place.json(&format!("{words} --records 50 --seed 1 -q --run-dir b"));
    let records = records(&place.path("b"));
    let warm = records.iter().filter(|record| record.phase == Phase::WarmUp);
    assert!(warm.clone().all(|record| record.intended < Nanos::from_secs(60)));
    assert!(warm.count() > 200);
    assert!(records.iter().all(|record| record.intended < Nanos::from_secs(600)));
    let done = figure(&result, "/overall/rates/done_per_s");
    assert!((done / 5.0 - 1.0).abs() < 0.1, "{done}/s");
}

#[test]
fn what_does_not_fit_in_is_dropped_or_ends_the_run() {
    let place = Place::new();
    let words = |policy: &str| {
        format!(
            "run ycsb-c -t sim:hickup1000_max1250 --operations 33000 --in-flight 100 \
             --overflow {policy} --run-dir {policy} {STEADY}"
        )
    };
    let dropped = place.fine(&words("drop")).json();
    assert_balanced(&dropped);
    // For nearly a second no operation ends, and a hundred are in flight.
    let count = counted(&dropped, "dropped");
    assert!((850..=950).contains(&count), "{count} dropped");
    place.assay(&words("abort")).code(1);
    assert_sealed(&place, "abort", State::Failed);
    let requested = records(&place.path("abort"));
    assert!((30_000..31_000).contains(&requested.len()), "{} records", requested.len());
}

#[test]
fn simulated_time_has_one_worker_and_says_so() {
    let place = Place::new();
    let words = "run ycsb-c -t sim:hickup200_max10000 --rate 100/s --operations 200 --threads 4";
    let ran = place.fine(&format!("{words} --records 50 --run-dir b"));
    ran.says("runs in simulated time with one worker").shows("in simulated time; 1 worker");
    let manifest = manifest(&place, "b");
    assert_eq!(manifest.load.workers, 1);
    assert!(manifest.load.settings.simulated_time);
    place.fine("report b --format md").shows("in simulated time");
    // Time that stands still ends the run.
    let words = "run ycsb-c -t sim:healthy --closed 2 --duration 1s --records 10 --run-dir c";
    place.assay(&format!("{words} --seed 1 -q")).code(1).shows("simulated time stands still");
    assert_sealed(&place, "c", State::Failed);
}

#[test]
fn an_interrupt_ends_simulated_time_as_any_other() {
    let place = Place::new();
    let words = "run ycsb-c -t sim:hickup200_max400 --rate 1/s --duration 100000h --records 10";
    let running = place.start(&format!("{words} --seed 1 -q --format json --run-dir b"));
    let block = place.path("b/blocks/lane=0.blk");
    wait_until("a block is written", || fs::metadata(&block).is_ok_and(|file| file.len() > 10_000));
    running.signal(Signal::INT);
    let ran = running.wait().code(130);
    assert_eq!(text(&ran.json(), "/run/state"), "interrupted");
    assert_sealed(&place, "b", State::Interrupted);
}

//! A run with two faults and stale reads, in every form.

use assay_analysis::Window;
use assay_analysis::recovery::{AnnualRate, FaultSpan, GoodputBaseline, PooledFaults, StateSeries};
use expect_test::expect_file;

use super::*;
use crate::sample;

fn seconds(at: u64) -> Nanos {
    Nanos::from_secs(at)
}

fn outcome(what: &str, at: u64, mended: Option<u64>, ttr90: TimeTo) -> InjectionOutcome {
    InjectionOutcome {
        fault: FaultSpan {
            what: what.to_owned(),
            sort: "kill leader".to_owned(),
            at: seconds(at),
            applied: None,
            mending: mended.map(seconds),
            mended: mended.map(seconds),
        },
        until: seconds(60),
        first_error: Some(Nanos::from_millis(3)),
        detection: Some(Nanos::from_millis(12)),
        first_success: Some(TimeTo::After(Nanos::from_millis(1_850))),
        ttr90,
        after_mending: None,
        tail: TimeTo::After(seconds(4)),
        lost: 1_854.4,
        lost_s: 1.8544,
        lost_writes: Some(17),
        burst: Some(1.31),
        resolution: Nanos::from_millis(134),
    }
}

fn pool(max: TimeTo) -> Pooled {
    Pooled {
        censored: 1,
        median: Some(Nanos::from_millis(1_900)),
        max,
        mean: Nanos::from_millis(5_100),
        is_lower_bound: true,
        interval: Some((Nanos::from_millis(1_900), Nanos::from_millis(8_200))),
    }
}

/// Two faults, the second of which the run's end cuts off.
pub(crate) fn facts() -> AvailabilityFacts {
    use ServiceState::{Degraded, Down, Up};
    let mut states = vec![Up; 60];
    (states[20], states[21], states[50]) = (Down, Degraded, Degraded);
    let mut shortfalls = vec![Shortfalls::default(); 60];
    shortfalls[20] = Shortfalls { goodput: true, errors: true, latency: false };
    shortfalls[21] = Shortfalls { latency: true, ..Shortfalls::default() };
    shortfalls[50] = Shortfalls { latency: true, ..Shortfalls::default() };
    let spread = Spread { median: 1.85, max: 1.9, mean: 1.85 };
    let classes = ["stale reads", "not linearizable"].map(|name| ViolationClass {
        name,
        per_second: vec![(21, 3)],
        is_lower_bound: false,
    });
    AvailabilityFacts {
        recovery: Recovery {
            baseline: GoodputBaseline {
                part: BaselinePart::BeforeFaults,
                window: Window { from: seconds(5), until: seconds(20) },
                in_time_per_s: 1_000.0,
                interval: Some((990.0, 1_010.0)),
                in_time_share: 0.999_9,
                done_per_s: 1_000.0,
                p99: Nanos::from_micros(1_250),
                is_open: true,
            },
            states: StateSeries { from: Nanos::ZERO, width: seconds(1), states, shortfalls },
            injections: vec![
                outcome(
                    "kill leader (node 2)",
                    20,
                    Some(30),
                    TimeTo::After(Nanos::from_millis(1_900)),
                ),
                outcome("kill leader (node <1>)", 50, None, TimeTo::NotWithin(seconds(10))),
            ],
            pooled: vec![PooledFaults {
                sort: "kill leader".to_owned(),
                injections: 2,
                ttr90: pool(TimeTo::NotWithin(seconds(10))),
                tail: pool(TimeTo::After(seconds(4))),
                detection: Some(spread),
                lost_s: spread,
            }],
        },
        what_if: Some(WhatIf {
            parts: vec![WhatIfPart {
                rate: AnnualRate { fault: "kill".to_owned(), per_year: 12.0 },
                injections: 2,
                mean_s: Some(5.1),
                is_lower_bound: true,
            }],
            unavailable_s: Some(61.2),
            interval_s: None,
            lost_s: Some(22.25),
        }),
        consistability: Some((
            classes.to_vec(),
            Consistability {
                clean: [0.95, 0.02, 0.0],
                violated: vec![[0.0, 0.01, 0.02], [0.0, 0.0, 0.02]],
                counts: vec![[0, 1, 2], [0, 0, 3]],
            },
        )),
    }
}

#[test]
fn tables_and_sentences_say_what_was_compared_and_what_follows() {
    let facts = facts();
    let letters = Letters::Ascii;
    let pooled = pooled(&facts, letters).expect("two of a sort");
    let table = consistability_table(&facts).expect("it was judged");
    let tables = [injections(&facts, Room::Narrow, letters), pooled, table];
    let mut texts = vec![states(&facts, letters), baseline(&facts, letters)];
    texts.extend(tables.iter().map(|table| table.lines().join("\n")));
    texts.extend(what_if(&facts, letters));
    expect_file!["../../snapshots/recovery.txt"].assert_eq(&(texts.join("\n\n") + "\n"));
}

#[test]
fn a_share_close_to_one_keeps_its_nines() {
    assert_eq!(nines(0.999_998_06), "99.99981 %");
    assert_eq!(nines(0.98), "98.00 %");
}

#[test]
fn every_format_of_a_report_has_the_faults() {
    let facts = crate::Facts { availability: Some(facts()), ..sample::facts() };
    let summary = sample::summary();
    let text = crate::run(&facts, &summary, None).text(crate::Style::PLAIN);
    assert!(text.contains("kill leader (node 2)") && text.contains("before the first fault"));
    let markdown = crate::run(&facts, &summary, None).markdown();
    assert!(markdown.contains("| kill leader (node 2)"), "{markdown}");
    let page = crate::run(&facts, &summary, None).page();
    assert!(page.contains("<section id=\"availability\"") && page.contains("node &lt;1&gt;"));
    let json: serde_json::Value =
        serde_json::from_str(&crate::json(&facts, &summary)).expect("it is JSON");
    let injections = &json["recovery"]["injections"];
    assert_eq!(injections[0]["ttr90"]["ns"], 1_900_000_000_u64);
    assert_eq!(injections[1]["ttr90"]["is_censored"], true);
    assert_eq!(json["recovery"]["states"]["shares"]["up"], 57.0 / 60.0);
}

#[test]
fn faults_and_states_are_bands_of_the_charts() {
    let mut availability = facts();
    let fault = &mut availability.recovery.injections[0].fault;
    (fault.at, fault.mending, fault.mended) = (seconds(2), None, Some(seconds(3)));
    availability.recovery.states.states[2] = ServiceState::Down;
    let facts = crate::Facts { availability: Some(availability), ..sample::facts() };
    let page = crate::run(&facts, &sample::summary(), None).page();
    let without = crate::run(&sample::facts(), &sample::summary(), None).page();
    for band in ["<path class=\"fault\"", "<path class=\"down\""] {
        // Latency, throughput and lag; the second fault lies beyond their axis.
        assert_eq!((page.matches(band).count(), without.matches(band).count()), (3, 0), "{band}");
    }
}

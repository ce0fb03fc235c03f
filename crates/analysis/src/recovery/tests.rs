//! Recoveries of histories whose outages are known to the millisecond.

use assay_model::{Event, EventKind, Kind, Nanos, Outcome, Reason, Record};

use super::injection::TimeTo::{After, NotWithin};
use super::*;
use crate::tests::{done, send};
use crate::{AnalysisOptions, LoadModel, Summary};

const SECOND: u64 = 1_000_000_000;
/// The resolution of recoveries at 1,000/s: two bins of 67 ms, the first begun already.
const RESOLUTION: Nanos = Nanos(3 << 26);

fn seconds(at: f64) -> Nanos {
    Nanos((at * 1e9).round() as u64)
}

/// A read each millisecond for so many seconds that takes 1 ms, or what `change` makes of it.
fn reads(until: u64, change: impl Fn(Nanos, &mut Record)) -> Vec<Record> {
    let read = |index: u64| {
        let at = Nanos(index * 1_000_000);
        let mut record = done(index, Kind::Read, at, at, at + Nanos(1_000_000));
        change(at, &mut record);
        record
    };
    (0..until * 1000).map(read).collect()
}

/// The same, but that nothing gets an answer that comes within one of `outages`, in seconds.
fn interrupted(until: u64, outages: &[(f64, f64)]) -> Vec<Record> {
    reads(until, |at, record| {
        if outages.iter().any(|(from, until)| (seconds(*from)..seconds(*until)).contains(&at)) {
            give_up(record);
        }
    })
}

/// It gets no answer, and is given up after a second.
fn give_up(record: &mut Record) {
    (record.outcome, record.reason, record.found) = (Outcome::Unknown, Reason::Timeout, false);
    record.ended = record.started + Nanos(SECOND);
}

fn analyzed(load: LoadModel, until: u64, records: &[Record]) -> Summary {
    let window = Window { from: Nanos::ZERO, until: Nanos::from_secs(until) };
    send(AnalysisOptions { window: Some(window), load, ..AnalysisOptions::default() }, records)
}

const OPEN: LoadModel = LoadModel::Open { rate: Some(1000.0), limit: None };

fn event(at: f64, kind: EventKind, text: &str) -> Event {
    Event { at: seconds(at), kind, text: text.to_owned() }
}

fn fault(at: f64, text: &str) -> Event {
    event(at, EventKind::Fault, text)
}

fn recovered(until: u64, records: &[Record], events: &[Event]) -> Recovery {
    let summary = analyzed(OPEN, until, records);
    recovery(&summary, summary.window, &faults(events)).expect("there is a baseline")
}

/// The same of 40 seconds of a session that waits for its answers, with a fault after 20.
fn recovered_closed(records: &[Record]) -> Recovery {
    let closed = LoadModel::Closed { sessions: 1, target: None };
    let summary = analyzed(closed, 40, records);
    let events = [fault(20.0, "lab: freeze node 1")];
    recovery(&summary, summary.window, &faults(&events)).expect("there is a baseline")
}

fn is_near(found: TimeTo, expected: f64, resolution: Nanos) -> bool {
    let expected = seconds(expected);
    matches!(found, After(time) if expected <= time && time <= expected + resolution)
}

#[test]
fn an_outage_is_measured_from_its_fault_to_its_end() {
    let records = interrupted(40, &[(20.0, 22.5)]);
    let found = recovered(40, &records, &[fault(20.0, "lab: kill node 1")]);
    let [one] = &found.injections[..] else { panic!("one injection") };
    assert_eq!(one.first_error, Some(Nanos::ZERO));
    assert_eq!(one.detection, Some(Nanos::from_secs(1)), "the first was given up after a second");
    assert_eq!(one.first_success, Some(After(seconds(2.5))));
    assert!(is_near(one.ttr90, 2.5, RESOLUTION), "{:?}", one.ttr90);
    assert_eq!((one.lost, one.lost_s), (2500.0, 2.5));
    assert_eq!((one.until, one.after_mending), (seconds(40.0), None));
    let base = &found.baseline;
    assert_eq!((base.part, base.in_time_per_s), (BaselinePart::BeforeFaults, 1000.0));
    assert_eq!(base.interval, Some((1000.0, 1000.0)));
    assert_eq!(base.window, Window { from: Nanos::ZERO, until: seconds(20.0) });
    let states = &found.states;
    let stretch = |from, until, state| {
        (Window { from: Nanos::from_secs(from), until: Nanos::from_secs(until) }, state)
    };
    assert_eq!(
        states.stretches(),
        [
            stretch(0, 20, ServiceState::Up),
            stretch(20, 22, ServiceState::Down),
            stretch(22, 23, ServiceState::Degraded),
            stretch(23, 40, ServiceState::Up),
        ]
    );
    let wrong = |from, until| {
        let shortfalls = states.shortfalls_in(stretch(from, until, ServiceState::Down).0);
        [shortfalls.goodput, shortfalls.errors, shortfalls.latency]
    };
    assert_eq!(wrong(0, 20), [false; 3]);
    assert_eq!(wrong(20, 22), [true, true, false], "what was given up has no response");
    assert_eq!(states.share(ServiceState::Down), 0.05);
    assert_eq!(states.time(ServiceState::Up), Nanos::from_secs(37));
}

#[test]
fn a_recovery_that_relapses_is_none() {
    let records = interrupted(40, &[(20.0, 22.0), (24.0, 25.0)]);
    let events = [
        fault(20.0, "lab: kill leader (node 2)"),
        fault(23.9, "lab: restart node 2"),
        event(24.5, EventKind::Warning, "lab: restart node 2 is done, 0.6 s after it began"),
    ];
    let found = recovered(40, &records, &events);
    let one = &found.injections[0];
    assert_eq!(one.fault.sort, "kill leader");
    assert_eq!(one.fault.mending, Some(seconds(23.9)));
    assert_eq!(one.fault.mended, Some(seconds(24.5)));
    assert_eq!(one.first_success, Some(After(seconds(2.0))));
    assert!(is_near(one.ttr90, 5.0, RESOLUTION), "{:?}", one.ttr90);
    let after = one.after_mending.expect("it was mended before");
    assert!(after >= seconds(1.1) && after <= seconds(1.1) + RESOLUTION, "{after}");
    assert_eq!(one.lost, 3000.0);
}

#[test]
fn a_recovery_that_the_end_cuts_off_is_censored() {
    let records = interrupted(30, &[(20.0, 26.0)]);
    // Four seconds of goodput are no recovery yet.
    let found = recovered(30, &records, &[fault(20.0, "lab: kill node 1")]);
    assert_eq!(found.injections[0].ttr90, NotWithin(seconds(10.0)));
    let [pooled] = &found.pooled[..] else { panic!("one sort") };
    assert_eq!((pooled.ttr90.censored, pooled.ttr90.median), (1, None));
    assert!(pooled.ttr90.is_lower_bound);
    // Neither are they before the next fault.
    let events = [fault(20.0, "lab: kill node 1"), fault(28.0, "lab: kill node 2")];
    let found = recovered(40, &interrupted(40, &[(20.0, 26.0)]), &events);
    assert_eq!(found.injections[0].ttr90, NotWithin(seconds(8.0)));
    assert_eq!(found.injections[1].ttr90, After(Nanos::ZERO));
    assert_eq!(found.pooled[0].injections, 2, "both are kill node");
}

#[test]
fn a_fault_that_nobody_notices_costs_nothing() {
    let found = recovered(30, &reads(30, |_, _| {}), &[fault(10.0, "lab: freeze node 3")]);
    let one = &found.injections[0];
    assert_eq!((one.ttr90, one.tail), (After(Nanos::ZERO), After(Nanos::ZERO)));
    assert_eq!((one.lost, one.first_error, one.first_success), (0.0, None, None));
    assert_eq!((one.detection, one.burst), (None, None));
    assert_eq!(found.states.share(ServiceState::Up), 1.0);
}

#[test]
fn of_a_fault_that_was_hardly_observed_nobody_says_that_it_costs_nothing() {
    let records = reads(30, |_, _| {});
    // Until the next fault, until the end of the run.
    let events = [fault(20.0, "lab: freeze node 3"), fault(24.0, "lab: kill node 1")];
    let found = recovered(30, &records, &events);
    let [short, long] = &found.injections[..] else { panic!("two injections") };
    let censored = NotWithin(seconds(4.0));
    assert_eq!((short.ttr90, short.tail, short.lost), (censored, censored, 0.0));
    assert_eq!((long.ttr90, long.tail), (After(Nanos::ZERO), After(Nanos::ZERO)));
    let found = recovered(30, &records, &[fault(28.0, "lab: kill node 1")]);
    assert_eq!(found.injections[0].ttr90, NotWithin(seconds(2.0)));
}

#[test]
fn latency_recovers_later_than_goodput() {
    // Slow, but within the deadline, until 28 s.
    let records = reads(40, |at, record| {
        let slow = Nanos(20_000_000);
        if (seconds(20.0)..seconds(21.0)).contains(&at) {
            give_up(record);
        } else if (seconds(21.0)..seconds(28.0)).contains(&at) {
            record.ended = record.started + slow;
        }
    });
    let found = recovered(40, &records, &[fault(20.0, "lab: kill node 1")]);
    let one = &found.injections[0];
    assert!(is_near(one.ttr90, 1.0, RESOLUTION), "{:?}", one.ttr90);
    assert_eq!(one.tail, After(seconds(8.0)));
    assert_eq!(found.states.time(ServiceState::Degraded), Nanos::from_secs(7));
    let slow = Window { from: Nanos::from_secs(21), until: Nanos::from_secs(28) };
    let wrong = found.states.shortfalls_in(slow);
    assert_eq!(wrong, Shortfalls { latency: true, ..Shortfalls::default() });
}

#[test]
fn the_catch_up_after_a_stall_is_a_burst() {
    // Everything that was meant for 20 to 23 s is answered at 23.5 s, most of it too late.
    let records = reads(40, |at, record| {
        if (seconds(20.0)..seconds(23.0)).contains(&at) {
            record.ended = seconds(23.5);
        }
    });
    let found = recovered(40, &records, &[fault(20.0, "lab: freeze node 1")]);
    let one = &found.injections[0];
    // In the interval from 23 s: 3,000 late ones, and 999 of its own, the last ends at 24 s.
    assert_eq!(one.burst, Some(3.999));
    assert_eq!(one.lost, 2500.0, "what was meant for 22.5 s or later came in time");
    assert_eq!(one.first_error, None, "all were answered");
}

#[test]
fn in_an_open_loop_a_rate_that_falls_is_no_fault() {
    let mut records = reads(40, |_, _| {});
    records.retain(|record| record.intended < seconds(20.0) || record.index % 4 == 0);
    let found = recovered(40, &records, &[fault(15.0, "lab: kill node 1")]);
    assert_eq!(found.injections[0].ttr90, After(Nanos::ZERO));
    assert_eq!(found.states.share(ServiceState::Up), 1.0);
}

#[test]
fn in_a_closed_loop_silence_is_loss() {
    // A session that waits from 20 to 24 s issues nothing meanwhile.
    let mut records = reads(40, |_, _| {});
    records.retain(|record| !(seconds(20.0)..seconds(24.0)).contains(&record.intended));
    let found = recovered_closed(&records);
    let one = &found.injections[0];
    assert!(is_near(one.ttr90, 4.0, one.resolution + RESOLUTION), "{:?}", one.ttr90);
    assert!((one.lost - 4000.0).abs() < 150.0, "{}", one.lost);
    assert_eq!(found.states.time(ServiceState::Down), Nanos::from_secs(4));
}

#[test]
fn a_session_that_waits_to_the_end_has_not_recovered() {
    let mut records = reads(40, |_, _| {});
    records.retain(|record| record.intended < seconds(20.0));
    let found = recovered_closed(&records);
    assert_eq!(found.injections[0].ttr90, NotWithin(seconds(20.0)));
    assert!((found.injections[0].lost - 20_000.0).abs() < 1100.0, "{:?}", found.injections[0].lost);
}

#[test]
fn the_baseline_is_of_a_part_without_faults() {
    let at = |events: &[Event]| recovered(60, &reads(60, |_, _| {}), events).baseline;
    assert_eq!(at(&[]).part, BaselinePart::Whole);
    let early = [
        fault(2.0, "lab: kill node 1"),
        fault(4.0, "lab: restart node 1"),
        event(5.0, EventKind::Warning, "lab: restart node 1 is done, 1 s after it began"),
    ];
    let after = at(&early);
    assert_eq!((after.part, after.window.from), (BaselinePart::AfterFaults, seconds(35.0)));
    assert_eq!(at(&early[..1]).part, BaselinePart::WithFaults);
}

#[test]
fn a_fault_of_the_warm_up_keeps_what_it_may_reach_out_of_the_baseline() {
    let records = reads(90, |_, _| {});
    let summary = analyzed(OPEN, 90, &records);
    let window = Window { from: seconds(20.0), until: seconds(90.0) };
    let at = |events: &[Event]| recovery(&summary, window, &faults(events)).expect("a baseline");
    let killed = |from: f64, mended: f64| {
        [fault(from, "lab: kill node 1"), fault(mended, "lab: restart node 1")]
    };
    let found = at(&killed(10.0, 12.0));
    assert_eq!(found.baseline.part, BaselinePart::AfterFaults);
    assert_eq!(found.baseline.window.from, seconds(42.0));
    assert_eq!(found.injections, [], "it is no fault of the measured run");
    assert_eq!(at(&killed(10.0, 12.0)[..1]).baseline.part, BaselinePart::WithFaults);
    let late = Window { from: seconds(45.0), ..window };
    let found = recovery(&summary, late, &faults(&killed(10.0, 12.0))).expect("a baseline");
    assert_eq!(found.baseline.part, BaselinePart::Whole, "it was over long before");
}

#[test]
fn a_fault_of_several_nodes_is_over_with_the_last_of_them() {
    let mended = |at, node| {
        let text = format!("lab: restart node {node}");
        [
            fault(at, &text),
            event(at + 0.5, EventKind::Warning, &format!("{text} is done, 1 ms after it began")),
        ]
    };
    let killed = fault(10.0, "lab: kill all (nodes 1, 2)");
    let events = [vec![killed], mended(20.0, 1).to_vec(), mended(30.0, 2).to_vec()].concat();
    let spans = faults(&events);
    assert_eq!((spans.len(), spans[0].mended), (1, Some(seconds(30.5))));
    assert_eq!(faults(&events[..3])[0].end(), None);
}

#[test]
fn faults_are_paired_with_what_mends_them() {
    let told = [
        fault(1.0, "lab: kill node 1"),
        event(1.1, EventKind::Warning, "lab: kill node 1 is done, 0.1 s after it began"),
        fault(2.0, "lab: partition leader (node 2)"),
        fault(3.0, "lab: heal (node 2)"),
        fault(4.0, "lab: restart node 1"),
        event(4.5, EventKind::Warning, "lab: restart node 1 is done, 0.5 s after it began"),
        fault(5.0, "lab: kill node 1"),
        fault(6.0, "lab: stop node 3"),
        event(6.5, EventKind::Warning, "lab: stop node 3 failed after 0.5 s: it is down"),
        event(7.0, EventKind::Change, "lab: scale to 5"),
        event(9.0, EventKind::Warning, "lab: scale to 5 is done, 2 s after it began"),
        event(9.5, EventKind::Change, "the rate is 5k/s"),
    ];
    let spans = faults(&told);
    let rows: Vec<_> = spans
        .iter()
        .map(|span| {
            (span.what.as_str(), span.at.0 / SECOND, span.end().map(|at| at.0 / 100_000_000))
        })
        .collect();
    assert_eq!(
        rows,
        [
            ("kill node 1", 1, Some(45)),
            ("partition leader (node 2)", 2, Some(30)),
            ("kill node 1", 5, None),
            ("scale to 5", 7, Some(90)),
        ]
    );
    assert_eq!(spans[0].applied, Some(seconds(1.1)));
}

#[test]
fn censored_times_enter_the_curve_of_kaplan_and_meier() {
    let times = [1.0, 2.0, 4.0].map(|time| After(seconds(time)));
    let all = pooled::pool(&[times[0], times[1], NotWithin(seconds(3.0)), times[2]]);
    // 1 → 3/4, 2 → 1/2, 4 → 0: mean 1 + 3/4 + 2 · 1/2.
    assert_eq!((all.median, all.mean), (Some(seconds(2.0)), seconds(2.75)));
    assert_eq!((all.max, all.censored), (After(seconds(4.0)), 1));
    assert!(!all.is_lower_bound && all.interval.is_none(), "four have no interval");
    let none = pooled::pool(&[NotWithin(seconds(7.0)), times[0], NotWithin(seconds(2.0))]);
    assert_eq!(none.median, None);
    assert!(none.is_lower_bound);
}

#[test]
fn the_interval_of_a_mean_holds_it() {
    let times: Vec<TimeTo> = (1..=20).map(|number| After(Nanos::from_secs(number))).collect();
    let all = pooled::pool(&times);
    let (low, high) = all.interval.expect("twenty have one");
    assert_eq!(all.mean, seconds(10.5));
    // The standard error of the mean is 1.29 s.
    let within = |found: Nanos, from, until| (seconds(from)..seconds(until)).contains(&found);
    assert!(within(low, 7.6, 8.4) && within(high, 12.6, 13.4), "{low} {high}");
    let same = pooled::pool(&[After(seconds(3.0)); 5]);
    assert_eq!(same.interval, Some((seconds(3.0), seconds(3.0))));
}

#[test]
fn rates_of_faults_make_a_yearly_unavailability() {
    let records = interrupted(60, &[(20.0, 22.5)]);
    let events = [
        fault(20.0, "lab: kill leader (node 1)"),
        fault(25.0, "lab: restart node 1"),
        fault(40.0, "lab: partition leader (node 2)"),
        fault(45.0, "lab: heal"),
    ];
    let found = recovered(60, &records, &events);
    let rate = |fault: &str, per_year| AnnualRate { fault: fault.to_owned(), per_year };
    let told = what_if(&found.injections, &[rate("kill", 12.0), rate("partition", 4.0)]);
    let mean = found.injections[0].ttr90.observed().as_secs_f64();
    assert_eq!(told.unavailable_s, Some(12.0 * mean));
    assert_eq!(told.lost_s, Some(30.0));
    assert_eq!((told.interval_s, told.is_lower_bound()), (None, false));
    let parts: Vec<_> = told.parts.iter().map(|part| part.injections).collect();
    assert_eq!(parts, [1, 1]);
    assert!((WhatIf::availability(31_557.6) - 0.999).abs() < 1e-12);
    // A fault that was not injected makes no figure, nor does half of a word.
    let unknown = what_if(&found.injections, &[rate("kill", 12.0), rate("part", 4.0)]);
    assert_eq!((unknown.unavailable_s, unknown.lost_s), (None, None));
    assert_eq!(unknown.parts[1].mean_s, None);
}

#[test]
fn enough_injections_give_the_what_if_an_interval() {
    let faults = [1.0, 2.0, 3.0, 4.0, 5.0].map(|number| (20.0 * number, 21.0 * number));
    let events = faults.map(|(at, _)| fault(at, "lab: kill node 1"));
    let found = recovered(120, &interrupted(120, &faults), &events);
    let [pooled] = &found.pooled[..] else { panic!("one sort") };
    let median = pooled.ttr90.median.expect("all recovered");
    assert!(median >= seconds(3.0) && median <= seconds(3.0) + RESOLUTION, "{median}");
    assert_eq!(pooled.lost_s.median, 3.0);
    let rates = [AnnualRate { fault: "kill".to_owned(), per_year: 2.0 }];
    let told = what_if(&found.injections, &rates);
    let (low, high) = told.interval_s.expect("five injections");
    let centre = told.unavailable_s.expect("it was injected");
    assert!((6.0..6.5).contains(&centre) && low < centre && centre < high, "{low} {centre} {high}");
    assert!(low >= 2.0 && high <= 10.5, "{low} {high}");
}

#[test]
fn violations_are_told_by_the_state_of_their_time() {
    use ServiceState::{Degraded, Down, Up};
    let states = StateSeries {
        from: Nanos::from_secs(10),
        width: Nanos::from_secs(1),
        states: vec![Up, Up, Down, Degraded, ServiceState::Idle],
        shortfalls: Vec::new(),
    };
    let stale = [(9, 5), (11, 2), (13, 1), (14, 7)];
    let sessions = [(13, 4)];
    let table = consistability(&states, &[&stale, &sessions]);
    assert_eq!(table.clean, [0.25, 0.0, 0.25]);
    assert_eq!(table.violated, [[0.25, 0.25, 0.0], [0.0, 0.25, 0.0]]);
    assert_eq!(table.counts, [[2, 1, 0], [0, 4, 0]]);
}

#[test]
fn parts_of_a_run_that_are_analyzed_apart_recover_alike() {
    let records = interrupted(40, &[(20.0, 21.2)]);
    let window = Window { from: Nanos::ZERO, until: Nanos::from_secs(40) };
    let options =
        AnalysisOptions { window: Some(window), load: OPEN, ..AnalysisOptions::default() };
    let mut parts = [crate::Analyzer::new(options.clone()), crate::Analyzer::new(options)];
    for record in &records {
        parts[(record.index % 2) as usize].push(std::slice::from_ref(record));
    }
    let [mut one, other] = parts;
    one.merge(other);
    let summary = one.finish();
    let events = faults(&[fault(20.0, "lab: kill node 1")]);
    let whole = recovered(40, &records, &[fault(20.0, "lab: kill node 1")]);
    assert_eq!(recovery(&summary, window, &events), Some(whole));
}

#[test]
fn a_store_that_takes_no_time_is_not_degraded_by_taking_some() {
    // As a simulated store does: the baseline's percentile is 0, of which nothing is a multiple.
    let records = reads(20, |at, record| {
        record.ended = record.started + if at < seconds(15.0) { Nanos::ZERO } else { Nanos(1000) };
    });
    let found = recovered(20, &records, &[fault(10.0, "lab: kill node 1")]);
    assert_eq!((found.baseline.p99, found.injections[0].tail), (Nanos::ZERO, After(Nanos::ZERO)));
    assert_eq!(found.states.share(ServiceState::Up), 1.0);
}

#[test]
fn a_lost_write_is_of_the_fault_that_ended_first_after_it_was_acknowledged() {
    let span = |at: f64, mended: Option<f64>| FaultSpan {
        what: "kill node 1".to_owned(),
        sort: "kill".to_owned(),
        at: seconds(at),
        applied: None,
        mending: None,
        mended: mended.map(seconds),
    };
    let summary = analyzed(OPEN, 60, &reads(60, |_, _| {}));
    let faults = [span(10.0, Some(12.0)), span(20.0, None), span(30.0, Some(35.0))];
    let mut found = recovery(&summary, summary.window, &faults).expect("there is a baseline");
    assert!(found.injections.iter().all(|one| one.lost_writes.is_none()));
    // Before the first, in it; after it; in the second, which lasts until the third; after all.
    let acknowledged = [9.0, 12.0, 12.5, 29.0, 30.5, 35.0, 36.0].map(seconds);
    assert_eq!(attribute_lost_writes(&mut found.injections, &acknowledged), 1);
    let counts: Vec<Option<u64>> = found.injections.iter().map(|one| one.lost_writes).collect();
    assert_eq!(counts, [Some(2), Some(2), Some(2)]);
}

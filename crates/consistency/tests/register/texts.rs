//! Histories as texts with what is to be found in them.

use assay_consistency::notation::register_history;
use assay_consistency::register::{self, RegisterReport};
use assay_consistency::{
    ClockError, Limitation, Quality, QualityFinding, QualityVerdict, RegisterHistory, Witness,
    WrittenValue,
};
use assay_model::Nanos;
use expect_test::{Expect, expect};

fn parse(text: &str) -> RegisterHistory {
    register_history(text).expect(text)
}

fn check(text: &str, expected: Expect) {
    check_history(&parse(text), &ClockError::NONE, expected);
}

fn check_history(history: &RegisterHistory, error: &ClockError, expected: Expect) {
    expected.assert_eq(&describe(&register::judge(history, error)));
}

/// A line per violated quality: how often, by which order of the writes, and the witnesses, each
/// with its margin; then `none`, and what was not violated, each times its opportunities.
fn describe(report: &RegisterReport) -> String {
    let mut lines = Vec::new();
    let mut silent = "none".to_owned();
    for finding in &report.findings {
        let name = finding.quality.name();
        match &finding.verdict {
            QualityVerdict::Violated(violations) => {
                let witnesses: Vec<String> = violations.witnesses.iter().map(witness).collect();
                let (count, order) = (violations.count, finding.order);
                lines.push(format!("{name}: {count} by {order:?}: {}", witnesses.join("; ")));
            }
            QualityVerdict::NoneFound(power) => {
                silent += &format!(" {name}×{}", power.opportunities);
            }
            QualityVerdict::NotAssessable(_) => {}
        }
    }
    lines.push(silent);
    lines.join("\n")
}

fn witness(witness: &Witness) -> String {
    let Witness { anomaly, key, operations, margin, .. } = witness;
    format!("{anomaly:?} {} {operations:?} +{}", char::from(*key as u8), margin.0)
}

#[test]
fn operations_of_a_session_at_one_moment_have_no_order() {
    // Whichever write was the last: the read of the other one would be stale if it were known.
    check(
        "a: w x2 5..5 · w x1 5..5 · r x2 5..5 | b: r x2 9..10 · r x2 11..12",
        expect!["none no-garbage-reads×3 linearizable×3 2-atomic×3 monotonic-reads×1"],
    );
}

#[test]
fn a_serial_history_breaks_nothing() {
    check(
        "a: w x1 0..3 · r x1 5..7 · w x2 8..9 · r x2 11..12 | b: r x2 13..14 · r x2 15..16",
        expect![
            "none no-garbage-reads×4 linearizable×4 2-atomic×4 monotonic-reads×2 read-your-writes×2"
        ],
    );
}

#[test]
fn a_read_of_the_absence_after_a_write_is_stale() {
    check(
        "a: w x1 0..3 | b: r x0 5..7",
        expect![[r#"
            linearizable: 1 by RealTime: StaleRead x [0, 1] +1
            none no-garbage-reads×1 2-atomic×1"#]],
    );
}

#[test]
fn a_read_that_begins_when_the_write_ends_may_miss_it() {
    check(
        "a: w x1 0..5 | b: r x0 5..7",
        expect!["none no-garbage-reads×1 linearizable×1 2-atomic×1"],
    );
}

#[test]
fn a_value_that_nobody_wrote_is_garbage() {
    check(
        "a: w x1 0..3 · r x7 5..7 · r x? 8..9",
        expect![[r#"
            no-garbage-reads: 2 by NotNeeded: GarbageRead x [1] +0; GarbageRead x [2] +0
            linearizable: 2 by RealTime: GarbageRead x [1] +0; GarbageRead x [2] +0
            2-atomic: 2 by RealTime: GarbageRead x [1] +0; GarbageRead x [2] +0
            none"#]],
    );
}

#[test]
fn a_refused_write_must_not_be_read() {
    check(
        "a: w x1 0..3! · r x1 5..7",
        expect![[r#"
            no-garbage-reads: 1 by NotNeeded: AbortedRead x [0, 1] +0
            linearizable: 1 by RealTime: AbortedRead x [0, 1] +0
            2-atomic: 1 by RealTime: AbortedRead x [0, 1] +0
            none"#]],
    );
}

#[test]
fn a_read_cannot_see_a_later_write() {
    check(
        "a: r x1 0..3 | b: w x1 10..12",
        expect![[r#"
            no-garbage-reads: 1 by NotNeeded: FutureRead x [0, 1] +3
            linearizable: 1 by RealTime: FutureRead x [0, 1] +3
            2-atomic: 1 by RealTime: FutureRead x [0, 1] +3
            none"#]],
    );
}

#[test]
fn an_operation_does_not_read_what_it_writes_itself() {
    check(
        "a: m x1>1 0..3",
        expect![[r#"
            no-garbage-reads: 1 by NotNeeded: FutureRead x [0] +0
            linearizable: 1 by RealTime: FutureRead x [0] +0
            2-atomic: 1 by RealTime: FutureRead x [0] +0
            none"#]],
    );
}

#[test]
fn two_readers_that_see_two_writes_in_opposite_orders_contradict_each_other() {
    check(
        "a: w x1 0..20 | b: w x2 0..20 | c: r x1 1..4 · r x2 5..8 · r x1 9..12",
        expect![[r#"
            linearizable: 1 by RealTime: ConflictingOrder x [0, 2, 1, 3, 4] +0
            none no-garbage-reads×3 2-atomic×3 monotonic-reads×2"#]],
    );
}

#[test]
fn an_unknown_write_obliges_nobody_until_it_is_read() {
    check(
        "a: w x1 0..3 · w x2 4.. | b: r x1 10..12",
        expect!["none no-garbage-reads×1 linearizable×1 2-atomic×1"],
    );
    check(
        "a: w x1 0..3 · w x2 4.. | b: r x2 10..12 | c: r x1 14..16",
        expect![[r#"
            linearizable: 1 by RealTime: StaleRead x [0, 1, 2, 3] +1
            none no-garbage-reads×2 2-atomic×2"#]],
    );
}

#[test]
fn one_version_behind_is_two_atomic_and_two_versions_are_not() {
    check(
        "a: w x1 0..1 · w x2 2..3 | b: r x1 10..12",
        expect![[r#"
            linearizable: 1 by RealTime: StaleRead x [0, 1, 2] +0
            none no-garbage-reads×1 2-atomic×1"#]],
    );
    check(
        "a: w x1 0..1 · w x2 2..3 · w x3 4..5 | b: r x1 10..12",
        expect![[r#"
            linearizable: 2 by RealTime: StaleRead x [0, 2, 3] +1; StaleRead x [0, 1, 3] +0
            2-atomic: 1 by RealTime: StaleRead x [0, 2, 3] +1
            none no-garbage-reads×1"#]],
    );
}

#[test]
fn a_session_reads_an_older_version_after_a_newer_one() {
    check(
        "a: w x1 0..1 · w x2 2..3 | b: r x2 4..5 · r x1 6..7",
        expect![[r#"
            linearizable: 1 by RealTime: StaleRead x [0, 1, 2, 3] +1
            monotonic-reads: 1 by SingleWriter: NonMonotonicRead x [0, 1, 2, 3] +0
            none no-garbage-reads×2 2-atomic×2 monotonic-writes×1"#]],
    );
}

#[test]
fn a_session_does_not_read_its_own_write() {
    check(
        "a: w x1 0..1 · r x0 2..3",
        expect![[r#"
            linearizable: 1 by RealTime: StaleRead x [0, 1] +0
            read-your-writes: 1 by SingleWriter: OwnWriteNotRead x [0, 1] +0
            none no-garbage-reads×1 2-atomic×1"#]],
    );
}

#[test]
fn writes_of_a_session_are_seen_out_of_order() {
    check(
        "a: w x1 0..1 · w x2 2..3 | b: r x2 4..5 · r x0 6..7",
        expect![[r#"
            linearizable: 2 by RealTime: StaleRead x [0, 3] +2; StaleRead x [1, 2, 3] +1
            2-atomic: 1 by RealTime: StaleRead x [0, 3] +2
            monotonic-reads: 1 by SingleWriter: NonMonotonicRead x [1, 2, 3] +0
            monotonic-writes: 1 by SingleWriter: NonMonotonicWrite x [0, 1, 2, 3] +0
            none no-garbage-reads×2"#]],
    );
    check(
        "a: w x1 0..1 · w y1 2..3 | b: r y1 4..5 · r x0 6..7",
        expect![[r#"
            linearizable: 1 by RealTime: StaleRead x [0, 3] +2
            monotonic-writes: 1 by SingleWriter: NonMonotonicWrite x [0, 1, 2, 3] +0
            none no-garbage-reads×2 2-atomic×2"#]],
    );
}

#[test]
fn a_write_is_seen_without_what_its_session_had_read() {
    check(
        "a: w x1 0..1 | b: r x1 2..3 · w y1 4..5 | c: r y1 6..7 · r x0 8..9",
        expect![[r#"
            linearizable: 1 by RealTime: StaleRead x [0, 1, 4] +3
            writes-follow-reads: 1 by SingleWriter: WriteWithoutItsReads x [1, 2, 3, 4] +0
            none no-garbage-reads×3 2-atomic×3"#]],
    );
}

#[test]
fn two_children_of_one_version_leave_no_order_but_that_of_time() {
    check(
        "a: m x0>1 0..4 | b: m x0>2 1..5 | c: r x1 6..7 · r x2 8..9",
        expect![[r#"
            linearizable: 1 by RealTime: ConflictingOrder x [0, 1, 3, 2] +0
            none no-garbage-reads×4 2-atomic×4 monotonic-reads×1"#]],
    );
    check(
        "a: m x0>1 0..4 | b: m x1>2 1..5 | c: r x2 6..7 · r x1 8..9",
        expect![[r#"
            linearizable: 1 by RealTime: ConflictingOrder x [0, 1, 2, 3] +1
            monotonic-reads: 1 by ReadBeforeWrite: NonMonotonicRead x [0, 1, 2, 3] +0
            none no-garbage-reads×4 2-atomic×4"#]],
    );
}

#[test]
fn a_value_written_twice_takes_its_record_out() {
    check(
        "a: w x1 0..1 · w x1 2..3 · r x0 4..5 · w y1 6..7 · r y0 8..9",
        expect![[r#"
            linearizable: 1 by RealTime: StaleRead y [3, 4] +0
            read-your-writes: 1 by SingleWriter: OwnWriteNotRead y [3, 4] +0
            none no-garbage-reads×2 2-atomic×1"#]],
    );
    check("a: w x1 0..1 · w x1 2..3 · r x0 4..5", expect!["none"]);
}

#[test]
fn a_refused_deletion_leaves_nothing_to_read_and_a_written_garbage_leaves_the_record_out() {
    check(
        "a: w x1 0..1 | b: w x0 2..3! · r x1 4..5",
        expect!["none no-garbage-reads×1 linearizable×1 2-atomic×1"],
    );
    check(
        "a: w x1 0..1 | b: w x? 2..3 · r x? 4..5 · r x1 6..7",
        expect![[r#"
        no-garbage-reads: 1 by NotNeeded: GarbageRead x [2] +0
        linearizable: 1 by RealTime: GarbageRead x [2] +0
        2-atomic: 1 by RealTime: GarbageRead x [2] +0
        none"#]],
    );
    check(
        "a: w x1 0..1 | b: m x1>2 2.. | c: r x2 4..5",
        expect!["none no-garbage-reads×1 linearizable×1 2-atomic×1"],
    );
}

#[test]
fn a_deletion_of_a_loaded_record_is_told_from_the_time_before() {
    check(
        "a: w x1 0..1 | b: w x0 10..11 · r x0 12..13 · r x1 14..15",
        expect![[r#"
            linearizable: 1 by RealTime: StaleRead x [0, 1, 2, 3] +1
            monotonic-reads: 1 by SingleWriter: NonMonotonicRead x [0, 1, 2, 3] +0
            read-your-writes: 1 by SingleWriter: OwnWriteNotRead x [0, 1, 3] +0
            none no-garbage-reads×2 2-atomic×2"#]],
    );
    check(
        "a: w x1 0..1 | b: r x0 12..13",
        expect![[r#"
            linearizable: 1 by RealTime: StaleRead x [0, 1] +5
            none no-garbage-reads×1 2-atomic×1"#]],
    );
}

#[test]
fn acknowledged_writes_are_lost_unless_something_newer_is_read_at_the_end() {
    check(
        "a: w x1 0..1 · w x2 2..3 · w x3 4..5 · f x1 9..10",
        expect![[r#"
            no-lost-writes: 2 by SingleWriter: LostWrite x [1, 0, 3] +0; LostWrite x [2, 0, 3] +0
            linearizable: 2 by RealTime: StaleRead x [0, 2, 3] +1; StaleRead x [0, 1, 3] +0
            2-atomic: 1 by RealTime: StaleRead x [0, 2, 3] +1
            read-your-writes: 1 by SingleWriter: OwnWriteNotRead x [0, 2, 3] +0
            none no-garbage-reads×1"#]],
    );
    check(
        "a: w x1 0..4 | b: w x2 1..5 · f x1 9..10",
        expect![
            "none no-garbage-reads×1 no-lost-writes×2 linearizable×1 2-atomic×1 read-your-writes×1"
        ],
    );
    check(
        "a: w x1 0..4 | b: w x2 5.. | c: f x2 9..10",
        expect!["none no-garbage-reads×1 no-lost-writes×1 linearizable×1 2-atomic×1"],
    );
    check(
        "a: w x1 0..4 | b: f x1 2..8",
        expect!["none no-garbage-reads×1 linearizable×1 2-atomic×1"],
    );
}

#[test]
fn a_field_is_stale_only_if_no_older_number_can_have_hidden_the_write() {
    let fields = |text| RegisterHistory { writes_whole_records: false, ..parse(text) };
    let check = |text, expected| check_history(&fields(text), &ClockError::NONE, expected);
    check(
        "a: w x1 0..1 | b: w x2 2..3 | c: r x1 5..6",
        expect![[r#"
            linearizable: 1 by RealTime: StaleRead x [0, 1, 2] +0
            none no-garbage-reads×1"#]],
    );
    check("a: w x1 0..9 | b: w x2 2..3 | c: r x1 5..6", expect!["none no-garbage-reads×1"]);
    check("a: w x1 0.. | b: w x2 2..3 | c: r x1 5..6", expect!["none no-garbage-reads×1"]);
    check("a: w x2 0..1 | b: w x1 2..3 | c: r x2 5..6", expect!["none no-garbage-reads×1"]);
}

#[test]
fn an_answer_before_its_request_takes_the_widest_interval() {
    check(
        "a: w x1 9..0 | b: r x0 5..7",
        expect!["none no-garbage-reads×1 linearizable×1 2-atomic×1"],
    );
}

#[test]
fn times_at_the_ends_of_what_a_number_holds_are_judged() {
    let last = u64::MAX;
    let text =
        format!("a: w x1 0..0 | b: r x0 {last}..{last} | c: w x2 {last}..{last} · r x1 0..{last}");
    check(
        &text,
        expect![[r#"
            linearizable: 1 by RealTime: StaleRead x [0, 3, 1] +9223372036854775807
            none no-garbage-reads×2 2-atomic×2"#]],
    );
}

fn limitations(history: &RegisterHistory) -> Vec<(Quality, Limitation)> {
    let report = register::judge(history, &ClockError::NONE);
    let limitation = |finding: &QualityFinding| match finding.verdict {
        QualityVerdict::NotAssessable(limitation) => Some((finding.quality, limitation)),
        _ => None,
    };
    report.findings.iter().filter_map(limitation).collect()
}

#[test]
fn what_cannot_be_judged_has_its_reason() {
    let all = |limitation| {
        let report = register::judge(&RegisterHistory::default(), &ClockError::NONE);
        let qualities = report.findings.iter().map(|finding| (finding.quality, limitation));
        qualities.collect::<Vec<_>>()
    };
    assert_eq!(limitations(&parse("")), all(Limitation::NothingKnown));
    assert_eq!(limitations(&parse("a: w x1 0.. | b: r x1 3..")), all(Limitation::NothingKnown));
    let twice = parse("a: w x1 0..1 · w x1 2..3 · r x0 4..5");
    assert_eq!(limitations(&twice), all(Limitation::DuplicateValues));
    let fine = parse("a: w x1 0..1 · r x1 2..3 · w x2 4..5 | b: r x2 6..7 · r x2 8..9");
    let expected = [
        (Quality::NoLostWrites, Limitation::NoFinalReads),
        (Quality::MonotonicWrites, Limitation::NoOpportunity),
        (Quality::WritesFollowReads, Limitation::NoOpportunity),
    ];
    assert_eq!(limitations(&fine), expected);
    let partial = RegisterHistory { writes_whole_records: false, ..fine };
    let atomicity = [Quality::Linearizable, Quality::TwoAtomic];
    for quality in atomicity {
        assert!(limitations(&partial).contains(&(quality, Limitation::PartialWrites)));
    }
}

#[test]
fn a_silence_with_clocks_that_are_off_by_much_of_an_operation_is_no_verdict() {
    let history = parse("a: w x1 100..140 | b@1: r x1 155..195");
    let verdict = |error| {
        let error = ClockError::of_agents(vec![Nanos(error); 2]);
        let report = register::judge(&history, &error);
        report.finding(Quality::Linearizable).map(|finding| finding.verdict.clone())
    };
    let coarse = QualityVerdict::NotAssessable(Limitation::ClockError);
    assert_eq!(verdict(11), Some(coarse));
    assert!(matches!(verdict(10), Some(QualityVerdict::NoneFound(_))));
}

#[test]
fn a_stale_read_within_the_error_of_two_clocks_is_none() {
    let error = ClockError::of_agents(vec![Nanos(10), Nanos(10)]);
    let check = |text, expected| check_history(&parse(text), &error, expected);
    check(
        "a: w x1 100..140 | b@1: r x0 155..195",
        expect!["none no-garbage-reads×1 linearizable×1 2-atomic×1"],
    );
    check(
        "a: w x1 100..140 | b@1: r x0 161..201",
        expect![[r#"
            linearizable: 1 by RealTime: StaleRead x [0, 1] +10
            none no-garbage-reads×1 2-atomic×1"#]],
    );
    check(
        "a: w x1 100..140 | b: r x0 155..195",
        expect![[r#"
            linearizable: 1 by RealTime: StaleRead x [0, 1] +7
            none no-garbage-reads×1 2-atomic×1"#]],
    );
}

#[test]
fn the_order_that_a_store_tells_is_taken_from_it() {
    let text = "a: w x1 0..10 | b: w x2 0..10 | c: r x2 11..12 · r x1 13..14";
    let told = |numbers: [u64; 2]| {
        let mut history = parse(text);
        for (value, number) in (1..).zip(numbers) {
            history.told.add(u64::from(b'x'), WrittenValue(value), number);
        }
        describe(&register::judge(&history, &ClockError::NONE))
    };
    // By time alone nobody knows which of the two writes came first.
    assert!(
        !describe(&register::judge(&parse(text), &ClockError::NONE)).contains("monotonic-reads:")
    );
    let went_back = told([5, 8]);
    assert!(went_back.contains("monotonic-reads: 1 by ToldByStore"), "{went_back}");
    assert!(!told([8, 5]).contains("monotonic-reads:"));
    // One version is told of both, or none of one of them: time decides again.
    assert!(!told([5, 5]).contains("ToldByStore"));
    let mut history = parse(text);
    history.told.add(u64::from(b'x'), WrittenValue(1), 5);
    assert!(!describe(&register::judge(&history, &ClockError::NONE)).contains("ToldByStore"));
    // The store contradicts itself.
    for (value, number) in [(1, 5), (2, 8), (2, 4)] {
        history.told.add(u64::from(b'x'), WrittenValue(value), number);
    }
    assert!(!describe(&register::judge(&history, &ClockError::NONE)).contains("ToldByStore"));
}

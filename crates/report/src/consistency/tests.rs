//! A result of three operations, in every form.

use assay_consistency::ClockError;
use assay_consistency::register::judge;
use expect_test::expect_file;

use super::*;
use crate::Style;

/// An operation that was done in 0.4 ms.
fn operation(
    index: u64,
    key: u64,
    session: u32,
    started: Nanos,
    access: Access,
) -> RegisterOperation {
    let ended = started + Nanos::from_micros(400);
    let (agent, node, outcome) = (0, 0, Outcome::Done);
    RegisterOperation { index, key, session, agent, node, started, ended, outcome, access }
}

/// Session 1 writes a record, session 2 reads what was there before 10 ms later.
pub(crate) fn stale() -> ConsistencyResult {
    let operation = |index, session, started, access| {
        operation(index, 17, session, Nanos::from_micros(started), access)
    };
    let loaded = WrittenValue(version::loaded(17));
    let written = WrittenValue(version::written(4));
    let load = RegisterOperation {
        index: u64::MAX,
        session: u32::MAX,
        ended: Nanos::ZERO,
        ..operation(0, 0, 0, Access::Write(loaded))
    };
    let history = RegisterHistory {
        operations: vec![
            load,
            operation(4, 1, 1_000, Access::Write(written)),
            operation(5, 2, 11_400, Access::Read(loaded)),
            operation(6, 2, 12_000, Access::Read(written)),
        ],
        writes_whole_records: true,
        ..RegisterHistory::default()
    };
    let report = judge(&history, &ClockError::NONE);
    let mut result = ConsistencyResult {
        source: "runs/a".to_owned(),
        title: "register on sim".to_owned(),
        ..ConsistencyResult::default()
    };
    result.add_registers(&history, report);
    result
}

#[test]
fn text_shows_verdicts_staleness_and_witnesses() {
    expect_file!["../../snapshots/consistency.txt"]
        .assert_eq(&document(&stale()).text(Style::PLAIN));
}

#[test]
fn markdown_has_the_same_tables() {
    let text = document(&stale()).markdown();
    assert!(text.contains("| linearizable"), "{text}");
    assert!(text.contains("what operation 4 wrote"), "{text}");
}

#[test]
fn json_names_the_operations_of_a_witness() {
    let value: serde_json::Value = serde_json::from_str(&json(&stale())).unwrap();
    let findings = value["findings"].as_array().unwrap();
    let found = findings.iter().find(|finding| finding["quality"] == "linearizable").unwrap();
    assert_eq!(found["verdict"], "violated");
    let operations = found["witnesses"][0]["operations"].as_array().unwrap();
    assert!(operations.iter().any(|operation| operation["index"] == 5), "{operations:?}");
    assert!(operations.iter().any(|operation| operation["index"].is_null()), "the load is one");
}

#[test]
fn a_witness_of_several_records_names_all_its_operations() {
    let operation = |index, key, session, access| {
        operation(index, key, session, Nanos::from_millis(index), access)
    };
    let value = |index| WrittenValue(version::written(index));
    let history = RegisterHistory {
        operations: vec![
            operation(1, 17, 1, Access::Write(value(1))),
            operation(2, 18, 1, Access::Write(value(2))),
            operation(3, 18, 2, Access::Read(value(2))),
            operation(4, 17, 2, Access::Read(WrittenValue::ABSENT)),
        ],
        writes_whole_records: true,
        ..RegisterHistory::default()
    };
    let mut result = ConsistencyResult::default();
    result.add_registers(&history, judge(&history, &ClockError::NONE));
    let text = document(&result).text(Style::PLAIN);
    for line in [
        "record 17: wrote its own value",
        "record 18: wrote its own value",
        "record 18: read what operation 2 wrote",
        "record 17: read: no record",
    ] {
        assert!(text.contains(line), "{text}");
    }
    let value: serde_json::Value = serde_json::from_str(&json(&result)).unwrap();
    let findings = value["findings"].as_array().unwrap();
    let found = findings.iter().find(|finding| finding["quality"] == "monotonic-writes").unwrap();
    let operations = found["witnesses"][0]["operations"].as_array().unwrap();
    let named: Vec<_> =
        operations.iter().map(|one| (one["index"].as_u64(), one["key"].as_str())).collect();
    let expected = [(1, "17"), (2, "18"), (3, "18"), (4, "17")];
    assert_eq!(named, expected.map(|(index, key)| (Some(index), Some(key))));
}

#[test]
fn checks_of_the_verdicts_stand_below_them() {
    let mut result = stale();
    result.check(true);
    let table = checks(&result, Letters::Ascii).lines().join("\n") + "\n";
    expect_file!["../../snapshots/verdict_checks.txt"].assert_eq(&table);
    let text = document(&result).text(Style::PLAIN);
    assert!(text.contains("Checks of the verdicts"), "{text}");
    let value: serde_json::Value = serde_json::from_str(&json(&result)).expect("it is JSON");
    assert_eq!(value["checks"][2]["id"], "D3");
    assert_eq!(value["checks"][2]["undermines"][0], "no-garbage-reads");
    let hash = value["checks"][5]["self_test_hash"].as_str().map(str::len);
    assert_eq!(hash, Some(16));
    let names: Vec<&str> =
        result.undermined(Quality::TwoAtomic).map(|check| check.id.name()).collect();
    assert_eq!(names, ["D3"]);
}

#[test]
fn checks_that_did_not_pass_have_a_line_each_and_the_others_one() {
    assert_eq!(check_lines(&stale(), Letters::Ascii), [""; 0]);
    let mut result = stale();
    result.check(false);
    let lines = check_lines(&result, Letters::Ascii);
    let beginnings: Vec<&str> = lines.iter().map(|line| &line[..10]).collect();
    assert_eq!(beginnings, ["D3 power: ", "D7 history", "5 of 7 pas"], "{lines:?}");
    assert!(lines[1].contains("operations are missing"), "{lines:?}");
    assert_eq!(lines[2], "5 of 7 passed: D1, D2, D4, D5, D6");
}

#[test]
fn violations_are_classed_over_time() {
    let result = stale();
    let classes = result.violation_classes();
    let rows: Vec<_> = classes.iter().map(|class| (class.name, &class.per_second[..])).collect();
    let one = [(0, 1)];
    assert_eq!(
        rows,
        [
            ("stale reads", &one[..]),
            ("session guarantees", &[]),
            ("not linearizable", &one),
            ("garbage, lost writes", &[]),
        ]
    );
}

#[test]
fn a_run_says_which_qualities_are_violated() {
    assert_eq!(violated(&stale()).as_deref(), Some("linearizable (1)"));
    assert!(silent(&stale()).is_some_and(|text| text.starts_with("no-garbage-reads")));
    assert!(stale().is_judged());
}

#[test]
fn lost_writes_are_named_with_records_times_and_windows() {
    let at = Nanos::from_millis;
    let wrote = |index, key, ms| {
        operation(index, key, 3, at(ms), Access::Write(WrittenValue(version::written(index))))
    };
    let lost = (0..12).map(|n| wrote(n, 100 + n, 10 * n)).chain([wrote(12, 200, 9_000)]);
    let last = |key| operation(50 + key, key, 3, at(20_000), Access::Read(WrittenValue::ABSENT));
    let reads = (100..112).chain([200]).map(last);
    let history = RegisterHistory {
        operations: lost.chain(reads).collect(),
        has_final_reads: true,
        final_reads_from: at(20_000),
        writes_whole_records: true,
        ..RegisterHistory::default()
    };
    let mut result = ConsistencyResult::default();
    result.add_registers(&history, judge(&history, &ClockError::NONE));
    let lines = lost_writes(&result);
    assert_eq!(
        lines[..3],
        [
            "12 writes gone that had been acknowledged from 0.000400 s to 0.110400 s",
            "1 write gone that had been acknowledged at 9.000400 s",
            "record 100: operation 0 of session 3, 0.000000 s to 0.000400 s",
        ]
    );
    assert_eq!(lines.last().map(String::as_str), Some("3 writes more; --format json has them"));
    assert!(document(&result).text(Style::PLAIN).contains("Lost writes\n  12 writes gone"));
    assert!(document(&result).markdown().contains("\n* 12 writes gone"));
    let object: serde_json::Value = serde_json::from_str(&json(&result)).expect("it is JSON");
    assert_eq!(object["lost_writes"]["count"], 13);
    assert_eq!(object["lost_writes"]["windows"][1]["writes"], 1);
    assert_eq!(object["lost_writes"]["first"][12]["key"], "200");
}

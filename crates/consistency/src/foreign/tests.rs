//! Small histories of every format, as numbers with their names.

use std::fmt::Write;

use assay_model::{Nanos, Outcome};
use expect_test::{Expect, expect};

use super::*;
use crate::aggregate::AggregateAccess;
use crate::register::{Access, WrittenValue};
use crate::transaction::{ObservedTransaction, TransactionStep};

mod hostile;
mod roundtrip;

fn read(text: &str) -> Result<ForeignHistory, ForeignError> {
    read_foreign_history(text.as_bytes(), None, &mut |_| {})
}

/// The operations on aggregates of a text, one per line, by the names of their values.
fn check_aggregates(text: &str, expect: Expect) {
    let history = read(text).expect("the text is a history");
    let names = &history.names;
    let value = |value: &WrittenValue| names.value(*value).expect("it has a name").to_string();
    let key = |key: u64| names.key(key).expect("every key has a name").to_string();
    let mut lines = String::new();
    for operation in &history.aggregates {
        let access = match &operation.access {
            AggregateAccess::Add(added) => format!("add {}", value(added)),
            AggregateAccess::Transfer { from, to, amount } => {
                format!("transfer {amount} from {} to {}", key(*from), key(*to))
            }
            AggregateAccess::Elements(elements) => {
                format!("elements {:?}", elements.iter().map(value).collect::<Vec<_>>())
            }
            AggregateAccess::Balances(balances) => {
                let shown = |(account, balance): &(u64, _)| (key(*account), *balance);
                format!("balances {:?}", balances.iter().map(shown).collect::<Vec<_>>())
            }
            other => format!("{other:?}"),
        };
        let (key, outcome) = (key(operation.key), operation.outcome.name());
        writeln!(lines, "{} {key} {outcome}: {access}", operation.index)
            .expect("a string takes it");
    }
    assert_eq!(history.transactions.transactions, [], "aggregates are no transactions");
    expect.assert_eq(&lines);
}

/// Reads a text and compares its transactions, one per line, then its events and warnings.
fn check(text: &str, expect: Expect) {
    let history = read(text).expect("the text is a history");
    let mut lines = String::new();
    for transaction in &history.transactions.transactions {
        writeln!(lines, "{}", shown(transaction, &history.names)).expect("a string takes it");
    }
    for event in &history.events {
        writeln!(lines, "{event:?}").expect("a string takes it");
    }
    for warning in &history.warnings {
        writeln!(lines, "{warning}").expect("a string takes it");
    }
    expect.assert_eq(&lines);
}

fn shown(transaction: &ObservedTransaction, names: &ForeignNames) -> String {
    let value = |value: &WrittenValue| match names.value(*value) {
        Some(name) => name.to_string(),
        None => "absent".to_owned(),
    };
    let key = |key: &u64| names.key(*key).expect("every key has a name").to_string();
    let steps: Vec<String> = transaction
        .steps
        .iter()
        .map(|step| match step {
            TransactionStep::Read { key: of, value: None } => format!("r {} ?", key(of)),
            TransactionStep::Read { key: of, value: Some(read) } => {
                format!("r {} {}", key(of), value(read))
            }
            TransactionStep::Write { key: of, value: written, .. } => {
                format!("w {} {}", key(of), value(written))
            }
            TransactionStep::Append { key: of, element } => {
                format!("a {} {}", key(of), value(element))
            }
            TransactionStep::ReadList { key: of, elements: None } => format!("l {} ?", key(of)),
            TransactionStep::ReadList { key: of, elements: Some(elements) } => {
                let elements: Vec<String> = elements.iter().map(value).collect();
                format!("l {} [{}]", key(of), elements.join(" "))
            }
        })
        .collect();
    let ended = match transaction.ended {
        Nanos::NEVER => String::new(),
        ended => ended.0.to_string(),
    };
    format!(
        "{} s{} {}..{ended} {}: {}",
        transaction.index,
        transaction.session,
        transaction.started.0,
        transaction.outcome.name(),
        steps.join(", ")
    )
}

// tidy: allow columns: one operation per line, as Jepsen writes it
#[test]
fn list_append_of_elle_is_read_from_edn_lines() {
    check(
        r#"
{:index 0, :type :invoke, :f :txn, :process 0, :time 10, :value [[:append 1 1] [:r 1 nil]]}
{:index 1, :type :invoke, :f :txn, :process 1, :time 20, :value [[:r 1 nil] [:r 2 nil]]}
{:index 2, :type :ok, :f :txn, :process 0, :time 30, :value [[:append 1 1] [:r 1 [1]]]}
{:index 3, :type :ok, :f :txn, :process 1, :time 40, :value [[:r 1 [1]] [:r 2 nil]]}
{:index 4, :type :invoke, :f :txn, :process 0, :time 50, :value [[:append 2 1] [:r 2 nil]]}
{:index 5, :type :info, :f :txn, :process 0, :time 60, :value [[:append 2 1] [:r 2 [1]]], :error :timeout}
{:index 6, :type :invoke, :f :txn, :process 1, :time 70, :value [[:append 1 2] [:r 1 nil]]}
{:index 7, :type :fail, :f :txn, :process 1, :time 80, :value [[:append 1 2] [:r 1 [1]]]}
"#,
        expect![[r#"
            0 s0 10..30 done: a 1 1, l 1 [1]
            1 s1 20..40 done: l 1 [1], l 2 []
            4 s0 50..60 unknown: a 2 1, l 2 ?
            6 s1 70..80 refused: a 1 2, l 1 ?
        "#]],
    );
}

#[test]
fn a_vector_of_records_with_tags_and_comments_is_read() {
    check(
        r#"; recorded yesterday
[#jepsen.history.Op{:index 0, :time 3, :type :invoke, :process 0, :f :txn, :value [[:w :x "a"]]}
 #_{:discarded (by hand)}
 #jepsen.history.Op{:index 1, :time 5, :type :ok, :process 0, :f :txn, :value #my/txn [[:w :x "a"]]}
 #my/op {:index 2 :time 6 :type :invoke :process 3 :f :txn :value ((:r :x nil) [:r :y nil])
         :extra #{1 \a \[ 2.5 1/2 ##NaN}}
 {:index 3 :time 7 :type :ok :process 3 :f :txn :value [[:r :x "a"] [:r :y nil]]}]"#,
        expect![[r#"
            0 s0 3..5 done: w :x "a"
            2 s1 6..7 done: r :x "a", r :y absent
            unknown tags, skipped: 2, the first in line 4
        "#]],
    );
}

// tidy: allow columns: one operation per line, as Elle reads it
#[test]
fn elle_s_json_is_read_from_lines_and_from_an_array() {
    let lines = [
        r#"{"type":"invoke","f":"txn","value":[["append","x",1]],"process":0,"index":0,"time":1}"#,
        r#"{"type":"info","f":"start-partition","process":"nemesis","index":1,"time":2,"value":["n1"]}"#,
        r#"{"type":"ok","f":"txn","value":[["append","x",1],["r","\u00e9\ud83d\ude00",[]]],"process":0,"index":2,"time":3}"#,
    ];
    let array = format!("[{}]", lines.join(",\n"));
    assert_eq!(read(&lines.join("\n")), read(&array));
    let expected = expect![[r#"
        0 s0 1..3 done: a "x" 1, l "é😀" []
        ForeignEvent { at: Nanos(2), process: "nemesis", action: "start-partition", value: "[\"n1\"]" }
    "#]];
    check(&array, expected);
}

#[test]
fn registers_of_knossos_are_read_with_compare_and_set() {
    let history = read(
        "{:process 0 :type :invoke :f :read :value nil}
         {:process 0 :type :ok :f :read :value nil}
         {:process 0 :type :invoke :f :write :value 3}
         {:process 0 :type :ok :f :write :value 3}
         {:process 1 :type :invoke :f :cas :value [3 4]}
         {:process 2 :type :invoke :f :cas :value [3 5]}
         {:process 1 :type :ok :f :cas :value [3 4]}
         {:process 2 :type :fail :f :cas :value [3 5]}
         {:process 2 :type :invoke :f :read :value nil}
         {:process 2 :type :info :f :read :value :timed-out}",
    )
    .expect("the text is a history");
    let value = WrittenValue;
    let accesses: Vec<(Outcome, Access)> = history
        .registers
        .operations
        .iter()
        .map(|operation| (operation.outcome, operation.access))
        .collect();
    assert_eq!(
        accesses,
        [
            (Outcome::Done, Access::Read(WrittenValue::ABSENT)),
            (Outcome::Done, Access::Write(value(1))),
            (Outcome::Done, Access::ReadThenWrite { read: value(1), written: value(2) }),
            (Outcome::Refused, Access::Write(value(3))),
            (Outcome::Unknown, Access::Read(WrittenValue::ABSENT)),
        ]
    );
    assert_eq!(history.times, ForeignTimes::LineOrder);
    assert_eq!(history.names.keys.len(), 1);
}

// tidy: allow columns: warnings are one line each
#[test]
fn independent_registers_have_keys_of_their_own() {
    check(
        "{:process 0 :type :invoke :f :read :value [7 nil] :time 1}
         {:process 0 :type :ok :f :read :value [7 nil] :time 2}
         {:process 1 :type :invoke :f :cas :value [8 [1 2]] :time 3}
         {:process 0 :type :invoke :f :write :value [7 1] :time 4}
         {:process 1 :type :ok :f :cas :value [8 [1 2]] :time 5}",
        expect![[r#"
            0 s0 1..2 done: r 7 absent
            2 s1 3..5 done: r 8 1, w 8 2
            3 s0 4.. unknown: w 7 1
            invocations without a completion; nobody knows whether they happened: 1, the first in line 4
        "#]],
    );
}

#[test]
fn transactions_that_are_called_reads_and_writes_are_transactions() {
    check(
        "{:process 0 :type :invoke :f :write :value [[:w 0 1]] :time 1}
         {:process 1 :type :invoke :f :read :value [[:r 0 nil] [:r 1 nil]] :time 2}
         {:process 0 :type :ok :f :write :value [[:w 0 1]] :time 3}
         {:process 1 :type :ok :f :read :value [[:r 0 1] [:r 1 nil]] :time 4}",
        expect![[r#"
            0 s0 1..3 done: w 0 1
            1 s1 2..4 done: r 0 1, r 1 absent
        "#]],
    );
}

#[test]
fn sets_are_read() {
    check_aggregates(
        "{:process 0 :type :invoke :f :read :value nil :time 1}
         {:process 0 :type :ok :f :read :value #{} :time 2}
         {:process 0 :type :invoke :f :add :value 7 :time 3}
         {:process 0 :type :ok :f :add :value 7 :time 4}
         {:process 0 :type :invoke :f :add :value 8 :time 5}
         {:process 0 :type :info :f :add :value 8 :time 6}
         {:process 1 :type :invoke :f :read :value nil :time 7}
         {:process 1 :type :ok :f :read :value #{7 8} :time 8}
         {:process 1 :type :invoke :f :read :value nil :time 9}
         {:process 1 :type :fail :f :read :value nil :time 10}",
        expect![[r#"
            0 register done: elements []
            2 register done: add 7
            4 register unknown: add 8
            6 register done: elements ["7", "8"]
            8 register refused: UnknownRead
        "#]],
    );
    check_aggregates(
        "{:process 0 :type :invoke :f :add :value [1 7] :time 3}
         {:process 0 :type :ok :f :add :value [1 7] :time 4}
         {:process 1 :type :invoke :f :read :value [1 nil] :time 7}
         {:process 1 :type :ok :f :read :value [1 (7 9)] :time 8}",
        expect![[r#"
            0 1 done: add 7
            2 1 done: elements ["7", "9"]
        "#]],
    );
}

#[test]
fn counters_are_read() {
    check_aggregates(
        r#"[{"process":0,"type":"invoke","f":"read","value":null,"time":1},
            {"process":0,"type":"ok","f":"read","value":0,"time":2},
            {"process":0,"type":"invoke","f":"add","value":2,"time":3},
            {"process":0,"type":"fail","f":"add","value":2,"time":4},
            {"process":0,"type":"invoke","f":"read","value":null,"time":5},
            {"process":0,"type":"ok","f":"read","value":2,"time":6}]"#,
        expect![[r#"
            0 register done: Sum(0)
            2 register refused: add 2
            4 register done: Sum(2)
        "#]],
    );
}

#[test]
fn banks_are_read_from_edn_and_json() {
    let edn = "
         {:process 0 :type :invoke :f :read :time 1}
         {:process 0 :type :ok :f :read :value {0 100, 1 nil} :time 2}
         {:process 0 :type :invoke :f :transfer :value {:from 0 :to 1 :amount 5} :time 3}
         {:process 0 :type :ok :f :transfer :value {:from 0 :to 1 :amount 5} :time 4}";
    let json = r#"
         {"process":0,"type":"invoke","f":"read","time":1}
         {"process":0,"type":"ok","f":"read","value":{"0":100,"1":null},"time":2}
         {"process":0,"type":"invoke","f":"transfer","value":{"from":0,"to":1,"amount":5},"time":3}
         {"process":0,"type":"ok","f":"transfer","value":{"from":0,"to":1,"amount":5},"time":4}"#;
    assert_eq!(read(json).map(|it| it.aggregates), read(edn).map(|it| it.aggregates));
    check_aggregates(
        edn,
        expect![[r#"
        0 register done: balances [("0", Some(100)), ("1", None)]
        2 register done: transfer 5 from 0 to 1
    "#]],
    );
}

// tidy: allow columns: warnings are one line each
#[test]
fn a_process_that_goes_on_after_an_unknown_outcome_is_another_session() {
    check(
        "{:process 0 :type :invoke :f :write :value 1 :time 1}
         {:process 0 :type :info :f :write :value 1 :time 2}
         {:process 0 :type :invoke :f :write :value 2 :time 3}
         {:process 0 :type :ok :f :write :value 2 :time 4}
         {:process 0 :type :invoke :f :read :value nil :time 5}
         {:process 0 :type :ok :f :read :time 6}",
        expect![[r#"
            0 s0 1..2 unknown: w register 1
            2 s1 3..4 done: w register 2
            4 s1 5..6 done: r register ?
            processes that go on after :info; they are sessions of their own from there on: 1, the first in line 3
            answers without a value; their reads say nothing: 1, the first in line 6
        "#]],
    );
}

// tidy: allow columns: warnings are one line each
#[test]
fn times_that_go_back_follow_the_order_of_lines() {
    check(
        "{:process 0 :type :invoke :f :write :value 1 :time 100}
         {:process 1 :type :invoke :f :write :value 2 :time 90}
         {:process 0 :type :ok :f :write :value 1 :time 95}
         {:process 2 :type :invoke :f :read :value nil :time 95}
         {:process 1 :type :ok :f :write :value 2 :time -5}
         {:process 2 :type :ok :f :read :value 2 :time 120}",
        expect![[r#"
            0 s0 100..102 done: w register 1
            1 s1 101..103 done: w register 2
            3 s2 102..120 done: r register 2
            times before the one of the line above; the order of lines was used: 2, the first in line 2
        "#]],
    );
}

// tidy: allow columns: warnings are one line each
#[test]
fn what_a_completion_wrote_is_believed() {
    check(
        "{:process 0 :type :invoke :f :txn :value [[:w x nil]] :time 1}
         {:process 0 :type :ok :f :txn :value [[:w x 5]] :time 2}",
        expect![[r#"
            0 s0 1..2 done: w x 5
            completions that wrote something else than their invocations; they were believed: 1, the first in line 2
        "#]],
    );
}

#[test]
fn reads_that_found_nothing_are_of_lists_where_there_are_only_lists() {
    check(
        "[{:process 0 :type :invoke :f :txn :value [[:r 9 nil]] :time 0}
          {:process 0 :type :ok :f :txn :value [[:r 9 nil] [:r 1 nil]] :time 1}
          {:process 0 :type :invoke :f :txn :value [[:append 1 nil]] :time 2}
          {:process 0 :type :ok :f :txn :value [[:append 1 nil]] :time 3}]",
        expect![[r#"
            0 s0 0..1 done: l 9 [], l 1 []
            2 s0 2..3 done: a 1 nil
        "#]],
    );
}

#[test]
fn values_written_twice_keep_one_number_per_key() {
    let history = read(
        "{:process 0 :type :invoke :f :txn :value [[:w x 1] [:w y 1]] :time 1}
         {:process 0 :type :ok :f :txn :value [[:w x 1] [:w y 1]] :time 2}
         {:process 0 :type :invoke :f :txn :value [[:w x 1]] :time 3}
         {:process 0 :type :ok :f :txn :value [[:w x 1]] :time 4}",
    )
    .expect("the text is a history");
    let steps = |position: usize| history.transactions.transactions[position].steps.clone();
    assert_eq!(steps(0)[0], steps(1)[0]);
    assert_eq!(history.names.values.len(), 2);
}

#[test]
fn awdit_s_text_is_read_without_real_time() {
    check(
        "w(0,1,0,0)\nw(1,2,0,0)\nw(1,9,0,-1)\r\nr(0,1,1,1)\nr(1,0,1,1)\nr(5,0,1,-1)\n\nw(0,3,0,2)",
        expect![[r#"
            0 s0 0.. done: w 0 1, w 1 2
            1 s0 1.. refused: w 1 9
            2 s1 2.. done: r 0 1, r 1 absent
            3 s0 3.. done: w 0 3
        "#]],
    );
    assert_eq!(read("w(0,1,0,0)").map(|history| history.times), Ok(ForeignTimes::SessionOrder));
}

#[test]
fn zero_is_a_value_where_it_is_written() {
    check(
        "r(0,0,0,0)\nw(0,0,1,1)\nr(1,0,0,2)\nw(18446744073709551615,5,0,3)",
        expect![[r#"
            0 s0 0.. done: r 0 0
            1 s1 1.. done: w 0 0
            2 s0 2.. done: r 1 absent
            3 s0 3.. done: w 18446744073709551615 5
        "#]],
    );
}

#[test]
fn dbcop_s_json_is_read_alone_and_in_its_description() {
    let sessions = r#"[
      [{"events": [{"Write": {"variable": 0, "version": 1}}, ["w", 1, 2]], "committed": true}],
      [{"events": [{"Read": {"variable": 0, "version": 1}}, ["r", 1, null]], "committed": true},
       {"events": [{"Write": {"variable": 1, "version": 3}}], "committed": false}]]"#;
    check(
        sessions,
        expect![[r#"
            0 s0 0.. done: w 0 1, w 1 2
            1 s1 1.. done: r 0 1, r 1 absent
            2 s1 2.. refused: w 1 3
        "#]],
    );
    let described = r#"{"params": {"id": 0, "n_node": 2}, "info": "x", "start": "2026", "data": "#;
    assert_eq!(read(&format!("{described}{sessions}, \"end\": []}}")), read(sessions));
}

#[test]
fn events_of_dbcop_s_forks_succeed_or_not() {
    check(
        r#"{"params": {}, "data": [[{"success": true, "events": [
            {"write": true, "variable": 4, "value": 1, "success": true},
            {"write": true, "variable": 4, "value": 2, "success": false},
            {"write": false, "variable": 5, "value": 0, "success": true},
            {"write": false, "variable": 6, "value": 0, "success": false}]}]]}"#,
        expect![[r#"
            0 s0 0.. done: w 4 1, r 5 absent
            1 s0 1.. refused: w 4 2
        "#]],
    );
}

#[test]
fn a_history_of_one_moment_has_no_real_time() {
    let operation = |client: u64, value: &str, ended: u64| {
        let input = format!(r#"{{"Op":1,"Value":"{value}"}}"#);
        format!(r#"{{"ClientId":{client},"Input":{input},"Call":0,"Return":{ended}}}"#)
    };
    for (ended, times) in [(0, ForeignTimes::SessionOrder), (1, ForeignTimes::Nanoseconds)] {
        let text = format!("[{},{}]", operation(0, "a", 0), operation(1, "b", ended));
        assert_eq!(read(&text).map(|history| history.times), Ok(times), "{text}");
    }
    let zeros = "{:process 0 :type :invoke :f :txn :value [[:append 1 1]] :time 0}
                 {:process 0 :type :ok :f :txn :value [[:append 1 1]] :time 0}
                 {:process 1 :type :invoke :f :txn :value [[:r 1 nil]] :time 0}
                 {:process 1 :type :ok :f :txn :value [[:r 1 [1]]] :time 0}";
    assert_eq!(read(zeros).map(|history| history.times), Ok(ForeignTimes::SessionOrder));
}

// tidy: allow columns: one operation per line
#[test]
fn operations_of_porcupine_are_read() {
    check(
        r#"[{"ClientId":0,"Input":{"Op":1,"Key":"x","Value":"a"},"Call":1,"Output":{"Value":""},"Return":5,"Metadata":null},
            {"ClientId":1,"Input":{"Op":0,"Key":"x","Value":""},"Call":2,"Output":{"Value":""},"Return":5},
            {"ClientId":1,"Input":{"Op":0,"Key":"x"},"Call":6,"Output":{"Value":"a"},"Return":8},
            {"ClientId":2,"Input":{"Op":2,"Arg1":1,"Arg2":2},"Call":6,"Output":{"Ok":false},"Return":9},
            {"ClientId":2,"Input":{"Op":2,"Arg1":1,"Arg2":3},"Call":7,"Output":{"Ok":false,"Unknown":true},"Return":9},
            {"ClientId":0,"Input":{"Op":"put","Value":7},"Call":10,"Output":null}]"#,
        expect![[r#"
            0 s0 1..5 done: w "x" "a"
            1 s1 2..5 done: r "x" absent
            2 s1 6..8 done: r "x" "a"
            3 s2 6..9 refused: r register ?, w register 2
            4 s3 7..9 unknown: r register 1, w register 3
            5 s0 10.. unknown: w register 7
            operations that overlap with others of their client; each is a session: 1, the first in line 5
        "#]],
    );
}

//! Exported histories read back, by us and by adya, and judged by adya.

use std::collections::HashMap;

use adya::history::{Mop, OpType, ReadValue, Scalar};
use adya::{History, Opts, Valid, Workload};
use assay_model::{Draws, Seed};

use super::*;
use crate::register::{RegisterHistory, RegisterOperation};
use crate::transaction::TransactionHistory;

const FORMATS: [ElleFormat; 2] = [ElleFormat::Edn, ElleFormat::JsonLines];
const HISTORIES: u64 = 400;

fn exported(history: &TransactionHistory, format: ElleFormat) -> String {
    let mut text = Vec::new();
    write_transactions(history, &[], format, &mut text).expect("a vector takes it");
    String::from_utf8(text).expect("the export is UTF-8")
}

/// Random histories with their seeds, and as texts of both formats that say anything.
fn random_histories() -> impl Iterator<Item = (u64, TransactionHistory, Vec<String>)> {
    (0..HISTORIES).map(|seed| {
        let history = random_history(seed, seed % 2 == 0);
        let mut texts = FORMATS.map(|format| exported(&history, format)).to_vec();
        texts.retain(|text| !text.is_empty());
        (seed, history, texts)
    })
}

/// A transaction that was done.
fn transaction(
    index: u64,
    session: u32,
    times: [u64; 2],
    steps: Vec<TransactionStep>,
) -> ObservedTransaction {
    let [started, ended] = times.map(Nanos);
    let (node, agent, outcome) = (0, 0, Outcome::Done);
    ObservedTransaction { node, index, session, agent, started, ended, outcome, steps }
}

/// Sessions that run side by side; each ends after an unknown outcome.
fn random_history(seed: u64, lists: bool) -> TransactionHistory {
    let mut draws = Seed(seed).draws(24, 0);
    let mut transactions = Vec::new();
    let mut values = 0;
    for session in 0..1 + draws.below(4) as u32 {
        let mut at = 0;
        for _ in 0..draws.below(6) {
            let started = at + 1 + draws.below(20);
            at = started + 1 + draws.below(20);
            let outcome = match draws.below(6) {
                0 => Outcome::Refused,
                1 => Outcome::Unknown,
                _ => Outcome::Done,
            };
            let done = outcome == Outcome::Done;
            let steps = (0..1 + draws.below(4))
                .map(|_| random_step(&mut draws, &mut values, lists, done))
                .collect();
            // Times of all sessions differ.
            let times = [started, at].map(|time| time * 4 + u64::from(session));
            let index = transactions.len() as u64;
            transactions
                .push(ObservedTransaction { outcome, ..transaction(index, session, times, steps) });
            if outcome == Outcome::Unknown {
                break;
            }
        }
    }
    TransactionHistory { transactions }
}

fn random_step(draws: &mut Draws, values: &mut u64, lists: bool, done: bool) -> TransactionStep {
    let key = draws.below(3);
    let any = |draws: &mut Draws, values: u64| WrittenValue(1 + draws.below(values + 2));
    *values += 1;
    match (lists, draws.below(2)) {
        (true, 0) => TransactionStep::Append { key, element: WrittenValue(*values) },
        (true, _) => {
            let count = draws.below(4);
            let elements = (0..count).map(|_| any(draws, *values)).collect();
            TransactionStep::ReadList { key, elements: done.then_some(elements) }
        }
        (false, 0) => TransactionStep::Write { key, value: WrittenValue(*values), version: None },
        (false, _) => {
            let absent = draws.below(3) == 0;
            let value = if absent { WrittenValue::ABSENT } else { any(draws, *values) };
            TransactionStep::Read { key, value: done.then_some(value) }
        }
    }
}

/// Steps with the integers by which a history calls its keys and values.
fn renamed(steps: &[TransactionStep], names: &ForeignNames) -> Vec<TransactionStep> {
    let number = |name: Option<&ForeignName>| match name {
        Some(ForeignName::Integer(number)) => *number as u64,
        Some(other) => panic!("{other} is no integer"),
        None => 0,
    };
    let value = |value: &WrittenValue| WrittenValue(number(names.value(*value)));
    steps
        .iter()
        .map(|step| match step {
            TransactionStep::Read { key, value: read } => TransactionStep::Read {
                key: number(names.key(*key)),
                value: read.as_ref().map(value),
            },
            TransactionStep::Write { key, value: written, version } => TransactionStep::Write {
                key: number(names.key(*key)),
                value: value(written),
                version: *version,
            },
            TransactionStep::Append { key, element } => {
                TransactionStep::Append { key: number(names.key(*key)), element: value(element) }
            }
            TransactionStep::ReadList { key, elements } => TransactionStep::ReadList {
                key: number(names.key(*key)),
                elements: elements.as_ref().map(|all| all.iter().map(value).collect()),
            },
        })
        .collect()
}

/// A read of nobody knows what is one of a list only if its record is known to be one.
fn without_kind(step: TransactionStep) -> TransactionStep {
    match step {
        TransactionStep::ReadList { key, elements: None } => {
            TransactionStep::Read { key, value: None }
        }
        other => other,
    }
}

/// What does not depend on numbers: session, start, end if there is one, outcome, steps.
type Comparable = Vec<(u64, u64, Option<u64>, Outcome, Vec<TransactionStep>)>;

fn comparable<'a>(
    transactions: impl Iterator<Item = (u64, &'a ObservedTransaction, Vec<TransactionStep>)>,
) -> Comparable {
    let mut all: Comparable = transactions
        .map(|(session, transaction, steps)| {
            let done = transaction.outcome == Outcome::Done;
            let ended = done.then_some(transaction.ended.0);
            let steps = steps.into_iter().map(without_kind).collect();
            (session, transaction.started.0, ended, transaction.outcome, steps)
        })
        .collect();
    all.sort_by_key(|(_, started, ..)| *started);
    all
}

#[test]
fn exported_histories_are_read_back_as_they_were() {
    for (seed, history, texts) in random_histories() {
        let ours = comparable(history.transactions.iter().map(|transaction| {
            (u64::from(transaction.session), transaction, transaction.steps.clone())
        }));
        for text in texts {
            let back = read(&text).unwrap_or_else(|error| panic!("{error} in {text}"));
            let theirs = comparable(back.transactions.transactions.iter().map(|transaction| {
                let session = back.names.sessions[transaction.session as usize] as u64;
                (session, transaction, renamed(&transaction.steps, &back.names))
            }));
            assert_eq!(theirs, ours, "seed {seed}, {text}");
            assert_eq!(back.warnings, [], "seed {seed}, {text}");
        }
    }
}

#[test]
fn exported_registers_are_read_back_as_registers() {
    let operation = |index: u64, access, outcome| RegisterOperation {
        node: 0,
        index,
        key: index % 2,
        session: index as u32,
        agent: 0,
        started: Nanos(index * 10),
        ended: Nanos(index * 10 + 15),
        outcome,
        access,
    };
    let (one, two) = (WrittenValue(1), WrittenValue(2));
    let history = RegisterHistory {
        operations: vec![
            operation(0, Access::Write(one), Outcome::Done),
            operation(2, Access::ReadThenWrite { read: one, written: two }, Outcome::Done),
            operation(4, Access::Read(two), Outcome::Done),
            operation(6, Access::Read(WrittenValue::ABSENT), Outcome::Done),
            operation(8, Access::Write(WrittenValue(3)), Outcome::Unknown),
        ],
        writes_whole_records: true,
        ..RegisterHistory::default()
    };
    for format in FORMATS {
        let mut text = Vec::new();
        write_registers(&history, &[], format, &mut text).expect("a vector takes it");
        let back = read_foreign_history(&*text, None, &mut |_| {}).expect("it is a history");
        let accesses = |history: &RegisterHistory| -> Vec<_> {
            history.operations.iter().map(|each| (each.outcome, each.access)).collect()
        };
        assert_eq!(accesses(&back.registers), accesses(&history));
    }
}

/// Extremes that no store should produce, but that must not break an export.
// tidy: allow columns: one transaction per line
#[test]
fn extreme_numbers_and_overlapping_sessions_are_exported() {
    let (key, last) = (u64::MAX, WrittenValue(u64::MAX - 1));
    let steps = [
        (1, 0, TransactionStep::Read { key, value: None }),
        (2, 0, TransactionStep::Read { key, value: Some(WrittenValue::GARBAGE) }),
        (3, u64::MAX, TransactionStep::Write { key, value: last, version: Some(1) }),
    ];
    let transactions = steps
        .map(|(index, started, step)| transaction(index, 0, [started, u64::MAX], vec![step]))
        .to_vec();
    let history = TransactionHistory { transactions };
    for format in FORMATS {
        check(
            &exported(&history, format),
            expect![[r#"
                0 s0 0..0 done: 
                2 s0 0..9223372036854775807 done: r "18446744073709551615" -1
                4 s0 9223372036854775807..9223372036854775807 done: w "18446744073709551615" "18446744073709551614"
            "#]],
        );
    }
}

/// Steps of a text's committed transactions as adya reads them, by their start in the text.
fn steps_of_adya(history: &History) -> Vec<Vec<String>> {
    let name = |id| match history.show(id) {
        Scalar::Int(number) => number.to_string(),
        Scalar::Str(text) => format!("{text:?}"),
    };
    let invoked = history.ops.iter().enumerate().filter(|(_, op)| op.kind == OpType::Invoke);
    invoked
        .filter_map(|(position, _)| history.completion(position))
        .filter(|completion| completion.kind == OpType::Ok)
        .map(|completion| {
            let step = |step: &Mop| match step {
                Mop::Append { key, value } => format!("a {} {}", name(*key), name(*value)),
                Mop::Write { key, value } => format!("w {} {}", name(*key), name(*value)),
                Mop::Read { key, value: ReadValue::Nil } => format!("r {}", name(*key)),
                Mop::Read { key, value: ReadValue::Scalar(value) } => {
                    format!("r {} {}", name(*key), name(*value))
                }
                Mop::Read { key, value: ReadValue::List(list) } => {
                    let mut words = vec![format!("r {}", name(*key))];
                    words.extend(list.iter().map(|element| name(*element)));
                    words.join(" ")
                }
            };
            completion.value.iter().map(step).collect()
        })
        .collect()
}

fn steps_of_ours(history: &ForeignHistory) -> Vec<Vec<String>> {
    let committed = history
        .transactions
        .transactions
        .iter()
        .filter(|transaction| transaction.outcome == Outcome::Done);
    let names = &history.names;
    let key = |key: &u64| names.key(*key).expect("every key has a name").to_string();
    let value = |value: &WrittenValue| names.value(*value).map(ToString::to_string);
    let step = |step: &TransactionStep| match step {
        TransactionStep::Append { key: of, element } => {
            format!("a {} {}", key(of), value(element).unwrap_or_default())
        }
        TransactionStep::Write { key: of, value: written, .. } => {
            format!("w {} {}", key(of), value(written).unwrap_or_default())
        }
        TransactionStep::Read { key: of, value: read } => {
            let mut words = vec![format!("r {}", key(of))];
            words.extend(read.as_ref().and_then(value));
            words.join(" ")
        }
        TransactionStep::ReadList { key: of, elements } => {
            let mut words = vec![format!("r {}", key(of))];
            words.extend(elements.iter().flatten().filter_map(value));
            words.join(" ")
        }
    };
    committed.map(|transaction| transaction.steps.iter().map(step).collect()).collect()
}

/// A history that adya simulates: of lists if the seed is even, else of registers.
fn simulated(seed: u64, options: adya::sim::SimOpts) -> (String, Workload) {
    let (kind, workload) = if seed.is_multiple_of(2) {
        (adya::r#gen::Kind::ListAppend, Workload::ListAppend)
    } else {
        (adya::r#gen::Kind::RwRegister, Workload::RwRegister)
    };
    let generated = adya::r#gen::GenOpts { kind, ..adya::r#gen::GenOpts::default() };
    (adya::sim::run(&adya::sim::SimOpts { seed, r#gen: generated, ..options }), workload)
}

#[test]
fn adya_reads_the_same_steps_from_its_own_histories() {
    for seed in 0..20 {
        let options = adya::sim::SimOpts { txns: 100, ..adya::sim::SimOpts::default() };
        let (text, _) = simulated(seed, options);
        let theirs = History::parse(&text).expect("adya reads what it wrote");
        let ours = read(&text).expect("we read what adya wrote");
        assert_eq!(steps_of_ours(&ours), steps_of_adya(&theirs), "seed {seed}");
    }
}

/// Reading and exporting lose nothing that a judge looks at: values, sessions, real time.
#[test]
fn adya_judges_a_history_that_went_through_us_as_it_was() {
    use adya::sim::Isolation;
    let mut found = 0;
    for seed in 0..30 {
        let levels = [
            Isolation::Serializable,
            Isolation::SnapshotIsolation,
            Isolation::ReadCommitted,
            Isolation::ReadUncommitted,
            Isolation::LostUpdate,
        ];
        let options = adya::sim::SimOpts {
            isolation: levels[seed as usize % 5],
            txns: 60,
            info_rate: 0.1,
            ..adya::sim::SimOpts::default()
        };
        let (text, workload) = simulated(seed, options);
        let judge = |text: &str| {
            let options = Opts { sequential_keys: true, ..Opts::default() };
            let parsed = History::parse(text).expect("adya reads it");
            let report = adya::check(&parsed, workload, &options);
            (report.valid, report.anomaly_types, report.not)
        };
        let ours = read(&text).expect("we read what adya wrote");
        let verdict = judge(&text);
        found += u32::from(verdict.0 == Valid::False);
        for format in FORMATS {
            assert_eq!(judge(&exported(&ours.transactions, format)), verdict, "seed {seed}");
        }
    }
    assert!((5..30).contains(&found), "{found} of 30 histories have anomalies");
}

#[test]
fn adya_reads_what_is_exported() {
    for (seed, _, texts) in random_histories() {
        for text in texts {
            let theirs = History::parse(&text).expect("adya reads the export");
            let ours = read(&text).expect("we read the export");
            assert_eq!(steps_of_ours(&ours), steps_of_adya(&theirs), "seed {seed}");
        }
    }
}

/// One transaction per session, `(start, end, steps)`, exported and judged by adya.
fn judged(
    transactions: &[(u64, u64, Vec<TransactionStep>)],
    workload: Workload,
    model: &str,
) -> (Valid, Vec<String>) {
    let transactions = (0..).zip(transactions).map(|(session, (started, ended, steps))| {
        transaction(u64::from(session), session, [*started, *ended], steps.clone())
    });
    let history = TransactionHistory { transactions: transactions.collect() };
    let [edn, json] = FORMATS.map(|format| {
        let parsed = History::parse(&exported(&history, format)).expect("adya reads the export");
        let options = Opts { models: vec![model.to_owned()], ..Opts::default() };
        let report = adya::check(&parsed, workload, &options);
        (report.valid, report.anomaly_types)
    });
    assert_eq!(edn, json);
    edn
}

fn append(key: u64, element: u64) -> TransactionStep {
    TransactionStep::Append { key, element: WrittenValue(element) }
}

fn list(key: u64, elements: &[u64]) -> TransactionStep {
    let elements = elements.iter().copied().map(WrittenValue).collect();
    TransactionStep::ReadList { key, elements: Some(elements) }
}

#[test]
fn adya_finds_the_write_skew_of_an_exported_history() {
    let skew = [
        (10, 20, vec![list(1, &[]), list(2, &[]), append(1, 1)]),
        (10, 20, vec![list(1, &[]), list(2, &[]), append(2, 2)]),
        (30, 40, vec![list(1, &[1]), list(2, &[2])]),
    ];
    let judge = |model| judged(&skew, Workload::ListAppend, model);
    assert_eq!(judge("serializable"), (Valid::False, vec!["G2-item".to_owned()]));
    assert_eq!(judge("snapshot-isolation"), (Valid::True, vec![]));
}

#[test]
fn adya_finds_stale_reads_of_an_exported_history_by_real_time() {
    let read_at = |started, elements: &[u64]| {
        [
            (10, 20, vec![append(1, 1)]),
            (started, 60, vec![list(1, elements), append(1, 2)]),
            (70, 80, vec![list(1, &[1, 2])]),
        ]
    };
    let judge = |started, elements: &[u64]| {
        judged(&read_at(started, elements), Workload::ListAppend, "strict-serializable").0
    };
    assert_eq!(judge(30, &[1]), Valid::True);
    assert_eq!(judge(30, &[]), Valid::False);
}

// tidy: allow columns: one text per line
#[test]
fn json_is_read_as_serde_json_reads_it() {
    let texts = [
        r#"{"type":"invoke","process":0,"f":"txn","value":[["w","a\"\\\/\b\f\n\r\tü\u20ac\ud834\udd1e",1]]}"#,
        "{ \"type\" : \"invoke\",\n\t\"process\":-7 , \"value\":[ [\"w\" , -12, \"\" ] ], \"x\":{\"y\":[true,false,null,{}]}}",
    ];
    for text in texts {
        let theirs: HashMap<String, serde_json::Value> =
            serde_json::from_str(text).expect("the text is JSON");
        let ours = read(text).expect("the text is a history");
        let key = match &theirs["value"][0][1] {
            serde_json::Value::String(text) => format!("{text:?}"),
            other => other.to_string(),
        };
        assert_eq!(ours.names.keys[0].to_string(), key);
        assert_eq!(Some(ours.names.sessions[0]), theirs["process"].as_i64());
    }
}

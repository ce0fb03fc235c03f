//! Tests of streams of operations, as workers, agents or readers of a history use them.

use assay_model::{Fields, Filled, Kind, Nanos, Operation, OperationEncoder, Seed, version};

use super::Plan;
use crate::builtin;
use crate::distribution::theory::chi_square_holds;
use crate::spec::PlanPhase;
use crate::spec::{
    FieldLength, KeyDistribution, ReadFields, ScanDistribution, Spec, WriteFields, no_files,
};

fn spec(rest: &str) -> Spec {
    Spec::from_toml(&format!("[dataset]\nrecords = 1000\n{rest}"), "test", &no_files).unwrap()
}

/// Every kind of operation, with keys as `keys` says.
const OPERATIONS: &str = "[operations]\nread = 4\nupdate = 2\ninsert = 2\nscan = 1\n\
    read_modify_write = 1\n";

fn mixed(keys: &str) -> Spec {
    spec(&format!("{OPERATIONS}[keys]\nvisible_after = 50\n{keys}"))
}

fn run(spec: &Spec) -> Plan {
    Plan::new(spec, Seed(1), PlanPhase::Run).unwrap()
}

fn load(spec: &Spec) -> Plan {
    Plan::new(spec, Seed(1), PlanPhase::Load).unwrap()
}

fn operations(plan: &Plan, processes: impl IntoIterator<Item = u64>) -> Vec<Operation> {
    let (mut source, mut all, mut some) = (plan.source(), Vec::new(), Vec::new());
    for process in processes {
        match source.fill(process, &mut some).unwrap() {
            Filled::Process => all.extend_from_slice(&some),
            Filled::End => assert!(some.is_empty()),
        }
    }
    all
}

fn key(encoder: &dyn OperationEncoder, number: u64) -> String {
    let mut bytes = Vec::new();
    encoder.key(number, &mut bytes);
    String::from_utf8(bytes).unwrap()
}

fn value(encoder: &dyn OperationEncoder, operation: &Operation, field: u16) -> Vec<u8> {
    let mut bytes = Vec::new();
    encoder.value(operation, field, &mut bytes);
    bytes
}

const DISTRIBUTIONS: [&str; 9] = [
    "distribution = \"uniform\"",
    "distribution = \"sequential\"",
    "distribution = \"zipfian\"",
    "distribution = \"zipfian\"\nscatter = false",
    "distribution = \"ycsb-zipfian\"",
    "distribution = \"latest\"",
    "distribution = \"ycsb-latest\"",
    "distribution = \"hotspot\"",
    "distribution = \"exponential\"",
];

/// The operations of one worker, which several workers must issue together.
fn alone_as_together(plan: &Plan, processes: u64, label: &str) -> Vec<Operation> {
    let alone = operations(plan, 0..processes);
    for workers in [2u64, 7] {
        let mut together: Vec<Operation> = (0..workers)
            .flat_map(|worker| operations(plan, (worker..processes).step_by(workers as usize)))
            .collect();
        together.sort_unstable_by_key(|operation| operation.index);
        assert_eq!(together, alone, "{workers} workers, {label}");
    }
    alone
}

#[test]
fn workers_together_issue_the_operations_of_one_worker() {
    for keys in DISTRIBUTIONS {
        let plan = run(&mixed(keys));
        let alone = alone_as_together(&plan, 5000, keys);
        let later: Vec<Operation> =
            alone.iter().copied().filter(|operation| operation.index >= 2 * 4000).collect();
        assert_eq!(operations(&plan, 4000..5000), later, "a late agent, {keys}");
    }
}

#[test]
fn inserts_add_the_next_record_each_once() {
    for keys in DISTRIBUTIONS {
        let inserted: Vec<u64> = operations(&run(&mixed(keys)), 0..5000)
            .iter()
            .filter(|operation| operation.kind == Kind::Insert)
            .map(|operation| operation.key)
            .collect();
        assert!(inserted.len() > 900, "{keys}");
        let count = inserted.len() as u64;
        assert!(inserted.into_iter().eq(1000..1000 + count), "{keys}");
    }
}

#[test]
fn no_operation_accesses_a_record_whose_insert_may_be_in_flight() {
    for keys in DISTRIBUTIONS {
        let all = operations(&run(&mixed(keys)), 0..5000);
        let insert_of = |key: u64| {
            let insert = all.iter().find(|other| other.kind == Kind::Insert && other.key == key);
            insert.map(|insert| insert.index / 2)
        };
        for operation in all.iter().filter(|operation| operation.kind != Kind::Insert) {
            if operation.key >= 1000 {
                let age = operation.index / 2 - insert_of(operation.key).unwrap();
                assert!(age > 50, "age {age}, {keys}");
            }
        }
    }
}

#[test]
fn newer_records_are_met_by_the_distributions_that_look_for_them() {
    let newest = |keys: &str| {
        let all = operations(&run(&mixed(keys)), 0..5000);
        let others = all.iter().filter(|operation| operation.kind != Kind::Insert);
        others.map(|operation| operation.key).max().unwrap()
    };
    for keys in ["latest", "ycsb-latest", "exponential", "ycsb-zipfian"] {
        let keys = format!("distribution = \"{keys}\"");
        assert!(newest(&keys) > 1000, "{keys}");
    }
    for keys in ["uniform", "sequential", "zipfian", "hotspot"] {
        let keys = format!("distribution = \"{keys}\"");
        assert!(newest(&keys) < 1000, "{keys}");
    }
}

#[test]
fn kinds_come_as_often_as_they_weigh() {
    let mut counts = [0u64; 5];
    for operation in operations(&run(&mixed("")), 0..50_000) {
        match (operation.kind, operation.transaction_type) {
            (Kind::Read, 1) => counts[4] += 1,
            (Kind::Update, 1) => {}
            (kind, _) => counts[kind as usize] += 1,
        }
    }
    chi_square_holds(&counts, |cell| [0.4, 0.2, 0.2, 0.1, 0.1][cell]);
}

#[test]
fn read_modify_write_is_a_read_with_an_update_of_the_same_record() {
    let plan = run(&spec("[operations]\nread_modify_write = 1\n"));
    assert_eq!((plan.width(), plan.transaction_types().len()), (2, 2));
    assert_eq!(plan.transaction_types()[1], "read-modify-write");
    let pair = operations(&plan, [7]);
    assert_eq!((pair[0].index, pair[1].index), (14, 15));
    assert_eq!((pair[0].kind, pair[1].kind), (Kind::Read, Kind::Update));
    assert_eq!(pair[0].key, pair[1].key);
    assert_eq!((pair[0].transaction_type, pair[1].transaction_type), (1, 1));
    assert_eq!((pair[0].ends_transaction, pair[1].ends_transaction), (false, true));
    assert_eq!((pair[0].bytes, pair[1].bytes), (0, 100));
}

#[test]
fn a_load_inserts_every_record_of_its_share_in_order() {
    let plan = load(&spec("first = 200\ncount = 300\n[operations]\nread = 1\n"));
    assert_eq!((plan.len(), plan.width(), plan.layout().records), (Some(300), 1, 300));
    let all = operations(&plan, 0..1000);
    assert!(all.iter().map(|operation| operation.key).eq(200..500));
    assert!(all.iter().all(|operation| operation.kind == Kind::Insert));
    assert!(all.iter().all(|operation| operation.fields == Fields::All && operation.bytes == 1000));
}

#[test]
fn a_run_ends_after_its_operations() {
    let plan = run(&spec("[operations]\nread = 1\ncount = 10\n"));
    assert_eq!((plan.len(), operations(&plan, 0..20).len()), (Some(10), 10));
    assert_eq!(run(&spec("[operations]\nread = 1\n")).len(), None);
}

/// `mixed` in processes of `transactions`.
fn in_processes(transactions: u64, think: &str) -> Spec {
    let process = format!("[process]\ntransactions = {transactions}\nthink = \"{think}\"\n");
    spec(&format!("{OPERATIONS}{process}[keys]\ndistribution = \"latest\"\nvisible_after = 50\n"))
}

#[test]
fn processes_are_stretches_of_the_same_stream_of_transactions() {
    let alone = operations(&run(&mixed("distribution = \"latest\"")), 0..5000);
    let plan = run(&in_processes(5, "0s"));
    assert_eq!(plan.width(), 10);
    let mut together = operations(&plan, 0..1000);
    assert!(together.iter().all(|operation| operation.index / 10 < 1000));
    for operation in &mut together {
        assert_eq!(u64::from(operation.transaction), operation.index / 2 % 5);
        operation.transaction = 0;
    }
    assert_eq!(together, alone);
}

#[test]
fn workers_together_issue_the_processes_of_one_worker() {
    alone_as_together(&run(&in_processes(3, "exp:10ms")), 700, "processes");
}

#[test]
fn a_process_thinks_before_each_transaction_but_the_first() {
    let all = operations(&run(&in_processes(4, "15ms")), 0..500);
    for pair in all.windows(2) {
        let is_new = pair[1].transaction != pair[0].transaction && pair[1].transaction > 0;
        let think = if is_new { Nanos::from_millis(15) } else { Nanos::ZERO };
        assert_eq!(pair[1].think, think, "{:?}", pair[1]);
    }
    let all = operations(&run(&in_processes(4, "exp:15ms")), 0..20_000);
    let thinks = all.iter().map(|operation| operation.think.as_secs_f64()).filter(|t| *t > 0.0);
    let mean = thinks.sum::<f64>() / 60_000.0;
    // The mean of 60,000 exponential times varies by 0.4 %.
    assert!((mean / 0.015 - 1.0).abs() < 0.015, "mean {mean} s");
}

#[test]
fn the_last_process_has_what_is_left() {
    let plan = run(&spec("[operations]\nread = 1\ncount = 10\n[process]\ntransactions = 4\n"));
    assert_eq!((plan.len(), plan.width()), (Some(3), 4));
    let lengths = [0, 1, 2, 3].map(|process| operations(&plan, [process]).len());
    assert_eq!(lengths, [4, 4, 2, 0]);
}

#[test]
fn sequential_keys_count_every_operation_that_draws_one() {
    let mut spec = mixed("distribution = \"sequential\"");
    (spec.dataset.first, spec.dataset.count) = (5, Some(4));
    let mut keys = Vec::new();
    let (plan, mut some) = (run(&spec), Vec::new());
    let mut source = plan.source();
    for process in 0..100 {
        source.fill(process, &mut some).unwrap();
        keys.extend(some.first().filter(|first| first.kind != Kind::Insert).map(|first| first.key));
    }
    assert!(keys.iter().copied().eq((5..9).cycle().take(keys.len())), "{keys:?}");
}

#[test]
fn keys_stay_within_the_share() {
    for keys in ["uniform", "sequential", "zipfian", "hotspot"] {
        let mut spec =
            spec(&format!("[operations]\nread = 1\n[keys]\ndistribution = \"{keys}\"\n"));
        (spec.dataset.first, spec.dataset.count) = (300, Some(50));
        let all = operations(&run(&spec), 0..2000);
        let range = all.iter().map(|operation| operation.key);
        assert_eq!((range.clone().min(), range.max()), (Some(300), Some(349)), "{keys}");
    }
}

#[test]
fn fields_are_chosen_as_the_specification_says() {
    let mut spec = spec("[operations]\nread = 1\nupdate = 1\nscan = 1\n[scan]\nmax = 5\n");
    let fields = |spec: &Spec, kind: Kind| {
        let all = operations(&run(spec), 0..3000);
        let mut codes: Vec<u32> = all
            .iter()
            .filter(|operation| operation.kind == kind)
            .map(|operation| operation.fields.code())
            .collect();
        codes.sort_unstable();
        codes.dedup();
        codes
    };
    let each: Vec<u32> = (2..12).collect();
    assert_eq!(fields(&spec, Kind::Read), [Fields::All.code()]);
    assert_eq!(fields(&spec, Kind::Update), each);
    spec.operations.read_fields = ReadFields::One;
    spec.operations.write_fields = WriteFields::All;
    assert_eq!(fields(&spec, Kind::Read), each);
    assert_eq!(fields(&spec, Kind::Scan), each);
    assert_eq!(fields(&spec, Kind::Update), [Fields::All.code()]);
    spec.operations.read_fields = ReadFields::Named;
    assert_eq!(fields(&spec, Kind::Read), [Fields::Named.code()]);
    assert_eq!(fields(&spec, Kind::Scan), [Fields::All.code()]);
}

#[test]
fn scans_are_as_long_as_their_distribution_says() {
    let mut spec = spec("[operations]\nscan = 1\n[scan]\nmin = 3\nmax = 7\n");
    let lengths = |spec: &Spec| {
        let mut counts = [0u64; 5];
        for operation in operations(&run(spec), 0..20_000) {
            counts[operation.limit as usize - 3] += 1;
        }
        counts
    };
    chi_square_holds(&lengths(&spec), |_| 0.2);
    spec.scan.distribution = ScanDistribution::Zipfian;
    let counts = lengths(&spec);
    assert!(counts[0] > counts[1] && counts[1] > counts[4], "{counts:?}");
}

#[test]
fn values_tell_which_write_they_come_from() {
    let spec = spec("[operations]\nupdate = 1\n");
    let (load, run) = (load(&spec), run(&spec));
    for (plan, process, expected) in
        [(&load, 41, version::loaded(41)), (&run, 7, version::written(7))]
    {
        let (encoder, operation) = (plan.encoder(), operations(plan, [process])[0]);
        let bytes = value(&*encoder, &operation, 3);
        assert_eq!(bytes.len(), 100);
        assert!(bytes.iter().all(|byte| (32..=127).contains(byte)));
        assert_eq!(encoder.version_written(&operation), expected);
        assert_eq!(load.encoder().version(&bytes), Some(expected), "the other phase reads it too");
        assert_ne!(bytes, value(&*encoder, &operation, 4), "fields differ");
    }
    let foreign = Plan::new(&spec, Seed(2), PlanPhase::Run).unwrap().encoder();
    let bytes = value(&*load.encoder(), &operations(&load, [0])[0], 0);
    assert_eq!(foreign.version(&bytes), None, "another seed makes another data set");
    let read = Operation { kind: Kind::Read, ..operations(&run, [0])[0] };
    assert_eq!(run.encoder().version_written(&read), version::NONE);
}

#[test]
fn short_values_carry_no_version() {
    for (length, carries) in [(12, false), (13, true)] {
        let spec = spec(&format!("field_length = {length}\n[operations]\nupdate = 1\n"));
        let plan = run(&spec);
        let (encoder, operation) = (plan.encoder(), operations(&plan, [0])[0]);
        let bytes = value(&*encoder, &operation, 0);
        assert_eq!(bytes.len(), length);
        assert_eq!(encoder.version(&bytes).is_some(), carries);
        assert_eq!(encoder.version_written(&operation) != version::NONE, carries);
    }
}

#[test]
fn a_seed_of_the_data_set_keeps_its_values_when_the_run_has_another() {
    let spec = spec("seed = 9\n[operations]\nupdate = 1\n");
    let load = Plan::new(&spec, Seed(1), PlanPhase::Load).unwrap();
    let run = Plan::new(&spec, Seed(2), PlanPhase::Run).unwrap();
    let bytes = value(&*load.encoder(), &operations(&load, [5])[0], 0);
    assert_eq!(run.encoder().version(&bytes), Some(version::loaded(5)));
}

#[test]
fn checked_values_are_recognised_and_carry_no_version() {
    let mut spec = spec("integrity = true\nfields = 2\n[operations]\nread = 1\nupdate = 1\n");
    spec.operations.write_fields = WriteFields::All;
    let (load, run) = (load(&spec), run(&spec));
    let encoder = run.encoder();
    assert!(encoder.verifies());
    let bytes = value(&*load.encoder(), &operations(&load, [0])[0], 1);
    assert!(bytes.starts_with(b"user6284781860667377211:field1:"));
    assert!(encoder.is_expected(0, 1, &bytes));
    assert!(!encoder.is_expected(0, 0, &bytes) && !encoder.is_expected(1, 1, &bytes));
    assert!(!encoder.is_expected(0, 2, &bytes), "there is no third field");
    assert_eq!(encoder.version(&bytes), None);
    for operation in operations(&run, 0..20) {
        assert_eq!(encoder.version_written(&operation), version::NONE);
        match operation.kind {
            Kind::Read => assert_eq!(operation.fields, Fields::Named),
            _ => assert!(encoder.is_expected(operation.key, 0, &value(&*encoder, &operation, 0))),
        }
    }
}

#[test]
fn sizes_reported_beforehand_are_the_sizes_of_the_values() {
    let lengths = [
        "100",
        "{ distribution = \"uniform\", min = 0, max = 30 }",
        "{ distribution = \"zipfian\", min = 5, max = 500 }",
        "{ distribution = \"histogram\", block = 7, counts = [1, 0, 3] }",
        "{ distribution = \"ycsb-histogram\", block = 7, counts = [1, 0, 3] }",
    ];
    for length in lengths {
        let rest = format!("field_length = {length}\n[operations]\nupdate = 1\ninsert = 1\n");
        let plan = run(&spec(&rest));
        let encoder = plan.encoder();
        let mut sizes = std::collections::BTreeSet::new();
        for operation in operations(&plan, 0..500) {
            let fields = match operation.fields {
                Fields::One(field) => field..field + 1,
                Fields::All | Fields::Named => 0..10,
            };
            let values: Vec<Vec<u8>> =
                fields.map(|field| value(&*encoder, &operation, field)).collect();
            let sum: usize = values.iter().map(Vec::len).sum();
            sizes.extend(values.iter().map(Vec::len));
            assert_eq!(operation.bytes as usize, sum, "{length}");
            let carries = values.iter().any(|value| encoder.version(value).is_some());
            let says = encoder.version_written(&operation) != version::NONE;
            assert_eq!(carries, says, "{length}");
        }
        let FieldLength::Constant(_) = plan.spec().dataset.field_length else {
            assert!(sizes.len() > 1, "{length}: {sizes:?}");
            continue;
        };
        assert_eq!(sizes.into_iter().collect::<Vec<_>>(), [100]);
    }
}

#[test]
fn keys_follow_the_form_of_the_data_set() {
    let rest =
        "key_prefix = \"k\"\nkey_order = \"ordered\"\nkey_digits = 6\n[operations]\nread = 1\n";
    assert_eq!(key(&*run(&spec(rest)).encoder(), 42), "k000042");
    let plain = run(&spec("[operations]\nread = 1\n"));
    assert_eq!(key(&*plain.encoder(), 0), "user6284781860667377211");
    assert_eq!(plain.layout().tables[0].name, "usertable");
    assert_eq!(plain.layout().tables[0].fields[9], "field9");
}

#[test]
fn records_beyond_32_bits_are_loaded_and_read() {
    let text = "[dataset]\nrecords = \"9223372036854775807\"\nfirst = \"9223372036854775000\"\n\
        [operations]\nread = 1\n[keys]\ndistribution = \"zipfian\"\n";
    let spec = Spec::from_toml(text, "test", &no_files).unwrap();
    let (load, run) = (load(&spec), run(&spec));
    assert_eq!(load.len(), Some(807));
    assert_eq!(operations(&load, [806])[0].key, i64::MAX as u64 - 1);
    let keys = operations(&run, 0..1000);
    assert!(keys.iter().all(|operation| operation.key >= 9_223_372_036_854_775_000));
}

#[test]
fn a_specification_that_is_invalid_is_not_compiled() {
    let mut spec = spec("[operations]\nread = 1\n");
    spec.dataset.records = 0;
    let error = Plan::new(&spec, Seed(1), PlanPhase::Run).unwrap_err().to_string();
    assert_eq!(error, "dataset.records = 0: the number of records must be from 1 to 2^63 - 1");
}

#[test]
fn the_true_zipfian_has_its_hottest_record_where_the_scatter_puts_it() {
    let mut spec = spec("[operations]\nread = 1\n[keys]\ndistribution = \"zipfian\"\n");
    let hottest = |spec: &Spec| {
        let mut counts = vec![0u64; 1000];
        operations(&run(spec), 0..50_000).iter().for_each(|read| counts[read.key as usize] += 1);
        let (key, count) = counts.iter().enumerate().max_by_key(|(_, count)| **count).unwrap();
        (key, *count as f64 / 50_000.0)
    };
    let (key, share) = hottest(&spec);
    assert_ne!(key, 0);
    assert!((share - 0.1294).abs() < 0.005, "{share}");
    spec.keys.scatter = Some(false);
    assert_eq!(hottest(&spec).0, 0);
    assert_eq!(spec.keys.distribution, KeyDistribution::Zipfian);
}

/// The sum of the fingerprints of the first thousand processes with the bytes of keys or values.
fn hash(name: &str, phase: PlanPhase) -> u64 {
    let plan = Plan::new(&builtin::find(name).unwrap().spec().unwrap(), Seed(42), phase).unwrap();
    let (encoder, mut sum) = (plan.encoder(), 0u128);
    for operation in operations(&plan, 0..1000) {
        let mut bytes = Vec::new();
        encoder.key(operation.key, &mut bytes);
        if operation.kind.writes() {
            encoder.value(&operation, 0, &mut bytes);
        }
        let bytes = bytes.iter().fold(0u64, |sum, &byte| sum.rotate_left(5) ^ u64::from(byte));
        sum = sum.wrapping_add(operation.fingerprint() ^ u128::from(bytes));
    }
    (sum >> 64) as u64 ^ sum as u64
}

/// These numbers change only if a workload changes, which breaks every kept trace.
#[test]
fn the_same_seed_gives_the_same_bytes_for_ever() {
    let names = ["ycsb-a", "ycsb-b", "ycsb-c", "ycsb-d", "ycsb-e", "ycsb-f"];
    let found = names.map(|name| hash(name, PlanPhase::Run));
    let expected = [
        10070069848350540730,
        1150496381252726807,
        17358432555721015997,
        18189401249836208743,
        5407912084478772986,
        4684745630247757600,
    ];
    assert_eq!(found, expected);
    assert_eq!(hash("ycsb-a", PlanPhase::Load), 5868250358141041099);
}

#[test]
fn keys_have_the_configured_length() {
    let keys = "key_prefix = \"k:\"\nkey_order = \"ordered\"\n";
    let lengths = "key_length = { distribution = \"uniform\", min = 5, max = 30 }\n";
    let rest = format!("{keys}{lengths}[operations]\nread = 1\n");
    let plan = |seed, phase| Plan::new(&spec(&rest), Seed(seed), phase).unwrap().encoder();
    let (loaded, issued) = (plan(1, PlanPhase::Load), plan(2, PlanPhase::Run));
    let mut sum = 0;
    for number in 0..1000 {
        let found = key(loaded.as_ref(), number);
        assert_eq!(found, key(issued.as_ref(), number));
        assert!((5..=30).contains(&found.len()), "{found}");
        assert_eq!(found.trim_start_matches("k:").parse(), Ok(number));
        sum += found.len();
    }
    // Uniform lengths have mean 17.5, deviation 7.5.
    assert!(sum.abs_diff(17_500) < 800, "{sum}");
}

#[test]
fn a_recorded_value_is_as_long_as_its_operation_says() {
    let rest = "fields = 1\nfield_length = \"recorded\"\n[operations]\nread = 1\n";
    let encoder = Plan::new(&spec(rest), Seed(1), PlanPhase::Run).unwrap().encoder();
    for bytes in [0, 1, 12, 13, 100, 100_000] {
        let write = Operation { bytes, ..operation(Kind::Insert) };
        let written = value(encoder.as_ref(), &write, 0);
        assert_eq!(written.len(), bytes as usize);
        let version = encoder.version(&written).unwrap_or(version::NONE);
        assert_eq!(version, encoder.version_written(&write));
        assert_eq!(version != version::NONE, bytes >= 13, "{bytes}");
    }
}

/// Operation 7 about record 3.
fn operation(kind: Kind) -> Operation {
    let plan = run(&spec("[operations]\nread = 1\n"));
    Operation { index: 7, key: 3, kind, ..operations(&plan, [0])[0] }
}

//! BenchFoundry's files: read, written, read again; errors are reported with their lines.

use std::path::{Path, PathBuf};

use assay_model::{ColumnType, Kind, Named, Operation, Phase, Seed};
use assay_trace::Trace;
use assay_trace::benchfoundry::{
    Imported, Importing, InputSet, InputSetError, Meaning, as_written, export, import,
};

use crate::scratch::Scratch;

/// A copy of the shop whose file `name` has `from` replaced by `to`, once.
fn shop_but(name: &str, from: &str, to: &str) -> Scratch {
    let scratch = Scratch::new();
    for entry in std::fs::read_dir(shop()).unwrap() {
        let entry = entry.unwrap();
        std::fs::copy(entry.path(), scratch.path(entry.file_name().to_str().unwrap())).unwrap();
    }
    let path = scratch.path(name);
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(text.contains(from), "{from}");
    std::fs::write(&path, text.replacen(from, to, 1)).unwrap();
    scratch
}

fn shop() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/benchfoundry/shop")
}

fn import_from(set: &Path, target: &Path) -> Result<Imported, InputSetError> {
    import_with(set, target, |_| ())
}

/// Imports with what `change` makes of the meanings of the queries.
fn import_with(
    set: &Path,
    target: &Path,
    change: impl Fn(&mut [Meaning]),
) -> Result<Imported, InputSetError> {
    let mut understand = |_: &[Named], queries: &[Named]| -> Result<Vec<Meaning>, String> {
        let mut meanings = as_written(queries)?;
        change(&mut meanings);
        Ok(meanings)
    };
    let mut importing = Importing { generator: "assay 0.1.0", understand: &mut understand };
    import(&InputSet::open(set)?, target, &mut importing)
}

/// The operations of a trace, a line for each, in words.
fn content(path: &Path) -> Vec<String> {
    let trace = Trace::open(path).unwrap();
    trace.verify().unwrap();
    let script = trace.header().script.clone().unwrap();
    let mut reader = trace.reader().unwrap();
    let mut operations: Vec<Operation> = Vec::new();
    let mut lines = Vec::new();
    while let Some(process) = reader.advance(&mut operations).unwrap() {
        let entry = reader.entry(process, &operations);
        let (start, origin) = (entry.intended.unwrap().0 / 1_000_000, entry.origin);
        lines.push(format!("process {origin} at {start}"));
        for (place, operation) in operations.iter().enumerate() {
            let query = match operation.statement.checked_sub(1) {
                Some(number) => &script.queries[usize::from(number)].text,
                None => operation.kind.name(),
            };
            let hint = match entry.hints.get(place) {
                Some(&hint) if hint > 0 => &script.hints[hint as usize - 1],
                _ => "",
            };
            let arguments: Vec<String> =
                entry.arguments.of(place).map(|argument| format!("{argument:?}")).collect();
            let name = &trace.header().transaction_types[usize::from(operation.transaction_type)];
            lines.push(format!(
                "{}/{name} +{} {query} [{}] {hint} {}",
                operation.transaction,
                operation.think.0 / 1_000_000,
                arguments.join(", "),
                operation.ends_transaction
            ));
        }
    }
    lines
}

fn shop_of(scratch: &Scratch, name: &str) -> (Imported, Vec<Vec<String>>) {
    let imported = import_from(&shop(), &scratch.path(name)).unwrap();
    let all = imported.phases.iter().map(|phase| content(&phase.path)).collect();
    (imported, all)
}

#[test]
fn a_set_becomes_one_trace_per_phase() {
    let scratch = Scratch::new();
    let (imported, content) = shop_of(&scratch, "shop.trace");
    let phases: Vec<Phase> = imported.phases.iter().map(|phase| phase.phase).collect();
    assert_eq!(phases, [Phase::Load, Phase::WarmUp, Phase::Measure]);
    let names: Vec<&str> = imported
        .phases
        .iter()
        .map(|phase| phase.path.file_name().unwrap().to_str().unwrap())
        .collect();
    assert_eq!(names, ["shop.load.trace", "shop.warm-up.trace", "shop.trace"]);
    assert_eq!(
        content[0],
        [
            "process 0 at 0",
            "0/query 10 +0 INSERT INTO customer (id, name, since) VALUES (?, ?, ?) \
             [Given(Int(1)), Given(Text(\"O'Neill: the \\\"first\\\"\")), \
             Given(Timestamp(1583020798500000))]  true",
            "process 1 at 0",
            "0/query 10 +0 INSERT INTO customer (id, name, since) VALUES (?, ?, ?) \
             [Given(Int(2)), Given(Text(\"semi;colon\")), \
             Given(Timestamp(1609459200000000))] QUORUM true",
        ]
    );
    assert_eq!(content[1][1].split(" +").next(), Some("0/queries 3 × 20"));
    assert_eq!(content[1].len(), 6);
    assert_eq!(
        content[2],
        [
            "process 100 at 0",
            "0/queries 20, 30 +0 SELECT name, since FROM customer WHERE id = ? [Given(Int(1))] \
             replica=10.0.0.7:5432 false",
            "0/queries 20, 30 +0 INSERT INTO visit (id, customer, note, paid) VALUES (?, ?, ?, ?) \
             [Given(Int(7)), Given(Int(1)), Given(Text(\"why? because: a\\\\b\")), \
             Given(Decimal(Decimal { mantissa: 1250, scale: 2 }))]  false",
            "0/queries 20, 30 +0 commit []  true",
            "1/query 20 +1000 SELECT name, since FROM customer WHERE id = ? [Given(Int(1))]  true",
            "process 101 at 40",
            "0/query 20 +0 SELECT name, since FROM customer WHERE id = ? [Given(Int(2))]  true",
            "process 103 at 1500",
            "0/queries 30, 40 +50 INSERT INTO visit (id, customer, note, paid) VALUES \
             (?, ?, ?, ?) [Given(Int(8)), Given(Int(2)), Given(Null), Given(Int(-3))]  false",
            "0/queries 30, 40 +0 UPDATE customer SET name = 'closed: for good?' WHERE id = ? \
             [Given(Int(2))]  false",
            "0/queries 30, 40 +0 commit []  true",
        ]
    );
}

#[test]
fn what_is_unusual_is_reported() {
    let scratch = Scratch::new();
    let (imported, _) = shop_of(&scratch, "shop.trace");
    let notes = imported.phases[2].notes;
    assert_eq!((notes.short, notes.idle), (2, 1));
    assert_eq!((notes.empty_transactions, notes.lone_operations), (1, 1));
    assert_eq!(imported.unused_parameters, 1);
    let remarks: Vec<String> = imported
        .remarks
        .iter()
        .map(|remark| {
            let name = remark.path.file_name().unwrap().to_str().unwrap();
            format!("{name}:{} {}× {:?}", remark.line, remark.count, remark.trouble)
        })
        .collect();
    assert_eq!(
        remarks,
        [
            "shop_parameters.txt:1 2× Colon",
            "shop_hints.txt:1 1× Colon",
            "shop_operations.txt:4 1× Colon",
            "shop_parameters.txt:2 1× Semicolon",
            "shop_parameters.txt:5 1× QuestionMark",
            "shop_parameters.txt:5 1× Backslash",
            "shop_run.txt:11 2× Short",
        ]
    );
}

#[test]
fn import_export_import_gives_the_same_content() {
    let scratch = Scratch::new();
    let (imported, first) = shop_of(&scratch, "shop.trace");
    let set = scratch.path("set");
    let exported = export(&scratch.path("shop.trace"), &set).unwrap();
    assert_eq!(exported.parameters, 6);
    let again = import_from(&set, &scratch.path("again.trace")).unwrap();
    let second: Vec<_> = again.phases.iter().map(|phase| content(&phase.path)).collect();
    assert_eq!(second, first);
    for (one, other) in imported.phases.iter().zip(&again.phases) {
        assert_eq!(one.written.hash, other.written.hash);
    }
    let header = |name: &str| Trace::open(scratch.path(name)).unwrap().header().clone();
    let (one, other) =
        (header("shop.trace").script.unwrap(), header("again.trace").script.unwrap());
    assert_eq!((one.ddl, one.queries, one.hints), (other.ddl, other.queries, other.hints));
    let text = std::fs::read_to_string(&exported.properties).unwrap();
    assert_eq!(
        text,
        "schemaFilename:schema.txt\noplistFilename:operations.txt\nparamFilename:parameters.txt\n\
         custparamFilename:custom-parameters.txt\npreloadTraceFilename:preload.txt\n\
         warmupTraceFilename:warm-up.txt\nexperimentTraceFilename:experiment.txt\n\
         resultDir:results\nclosedWorkloadSchedulerThreadpoolSize:8\n"
    );
    let error = export(&scratch.path("shop.trace"), &set).unwrap_err();
    assert!(error.to_string().contains("it is not empty"), "{error}");
}

#[test]
fn an_input_set_never_overwrites_files_of_the_directory() {
    let scratch = Scratch::new();
    shop_of(&scratch, "shop.trace");
    let directory = scratch.path("notes");
    std::fs::create_dir(&directory).unwrap();
    let mine = directory.join("schema.txt");
    std::fs::write(&mine, "mine").unwrap();
    let error = export(&scratch.path("shop.trace"), &directory).unwrap_err();
    let reported =
        "notes: it is not empty, and its files would be written over: name a new directory";
    assert!(error.to_string().ends_with(reported), "{error}");
    assert_eq!(std::fs::read_to_string(&mine).unwrap(), "mine");
    assert_eq!(std::fs::read_dir(&directory).unwrap().count(), 1);
}

#[test]
fn a_set_that_was_exported_reads_as_its_rules_say() {
    let scratch = Scratch::new();
    shop_of(&scratch, "shop.trace");
    export(&scratch.path("shop.trace"), &scratch.path("set")).unwrap();
    let read = |name: &str| std::fs::read_to_string(scratch.path("set").join(name)).unwrap();
    assert_eq!(
        read("experiment.txt"),
        "BOP;0;100\nBOT;0\n20;3;1\n30;5\nEOT\nBOT;1000\n20;3\nEOT\nEOP\n\
         BOP;40;101\nBOT;0\n20;4\nEOT\nEOP\n\
         BOP;1500;103\nBOT;50\n30;6\n40;4\nEOT\nEOP\n"
    );
    assert_eq!(
        read("parameters.txt"),
        "1:1;'O''Neill: the \"first\"';TIMESTAMP '2020-02-29 23:59:58.5'\n\
         2:2;'semi;colon';DATE '2021-01-01'\n3:1\n4:2\n5:7;1;'why? because: a\\b';12.50\n\
         6:8;2;NULL;-3\n"
    );
    assert_eq!(read("custom-parameters.txt"), "1:replica=10.0.0.7:5432\n2:QUORUM\n");
}

#[test]
fn columns_decide_what_values_without_quotes_are() {
    let scratch =
        shop_but("shop_parameters.txt", "'semi;colon';DATE '2021-01-01'", "12;2021-01-01");
    let text = ColumnType::Text { length: None, is_padded: false };
    let integer = ColumnType::Integer { bits: 32 };
    let imported = import_with(scratch.root(), &scratch.path("t.trace"), |meanings| {
        meanings[0].parameters = Some(vec![integer, text, ColumnType::Timestamp]);
    });
    let imported = imported.unwrap();
    let content = content(&imported.phases[0].path);
    let values = "[Given(Int(2)), Given(Text(\"12\")), Given(Timestamp(1609459200000000))]";
    assert!(content[3].contains(values), "{}", content[3]);
}

#[test]
fn operations_about_one_record_have_one_key() {
    let scratch = Scratch::new();
    let target = scratch.path("t.trace");
    let imported = import_with(&shop(), &target, |meanings| meanings[0].key = vec![0]).unwrap();
    let mut keys = Vec::new();
    for phase in &imported.phases[..2] {
        let mut reader = Trace::open(&phase.path).unwrap().reader().unwrap();
        let mut operations = Vec::new();
        while reader.advance(&mut operations).unwrap().is_some() {
            let requested = operations.iter().filter(|operation| operation.kind != Kind::Commit);
            keys.extend(requested.map(|operation| operation.key).take(3));
        }
    }
    assert_eq!(keys, [1, 2, 1, 2, 1]);
}

/// What is said about the shop with one change, without the directory's name.
fn said(name: &str, from: &str, to: &str) -> String {
    let scratch = shop_but(name, from, to);
    let error = import_from(scratch.root(), &scratch.path("t.trace")).unwrap_err();
    assert!(!scratch.path("t.load.trace").exists(), "nothing is written before all is checked");
    error.to_string().replace(&format!("{}/", scratch.root().display()), "")
}

const RUN: &str = "shop_run.txt";

/// File, what stands there, what stands there instead, what is said behind the file's name.
const WRONG: [[&str; 4]; 18] = [
    [
        RUN,
        "BOP;1500",
        "BOP;39",
        ":16: process 103 starts at 39 ms, the one of line 14 at 40 ms: order the processes by \
         their start, as numbers",
    ],
    [
        RUN,
        "40;4\nEOT\nEOP\n",
        "40;4\n",
        ":21: the file is cut inside process 103 of line 16: its EOP is missing",
    ],
    [
        RUN,
        "20;3\nEOT\nEOP\n",
        "20;3\nEOT\n",
        ":10: process 100 of line 1 has no EOP before this next one",
    ],
    [
        RUN,
        "20;3\nEOT\nEOP\n",
        "20;3\nEOP\n",
        ":8: the transaction of line 6 has no EOT before this EOP",
    ],
    [RUN, "30;5\nEOT\n", "30;5\nEOT\nEOT\n", ":6: EOT ends no transaction: BOT begins one"],
    [
        RUN,
        "BOP;0;100\n",
        "BOT;0\n",
        ":1: \"BOT;0\" is outside of a process, which begins with BOP;<start in ms>;<id>",
    ],
    [RUN, "BOP;0;100", "BOP;-50;100", ":1: \"-50\" is no start: whole milliseconds from 0"],
    [RUN, "30;5", "31;5", ":4: operation 31 has no text in shop_operations.txt"],
    [RUN, "30;5", "30;17", ":4: parameters 17 have no text in shop_parameters.txt"],
    [RUN, "20;3;4", "20;3;9", ":3: custom parameters 9 have no text in shop_hints.txt"],
    [RUN, "30;5", "30", ":4: operation 30 takes 4 parameters, no parameters are given"],
    [RUN, "20;3;4", "20;99", ":3: operation 20 takes 1 parameters, parameters 99 have 2"],
    [
        "shop_parameters.txt",
        "'semi;colon'",
        "'semi;colon",
        ":2: \"2021-01-01'\" comes behind a closing quote",
    ],
    ["shop_parameters.txt", "4:2", "4 2", ":4: it is not of the form id:text with a whole number"],
    ["shop_operations.txt", "20:", "10:", ":2: id 10 is in line 1 already"],
    [
        "shop.properties",
        "shop_run.txt",
        "shop_walk.txt",
        ": experimentTraceFilename names shop_walk.txt, which is not there",
    ],
    [
        "shop.properties",
        "oplistFilename",
        "oplistFileName",
        ": the property oplistFilename is missing, or none; is oplistFileName meant for it?",
    ],
    [
        "shop_warmup.txt",
        "BOP;0;-3",
        "#",
        ":2: \"BOT;0\" is outside of a process, which begins with BOP;<start in ms>;<id>",
    ],
];

#[test]
fn errors_name_file_and_line() {
    for [name, from, to, expected] in WRONG {
        assert_eq!(said(name, from, to), format!("{name}{expected}"), "{name}: {from:?} -> {to:?}");
    }
}

/// A set drawn from `seed`, as text of its files: lists, one trace, with many odd letters.
fn random_set(seed: u64, directory: &Path) {
    let mut draws = Seed(seed).draws(1, 0);
    let letters = ["a", ":", ";", "?", "''", "\"", "#", " ", "ä", "\\", "BOP", "NULL", "1", ","];
    let mut text = |most: u64| -> String {
        let length = draws.below(most);
        (0..length).map(|_| letters[draws.below(letters.len() as u64) as usize]).collect()
    };
    let mut parameters = String::new();
    for id in 0..20 {
        parameters.push_str(&format!("{id}:'{}';{};'{}'\n", text(9), id * 7 - 30, text(3)));
    }
    let mut hints = String::new();
    for id in 0..5 {
        hints.push_str(&format!("{id}:h{}e\n", text(6)));
    }
    let operations = format!(
        "3:INSERT INTO t (a, b, c) VALUES (?, ?, ?)\n4:UPDATE t SET a = '{}' WHERE a = ? AND b = ? \
         AND c = ?\n-7:DELETE FROM t WHERE a = 1\n",
        text(8)
    );
    let mut trace = String::new();
    let mut start = 0;
    for process in 0..draws.below(30) + 1 {
        start += draws.below(3) * draws.below(1000);
        trace.push_str(&format!("BOP;{start};{}\n", process as i64 - 9));
        for _ in 0..=draws.below(3) {
            trace.push_str(&format!("BOT;{}\n", draws.below(100)));
            for _ in 0..=draws.below(4) {
                let line = match draws.below(4) {
                    0 => "-7".to_owned(),
                    1 => format!("-7;-1;{}", draws.below(5)),
                    2 => format!("3;{}", draws.below(20)),
                    _ => format!("4;{};{}", draws.below(20), draws.below(5)),
                };
                trace.push_str(&format!("{line}\n"));
            }
            trace.push_str("EOT\n");
        }
        trace.push_str("EOP\n");
    }
    let properties = "schemaFilename:none\noplistFilename:o\nparamFilename:p\ncustparamFilename:c\n\
                      preloadTraceFilename:none\nexperimentTraceFilename:t\n";
    let files = [("o", &operations), ("p", &parameters), ("c", &hints), ("t", &trace)];
    files.iter().for_each(|(name, text)| std::fs::write(directory.join(name), text).unwrap());
    std::fs::write(directory.join("properties"), properties).unwrap();
}

#[test]
fn random_sets_survive_the_way_there_and_back() {
    for seed in 0..60 {
        let scratch = Scratch::new();
        random_set(seed, scratch.root());
        import_from(scratch.root(), &scratch.path("one.trace")).unwrap();
        export(&scratch.path("one.trace"), &scratch.path("set")).unwrap();
        import_from(&scratch.path("set"), &scratch.path("two.trace")).unwrap();
        let (one, two) = (content(&scratch.path("one.trace")), content(&scratch.path("two.trace")));
        assert_eq!(one, two, "seed {seed}");
        let hash = |name: &str| Trace::open(scratch.path(name)).unwrap().hash();
        assert_eq!(hash("one.trace"), hash("two.trace"), "seed {seed}");
    }
}

//! Traces of queries: texts, arguments, hints, what is refused.

use assay_model::script::{ProcessBuilder, QueryRef};
use assay_model::{
    Argument, Arguments, Datum, Filled, Kind, Layout, Named, Nanos, Operation, Phase, Seed, Source,
    SourceError, Table, Taken,
};
use assay_trace::{
    Entry, Header, Origins, Schedules, Script, StatOptions, Trace, TraceHash, TraceWriter,
    WriteError, export_csv, import_csv, split,
};

use crate::scratch::{Saved, Scratch, golden};

const WIDTH: u64 = 8;
const GET: QueryRef = QueryRef { statement: 1, kind: Kind::Read };
const PUT: QueryRef = QueryRef { statement: 2, kind: Kind::Insert };
const LINE: QueryRef = QueryRef { statement: 3, kind: Kind::Insert };

/// Processes of one or two transactions; every third takes an argument from an answer.
#[derive(Default)]
struct Shop {
    processes: u64,
    arguments: Arguments,
}

impl Source for Shop {
    fn len(&self) -> Option<u64> {
        Some(self.processes)
    }

    fn width(&self) -> u64 {
        WIDTH
    }

    fn fill(&mut self, process: u64, into: &mut Vec<Operation>) -> Result<Filled, SourceError> {
        if process >= self.processes {
            into.clear();
            self.arguments.clear();
            return Ok(Filled::End);
        }
        let number = process as i64;
        let mut builder = ProcessBuilder::begin(process, WIDTH, into, &mut self.arguments);
        builder.transaction(1, Nanos(process)).issue(
            GET,
            process,
            &[Datum::Int(number % 7).into()],
        );
        let text = format!("it's \"{number}\"; a:b,\n?");
        let noted = [Datum::Int(number).into(), Datum::Text(&text).into(), Datum::Null.into()];
        builder.issue(PUT, process, &noted);
        if process.is_multiple_of(3) {
            builder.issue(LINE, process, &[Taken { plus: 1, ..Taken::first(0, 1) }.into()]);
        }
        builder.commit();
        builder.transaction(2, Nanos(9)).issue(GET, 3, &[Datum::Int(3).into()]).commit();
        builder.end();
        Ok(Filled::Process)
    }

    fn arguments(&mut self, into: &mut Arguments) {
        into.clone_from(&self.arguments);
    }
}

fn named(name: &str, text: &str) -> Named {
    Named { name: name.to_owned(), text: text.to_owned() }
}

fn script() -> Script {
    Script {
        ddl: vec![named(
            "note",
            "CREATE TABLE note (id INT PRIMARY KEY, text VARCHAR(40), by INT)",
        )],
        queries: vec![
            named("get", "SELECT id, by FROM note WHERE id = ?"),
            named("put", "INSERT INTO note (id, text, by) VALUES (?, ?, ?)"),
            named("line", "INSERT INTO note (id, text) VALUES (?, 'why?')"),
        ],
        ..Script::default()
    }
}

fn header() -> Header {
    Header {
        spec: String::new(),
        seed: Seed(1),
        phase: Phase::Measure,
        width: WIDTH,
        transaction_types: ["operation", "note", "look"].map(str::to_owned).to_vec(),
        layout: Layout { tables: Vec::new(), records: 0 },
        generator: "assay 0.1.0".to_owned(),
        part: None,
        script: Some(script()),
    }
}

fn shop(processes: u64) -> Shop {
    Shop { processes, ..Shop::default() }
}

fn saved(processes: u64) -> Saved {
    Saved::of(header(), &mut shop(processes))
}

/// A layout of one table without fields.
fn bare_layout(table: &str) -> Layout {
    let (name, fields) = (table.to_owned(), Vec::new());
    Layout { tables: vec![Table { name, fields, needs_key_order: false }], records: 0 }
}

#[test]
fn operations_come_back_with_their_arguments() {
    let saved = saved(40_000);
    let trace = &saved.trace;
    assert_eq!(trace.header(), &header());
    assert_eq!(trace.describe().format, 2);
    assert_eq!(trace.verify().unwrap(), saved.written.hash);
    let (mut source, mut reader) = (shop(40_000), trace.source().unwrap());
    let (mut expected, mut found) = (Vec::new(), Vec::new());
    let (mut wanted_arguments, mut found_arguments) = (Arguments::default(), Arguments::default());
    // Forwards with gaps, as a worker that shares the trace with others.
    for process in (0..40_000).step_by(7) {
        assert_eq!(source.fill(process, &mut expected).unwrap(), Filled::Process);
        assert_eq!(reader.fill(process, &mut found).unwrap(), Filled::Process);
        source.arguments(&mut wanted_arguments);
        reader.arguments(&mut found_arguments);
        assert_eq!((&found, &found_arguments), (&expected, &wanted_arguments), "{process}");
    }
}

#[test]
fn the_hash_covers_arguments_and_texts() {
    let scratch = Scratch::new();
    let hash = |number: i64, text: &str| {
        let path = scratch.path("t.trace");
        let mut header = header();
        header.script.as_mut().unwrap().queries[0].text = text.to_owned();
        let mut writer = TraceWriter::create(&path, header).unwrap();
        let (mut operations, mut arguments) = (Vec::new(), Arguments::default());
        let mut builder = ProcessBuilder::begin(0, WIDTH, &mut operations, &mut arguments);
        builder.transaction(1, Nanos::ZERO).issue(GET, 0, &[Datum::Int(number).into()]).commit();
        builder.end();
        writer.push_entry(&Entry::new(0, &operations, &arguments)).unwrap();
        writer.finish().unwrap().hash
    };
    let text = "SELECT id FROM note WHERE id = ?";
    assert_eq!(hash(1, text), hash(1, text));
    assert_ne!(hash(1, text), hash(2, text));
    assert_ne!(hash(1, text), hash(1, "SELECT by FROM note WHERE id = ?"));
}

#[test]
fn parts_keep_arguments_and_add_up() {
    let Saved { scratch, trace, written, .. } = saved(1000);
    let parts = split(&trace, 3, scratch.root(), "t").unwrap();
    let mut sum = TraceHash::new();
    for (path, part) in parts {
        assert_eq!(Trace::open(&path).unwrap().verify().unwrap(), part.hash);
        sum.merge(part.sum);
    }
    assert_eq!(sum, written.sum);
}

#[test]
fn long_arguments_close_a_row_group_early() {
    let scratch = Scratch::new();
    let path = scratch.path("t.trace");
    let mut writer = TraceWriter::create(&path, header()).unwrap();
    let (mut operations, mut arguments) = (Vec::new(), Arguments::default());
    let long = "x".repeat(1 << 16);
    for process in 0..640 {
        let mut builder = ProcessBuilder::begin(process, WIDTH, &mut operations, &mut arguments);
        let noted = [Datum::Int(1).into(), Datum::Text(&long).into(), Datum::Null.into()];
        builder.transaction(1, Nanos::ZERO).issue(PUT, 1, &noted).commit();
        builder.end();
        writer.push_entry(&Entry::new(process, &operations, &arguments)).unwrap();
    }
    writer.finish().unwrap();
    let trace = Trace::open(&path).unwrap();
    assert_eq!(trace.describe().row_groups, 3);
    // What is run again and again is kept once per row group.
    assert!(trace.describe().bytes < 1 << 20, "{}", trace.describe().bytes);
    trace.verify().unwrap();
}

#[test]
fn hints_and_the_numbers_that_processes_had_elsewhere_come_back() {
    let scratch = Scratch::new();
    let path = scratch.path("t.trace");
    let mut header = header();
    let script = header.script.as_mut().unwrap();
    script.hints = vec!["ONE".to_owned(), "10.0.0.1:9042".to_owned()];
    script.origins = Origins::Kept;
    let mut writer = TraceWriter::create_scheduled(&path, header).unwrap();
    let (mut source, mut operations, mut arguments) = (shop(30), Vec::new(), Arguments::default());
    for process in 0..30 {
        source.fill(process, &mut operations).unwrap();
        source.arguments(&mut arguments);
        let hints: Vec<u32> = (0..operations.len() as u32).map(|place| place % 3).collect();
        let entry = Entry {
            intended: Some(Nanos(process / 2)),
            origin: -(process as i64),
            hints: &hints,
            ..Entry::new(process, &operations, &arguments)
        };
        writer.push_entry(&entry).unwrap();
    }
    writer.finish().unwrap();
    let trace = Trace::open(&path).unwrap();
    assert_eq!(trace.schedules(), Schedules::Recorded);
    let mut reader = trace.reader().unwrap();
    for process in 0..30 {
        assert_eq!(reader.advance(&mut operations).unwrap(), Some(process));
        let entry = reader.entry(process, &operations);
        assert_eq!(entry.intended, Some(Nanos(process / 2)));
        assert_eq!(entry.origin, -(process as i64));
        assert_eq!(entry.hints.len(), operations.len());
        assert_eq!(entry.hints[2], 2);
    }
}

/// What a writer says about a process that `change` has spoilt.
fn refused(change: impl FnOnce(&mut Vec<Operation>, &mut Arguments)) -> String {
    let error = spoilt(change);
    assert!(matches!(error, WriteError::Statement(_)), "{error}");
    error.to_string()
}

fn spoilt(change: impl FnOnce(&mut Vec<Operation>, &mut Arguments)) -> WriteError {
    let scratch = Scratch::new();
    let mut writer = TraceWriter::create(scratch.path("t.trace"), header()).unwrap();
    let (mut source, mut operations, mut arguments) = (shop(9), Vec::new(), Arguments::default());
    source.fill(6, &mut operations).unwrap();
    source.arguments(&mut arguments);
    change(&mut operations, &mut arguments);
    writer.push_entry(&Entry::new(6, &operations, &arguments)).unwrap_err()
}

#[test]
fn statements_that_are_invalid_are_refused_with_what_to_do() {
    let replaced = |arguments: &mut Arguments, first: &[Argument<'_>]| {
        let rest: Vec<Vec<u8>> = (1..5).map(|place| arguments.encoded(place).to_vec()).collect();
        arguments.clear();
        first.iter().for_each(|argument| arguments.push(*argument));
        arguments.end_operation();
        rest.iter().for_each(|bytes| assert!(arguments.push_encoded(bytes)));
    };
    let (one, two) = (Datum::Int(1).into(), Datum::Int(2).into());
    assert_eq!(
        refused(|operations, _| operations[0].statement = 4),
        "operation 48 issues query 4, but the header has the texts of 3 queries: add the text, or \
         issue one of these"
    );
    assert_eq!(
        refused(|_, arguments| replaced(arguments, &[])),
        "operation 48 has 0 arguments, but query \"get\" takes 1: one for each ?"
    );
    assert_eq!(
        refused(|_, arguments| replaced(arguments, &[one, two])),
        "operation 48 has 2 arguments, but query \"get\" takes 1: one for each ?"
    );
    assert_eq!(
        refused(|operations, _| operations[0].statement = 0),
        "operation 48 accesses a record by key, but its trace has queries: give a query"
    );
    assert_eq!(
        refused(|_, arguments| replaced(arguments, &[Taken::first(0, 0).into()])),
        "operation 48 takes an argument from operation 0 of its process, which does not come \
         before it"
    );
}

#[test]
fn several_queries_end_with_a_commit_which_ends_nothing_else() {
    let broken = |change: fn(&mut Vec<Operation>)| match spoilt(|operations, _| change(operations))
    {
        WriteError::Transaction { index } => index - 6 * WIDTH,
        other => panic!("{other}"),
    };
    // Process 6 has three queries with their commit, then a query alone.
    let without = |operations: &mut Vec<Operation>| {
        operations.remove(3);
        operations[2].ends_transaction = true;
    };
    assert_eq!(broken(without), 2);
    let in_the_middle = |operations: &mut Vec<Operation>| {
        (operations[1].kind, operations[1].statement) = (Kind::Commit, 0);
    };
    assert_eq!(broken(in_the_middle), 1);
    let alone = |operations: &mut Vec<Operation>| drop(operations.drain(..3));
    assert_eq!(broken(alone), 3);
}

#[test]
fn queries_need_their_texts() {
    let scratch = Scratch::new();
    let bare = Header { script: None, layout: bare_layout("note"), ..header() };
    let mut writer = TraceWriter::create(scratch.path("t.trace"), bare).unwrap();
    let error = writer.write(&mut shop(1), 0..1).unwrap_err();
    assert!(error.to_string().contains("needs its script"), "{error}");
    let none = Header { script: Some(Script::default()), ..header() };
    let error = TraceWriter::create(scratch.path("t.trace"), none).err().unwrap();
    assert!(error.to_string().contains("a script has at least one query"), "{error}");
}

#[test]
fn processes_come_in_the_order_of_their_start() {
    let scratch = Scratch::new();
    let mut writer = TraceWriter::create_scheduled(scratch.path("t.trace"), header()).unwrap();
    let (mut source, mut operations, mut arguments) = (shop(9), Vec::new(), Arguments::default());
    for (process, intended) in [(0, 1000), (1, 200)] {
        source.fill(process, &mut operations).unwrap();
        source.arguments(&mut arguments);
        let intended = Some(Nanos(intended));
        let entry = Entry { intended, ..Entry::new(process, &operations, &arguments) };
        let pushed = writer.push_entry(&entry);
        if process == 1 {
            assert_eq!(
                pushed.unwrap_err().to_string(),
                "process 1 is intended at 200 ns, after one at 1000 ns: order the processes by \
                 their start"
            );
        }
    }
}

#[test]
fn figures_count_transactions_by_type() {
    let stat = saved(30).trace.stat(StatOptions::default()).unwrap();
    assert_eq!((stat.processes, stat.transactions), (30, 60));
    let types: Vec<(&str, u64)> =
        stat.transaction_types.iter().map(|(name, count)| (name.as_str(), *count)).collect();
    assert_eq!(types, [("operation", 0), ("note", 30), ("look", 30)]);
    let queries: Vec<(&str, u64)> =
        stat.queries.iter().map(|(name, count)| (name.as_str(), *count)).collect();
    assert_eq!(queries, [("get", 60), ("put", 30), ("line", 10)]);
}

#[test]
fn a_trace_of_queries_survives_the_way_through_text() {
    let Saved { scratch, trace, written, .. } = saved(100);
    let mut text = Vec::new();
    export_csv(&trace, &mut text).unwrap();
    let other = Header {
        width: 1,
        transaction_types: vec!["operation".to_owned()],
        script: None,
        layout: bare_layout("usertable"),
        ..header()
    };
    let again = scratch.path("again.trace");
    let imported = import_csv(&text[..], &again, other.clone()).unwrap();
    assert_eq!((imported.hash, imported.operations), (written.hash, written.operations));
    assert_eq!(Trace::open(&again).unwrap().header(), &header());

    let text = String::from_utf8(text).unwrap();
    let error = |text: String| {
        let path = scratch.path("bad.trace");
        import_csv(text.as_bytes(), path, other.clone()).unwrap_err().to_string()
    };
    assert_eq!(
        error(text.replacen("#query", "#quarry", 1)),
        "line 6: #quarry,\"get\",\"SELECT id, by FROM note WHERE id = ?\" is none of #width, \
         #transaction_type, #ddl, #query, #property, #hint, #origins with their values"
    );
    let cut = text.find("\n8,").unwrap();
    let cut = text[..cut - 4].rfind("\n3,").unwrap();
    assert_eq!(
        error(text[..=cut].to_owned()),
        "up to line 13: operation 2 breaks its transaction: numbers of transactions rise within a \
         process, and exactly the last operation of each ends it, which is a commit or rollback \
         if there are several queries"
    );
    let few = error(text.replacen(",\"0\"", ",\"0;1\"", 1));
    assert!(few.contains("operation 0 has 2 arguments, but query \"get\" takes 1"), "{few}");
}

#[test]
fn old_files_are_read_for_ever() {
    golden("format-2", &header(), "fc9abf01bf62e853c7465994f0f64b44");
}

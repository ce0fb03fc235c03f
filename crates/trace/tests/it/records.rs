//! Traces of records: written, read, cut, split, printed.

use std::path::Path;

use assay_model::{
    Fields, Filled, Kind, Layout, Nanos, Operation, Phase, Seed, Source, SourceError, Table,
};
use assay_trace::writer::GROUP_ROWS;
use assay_trace::{
    Digest, Header, OpenError, Part, Schedules, StatOptions, Trace, TraceHash, TraceWriter,
    WriteError, describe, export_csv, import_csv, split, stat,
};

use crate::scratch::{Saved, Scratch, golden};

/// Every third process is a read-modify-write, the others are lone operations of all kinds.
///
/// With width 2 a lone operation leaves a gap in the operation numbers.
#[derive(Clone)]
struct Mixed {
    processes: u64,
}

impl Source for Mixed {
    fn len(&self) -> Option<u64> {
        Some(self.processes)
    }

    fn width(&self) -> u64 {
        2
    }

    fn fill(&mut self, process: u64, into: &mut Vec<Operation>) -> Result<Filled, SourceError> {
        into.clear();
        if process >= self.processes {
            return Ok(Filled::End);
        }
        let mut draws = Seed(7).draws(1, process);
        let key = draws.below(1 << (process % 60)) << (process % 5);
        let lone = Operation {
            index: process * 2,
            key,
            kind: Kind::ALL[draws.below(5) as usize],
            fields: Fields::from_code(draws.below(5) as u32).unwrap(),
            limit: 1 + draws.below(100) as u32,
            bytes: draws.below(1000) as u32,
            statement: 0,
            transaction: 0,
            transaction_type: 0,
            ends_transaction: true,
            think: Nanos(draws.below(3) * 1000),
        };
        if !process.is_multiple_of(3) {
            into.push(lone);
            return Ok(Filled::Process);
        }
        let modify = Operation { transaction_type: 1, ..lone };
        into.push(Operation { kind: Kind::Read, ends_transaction: false, ..modify });
        into.push(Operation { kind: Kind::Update, index: process * 2 + 1, ..modify });
        Ok(Filled::Process)
    }
}

fn header() -> Header {
    Header {
        spec: "workload = \"mixed\" # äöü\nsecond = 'line'\n".to_owned(),
        seed: Seed(7),
        phase: Phase::Measure,
        width: 2,
        transaction_types: vec!["operation".to_owned(), "read-modify-write".to_owned()],
        layout: Layout {
            tables: vec![Table {
                name: "usertable".to_owned(),
                fields: (0..10).map(|field| format!("field{field}")).collect(),
                needs_key_order: false,
            }],
            records: 1000,
        },
        generator: "assay 0.1.0".to_owned(),
        part: None,
        script: None,
    }
}

fn saved(processes: u64) -> Saved {
    Saved::of(header(), &mut Mixed { processes })
}

/// The operations of `source` for the processes of one worker out of `workers`.
fn worker(source: &mut dyn Source, worker: u64, workers: u64) -> Vec<(u64, Operation)> {
    let mut found = Vec::new();
    let mut operations = Vec::new();
    let mut process = worker;
    while source.fill(process, &mut operations).unwrap() == Filled::Process {
        found.extend(operations.iter().map(|&operation| (process, operation)));
        process += workers;
    }
    found
}

fn sum(operations: &[(u64, Operation)]) -> TraceHash {
    let mut sum = TraceHash::new();
    operations.iter().for_each(|(_, operation)| sum.add(operation));
    sum
}

#[test]
fn operations_of_all_kinds_come_back_as_they_were() {
    let Saved { scratch, trace, written, .. } = saved(10_000);
    let expected = worker(&mut Mixed { processes: 10_000 }, 0, 1);
    assert_eq!(worker(&mut *trace.source().unwrap(), 0, 1), expected);
    assert_eq!(trace.header(), &header());
    assert_eq!((trace.operations(), trace.processes()), (expected.len() as u64, 10_000));
    assert_eq!(trace.source().unwrap().len(), Some(10_000));
    assert_eq!(trace.source().unwrap().width(), 2);
    assert_eq!(trace.verify().unwrap(), written.hash);
    assert_eq!(written.hash, sum(&expected).seal(&header()));
    assert_eq!(scratch.names(), ["t.trace"]);
}

#[test]
fn traces_longer_than_a_row_group_come_back_whole() {
    // A row group ends within a read-modify-write here, since lone operations shift the places.
    let processes = GROUP_ROWS as u64 * 2;
    let saved = saved(processes);
    let trace = &saved.trace;
    assert_eq!(trace.describe().row_groups, 3);
    assert_eq!(trace.verify().unwrap(), saved.written.hash);
    let expected = worker(&mut Mixed { processes }, 0, 1);
    assert!(worker(&mut *trace.source().unwrap(), 0, 1) == expected);
}

#[test]
fn the_sum_of_the_workers_is_the_sum_of_the_trace_however_many_there_are() {
    let saved = saved(5000);
    let (trace, written) = (&saved.trace, &saved.written);
    for workers in [1, 2, 7, 64] {
        let mut total = TraceHash::new();
        for number in 0..workers {
            let from_file = worker(&mut *trace.source().unwrap(), number, workers);
            let from_plan = worker(&mut Mixed { processes: 5000 }, number, workers);
            assert_eq!(from_file, from_plan, "worker {number} of {workers}");
            total.merge(sum(&from_file));
        }
        assert_eq!(total.seal(trace.header()), written.hash, "{workers} workers");
    }
}

#[test]
fn a_reader_may_jump_far_ahead() {
    let processes = GROUP_ROWS as u64 * 3;
    let saved = saved(processes);
    let mut plan = Mixed { processes };
    let (mut expected, mut found) = (Vec::new(), Vec::new());
    for requested in [0, 5, 98_303, 98_304, 98_305, 196_607, 250_001, 294_912, processes - 1] {
        for stride in [0, 1] {
            let process = requested + stride;
            let mut source = saved.trace.source().unwrap();
            source.fill(3, &mut found).unwrap();
            if process < 4 {
                continue;
            }
            let ended = source.fill(process, &mut found).unwrap();
            assert_eq!(plan.fill(process, &mut expected).unwrap(), ended, "{process}");
            assert_eq!(found, expected, "process {process}");
        }
    }
}

#[test]
fn a_reader_does_not_go_backwards() {
    let saved = saved(10);
    let mut source = saved.trace.source().unwrap();
    let mut operations = Vec::new();
    source.fill(5, &mut operations).unwrap();
    let error = source.fill(5, &mut operations).unwrap_err();
    assert!(error.reason.contains("rising process numbers"), "{error}");
    assert_eq!(source.fill(10, &mut operations).unwrap(), Filled::End);
    assert_eq!(source.fill(10, &mut operations).unwrap(), Filled::End);
}

#[test]
fn the_parts_of_a_split_add_up_to_the_whole() {
    let Saved { scratch, trace, written, .. } = saved(1000);
    for parts in [1, 2, 7] {
        let directory = scratch.path(&format!("{parts}"));
        std::fs::create_dir(&directory).unwrap();
        let mut total = TraceHash::new();
        let (mut operations, mut processes) = (0, 0);
        for (number, (path, part)) in
            split(&trace, parts, &directory, "t").unwrap().iter().enumerate()
        {
            let opened = Trace::open(path).unwrap();
            assert_eq!(opened.verify().unwrap(), part.hash);
            assert_eq!(opened.header().part, Some(Part { index: number as u32, of: parts }));
            let expected = worker(&mut Mixed { processes: 1000 }, number as u64, parts.into());
            assert_eq!(
                worker(&mut *opened.source().unwrap(), number as u64, parts.into()),
                expected
            );
            total.merge(part.sum);
            operations += part.operations;
            processes += part.processes;
        }
        assert_eq!(total.seal(trace.header()), written.hash, "{parts} parts");
        assert_eq!((operations, processes), (written.operations, 1000));
    }
}

#[test]
fn a_part_says_that_it_lacks_a_process() {
    let Saved { scratch, trace, .. } = saved(10);
    let parts = split(&trace, 3, scratch.root(), "t").unwrap();
    let part = Trace::open(&parts[1].0).unwrap();
    let mut operations = Vec::new();
    let error = part.source().unwrap().fill(2, &mut operations).unwrap_err();
    assert!(error.to_string().contains("goes on with process 4: it is part 1 of 3"), "{error}");
    let error = split(&part, 2, scratch.root(), "t").unwrap_err();
    assert_eq!(error.to_string(), "this trace is part 1 of 3: split the whole trace instead");
    for parts in [0, 11] {
        let error = split(&trace, parts, scratch.root(), "t").unwrap_err().to_string();
        let expected = format!("cannot split 10 processes into {parts} parts: give 1 to 10");
        assert_eq!(error, expected);
    }
}

#[test]
fn the_same_plan_gives_the_same_bytes() {
    let (one, two) = (saved(3000), saved(3000));
    assert!(std::fs::read(&one.path).unwrap() == std::fs::read(&two.path).unwrap());
}

#[test]
fn a_plan_may_be_written_up_to_a_process() {
    let scratch = Scratch::new();
    let path = scratch.path("t.trace");
    let mut writer = TraceWriter::create(&path, header()).unwrap();
    writer.write(&mut Mixed { processes: 1000 }, 0..100).unwrap();
    writer.write(&mut Mixed { processes: 1000 }, 100..150).unwrap();
    assert_eq!(writer.finish().unwrap().processes, 150);
}

#[test]
fn a_trace_appears_only_when_it_is_whole() {
    let scratch = Scratch::new();
    let path = scratch.path("t.trace");
    let mut writer = TraceWriter::create(&path, header()).unwrap();
    writer.write(&mut Mixed { processes: 10 }, 0..10).unwrap();
    assert_eq!(scratch.names(), ["t.trace.partial"]);
    drop(writer);
    assert!(scratch.names().is_empty());
}

#[test]
fn an_unfinished_rewrite_keeps_the_old_trace() {
    let Saved { scratch, path, written, .. } = saved(10);
    let writer = TraceWriter::create(&path, header()).unwrap();
    let error = writer.finish().unwrap_err();
    assert!(matches!(error, WriteError::Empty { .. }), "{error}");
    assert_eq!(Trace::open(&path).unwrap().hash(), written.hash);
    assert_eq!(scratch.names(), ["t.trace"]);
}

#[test]
fn a_writer_refuses_what_no_reader_could_trust() {
    let scratch = Scratch::new();
    let push = |process: u64, change: fn(&mut Vec<Operation>)| {
        let mut writer = TraceWriter::create(scratch.path("t.trace"), header()).unwrap();
        let mut operations = Vec::new();
        Mixed { processes: 100 }.fill(3, &mut operations).unwrap();
        writer.push(3, &operations, None).unwrap();
        Mixed { processes: 100 }.fill(6, &mut operations).unwrap();
        change(&mut operations);
        writer.push(process, &operations, None).unwrap_err().to_string()
    };
    assert_eq!(push(3, |_| ()), "process 3 cannot follow process 3: numbers must rise");
    assert_eq!(
        push(6, |operations| operations.clear()),
        "process 6 has no operation: leave it out"
    );
    assert!(push(7, |_| ()).starts_with("operation 12 cannot belong to process 7: with width 2"));
    assert!(push(6, |operations| operations[1].index = 14).starts_with("operation 14 cannot"));
    assert!(push(6, |operations| operations.reverse()).starts_with("operation 12 cannot"));
    assert_eq!(
        push(6, |operations| operations[0].transaction_type = 2),
        "operation 12 has transaction type 2, but the header names 2 types"
    );
    let broken: [fn(&mut Vec<Operation>); 3] = [
        |operations| operations[0].ends_transaction = true,
        |operations| operations[1].ends_transaction = false,
        |operations| operations[0].transaction = 1,
    ];
    for change in broken {
        assert!(push(6, change).contains(" breaks its transaction: "));
    }
    let error = TraceWriter::create(scratch.path("no/where.trace"), header()).err().unwrap();
    assert!(matches!(error, WriteError::Io { .. }), "{error}");
    let wrong = Header { width: 0, ..header() };
    let error = TraceWriter::create(scratch.path("t.trace"), wrong).err().unwrap();
    assert!(error.to_string().contains("assay.width"), "{error}");
}

#[test]
fn every_truncation_is_an_error() {
    let saved = saved(500);
    let path = &saved.path;
    let whole = std::fs::read(path).unwrap();
    for length in (0..whole.len()).step_by(7).chain(whole.len() - 20..whole.len()) {
        std::fs::write(path, &whole[..length]).unwrap();
        let error = Trace::open(path).err().expect("a part of a trace is no trace");
        let is_cut = matches!(error, OpenError::Truncated { bytes, .. } if bytes == length as u64);
        assert!(is_cut, "{length} of {}: {error}", whole.len());
    }
}

#[test]
fn every_flipped_byte_is_an_error() {
    let saved = saved(100);
    let path = &saved.path;
    let whole = std::fs::read(path).unwrap();
    let hash = saved.trace.hash();
    let mut harmless = 0;
    for place in 0..whole.len() {
        let flip = [0x01, 0x80, 0xff][place % 3];
        let mut broken = whole.clone();
        broken[place] ^= flip;
        std::fs::write(path, &broken).unwrap();
        let Ok(trace) = Trace::open(path) else { continue };
        let Ok(found) = trace.verify() else { continue };
        // Parquet's footer has parts that mean nothing to us, such as its creator's name.
        assert_eq!((found, trace.header()), (hash, &header()), "byte {place} ^ {flip}");
        harmless += 1;
    }
    assert!(harmless * 10 < whole.len(), "{harmless} of {}", whole.len());
}

/// The operations of a run with their times: what damage must not change.
fn read_whole(path: &Path) -> Option<(Digest, Schedules, Vec<Option<Nanos>>)> {
    let trace = Trace::open(path).ok()?;
    let hash = trace.verify().ok()?;
    let Some(mut schedule) = trace.schedule().ok()? else {
        return Some((hash, Schedules::Absent, Vec::new()));
    };
    let times = (0..=40).map(|process| schedule.intended(process)).collect::<Result<_, _>>();
    Some((hash, trace.schedules(), times.ok()?))
}

/// A writer of a trace with a schedule that has got that many processes.
fn scheduled(path: &Path, processes: u64, due: impl Fn(u64) -> Nanos) -> TraceWriter {
    let mut writer = TraceWriter::create_scheduled(path, header()).unwrap();
    let (mut source, mut operations) = (Mixed { processes }, Vec::new());
    for process in 0..processes {
        source.fill(process, &mut operations).unwrap();
        writer.push(process, &operations, Some(due(process))).unwrap();
    }
    writer
}

#[test]
fn a_flipped_bit_neither_hides_a_schedule_nor_changes_it() {
    let scratch = Scratch::new();
    let path = scratch.path("t.trace");
    scheduled(&path, 40, |process| Nanos(process * 1_000_003)).finish().unwrap();
    let whole = std::fs::read(&path).unwrap();
    let expected = read_whole(&path).unwrap();
    assert_eq!((expected.1, expected.2.len()), (Schedules::Recorded, 41));
    let names: Vec<usize> =
        whole.windows(8).enumerate().filter(|(_, w)| w == b"intended").map(|(at, _)| at).collect();
    let in_a_name =
        names.iter().flat_map(|at| (*at..at + 8).flat_map(|at| (0..8).map(move |b| (at, b))));
    let anywhere = (0..whole.len()).map(|at| (at, at % 8));
    for (at, bit) in in_a_name.chain(anywhere) {
        let mut broken = whole.clone();
        broken[at] ^= 1 << bit;
        std::fs::write(&path, &broken).unwrap();
        let found = read_whole(&path);
        assert!(found.is_none() || found.as_ref() == Some(&expected), "bit {bit} of byte {at}");
    }
}

#[test]
fn other_files_are_distinguished() {
    let scratch = Scratch::new();
    let path = scratch.path("t.trace");
    assert!(matches!(Trace::open(&path), Err(OpenError::Io { .. })));
    std::fs::write(&path, "recordcount=1000\noperationcount=1000\n").unwrap();
    let error = Trace::open(&path).err().unwrap();
    assert!(matches!(error, OpenError::NotParquet { .. }), "{error}");
    assert!(error.to_string().contains("`assay trace import`"), "{error}");
    std::fs::write(&path, "").unwrap();
    assert!(matches!(Trace::open(&path), Err(OpenError::Truncated { bytes: 0, .. })));
    assert!(matches!(describe(scratch.root()), Err(OpenError::Io { .. })));
}

#[test]
fn a_schedule_is_kept_with_its_processes() {
    let scratch = Scratch::new();
    let path = scratch.path("t.trace");
    let due = |process: u64| Nanos(1000 * process + process % 7);
    let mut writer = scheduled(&path, 3000, due);
    let mut operations = Vec::new();
    Mixed { processes: 3000 }.fill(2999, &mut operations).unwrap();
    let error = writer.push(3000, &[operations[0]], None).unwrap_err();
    assert!(error.to_string().contains("cannot belong"), "{error}");
    writer.finish().unwrap();
    let trace = Trace::open(&path).unwrap();
    assert_eq!(trace.schedules(), Schedules::Recorded);
    let mut schedule = trace.schedule().unwrap().unwrap();
    for process in (0..3000).step_by(3) {
        assert_eq!(schedule.intended(process).unwrap(), Some(due(process)));
    }
    assert_eq!(schedule.intended(3000).unwrap(), None);
    let parts = split(&trace, 2, scratch.root(), "t").unwrap();
    let mut schedule = Trace::open(&parts[1].0).unwrap().schedule().unwrap().unwrap();
    assert_eq!(schedule.intended(1001).unwrap(), Some(due(1001)));
}

#[test]
fn a_process_without_its_offset_breaks_the_schedule() {
    let scratch = Scratch::new();
    let path = scratch.path("t.trace");
    let mut operations = Vec::new();
    Mixed { processes: 1 }.fill(0, &mut operations).unwrap();
    let mut writer = TraceWriter::create_scheduled(&path, header()).unwrap();
    let error = writer.push(0, &operations, None).unwrap_err();
    assert!(matches!(error, WriteError::Schedule { process: 0 }), "{error}");
    let mut writer = TraceWriter::create(&path, header()).unwrap();
    let error = writer.push(0, &operations, Some(Nanos(1))).unwrap_err();
    assert!(matches!(error, WriteError::Schedule { process: 0 }), "{error}");
}

#[test]
fn a_trace_survives_the_way_through_text() {
    let Saved { scratch, path, trace, written } = saved(2000);
    let again = scratch.path("again.trace");
    let mut text = Vec::new();
    assert_eq!(export_csv(&trace, &mut text).unwrap(), written.operations);
    assert_eq!(import_csv(&text[..], &again, header()).unwrap().hash, written.hash);
    assert!(std::fs::read(path).unwrap() == std::fs::read(again).unwrap());
}

#[test]
fn a_scheduled_trace_survives_the_way_through_text() {
    let scratch = Scratch::new();
    let path = scratch.path("t.trace");
    let text = format!(
        "{COLUMNS},intended\n0,0,0,0,1,read,0,9,1,0,0,250\n2,1,0,0,1,insert,0,{},1,\
                        100,3,500\n",
        u64::MAX
    );
    import_csv(text.as_bytes(), &path, header()).unwrap();
    let mut found = Vec::new();
    export_csv(&Trace::open(&path).unwrap(), &mut found).unwrap();
    assert_eq!(String::from_utf8(found).unwrap(), text);
}

const COLUMNS: &str = "index,process,transaction,transaction_type,ends_transaction,kind,fields,\
                       key,limit,bytes,think";

#[test]
fn text_that_is_invalid_is_refused_with_its_line() {
    let scratch = Scratch::new();
    let path = scratch.path("t.trace");
    let import = |lines: &str| {
        let text = format!("{COLUMNS}\n0,0,0,0,1,read,0,9,1,0,0\n{lines}");
        import_csv(text.as_bytes(), &path, header()).unwrap_err().to_string()
    };
    let wrong = [
        ("2,1,0,0,1,read,0,9,1,0", "line 3: it has 10 values instead of 11"),
        ("2,1,0,0,1,read,0,9,1,0,0,0", "line 3: it has 12 values instead of 11"),
        ("", "line 3: it has 1 values instead of 11"),
        ("2,1,0,0,1,READ,0,9,1,0,0", "line 3: kind \"READ\" is none of read, update"),
        (
            "2,1,0,0,2,read,0,9,1,0,0",
            "line 3: ends_transaction \"2\" is no whole number from 0 to 1",
        ),
        ("2,1,0,0,1,read,65538,9,1,0,0", "line 3: fields \"65538\" is no whole number"),
        ("2,1,0,0,1,read,0,-9,1,0,0", "line 3: key \"-9\" is no whole number"),
        ("2,1,0,0,1,read,0,+9,1,0,0", "line 3: key \"+9\" is no whole number"),
        ("2,1,0,0,1,read,0, 9,1,0,0", "line 3: key \" 9\" is no whole number"),
        ("2,1,0,0,1,read,0,18446744073709551616,1,0,0", "line 3: key \"184467"),
        ("2,1,65536,0,1,read,0,9,1,0,0", "line 3: transaction \"65536\" is no whole number"),
        ("4,1,0,0,1,read,0,9,1,0,0", "up to line 3: operation 4 cannot belong to process 1"),
        ("0,0,0,0,1,read,0,9,1,0,0", "up to line 3: operation 0 cannot belong to process 0"),
        ("2,1,0,7,1,read,0,9,1,0,0", "up to line 3: operation 2 has transaction type 7"),
        (
            "1,0,0,0,1,read,0,9,1,0,0\n1,0,0,0,1,read,0,9,1,0,0",
            "line 4: process 0 has more than 2 operations",
        ),
    ];
    for (lines, said) in wrong {
        let found = import(&format!("{lines}\n"));
        assert!(found.starts_with(said), "{lines:?}: {found}");
        assert!(scratch.names().is_empty(), "{lines:?} left something behind");
    }
    let long = import(&"1".repeat(600));
    assert!(long.starts_with("line 3: it is longer than 512 bytes"), "{long}");
    let binary = import_csv(&b"\xff\xfe\n"[..], &path, header()).unwrap_err().to_string();
    assert!(binary.starts_with("line 1: cannot read on"), "{binary}");
    let columns = import_csv(&b"key,kind\n"[..], &path, header()).unwrap_err().to_string();
    assert!(columns.ends_with("found \"key,kind\""), "{columns}");
    let empty = import_csv(COLUMNS.as_bytes(), &path, header()).unwrap_err().to_string();
    assert!(empty.ends_with("the plan has no operation"), "{empty}");
}

#[test]
fn the_figures_of_a_trace_are_those_of_its_plan() {
    let saved = saved(6000);
    let found = saved.trace.stat(StatOptions::default()).unwrap();
    let mut plan = Mixed { processes: 6000 };
    let expected = stat(&mut plan, 0..u64::MAX, &header(), StatOptions::default()).unwrap();
    assert_eq!(found, expected);
    assert_eq!((found.processes, found.transactions, found.operations), (6000, 6000, 8000));
    let modifies = ("read-modify-write".to_owned(), 2000);
    assert_eq!(found.transaction_types, [("operation".to_owned(), 4000), modifies.clone()]);
    assert_eq!(found.mix.last(), Some(&modifies));
    assert_eq!(found.mix.iter().map(|(_, count)| count).sum::<u64>(), 6000);
    assert_eq!(found.kinds.iter().map(|(_, count)| count).sum::<u64>(), 8000);
    let scans = found.scan_lengths.unwrap();
    assert_eq!((scans.min, scans.max), (1, 100));
    assert!(found.written.unwrap().max < 1000);
}

#[test]
fn a_description_needs_no_operations() {
    let Saved { scratch: _scratch, path, written, .. } = saved(3000);
    let found = describe(&path).unwrap();
    assert_eq!(found.hash, written.hash);
    assert_eq!((found.operations, found.processes, found.row_groups), (4000, 3000, 1));
    assert_eq!(found.bytes, std::fs::metadata(&path).unwrap().len());
    assert_eq!(found.bytes_per_operation(), found.bytes as f64 / 4000.0);
    let names: Vec<&str> = found.columns.iter().map(|(name, _)| *name).collect();
    assert_eq!(names.join(","), COLUMNS);
    assert!(found.columns.iter().map(|(_, bytes)| bytes).sum::<u64>() < found.bytes);
}

#[test]
fn the_first_version_of_the_format_is_read_for_ever() {
    let (old, text) = golden("format-1", &header(), "13d0a0701508323088dc8c33bd03e48b");
    assert_eq!(Trace::open(&old).unwrap().operations(), 40);
    // Traces of records are still written as they were, byte for byte.
    let scratch = Scratch::new();
    let path = scratch.path("t.trace");
    import_csv(text.as_bytes(), &path, header()).unwrap();
    assert_eq!(std::fs::read(path).unwrap(), std::fs::read(old).unwrap());
}

//! Builds a trace of queries in memory, each text or list of arguments kept once.

use std::collections::HashMap;
use std::path::Path;

use assay_model::operation::LONE;
use assay_model::script::{ProcessBuilder, QueryRef};
use assay_model::{Arguments, Filled, Kind, Named, Nanos, Operation, Phase, Source, SourceError};

use crate::header::Header;
use crate::script::Script;
use crate::writer::{Entry, TraceWriter, WriteError, WrittenTrace};

/// The most operations of one process.
const WIDTH_MAX: u64 = 1 << 20;

/// Processes that are put together call by call, in any order of their start.
///
/// ```
/// use assay_model::{Datum, Kind, Nanos};
/// use assay_trace::builder::TraceBuilder;
///
/// let mut trace = TraceBuilder::new();
/// trace.declare("note", "CREATE TABLE note (id INT PRIMARY KEY, text VARCHAR(40))");
/// let put = trace.query("put", "INSERT INTO note (id, text) VALUES (?, ?)", Kind::Insert);
/// let get = trace.query("get", "SELECT text FROM note WHERE id = ?", Kind::Read);
/// let look = trace.transaction_type("look");
/// for id in 0..3 {
///     trace.process(Nanos(id * 1000), |process| {
///         let number = Datum::Int(7);
///         process.transaction(look, Nanos::ZERO).issue(get, 7, &[number.into()]).commit();
///         let text = Datum::Text("a");
///         process.transaction(0, Nanos(5)).issue(put, id, &[number.into(), text.into()]).commit();
///     });
/// }
/// assert_eq!(trace.processes(), 3);
/// ```
#[derive(Debug, Default)]
pub struct TraceBuilder {
    script: Script,
    transaction_types: Vec<String>,
    processes: Vec<Kept>,
    /// Whether the processes are in the order of their start.
    is_sorted: bool,
    width: u64,
    /// All distinct arguments, with the number of each.
    arguments: Vec<Box<[u8]>>,
    numbers: HashMap<Box<[u8]>, u32>,
    scratch: (Vec<Operation>, Arguments),
}

#[derive(Debug)]
struct Kept {
    start: Nanos,
    /// Operations as if the process were number 0, with the number of their arguments.
    operations: Vec<(Operation, u32)>,
}

impl TraceBuilder {
    /// A trace without processes.
    pub fn new() -> TraceBuilder {
        TraceBuilder {
            transaction_types: vec![LONE.to_owned()],
            is_sorted: true,
            width: 1,
            ..TraceBuilder::default()
        }
    }

    /// Adds a statement that declares a part of the schema, unless the text is there already.
    pub fn declare(&mut self, name: &str, text: &str) -> &mut Self {
        if self.script.ddl.iter().all(|known| known.text != text) {
            self.script.ddl.push(Named { name: name.to_owned(), text: text.to_owned() });
        }
        self
    }

    /// What stands for the query `text`; an equal text is the same query, under its first name.
    ///
    /// # Panics
    /// If there are more than 65,534 queries.
    pub fn query(&mut self, name: &str, text: &str, kind: Kind) -> QueryRef {
        let queries = &mut self.script.queries;
        let known = queries.iter().position(|known| known.text == text);
        let place = known.unwrap_or_else(|| {
            queries.push(Named { name: name.to_owned(), text: text.to_owned() });
            queries.len() - 1
        });
        let statement = u16::try_from(place + 1).expect("a trace has at most 65,534 queries");
        QueryRef { statement, kind }
    }

    /// The number of the transaction type `name`.
    ///
    /// # Panics
    /// If there are more than 65,535 types.
    pub fn transaction_type(&mut self, name: &str) -> u16 {
        let types = &mut self.transaction_types;
        let known = types.iter().position(|known| known == name);
        let place = known.unwrap_or_else(|| {
            types.push(name.to_owned());
            types.len() - 1
        });
        u16::try_from(place).expect("a trace has at most 65,535 types of transactions")
    }

    /// Adds the process that `build` puts together, intended at `start`. One without operations is
    /// left out.
    pub fn process(
        &mut self,
        start: Nanos,
        build: impl FnOnce(&mut ProcessBuilder<'_>),
    ) -> &mut Self {
        let (mut operations, mut arguments) = std::mem::take(&mut self.scratch);
        let mut builder = ProcessBuilder::begin(0, WIDTH_MAX, &mut operations, &mut arguments);
        build(&mut builder);
        self.width = self.width.max(builder.end() as u64);
        let numbered = operations.iter().enumerate();
        let kept: Vec<(Operation, u32)> = numbered
            .map(|(place, operation)| (*operation, self.number(arguments.encoded(place))))
            .collect();
        if !kept.is_empty() {
            self.is_sorted &= self.processes.last().is_none_or(|last| last.start <= start);
            self.processes.push(Kept { start, operations: kept });
        }
        self.scratch = (operations, arguments);
        self
    }

    fn number(&mut self, arguments: &[u8]) -> u32 {
        if let Some(&number) = self.numbers.get(arguments) {
            return number;
        }
        let number = u32::try_from(self.arguments.len()).expect("fewer than 2^32 fit into memory");
        self.arguments.push(arguments.into());
        self.numbers.insert(arguments.into(), number);
        number
    }

    /// How many processes there are.
    pub fn processes(&self) -> usize {
        self.processes.len()
    }

    /// The header of the trace for `phase`, whose `generator` is for example `assay 0.1.0`.
    pub fn header(&self, phase: Phase, generator: &str) -> Header {
        let (script, types) = (self.script.clone(), self.transaction_types.clone());
        Header { phase, ..Header::of_script(script, types, self.width, generator) }
    }

    /// The processes in the order of their start.
    pub fn source(&mut self) -> Built<'_> {
        self.sort();
        Built { trace: self, process: 0 }
    }

    /// Writes the trace with its schedule.
    ///
    /// # Errors
    /// If there is no process, an argument is missing, or the file system refuses.
    pub fn write(
        &mut self,
        path: impl AsRef<Path>,
        phase: Phase,
        generator: &str,
    ) -> Result<WrittenTrace, WriteError> {
        let mut writer = TraceWriter::create_scheduled(path, self.header(phase, generator))?;
        let mut source = self.source();
        let (mut operations, mut arguments) = (Vec::new(), Arguments::default());
        let mut process = 0;
        while source.fill(process, &mut operations)? == Filled::Process {
            source.arguments(&mut arguments);
            let intended = Some(source.start());
            writer
                .push_entry(&Entry { intended, ..Entry::new(process, &operations, &arguments) })?;
            process += 1;
        }
        writer.finish()
    }

    fn sort(&mut self) {
        if !self.is_sorted {
            self.processes.sort_by_key(|kept| kept.start);
            self.is_sorted = true;
        }
    }
}

/// The processes of a [`TraceBuilder`].
#[derive(Debug)]
pub struct Built<'a> {
    trace: &'a TraceBuilder,
    /// The process that was found last.
    process: usize,
}

impl Built<'_> {
    /// When the process that was found last is intended.
    pub fn start(&self) -> Nanos {
        self.trace.processes.get(self.process).map_or(Nanos::ZERO, |kept| kept.start)
    }
}

impl Source for Built<'_> {
    fn len(&self) -> Option<u64> {
        Some(self.trace.processes.len() as u64)
    }

    fn width(&self) -> u64 {
        self.trace.width
    }

    fn fill(&mut self, process: u64, into: &mut Vec<Operation>) -> Result<Filled, SourceError> {
        into.clear();
        let place = usize::try_from(process).unwrap_or(usize::MAX);
        let Some(kept) = self.trace.processes.get(place) else { return Ok(Filled::End) };
        self.process = place;
        let first = process * self.trace.width;
        let numbered = |(operation, _): &(Operation, u32)| Operation {
            index: first + operation.index,
            ..*operation
        };
        into.extend(kept.operations.iter().map(numbered));
        Ok(Filled::Process)
    }

    fn arguments(&mut self, into: &mut Arguments) {
        into.clear();
        let Some(kept) = self.trace.processes.get(self.process) else { return };
        for (_, number) in &kept.operations {
            let is_whole = into.push_encoded(&self.trace.arguments[*number as usize]);
            debug_assert!(is_whole, "arguments are kept as they were encoded");
        }
    }
}

#[cfg(test)]
mod tests {
    use assay_model::{Datum, Taken};

    use super::*;

    #[test]
    fn equal_texts_and_arguments_are_kept_once_and_processes_come_by_their_start() {
        let mut trace = TraceBuilder::new();
        trace
            .declare("t", "CREATE TABLE t (a INT PRIMARY KEY)")
            .declare("again", "CREATE TABLE t (a INT PRIMARY KEY)");
        let get = trace.query("get", "SELECT a FROM t WHERE a = ?", Kind::Read);
        assert_eq!(trace.query("same", "SELECT a FROM t WHERE a = ?", Kind::Read), get);
        let put = trace.query("put", "INSERT INTO t (a) VALUES (?)", Kind::Insert);
        let copy = trace.transaction_type("copy");
        assert_eq!(trace.transaction_type("copy"), copy);
        for start in [30, 10, 20] {
            trace.process(Nanos(start), |process| {
                let number = Datum::Int(start as i64);
                process.transaction(copy, Nanos::ZERO).issue(get, start, &[number.into()]);
                process.issue(put, 0, &[Taken::first(0, 0).into()]).commit();
            });
        }
        trace.process(Nanos(40), |_| {});
        let lists = trace.arguments.iter().filter(|arguments| !arguments.is_empty());
        assert_eq!((trace.processes(), lists.count()), (3, 4));
        let header = trace.header(Phase::Measure, "test");
        assert_eq!(header.script.unwrap().queries.len(), 2);
        let (mut operations, mut arguments) = (Vec::new(), Arguments::default());
        let mut source = trace.source();
        let mut found = Vec::new();
        for process in 0..3 {
            assert_eq!(source.fill(process, &mut operations).unwrap(), Filled::Process);
            source.arguments(&mut arguments);
            let first = format!("{:?}", arguments.of(0).next().unwrap());
            found.push((operations[2].index, operations[0].key, first, source.start().0));
        }
        assert_eq!(source.fill(3, &mut operations).unwrap(), Filled::End);
        let one = |index, start: u64| (index, start, format!("Given(Int({start}))"), start);
        assert_eq!(found, [one(2, 10), one(5, 20), one(8, 30)]);
    }
}

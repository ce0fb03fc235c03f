//! Makes traces of ours of a set of BenchFoundry's.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use assay_model::operation::LONE;
use assay_model::script::{ProcessBuilder, QueryRef, key_of};
use assay_model::{Arguments, ColumnType, Datum, Kind, Named, Nanos, Operation, Phase};

use super::list::{List, Listed};
use super::process::{ABSENT, Item, LoggedOperation, Process, Processes};
use super::{InputSet, InputSetError, Remarks, Trouble};
use crate::header::Header;
use crate::imported::load_path;
use crate::literal::{encode, pieces};
use crate::script::{Origins, Script, placeholders};
use crate::writer::{Entry, TraceWriter, WrittenTrace};

/// The most operations of one process.
const WIDTH_MAX: u64 = 1 << 20;

/// The most transactions of one process: they are numbered with 16 bits.
const TRANSACTIONS_MAX: usize = u16::MAX as usize - 1;

/// The most types of transactions that get names; others share one.
const TYPES_MAX: usize = 100;

/// A longer name of a type is cut off.
const TYPE_NAME_MAX: usize = 60;

const NANOS_PER_MS: u64 = 1_000_000;

/// The options of the import.
pub struct Importing<'a> {
    /// Who imports, for the header, for example `assay 0.1.0`.
    pub generator: &'a str,
    /// Understands the SQL of schema and queries: what each query means, or what is wrong.
    /// [`as_written`] does without.
    pub understand: Understand<'a>,
}

/// From schema and queries to what each query means, or what is wrong with them.
pub type Understand<'a> = &'a mut dyn FnMut(&[Named], &[Named]) -> Result<Vec<Meaning>, String>;

/// What an import has to know of a query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Meaning {
    /// What it does.
    pub kind: Kind,
    /// The types of the columns that its arguments meet; `None` reads values as they are written.
    pub parameters: Option<Vec<ColumnType>>,
    /// The places of the arguments that name what it is about; empty if all of them do.
    pub key: Vec<u16>,
}

/// The meaning of a query by the first word of its SQL.
///
/// # Errors
/// If that is none of the four that a query can begin with.
pub fn as_written(queries: &[Named]) -> Result<Vec<Meaning>, String> {
    let meaning = |query: &Named| {
        let first = query.text.split_whitespace().next().unwrap_or_default();
        let kind = match first.to_ascii_uppercase().as_str() {
            "SELECT" => Kind::Read,
            "INSERT" => Kind::Insert,
            "UPDATE" => Kind::Update,
            "DELETE" => Kind::Delete,
            _ => return Err(format!("query {}: {first:?} begins no query", query.name)),
        };
        Ok(Meaning { kind, parameters: None, key: Vec::new() })
    };
    queries.iter().map(meaning).collect()
}

/// What an import has made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Imported {
    /// The traces in the order of the phases.
    pub phases: Vec<ImportedPhase>,
    /// Lists of parameters that no operation uses; they are left out.
    pub unused_parameters: u64,
    /// What BenchFoundry itself would have made of it otherwise.
    pub remarks: Remarks,
}

/// One trace that was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportedPhase {
    /// What it is for.
    pub phase: Phase,
    /// Where it lies.
    pub path: PathBuf,
    /// What it holds.
    pub written: WrittenTrace,
    /// What was found on the way.
    pub notes: Notes,
}

/// What is unusual in a trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Notes {
    /// Processes of fewer than five lines; taken, if they have any operation.
    pub short: u64,
    /// Processes without operations; left out.
    pub idle: u64,
    /// Transactions without operations; their delay goes to the next one.
    pub empty_transactions: u64,
    /// Operations outside of a transaction; each is one by itself.
    pub lone_operations: u64,
}

/// Where the trace of the warm-up lies that belongs to the trace at `path`.
pub fn warm_up_path(path: &Path) -> PathBuf {
    let name = path.as_os_str().to_string_lossy();
    PathBuf::from(format!("{}.warm-up.trace", name.strip_suffix(".trace").unwrap_or(&name)))
}

/// Makes the trace of the experiment at `target`, those of preload and warm-up, if there are any,
/// at [`load_path`] and [`warm_up_path`].
///
/// Everything is read and checked before the first trace is written.
///
/// # Errors
/// If a file is missing, a line is invalid, the lists do not fit, or the file system refuses.
pub fn import(
    set: &InputSet,
    target: &Path,
    importing: &mut Importing<'_>,
) -> Result<Imported, InputSetError> {
    let mut remarks = set.remarks.clone();
    let phases = [
        (Phase::Load, set.file("preloadTraceFilename")?, load_path(target)),
        (Phase::WarmUp, set.file("warmupTraceFilename")?, warm_up_path(target)),
        (Phase::Measure, Some(set.needed("experimentTraceFilename")?), target.to_owned()),
    ];
    let mut lists = Lists::read(set, &mut remarks)?;
    let script = lists.script(set);
    lists.meanings =
        (importing.understand)(&script.ddl, &script.queries).map_err(InputSetError::Sql)?;
    let mut compiler = Compiler::new(&lists);
    let mut checked = Vec::new();
    for (phase, path, target) in phases {
        let Some(path) = path else { continue };
        let notes = compiler.check(&path, &mut remarks)?;
        checked.push((phase, path, target, notes));
    }
    let unused_parameters = compiler.used.iter().filter(|used| !**used).count() as u64;
    let types = compiler.types.names(&script.queries);
    let header = Header::of_script(script, types, compiler.width, importing.generator);
    let mut written = Vec::new();
    for (phase, from, path, notes) in checked {
        let header = Header { phase, ..header.clone() };
        let made = compiler.write(&from, &path, header)?;
        written.push(ImportedPhase { phase, path, written: made, notes });
    }
    Ok(Imported { phases: written, unused_parameters, remarks })
}

/// The lists of a set.
struct Lists {
    schema: List,
    operations: List,
    parameters: List,
    custom: List,
    /// What each operation means, in the order of their numbers.
    meanings: Vec<Meaning>,
}

impl Lists {
    fn read(set: &InputSet, remarks: &mut Remarks) -> Result<Lists, InputSetError> {
        let mut optional = |property| match set.file(property)? {
            Some(path) => List::read(&path, remarks),
            None => Ok(List::none()),
        };
        let schema = optional("schemaFilename")?;
        let parameters = optional("paramFilename")?;
        let custom = optional("custparamFilename")?;
        let operations = List::read(&set.needed("oplistFilename")?, remarks)?;
        if operations.len() > usize::from(u16::MAX) - 1 {
            let reason = format!("there are {} operations, at most 65,534", operations.len());
            return Err(InputSetError::File { path: operations.path().to_owned(), reason });
        }
        if custom.find(ABSENT).is_some() {
            let reason = format!("id {ABSENT} stands for no custom parameters");
            return Err(InputSetError::File { path: custom.path().to_owned(), reason });
        }
        Ok(Lists { schema, operations, parameters, custom, meanings: Vec::new() })
    }

    fn script(&self, set: &InputSet) -> Script {
        let named = |listed: Listed<'_>| Named {
            name: listed.id.to_string(),
            text: listed.text.to_owned(),
        };
        Script {
            ddl: self.schema.iter().map(named).collect(),
            queries: self.operations.iter().map(named).collect(),
            hints: self.custom.iter().map(|listed| listed.text.to_owned()).collect(),
            properties: set.properties.clone(),
            origins: Origins::Kept,
        }
    }
}

/// Turns processes of lines into processes of operations.
struct Compiler<'a> {
    lists: &'a Lists,
    /// How many arguments each query takes.
    expected: Vec<usize>,
    types: Types,
    /// The parameters that were used.
    used: Vec<bool>,
    width: u64,
    operations: Vec<Operation>,
    arguments: Arguments,
    hints: Vec<u32>,
    /// The arguments of one operation.
    encoded: Vec<u8>,
    /// The queries of the open transaction.
    requested: Vec<u16>,
}

impl<'a> Compiler<'a> {
    fn new(lists: &'a Lists) -> Compiler<'a> {
        Compiler {
            lists,
            expected: lists.operations.iter().map(|listed| placeholders(listed.text)).collect(),
            types: Types::default(),
            used: vec![false; lists.parameters.len()],
            width: 1,
            operations: Vec::new(),
            arguments: Arguments::default(),
            hints: Vec::new(),
            encoded: Vec::new(),
            requested: Vec::new(),
        }
    }

    /// Reads the trace at `path` to its end: whether it makes sense, how wide its processes are,
    /// which types of transactions it has.
    fn check(&mut self, path: &Path, remarks: &mut Remarks) -> Result<Notes, InputSetError> {
        let mut processes = Processes::open(path)?;
        let (mut process, mut notes) = (Process::default(), Notes::default());
        let (mut number, mut is_any) = (0, false);
        while processes.read(&mut process)? {
            let (width, found) = self.compile(path, &process, number, WIDTH_MAX, Some(remarks))?;
            self.width = self.width.max(width);
            is_any |= width > 0;
            number += 1;
            notes.idle += u64::from(width == 0);
            notes.empty_transactions += found.empty_transactions;
            notes.lone_operations += found.lone_operations;
            if process.lines < 5 {
                notes.short += 1;
                remarks.add(path, process.line, Trouble::Short);
            }
        }
        if !is_any {
            let reason = "no process in it has an operation: leave the file out, or write none";
            return Err(InputSetError::File { path: path.to_owned(), reason: reason.to_owned() });
        }
        Ok(notes)
    }

    fn write(
        &mut self,
        from: &Path,
        to: &Path,
        header: Header,
    ) -> Result<WrittenTrace, InputSetError> {
        let width = header.width;
        let mut writer = TraceWriter::create_scheduled(to, header)?;
        let mut processes = Processes::open(from)?;
        let mut process = Process::default();
        let mut number = 0;
        while processes.read(&mut process)? {
            let (found, _) = self.compile(from, &process, number, width, None)?;
            if found == 0 {
                continue;
            }
            writer.push_entry(&Entry {
                intended: Some(Nanos(process.start_ms * NANOS_PER_MS)),
                origin: process.id,
                hints: &self.hints,
                ..Entry::new(number, &self.operations, &self.arguments)
            })?;
            number += 1;
        }
        Ok(writer.finish()?)
    }

    /// Puts the operations of `process` into the buffers; gives back how many there are.
    fn compile(
        &mut self,
        path: &Path,
        process: &Process,
        number: u64,
        width: u64,
        mut remarks: Option<&mut Remarks>,
    ) -> Result<(u64, Notes), InputSetError> {
        check_length(path, process)?;
        let mut operations = std::mem::take(&mut self.operations);
        let mut arguments = std::mem::take(&mut self.arguments);
        self.hints.clear();
        let mut builder = ProcessBuilder::begin(number, width, &mut operations, &mut arguments);
        let mut notes = Notes::default();
        let (mut delay, mut is_open) = (Nanos::ZERO, false);
        for (place, item) in process.items.iter().enumerate() {
            match *item {
                Item::Begin { delay_ms } => {
                    is_open = true;
                    delay = Nanos(delay.0.saturating_add(delay_ms * NANOS_PER_MS));
                    let queries = process.items[place + 1..].iter().map_while(Item::operation);
                    if self.begin(queries, path)? {
                        builder.transaction(self.types.number(&self.requested), delay);
                        delay = Nanos::ZERO;
                    } else {
                        notes.empty_transactions += 1;
                    }
                }
                Item::QueryRef(requested) => {
                    if !is_open {
                        notes.lone_operations += 1;
                        self.begin(std::iter::once(requested), path)?;
                        builder.transaction(self.types.number(&self.requested), delay);
                        delay = Nanos::ZERO;
                    }
                    self.issue(path, requested, &mut builder, remarks.as_deref_mut())?;
                    if !is_open {
                        self.commit(&mut builder);
                    }
                }
                Item::End => {
                    is_open = false;
                    if !self.requested.is_empty() {
                        self.commit(&mut builder);
                    }
                }
            }
        }
        let found = builder.end() as u64;
        (self.operations, self.arguments) = (operations, arguments);
        Ok((found, notes))
    }

    /// Notes the queries of the transaction that begins; tells whether there are any.
    fn begin(
        &mut self,
        queries: impl Iterator<Item = LoggedOperation>,
        path: &Path,
    ) -> Result<bool, InputSetError> {
        self.requested.clear();
        for requested in queries {
            let query = self.query(path, requested)?;
            self.requested.push(query.place as u16 + 1);
        }
        Ok(!self.requested.is_empty())
    }

    fn commit(&mut self, builder: &mut ProcessBuilder<'_>) {
        builder.commit();
        if self.requested.len() > 1 {
            self.hints.push(0);
        }
        self.requested.clear();
    }

    fn query(&self, path: &Path, requested: LoggedOperation) -> Result<Listed<'a>, InputSetError> {
        self.lists.operations.find(requested.operation).ok_or_else(|| {
            let list = self.lists.operations.path().display();
            let id = requested.operation;
            line_error(path, requested.line, format!("operation {id} has no text in {list}"))
        })
    }

    fn issue(
        &mut self,
        path: &Path,
        requested: LoggedOperation,
        builder: &mut ProcessBuilder<'_>,
        remarks: Option<&mut Remarks>,
    ) -> Result<(), InputSetError> {
        let query = self.query(path, requested)?;
        let meaning = &self.lists.meanings[query.place];
        self.encoded.clear();
        let found = match requested.parameters {
            ABSENT => 0,
            _ => self.encode(path, requested, meaning, remarks)?,
        };
        let expected = self.expected[query.place];
        if found != expected {
            let (operation, parameters) = (requested.operation, requested.parameters);
            let given = match parameters {
                ABSENT => "no parameters are given".to_owned(),
                _ => format!("parameters {parameters} have {found}"),
            };
            let reason = format!("operation {operation} takes {expected} parameters, {given}");
            return Err(line_error(path, requested.line, reason));
        }
        self.hints.push(self.hint(path, requested)?);
        let issue = QueryRef { statement: query.place as u16 + 1, kind: meaning.kind };
        let is_whole = builder.send_encoded(issue, key(&self.encoded, &meaning.key), &self.encoded);
        debug_assert!(is_whole, "arguments that were just encoded are whole");
        Ok(())
    }

    /// Encodes the parameters of an operation; gives back how many there are.
    fn encode(
        &mut self,
        path: &Path,
        requested: LoggedOperation,
        meaning: &Meaning,
        mut remarks: Option<&mut Remarks>,
    ) -> Result<usize, InputSetError> {
        let list = &self.lists.parameters;
        let id = requested.parameters;
        let listed = list.find(id).ok_or_else(|| {
            let list = list.path().display();
            line_error(path, requested.line, format!("parameters {id} have no text in {list}"))
        })?;
        let wrong = |reason| line_error(list.path(), listed.line, reason);
        let mut pieces = pieces(listed.text).map_err(wrong)?;
        // As theirs does: what is empty at the end is no value.
        while pieces.last().is_some_and(|last| last.is_empty()) {
            pieces.pop();
        }
        let is_new = !std::mem::replace(&mut self.used[listed.place], true);
        for (place, piece) in pieces.iter().enumerate() {
            let kinds = meaning.parameters.as_ref();
            let kind = kinds.and_then(|kinds| kinds.get(place).copied());
            encode(piece, kind, &mut self.encoded).map_err(|reason| {
                let operation = requested.operation;
                wrong(format!("value {} for operation {operation}: {reason}", place + 1))
            })?;
            if let Some(remarks) = remarks.as_deref_mut().filter(|_| is_new) {
                remarks.add_value(list.path(), listed.line, piece);
            }
        }
        Ok(pieces.len())
    }

    fn hint(&self, path: &Path, requested: LoggedOperation) -> Result<u32, InputSetError> {
        let id = requested.custom;
        if id == ABSENT {
            return Ok(0);
        }
        let listed = self.lists.custom.find(id).ok_or_else(|| {
            let reason = match self.lists.custom.len() {
                0 => format!("custom parameters {id}: the set has no list of them"),
                _ => {
                    let list = self.lists.custom.path().display();
                    format!("custom parameters {id} have no text in {list}")
                }
            };
            line_error(path, requested.line, reason)
        })?;
        Ok(listed.place as u32 + 1)
    }
}

impl Item {
    fn operation(&self) -> Option<LoggedOperation> {
        match self {
            Item::QueryRef(requested) => Some(*requested),
            Item::Begin { .. } | Item::End => None,
        }
    }
}

fn check_length(path: &Path, process: &Process) -> Result<(), InputSetError> {
    let begun = |item: &&Item| !matches!(item, Item::End);
    let transactions = process.items.iter().filter(|item| matches!(item, Item::End)).count();
    let operations = process.items.iter().filter(begun).count();
    if transactions > TRANSACTIONS_MAX || operations as u64 > WIDTH_MAX / 2 {
        let reason = format!(
            "process {} has more than {TRANSACTIONS_MAX} transactions or {} operations: part it",
            process.id,
            WIDTH_MAX / 2
        );
        return Err(line_error(path, process.line, reason));
    }
    Ok(())
}

fn line_error(path: &Path, line: u64, reason: String) -> InputSetError {
    InputSetError::Line { path: path.to_owned(), line, reason }
}

/// The number of what an operation is about: the values at `places`, all of them without places.
fn key(encoded: &[u8], places: &[u16]) -> u64 {
    let mut rest = encoded;
    let mut values = Vec::new();
    while let Some((datum, behind)) = Datum::decode(rest) {
        values.push(datum);
        rest = behind;
    }
    if places.is_empty() {
        return key_of(&values);
    }
    let chosen = places.iter().filter_map(|&place| values.get(usize::from(place)).copied());
    key_of(&chosen.collect::<Vec<_>>())
}

/// The types of transactions: those with the same queries in the same order are one type.
#[derive(Default)]
struct Types {
    numbers: HashMap<Vec<(u16, u32)>, u16>,
    /// In the order of their numbers, from 1.
    queries: Vec<Vec<(u16, u32)>>,
}

impl Types {
    /// The number of the type with these queries.
    fn number(&mut self, requested: &[u16]) -> u16 {
        let mut runs: Vec<(u16, u32)> = Vec::new();
        for &query in requested {
            match runs.last_mut() {
                Some((last, times)) if *last == query => *times += 1,
                _ => runs.push((query, 1)),
            }
        }
        if let Some(&number) = self.numbers.get(&runs) {
            return number;
        }
        if self.queries.len() == TYPES_MAX {
            return TYPES_MAX as u16 + 1;
        }
        self.queries.push(runs.clone());
        let number = self.queries.len() as u16;
        self.numbers.insert(runs, number);
        number
    }

    /// The names of all types, by their numbers.
    fn names(&self, queries: &[Named]) -> Vec<String> {
        let mut names = vec![LONE.to_owned()];
        for runs in &self.queries {
            let parts: Vec<String> = runs
                .iter()
                .map(|&(query, times)| match (&queries[usize::from(query) - 1].name, times) {
                    (name, 1) => name.clone(),
                    (name, times) => format!("{times} × {name}"),
                })
                .collect();
            let word = if matches!(runs[..], [(_, 1)]) { "query" } else { "queries" };
            let mut name = format!("{word} {}", parts.join(", "));
            if name.chars().count() > TYPE_NAME_MAX {
                let number = names.len();
                name = name.chars().take(TYPE_NAME_MAX).collect();
                name = format!("{name} … ({number})");
            }
            names.push(name);
        }
        if self.queries.len() == TYPES_MAX {
            names.push("others".to_owned());
        }
        names
    }
}

//! Workload of SPEC: built-in, TOML, YCSB properties or a trace.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use assay_model::{Kind, Phase, Seed};
use assay_trace::imported::load_path;
use assay_trace::{Header, Part, Trace};
use assay_workload::builtin::{self, SpecFormat};
use assay_workload::script;
use assay_workload::script::fmke::FmkeSpec;
use assay_workload::spec::no_files;
use assay_workload::ycsb::{self, ClientOptions, Properties, Strictness};
use assay_workload::{Plan, PlanPhase, ScriptPlan, ScriptSpec, Spec, SpecError};

use crate::compiled::Compiled;
use crate::exit::{as_usage, usage};
use crate::note::Loaded;
use crate::options::HALLMARK;
use crate::section;

/// The section of a spec with settings of the commands that run it.
const RUN: &str = "run";

/// The first bytes of a Parquet file.
const PARQUET: &[u8] = b"PAR1";

/// A workload before a seed is chosen.
pub struct Workload {
    /// Its name in reports.
    pub name: String,
    /// The specification.
    pub requested: WorkloadSource,
    /// The trace that is replayed, if SPEC was one.
    pub trace: Option<Trace>,
    /// Where that trace lies.
    pub path: Option<PathBuf>,
    /// What YCSB's client would do, if SPEC was made of properties.
    pub client: Option<ClientOptions>,
    /// Of how many operations the inserts have room among the keys of YCSB's zipfian.
    room: Room,
    /// What only a store's binding understands, if SPEC was made of properties.
    pub binding: BTreeMap<String, String>,
    /// Whether it is a built-in workload, whose sizes are only examples.
    pub entry: Option<&'static builtin::BuiltinWorkload>,
    /// Thresholds of the hallmark that SPEC changes.
    pub hallmark: toml::Table,
    /// Settings that SPEC brings along, beneath what anybody else says.
    pub settings: toml::Table,
}

/// Properties of YCSB's client with the settings that stand for them here.
const OF_CLIENT: [(&str, &str); 4] = [
    ("threadcount", "--closed"),
    ("target", "--target-throughput"),
    ("maxexecutiontime", "--duration"),
    ("exportfile", "--output"),
];

/// What is said of a property that only YCSB's own client would heed.
fn of_client(property: &str) -> String {
    let ours = OF_CLIENT.iter().find(|(name, _)| *name == property);
    let ours = ours.map_or(String::new(), |(_, ours)| format!(" say {ours} instead, or"));
    format!("{property} is for YCSB's client and changes nothing here:{ours} run `assay ycsb`")
}

/// What says how much room there is for inserts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Room {
    /// The spec.
    Spec,
    /// YCSB's rule, for so many operations if properties say so.
    Ycsb(Option<u64>),
}

/// The source of a workload's operations.
#[derive(Clone, Debug)]
pub enum WorkloadSource {
    /// Records by key.
    Records(Box<Spec>),
    /// Queries.
    Script(ScriptSpec),
    /// The queries of a trace that came from elsewhere.
    Trace,
}

/// Changes to a workload, in the order in which they were typed.
#[derive(Clone, Debug, Default)]
pub struct Changes {
    /// Properties files of YCSB.
    pub files: Vec<String>,
    /// Properties, `key=value`.
    pub properties: Vec<String>,
    /// Keys of the spec, `section.key=value`.
    pub sets: Vec<String>,
    /// Records in the data set.
    pub records: Option<u64>,
}

impl Changes {
    /// Whether a typed change sets one of `keys`.
    pub fn say(&self, keys: [&str; 2]) -> bool {
        let mut typed = self.properties.iter().chain(&self.sets);
        typed.any(|text| text.split_once('=').is_some_and(|(key, _)| keys.contains(&key)))
    }
}

/// The text of a histogram file that a workload names.
pub fn file_text(path: &Path) -> std::io::Result<String> {
    std::fs::read_to_string(path)
}

impl Workload {
    /// Reads SPEC and applies `changes`. Warnings go to standard error.
    pub fn read(text: &str, changes: &Changes) -> Result<Workload> {
        let path = Path::new(text);
        let mut workload = match path.is_file() {
            true => Workload::from_file(path, changes)?,
            false => Workload::from_builtin(text, changes)?,
        };
        workload.apply(changes)?;
        workload.require_lengths()?;
        Ok(workload)
    }

    /// Lengths that a trace records are nowhere without it.
    fn require_lengths(&self) -> Result<()> {
        let is_recorded = self.records().is_some_and(|spec| spec.dataset.is_recorded());
        if self.trace.is_some() || !is_recorded {
            return Ok(());
        }
        Err(usage(format!(
            "{} says that a trace records its lengths, but it is no trace: name the trace, or \
             make a spec of it by `assay trace fit`",
            self.name
        )))
    }

    /// The trace that is loaded before this one is run, if it needs any record. Fails if it does
    /// not lie beside this one, or is another one.
    pub fn preload(&self) -> Result<Option<Trace>> {
        if let Some(load) = self.load_of_records() {
            return Ok(Some(load.clone()));
        }
        let hash = self.records().and_then(|spec| spec.dataset.preload.as_ref());
        let (Some(hash), Some(path)) = (hash, &self.path) else {
            return self.refuse_preload();
        };
        let beside = load_path(path);
        let trace = Trace::open(&beside).map_err(|error| {
            let path = path.display();
            usage(format!(
                "{error}\n{path} needs it: `assay trace import` wrote both, so move them together \
                 or import again"
            ))
        })?;
        let found = trace.hash().to_string();
        if found == *hash {
            return Ok(Some(trace));
        }
        let (path, beside) = (path.display(), beside.display());
        Err(usage(format!(
            "{beside} has hash {found}, but {path} was imported beside one with {hash}: import \
             again"
        )))
    }

    /// The trace itself, if it is a load of records that a spec says.
    fn load_of_records(&self) -> Option<&Trace> {
        let is_load = |trace: &&Trace| trace.header().phase == Phase::Load;
        let is_said = self.records().is_some_and(|spec| !spec.dataset.is_recorded());
        self.trace.as_ref().filter(is_load).filter(|_| is_said)
    }

    /// Refuses to load a part of the records that its spec says: the store would be noted as whole.
    /// Fails if it is the trace of a load of fewer records, or more, than `records`.
    pub fn require_whole_load(&self, records: Option<u64>) -> Result<()> {
        match (self.load_of_records().map(Trace::end), records) {
            (Some(written), Some(records)) if written != records => Err(usage(format!(
                "{} writes {written} of the {records} records that its spec says: make it without \
                 --operations",
                self.name
            ))),
            _ => Ok(()),
        }
    }

    /// Refuses to run the trace of a load: its operations have the values of a load.
    pub fn require_run(&self) -> Result<()> {
        match self.load_of_records() {
            Some(_) => Err(usage(format!(
                "{} is the trace of a load: use `assay load`; `assay trace gen` without \
                 --load makes that of a run",
                self.name
            ))),
            None => Ok(()),
        }
    }

    /// The trace of queries that is loaded before this one, if there is one next to it.
    fn script_beside(&self, trace: &Trace) -> Result<Option<Trace>> {
        let Some(path) = &self.path else { return Ok(None) };
        let beside = load_path(path);
        if !beside.is_file() {
            return Ok(None);
        }
        let load = Trace::open(&beside).map_err(as_usage)?;
        let texts = |trace: &Trace| {
            let script = trace.header().script.as_ref();
            script.map(|script| (script.ddl.clone(), script.queries.clone()))
        };
        if texts(&load) == texts(trace) {
            return Ok(Some(load));
        }
        Err(usage(format!(
            "{} does not have the same schema with the same queries as {}: import both again, or \
             take it away",
            beside.display(),
            path.display()
        )))
    }

    /// Whether a load makes the relations alone: a trace of queries came without another one that
    /// is to be loaded before it. Fails if what lies beside it is no such trace.
    pub fn loads_no_row(&self) -> Result<bool> {
        let (WorkloadSource::Trace, Some(trace)) = (&self.requested, &self.trace) else {
            return Ok(false);
        };
        Ok(trace.header().phase != Phase::Load && self.script_beside(trace)?.is_none())
    }

    /// The load trace has the name of the trace that needs it.
    fn refuse_preload(&self) -> Result<Option<Trace>> {
        let is_recorded = self.records().is_some_and(|spec| spec.dataset.is_recorded());
        match (&self.trace, &self.path) {
            (Some(trace), Some(path)) if is_recorded && trace.header().phase == Phase::Load => {
                Err(usage(format!(
                    "{} is the data for the trace next to it: use `assay load` with that trace",
                    path.display()
                )))
            }
            _ => Ok(None),
        }
    }

    fn from_builtin(text: &str, changes: &Changes) -> Result<Workload> {
        let text = of_ycsb(text).map_or(text, |entry| entry.name);
        let looks_like_path = text.contains(['/', '\\', '.']);
        if looks_like_path {
            return Err(usage(format!("there is no file {text}")));
        }
        let entry = builtin::find(text)
            .map_err(|error| usage(format!("there is no file {text}, and {error}")))?;
        let mut workload = match entry.form {
            SpecFormat::Toml => {
                let (text, settings) = section::cut(entry.text, RUN);
                let requested = WorkloadSource::from_toml(&text, entry.name)?;
                Workload { settings, ..Workload::plain(entry.name, requested) }
            }
            SpecFormat::Properties => {
                let properties =
                    Properties::parse(entry.text.as_bytes(), entry.name).map_err(as_usage)?;
                Workload::from_properties(entry.name, properties, changes)?
            }
        };
        if let Room::Ycsb(operations) = &mut workload.room {
            // The sizes of the built-in workloads are only examples.
            *operations = None;
        }
        workload.entry = Some(entry);
        Ok(workload)
    }

    fn from_file(path: &Path, changes: &Changes) -> Result<Workload> {
        let cannot_read =
            |error: std::io::Error| usage(format!("cannot read {}: {error}", path.display()));
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        // A trace may be larger than memory.
        let mut start = Vec::new();
        let mut file = File::open(path).map_err(cannot_read)?.take(PARQUET.len() as u64);
        file.read_to_end(&mut start).map_err(cannot_read)?;
        if start == PARQUET {
            return Workload::from_trace(path, &name);
        }
        let bytes = std::fs::read(path).map_err(cannot_read)?;
        if bytes.trim_ascii().is_empty() {
            return Err(usage(format!("{} is empty: it has no operations", path.display())));
        }
        let origin = path.to_string_lossy();
        if path.extension().is_some_and(|ending| ending == "toml") {
            let text = String::from_utf8(bytes)
                .map_err(|_| usage(format!("{origin} is no TOML: it is not UTF-8")))?;
            let (text, hallmark) = section::cut(&text, HALLMARK);
            let (text, settings) = section::cut(&text, RUN);
            let requested = WorkloadSource::from_toml(&text, &origin)?;
            return Ok(Workload { hallmark, settings, ..Workload::plain(&name, requested) });
        }
        let properties = Properties::parse(&bytes, &origin).map_err(as_usage)?;
        Workload::from_properties(&name, properties, changes)
    }

    fn from_trace(path: &Path, name: &str) -> Result<Workload> {
        let trace = Trace::open(path).map_err(as_usage)?;
        if let Some(Part { index, of }) = trace.header().part {
            return Err(usage(format!(
                "{} is part {index} of {of}, the share of one machine of several: name the whole \
                 trace",
                path.display()
            )));
        }
        let origin = format!("{} (its spec)", path.display());
        let read = || Spec::from_toml(&trace.header().spec, &origin, &no_files);
        let requested = match trace.header().script {
            Some(_) => specified(trace.header()).unwrap_or(WorkloadSource::Trace),
            None => WorkloadSource::Records(Box::new(read().map_err(as_usage)?)),
        };
        let path = Some(path.to_owned());
        Ok(Workload { trace: Some(trace), path, ..Workload::plain(name, requested) })
    }

    fn from_properties(
        name: &str,
        mut properties: Properties,
        changes: &Changes,
    ) -> Result<Workload> {
        for file in &changes.files {
            properties.extend(read_properties(file)?);
        }
        for property in &changes.properties {
            let (key, value) = split(property, "-p")?;
            properties.set(key, value, "command line");
        }
        let reading = ycsb::read(&properties, Strictness::Native, &file_text).map_err(as_usage)?;
        for warning in &reading.warnings {
            eprintln!("warning: {warning}");
        }
        for (property, _) in properties.iter().filter(|(name, _)| ycsb::is_for_client(name)) {
            eprintln!("warning: {}", of_client(property));
        }
        Ok(Workload {
            client: Some(reading.options),
            room: Room::Ycsb(reading.operation_count),
            binding: reading.binding,
            ..Workload::plain(name, WorkloadSource::Records(Box::new(reading.spec)))
        })
    }

    /// A workload that is nothing but its spec.
    pub fn plain(name: &str, requested: WorkloadSource) -> Workload {
        let name = name.to_owned();
        let (hallmark, settings) = (toml::Table::new(), toml::Table::new());
        let (trace, path, client, entry) = (None, None, None, None);
        let binding = BTreeMap::new();
        let room = Room::Spec;
        Workload { name, requested, trace, path, client, room, binding, entry, hallmark, settings }
    }

    fn apply(&mut self, changes: &Changes) -> Result<()> {
        let has_properties = !changes.properties.is_empty() || !changes.files.is_empty();
        if self.client.is_none() && has_properties {
            return Err(usage(format!(
                "{} is not made of YCSB properties: change it with --set",
                self.name
            )));
        }
        let has_sets = !changes.sets.is_empty() || changes.records.is_some();
        if self.trace.is_some() && has_sets {
            return Err(usage("a trace is run as it is: --set and --records cannot change it"));
        }
        if !changes.sets.is_empty() {
            self.change(&changes.sets)?;
        }
        if let Some(records) = changes.records {
            let set = format!("dataset.records={records}");
            if !matches!(self.requested, WorkloadSource::Records(_)) {
                return Err(usage(format!(
                    "{} has rows of many relations: --records cannot say how many; \
                     `assay workloads show {}` names its sizes for --set",
                    self.name, self.name
                )));
            }
            self.requested = self.requested.changed("--records", &[set])?;
        }
        Ok(())
    }

    fn change(&mut self, sets: &[String]) -> Result<()> {
        if let (Room::Ycsb(_), Some(spec)) = (self.room, self.records_mut()) {
            // It is derived after the changes, unless one of them sets it.
            spec.keys.expected_inserts = None;
        }
        // Several are checked together: each may need the others.
        let flag = match sets {
            [set] => format!("--set {set}"),
            _ => "--set".to_owned(),
        };
        self.requested = self.requested.changed(&flag, sets)?;
        let Some(spec) = self.records() else { return Ok(()) };
        let count = spec.operations.count;
        let is_counted = sets.iter().any(|set| set.starts_with("operations.count"));
        self.room = match (self.room, spec.keys.expected_inserts) {
            (Room::Ycsb(_), None) if is_counted => Room::Ycsb(count),
            (Room::Ycsb(own), None) => Room::Ycsb(own),
            _ => Room::Spec,
        };
        self.make_room(count)
    }

    /// Sets how many operations are issued, or that another bound than their number ends the run.
    /// A trace ends by itself: its spec stays as its header has it, and agents compare it.
    pub fn set_operations(&mut self, operations: Option<u64>) -> Result<()> {
        if self.trace.is_some() {
            return Ok(());
        }
        if let Some(spec) = self.records_mut() {
            spec.operations.count = operations;
        }
        self.make_room(operations)
    }

    /// Makes the room that YCSB makes for the inserts of so many operations, or of as many as its
    /// properties say.
    fn make_room(&mut self, operations: Option<u64>) -> Result<()> {
        if let (Room::Ycsb(own), Some(spec)) = (self.room, self.records_mut()) {
            ycsb::make_room(spec, operations.or(own));
            spec.check().map_err(as_usage)?;
        }
        Ok(())
    }

    /// The plan of one phase. Values are seeded by the data set that is in the store, if it says.
    pub fn plan(&self, seed: Seed, phase: PlanPhase) -> Result<Compiled> {
        match &self.requested {
            WorkloadSource::Records(spec) => {
                Ok(Compiled::Records(Box::new(Plan::new(spec, seed, phase).map_err(as_usage)?)))
            }
            WorkloadSource::Script(spec) => {
                Compiled::script(ScriptPlan::new(spec, seed, phase).map_err(as_usage)?)
            }
            WorkloadSource::Trace => {
                let trace = self.trace.as_ref().context("a trace of queries is replayed")?;
                let beside = match phase {
                    PlanPhase::Load => self.script_beside(trace)?,
                    PlanPhase::Run => None,
                };
                let trace = beside.as_ref().unwrap_or(trace);
                Compiled::replay(trace)?.context("the trace has queries")
            }
        }
    }

    /// What the store must hold for it, if the run draws from `seed`; as its plan says, which does
    /// not have to be compiled for that.
    pub fn dataset(&self, seed: Seed) -> Loaded {
        match &self.requested {
            WorkloadSource::Records(spec) => Loaded::Records(Box::new(spec.dataset(seed))),
            WorkloadSource::Script(spec) => Loaded::Script(spec.dataset(seed)),
            WorkloadSource::Trace => Loaded::of_trace(),
        }
    }

    /// The specification of records by key; `None` for a workload of queries.
    pub fn records(&self) -> Option<&Spec> {
        match &self.requested {
            WorkloadSource::Records(spec) => Some(spec),
            WorkloadSource::Script(_) | WorkloadSource::Trace => None,
        }
    }

    /// The workload of queries that reads everything once more when its run is over, if it is
    /// one, and how many reads that are.
    pub fn final_reads(&self) -> Option<(ScriptSpec, u64)> {
        let WorkloadSource::Script(spec) = &self.requested else { return None };
        let reads = script::final_reads(spec)?.len()?;
        Some((spec.clone(), reads))
    }

    /// The specification of FMKe, if it is that.
    pub fn fmke_spec(&self) -> Option<&FmkeSpec> {
        match &self.requested {
            WorkloadSource::Script(ScriptSpec::Fmke(spec)) => Some(spec),
            _ => None,
        }
    }

    /// The specification of FMKe, if it is that.
    pub fn fmke_mut(&mut self) -> Option<&mut FmkeSpec> {
        match &mut self.requested {
            WorkloadSource::Script(ScriptSpec::Fmke(spec)) => Some(spec),
            _ => None,
        }
    }

    /// The specification of records by key, to be changed; `None` for a workload of queries.
    pub fn records_mut(&mut self) -> Option<&mut Spec> {
        match &mut self.requested {
            WorkloadSource::Records(spec) => Some(spec),
            WorkloadSource::Script(_) | WorkloadSource::Trace => None,
        }
    }

    /// The kinds of record operation of a phase; none if it has queries.
    pub fn kinds_used(&self, phase: PlanPhase) -> Vec<Kind> {
        match &self.requested {
            WorkloadSource::Records(spec) => spec.kinds_used(phase),
            WorkloadSource::Script(_) | WorkloadSource::Trace => Vec::new(),
        }
    }

    /// Takes the seed of the values from what the store says was loaded, unless the spec has one.
    /// Whether it did: then a plan that was compiled before is not its plan any more.
    pub fn take_value_seed(&mut self, loaded: &Loaded) -> bool {
        match (&mut self.requested, loaded) {
            (WorkloadSource::Records(spec), Loaded::Records(loaded)) => {
                let seed = loaded.seed.as_deref().and_then(|text| text.parse().ok());
                let before = spec.dataset.seed;
                spec.dataset.seed = before.or(seed);
                spec.dataset.seed != before
            }
            (WorkloadSource::Script(spec), Loaded::Script(loaded)) => spec.take_seed(loaded),
            _ => false,
        }
    }
}

/// Reads a properties file.
pub fn read_properties(file: &str) -> Result<Properties> {
    if let Some(entry) = of_ycsb(file) {
        return Properties::parse(entry.text.as_bytes(), file).map_err(as_usage);
    }
    let bytes =
        std::fs::read(file).map_err(|error| usage(format!("cannot read {file}: {error}")))?;
    Properties::parse(&bytes, file).map_err(as_usage)
}

/// The built-in workload for YCSB's file `workloada` to `workloadf`, if there is no such file here;
/// a message says so.
fn of_ycsb(file: &str) -> Option<&'static builtin::BuiltinWorkload> {
    let letter = file.strip_prefix("workloads/").unwrap_or(file).strip_prefix("workload")?;
    if Path::new(file).exists() {
        return None;
    }
    let entry = builtin::find(&format!("ycsb-{letter}")).ok()?;
    let name = entry.name;
    eprintln!(
        "there is no file {file}: this is {name} of the built-in workloads, YCSB's workload of \
         that name"
    );
    Some(entry)
}

/// Splits `key=value`.
pub fn split<'a>(text: &'a str, flag: &str) -> Result<(&'a str, &'a str)> {
    text.split_once('=').ok_or_else(|| usage(format!("{flag} {text}: write it as key=value")))
}

/// The specification behind a trace of queries, which says what a load writes before it; `None` if
/// it came from elsewhere or has other query texts than this version.
fn specified(header: &Header) -> Option<WorkloadSource> {
    let script = header.script.as_ref().filter(|_| ScriptSpec::is_script(&header.spec))?;
    let spec = ScriptSpec::from_toml(&header.spec, "trace").ok()?;
    let phase = match header.phase {
        Phase::Load => PlanPhase::Load,
        Phase::WarmUp | Phase::Measure | Phase::Final => PlanPhase::Run,
    };
    let plan = ScriptPlan::new(&spec, header.seed, phase).ok()?;
    let is_same = plan.schema == script.ddl && plan.queries == script.queries;
    is_same.then_some(WorkloadSource::Script(spec))
}

impl WorkloadSource {
    /// Reads TOML `text`, which comes from `origin`.
    fn from_toml(text: &str, origin: &str) -> Result<WorkloadSource> {
        WorkloadSource::parse(text, origin).map_err(as_usage)
    }

    fn parse(text: &str, origin: &str) -> Result<WorkloadSource, SpecError> {
        match ScriptSpec::is_script(text) {
            true => ScriptSpec::from_toml(text, origin).map(WorkloadSource::Script),
            false => Spec::from_toml(text, origin, &file_text)
                .map(|spec| WorkloadSource::Records(Box::new(spec))),
        }
    }

    /// The same with some keys replaced as `flag` says; checked as a file would be.
    fn changed(&self, flag: &str, sets: &[String]) -> Result<WorkloadSource> {
        let text = match self {
            WorkloadSource::Records(spec) => spec.to_toml(),
            WorkloadSource::Script(spec) => spec.to_toml(),
            WorkloadSource::Trace => return Err(usage("a trace is run as it is")),
        };
        let text = replaced(&text, sets)?;
        WorkloadSource::parse(&text, flag).map_err(|mut error| {
            // Lines of this text would name nothing that the user has written.
            error.place_mut().line = None;
            as_usage(error)
        })
    }
}

/// TOML `text` with some keys replaced.
fn replaced(text: &str, sets: &[String]) -> Result<String> {
    let mut document: toml::Table =
        text.parse().map_err(|error| usage(format!("the spec cannot be changed: {error}")))?;
    for set in sets {
        let (path, text) = split(set, "--set")?;
        let value =
            text.parse::<toml::Value>().unwrap_or_else(|_| toml::Value::String(text.to_owned()));
        let Some((section, key)) = path.split_once('.') else {
            // A key without a section is one that the document has, or a section's name forgotten.
            if document.get(path).is_none_or(toml::Value::is_table) {
                return Err(usage(format!("--set {set}: name a key as section.key")));
            }
            document.insert(path.to_owned(), value);
            continue;
        };
        let table = document
            .entry(section)
            .or_insert_with(|| toml::Value::Table(toml::Table::new()))
            .as_table_mut()
            .ok_or_else(|| usage(format!("--set {set}: {section} is no section")))?;
        table.insert(key.to_owned(), value);
    }
    Ok(document.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_workload_wants_in_the_store_is_what_its_plan_says() {
        for name in ["ycsb-a", "ycsb-e", "tpcc", "tpcc-benchfoundry", "consbench"] {
            let mut workload = Workload::read(name, &Changes::default()).unwrap();
            let planned = |workload: &Workload| {
                let plan = workload.plan(Seed(7), PlanPhase::Run).unwrap();
                assert_eq!(workload.dataset(Seed(7)), plan.loaded(), "{name}");
                plan.loaded()
            };
            let expected = planned(&workload);
            let there = workload.plan(Seed(8), PlanPhase::Load).unwrap().loaded();
            let has_seed = expected != there;
            // A seed is taken once, by workloads that have one.
            assert_eq!(workload.take_value_seed(&there), has_seed, "{name}");
            assert_eq!(planned(&workload), there, "{name}");
            assert!(!workload.take_value_seed(&expected), "{name}");
        }
    }
}

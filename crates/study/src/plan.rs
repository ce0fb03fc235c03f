//! Plan of a study: its cells in the order in which they run.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use assay_analysis::matrix::{OperationFilter, Setup};
use assay_lab::{Network, Order, recipes};
use assay_model::{Kind, Nanos, Seed, quantity};
use assay_run::text;
use assay_workload::Spec;

use crate::commands::{CellCommand, CellCommands, Target};
use crate::error::{StudyError, invalid};
use crate::file::{
    DECIDED, Refill, StudyFile, StudyLoadSection, StudyStoreSection, WorkloadSection, flag,
    is_of_fill_too, name_of_spec, names_a_file,
};
use crate::fingerprint::{content, fingerprint, hash};
use crate::java;
use crate::program::Program;

/// The stream of the order.
const ORDER: u64 = 0x53_54_55;

/// The stream of the seeds of arrivals.
const ARRIVALS: u64 = 0x53_54_56;

/// Stores that end with the client process.
const VOLATILE: [&str; 3] = ["memory", "null", "sim"];

/// More cells than this are a slip of the finger.
const CELLS_MAX: u64 = 100_000;

/// The command-line options of a study.
#[derive(Clone, Debug, PartialEq)]
pub struct StudyRequest {
    /// Operations and durations as a share of what the file says.
    pub scale: f64,
    /// The seed, instead of the file's.
    pub seed: Option<u64>,
    /// Repetitions, instead of the file's.
    pub repetitions: Option<u64>,
    /// Only these stores.
    pub stores: Vec<String>,
    /// Only these workloads.
    pub workloads: Vec<String>,
}

/// A study, compiled.
#[derive(Clone, Debug)]
pub struct StudyPlan {
    /// Its file.
    pub file: StudyFile,
    /// Its name.
    pub name: String,
    /// The stores that are wanted.
    pub stores: Vec<StudyStoreSection>,
    /// The workloads that are wanted.
    pub workloads: Vec<PlannedWorkload>,
    /// The loads.
    pub loads: Vec<PlannedLoad>,
    /// How often each cell is run.
    pub repetitions: u32,
    /// The seed.
    pub seed: u64,
    /// Operations and durations as a share of what the file says.
    pub scale: f64,
    /// The cells in the order in which they run; those of a shift follow each other.
    pub cells: Vec<PlannedCell>,
    /// What was left out, with the reason.
    pub skipped: Vec<String>,
}

/// A workload of the study.
#[derive(Clone, Debug)]
pub struct PlannedWorkload {
    /// Its name in the study.
    pub name: String,
    /// As `assay run` takes it.
    pub spec: String,
    /// As the study file names it.
    pub named: String,
    /// Changes of keys.
    pub sets: Vec<String>,
    /// Records of its data set, if given.
    pub records: Option<u64>,
    /// Operations of its runs, if given.
    pub operations: Option<u64>,
    /// Whether a run changes which records there are.
    pub changes_records: bool,
    /// Whether it does so by records that it inserts, which can be undone.
    pub inserts_only: bool,
    /// Its data set, as text that another one does not have.
    pub dataset: String,
    /// Bytes of its data set, roughly; 0 if it is not known.
    pub bytes: u64,
    /// A fingerprint of its text.
    pub hash: String,
    /// Which share of its operations is of which sort.
    pub mix: Vec<(OperationFilter, f64)>,
}

/// A load.
#[derive(Clone, Debug, PartialEq)]
pub struct PlannedLoad {
    /// Its name in the study.
    pub name: String,
    /// In words.
    pub text: String,
    /// The clients of a closed loop.
    pub clients: Option<u32>,
    /// The rate of an open one.
    pub rate: Option<String>,
    /// How long.
    pub duration: Option<Nanos>,
    /// Issued before that.
    pub warm_up: Option<Nanos>,
    /// Operations, if the load says so.
    pub operations: Option<u64>,
}

/// One run of the study.
#[derive(Clone, Debug)]
pub struct PlannedCell {
    /// Its name, which is that of its directory.
    pub id: String,
    /// What it has in common with its repetitions.
    pub setup: Setup,
    /// Which of them it is, from 1.
    pub repetition: u32,
    /// The cluster that it shares with others of the same shift: its name.
    pub shift: String,
    /// The load.
    pub workload_kind: CellCommands,
    /// All its options, by name.
    pub settings: BTreeMap<String, String>,
}

impl StudyPlan {
    /// Compiles the study in `path`.
    ///
    /// # Errors
    /// If a store, a workload or a load is invalid, or no cell is left to run.
    pub fn new(
        file: StudyFile,
        path: &Path,
        study_request: &StudyRequest,
        program: &dyn Program,
    ) -> Result<StudyPlan, StudyError> {
        let wrong = |reason: String| invalid(format!("{}: {reason}", path.display()));
        let name = file.name_of(path);
        check_name("the study", &name).map_err(wrong)?;
        let stores = expected(&file.stores, &study_request.stores, |store| &store.name)
            .map_err(|reason| invalid(format!("--stores: {reason}")))?;
        for store in &stores {
            check_name("store", &store.name).map_err(wrong)?;
            check_store(store, &file, program)?;
        }
        let workloads = workloads(&file, path, program)?;
        let loads = loads(&file, study_request.scale).map_err(wrong)?;
        require_distinct(&file, &workloads, &loads).map_err(wrong)?;
        require_known_skips(&file, &workloads, &loads).map_err(wrong)?;
        let workloads = expected(&workloads, &study_request.workloads, |workload| &workload.name)
            .map_err(|reason| invalid(format!("--workloads: {reason}")))?;
        let repetitions = study_request.repetitions.unwrap_or(file.repetitions);
        let repetitions = u32::try_from(repetitions).unwrap_or(u32::MAX);
        let seed = study_request.seed.unwrap_or(file.seed);
        let mut plan = StudyPlan {
            name,
            stores,
            workloads,
            loads,
            repetitions,
            seed,
            scale: study_request.scale,
            cells: Vec::new(),
            skipped: Vec::new(),
            file,
        };
        plan.expand(program)?;
        if plan.cells.is_empty() {
            return Err(wrong("every cell is skipped: nothing is left to run".to_owned()));
        }
        plan.check_commands(program).map_err(wrong)?;
        Ok(plan)
    }

    /// Notes what the data of the stores is on that are started here: disks decide figures.
    pub fn note_labs(&mut self, place: &str) {
        for cell in self.cells.iter_mut().filter(|cell| cell.workload_kind.target.is_up()) {
            cell.settings.insert("labs on".to_owned(), place.to_owned());
        }
    }

    /// What no command takes must not be found out cell by cell.
    fn check_commands(&self, program: &dyn Program) -> Result<(), String> {
        let mut observed = BTreeSet::new();
        for cell in &self.cells {
            if !observed.insert((cell.setup.store, cell.setup.load)) {
                continue;
            }
            for send in cell.workload_kind.fill.iter().chain([&cell.workload_kind.run]) {
                let describe = |error| format!("{}, `assay {}`: {error}", cell.id, send.verb);
                program.check_command(send).map_err(describe)?;
            }
        }
        Ok(())
    }

    /// Every cell, in order.
    fn expand(&mut self, program: &dyn Program) -> Result<(), StudyError> {
        let (left_out, requested): (Vec<Setup>, Vec<Setup>) =
            self.setups().into_iter().partition(|setup| self.skip(*setup).is_some());
        let number = (requested.len() as u64).saturating_mul(u64::from(self.repetitions));
        if number > CELLS_MAX {
            let name = &self.name;
            return Err(invalid(format!("{name} has {number} cells, more than {CELLS_MAX}")));
        }
        let skipped = left_out.into_iter().filter_map(|setup| {
            let reason = self.skip(setup)?;
            Some(format!("{} is left out: {reason}", self.place(setup)))
        });
        let skipped: Vec<String> = skipped.collect();
        // What is in their files is read once, not for each cell.
        let of_java = self
            .stores
            .iter()
            .map(|store| java::settings(store.url.as_deref().unwrap_or_default(), program));
        let of_java: Vec<Vec<(String, String)>> = of_java.collect::<Result<_, _>>()?;
        let mut cells = Vec::new();
        for setup in requested {
            for repetition in 1..=self.repetitions {
                let mut cell = self.cell(setup, repetition, program)?;
                cell.settings.extend(of_java[setup.store].iter().cloned());
                cells.push(cell);
            }
        }
        let seed = Seed(self.seed);
        // Repetition after repetition, so that none of the stores has all its runs together.
        cells.sort_by_cached_key(|cell: &PlannedCell| {
            let shift = format!("{} {}", cell.repetition, cell.shift);
            let draw = |text: &str| seed.draws(ORDER, fingerprint(text.as_bytes())).bits();
            (cell.repetition, draw(&shift), shift, draw(&cell.id))
        });
        self.cells = cells;
        self.skipped = skipped;
        Ok(())
    }

    /// Every store on each of its numbers of nodes with each workload in each way.
    fn setups(&self) -> Vec<Setup> {
        let stores = self.stores.iter().enumerate();
        let nodes = stores.flat_map(|(store, section)| {
            nodes_of(section, &self.file).into_iter().map(move |nodes| (store, nodes))
        });
        let requested = nodes.flat_map(|(store, nodes)| {
            let workloads = 0..self.workloads.len();
            workloads.map(move |workload| (store, nodes, workload))
        });
        let loads = |(store, nodes, workload)| {
            let loads = 0..self.loads.len();
            loads.map(move |load| Setup { store, workload, nodes, load })
        };
        requested.flat_map(loads).collect()
    }

    fn skip(&self, setup: Setup) -> Option<String> {
        let fits = |expected: &Option<String>, name: &str| {
            expected.as_ref().is_none_or(|expected| expected == name)
        };
        let workload = &self.workloads[setup.workload].name;
        let load = &self.loads[setup.load].name;
        let nodes = |expected: Option<u64>| {
            expected.is_none_or(|expected| setup.nodes.map(|nodes| nodes as u64) == Some(expected))
        };
        let skip = self.stores[setup.store].skip.iter().find(|skip| {
            fits(&skip.workload, workload) && fits(&skip.load, load) && nodes(skip.nodes)
        });
        skip.map(|skip| skip.reason.clone())
    }

    /// `etcd-3n-ycsb-a-closed-4`.
    pub fn place(&self, setup: Setup) -> String {
        let (workload, load) = (&self.workloads[setup.workload], &self.loads[setup.load]);
        let cluster = cluster(&self.stores[setup.store], setup.nodes);
        format!("{cluster}-{}-{}", workload.name, load.name)
    }

    fn cell(
        &self,
        setup: Setup,
        repetition: u32,
        program: &dyn Program,
    ) -> Result<PlannedCell, StudyError> {
        let command_line = program.command_line();
        let id = format!("{}-r{repetition}", self.place(setup));
        let section = &self.stores[setup.store];
        let shift = match &section.up {
            Some(_) => cluster(section, setup.nodes),
            // Stores that need not be started can run in any order.
            None => id.clone(),
        };
        let workload_kind = self.workload_kind(setup, repetition, program)?;
        let mut settings = workload_kind.settings(command_line);
        if workload_kind.fill.is_some() {
            settings.insert("fill when".to_owned(), self.file.fill.when.name().to_owned());
        }
        for (name, value) in &workload_kind.run.flags {
            if names_a_file(command_line, name) && Path::new(value).is_file() {
                settings.insert(format!("{name}'s content"), hash(&content(Path::new(value))?));
            }
        }
        Ok(PlannedCell { id, setup, repetition, shift, workload_kind, settings })
    }

    fn workload_kind(
        &self,
        setup: Setup,
        repetition: u32,
        program: &dyn Program,
    ) -> Result<CellCommands, StudyError> {
        let command_line = program.command_line();
        let store = &self.stores[setup.store];
        let (workload, load) = (&self.workloads[setup.workload], &self.loads[setup.load]);
        let mut shared: Vec<(String, String)> = Vec::new();
        let mut share = |name: &str, value: String| shared.push((name.to_owned(), value));
        workload.sets.iter().for_each(|set| share("set", set.clone()));
        if let Some(records) = workload.records {
            share("records", records.to_string());
        }
        if let Some(level) = &store.consistency {
            share("consistency", level.clone());
        }
        if let Some(options) = &store.url_options {
            share("url-options", options.clone());
        }
        let mut run = shared.clone();
        let mut add = |name: &str, value: String| run.push((name.to_owned(), value));
        match (load.clients, &load.rate) {
            (Some(clients), _) => add("closed", clients.to_string()),
            (None, Some(rate)) => add("rate", rate.clone()),
            (None, None) => {}
        }
        let time = |time: Nanos| quantity::write_time(time);
        if let Some(warm_up) = load.warm_up {
            add("warm-up", time(warm_up));
        }
        if let Some(duration) = load.duration {
            add("duration", time(duration));
        }
        if let Some(operations) = self.operations(workload, load)? {
            add("operations", operations.to_string());
        }
        let settings = self.file.run.iter().filter(|(name, _)| !store.run.contains_key(*name));
        for (name, value) in settings.chain(&store.run) {
            if let Some(text) = flag(command_line, name, value) {
                add(name, text);
            }
        }
        // Every store that the lab starts can delete; of others this is unknown before they run.
        if self.file.fill.when == Refill::CleanUp && workload.inserts_only && store.up.is_some() {
            add("clean-up-inserts", String::new());
        }
        add("seed", self.seed.to_string());
        let draw = Seed(self.seed).draws(ARRIVALS, u64::from(repetition)).bits();
        add("arrival-seed", (draw & 0xFFFF_FFFF).to_string());
        let mut fill = shared;
        fill.extend(run.iter().filter(|(name, _)| is_of_fill_too(command_line, name)).cloned());
        fill.push(("closed".to_owned(), self.file.fill.closed.to_string()));
        fill.push(("seed".to_owned(), self.seed.to_string()));
        fill.push(("fresh".to_owned(), String::new()));
        let send = |verb, flags| CellCommand { verb, spec: workload.spec.clone(), flags };
        Ok(CellCommands {
            target: target(store, setup.nodes),
            fill: (!is_volatile(store, program)).then(|| send("load", fill)),
            run: send("run", run),
            workload: workload.named.clone(),
            workload_hash: workload.hash.clone(),
        })
    }

    /// How many operations a run issues, if not only its duration ends it.
    fn operations(
        &self,
        workload: &PlannedWorkload,
        load: &PlannedLoad,
    ) -> Result<Option<u64>, StudyError> {
        let said = match load.duration {
            // A rate with a duration has as many as that gives.
            Some(_) => load.operations,
            None => load.operations.or(workload.operations),
        };
        match said {
            Some(operations) => Ok(Some(scaled(operations, self.scale))),
            None if load.duration.is_some() => Ok(None),
            None => Err(invalid(format!(
                "study {}: {} does not say how long {} loads it: give operations, or the load a \
                 duration",
                self.name, workload.name, load.name
            ))),
        }
    }
}

fn scaled(operations: u64, scale: f64) -> u64 {
    ((operations as f64 * scale).round() as u64).max(1)
}

fn target(store: &StudyStoreSection, nodes: Option<usize>) -> Target {
    match (&store.up, &store.url) {
        (Some(recipe), _) => Target::Up {
            recipe: recipe.clone(),
            nodes,
            version: store.version.clone(),
            options: store.option.clone(),
        },
        (None, url) => Target::Url(url.clone().unwrap_or_default()),
    }
}

/// Whether a store ends with the client process.
fn is_volatile(store: &StudyStoreSection, program: &dyn Program) -> bool {
    let scheme = store.url.as_deref().and_then(|url| program.scheme(url));
    store.volatile.unwrap_or(scheme.is_some_and(|scheme| VOLATILE.contains(&scheme)))
}

fn nodes_of(store: &StudyStoreSection, file: &StudyFile) -> Vec<Option<usize>> {
    if store.up.is_none() {
        return vec![None];
    }
    let nodes = store.nodes.as_ref().unwrap_or(&file.nodes);
    match nodes.is_empty() {
        true => vec![None],
        false => nodes.iter().map(|nodes| usize::try_from(*nodes).ok()).collect(),
    }
}

/// # Errors
/// If there is no such store, or it cannot have those nodes, that version or those options.
fn check_store(
    store: &StudyStoreSection,
    file: &StudyFile,
    program: &dyn Program,
) -> Result<(), StudyError> {
    let about = |error: String| invalid(format!("store {}: {error}", store.name));
    let Some(recipe) = &store.up else {
        return program.check_url(store.url.as_deref().unwrap_or_default()).map_err(about);
    };
    let recipe = recipes::find(recipe).map_err(about)?;
    for nodes in nodes_of(store, file) {
        let order = Order {
            recipe,
            nodes,
            version: store.version.clone(),
            network: Network::Loopback,
            disk_mib: None,
            proxy: None,
            peer_proxy: None,
            now: None,
            options: store.option.clone(),
        };
        order.check(&recipe.card()).map_err(|error| about(error.to_string()))?;
    }
    Ok(())
}

/// Those of `all` whose names are `names`, in the order of the file; all if there are none.
fn expected<T: Clone>(
    all: &[T],
    names: &[String],
    name_of: impl Fn(&T) -> &String,
) -> Result<Vec<T>, String> {
    for name in names {
        if !all.iter().any(|one| name_of(one) == name) {
            let known: Vec<&str> = all.iter().map(|one| name_of(one).as_str()).collect();
            return Err(match assay_model::closest(name, known.iter().copied()) {
                Some(near) => format!("there is no {name:?}; did you mean {near}?"),
                None => format!("there is no {name:?}; there are {}", known.join(", ")),
            });
        }
    }
    let is_expected = |one: &&T| names.is_empty() || names.contains(name_of(one));
    Ok(all.iter().filter(is_expected).cloned().collect())
}

/// Names become those of directories, labs and columns.
fn check_name(of: &str, name: &str) -> Result<(), String> {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
    let begins_well = name.starts_with(|first: char| first.is_ascii_alphanumeric());
    if begins_well && name.chars().all(is_plain) && name.len() <= 40 {
        return Ok(());
    }
    Err(format!(
        "the name of {of}, {name:?}, must have at most 40 letters, digits, `-`, `_` or `.`, a \
         letter or digit first"
    ))
}

/// `etcd-3n`: the name of a store's cluster, unlike that of every other one in a study.
fn cluster(store: &StudyStoreSection, nodes: Option<usize>) -> String {
    let nodes = nodes.map_or(String::new(), |nodes| format!("-{nodes}n"));
    format!("{}{nodes}", store.name)
}

/// Refuses a file in which two cells or clusters have one name: the one would be shown as the
/// other. `m-x` with `c` is as well `m` with `x-c`. All of the file counts, not only what is
/// wanted now, since other cells of it may be in the directory already.
fn require_distinct(
    file: &StudyFile,
    workloads: &[PlannedWorkload],
    loads: &[PlannedLoad],
) -> Result<(), String> {
    once("store", file.stores.iter().map(|store| store.name.as_str()))?;
    once("workload", workloads.iter().map(|workload| workload.name.as_str()))?;
    once("load", loads.iter().map(|load| load.name.as_str()))?;
    let nodes = |store: &StudyStoreSection| nodes_of(store, file);
    let clusters: Vec<(String, String)> = file
        .stores
        .iter()
        .flat_map(|store| {
            let parts = format!("store {}", store.name);
            nodes(store).into_iter().map(move |nodes| (cluster(store, nodes), parts.clone()))
        })
        .collect();
    let mut cells = Vec::new();
    for (cluster, parts) in &clusters {
        for workload in workloads {
            for load in loads {
                let (workload, load) = (&workload.name, &load.name);
                let parts = format!("{parts} with workload {workload} and load {load}");
                cells.push((format!("{cluster}-{workload}-{load}"), parts));
            }
        }
    }
    for mut named in [clusters, cells] {
        named.sort_unstable();
        if let Some(pair) = named.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            let [(name, one), (_, other)] = pair else { continue };
            return Err(match one == other {
                true => format!("{one} has the same number of nodes twice: {name}; write it once"),
                false => format!(
                    "{one}, {other}: both would be called {name}; give one of them another name"
                ),
            });
        }
    }
    Ok(())
}

/// Refuses to leave out what is not there: a misspelt name would leave nothing out.
fn require_known_skips(
    file: &StudyFile,
    workloads: &[PlannedWorkload],
    loads: &[PlannedLoad],
) -> Result<(), String> {
    let known = |what: &str, name: Option<&str>, all: Vec<&str>| match name {
        Some(name) if !all.contains(&name) => {
            let near = assay_model::closest(name, all.iter().copied());
            let hint = near.map_or_else(
                || format!("there are {}", all.join(", ")),
                |near| format!("did you mean {near}?"),
            );
            Err(format!("there is no {what} {name:?}; {hint}"))
        }
        _ => Ok(()),
    };
    for store in &file.stores {
        let nodes = nodes_of(store, file);
        for skip in &store.skip {
            let workloads = workloads.iter().map(|workload| workload.name.as_str()).collect();
            let loads = loads.iter().map(|load| load.name.as_str()).collect();
            let is_there = |expected: u64| {
                nodes.iter().any(|nodes| nodes.map(|nodes| nodes as u64) == Some(expected))
            };
            known("workload", skip.workload.as_deref(), workloads)
                .and_then(|()| known("load", skip.load.as_deref(), loads))
                .and_then(|()| match skip.nodes {
                    Some(expected) if !is_there(expected) => {
                        Err(format!("it never runs on {expected} nodes"))
                    }
                    _ => Ok(()),
                })
                .map_err(|reason| format!("store {}, skip: {reason}", store.name))?;
        }
    }
    Ok(())
}

fn once<'a>(of: &str, names: impl Iterator<Item = &'a str>) -> Result<(), String> {
    let mut names: Vec<&str> = names.collect();
    names.sort_unstable();
    match names.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(format!("there are two {of}s {:?}; give one another name", pair[0])),
        None => Ok(()),
    }
}

fn workloads(
    file: &StudyFile,
    path: &Path,
    program: &dyn Program,
) -> Result<Vec<PlannedWorkload>, StudyError> {
    let named = file.workloads.iter().map(|spec| WorkloadSection {
        name: name_of_spec(spec).to_owned(),
        spec: spec.clone(),
        set: Vec::new(),
        records: None,
        operations: None,
    });
    let all = named.chain(file.workload.iter().cloned());
    all.map(|section| workload(section, file, path, program)).collect()
}

fn workload(
    section: WorkloadSection,
    file: &StudyFile,
    path: &Path,
    program: &dyn Program,
) -> Result<PlannedWorkload, StudyError> {
    check_name("workload", &section.name).map_err(invalid)?;
    let published = path.parent().map(|folder| folder.join(&section.spec));
    let spec = match published.filter(|published| published.is_file()) {
        Some(published) => published.display().to_string(),
        None => section.spec.clone(),
    };
    let records = section.records.or(file.records);
    let read = program
        .workload(&spec, &section.set, records, Seed(file.seed))
        .map_err(|error| invalid(format!("workload {}: {error}", section.name)))?;
    if let Some(name) = read.settings.iter().find(|name| DECIDED.contains(&name.as_str())) {
        return Err(invalid(format!(
            "workload {}: {spec} says {name} in its section [run], which the study decides: take a \
             copy of it without that",
            section.name
        )));
    }
    let plain = read.records.as_ref();
    let own = plain.and_then(|spec| spec.operations.count);
    let kinds = &read.kinds;
    let text = plain.map_or_else(|| section.spec.clone(), Spec::to_toml);
    // A file also holds settings, thresholds, a trace's operations.
    let bytes = match Path::new(&spec).is_file() {
        true => content(Path::new(&spec))?,
        false => Vec::new(),
    };
    // A plan that cannot be made must not be found out after hours.
    if let Some(reason) = read.unplannable {
        return Err(invalid(reason));
    }
    let dataset = plain.map_or_else(|| section.spec.clone(), |spec| format!("{:?}", spec.dataset));
    let changes = |kind: &Kind| matches!(kind, Kind::Insert | Kind::Delete);
    Ok(PlannedWorkload {
        name: section.name,
        spec,
        named: section.spec,
        sets: section.set,
        records: plain.and(records),
        operations: section.operations.or(file.operations).or(own),
        changes_records: plain.is_none() || kinds.iter().any(changes),
        inserts_only: plain.is_some_and(|spec| !spec.dataset.is_recorded())
            && kinds.iter().filter(|kind| changes(kind)).eq([&Kind::Insert]),
        hash: hash(&[text.as_bytes(), dataset.as_bytes(), &bytes].concat()),
        dataset,
        bytes: plain.map_or(0, bytes_of),
        mix: plain.map_or_else(Vec::new, mix_of),
    })
}

fn bytes_of(spec: &Spec) -> u64 {
    let dataset = &spec.dataset;
    let row = dataset.fields.saturating_mul(dataset.field_length.max());
    dataset.records.saturating_mul(row)
}

/// Weights as shares of their sum.
fn mix_of(spec: &Spec) -> Vec<(OperationFilter, f64)> {
    let operations = &spec.operations;
    let weights = [
        (OperationFilter::Kind(Kind::Read), operations.read),
        (OperationFilter::Kind(Kind::Update), operations.update),
        (OperationFilter::Kind(Kind::Insert), operations.insert),
        (OperationFilter::Kind(Kind::Scan), operations.scan),
        (OperationFilter::ReadModifyWrite, operations.read_modify_write),
    ];
    let sum: f64 = weights.iter().map(|(_, weight)| weight).sum();
    let shares = weights.into_iter().filter(|(_, weight)| *weight > 0.0);
    shares.map(|(of, weight)| (of, weight / sum)).collect()
}

fn loads(file: &StudyFile, scale: f64) -> Result<Vec<PlannedLoad>, String> {
    let usual = [StudyLoadSection { closed: vec![1], ..StudyLoadSection::default() }];
    let sections = if file.load.is_empty() { &usual[..] } else { &file.load[..] };
    let mut loads = Vec::new();
    for section in sections {
        let time = |text: &Option<String>| {
            let time = text.as_deref().map(text::duration).transpose();
            time.map_err(|error| format!("[[load]]: {error}"))
        };
        let shortened = |time: Nanos| Nanos((time.0 as f64 * scale).round() as u64);
        let duration = time(&section.duration)?.map(shortened);
        let warm_up = time(&section.warm_up)?.map(shortened);
        let load = |name: String, text: String, clients, rate| PlannedLoad {
            name,
            text,
            clients,
            rate,
            duration,
            warm_up,
            operations: section.operations,
        };
        for clients in &section.closed {
            let text = match clients {
                1 => "1 client that waits for its answers".to_owned(),
                many => format!("{many} clients that wait for their answers"),
            };
            loads.push(load(format!("closed-{clients}"), text, Some(*clients), None));
        }
        for rate in section.rate.iter().map(|rate| rate.trim()) {
            text::rate(rate).map_err(|error| format!("[[load]]: {error}"))?;
            let number = rate.trim_end_matches("/s").replace('.', "_");
            let text = format!("{rate} by the clock, whoever waits");
            let name = format!("open-{number}");
            check_name("load", &name)?;
            loads.push(load(name, text, None, Some(rate.to_owned())));
        }
    }
    Ok(loads)
}

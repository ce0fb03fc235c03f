//! YCSB's own command line, verbatim: `assay ycsb load|run BINDING [options]`.

mod arguments;
mod bindings;
mod loaded;
mod result;
mod status;
mod version;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result};
use assay_analysis::DEADLINE;
use assay_analysis::ycsb::Statuses;
use assay_live::port::{self, ControlPort};
use assay_live::progress::Show;
use assay_model::{Nanos, Seed};
use assay_report::ycsb::Form;
use assay_report::{Letters, Style};
use assay_run::{Closed, Extent, Latency, Load, Spin, Think};
use assay_store::Calls;
use assay_workload::PlanPhase;
use assay_workload::spec::ReadFields;
use assay_workload::ycsb::{ClientOptions, Interval, Reading, Strictness, read};
use clap::ArgMatches;

use crate::actions::schedule::ActionSchedule;
use crate::binding;
use crate::exit::{Exit, as_usage, from_open, usage};
use crate::load_config::{LoadConfig, Purpose, usual_blocking_threads, usual_workers};
use crate::note::{Loaded, Note};
use crate::opening::open_store;
use crate::options::Options;
use crate::run_dirs;
use crate::run_plan::RunPlan;
use crate::seed::draw_seed;
use crate::setup::Setup;
use crate::show::{finish, keep_hallmark, put, require_place};
use crate::workload::{Workload, WorkloadSource, file_text};
use arguments::Arguments;
use assay_results::AnalyzedRun;
use result::{OutputOptions, measurement_type};
use version::Version;

/// The options.
struct Request {
    arguments: Arguments,
    reading: Reading,
    version: Version,
    /// How many records a load writes beyond those that `recordcount` leaves behind `insertstart`.
    surplus: u64,
}

/// `assay ycsb load|run BINDING …`.
pub fn ycsb(matches: &ArgMatches) -> Result<Exit> {
    let words: Vec<String> =
        matches.get_many::<String>("arguments").into_iter().flatten().cloned().collect();
    let Some(arguments) = Arguments::parse(&words)? else {
        return finish(&arguments::usage_text());
    };
    let request = Request::new(arguments)?;
    refuse_what_we_do_not_do(&request.reading.options)?;
    // What the result cannot be written to must not be found out after the run.
    let mut output =
        OutputOptions::new(&request.reading.options, request.version, request.statuses())?;
    for (property, file) in request.outputs() {
        require_place(property, Path::new(file))?;
    }
    let displayed: Vec<String> = words.iter().map(|word| binding::redacted(word)).collect();
    eprintln!("Command line: {}", displayed.join(" "));
    eprintln!("YCSB Client {} (assay {})\n", request.version.name(), env!("CARGO_PKG_VERSION"));
    eprintln!("Loading workload...");
    let mut setup = setup(&request)?;
    if request.reading.spec.dataset.integrity && request.version.announces_integrity() {
        put("Data integrity is enabled.\n", None)?;
    }
    eprintln!("Starting test.");
    let finished = execute(&mut setup, &request)?;
    let (analyzed, measures) = output.analyze(&finished.dir, finished.manifest)?;
    let is_kept = keep_hallmark(&finished.dir, &analyzed);
    output
        .print(&analyzed, &measures)
        .with_context(|| format!("all is kept in {}", finished.dir.display()))?;
    for note in &analyzed.manifest.notes {
        eprintln!("note: {note}");
    }
    is_kept?;
    match finished.exit {
        Exit::Fine => Ok(verdict(&analyzed)),
        other => Ok(other),
    }
}

impl Request {
    fn new(arguments: Arguments) -> Result<Request> {
        let properties = &arguments.properties;
        let mut reading = read(properties, Strictness::Ycsb, &file_text).map_err(as_usage)?;
        for warning in &reading.warnings {
            eprintln!("warning: {warning}");
        }
        let version = Version::from(reading.binding.get(version::PROPERTY).map(String::as_str))?;
        if properties.get("hdrhistogram.percentiles").is_none() {
            reading.options.percentiles = version.percentiles();
        }
        // Without insertcount YCSB loads as many records as recordcount says, wherever it begins;
        // its run goes by the records that are left behind insertstart.
        let dataset = &mut reading.spec.dataset;
        let has_surplus = arguments.is_load && dataset.count.is_none();
        let surplus = if has_surplus { dataset.first } else { 0 };
        dataset.records += surplus;
        Ok(Request { arguments, reading, version, surplus })
    }

    fn options(&self) -> &ClientOptions {
        &self.reading.options
    }

    fn statuses(&self) -> Statuses {
        let spec = &self.reading.spec;
        let names_fields = spec.dataset.integrity || spec.operations.read_fields != ReadFields::All;
        bindings::statuses(&self.arguments.binding, names_fields)
    }

    /// The output files of the result, each with the property that names it.
    fn outputs(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let options = self.options();
        let has_raw = measurement_type(options).has(Form::Raw);
        let raw = options.raw_output_file.as_deref().filter(|file| has_raw && !file.is_empty());
        let files =
            [("exportfile", options.export_file.as_deref()), ("measurement.raw.output_file", raw)];
        files.into_iter().filter_map(|(property, file)| file.map(|file| (property, file)))
    }
}

/// The directory of the runs, and the notes of loaded stores.
fn runs_dir() -> PathBuf {
    std::env::var_os("ASSAY_RUNS_DIR").map_or_else(|| PathBuf::from("runs"), PathBuf::from)
}

/// YCSB exits with 0 whatever happens. We do not: a run in which nothing went through has failed.
fn verdict(analyzed: &AnalyzedRun) -> Exit {
    let counts = &analyzed.summary.overall.counts;
    match counts.done {
        0 if counts.offered > 0 => Exit::Unreachable,
        _ => Exit::Fine,
    }
}

fn refuse_what_we_do_not_do(options: &ClientOptions) -> Result<()> {
    if options.insertion_retry_limit > 0 {
        return Err(usage(
            "core_workload_insertion_retry_limit: we never retry, because a retried insert is \
             measured as one that took long; leave it out or set it to 0",
        ));
    }
    if options.hdr_file_output {
        eprintln!(
            "warning: hdrhistogram.fileoutput: each file has one interval, that of the whole run"
        );
    }
    if options.track_jvm {
        eprintln!("warning: measurement.trackjvm: there is no JVM here to track");
    }
    Ok(())
}

fn setup(request: &Request) -> Result<Setup> {
    let Request { arguments, reading, .. } = request;
    let url = url(arguments, &reading.binding)?;
    let plan = run_plan(request)?;
    let store = open_store(&url, plan.seed)?;
    Setup::with(plan, store, &url, port(&reading.binding)?)
}

fn run_plan(request: &Request) -> Result<RunPlan> {
    let Request { arguments, reading, .. } = request;
    let seed = match reading.binding.get("assay.seed") {
        Some(text) => {
            Seed(text.parse().map_err(|_| usage(format!("assay.seed={text} is no whole number")))?)
        }
        None => draw_seed()?,
    };
    let name = format!("ycsb-{}", arguments.workload_name());
    let mut workload =
        Workload::plain(&name, WorkloadSource::Records(Box::new(reading.spec.clone())));
    workload.client = Some(reading.options.clone());
    Ok(RunPlan {
        purpose: if arguments.is_load { Purpose::Load } else { Purpose::Run },
        options: Options::default(),
        workload,
        seed,
        arrivals: seed,
        dir: run_dirs::fresh(&runs_dir(), &name, seed.0),
        show: Show::Nothing,
        style: Style { colour: false, width: 0, letters: Letters::Ascii },
        latency: match reading.options.interval {
            Interval::Intended => Latency::Response,
            Interval::Op => Latency::Service,
            Interval::Both => Latency::Both,
        },
        command: command_line(seed, &reading.binding),
        thresholds: BTreeMap::new(),
        schedule: ActionSchedule::default(),
    })
}

/// The control port that `assay.port` requests; `assay.port_any=true` is its `--port-any`.
fn port(properties: &BTreeMap<String, String>) -> Result<Option<Arc<ControlPort>>> {
    let Some(text) = properties.get("assay.port") else { return Ok(None) };
    let is_any = properties.get("assay.port_any").is_some_and(|text| text == "true");
    let address = port::parse(text, is_any)
        .map_err(|error| usage(format!("assay.port: {error} (here: assay.port_any=true)")))?;
    Ok(Some(Arc::new(ControlPort::open(address)?)))
}

/// The command line, with the seed that was drawn as a property.
fn command_line(seed: Seed, properties: &BTreeMap<String, String>) -> Vec<String> {
    let mut words = crate::command_line::typed();
    if !properties.contains_key("assay.seed") {
        words.extend(["-p".to_owned(), format!("assay.seed={seed}")]);
    }
    words
}

/// The URL that a binding's name and properties stand for.
fn url(arguments: &Arguments, properties: &BTreeMap<String, String>) -> Result<String> {
    let get = |name: &str| properties.get(name).map(String::as_str);
    if let Some(url) = get("assay.url") {
        return Ok(url.to_owned());
    }
    if binding::is_class(&arguments.binding) {
        let url = binding::url(&arguments.binding, &arguments.class_path, &arguments.machine);
        // YCSB hands every property on, its workload's too.
        let all = arguments.properties.iter();
        let all = all.map(|(name, property)| (name.to_owned(), property.value.clone()));
        return Ok(binding::with_properties(url, &all.collect()));
    }
    for word in arguments.class_path.iter().chain(&arguments.machine) {
        eprintln!("warning: {word}: {} is no Java class, there is no JVM here", arguments.binding);
    }
    let (url, warnings) = bindings::url(&arguments.binding, properties)?;
    warnings.iter().for_each(|warning| eprintln!("warning: {warning}"));
    Ok(url)
}

fn execute(setup: &mut Setup, request: &Request) -> Result<crate::experiment::Finished> {
    let (options, is_load) = (request.options(), request.arguments.is_load);
    let phase = if is_load { PlanPhase::Load } else { PlanPhase::Run };
    setup.require_kinds(phase)?;
    if !is_load {
        warn_of_differences(setup)?;
    }
    let plan = setup.plan.workload.plan(setup.plan.seed, phase)?;
    let layout = plan.layout().context("YCSB has records")?;
    setup.store.prepare(&layout).map_err(from_open)?;
    let mut loaded = plan.loaded();
    if let Loaded::Records(dataset) = &mut loaded {
        dataset.records -= request.surplus;
    }
    if is_load {
        keep_note(setup, &Note::loading(&loaded, setup.plan.seed))?;
    }
    let load_config = load_config(options, is_load, plan.len(), setup.store.capabilities().calls)?;
    say_how(request, &load_config);
    let dir = setup.plan.dir.clone();
    let mut experiment = setup.experiment(&plan, load_config, &dir, is_load)?;
    experiment.stops_at_failure = is_load && !options.insertion_keeps_going;
    if options.status {
        let goal = experiment.load_config.extent.processes.or(plan.len());
        experiment.run_observer = Some(status::run_observer(options, request.version, goal));
    }
    let finished = experiment.execute()?;
    if is_load && finished.exit == Exit::Fine {
        setup.store.flush().map_err(from_open)?;
        if finished.is_whole {
            keep_note(setup, &Note::loaded(&loaded))?;
        } else {
            eprintln!(
                "warning: not all of the {} records are in; a run that follows says so",
                plan.len().unwrap_or_default()
            );
        }
    }
    Ok(finished)
}

/// The first output of YCSB's client.
fn say_how(request: &Request, load_config: &LoadConfig) {
    let options = request.options();
    // The release prints it for each thread.
    let times = match (request.version, &load_config.load) {
        (Version::V0_17, Load::Closed(closed)) => closed.sessions,
        _ => 1,
    };
    for _ in 0..times {
        eprintln!(
            "DBWrapper: report latency for each error is {} and specific error codes to track \
             for latency are: [{}]",
            options.reports_each_error,
            options.tracked_errors.join(", ")
        );
    }
    if let Some(seconds) = options.max_execution_seconds {
        eprintln!("Maximum execution time specified as: {seconds} secs");
    }
}

/// Keeps `note` beside the runs, so that the store holds YCSB's records alone. A note that `assay
/// load` has left in the store is removed when it becomes untrue.
fn keep_note(setup: &Setup, note: &Note) -> Result<()> {
    let capabilities = setup.store.capabilities();
    if capabilities.is_no_op || !capabilities.is_persistent {
        return Ok(());
    }
    if setup.store.note().map_err(from_open)?.is_some() {
        setup.store.keep_note(&note.to_text()).map_err(from_open)?;
    }
    loaded::keep(&runs_dir(), &setup.url, note)
}

/// YCSB runs against whatever is there; so do we, but we say what does not fit.
fn warn_of_differences(setup: &mut Setup) -> Result<()> {
    let note = match setup.store.note().map_err(from_open)? {
        Some(text) => Some(Note::parse(&text, &setup.url)?),
        None => loaded::find(&runs_dir(), &setup.url)?,
    };
    let Some(note) = note else { return Ok(()) };
    setup.plan.workload.take_value_seed(&note.dataset);
    if !note.is_complete {
        eprintln!("warning: the load of {} did not come to its end", setup.url);
    }
    let expected = setup.plan.workload.dataset(setup.plan.seed);
    for difference in expected.differences(&note.dataset) {
        eprintln!("warning: {difference}");
    }
    Ok(())
}

/// The message of YCSB's client if it starts fewer threads, for a run as well.
const TOO_MANY_THREADS: &str = "Warning: the threadcount is bigger than recordcount, the \
                                threadcount will be recordcount!\n";

/// YCSB's threads are sessions of a closed loop; its target paces them.
fn load_config(
    options: &ClientOptions,
    is_load: bool,
    planned: Option<u64>,
    calls: Calls,
) -> Result<LoadConfig> {
    let sessions = u32::try_from(options.threads)
        .map_err(|_| usage(format!("-threads {}: that is too many", options.threads)))?;
    let sessions = match planned.and_then(|planned| u32::try_from(planned).ok()) {
        Some(planned) if planned > 0 && planned < sessions => {
            put(TOO_MANY_THREADS, None)?;
            planned
        }
        _ => sessions,
    };
    let closed = Closed { sessions, think: Think::No, target_rate: options.target };
    let limit = options.max_execution_seconds.map(Nanos::from_secs);
    if planned.is_none() && limit.is_none() && !is_load {
        return Err(usage(
            "operationcount is 0, which means without end: give -p maxexecutiontime=SECONDS",
        ));
    }
    let load = Load::Closed(closed);
    let workers = usual_workers(&load, calls);
    Ok(LoadConfig {
        blocking_threads: usual_blocking_threads(&load, workers, calls),
        load,
        extent: Extent { processes: planned, duration: limit, warm_up: Nanos::ZERO },
        // YCSB waits for ever; an hour is as good, and ends.
        timeout: Nanos::from_secs(3600),
        workers,
        spin: if options.spin_sleep { Spin::LastStretch } else { Spin::Never },
        processors: Vec::new(),
        room: None,
        deadline: DEADLINE,
    })
}

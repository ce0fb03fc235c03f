//! YCSB's own command line, verbatim: `assay ycsb load|run BINDING [options]`.

mod arguments;
mod status;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result};
use assay_drivers::registry;
use assay_history::Manifest;
use assay_model::{Nanos, Seed};
use assay_report::ycsb::{self as block, Exporter};
use assay_report::{Letters, Style};
use assay_run::{Closed, Extent, Latency, Load, Spin, Think};
use assay_store::Calls;
use assay_workload::PlanPhase;
use assay_workload::ycsb::{ClientOptions, Interval, Reading, Strictness, read};
use clap::ArgMatches;

use crate::binding::{self, escaped};
use crate::exit::{Exit, as_usage, from_open, usage};
use crate::load_config::{LoadConfig, usual_blocking_threads, usual_workers};
use crate::machine::surroundings;
use crate::note::Note;
use crate::options::Options;
use crate::port::{self, Port};
use crate::progress::Show;
use crate::run_dirs;
use crate::setup::Setup;
use crate::show::{AnalyzedRun, analyze_run, keep_hallmark, put, require_place};
use crate::signals::Listening;
use crate::workload::{Workload, WorkloadSource, file_text};
use arguments::Arguments;

/// The version of YCSB whose behaviour this is.
const VERSION: &str = "0.17.0";

/// `assay ycsb load|run BINDING …`.
pub fn ycsb(matches: &ArgMatches) -> Result<Exit> {
    let words: Vec<String> =
        matches.get_many::<String>("arguments").into_iter().flatten().cloned().collect();
    let Some(arguments) = Arguments::parse(&words)? else {
        put(arguments::USAGE, None)?;
        return Ok(Exit::Fine);
    };
    let reading = read(&arguments.properties, Strictness::Ycsb, &file_text).map_err(as_usage)?;
    for warning in &reading.warnings {
        eprintln!("warning: {warning}");
    }
    refuse_what_we_do_not_do(&reading.options)?;
    // What the result cannot be written to must not be found out after the run.
    exporter(&reading.options)?;
    if let Some(file) = &reading.options.export_file {
        require_place("exportfile", Path::new(file))?;
    }
    eprintln!("Command line: {}", words.join(" "));
    eprintln!("YCSB Client {VERSION} (assay {})\n", env!("CARGO_PKG_VERSION"));
    eprintln!("Loading workload...");
    let mut setup = setup(&arguments, &reading)?;
    eprintln!("Starting test.");
    let finished = execute(&mut setup, &arguments, &reading)?;
    let analyzed = analyze_run(&finished.dir, None)?;
    let is_kept = keep_hallmark(&finished.dir, &analyzed);
    export(&analyzed, &finished.dir, &reading.options)
        .with_context(|| format!("all is kept in {}", finished.dir.display()))?;
    is_kept?;
    match finished.exit {
        Exit::Fine => Ok(verdict(&analyzed)),
        other => Ok(other),
    }
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
    if options.measurement_type.contains("raw") || options.measurement_type == "timeseries" {
        eprintln!(
            "warning: measurementtype={} is shown as hdrhistogram; every operation is in the \
             run directory's Parquet files, its series in `assay report --format ndjson`",
            options.measurement_type
        );
    }
    let types = options.measurement_type.split('+');
    if types.into_iter().any(|name| name == "histogram") || options.histogram_verbose {
        eprintln!(
            "warning: measurementtype=histogram: latencies are shown as hdrhistogram, exactly and \
             in microseconds"
        );
    }
    if options.reports_each_error || !options.tracked_errors.is_empty() {
        eprintln!(
            "warning: reportlatencyforeacherror, latencytrackederrors: failures are counted by \
             reason in the run directory; their latencies are in its Parquet files"
        );
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

fn setup(arguments: &Arguments, reading: &Reading) -> Result<Setup> {
    let url = url(arguments, &reading.binding)?;
    let seed = match reading.binding.get("assay.seed") {
        Some(text) => {
            Seed(text.parse().map_err(|_| usage(format!("assay.seed={text} is no whole number")))?)
        }
        None => crate::setup::draw_seed()?,
    };
    let clock = registry::Options {
        clock: || assay_run::clock::monotonic().0,
        seed,
        surroundings: surroundings(),
    };
    let store = registry::open(&url, &clock).map_err(from_open)?;
    let name = format!("ycsb-{}", arguments.workload_name());
    let runs_dir = std::env::var("ASSAY_RUNS_DIR").unwrap_or_else(|_| "runs".to_owned());
    let mut workload =
        Workload::plain(&name, WorkloadSource::Records(Box::new(reading.spec.clone())));
    workload.client = Some(reading.options.clone());
    Ok(Setup {
        is_loaded: false,
        init: Nanos::ZERO,
        actions: Vec::new(),
        lab: None,
        options: Options::default(),
        workload,
        seed,
        arrivals: seed,
        store,
        url: registry::without_secrets(&url),
        dir: run_dirs::fresh(Path::new(&runs_dir), &name, seed.0),
        listening: Arc::new(Listening::begin()?),
        show: Show::Nothing,
        style: Style { colour: false, width: 0, letters: Letters::Ascii },
        port: port(&reading.binding)?,
        latency: match reading.options.interval {
            Interval::Intended => Latency::Response,
            Interval::Op | Interval::Both => Latency::Service,
        },
        command: command_line(seed, &reading.binding),
        thresholds: std::collections::BTreeMap::new(),
    })
}

/// The control port that `assay.port` requests; `assay.port_any=true` is its `--port-any`.
fn port(properties: &BTreeMap<String, String>) -> Result<Option<Arc<Port>>> {
    let Some(text) = properties.get("assay.port") else { return Ok(None) };
    let is_any = properties.get("assay.port_any").is_some_and(|text| text == "true");
    let address = port::parse(text, is_any)
        .map_err(|error| usage(format!("assay.port: {error} (here: assay.port_any=true)")))?;
    Ok(Some(Arc::new(Port::open(address)?)))
}

/// The command line, with the seed that was drawn as a property.
fn command_line(seed: Seed, properties: &BTreeMap<String, String>) -> Vec<String> {
    let mut words = crate::setup::typed();
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
    match arguments.binding.as_str() {
        "basic" => Ok("null:".to_owned()),
        "memory" => Ok("memory:".to_owned()),
        "redis" => {
            let host = get("redis.host").ok_or_else(|| {
                usage(
                    "the redis binding needs -p redis.host=HOST (and redis.port, \
                       redis.password)",
                )
            })?;
            if get("redis.cluster") == Some("true") {
                return Err(usage("redis.cluster=true: we issue a single server only"));
            }
            let port = get("redis.port").unwrap_or("6379");
            let password = match get("redis.password") {
                Some(password) => format!(":{}@", escaped(password)),
                None => String::new(),
            };
            Ok(format!("redis://{password}{host}:{port}"))
        }
        other => {
            let known = ["basic", "memory", "redis"];
            let hint = match assay_model::closest(other, known) {
                Some(near) => format!("did you mean {near}?"),
                None => "there are basic, memory, redis; a name with dots is a Java class; \
                         -p assay.url=URL names any store"
                    .into(),
            };
            Err(usage(format!("there is no binding {other}; {hint}")))
        }
    }
}

fn execute(
    setup: &mut Setup,
    arguments: &Arguments,
    reading: &Reading,
) -> Result<crate::experiment::Finished> {
    let phase = if arguments.is_load { PlanPhase::Load } else { PlanPhase::Run };
    setup.require_kinds(phase)?;
    if !arguments.is_load {
        warn_of_differences(setup)?;
    }
    let plan = setup.workload.plan(setup.seed, phase)?;
    let layout = plan.layout().context("YCSB requests records")?;
    setup.store.prepare(&layout).map_err(from_open)?;
    if arguments.is_load {
        let note = Note::loading(&plan.loaded()).to_text();
        setup.store.keep_note(&note).map_err(from_open)?;
    }
    let options = &reading.options;
    let load_config =
        load_config(options, arguments.is_load, plan.len(), setup.store.capabilities().calls)?;
    let dir = setup.dir.clone();
    let mut experiment = setup.experiment(&plan, load_config, &dir, arguments.is_load)?;
    experiment.stops_at_failure = arguments.is_load && !options.insertion_keeps_going;
    if options.status {
        let goal = experiment.load_config.extent.processes.or(plan.len());
        experiment.run_observer = Some(status::run_observer(options, goal, experiment.latency));
    }
    let finished = experiment.execute()?;
    if arguments.is_load && finished.exit == Exit::Fine {
        setup.store.settle().map_err(from_open)?;
        if finished.is_whole {
            let note = Note::loaded(&plan.loaded()).to_text();
            setup.store.keep_note(&note).map_err(from_open)?;
        } else {
            eprintln!(
                "warning: not all of the {} records are in; the store says so to whoever requests \
                 it it",
                plan.len().unwrap_or_default()
            );
        }
    }
    Ok(finished)
}

/// YCSB runs against whatever is there; so do we, but we say what does not fit.
fn warn_of_differences(setup: &mut Setup) -> Result<()> {
    let Some(text) = setup.store.note().map_err(from_open)? else { return Ok(()) };
    let note = Note::parse(&text, &setup.url)?;
    setup.workload.take_value_seed(&note.dataset);
    if !note.is_complete {
        eprintln!("warning: the load of {} did not come to its end", setup.url);
    }
    let expected = setup.workload.dataset(setup.seed);
    for difference in expected.differences(&note.dataset) {
        eprintln!("warning: {difference}");
    }
    Ok(())
}

/// YCSB's threads are sessions of a closed loop; its target paces them.
fn load_config(
    options: &ClientOptions,
    is_load: bool,
    planned: Option<u64>,
    calls: Calls,
) -> Result<LoadConfig> {
    let sessions = u32::try_from(options.threads)
        .map_err(|_| usage(format!("-threads {}: that is too many", options.threads)))?;
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
    })
}

/// The exporter that a class of YCSB's stands for.
fn exporter(options: &ClientOptions) -> Result<Exporter> {
    match options.exporter.as_deref() {
        None => Ok(Exporter::Text),
        Some(class) if class.ends_with("JSONArrayMeasurementsExporter") => Ok(Exporter::JsonArray),
        Some(class) if class.ends_with("JSONMeasurementsExporter") => Ok(Exporter::Json),
        Some(class) if class.ends_with("TextMeasurementsExporter") => Ok(Exporter::Text),
        Some(class) => Err(usage(format!(
            "there is no exporter {class}; there are TextMeasurementsExporter, \
             JSONMeasurementsExporter, JSONArrayMeasurementsExporter"
        ))),
    }
}

/// Prints the result as YCSB's exporter would, where it would.
fn export(analyzed: &AnalyzedRun, dir: &Path, options: &ClientOptions) -> Result<()> {
    let manifest = Manifest::read(dir)?;
    let sessions = options.threads as usize;
    // Closing our sessions takes no time that could be measured: they share connections.
    let cleanup = vec![Nanos::ZERO; sessions];
    let options_of_block = block::Options {
        interval: match options.interval {
            Interval::Op => block::Interval::Op,
            Interval::Intended => block::Interval::Intended,
            Interval::Both => block::Interval::Both,
        },
        percentiles: options.percentiles.clone(),
        cleanup,
    };
    let exporter = exporter(options)?;
    let lines = block::lines(&analyzed.summary, &options_of_block);
    let output = options.export_file.as_deref().map(PathBuf::from);
    put(&block::print(&lines, exporter), output.as_deref())?;
    if options.hdr_file_output {
        let logs =
            assay_report::ycsb_hdr_logs(&analyzed.facts, &analyzed.summary, &options_of_block)?;
        for (name, log) in logs {
            put(&log, Some(Path::new(&format!("{}{name}.hdr", options.hdr_output_path))))?;
        }
    }
    for note in &manifest.notes {
        eprintln!("note: {note}");
    }
    Ok(())
}

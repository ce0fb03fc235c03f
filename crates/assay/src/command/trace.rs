//! `assay trace`: operations as a file.

mod fit;
mod import;
pub mod record;

use std::fmt::Write as _;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use assay_model::{Arguments, Filled, Named, Nanos, Seed, Source};
use assay_run::{Arrivals, Schedule};
use assay_trace::stat::{Mix, Sizes, compare_mix};
use assay_trace::{
    Entry, ExportError, Schedules, StatOptions, Trace, TraceWriter, describe, export_csv, split,
};
use assay_workload::spec::no_files;
use assay_workload::{PlanPhase, Spec};
use clap::{ArgMatches, Args, FromArgMatches, ValueHint};

use super::benchfoundry;
use crate::arrivals::Calendar;
use crate::exit::{Exit, as_usage, usage};
use crate::options::Options;
use crate::run_plan::changes;
use crate::seed::draw_seed;
use crate::show::finish;
use crate::workload::Workload;
use crate::{arrivals, atomic_file, units};

/// What can be typed besides changes of the spec, to write a trace.
#[derive(Args, Debug)]
#[command(about = "Write the operations of a workload to a file")]
pub struct GenArgs {
    /// As for `assay run`
    #[arg(value_name = "SPEC")]
    spec: String,
    /// The trace
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    output: PathBuf,
    /// Processes to write; default: what the spec says
    #[arg(long, value_name = "N")]
    operations: Option<String>,
    /// Write a schedule too: arrivals as for `assay run --rate`
    #[arg(long, value_name = "RATE")]
    rate: Option<String>,
    /// Gaps between them; default: poisson
    #[arg(long, value_name = "PROCESS")]
    arrivals: Option<String>,
    /// The seed; default: drawn, shown and kept in the trace
    #[arg(long, value_name = "N")]
    seed: Option<String>,
    /// Records in the data set, instead of the spec's
    #[arg(long, value_name = "N")]
    records: Option<String>,
    /// The load phase
    #[arg(long)]
    load: bool,
}

/// What can be typed to look at a trace.
#[derive(Args, Debug)]
#[command(about = "A trace's header, size and hash")]
pub struct InfoArgs {
    /// The trace
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    trace: PathBuf,
    /// Read all of it and compare the hash
    #[arg(long)]
    verify: bool,
}

/// `assay trace …`.
pub fn dispatch(matches: &ArgMatches) -> Result<Exit> {
    match matches.subcommand() {
        Some(("gen", matches)) => generate(matches),
        Some(("info", matches)) => describe_trace(matches),
        Some(("stat", matches)) => stat(matches),
        Some(("export", matches)) => export(matches),
        Some(("import", matches)) => import::import(matches),
        Some(("record", matches)) => record::record(matches),
        Some(("fit", matches)) => fit::fit(matches),
        Some(("split", matches)) => split_up(matches),
        _ => Ok(Exit::Usage),
    }
}

fn path(matches: &ArgMatches, name: &str) -> Result<PathBuf> {
    matches.get_one::<String>(name).map(PathBuf::from).with_context(|| format!("{name} is needed"))
}

fn number(matches: &ArgMatches, name: &str) -> Result<Option<u64>> {
    counted(name, matches.get_one(name))
}

fn counted(name: &str, text: Option<&String>) -> Result<Option<u64>> {
    text.map(|text| units::count(text).map_err(|error| usage(format!("--{name}: {error}"))))
        .transpose()
}

fn generate(matches: &ArgMatches) -> Result<Exit> {
    let arguments = GenArgs::from_arg_matches(matches)?;
    let GenArgs { spec, output, .. } = &arguments;
    require_other(output, Some(Path::new(spec)))?;
    let mut changes = changes(matches, &Options::default())?;
    changes.records = counted("records", arguments.records.as_ref())?;
    let mut workload = Workload::read(spec, &changes)?;
    if workload.trace.is_some() {
        return Err(usage(format!("{spec} is a trace already; `assay trace split` deals it out")));
    }
    let seed = match counted("seed", arguments.seed.as_ref())? {
        Some(seed) => Seed(seed),
        None => draw_seed()?,
    };
    let target = counted("operations", arguments.operations.as_ref())?;
    if target.is_some() {
        workload.set_operations(target)?;
    }
    let phase = if arguments.load { PlanPhase::Load } else { PlanPhase::Run };
    let plan = workload.plan(seed, phase)?;
    let Some(processes) = target.or(plan.len()) else {
        return Err(usage("the spec does not say how many operations: give --operations"));
    };
    let header = plan.header(seed);
    let mut source = plan.source();
    let writer = match wanted_arrivals(&arguments)? {
        None => {
            let mut writer = TraceWriter::create(output, header).map_err(as_usage)?;
            writer.write(source.as_mut(), 0..processes)?;
            writer
        }
        Some(arrivals) => {
            let mut writer = TraceWriter::create_scheduled(output, header).map_err(as_usage)?;
            bake(&mut writer, source.as_mut(), processes, &arrivals, seed)?;
            writer
        }
    };
    let written = writer.finish()?;
    finish(&format!(
        "{}: {} operations in {} processes, {} bytes\nseed {seed}\nhash {}\n",
        output.display(),
        written.operations,
        written.processes,
        written.bytes,
        written.hash
    ))
}

/// The schedule that is to be written into a trace, if one is.
fn wanted_arrivals(arguments: &GenArgs) -> Result<Option<Arrivals>> {
    let wrong = |name: &str, error: anyhow::Error| usage(format!("--{name}: {error}"));
    let Some(rate) = &arguments.rate else {
        return match arguments.arrivals {
            Some(_) => Err(usage("--arrivals needs a rate: give --rate, such as --rate 20k/s")),
            None => Ok(None),
        };
    };
    let process = arguments.arrivals.as_deref().unwrap_or("poisson");
    Ok(Some(Arrivals {
        rate_profile: arrivals::rate_profile(rate).map_err(|error| wrong("rate", error))?,
        process: arrivals::process(process, Calendar::None)
            .map_err(|error| wrong("arrivals", error))?,
    }))
}

/// Writes processes with the intended times of a run with the same seed.
fn bake(
    writer: &mut TraceWriter,
    source: &mut dyn Source,
    processes: u64,
    arrivals: &Arrivals,
    seed: Seed,
) -> Result<()> {
    let mut schedule = Schedule::new(arrivals, seed, 0, 1);
    let (mut operations, mut arguments) = (Vec::new(), Arguments::default());
    for process in 0..processes {
        if source.fill(process, &mut operations)? == Filled::End {
            break;
        }
        source.arguments(&mut arguments);
        if schedule.time() == Nanos::NEVER {
            return Err(usage(format!(
                "--rate: only {process} of {processes} processes come before it is 0 for ever"
            )));
        }
        let intended = Some(schedule.time());
        writer.push_entry(&Entry { intended, ..Entry::new(process, &operations, &arguments) })?;
        schedule.advance();
    }
    Ok(())
}

fn describe_trace(matches: &ArgMatches) -> Result<Exit> {
    let InfoArgs { trace: path, verify } = InfoArgs::from_arg_matches(matches)?;
    let found = describe(&path).map_err(as_usage)?;
    let mut text = String::new();
    let header = &found.header;
    let mut line = |name: &str, value: String| {
        let _ = writeln!(text, "{name:<12} {value}");
    };
    line("hash", found.hash.to_string());
    line("seed", header.seed.to_string());
    line("phase", header.phase.name().to_owned());
    line("operations", found.operations.to_string());
    line("processes", found.processes.to_string());
    line("bytes", format!("{} ({:.2} per operation)", found.bytes, found.bytes_per_operation()));
    let schedule = match found.schedules {
        Schedules::Recorded => "its own; `assay run` replays it",
        Schedules::Absent => "none; the load model decides when a run begins",
    };
    line("schedule", schedule.to_owned());
    line("row groups", found.row_groups.to_string());
    line("format", found.format.to_string());
    line("generator", header.generator.clone());
    for table in &header.layout.tables {
        line("table", format!("{} ({})", table.name, table.fields.join(", ")));
    }
    if let Some(script) = &header.script {
        let names = |list: &[Named]| {
            list.iter().map(|named| named.name.as_str()).collect::<Vec<_>>().join(", ")
        };
        line("schema", names(&script.ddl));
        line("queries", names(&script.queries));
    }
    if let Some(part) = header.part {
        line("part", format!("{} of {}", part.index, part.of));
    }
    for (name, bytes) in &found.columns {
        line("column", format!("{name}: {bytes} bytes"));
    }
    if verify {
        let hash = Trace::open(&path).map_err(as_usage)?.verify().map_err(as_usage)?;
        line("verified", hash.to_string());
    }
    finish(&text)
}

fn stat(matches: &ArgMatches) -> Result<Exit> {
    let trace = Trace::open(path(matches, "trace")?).map_err(as_usage)?;
    let stat = trace.stat(StatOptions::default()).map_err(as_usage)?;
    let mut text = format!(
        "{} operations, {} transactions, {} processes\n",
        stat.operations, stat.transactions, stat.processes
    );
    let target = wanted_mix(&trace);
    if !target.is_empty() {
        push_mix(&mut text, &compare_mix(&target, &stat.mix));
    }
    for (kind, count) in &stat.kinds {
        let _ = writeln!(text, "operations   {:<8} {count}", kind.name());
    }
    for (name, count) in stat.transaction_types.iter().filter(|(_, count)| *count > 0) {
        let _ = writeln!(text, "transactions {name:<24} {count}");
    }
    for (name, count) in &stat.queries {
        let _ = writeln!(text, "query        {name:<24} {count}");
    }
    push_sizes(&mut text, "bytes written", stat.written.as_ref());
    push_sizes(&mut text, "scan length", stat.scan_lengths.as_ref());
    let popularity = &stat.popularity;
    let _ = writeln!(text, "\nkeys         {} distinct", popularity.distinct);
    for hottest in &popularity.hottest {
        let (keys, share) = (hottest.keys * 100.0, hottest.share * 100.0);
        let _ = writeln!(text, "hottest      {keys:>5.1} % of keys get {share:.2} % of operations");
    }
    for top in &popularity.top {
        let share = top.share * 100.0;
        let _ = writeln!(text, "top          record {:<12} {:>8.4} %", top.key, share);
    }
    if let Some(fit) = &popularity.zipf {
        let _ = writeln!(text, "zipf         exponent {:.3} fits best", fit.exponent);
    }
    finish(&text)
}

/// The shares in the trace's own spec, by the names of observed mixes.
fn wanted_mix(trace: &Trace) -> Vec<(String, f64)> {
    if trace.header().phase == assay_model::Phase::Load {
        return Vec::new();
    }
    let Ok(spec) = Spec::from_toml(&trace.header().spec, "trace", &no_files) else {
        return Vec::new();
    };
    if spec.dataset.is_recorded() {
        // Its weights are counts of the trace itself.
        return Vec::new();
    }
    let operations = &spec.operations;
    let weights = [
        ("read", operations.read),
        ("update", operations.update),
        ("insert", operations.insert),
        ("scan", operations.scan),
        ("read-modify-write", operations.read_modify_write),
    ];
    let sum: f64 = weights.iter().map(|(_, weight)| weight).sum();
    weights
        .into_iter()
        .filter(|(_, weight)| *weight > 0.0)
        .map(|(name, weight)| (name.to_owned(), weight / sum))
        .collect()
}

fn push_mix(text: &mut String, mix: &Mix) {
    let _ = writeln!(text, "\nmix               wanted     found");
    for row in &mix.rows {
        let (target, found) = (row.target * 100.0, row.found * 100.0);
        let _ = writeln!(text, "{:<16} {target:>6.2} %  {found:>6.2} %", row.name);
    }
    let _ = writeln!(
        text,
        "chi-square {:.2} with {} degrees of freedom, p = {:.3}: {:?}\n",
        mix.chi_square, mix.degrees, mix.probability, mix.verdict
    );
}

fn push_sizes(text: &mut String, name: &str, sizes: Option<&Sizes>) {
    if let Some(sizes) = sizes {
        let _ = writeln!(
            text,
            "{name:<13} min {}  mean {:.1}  p50 {}  p99 {}  max {}",
            sizes.min, sizes.mean, sizes.p50, sizes.p99, sizes.max
        );
    }
}

fn export(matches: &ArgMatches) -> Result<Exit> {
    match matches.get_one::<String>("format").map(String::as_str) {
        None | Some("csv") => {}
        Some(benchfoundry::FORMAT) => {
            let Some(output) = matches.get_one::<String>("output") else {
                return Err(usage("--output: give the directory of the set: -o DIR"));
            };
            return benchfoundry::export_set(&path(matches, "trace")?, Path::new(output));
        }
        Some(other) => {
            return Err(usage(format!(
                "there is no format {other:?}; there are csv, benchfoundry"
            )));
        }
    }
    let trace = Trace::open(path(matches, "trace")?).map_err(as_usage)?;
    match matches.get_one::<String>("output") {
        Some(output) => {
            let output = Path::new(output);
            require_other(output, Some(&path(matches, "trace")?))?;
            atomic_file::write(output, |file| Ok(export_csv(&trace, file).map(drop)?))?;
        }
        None => read_enough(export_csv(&trace, std::io::stdout().lock()))?,
    }
    Ok(Exit::Fine)
}

/// Refuses to write over what is read.
fn require_other(output: &Path, input: Option<&Path>) -> Result<()> {
    let id = |path: &Path| path.metadata().ok().map(|file| (file.dev(), file.ino()));
    match (id(output), input.and_then(id)) {
        (Some(there), Some(read)) if there == read => {
            Err(usage(format!("{} is what is read: give another file by -o", output.display())))
        }
        _ => Ok(()),
    }
}

/// A closed output is no error.
fn read_enough(written: Result<u64, ExportError>) -> Result<()> {
    match written {
        Err(ExportError::Io(error)) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        other => Ok(other.map(drop)?),
    }
}

fn split_up(matches: &ArgMatches) -> Result<Exit> {
    let path = path(matches, "trace")?;
    let trace = Trace::open(&path).map_err(as_usage)?;
    let parts = number(matches, "parts")?.unwrap_or(2);
    let parts = u32::try_from(parts).map_err(|_| usage(format!("--parts {parts} is too many")))?;
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    let parent = parent.unwrap_or(Path::new("."));
    let name = path.file_stem().map_or_else(String::new, |name| name.to_string_lossy().into());
    let written = split(&trace, parts, parent, &name).map_err(as_usage)?;
    let mut text = String::new();
    for (path, part) in written {
        let _ = writeln!(
            text,
            "{}: {} operations, hash {}",
            path.display(),
            part.operations,
            part.hash
        );
    }
    finish(&text)
}

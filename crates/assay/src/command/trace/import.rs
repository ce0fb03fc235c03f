//! Traces of others become traces of ours.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use assay_model::{Kind, Nanos, Seed, closest, quantity};
use assay_trace::imported::import::USUAL_SEED;
use assay_trace::imported::{
    Format, ImportFacts, Imported, Importing, Requests, StampSpacing, TraceImportError, load_path,
    unpacked,
};
use assay_trace::{Schedules, Trace, import_csv};
use assay_workload::spec::{FieldLength, KeyOrder};
use assay_workload::{PlanPhase, Spec};
use clap::ArgMatches;

use super::super::benchfoundry;
use super::{number, path, require_other};
use crate::exit::{Exit, as_usage, usage};
use crate::show::{finish, put};
use crate::workload::{Workload, WorkloadSource};

/// The name of standard input.
const STDIN: &str = "-";
/// More key spaces than this are no multiple of anything that was measured.
const REPLICATE_MAX: u64 = 10_000;
/// A trace is not imported faster or slower than by this factor.
const SPEED_MAX: f64 = 1e6;
/// The workload whose data set stands in for one that is not said.
const STAND_IN: &str = "ycsb-c";
/// The longest line that is looked at for what it tells of the others, in bytes.
const TELLING_MAX: u64 = 512;
/// Commands that are left out and listed by name.
const NAMED: usize = 8;

/// `assay trace import`.
pub fn import(matches: &ArgMatches) -> Result<Exit> {
    let first = matches.get_one::<String>("format").context("a FORMAT is needed")?;
    match (Format::from_name(first), matches.get_one::<String>("file")) {
        (_, Some(set)) if first == benchfoundry::FORMAT => {
            benchfoundry::import_set(Path::new(set), &path(matches, "output")?)
        }
        (_, None) if first == benchfoundry::FORMAT => {
            Err(usage("which set? `assay trace import benchfoundry DIR -o OUT.trace`"))
        }
        (Some(format), Some(file)) => import_foreign(matches, format, file),
        (Some(_), None) => Err(usage(format!("which file? `assay trace import {first} FILE`"))),
        (None, None) => import_own(matches, Path::new(first)),
        (None, Some(_)) => Err(unknown_format(first)),
    }
}

fn unknown_format(name: &str) -> anyhow::Error {
    let names = Format::ALL.map(Format::name);
    let meant = closest(name, names.iter().copied());
    let meant = meant.map_or_else(String::new, |name| format!(" (did you mean {name:?}?)"));
    usage(format!("there is no format {name:?}{meant}; there are {}", names.join(", ")))
}

/// A trace from the text of `assay trace export`.
fn import_own(matches: &ArgMatches, csv: &Path) -> Result<Exit> {
    if !csv.is_file() && !csv.to_string_lossy().contains(['.', '/']) {
        return Err(unknown_format(&csv.to_string_lossy()));
    }
    let output = path(matches, "output")?;
    require_other(&output, Some(csv))?;
    let file = open(csv)?;
    // Operations alone say nothing of fields and values: YCSB's table stands in for them.
    let plan = Workload::read(STAND_IN, &Default::default())?.plan(Seed(0), PlanPhase::Run)?;
    let mut header = plan.header(Seed(0));
    header.width = width(csv)?;
    let written = import_csv(BufReader::new(file), &output, header).map_err(as_usage)?;
    let (operations, hash) = (written.operations, written.hash);
    put(&format!("{}: {operations} operations\nhash {hash}\n", output.display()), None)?;
    if Trace::open(&output).map_err(as_usage)?.header().script.is_none() {
        eprintln!(
            "note: the text says which operations, but not of which data set: a run takes the \
             records and values of {STAND_IN}"
        );
    }
    Ok(Exit::Fine)
}

fn open(path: &Path) -> Result<File> {
    File::open(path).map_err(|error| usage(format!("cannot read {}: {error}", path.display())))
}

/// Operations that a process has room for, from the numbers of the first that can tell: the first
/// operation of process p has number p · width. Two, as YCSB's read-modify-writes, if none can.
fn width(csv: &Path) -> Result<u64> {
    let mut file = BufReader::new(open(csv)?);
    let mut line = Vec::new();
    // Errors of a line are reported when it is read again; lines with # tell the width.
    while let Ok(1..) = (&mut file).take(TELLING_MAX).read_until(b'\n', &mut line)
        && line.ends_with(b"\n")
        && !line.starts_with(b"#")
    {
        let mut numbers = line.split(|&byte| byte == b',').map(|text| {
            let text = std::str::from_utf8(text).ok()?;
            text.parse::<u64>().ok()
        });
        if let (Some(Some(index)), Some(Some(process))) = (numbers.next(), numbers.next())
            && process > 0
            && index >= process
        {
            return Ok(index / process);
        }
        line.clear();
    }
    Ok(2)
}

fn import_foreign(matches: &ArgMatches, format: Format, file: &str) -> Result<Exit> {
    let output = output(matches, file)?;
    for written in [&output, &load_path(&output)] {
        require_other(written, Some(Path::new(file)))?;
    }
    let importing = importing(matches)?;
    let tolerated = number(matches, "skip-bad")?.unwrap_or(0);
    let seed = number(matches, "seed")?.map_or(USUAL_SEED, Seed);
    let named = |error: &dyn std::fmt::Display| usage(format!("{file}: {error}"));
    let input: Box<dyn Read> = match file {
        STDIN => Box::new(io::stdin()),
        file => Box::new(open(Path::new(file))?),
    };
    let input = unpacked(input).map_err(|error| named(&error))?;
    let requests = Requests::open(input, format, tolerated).map_err(|error| named(&error))?;
    let plan = recorded(&ImportFacts::default()).and_then(|spec| {
        Workload::plain(format.name(), WorkloadSource::Records(Box::new(spec)))
            .plan(seed, PlanPhase::Run)
    })?;
    let spec = |facts: &ImportFacts| match recorded(facts) {
        Ok(spec) => spec.to_toml(),
        Err(error) => unreachable!("counts make a spec: {error}"),
    };
    let imported =
        assay_trace::imported::import(requests, &output, &importing, &plan.header(seed), &spec);
    let imported = imported.map_err(|error| match error {
        TraceImportError::Write(_) | TraceImportError::Keys { .. } => as_usage(error),
        _ => named(&error),
    })?;
    finish(&describe(file, &output, &importing, &imported))
}

/// The spec of an imported trace: one value for each key, with lengths that its operations say.
pub(super) fn recorded(facts: &ImportFacts) -> Result<Spec> {
    let mut spec = Spec::default();
    let dataset = &mut spec.dataset;
    dataset.records = facts.keys.max(1);
    dataset.fields = 1;
    dataset.field_length = FieldLength::Recorded;
    dataset.key_prefix = String::new();
    dataset.key_order = KeyOrder::Recorded;
    dataset.preload = facts.preload.map(|hash| hash.to_string());
    let operations = &mut spec.operations;
    operations.read = facts.of(Kind::Read) as f64;
    operations.update = facts.of(Kind::Update) as f64;
    operations.insert = facts.of(Kind::Insert) as f64;
    if operations.read + operations.update + operations.insert == 0.0 {
        // A spec cannot speak of deletes, but must speak of something.
        operations.read = 1.0;
    }
    spec.check().map_err(as_usage)?;
    Ok(spec)
}

/// The trace that was named, or one in this directory that is called as the file is.
fn output(matches: &ArgMatches, file: &str) -> Result<PathBuf> {
    if let Some(output) = matches.get_one::<String>("output") {
        return Ok(PathBuf::from(output));
    }
    if file == STDIN {
        return Err(usage("standard input has no name to call a trace by: give -o OUT.trace"));
    }
    let name = Path::new(file).file_name().unwrap_or_default().to_string_lossy().into_owned();
    let packed = [".gz", ".zst", ".zstd"].iter().find_map(|ending| name.strip_suffix(ending));
    let name = packed.unwrap_or(&name);
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    Ok(PathBuf::from(format!("{stem}.trace")))
}

fn importing(matches: &ArgMatches) -> Result<Importing> {
    let text = |name: &str| matches.get_one::<String>(name).map(String::as_str);
    let wrong = |name: &str, reason: &str| usage(format!("--{name}: {reason}"));
    let usual = Importing::default();
    let sample_keys = match text("sample-keys").map(quantity::share) {
        None => usual.sample_keys,
        Some(Some(share)) if share > 0.0 && share <= 1.0 => share,
        Some(_) => {
            return Err(wrong("sample-keys", "give a share above 0, at most 1, as in 0.1 or 10%"));
        }
    };
    let replicate = match number(matches, "replicate")?.unwrap_or(1) {
        copies @ 1..=REPLICATE_MAX => copies as u32,
        _ => return Err(wrong("replicate", "give a whole number from 1 to 10000")),
    };
    let speed = match text("speed").map(quantity::share) {
        None => usual.speed,
        Some(Some(speed)) if (1.0 / SPEED_MAX..=SPEED_MAX).contains(&speed) => speed,
        Some(_) => return Err(wrong("speed", "give a factor above 0, such as 2 or 0.5")),
    };
    let seed = number(matches, "seed")?.map_or(USUAL_SEED, Seed);
    let spread = match text("spread") {
        None | Some("even") => StampSpacing::Even,
        Some("random") => StampSpacing::Random(seed),
        Some(other) => {
            return Err(wrong("spread", &format!("{other:?} is neither even nor random")));
        }
    };
    let operations = number(matches, "operations")?;
    if operations == Some(0) {
        return Err(wrong("operations", "nothing would be issued; give at least 1"));
    }
    let size = |name: &str| -> Result<Option<u32>> {
        let Some(size) = number(matches, name)? else { return Ok(None) };
        let size = u32::try_from(size).ok().filter(|size| *size <= VALUE_MAX);
        size.map(Some).ok_or_else(|| wrong(name, "a value has at most 512MiB"))
    };
    Ok(Importing {
        sample_keys,
        replicate,
        speed,
        spread,
        operations,
        value_size: size("value-size")?.unwrap_or(usual.value_size),
        fill_misses: size("fill-misses")?,
        ..usual
    })
}

/// The greatest value.
const VALUE_MAX: u32 = assay_trace::imported::request::VALUE_MAX as u32;

/// The summary of an import.
pub(super) fn describe(
    file: &str,
    output: &Path,
    importing: &Importing,
    imported: &Imported,
) -> String {
    let Imported { written, totals, facts, .. } = imported;
    let mut text = String::new();
    let mut line = |name: &str, value: String| {
        let _ = writeln!(text, "{name:<12} {value}");
    };
    let file = if file == STDIN { "standard input" } else { file };
    line("read", format!("{file}: {} lines, {} requests", totals.lines, totals.requests));
    if let Some(first) = &totals.first_bad {
        line("bad lines", format!("{} passed over; {}: {}", totals.bad, first.place, first.reason));
    }
    if !totals.passed_over.is_empty() {
        line("left out", passed_over(&totals.passed_over));
    }
    let kinds = Kind::OF_RECORDS.into_iter().filter(|kind| facts.of(*kind) > 0);
    let kinds: Vec<String> =
        kinds.map(|kind| format!("{} {}", facts.of(kind), kind.name())).collect();
    line("operations", format!("{}: {}", written.operations, kinds.join(", ")));
    line("keys", facts.keys.to_string());
    if imported.missed > 0 {
        let share = imported.missed as f64 * 100.0 / facts.of(Kind::Read).max(1) as f64;
        line("missed", format!("{} reads had found nothing ({share:.2} %)", imported.missed));
    }
    if imported.guessed > 0 {
        let size = importing.value_size;
        line("guessed", format!("{} writes of unknown size have {size} bytes", imported.guessed));
    }
    line("schedule", schedule(imported));
    line("trace", format!("{}, hash {}", output.display(), written.hash));
    let (beside, name) = (load_path(output), output.display());
    match &imported.preload {
        Some(preload) => {
            let (records, bytes) = (preload.operations, imported.preload_bytes);
            let beside = beside.display();
            line(
                "to be there",
                format!("{beside}: {records} records with {bytes} bytes of values"),
            );
        }
        None => line("to be there", "nothing: every key is written before it is read".into()),
    }
    let _ = writeln!(text, "\nassay bench {name} -t URL         fills the store, then replays");
    let _ = writeln!(text, "assay load {name} -t URL && assay run {name} -t URL --speed 10");
    text
}

fn schedule(imported: &Imported) -> String {
    match (imported.schedules, imported.span) {
        (Schedules::Absent, _) => {
            "none: the file says no times; give --rate or --closed".to_owned()
        }
        (Schedules::Recorded, Nanos::ZERO) => "all at one time".to_owned(),
        (Schedules::Recorded, span) => {
            let rate = imported.written.processes as f64 / span.as_secs_f64();
            format!("{span}, {rate:.1}/s on average")
        }
    }
}

/// The most frequent of the commands that are left out.
fn passed_over(names: &BTreeMap<String, u64>) -> String {
    let mut counted: Vec<(&str, u64)> =
        names.iter().map(|(name, count)| (name.as_str(), *count)).collect();
    counted.sort_by_key(|&(_, count)| std::cmp::Reverse(count));
    let sum: u64 = counted.iter().map(|(_, count)| count).sum();
    let named: Vec<String> =
        counted.iter().take(NAMED).map(|(name, count)| format!("{name} {count}")).collect();
    let more = if counted.len() > NAMED { ", …" } else { "" };
    format!("{sum} lines: {}{more}", named.join(", "))
}

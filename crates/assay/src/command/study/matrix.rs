//! `assay study FILE`: stores × workloads × nodes × loads, each cell a run directory.

pub mod commands;
pub mod directory;
pub mod execute;
pub mod file;
mod java;
pub mod plan;
mod published;
mod result;
pub mod shift;
mod space;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use assay_drivers::registry;
use assay_model::Nanos;
use assay_report::Letters;
use assay_report::matrix::{
    MatrixStudy, matrix_csv, matrix_html, matrix_json, matrix_markdown, matrix_text,
};
use assay_report::units::{count, duration};
use clap::{Arg, ArgAction, ArgMatches, ValueHint};

use commands::{OWN_DIR, Target};
use directory::Kept;
use execute::{StudyEnd, StudyExecutor};
use file::StudyFile;
use plan::{Plan, PlannedCell, StudyRequest};
use shift::Stop;

use crate::command::study::builtin;
use crate::completion;
use crate::exit::{Exit, usage};
use crate::lab::Labs;
use crate::options::Options;
use crate::show::{Display, Format, put};
use crate::{machine, units};

/// Settings of `assay study FILE`, which other commands have too.
pub const KEYS: [&str; 8] =
    ["color", "format", "install", "lab-dir", "output", "quiet", "runs-dir", "seed"];

/// Where studies are, in the directory of runs.
const STUDIES: &str = "studies";

/// What can be typed behind the file.
pub fn arguments() -> Vec<Arg> {
    let text = |name: &'static str, value: &'static str, about: &'static str| {
        Arg::new(name).long(name).value_name(value).help(about)
    };
    let switch = |name: &'static str, about: &'static str| {
        Arg::new(name).long(name).action(ArgAction::SetTrue).help(about)
    };
    vec![
        Arg::new("file")
            .value_name("FILE")
            .value_hint(ValueHint::FilePath)
            .add(completion::studies())
            .help("The study: a file, or a built-in study such as kvbench"),
        text("dir", "DIR", "The study's directory [default: studies/NAME in runs-dir]")
            .value_hint(ValueHint::DirPath),
        switch("plan", "Only show the cells in their order, and what they need"),
        switch("retry-failed", "Run again what has failed"),
        switch("replace", "Remove what Assay has in stores with a URL before each of their cells"),
        switch("force", "Begin although memory or disk are too small for it"),
        text(
            "scale",
            "FACTOR",
            "Issue this share of the operations, or run for this share of the time",
        ),
        text("repetitions", "N", "How often each cell is run, instead of what FILE says"),
        text("stores", "NAMES", "Only these of FILE's stores, by commas"),
        text("workloads", "NAMES", "Only these of FILE's workloads, by commas"),
        text("published", "FIGURES", "Show published figures next to ours, from a CSV file")
            .alias("beside")
            .value_hint(ValueHint::FilePath),
    ]
}

/// What was typed.
pub struct TypedOptions {
    /// The study file.
    pub path: PathBuf,
    /// What is changed of it.
    pub study_request: StudyRequest,
    published: Option<PathBuf>,
    /// Whether only the plan is shown.
    pub is_plan: bool,
    /// Whether failed cells are run again.
    pub retries_failed: bool,
    replaces: bool,
    is_forced: bool,
}

/// `assay study FILE`.
pub fn matrix(matches: &ArgMatches) -> Result<Exit> {
    let options = Options::gather(matches)?;
    let display = Display::from(&options)?;
    require_format(&options, &display)?;
    let expected = TypedOptions::from(matches, &options)?;
    let file = read(&expected.path)?;
    let timeout = units::duration(&file.give_up)
        .map_err(|error| usage(format!("{}: give-up: {error}", expected.path.display())))?;
    let mut plan = Plan::new(file, &expected.path, &expected.study_request)?;
    let figures = expected.published.as_deref().map(published::read).transpose()?;
    let published = figures.map(|figures| result::published(&plan, figures)).transpose()?;
    if expected.is_plan {
        put(&listed(&plan, None), display.output.as_deref())?;
        return Ok(Exit::Fine);
    }
    let labs = Labs::from(&options)?;
    if let Some(place) = machine::file_system(labs.root()) {
        plan.note_labs(&place);
    }
    let dir = directory(matches, &options, &plan.name);
    let mut kept = Kept::open(&dir, &plan.name)?;
    kept.look(plan.cells.iter().map(|cell| cell.id.as_str()))?;
    if expected.retries_failed {
        kept.retry_failed();
    }
    kept.require_same(&plan)?;
    let missing: Vec<&PlannedCell> =
        plan.cells.iter().filter(|cell| !kept.is_settled(&cell.id)).collect();
    if !expected.replaces {
        require_empty_stores(&missing)?;
    }
    if !expected.is_forced {
        space::require(&plan, &missing, kept.leftovers(&missing), &dir, labs.root())?;
    }
    kept.keep_file(&plan.file)?;
    let is_quiet = options.is_quiet()?;
    if !is_quiet {
        eprint_plan(&plan, missing.len(), &dir);
    }
    directory::write_whole(&dir.join("order.txt"), &listed(&plan, Some(&kept)))?;
    let stop = Stop::listen()?;
    let ended = StudyExecutor::new(&plan, &mut kept, &labs, &stop, &options, timeout)
        .quiet(is_quiet)
        .execute();
    // A full disk ends the study, but not the report of the cells before.
    let ending = *ended.as_ref().unwrap_or(&StudyEnd::Interrupted);
    let study = result::gather(&plan, &kept, ending, published);
    let is_kept = result::keep(&dir, &study);
    if ended.is_ok() || !study.matrix.cells.is_empty() {
        show(&study, &display)?;
    }
    ended.context("the study cannot go on; what is done stays, and the same command goes on")?;
    is_kept?;
    if !is_quiet {
        eprintln!("kept in {}; the page is {}", dir.display(), dir.join("study.html").display());
    }
    Ok(exit(&study, ending))
}

/// The study in `path`, or the built-in one of that name.
fn read(path: &Path) -> Result<StudyFile> {
    if path.is_file() {
        return StudyFile::read(path);
    }
    let Some(study) = builtin::find(path) else { return Err(no_such_file(path)) };
    eprintln!(
        "there is no file {}: this is the built-in study {}, which `assay study copy {}` writes",
        path.display(),
        study.name,
        study.name
    );
    StudyFile::parse(study.text, path)
}

impl TypedOptions {
    /// What was typed.
    ///
    /// # Errors
    /// If a value is invalid.
    pub fn from(matches: &ArgMatches, options: &Options) -> Result<TypedOptions> {
        let text = |name: &str| matches.get_one::<String>(name).map(String::as_str);
        let path = PathBuf::from(text("file").context("a FILE is needed")?);
        let names = |name: &str| -> Vec<String> {
            let text = text(name).unwrap_or_default();
            let names = text.split(',').map(str::trim).filter(|name| !name.is_empty());
            names.map(str::to_owned).collect()
        };
        let repetitions = match text("repetitions").map(units::count) {
            None => None,
            Some(Ok(0)) => {
                return Err(usage("--repetitions: nothing would be issued; give at least 1"));
            }
            Some(Ok(number)) => Some(number),
            Some(Err(error)) => return Err(usage(format!("--repetitions: {error}"))),
        };
        let study_request = StudyRequest {
            scale: scale(text("scale"))?,
            // Neither the environment nor config files change the runs of a study.
            seed: if options.is_typed("seed") { options.seed()? } else { None },
            repetitions,
            stores: names("stores"),
            workloads: names("workloads"),
        };
        Ok(TypedOptions {
            path,
            study_request,
            published: text("published").map(PathBuf::from),
            is_plan: matches.get_flag("plan"),
            replaces: matches.get_flag("replace"),
            retries_failed: matches.get_flag("retry-failed"),
            is_forced: matches.get_flag("force"),
        })
    }
}

/// Refuses to empty a store that may be needed.
fn require_empty_stores(missing: &[&PlannedCell]) -> Result<()> {
    let emptied = missing.iter().find_map(|cell| match &cell.workload_kind.target {
        Target::Url(url) if cell.workload_kind.fill.is_some() && !url.contains(OWN_DIR) => {
            Some((url, cell))
        }
        _ => None,
    });
    let Some((url, cell)) = emptied else { return Ok(()) };
    Err(usage(format!(
        "{}: before each of its cells the study removes what Assay has in {}, tables with all rows \
         included; say --replace if nobody needs it, or give the store {OWN_DIR} or up in the \
         study file",
        cell.id,
        registry::without_secrets(url)
    )))
}

fn no_such_file(path: &Path) -> anyhow::Error {
    let displayed = path.display().to_string();
    let known = builtin::ALL.iter().map(|study| study.name).chain(["co", "benchfoundry"]);
    let hint = match assay_model::closest(&displayed, known) {
        Some(near) => format!("did you mean {near}?"),
        None => "a study is a TOML file, a built-in one (`assay study ls`), co or benchfoundry"
            .to_owned(),
    };
    usage(format!("there is no study file {displayed}; {hint}"))
}

fn scale(text: Option<&str>) -> Result<f64> {
    let Some(text) = text else { return Ok(1.0) };
    let number = match text.strip_suffix('%') {
        Some(percent) => percent.trim().parse::<f64>().map(|percent| percent / 100.0),
        None => text.parse(),
    };
    let number = number.ok().filter(|number| *number > 0.0 && *number <= 1_000.0);
    number.ok_or_else(|| usage(format!("--scale: {text:?} is no share; write 0.1 or 10%")))
}

/// The directory of the study `name`.
pub fn directory(matches: &ArgMatches, options: &Options, name: &str) -> PathBuf {
    match matches.get_one::<String>("dir") {
        Some(dir) => PathBuf::from(dir),
        None => options.runs_dir().join(STUDIES).join(name),
    }
}

fn require_format(options: &Options, display: &Display) -> Result<()> {
    match display.format {
        Format::Text | Format::Json | Format::Csv | Format::Markdown | Format::Html => Ok(()),
        _ => Err(options.wrong("format", "a study is shown as text, json, csv, md or html")),
    }
}

fn show(study: &MatrixStudy, display: &Display) -> Result<()> {
    let text = match display.format {
        Format::Json => matrix_json(study),
        Format::Csv => matrix_csv(study),
        Format::Markdown => matrix_markdown(study),
        Format::Html => matrix_html(study),
        _ => matrix_text(study, display.style.letters),
    };
    put(&text, display.output.as_deref())
}

fn exit(study: &MatrixStudy, ending: StudyEnd) -> Exit {
    match ending {
        StudyEnd::Interrupted => Exit::Interrupted,
        // Cells that failed, or whose run directories cannot be read.
        StudyEnd::All if !study.failed.is_empty() => Exit::Internal,
        StudyEnd::All => Exit::Fine,
    }
}

/// How much is to be done, before it begins.
fn eprint_plan(plan: &Plan, missing: usize, dir: &Path) {
    let done = plan.cells.len() - missing;
    eprintln!(
        "{}: {} cells, {} done, {} to do; order by seed {}, in {}",
        plan.name,
        count(plan.cells.len() as u64),
        count(done as u64),
        count(missing as u64),
        plan.seed,
        dir.join("order.txt").display()
    );
}

/// The cells in their order, with what they need.
fn listed(plan: &Plan, kept: Option<&Kept>) -> String {
    let mut text = format!(
        "{}: {} stores x {} workloads x {} loads, {} repetitions: {} cells; seed {}\n",
        plan.name,
        plan.stores.len(),
        plan.workloads.len(),
        plan.loads.len(),
        plan.repetitions,
        plan.cells.len(),
        plan.seed
    );
    let mut before = None;
    for (place, cell) in plan.cells.iter().enumerate() {
        let shift = (cell.repetition, &cell.shift);
        if before != Some(shift) && cell.shift != cell.id {
            let need = space::need(plan, cell);
            let _ = writeln!(
                text,
                "  {}, repetition {}: about {} MiB of memory, {} MiB on disk",
                cell.shift, cell.repetition, need.memory_mib, need.disk_mib
            );
        }
        before = Some(shift);
        let is_done = kept.is_some_and(|kept| kept.is_settled(&cell.id));
        let state = if is_done { "  (done before)" } else { "" };
        let _ = writeln!(text, "  {:>6}  {}{state}", place + 1, cell.id);
    }
    for line in &plan.skipped {
        let _ = writeln!(text, "  {line}");
    }
    text + &estimate(plan)
}

/// The estimated duration before the first run.
fn estimate(plan: &Plan) -> String {
    let setting = |cell: &PlannedCell, name: &str| cell.settings.get(name).cloned();
    let time = |cell: &PlannedCell| {
        let of = |name| setting(cell, name).and_then(|text| units::duration(&text).ok());
        let parts = [of("duration"), of("warm-up")];
        parts.into_iter().flatten().fold(0, |all: u64, time: Nanos| all.saturating_add(time.0))
    };
    let operations = |cell: &PlannedCell| {
        setting(cell, "operations").and_then(|text| text.parse::<u64>().ok()).unwrap_or(0)
    };
    let records = |cell: &PlannedCell| plan.workloads[cell.setup.workload].records.unwrap_or(0);
    let sum =
        |of: &dyn Fn(&PlannedCell) -> u64| plan.cells.iter().map(of).fold(0, u64::saturating_add);
    format!(
        "to issue: {} operations, and {} by the clock; to fill: up to {} records; histories: about \
         {} MiB\n",
        count(sum(&operations)),
        duration(Nanos(sum(&time)), Letters::Ascii),
        count(sum(&records)),
        space::histories_mib(plan, &plan.cells.iter().collect::<Vec<_>>())
    )
}

//! `assay study FILE`: stores × workloads × nodes × loads, each cell a run directory.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use assay_report::matrix::{MatrixStudy, document, matrix_csv, matrix_json};
use assay_study::command_line::CommandLine;
use assay_study::execute::StudyEnd;
use assay_study::file::StudyFile;
use assay_study::matrix::{MatrixRequest, listed, run};
use assay_study::plan::{StudyPlan, StudyRequest};
use assay_study::program::Program;
use assay_study::{builtin, published};
use clap::{ArgMatches, Args, FromArgMatches, ValueHint};

use super::program::OwnProgram;
use crate::command_line::typed;
use crate::completion;
use crate::exit::{Exit, usage};
use crate::lab::house;
use crate::options::Options;
use crate::show::{Display, Format, put};
use crate::{machine, units};

/// Settings of `assay study FILE`, which other commands have too.
pub const KEYS: [&str; 8] =
    ["color", "format", "install", "lab-dir", "output", "quiet", "runs-dir", "seed"];

/// Where studies are, in the directory of runs.
const STUDIES: &str = "studies";

/// What can be typed besides settings.
#[derive(Args, Debug)]
#[command(
    about = "Many runs that answer one question: stores x workloads x nodes x loads",
    after_help = "Each cell of the matrix is a run directory. Run the same command again after a \
                  crash: it goes on with what is missing."
)]
pub struct StudyArgs {
    /// The study: a file, or a built-in study such as kvbench
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath, add = completion::studies())]
    file: Option<PathBuf>,
    /// The study's directory [default: studies/NAME in runs-dir]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    dir: Option<PathBuf>,
    /// Only show the cells in their order, and what they need
    #[arg(long)]
    pub plan: bool,
    /// Run again what has failed
    #[arg(long)]
    pub retry_failed: bool,
    /// Remove what Assay has in stores with a URL before each of their cells
    #[arg(long)]
    replace: bool,
    /// Begin although memory or disk are too small for it
    #[arg(long)]
    force: bool,
    /// Issue this share of the operations, or run for this share of the time
    #[arg(long, value_name = "FACTOR")]
    scale: Option<String>,
    /// How often each cell is run, instead of what FILE says
    #[arg(long, value_name = "N")]
    repetitions: Option<String>,
    /// Only these of FILE's stores, by commas
    #[arg(long, value_name = "NAMES")]
    stores: Option<String>,
    /// Only these of FILE's workloads, by commas
    #[arg(long, value_name = "NAMES")]
    workloads: Option<String>,
    /// Show published figures next to ours, from a CSV file
    #[arg(long, value_name = "FIGURES", alias = "beside", value_hint = ValueHint::FilePath)]
    published: Option<PathBuf>,
}

/// `assay study FILE`.
pub fn matrix(matches: &ArgMatches) -> Result<Exit> {
    let options = Options::gather(matches)?;
    let display = Display::from(&options)?;
    display.require(&options, "a study is", &FORMATS)?;
    let arguments = StudyArgs::from_arg_matches(matches)?;
    let study_request = arguments.request(&options)?;
    let path = arguments.path()?;
    let mut program = OwnProgram::new(&options);
    let file = read(path, program.command_line())?;
    let timeout = units::duration(&file.give_up)
        .map_err(|error| usage(format!("{}: give-up: {error}", path.display())))?;
    let mut plan = StudyPlan::new(file, path, &study_request, &program)?;
    let figures = arguments.published.as_deref().map(published::read).transpose()?;
    let published = figures.map(|figures| published::with_terms(&plan, figures)).transpose()?;
    if arguments.plan {
        put(&listed(&plan, None), display.output.as_deref())?;
        return Ok(Exit::Fine);
    }
    let labs = house::labs(&options)?;
    if let Some(place) = machine::file_system(labs.root()) {
        plan.note_labs(&place);
    }
    let dir = arguments.directory(&options, &plan.name);
    program.listen()?;
    let request = MatrixRequest {
        dir: &dir,
        labs: labs.root(),
        lab_dir: options.lab_dir.text(),
        command: &typed(),
        timeout,
        retries_failed: arguments.retry_failed,
        replaces: arguments.replace,
        is_forced: arguments.force,
        published,
    };
    let result = run(&plan, request, &program)?;
    if result.ended.is_ok() || !result.study.matrix.cells.is_empty() {
        show(&result.study, &display)?;
    }
    let ending = result.ended?;
    result.is_kept?;
    let page = dir.join("study.html");
    program.tell(&format!("kept in {}; the page is {}", dir.display(), page.display()));
    Ok(exit(&result.study, ending))
}

/// The study in `path`, or the built-in one of that name.
fn read(path: &Path, command_line: &CommandLine) -> Result<StudyFile> {
    if path.is_file() {
        return Ok(StudyFile::read(path, command_line)?);
    }
    let Some(study) = builtin::find(path) else { return Err(no_such_file(path)) };
    eprintln!(
        "there is no file {}: this is the built-in study {}, which `assay study copy {}` writes",
        path.display(),
        study.name,
        study.name
    );
    Ok(StudyFile::parse(study.text, path, command_line)?)
}

impl StudyArgs {
    /// The study file.
    pub fn path(&self) -> Result<&Path> {
        self.file.as_deref().context("a FILE is needed")
    }

    /// What is changed of the study.
    pub fn request(&self, options: &Options) -> Result<StudyRequest> {
        let names = |text: &Option<String>| -> Vec<String> {
            let names = text.iter().flat_map(|text| text.split(',')).map(str::trim);
            names.filter(|name| !name.is_empty()).map(str::to_owned).collect()
        };
        let repetitions = match self.repetitions.as_deref().map(units::count) {
            None => None,
            Some(Ok(0)) => {
                return Err(usage("--repetitions: nothing would be issued; give at least 1"));
            }
            Some(Ok(number)) => Some(number),
            Some(Err(error)) => return Err(usage(format!("--repetitions: {error}"))),
        };
        Ok(StudyRequest {
            scale: scale(self.scale.as_deref())?,
            // Neither the environment nor config files change the runs of a study.
            seed: if options.seed.is_typed() { options.seed.get() } else { None },
            repetitions,
            stores: names(&self.stores),
            workloads: names(&self.workloads),
        })
    }

    /// The directory of the study `name`.
    pub fn directory(&self, options: &Options, name: &str) -> PathBuf {
        self.dir.clone().unwrap_or_else(|| options.runs_dir().join(STUDIES).join(name))
    }
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

/// Formats of a study.
const FORMATS: [Format; 5] =
    [Format::Text, Format::Json, Format::Csv, Format::Markdown, Format::Html];

fn show(study: &MatrixStudy, display: &Display) -> Result<()> {
    let other = |format| if format == Format::Csv { matrix_csv(study) } else { matrix_json(study) };
    display.show(|| document(study), |format| Ok(other(format)))
}

fn exit(study: &MatrixStudy, ending: StudyEnd) -> Exit {
    match ending {
        StudyEnd::Interrupted => Exit::Interrupted,
        // Cells that failed, or whose run directories cannot be read.
        StudyEnd::All if !study.failed.is_empty() => Exit::Internal,
        StudyEnd::All => Exit::Fine,
    }
}

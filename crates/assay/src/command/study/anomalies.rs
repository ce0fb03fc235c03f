//! `assay study FILE` for a file of predictions of anomalies.

use std::fs;
use std::path::PathBuf;

use anyhow::Result;
use assay_report::anomalies::{AnomalyStudy, anomalies_json, anomalies_markdown, anomalies_text};
use assay_study::anomalies::file::{AnomalyFile, is_of_anomalies};
use assay_study::anomalies::{AnomalyRequest, AnomalyResult, choose, listed, run};
use assay_study::builtin;
use assay_study::program::Program;
use clap::{ArgMatches, FromArgMatches};

use super::matrix::StudyArgs;
use super::program::OwnProgram;
use crate::exit::{Exit, usage};
use crate::options::Options;
use crate::show::{Display, Format, put};
use crate::units;

/// Flags that only a study of a matrix has.
const FOREIGN: [&str; 4] = ["scale", "repetitions", "workloads", "published"];

/// The text of the study file that is meant, if it is one of anomalies.
pub fn text(matches: &ArgMatches) -> Option<String> {
    let path = matches.get_one::<PathBuf>("file")?;
    let text = match path.is_file() {
        true => fs::read_to_string(path).ok()?,
        false => builtin::find(path)?.text.to_owned(),
    };
    is_of_anomalies(&text).then_some(text)
}

/// `assay study FILE` for a file of predictions, whose text this is.
pub fn anomalies(matches: &ArgMatches, text: &str) -> Result<Exit> {
    let options = Options::gather(matches)?;
    let display = Display::from(&options)?;
    let formats = [Format::Text, Format::Json, Format::Markdown];
    display.require(&options, "a study of anomalies is", &formats)?;
    if let Some(flag) = FOREIGN.into_iter().find(|flag| matches.contains_id(flag)) {
        return Err(usage(format!("--{flag}: a study of anomalies has no such thing")));
    }
    let arguments = StudyArgs::from_arg_matches(matches)?;
    let study_request = arguments.request(&options)?;
    let path = arguments.path()?;
    let mut program = OwnProgram::new(&options);
    let mut file = AnomalyFile::parse(text, path, program.command_line())?;
    file.seed = study_request.seed.unwrap_or(file.seed);
    if !study_request.stores.is_empty() {
        choose(&mut file, &study_request.stores)?;
    }
    if arguments.plan {
        put(&listed(&file, program.command_line()), display.output.as_deref())?;
        return Ok(Exit::Fine);
    }
    let timeout = units::duration(&file.give_up)
        .map_err(|error| usage(format!("{}: give-up: {error}", path.display())))?;
    let name = file.name_of(path);
    let dir = arguments.directory(&options, &name);
    program.listen()?;
    let request = AnomalyRequest {
        timeout,
        retries_failed: arguments.retry_failed,
        may_install: options.install.is_on(),
        lab_dir: options.lab_dir.text(),
        refusals: [Exit::Usage, Exit::Unreachable].map(|exit| exit as i32),
    };
    let AnomalyResult { study, is_whole } = run(&file, &name, &dir, &program, &request)?;
    let text = match display.format {
        Format::Json => anomalies_json(&study),
        Format::Markdown => anomalies_markdown(&study),
        _ => anomalies_text(&study, display.style.letters),
    };
    put(&text, display.output.as_deref())?;
    program.tell(&format!("kept in {}", dir.display()));
    Ok(exit(&study, is_whole))
}

fn exit(study: &AnomalyStudy, is_whole: bool) -> Exit {
    let has_failed = study.cells.iter().any(|cell| !cell.failed.is_empty());
    let is_broken = study.cells.iter().any(|cell| !cell.broken_promises().is_empty());
    match (is_whole, has_failed, is_broken) {
        (false, ..) => Exit::Interrupted,
        (true, true, _) => Exit::Internal,
        (true, false, true) => Exit::Violated,
        (true, false, false) => Exit::Fine,
    }
}

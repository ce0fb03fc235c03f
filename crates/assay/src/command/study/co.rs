//! `assay study co`: coordinated omission, in simulated time.

use std::path::Path;
use std::time::SystemTime;

use anyhow::{Context, Result};
use assay_analysis::DEADLINE;
use assay_history::manifest::{LoadPhase, LoadSection};
use assay_model::{Nanos, Seed};
use assay_report::study::{Study, document, study_csv, study_json};
use assay_report::{Letters, Style};
use assay_run::{Extent, Load, Spin};
use assay_store::StoreTime;
use assay_study::co::{KeptRuns, OmissionRequest, RECORDS, SIZES, execute};
use assay_workload::Spec;
use clap::ArgMatches;

use crate::command_line::typed;
use crate::exit::{Exit, as_usage, usage};
use crate::load_config::LoadConfig;
use crate::load_settings::load_settings;
use crate::show::{put, require_place};
use crate::units::rfc3339;
use crate::workload::{Changes, Workload};
use crate::{machine, units};

/// `assay study co`.
pub fn co(matches: &ArgMatches) -> Result<Exit> {
    let text = |name: &str| matches.get_one::<String>(name).map(String::as_str);
    let output = text("output").map(Path::new);
    let print = form(text("format"), output)?;
    let seed = match text("seed") {
        Some(text) => Seed(units::count(text).map_err(as_usage)?),
        None => Seed(1),
    };
    let now = || rfc3339(SystemTime::now());
    let keep = text("keep").map(Path::new);
    let request = OmissionRequest {
        figures: figures(text("figures"))?,
        seed,
        spec: spec()?,
        command: typed(),
        cores: machine::cores(),
        keep: keep.map(|dir| KeptRuns { dir, describe: &described, now: &now }),
    };
    output.map_or(Ok(()), |output| require_place("--output", output))?;
    let study = execute(&request)?;
    put(&print(&study), output)?;
    if !study.agreement().holds() {
        eprintln!("error: a result misses its closed form by more than 1 %; see the column off");
        return Ok(Exit::Internal);
    }
    Ok(Exit::Fine)
}

type Print = fn(&Study) -> String;

/// Text goes to a file as often as to a terminal.
const UNICODE: Style = Style { letters: Letters::Unicode, ..Style::PLAIN };

/// The output format, by name or by the file's extension.
fn form(name: Option<&str>, output: Option<&Path>) -> Result<Print> {
    let forms: [(&str, Print); 5] = [
        ("text", |study| document(study).text(UNICODE)),
        ("json", study_json),
        ("csv", study_csv),
        ("md", |study| document(study).markdown()),
        ("html", |study| document(study).page()),
    ];
    let ending = output.and_then(|path| path.extension()?.to_str());
    let named = |target: &str| forms.iter().find(|(name, _)| *name == target);
    let found = match (name, ending.and_then(named)) {
        (Some(name), _) => named(name).ok_or_else(|| {
            usage(format!("--format: {name:?} is none of text, json, csv, md, html"))
        })?,
        (None, Some(found)) => found,
        (None, None) => &forms[0],
    };
    Ok(found.1)
}

fn figures(text: Option<&str>) -> Result<Vec<u32>> {
    let Some(text) = text else { return Ok(vec![1, 3, 4, 5]) };
    let wrong = || usage(format!("--figures: {text:?}; give some of 1,3,4,5"));
    let figures = text.split(',').map(|word| word.trim().parse::<u32>().ok());
    let figures: Option<Vec<u32>> = figures.collect();
    figures.filter(|all| all.iter().all(|one| [1, 3, 4, 5].contains(one))).ok_or_else(wrong)
}

/// The workload to load and to run: reads of single records.
fn spec() -> Result<Spec> {
    let properties = SIZES.map(str::to_owned).to_vec();
    let changes = Changes { records: Some(RECORDS), properties, ..Changes::default() };
    let workload = Workload::read("ycsb-c", &changes)?;
    workload.records().cloned().context("ycsb-c has records")
}

/// A load of the study as a run directory describes it.
fn described(load: &Load) -> LoadSection {
    let model = if matches!(load, Load::Open(_)) { "open" } else { "closed" };
    let load_config = LoadConfig {
        load: load.clone(),
        extent: Extent::default(),
        timeout: Nanos::from_secs(3600),
        workers: 1,
        spin: Spin::Never,
        processors: Vec::new(),
        blocking_threads: 0,
        room: None,
        deadline: DEADLINE,
    };
    LoadSection {
        model: model.to_owned(),
        text: format!("{}; in simulated time", load_config.describe()),
        workers: 1,
        settings: load_settings(&load_config, StoreTime::Simulated, LoadPhase::Run),
    }
}

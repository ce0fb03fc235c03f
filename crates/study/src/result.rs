//! Result of a study, from its directory.

use std::path::Path;

use assay_analysis::hallmark::Hallmark;
use assay_analysis::matrix::{Cell, Matrix, MatrixFigures, durability, figures};
use assay_history::write_sheet;
use assay_model::{Nanos, Setting};
use assay_report::matrix::{
    CellFacts, FailedCell, MatrixStudy, PublishedFigures, StudyLoad, StudyStore, document,
    matrix_csv, matrix_json, matrix_sheet,
};
use assay_results::evidence::expected_misses;
use assay_results::run_dirs::HALLMARK;
use assay_results::shell::quoted;
use assay_results::{AnalyzedRun, ResultsError, analyze_run};

use crate::directory::{CellRecord, CellState, StudyDirectory, write_whole};
use crate::error::{StudyError, other};
use crate::file::StudyStoreSection;
use crate::plan::{PlannedCell, PlannedLoad, StudyPlan};
use crate::program::Program;

/// Where what the study found is kept in its directory.
const SHEET: &str = "cells.parquet";

/// Words that make a setting's value or meaning a warning wherever the store is shown.
const STAND_IN: &str = "stand-in";

/// Reads everything that has come of the cells.
pub fn gather(
    plan: &StudyPlan,
    kept: &StudyDirectory,
    program: &dyn Program,
    command: &[String],
    published: Option<PublishedFigures>,
) -> MatrixStudy {
    let mut study = empty(plan, program, command, published);
    let mut took = Nanos::ZERO;
    let mut began: Vec<&CellRecord> = Vec::new();
    for cell in &plan.cells {
        let Some(record) = kept.record(&cell.id) else { continue };
        began.push(record);
        let parts = [record.start_ns, record.fill_ns, Some(record.run_ns)];
        took = Nanos(took.0 + parts.into_iter().flatten().sum::<u64>());
        match record.state {
            CellState::Done => {
                let dir = kept.run_dir(&cell.id);
                match analyze_run(&dir, None) {
                    Ok(analyzed) => {
                        if !dir.join(HALLMARK).exists()
                            && let Err(error) = program.keep_hallmark(&dir, &analyzed)
                        {
                            study.notes.push(format!("{}: {error}", cell.id));
                        }
                        add(&mut study, cell, record, &analyzed);
                    }
                    Err(error) => study.failed.push(unreadable(cell, &dir, &error)),
                }
            }
            CellState::Failed => study.failed.push(FailedCell {
                id: cell.id.clone(),
                setup: cell.setup,
                reason: record.reason.clone(),
            }),
        }
    }
    study.took = took;
    study.is_as_drawn = began.is_sorted_by_key(|record| &record.began);
    // A moment of RFC 3339 is earlier if its text is less.
    began.sort_by_key(|record| &record.began);
    study.order = began.iter().map(|record| record.id.clone()).collect();
    let strangers = kept.strangers(plan);
    if strangers > 0 {
        let text =
            format!("the directory holds {strangers} cells of other options; they are not shown");
        study.notes.push(text);
    }
    label(&mut study);
    let clients: Vec<Option<u32>> = study.loads.iter().map(|load| load.clients).collect();
    study.figures = MatrixFigures::new(&study.matrix, &clients);
    study
}

/// A run directory that cannot be read does not prevent the page of the others.
fn unreadable(cell: &PlannedCell, run_dir: &Path, error: &ResultsError) -> FailedCell {
    let dir = run_dir.parent().unwrap_or(run_dir).display();
    FailedCell {
        id: cell.id.clone(),
        setup: cell.setup,
        reason: format!(
            "it came to its end, but its run directory cannot be read: {error}; remove {dir} \
             and the \
             same command runs it again"
        ),
    }
}

fn empty(
    plan: &StudyPlan,
    program: &dyn Program,
    command: &[String],
    published: Option<PublishedFigures>,
) -> MatrixStudy {
    let machine = program.machine();
    let title = match plan.file.title.is_empty() {
        true => format!("The study {}", plan.name),
        false => plan.file.title.clone(),
    };
    let store = |section: &StudyStoreSection| StudyStore {
        name: section.name.clone(),
        label: section.label.clone(),
    };
    let load = |load: &PlannedLoad| StudyLoad {
        name: load.name.clone(),
        text: load.text.clone(),
        clients: load.clients,
    };
    MatrixStudy {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        name: plan.name.clone(),
        title,
        about: plan.file.about.clone(),
        command: quoted(command),
        seed: plan.seed,
        machine: format!("{}, {}", machine.describe(), machine.system),
        stores: plan.stores.iter().map(store).collect(),
        workloads: plan.workloads.iter().map(|workload| workload.name.clone()).collect(),
        loads: plan.loads.iter().map(load).collect(),
        repetitions: plan.repetitions,
        planned: plan.cells.len(),
        matrix: Matrix::default(),
        figures: MatrixFigures::default(),
        facts: Vec::new(),
        failed: Vec::new(),
        is_interrupted: false,
        scale: plan.scale,
        took: Nanos::ZERO,
        order: Vec::new(),
        is_as_drawn: true,
        published,
        notes: plan.skipped.clone(),
    }
}

/// Adds a cell that was analyzed.
fn add(study: &mut MatrixStudy, cell: &PlannedCell, record: &CellRecord, analyzed: &AnalyzedRun) {
    let hallmark = analyzed.facts.hallmark.as_ref();
    let settings: Vec<Setting> =
        analyzed.manifest.store.settings.iter().cloned().map(Setting::from).collect();
    let mut figures = figures(&analyzed.summary, hallmark.map(|hallmark| hallmark.verdict));
    for (kind, misses) in expected_misses(&analyzed.manifest, &analyzed.summary) {
        figures.expect_misses(kind, misses);
    }
    study.matrix.cells.push(Cell {
        setup: cell.setup,
        repetition: cell.repetition,
        figures,
        durability: durability::durability(&settings),
        is_no_op: analyzed.facts.store.is_no_op,
    });
    study.facts.push(CellFacts {
        id: cell.id.clone(),
        run_dir: StudyDirectory::run_dir_name(&cell.id),
        commands: record.commands.clone(),
        settings,
        fill: record.fill_ns.map(Nanos),
        remarks: hallmark.map_or_else(String::new, remarks),
    });
}

/// The names of the checks that speak against a run, where any do.
fn remarks(hallmark: &Hallmark) -> String {
    let names: Vec<&str> = hallmark.reasons.iter().map(|id| id.name()).collect();
    names.join(", ")
}

/// A store that says of itself that it stands for another is labelled as that.
fn label(study: &mut MatrixStudy) {
    for (cell, facts) in study.matrix.cells.iter().zip(&study.facts) {
        let store = &mut study.stores[cell.setup.store];
        let reported = facts.settings.iter().find(|setting| {
            [&setting.value, &setting.meaning].iter().any(|text| text.contains(STAND_IN))
        });
        if let Some(setting) = reported.filter(|_| store.label.is_empty()) {
            let text =
                if setting.value.contains(STAND_IN) { &setting.value } else { &setting.meaning };
            store.label = text.clone();
        }
    }
}

/// Keeps page, tables and numbers in the study's directory.
///
/// # Errors
/// If they cannot be written.
pub fn keep(dir: &Path, study: &MatrixStudy) -> Result<(), StudyError> {
    write_sheet(&dir.join(SHEET), "assay.study.1", &matrix_sheet(study)).map_err(other)?;
    for (name, text) in [
        ("study.html", document(study).page()),
        ("study.md", document(study).markdown()),
        ("study.json", matrix_json(study)),
        ("cells.csv", matrix_csv(study)),
    ] {
        write_whole(&dir.join(name), &text)?;
    }
    Ok(())
}

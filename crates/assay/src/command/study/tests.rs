//! Tests of studies that need the commands of this program.

mod anomalies;
mod file;
mod java;
mod plan;

use std::path::Path;

use assay_study::anomalies::file::{AnomalyFile, is_of_anomalies};
use assay_study::builtin;
use assay_study::file::StudyFile;

use super::program::command_line;

#[test]
fn every_built_in_study_is_a_study_file_that_says_what_it_is_about() {
    let command_line = command_line();
    for study in &builtin::ALL {
        let path = Path::new(study.name);
        let is_right = match is_of_anomalies(study.text) {
            true => AnomalyFile::parse(study.text, path, &command_line).is_ok(),
            false => StudyFile::parse(study.text, path, &command_line).is_ok(),
        };
        assert!(is_right, "{}", study.name);
        assert!(study.about().len() > 20, "{}", study.name);
    }
}

//! Observations of the machines during a run, as `observations.parquet`.
//!
//! Long format, one row per number: any metric that is worth keeping fits, and a query engine
//! pivots it. Values of counters have grown since the run's epoch, so the difference of two rows
//! is what happened between them.

use std::path::Path;

use assay_model::Nanos;
use parquet::errors::ParquetError;

use crate::table::TableError;
use crate::table::row::{self, table_row};
use crate::{place, table};

/// One number that was seen at one moment.
#[derive(Clone, Debug, PartialEq)]
pub struct Observation {
    /// When, on the run's time axis.
    pub at: Nanos,
    /// Which machine, for example `client`.
    pub source: String,
    /// Which part of it, for example the thread `worker-0`; empty for the whole.
    pub part: String,
    /// What was seen, its unit last, for example `cpu_ns`.
    pub metric: String,
    /// The number.
    pub value: f64,
}

table_row! {
    Observation as "observation" {
        at => "at_ns",
        source => "source",
        part => "part",
        metric => "metric",
        value => "value",
    }
}

/// Writes the observations of the run directory `dir`, replacing earlier ones.
///
/// # Errors
/// If the disk does not take them; earlier ones then stay.
pub fn write_observations(dir: &Path, observations: &[Observation]) -> Result<(), TableError> {
    table::replace_listed(place::observations(dir), |path| row::write(path, observations))
}

/// Reads the observations of the run directory `dir`; none if there are none, as in old run
/// directories.
///
/// # Errors
/// If the file is damaged.
pub fn read_observations(dir: &Path) -> Result<Option<Vec<Observation>>, TableError> {
    let advice = "; without the file the hallmark does without it";
    table::read_listed(place::observations(dir), advice, row::read)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::tempdir;

    fn observed(at: u64, part: &str, metric: &str, value: f64) -> Observation {
        let [source, part, metric] = ["client", part, metric].map(str::to_owned);
        Observation { at: Nanos(at), source, part, metric, value }
    }

    #[test]
    fn observations_come_back() {
        let dir = tempdir("observations");
        let all = vec![
            observed(0, "", "steal_ns", 0.0),
            observed(250_000_000, "worker-0", "cpu_ns", 2.5e8),
            observed(1 << 62, "größer", "", -1.5e-9),
        ];
        write_observations(&dir, &all).unwrap();
        assert_eq!(read_observations(&dir).unwrap(), Some(all));
        write_observations(&dir, &[]).unwrap();
        assert_eq!(read_observations(&dir).unwrap(), Some(Vec::new()));
    }

    #[test]
    fn a_run_directory_without_observations_has_none() {
        assert_eq!(read_observations(&tempdir("no-observations")).unwrap(), None);
    }

    #[test]
    fn damaged_observations_are_an_error_that_names_the_file() {
        let dir = tempdir("torn-observations");
        write_observations(&dir, &[observed(1, "", "x", 1.0)]).unwrap();
        let path = place::observations(&dir);
        let bytes = std::fs::read(&path).unwrap();
        std::fs::write(&path, &bytes[..bytes.len() - 9]).unwrap();
        let error = read_observations(&dir).unwrap_err().to_string();
        assert!(error.contains("observations.parquet"), "{error}");
    }
}

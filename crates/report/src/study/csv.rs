//! The study as CSV.

use std::fmt::Write as _;

use assay_analysis::sawtooth::Figures;
use assay_model::Nanos;

use super::{MeasurementMethod, MethodResult, Study, StudyRun};
use crate::units::percentile_name;

/// The study as long-format CSV, one row for each number.
///
/// The columns are `rate,capacity,clock,sessions,measure,metric,unit,found,expected`; `sessions`
/// is empty for the open model, `expected` where there is no closed form.
pub fn study_csv(study: &Study) -> String {
    let mut out = "rate,capacity,clock,sessions,measure,metric,unit,found,expected\n".to_owned();
    for run in &study.runs {
        for method in &run.sights {
            csv_rows(run, method, &mut out);
        }
    }
    for client in &study.slow {
        let time = |time: Option<Nanos>| time.map_or(String::new(), |time| time.0.to_string());
        let _ = writeln!(
            out,
            "1000,1250,ns,{},{},back_with_pause_of_{}ns,ns,{},{}",
            client.sessions,
            MeasurementMethod::Intended.name(),
            client.pause.0,
            time(client.found_back),
            time(client.expected_back)
        );
    }
    out
}

fn csv_rows(run: &StudyRun, method: &MethodResult, out: &mut String) {
    let sessions = run.sessions.map_or(String::new(), |sessions| sessions.to_string());
    let found = metrics(&method.found);
    let expected = method.expected.as_ref().map(metrics);
    for (place, (metric, unit, value)) in found.iter().enumerate() {
        let target = expected.as_ref().map_or(String::new(), |all| all[place].2.to_string());
        let _ = writeln!(
            out,
            "{},{},{},{sessions},{},{metric},{unit},{value},{target}",
            run.sawtooth.rate,
            run.sawtooth.capacity,
            run.clock.name(),
            method.measure.name(),
        );
    }
}

/// Every figure with its name and unit.
fn metrics(figures: &Figures) -> Vec<(String, &'static str, u64)> {
    let mut metrics = vec![("mean".to_owned(), "ns", figures.mean_ns.round() as u64)];
    let quantiles = figures.quantiles.iter();
    metrics.extend(quantiles.map(|(quantile, time)| (percentile_name(*quantile), "ns", time.0)));
    metrics.push(("max".to_owned(), "ns", figures.max.0));
    metrics.push(("affected".to_owned(), "operations", figures.affected));
    metrics.push(("back".to_owned(), "ns", figures.back_after.0));
    metrics
}

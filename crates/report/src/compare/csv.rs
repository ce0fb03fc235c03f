//! A comparison as CSV: one row per figure.

use std::fmt::Write as _;

use assay_analysis::compare::Measure;

use super::{Contrast, figure_name};

/// The columns `figure,unit,base,new,base_runs,new_runs,effect,low,high,finding,asked`.
///
/// `base` with `new` are the medians of the runs' own figures; `effect` is their ratio of
/// geometric means, for shares (unit `share`) the difference of means; `low` with `high` are
/// empty where there is no interval.
pub fn csv(contrast: &Contrast) -> String {
    let mut out =
        "figure,unit,base,new,base_runs,new_runs,effect,low,high,finding,asked\n".to_owned();
    for row in &contrast.comparison.rows {
        let unit = match row.figure.measure {
            Measure::Throughput => "1/s",
            measure if measure.is_share() => "share",
            _ => "ns",
        };
        let end = |of: fn((f64, f64)) -> f64| row.interval.map(|i| of(i).to_string());
        let _ = writeln!(
            out,
            "{},{unit},{},{},{},{},{},{},{},{},{}",
            figure_name(row.figure),
            row.old.median,
            row.new.median,
            row.old.values.len(),
            row.new.values.len(),
            row.effect,
            end(|(low, _)| low).unwrap_or_default(),
            end(|(_, high)| high).unwrap_or_default(),
            row.finding.name(),
            row.is_asked
        );
    }
    out
}

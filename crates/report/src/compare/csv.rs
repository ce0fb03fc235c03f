//! A comparison as CSV: one row per figure.

use std::fmt::Write as _;

use assay_analysis::compare::{Measure, Spread};

use super::{Contrast, figure_name, words};

/// The columns `figure,unit,base,new,base_runs,new_runs,effect,low,high,finding,requested`.
///
/// `base` with `new` are the medians of the runs' own figures; `effect` is their ratio of
/// geometric means, for shares (unit `share`) the difference of means; `low` with `high` are
/// empty where there is no interval. A side that lacks a figure has an empty cell and 0 runs; the
/// effect is then `NaN`. It is `inf` where only `base` is zero.
pub fn csv(contrast: &Contrast) -> String {
    let mut out =
        "figure,unit,base,new,base_runs,new_runs,effect,low,high,finding,requested\n".to_owned();
    for row in &contrast.comparison.rows {
        let unit = match row.figure.measure {
            Measure::Throughput => "1/s",
            measure if measure.is_share() => "share",
            _ => "ns",
        };
        let median = |side: &Option<Spread>| side.as_ref().map(|side| side.median.to_string());
        let end = |of: fn((f64, f64)) -> f64| row.interval.map(|i| of(i).to_string());
        let _ = writeln!(
            out,
            "{},{unit},{},{},{},{},{},{},{},{},{}",
            figure_name(row.figure),
            median(&row.old).unwrap_or_default(),
            median(&row.new).unwrap_or_default(),
            words::runs(row.old.as_ref()),
            words::runs(row.new.as_ref()),
            row.effect,
            end(|(low, _)| low).unwrap_or_default(),
            end(|(_, high)| high).unwrap_or_default(),
            row.finding.name(),
            row.is_requested
        );
    }
    out
}

//! A comparison as CSV: one row per figure.

use assay_analysis::compare::{Measure, Row, Spread};

use super::{Contrast, figure_name, words};
use crate::table::Table;

/// The columns `figure,unit,base,new,base_runs,new_runs,effect,low,high,finding,requested`.
///
/// `base` with `new` are the medians of the runs' own figures; `effect` is their ratio of
/// geometric means, for shares (unit `share`) the difference of means; `low` with `high` are
/// empty where there is no interval. A side that lacks a figure has an empty cell and 0 runs; the
/// effect is then `NaN`. It is `inf` where only `base` is zero.
pub fn csv(contrast: &Contrast) -> String {
    let unit = |row: &Row| match row.figure.measure {
        Measure::Throughput => "1/s",
        measure if measure.is_share() => "share",
        _ => "ns",
    };
    let number = |number: Option<f64>| number.map_or(String::new(), |number| number.to_string());
    let median = |side: &Option<Spread>| number(side.as_ref().map(|side| side.median));
    Table::of(&contrast.comparison.rows)
        .left("figure", |row| figure_name(row.figure))
        .left("unit", |row| unit(row))
        .right("base", |row| median(&row.old))
        .right("new", |row| median(&row.new))
        .right("base_runs", |row| words::runs(row.old.as_ref()))
        .right("new_runs", |row| words::runs(row.new.as_ref()))
        .right("effect", |row| row.effect)
        .right("low", |row| number(row.interval.map(|(low, _)| low)))
        .right("high", |row| number(row.interval.map(|(_, high)| high)))
        .left("finding", |row| row.finding.name())
        .left("requested", |row| row.is_requested)
        .build()
        .csv()
}

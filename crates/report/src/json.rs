//! A result for programs: one versioned JSON object, or one line for each interval.
//!
//! Times are whole nanoseconds, rates are operations per second. No number is ever NaN or
//! infinite. [`schema_of`] and `docs/report.md` describe the objects.

mod schema;
mod shape;

pub use schema::{SCHEMAS, schema_of};

use assay_analysis::Summary;

use crate::facts::Facts;
use crate::object::{line, pretty};
use shape::{IntervalLine, ResultObject, SeriesObject, SummaryLine};

/// The version of the object that [`json`] prints.
pub const SCHEMA: &str = "assay/result/v2";

/// The version of the lines that [`ndjson`] prints.
pub const INTERVAL_SCHEMA: &str = "assay/interval/v1";

/// The result as one indented JSON object with a line end.
pub fn json(facts: &Facts, summary: &Summary) -> String {
    pretty(&ResultObject::new(facts, summary, Some(SeriesObject::new(&summary.series))))
}

/// One line for each interval, then the result without its series on the last line.
pub fn ndjson(facts: &Facts, summary: &Summary) -> String {
    let mut out = String::new();
    for interval in &summary.series.intervals {
        out += &line(&IntervalLine::new(&facts.run_id, &summary.series, interval));
    }
    out + &line(&SummaryLine::new(ResultObject::new(facts, summary, None)))
}

#[cfg(test)]
mod tests;

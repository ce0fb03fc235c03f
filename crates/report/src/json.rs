//! A result for programs: one versioned JSON object, or one line for each interval.
//!
//! Times are whole nanoseconds, rates are operations per second. No number is ever NaN or
//! infinite. The shape is described by [`json_schema`] and in `docs/report.md`.

mod schema;
mod shape;

pub use schema::{json_schema, schema_of};

use assay_analysis::Summary;

use crate::facts::Facts;
use shape::{IntervalLine, ResultObject, SeriesObject, SummaryLine};

/// The version of the object that [`json`] prints.
pub const SCHEMA: &str = "assay/result/v2";

/// The version of the lines that [`ndjson`] prints.
pub const INTERVAL_SCHEMA: &str = "assay/interval/v1";

/// The result as one indented JSON object with a line end.
pub fn json(facts: &Facts, summary: &Summary) -> String {
    let result = ResultObject::new(facts, summary, Some(SeriesObject::new(&summary.series)));
    let text = serde_json::to_string_pretty(&result)
        .expect("an object of numbers and texts with text keys is always JSON");
    text + "\n"
}

/// One line for each interval, then the result without its series on the last line.
pub fn ndjson(facts: &Facts, summary: &Summary) -> String {
    let mut out = String::new();
    for interval in &summary.series.intervals {
        push_line(&mut out, &IntervalLine::new(&facts.run_id, &summary.series, interval));
    }
    push_line(&mut out, &SummaryLine::new(ResultObject::new(facts, summary, None)));
    out
}

fn push_line(out: &mut String, value: &impl serde::Serialize) {
    out.push_str(
        &serde_json::to_string(value)
            .expect("an object of numbers and texts with text keys is always JSON"),
    );
    out.push('\n');
}

#[cfg(test)]
mod tests;

//! Report of what servers counted about themselves, in a table.

use assay_analysis::scraped::ScrapedUse;

use crate::facts::Facts;
use crate::table::Table;
use crate::units::{moment, three_digits};

/// Rows that are shown; the run directory has all.
const MOST_ROWS: usize = 40;

/// The metric with its labels, and its unit where that is not its own.
pub(crate) fn name(metric: &str, part: &str, is_rate: bool) -> String {
    let labels = if part.is_empty() { String::new() } else { format!("{{{part}}}") };
    let stem = if is_rate { metric.trim_end_matches("_total") } else { metric };
    let unit = if is_rate { "/s" } else { "" };
    format!("{stem}{labels}{unit}")
}

/// The extremes of each metric over the measured window; `None` if nothing was read there. What
/// stayed at zero is left out.
pub fn table(facts: &Facts) -> Option<Table> {
    let is_something = |used: &ScrapedUse| used.least != 0.0 || used.most != 0.0;
    let rows = facts.scraped.iter().filter_map(|one| Some((one, one.used.filter(is_something)?)));
    Table::of(rows.take(MOST_ROWS))
        .left("server", |(series, _)| &series.source)
        .left("", |(series, _)| name(series.metric, &series.part, series.is_rate))
        .right("least", |(_, used)| three_digits(used.least))
        .right("mean", |(_, used)| three_digits(used.mean))
        .right("most", |(_, used)| three_digits(used.most))
        .right("at", |(_, used)| moment(used.most_at))
        .build()
        .filled()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_metric_is_called_by_its_name_with_its_unit() {
        assert_eq!(name("used_memory", "", false), "used_memory");
        assert_eq!(name("evicted_keys_total", "", true), "evicted_keys/s");
        assert_eq!(name("io_total", "device=\"a\"", true), "io{device=\"a\"}/s");
    }
}

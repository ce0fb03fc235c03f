//! Report of what servers counted about themselves, in a table.

use assay_analysis::scraped::{ScrapedSeries, ScrapedUse};

use crate::facts::Facts;
use crate::table::{Align, Table};
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
    let rows = facts.scraped.iter().filter_map(|series| Some((series, series.used?)));
    let is_nothing = |used: &ScrapedUse| used.least == 0.0 && used.most == 0.0;
    let rows: Vec<(&ScrapedSeries, ScrapedUse)> =
        rows.filter(|(_, used)| !is_nothing(used)).collect();
    if rows.is_empty() {
        return None;
    }
    let mut table = Table::new(&[
        ("server", Align::Left),
        ("", Align::Left),
        ("least", Align::Right),
        ("mean", Align::Right),
        ("most", Align::Right),
        ("at", Align::Right),
    ]);
    for (series, used) in rows.into_iter().take(MOST_ROWS) {
        table.row(vec![
            series.source.clone(),
            name(series.metric, &series.part, series.is_rate),
            three_digits(used.least),
            three_digits(used.mean),
            three_digits(used.most),
            moment(used.most_at),
        ]);
    }
    Some(table)
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

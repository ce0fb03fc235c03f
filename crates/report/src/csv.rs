//! A result as long-format CSV: one row per kind of operation with one metric.

use std::fmt::Write as _;

use assay_analysis::{Distribution, Group, Interval, Latency, Summary};

use crate::escape::quoted;
use crate::facts::Facts;
use crate::units::percentile_name;

/// The result with the columns `kind,metric,unit,value`, RFC 4180 quoting, `\n` line ends.
///
/// `kind` is a kind's name, a transaction type's name, `all transactions`, `query` with a query's
/// name, `process`, or `all`. Counts are in `operations`,
/// `bytes` or `rows`, rates in `1/s`, latencies in `ns`. A metric of no values is left out. The
/// first row has the hallmark's verdict, if the run was examined.
pub fn csv(facts: &Facts, summary: &Summary) -> String {
    let mut sheet = Sheet { text: "kind,metric,unit,value\n".to_owned() };
    if let Some(hallmark) = &facts.hallmark {
        sheet.row("all", "hallmark", "verdict", hallmark.verdict.name());
    }
    for (kind, group) in &summary.kinds {
        sheet.group(kind.name(), group);
    }
    for types in &summary.transactions {
        sheet.group(&types.name, &types.group);
        sheet.row(&types.name, "unfinished", "operations", types.unfinished);
    }
    if let Some(group) = &summary.all_transactions {
        sheet.group("all transactions", group);
    }
    for query in &summary.queries {
        let name = format!("query {}", query.name);
        sheet.group(&name, &query.group);
        sheet.row(&name, "requests_mean", "requests", query.requests_mean);
    }
    if let Some(processes) = &summary.processes {
        sheet.group("process", &processes.group);
        sheet.row("process", "unfinished", "operations", processes.unfinished);
    }
    sheet.group("all", &summary.overall);
    sheet.distribution("all", "issued.lag", &summary.lag);
    sheet.text
}

struct Sheet {
    text: String,
}

impl Sheet {
    fn row(&mut self, kind: &str, metric: &str, unit: &str, value: impl std::fmt::Display) {
        // Writing to a String cannot fail.
        let _ = writeln!(self.text, "{},{metric},{unit},{value}", quoted(kind));
    }

    fn group(&mut self, kind: &str, group: &Group) {
        let counts = &group.counts;
        for (metric, count) in [
            ("offered", counts.offered),
            ("done", counts.done),
            ("hits", counts.hits),
            ("misses", counts.misses),
            ("good", counts.good),
            ("refused", counts.refused),
            ("unknown", counts.unknown),
            ("dropped", counts.dropped),
        ] {
            self.row(kind, metric, "operations", count);
        }
        for (outcome, reason, count) in &counts.reasons {
            let metric = format!("{}.{}", outcome.name(), reason.name());
            self.row(kind, &metric, "operations", count);
        }
        self.row(kind, "bytes_in", "bytes", counts.bytes_in);
        self.row(kind, "bytes_out", "bytes", counts.bytes_out);
        self.row(kind, "rows", "rows", counts.rows);
        let rates = &group.rates;
        if let Some(target) = rates.target_per_s {
            self.row(kind, "target", "1/s", target);
        }
        for (metric, rate) in [
            ("offered_rate", rates.offered_per_s),
            ("attempted_rate", rates.attempted_per_s),
            ("done_rate", rates.done_per_s),
            ("goodput", rates.goodput_per_s),
        ] {
            self.row(kind, metric, "1/s", rate);
        }
        self.latency(kind, "hits", &group.hits);
        self.latency(kind, "misses", &group.misses);
        self.latency(kind, "failed", &group.failed);
    }

    fn latency(&mut self, kind: &str, of: &str, latency: &Latency) {
        self.distribution(kind, &format!("{of}.response"), &latency.response);
        self.distribution(kind, &format!("{of}.service"), &latency.service);
        self.distribution(kind, &format!("{of}.lag"), &latency.lag);
    }

    fn distribution(&mut self, kind: &str, of: &str, distribution: &Distribution) {
        if distribution.count == 0 {
            return;
        }
        self.row(kind, &format!("{of}.mean"), "ns", distribution.mean_ns.round());
        self.row(kind, &format!("{of}.min"), "ns", distribution.min.0);
        for percentile in &distribution.percentiles {
            let metric = format!("{of}.{}", percentile_name(percentile.quantile));
            self.row(kind, &metric, "ns", percentile.value.0);
            if let Interval::TooFew { shortage, .. } = percentile.interval {
                self.row(kind, &format!("{metric}.no_interval"), "reason", shortage.name());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect_file;

    use super::*;
    use crate::sample;

    #[test]
    fn each_kind_has_a_row_for_each_metric() {
        expect_file!["../snapshots/report.csv"]
            .assert_eq(&csv(&sample::facts(), &sample::summary()));
    }

    #[test]
    fn every_row_has_four_cells_and_a_finite_number_or_a_reason() {
        for line in csv(&sample::facts(), &sample::summary()).lines().skip(1) {
            let cells: Vec<&str> = line.split(',').collect();
            assert_eq!(cells.len(), 4, "{line}");
            let is_number = cells[3].parse::<f64>().is_ok_and(f64::is_finite);
            assert!(is_number || cells[2] == "reason", "{line}");
        }
    }

    #[test]
    fn names_with_commas_and_quotes_are_quoted() {
        assert_eq!(quoted("a,\"b\""), "\"a,\"\"b\"\"\"");
    }
}

//! The figures of the study as rows, with what the paper says of the same load.

use super::{Precision, PrecisionRun, RunEnd};
use crate::table::{Align, Table};
use crate::units::{Letters, count, duration, rate, three_digits};

/// What the columns mean.
pub const MEANING: &str = "Scheduling latency in µs: between the moment at which a process \
    was meant to begin and the sending of its first operation, quantiles as in figure 6. Response: \
    from the moment at which a process was meant to begin to its last answer. Done: processes that \
    came to their end, per second.";

/// What the paper says of its own runs. Its figure 6 has no numbers in the text.
pub const PAPER: [&str; 3] = [
    "Bermbach et al., “BenchFoundry: A Benchmarking Framework for Cloud Storage Services”, ICSOC \
     2017, section 5: one instance on a t2.small of Amazon EC2 issued MariaDB on an m4.xlarge, \
     with 4,211 rows in nine tables, four kinds of process of one transaction each, two processes \
     per second times the load factor at a constant rate, for 120 s. Figure 6 shows boxes of the \
     5th, 25th, 50th, 75th and 95th percentile.",
    "The text gives no numbers. Scheduling latency was low for normal load levels and rose with \
     the load; factor 125 effectively overloaded the instance, factors 250 and 625 ended for want \
     of memory. Of another experiment it says that factor 50 was more than a small instance could \
     sustain with reasonable precision.",
    "Two machines of different size and age cannot be ranked by this. It shows up to which load a \
     generator's own figures can be trusted: what is late before the store is queried is not the \
     store's.",
];

/// What the paper says of a load factor, in a few words.
pub fn paper(factor: f64) -> &'static str {
    match factor {
        f if [1.0, 5.0, 25.0].contains(&f) => "no number",
        50.0 => "imprecise",
        125.0 => "overloaded",
        f if [250.0, 625.0].contains(&f) => "out of memory",
        _ => "-",
    }
}

/// Workload, store and load, as titled lines.
pub fn circumstances(precision: &Precision, letters: Letters) -> Vec<(&'static str, String)> {
    vec![
        ("store", precision.url.clone()),
        ("starts", precision.starts.clone()),
        ("data set", precision.loaded.clone()),
        ("each run", duration(precision.duration, letters)),
        ("seed", precision.seed.to_string()),
        ("machine", precision.machine.clone()),
        ("version", precision.version.clone()),
        ("kept in", precision.dir.clone()),
    ]
}

/// A row for each run.
pub fn numbers(precision: &Precision, letters: Letters) -> Table {
    let right = Align::Right;
    let mut columns = vec![("factor", right), ("planned", right), ("done", right)];
    columns.extend(["p5", "p25", "p50", "p75", "p95", "max"].map(|name| (name, right)));
    columns.extend([("response p50", right), ("p95", right), ("failed", right)]);
    columns.extend([("hallmark", Align::Left), ("paper", Align::Left)]);
    let mut table = Table::new(&columns);
    precision.runs.iter().for_each(|run| table.row(row(run, letters)));
    table
}

fn row(run: &PrecisionRun, letters: Letters) -> Vec<String> {
    let none = || "-".to_owned();
    let figures = run.figures.as_ref();
    let mut cells = vec![run.factor.to_string(), rate(run.planned_per_s)];
    cells.push(figures.map_or_else(none, |figures| rate(figures.done_per_s)));
    match figures.and_then(|figures| figures.starts) {
        Some(starts) => {
            let micros = |ns: u64| match ns as f64 / 1e3 {
                us if us < 999.5 => three_digits(us),
                us => count(us.round() as u64),
            };
            cells.extend(starts.quantiles.iter().chain([&starts.max]).map(|time| micros(time.0)));
        }
        None => cells.extend((0..6).map(|_| none())),
    }
    match figures.and_then(|figures| figures.response) {
        Some(found) => {
            cells.extend([found.p50(), found.p95()].map(|time| duration(time, letters)));
        }
        None => cells.extend([none(), none()]),
    }
    cells.push(figures.map_or_else(none, |figures| count(figures.failed)));
    cells.push(match (&run.ending, figures) {
        (RunEnd::Failed(_), None) => "no run".to_owned(),
        (_, Some(figures)) => figures.hallmark.clone(),
        (_, None) => none(),
    });
    cells.push(paper(run.factor).to_owned());
    cells
}

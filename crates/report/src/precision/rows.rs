//! The figures of the study as rows, with what the paper says of the same load.

use assay_model::Nanos;

use super::{Precision, PrecisionFigures, PrecisionRun, RunEnd};
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
    let none = || "-".to_owned();
    let of = |run: &PrecisionRun, cell: &dyn Fn(&PrecisionFigures) -> Option<String>| {
        run.figures.as_ref().and_then(cell).unwrap_or_else(none)
    };
    let starts = |run: &&PrecisionRun| {
        let found = run.figures.as_ref().and_then(|figures| figures.starts);
        let times = found.map(|found| found.quantiles.into_iter().chain([found.max]).map(micros));
        times.map_or(vec!["-".to_owned(); 6], Iterator::collect)
    };
    let hallmark = |run: &PrecisionRun| match (&run.ending, &run.figures) {
        (RunEnd::Failed(_), None) => "no run".to_owned(),
        (_, Some(figures)) => figures.hallmark.clone(),
        (_, None) => none(),
    };
    let time = |time: Nanos| duration(time, letters);
    Table::of(&precision.runs)
        .right("factor", |run| run.factor)
        .right("planned", |run| rate(run.planned_per_s))
        .right("done", |run| of(run, &|figures| Some(rate(figures.done_per_s))))
        .columns(Align::Right, ["p5", "p25", "p50", "p75", "p95", "max"], starts)
        .right("response p50", |run| of(run, &|figures| Some(time(figures.response?.p50()))))
        .right("p95", |run| of(run, &|figures| Some(time(figures.response?.p95()))))
        .right("failed", |run| of(run, &|figures| Some(count(figures.failed))))
        .left("hallmark", |run| hallmark(run))
        .left("paper", |run| paper(run.factor))
        .build()
}

fn micros(time: Nanos) -> String {
    match time.0 as f64 / 1e3 {
        us if us < 999.5 => three_digits(us),
        us => count(us.round() as u64),
    }
}

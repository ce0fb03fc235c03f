//! The figures as a Markdown page.

use std::fmt::Write;

use crate::bench::Options;
use crate::bench::bars::bar;
use crate::bench::figures::Figure;
use crate::bench::machine::Machine;

const METHOD: &str = "\
Closed loop: one lane, one session, every operation kept in the history. Open loop: one lane,
workload C, Poisson arrivals. Trace generation: per second of processor time. YCSB:
`site.ycsb:core` 0.17.0 from Maven Central, BasicDB with `basicdb.verbose=false`, one thread, no
history; by the bridge it is the same class, called by us in a Java virtual machine of our process.
Redis: on loopback, 100,000 records of one field of 100 bytes; in closed loop as many
connections as sessions (the size) without pipelining, as YCSB's binding has them; client CPU is
the whole command's, start with report included, per operation. Floor of lag: a loop that does
nothing but read the clock, just before the run of that rate; arrivals that fall into its gaps are
late on this machine whoever asks for them.
";

/// The page.
pub fn page(
    machine: &Machine,
    options: &Options,
    figures: &[Figure],
    failures: &[String],
) -> String {
    let mut page = head(machine, options);
    page += "| what | size | median | min – max | bar | verdict |\n|---|---|---|---|---|---|\n";
    let ratios = ratios(figures);
    for figure in figures.iter().chain(&ratios) {
        page += &row(figure);
    }
    if !failures.is_empty() {
        page += "\nNot measured:\n\n";
        for failure in failures {
            let first = failure.lines().next().unwrap_or("");
            writeln!(page, "* {first}").expect("a string can always grow");
        }
    }
    page
}

fn head(machine: &Machine, options: &Options) -> String {
    let Machine { processor, cores, memory, kernel, date, load, compiler } = machine;
    let runs = options.runs;
    let quick = if options.quick { " Quick sizes: these figures prove nothing." } else { "" };
    format!(
        "# Numbers\n\n\
         Measured by `cargo xtask bench` on {date}: {processor}, {cores} threads, {memory:.0} GiB, \
         {kernel}, {compiler};\nload average before {load}. Medians of {runs} runs, all cases in \
         turn.{quick}\n\n{METHOD}\n"
    )
}

fn row(figure: &Figure) -> String {
    let Figure { what, size, median, min, max, .. } = figure;
    let shown = |value: f64| show(value, &figure.unit);
    let (bound, verdict) = match bar(figure) {
        Some(bar) if bar.is_met(*median) => (bar.show(shown), "met"),
        Some(bar) => (bar.show(shown), "**missed**"),
        None => (String::new(), ""),
    };
    let (median, min, max) = (shown(*median), shown(*min), shown(*max));
    format!("| {what} | {size} | {median} | {min} – {max} | {bound} | {verdict} |\n")
}

/// Ours over the peer's, workload by workload at the same size.
///
/// The spread is the worst and the best that the two spreads allow.
fn ratios(figures: &[Figure]) -> Vec<Figure> {
    let mut ratios = Vec::new();
    for ours in figures {
        let Some(workload) = ours.what.strip_prefix("closed loop, null, ") else { continue };
        let peer = format!("YCSB BasicDB, {workload}");
        let Some(theirs) = figures.iter().find(|f| f.what == peer && f.size == ours.size) else {
            continue;
        };
        ratios.push(Figure {
            what: format!("ratio to YCSB BasicDB, {workload}"),
            size: ours.size.clone(),
            unit: "×".to_owned(),
            median: ours.median / theirs.median,
            min: ours.min / theirs.max,
            max: ours.max / theirs.min,
            runs: ours.runs.min(theirs.runs),
        });
    }
    ratios
}

/// A value as a person reads it.
fn show(value: f64, unit: &str) -> String {
    match unit {
        "ns" => match value {
            v if v >= 1e9 => format!("{:.2} s", v / 1e9),
            v if v >= 1e6 => format!("{:.2} ms", v / 1e6),
            v if v >= 1e3 => format!("{:.2} µs", v / 1e3),
            v => format!("{v:.1} ns"),
        },
        _ if unit.starts_with("/s") && value >= 1e6 => format!("{:.2} M{unit}", value / 1e6),
        _ if unit.starts_with("/s") && value >= 1e3 => format!("{:.1} k{unit}", value / 1e3),
        _ => format!("{value:.3} {unit}").trim_end().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figure(what: &str, size: &str, values: [f64; 3], unit: &str) -> Figure {
        let [min, median, max] = values;
        let (what, size, unit) = (what.to_owned(), size.to_owned(), unit.to_owned());
        Figure { what, size, unit, median, min, max, runs: 3 }
    }

    #[test]
    fn rows_say_whether_the_bar_is_met() {
        let met = figure("closed loop, null, ycsb-a", "5M", [6.5e6, 7e6, 7.25e6], "/s");
        let expected = "| closed loop, null, ycsb-a | 5M | 7.00 M/s | 6.50 M/s – 7.25 M/s \
                        | ≥ 6.00 M/s | met |\n";
        assert_eq!(row(&met), expected);
        let missed = figure("open loop, null, lag p99", "1M/s", [2e4, 3e4, 4e4], "ns");
        assert!(row(&missed).contains("| ≤ 20.00 µs | **missed** |"), "{}", row(&missed));
        let free = figure("YCSB BasicDB, ycsb-a", "5M", [1e6, 1e6, 1e6], "/s");
        assert!(row(&free).ends_with("|  |  |\n"), "{}", row(&free));
    }

    #[test]
    fn ratios_pair_the_same_workload_at_the_same_size() {
        let figures = [
            figure("closed loop, null, ycsb-a", "5M", [4e6, 6e6, 8e6], "/s"),
            figure("YCSB BasicDB, ycsb-a", "5M", [1e6, 2e6, 4e6], "/s"),
            figure("YCSB BasicDB, ycsb-a", "20M", [1e6, 1e6, 1e6], "/s"),
        ];
        let found: Vec<_> =
            ratios(&figures).iter().map(|f| (f.size.clone(), f.median, f.min, f.max)).collect();
        assert_eq!(found, [("5M".to_owned(), 3.0, 1.0, 8.0)]);
    }

    #[test]
    fn values_are_shown_in_units_that_fit() {
        let shown = [(999.0, "ns"), (12_340.0, "ns"), (2_500.0, "/s"), (0.5, "")];
        let texts = shown.map(|(value, unit)| show(value, unit));
        assert_eq!(texts, ["999.0 ns", "12.34 µs", "2.5 k/s", "0.500"]);
    }
}

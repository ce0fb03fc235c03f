//! The figures as a Markdown page.

use std::fmt::Write;

use crate::bench::Options;
use crate::bench::bars::bar;
use crate::bench::figures::Figure;
use crate::bench::machine::Machine;
use crate::bench::peer::{JEDIS, VERSION};

/// How everything is measured.
fn method() -> String {
    format!(
        "\
Closed loop: one thread, two sessions, every operation kept in the history: the path that every
store takes. Bursts: the same with one session, where the null and memory stores alone take a
shorter path (decision 0018). Open loop: one thread, workload C, Poisson arrivals. Trace
generation: per second of processor time. YCSB: `site.ycsb:core` {VERSION} from Maven Central,
BasicDB with `basicdb.verbose=false`, one thread, no history; by the bridge it is the same class,
called by us in a Java virtual machine of our process. Redis: on loopback, held to the last
processor by its own `server_cpulist`, our worker in open loop to the first; 100,000 records of one
field of 100 bytes; in closed loop as many connections as sessions (the size) without pipelining,
as YCSB's binding has them; client CPU is the whole command's, start with report included, per
operation; what the system's calls alone take is the floor of `redis.hgetall-1x100`, on several
connections its `connections.floor`. YCSB on Redis: its own client, with a binding of ours that
sends what its own does, by the same library, Jedis {JEDIS}. Floor of lag: a loop that does nothing
but read the clock, just before the run of that rate; arrivals that fall into its gaps are late on
this machine with any client. For Redis it runs beside a thread that never rests, as a server that
is never idle does; one that is idle at times leaves more.
"
    )
}

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
        page += &row(figure, options.runs);
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
         For those who want to know what the instrument itself costs, beside its peers.\n\n\
         Measured by `cargo xtask bench` on {date}:\n{processor}, {cores} threads, \
         {memory:.0} GiB, {kernel},\n{compiler}; load average before {load}. Medians of {runs} \
         runs,\nall cases in turn.{quick}\n\n{}\n",
        method()
    )
}

/// The row of a figure that was measured `requested` times; says so if there are fewer values.
fn row(figure: &Figure, requested: usize) -> String {
    let Figure { what, size, median, min, max, runs, .. } = figure;
    let display = |value: f64| show(value, &figure.unit);
    let (bound, verdict) = match bar(figure) {
        Some(bar) if bar.is_met(*median) => (bar.show(display), "met"),
        Some(bar) => (bar.show(display), "**missed**"),
        None => (String::new(), ""),
    };
    let (median, min, max) = (display(*median), display(*min), display(*max));
    let few =
        if *runs < requested { format!(" ({runs} of {requested} runs)") } else { String::new() };
    format!("| {what} | {size} | {median}{few} | {min} – {max} | {bound} | {verdict} |\n")
}

/// A figure of ours with the peer's of the same sort.
struct Pair {
    /// What the names of ours are or begin with.
    ours: &'static str,
    /// What those of the peer's do.
    theirs: &'static str,
    /// The ratio of both.
    ratio: &'static str,
}

const PAIRS: [Pair; 3] = [
    Pair { ours: "closed loop, null", theirs: "YCSB BasicDB", ratio: "ratio to YCSB BasicDB" },
    Pair {
        ours: "redis, closed loop",
        theirs: "YCSB on Redis, closed loop",
        ratio: "redis, throughput to YCSB's",
    },
    Pair {
        ours: "redis, client CPU",
        theirs: "YCSB on Redis, client CPU",
        ratio: "redis, CPU to YCSB's",
    },
];

/// Ours over the peer's of the same workload at the same size.
///
/// The spread is the worst and the best that the two spreads allow.
fn ratios(figures: &[Figure]) -> Vec<Figure> {
    PAIRS
        .iter()
        .flat_map(|pair| figures.iter().filter_map(|ours| ratio(pair, ours, figures)))
        .collect()
}

fn ratio(pair: &Pair, ours: &Figure, figures: &[Figure]) -> Option<Figure> {
    let workload = ours.what.strip_prefix(pair.ours)?;
    let peer = format!("{}{workload}", pair.theirs);
    let theirs = figures.iter().find(|f| f.what == peer && f.size == ours.size)?;
    Some(Figure {
        what: format!("{}{workload}", pair.ratio),
        size: ours.size.clone(),
        unit: "×".to_owned(),
        median: ours.median / theirs.median,
        min: ours.min / theirs.max,
        max: ours.max / theirs.min,
        runs: ours.runs.min(theirs.runs),
    })
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
        assert_eq!(row(&met, 3), expected);
        let missed = figure("open loop, null, lag p99", "1M/s", [2e4, 3e4, 4e4], "ns");
        assert!(row(&missed, 3).contains("| ≤ 20.00 µs | **missed** |"), "{}", row(&missed, 3));
        let free = figure("YCSB BasicDB, ycsb-a", "5M", [1e6, 1e6, 1e6], "/s");
        assert!(row(&free, 3).ends_with("|  |  |\n"), "{}", row(&free, 3));
    }

    #[test]
    fn rows_say_how_many_runs_are_missing() {
        let figure = figure("YCSB BasicDB, ycsb-a", "5M", [1e6, 2e6, 3e6], "/s");
        assert!(row(&figure, 5).contains("| 2.00 M/s (3 of 5 runs) |"), "{}", row(&figure, 5));
        assert!(row(&figure, 3).contains("| 2.00 M/s |"), "{}", row(&figure, 3));
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
    fn redis_has_a_ratio_of_each_sort() {
        let figures = [
            figure("redis, closed loop", "4", [6e4, 7e4, 8e4], "/s"),
            figure("redis, client CPU", "4", [5e3, 6e3, 7e3], "ns"),
            figure("YCSB on Redis, closed loop", "4", [3e4, 3.5e4, 4e4], "/s"),
            figure("YCSB on Redis, client CPU", "4", [1e4, 1.2e4, 2e4], "ns"),
        ];
        let found: Vec<_> = ratios(&figures).iter().map(|f| (f.what.clone(), f.median)).collect();
        let expected = [("redis, throughput to YCSB's", 2.0), ("redis, CPU to YCSB's", 0.5)];
        assert_eq!(found, expected.map(|(what, ratio)| (what.to_owned(), ratio)));
    }

    #[test]
    fn values_are_shown_in_units_that_fit() {
        let display = [(999.0, "ns"), (12_340.0, "ns"), (2_500.0, "/s"), (0.5, "")];
        let texts = display.map(|(value, unit)| show(value, unit));
        assert_eq!(texts, ["999.0 ns", "12.34 µs", "2.5 k/s", "0.500"]);
    }
}

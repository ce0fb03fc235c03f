//! A study on one page.

mod latency;
mod published;

use std::fmt::Write as _;

use assay_analysis::compare::Spread;
use assay_analysis::matrix::{Metric, OperationFilter, Place, Setup};
use assay_analysis::usl::EXPLAINED_MIN;

use super::axis::{Axis, Unit};
use super::bar_chart::{BarChart, Series};
use super::escape::escape;
use super::line_chart::{Height, Line, LineChart};
use super::{page, sections};
use crate::matrix::rows::{Curve, Detail, counts_transactions, over_clients};
use crate::matrix::{
    MatrixStudy, barred, believable, checks, durability, failures, figures, findings, has_rivals,
    looks_at, metric_name, metric_text, ranking, refusals, scaling, setup_name, usl_fits,
};
use crate::units::{Letters, count, duration, percent, plural};

const LETTERS: Letters = Letters::Unicode;

/// Colours of stores, one after the other.
const COLOURS: [&str; 8] = ["s0", "s1", "s2", "s3", "s4", "s5", "s6", "s7"];

/// A chart with more closed loads than this is a line over clients, not a chart for each.
const LOADS_MAX: usize = 3;

const SOLID: &[u8] = &[];
const DASHED: &[u8] = &[5, 4];

/// The study as one file that needs no network.
pub fn matrix_html(study: &MatrixStudy) -> String {
    let curves = curves(study);
    let sweeps = sweeps(study);
    let mut body = header(study);
    body += &cards(study);
    body += &said(study);
    body += &kept(study);
    body += &rankings(study);
    if is_sweep(study) {
        body += &latency::section(study);
    }
    for load in shown_loads(study) {
        body += &charts_of(study, load);
    }
    body += &over_nodes(&curves);
    if !is_sweep(study) {
        body += &latency::section(study);
    }
    body += &by_clients(study, &sweeps);
    body += &published::section(study);
    body += &checked(study);
    body += &failed(study);
    body += &numbers(study);
    body += &repetition(study);
    let charts: Vec<&LineChart> =
        curves.iter().chain(&sweeps).map(|titled| &titled.chart).collect();
    page(&study.title, &body, &charts)
}

/// A chart with what stands above it.
struct Titled {
    title: String,
    chart: LineChart,
}

fn colour(place: usize) -> &'static str {
    COLOURS[place % COLOURS.len()]
}

fn header(study: &MatrixStudy) -> String {
    let mut out = format!(
        "<header><p class=\"brand\">Assay <span>{}</span></p>\n<h1>{}</h1>\n<p class=\"sub\">{}\
         </p></header>\n<section class=\"verdict\" aria-label=\"Verdict\">\n",
        escape(&study.version),
        escape(&study.title),
        escape(&format!(
            "{} × {} × {}, {} each · {}",
            plural(study.stores.len() as u64, "store"),
            plural(study.workloads.len() as u64, "workload"),
            plural(study.loads.len() as u64, "load"),
            plural(study.repetitions.into(), "run"),
            study.machine
        )),
    );
    for (place, finding) in findings(study, LETTERS).iter().enumerate() {
        out += &sections::verdict_line(finding, place == 0);
    }
    out + "</section>\n"
}

fn cards(study: &MatrixStudy) -> String {
    let cells = &study.matrix.cells;
    let operations: u64 = cells
        .iter()
        .filter_map(|cell| cell.figures.of(OperationFilter::All))
        .map(|of| of.counts.offered)
        .sum();
    let valid = believable(study);
    let failed = study.failed.len() as u64;
    let mut out = "<section class=\"cards\" aria-label=\"Figures\">\n".to_owned();
    let of = format!("of {}, {} failed", count(study.planned as u64), count(failed));
    out += &sections::card("Runs", &count(cells.len() as u64), &of);
    let note = "with starting and filling the stores";
    out += &sections::card("Time", &duration(study.took, LETTERS), note);
    let scale = match study.scale == 1.0 {
        true => "as the study file says".to_owned(),
        false => format!("{} of what the study file says", percent(study.scale)),
    };
    out += &sections::card("Operations", &count(operations), &scale);
    out += &sections::card("Hallmarks", &count(valid as u64), "runs with valid figures");
    out + "</section>\n"
}

/// What the author says of the study.
fn said(study: &MatrixStudy) -> String {
    if study.about.is_empty() {
        return String::new();
    }
    let paragraphs = study.about.split("\n\n").map(|text| {
        format!(
            "<p class=\"lead\">{}</p>\n",
            escape(&text.split_whitespace().collect::<Vec<_>>().join(" "))
        )
    });
    format!(
        "{}{}</section>\n",
        sections::section("about", "About", ""),
        paragraphs.collect::<String>()
    )
}

fn kept(study: &MatrixStudy) -> String {
    sections::section(
        "durability",
        "What is promised",
        "As each store tells it of itself after the runs. A store that promises less has less to \
         do: compare those that promise the same.",
    ) + &sections::table(&durability(study), "promises")
        + "</section>\n"
}

fn rankings(study: &MatrixStudy) -> String {
    let mut out = sections::section(
        "ranking",
        "Ranking",
        "Means of the runs. ≈ says that the 95 % interval is not apart from that of the place \
         before; ? that nobody can tell, since one of the two has a single run and so no interval; \
         † that a run has no hallmark. Behind each figure, how many times better the first \
         place is.",
    );
    let displayed = shown_loads(study);
    let mut more = String::new();
    for (place, load) in study.loads.iter().enumerate() {
        let Some(table) = ranking(study, place, LETTERS) else { continue };
        let by = metric_name(study.ranked_by(place));
        let title = format!("<h3>{}, by {by}</h3>\n", escape(&load.text));
        let into = if displayed.contains(&place) { &mut out } else { &mut more };
        *into += &(title + &sections::table(&table, "dense ranks"));
    }
    if !more.is_empty() {
        out += &sections::details("With other loads", &more);
    }
    let refused = refusals(study);
    if !out.contains("<table") && more.is_empty() {
        out += match has_rivals(study) {
            true => {
                "<p class=\"note\">Wherever stores have workload, load and number of nodes in \
                 common, fewer than two of them may be ranked.</p>\n"
            }
            false => {
                "<p class=\"note\">No two stores have workload, load and number of nodes in \
                 common, so there is nothing to rank.</p>\n"
            }
        };
    }
    if !refused.is_empty() {
        out += "<h3>In no ranking</h3>\n<ul>";
        for line in refused {
            let _ = write!(out, "<li>{}</li>", sections::grouped(&escape(&line)));
        }
        out += "</ul>\n";
    }
    out + "</section>\n"
}

/// Whether what the study asks is how stores go on as clients become more.
fn is_sweep(study: &MatrixStudy) -> bool {
    study.loads.iter().filter(|load| load.clients.is_some()).count() > LOADS_MAX
}

/// The loads that have charts of columns: all, but of a sweep over clients or rates the last.
fn shown_loads(study: &MatrixStudy) -> Vec<usize> {
    let is_closed = |load: &usize| study.loads[*load].clients.is_some();
    let (closed, open): (Vec<usize>, Vec<usize>) = (0..study.loads.len()).partition(is_closed);
    let mut shown: Vec<usize> = [closed, open]
        .iter()
        .flat_map(|sort| if sort.len() > LOADS_MAX { &sort[sort.len() - 1..] } else { &sort[..] })
        .copied()
        .collect();
    shown.sort_unstable();
    shown
}

/// Charts of one load: throughput first, latencies by kind; the rest can be opened.
fn charts_of(study: &MatrixStudy, load: usize) -> String {
    let setups = study.setups_of(load);
    if setups.is_empty() {
        return String::new();
    }
    let title = escape(&study.loads[load].text);
    let lead = "Columns are means of the runs' own figures, dots the runs, bars across the 95 % \
                interval of the mean by Student's t. One axis each.";
    let mut out = sections::section(&format!("load-{load}"), &title, lead);
    out += &barred_note(study, &setups);
    let mut more = String::new();
    for metric in looks_at(study) {
        let chart = columns(study, &setups, metric);
        if chart.is_empty() {
            continue;
        }
        let figure = figure(&metric_name(metric), &metric_text(metric), &chart);
        match is_first(study, load, metric) {
            true => out += &figure,
            false => more += &figure,
        }
    }
    if !more.is_empty() {
        out += &sections::details("Run time, means, medians, service times", &more);
    }
    out + "</section>\n"
}

/// What the striped columns are, with the reason of each.
fn barred_note(study: &MatrixStudy, setups: &[Setup]) -> String {
    let reasons = barred(study, setups);
    if reasons.is_empty() {
        return String::new();
    }
    let reasons = sections::grouped(&escape(&reasons.join("; ")));
    format!("<p class=\"note\">Striped columns do not compete: {reasons}.</p>\n")
}

fn is_first(study: &MatrixStudy, load: usize, metric: Metric) -> bool {
    match metric {
        // Where the rate is given, all do as much.
        Metric::Throughput => study.loads[load].clients.is_some(),
        // Of transactions what users wait for is the whole.
        Metric::Response(of, Place::P99) => {
            (of == OperationFilter::All) == counts_transactions(study)
        }
        _ => false,
    }
}

fn figure(name: &str, text: &str, chart: &BarChart) -> String {
    let axis = match chart.axis().spread {
        super::axis::Spread::Log => {
            " Logarithmic axis: equal steps are equal ratios, so compare where columns end, not \
             how long they are."
        }
        super::axis::Spread::Linear => "",
    };
    format!(
        "<figure><figcaption>{}</figcaption>\n<p class=\"note\">{}.{axis}</p>\n{}</figure>\n",
        escape(name),
        escape(text),
        chart.html()
    )
}

const fn unit_of(metric: Metric) -> Unit {
    match metric {
        Metric::Throughput => Unit::Rate,
        _ => Unit::Latency,
    }
}

/// A column for each store and number of nodes, a group for each workload.
fn columns(study: &MatrixStudy, setups: &[Setup], metric: Metric) -> BarChart {
    let mut kinds: Vec<(usize, Option<usize>)> =
        setups.iter().map(|setup| (setup.store, setup.nodes)).collect();
    kinds.sort_unstable();
    kinds.dedup();
    // What does nothing would only make the others small.
    kinds.retain(|(store, nodes)| {
        !setups
            .iter()
            .any(|setup| (setup.store, setup.nodes) == (*store, *nodes) && study.is_no_op(*setup))
    });
    let series = kinds.iter().map(|&(store, nodes)| {
        let of_store: Vec<_> = kinds.iter().filter(|(other, _)| *other == store).collect();
        let place = of_store.iter().position(|(_, other)| *other == nodes).unwrap_or(0);
        let strength = match of_store.len() {
            1 => 1.0,
            many => place as f64 / (many - 1) as f64,
        };
        let load = setups[0].load;
        let value =
            |workload: usize| study.matrix.spread(Setup { store, workload, nodes, load }, metric);
        Series {
            label: setup_name(study, Setup { store, workload: 0, nodes, load }),
            colour: colour(store),
            strength,
            is_foreign: false,
            values: (0..study.workloads.len()).map(value).collect(),
            barred: (0..study.workloads.len())
                .map(|workload| {
                    let setup = Setup { store, workload, nodes, load };
                    study.matrix.refused(setup).is_some()
                })
                .collect(),
        }
    });
    let load = &study.loads[setups[0].load].text;
    BarChart {
        description: format!("{} by workload and store, {load}", metric_name(metric)),
        unit: unit_of(metric),
        groups: study.workloads.clone(),
        series: series.collect(),
    }
    .without_gaps()
}

impl BarChart {
    /// Groups and series without any value only take room.
    fn without_gaps(mut self) -> BarChart {
        self.series.retain(|series| series.values.iter().any(Option::is_some));
        let has = |group: usize| self.series.iter().any(|series| series.values[group].is_some());
        let kept: Vec<usize> = (0..self.groups.len()).filter(|group| has(*group)).collect();
        self.groups = kept.iter().map(|group| self.groups[*group].clone()).collect();
        for series in &mut self.series {
            series.values = kept.iter().map(|group| series.values[*group].clone()).collect();
            series.barred = kept.iter().map(|group| series.barred[*group]).collect();
        }
        self
    }
}

/// Throughput and latency over numbers of nodes, where stores have several.
fn curves(study: &MatrixStudy) -> Vec<Titled> {
    let mut charts = Vec::new();
    for load in 0..study.loads.len() {
        let metric = study.ranked_by(load);
        for workload in 0..study.workloads.len() {
            let curves = scaling(study, workload, load, metric);
            let id = format!("nodes-{load}-{workload}");
            let title = format!(
                "{} over nodes: {}, {}",
                metric_name(metric),
                study.workloads[workload],
                study.loads[load].name
            );
            charts.extend(lines(study, id, title, &curves, (metric, "nodes"), Vec::new()));
        }
    }
    charts
}

/// Throughput over clients, with the fitted law where there is one.
fn sweeps(study: &MatrixStudy) -> Vec<Titled> {
    let closed = study.loads.iter().filter(|load| load.clients.is_some()).count();
    if closed < 2 {
        return Vec::new();
    }
    let rows = &study.fits;
    let mut nodes: Vec<Option<usize>> = rows.iter().map(|row| row.nodes).collect();
    nodes.sort_unstable();
    nodes.dedup();
    let mut charts = Vec::new();
    for nodes in nodes {
        for workload in 0..study.workloads.len() {
            let mut curves = over_clients(study, workload, nodes, Metric::Throughput);
            curves.retain(|curve| rows.iter().any(|row| row.store == curve.store));
            let laws = rows.iter().filter(|row| (row.workload, row.nodes) == (workload, nodes));
            let laws = laws.filter_map(|row| {
                let fit = row.fit.as_ref().ok()?;
                (fit.explained >= EXPLAINED_MIN).then_some((row.store, fit.law))
            });
            let of = nodes.map_or(String::new(), |nodes| format!(" on {nodes} nodes"));
            let title = format!("throughput over clients: {}{of}", study.workloads[workload]);
            let id = format!("clients-{}-{workload}", nodes.unwrap_or(0));
            let over = (Metric::Throughput, "clients");
            charts.extend(lines(study, id, title, &curves, over, laws.collect()));
        }
    }
    charts
}

fn lines(
    study: &MatrixStudy,
    id: String,
    title: String,
    curves: &[Curve],
    (metric, of): (Metric, &'static str),
    laws: Vec<(usize, assay_analysis::usl::Usl)>,
) -> Option<Titled> {
    let mut xs: Vec<f64> =
        curves.iter().flat_map(|curve| curve.points.iter().map(|(x, _)| *x)).collect();
    xs.sort_by(f64::total_cmp);
    xs.dedup();
    let (first, last) = (*xs.first()?, *xs.last()?);
    if last <= first {
        return None;
    }
    let at = |curve: &Curve, x: f64| {
        curve.points.iter().find(|(other, _)| *other == x).map(|(_, spread)| spread.clone())
    };
    let line = |curve: &Curve, of: &dyn Fn(&Spread) -> f64, label: String, dash| Line {
        label,
        colour: colour(curve.store),
        dash,
        is_filled: false,
        values: xs.iter().map(|x| at(curve, *x).map(|spread| of(&spread))).collect(),
    };
    let mut all: Vec<Line> = curves
        .iter()
        .map(|curve| {
            let name = study.stores[curve.store].name.clone();
            line(curve, &|spread| spread.mean, name, SOLID)
        })
        .collect();
    for (store, law) in laws {
        all.push(Line {
            label: format!("{}, law", study.stores[store].name),
            colour: colour(store),
            dash: DASHED,
            is_filled: false,
            values: xs.iter().map(|x| Some(law.throughput(*x))).collect(),
        });
    }
    let values: Vec<f64> =
        all.iter().flat_map(|line| line.values.iter().copied().flatten()).collect();
    let y = match metric {
        Metric::Throughput => Axis::rate(values.into_iter()),
        _ => Axis::latency(values.into_iter()),
    };
    let x = match last / first > 8.0 {
        true => Axis::numbers(first, last),
        false => Axis::few(last),
    };
    let x = x.titled(of);
    let chart = LineChart {
        id,
        description: title.clone(),
        x,
        y,
        xs,
        lines: all,
        bands: Vec::new(),
        shades: Vec::new(),
        marks: Vec::new(),
        height: Height::Low,
    };
    Some(Titled { title, chart })
}

fn multiples(charts: &[Titled]) -> String {
    let mut out = "<div class=\"multiples\">\n".to_owned();
    for Titled { title, chart } in charts {
        let (title, chart) = (escape(title), chart.html());
        let _ = write!(out, "<figure><figcaption>{title}</figcaption>\n{chart}</figure>\n");
    }
    out + "</div>\n"
}

fn over_nodes(curves: &[Titled]) -> String {
    if curves.is_empty() {
        return String::new();
    }
    let lead = "Means of the runs. The load is the same on every number of nodes, so throughput \
                that falls, or latency that rises, shows what agreement between nodes costs, not \
                that the store cannot grow. What is in no ranking is left out. All nodes share \
                one machine.";
    sections::section("nodes", "Over nodes", lead) + &multiples(curves) + "</section>\n"
}

fn by_clients(study: &MatrixStudy, sweeps: &[Titled]) -> String {
    let fits = usl_fits(study);
    let lead = "The universal scalability law, X(N) = γN / (1 + α(N − 1) + βN(N − 1)): γ is the \
                throughput of one client, α the contention (the serial share of the work), β the \
                coherency cost of each pair of clients. With β above zero throughput falls beyond \
                a peak. Stores that are not ranked are left out. In brackets 95 % intervals by \
                Student's t; a peak is reported only where that of β excludes 0.";
    let mut out = sections::section("usl", "Over clients", lead);
    if !sweeps.is_empty() {
        out += &multiples(sweeps);
    }
    match fits {
        Ok(table) => out += &sections::table(&table, "dense"),
        Err(reason) => {
            let _ = writeln!(out, "<p class=\"note\">{}</p>", escape(&reason));
        }
    }
    out + "</section>\n"
}

fn checked(study: &MatrixStudy) -> String {
    let lead = "Little's law: throughput × mean service time is how many requests were in flight, \
                which cannot be more than there were clients, or, where arrivals do not wait, than \
                may be in flight (--in-flight). A hit ratio below 100 % means that \
                something was requested that was not there; where reads, scans or updates by \
                themselves found less than all operations together, theirs is shown.";
    let table = sections::table(&checks(study), "dense");
    let title = format!("{} runs", count(study.matrix.cells.len() as u64));
    sections::section("checks", "Checks of each run", lead)
        + &sections::details(&title, &table)
        + "</section>\n"
}

fn failed(study: &MatrixStudy) -> String {
    if study.failed.is_empty() {
        return String::new();
    }
    let lead = "They are in no figure. `assay study … --retry-failed` issues them again; those \
                whose run directory cannot be read, once their directory is removed.";
    sections::section("failed", "Failed", lead)
        + &sections::table(&failures(study), "settings")
        + "</section>\n"
}

fn numbers(study: &MatrixStudy) -> String {
    let lead = "Means of the runs' own figures with the 95 % interval of the mean; cells.csv and \
                cells.parquet in the study's directory have every run.";
    let table = sections::table(&figures(study, LETTERS, Detail::Full), "dense");
    sections::section("figures", "Every figure", lead)
        + &sections::details("The table", &table)
        + "</section>\n"
}

fn repetition(study: &MatrixStudy) -> String {
    let drawn = "clusters and cells in them in an order drawn from";
    let seed = study.seed;
    let lead = match study.is_as_drawn {
        true if study.repetitions > 1 => format!(
            "Repetition after repetition, {drawn} seed {seed}, so that no store has all its runs \
             together."
        ),
        true => format!(
            "One repetition, {drawn} seed {seed}: all runs on one cluster follow each other, so \
             what changed with time may look like a difference between clusters."
        ),
        false => "Some cells were issued apart from the others, so the order is not the one that \
                  was drawn: what changed with time may look like a difference between stores."
            .to_owned(),
    };
    let mut out = sections::section("repeat", "Reproduce with", &escape(&lead));
    let command = escape(&study.command);
    let _ = writeln!(out, "<pre tabindex=\"0\"><code>{command}</code></pre>");
    let order: Vec<String> =
        study.order.iter().map(|id| format!("<li>{}</li>", escape(id))).collect();
    out += &sections::details("The order", &format!("<ol>{}</ol>\n", order.concat()));
    let mut single = String::new();
    for facts in &study.facts {
        let commands = facts.commands.join("\n");
        let _ = write!(
            single,
            "<h3>{}</h3>\n<pre tabindex=\"0\"><code>{}</code></pre>\n",
            escape(&facts.id),
            escape(&commands)
        );
    }
    out += &sections::details("One run by itself", &single);
    out + "</section>\n"
}

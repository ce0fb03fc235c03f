//! The tables of a study.

use assay_analysis::compare::Spread;
use assay_analysis::hallmark;
use assay_analysis::matrix::{
    Cell, LatencyStatistic, Matrix, Metric, OperationFilter, Placed, Ranking, Refused, Setup,
};
use assay_analysis::usl::{Peak, Refusal, UslFit};

use super::MatrixStudy;
use super::words::{durability_text, metric_name, setting_of, value, verdict_of_checks};
use crate::table::{Align, Table};
use crate::units::{Letters, percent, rate};

/// Marks figures of setups with a run that has no hallmark.
const NO_HALLMARK: &str = "†";

/// A ranking that has more places than this is cut; the tables have the rest.
const PLACES_MAX: usize = 8;

/// `etcd × 3`, or the store alone where the study did not start its nodes.
pub fn setup_name(study: &MatrixStudy, setup: Setup) -> String {
    let store = &study.stores[setup.store].name;
    setup.nodes.map_or_else(|| store.clone(), |nodes| format!("{store} × {nodes}"))
}

fn nodes_text(nodes: Option<usize>) -> String {
    nodes.map_or("-".to_owned(), |nodes| nodes.to_string())
}

/// What each store keeps, how often, and what its reads see; one row for each difference.
pub fn durability(study: &MatrixStudy) -> Table {
    let mut rows: Vec<(Setup, &'static str, [String; 4])> = Vec::new();
    // Of all runs, not of the first of each setup: a server may have changed between them.
    let mut runs: Vec<_> = study.matrix.cells.iter().zip(&study.facts).collect();
    runs.sort_by_key(|(cell, _)| (cell.setup, cell.repetition));
    for (cell, facts) in runs {
        let survives = match cell.is_no_op {
            true => "not kept at all",
            false => durability_text(cell.durability),
        };
        let settings = ["server", "durability", "replication", "consistency"]
            .map(|which| setting_of(&facts.settings, which));
        let row = (Setup { workload: 0, load: 0, ..cell.setup }, survives, settings);
        if !rows.contains(&row) {
            rows.push(row);
        }
    }
    Table::of(rows)
        .left("store", |(setup, ..)| &study.stores[setup.store].name)
        .right("nodes", |(setup, ..)| nodes_text(setup.nodes))
        .left("server", |(.., [server, ..])| server.clone())
        .left("an answered write", |(_, survives, _)| *survives)
        .left("in its own words", |(.., [_, durability, ..])| durability.clone())
        .left("copies", |(.., [_, _, replication, _])| replication.clone())
        .left("reads and writes", |(.., [.., consistency])| consistency.clone())
        .left("to be said", |(setup, ..)| &study.stores[setup.store].label)
        .build()
}

/// Whether all runs of a setup have a hallmark.
fn is_hallmarked(matrix: &Matrix, setup: Setup) -> bool {
    let is_valid = |verdict: Option<hallmark::Verdict>| verdict.is_some_and(|one| one.is_valid());
    matrix.runs(setup).all(|cell| is_valid(cell.figures.hallmark))
}

fn marked(study: &MatrixStudy, setup: Setup, text: String) -> String {
    match is_hallmarked(&study.matrix, setup) {
        true => text,
        false => format!("{text}{NO_HALLMARK}"),
    }
}

/// The stores of each workload and number of nodes, the best first.
pub fn ranking(study: &MatrixStudy, load: usize, letters: Letters) -> Option<Table> {
    let ranked =
        study.figures.rankings.get(load)?.iter().filter(|ranking| ranking.placed.len() > 1);
    let places = ranked.clone().map(|ranking| ranking.placed.len()).max()?.min(PLACES_MAX);
    let ranks = |ranking: &&Ranking| {
        let rank = |place| Some(ranked_store(study, ranking, ranking.placed.get(place)?, letters));
        (0..places).map(|place| rank(place).unwrap_or_default()).collect::<Vec<_>>()
    };
    let table = Table::of(ranked)
        .left("workload", |ranking| &study.workloads[ranking.setups[0].workload])
        .right("nodes", |ranking| nodes_text(ranking.setups[0].nodes))
        .columns(Align::Left, (1..=places).map(|place| format!("{place}.")), ranks);
    Some(table.build())
}

/// A store in its place: `≈ etcd 12 300/s (1.20×)`.
fn ranked_store(study: &MatrixStudy, of: &Ranking, one: &Placed, letters: Letters) -> String {
    let name = &study.stores[one.setup.store].name;
    let figure = value(study.ranked_by(one.setup.load), one.spread.mean, letters);
    let behind = match one.behind > 1.0 {
        true => format!(" ({}×)", factor(one.behind)),
        false => String::new(),
    };
    let near = match one.is_apart {
        Some(true) => "",
        Some(false) => letters.pick("≈ ", "~ "),
        // The first one has no predecessor.
        None if one.setup == of.placed[0].setup => "",
        None => "? ",
    };
    let runs = runs_text(study, one.spread.values.len());
    marked(study, one.setup, format!("{near}{name} {figure}{behind}{runs}"))
}

/// How many runs a figure is of, where fewer came to their ends than were to be made.
fn runs_text(study: &MatrixStudy, runs: usize) -> String {
    match runs < study.repetitions as usize {
        true => format!(" ({runs} of {} runs)", study.repetitions),
        false => String::new(),
    }
}

fn factor(behind: f64) -> String {
    if behind < 10.0 { format!("{behind:.2}") } else { format!("{behind:.0}") }
}

/// Whether two stores have workload, load and number of nodes in common.
pub fn has_rivals(study: &MatrixStudy) -> bool {
    study.figures.rankings.iter().flatten().any(|ranking| ranking.setups.len() > 1)
}

/// Why stores are in no ranking, one sentence for each store and reason.
pub fn refusals(study: &MatrixStudy) -> Vec<String> {
    let mut found: Vec<(usize, &'static str, Vec<String>)> = Vec::new();
    let rankings = study.figures.rankings.iter().flatten();
    for (setup, reason) in rankings.flat_map(|ranking| &ranking.refused) {
        let (why, part) = refusal(*reason);
        let at = format!("{}{part}", place_name(study, *setup));
        let same =
            found.iter_mut().find(|(store, known, _)| (*store, *known) == (setup.store, why));
        match same {
            Some((.., places)) => places.push(at),
            None => found.push((setup.store, why, vec![at])),
        }
    }
    let sentence = |(store, why, places): (usize, &str, Vec<String>)| {
        let name = &study.stores[store].name;
        let displayed = places.iter().take(PLACES_MAX).cloned().collect::<Vec<_>>().join(", ");
        let more = places.len().saturating_sub(PLACES_MAX);
        let more = if more > 0 { format!(" … and {more} more") } else { String::new() };
        match why == NO_OP {
            true => format!("{name}: {why}"),
            false => format!("{name}: {why}: {displayed}{more}"),
        }
    };
    found.into_iter().map(sentence).collect()
}

/// Which of the setups have columns although they are in no ranking, each with its reason.
pub fn barred(study: &MatrixStudy, setups: &[Setup]) -> Vec<String> {
    let reason = |setup: &Setup| match study.matrix.refused(*setup)? {
        // What keeps nothing has no columns at all.
        Refused::NoOp => None,
        reason => {
            let (why, part) = refusal(reason);
            let workload = &study.workloads[setup.workload];
            Some(format!("{}, {workload}: {why}{part}", setup_name(study, *setup)))
        }
    };
    setups.iter().filter_map(reason).collect()
}

const NO_OP: &str = "keeps nothing and finds nothing, so it does not compete";

fn refusal(reason: Refused) -> (&'static str, String) {
    match reason {
        Refused::NoOp => (NO_OP, String::new()),
        Refused::Misses(of, share) => (
            "found less than 99 % of the requested records, and a miss is quicker than a hit",
            format!(" ({}{} found)", sought(of), percent(share)),
        ),
        Refused::Failed(share) => {
            ("more than 0.1 % of its operations failed", format!(" ({})", percent(share)))
        }
        Refused::Little => (
            "throughput, latency and number of clients contradict each other (Little's law)",
            String::new(),
        ),
    }
}

/// `reads: `, or nothing where it is all operations.
fn sought(of: OperationFilter) -> String {
    match of {
        OperationFilter::All => String::new(),
        of => format!("{}s: ", of.name()),
    }
}

fn place_name(study: &MatrixStudy, setup: Setup) -> String {
    let nodes = setup.nodes.map_or(String::new(), |nodes| format!(" × {nodes}"));
    let load = &study.loads[setup.load].name;
    format!("{}{nodes} {load}", study.workloads[setup.workload])
}

/// `12 300/s ± 400/s`, or the value alone of a single run.
fn with_interval(metric: Metric, spread: &Spread, letters: Letters) -> String {
    let mean = value(metric, spread.mean, letters);
    match spread.interval {
        Some((_, high)) => {
            let reach = value(metric, high - spread.mean, letters);
            format!("{mean} {} {reach}", letters.pick("±", "+-"))
        }
        None => mean,
    }
}

/// Every setup and sort of operation: means of the runs' own figures with 95 % intervals.
pub fn figures(study: &MatrixStudy, letters: Letters, detail: Detail) -> Table {
    let mut setups = study.matrix.setups();
    setups.sort_by_key(|setup| (setup.workload, setup.load, setup.nodes, setup.store));
    let sorts = match detail {
        Detail::Brief => vec![OperationFilter::All],
        Detail::Full => study.matrix.sorts(),
    };
    let has = |(setup, of): &(Setup, OperationFilter)| {
        study.matrix.runs(*setup).any(|cell| cell.figures.of(*of).is_some())
    };
    let all = setups.iter().flat_map(|setup| sorts.iter().map(move |of| (*setup, *of)));
    let runs = |setup: Setup| match study.matrix.runs(setup).count() {
        few if few < study.repetitions as usize => format!("{few} of {}", study.repetitions),
        all => all.to_string(),
    };
    let cell = |setup: Setup, metric: Metric| {
        let spread = study.figures.get(setup, metric);
        spread.map_or("-".to_owned(), |spread| with_interval(metric, spread, letters))
    };
    let of_all = |of: OperationFilter, text: &dyn Fn() -> String| match of {
        OperationFilter::All => text(),
        _ => String::new(),
    };
    let titles = latencies(OperationFilter::All).map(metric_name);
    Table::of(all.filter(has))
        .left("workload", |(setup, _)| &study.workloads[setup.workload])
        .left("load", |(setup, _)| &study.loads[setup.load].name)
        .right("nodes", |(setup, _)| nodes_text(setup.nodes))
        .left("store", |(at, _)| marked(study, *at, study.stores[at.store].name.clone()))
        .right("runs", |(setup, _)| runs(*setup))
        .left("kind", |(_, of)| of.name())
        .right("throughput", |(setup, of)| of_all(*of, &|| cell(*setup, Metric::Throughput)))
        .columns(Align::Right, titles, |(at, of)| latencies(*of).map(|one| cell(*at, one)))
        .left("checks", |(setup, of)| of_all(*of, &|| checks_of(study, *setup)))
        .build()
}

/// How much a table shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detail {
    /// All operations together.
    Brief,
    /// Each sort of operations too.
    Full,
}

fn latencies(of: OperationFilter) -> [Metric; 5] {
    [
        Metric::Response(of, LatencyStatistic::Mean),
        Metric::Response(of, LatencyStatistic::P50),
        Metric::Response(of, LatencyStatistic::P99),
        Metric::Service(of, LatencyStatistic::Mean),
        Metric::Service(of, LatencyStatistic::P99),
    ]
}

/// What the checks of a setup's runs say, each thing once.
fn checks_of(study: &MatrixStudy, setup: Setup) -> String {
    let mut words: Vec<String> = study.matrix.runs(setup).map(verdict_of_checks).collect();
    words.retain(|text| !text.is_empty());
    words.dedup();
    words.join("; ")
}

/// The checks of each run.
pub fn checks(study: &MatrixStudy) -> Table {
    let found = |cell: &Cell| {
        let (of, share) = cell.figures.least_found()?;
        Some(format!("{}{}", sought(of), percent(share)))
    };
    let limit = |cell: &Cell| Some(format!("{:.0}", cell.figures.little.limit?));
    let none = || "-".to_owned();
    Table::of(study.matrix.cells.iter().zip(&study.facts))
        .left("run", |(_, facts)| &facts.id)
        .right("in flight by Little's law", |(cell, _)| {
            format!("{:.2}", cell.figures.little.little_l)
        })
        .right("at most", |(cell, _)| limit(cell).unwrap_or_else(none))
        .left("law", |(cell, _)| cell.figures.little.verdict.name())
        .right("hit ratio", |(cell, _)| found(cell).unwrap_or_else(none))
        .right("failed", |(cell, _)| percent(cell.figures.failed))
        .left("hallmark", |(cell, _)| cell.figures.hallmark.map_or("none", |one| one.name()))
        .left("why", |(_, facts)| &facts.remarks)
        .build()
}

/// The runs that did not come to their ends.
pub fn failures(study: &MatrixStudy) -> Table {
    Table::of(&study.failed)
        .left("run", |failed| &failed.id)
        .left("why", |failed| failed.reason.replace('\n', " "))
        .build()
}

/// A line over numbers of nodes or clients.
pub struct MetricCurve {
    /// The store's place.
    pub store: usize,
    /// What is on the horizontal axis with what was found there, rising.
    pub points: Vec<(f64, Spread)>,
}

/// For one workload and load: the metric over nodes of each store that has several.
pub fn scaling(
    study: &MatrixStudy,
    workload: usize,
    load: usize,
    metric: Metric,
) -> Vec<MetricCurve> {
    let of = |store: usize| {
        let setups = study.setups_of(load).into_iter();
        let own = setups.filter(|setup| {
            let is_own = (setup.workload, setup.store) == (workload, store);
            is_own && study.matrix.refused(*setup).is_none()
        });
        let points = own.filter_map(|setup| {
            Some((setup.nodes? as f64, study.figures.get(setup, metric)?.clone()))
        });
        MetricCurve { store, points: points.collect() }
    };
    let curves = (0..study.stores.len()).map(of);
    curves.filter(|curve| curve.points.len() > 1).collect()
}

/// For one workload and number of nodes: the metric over the clients of closed loops.
pub fn over_clients(
    study: &MatrixStudy,
    workload: usize,
    nodes: Option<usize>,
    metric: Metric,
) -> Vec<MetricCurve> {
    let of = |store: usize| {
        let mut points = Vec::new();
        for (load, clients) in closed_loads(study) {
            let setup = Setup { store, workload, nodes, load };
            let competes = study.matrix.refused(setup).is_none();
            let spread = study.figures.get(setup, metric).filter(|_| competes);
            points.extend(spread.map(|spread| (f64::from(clients), spread.clone())));
        }
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        MetricCurve { store, points }
    };
    let curves = (0..study.stores.len()).map(of);
    curves.filter(|curve| curve.points.len() > 1).collect()
}

/// The closed loops with their numbers of clients.
pub fn closed_loads(study: &MatrixStudy) -> impl Iterator<Item = (usize, u32)> {
    let loads = study.loads.iter().enumerate();
    loads.filter_map(|(place, load)| Some((place, load.clients?)))
}

/// The fits as a table, with a sentence of why there is none where all are refused alike.
pub fn usl_fits(study: &MatrixStudy) -> Result<Table, String> {
    let rows = &study.figures.fits;
    if rows.is_empty() {
        return Err(match closed_loads(study).next() {
            None => refusal_text(Refusal::Open),
            Some(_) => {
                "no fit: no store that may be ranked came to its end in a closed loop".into()
            }
        });
    }
    let first = rows[0].fit.as_ref().err().copied();
    if let Some(reason) = first
        && rows.iter().all(|row| row.fit.as_ref().err() == first.as_ref())
    {
        return Err(refusal_text(reason));
    }
    let parameters = ["γ, one client", "α, contention", "β, coherency", "R²"];
    let table = Table::of(rows)
        .left("store", |row| &study.stores[row.store].name)
        .left("workload", |row| &study.workloads[row.workload])
        .right("nodes", |row| nodes_text(row.nodes))
        .columns(Align::Right, parameters, |row| {
            row.fit.as_ref().map_or_else(|_| ["-"; 4].map(str::to_owned), fit_cells)
        })
        .left("peak at", |row| row.fit.as_ref().map_or_else(|why| refusal_text(*why), peak_text));
    Ok(table.build())
}

fn peak_text(fit: &UslFit) -> String {
    match fit.peak {
        Peak::Measured(at) => format!("{at:.0} clients"),
        Peak::Expected(at) if at < fit.measured_up_to => {
            format!("{at:.0} clients by the law; no fall was measured")
        }
        Peak::Expected(at) => format!("{at:.0} clients, beyond what was measured"),
        Peak::Untold => "not reported: the law explains too little".to_owned(),
        Peak::Unseen => format!("none beyond doubt up to {:.0} clients", fit.measured_up_to),
    }
}

fn fit_cells(fit: &UslFit) -> [String; 4] {
    let with = |number: String, interval: Option<String>| match interval {
        Some(interval) => format!("{number} ({interval})"),
        None => number,
    };
    let share = |place: usize, of: f64| {
        let interval = fit.intervals.map(|all| all[place]);
        let interval = interval.map(|(low, high)| format!("{} – {}", small(low), small(high)));
        with(small(of), interval)
    };
    let gamma = fit.intervals.map(|[(low, high), ..]| format!("{} – {}", rate(low), rate(high)));
    let parameters = match fit.peak {
        // Parameters of a law that does not hold mean nothing.
        Peak::Untold => [(); 3].map(|()| "-".to_owned()),
        _ => [with(rate(fit.law.gamma), gamma), share(1, fit.law.alpha), share(2, fit.law.beta)],
    };
    let [gamma, alpha, beta] = parameters;
    [gamma, alpha, beta, format!("{:.3}", fit.explained)]
}

/// Three significant digits of a number below one.
fn small(number: f64) -> String {
    match number {
        n if n.abs() < 1e-9 => "0".to_owned(),
        n if n.abs() < 1e-3 => format!("{n:.2e}"),
        n => format!("{n:.4}"),
    }
}

pub fn refusal_text(reason: Refusal) -> String {
    match reason {
        Refusal::Open => {
            "no fit: in an open loop the number of clients is no measure of the load".to_owned()
        }
        Refusal::SameClients => {
            "no fit: everything was issued by the same number of clients, and the law is about \
             load \
             that grows with them; more nodes under the same load are no such series"
                .to_owned()
        }
        Refusal::TooFew { found } => format!(
            "no fit: {found} numbers of clients are too few for three parameters; it takes 6"
        ),
        Refusal::Nothing => "no fit: some runs did nothing".to_owned(),
    }
}

/// Whether runs count an application's transactions, each as a whole.
pub fn counts_transactions(study: &MatrixStudy) -> bool {
    study.matrix.cells.iter().any(|cell| cell.figures.are_transactions)
}

/// The metrics in the charts of a load, the most important first.
pub fn looks_at(study: &MatrixStudy) -> Vec<Metric> {
    let mut metrics = vec![Metric::Throughput, Metric::RunTime];
    // All operations are different things together, unless they are transactions.
    let has_all = counts_transactions(study);
    let is_one = |of: &OperationFilter| has_all || *of != OperationFilter::All;
    for of in study.matrix.sorts().into_iter().filter(is_one) {
        for statistic in [LatencyStatistic::P99, LatencyStatistic::Mean, LatencyStatistic::P50] {
            metrics.push(Metric::Response(of, statistic));
            metrics.push(Metric::Service(of, statistic));
        }
    }
    metrics
}

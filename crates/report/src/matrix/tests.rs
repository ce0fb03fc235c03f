//! Pages of small studies whose figures are known beforehand.

use assay_analysis::hallmark;
use assay_analysis::matrix::published::{
    ExaminedFigures, PublishedFigure, PublishedMeasure, Terms,
};
use assay_analysis::matrix::{
    Cell, CellFigures, ClientsFit, DurabilityClass, FilteredFigures, Matrix, OperationFilter,
    Setup, Times,
};
use assay_analysis::usl::{Peak, Refusal, Usl, UslFit};
use assay_analysis::{Counts, plausibility};
use assay_model::Nanos;

use super::latency_curves::latency_table;
use super::rows::*;
use super::words::findings;
use super::*;
use crate::units::Letters;

/// A run of `store` that issued 1 000 operations with the load of number `load`.
fn cell(store: usize, load: usize, repetition: u32, throughput_per_s: f64) -> Cell {
    let mean_ns = 4e9 / throughput_per_s;
    let times = Some(Times { mean_ns, p50_ns: mean_ns, p99_ns: mean_ns * 3.0 });
    let counts = Counts { offered: 1_000, done: 1_000, hits: 1_000, ..Counts::default() };
    Cell {
        setup: Setup { store, workload: 0, nodes: Some(1), load },
        repetition,
        figures: CellFigures {
            are_transactions: false,
            run_time_ns: 1e12 / throughput_per_s,
            of: vec![FilteredFigures {
                of: OperationFilter::All,
                counts,
                throughput_per_s,
                response: times,
                service: times,
            }],
            failed: 0.0,
            little: plausibility(throughput_per_s, mean_ns / 1e9, Some(4.0)),
            hallmark: Some(hallmark::Verdict::Valid),
        },
        durability: DurabilityClass::EveryWrite,
        is_no_op: false,
    }
}

/// A study of `etcd` with `other`, whose loads are of 1, 4, 8, … clients.
fn study(cells: Vec<Cell>) -> MatrixStudy {
    let name = |name: &str| StudyStore { name: name.to_owned(), label: String::new() };
    let load = |clients: u32| StudyLoad {
        name: format!("c{clients}"),
        text: format!("{clients} clients that wait for their answers"),
        clients: Some(clients),
    };
    let facts = |(place, _): (usize, &Cell)| CellFacts {
        id: format!("cell-{place}"),
        run_dir: String::new(),
        commands: Vec::new(),
        settings: Vec::new(),
        fill: None,
        remarks: String::new(),
    };
    let mut study = MatrixStudy {
        version: "0".to_owned(),
        name: "s".to_owned(),
        title: "S".to_owned(),
        about: String::new(),
        command: "assay study s.toml".to_owned(),
        seed: 1,
        machine: "one".to_owned(),
        stores: vec![name("etcd"), name("other")],
        workloads: vec!["ycsb-c".to_owned()],
        loads: [1, 4, 8, 16, 32, 64].map(load).into(),
        repetitions: 2,
        planned: cells.len(),
        facts: cells.iter().enumerate().map(facts).collect(),
        matrix: Matrix { cells },
        figures: MatrixFigures::default(),
        failed: Vec::new(),
        is_interrupted: false,
        scale: 1.0,
        took: Nanos(1),
        order: Vec::new(),
        is_as_drawn: true,
        published: None,
        notes: Vec::new(),
    };
    compute(&mut study);
    study
}

/// Computes the figures of its runs, which may have changed.
fn compute(study: &mut MatrixStudy) {
    let clients: Vec<Option<u32>> = study.loads.iter().map(|load| load.clients).collect();
    study.figures = MatrixFigures::new(&study.matrix, &clients);
}

/// A law over up to 32 clients.
fn usl_fit(intervals: Option<[(f64, f64); 3]>, peak: Peak) -> UslFit {
    let law = Usl { gamma: 1_000.0, alpha: 0.05, beta: 0.001 };
    UslFit { law, intervals, explained: 0.999, peak, measured_up_to: 32.0 }
}

fn clients_fit(store: usize, fit: Result<UslFit, Refusal>) -> ClientsFit {
    ClientsFit { store, workload: 0, nodes: Some(1), fit }
}

/// A study with a law, a refused one, published figures and a failed run.
pub(crate) fn whole() -> MatrixStudy {
    let cells = [(0, 0, 1), (0, 0, 2), (0, 1, 1), (1, 1, 1)];
    let cells = cells.map(|(store, load, repetition)| {
        cell(store, load, repetition, 100.0 * f64::from(repetition))
    });
    let intervals = Some([(900.0, 1_100.0), (0.04, 0.06), (0.0, 0.002)]);
    let setup = Setup { store: 1, workload: 0, nodes: None, load: 0 };
    let failed = FailedCell { id: "f".to_owned(), setup, reason: "no server".to_owned() };
    let mut study = study(cells.into());
    study.figures.fits = vec![
        clients_fit(0, Ok(usl_fit(intervals, Peak::Expected(28.0)))),
        clients_fit(0, Ok(usl_fit(None, Peak::Unseen))),
        clients_fit(0, Err(Refusal::TooFew { found: 5 })),
    ];
    MatrixStudy {
        failed: vec![failed],
        order: vec!["cell-0".to_owned()],
        published: Some(published(1_000.0, 4.0)),
        ..study
    }
}

/// One published run time of 2 s for so many operations of so many clients.
fn published(operations: f64, clients: f64) -> PublishedFigures {
    let figure = PublishedFigure {
        system: "etcd".to_owned(),
        workload: "C".to_owned(),
        nodes: 1,
        measure: PublishedMeasure::RunTime,
        value_ns: 2e9,
    };
    let terms = Terms { operations, clients, mixes: Vec::new() };
    PublishedFigures {
        name: "the paper".to_owned(),
        examined: ExaminedFigures::new(vec![figure], terms),
        workloads: vec![Some("C".to_owned())],
    }
}

/// The section about the figures of others, of a study with loads of 1 and of 4 clients.
fn beside_of(published: PublishedFigures) -> String {
    let mut study = study(vec![cell(0, 0, 1, 100.0), cell(0, 1, 1, 1_000.0)]);
    study.published = Some(published);
    let page = document(&study).page();
    let begin = page.find("Published figures").expect("the section is there");
    let end = page.find("Checks of each run").expect("the next section is there");
    page[begin..end].replace('\u{202f}', " ")
}

#[test]
fn run_times_of_others_stand_beside_ours_only_for_the_same_work() {
    let same = beside_of(published(1_000.0, 4.0));
    assert!(same.contains("run time, 1 node") && same.contains("etcd, the paper"), "{same}");
    // Ours took 1 s with 4 clients; the 10 s of 1 client are no part of it.
    assert!(same.contains(">2 s<") && !same.contains("10 s"), "{same}");
    let tenth = beside_of(published(10_000.0, 4.0));
    assert!(tenth.contains("run time per operation, 1 node"), "{tenth}");
    assert!(tenth.contains("ours ran 1 000 operations each, theirs 10 000"), "{tenth}");
    // 1 s of 1 000 against 2 s of 10 000.
    assert!(tenth.contains(">1 ms<") && !tenth.contains("2 s"), "{tenth}");
    let others = beside_of(published(1_000.0, 2.0));
    assert!(others.contains("theirs are of 2 clients") && !others.contains("<figure"), "{others}");
}

/// The rows of the ranking with 4 clients.
fn ranked(study: &MatrixStudy) -> Vec<Vec<String>> {
    let table = ranking(study, 1, Letters::Unicode).expect("two stores are ranked");
    table.rows().to_vec()
}

#[test]
fn a_study_without_a_valid_run_says_so() {
    let mut study = study(vec![cell(0, 1, 1, 1_000.0), cell(1, 1, 1, 500.0)]);
    let first = |study: &MatrixStudy| findings(study, Letters::Ascii)[0].shout();
    let verdict = |study: &mut MatrixStudy, run: usize, verdict| {
        study.matrix.cells[run].figures.hallmark = Some(verdict);
    };
    verdict(&mut study, 0, hallmark::Verdict::Invalid);
    verdict(&mut study, 1, hallmark::Verdict::NotAssessable);
    let shout = first(&study);
    assert!(shout.starts_with("NO VALID RUN: 2 of 2 runs came to their ends, in "), "{shout}");
    verdict(&mut study, 1, hallmark::Verdict::ValidWithRemarks);
    assert!(first(&study).starts_with("COMPLETE: 2 of 2 runs"), "{}", first(&study));
}

#[test]
fn what_no_interval_tells_apart_is_marked() {
    let mut single = study(vec![cell(0, 1, 1, 1_000.0), cell(1, 1, 1, 500.0)]);
    // One run of two: neither has an interval.
    assert_eq!(
        ranked(&single)[0][2..],
        ["etcd 1 000/s (1 of 2 runs)", "? other 500/s (2.00×) (1 of 2 runs)"]
    );
    assert_eq!(figures(&single, Letters::Unicode, rows::Detail::Brief).rows()[0][4], "1 of 2");
    single.repetitions = 1;
    assert_eq!(ranked(&single)[0][2..], ["etcd 1 000/s", "? other 500/s (2.00×)"]);
    let both = |slow: [f64; 2]| {
        let [one, two] = slow;
        study(vec![
            cell(0, 1, 1, 1_000.0),
            cell(0, 1, 2, 1_001.0),
            cell(1, 1, 1, one),
            cell(1, 1, 2, two),
        ])
    };
    assert!(ranked(&both([500.0, 501.0]))[0][3].starts_with("other "));
    assert!(ranked(&both([900.0, 1_000.0]))[0][3].starts_with("≈ other "));
}

#[test]
fn what_is_in_no_ranking_is_striped_with_its_reason_and_in_no_fit() {
    let law = |clients: f64| 1_000.0 * clients / (1.0 + 0.05 * (clients - 1.0));
    let clients = [1.0, 4.0, 8.0, 16.0, 32.0, 64.0];
    let sweep = |store: usize| {
        let loads = clients.iter().enumerate();
        loads.map(move |(load, clients)| cell(store, load, 1, law(*clients)))
    };
    let mut study = study(sweep(0).chain(sweep(1)).collect());
    assert!(!document(&study).page().contains("column barred"));
    assert_eq!(rows::over_clients(&study, 0, Some(1), Metric::Throughput).len(), 2);
    for cell in study.matrix.cells.iter_mut().filter(|cell| cell.setup.store == 1) {
        cell.figures.failed = 0.2;
    }
    compute(&mut study);
    let page = document(&study).page();
    assert!(page.contains("column barred s1") && !page.contains("column barred s0"), "{page}");
    assert!(page.contains("Striped columns do not compete: other × "), "{page}");
    let reasons = barred(&study, &study.setups_of(1));
    assert_eq!(reasons, ["other × 1, ycsb-c: more than 0.1 % of its operations failed (20 %)"]);
    let curves = rows::over_clients(&study, 0, Some(1), Metric::Throughput);
    assert_eq!(curves.iter().map(|curve| curve.store).collect::<Vec<_>>(), [0]);
    let fits = usl_fits(&study).expect("etcd has a fit");
    assert!(fits.rows().iter().all(|row| row[0] == "etcd"), "{fits:?}");
    let reported: serde_json::Value =
        serde_json::from_str(&matrix_json(&study)).expect("it is JSON");
    let laws = reported["scalability"].as_array().expect("there is a list");
    assert!(laws.iter().all(|law| law["store"] == "etcd"), "{laws:?}");
    let law = laws.iter().find(|law| law["refused"].is_null()).expect("etcd has a fit");
    assert!(law["gamma"]["value"].as_f64().is_some_and(|gamma| gamma > 0.0), "{law}");
    assert!(law["explained"].as_f64().is_some_and(|share| (0.0..=1.0).contains(&share)), "{law}");
}

#[test]
fn a_missing_ranking_says_why() {
    let alone = document(&study(vec![cell(0, 1, 1, 100.0)])).page();
    assert!(alone.contains("No two stores have workload, load and number of nodes in common"));
    let mut no_op = cell(1, 1, 1, 100.0);
    no_op.is_no_op = true;
    let refused = document(&study(vec![cell(0, 1, 1, 100.0), no_op])).page();
    assert!(refused.contains("fewer than two of them may be ranked"), "{refused}");
    assert!(!refused.contains("No two stores have"));
}

#[test]
fn fits_that_are_refused_for_different_reasons_have_each_its_own() {
    let mut study = study(Vec::new());
    study.figures.fits = [0, 1].map(|store| clients_fit(store, Err(Refusal::SameClients))).into();
    let reason = usl_fits(&study).expect_err("none of them is one");
    assert!(reason.contains("the same number of clients"), "{reason}");
    study.figures.fits[0] = clients_fit(0, Err(Refusal::TooFew { found: 5 }));
    let table = usl_fits(&study).expect("each row has its reason");
    let last = |row: &Vec<String>| row.last().cloned().unwrap_or_default();
    let reasons: Vec<String> = table.rows().iter().map(last).collect();
    assert!(reasons[0].contains("5 numbers of clients are too few"), "{reasons:?}");
    assert!(reasons[1].contains("the same number of clients"), "{reasons:?}");
}

#[test]
fn a_peak_among_the_clients_that_were_measured_is_not_called_beyond_them() {
    let fit = |peak| clients_fit(0, Ok(usl_fit(None, peak)));
    let mut study = study(Vec::new());
    study.figures.fits =
        [Peak::Measured(20.0), Peak::Expected(28.0), Peak::Expected(40.0)].map(fit).into();
    let table = usl_fits(&study).expect("all are fits");
    let peaks: Vec<&str> = table.rows().iter().map(|row| row[7].as_str()).collect();
    assert_eq!(peaks[0], "20 clients");
    assert_eq!(peaks[1], "28 clients by the law; no fall was measured");
    assert_eq!(peaks[2], "40 clients, beyond what was measured");
}

#[test]
fn closed_loops_without_competitors_are_not_reported_as_open() {
    let mut study = study(vec![cell(0, 0, 1, 100.0), cell(0, 1, 1, 400.0)]);
    study.matrix.cells.iter_mut().for_each(|cell| cell.is_no_op = true);
    compute(&mut study);
    let reason = |study: &MatrixStudy| usl_fits(study).expect_err("nothing competes");
    assert!(reason(&study).contains("no store that may be ranked"), "{}", reason(&study));
    study.loads.iter_mut().for_each(|load| load.clients = None);
    assert!(reason(&study).contains("in an open loop"), "{}", reason(&study));
}

#[test]
fn every_run_reports_its_stores_guarantees() {
    let mut study = study(vec![cell(0, 0, 1, 100.0), cell(0, 0, 2, 100.0), cell(0, 0, 3, 100.0)]);
    for (facts, version) in study.facts.iter_mut().zip(["3.4", "3.5", "3.4"]) {
        let [name, meaning] = ["server", ""].map(str::to_owned);
        facts.settings.push(Setting { name, value: format!("etcd {version}"), meaning });
    }
    study.matrix.cells[2].durability = DurabilityClass::Nothing;
    let page = document(&study).markdown();
    let rows = |version: &str| page.matches(&format!("etcd {version}")).count();
    assert_eq!((rows("3.4"), rows("3.5")), (2, 1), "{page}");
}

#[test]
fn the_same_rate_on_more_nodes_is_shown_as_latency() {
    let on = |nodes: usize, throughput_per_s: f64| {
        let mut cell = cell(0, 0, 1, throughput_per_s);
        cell.setup.nodes = Some(nodes);
        cell
    };
    let mut study = study(vec![on(1, 400.0), on(3, 100.0)]);
    study.loads[0] =
        StudyLoad { name: "open-1k".to_owned(), text: "1k/s".to_owned(), clients: None };
    compute(&mut study);
    let page = document(&study).page();
    assert!(page.contains("response p99 over nodes: ycsb-c, open-1k"), "{page}");
    assert!(page.contains("throughput that falls, or latency that rises, shows"), "{page}");
}

#[test]
fn latency_over_throughput_has_its_points_in_order_of_clients() {
    // Throughput falls with 16 clients; the other store has one number of clients only.
    let rates = [(0, 100.0), (1, 300.0), (2, 400.0), (3, 350.0)];
    let mut cells: Vec<Cell> = rates.map(|(load, rate)| cell(0, load, 1, rate)).into();
    cells.rotate_left(2);
    cells.push(cell(1, 0, 1, 50.0));
    for cell in &mut cells {
        let all = cell.figures.of[0].clone();
        let counts = Counts { rows: 7_500, ..all.counts.clone() };
        let of = OperationFilter::Kind(assay_model::Kind::Scan);
        cell.figures.of.push(FilteredFigures { of, counts, ..all });
        cell.figures.failed = 0.25;
    }
    let study = study(cells);
    let table = latency_table(&study, Letters::Ascii);
    let column = |place: usize| -> Vec<&str> {
        table.rows().iter().map(|row| row[place].as_str()).collect()
    };
    assert_eq!(column(2), ["1 client", "4 clients", "8 clients", "16 clients"]);
    assert_eq!(column(3), ["100/s", "300/s", "400/s", "350/s"]);
    assert_eq!(column(6), ["25 %"; 4]);
    assert_eq!(column(7), ["7.5"; 4]);
    let page = document(&study).page();
    let dots = page.matches("<title>etcd × 1: ").count();
    assert_eq!((dots, page.matches("<title>other").count()), (4, 0), "{page}");
}

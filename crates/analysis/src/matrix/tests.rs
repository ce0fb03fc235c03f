//! Rankings, intervals, refusals of small matrices.

use super::rank::rank;
use super::*;
use crate::plausibility::plausibility;

fn of(of: OperationFilter, throughput_per_s: f64, mean_ns: f64) -> FilteredFigures {
    let times = Some(Times { mean_ns, p50_ns: mean_ns, p99_ns: mean_ns * 3.0 });
    FilteredFigures {
        of,
        counts: Counts { offered: 1_000, done: 1_000, hits: 1_000, ..Counts::default() },
        throughput_per_s,
        response: times,
        service: times,
    }
}

fn setup(store: usize) -> Setup {
    Setup { store, workload: 0, nodes: Some(3), load: 0 }
}

fn cell(store: usize, repetition: u32, throughput_per_s: f64) -> Cell {
    let mean_ns = 4e9 / throughput_per_s;
    Cell {
        setup: setup(store),
        repetition,
        figures: CellFigures {
            are_transactions: false,
            run_time_ns: 1e12 / throughput_per_s,
            of: vec![of(OperationFilter::All, throughput_per_s, mean_ns)],
            failed: 0.0,
            little: plausibility(throughput_per_s, mean_ns / 1e9, Some(4.0)),
            hallmark: None,
        },
        durability: DurabilityClass::EveryWrite,
        is_no_op: false,
    }
}

fn ranking(cells: Vec<Cell>) -> Ranking {
    let matrix = Matrix { cells };
    let setups = matrix.setups();
    rank(&matrix, &setups, Metric::Throughput)
}

#[test]
fn runs_of_a_setup_have_one_interval() {
    let matrix = Matrix { cells: [9.0, 10.0, 11.0, 10.0].map(|x| cell(0, 1, x)).into() };
    let spread = matrix.spread(setup(0), Metric::Throughput).unwrap();
    assert_eq!((spread.values.len(), spread.mean), (4, 10.0));
    // t of 3 degrees is 3.182, s is √(2/3).
    let reach = 3.182 * (2.0_f64 / 3.0).sqrt() / 2.0;
    assert!((spread.interval.unwrap().1 - 10.0 - reach).abs() < 0.01);
    assert_eq!(matrix.spread(setup(1), Metric::Throughput), None);
    assert_eq!(
        matrix.spread(
            setup(0),
            Metric::Response(OperationFilter::Kind(Kind::Scan), LatencyStatistic::P99)
        ),
        None
    );
    let p99 = matrix
        .spread(setup(0), Metric::Response(OperationFilter::All, LatencyStatistic::P99))
        .unwrap();
    assert!(p99.mean > 1e9);
}

#[test]
fn the_faster_store_is_first_and_how_far_is_reported() {
    let ranking = ranking(vec![
        cell(0, 1, 100.0),
        cell(0, 2, 101.0),
        cell(0, 3, 102.0),
        cell(1, 1, 300.0),
        cell(1, 2, 303.0),
        cell(1, 3, 306.0),
    ]);
    let order: Vec<usize> = ranking.placed.iter().map(|placed| placed.setup.store).collect();
    assert_eq!(order, [1, 0]);
    assert_eq!((ranking.placed[0].behind, ranking.placed[1].behind), (1.0, 3.0));
    assert_eq!((ranking.placed[0].is_apart, ranking.placed[1].is_apart), (None, Some(true)));
    assert!(ranking.refused.is_empty());
}

#[test]
fn a_store_that_keeps_nothing_is_in_no_ranking() {
    let mut nothing = cell(1, 1, 1e7);
    nothing.is_no_op = true;
    let ranking = ranking(vec![cell(0, 1, 100.0), nothing]);
    assert_eq!(ranking.placed.len(), 1);
    assert_eq!(ranking.refused, [(setup(1), Refused::NoOp)]);
}

#[test]
fn runs_with_misses_failures_or_impossible_figures_are_not_ranked() {
    let mut misses = cell(1, 1, 100.0);
    misses.figures.of[0].counts = Counts { done: 100, hits: 61, misses: 39, ..Counts::default() };
    let mut failing = cell(2, 1, 100.0);
    failing.figures.failed = 0.2;
    let mut lying = cell(3, 1, 100.0);
    lying.figures.little = plausibility(100.0, 1.0, Some(4.0));
    let reasons = ranking(vec![cell(0, 1, 90.0), misses, failing, lying]).refused;
    let reasons: Vec<Refused> = reasons.into_iter().map(|(_, reason)| reason).collect();
    assert_eq!(
        reasons,
        [Refused::Misses(OperationFilter::All, 0.61), Refused::Failed(0.2), Refused::Little]
    );
}

#[test]
fn latency_is_ranked_from_below_and_failures_do_not_flatter_it() {
    let mut flattered = cell(2, 1, 900.0);
    flattered.figures.failed = 0.005;
    let matrix = Matrix { cells: vec![cell(0, 1, 100.0), cell(1, 1, 200.0), flattered] };
    let ranking = rank(
        &matrix,
        &matrix.setups(),
        Metric::Response(OperationFilter::All, LatencyStatistic::P99),
    );
    let order: Vec<(usize, f64)> =
        ranking.placed.iter().map(|placed| (placed.setup.store, placed.behind)).collect();
    assert_eq!(order, [(1, 1.0), (0, 2.0)]);
    assert_eq!(ranking.refused, [(setup(2), Refused::Failed(0.005))]);
}

#[test]
fn durability_classes_that_differ_are_reported() {
    let mut fast = cell(1, 1, 900.0);
    fast.durability = DurabilityClass::Nothing;
    let cells = vec![cell(0, 1, 100.0), fast];
    assert_eq!(
        Matrix { cells: cells.clone() }.durability_classes(),
        [DurabilityClass::Nothing, DurabilityClass::EveryWrite]
    );
}

#[test]
fn reads_that_miss_do_not_hide_behind_writes() {
    let counted = |sort: OperationFilter, done: u64, hits: u64| {
        let mut one = of(sort, 100.0, 4e7);
        one.counts = Counts { offered: done, done, hits, misses: done - hits, ..Counts::default() };
        one
    };
    let (read, insert) = (OperationFilter::Kind(Kind::Read), OperationFilter::Kind(Kind::Insert));
    // Of 20 reads 15 are hits, which is 99.5 % of all operations.
    let all = [
        counted(OperationFilter::All, 1_000, 995),
        counted(read, 20, 15),
        counted(insert, 980, 980),
    ];
    let mut hiding = cell(1, 1, 100.0);
    hiding.figures.of = all[2..].to_vec();
    assert_eq!(hiding.figures.least_found(), None);
    hiding.figures.of = all.to_vec();
    assert_eq!(hiding.figures.least_found(), Some((read, 0.75)));
    // What the workload expects to miss is no loss.
    let mut expected = hiding.clone();
    expected.figures.expect_misses(Kind::Read, u64::MAX);
    assert!(expected.figures.least_found().is_none_or(|(_, share)| share == 1.0));
    let refused = ranking(vec![cell(0, 1, 90.0), hiding]).refused;
    assert_eq!(refused, [(setup(1), Refused::Misses(read, 0.75))]);
}

#[test]
fn a_single_miss_is_not_a_refusal() {
    let counted = |sort: OperationFilter, done: u64, misses: u64| {
        let mut one = of(sort, 100.0, 4e7);
        one.counts = Counts { offered: done, done, hits: done - misses, misses, ..one.counts };
        one
    };
    let reasons = |all: u64, scans: u64, reads: u64| {
        let kinds = [
            (OperationFilter::Kind(Kind::Scan), 15, scans),
            (OperationFilter::Kind(Kind::Read), 985, reads),
        ];
        let mut one = cell(0, 1, 100.0);
        one.figures.of = vec![counted(OperationFilter::All, 1_000, all)];
        one.figures.of.extend(kinds.map(|(sort, done, misses)| counted(sort, done, misses)));
        ranking(vec![one]).refused.into_iter().map(|(_, reason)| reason).collect::<Vec<_>>()
    };
    assert_eq!(reasons(1, 1, 0), []);
    assert_eq!(reasons(2, 2, 0), [Refused::Misses(OperationFilter::Kind(Kind::Scan), 13.0 / 15.0)]);
    // That which may be chance does not hide what may not be.
    assert_eq!(reasons(20, 1, 19), [Refused::Misses(OperationFilter::All, 0.98)]);
}

#[test]
fn stores_in_closed_loops_have_a_fit_over_clients() {
    let clients = [Some(1), Some(2), Some(4), Some(8), Some(16), Some(32), None];
    let of = |store: usize, load: usize| {
        let throughput_per_s = clients[load].map_or(1.0, |clients| 100.0 * f64::from(clients));
        let mut cell = cell(store, 1, throughput_per_s);
        cell.setup.load = load;
        cell
    };
    let mut matrix = Matrix { cells: (0..7).flat_map(|load| [of(0, load), of(1, load)]).collect() };
    let fits = matrix.fits(&clients);
    assert_eq!(fits.iter().map(|one| one.store).collect::<Vec<_>>(), [0, 1]);
    assert!((fits[0].fit.as_ref().unwrap().law.gamma - 100.0).abs() < 0.1);
    for cell in matrix.cells.iter_mut().filter(|cell| cell.setup.store == 1) {
        cell.figures.failed = 0.5;
    }
    assert_eq!(matrix.fits(&clients).len(), 1);
    assert_eq!(matrix.fits(&[None; 7]), []);
}

#[test]
fn a_run_of_transactions_counts_those() {
    let records = crate::tests::history("read 1 0/1..3 · read 2 2..4");
    let mut summary = crate::tests::send(crate::tests::options(0, 100), &records);
    let requests = figures(&summary, None);
    assert!(!requests.are_transactions);
    let mut all = summary.overall.clone();
    all.counts.offered = 40;
    all.counts.refused = 10;
    summary.all_transactions = Some(all);
    let found = figures(&summary, None);
    assert!(found.are_transactions);
    assert_eq!((found.requested(), found.failed), (40, 0.25));
}

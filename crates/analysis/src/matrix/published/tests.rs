//! Published figures in which something is wrong, known beforehand.

use super::*;

const READ: OperationFilter = OperationFilter::Kind(Kind::Read);
const UPDATE: OperationFilter = OperationFilter::Kind(Kind::Update);
const SCAN_OF: OperationFilter = OperationFilter::Kind(Kind::Scan);

fn terms() -> Terms {
    let mix = |workload: &str, shares: &[(OperationFilter, f64)]| WorkloadMix {
        workload: workload.to_owned(),
        shares: shares.to_vec(),
    };
    Terms {
        operations: 100_000.0,
        clients: 4.0,
        mixes: vec![
            mix("A", &[(READ, 0.5), (UPDATE, 0.5)]),
            mix("C", &[(READ, 1.0)]),
            mix("E", &[(SCAN_OF, 0.95), (OperationFilter::Kind(Kind::Insert), 0.05)]),
            mix("F", &[(READ, 0.5), (OperationFilter::ReadModifyWrite, 0.5)]),
        ],
    }
}

/// `values` on 1, 3, 5, … nodes, in microseconds.
fn series(
    system: &str,
    workload: &str,
    measure: PublishedMeasure,
    values: &[f64],
) -> Vec<PublishedFigure> {
    let figure = |(place, value): (usize, &f64)| PublishedFigure {
        system: system.to_owned(),
        workload: workload.to_owned(),
        nodes: 2 * place + 1,
        measure,
        value_ns: value * 1e3,
    };
    values.iter().enumerate().map(figure).collect()
}

fn warnings(figures: &[PublishedFigure], terms: Terms) -> Vec<FigureWarning> {
    ExaminedFigures::new(figures.to_vec(), terms).warnings
}

const RUN_TIME: PublishedMeasure = PublishedMeasure::RunTime;

fn mean(of: OperationFilter) -> PublishedMeasure {
    PublishedMeasure::Mean(of)
}

#[test]
fn run_times_follow_from_latencies() {
    let figures = [
        series("x", "A", RUN_TIME, &[12.5e6, 20e6]),
        series("x", "A", mean(READ), &[400.0, 400.0]),
        series("x", "A", mean(UPDATE), &[600.0, 600.0]),
        series("x", "F", RUN_TIME, &[17.5e6]),
        series("x", "F", mean(READ), &[400.0]),
        series("x", "F", mean(UPDATE), &[600.0]),
        series("x", "C", RUN_TIME, &[1e6]),
    ]
    .concat();
    let found = predictions(&figures, &terms());
    let verdicts: Vec<(&str, usize, f64, Verdict)> = found
        .iter()
        .map(|one| (one.workload.as_str(), one.nodes, one.predicted_ns / 1e9, one.verdict))
        .collect();
    // C has no latency, so nothing is predicted of it.
    assert_eq!(
        verdicts,
        [
            ("A", 1, 12.5, Verdict::Held),
            ("A", 3, 12.5, Verdict::Violated),
            ("F", 1, 17.5, Verdict::Held)
        ]
    );
    let figure_warnings = warnings(&figures, terms());
    let system = "x".to_owned();
    assert_eq!(
        figure_warnings,
        [FigureWarning::Little { system, violated: 1, checked: 3, worst: 1.6 }]
    );
}

#[test]
fn one_chart_under_two_names_is_found() {
    let times = [3e8, 9e8, 8.1e8, 8e8];
    let other = [3e8, 9e8, 8.1e8, 4e8];
    let figures = [
        series("one", "A", RUN_TIME, &times),
        series("one", "C", RUN_TIME, &[1.8e7, 3.1e7, 3.4e7, 3.9e7]),
        series("two", "A", RUN_TIME, &other),
        series("two", "C", RUN_TIME, &[1.8e7, 3.1e7, 3.4e7, 3.9e7]),
        series("three", "A", RUN_TIME, &[1e8, 2e8, 3e8, 4e8]),
        series("three", "C", RUN_TIME, &[1e7, 2e7, 3e7, 4e7]),
    ]
    .concat();
    let (system, other) = ("one".to_owned(), "two".to_owned());
    assert_eq!(
        warnings(&figures, terms()),
        [FigureWarning::SameSeries { system, other, equal: 7, shared: 8 }]
    );
}

#[test]
fn a_system_without_any_cost_has_no_fit() {
    let figures = [
        series("null", "A", RUN_TIME, &[2e6, 2.01e6, 2.03e6, 1.95e6]),
        series("null", "C", RUN_TIME, &[1.7e6, 1.75e6, 1.74e6, 1.69e6]),
        series("null", "E", RUN_TIME, &[1.9e6, 1.92e6, 1.9e6, 1.91e6]),
        series("real", "C", RUN_TIME, &[1.7e6, 2.75e6, 3.7e6, 3.9e6]),
        series("real", "E", RUN_TIME, &[19e6, 32e6, 35e6, 36e6]),
    ]
    .concat();
    let found = warnings(&figures, terms());
    assert!(found.contains(&FigureWarning::LikeNothing { system: "null".to_owned() }), "{found:?}");
    assert_eq!(found.len(), 3, "{found:?}");
}

#[test]
fn published_latencies_of_absent_operations_are_found() {
    let figures = [
        series("x", "E", mean(READ), &[700.0, 750.0]),
        series("x", "F", mean(READ), &[700.0, 750.0]),
        series("x", "F", mean(UPDATE), &[700.0, 750.0]),
    ]
    .concat();
    let (system, workload) = ("x".to_owned(), "E".to_owned());
    assert_eq!(
        warnings(&figures, terms()),
        [FigureWarning::NotIssued { system, workload, of: READ }]
    );
}

#[test]
fn a_slipped_decimal_point_is_put_back() {
    let figures = series("x", "F", mean(READ), &[425.0, 4339.0, 400.0, 410.0]);
    let found = warnings(&figures, terms());
    let likely = match &found[..] {
        [FigureWarning::SlippedPoint { figure, likely_ns }] => (figure.nodes, *likely_ns),
        other => panic!("{other:?}"),
    };
    assert_eq!(likely, (3, 433_900.0));
}

#[test]
fn one_node_that_is_ten_times_as_fast_as_several_has_not_slipped() {
    let read = |values: &[f64]| warnings(&series("x", "F", mean(READ), values), terms());
    assert_eq!(read(&[90.0, 908.0, 850.0, 830.0]), []);
    // Half of the figures are ten times the others: that is no slip of one.
    assert_eq!(read(&[90.0, 95.0, 900.0, 910.0]), []);
    // A tenth of 1 050 is near 110, the lower of the middle two, but not near 155, the median.
    assert_eq!(read(&[110.0, 105.0, 205.0, 200.0, 1_050.0]), []);
    assert_eq!(read(&[400.0, 410.0, 4_050.0]).len(), 1);
}

#[test]
fn figures_of_the_same_nodes_show_no_effect_of_nodes() {
    let once = series("x", "A", RUN_TIME, &[2e6, 2.01e6]);
    let twice = series("x", "A", RUN_TIME, &[2.02e6, 2.03e6]);
    assert_eq!(warnings(&[once.clone(), twice].concat(), terms()), []);
    let third = series("x", "A", RUN_TIME, &[2e6, 2e6, 2.02e6]);
    assert_eq!(warnings(&[&once[..], &third[2..]].concat(), terms()).len(), 1);
}

//! Charts of the study, by the figures of the paper.

use assay_analysis::sawtooth::{LatencyCourse, LatencyKind, SlowClient};

use super::{MeasurementMethod, MethodResult, Study, StudyClock, StudyRun};
use crate::chart::axis::Axis;
use crate::chart::line_chart::{Line, LineChart};
use crate::chart::spectrum::{known, percentile_line, spectrum_points};
use crate::document::ChartFigure;
use crate::units::{Letters, duration, percentile_name, rate};

const LETTERS: Letters = Letters::Unicode;

/// What figures 4 and 5 show of each run; `None` is the mean.
const STATISTICS: [[Option<f64>; 4]; 2] =
    [[None, Some(0.95), Some(0.99), Some(0.999)], [None, Some(0.9), Some(0.95), Some(0.99)]];

/// The threads whose lateness has a chart, with the colours of those that lose more and more.
const LATE: (u32, [&str; 4]) = (4, ["service", "response", "lag", "misses"]);

/// The thread numbers of figure 3, which are those of the paper.
const THREADS: [u32; 2] = [4, 16];

/// The thread numbers and capacities that have a spectrum.
const SPECTRA: [(u32, f64); 4] = [(4, 1250.0), (128, 1250.0), (128, 1053.0), (128, 2000.0)];

fn find(
    study: &Study,
    rate: f64,
    capacity: Option<f64>,
    sessions: Option<u32>,
) -> Option<&StudyRun> {
    study.runs.iter().find(|run| {
        run.clock == StudyClock::Exact
            && run.sawtooth.rate == rate
            && run.sessions == sessions
            && capacity.is_none_or(|capacity| run.sawtooth.capacity == capacity)
    })
}

fn colour(measure: MeasurementMethod) -> (&'static str, &'static [u8]) {
    match measure {
        MeasurementMethod::Open => ("done", &[]),
        // Both are seen where they coincide.
        MeasurementMethod::Intended => ("response", &[10, 10]),
        MeasurementMethod::Service => ("service", &[]),
    }
}

/// Figure 1: a thread whose requests wait for a hiccup.
pub fn figure_1(study: &Study) -> Vec<ChartFigure> {
    let runs = find(study, 10.0, None, None).zip(find(study, 10.0, None, Some(1)));
    let title = "Ten a second, one thread";
    let course = |(open, closed)| time_course(open, closed, "figure-1-course", title);
    runs.and_then(course).into_iter().collect()
}

/// Figure 3: the course of the same hiccup for several numbers of threads.
pub fn figure_3(study: &Study) -> Vec<ChartFigure> {
    let chart = |threads: u32| {
        let open = find(study, 1000.0, Some(1250.0), None)?;
        let closed = find(study, 1000.0, Some(1250.0), Some(threads))?;
        time_course(open, closed, &format!("figure-3-{threads}"), &format!("{threads} threads"))
    };
    THREADS.into_iter().filter_map(chart).collect()
}

/// Figure 4: statistics by the number of threads, then whole spectra.
pub fn figure_4(study: &Study) -> [Vec<ChartFigure>; 2] {
    let at = |sessions| find(study, 1000.0, Some(1250.0), Some(sessions));
    let runs: Vec<&StudyRun> = (0..10).filter_map(|power| at(1 << power)).collect();
    let open = find(study, 1000.0, Some(1250.0), None).filter(|_| runs.len() > 1);
    let Some(open) = open else { return Default::default() };
    let xs: Vec<f64> = runs.iter().map(|run| f64::from(run.sessions.unwrap_or(1))).collect();
    let opens = vec![open; runs.len()];
    let axis = Axis::numbers(xs[0], xs[xs.len() - 1]).titled("threads");
    [
        statistics("figure-4", STATISTICS[0], (axis, xs), &opens, &runs),
        spectra(study, "figure-4", |(_, capacity)| capacity == 1250.0),
    ]
}

/// Figure 5: statistics by the capacity of the store, then whole spectra.
pub fn figure_5(study: &Study) -> [Vec<ChartFigure>; 2] {
    let closed = study.runs.iter().filter(|run| {
        run.clock == StudyClock::Exact && run.sawtooth.rate == 1000.0 && run.sessions == Some(128)
    });
    let mut pairs: Vec<(&StudyRun, &StudyRun)> = closed
        .filter_map(|run| Some((find(study, 1000.0, Some(run.sawtooth.capacity), None)?, run)))
        .collect();
    pairs.sort_by(|a, b| a.1.sawtooth.capacity.total_cmp(&b.1.sawtooth.capacity));
    if pairs.len() < 2 {
        return Default::default();
    }
    let xs: Vec<f64> = pairs.iter().map(|(_, run)| run.sawtooth.capacity).collect();
    let (opens, runs): (Vec<&StudyRun>, Vec<&StudyRun>) = pairs.into_iter().unzip();
    let axis = Axis::numbers(1_000.0, xs[xs.len() - 1]).titled("capacity, operations per second");
    [
        statistics("figure-5", STATISTICS[1], (axis, xs), &opens, &runs),
        spectra(study, "figure-5", |(_, capacity)| capacity != 1250.0),
    ]
}

/// The course of a hiccup in the open and in a closed loop.
fn time_course(open: &StudyRun, closed: &StudyRun, id: &str, title: &str) -> Option<ChartFigure> {
    let lines = sights(open, closed).map(|method| {
        let (colour, dash) = colour(method.measure);
        course_line(method.measure.name(), colour, dash, &method.time_course)
    });
    let chart = course_chart(
        id,
        format!("Latency over time around the hiccup: {title}"),
        "seconds, by intended moment (service: by that of sending)",
        &open.method(MeasurementMethod::Open)?.time_course,
        lines.collect(),
    );
    Some(ChartFigure::lines(title, chart))
}

/// What each way to measure sees of the same hiccup.
fn sights<'a>(open: &'a StudyRun, closed: &'a StudyRun) -> impl Iterator<Item = &'a MethodResult> {
    let sights = [
        (MeasurementMethod::Open, open),
        (MeasurementMethod::Intended, closed),
        (MeasurementMethod::Service, closed),
    ];
    sights.into_iter().filter_map(|(measure, run)| run.method(measure))
}

/// Lines over the time around a hiccup.
fn course_chart(
    id: &str,
    description: String,
    moments: &'static str,
    LatencyCourse { from, width, longest }: &LatencyCourse,
    lines: Vec<Line>,
) -> LineChart {
    let (from, step) = (from.as_secs_f64(), width.as_secs_f64());
    let xs = (0..longest.len()).map(|place| from + step * (place as f64 + 0.5)).collect();
    let x = Axis::time(from, from + step * longest.len() as f64).titled(moments);
    let y = Axis::linear_latency(known(&lines));
    LineChart::new(id, description, [x, y], xs, lines).tall()
}

fn course_line(
    label: impl Into<String>,
    colour: &'static str,
    dash: &'static [u8],
    course: &LatencyCourse,
) -> Line {
    let values = course.longest.iter().map(|time| time.map(|time| time.0 as f64));
    Line::new(label, colour, dash, values)
}

/// Small charts of the mean and some percentiles over a parameter of the runs.
fn statistics(
    id: &str,
    statistics: [Option<f64>; 4],
    (x, xs): (Axis, Vec<f64>),
    opens: &[&StudyRun],
    runs: &[&StudyRun],
) -> Vec<ChartFigure> {
    let chart = |(place, statistic): (usize, Option<f64>)| {
        let line = |measure: MeasurementMethod| {
            let of = if measure == MeasurementMethod::Open { opens } else { runs };
            let value = |run: &&StudyRun| {
                let method = run.method(measure)?;
                let time = match statistic {
                    None => method.found.mean_ns,
                    Some(quantile) => method.found.at(quantile).0 as f64,
                };
                (time > 0.0).then_some(time)
            };
            let (colour, dash) = colour(measure);
            let values = of.iter().map(value);
            let label = measure.name().to_owned();
            Line::new(label, colour, dash, values)
        };
        let lines: Vec<Line> = MeasurementMethod::ALL.into_iter().map(line).collect();
        let name = statistic.map_or_else(|| "mean".to_owned(), percentile_name);
        let values = known(&lines);
        let chart = LineChart::new(
            format!("{id}-statistic-{place}"),
            format!("{name} of the latency over threads or capacity"),
            [x, Axis::latency(values)],
            xs.clone(),
            lines,
        );
        ChartFigure::lines(format!("latency: {name}"), chart)
    };
    statistics.into_iter().enumerate().map(chart).collect()
}

/// The whole percentile spectrum of some runs, beside the closed form of the open model.
fn spectra(study: &Study, id: &str, is_expected: fn((u32, f64)) -> bool) -> Vec<ChartFigure> {
    let expected = SPECTRA.into_iter().filter(|one| is_expected(*one));
    let chart = |(threads, capacity): (u32, f64)| {
        let open = find(study, 1000.0, Some(capacity), None)?;
        let closed = find(study, 1000.0, Some(capacity), Some(threads))?;
        let chart = spectrum(&format!("{id}-spectrum-{threads}-{capacity}"), open, closed);
        let title = format!("Every percentile, {threads} threads, capacity {}", rate(capacity));
        Some(ChartFigure::lines(title, chart))
    };
    expected.filter_map(chart).collect()
}

fn spectrum(id: &str, open: &StudyRun, closed: &StudyRun) -> LineChart {
    let operations = open.sawtooth.operations;
    let xs = spectrum_points(operations);
    let line = |method: &MethodResult| {
        let (colour, dash) = colour(method.measure);
        percentile_line(method.measure.name(), colour, dash, &method.distribution, &xs)
    };
    let mut lines: Vec<Line> = sights(open, closed).map(line).collect();
    let quantiles: Vec<f64> = xs.iter().map(|x| 1.0 - 1.0 / x).collect();
    let expected = open.sawtooth.figures(LatencyKind::Response, &quantiles).quantiles;
    let expected = expected.iter().map(|(_, time)| Some(time.0 as f64));
    lines.push(Line::new("formula", "offered", &[2, 5], expected));
    let axes = [Axis::spectrum(operations), Axis::latency(known(&lines))];
    LineChart::new(id, "Latency at every percentile", axes, xs, lines).tall()
}

/// How the intended latency of few threads comes back, by what they lose.
pub fn late(study: &Study) -> Vec<ChartFigure> {
    let (threads, colours) = LATE;
    let clients: Vec<&SlowClient> =
        study.slow.iter().filter(|client| client.sessions == threads).collect();
    let Some(first) = clients.first() else { return Vec::new() };
    let lines = clients.iter().zip(colours).map(|(client, colour)| {
        let label = format!("{} lost", duration(client.pause, LETTERS));
        course_line(label, colour, &[], &client.time_course)
    });
    let chart = course_chart(
        "late-course",
        format!("Intended latency over time of {threads} threads that lose time"),
        "seconds, by intended moment",
        &first.time_course,
        lines.collect(),
    );
    let title = format!("Intended latency of {threads} threads, by what each loses");
    vec![ChartFigure::lines(title, chart)]
}

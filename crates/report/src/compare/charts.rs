//! Charts of two set-ups, or of the repeated runs of one.

use assay_analysis::{Distribution, IntervalSummary, Quick};
use assay_model::Nanos;

use super::{ComparedSetup, Contrast, Run};
use crate::chart::axis::Axis;
use crate::chart::line_chart::{Height, Line, LineChart};
use crate::chart::spectrum::{
    DASHED, DOTTED, LONG, SOLID, known, percentile_line, positive, spectrum_chart, spectrum_points,
};
use crate::document::ChartFigure;
use crate::verdict::model_name;

/// Points of a course over time; finer is not seen.
const MOST_POINTS: usize = 1_200;

/// Colours of repeated runs, one after the other.
const COLOURS: [&str; 6] = ["old", "new", "done", "lag", "misses", "dropped"];

/// A run as charts show it.
pub struct DisplayedRun<'a> {
    /// `BASE open`.
    pub label: String,
    colour: &'static str,
    /// The run.
    pub run: &'a Run,
}

/// The typical runs of both set-ups.
pub fn both(contrast: &Contrast) -> [DisplayedRun<'_>; 2] {
    [("BASE", "old", &contrast.old), ("NEW", "new", &contrast.new)].map(|(name, colour, side)| {
        let run = side.typical();
        let label = format!("{name} {}", model_name(run.summary.load));
        DisplayedRun { label, colour, run }
    })
}

/// Response and service time of both at every percentile.
pub fn spectrum(contrast: &Contrast) -> Vec<ChartFigure> {
    vec![described(both_spectra(&both(contrast)))]
}

/// Latency and throughput of both over time.
pub fn courses(contrast: &Contrast) -> Vec<ChartFigure> {
    over_time_of_both(&both(contrast))
}

/// Response time of each run at every percentile.
pub fn spectrum_of_runs(side: &ComparedSetup) -> Vec<ChartFigure> {
    vec![described(runs_spectrum(&all(side)))]
}

/// Response p99 of each run over time.
pub fn course_of_runs(side: &ComparedSetup) -> Vec<ChartFigure> {
    vec![described(runs_course(&all(side)))]
}

fn all(side: &ComparedSetup) -> Vec<DisplayedRun<'_>> {
    let runs = side.runs.iter().zip(COLOURS.iter().cycle()).enumerate();
    runs.map(|(place, (run, colour))| DisplayedRun {
        label: format!("run {}", place + 1),
        colour,
        run,
    })
    .collect()
}

/// A chart whose title is its description.
fn described(chart: LineChart) -> ChartFigure {
    ChartFigure::lines(chart.description.clone(), chart)
}

fn over_time_of_both(displayed: &[DisplayedRun; 2]) -> Vec<ChartFigure> {
    let latency = |id: &str, title: &str, of: fn(&IntervalSummary) -> &Quick| {
        let lines = |displayed: &DisplayedRun, grid: &Grid| {
            let line = |name: &str, dash, at: fn(&Quick) -> Nanos| {
                Line::new(
                    format!("{} {name}", displayed.label),
                    displayed.colour,
                    dash,
                    grid.values(displayed.run, |interval| positive(at(of(interval)))),
                )
            };
            vec![
                line("max", DOTTED, |quick| quick.max),
                line("p99", LONG, |quick| quick.p99),
                line("p50", SOLID, |quick| quick.p50),
            ]
        };
        over_time(id, title, displayed, lines, |lines| Axis::latency(known(lines)))
    };
    let response =
        latency("response", "Response time of both over time", |interval| &interval.response);
    let service =
        latency("service", "Service time of both over time", |interval| &interval.service);
    vec![
        ChartFigure::lines("Response time", response),
        ChartFigure::lines("Service time", service),
        ChartFigure::lines("Throughput, operations per second", throughput(displayed)),
    ]
}

fn both_spectra(displayed: &[DisplayedRun]) -> LineChart {
    let description = "Response and service time of both at every percentile";
    spectra(displayed, description, |one| {
        let hits = &one.run.summary.overall.hits;
        let [response, service] = ["response", "service"].map(|of| format!("{} {of}", one.label));
        vec![(response, SOLID, &hits.response), (service, DASHED, &hits.service)]
    })
}

fn runs_spectrum(displayed: &[DisplayedRun]) -> LineChart {
    spectra(displayed, "Response time of each run at every percentile", |one| {
        vec![(one.label.clone(), SOLID, &one.run.summary.overall.hits.response)]
    })
}

/// What a line of percentiles is called, its dashes, and the values that it is of.
type OfSpectrum<'a> = (String, &'static [u8], &'a Distribution);

/// Lines over percentiles, each of which ends where its run has no more values.
fn spectra<'a>(
    displayed: &'a [DisplayedRun],
    description: &str,
    lines_of: impl Fn(&'a DisplayedRun) -> Vec<OfSpectrum<'a>>,
) -> LineChart {
    let count = |one: &DisplayedRun| one.run.summary.overall.hits.response.count;
    let most = displayed.iter().map(count).max().unwrap_or(0).max(1);
    let xs = spectrum_points(most);
    let mut lines = Vec::new();
    for one in displayed {
        let ended = xs.partition_point(|x| *x <= count(one) as f64);
        for (label, dash, distribution) in lines_of(one) {
            let mut line = percentile_line(&label, one.colour, dash, distribution, &xs);
            line.values[ended..].fill(None);
            lines.push(line);
        }
    }
    let (id, description) = ("spectrum".to_owned(), description.to_owned());
    spectrum_chart(id, description, most, xs, lines, Height::Tall)
}

fn runs_course(displayed: &[DisplayedRun]) -> LineChart {
    let lines = |displayed: &DisplayedRun, grid: &Grid| {
        vec![Line::new(
            displayed.label.clone(),
            displayed.colour,
            SOLID,
            grid.values(displayed.run, |interval| positive(interval.response.p99)),
        )]
    };
    let description = "Response p99 of each run over time";
    over_time("response", description, displayed, lines, |lines| Axis::latency(known(lines)))
}

fn throughput(displayed: &[DisplayedRun]) -> LineChart {
    let lines = |displayed: &DisplayedRun, grid: &Grid| {
        let line = |name: &str, dash, of: fn(&IntervalSummary) -> u64| {
            let summary = &displayed.run.summary;
            let rate = |interval: &IntervalSummary| {
                let left = summary.window.until.since(interval.from);
                let seconds = summary.series.width.min(left).as_secs_f64();
                // Operations that end after the window are the remainder, no rate.
                (seconds > 0.0).then(|| of(interval) as f64 / seconds)
            };
            Line::new(
                format!("{} {name}", displayed.label),
                displayed.colour,
                dash,
                grid.values(displayed.run, rate),
            )
        };
        vec![
            line("done", SOLID, |interval| interval.done),
            line("offered", DOTTED, |interval| interval.offered),
        ]
    };
    let description = "Operations offered and done of both over time";
    over_time("throughput", description, displayed, lines, |lines| Axis::rate(known(lines)))
}

fn over_time(
    id: &str,
    description: &str,
    displayed: &[DisplayedRun],
    lines: impl Fn(&DisplayedRun, &Grid) -> Vec<Line>,
    y: impl Fn(&[Line]) -> Axis,
) -> LineChart {
    let grid = Grid::of(displayed);
    let lines: Vec<Line> = displayed.iter().flat_map(|displayed| lines(displayed, &grid)).collect();
    LineChart::new(
        format!("over-time-{id}"),
        description,
        [
            Axis::time(0.0, grid.step * grid.points as f64).titled(match id {
                "response" => "seconds since the measured start, by intended moment",
                "service" => "seconds since the measured start, by moment of sending",
                _ => "seconds since the measured start",
            }),
            y(&lines),
        ],
        grid.xs(),
        lines,
    )
    .tall()
}

/// Moments since the measured start that several runs have in common.
struct Grid {
    step: f64,
    points: usize,
}

impl Grid {
    /// As fine as the finest series, as long as the longest.
    fn of(displayed: &[DisplayedRun]) -> Grid {
        let width = |displayed: &DisplayedRun| displayed.run.summary.series.width.as_secs_f64();
        let length = |displayed: &DisplayedRun| {
            let series = &displayed.run.summary.series;
            let until = series.width.as_secs_f64() * series.intervals.len() as f64;
            series.from.as_secs_f64() + until - displayed.run.summary.window.from.as_secs_f64()
        };
        let finest = displayed.iter().map(width).fold(f64::INFINITY, f64::min);
        let longest = displayed.iter().map(length).fold(0.0, f64::max);
        let step = finest.max(longest / MOST_POINTS as f64).max(1e-9);
        Grid { step, points: ((longest / step).ceil() as usize).clamp(1, MOST_POINTS) }
    }

    fn xs(&self) -> Vec<f64> {
        (0..self.points).map(|place| (place as f64 + 0.5) * self.step).collect()
    }

    /// What the run's intervals that hold the moments say.
    fn values(&self, run: &Run, of: impl Fn(&IntervalSummary) -> Option<f64>) -> Vec<Option<f64>> {
        let series = &run.summary.series;
        let offset = run.summary.window.from.as_secs_f64() - series.from.as_secs_f64();
        let width = series.width.as_secs_f64();
        let value = |x: f64| {
            let place = (x + offset) / width;
            let interval = (place >= 0.0).then(|| series.intervals.get(place as usize))??;
            of(interval)
        };
        self.xs().into_iter().map(value).collect()
    }
}

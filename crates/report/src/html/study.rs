//! The study of coordinated omission as one page.

use assay_analysis::sawtooth::{LatencyCourse, LatencyKind};

use super::axis::Axis;
use super::charts::{percentile_line, spectrum_points};
use super::escape::escape;
use super::line_chart::{Height, Line, LineChart};
use super::{page, sections};
use crate::study::{Measure, MethodResult, SlowClient, Study, StudyClock, StudyRun, rows};
use crate::units::{Letters, count, duration, percentile_name, rate};

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

/// The study as one file that needs no network.
pub fn study_html(study: &Study) -> String {
    let mut charts = Vec::new();
    let mut body = opening(study);
    body += &figure_1(study, &mut charts);
    body += &figure_3(study, &mut charts);
    body += &figure_4(study, &mut charts);
    body += &figure_5(study, &mut charts);
    body += &late(study, &mut charts);
    body += &differences();
    body += &numbers(study);
    body += &sections::section("repeat", "Reproduce with", "");
    body +=
        &format!("<pre tabindex=\"0\"><code>{}</code></pre>\n</section>\n", escape(&study.command));
    page("The study of coordinated omission", &body, &charts.iter().collect::<Vec<_>>())
}

fn opening(study: &Study) -> String {
    let (tone, sign) = if study.agreement().holds() { ("fine", "✓") } else { ("alarm", "!") };
    let mut out = format!(
        "<header><p class=\"brand\">Assay <span>{}</span></p>\n\
         <h1>The study of coordinated omission</h1>\n\
         <p class=\"sub\">{} operations in simulated time · seed {}</p></header>\n\
         <section class=\"verdict\" aria-label=\"Verdict\"><p class=\"{tone} first\">\
         <span class=\"sign\" aria-hidden=\"true\">{sign}</span><span>{}.</span></p></section>\n",
        escape(&study.version),
        count(study.operations()).replace(' ', "\u{202f}"),
        study.seed,
        sections::grouped(&escape(&rows::headline(study))),
    );
    out += "<section id=\"about\"><p class=\"lead\">A store stops for a second. Three ways to \
            measure look at it: an <strong>open</strong> load, whose arrivals do not wait, \
            measured from the intended moment; the closed loop of YCSB, measured from the moment \
            of sending (<strong>service</strong>); and the same closed loop measured from the \
            moment at which it should have sent (<strong>intended</strong>). The experiments are \
            those of Friedrich, Wingerath, Ritter: “Coordinated Omission in NoSQL Database \
            Benchmarking”, BTW 2017, figures 1, 3, 4 and 5; the store is simulated by its \
            equations (1) and (2), and so is time.</p>\n";
    out += "<p class=\"lead\">With rate λ, capacity μ and a hiccup of length H, a user waits H at \
            first and nothing more H·μ/(μ−λ) after the hiccup began. Of N threads only N \
            requests ever see the hiccup; the thousands after them queue behind N−1 others and \
            take N/μ each. Every number here is held against these closed forms.</p></section>\n";
    out
}

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

fn colour(measure: Measure) -> (&'static str, &'static [u8]) {
    match measure {
        Measure::Open => ("done", &[]),
        // Both are seen where they coincide.
        Measure::Intended => ("response", &[10, 10]),
        Measure::Service => ("service", &[]),
    }
}

fn figure_1(study: &Study, charts: &mut Vec<LineChart>) -> String {
    let (open, closed) = (find(study, 10.0, None, None), find(study, 10.0, None, Some(1)));
    let (Some(open), Some(closed)) = (open, closed) else { return String::new() };
    let lead = "One thread wants to issue every 100 ms; after 10 s the store stops for a second. \
                By YCSB's service time one request was slow. Eleven were due.";
    let mut out = sections::section("figure-1", "Figure 1: the problem", lead);
    out += &time_course(open, closed, "figure-1-course", "Ten a second, one thread", charts);
    out + "</section>\n"
}

fn figure_3(study: &Study, charts: &mut Vec<LineChart>) -> String {
    let lead = "1000 operations a second at a store that serves 1250. Each point is the slowest \
                operation of 20 ms: of those that were meant to be issued then, or, for service \
                time, of those that were sent then. While the store stands still nothing is sent.";
    let mut inner = String::new();
    for threads in THREADS {
        let open = find(study, 1000.0, Some(1250.0), None);
        let closed = find(study, 1000.0, Some(1250.0), Some(threads));
        if let (Some(open), Some(closed)) = (open, closed) {
            let title = format!("{threads} threads");
            inner += &time_course(open, closed, &format!("figure-3-{threads}"), &title, charts);
        }
    }
    if inner.is_empty() {
        return String::new();
    }
    sections::section("figure-3", "Figure 3: over time", lead) + &inner + "</section>\n"
}

/// The course of a hiccup in the open and in a closed loop.
fn time_course(
    open: &StudyRun,
    closed: &StudyRun,
    id: &str,
    title: &str,
    charts: &mut Vec<LineChart>,
) -> String {
    let sights = [(Measure::Open, open), (Measure::Intended, closed), (Measure::Service, closed)];
    let sights = sights.iter().filter_map(|(measure, run)| run.method(*measure));
    let lines: Vec<Line> = sights.map(course_line).collect();
    let Some(LatencyCourse { from, width, longest }) =
        open.method(Measure::Open).map(|method| &method.time_course)
    else {
        return String::new();
    };
    let step = width.as_secs_f64();
    let xs: Vec<f64> =
        (0..longest.len()).map(|place| from.as_secs_f64() + step * (place as f64 + 0.5)).collect();
    let until = from.as_secs_f64() + step * longest.len() as f64;
    let values = lines.iter().flat_map(|line| line.values.iter().flatten().copied());
    let chart = LineChart {
        id: id.to_owned(),
        description: format!("Latency over time around the hiccup: {title}"),
        x: Axis::time(from.as_secs_f64(), until)
            .titled("seconds, by intended moment (service: by that of sending)"),
        y: Axis::linear_latency(values),
        xs,
        lines,
        bands: Vec::new(),
        shades: Vec::new(),
        marks: Vec::new(),
        height: Height::Tall,
    };
    figure(title, chart, charts)
}

fn course_line(method: &MethodResult) -> Line {
    let (colour, dash) = colour(method.measure);
    let values = method.time_course.longest.iter().map(|time| time.map(|time| time.0 as f64));
    Line {
        label: method.measure.name().to_owned(),
        colour,
        dash,
        is_filled: false,
        values: values.collect(),
    }
}

fn figure(title: &str, chart: LineChart, charts: &mut Vec<LineChart>) -> String {
    let html = format!("<figure><figcaption>{}</figcaption>\n{}</figure>\n", title, chart.html());
    charts.push(chart);
    html
}

fn figure_4(study: &Study, charts: &mut Vec<LineChart>) -> String {
    let at = |sessions| find(study, 1000.0, Some(1250.0), Some(sessions));
    let runs: Vec<&StudyRun> = (0..10).filter_map(|power| at(1 << power)).collect();
    let Some(open) = find(study, 1000.0, Some(1250.0), None) else { return String::new() };
    if runs.len() < 2 {
        return String::new();
    }
    let lead = "The open model has no threads: its line is level. Service time shows the hiccup \
                only as far as there are threads to be hit by it; the lines meet when the hiccup \
                hits as many threads as a percentile looks at.";
    let mut out = sections::section("figure-4", "Figure 4: by the number of threads", lead);
    let xs: Vec<f64> = runs.iter().map(|run| f64::from(run.sessions.unwrap_or(1))).collect();
    let opens = vec![open; runs.len()];
    let axis = Axis::numbers(xs[0], xs[xs.len() - 1]).titled("threads");
    out += &statistics("figure-4", STATISTICS[0], (axis, xs), &opens, &runs, charts);
    out += &spectra(study, "figure-4", |(_, capacity)| capacity == 1250.0, charts);
    out + "</section>\n"
}

fn figure_5(study: &Study, charts: &mut Vec<LineChart>) -> String {
    let closed = study.runs.iter().filter(|run| {
        run.clock == StudyClock::Exact && run.sawtooth.rate == 1000.0 && run.sessions == Some(128)
    });
    let mut pairs: Vec<(&StudyRun, &StudyRun)> = closed
        .filter_map(|run| Some((find(study, 1000.0, Some(run.sawtooth.capacity), None)?, run)))
        .collect();
    pairs.sort_by(|a, b| a.1.sawtooth.capacity.total_cmp(&b.1.sawtooth.capacity));
    if pairs.len() < 2 {
        return String::new();
    }
    let lead = "128 threads want 1000 operations a second; the capacity goes from a utilisation \
                of 95 % to one of 10 %. The nearer to its limit the store is, the longer a user \
                feels a second of standstill, and the less service time says of it.";
    let mut out = sections::section("figure-5", "Figure 5: by the capacity of the store", lead);
    let xs: Vec<f64> = pairs.iter().map(|(_, run)| run.sawtooth.capacity).collect();
    let (opens, runs): (Vec<&StudyRun>, Vec<&StudyRun>) = pairs.into_iter().unzip();
    let axis = Axis::numbers(1_000.0, xs[xs.len() - 1]).titled("capacity, operations per second");
    out += &statistics("figure-5", STATISTICS[1], (axis, xs), &opens, &runs, charts);
    out += &spectra(study, "figure-5", |(_, capacity)| capacity != 1250.0, charts);
    out + "</section>\n"
}

/// Small charts of the mean and some percentiles over a parameter of the runs.
fn statistics(
    id: &str,
    statistics: [Option<f64>; 4],
    (x, xs): (Axis, Vec<f64>),
    opens: &[&StudyRun],
    runs: &[&StudyRun],
    charts: &mut Vec<LineChart>,
) -> String {
    let mut out = "<div class=\"multiples\">\n".to_owned();
    for (place, statistic) in statistics.into_iter().enumerate() {
        let line = |measure: Measure| {
            let of = if measure == Measure::Open { opens } else { runs };
            let value = |run: &&StudyRun| {
                let method = run.method(measure)?;
                let time = match statistic {
                    None => method.found.mean_ns,
                    Some(quantile) => method.quantile(quantile).0 as f64,
                };
                (time > 0.0).then_some(time)
            };
            let (colour, dash) = colour(measure);
            let values = of.iter().map(value).collect();
            let label = measure.name().to_owned();
            Line { label, colour, dash, is_filled: false, values }
        };
        let lines: Vec<Line> = Measure::ALL.into_iter().map(line).collect();
        let name = statistic.map_or_else(|| "mean".to_owned(), percentile_name);
        let values = lines.iter().flat_map(|line| line.values.iter().flatten().copied());
        let chart = LineChart {
            id: format!("{id}-statistic-{place}"),
            description: format!("{name} of the latency over threads or capacity"),
            x,
            y: Axis::latency(values),
            xs: xs.clone(),
            lines,
            bands: Vec::new(),
            shades: Vec::new(),
            marks: Vec::new(),
            height: Height::Low,
        };
        out += &figure(&format!("latency: {name}"), chart, charts);
    }
    out + "</div>\n"
}

/// The whole percentile spectrum of some runs, beside the closed form of the open model.
fn spectra(
    study: &Study,
    id: &str,
    is_expected: fn((u32, f64)) -> bool,
    charts: &mut Vec<LineChart>,
) -> String {
    let mut out = "<div class=\"multiples\">\n".to_owned();
    for (threads, capacity) in SPECTRA.into_iter().filter(|one| is_expected(*one)) {
        let open = find(study, 1000.0, Some(capacity), None);
        let closed = find(study, 1000.0, Some(capacity), Some(threads));
        if let (Some(open), Some(closed)) = (open, closed) {
            let chart = spectrum(&format!("{id}-spectrum-{threads}-{capacity}"), open, closed);
            let title = format!("Every percentile, {threads} threads, capacity {}", rate(capacity));
            out += &figure(&title, chart, charts);
        }
    }
    out + "</div>\n"
}

fn spectrum(id: &str, open: &StudyRun, closed: &StudyRun) -> LineChart {
    let operations = open.sawtooth.operations;
    let xs = spectrum_points(operations);
    let sights = [(Measure::Open, open), (Measure::Intended, closed), (Measure::Service, closed)];
    let sights = sights.iter().filter_map(|(measure, run)| run.method(*measure));
    let mut lines: Vec<Line> = sights
        .map(|method| {
            let (colour, dash) = colour(method.measure);
            percentile_line(method.measure.name(), colour, dash, &method.distribution, &xs)
        })
        .collect();
    let quantiles: Vec<f64> = xs.iter().map(|x| 1.0 - 1.0 / x).collect();
    let expected = open.sawtooth.figures(LatencyKind::Response, &quantiles).quantiles;
    lines.push(Line {
        label: "formula".to_owned(),
        colour: "offered",
        dash: &[2, 5],
        is_filled: false,
        values: expected.iter().map(|(_, time)| Some(time.0 as f64)).collect(),
    });
    let values = lines.iter().flat_map(|line| line.values.iter().flatten().copied());
    LineChart {
        id: id.to_owned(),
        description: "Latency at every percentile".to_owned(),
        x: Axis::spectrum(operations),
        y: Axis::latency(values),
        xs,
        lines,
        bands: Vec::new(),
        shades: Vec::new(),
        marks: Vec::new(),
        height: Height::Tall,
    }
}

fn late(study: &Study, charts: &mut Vec<LineChart>) -> String {
    if study.slow.is_empty() {
        return String::new();
    }
    let lead = "The paper finds it surprising that the intended latency of 4 threads comes back \
                to normal very late. A client that loses time between an answer and its next \
                request would do that: N threads that need c each give the store at most N/c \
                requests a second, and only what that is above the rate works the backlog off.";
    let mut out = sections::section("late", "Why few threads stabilise late", lead);
    out += &late_course(study, charts);
    out += &sections::table(&rows::slow_clients(&study.slow, LETTERS), "dense");
    out += "<p class=\"note\">1000 operations a second, capacity 1250 a second, a hiccup of \
            1 s. Without loss every number of threads is back after 5 s.</p>\n";
    out + "</section>\n"
}

/// How the intended latency of few threads comes back, by what they lose.
fn late_course(study: &Study, charts: &mut Vec<LineChart>) -> String {
    let (threads, colours) = LATE;
    let clients: Vec<&SlowClient> =
        study.slow.iter().filter(|client| client.sessions == threads).collect();
    let Some(LatencyCourse { from, width, longest }) =
        clients.first().map(|client| &client.time_course)
    else {
        return String::new();
    };
    let step = width.as_secs_f64();
    let begin = from.as_secs_f64();
    let xs: Vec<f64> = (0..longest.len()).map(|at| begin + step * (at as f64 + 0.5)).collect();
    let lines: Vec<Line> = clients
        .iter()
        .zip(colours)
        .map(|(client, colour)| Line {
            label: format!("{} lost", duration(client.pause, LETTERS)),
            colour,
            dash: &[],
            is_filled: false,
            values: client.time_course.longest.iter().map(|t| t.map(|t| t.0 as f64)).collect(),
        })
        .collect();
    let values = lines.iter().flat_map(|line| line.values.iter().flatten().copied());
    let chart = LineChart {
        id: "late-course".to_owned(),
        description: format!("Intended latency over time of {threads} threads that lose time"),
        x: Axis::time(begin, begin + step * longest.len() as f64)
            .titled("seconds, by intended moment"),
        y: Axis::linear_latency(values),
        xs,
        lines,
        bands: Vec::new(),
        shades: Vec::new(),
        marks: Vec::new(),
        height: Height::Tall,
    };
    figure(&format!("Intended latency of {threads} threads, by what each loses"), chart, charts)
}

fn differences() -> String {
    let title = "Where our figures are not those of the paper";
    let mut out = sections::section("differences", title, "");
    out += "<dl>\n";
    for (title, text) in rows::DIFFERENCES {
        out += &format!("<dt>{}</dt><dd>{}</dd>\n", escape(title), escape(text));
    }
    out + "</dl>\n</section>\n"
}

fn numbers(study: &Study) -> String {
    let mut out = sections::section("numbers", "Every number", rows::MEANING);
    for group in rows::groups(study) {
        let table = sections::table(&rows::numbers(&group.runs, LETTERS), "dense");
        out +=
            &format!("<h3 id=\"numbers-{}\">{}</h3>\n{table}<br>\n", group.id, escape(group.title));
    }
    out + "</section>\n"
}

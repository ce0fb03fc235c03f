//! Charts of a run: its course over time, and its percentile spectra.

use assay_analysis::recovery::ServiceState;
use assay_analysis::{Group, IntervalSummary, Quick, Series, Summary};
use assay_model::Nanos;

use crate::chart::axis::Axis;
use crate::chart::line_chart::{ChartMark, Height, Line, LineChart, Shade, ShadeKind};
use crate::chart::spectrum::{
    DASHED, DOTTED, LONG, MIXED, SOLID, known, percentile_line, positive, spectrum_chart,
    spectrum_points,
};
use crate::facts::Facts;

/// The title of the time axis for operations at their intended times.
pub const INTENDED: &str = "seconds of the run, by intended moment";
/// Its title for operations at their start times.
pub const SENT: &str = "seconds of the run, by moment of sending";
/// Its title for operations at the times of their responses, or without operations.
pub const ENDED: &str = "seconds of the run";

/// Response over service time of one group's hits at every percentile.
pub fn spectrum(id: &str, name: &str, group: &Group, height: Height) -> Option<LineChart> {
    let (response, service) = (&group.hits.response, &group.hits.service);
    if response.count == 0 {
        return None;
    }
    let xs = spectrum_points(response.count);
    let lines = vec![
        percentile_line("response", "response", SOLID, response, &xs),
        percentile_line("service", "service", DASHED, service, &xs),
    ];
    Some(spectrum_chart(
        id.to_owned(),
        format!("Response and service time of {name} at every percentile"),
        response.count,
        xs,
        lines,
        height,
    ))
}

/// The lag of all operations at every percentile.
pub fn lag_spectrum(summary: &Summary) -> Option<LineChart> {
    if summary.lag.count == 0 {
        return None;
    }
    let xs = spectrum_points(summary.lag.count);
    let lines = vec![percentile_line("lag", "lag", SOLID, &summary.lag, &xs)];
    let chart = spectrum_chart(
        "lag-spectrum".to_owned(),
        "Lag of all operations at every percentile".to_owned(),
        summary.lag.count,
        xs,
        lines,
        Height::Low,
    );
    let y = chart.y.titled("lag");
    Some(LineChart { y, ..chart })
}

/// A course over time, with the moments that were special.
pub struct Timeline<'a> {
    facts: &'a Facts,
    summary: &'a Summary,
    series: &'a Series,
}

impl<'a> Timeline<'a> {
    /// The course that `series` tells of the run that `facts` and `summary` are about.
    pub fn new(facts: &'a Facts, summary: &'a Summary, series: &'a Series) -> Timeline<'a> {
        Timeline { facts, summary, series }
    }

    /// Median, 99th percentile and maximum of the response time, with the service time below.
    pub fn latency(&self) -> LineChart {
        let line = |label: &str, colour, dash, of: fn(&IntervalSummary) -> Nanos| {
            Line::new(label, colour, dash, self.series.intervals.iter().map(|i| positive(of(i))))
        };
        let lines = vec![
            line("response max", "response", DOTTED, |i| i.response.max),
            line("response p99", "response", LONG, |i| i.response.p99),
            line("response p50", "response", SOLID, |i| i.response.p50),
            line("service p99", "service", MIXED, |i| i.service.p99),
            line("service p50", "service", DASHED, |i| i.service.p50),
        ];
        let y = Axis::latency(known(&lines));
        let description = "Response and service time over time".to_owned();
        let chart = self.chart("latency", description, y, lines);
        let x = chart.x.titled("seconds of the run, by intended moment (service: of sending)");
        LineChart { bands: vec![(1, 2)], x, ..chart }
    }

    /// What was offered and done each second, with everything that was no hit apart.
    pub fn throughput(&self) -> LineChart {
        let line = |label: &str, colour, dash, of: fn(&IntervalSummary) -> u64| Line {
            label: label.to_owned(),
            colour,
            dash,
            is_filled: colour == "done",
            values: self.series.intervals.iter().map(|i| self.rate(i, of(i))).collect(),
        };
        let mut lines = vec![
            line("done", "done", SOLID, |i| i.done),
            line("offered", "offered", DASHED, |i| i.offered),
            line("misses", "misses", DOTTED, |i| i.misses),
            line("refused", "refused", LONG, |i| i.refused),
            line("unknown", "unknown", MIXED, |i| i.unknown),
            line("dropped", "dropped", DASHED, |i| i.dropped),
        ];
        let is_observed = |line: &Line| {
            matches!(line.colour, "done" | "offered")
                || line.values.iter().flatten().any(|v| *v > 0.0)
        };
        lines.retain(is_observed);
        for line in lines.iter_mut().filter(|line| !matches!(line.colour, "done" | "offered")) {
            line.values = without_rest(&line.values);
        }
        let y = Axis::rate(known(&lines));
        let description = "Operations offered and done over time, failures apart".to_owned();
        let chart = self.chart("throughput", description, y, lines);
        LineChart { height: Height::Low, ..chart }
    }

    /// The generator's own lateness.
    pub fn lag(&self) -> LineChart {
        let line = |label: &str, dash, of: fn(&Quick) -> Nanos| {
            Line::new(
                label,
                "lag",
                dash,
                self.series.intervals.iter().map(|i| positive(of(&i.lag))),
            )
        };
        let lines = vec![
            line("lag max", DOTTED, |lag| lag.max),
            line("lag p99", LONG, |lag| lag.p99),
            line("lag p50", SOLID, |lag| lag.p50),
        ];
        let y = Axis::latency(known(&lines)).titled("lag");
        let description = "Lag of all operations over time".to_owned();
        let chart = self.chart("lag", description, y, lines);
        let x = chart.x.titled(INTENDED);
        LineChart { bands: vec![(1, 2)], height: Height::Low, x, ..chart }
    }

    /// Numbers by second of the run, summed up within the intervals of the course.
    pub fn per_interval(&self, per_second: &[(u64, u64)]) -> Vec<u64> {
        let mut sums = vec![0; self.series.intervals.len()];
        for (second, number) in per_second {
            let past = Nanos::from_secs(*second).since(self.series.from);
            let place = usize::try_from(past.0 / self.series.width.0.max(1));
            if let Some(sum) = place.ok().and_then(|place| sums.get_mut(place)) {
                *sum += number;
            }
        }
        sums
    }

    /// A chart over the run's time, with its events and what lies beside the measured window.
    pub fn chart(&self, id: &str, description: String, y: Axis, lines: Vec<Line>) -> LineChart {
        let from = self.series.from.as_secs_f64();
        let width = self.series.width.as_secs_f64();
        let until = from + width * self.series.intervals.len() as f64;
        let middle = |i: &IntervalSummary| i.from.as_secs_f64() + width / 2.0;
        let x = Axis::time(from, until).titled(ENDED);
        let marks = self
            .facts
            .events
            .iter()
            .enumerate()
            .map(|(place, event)| ChartMark { number: place + 1, at: event.at.as_secs_f64() });
        LineChart {
            id: format!("over-time-{id}"),
            description,
            xs: self.series.intervals.iter().map(middle).collect(),
            lines,
            bands: Vec::new(),
            shades: self.shades(from, until),
            marks: marks.filter(|mark| (x.min..=x.max).contains(&mark.at)).collect(),
            height: Height::Tall,
            x,
            y,
        }
    }

    /// What lies beside the measured window (warm-up before it, late answers after it), how long
    /// faults lasted, when the service was not up.
    fn shades(&self, from: f64, until: f64) -> Vec<Shade> {
        let window = self.summary.window;
        let shade = |from: f64, until: f64, kind| Shade { from, until, kind };
        let mut shades = vec![
            shade(from, window.from.as_secs_f64(), ShadeKind::Beside),
            shade(window.until.as_secs_f64(), until, ShadeKind::Beside),
        ];
        if let Some(facts) = &self.facts.availability {
            let end = window.until;
            shades.extend(facts.recovery.injections.iter().map(|one| {
                let ended = one.fault.end().map_or(end, |ended| ended.min(end));
                shade(one.fault.at.as_secs_f64(), ended.as_secs_f64(), ShadeKind::Fault)
            }));
            let stretches = facts.recovery.states.stretches().into_iter();
            shades.extend(stretches.filter_map(|(stretch, state)| {
                let kind = match state {
                    ServiceState::Degraded => ShadeKind::Degraded,
                    ServiceState::Down => ShadeKind::Down,
                    ServiceState::Up | ServiceState::Idle => return None,
                };
                Some(shade(stretch.from.as_secs_f64(), stretch.until.as_secs_f64(), kind))
            }));
        }
        for shade in &mut shades {
            (shade.from, shade.until) = (shade.from.max(from), shade.until.min(until));
        }
        shades.retain(|shade| shade.from < shade.until);
        shades
    }

    /// Operations per second of the part of an interval that the run covers.
    fn rate(&self, interval: &IntervalSummary, count: u64) -> Option<f64> {
        let window_end = self.summary.window.until;
        let covered = self.series.width.min(window_end.since(interval.from));
        let seconds = covered.as_secs_f64();
        // Operations that end after the window are the remainder, no rate.
        (seconds > 0.0).then(|| count as f64 / seconds)
    }
}

/// Values without the zeros that have only zeros beside them, which would hide other lines.
fn without_rest(values: &[Option<f64>]) -> Vec<Option<f64>> {
    let is_zero = |place: usize| values.get(place).is_none_or(|value| value.unwrap_or(0.0) == 0.0);
    let is_at_rest = |place: usize| {
        is_zero(place) && is_zero(place + 1) && place.checked_sub(1).is_none_or(is_zero)
    };
    let kept = |(place, value): (usize, &Option<f64>)| value.filter(|_| !is_at_rest(place));
    values.iter().enumerate().map(kept).collect()
}

//! The curve of a tune: latency and throughput over the rate of arrivals.

use assay_analysis::Verdict;
use assay_analysis::slo::{Measure, Objective, ObjectiveTerm};
use assay_analysis::sweep::Spread;
use assay_analysis::tune::{SearchEnd, Step};

use super::{TuneKind, Tuning, name};
use crate::chart::axis::Axis;
use crate::chart::line_chart::{ChartMark, Line, LineChart};
use crate::chart::spectrum::known;
use crate::document::{ChartFigure, NumberedEvent};
use crate::units::rate;

/// Rates that are further apart than this are shown on a logarithmic axis.
const WIDE: f64 = 20.0;

/// The charts; none for a tune without steps.
pub fn figures(tuning: &Tuning) -> Vec<ChartFigure> {
    let latency = latency(tuning).map(|chart| ChartFigure::lines(curve_title(tuning), chart));
    let title = "Answers over arrivals per second";
    let throughput = throughput(tuning).map(|chart| ChartFigure::lines(title, chart));
    latency.into_iter().chain(throughput).collect()
}

/// What the numbers in the charts stand for.
pub fn legend(tuning: &Tuning) -> Vec<NumberedEvent> {
    let event = |(_, text)| NumberedEvent { when: String::new(), kind: "", text };
    marks(tuning).into_iter().map(event).collect()
}

/// The latency term that the curve is about.
fn first_latency(objective: Option<&Objective>) -> Option<&ObjectiveTerm> {
    let is_latency = |term: &&ObjectiveTerm| matches!(term.measure, Measure::Latency { .. });
    objective?.terms.iter().find(is_latency)
}

fn curve_title(tuning: &Tuning) -> String {
    let objective = first_latency(tuning.objective.as_ref());
    let what = objective.map_or("p99 of the response time".to_owned(), name);
    format!("The {what} over arrivals per second")
}

fn rate_axis(tuning: &Tuning, rates: &[f64]) -> Axis {
    let (Some(first), Some(last)) = (rates.first(), rates.last()) else {
        return Axis::rate(std::iter::empty());
    };
    let is_log = matches!(
        tuning.time_course,
        TuneKind::Sweep { sweep, .. } if sweep.spread == Spread::Log
    );
    let axis = match is_log || last / first > WIDE {
        true => Axis::numbers(*first, *last * 1.02),
        false => Axis::rate(rates.iter().copied()),
    };
    axis.titled("arrivals per second")
}

/// The curve with the limit as a line across, and the steps that did not hold beside it.
fn latency(tuning: &Tuning) -> Option<LineChart> {
    let xs = rates(tuning);
    if xs.is_empty() {
        return None;
    }
    let of_curve = |is_shown: fn(&Tuning, f64) -> bool| -> Vec<Option<f64>> {
        let point = |rate: f64| tuning.curve.iter().find(|point| point.rate == rate);
        let value = |rate: &f64| point(*rate).filter(|_| is_shown(tuning, *rate));
        xs.iter().map(|rate| value(rate).map(|point| point.latency_ns)).collect()
    };
    let medians = xs.iter().map(|x| median(&tuning.steps, *x));
    let untold = xs.iter().map(|x| untold(tuning, *x));
    let mut lines = vec![
        Line::new("latency", "response", &[], of_curve(|_, _| true)),
        Line::new("median", "service", &[6, 4], medians),
        Line::new("did not hold", "lag", &[2, 4], of_curve(is_failed)),
        Line::new("unknown (client)", "misses", &[2, 4], untold),
    ];
    lines.retain(|line| line.values.iter().any(Option::is_some));
    if let Some(ObjectiveTerm { measure: Measure::Latency { limit, .. }, .. }) =
        first_latency(tuning.objective.as_ref())
    {
        let limit = Some(limit.0 as f64);
        lines.push(Line::new("objective", "offered", &[12, 4], vec![limit; xs.len()]));
    }
    let axes = [rate_axis(tuning, &xs), Axis::latency(known(&lines))];
    let chart = LineChart::new("tune-latency", curve_title(tuning), axes, xs, lines).tall();
    let marks = marks(tuning).into_iter().map(|(mark, _)| mark).collect();
    Some(LineChart { marks, ..chart })
}

/// Answers per second beside arrivals per second: they part where the store can do no more.
fn throughput(tuning: &Tuning) -> Option<LineChart> {
    let xs = rates(tuning);
    let first = |rate: f64| tuning.steps.iter().find(move |step| step.request.rate == rate);
    let line = |label: &str, colour, dash: &'static [u8], of: fn(&Step) -> f64| {
        Line::new(label, colour, dash, xs.iter().map(|x| first(*x).map(of)))
    };
    let lines = vec![
        line("offered", "offered", &[6, 4], |step| step.outcome.figures.offered_per_s),
        line("done", "done", &[], |step| step.outcome.figures.done_per_s),
    ];
    if xs.is_empty() {
        return None;
    }
    let axes = [rate_axis(tuning, &xs), Axis::rate(known(&lines))];
    Some(LineChart::new("tune-throughput", "Answers over arrivals per second", axes, xs, lines))
}

fn median(steps: &[Step], rate: f64) -> Option<f64> {
    let step = steps.iter().find(|step| step.request.rate == rate)?;
    let ns = step.outcome.figures.p50.0;
    (ns > 0).then_some(ns as f64)
}

/// Every rate of a point, rising: those of the curve and those that stayed undecided.
fn rates(tuning: &Tuning) -> Vec<f64> {
    let of_curve = tuning.curve.iter().map(|point| point.rate);
    let is_shown = |step: &&Step| untold(tuning, step.request.rate).is_some();
    let untold = tuning.steps.iter().filter(is_shown).map(|step| step.request.rate);
    let mut rates: Vec<f64> = of_curve.chain(untold).collect();
    rates.sort_by(f64::total_cmp);
    rates.dedup();
    rates
}

/// Whether a run at that rate failed.
fn is_failed(tuning: &Tuning, rate: f64) -> bool {
    let mut runs = tuning.steps.iter().filter(|step| step.request.rate == rate);
    runs.any(|step| step.outcome.verdict == Verdict::Violated)
}

/// The latency of the first undecided run at that rate.
fn untold(tuning: &Tuning, rate: f64) -> Option<f64> {
    let is_it = |step: &&Step| step.request.rate == rate && step.outcome.is_of_client();
    let step = tuning.steps.iter().find(is_it)?;
    step.outcome.figures.latency.map(|latency| latency.0 as f64)
}

/// The sustained rate and the knee, numbered by rising rate.
fn marks(tuning: &Tuning) -> Vec<(ChartMark, String)> {
    let found = match tuning.time_course {
        TuneKind::Search { ending: Some(SearchEnd::Found { rate, .. }), .. } => Some(rate),
        TuneKind::Search { .. } => None,
        TuneKind::Sweep { held, .. } => held.filter(|_| tuning.objective.is_some()),
    };
    let found = found.map(|at| (at, format!("sustained: {}", rate(at))));
    let knee = tuning.knee.map(|knee| (knee.rate, format!("the knee: {}", rate(knee.rate))));
    let mut marks: Vec<(f64, String)> = found.into_iter().chain(knee).collect();
    marks.sort_by(|(one, _), (other, _)| one.total_cmp(other));
    let numbered = marks.into_iter().enumerate();
    numbered.map(|(place, (at, text))| (ChartMark { number: place + 1, at }, text)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart::axis;
    use crate::tune::document;
    use crate::tune::tests::{found, swept, untold};

    fn tune_html(tuning: &Tuning) -> String {
        document(tuning).page()
    }

    #[test]
    fn the_page_shows_curve_limit_marks_steps() {
        let html = tune_html(&found());
        for part in [
            "<strong>sustained</strong>",
            "id=\"tune-latency\"",
            "objective",
            "<ol class=\"events\">\n<li>sustained: 800/s</li>",
            "step 6",
            "&lt;script&gt;",
        ] {
            assert!(html.contains(part), "{part} is missing");
        }
        assert!(!html.contains("<script>alert"));
        assert_eq!(html, tune_html(&found()), "the same input gives the same bytes");
    }

    #[test]
    fn a_sweep_over_wide_rates_has_a_logarithmic_axis() {
        let chart = latency(&swept()).expect("there are points");
        assert_eq!(chart.x.scale, axis::AxisScale::Log);
        let chart = latency(&found()).expect("there are points");
        assert_eq!(chart.x.scale, axis::AxisScale::Linear);
    }

    #[test]
    fn charts_stand_before_the_settings() {
        let html = tune_html(&found());
        let place = |id: &str| html.find(&format!("<section id=\"{id}\"")).expect("it is there");
        assert!(place("curve") < place("steps") && place("steps") < place("circumstances"));
        for figure in html.split("<figure>").skip(1) {
            assert!(figure.starts_with("<figcaption>") && figure.contains("aria-label=\""));
        }
    }

    #[test]
    fn axes_say_what_they_are() {
        let axis = |title: &str| format!("<p class=\"axis x\">{title}</p>");
        assert_eq!(tune_html(&found()).matches(&axis("arrivals per second")).count(), 2);
        let logarithmic = axis("arrivals per second, log scale");
        assert_eq!(tune_html(&swept()).matches(&logarithmic).count(), 2);
    }

    #[test]
    fn an_undecided_rate_is_a_point_beside_the_curve() {
        let chart = latency(&untold()).expect("there are points");
        assert_eq!(chart.xs, [200.0, 400.0, 800.0]);
        let line = |label: &str| chart.lines.iter().find(|line| line.label == label);
        let curve = line("latency").expect("it is there");
        assert_eq!(
            curve.values.iter().map(Option::is_some).collect::<Vec<_>>(),
            [true, true, false]
        );
        let published = line("unknown (client)").expect("it is there");
        assert_eq!(
            published.values.iter().map(Option::is_some).collect::<Vec<_>>(),
            [false, false, true]
        );
        assert!(line("did not hold").is_none());
    }

    #[test]
    fn marks_are_numbered_from_left_to_right() {
        let mut tuning = swept();
        let knee = assay_analysis::sweep::Point { rate: 150.0, latency_ns: 1e6 };
        tuning.knee = Some(knee);
        let marks: Vec<(usize, f64)> =
            marks(&tuning).iter().map(|(mark, _)| (mark.number, mark.at)).collect();
        assert_eq!(marks[0], (1, 150.0));
        assert!(marks[1].0 == 2 && marks[1].1 > 150.0, "{marks:?}");
    }

    #[test]
    fn a_tune_without_steps_is_still_a_page() {
        let none = Tuning { steps: Vec::new(), curve: Vec::new(), ..found() };
        assert!(tune_html(&none).contains("Reproduce with"));
    }
}

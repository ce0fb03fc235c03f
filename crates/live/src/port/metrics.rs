//! The figures in Prometheus's text format.

use std::fmt::Write;

use assay_fleet::{AgentState, Progress, StatusRow};
use assay_model::{Kind, Nanos, Outcome};

use crate::interval::{KindQuantiles, Quantiles};
use crate::port::buckets::LatencyBuckets;
use crate::port::run_status::{RunPhase, RunStatus};

/// All metrics of `observed`. Durations are in seconds, as is usual in the format.
pub fn metrics(observed: &RunStatus) -> String {
    let mut page = Page { text: String::new() };
    about(&mut page, observed);
    flow(&mut page, observed);
    agents(&mut page, &observed.agents);
    counts(&mut page, observed);
    let response = Latency {
        name: "assay_response",
        what: "Ended minus intended of operations done",
        buckets: &observed.response,
        recent: |of| of.response,
    };
    let service = Latency {
        name: "assay_service",
        what: "Ended minus started of operations done",
        buckets: &observed.service,
        recent: |of| of.service,
    };
    [response, service].iter().for_each(|latency| latency.put(&mut page, observed));
    page.text
}

fn about(page: &mut Page, observed: &RunStatus) {
    let subject = &observed.subject;
    page.family("assay_run_info", "gauge", "Workload, store and load of the run; always 1");
    let labels = [
        ("version", env!("CARGO_PKG_VERSION")),
        ("workload", &subject.workload),
        ("store", &subject.store),
        ("model", subject.model),
        ("phase", observed.phase()),
        ("state", observed.phase.name()),
    ];
    page.sample("assay_run_info", &labels, 1.0);
    page.family("assay_running", "gauge", "1 while operations are issued, else 0");
    let is_issuing = observed.phase == RunPhase::Issuing;
    page.sample("assay_running", &[], f64::from(u8::from(is_issuing)));
    page.family("assay_elapsed_seconds", "gauge", "Time on the run's own axis");
    page.sample("assay_elapsed_seconds", &[], seconds(observed.at));
}

fn flow(page: &mut Page, observed: &RunStatus) {
    page.family("assay_in_flight", "gauge", "Processes begun and not ended");
    page.sample("assay_in_flight", &[], observed.in_flight as f64);
    if let Some(rate) = observed.rate {
        let help = "Arrivals per second that the open load model intends now";
        page.family("assay_intended_rate", "gauge", help);
        page.sample("assay_intended_rate", &[], rate);
    }
    let Some(latest) = &observed.latest else { return };
    let help = "Operations per second offered in the last interval";
    page.family("assay_offered_rate", "gauge", help);
    page.sample("assay_offered_rate", &[], latest.offered_per_s);
    let help = "Operations per second done in the last interval";
    page.family("assay_achieved_rate", "gauge", help);
    page.sample("assay_achieved_rate", &[], latest.achieved_per_s);
    let help = "The worst started minus intended in the last interval";
    page.family("assay_lag_max_seconds", "gauge", help);
    page.sample("assay_lag_max_seconds", &[], seconds(latest.lag_max));
}

/// The agents of a fleet, if it is one.
fn agents(page: &mut Page, agents: &[StatusRow]) {
    if agents.is_empty() {
        return;
    }
    page.family("assay_agent_info", "gauge", "How far each agent of the fleet is; always 1");
    for row in agents {
        let number = row.agent.to_string();
        let state = row.state.map_or("missing", AgentState::name);
        let labels = [("agent", &*number), ("host", &*row.host), ("state", state)];
        page.sample("assay_agent_info", &labels, 1.0);
    }
    type Figure = fn(&Progress) -> f64;
    let figures: [(&str, &str, &str, Figure); 5] = [
        ("offered_total", "counter", "Operations of the agent whose time has come", |of| {
            of.offered as f64
        }),
        ("done_total", "counter", "Operations of the agent that were done", |of| of.done as f64),
        ("failed_total", "counter", "Operations of the agent refused or unknown", |of| {
            of.failed as f64
        }),
        ("in_flight", "gauge", "Processes of the agent begun and not ended", |of| {
            of.in_flight as f64
        }),
        ("lag_max_seconds", "gauge", "The worst lag of the agent in its last second", |of| {
            seconds(Nanos(of.lag_ns))
        }),
    ];
    for (name, kind, help, figure) in figures {
        let name = format!("assay_agent_{name}");
        page.family(&name, kind, help);
        for row in agents {
            page.sample(&name, &[("agent", &row.agent.to_string())], figure(&row.progress));
        }
    }
}

fn counts(page: &mut Page, observed: &RunStatus) {
    let totals = observed.totals();
    let requested = |kind: &Kind| totals.outcomes[*kind as usize].iter().any(|count| *count > 0);
    let help = "Operations that ended, by kind and outcome; dropped ones were never issued";
    page.family("assay_operations_total", "counter", help);
    for kind in Kind::ALL.into_iter().filter(requested) {
        for outcome in Outcome::ALL {
            let labels = [("kind", kind.name()), ("outcome", outcome.name())];
            let count = totals.outcomes[kind as usize][outcome as usize];
            page.sample("assay_operations_total", &labels, count as f64);
        }
    }
    page.family("assay_missed_total", "counter", "Operations done that found nothing, by kind");
    for kind in Kind::ALL.into_iter().filter(requested) {
        let count = totals.missed[kind as usize];
        page.sample("assay_missed_total", &[("kind", kind.name())], count as f64);
    }
    page.family("assay_processes_total", "counter", "Processes that ended, however they did");
    page.sample("assay_processes_total", &[], totals.processes as f64);
}

/// One of the two latencies.
struct Latency<'a> {
    name: &'static str,
    what: &'static str,
    buckets: &'a [LatencyBuckets],
    recent: fn(&KindQuantiles) -> Option<Quantiles>,
}

impl Latency<'_> {
    /// Those since the beginning as a histogram, those of the last interval as a summary.
    fn put(&self, page: &mut Page, observed: &RunStatus) {
        if self.kinds().next().is_none() {
            return;
        }
        let Latency { name, what, .. } = self;
        let histogram = format!("{name}_seconds");
        page.family(&histogram, "histogram", &format!("{what}, since the beginning"));
        self.kinds().for_each(|(kind, buckets)| put_buckets(page, &histogram, kind, buckets));
        let summary = format!("{name}_recent_seconds");
        let help =
            format!("{what}: quantiles of the last interval, sum and count since the beginning");
        page.family(&summary, "summary", &help);
        for (kind, buckets) in self.kinds() {
            let latest = observed.latest.as_ref();
            let of = latest.and_then(|latest| (self.recent)(&latest.kinds[kind as usize]));
            for (quantile, time) in of.map(named).into_iter().flatten() {
                let labels = [("kind", kind.name()), ("quantile", quantile)];
                page.sample(&summary, &labels, seconds(time));
            }
            page.sum_and_count(&summary, kind, buckets);
        }
    }

    /// The kinds of which something was done.
    fn kinds(&self) -> impl Iterator<Item = (Kind, &LatencyBuckets)> {
        Kind::ALL.into_iter().zip(self.buckets).filter(|(_, of)| of.count > 0)
    }
}

fn put_buckets(page: &mut Page, histogram: &str, kind: Kind, buckets: &LatencyBuckets) {
    let bucket = format!("{histogram}_bucket");
    for (bound, below) in buckets.cumulative() {
        let bound = seconds(Nanos(bound)).to_string();
        page.sample(&bucket, &[("kind", kind.name()), ("le", &bound)], below as f64);
    }
    let last = [("kind", kind.name()), ("le", "+Inf")];
    page.sample(&bucket, &last, buckets.count as f64);
    page.sum_and_count(histogram, kind, buckets);
}

fn named(of: Quantiles) -> [(&'static str, Nanos); 4] {
    [("0.5", of.p50), ("0.99", of.p99), ("0.999", of.p999), ("1", of.max)]
}

fn seconds(time: Nanos) -> f64 {
    time.as_secs_f64()
}

/// A page of metrics.
struct Page {
    text: String,
}

impl Page {
    fn family(&mut self, name: &str, kind: &str, help: &str) {
        self.line(format_args!("# HELP {name} {help}.\n# TYPE {name} {kind}"));
    }

    fn sample(&mut self, name: &str, labels: &[(&str, &str)], value: f64) {
        let labels: Vec<String> =
            labels.iter().map(|(label, text)| format!("{label}=\"{}\"", escaped(text))).collect();
        match labels.is_empty() {
            true => self.line(format_args!("{name} {value}")),
            false => self.line(format_args!("{name}{{{}}} {value}", labels.join(","))),
        }
    }

    fn sum_and_count(&mut self, name: &str, kind: Kind, buckets: &LatencyBuckets) {
        let labels = [("kind", kind.name())];
        self.sample(&format!("{name}_sum"), &labels, buckets.sum_ns as f64 / 1e9);
        self.sample(&format!("{name}_count"), &labels, buckets.count as f64);
    }

    fn line(&mut self, line: std::fmt::Arguments<'_>) {
        writeln!(self.text, "{line}").expect("text takes any text");
    }
}

/// A label's value as the format wants it.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests;

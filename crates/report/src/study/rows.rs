//! The numbers of the study as rows.

use std::cmp::Ordering;

use assay_analysis::sawtooth::SlowClient;
use assay_model::Nanos;

use super::{MeasurementMethod, MethodResult, Study, StudyClock, StudyRun};
use crate::table::{Align, Table};
use crate::units::{Letters, count, duration, percent, percentile_name, rate};

/// The quantiles that have a column; the others are in the JSON and CSV forms.
pub const COLUMNS: [f64; 6] = [0.5, 0.8, 0.9, 0.95, 0.99, 0.999];

/// What the columns of times mean.
pub const MEANING: &str = "Affected: operations that took longer than with nobody before them; \
                           back: when, after the hiccup began, the last of them had been meant \
                           to be issued, and the next one was not; off: the largest deviation of \
                           any of these figures from its closed form.";

/// A group of runs that belong to one figure of the paper.
pub struct StudyGroup<'a> {
    /// What it is about.
    pub title: &'static str,
    /// Its runs, in order.
    pub runs: Vec<&'a StudyRun>,
}

/// The runs of figure 1, of figures 3 and 4, of figure 5, as far as they were wanted.
pub fn groups(study: &Study) -> Vec<StudyGroup<'_>> {
    let is_slow = |run: &StudyRun| run.sawtooth.rate < 100.0;
    let by_threads = |run: &StudyRun| !is_slow(run) && run.sawtooth.capacity == 1250.0;
    let by_capacity =
        |run: &StudyRun| !is_slow(run) && run.sessions.is_none_or(|sessions| sessions == 128);
    let has = |target: &dyn Fn(&StudyRun) -> bool| study.runs.iter().any(target);
    let has_threads = has(&|run| by_threads(run) && run.sessions.is_some_and(|many| many != 128));
    let has_capacities = has(&|run| by_capacity(run) && run.sawtooth.capacity != 1250.0);
    let group = |title, is_shown: bool, target: &dyn Fn(&StudyRun) -> bool| {
        let mut runs: Vec<&StudyRun> =
            study.runs.iter().filter(|run| is_shown && target(run)).collect();
        runs.sort_by(|a, b| order(a).partial_cmp(&order(b)).unwrap_or(Ordering::Equal));
        StudyGroup { title, runs }
    };
    let one = "Figure 1: one thread, 10 operations a second";
    let three = "Figures 3 and 4: 1000/s at a capacity of 1250/s, by threads";
    let five = "Figure 5: 1000/s by 128 threads, by capacity";
    let mut groups = vec![
        group(one, true, &is_slow),
        group(three, has_threads, &by_threads),
        group(five, has_capacities, &by_capacity),
    ];
    groups.retain(|group| !group.runs.is_empty());
    groups
}

fn order(run: &StudyRun) -> (bool, f64, Option<u32>) {
    (run.clock == StudyClock::Milliseconds, run.sawtooth.capacity, run.sessions)
}

/// A row for each way to measure each run.
pub fn numbers(runs: &[&StudyRun], letters: Letters) -> Table {
    let of_run = |run| MeasurementMethod::ALL.map(|measure| (run, StudyRun::method(run, measure)));
    let rows = runs.iter().copied().flat_map(of_run);
    let time = |time: Nanos| duration(time, letters);
    let quantiles = |(_, method): &(&StudyRun, &MethodResult)| {
        COLUMNS.map(|quantile| time(method.found.at(quantile)))
    };
    Table::of(rows.filter_map(|(run, method)| Some((run, method?))))
        .left("measured", |(_, method)| method.measure.name())
        .left("clients", |(run, _)| run.name())
        .right("capacity", |(run, _)| rate(run.sawtooth.capacity))
        .left("clock", |(run, _)| run.clock.name())
        .right("mean", |(_, method)| time(Nanos(method.found.mean_ns.round() as u64)))
        .columns(Align::Right, COLUMNS.map(percentile_name), quantiles)
        .right("max", |(_, method)| time(method.found.max))
        .right("affected", |(_, method)| count(method.found.affected))
        .right("back", |(_, method)| time(method.found.back_after))
        .right("off", |(_, method)| method.deviation().map_or("-".to_owned(), percent))
        .build()
}

/// A row for each client that loses time.
pub fn slow_clients(slow: &[SlowClient], letters: Letters) -> Table {
    let back = |time: Option<Nanos>| {
        time.map_or_else(|| "never".to_owned(), |time| duration(time, letters))
    };
    Table::of(slow)
        .right("threads", |client| client.sessions)
        .right("lost per request", |client| duration(client.pause, letters))
        .right("store gets at most", |client| rate(client.catching_up_at))
        .right("back, by formula", |client| back(client.expected_back))
        .right("back, measured", |client| back(client.found_back))
        .right("off", |client| percent(client.deviation()))
        .build()
}

/// The whole study in one sentence.
pub fn headline(study: &Study) -> String {
    let agreement = study.agreement();
    if agreement.compared == 0 {
        return "no result was compared with a closed form".to_owned();
    }
    let (compared, worst) = (count(agreement.compared as u64), percent(agreement.worst));
    match agreement.holds() {
        true => format!(
            "{compared} results follow their closed forms within 1 %; the largest deviation is \
             {worst}"
        ),
        false => format!(
            "a result misses its closed form: the largest deviation of {compared} is {worst}, \
             allowed is 1 %"
        ),
    }
}

/// Where our figures are not those of the paper, with the reasons.
pub const DIFFERENCES: [(&str, &str); 7] = [
    (
        "The clock",
        "SickStore counts whole milliseconds and rounds every wait up to the next, so in the \
         paper's figures everything below a few milliseconds is the clock's grain. Our store \
         counts nanoseconds; the rows with clock ms repeat SickStore's arithmetic. They have no \
         closed form here. With one thread that grain alone makes the intended latency come back \
         later, for the thread waits whole milliseconds where less was needed.",
    ),
    (
        "When the start is taken",
        "NoSQLMark takes the start time when its worker dispatches the operation. A worker that \
         is late (a pause of its garbage collector, too little processor) leaves its lateness \
         out. Our open model measures from the moment that the load model intended; in simulated \
         time \
         nobody is late, so here the two are the same and the paper's open curve is the one that \
         the formula gives.",
    ),
    (
        "Own service",
        "By the paper's equations a request waits for those before it and not for itself: an idle \
         store answers at once, however small its capacity. We keep that here, to compare. A \
         request that meets nobody takes 50 microseconds, which stands for the way to the store; \
         the paper's took as long as its machine needed.",
    ),
    (
        "When the hiccup begins",
        "SickStore notices a hiccup when a request arrives after it; requests at 29.8 s and \
         30.2 s around a hiccup of 1 s at 30 s would wait 0.6 s although 0.8 s are left of it. \
         With an arrival each millisecond this is at most one millisecond. Ours begins when it is \
         due.",
    ),
    (
        "Intended latency is not higher here",
        "The paper expects, and finds, intended latencies above those of the open model. With a \
         store that serves one request after the other at a fixed capacity, and a client that \
         costs nothing, they are equal: the work that waits at the client is the work that would \
         wait in the store, and as long as the sessions keep the store busy it is done at the \
         same speed. The difference needs either a client that loses time between an answer and \
         its next request, as the paper's may have (threads that sleep, one machine for all), \
         or a store that serves more at once the more it is issued.",
    ),
    (
        "Intended latency that stabilises late",
        "With N threads, each of which needs c from one request to its next even if nobody is \
         before it, the store gets at most X = min(capacity, N/c) requests a second. The backlog \
         then drains at X − rate instead of capacity − rate, and is gone H·X/(X − rate) after the \
         hiccup began: never, if X is no more than the rate. With 4 threads anything above \
         c = 3.2 ms is seen, and 4 ms never come back; with 16 threads it takes four times as \
         much. What the paper's client lost per request is not known; threads that sleep by a \
         timer of some milliseconds would make 4 of them very late and 16 much better, which is \
         what the paper found surprising. The table of slow clients shows it.",
    ),
    (
        "High thread counts",
        "The paper's intended latencies rise again at 256 threads, and its lower percentiles are \
         ten times those of the open model at any number: presumably threads that compete for \
         four cores. In simulated time threads cost nothing, so neither is seen here; both are \
         faults \
         of the client, not of the store.",
    ),
];

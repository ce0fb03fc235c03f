//! Findings that a reader must know before any figure, worst first.

use assay_analysis::hallmark::CheckId;
use assay_analysis::{Counts, Group, LoadModel, Summary, Verdict};
use assay_model::{Outcome, Reason};

use crate::document::Opening;
pub use crate::document::{Finding, Level};
use crate::facts::{Facts, State};
use crate::hallmark;
use crate::percentile::DisplayedPercentile;
use crate::units::{Letters, count, duration, moment, percent, rate};
use assay_analysis::slo::Stretch;

/// A rate that is short of its promise by more than this is shouted. One percent is what the
/// window's edges cut off when answers take a hundredth of its length.
const SHORTFALL: f64 = 0.01;

/// Operations of the last moments end after the window, so that much is no shortfall;
/// but no more than this share of the window, for ever longer answers are what overload looks like.
const UNDER_WAY: f64 = 0.05;

/// From this share on, failures or misses change what the other figures mean.
const NOTEWORTHY: f64 = 0.01;

/// From this share of the response time on, lag decides a percentile more than it may.
const LATE: f64 = 0.25;

/// All findings, the worst first; exactly one that is fine if there is nothing else to say.
pub fn findings(facts: &Facts, summary: &Summary, letters: Letters) -> Vec<Finding> {
    let mut findings: Vec<Finding> = [
        state(facts),
        emptiness(summary),
        shortfall(summary),
        failures(summary),
        outages(summary, letters),
        held_back(facts, summary),
        wrong_values(summary),
        implausible(summary),
        unbalanced(summary),
        lateness(facts, summary, letters),
        misses(facts, summary),
        backward_times(summary),
        no_op(facts),
        inconsistent(facts),
    ]
    .into_iter()
    .flatten()
    .collect();
    findings.extend(facts.warnings.iter().map(|notice| Finding::caution("warning", notice)));
    // The sort is stable: among equals the order above stays.
    findings.sort_by_key(|finding| finding.level);
    if findings.is_empty() {
        findings.push(Finding::fine("ok", headline(facts, summary, letters)));
    }
    findings
}

/// Promises of a store that its answers broke.
fn inconsistent(facts: &Facts) -> Option<Finding> {
    let result = facts.consistency.as_ref()?;
    let violated = crate::consistency::violated(result)?;
    let text = format!("violations of {violated}; `assay check {}` has more", result.source);
    Some(Finding::caution("inconsistent", text))
}

/// What stands at the top of a report below the hallmark, in order: findings, and the headline
/// where it is not part of a finding.
///
/// That all is fine is not said of a run that has no hallmark.
pub fn opening(facts: &Facts, summary: &Summary, letters: Letters) -> Vec<Opening> {
    let findings = findings(facts, summary, letters);
    let is_fine = findings[0].level == Level::Fine;
    if is_fine && hallmark::stands(facts) {
        return findings.into_iter().map(Opening::Finding).collect();
    }
    let headline = Opening::Headline(headline(facts, summary, letters));
    let mut lines: Vec<Opening> =
        findings.into_iter().filter(|_| !is_fine).map(Opening::Finding).collect();
    lines.insert(lines.len().min(1), headline);
    lines
}

/// What failures are counted in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    /// Records by key, one at a time.
    Operations,
    /// The run has queries: one that fails takes its whole transaction with it, so a share of
    /// queries would make little of it.
    Transactions,
}

/// What was tried, and what became of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tried {
    /// What the counts are about.
    pub unit: Unit,
    offered: u64,
    refused: u64,
    unknown: u64,
    dropped: u64,
    /// Those of `dropped` that were given up because something before them had failed.
    given_up: u64,
}

impl Tried {
    /// Transactions in a run of queries, else operations.
    pub fn of(summary: &Summary) -> Tried {
        let (unit, group) = headline_group(summary);
        let counts = &group.counts;
        Tried {
            unit,
            offered: counts.offered,
            refused: counts.refused,
            unknown: counts.unknown,
            dropped: counts.dropped,
            given_up: given_up(counts),
        }
    }

    /// The share of what was tried that failed. What the load model alone kept from the store is
    /// no failure of the store's.
    pub fn failed_share(&self) -> f64 {
        let given_up = self.given_up * u64::from(self.unit == Unit::Transactions);
        let failed = self.refused + self.unknown + given_up;
        let tried = self.offered - self.dropped + given_up;
        failed as f64 / tried.max(1) as f64
    }
}

/// Operations that were not issued because something before them in their process had failed.
fn given_up(counts: &Counts) -> u64 {
    let is_given_up =
        |outcome, reason| outcome == Outcome::Dropped && reason == Reason::TransactionFailed;
    let reasons = counts.reasons.iter();
    reasons.filter(|(outcome, reason, _)| is_given_up(*outcome, *reason)).map(|of| of.2).sum()
}

/// What a reader looks for first: whole transactions in a run of queries, else operations.
pub(crate) fn headline_group(summary: &Summary) -> (Unit, &Group) {
    match &summary.all_transactions {
        Some(group) => (Unit::Transactions, group),
        None => (Unit::Operations, &summary.overall),
    }
}

/// The headline figures, in one line.
pub fn headline(facts: &Facts, summary: &Summary, letters: Letters) -> String {
    let (unit, group) = headline_group(summary);
    let is_withdrawn = hallmark::withdraws(facts, Stretch::Response, 0.99);
    let p99 = DisplayedPercentile::of(&group.hits.response, 0.99, is_withdrawn);
    let rates = &group.rates;
    let done = rate(rates.done_per_s);
    let done = match unit {
        Unit::Operations => done,
        Unit::Transactions => done.replace("/s", " transactions/s"),
    };
    let done = match (summary.load, objective(summary)) {
        (LoadModel::Open { .. }, _) => {
            format!("{done} of {} offered", rate(rates.offered_per_s))
        }
        (LoadModel::Closed { .. }, Some(target)) => {
            format!("{done} of {} wanted in a closed loop", rate(target))
        }
        (LoadModel::Closed { .. }, None) => format!("{done} done in a closed loop"),
    };
    let tried = Tried::of(summary);
    let failures = match (tried.refused + tried.unknown + tried.dropped, tried.unit) {
        (0, _) => "no failures".to_owned(),
        (failed, Unit::Operations) => {
            format!("{} of {} failed", count(failed), count(tried.offered))
        }
        (failed, Unit::Transactions) => {
            format!("{} of {} transactions failed", count(failed), count(tried.offered))
        }
    };
    let mut line = format!("{done}, response p99 {}, {failures}", p99.phrase(letters));
    for figure in &facts.figures {
        line += &format!(", {} {}", count(figure.value.round() as u64), figure.name);
    }
    line
}

/// The target rate of the load model.
fn objective(summary: &Summary) -> Option<f64> {
    let rates = &headline_group(summary).1.rates;
    match summary.load {
        LoadModel::Open { .. } => Some(rates.offered_per_s),
        LoadModel::Closed { target, .. } => rates.target_per_s.or(target),
    }
}

fn state(facts: &Facts) -> Option<Finding> {
    Some(match &facts.state {
        State::Finished => return None,
        State::Interrupted => Finding::caution(
            "interrupted",
            "the run was stopped before its end; the figures cover the operations until then",
        ),
        State::Unfinished => Finding::caution(
            "unfinished",
            "the run goes on, or it was killed; the figures are about what is on the disk",
        ),
        State::Repaired => Finding::caution(
            "repaired",
            "the run was killed; the figures are about what was sealed afterwards",
        ),
        State::Failed(reason) => Finding::alarm("failed", reason),
    })
}

fn emptiness(summary: &Summary) -> Option<Finding> {
    let text = "no operation was issued in the measured phase";
    (summary.overall.counts.offered == 0).then(|| Finding::alarm("nothing measured", text))
}

/// A rate that was not reached. What failed was reached too, and has a finding of its own.
fn shortfall(summary: &Summary) -> Option<Finding> {
    let objective = objective(summary)?;
    let group = headline_group(summary).1;
    let counts = &group.counts;
    let seconds = summary.duration.as_secs_f64();
    if objective <= 0.0 || seconds <= 0.0 {
        return None;
    }
    // What was given up because of a failure is part of that failure.
    let failed = counts.refused + counts.unknown + given_up(counts);
    let failed_per_s = failed as f64 / seconds;
    let achieved = group.rates.done_per_s;
    let usual = group.hits.response.value(0.5).unwrap_or_default();
    let under_way = objective * (usual.as_secs_f64() / seconds).min(UNDER_WAY);
    if achieved + failed_per_s + under_way >= objective * (1.0 - SHORTFALL) {
        return None;
    }
    let share = percent(achieved / objective);
    let (objective, achieved) = (rate(objective), rate(achieved));
    Some(match summary.load {
        LoadModel::Open { .. } => Finding::alarm(
            "overloaded",
            format!("offered {objective}, achieved {achieved} ({share})"),
        ),
        LoadModel::Closed { sessions, .. } => {
            let text = format!(
                "wanted {objective}, achieved {achieved} ({share}): {} sessions that wait for \
                 answers get no more",
                count(sessions)
            );
            Finding::alarm("rate not reached", text)
        }
    })
}

fn failures(summary: &Summary) -> Option<Finding> {
    let tried = Tried::of(summary);
    let share = tried.failed_share();
    if share < NOTEWORTHY {
        return None;
    }
    let (refused, unknown) = (count(tried.refused), count(tried.unknown));
    let (noun, given_up) = match (tried.unit, tried.given_up) {
        (Unit::Operations, _) => ("operations", String::new()),
        (Unit::Transactions, 0) => ("transactions", String::new()),
        (Unit::Transactions, number) => ("transactions", format!(", {} given up", count(number))),
    };
    let share = percent(share);
    let text =
        format!("{share} of the {noun} failed ({refused} refused, {unknown} unknown{given_up})");
    Some(Finding::alarm("failing", text))
}

/// Stretches without a response in time.
fn outages(summary: &Summary, letters: Letters) -> Option<Finding> {
    let availability = &summary.availability;
    let longest = availability.longest?;
    let deadline = duration(availability.deadline, letters);
    let number = match availability.outages.len() as u64 {
        1 => String::new(),
        more => format!("{more} in {}, the longest: ", duration(availability.down, letters)),
    };
    let text = format!(
        "{number}{} from {} to {} in which nothing that came was answered within {deadline}; \
         over the run {} was",
        duration(longest.length(), letters),
        moment(longest.from),
        moment(longest.until),
        percent(availability.in_time_ratio)
    );
    Some(Finding::caution("outage", text))
}

/// Arrivals that had to wait because the store had not responded to those before them.
fn held_back(facts: &Facts, summary: &Summary) -> Option<Finding> {
    let held = summary.held_back.as_ref()?.operations;
    let share = held as f64 / summary.overall.counts.offered.max(1) as f64;
    // The hallmark's check of omission says the same.
    if share < NOTEWORTHY || hallmark::tells(facts, CheckId::Omission) {
        return None;
    }
    let bound = summary.load.limit().map(|limit| format!(" ({} in flight)", count(limit)));
    let text = format!(
        "{} of the operations waited because as many as can be{} were unanswered: that part of \
         their lag is the store's doing",
        percent(share),
        bound.unwrap_or_default()
    );
    Some(Finding::caution("held back", text))
}

fn wrong_values(summary: &Summary) -> Option<Finding> {
    let values = &summary.values;
    let text = format!(
        "{} of {} checked answers held something else than what was written",
        count(values.wrong),
        count(values.right + values.wrong + values.empty)
    );
    (values.wrong > 0).then(|| Finding::alarm("wrong values", text))
}

fn implausible(summary: &Summary) -> Option<Finding> {
    let claim = &summary.in_flight.by_service;
    let text = format!(
        "by Little's law {:.1} operations were in flight where at most {:.0} can be",
        claim.little_l,
        claim.limit.unwrap_or(0.0)
    );
    (claim.verdict == Verdict::Violated).then(|| Finding::alarm("implausible", text))
}

fn unbalanced(summary: &Summary) -> Option<Finding> {
    let text = "not every arrival is accounted for in the history";
    (!summary.is_balanced).then(|| Finding::alarm("unbalanced", text))
}

fn misses(facts: &Facts, summary: &Summary) -> Option<Finding> {
    let counts = &summary.overall.counts;
    let share = counts.misses as f64 / counts.done.max(1) as f64;
    if share < NOTEWORTHY || hallmark::names(facts, CheckId::Misses) {
        return None;
    }
    let text = format!(
        "{} of the answers found no record; a miss is no hit, so it is in no latency below",
        percent(share)
    );
    Some(Finding::caution("misses", text))
}

/// Lag that is a large part of what the figures call response time.
fn lateness(facts: &Facts, summary: &Summary, letters: Letters) -> Option<Finding> {
    let lag = summary.held_back.as_ref().map_or(&summary.lag, |held| &held.own_lag);
    let lag = lag.value(0.99)?;
    let response = summary.overall.hits.response.value(0.99)?;
    let share = lag.0 as f64 / response.0.max(1) as f64;
    // The hallmark's check of lag says it percentile by percentile.
    if facts.store.is_no_op || share < LATE || hallmark::tells(facts, CheckId::Lag) {
        return None;
    }
    let text = format!(
        "lag p99 is {}, {} of response p99: that part of the wait is not the store's service, but \
         ours or the queue's before it",
        duration(lag, letters),
        percent(share)
    );
    Some(Finding::caution("late", text))
}

fn backward_times(summary: &Summary) -> Option<Finding> {
    let text = format!("the times of {} operations run backwards", count(summary.backward_times));
    (summary.backward_times > 0).then(|| Finding::caution("clock", text))
}

fn no_op(facts: &Facts) -> Option<Finding> {
    let text = format!(
        "{} keeps nothing, so the figures are the floor of this program and rank nothing",
        facts.store.name
    );
    facts.store.is_no_op.then(|| Finding::caution("no store", text))
}

/// The load model in one word.
pub fn model_name(load: LoadModel) -> &'static str {
    match load {
        LoadModel::Open { .. } => "open",
        LoadModel::Closed { .. } => "closed",
    }
}

/// What the load model means for the figures.
pub fn model_meaning(load: LoadModel) -> &'static str {
    match load {
        LoadModel::Open { .. } => "arrivals do not wait for answers, so all waiting is measured",
        LoadModel::Closed { .. } => {
            "sessions wait for responses, so a slow store gets fewer requests and looks better"
        }
    }
}

#[cfg(test)]
mod tests {
    use assay_analysis::{HeldBack, Outage, Queried, Rates, Transactions};
    use assay_model::Nanos;

    use super::*;
    use crate::{WorkloadFigure, sample};

    fn shouts(change: impl Fn(&mut Facts, &mut Summary)) -> Vec<String> {
        let (mut facts, mut summary) = (sample::facts(), sample::summary());
        summary.overall.counts.refused = 0;
        summary.overall.counts.unknown = 0;
        summary.overall.counts.misses = 0;
        summary.overall.counts.dropped = 0;
        summary.overall.rates.done_per_s = 200.0;
        (summary.availability.outages, summary.availability.longest) = (Vec::new(), None);
        change(&mut facts, &mut summary);
        findings(&facts, &summary, Letters::Ascii).iter().map(Finding::shout).collect()
    }

    #[test]
    fn a_run_that_met_its_rate_is_ok() {
        assert_eq!(
            shouts(|_, _| {}),
            ["OK: 200/s of 200/s offered, response p99 ~1.37 ms (few values), no failures"]
        );
    }

    #[test]
    fn a_missed_rate_is_a_finding() {
        assert_eq!(
            shouts(|_, summary| {
                summary.overall.rates.offered_per_s = 20_000.0;
                summary.overall.rates.done_per_s = 14_200.0;
            }),
            ["OVERLOADED: offered 20 000/s, achieved 14 200/s (71 %)"]
        );
    }

    #[test]
    fn a_closed_loop_that_misses_its_target_says_why() {
        assert_eq!(
            shouts(|_, summary| {
                summary.load = LoadModel::Closed { sessions: 16, target: Some(400.0) };
                summary.overall.rates.target_per_s = Some(400.0);
            }),
            ["RATE NOT REACHED: wanted 400/s, achieved 200/s (50 %): 16 sessions that wait for \
              answers get no more"]
        );
    }

    #[test]
    fn lag_that_decides_the_response_time_is_said() {
        let found = shouts(|_, summary| {
            summary.lag = sample::distribution((0..1000).map(|_| 1_000_000));
        });
        assert_eq!(found.len(), 1);
        assert!(found[0].starts_with("LATE: lag p99 is 1.00 ms, 72.8 %"), "{}", found[0]);
    }

    #[test]
    fn a_wait_for_the_store_is_not_the_clients_lateness() {
        let held = |summary: &mut Summary, own_ns: u64| {
            summary.lag = sample::distribution((0..1000).map(|_| 1_000_000));
            let own_lag = sample::distribution((0..1000).map(|_| own_ns));
            summary.held_back = Some(HeldBack { operations: 300, own_lag });
        };
        assert_eq!(
            shouts(|_, summary| held(summary, 2_000)),
            ["HELD BACK: 50 % of the operations waited because as many as can be (64 in flight) \
              were unanswered: that part of their lag is the store's doing"]
        );
        let mixed = shouts(|_, summary| held(summary, 900_000));
        assert!(mixed[1].starts_with("LATE: lag p99 is 900 us, 65.6 %"), "{mixed:?}");
    }

    #[test]
    fn an_outage_is_a_finding_with_its_times() {
        let found = shouts(|_, summary| {
            let (from, until) = (Nanos::from_millis(7_001), Nanos::from_millis(11_020));
            let outage =
                Outage { from, until, failures: 8_000, is_cut_off: false, recovered_after: None };
            summary.availability.outages = vec![outage];
            summary.availability.longest = Some(outage);
            summary.availability.in_time_ratio = 0.8;
        });
        assert_eq!(
            found,
            ["OUTAGE: 4.02 s from 7.001 s to 11.02 s in which nothing that came was answered \
              within 1.00 s; over the run 80 % was"]
        );
    }

    #[test]
    fn failures_are_not_mistaken_for_overload() {
        assert_eq!(
            shouts(|_, summary| {
                summary.overall.rates.done_per_s = 180.0;
                summary.overall.counts.refused = 60;
            }),
            ["FAILING: 10 % of the operations failed (60 refused, 0 unknown)"]
        );
    }

    /// 600 operations of 200 transactions, of which `refused` failed by their first query.
    fn transactions(summary: &mut Summary, refused: u64) {
        let mut group = summary.overall.clone();
        group.rates = Rates { done_per_s: (200 - refused) as f64 / 3.0, ..group.rates };
        group.rates.offered_per_s = 200.0 / 3.0;
        summary.queries = vec![Queried {
            number: 1,
            name: "find".into(),
            group: group.clone(),
            requests_mean: 1.0,
        }];
        let dropped = (Outcome::Dropped, Reason::TransactionFailed, refused * 2);
        summary.overall.counts.refused = refused;
        summary.overall.counts.dropped = refused * 2;
        summary.overall.counts.reasons = vec![dropped];
        summary.overall.rates.done_per_s -= refused as f64;
        let done = 200 - refused;
        group.counts = Counts { offered: 200, done, hits: done, refused, ..Counts::default() };
        summary.all_transactions = Some(group.clone());
        summary.transactions =
            vec![Transactions { number: 1, name: "look".into(), group, unfinished: 0 }];
    }

    #[test]
    fn queries_fail_by_whole_transactions_and_are_no_overload() {
        let found = shouts(|_, summary| transactions(summary, 150));
        assert_eq!(found, ["FAILING: 75 % of the transactions failed (150 refused, 0 unknown)"]);
        let mut summary = sample::summary();
        transactions(&mut summary, 150);
        let mut facts = sample::facts();
        let line = headline(&facts, &summary, Letters::Ascii);
        assert!(line.starts_with("16.7 transactions/s of 66.7/s offered, "), "{line}");
        assert!(line.ends_with(", 150 of 200 transactions failed"), "{line}");
        let note = "not an audited TPC result".to_owned();
        facts.figures = vec![WorkloadFigure { name: "NOPM".to_owned(), value: 450.4, note }];
        let line = headline(&facts, &summary, Letters::Ascii);
        assert!(line.ends_with(" transactions failed, 450 NOPM"), "{line}");
        let [(_, available), ..] = crate::prose::availability(&summary, Letters::Ascii);
        assert!(available.starts_with("25 % of the transactions succeeded, "), "{available}");
    }

    #[test]
    fn transactions_given_up_after_a_failure_failed_too() {
        let found = shouts(|_, summary| {
            transactions(summary, 50);
            let all = summary.all_transactions.as_mut().expect("there are transactions");
            all.rates.done_per_s = 100.0 / 3.0;
            let counts = &mut all.counts;
            (counts.done, counts.hits, counts.dropped) = (100, 100, 50);
            counts.reasons = vec![
                (Outcome::Dropped, Reason::InFlightLimit, 20),
                (Outcome::Dropped, Reason::TransactionFailed, 30),
            ];
        });
        assert_eq!(
            found,
            [
                "OVERLOADED: offered 66.7/s, achieved 33.3/s (50 %)",
                "FAILING: 44.4 % of the transactions failed (50 refused, 0 unknown, 30 given up)"
            ]
        );
    }

    #[test]
    fn the_worst_comes_first() {
        let found = shouts(|facts, summary| {
            facts.state = State::Interrupted;
            facts.store.is_no_op = true;
            facts.warnings.push("the history stalled for 2 s".to_owned());
            summary.values.wrong = 1;
            summary.is_balanced = false;
        });
        let names: Vec<&str> =
            found.iter().map(|shout| shout.split(':').next().unwrap_or_default()).collect();
        assert_eq!(names, ["WRONG VALUES", "UNBALANCED", "INTERRUPTED", "NO STORE", "WARNING"]);
    }

    #[test]
    fn an_empty_run_says_that_it_is_empty() {
        let found = shouts(|_, summary| {
            summary.overall.counts = assay_analysis::Counts::default();
            summary.overall.rates = assay_analysis::Rates::default();
        });
        assert_eq!(found[0], "NOTHING MEASURED: no operation was issued in the measured phase");
    }
}

//! The tables that every format for people has in common.

use assay_analysis::{Distribution, Group, NodeSummary, Summary, Transactions};
use assay_model::Outcome;

use crate::facts::Facts;
use crate::hallmark;
use crate::percentile::{
    DisplayedPercentile, NO_VALUE, NO_VALUE_MEANING, SAMPLE, SAMPLE_MEANING, WITHDRAWN,
    WITHDRAWN_MEANING,
};
use crate::table::{Align, Table, TableBuilder};
use crate::units::{Letters, count, duration, percent, percentile_name};
use assay_analysis::slo::Stretch;

/// The percentiles that every latency table has.
const SHOWN: [f64; 5] = [0.5, 0.9, 0.99, 0.999, 1.0];

/// The name of the row that sums up all kinds.
pub const ALL: &str = "all";

/// The name of the same row if users wait for transactions, not for single requests.
pub const ALL_REQUESTS: &str = "all requests";

/// The name of the row that sums up all transactions.
pub const ALL_TRANSACTIONS: &str = "all transactions";

/// Each kind's group by name, and all kinds together where there are several.
pub fn groups(summary: &Summary) -> Vec<(&str, &Group)> {
    let mut groups: Vec<(&str, &Group)> =
        summary.kinds.iter().map(|(kind, group)| (kind.name(), group)).collect();
    if groups.len() != 1 {
        let is_single = summary.all_transactions.is_none();
        groups.push((if is_single { ALL } else { ALL_REQUESTS }, &summary.overall));
    }
    groups
}

/// Count, throughput and goodput of each kind.
pub fn throughput(summary: &Summary) -> Table {
    Table::of(groups(summary))
        .left("", |(name, _)| *name)
        .right("offered", |(_, group)| count(group.counts.offered))
        .right("done", |(_, group)| count(group.counts.done))
        .right("offered/s", |(_, group)| per_second(group.rates.offered_per_s))
        .right("done/s", |(_, group)| per_second(group.rates.done_per_s))
        .right("goodput/s", |(_, group)| per_second(group.rates.goodput_per_s))
        .build()
}

fn per_second(number: f64) -> String {
    if number > 0.0 && number < 99.95 {
        return format!("{number:.1}");
    }
    count(number.round() as u64)
}

/// Outcomes of each kind, each apart: a miss or a failure never looks like a success.
pub fn outcomes(summary: &Summary) -> Table {
    Table::of(groups(summary))
        .left("", |(name, _)| *name)
        .right("hits", |(_, group)| count(group.counts.hits))
        .right("misses", |(_, group)| count(group.counts.misses))
        .right("refused", |(_, group)| count(group.counts.refused))
        .right("unknown", |(_, group)| count(group.counts.unknown))
        .right("dropped", |(_, group)| count(group.counts.dropped))
        .build()
}

/// The percentiles of response time that a row of counts has beside them.
const BESIDE: [f64; 4] = [0.5, 0.9, 0.99, 1.0];

/// Whole transactions by type, all of them, then whole processes, with their counts beside their
/// response time; `None` for records by key.
pub fn transactions(facts: &Facts, summary: &Summary, letters: Letters) -> Option<Table> {
    fn named(types: &Transactions) -> (&str, &Group) {
        (types.name.as_str(), &types.group)
    }
    let all = summary.all_transactions.iter().map(|group| (ALL_TRANSACTIONS, group));
    let rows = summary.transactions.iter().map(named).chain(all);
    let table = Table::of(rows.chain(summary.processes.iter().map(named)))
        .left("", |(name, _)| *name)
        .right("done", |(_, group)| count(group.counts.done))
        .right("refused", |(_, group)| count(group.counts.refused))
        .right("unknown", |(_, group)| count(group.counts.unknown))
        .right("dropped", |(_, group)| count(group.counts.dropped))
        .right("done/s", |(_, group)| per_second(group.rates.done_per_s));
    let table = with_response(table, facts, letters, |(_, group)| group);
    (!summary.queries.is_empty()).then_some(table)
}

/// Each query with its counts beside its response time; `None` for records by key.
pub fn queries(facts: &Facts, summary: &Summary, letters: Letters) -> Option<Table> {
    let table = Table::of(&summary.queries)
        .left("", |query| &query.name)
        .right("hits", |query| count(query.group.counts.hits))
        .right("misses", |query| count(query.group.counts.misses))
        .right("failed", |query| count(query.group.counts.refused + query.group.counts.unknown))
        .right("dropped", |query| count(query.group.counts.dropped))
        .right("requests", |query| format!("{:.2}", query.requests_mean));
    with_response(table, facts, letters, |query| &query.group).filled()
}

/// The table with response time at [`BESIDE`] of each row's group.
fn with_response<T>(
    table: TableBuilder<T>,
    facts: &Facts,
    letters: Letters,
    group: impl Fn(&T) -> &Group,
) -> Table {
    let cells = |row: &T| {
        let response = &group(row).hits.response;
        BESIDE.map(|quantile| percentile(facts, Stretch::Response, response, quantile, letters))
    };
    table.columns(Align::Right, BESIDE.map(percentile_name), cells).build()
}

/// One percentile as a cell.
fn percentile(
    facts: &Facts,
    time: Stretch,
    distribution: &Distribution,
    quantile: f64,
    letters: Letters,
) -> String {
    let is_withdrawn = hallmark::withdraws(facts, time, quantile);
    DisplayedPercentile::of(distribution, quantile, is_withdrawn).cell(letters)
}

/// Why operations were refused, unknown or dropped, over all kinds.
pub fn reasons(summary: &Summary) -> Table {
    Table::of(&summary.overall.counts.reasons)
        .left("outcome", |(outcome, _, _)| outcome.name())
        .left("reason", |(_, reason, _)| reason.name())
        .right("count", |(_, _, number)| count(*number))
        .build()
}

/// Response over service time of each kind and transaction, then misses, failures and lag.
pub fn latency(facts: &Facts, summary: &Summary, letters: Letters) -> Table {
    let mut rows: Vec<(String, Stretch, &Distribution)> = Vec::new();
    for (name, group) in all_groups(summary) {
        rows.push((name, Stretch::Response, &group.hits.response));
        rows.push((String::new(), Stretch::Service, &group.hits.service));
    }
    let is_sum = |name: &str| [ALL, ALL_REQUESTS, ALL_TRANSACTIONS].contains(&name);
    for (name, group) in all_groups(summary).into_iter().filter(|(name, _)| !is_sum(name)) {
        rows.push((format!("{name}, misses"), Stretch::Response, &group.misses.response));
        rows.push((format!("{name}, failed"), Stretch::Response, &group.failed.response));
    }
    rows.push(("all operations".to_owned(), Stretch::Lag, &summary.lag));
    rows.retain(|(_, _, distribution)| distribution.count > 0);
    let cells = |(_, time, distribution): &(String, Stretch, &Distribution)| {
        SHOWN.map(|quantile| percentile(facts, *time, distribution, quantile, letters))
    };
    Table::of(rows)
        .left("", |(name, _, _)| name.clone())
        .left("", |(_, time, _)| time.name())
        .columns(Align::Right, SHOWN.map(percentile_name), cells)
        .build()
}

/// What a node is called.
pub(crate) fn node_name(node: &NodeSummary) -> String {
    match node.name.as_str() {
        "" => format!("node {}", node.number),
        name => name.to_owned(),
    }
}

/// Availability of each node; `None` if fewer than two are known.
pub fn nodes(facts: &Facts, summary: &Summary, letters: Letters) -> Option<Table> {
    let is_withdrawn = hallmark::withdraws(facts, Stretch::Response, 0.99);
    let mark = if is_withdrawn { WITHDRAWN.to_string() } else { String::new() };
    let silence = |node: &NodeSummary| {
        let silence = node.silence?;
        let at_least = if silence.is_cut_off { letters.pick("≥ ", ">= ") } else { "" };
        Some(format!("{at_least}{}", duration(silence.length(), letters)))
    };
    let p99 = |node: &NodeSummary| Some(format!("{mark}{}", duration(node.p99?, letters)));
    Table::of(&summary.nodes)
        .left("node", |node| node_name(node))
        .right("operations", |node| count(node.operations))
        .right("failed", |node| count(node.failed))
        .right("share", |node| percent(node.failed_share()))
        .right("longest silence", |node| silence(node).unwrap_or(NO_VALUE.to_owned()))
        .right("p99", |node| p99(node).unwrap_or(NO_VALUE.to_owned()))
        .build()
        .filled()
}

/// The groups of [`groups`] with each transaction type before the sum; where users wait for
/// transactions, these come first, with a sum of their own.
pub fn all_groups(summary: &Summary) -> Vec<(String, &Group)> {
    let mut all: Vec<(String, &Group)> =
        groups(summary).into_iter().map(|(name, group)| (name.to_owned(), group)).collect();
    let types = summary.transactions.iter().map(|types| (types.name.clone(), &types.group));
    let (place, sum) = match &summary.all_transactions {
        Some(group) => (0, Some((ALL_TRANSACTIONS.to_owned(), group))),
        None => (all.len() - usize::from(all.last().is_some_and(|(name, _)| name == ALL)), None),
    };
    all.splice(place..place, types.chain(sum));
    all
}

/// What the marks in the cells of `table` mean, those that occur.
pub fn legend(table: &Table) -> Vec<&'static str> {
    let cells = || table.rows().iter().flatten();
    let marks = [
        (cells().any(|cell| cell.starts_with(SAMPLE)), SAMPLE_MEANING),
        (cells().any(|cell| cell.starts_with(NO_VALUE)), NO_VALUE_MEANING),
        (cells().any(|cell| cell.starts_with(WITHDRAWN)), WITHDRAWN_MEANING),
    ];
    marks.into_iter().filter(|(occurs, _)| *occurs).map(|(_, meaning)| meaning).collect()
}

/// Whether something was refused, unknown or dropped.
pub fn has_failures(summary: &Summary) -> bool {
    let failed = [Outcome::Refused, Outcome::Unknown, Outcome::Dropped];
    summary.overall.counts.reasons.iter().any(|(outcome, _, _)| failed.contains(outcome))
}

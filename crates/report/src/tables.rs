//! The tables that every format for people has in common.

use assay_analysis::{Distribution, Group, NodeSummary, Queried, Summary, Transactions};
use assay_model::Outcome;

use crate::facts::Facts;
use crate::hallmark;
use crate::percentile::{
    DisplayedPercentile, NO_VALUE, NO_VALUE_MEANING, SAMPLE, SAMPLE_MEANING, WITHDRAWN,
    WITHDRAWN_MEANING,
};
use crate::table::{Align, Table};
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
    let mut table = Table::new(&[
        ("", Align::Left),
        ("offered", Align::Right),
        ("done", Align::Right),
        ("offered/s", Align::Right),
        ("done/s", Align::Right),
        ("goodput/s", Align::Right),
    ]);
    for (name, group) in groups(summary) {
        let (counts, rates) = (&group.counts, &group.rates);
        table.row(vec![
            name.to_owned(),
            count(counts.offered),
            count(counts.done),
            per_second(rates.offered_per_s),
            per_second(rates.done_per_s),
            per_second(rates.goodput_per_s),
        ]);
    }
    table
}

fn per_second(number: f64) -> String {
    if number > 0.0 && number < 99.95 {
        return format!("{number:.1}");
    }
    count(number.round() as u64)
}

/// Outcomes of each kind, each apart: a miss or a failure never looks like a success.
pub fn outcomes(summary: &Summary) -> Table {
    let mut table = Table::new(&[
        ("", Align::Left),
        ("hits", Align::Right),
        ("misses", Align::Right),
        ("refused", Align::Right),
        ("unknown", Align::Right),
        ("dropped", Align::Right),
    ]);
    for (name, group) in groups(summary) {
        let counts = &group.counts;
        let numbers = [counts.hits, counts.misses, counts.refused, counts.unknown, counts.dropped];
        let cells = numbers.into_iter().map(count);
        table.row([name.to_owned()].into_iter().chain(cells).collect());
    }
    table
}

/// The percentiles of response time that a row of counts has beside them.
const BESIDE: [f64; 4] = [0.5, 0.9, 0.99, 1.0];

/// Whole transactions by type, all of them, then whole processes, with their counts beside their
/// response time; `None` for records by key.
pub fn transactions(facts: &Facts, summary: &Summary, letters: Letters) -> Option<Table> {
    if summary.queries.is_empty() {
        return None;
    }
    let mut table = counted(["done", "refused", "unknown", "dropped", "done/s"].as_slice());
    fn named(types: &Transactions) -> (&str, &Group) {
        (types.name.as_str(), &types.group)
    }
    let all = summary.all_transactions.iter().map(|group| (ALL_TRANSACTIONS, group));
    let rows = summary.transactions.iter().map(named).chain(all);
    for (name, group) in rows.chain(summary.processes.iter().map(named)) {
        let counts = &group.counts;
        let numbers = [counts.done, counts.refused, counts.unknown, counts.dropped];
        let cells = numbers.into_iter().map(count).chain([per_second(group.rates.done_per_s)]);
        let row = [name.to_owned()].into_iter().chain(cells);
        table.row(row.chain(response(facts, group, letters)).collect());
    }
    Some(table)
}

/// Each query with its counts beside its response time; `None` for records by key.
pub fn queries(facts: &Facts, summary: &Summary, letters: Letters) -> Option<Table> {
    if summary.queries.is_empty() {
        return None;
    }
    let mut table = counted(["hits", "misses", "failed", "dropped", "requests"].as_slice());
    for Queried { name, group, requests_mean, .. } in &summary.queries {
        let counts = &group.counts;
        let failed = counts.refused + counts.unknown;
        let numbers = [counts.hits, counts.misses, failed, counts.dropped].map(count);
        let requests = format!("{requests_mean:.2}");
        let row = [name.clone()].into_iter().chain(numbers).chain([requests]);
        table.row(row.chain(response(facts, group, letters)).collect());
    }
    Some(table)
}

/// A table of names with these counts and response time at [`BESIDE`].
fn counted(counts: &[&str]) -> Table {
    let quantiles = BESIDE.map(percentile_name);
    let titles = counts.iter().copied().chain(quantiles.iter().map(String::as_str));
    let columns: Vec<(&str, Align)> =
        [("", Align::Left)].into_iter().chain(titles.map(|title| (title, Align::Right))).collect();
    Table::new(&columns)
}

/// Response time at [`BESIDE`].
fn response(facts: &Facts, group: &Group, letters: Letters) -> [String; 4] {
    BESIDE.map(|quantile| {
        let is_withdrawn = hallmark::withdraws(facts, Stretch::Response, quantile);
        DisplayedPercentile::of(&group.hits.response, quantile, is_withdrawn).cell(letters)
    })
}

/// Why operations were refused, unknown or dropped, over all kinds.
pub fn reasons(summary: &Summary) -> Table {
    let mut table =
        Table::new(&[("outcome", Align::Left), ("reason", Align::Left), ("count", Align::Right)]);
    for (outcome, reason, number) in &summary.overall.counts.reasons {
        table.row(vec![outcome.name().to_owned(), reason.name().to_owned(), count(*number)]);
    }
    table
}

/// Response over service time of each kind and transaction, then misses, failures and lag.
pub fn latency(facts: &Facts, summary: &Summary, letters: Letters) -> Table {
    let mut columns = vec![("".to_owned(), Align::Left), ("".to_owned(), Align::Left)];
    columns.extend(SHOWN.map(|quantile| (percentile_name(quantile), Align::Right)));
    let columns: Vec<(&str, Align)> =
        columns.iter().map(|(title, side)| (title.as_str(), *side)).collect();
    let mut table = Table::new(&columns);
    let mut row = |name: &str, time: Stretch, distribution: &Distribution| {
        if distribution.count > 0 {
            let cells = SHOWN.map(|quantile| {
                let is_withdrawn = hallmark::withdraws(facts, time, quantile);
                DisplayedPercentile::of(distribution, quantile, is_withdrawn).cell(letters)
            });
            let names = [name.to_owned(), time.name().to_owned()];
            table.row(names.into_iter().chain(cells).collect());
        }
    };
    for (name, group) in all_groups(summary) {
        row(&name, Stretch::Response, &group.hits.response);
        row("", Stretch::Service, &group.hits.service);
    }
    let is_sum = |name: &str| [ALL, ALL_REQUESTS, ALL_TRANSACTIONS].contains(&name);
    for (name, group) in all_groups(summary).into_iter().filter(|(name, _)| !is_sum(name)) {
        row(&format!("{name}, misses"), Stretch::Response, &group.misses.response);
        row(&format!("{name}, failed"), Stretch::Response, &group.failed.response);
    }
    row("all operations", Stretch::Lag, &summary.lag);
    table
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
    let mut table = Table::new(&[
        ("node", Align::Left),
        ("operations", Align::Right),
        ("failed", Align::Right),
        ("share", Align::Right),
        ("longest silence", Align::Right),
        ("p99", Align::Right),
    ]);
    let is_withdrawn = hallmark::withdraws(facts, Stretch::Response, 0.99);
    let mark = if is_withdrawn { WITHDRAWN.to_string() } else { String::new() };
    for node in &summary.nodes {
        let silence = node.silence.as_ref().map(|silence| {
            let at_least = if silence.is_cut_off { letters.pick("≥ ", ">= ") } else { "" };
            format!("{at_least}{}", duration(silence.length(), letters))
        });
        let p99 = node.p99.map(|p99| format!("{mark}{}", duration(p99, letters)));
        table.row(vec![
            node_name(node),
            count(node.operations),
            count(node.failed),
            percent(node.failed_share()),
            silence.unwrap_or_else(|| NO_VALUE.to_owned()),
            p99.unwrap_or_else(|| NO_VALUE.to_owned()),
        ]);
    }
    (!summary.nodes.is_empty()).then_some(table)
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

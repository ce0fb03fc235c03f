//! Figures of a run that a page shows in large type.

use assay_analysis::{Distribution, Latency, LoadModel, Summary};

use super::LETTERS;
use crate::document::FigureCard;
use crate::facts::Facts;
use crate::hallmark;
use crate::percentile::DisplayedPercentile;
use crate::units::{count, duration, percentile_name, rate};
use crate::verdict::{self, Unit};
use assay_analysis::slo::Stretch;

/// Throughput, failures, lag, then response times.
pub fn cards(facts: &Facts, summary: &Summary) -> Vec<FigureCard> {
    let (unit, group) = verdict::headline_group(summary);
    let (rates, counts) = (&group.rates, &group.counts);
    let requested = match (summary.load, rates.target_per_s) {
        (LoadModel::Open { .. }, _) => format!("of {} offered", rate(rates.offered_per_s)),
        (LoadModel::Closed { .. }, Some(target)) => format!("of {} wanted", rate(target)),
        (LoadModel::Closed { sessions, .. }, None) => format!("by {} sessions", count(sessions)),
    };
    let failed = counts.refused + counts.unknown + counts.dropped;
    let kinds_of_failure =
        [(counts.refused, "refused"), (counts.unknown, "unknown"), (counts.dropped, "dropped")];
    let failures: Vec<String> = kinds_of_failure
        .iter()
        .filter(|(number, _)| *number > 0)
        .map(|(number, name)| format!("{} {name}", count(*number)))
        .collect();
    let failures = match failures.is_empty() {
        true => format!("of {} offered", count(counts.offered)),
        false => failures.join(", "),
    };
    let mut cards = Vec::new();
    match unit {
        Unit::Operations => {
            let misses = format!("{} misses apart", count(counts.misses));
            cards.push(FigureCard::new("Throughput", rate(rates.done_per_s), requested));
            cards.push(FigureCard::new("Goodput", rate(rates.goodput_per_s), misses));
        }
        Unit::Transactions => {
            cards.push(FigureCard::new("Transactions", rate(rates.done_per_s), requested));
            cards.extend(facts.figures.iter().map(|figure| {
                let value = count(figure.value.round() as u64);
                FigureCard::new(figure.name.clone(), value, figure.note.clone())
            }));
        }
    }
    cards.push(FigureCard::new("Failures", count(failed), failures));
    cards.push(lag(summary));
    cards.extend([0.5, 0.99, 0.999, 1.0].map(|quantile| latency(facts, &group.hits, quantile)));
    cards
}

fn latency(facts: &Facts, hits: &Latency, quantile: f64) -> FigureCard {
    let display = |time: Stretch, distribution: &Distribution| {
        DisplayedPercentile::of(distribution, quantile, hallmark::withdraws(facts, time, quantile))
    };
    let response = display(Stretch::Response, &hits.response);
    let service = display(Stretch::Service, &hits.service);
    let note = format!("service {}", service.cell(LETTERS));
    let note = match response.note() {
        "" => note,
        of_value => format!("{of_value}; {note}"),
    };
    let (figure, is_withdrawn) = match response {
        DisplayedPercentile::Withdrawn(value) => (duration(value, LETTERS), true),
        other => (other.cell(LETTERS), false),
    };
    let title = format!("Response {}", percentile_name(quantile));
    FigureCard { is_withdrawn, ..FigureCard::new(title, figure, note) }
}

fn lag(summary: &Summary) -> FigureCard {
    let display = |quantile| DisplayedPercentile::of(&summary.lag, quantile, false).cell(LETTERS);
    FigureCard::new("Lag p99", display(0.99), format!("median {}", display(0.5)))
}

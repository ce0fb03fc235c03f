//! Agents of a fleet in a report: their shares side by side.

use assay_model::Nanos;

use crate::facts::{AgentFacts, Facts};
use crate::hallmark;
use crate::percentile::WITHDRAWN;
use crate::table::Table;
use crate::units::{Letters, count, duration, rate};
use assay_analysis::slo::Stretch;

/// What is said where there is no value.
const NO_VALUE: &str = "-";

/// The agents, a row each; `None` for a run of one process.
pub fn table(facts: &Facts, letters: Letters) -> Option<Table> {
    let is_withdrawn = |quantile| hallmark::withdraws(facts, Stretch::Response, quantile);
    let latency = |value: Option<Nanos>, quantile| {
        let mark = if is_withdrawn(quantile) { WITHDRAWN.to_string() } else { String::new() };
        value.map_or(NO_VALUE.to_owned(), |value| format!("{mark}{}", duration(value, letters)))
    };
    let lag = |lag: Option<Nanos>| lag.map_or(NO_VALUE.to_owned(), |lag| duration(lag, letters));
    Table::of(&facts.agents)
        .right("agent", |agent| agent.agent)
        .left("host", |agent| &agent.host)
        .right("threads", |agent| agent.workers)
        .right("operations", |agent| count(agent.offered))
        .right("done/s", |agent| rate(agent.done_per_s))
        .right("p50", |agent| latency(agent.p50, 0.5))
        .right("p99", |agent| latency(agent.p99, 0.99))
        .right("lag p99", |agent| lag(agent.lag_p99))
        .right("began", |agent| began(agent, letters))
        .build()
        .filled()
}

/// When an agent began, off the run's epoch, with the error of that.
fn began(agent: &AgentFacts, letters: Letters) -> String {
    let Some((least, most)) = agent.start_least_ns.zip(agent.start_most_ns) else {
        return NO_VALUE.to_owned();
    };
    let text = |value: i64| {
        let sign = if value < 0 { "-" } else { "+" };
        format!("{sign}{}", duration(Nanos(value.unsigned_abs()), letters))
    };
    format!("{} to {}", text(least), text(most))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_has_a_row_with_its_share_and_its_start() {
        let agent = AgentFacts {
            agent: 1,
            host: "left".to_owned(),
            workers: 2,
            offered: 12_000,
            done_per_s: 400.0,
            p50: Some(Nanos(90_000)),
            p99: None,
            lag_p99: Some(Nanos(8_000)),
            start_least_ns: Some(-700),
            start_most_ns: Some(900),
        };
        let facts = Facts { agents: vec![agent], ..crate::sample::facts() };
        let text = table(&facts, Letters::Ascii).expect("there is an agent").markdown();
        let row = "| 1 | left | 2 | 12 000 | 400/s | 90.0 us | - | 8.00 us | -700 ns to +900 ns |";
        let squeezed = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(squeezed.contains(row), "{squeezed}");
        assert!(table(&crate::sample::facts(), Letters::Ascii).is_none());
    }
}

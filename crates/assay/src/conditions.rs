//! Conditions on a store's rows after a workload, checked with queries to the store itself.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Result, bail};
use assay_history::manifest::FindingSection;
use assay_model::{Datum, Named, Nanos, Parameters};
use assay_store::{Answer, Answers, Call, Client, Step, Store, Ticket};
use assay_workload::ScriptSpec;
use assay_workload::script::tpcc::conditions::{
    ConditionFinding, ConditionQuery, ConditionTerm, Examination, Violation,
};

use crate::exit::{Exit, from_open};
use crate::workload::WorkloadSource;

/// How long an answer is waited for, in rounds of [`ROUND`].
const ROUNDS: u32 = 3_000;
const ROUND: Duration = Duration::from_millis(10);

/// Violations that are written out; the others are counted.
const SHOWN: usize = 3;

/// Whether what a run has left behind can be looked at.
#[derive(Debug)]
pub enum Examinable<'a> {
    /// By the conditions of this workload.
    Spec(&'a ScriptSpec),
    /// It has conditions, or may have; this is why they are not looked at.
    Not(&'static str),
    /// It has no conditions.
    Nothing,
}

/// Whether the data that a run of `requested` over the tables of `ddl` that ended with `exit` has
/// left behind can be looked at.
pub fn examinable<'a>(requested: &'a WorkloadSource, ddl: &[Named], exit: Exit) -> Examinable<'a> {
    match requested {
        WorkloadSource::Script(spec @ ScriptSpec::Tpcc(_)) => match exit {
            Exit::Fine | Exit::Undone => Examinable::Spec(spec),
            Exit::Interrupted => Examinable::Not(
                "the conditions of TPC-C were not examined because the run was interrupted",
            ),
            _ => {
                Examinable::Not("the conditions of TPC-C were not examined because the run failed")
            }
        },
        // A trace may be one of TPC-C: only its tables tell.
        WorkloadSource::Trace if has_tables_of_tpcc(ddl) => Examinable::Not(
            "the conditions of TPC-C were not examined because the trace is not of this version's \
             TPC-C, so what its rows must hold is not known",
        ),
        WorkloadSource::Trace | WorkloadSource::Script(_) | WorkloadSource::Records(_) => {
            Examinable::Nothing
        }
    }
}

fn has_tables_of_tpcc(ddl: &[Named]) -> bool {
    let has = |name| ddl.iter().any(|table: &Named| table.text.to_ascii_lowercase().contains(name));
    ["warehouse", "district", "customer", "stock"].into_iter().all(has)
}

/// The conditions of the workload with what was found; none if it has no conditions.
pub fn examine(store: &Arc<dyn Store>, spec: &ScriptSpec) -> Result<Vec<FindingSection>> {
    let ScriptSpec::Tpcc(spec) = spec else { return Ok(Vec::new()) };
    let mut client = store.open(0).map_err(from_open)?;
    let mut examination = Examination::new(spec);
    let mut ticket = 0;
    while let Some(condition_query) = examination.condition_query() {
        send(client.as_mut(), Ticket(ticket), &condition_query, &mut examination)?;
        ticket += 1;
        examination.answered();
    }
    Ok(examination.findings().iter().map(section).collect())
}

fn send(
    client: &mut dyn Client,
    ticket: Ticket,
    condition_query: &ConditionQuery,
    examination: &mut Examination,
) -> Result<()> {
    let mut parameters = Vec::new();
    condition_query.arguments.iter().for_each(|argument| argument.encode(&mut parameters));
    let call = Call {
        session: 0,
        step: Step::Query(condition_query.statement),
        begins: false,
        parameters: Parameters::new(&parameters),
    };
    let mut listener = Listener { ticket, examination, state: State::Waiting };
    client.call(Nanos::ZERO, ticket, &call, &mut listener);
    for _ in 0..ROUNDS {
        match listener.state {
            State::Waiting => {}
            State::Answered => return Ok(()),
            State::Failed(reason) => {
                bail!("the store does not answer what the conditions are about: {reason}")
            }
        }
        client.poll(Nanos::ZERO, &mut listener);
        if matches!(listener.state, State::Waiting) {
            client.wait(ROUND);
        }
    }
    bail!("the store gave no answer to what the conditions are about")
}

enum State {
    Waiting,
    Answered,
    Failed(&'static str),
}

/// Hands the rows of one answer to the examination.
struct Listener<'a> {
    ticket: Ticket,
    examination: &'a mut Examination,
    state: State,
}

impl Answers for Listener<'_> {
    fn answer(&mut self, ticket: Ticket, answer: Answer<'_>) {
        if ticket != self.ticket {
            return;
        }
        let reply = match answer {
            Answer::Done(reply) => reply,
            Answer::Refused(reason) | Answer::Unknown(reason) => {
                self.state = State::Failed(reason.name());
                return;
            }
        };
        let mut row = (0, Vec::new());
        let examination = &mut *self.examination;
        reply.rows.each(|field| {
            if field.row != row.0 {
                examination.row(&row.1);
                row = (field.row, Vec::new());
            }
            row.1.push(Datum::decode(field.value).map_or(Datum::Null, |(datum, _)| datum));
        });
        if !row.1.is_empty() {
            examination.row(&row.1);
        }
        self.state = State::Answered;
    }
}

fn section(finding: &ConditionFinding) -> FindingSection {
    let condition = finding.condition;
    let places = |count: usize| if count == 1 { "place" } else { "places" };
    let place = |violation: &Violation| (violation.warehouse, violation.district);
    // A condition of three sides can be broken twice in one place.
    let broken: BTreeSet<_> = finding.violations.iter().map(place).collect();
    let text = match broken.len() {
        0 => format!("holds in {} {}", finding.examined, places(finding.examined as usize)),
        count => {
            let reported: Vec<String> =
                finding.violations.iter().take(SHOWN).map(violation).collect();
            let more = match finding.violations.len().saturating_sub(SHOWN) {
                0 => String::new(),
                more => format!("; and {more} more"),
            };
            let reported = reported.join("; ");
            format!("violated in {count} of {} places: {reported}{more}", finding.examined)
        }
    };
    FindingSection {
        name: format!("TPC-C {}", condition.clause()),
        rule: condition.formula().to_owned(),
        verdict: if finding.is_held() { "held" } else { "violated" }.to_owned(),
        text,
    }
}

fn violation(violation: &Violation) -> String {
    let Violation { warehouse, district, left, right } = violation;
    let district = district.map_or_else(String::new, |number| format!(", district {number}"));
    format!("warehouse {warehouse}{district}: {} but {}", side(left), side(right))
}

fn side(side: &ConditionTerm) -> String {
    match side.value {
        Some(value) => format!("{} is {value}", side.name),
        None => format!("{} is not there", side.name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_workload::script::tpcc::conditions::ConsistencyCondition;

    #[test]
    fn a_place_that_breaks_a_condition_twice_is_one_place() {
        let side = |name| ConditionTerm { name, value: None };
        let of = |name| {
            let (left, right) = (side("d_next_o_id - 1"), side(name));
            Violation { warehouse: 1, district: Some(2), left, right }
        };
        let violations = vec![of("max(o_id)"), of("max(no_o_id)")];
        let finding = ConditionFinding {
            condition: ConsistencyCondition::LastOrder,
            examined: 20,
            violations,
        };
        let text = section(&finding).text;
        assert!(text.starts_with("violated in 1 of 20 places: warehouse 1, district 2:"), "{text}");
    }

    #[test]
    fn conditions_that_are_not_examined_say_why() {
        let why = |requested: &WorkloadSource, ddl: &[&str], exit| {
            let named = |text: &&str| Named { name: String::new(), text: (*text).to_owned() };
            let ddl: Vec<Named> = ddl.iter().map(named).collect();
            match examinable(requested, &ddl, exit) {
                Examinable::Spec(_) => "examined",
                Examinable::Nothing => "nothing",
                Examinable::Not(why) => why.split_once("because ").expect("a reason").1,
            }
        };
        let spec = ScriptSpec::from_toml("workload = \"tpcc\"", "test").unwrap();
        let tpcc = WorkloadSource::Script(spec);
        assert_eq!(why(&tpcc, &[], Exit::Fine), "examined");
        assert_eq!(why(&tpcc, &[], Exit::Interrupted), "the run was interrupted");
        assert_eq!(why(&tpcc, &[], Exit::Unreachable), "the run failed");
        let tables = ["warehouse", "district", "customer", "stock"];
        let foreign =
            why(&WorkloadSource::Trace, &tables.map(|_| "CREATE TABLE a (b INT)"), Exit::Fine);
        assert_eq!(foreign, "nothing");
        let foreign = why(&WorkloadSource::Trace, &tables, Exit::Fine);
        assert!(foreign.starts_with("the trace is not of this version's TPC-C"), "{foreign}");
    }
}

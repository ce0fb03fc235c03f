//! dbcop's JSON: sessions of transactions of events.
//!
//! Read are the sessions alone or as the member `data` of its description; events as
//! `{"Read": {"variable", "version"}}`, `["r", variable, version]`, and as the forks' `{"write",
//! "variable", "value", "success"}`, where 0 is the initial value. What was not committed is
//! refused, and so is a write without success in a committed transaction.

use assay_model::Outcome;

use super::builder::Builder;
use super::error::{ForeignError, ForeignProblem};
use super::form::{Form, Forms, expected};
use super::{ForeignHistory, ForeignTimes};
use crate::transaction::TransactionStep;

pub(super) fn read(mut forms: Forms<'_>) -> Result<ForeignHistory, ForeignError> {
    let mut builder = Builder::default();
    match forms.peek()? {
        Some(b'[') => sessions(&mut forms, &mut builder)?,
        Some(_) => forms.members(|forms, member| match member.name() {
            Some("data" | "sessions") => sessions(forms, &mut builder),
            _ => forms.form().map(drop),
        })?,
        None => return Err(forms.error(ForeignProblem::Truncated)),
    }
    builder.name_initial_values();
    Ok(builder.finish(ForeignTimes::SessionOrder))
}

fn sessions(forms: &mut Forms<'_>, builder: &mut Builder) -> Result<(), ForeignError> {
    let mut count = 0;
    forms.items(|forms| {
        let session = builder.session(count).map_err(|problem| forms.error(problem))?;
        count += 1;
        forms.items(|forms| {
            let form = forms.form()?;
            transaction(builder, session, &form).map_err(|problem| forms.error(problem))
        })
    })
}

fn transaction(builder: &mut Builder, session: u32, form: &Form) -> Result<(), ForeignProblem> {
    let events = form.member("events").and_then(Form::sequence);
    let events = events.ok_or(ForeignProblem::Missing("a list of events"))?;
    let committed = form.member("committed").or_else(|| form.member("success"));
    let committed = match committed {
        Some(Form::Boolean(committed)) => *committed,
        _ => return Err(ForeignProblem::Missing("\"committed\": true or false")),
    };
    let mut steps = Vec::with_capacity(events.len());
    let mut refused = Vec::new();
    for event in events {
        let step = step(builder, event)?;
        let failed = event.member("success") == Some(&Form::Boolean(false));
        match step {
            step if !failed => steps.push(step),
            write @ TransactionStep::Write { .. } => refused.push(write),
            _ => {}
        }
    }
    let outcome = if committed { Outcome::Done } else { Outcome::Refused };
    builder.begin(session, outcome, steps);
    if !refused.is_empty() {
        builder.begin(session, Outcome::Refused, refused);
    }
    Ok(())
}

fn step(builder: &mut Builder, event: &Form) -> Result<TransactionStep, ForeignProblem> {
    let form = "an event {\"Read\" or \"Write\": {\"variable\": …, \"version\": …}}";
    let (is_write, variable, value) = parts(event).ok_or_else(|| expected(form, event))?;
    if is_write {
        builder.write(variable, value)
    } else {
        builder.register_read(variable, Some(value))
    }
}

/// Whether it writes, what, and the value.
fn parts(event: &Form) -> Option<(bool, &Form, &Form)> {
    if let Some([kind, variable, version]) = event.sequence() {
        return match kind.name()? {
            "r" => Some((false, variable, version)),
            "w" => Some((true, variable, version)),
            _ => None,
        };
    }
    if let Some(Form::Boolean(is_write)) = event.member("write") {
        return Some((*is_write, event.member("variable")?, event.member("value")?));
    }
    let (is_write, inner) = match event.member("Write") {
        Some(inner) => (true, inner),
        None => (false, event.member("Read")?),
    };
    Some((is_write, inner.member("variable")?, inner.member("version")?))
}

//! Lists of porcupine's operations as Go writes them in JSON.
//!
//! Porcupine itself writes pictures only; its users write `[]porcupine.Operation`, whose `Input`
//! and `Output` are structures of their own. Read are those of its examples and of the labs that
//! use it, whatever the case of their members' names:
//!
//! * `Input.Op` (or `Type`, `Kind`): `get`, `read`, `put`, `write`, `cas` or porcupine's numbers, 0
//!   for a read, 1 for a write, 2 for a compare-and-set from `Arg1` to `Arg2`, or true for a read
//!   of a register and false for a write;
//! * `Input.Key`, and `Input.Value` or `Arg1`; `Old` and `New` or `From` and `To`;
//! * `Output`: the value, or `Value` with `Exists`, `Ok` and `Unknown`.
//!
//! An operation without `Return`, or with −1 or the greatest 64-bit number, may have happened. A
//! value that is Go's zero (0, the empty string) and that nobody wrote is the initial one.
//! Intervals are closed, as porcupine's.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use assay_model::{Nanos, Outcome};

use super::builder::Builder;
use super::error::{ForeignError, ForeignProblem, ForeignWarningKind};
use super::form::{Form, Forms};
use super::{ForeignHistory, ForeignTimes};
use crate::transaction::TransactionStep;

#[derive(Default)]
struct Reader {
    builder: Builder,
    /// The client and the line of each transaction.
    origins: Vec<(i64, u64)>,
}

pub(super) fn read(mut forms: Forms<'_>) -> Result<ForeignHistory, ForeignError> {
    let mut reader = Reader::default();
    forms.for_each(|position, form| {
        let line = position.line;
        reader.operation(line, &form).map_err(|problem| ForeignError { position, problem })
    })?;
    reader.number_sessions().map_err(|problem| forms.error(problem))?;
    reader.builder.name_initial_values();
    Ok(reader.builder.finish(ForeignTimes::Nanoseconds))
}

impl Reader {
    fn operation(&mut self, line: u64, form: &Form) -> Result<(), ForeignProblem> {
        if member(form, &["partitions"]).is_some() {
            return Err(ForeignProblem::Visualisation);
        }
        let input = member(form, &["input"]).ok_or(ForeignProblem::Missing("an Input"))?;
        let output = member(form, &["output"]).unwrap_or(&Form::Nil);
        let client = member(form, &["clientid", "client_id"]).and_then(Form::integer);
        let call = member(form, &["call"]).and_then(Form::integer);
        let call = call.ok_or(ForeignProblem::Missing("a Call, in nanoseconds,"))?;
        let ended = member(form, &["return"]).and_then(Form::integer);
        let ended = ended.filter(|ended| *ended != -1 && *ended != i64::MAX);
        if let Some(ended) = ended
            && ended < call
        {
            return Err(ForeignProblem::EndsBeforeStart { started: call, ended });
        }
        let (steps, outcome) = self.effect(input, output)?;
        if let ([TransactionStep::Read { value: None, .. }], Outcome::Done) = (&*steps, outcome) {
            self.builder.warn(ForeignWarningKind::NoAnswer, line, 1);
        }
        self.origins.push((client.unwrap_or(0), line));
        let outcome = if ended.is_none() { Outcome::Unknown } else { outcome };
        let transaction = self.builder.begin(0, outcome, steps);
        transaction.started = nanos(call);
        transaction.ended = ended.map_or(Nanos::NEVER, nanos);
        Ok(())
    }

    fn effect(
        &mut self,
        input: &Form,
        output: &Form,
    ) -> Result<(Vec<TransactionStep>, Outcome), ForeignProblem> {
        let register = Form::Word("register".into());
        let key = member(input, &["key"]).unwrap_or(&register);
        let is = |name: &str, truth| member(output, &[name]) == Some(&Form::Boolean(truth));
        let pair =
            member(input, &["old", "from", "arg1"]).zip(member(input, &["new", "to", "arg2"]));
        let value = member(input, &["value", "arg1"]);
        let outcome = if is("unknown", true) { Outcome::Unknown } else { Outcome::Done };
        match operation(input)? {
            "read" => {
                let answer = answer(output);
                let answer = if is("exists", false) { Some(&Form::Nil) } else { answer };
                Ok((vec![self.builder.register_read(key, answer)?], outcome))
            }
            "write" => {
                let value = value.ok_or(ForeignProblem::Missing("a value to write"))?;
                Ok((vec![self.builder.write(key, value)?], outcome))
            }
            _ => {
                let missing = ForeignProblem::Missing("an old and a new value");
                let (old, new) = pair.ok_or(missing)?;
                let refused = is("ok", false) && outcome == Outcome::Done;
                let read = self.builder.register_read(key, Some(old).filter(|_| !refused))?;
                let steps = vec![read, self.builder.write(key, new)?];
                Ok((steps, if refused { Outcome::Refused } else { outcome }))
            }
        }
    }

    /// Gives each client a session, and more where its operations overlap or their end is unknown.
    fn number_sessions(&mut self) -> Result<(), ForeignProblem> {
        let mut order: Vec<usize> = (0..self.origins.len()).collect();
        let transactions = &self.builder.transactions;
        order.sort_by_key(|position| (transactions[*position].started, *position));
        // Of each client, the sessions that can go on and when they are free.
        let mut clients: HashMap<i64, BinaryHeap<Reverse<(Nanos, u32)>>> = HashMap::new();
        for position in order {
            let (client, line) = self.origins[position];
            let transaction = &self.builder.transactions[position];
            let (started, ended) = (transaction.started, transaction.ended);
            let known = transaction.outcome != Outcome::Unknown;
            let sessions = clients.entry(client).or_default();
            let free = sessions.peek().is_some_and(|Reverse((ended, _))| *ended <= started);
            let session =
                if free { sessions.pop().map(|Reverse((_, session))| session) } else { None };
            if session.is_none() && !sessions.is_empty() {
                self.builder.warn(ForeignWarningKind::OverlappingClient, line, 1);
            }
            let session = match session {
                Some(session) => session,
                None => self.builder.session(client)?,
            };
            self.builder.transactions[position].session = session;
            if known {
                sessions.push(Reverse((ended, session)));
            }
        }
        Ok(())
    }
}

/// The first member of these that a map has, whatever its case.
fn member<'a>(form: &'a Form, names: &[&str]) -> Option<&'a Form> {
    let Form::Map(members) = form else { return None };
    names.iter().find_map(|name| {
        let is = |key: &Form| key.name().is_some_and(|key| key.eq_ignore_ascii_case(name));
        members.iter().find(|(key, _)| is(key)).map(|(_, value)| value)
    })
}

/// What an operation is: read, write or cas.
fn operation(input: &Form) -> Result<&'static str, ForeignProblem> {
    let form = member(input, &["op", "type", "kind", "operation"]);
    let form = form.ok_or(ForeignProblem::Missing("an Op in its Input"))?;
    let compares = member(input, &["arg2"]).is_some();
    let named = form.name().map(str::to_ascii_lowercase);
    match (named.as_deref(), form) {
        (Some("get" | "read"), _) | (None, Form::Integer(0) | Form::Boolean(true)) => Ok("read"),
        (Some("put" | "write" | "set"), _) | (None, Form::Integer(1) | Form::Boolean(false)) => {
            Ok("write")
        }
        (Some("cas"), _) => Ok("cas"),
        (None, Form::Integer(2)) if compares => Ok("cas"),
        _ => Err(ForeignProblem::UnknownOperation(form.shown())),
    }
}

/// What a read returned, or nothing where that is unknown.
fn answer(output: &Form) -> Option<&Form> {
    match output {
        Form::Nil => None,
        Form::Map(_) => member(output, &["value"]),
        value => Some(value),
    }
}

/// A time; one before the epoch is the epoch, which makes intervals longer at their start.
fn nanos(time: i64) -> Nanos {
    Nanos(u64::try_from(time).unwrap_or(0))
}

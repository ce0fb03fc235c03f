//! Jepsen's and Elle's histories: invocations with their completions, by process.
//!
//! The meaning is that of Jepsen's history library and of Elle (Kingsbury, Alvaro 2020): an `ok`
//! happened, a `fail` did not, an `info` or a missing completion may have; what an `info` says of
//! its reads is not believed; nil is an empty answer in an `ok` and none elsewhere. The order of
//! lines is the order of time, as both take it: `:time` was noted by threads that were not
//! synchronised and may go backwards by a little, so it is moved just behind the line above. Equal
//! times stay equal: nobody knows which of the two was first.
//!
//! Values `[key value]` are taken for independent registers if the first operation has one.

use std::collections::HashMap;

use assay_model::{Nanos, Outcome};

use super::builder::{Builder, Clock};
use super::error::{ForeignError, ForeignProblem, ForeignWarningKind};
use super::form::{Form, Forms, expected};
use super::{ForeignEvent, ForeignHistory, ForeignTimes};
use crate::transaction::TransactionStep;

/// What a line says of its operation.
#[derive(Clone, Copy, PartialEq, Eq)]
enum EventType {
    Invoke,
    Ok,
    Fail,
    Info,
}

/// What an operation is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Action {
    Transaction,
    Read,
    Write,
    CompareAndSet,
    Add,
    Transfer,
}

/// A process that has invoked something, or has once.
struct Process {
    session: u32,
    /// Its transaction in flight.
    in_flight: Option<Invocation>,
    /// Whether an unknown outcome has ended its session.
    retired: bool,
}

struct Invocation {
    line: u64,
    transaction: usize,
    action: Action,
}

#[derive(Default)]
struct Reader {
    builder: Builder,
    processes: HashMap<i64, Process>,
    /// Whether values of single operations are pairs of a key and a value, once that is known.
    independent: Option<bool>,
    clock: Clock,
    timed: bool,
    last_index: Option<i64>,
    lines: u64,
}

pub(super) fn read(mut forms: Forms<'_>) -> Result<ForeignHistory, ForeignError> {
    let mut reader = Reader::default();
    forms.for_each(|position, form| {
        let line = position.line;
        reader.event(line, &form).map_err(|problem| ForeignError { position, problem })
    })?;
    if let Some((count, line)) = forms.unknown_tags() {
        reader.builder.warn(ForeignWarningKind::UnknownTag, line, count);
    }
    Ok(reader.finish())
}

impl Reader {
    fn event(&mut self, line: u64, event: &Form) -> Result<(), ForeignProblem> {
        if !matches!(event, Form::Map(_)) {
            return Err(expected("an operation, as a map,", event));
        }
        let kind = event_type(event)?;
        let index = self.index(event)?;
        let at = self.time(line, event)?;
        let process = event.member("process").ok_or(ForeignProblem::Missing("a process"))?;
        match process {
            Form::Integer(process) if kind == EventType::Invoke => {
                self.invoke(line, *process, (index, at), event)
            }
            Form::Integer(process) => self.complete(line, *process, (kind, at), event),
            Form::Text(_) | Form::Word(_) if kind != EventType::Info => {
                Err(ForeignProblem::NamedClient(process.shown()))
            }
            Form::Text(_) | Form::Word(_) => {
                self.builder.events.push(ForeignEvent {
                    at,
                    process: process.name().unwrap_or_default().to_owned(),
                    action: event.member("f").and_then(Form::name).unwrap_or_default().to_owned(),
                    value: event.member("value").unwrap_or(&Form::Nil).shown(),
                });
                Ok(())
            }
            other => Err(expected("a process, a 64-bit integer or a name,", other)),
        }
    }

    /// The number of this line, which must be greater than those above.
    fn index(&mut self, event: &Form) -> Result<u64, ForeignProblem> {
        let line_number = self.lines;
        self.lines += 1;
        let index = match event.member("index") {
            None | Some(Form::Nil) => return Ok(line_number),
            Some(form) => form.integer().ok_or_else(|| expected("an index", form))?,
        };
        if let Some(previous) = self.last_index
            && index <= previous
        {
            return Err(ForeignProblem::IndexNotGrowing { index, previous });
        }
        self.last_index = Some(index);
        Ok(u64::try_from(index).unwrap_or(line_number))
    }

    fn time(&mut self, line: u64, event: &Form) -> Result<Nanos, ForeignProblem> {
        let stated = match event.member("time") {
            None | Some(Form::Nil) => {
                self.builder.warn(ForeignWarningKind::NoTime, line, 1);
                None
            }
            Some(form) => {
                Some(form.integer().ok_or_else(|| expected("a time in nanoseconds", form))?)
            }
        };
        self.timed |= stated.is_some();
        if self.clock.goes_back(stated) {
            self.builder.warn(ForeignWarningKind::TimeBackwards, line, 1);
        }
        Ok(self.clock.next(stated))
    }

    fn invoke(
        &mut self,
        line: u64,
        name: i64,
        (index, at): (u64, Nanos),
        event: &Form,
    ) -> Result<(), ForeignProblem> {
        let action = action(event)?;
        let mut steps = self.invoked(action, event)?;
        if action != Action::CompareAndSet {
            steps.iter_mut().for_each(forget_answer);
        }
        let known = self.processes.get(&name);
        if let Some(invocation) = known.and_then(|process| process.in_flight.as_ref()) {
            return Err(ForeignProblem::InFlight { process: name, line: invocation.line });
        }
        let session = match known {
            Some(process) if !process.retired => process.session,
            Some(_) => {
                self.builder.warn(ForeignWarningKind::ProcessWentOn, line, 1);
                self.builder.session(name)?
            }
            None => self.builder.session(name)?,
        };
        let transaction = self.builder.transactions.len();
        let in_flight = Some(Invocation { line, transaction, action });
        self.processes.insert(name, Process { session, in_flight, retired: false });
        let transaction = self.builder.begin(session, Outcome::Unknown, steps);
        (transaction.index, transaction.started) = (index, at);
        Ok(())
    }

    fn complete(
        &mut self,
        line: u64,
        name: i64,
        (kind, at): (EventType, Nanos),
        event: &Form,
    ) -> Result<(), ForeignProblem> {
        let process = self.processes.get_mut(&name);
        let Some((process, invocation)) =
            process.and_then(|process| process.in_flight.take().map(|taken| (process, taken)))
        else {
            return Err(ForeignProblem::NotInvoked { process: name });
        };
        if event.member("f").is_some() && action(event)? != invocation.action {
            return Err(ForeignProblem::OtherOperation { process: name, line: invocation.line });
        }
        process.retired = kind == EventType::Info;
        if kind == EventType::Ok {
            self.answer(line, &invocation, event)?;
        }
        let transaction = &mut self.builder.transactions[invocation.transaction];
        transaction.ended = at;
        transaction.outcome = match kind {
            EventType::Ok => Outcome::Done,
            EventType::Fail => Outcome::Refused,
            EventType::Invoke | EventType::Info => Outcome::Unknown,
        };
        if kind == EventType::Fail {
            transaction.steps.iter_mut().for_each(forget_answer);
        }
        Ok(())
    }

    /// Puts what an operation that happened has answered into its transaction.
    fn answer(
        &mut self,
        line: u64,
        invocation: &Invocation,
        event: &Form,
    ) -> Result<(), ForeignProblem> {
        let answer = event.member("value");
        let says_nothing = match invocation.action {
            Action::Transaction => matches!(answer, None | Some(Form::Nil)),
            Action::Read => answer.is_none(),
            // What they did is known from the invocation; some clients answer with nothing.
            Action::Write | Action::CompareAndSet | Action::Add | Action::Transfer => return Ok(()),
        };
        if says_nothing {
            self.builder.warn(ForeignWarningKind::NoAnswer, line, 1);
            return Ok(());
        }
        if invocation.action == Action::Read && self.aggregate_answer(invocation, event)? {
            return Ok(());
        }
        let steps = self.steps(invocation.action, event)?;
        let invoked = &mut self.builder.transactions[invocation.transaction].steps;
        if !same_writes(invoked, &steps) {
            self.builder.warn(ForeignWarningKind::OtherWrites, line, 1);
        }
        self.builder.transactions[invocation.transaction].steps = steps;
        Ok(())
    }

    /// The steps of an operation, with nil for an empty answer.
    fn steps(
        &mut self,
        action: Action,
        event: &Form,
    ) -> Result<Vec<TransactionStep>, ForeignProblem> {
        let value = event.member("value").unwrap_or(&Form::Nil);
        if action == Action::Transaction || is_transaction(value) {
            let steps = match value {
                Form::Nil => return Ok(Vec::new()),
                Form::Sequence(steps) => steps,
                other => return Err(expected("a transaction, [[f key value] …],", other)),
            };
            return steps.iter().map(|step| self.step(step)).collect();
        }
        let register = register();
        let (key, value) = self.key_and_value(action, event, &register)?;
        match action {
            Action::Transaction | Action::Add | Action::Transfer => Ok(Vec::new()),
            Action::Read => Ok(vec![self.builder.read(key, Some(value))]),
            Action::Write => Ok(vec![self.builder.write(key, value)?]),
            Action::CompareAndSet => {
                let [old, new] = value.sequence().unwrap_or_default() else {
                    return Err(expected("a pair of an old and a new value", value));
                };
                let read = self.builder.register_read(key, Some(old))?;
                Ok(vec![read, self.builder.write(key, new)?])
            }
        }
    }

    /// The steps of an invocation; what it does to an aggregate is told to the builder.
    fn invoked(
        &mut self,
        action: Action,
        event: &Form,
    ) -> Result<Vec<TransactionStep>, ForeignProblem> {
        if !matches!(action, Action::Add | Action::Transfer) {
            return self.steps(action, event);
        }
        let position = self.builder.transactions.len();
        let register = register();
        let (key, value) = self.key_and_value(action, event, &register)?;
        if action == Action::Add {
            self.builder.add(position, key, value)?;
        } else {
            self.builder.transfer(position, key, value)?;
        }
        Ok(Vec::new())
    }

    /// Whether a read's answer is that of a set, a counter or accounts.
    fn aggregate_answer(
        &mut self,
        invocation: &Invocation,
        event: &Form,
    ) -> Result<bool, ForeignProblem> {
        if event.member("value").is_some_and(is_transaction) {
            return Ok(false);
        }
        let register = register();
        let (key, value) = self.key_and_value(Action::Read, event, &register)?;
        self.builder.aggregate_answer(invocation.transaction, key, value)
    }

    /// The key and the value of a single operation.
    fn key_and_value<'a>(
        &mut self,
        action: Action,
        event: &'a Form,
        register: &'a Form,
    ) -> Result<(&'a Form, &'a Form), ForeignProblem> {
        let value = event.member("value").unwrap_or(&Form::Nil);
        if let Some(key) = event.member("key") {
            return Ok((key, value));
        }
        let pair = match value.sequence() {
            Some([key, inner]) => Some((key, inner)),
            _ => None,
        };
        let independent = *self.independent.get_or_insert_with(|| {
            pair.is_some_and(|(_, inner)| {
                action != Action::CompareAndSet || inner.sequence().is_some()
            })
        });
        match pair {
            _ if !independent => Ok((register, value)),
            Some(pair) => Ok(pair),
            None => Err(expected("a pair of a key and a value, as in lines above,", value)),
        }
    }

    /// One step of a transaction.
    fn step(&mut self, step: &Form) -> Result<TransactionStep, ForeignProblem> {
        let Some([action, key, value]) = step.sequence() else {
            return Err(expected("a step [f key value]", step));
        };
        match action.name().unwrap_or_default() {
            "append" => self.builder.append(key, value),
            "w" | "write" => self.builder.write(key, value),
            "r" | "read" => self.builder.list_read(key, value),
            _ => Err(ForeignProblem::UnknownOperation(action.shown())),
        }
    }

    fn finish(mut self) -> ForeignHistory {
        let unfinished: Vec<u64> = self
            .processes
            .values()
            .filter_map(|process| process.in_flight.as_ref())
            .map(|invocation| invocation.line)
            .collect();
        if let Some(first) = unfinished.iter().min() {
            let count = unfinished.len() as u64;
            self.builder.warn(ForeignWarningKind::Unfinished, *first, count);
        }
        let times = if self.timed { ForeignTimes::Nanoseconds } else { ForeignTimes::LineOrder };
        self.builder.finish(times)
    }
}

fn event_type(event: &Form) -> Result<EventType, ForeignProblem> {
    let form = event.member("type").ok_or(ForeignProblem::Missing("a type"))?;
    match form.name() {
        Some("invoke") => Ok(EventType::Invoke),
        Some("ok") => Ok(EventType::Ok),
        Some("fail") => Ok(EventType::Fail),
        Some("info") => Ok(EventType::Info),
        _ => Err(ForeignProblem::UnknownType(form.shown())),
    }
}

/// What an operation is; Elle's own examples leave it out where it is a transaction.
fn action(event: &Form) -> Result<Action, ForeignProblem> {
    let Some(form) = event.member("f") else { return Ok(Action::Transaction) };
    match form.name() {
        Some("txn") => Ok(Action::Transaction),
        Some("read" | "r" | "get") => Ok(Action::Read),
        Some("write" | "w" | "put") => Ok(Action::Write),
        Some("cas") => Ok(Action::CompareAndSet),
        Some("add") => Ok(Action::Add),
        Some("transfer") => Ok(Action::Transfer),
        _ => Err(ForeignProblem::UnknownOperation(form.shown())),
    }
}

/// What a single operation touches that names no key.
fn register() -> Form {
    Form::Word("register".into())
}

/// Whether a value is a transaction, as some workloads have it whose operations are called read
/// and write.
fn is_transaction(value: &Form) -> bool {
    let is_step = |step: &Form| {
        let Some([action, _, _]) = step.sequence() else { return false };
        matches!(action.name(), Some("r" | "w" | "read" | "write" | "append"))
    };
    value.sequence().is_some_and(|steps| !steps.is_empty() && steps.iter().all(is_step))
}

/// An invocation has no answers yet, and a refused operation has none.
fn forget_answer(step: &mut TransactionStep) {
    match step {
        TransactionStep::Read { value, .. } => *value = None,
        TransactionStep::ReadList { elements, .. } => *elements = None,
        TransactionStep::Write { .. } | TransactionStep::Append { .. } => {}
    }
}

/// Whether two transactions write and append the same.
fn same_writes(one: &[TransactionStep], other: &[TransactionStep]) -> bool {
    let writes = |step: &&TransactionStep| {
        matches!(step, TransactionStep::Write { .. } | TransactionStep::Append { .. })
    };
    one.iter().filter(writes).eq(other.iter().filter(writes))
}

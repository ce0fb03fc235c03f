//! One phase of a script: which process does what.

use std::sync::Arc;

use assay_model::script::{ProcessBuilder, QueryRef};
use assay_model::{
    Argument, Arguments, Datum, Decimal, Filled, Kind, Named, Nanos, Operation, QueryRole, Source,
    SourceError,
};

/// What a workload compiles to.
pub(super) struct Compiled {
    pub(super) schema: Vec<Named>,
    pub(super) queries: Vec<Named>,
    pub(super) roles: Vec<QueryRole>,
    pub(super) frequencies: Vec<f64>,
    pub(super) relation_rows: Vec<(&'static str, u64)>,
    /// The names of a run's transaction types from number 1 on.
    pub(super) transaction_types: &'static [&'static str],
    pub(super) rows: u64,
    pub(super) program: Arc<dyn Program>,
    /// Whether the relations are how the rows are to lie in any store.
    pub(super) keeps_relations: bool,
    /// Processes per second, if the workload says how many.
    pub(super) rate: Option<f64>,
    /// How much of the schedule is a warm-up.
    pub(super) warm_up: Nanos,
}

/// The processes of one phase, each a function of its number.
pub(super) trait Program: Send + Sync {
    /// How many processes there are, or `None` if the stream does not end.
    fn len(&self) -> Option<u64>;

    /// The most operations that one process has.
    fn width(&self) -> u64 {
        1
    }

    /// Adds the transactions of `process`, which exists.
    fn process(&self, process: u64, into: &mut ProcessBuilder<'_>);

    /// When `process` is to begin, for programs that bring their own schedule.
    fn intended(&self, _process: u64) -> Option<Nanos> {
        None
    }
}

/// One transaction of one query for each key.
pub(super) struct OneQueryPerKey {
    pub(super) keys: u64,
    pub(super) transaction_type: u16,
    pub(super) query: QueryRef,
    /// What the query takes behind the key.
    pub(super) content: Option<Argument<'static>>,
}

impl Program for OneQueryPerKey {
    fn len(&self) -> Option<u64> {
        Some(self.keys)
    }

    fn process(&self, process: u64, into: &mut ProcessBuilder<'_>) {
        let arguments = [int(process), self.content.unwrap_or(int(0))];
        let given = &arguments[..1 + usize::from(self.content.is_some())];
        into.transaction(self.transaction_type, Nanos::ZERO)
            .issue(self.query, process, given)
            .commit();
    }
}

/// Which of several parts in a row, each as long as it says, `number` is in, and its place there.
#[inline]
pub(super) fn locate(number: u64, lengths: impl IntoIterator<Item = u64>) -> (usize, u64) {
    let mut place = number;
    for (part, length) in lengths.into_iter().enumerate() {
        match place.checked_sub(length) {
            Some(rest) => place = rest,
            None => return (part, place),
        }
    }
    unreachable!("{number} is beyond the last part")
}

/// How often each query is issued by a transaction: `times` of each type, drawn by their weights.
pub(super) fn frequencies<'a, const N: usize>(
    weights: &[f64; N],
    times: impl IntoIterator<Item = &'a [f64; N]>,
) -> Vec<f64> {
    let sum: f64 = weights.iter().sum();
    let frequency = |times: &[f64; N]| {
        weights.iter().zip(times).map(|(weight, times)| weight / sum * times).sum()
    };
    times.into_iter().map(frequency).collect()
}

/// A program as a source: one worker's own.
pub(super) struct ProgramSource {
    program: Arc<dyn Program>,
    arguments: Arguments,
}

impl ProgramSource {
    pub(super) fn new(program: Arc<dyn Program>) -> ProgramSource {
        ProgramSource { program, arguments: Arguments::default() }
    }
}

impl Source for ProgramSource {
    fn len(&self) -> Option<u64> {
        self.program.len()
    }

    fn width(&self) -> u64 {
        self.program.width()
    }

    fn fill(&mut self, process: u64, into: &mut Vec<Operation>) -> Result<Filled, SourceError> {
        let width = self.program.width();
        let mut builder = ProcessBuilder::begin(process, width, into, &mut self.arguments);
        if self.program.len().is_some_and(|len| process >= len) {
            return Ok(Filled::End);
        }
        self.program.process(process, &mut builder);
        builder.end();
        Ok(Filled::Process)
    }

    fn arguments(&mut self, into: &mut Arguments) {
        into.clone_from(&self.arguments);
    }
}

/// One query of a workload as its author writes it down.
#[derive(Clone, Copy, Debug)]
pub(super) struct QueryText {
    pub(super) name: &'static str,
    /// What `sql` finds it to be.
    pub(super) kind: Kind,
    pub(super) text: &'static str,
}

impl QueryText {
    pub(super) const fn new(name: &'static str, kind: Kind, text: &'static str) -> QueryText {
        QueryText { name, kind, text }
    }
}

/// How a process names the query at `place` of `queries`.
pub(super) fn issue(queries: &[QueryText], place: usize) -> QueryRef {
    QueryRef { statement: place as u16 + 1, kind: queries[place].kind }
}

/// Names with texts, as a plan shows them.
pub(super) fn named<'a>(texts: impl IntoIterator<Item = (&'a str, &'a str)>) -> Vec<Named> {
    let named = |(name, text): (&str, &str)| Named { name: name.to_owned(), text: text.to_owned() };
    texts.into_iter().map(named).collect()
}

/// What a schema creates, named as its third word says.
pub(super) fn declared<'a>(texts: impl IntoIterator<Item = &'a str>) -> Vec<Named> {
    named(texts.into_iter().map(|text| (text.split(' ').nth(2).unwrap_or_default(), text)))
}

/// The queries, as a plan shows them.
pub(super) fn queries(queries: &[QueryText]) -> Vec<Named> {
    named(queries.iter().map(|query| (query.name, query.text)))
}

/// A whole number as an argument.
pub(super) fn int(number: u64) -> Argument<'static> {
    Argument::Given(Datum::Int(number as i64))
}

/// A text as an argument.
pub(super) fn text(text: &str) -> Argument<'_> {
    Argument::Given(Datum::Text(text))
}

/// `mantissa` × 10^-`scale` as an argument.
pub(super) fn decimal(mantissa: i64, scale: u8) -> Argument<'static> {
    Argument::Given(Datum::Decimal(Decimal { mantissa, scale }))
}

/// An amount of money with two digits after the point as an argument.
pub(super) fn cents(cents: i64) -> Argument<'static> {
    decimal(cents, 2)
}

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
    /// The names of the transaction types from number 1 on.
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
    fn width(&self) -> u64;

    /// Adds the transactions of `process`, which exists.
    fn process(&self, process: u64, into: &mut ProcessBuilder<'_>);

    /// When `process` is to begin, for programs that bring their own schedule.
    fn intended(&self, _process: u64) -> Option<Nanos> {
        None
    }
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
    /// What `mapping` finds it to be.
    pub(super) kind: Kind,
    pub(super) text: &'static str,
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

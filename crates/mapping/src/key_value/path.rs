//! The cheapest path through stored tables to the rows of a query.
//!
//! A path is a sequence of accesses: each takes the rows found so far, queries one table for each
//! of them, by a whole key or by a range of keys, and adds what it finds. So a join may be one
//! range of a precomputed table, a range with a get for each row, or a get; a filter that is no key
//! is a range of a lookup table, then gets.

use assay_model::Schema;
use assay_model::query::{ColumnRef, Comparison, Direction, Filter, Term};

use super::estimate::Estimate;
use crate::physical::view::{Attribute, View};
use crate::physical::{Class, Role};

/// What a get or a write costs: the unit.
pub(crate) const REQUEST: f64 = 1.0;
/// What each row of a range costs besides.
const ROW: f64 = 0.02;
/// What a range costs more than a get that finds as much.
const RANGE: f64 = 1.1;
/// The extra cost of a secondary index over the key in a column store: every node is queried.
const INDEX: f64 = 2.0;
/// Rows that the first request of a range reads; each further one reads four times as many.
pub(crate) const FIRST_BATCH: u32 = 16;
/// The most rows of one request.
pub(crate) const LARGEST_BATCH: u32 = 1024;
/// How many rows a limit lets through if it is an argument.
const UNKNOWN_LIMIT: f64 = 10.0;

/// What the stored tables are, and what is known about them.
#[derive(Clone, Copy)]
pub(crate) struct Stock<'a> {
    pub(crate) schema: &'a Schema,
    pub(crate) stored: &'a [View],
    pub(crate) estimate: &'a Estimate,
    pub(crate) class: Class,
}

/// Rows of some relations that belong together.
pub(crate) struct RowQuery<'a> {
    /// The relation at each place.
    pub(crate) places: Vec<u16>,
    /// Whether place 0 is known before the first access.
    pub(crate) is_given: bool,
    pub(crate) joins: Vec<(ColumnRef, ColumnRef)>,
    pub(crate) filters: &'a [Filter],
    /// The columns whose values are wanted.
    pub(crate) needed: Vec<ColumnRef>,
    pub(crate) order: &'a [(ColumnRef, Direction)],
    pub(crate) limit: Option<&'a Term>,
}

/// Where a value of a key comes from.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Operand {
    Term(Term),
    Column(ColumnRef),
}

/// One end of a range: a value with whether it belongs to the range.
pub(crate) type End = Option<(Operand, bool)>;

/// One access of a way.
#[derive(Clone, Debug)]
pub(crate) struct Access {
    /// Place of the table among the stored ones.
    pub(crate) view: usize,
    /// The place of each of its relations.
    pub(crate) places: Vec<u16>,
    /// The values of the first columns of the key.
    pub(crate) bound: Vec<Operand>,
    /// The range of the next column of the key, in the order of its values.
    pub(crate) lower: End,
    pub(crate) upper: End,
    /// Whether the whole key is bound.
    pub(crate) is_get: bool,
    /// For how many rows it is executed.
    pub(crate) inputs: f64,
    /// How many rows each execution finds.
    pub(crate) fetched: f64,
    /// The requests that each execution takes.
    pub(crate) requests: f64,
}

/// A way, with what it costs.
#[derive(Clone, Debug)]
pub(crate) struct Path {
    pub(crate) accesses: Vec<Access>,
    /// Whether the rows come in the order requested.
    pub(crate) is_ordered: bool,
    /// Whether the first access may stop when there are as many rows as the limit says.
    pub(crate) stops_early: bool,
    /// How many rows there are in the end.
    pub(crate) rows: f64,
    pub(crate) cost: f64,
}

struct Search<'a> {
    stock: Stock<'a>,
    question: &'a RowQuery<'a>,
    /// The first slot of each place.
    offsets: Vec<usize>,
    /// For each slot the least slot that joins make equal to it.
    classes: Vec<usize>,
    best: Option<Path>,
}

#[derive(Clone)]
struct State {
    known: Vec<bool>,
    covered: Vec<bool>,
    accesses: Vec<Access>,
    rows: f64,
    cost: f64,
}

/// The cheapest path, if the tables hold the columns of the query.
pub(crate) fn cheapest(stock: Stock<'_>, question: &RowQuery<'_>) -> Option<Path> {
    let mut offsets = Vec::new();
    let mut slots = 0;
    for &relation in &question.places {
        offsets.push(slots);
        slots += stock.schema.relation(relation).columns.len();
    }
    let mut classes: Vec<usize> = (0..slots).collect();
    let slot = |of: ColumnRef| offsets[usize::from(of.relation)] + usize::from(of.column);
    for &(one, other) in &question.joins {
        let (one, other) = (classes[slot(one)], classes[slot(other)]);
        let (least, most) = (one.min(other), one.max(other));
        classes.iter_mut().filter(|class| **class == most).for_each(|class| *class = least);
    }
    let mut state = State {
        known: vec![false; slots],
        covered: vec![false; question.places.len()],
        accesses: Vec::new(),
        rows: 1.0,
        cost: 0.0,
    };
    if question.is_given {
        state.covered[0] = true;
        let width = offsets.get(1).copied().unwrap_or(slots);
        state.known[..width].fill(true);
    }
    let mut search = Search { stock, question, offsets, classes, best: None };
    search.explore(state);
    search.best
}

impl Search<'_> {
    fn slot(&self, of: ColumnRef) -> usize {
        self.offsets[usize::from(of.relation)] + usize::from(of.column)
    }

    fn is_known(&self, state: &State, of: ColumnRef) -> bool {
        state.known[self.slot(of)]
    }

    fn explore(&mut self, state: State) {
        if self.best.as_ref().is_some_and(|best| best.cost <= state.cost) {
            return;
        }
        let is_whole = state.covered.iter().all(|covered| *covered);
        if is_whole && self.question.needed.iter().all(|of| self.is_known(&state, *of)) {
            return self.finish(state);
        }
        let mut next = Vec::new();
        for number in 0..self.stock.stored.len() {
            for places in self.mappings(number, &state) {
                next.extend(self.step(&state, number, &places));
            }
        }
        // A cheap way found early cuts off the others.
        next.sort_by(|one, other| one.cost.total_cmp(&other.cost));
        next.into_iter().for_each(|state| self.explore(state));
    }

    /// The ways in which the table's relations can stand for places of the question.
    fn mappings(&self, number: usize, state: &State) -> Vec<Vec<u16>> {
        let view = &self.stock.stored[number];
        let at = |relation: u16| {
            let places = self.question.places.iter().zip(0_u16..);
            places.filter(move |(one, _)| **one == relation).map(|(_, place)| place)
        };
        if let [relation] = view.relations[..] {
            return at(relation).map(|place| vec![place]).collect();
        }
        if self.question.is_given {
            return Vec::new();
        }
        let mut mapping = Vec::new();
        for &relation in &view.relations {
            let mut places = at(relation);
            let (Some(place), None) = (places.next(), places.next()) else { return Vec::new() };
            if state.covered[usize::from(place)] {
                return Vec::new();
            }
            mapping.push(place);
        }
        let reference = |of: Attribute| self.reference(view, &mapping, of);
        let is_requested = view.joins.iter().all(|&(one, other)| {
            self.classes[self.slot(reference(one))] == self.classes[self.slot(reference(other))]
        });
        if is_requested { vec![mapping] } else { Vec::new() }
    }

    fn reference(&self, view: &View, places: &[u16], of: Attribute) -> ColumnRef {
        let number = view.relations.iter().position(|relation| *relation == of.relation);
        let number = number.expect("a table's columns are of its relations");
        ColumnRef { relation: places[number], column: of.column }
    }

    /// Goes on with one access, if that is of any use.
    fn step(&self, state: &State, number: usize, places: &[u16]) -> Option<State> {
        let view = &self.stock.stored[number];
        let reference = |of: Attribute| self.reference(view, places, of);
        let is_covered = places.iter().all(|place| state.covered[usize::from(*place)]);
        let gives = |of: &ColumnRef| {
            !self.is_known(state, *of) && view.fields().any(|field| reference(field) == *of)
        };
        if is_covered && !self.question.needed.iter().any(gives) {
            return None;
        }
        let mut access = self.access(state, number, places);
        if is_covered && !access.is_get {
            return None;
        }
        let mut next = state.clone();
        for field in view.fields() {
            let slot = self.slot(reference(field));
            next.known[slot] = true;
        }
        places.iter().for_each(|place| next.covered[usize::from(*place)] = true);
        access.inputs = state.rows;
        next.cost += state.rows * self.cost(view, &access);
        let shares: f64 = self.residual(state, &next, view, places, &access);
        let floor = if state.rows < 1.0 { state.rows } else { 1.0 };
        next.rows = (state.rows * access.fetched * shares).max(floor.min(1.0));
        next.accesses.push(access);
        Some(next)
    }

    /// How `view` can be accessed, given the known columns.
    fn access(&self, state: &State, number: usize, places: &[u16]) -> Access {
        let view = &self.stock.stored[number];
        let (mut bound, mut attributes) = (Vec::new(), Vec::new());
        let (mut lower, mut upper) = (None, None);
        for &(attribute, _) in &view.key {
            let reference = self.reference(view, places, attribute);
            let Some(operand) = self.operand(state, reference) else {
                (lower, upper) = (self.end(reference, false), self.end(reference, true));
                break;
            };
            bound.push(operand);
            attributes.push(attribute);
        }
        let is_get = bound.len() == view.key.len();
        let mut fetched = match is_get {
            true => 1.0,
            false => self.stock.estimate.rows_bound(self.stock.schema, view, &attributes),
        };
        if let Some((attribute, _)) = view.key.get(bound.len()) {
            let ends = usize::from(lower.is_some()) + usize::from(upper.is_some());
            let share = self.stock.estimate.share_of_range(*attribute, ends);
            fetched = (fetched * share).max(1.0);
        }
        let places = places.to_vec();
        let requests = if is_get { 1.0 } else { batches(fetched) };
        Access { view: number, places, bound, lower, upper, is_get, inputs: 1.0, fetched, requests }
    }

    /// What a column must be equal to: an argument, or what an earlier access has found.
    fn operand(&self, state: &State, of: ColumnRef) -> Option<Operand> {
        let class = self.classes[self.slot(of)];
        let is_same = |other: ColumnRef| self.classes[self.slot(other)] == class;
        let given = self
            .question
            .filters
            .iter()
            .find(|filter| filter.comparison == Comparison::Equal && is_same(filter.column));
        if let Some(filter) = given {
            return Some(Operand::Term(filter.term.clone()));
        }
        // Its own value, which an entry has given, before that of its equals.
        if self.is_known(state, of) {
            return Some(Operand::Column(of));
        }
        let sides = self.question.joins.iter().flat_map(|&(one, other)| [one, other]);
        let mut known = sides.filter(|side| is_same(*side) && self.is_known(state, *side));
        known.next().map(Operand::Column)
    }

    fn end(&self, of: ColumnRef, is_upper: bool) -> End {
        let class = self.classes[self.slot(of)];
        self.question.filters.iter().find_map(|filter| {
            if self.classes[self.slot(filter.column)] != class {
                return None;
            }
            let is_included = match (filter.comparison, is_upper) {
                (Comparison::Less, true) | (Comparison::Greater, false) => false,
                (Comparison::LessOrEqual, true) | (Comparison::GreaterOrEqual, false) => true,
                _ => return None,
            };
            Some((Operand::Term(filter.term.clone()), is_included))
        })
    }

    fn cost(&self, view: &View, access: &Access) -> f64 {
        if access.is_get {
            return REQUEST;
        }
        let is_index = self.stock.class == Class::Column && view.role == Role::Entries;
        let each = if is_index { INDEX } else { RANGE };
        each * access.requests * REQUEST + ROW * access.fetched
    }

    /// The share of the fetched rows that is left by filters and joins beyond the key.
    fn residual(
        &self,
        before: &State,
        after: &State,
        view: &View,
        places: &[u16],
        access: &Access,
    ) -> f64 {
        let attribute = |of: ColumnRef| Attribute {
            relation: self.question.places[usize::from(of.relation)],
            column: of.column,
        };
        let key = view.key.iter().take(access.bound.len());
        let bound: Vec<usize> = key
            .map(|(one, _)| self.classes[self.slot(self.reference(view, places, *one))])
            .collect();
        let ranged = view
            .key
            .get(access.bound.len())
            .map(|(one, _)| self.classes[self.slot(self.reference(view, places, *one))]);
        let mut share = 1.0;
        for filter in self.question.filters {
            let class = self.classes[self.slot(filter.column)];
            let is_new =
                self.is_known(after, filter.column) && !self.is_known(before, filter.column);
            let is_range = filter.comparison != Comparison::Equal && ranged == Some(class);
            if is_new && !bound.contains(&class) && !is_range {
                share *= self.stock.estimate.share(attribute(filter.column), filter.comparison);
            }
        }
        share
    }

    fn finish(&mut self, mut state: State) {
        let (is_ordered, stops_early) = match state.accesses.is_empty() {
            true => (true, false),
            false => (self.is_ordered(&state), self.stops_early(&state)),
        };
        if let (true, Some(limit)) = (stops_early && is_ordered, self.question.limit) {
            let most = limit_rows(limit);
            state.cost = 0.0;
            let mut rows = 1.0;
            for access in &mut state.accesses {
                let view = &self.stock.stored[access.view];
                access.inputs = rows;
                access.fetched = access.fetched.min(most);
                access.requests =
                    if access.is_get { 1.0 } else { batches_of_limit(access.fetched) };
                state.cost += rows * self.cost(view, access);
                rows *= access.fetched;
            }
            state.rows = state.rows.min(most);
        }
        if self.best.as_ref().is_some_and(|best| best.cost <= state.cost) {
            return;
        }
        self.best = Some(Path {
            accesses: state.accesses,
            is_ordered,
            stops_early: stops_early && is_ordered,
            rows: state.rows,
            cost: state.cost,
        });
    }

    /// Whether the first access gives the rows in order; the later ones keep it.
    fn is_ordered(&self, state: &State) -> bool {
        let first = &state.accesses[0];
        let view = &self.stock.stored[first.view];
        let class = |of| self.classes[self.slot(of)];
        let key: Vec<(usize, Direction)> = view
            .key
            .iter()
            .map(|&(one, direction)| (class(self.reference(view, &first.places, one)), direction))
            .collect();
        let is_constant = |class: usize| {
            let is_same = |filter: &Filter| self.classes[self.slot(filter.column)] == class;
            let mut filters = self.question.filters.iter();
            filters.any(|filter| filter.comparison == Comparison::Equal && is_same(filter))
        };
        let mut at = first.bound.len();
        self.question.order.iter().all(|&(of, direction)| {
            let expected = class(of);
            if is_constant(expected) || key[..at.min(key.len())].iter().any(|one| one.0 == expected)
            {
                return true;
            }
            // Rows that agree in the whole key of the first access are in no order of their own.
            let is_next = key.get(at) == Some(&(expected, direction));
            at += 1;
            is_next
        })
    }

    /// Whether every row that the first access takes is a row of the answer.
    fn stops_early(&self, state: &State) -> bool {
        let first = &state.accesses[0];
        let covers_all = first.places.len() == self.question.places.len();
        let view = &self.stock.stored[first.view];
        let reference = |of: Attribute| self.reference(view, &first.places, of);
        let is_observed = |of: ColumnRef| view.fields().any(|field| reference(field) == of);
        let is_joined = |&(one, other): &(ColumnRef, ColumnRef)| {
            let is_kept = |&(left, right): &(Attribute, Attribute)| {
                let pair = (reference(left), reference(right));
                pair == (one, other) || pair == (other, one)
            };
            is_observed(one) && is_observed(other) || view.joins.iter().any(is_kept)
        };
        covers_all
            && self.question.filters.iter().all(|filter| is_observed(filter.column))
            && self.question.joins.iter().all(is_joined)
    }
}

fn limit_rows(limit: &Term) -> f64 {
    let Term::Literal(bytes) = limit else { return UNKNOWN_LIMIT };
    match assay_model::Datum::decode(bytes) {
        Some((assay_model::Datum::Int(rows), _)) => (rows as f64).max(1.0),
        _ => UNKNOWN_LIMIT,
    }
}

/// The requests of a range of `rows` rows; the last of them must find the end.
pub(crate) fn batches(rows: f64) -> f64 {
    let (mut left, mut size, mut count) = (rows + 1.0, f64::from(FIRST_BATCH), 1.0);
    while left > size {
        left -= size;
        size = (size * 4.0).min(f64::from(LARGEST_BATCH));
        count += 1.0;
        if size >= f64::from(LARGEST_BATCH) {
            return count + (left / size).ceil() - 1.0;
        }
    }
    count
}

fn batches_of_limit(rows: f64) -> f64 {
    (rows / f64::from(LARGEST_BATCH)).ceil().max(1.0)
}

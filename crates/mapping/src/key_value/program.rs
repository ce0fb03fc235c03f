//! Program of each query, in numbers that an executor can follow without looking up names.
//!
//! A row on its way is a line of slots, one for each column of each place of the question.

use assay_model::query::{Change, ColumnRef, Comparison, Direction, Filter, Insert, Select, Term};
use assay_model::{ColumnType, Query, Relation, Statement};

use super::path::{self, Operand, Path, RowQuery, Stock};
use crate::physical::view::{Attribute, View};
use crate::physical::{Class, FitError, Keys, Role};

/// What answers one query.
#[derive(Clone, Debug)]
pub(crate) enum Program {
    Select(Reading, Selected),
    Write(Writing),
}

/// Rows that are found by one access after another.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reading {
    /// Slots of a row.
    pub(crate) width: u16,
    pub(crate) accesses: Vec<Step>,
}

/// One access: see [`path::Access`].
#[derive(Clone, Debug)]
pub(crate) struct Step {
    /// Number of the stored table.
    pub(crate) table: u16,
    pub(crate) bound: Vec<Source>,
    pub(crate) lower: Option<(Source, bool)>,
    pub(crate) upper: Option<(Source, bool)>,
    pub(crate) is_get: bool,
    /// The slot of each field of the table.
    pub(crate) takes: Vec<u16>,
    /// What must hold of the rows found here.
    pub(crate) conditions: Vec<Condition>,
    /// The expected cost of one execution, in requests.
    pub(crate) expected: f64,
}

/// Where a value comes from.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Source {
    Term(Term),
    Slot(u16),
}

#[derive(Clone, Debug)]
pub(crate) struct Condition {
    pub(crate) slot: u16,
    pub(crate) comparison: Comparison,
    pub(crate) right: Source,
}

/// What becomes of the rows of a select.
#[derive(Clone, Debug)]
pub(crate) struct Selected {
    pub(crate) output: Vec<u16>,
    /// How the rows are to be sorted; empty if they come as they should.
    pub(crate) sort: Vec<(u16, Direction)>,
    pub(crate) limit: Option<Term>,
    /// Whether the first access needs no more rows than the limit.
    pub(crate) stops_early: bool,
}

/// A write to one relation, with all of its copies.
#[derive(Clone, Debug)]
pub(crate) struct Writing {
    /// What the columns of the relation hold.
    pub(crate) types: Vec<ColumnType>,
    /// The columns that must hold a value.
    pub(crate) needed: Vec<u16>,
    pub(crate) rows: Rows,
    /// What becomes of columns, for updates.
    pub(crate) changes: Vec<(u16, Change)>,
    pub(crate) copies: Vec<Copy>,
}

/// Which rows are written. A row has the old values in its first half, the new ones in the second.
#[derive(Clone, Debug)]
pub(crate) enum Rows {
    /// A new one; the access, if there is one, must find nothing.
    New { columns: Vec<(u16, Term)>, check: Option<Step> },
    /// The one with this key, be it there or not.
    Keyed(Vec<(u16, Term)>),
    /// Those that are found.
    Found(Reading),
}

/// What is done to one stored table for each row that is written.
#[derive(Clone, Debug)]
pub(crate) struct Copy {
    pub(crate) table: u16,
    /// How the rows of other relations that belong to it are found.
    pub(crate) partners: Reading,
    pub(crate) action: Action,
    /// The slots of the values of its key.
    pub(crate) key: Vec<u16>,
    /// The fields that are written, with the slot of each.
    pub(crate) fields: Vec<(u16, u16)>,
    /// How often it is expected to be done for one operation.
    pub(crate) expected: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    Put,
    Patch,
    Remove,
}

/// A program with what it costs.
pub(crate) struct Costed {
    pub(crate) program: Program,
    pub(crate) cost: f64,
    /// How many rows it is expected to return or to write.
    pub(crate) rows: f64,
}

/// The cheapest program for `query`.
///
/// # Errors
/// If the tables do not hold what it needs.
pub(crate) fn compile(query: &Query, stock: Stock<'_>, keys: Keys) -> Result<Costed, FitError> {
    let found = match &query.statement {
        Statement::Select(select) => compile_select(stock, select),
        Statement::Insert(insert) => compile_insert(stock, insert, keys),
        Statement::Update(update) => compile_change(
            stock,
            (update.relation, &update.filters),
            &update.changes,
            RowDemand::Update,
        ),
        Statement::Delete(delete) => {
            compile_change(stock, (delete.relation, &delete.filters), &[], RowDemand::Delete)
        }
    };
    found.ok_or_else(|| FitError::Query {
        query: query.name.clone(),
        reason: "no table holds a relation that it names; add its base table".into(),
    })
}

/// Where the columns of each place are within a row.
struct Slots(Vec<u16>);

impl Slots {
    /// Places one after another from `start` on; gives the width of a row too.
    fn new(stock: Stock<'_>, places: &[u16], start: u16) -> (Slots, u16) {
        let mut next = start;
        let offsets = places.iter().map(|relation| {
            let offset = next;
            next += stock.schema.relation(*relation).columns.len() as u16;
            offset
        });
        let offsets = offsets.collect();
        (Slots(offsets), next)
    }

    fn of(&self, column: ColumnRef) -> u16 {
        self.0[usize::from(column.relation)] + column.column
    }
}

fn compile_select(stock: Stock<'_>, select: &Select) -> Option<Costed> {
    let mut needed = select.output.clone();
    needed.extend(select.order.iter().map(|(column, _)| *column));
    needed.extend(select.filters.iter().map(|filter| filter.column));
    needed.extend(select.joins.iter().flat_map(|join| [join.left, join.right]));
    let question = RowQuery {
        places: select.from.clone(),
        is_given: false,
        joins: select.joins.iter().map(|join| (join.left, join.right)).collect(),
        filters: &select.filters,
        needed,
        order: &select.order,
        limit: select.limit.as_ref(),
    };
    let path = path::cheapest(stock, &question)?;
    let (slots, width) = Slots::new(stock, &question.places, 0);
    let sort = match path.is_ordered {
        true => Vec::new(),
        false => select.order.iter().map(|&(of, direction)| (slots.of(of), direction)).collect(),
    };
    let selected = Selected {
        output: select.output.iter().map(|of| slots.of(*of)).collect(),
        sort,
        limit: select.limit.clone(),
        stops_early: path.stops_early,
    };
    let reading = reading(stock, &question, &path, (&slots, width));
    Some(Costed { program: Program::Select(reading, selected), cost: path.cost, rows: path.rows })
}

/// The way in numbers.
fn reading(
    stock: Stock<'_>,
    question: &RowQuery<'_>,
    path: &Path,
    (slots, width): (&Slots, u16),
) -> Reading {
    let mut known: Vec<ColumnRef> = Vec::new();
    if question.is_given {
        let columns = 0..stock.schema.relation(question.places[0]).columns.len() as u16;
        known.extend(columns.map(|column| ColumnRef { relation: 0, column }));
    }
    let mut accesses = Vec::new();
    for access in &path.accesses {
        let view = &stock.stored[access.view];
        let fields: Vec<ColumnRef> =
            view.fields().map(|field| reference(view, &access.places, field)).collect();
        let before = known.clone();
        known.extend(&fields);
        let is_new = |columns: &[ColumnRef]| {
            let mut all = columns.iter();
            all.all(|one| known.contains(one)) && !columns.iter().all(|one| before.contains(one))
        };
        let filters = question.filters.iter().filter(|filter| is_new(&[filter.column]));
        let filters = filters.map(|filter| Condition {
            slot: slots.of(filter.column),
            comparison: filter.comparison,
            right: Source::Term(filter.term.clone()),
        });
        let joins = question.joins.iter().filter(|&&(one, other)| is_new(&[one, other]));
        let joins = joins.map(|&(one, other)| Condition {
            slot: slots.of(one),
            comparison: Comparison::Equal,
            right: Source::Slot(slots.of(other)),
        });
        let source = |operand: &Operand| match operand {
            Operand::Term(term) => Source::Term(term.clone()),
            Operand::Column(of) => Source::Slot(slots.of(*of)),
        };
        let end = |end: &path::End| end.as_ref().map(|(operand, with)| (source(operand), *with));
        accesses.push(Step {
            table: access.view as u16,
            bound: access.bound.iter().map(source).collect(),
            lower: end(&access.lower),
            upper: end(&access.upper),
            is_get: access.is_get,
            takes: fields.iter().map(|field| slots.of(*field)).collect(),
            conditions: filters.chain(joins).collect(),
            expected: access.inputs * access.requests,
        });
    }
    Reading { width, accesses }
}

fn reference(view: &View, places: &[u16], of: Attribute) -> ColumnRef {
    let number = view.relations.iter().position(|relation| *relation == of.relation);
    let number = number.expect("a table's columns are of its relations");
    ColumnRef { relation: places[number], column: of.column }
}

/// Which half of a written row something is about.
#[derive(Clone, Copy, PartialEq, Eq)]
enum RowHalf {
    Old,
    New,
}

/// What is done with the rows that are found.
#[derive(Clone, Copy, PartialEq, Eq)]
enum RowDemand {
    Update,
    Delete,
}

fn compile_insert(stock: Stock<'_>, insert: &Insert, keys: Keys) -> Option<Costed> {
    let relation = insert.relation;
    let declared = stock.schema.relation(relation);
    let kept = stock
        .stored
        .iter()
        .position(|view| view.role == Role::BaseTable && view.relations == [relation])?;
    let width = declared.columns.len() as u16;
    let columns: Vec<(u16, Term)> =
        insert.columns.iter().copied().zip(insert.terms.iter().cloned()).collect();
    let check = (keys == Keys::Checked).then(|| Step {
        table: kept as u16,
        bound: stock.stored[kept]
            .key
            .iter()
            .map(|(one, _)| Source::Slot(width + one.column))
            .collect(),
        lower: None,
        upper: None,
        is_get: true,
        takes: stock.stored[kept].fields().map(|one| one.column).collect(),
        conditions: Vec::new(),
        expected: 1.0,
    });
    let mut cost = if check.is_some() { path::REQUEST } else { 0.0 };
    let mut copies = Vec::new();
    for table in tables_of(stock, relation) {
        let (copy, each) = copy(stock, (table, relation), Action::Put, RowHalf::New, &[])?;
        cost += each;
        copies.push(copy);
    }
    let rows = Rows::New { columns, check };
    let program = Program::Write(Writing::new(declared, rows, &[], copies));
    Some(Costed { program, cost, rows: 1.0 })
}

impl Writing {
    fn new(
        declared: &Relation,
        rows: Rows,
        changes: &[(u16, Change)],
        copies: Vec<Copy>,
    ) -> Writing {
        let needed = (0..).zip(&declared.columns).filter(|(_, column)| !column.is_nullable);
        let mut needed: Vec<u16> = needed.map(|(column, _)| column).collect();
        needed.extend(&declared.primary_key);
        let types = declared.columns.iter().map(|column| column.kind).collect();
        Writing { types, needed, rows, changes: changes.to_vec(), copies }
    }
}

/// The tables that hold rows of a relation, its base first: what else holds them follows from it.
fn tables_of(stock: Stock<'_>, relation: u16) -> Vec<usize> {
    let holds = |table: &usize| stock.stored[*table].relations.contains(&relation);
    let mut tables: Vec<usize> = (0..stock.stored.len()).filter(holds).collect();
    tables.sort_by_key(|table| stock.stored[*table].role != Role::BaseTable);
    tables
}

fn compile_change(
    stock: Stock<'_>,
    (relation, filters): (u16, &[Filter]),
    changes: &[(u16, Change)],
    requested: RowDemand,
) -> Option<Costed> {
    let declared = stock.schema.relation(relation);
    let changed: Vec<u16> = changes.iter().map(|(column, _)| *column).collect();
    let mut actions = Vec::new();
    for table in tables_of(stock, relation) {
        let (key, fields) = touched(&stock.stored[table], relation, &changed);
        match requested {
            RowDemand::Delete => actions.push((table, Action::Remove, RowHalf::Old)),
            RowDemand::Update if key => {
                actions.push((table, Action::Remove, RowHalf::Old));
                actions.push((table, Action::Put, RowHalf::New));
            }
            RowDemand::Update if fields => actions.push((table, Action::Patch, RowHalf::Old)),
            RowDemand::Update => {}
        }
    }
    // A removal may be of the very key that is put anew.
    actions.sort_by_key(|(_, action, _)| *action != Action::Remove);
    let mut copies = Vec::new();
    let mut each = 0.0;
    for &(table, action, half) in &actions {
        let (copy, cost) = copy(stock, (table, relation), action, half, &changed)?;
        each += cost;
        copies.push(copy);
    }
    let keyed = keyed(stock, relation, filters, &actions, changes);
    let (rows, found, count) = match keyed {
        Some(terms) => (Rows::Keyed(terms), 0.0, 1.0),
        None => {
            let needed = needed(stock, relation, filters, &actions, changes);
            let question = RowQuery {
                places: vec![relation],
                is_given: false,
                joins: Vec::new(),
                filters,
                needed,
                order: &[],
                limit: None,
            };
            let path = path::cheapest(stock, &question)?;
            let (slots, width) = Slots::new(stock, &[relation], 0);
            let reading = reading(stock, &question, &path, (&slots, 2 * width));
            (Rows::Found(reading), path.cost, path.rows)
        }
    };
    copies.iter_mut().for_each(|copy| copy.scale(count));
    let writing = Writing::new(declared, rows, changes, copies);
    Some(Costed { program: Program::Write(writing), cost: found + count * each, rows: count })
}

/// Whether an update of these columns touches where the table's rows are, whether it touches any.
fn touched(view: &View, relation: u16, changed: &[u16]) -> (bool, bool) {
    let is_changed = |one: &Attribute| one.relation == relation && changed.contains(&one.column);
    let in_joins = view.joins.iter().any(|(one, other)| is_changed(one) || is_changed(other));
    let in_key = view.key.iter().any(|(one, _)| is_changed(one));
    (in_joins || in_key, view.columns.iter().any(is_changed))
}

/// The values of the primary key, if nothing about the row need be known to write it.
fn keyed(
    stock: Stock<'_>,
    relation: u16,
    filters: &[Filter],
    actions: &[(usize, Action, RowHalf)],
    changes: &[(u16, Change)],
) -> Option<Vec<(u16, Term)>> {
    let primary = &stock.schema.relation(relation).primary_key;
    let is_key = |filter: &Filter| {
        filter.comparison == Comparison::Equal && primary.contains(&filter.column.column)
    };
    let is_given =
        |column: &u16| filters.iter().filter(|filter| filter.column.column == *column).count() == 1;
    let is_simple = filters.iter().all(is_key)
        && primary.iter().all(is_given)
        && changes.iter().all(|(_, change)| matches!(change, Change::Set(_)));
    let is_at_key = |table: usize| {
        let view = &stock.stored[table];
        view.relations.len() == 1 && view.key.iter().all(|(one, _)| primary.contains(&one.column))
    };
    let writes =
        actions.iter().all(|&(table, action, _)| action != Action::Put && is_at_key(table));
    // A column store writes without a read, so only a read tells whether the row is there.
    let tells = stock.class == Class::KeyValue && !actions.is_empty();
    (is_simple && writes && tells)
        .then(|| filters.iter().map(|filter| (filter.column.column, filter.term.clone())).collect())
}

/// The columns of a row that must be known to write it.
fn needed(
    stock: Stock<'_>,
    relation: u16,
    filters: &[Filter],
    actions: &[(usize, Action, RowHalf)],
    changes: &[(u16, Change)],
) -> Vec<ColumnRef> {
    let mut columns: Vec<u16> = stock.schema.relation(relation).primary_key.clone();
    columns.extend(filters.iter().map(|filter| filter.column.column));
    let adds = changes.iter().filter(|(_, change)| !matches!(change, Change::Set(_)));
    columns.extend(adds.map(|(column, _)| *column));
    for &(table, action, _) in actions {
        let view = &stock.stored[table];
        let mut target: Vec<Attribute> = view.key.iter().map(|(one, _)| *one).collect();
        target.extend(view.joins.iter().flat_map(|&(one, other)| [one, other]));
        if action == Action::Put {
            target.extend(&view.columns);
        }
        let own = target.iter().filter(|one| one.relation == relation);
        columns.extend(own.map(|one| one.column));
    }
    columns.sort_unstable();
    columns.dedup();
    columns.into_iter().map(|column| ColumnRef { relation: 0, column }).collect()
}

/// What is done to one table, with its cost for each row written.
fn copy(
    stock: Stock<'_>,
    (table, relation): (usize, u16),
    action: Action,
    half: RowHalf,
    changed: &[u16],
) -> Option<(Copy, f64)> {
    let view = &stock.stored[table];
    let width = stock.schema.relation(relation).columns.len() as u16;
    let mut places = vec![relation];
    places.extend(view.relations.iter().copied().filter(|one| *one != relation));
    let (mut slots, end) = Slots::new(stock, &places[1..], 2 * width);
    slots.0.insert(0, if half == RowHalf::New { width } else { 0 });
    let place_of: Vec<u16> = view
        .relations
        .iter()
        .map(|one| places.iter().position(|place| place == one).unwrap_or(0) as u16)
        .collect();
    let refer = |of: Attribute| reference(view, &place_of, of);
    let target: Vec<Attribute> = match action {
        Action::Put => view.fields().collect(),
        Action::Remove | Action::Patch => view.key.iter().map(|(one, _)| *one).collect(),
    };
    let question = RowQuery {
        places,
        is_given: true,
        joins: view.joins.iter().map(|&(one, other)| (refer(one), refer(other))).collect(),
        filters: &[],
        needed: target.into_iter().map(refer).collect(),
        order: &[],
        limit: None,
    };
    let path = path::cheapest(stock, &question)?;
    let partners = reading(stock, &question, &path, (&slots, end));
    let is_written = |(_, one): &(u16, Attribute)| match action {
        Action::Put => true,
        Action::Remove => false,
        Action::Patch => one.relation == relation && changed.contains(&one.column),
    };
    // The new value of a changed column is in the other half, also where the key is the old one.
    let source = |one: Attribute| match action {
        Action::Patch => width + one.column,
        _ => slots.of(refer(one)),
    };
    let fields = (0..).zip(view.fields()).filter(is_written);
    let copy = Copy {
        table: table as u16,
        action,
        key: view.key.iter().map(|(one, _)| slots.of(refer(*one))).collect(),
        fields: fields.map(|(field, one)| (field, source(one))).collect(),
        partners,
        expected: path.rows,
    };
    Some((copy, path.cost + path.rows * path::REQUEST))
}

impl Copy {
    fn scale(&mut self, rows: f64) {
        self.expected *= rows;
        self.partners.accesses.iter_mut().for_each(|step| step.expected *= rows);
    }
}

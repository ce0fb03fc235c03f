//! The sets of tables that a query could be answered from.
//!
//! For filters by equality on the columns F of one relation: a table with all of F as its key
//! (*key variant*), one for each column of F with that column as the index and the others as the
//! key (*index variant*), a table that leads from F to primary keys (*lookup*). Columns of a range
//! or an order follow F in the key, in the direction of the query. A join is
//! precomputed, or its relations are accessed one after another by variants of their own.

use assay_model::query::{Comparison, Direction, Filter, Select};
use assay_model::{Schema, Statement};

use crate::physical::Role;
use crate::physical::view::{Attribute, View};

/// A set of tables besides the plain base tables.
pub(super) type Variant = Vec<View>;

/// How many sets the relations of one join are combined to at most.
const COMBINED_MOST: usize = 24;

/// What a statement needs of one relation.
struct QueryDemand {
    relation: u16,
    equal: Vec<u16>,
    ranged: Vec<u16>,
    order: Vec<(u16, Direction)>,
    needed: Vec<u16>,
}

/// The variants of a statement, the plain base tables aside.
pub(super) fn variants(schema: &Schema, statement: &Statement) -> Vec<Variant> {
    match statement {
        Statement::Insert(_) => Vec::new(),
        Statement::Update(update) => of_change(schema, update.relation, &update.filters),
        Statement::Delete(delete) => of_change(schema, delete.relation, &delete.filters),
        Statement::Select(select) if select.from.len() == 1 => {
            let requested = requested(select, 0, &[]);
            of_relation(schema, &requested).into_iter().map(|view| vec![view]).collect()
        }
        Statement::Select(select) => of_join(schema, select),
    }
}

fn of_change(schema: &Schema, relation: u16, filters: &[Filter]) -> Vec<Variant> {
    let (equal, ranged) = columns_of(filters, 0);
    let requested = QueryDemand { relation, equal, ranged, order: Vec::new(), needed: Vec::new() };
    of_relation(schema, &requested).into_iter().map(|view| vec![view]).collect()
}

/// The columns of the relation at `place` that are compared: by equality, and otherwise.
fn columns_of(filters: &[Filter], place: u16) -> (Vec<u16>, Vec<u16>) {
    let of = |is_equal: bool| {
        let mut columns: Vec<u16> = Vec::new();
        for filter in filters.iter().filter(|filter| filter.column.relation == place) {
            let is_kind = (filter.comparison == Comparison::Equal) == is_equal;
            if is_kind && !columns.contains(&filter.column.column) {
                columns.push(filter.column.column);
            }
        }
        columns
    };
    (of(true), of(false))
}

fn requested(select: &Select, place: u16, joined: &[u16]) -> QueryDemand {
    let (mut equal, ranged) = columns_of(&select.filters, place);
    equal.extend(
        joined.iter().filter(|column| !equal.contains(column)).copied().collect::<Vec<_>>(),
    );
    let is_own = |relation: u16| relation == place;
    let order = select.order.iter().filter(|(of, _)| is_own(of.relation));
    let filters = select.filters.iter().map(|filter| filter.column);
    let joins = select.joins.iter().flat_map(|join| [join.left, join.right]);
    let needed = select.output.iter().copied().chain(filters).chain(joins);
    let order: Vec<(u16, Direction)> = order.map(|&(of, way)| (of.column, way)).collect();
    QueryDemand {
        relation: select.from[usize::from(place)],
        equal,
        ranged,
        needed: needed.filter(|of| is_own(of.relation)).map(|of| of.column).collect(),
        order,
    }
}

/// The tables that answer for one relation.
fn of_relation(schema: &Schema, requested: &QueryDemand) -> Vec<View> {
    let primary = &schema.relation(requested.relation).primary_key;
    if primary.iter().all(|column| requested.equal.contains(column)) {
        return Vec::new();
    }
    let mut views = Vec::new();
    for key in keys(primary, requested) {
        let key = attributes(requested.relation, &key);
        let is_permuted = key.iter().all(|(one, _)| primary.contains(&one.column));
        if is_permuted {
            views.push(based(schema, requested.relation, key.clone(), None));
        }
        let columns = attributes(requested.relation, &requested.needed);
        let full =
            View::new(schema, Role::Query, &[requested.relation], Vec::new(), (key, columns));
        let lookup = View { role: Role::Lookup, columns: Vec::new(), ..full.clone() };
        if !full.columns.is_empty() {
            views.push(full);
        }
        views.push(lookup);
    }
    for &index in &requested.equal {
        let rest: Vec<u16> = requested.equal.iter().copied().filter(|one| *one != index).collect();
        if rest.iter().all(|column| primary.contains(column)) {
            let index = index.placed(requested.relation);
            views.push(based(schema, requested.relation, Vec::new(), Some(index)));
            continue;
        }
        let key = rest.iter().map(|column| (*column, Direction::Ascending)).collect::<Vec<_>>();
        let mut columns = attributes(requested.relation, &requested.needed);
        let index = index.placed(requested.relation);
        columns.push(index);
        let layout = (attributes(requested.relation, &key), columns);
        let view = View::new(schema, Role::Query, &[requested.relation], Vec::new(), layout);
        let view = View { index: Some(index), ..view };
        views.push(view);
    }
    views
}

/// The base table under a permutation of its key, perhaps with an index.
fn based(
    schema: &Schema,
    relation: u16,
    key: Vec<(Attribute, Direction)>,
    index: Option<Attribute>,
) -> View {
    let columns = View::whole(schema, relation).fields().collect();
    let view = View::new(schema, Role::BaseTable, &[relation], Vec::new(), (key, columns));
    View { index, ..view }
}

trait Placed {
    type Out;
    fn placed(self, relation: u16) -> Self::Out;
}

impl Placed for u16 {
    type Out = Attribute;
    fn placed(self, relation: u16) -> Attribute {
        Attribute { relation, column: self }
    }
}

impl Placed for (u16, Direction) {
    type Out = (Attribute, Direction);
    fn placed(self, relation: u16) -> (Attribute, Direction) {
        (self.0.placed(relation), self.1)
    }
}

fn attributes<T: Placed + Copy>(relation: u16, columns: &[T]) -> Vec<T::Out> {
    columns.iter().map(|column| column.placed(relation)).collect()
}

/// The beginnings of keys that suit the question: filters, then the range or the order.
fn keys(primary: &[u16], requested: &QueryDemand) -> Vec<Vec<(u16, Direction)>> {
    // Columns of the primary key come first, in its order, so that its prefixes stay useful.
    let own = primary.iter().filter(|column| requested.equal.contains(column));
    let others = requested.equal.iter().filter(|column| !primary.contains(column));
    let equal: Vec<(u16, Direction)> =
        own.chain(others).map(|column| (*column, Direction::Ascending)).collect();
    let is_free = |column: u16| !requested.equal.contains(&column);
    let mut order = requested.order.clone();
    order.retain(|(column, _)| is_free(*column));
    let ranged = requested.ranged.iter().filter(|column| is_free(**column));
    let ranged = ranged.map(|column| (*column, Direction::Ascending));
    let mut tails: Vec<Vec<(u16, Direction)>> = Vec::new();
    if !order.is_empty() {
        tails.push(order);
    }
    tails.extend(
        ranged
            .map(|one| vec![one])
            .filter(|one| !tails.iter().any(|t| t[0].0 == one[0].0))
            .collect::<Vec<_>>(),
    );
    if tails.is_empty() && !equal.is_empty() {
        tails.push(Vec::new());
    }
    tails.into_iter().map(|tail| equal.iter().copied().chain(tail).collect()).collect()
}

fn of_join(schema: &Schema, select: &Select) -> Vec<Variant> {
    let places = 0..select.from.len() as u16;
    let mut combined: Vec<Variant> = vec![Vec::new()];
    for place in places {
        let mut views = of_relation(schema, &requested(select, place, &[]));
        let mut joined: Vec<u16> = Vec::new();
        for side in select.joins.iter().flat_map(|join| [join.left, join.right]) {
            if side.relation == place && !joined.contains(&side.column) {
                joined.push(side.column);
            }
        }
        views.extend(of_relation(schema, &requested(select, place, &joined)));
        let before = combined.clone();
        for view in views {
            let more = before.iter().map(|set| {
                let mut set = set.clone();
                set.push(view.clone());
                set
            });
            combined.extend(more);
            combined.truncate(COMBINED_MOST);
        }
    }
    combined.remove(0);
    if let Some((view, partners)) = precomputed(schema, select) {
        if !partners.is_empty() {
            combined.push(std::iter::once(view.clone()).chain(partners).collect());
        }
        combined.push(vec![view]);
    }
    combined
}

/// The join as one table, with the tables by which a write to one side finds the other; `None` if
/// a relation occurs twice.
fn precomputed(schema: &Schema, select: &Select) -> Option<(View, Variant)> {
    let is_twice = (1..select.from.len()).any(|at| select.from[..at].contains(&select.from[at]));
    if is_twice {
        return None;
    }
    let attribute = |of: assay_model::query::ColumnRef| Attribute {
        relation: select.from[usize::from(of.relation)],
        column: of.column,
    };
    let joins: Vec<(Attribute, Attribute)> =
        select.joins.iter().map(|join| (attribute(join.left), attribute(join.right))).collect();
    let is_equal = |filter: &&Filter| filter.comparison == Comparison::Equal;
    let equal = select.filters.iter().filter(is_equal);
    let ranged = select.filters.iter().filter(|filter| !is_equal(filter));
    let ascending = |filter: &Filter| (attribute(filter.column), Direction::Ascending);
    let mut key: Vec<(Attribute, Direction)> = equal.map(ascending).collect();
    match select.order.is_empty() {
        true => key.extend(ranged.map(ascending).take(1)),
        false => key.extend(select.order.iter().map(|&(of, way)| (attribute(of), way))),
    }
    let needed = select.output.iter().chain(select.filters.iter().map(|filter| &filter.column));
    let order = select.order.iter().map(|(of, _)| of);
    let mut columns: Vec<Attribute> = needed.chain(order).map(|of| attribute(*of)).collect();
    columns.extend(joins.iter().flat_map(|&(one, other)| [one, other]));
    // Partners are found by the other side's primary key, so that is kept too.
    let view = View::new(schema, Role::Join, &select.from, joins, (key, columns));
    let partners = select.from.iter().filter_map(|&relation| {
        let sides = view.joins.iter().flat_map(|&(one, other)| [one, other]);
        let mut own: Vec<u16> =
            sides.filter(|side| side.relation == relation).map(|side| side.column).collect();
        own.sort_unstable();
        own.dedup();
        let primary = &schema.relation(relation).primary_key;
        let is_prefix = primary.iter().take(own.len()).all(|column| own.contains(column));
        if is_prefix || primary.iter().all(|column| own.contains(column)) {
            return None;
        }
        let key: Vec<(u16, Direction)> =
            own.iter().map(|column| (*column, Direction::Ascending)).collect();
        let layout = (attributes(relation, &key), Vec::new());
        Some(View::new(schema, Role::Lookup, &[relation], Vec::new(), layout))
    });
    let partners = partners.collect();
    Some((view, partners))
}

//! One stored table in numbers: which rows it holds, under which key, with which columns.

use assay_model::Schema;
use assay_model::query::Direction;

use super::Role;

/// A column of a relation of the schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Attribute {
    /// The relation's number in the schema.
    pub(crate) relation: u16,
    /// The column's number in the relation.
    pub(crate) column: u16,
}

/// The rows of a relation, or of the join of several, under a key of their own.
///
/// No relation occurs twice. The key always ends with what is missing of the primary keys, so
/// every row has a key of its own.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct View {
    pub(crate) role: Role,
    pub(crate) relations: Vec<u16>,
    /// Which columns are equal in the rows of a join.
    pub(crate) joins: Vec<(Attribute, Attribute)>,
    pub(crate) key: Vec<(Attribute, Direction)>,
    /// The columns besides the key, rising.
    pub(crate) columns: Vec<Attribute>,
    /// A column that rows can be found by too.
    pub(crate) index: Option<Attribute>,
}

impl View {
    /// The table of all rows of `relation` under its primary key, whole.
    pub(crate) fn whole(schema: &Schema, relation: u16) -> View {
        let number = |column| Attribute { relation, column };
        let whole = (0..).zip(&schema.relation(relation).columns);
        let columns = whole.map(|(column, _)| number(column)).collect();
        View::new(schema, Role::BaseTable, &[relation], Vec::new(), (Vec::new(), columns))
    }

    /// A table whose key begins with `layout.0` and that has the columns `layout.1` besides.
    pub(crate) fn new(
        schema: &Schema,
        role: Role,
        relations: &[u16],
        joins: Vec<(Attribute, Attribute)>,
        layout: (Vec<(Attribute, Direction)>, Vec<Attribute>),
    ) -> View {
        let mut view = View {
            role,
            relations: relations.to_vec(),
            joins,
            key: Vec::new(),
            columns: layout.1,
            index: None,
        };
        for (attribute, direction) in layout.0 {
            view.push_key(attribute, direction);
        }
        for &relation in relations {
            for &column in &schema.relation(relation).primary_key {
                view.push_key(Attribute { relation, column }, Direction::Ascending);
            }
        }
        view.tidy();
        view
    }

    fn push_key(&mut self, attribute: Attribute, direction: Direction) {
        let is_known = |known: Attribute| known == attribute || self.are_equal(known, attribute);
        if !self.key.iter().any(|(known, _)| is_known(*known)) {
            self.key.push((attribute, direction));
        }
    }

    /// Sorts the columns and takes out those that the key has.
    pub(crate) fn tidy(&mut self) {
        self.columns.sort_unstable();
        self.columns.dedup();
        let key = &self.key;
        self.columns.retain(|column| !key.iter().any(|(known, _)| known == column));
    }

    /// Whether the join makes the two equal, possibly by way of others.
    pub(crate) fn are_equal(&self, one: Attribute, other: Attribute) -> bool {
        let mut reached = vec![one];
        let mut next = 0;
        while let Some(&from) = reached.get(next) {
            next += 1;
            for &(left, right) in &self.joins {
                for (here, there) in [(left, right), (right, left)] {
                    if here == from && !reached.contains(&there) {
                        reached.push(there);
                    }
                }
            }
        }
        reached.contains(&other)
    }

    /// Everything that a row holds, in the order of its fields: the key first.
    pub(crate) fn fields(&self) -> impl Iterator<Item = Attribute> + '_ {
        let key = self.key.iter().map(|(attribute, _)| *attribute);
        key.chain(self.columns.iter().copied())
    }

    pub(crate) fn holds(&self, attribute: Attribute) -> bool {
        self.fields().any(|one| one == attribute)
    }

    /// The entries that realise the index: index value, then key, and nothing besides.
    pub(crate) fn entries(&self) -> Option<View> {
        let index = self.index?;
        let rest = self.key.iter().copied().filter(|(attribute, _)| *attribute != index);
        let key = std::iter::once((index, Direction::Ascending)).chain(rest).collect();
        let view =
            View { role: Role::Entries, key, columns: Vec::new(), index: None, ..self.clone() };
        Some(view)
    }
}

/// The tables that are stored: `views`, then the entries of their indexes.
pub(crate) fn stored(views: &[View]) -> Vec<View> {
    let plain = views.iter().map(|view| View { index: None, ..view.clone() });
    plain.chain(views.iter().filter_map(View::entries)).collect()
}

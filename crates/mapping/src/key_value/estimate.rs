//! Estimate of the number of rows, from the schema.
//!
//! The rules are the textbook's (Selinger et al., "Access path selection in a relational database
//! management system", 1979): values are spread evenly, columns do not depend on each other, a
//! foreign key has the values of what it points to.

use assay_model::query::Comparison;
use assay_model::{ColumnType, Schema};

use crate::physical::view::{Attribute, View};

/// Rows of a relation that nothing is said about, for each column of its primary key.
const ROWS_PER_KEY_COLUMN: f64 = 100.0;
/// The most different values that a column outside every key is thought to have.
const VALUES_MOST: f64 = 1000.0;
/// How many rows share a value of such a column in a small relation.
const ROWS_PER_VALUE: f64 = 10.0;
/// What a range with one end leaves.
const ONE_ENDED: f64 = 1.0 / 3.0;
/// How many values a range of whole numbers with two ends has: TPC-C reads the last 20 orders.
const TWO_ENDED_VALUES: f64 = 20.0;
/// How deep foreign keys are followed; a circle of them ends there.
const DEPTH_MOST: usize = 8;

/// Rows of the relations and different values of their columns.
#[derive(Clone, Debug)]
pub(crate) struct Estimate {
    rows: Vec<f64>,
    distinct: Vec<Vec<f64>>,
}

impl Estimate {
    /// `rows` by relation; 0, or nothing, if unknown.
    pub(crate) fn new(schema: &Schema, rows: &[f64]) -> Estimate {
        let rows =
            schema.relations.iter().enumerate().map(|(number, relation)| match rows.get(number) {
                Some(&rows) if rows > 0.0 => rows,
                _ => ROWS_PER_KEY_COLUMN.powi(relation.primary_key.len() as i32),
            });
        let mut estimate = Estimate { rows: rows.collect(), distinct: Vec::new() };
        let numbers = 0..schema.relations.len() as u16;
        estimate.distinct = numbers
            .map(|relation| {
                let columns = 0..schema.relation(relation).columns.len() as u16;
                let attribute = |column| Attribute { relation, column };
                columns.map(|column| estimate.values(schema, attribute(column), 0)).collect()
            })
            .collect();
        estimate
    }

    fn values(&self, schema: &Schema, of: Attribute, depth: usize) -> f64 {
        let relation = schema.relation(of.relation);
        let rows = self.rows[usize::from(of.relation)];
        let target = |column: u16| {
            relation.foreign_keys.iter().find_map(|key| {
                let place = key.columns.iter().position(|one| *one == column)?;
                Some(Attribute { relation: key.relation, column: key.referenced[place] })
            })
        };
        if let Some(target) = target(of.column).filter(|_| depth < DEPTH_MOST) {
            return self.values(schema, target, depth + 1).min(rows);
        }
        if relation.primary_key.contains(&of.column) {
            let own = relation.primary_key.iter().filter(|column| target(**column).is_none());
            let others = relation.primary_key.iter().filter_map(|column| target(*column));
            let taken: f64 = match depth < DEPTH_MOST {
                true => others.map(|other| self.values(schema, other, depth + 1)).product(),
                false => 1.0,
            };
            let own = own.count().max(1) as f64;
            return (rows / taken.max(1.0)).max(1.0).powf(1.0 / own);
        }
        match relation.column(of.column).kind {
            ColumnType::Boolean => 2.0,
            _ => (rows / ROWS_PER_VALUE).clamp(1.0, VALUES_MOST),
        }
    }

    /// Rows of `view` altogether: a join has as many as the largest of its relations.
    pub(crate) fn rows(&self, view: &View) -> f64 {
        let rows = view.relations.iter().map(|relation| self.rows[usize::from(*relation)]);
        rows.fold(1.0, f64::max)
    }

    /// Different values of a column.
    pub(crate) fn distinct(&self, attribute: Attribute) -> f64 {
        self.distinct[usize::from(attribute.relation)][usize::from(attribute.column)]
    }

    /// The share of rows that lies in a range of a column.
    pub(crate) fn share_of_range(&self, attribute: Attribute, ends: usize) -> f64 {
        match ends {
            0 => 1.0,
            1 => ONE_ENDED,
            _ => (TWO_ENDED_VALUES / self.distinct(attribute)).min(ONE_ENDED),
        }
    }

    /// The share of rows that a filter lets through, looked at by itself.
    pub(crate) fn share(&self, attribute: Attribute, comparison: Comparison) -> f64 {
        match comparison {
            Comparison::Equal => 1.0 / self.distinct(attribute),
            _ => ONE_ENDED,
        }
    }

    /// Rows of `view` whose columns `bound` have given values.
    pub(crate) fn rows_bound(&self, schema: &Schema, view: &View, bound: &[Attribute]) -> f64 {
        let is_bound = |attribute: Attribute| {
            bound.iter().any(|one| *one == attribute || view.are_equal(*one, attribute))
        };
        let is_one = |relation: u16| {
            let mut key = schema.relation(relation).primary_key.iter();
            key.all(|&column| is_bound(Attribute { relation, column }))
        };
        if view.relations.iter().all(|relation| is_one(*relation)) {
            return 1.0;
        }
        let shares: f64 = bound.iter().map(|attribute| self.distinct(*attribute)).product();
        (self.rows(view) / shares.max(1.0)).max(1.0)
    }
}

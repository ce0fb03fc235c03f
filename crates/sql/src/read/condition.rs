//! Comparisons that must all hold: what follows WHERE, what follows ON.

use assay_model::ColumnType;
use assay_model::query::{ColumnRef, Comparison, Filter, Join};
use sqlparser::ast::{BinaryOperator, Expr, UnaryOperator};
use sqlparser::tokenizer::Location;

use super::error::ParseError;
use super::literal::{Parameters, Target, is_null, term};
use super::scope::Scope;
use super::text::{Text, begin};

/// Comparisons, sorted into those with values and those between columns.
#[derive(Default)]
pub(super) struct Conditions {
    pub filters: Vec<Filter>,
    pub joins: Vec<Join>,
}

impl Conditions {
    /// Adds every comparison of `expr`.
    pub(super) fn add(
        &mut self,
        text: &Text,
        scope: &Scope<'_>,
        expr: &Expr,
        parameters: &mut Parameters,
    ) -> Result<(), ParseError> {
        for part in parts(expr) {
            self.add_one(text, scope, part, parameters)?;
        }
        self.check_ranges(text, scope, expr)
    }

    fn add_one(
        &mut self,
        text: &Text,
        scope: &Scope<'_>,
        expr: &Expr,
        parameters: &mut Parameters,
    ) -> Result<(), ParseError> {
        if let Expr::Between { expr: column, negated: false, low, high } = expr {
            let Some(column) = scope.column(text, column)? else { return Err(outside(text, expr)) };
            let lower = (column, Comparison::GreaterOrEqual, &**low);
            let upper = (column, Comparison::LessOrEqual, &**high);
            self.filter(text, scope, lower, parameters)?;
            return self.filter(text, scope, upper, parameters);
        }
        let Expr::BinaryOp { left, op, right } = expr else { return Err(outside(text, expr)) };
        let Some(comparison) = comparison(op) else { return Err(outside(text, expr)) };
        match (scope.column(text, left)?, scope.column(text, right)?) {
            (Some(left), Some(right)) if comparison == Comparison::Equal => {
                self.join(text, scope, left, right, begin(expr))
            }
            (Some(_), Some(_)) => Err(outside(text, expr)),
            (Some(column), None) => {
                self.filter(text, scope, (column, comparison, right), parameters)
            }
            (None, Some(column)) => {
                self.filter(text, scope, (column, turned(comparison), left), parameters)
            }
            (None, None) => Err(outside(text, expr)),
        }
    }

    fn filter(
        &mut self,
        text: &Text,
        scope: &Scope<'_>,
        (column, comparison, expr): (ColumnRef, Comparison, &Expr),
        parameters: &mut Parameters,
    ) -> Result<(), ParseError> {
        if is_null(expr) {
            let reason = "nothing compares with NULL: leave the comparison out";
            return Err(text.wrong(begin(expr), reason));
        }
        let name = scope.name(column);
        let target = Target { name: &name, kind: scope.kind(column) };
        match term(text, expr, &target, parameters)? {
            Some(term) => self.filters.push(Filter { column, comparison, term }),
            None => return Err(outside(text, expr)),
        }
        Ok(())
    }

    fn join(
        &mut self,
        text: &Text,
        scope: &Scope<'_>,
        one: ColumnRef,
        other: ColumnRef,
        location: Location,
    ) -> Result<(), ParseError> {
        if one.relation == other.relation {
            let clause = "comparing two columns of one relation";
            return Err(text.outside(location, clause, "compare each with ? or a value"));
        }
        if !are_alike(scope.kind(one), scope.kind(other)) {
            let (one, other) = (scope.name(one), scope.name(other));
            let reason = format!("{one} and {other} hold values of different types");
            return Err(text.wrong(location, reason));
        }
        let (left, right) = if one.relation < other.relation { (one, other) } else { (other, one) };
        let join = Join { left, right };
        if !self.joins.contains(&join) {
            self.joins.push(join);
        }
        Ok(())
    }

    /// Only one column may be compared otherwise than by equality.
    fn check_ranges(&self, text: &Text, scope: &Scope<'_>, expr: &Expr) -> Result<(), ParseError> {
        let mut ranges = self.filters.iter().filter(|one| one.comparison != Comparison::Equal);
        let Some(first) = ranges.next() else { return Ok(()) };
        let Some(other) = ranges.find(|other| other.column != first.column) else { return Ok(()) };
        let clause = format!(
            "a range on two columns, {} and {},",
            scope.name(first.column),
            scope.name(other.column)
        );
        Err(text.outside(begin(expr), clause, "keep one of them and filter the rows in the client"))
    }
}

/// The parts of a conjunction, in order; without recursion, since chains get long.
fn parts(expr: &Expr) -> Vec<&Expr> {
    let mut waiting = vec![expr];
    let mut parts = Vec::new();
    while let Some(expr) = waiting.pop() {
        match expr {
            Expr::BinaryOp { left, op: BinaryOperator::And, right } => {
                waiting.extend([&**right, &**left]);
            }
            Expr::Nested(inner) => waiting.push(inner),
            other => parts.push(other),
        }
    }
    parts
}

fn comparison(operator: &BinaryOperator) -> Option<Comparison> {
    Some(match operator {
        BinaryOperator::Eq => Comparison::Equal,
        BinaryOperator::Lt => Comparison::Less,
        BinaryOperator::LtEq => Comparison::LessOrEqual,
        BinaryOperator::Gt => Comparison::Greater,
        BinaryOperator::GtEq => Comparison::GreaterOrEqual,
        _ => return None,
    })
}

/// `5 < column` is `column > 5`.
fn turned(comparison: Comparison) -> Comparison {
    match comparison {
        Comparison::Equal => Comparison::Equal,
        Comparison::Less => Comparison::Greater,
        Comparison::LessOrEqual => Comparison::GreaterOrEqual,
        Comparison::Greater => Comparison::Less,
        Comparison::GreaterOrEqual => Comparison::LessOrEqual,
    }
}

fn are_alike(one: ColumnType, other: ColumnType) -> bool {
    use ColumnType::{Decimal, Double, Integer, Text};
    match (one, other) {
        (Integer { .. }, Integer { .. }) | (Double, Double) => true,
        (Decimal { scale: one, .. }, Decimal { scale: other, .. }) => one == other,
        (Text { is_padded: one, .. }, Text { is_padded: other, .. }) => one == other,
        (one, other) => one == other,
    }
}

/// The error for an expression that is no comparison of the subset.
pub(super) fn outside(text: &Text, expr: &Expr) -> ParseError {
    let compare = "compare columns with ? or values by =, <, <=, > or >=";
    let (clause, advice) = match expr {
        Expr::BinaryOp { op: BinaryOperator::Or, .. } => ("OR".into(), "make it two queries"),
        Expr::BinaryOp { op: BinaryOperator::NotEq, .. } => {
            ("<>".into(), "select more rows and filter them in the client")
        }
        Expr::BinaryOp { op, .. } => (format!("this use of {op}"), compare),
        Expr::UnaryOp { op: UnaryOperator::Not, .. } => {
            ("NOT".into(), "select more rows and filter them in the client")
        }
        Expr::InList { .. } => ("IN".into(), "make it a query for each value"),
        Expr::Subquery(_) | Expr::Exists { .. } | Expr::InSubquery { .. } => {
            ("a query within a query".into(), "make it two queries")
        }
        Expr::Like { .. } | Expr::ILike { .. } | Expr::SimilarTo { .. } => {
            ("LIKE".into(), "use a range instead")
        }
        Expr::Between { .. } => {
            ("NOT BETWEEN".into(), "select more rows and filter them in the client")
        }
        Expr::IsNull(_) | Expr::IsNotNull(_) => {
            ("IS NULL".into(), "keep a value that means none and compare with it")
        }
        Expr::Function(function) => {
            (format!("the function {}", function.name), "compute it from the rows")
        }
        Expr::Case { .. } => ("CASE".into(), "compute it from the rows"),
        Expr::Cast { .. } => ("CAST".into(), "write values in the column's type"),
        _ => ("this expression".into(), compare),
    };
    let location = begin(expr);
    match location.line {
        0 => text.outside(text.first(), clause, advice),
        _ => text.outside(location, clause, advice),
    }
}

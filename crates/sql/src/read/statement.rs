//! SELECT, INSERT, UPDATE, DELETE, read into a statement.

use assay_model::query::{
    Change, ColumnRef, Comparison, Delete, Direction, Filter, Insert, Select, Term, Update,
};
use assay_model::{ColumnType, Relation, Statement};
use sqlparser::ast::{
    self, AssignmentTarget, BinaryOperator, Expr, FromTable, Ident, JoinConstraint, JoinOperator,
    LimitClause, LockClause, LockType, ObjectName, OrderByKind, OrderBySort, SelectItem,
    SelectItemQualifiedWildcardKind, SetExpr, TableObject,
};
use sqlparser::tokenizer::Location;

use super::bare;
use super::condition::{Conditions, outside};
use super::declare::{Declared, find_column, find_relation};
use super::error::ParseError;
use super::joined;
use super::literal::{Parameters, Target, is_null, term};
use super::scope::Scope;
use super::text::{Text, begin, display};

/// Reads one query: what it means, and the types of its arguments.
pub(super) fn read(
    text: &Text,
    declared: &Declared,
) -> Result<(Statement, Vec<ColumnType>), ParseError> {
    let mut statements = text.statements()?;
    let count = statements.len();
    let Some(statement) = statements.pop().filter(|_| count == 1) else {
        let reason = match count {
            0 => "there is no query: write one".to_string(),
            count => format!("there are {count} statements: make each a query with its own name"),
        };
        return Err(ParseError::Wrong { place: text.start(), reason });
    };
    if text.questions() > usize::from(u16::MAX) {
        return Err(ParseError::Wrong { place: text.start(), reason: "too many arguments".into() });
    }
    let mut reader = Reader { text, declared, parameters: vec![None; text.questions()] };
    let statement = match statement {
        ast::Statement::Query(query) => Statement::Select(reader.select(*query)?),
        ast::Statement::Insert(insert) => Statement::Insert(reader.insert(insert)?),
        ast::Statement::Update(update) => Statement::Update(reader.update(update)?),
        ast::Statement::Delete(delete) => Statement::Delete(reader.delete(delete)?),
        _ => {
            let advice = "write SELECT, INSERT, UPDATE or DELETE";
            return Err(text.outside(text.first(), "this statement", advice));
        }
    };
    let parameters: Option<Vec<ColumnType>> = reader.parameters.into_iter().collect();
    match parameters {
        Some(parameters) => Ok((statement, parameters)),
        // Every place where an argument may stand gives it a type, so one stands elsewhere.
        None => Err(text.clause("statement", &[])),
    }
}

struct Reader<'a> {
    text: &'a Text,
    declared: &'a Declared,
    parameters: Parameters,
}

impl Reader<'_> {
    fn select(&mut self, query: ast::Query) -> Result<Select, ParseError> {
        let text = self.text;
        let Some(parts) = bare::select(query) else {
            return Err(text.clause("SELECT", &["FROM", "ORDER", "LIMIT", "AS", "ON"]));
        };
        let mut scope = Scope::new(&self.declared.schema);
        let mut conditions = Vec::new();
        for table in &parts.from {
            scope.add(text, &table.relation)?;
            for join in &table.joins {
                scope.add(text, &join.relation)?;
                conditions.extend(self.join_condition(join)?);
            }
        }
        if scope.relations().is_empty() {
            let reason = "name the relation that is queried: FROM …".into();
            return Err(ParseError::Wrong { place: text.start(), reason });
        }
        conditions.extend(&parts.condition);
        let mut found = Conditions::default();
        for condition in conditions {
            found.add(text, &scope, condition, &mut self.parameters)?;
        }
        joined::check(text, &scope, &found.joins, &found.filters)?;
        let order = self.order(&scope, parts.order.as_ref())?;
        let limit = self.limit(parts.limit.as_ref())?;
        if limit.is_some() && order.is_empty() && !pins_key(&scope, &found.filters) {
            let clause = "LIMIT without ORDER BY";
            let advice = "say which rows come first";
            return Err(text.outside(text.first(), clause, advice));
        }
        Ok(Select {
            from: scope.relations(),
            joins: found.joins,
            output: self.output(&scope, &parts.output)?,
            filters: found.filters,
            order,
            limit,
            locks: self.locks(&parts.locks)?,
        })
    }

    /// The condition of a join, if it has one.
    fn join_condition<'a>(&self, join: &'a ast::Join) -> Result<Option<&'a Expr>, ParseError> {
        let constraint = match &join.join_operator {
            JoinOperator::Join(constraint) | JoinOperator::Inner(constraint) => constraint,
            JoinOperator::CrossJoin(constraint) => constraint,
            JoinOperator::Left(_) | JoinOperator::LeftOuter(_) => {
                return Err(self.outside("LEFT JOIN", "make it two queries"));
            }
            JoinOperator::Right(_) | JoinOperator::RightOuter(_) => {
                return Err(self.outside("RIGHT JOIN", "make it two queries"));
            }
            JoinOperator::FullOuter(_) => {
                return Err(self.outside("FULL JOIN", "make it two queries"));
            }
            _ => return Err(self.outside("this kind of join", "write JOIN … ON …")),
        };
        match constraint {
            JoinConstraint::On(expr) => Ok(Some(expr)),
            JoinConstraint::None => Ok(None),
            JoinConstraint::Using(_) => {
                Err(self.outside("USING", "write ON with the pairs of columns"))
            }
            JoinConstraint::Natural => {
                Err(self.outside("NATURAL JOIN", "write ON with the pairs of columns"))
            }
        }
    }

    /// An error at the first word of a clause, or at the start of the text.
    fn outside(&self, clause: &str, advice: &str) -> ParseError {
        let word = clause.split(' ').next().unwrap_or(clause);
        let location = self.text.word(word).unwrap_or(self.text.first());
        self.text.outside(location, clause, advice)
    }

    fn output(
        &self,
        scope: &Scope<'_>,
        items: &[SelectItem],
    ) -> Result<Vec<ColumnRef>, ParseError> {
        let text = self.text;
        let mut output = Vec::new();
        for item in items {
            match item {
                SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } => {
                    let column = scope.column(text, expr)?;
                    output.push(column.ok_or_else(|| outside(text, expr))?);
                }
                SelectItem::Wildcard(options) if *options == Default::default() => {
                    output.extend(scope.all());
                }
                SelectItem::QualifiedWildcard(
                    SelectItemQualifiedWildcardKind::ObjectName(name),
                    options,
                ) if *options == Default::default() => {
                    let place = scope.member(text, text.plain(name)?)?;
                    output.extend(scope.all_of(place));
                }
                other => {
                    let clause = format!("the output {other}");
                    return Err(text.outside(text.first(), clause, "name columns, or write *"));
                }
            }
        }
        Ok(output)
    }

    fn order(
        &self,
        scope: &Scope<'_>,
        order: Option<&ast::OrderBy>,
    ) -> Result<Vec<(ColumnRef, Direction)>, ParseError> {
        let text = self.text;
        let Some(order) = order else { return Ok(Vec::new()) };
        let advice = "name columns, each with ASC or DESC";
        let OrderByKind::Expressions(exprs) = &order.kind else {
            return Err(self.outside("ORDER BY ALL", advice));
        };
        if order.interpolate.is_some() {
            return Err(self.outside("INTERPOLATE", "leave it out"));
        }
        let mut columns = Vec::new();
        for one in exprs {
            let column = scope.column(text, &one.expr)?.ok_or_else(|| outside(text, &one.expr))?;
            let direction = match one.options.sort {
                None | Some(OrderBySort::Asc) => Direction::Ascending,
                Some(OrderBySort::Desc) => Direction::Descending,
                Some(_) => return Err(text.outside(begin(&one.expr), "ORDER BY USING", advice)),
            };
            if one.options.nulls_first.is_some() || one.with_fill.is_some() {
                let advice = "leave it out: no value comes before all others";
                return Err(text.outside(begin(&one.expr), "NULLS FIRST or LAST", advice));
            }
            columns.push((column, direction));
        }
        Ok(columns)
    }

    fn limit(&mut self, limit: Option<&LimitClause>) -> Result<Option<Term>, ParseError> {
        let text = self.text;
        let expr = match limit {
            None => return Ok(None),
            Some(LimitClause::LimitOffset { limit, offset: None, limit_by })
                if limit_by.is_empty() =>
            {
                limit
            }
            Some(_) => return Err(self.outside("OFFSET", "select the rows behind a key instead")),
        };
        let Some(expr) = expr else { return Ok(None) };
        let target = Target { name: "LIMIT", kind: ColumnType::Integer { bits: 64 } };
        let negative = matches!(expr, Expr::UnaryOp { .. });
        match term(text, expr, &target, &mut self.parameters)? {
            Some(term) if !negative && !is_null(expr) => Ok(Some(term)),
            _ => Err(text.wrong(begin(expr), "LIMIT takes a whole number from 0, or ?")),
        }
    }

    fn locks(&self, locks: &[LockClause]) -> Result<bool, ParseError> {
        match locks {
            [] => Ok(false),
            [lock] if lock.lock_type == LockType::Share => {
                Err(self.outside("FOR SHARE", "write FOR UPDATE"))
            }
            [lock] if lock.of.is_none() && lock.nonblock.is_none() => Ok(true),
            _ => Err(self.outside("FOR UPDATE with options", "write FOR UPDATE alone")),
        }
    }

    fn insert(&mut self, insert: ast::Insert) -> Result<Insert, ParseError> {
        let text = self.text;
        let Some(parts) = bare::insert(insert) else {
            return Err(text.clause("INSERT", &["INTO", "LIMIT", "ORDER"]));
        };
        let SetExpr::Values(values) = &parts.source else {
            return Err(self.outside("SELECT within INSERT", "write VALUES"));
        };
        let TableObject::TableName(name) = &parts.table else {
            return Err(text.clause("INSERT", &["INTO"]));
        };
        let name = text.plain(name)?;
        let number = find_relation(text, &self.declared.schema, name)?;
        let relation = self.declared.schema.relation(number);
        let columns = self.insert_columns(name, relation, &parts.columns)?;
        let [row] = values.rows.as_slice() else {
            return Err(self.outside("VALUES of several rows", "insert each by itself"));
        };
        if row.content.len() != columns.len() {
            let reason = format!(
                "there are {} columns but {} values: give each column one",
                columns.len(),
                row.content.len()
            );
            return Err(text.wrong(name.span.start, reason));
        }
        self.check_insert(name, number, relation, &columns)?;
        let mut terms = Vec::with_capacity(columns.len());
        for (column, expr) in columns.iter().zip(&row.content) {
            terms.push(self.value(relation, *column, expr)?);
        }
        Ok(Insert { relation: number, columns, terms })
    }

    fn insert_columns(
        &self,
        name: &Ident,
        relation: &Relation,
        names: &[ObjectName],
    ) -> Result<Vec<u16>, ParseError> {
        if names.is_empty() {
            return Ok((0..relation.columns.len() as u16).collect());
        }
        let mut columns = Vec::with_capacity(names.len());
        for column in names {
            let ident = self.text.plain(column)?;
            let column = find_column(self.text, relation, ident)?;
            if columns.contains(&column) {
                let reason = format!("column {} is named twice: leave one out", ident.value);
                let location = if ident.span.start.line > 0 { ident.span } else { name.span };
                return Err(self.text.wrong(location.start, reason));
            }
            columns.push(column);
        }
        Ok(columns)
    }

    /// Columns that an insert must name.
    fn check_insert(
        &self,
        name: &Ident,
        number: u16,
        relation: &Relation,
        columns: &[u16],
    ) -> Result<(), ParseError> {
        for (place, column) in relation.columns.iter().enumerate() {
            let place = place as u16;
            if columns.contains(&place) {
                continue;
            }
            let why = if relation.primary_key.contains(&place) {
                "it belongs to the primary key"
            } else if self.declared.defaults.contains(&(number, place)) {
                "not every class of store fills in its default"
            } else if !column.is_nullable {
                "it is NOT NULL"
            } else {
                continue;
            };
            let reason = format!("column {} is missing: give it a value, {why}", column.name);
            return Err(self.text.wrong(name.span.start, reason));
        }
        Ok(())
    }

    /// The value that a column is given.
    fn value(&mut self, relation: &Relation, number: u16, expr: &Expr) -> Result<Term, ParseError> {
        let column = relation.column(number);
        if is_null(expr) && !column.is_nullable {
            let reason = format!("column {} is NOT NULL: give it a value", column.name);
            return Err(self.text.wrong(begin(expr), reason));
        }
        let target = Target { name: &column.name, kind: column.kind };
        term(self.text, expr, &target, &mut self.parameters)?
            .ok_or_else(|| outside(self.text, expr))
    }

    fn update(&mut self, update: ast::Update) -> Result<Update, ParseError> {
        let text = self.text;
        let Some(parts) = bare::update(update) else { return Err(text.clause("UPDATE", &[])) };
        let scope = Scope::single(&self.declared.schema, text, &parts.table)?;
        let relation = scope.relation(0);
        let mut changes: Vec<(u16, Change)> = Vec::with_capacity(parts.changes.len());
        for assignment in &parts.changes {
            let AssignmentTarget::ColumnName(name) = &assignment.target else {
                return Err(self.outside("SET (…) =", "set each column by itself"));
            };
            let (column, location) = self.set_column(&scope, name)?;
            let name = &relation.column(column).name;
            if relation.primary_key.contains(&column) {
                let clause = format!("a new value for {name} of the primary key");
                return Err(text.outside(location, clause, "delete the row, insert another"));
            }
            if changes.iter().any(|(other, _)| *other == column) {
                let reason = format!("column {name} is set twice: leave one out");
                return Err(text.wrong(location, reason));
            }
            changes.push((column, self.change(&scope, column, &assignment.value)?));
        }
        let filters = self.filters(&scope, parts.condition.as_ref())?;
        Ok(Update { relation: scope.relations()[0], changes, filters })
    }

    fn set_column(
        &self,
        scope: &Scope<'_>,
        name: &ObjectName,
    ) -> Result<(u16, Location), ParseError> {
        let idents: Option<Vec<Ident>> =
            name.0.iter().map(|part| part.as_ident().cloned()).collect();
        let idents = idents.unwrap_or_default();
        let Some(last) = idents.last() else { return Err(self.text.clause("UPDATE", &[])) };
        let location = last.span.start;
        let expr = match idents.len() {
            1 => Expr::Identifier(last.clone()),
            _ => Expr::CompoundIdentifier(idents),
        };
        match scope.column(self.text, &expr)? {
            Some(column) => Ok((column.column, location)),
            None => Err(self.text.clause("UPDATE", &[])),
        }
    }

    fn change(
        &mut self,
        scope: &Scope<'_>,
        number: u16,
        expr: &Expr,
    ) -> Result<Change, ParseError> {
        let text = self.text;
        let relation = scope.relation(0);
        let Expr::BinaryOp { left, op, right } = expr else {
            return self.value(relation, number, expr).map(Change::Set);
        };
        let column = relation.column(number);
        let changed = ColumnRef { relation: 0, column: number };
        let is_sum = matches!(op, BinaryOperator::Plus | BinaryOperator::Minus);
        let is_append = *op == BinaryOperator::StringConcat;
        if !(is_sum || is_append) || scope.column(text, left)? != Some(changed) {
            let clause = format!("setting {} to {}", column.name, display(expr));
            let advice = format!("write ?, a value, or {0} + or - or || one of them", column.name);
            return Err(text.outside(begin(expr), clause, advice));
        }
        if is_append {
            if !matches!(column.kind, ColumnType::Text { .. }) || is_null(right) {
                let reason =
                    format!("only text can be appended, to a column of text: {}", display(expr));
                return Err(text.wrong(begin(expr), reason));
            }
            return self.value(relation, number, right).map(Change::Append);
        }
        let is_number = matches!(
            column.kind,
            ColumnType::Integer { .. } | ColumnType::Decimal { .. } | ColumnType::Double
        );
        if !is_number || is_null(right) {
            let reason =
                format!("only numbers can be added, to a column of numbers: {}", display(expr));
            return Err(text.wrong(begin(expr), reason));
        }
        let term = self.value(relation, number, right)?;
        Ok(if *op == BinaryOperator::Plus { Change::Add(term) } else { Change::Subtract(term) })
    }

    fn delete(&mut self, delete: ast::Delete) -> Result<Delete, ParseError> {
        let text = self.text;
        let Some(parts) = bare::delete(delete) else {
            return Err(text.clause("DELETE", &["FROM"]));
        };
        let FromTable::WithFromKeyword(tables) = &parts.from else {
            return Err(text.wrong(text.first(), "write DELETE FROM"));
        };
        let [table] = tables.as_slice() else {
            return Err(self.outside("FROM several relations", "make it a query for each"));
        };
        let scope = Scope::single(&self.declared.schema, text, table)?;
        let filters = self.filters(&scope, parts.condition.as_ref())?;
        Ok(Delete { relation: scope.relations()[0], filters })
    }

    fn filters(
        &mut self,
        scope: &Scope<'_>,
        selection: Option<&Expr>,
    ) -> Result<Vec<Filter>, ParseError> {
        let mut found = Conditions::default();
        if let Some(expr) = selection {
            found.add(self.text, scope, expr, &mut self.parameters)?;
        }
        Ok(found.filters)
    }
}

/// Whether the filters name one row at most.
fn pins_key(scope: &Scope<'_>, filters: &[Filter]) -> bool {
    let is_fixed = |column: &u16| {
        let column = ColumnRef { relation: 0, column: *column };
        let equal = |filter: &&Filter| filter.comparison == Comparison::Equal;
        filters.iter().filter(equal).any(|filter| filter.column == column)
    };
    scope.relations().len() == 1 && scope.relation(0).primary_key.iter().all(is_fixed)
}

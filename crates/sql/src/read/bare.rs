//! Statements with everything taken out that a reader knows.
//!
//! If what is left is not the bare statement of its kind, something was in it that the reader does
//! not know, in this version of the parser or a later one. Parts are moved, never cloned: long
//! chains of operators are deep trees.

use std::mem::{replace, take};

use sqlparser::ast::{
    Assignment, ColumnDef, CreateIndex, CreateTable, Delete, Expr, FromTable, IndexColumn, Insert,
    LimitClause, LockClause, ObjectName, OrderBy, Query, SelectItem, SetExpr, Statement,
    TableConstraint, TableObject, TableWithJoins, Update,
};
use sqlparser::parser::Parser;

use super::text::DIALECT;

/// The statement that `sql` is, which is written out below.
fn bare(sql: &str) -> Statement {
    let mut statements = Parser::parse_sql(&DIALECT, sql).expect("the bare statement is SQL");
    statements.remove(0)
}

fn bare_query() -> Query {
    match bare("SELECT a FROM t") {
        Statement::Query(mut query) => {
            clear_query(&mut query);
            *query
        }
        _ => unreachable!("a SELECT is a query"),
    }
}

/// What a SELECT may have.
pub(super) struct SelectParts {
    pub output: Vec<SelectItem>,
    pub from: Vec<TableWithJoins>,
    pub condition: Option<Expr>,
    pub order: Option<OrderBy>,
    pub limit: Option<LimitClause>,
    pub locks: Vec<LockClause>,
}

fn clear_query(query: &mut Query) -> Option<SelectParts> {
    let SetExpr::Select(select) = &mut *query.body else { return None };
    Some(SelectParts {
        output: take(&mut select.projection),
        from: take(&mut select.from),
        condition: select.selection.take(),
        order: query.order_by.take(),
        limit: query.limit_clause.take(),
        locks: take(&mut query.locks),
    })
}

/// The parts of a SELECT; `None` if it has others.
pub(super) fn select(mut query: Query) -> Option<SelectParts> {
    let parts = clear_query(&mut query)?;
    (query == bare_query()).then_some(parts)
}

/// What an INSERT may have.
pub(super) struct InsertParts {
    pub table: TableObject,
    pub columns: Vec<ObjectName>,
    /// What is inserted: VALUES, or a query.
    pub source: SetExpr,
}

/// The parts of an INSERT; `None` if it has others.
pub(super) fn insert(mut insert: Insert) -> Option<InsertParts> {
    let Statement::Insert(mut bare) = bare("INSERT INTO t (a) VALUES (1)") else { return None };
    bare.columns.clear();
    bare.source = None;
    let around = bare_query();
    let table = replace(&mut insert.table, bare.table.clone());
    let columns = take(&mut insert.columns);
    let mut source = insert.source.take()?;
    let body = replace(&mut *source.body, (*around.body).clone());
    (insert == bare && *source == around).then_some(InsertParts { table, columns, source: body })
}

/// What an UPDATE may have.
pub(super) struct UpdateParts {
    pub table: TableWithJoins,
    pub changes: Vec<Assignment>,
    pub condition: Option<Expr>,
}

/// The parts of an UPDATE; `None` if it has others.
pub(super) fn update(mut update: Update) -> Option<UpdateParts> {
    let Statement::Update(mut bare) = bare("UPDATE t SET a = 1") else { return None };
    bare.assignments.clear();
    let table = replace(&mut update.table, bare.table.clone());
    let changes = take(&mut update.assignments);
    let condition = update.selection.take();
    (update == bare).then_some(UpdateParts { table, changes, condition })
}

/// What a DELETE may have.
pub(super) struct DeleteParts {
    pub from: FromTable,
    pub condition: Option<Expr>,
}

/// The parts of a DELETE; `None` if it has others.
pub(super) fn delete(mut delete: Delete) -> Option<DeleteParts> {
    let Statement::Delete(bare) = bare("DELETE FROM t") else { return None };
    let from = replace(&mut delete.from, bare.from.clone());
    let condition = delete.selection.take();
    (delete == bare).then_some(DeleteParts { from, condition })
}

/// What a CREATE TABLE may have, besides options of a store, which are left out.
pub(super) struct TableParts {
    pub name: ObjectName,
    pub columns: Vec<ColumnDef>,
    pub constraints: Vec<TableConstraint>,
}

/// The parts of a CREATE TABLE; `None` if it has others.
pub(super) fn table(mut table: CreateTable) -> Option<TableParts> {
    let Statement::CreateTable(mut bare) = bare("CREATE TABLE t (a INT)") else { return None };
    bare.columns.clear();
    let name = replace(&mut table.name, bare.name.clone());
    let columns = take(&mut table.columns);
    let constraints = take(&mut table.constraints);
    table.table_options = bare.table_options.clone();
    table.if_not_exists = false;
    (table == bare).then_some(TableParts { name, columns, constraints })
}

/// What a CREATE INDEX may have, besides its name, its kind and options of a store.
pub(super) struct IndexParts {
    pub table: ObjectName,
    pub columns: Vec<IndexColumn>,
}

/// The parts of a CREATE INDEX; `None` if it has others.
pub(super) fn index(mut index: CreateIndex) -> Option<IndexParts> {
    let Statement::CreateIndex(mut bare) = bare("CREATE INDEX i ON t (a)") else { return None };
    bare.columns.clear();
    index.name = bare.name.clone();
    let table = replace(&mut index.table_name, bare.table_name.clone());
    let columns = take(&mut index.columns);
    index.using = None;
    index.if_not_exists = false;
    index.index_options.clear();
    (index == bare).then_some(IndexParts { table, columns })
}

//! Names that our own reader takes without quotes.

use sqlparser::ast::{Expr, Query, SelectItem, SetExpr, Statement};
use sqlparser::dialect::GenericDialect;
use sqlparser::keywords::{
    ALL_KEYWORDS, ALL_KEYWORDS_INDEX, RESERVED_FOR_COLUMN_ALIAS, RESERVED_FOR_TABLE_ALIAS,
};
use sqlparser::parser::Parser;

/// Whether `name` is read as a name wherever one can be.
pub(crate) fn is_bare_name(name: &str) -> bool {
    let sql = format!("SELECT {name} FROM {name} WHERE {name} = 1 ORDER BY {name}");
    let selects_it = |query: &Query| match &*query.body {
        SetExpr::Select(select) => matches!(
            select.projection.as_slice(),
            [SelectItem::UnnamedExpr(Expr::Identifier(ident))]
                if ident.value == name && ident.quote_style.is_none()
        ),
        _ => false,
    };
    let parsed = |sql: &str| Parser::parse_sql(&GenericDialect {}, sql);
    let is_selected =
        matches!(parsed(&sql).as_deref(), Ok([Statement::Query(query)]) if selects_it(query));
    let sql = format!("CREATE TABLE {name} ({name} INT PRIMARY KEY)");
    let is_declared = matches!(
        parsed(&sql).as_deref(),
        Ok([Statement::CreateTable(table)])
            if table.columns.len() == 1 && table.constraints.is_empty()
    );
    let is_taken_elsewhere = [
        format!("INSERT INTO {name} ({name}) VALUES (1)"),
        format!("UPDATE {name} SET {name} = {name} + 1 WHERE {name} < 1"),
        format!("DELETE FROM {name} WHERE {name} = 1"),
        format!("SELECT {name}.{name} FROM t, {name} WHERE t.a = {name}.{name}"),
    ]
    .iter()
    .all(|sql| parsed(sql).is_ok());
    is_selected && is_declared && is_taken_elsewhere && !opens_a_clause(name)
}

/// Whether a name is a word that opens a clause; most dialects take it as a name in quotes only.
fn opens_a_clause(name: &str) -> bool {
    let upper = name.to_ascii_uppercase();
    let Ok(place) = ALL_KEYWORDS.binary_search(&upper.as_str()) else { return false };
    let keyword = ALL_KEYWORDS_INDEX[place];
    [RESERVED_FOR_TABLE_ALIAS, RESERVED_FOR_COLUMN_ALIAS].iter().any(|all| all.contains(&keyword))
}

//! Names that our own reader takes without quotes.

use sqlparser::ast::{Expr, Query, SelectItem, SetExpr, Statement};
use sqlparser::dialect::GenericDialect;
use sqlparser::keywords::{
    ALL_KEYWORDS, ALL_KEYWORDS_INDEX, RESERVED_FOR_COLUMN_ALIAS, RESERVED_FOR_TABLE_ALIAS,
};
use sqlparser::parser::Parser;

/// Whether `name` is read as a name wherever one can be: a word that the parser has no use for, or
/// one that it takes for a name in every kind of statement.
pub(crate) fn is_bare_name(name: &str) -> bool {
    let begins = name.starts_with(|letter: char| letter.is_ascii_alphabetic());
    let is_word = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    match ALL_KEYWORDS.binary_search(&name.to_ascii_uppercase().as_str()) {
        Ok(place) => !opens_a_clause(place) && is_taken(name),
        Err(_) => (begins && is_word) || is_taken(name),
    }
}

/// Whether the keyword at `place` opens a clause; most dialects take it as a name in quotes only.
fn opens_a_clause(place: usize) -> bool {
    let keyword = ALL_KEYWORDS_INDEX[place];
    [RESERVED_FOR_TABLE_ALIAS, RESERVED_FOR_COLUMN_ALIAS].iter().any(|all| all.contains(&keyword))
}

/// Whether the parser takes it for a name in statements of every kind.
fn is_taken(name: &str) -> bool {
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
    is_selected && is_declared && is_taken_elsewhere
}

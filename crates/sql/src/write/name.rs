//! Identifiers, which are quoted where a dialect would take them for something else.

use super::Dialect;
use crate::bare_name::is_bare_name;

/// Words that PostgreSQL, MariaDB or SQLite takes for its own where a name could be.
///
/// The union of what the three reserve (PostgreSQL 15 appendix C, MariaDB 10.11 "Reserved Words",
/// SQLite "Keywords"), as far as a table or column could be called so. A word that is quoted
/// without need does no harm.
const RESERVED: &str = " abort accessible action add after all alter always analyse analyze and any
    array as asc asensitive asymmetric attach authorization autoincrement before begin between
    bigint binary blob both by call cascade case cast change char character check collate collation
    column columns commit concurrently condition conflict constraint continue convert create cross
    current current_catalog current_date current_role current_schema current_time current_timestamp
    current_user cursor database databases day_hour dec decimal declare default deferrable deferred
    delayed delete desc describe detach deterministic distinct distinctrow div do double drop dual
    each else elseif empty enclosed end escape escaped except exclude exclusive exists exit explain
    fail false fetch filter first float float4 float8 following for force foreign freeze from full
    fulltext function general generated glob grant group grouping groups having high_priority if
    ignore ilike immediate in index indexed infile initially inner inout insensitive insert instead
    int int1 int2 int3 int4 int8 integer intersect interval into is isnull iterate join key keys
    kill last lateral leading leave left like limit linear lines load localtime localtimestamp lock
    long longblob longtext loop low_priority match materialized mediumblob mediumint mediumtext mod
    modifies natural no not nothing notnull null nulls numeric of off offset on only optimize option
    optionally or order others out outer outfile over overlaps partition placing plan pragma
    preceding precision primary procedure purge query raise range rank read reads real recursive
    references regexp reindex release rename repeat replace require resignal restrict return
    returning revoke right rlike rollback row row_number rows savepoint schema schemas select
    sensitive separator session_user set show signal similar smallint some spatial specific sql
    sqlexception sqlstate sqlwarning ssl starting symmetric system table tablesample temp temporary
    terminated then ties tinyblob tinyint tinytext to trailing transaction trigger true unbounded
    undo union unique unlock unsigned update usage use user using vacuum values varbinary varchar
    varcharacter variadic varying verbose view virtual when where while window with within without
    write xor year_month zerofill ";

pub(super) fn identifier(dialect: Dialect, name: &str) -> String {
    let name = match dialect {
        Dialect::Postgres => name.to_ascii_lowercase(),
        Dialect::Logical | Dialect::MySql | Dialect::Sqlite => name.to_owned(),
    };
    let is_plain = match dialect {
        Dialect::Logical => is_bare_name(&name),
        Dialect::Postgres | Dialect::MySql | Dialect::Sqlite => is_plain(&name),
    };
    if is_plain {
        return name;
    }
    match dialect {
        Dialect::Logical | Dialect::Postgres | Dialect::Sqlite => {
            format!("\"{}\"", name.replace('"', "\"\""))
        }
        Dialect::MySql => format!("`{}`", name.replace('`', "``")),
    }
}

fn is_plain(name: &str) -> bool {
    let begins = name.starts_with(|letter: char| letter.is_ascii_alphabetic() || letter == '_');
    let is_word = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    let is_reserved = || RESERVED.split_whitespace().any(|word| word.eq_ignore_ascii_case(name));
    begins && is_word && !is_reserved()
}

//! Values within the text of a query.

use assay_model::{ColumnType, Datum, Decimal};

use super::Dialect;

/// `datum` as a column of type `kind` compares with it or holds it.
pub(super) fn literal(dialect: Dialect, datum: Datum<'_>, kind: ColumnType) -> String {
    match (dialect, datum) {
        // Written out, a double would be a decimal number to PostgreSQL.
        (Dialect::Postgres, Datum::Double(number)) => format!("'{number:?}'::double precision"),
        (Dialect::MySql | Dialect::Sqlite, Datum::Double(number)) => format!("{number:e}"),
        // MariaDB takes a backslash within quotes for the beginning of an escape, unless
        // configured otherwise.
        (Dialect::MySql, Datum::Text(_)) => datum.to_string().replace('\\', "\\\\"),
        (Dialect::Postgres, Datum::Bytes(_)) => {
            format!("{}::bytea", datum.to_string().replacen("X'", "'\\x", 1))
        }
        (Dialect::Sqlite, Datum::Timestamp(micros)) => micros.to_string(),
        (Dialect::Sqlite, Datum::Bool(truth)) => u8::from(truth).to_string(),
        (Dialect::Sqlite, Datum::Int(_) | Datum::Decimal(_)) => digits(datum, kind),
        _ => datum.to_string(),
    }
}

/// An exact number as the digits that a decimal column of SQLite holds.
fn digits(datum: Datum<'_>, kind: ColumnType) -> String {
    let ColumnType::Decimal { scale, .. } = kind else { return datum.to_string() };
    match datum.exact().and_then(|exact| exact.rescaled(scale)) {
        Some(Decimal { mantissa, .. }) => mantissa.to_string(),
        None => datum.to_string(),
    }
}

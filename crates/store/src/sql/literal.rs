//! Values within the text of a query.

use assay_model::datum::Moment;
use assay_model::{ColumnType, Datum, Decimal};

use super::Dialect;

/// `datum` as a column of type `kind` compares with it or holds it.
pub(super) fn literal(dialect: Dialect, datum: Datum<'_>, kind: ColumnType) -> String {
    match datum {
        Datum::Null => "NULL".into(),
        Datum::Int(_) | Datum::Decimal(_) => number(dialect, datum, kind),
        Datum::Double(number) => match dialect {
            // Written out, a double would be a decimal number to PostgreSQL.
            Dialect::Postgres => format!("'{number:?}'::double precision"),
            Dialect::MySql | Dialect::Sqlite => format!("{number:e}"),
        },
        Datum::Text(text) => quoted(dialect, text),
        Datum::Bytes(bytes) => hexadecimal(dialect, bytes),
        Datum::Timestamp(micros) => match dialect {
            Dialect::Postgres | Dialect::MySql => format!("TIMESTAMP '{}'", Moment(micros)),
            Dialect::Sqlite => micros.to_string(),
        },
        Datum::Bool(truth) => match dialect {
            Dialect::Postgres | Dialect::MySql => truth.to_string().to_uppercase(),
            Dialect::Sqlite => u8::from(truth).to_string(),
        },
    }
}

/// An exact number; in SQLite as the digits that a decimal column holds.
fn number(dialect: Dialect, datum: Datum<'_>, kind: ColumnType) -> String {
    let ColumnType::Decimal { scale, .. } = kind else { return datum.to_string() };
    match (dialect, datum.exact().and_then(|exact| exact.rescaled(scale))) {
        (Dialect::Sqlite, Some(Decimal { mantissa, .. })) => mantissa.to_string(),
        _ => datum.to_string(),
    }
}

/// MariaDB takes a backslash within quotes for the beginning of an escape, unless configured
/// otherwise.
fn quoted(dialect: Dialect, text: &str) -> String {
    let doubled = text.replace('\'', "''");
    match dialect {
        Dialect::Postgres | Dialect::Sqlite => format!("'{doubled}'"),
        Dialect::MySql => format!("'{}'", doubled.replace('\\', "\\\\")),
    }
}

fn hexadecimal(dialect: Dialect, bytes: &[u8]) -> String {
    let digits: String = bytes.iter().map(|byte| format!("{byte:02X}")).collect();
    match dialect {
        Dialect::Postgres => format!("'\\x{digits}'::bytea"),
        Dialect::MySql | Dialect::Sqlite => format!("X'{digits}'"),
    }
}

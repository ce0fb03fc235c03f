//! Values on their way to a PostgreSQL, rows on their way back, in its binary format.

use std::error::Error;

use assay_model::datum::SCALE_MAX;
use assay_model::{Datum, Decimal};
use bytes::BytesMut;
use tokio_postgres::types::{FromSql, IsNull, ToSql, Type, to_sql_checked};

use super::numeric;

/// An error that tokio-postgres passes through.
type Boxed = Box<dyn Error + Sync + Send>;

/// Microseconds from 1970-01-01 to 2000-01-01, where PostgreSQL counts from.
const EPOCH: i64 = 946_684_800_000_000;
const DAY: i64 = 86_400_000_000;

/// An argument, written as the column wants it that it meets.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bound<'a>(pub(super) Datum<'a>);

/// The value is none that a column of this type could have.
#[derive(Debug, thiserror::Error)]
#[error("{datum} is no value of type {kind}")]
struct WrongValue {
    datum: String,
    kind: String,
}

impl ToSql for Bound<'_> {
    fn to_sql(&self, kind: &Type, out: &mut BytesMut) -> Result<IsNull, Boxed> {
        if self.0.is_null() {
            return Ok(IsNull::Yes);
        }
        match write(self.0, kind, out) {
            Some(()) => Ok(IsNull::No),
            None => {
                let (datum, kind) = (self.0.to_string(), kind.to_string());
                Err(Box::new(WrongValue { datum, kind }))
            }
        }
    }

    fn accepts(_kind: &Type) -> bool {
        true
    }

    to_sql_checked!();
}

fn write(datum: Datum<'_>, kind: &Type, out: &mut BytesMut) -> Option<()> {
    match *kind {
        Type::INT2 => out.extend_from_slice(&i16::try_from(whole(datum)?).ok()?.to_be_bytes()),
        Type::INT4 => out.extend_from_slice(&i32::try_from(whole(datum)?).ok()?.to_be_bytes()),
        Type::INT8 => out.extend_from_slice(&whole(datum)?.to_be_bytes()),
        Type::NUMERIC => numeric::write(datum.exact()?, out),
        Type::FLOAT4 => out.extend_from_slice(&(double(datum)? as f32).to_be_bytes()),
        Type::FLOAT8 => out.extend_from_slice(&double(datum)?.to_be_bytes()),
        Type::TEXT | Type::VARCHAR | Type::BPCHAR => out.extend_from_slice(text(datum)?),
        Type::BYTEA => match datum {
            Datum::Bytes(bytes) => out.extend_from_slice(bytes),
            Datum::Text(text) => out.extend_from_slice(text.as_bytes()),
            _ => return None,
        },
        Type::TIMESTAMP | Type::TIMESTAMPTZ => {
            let micros = moment(datum)?.checked_sub(EPOCH)?;
            out.extend_from_slice(&micros.to_be_bytes());
        }
        Type::DATE => {
            let days = moment(datum)?.checked_sub(EPOCH)?.div_euclid(DAY);
            out.extend_from_slice(&i32::try_from(days).ok()?.to_be_bytes());
        }
        Type::BOOL => match datum {
            Datum::Bool(truth) => out.extend_from_slice(&[u8::from(truth)]),
            _ => return None,
        },
        _ => return None,
    }
    Some(())
}

/// The number, if it is a whole one.
fn whole(datum: Datum<'_>) -> Option<i64> {
    let exact = datum.exact()?;
    let rounded = exact.rescaled(0)?;
    (rounded.rescaled(exact.scale)? == exact).then_some(rounded.mantissa)
}

fn double(datum: Datum<'_>) -> Option<f64> {
    match datum {
        Datum::Double(number) => Some(number),
        _ => {
            let Decimal { mantissa, scale } = datum.exact()?;
            Some(mantissa as f64 / 10f64.powi(i32::from(scale)))
        }
    }
}

/// PostgreSQL's texts are UTF-8 without a zero.
fn text(datum: Datum<'_>) -> Option<&[u8]> {
    let bytes = match datum {
        Datum::Text(text) => text.as_bytes(),
        Datum::Bytes(bytes) => str::from_utf8(bytes).ok()?.as_bytes(),
        _ => return None,
    };
    (!bytes.contains(&0)).then_some(bytes)
}

fn moment(datum: Datum<'_>) -> Option<i64> {
    match datum {
        Datum::Timestamp(micros) => Some(micros),
        _ => None,
    }
}

/// One value of a row as it came: its bytes, or none.
pub(super) struct Raw<'a>(pub(super) Option<&'a [u8]>);

impl<'a> FromSql<'a> for Raw<'a> {
    fn from_sql(_kind: &Type, raw: &'a [u8]) -> Result<Raw<'a>, Boxed> {
        Ok(Raw(Some(raw)))
    }

    fn from_sql_null(_kind: &Type) -> Result<Raw<'a>, Boxed> {
        Ok(Raw(None))
    }

    fn accepts(_kind: &Type) -> bool {
        true
    }
}

/// The value that `raw` is, a value of a column of type `kind`; `None` if it is invalid, or is
/// of a type that no logical schema has.
pub(super) fn read<'a>(kind: &Type, raw: &Raw<'a>) -> Option<Datum<'a>> {
    let Some(bytes) = raw.0 else { return Some(Datum::Null) };
    Some(match *kind {
        Type::INT2 => Datum::Int(i16::from_be_bytes(bytes.try_into().ok()?).into()),
        Type::INT4 => Datum::Int(i32::from_be_bytes(bytes.try_into().ok()?).into()),
        Type::INT8 => Datum::Int(i64::from_be_bytes(bytes.try_into().ok()?)),
        Type::NUMERIC => Datum::Decimal(numeric::read(bytes, SCALE_MAX)?),
        Type::FLOAT4 => Datum::Double(f32::from_be_bytes(bytes.try_into().ok()?).into()),
        Type::FLOAT8 => Datum::Double(f64::from_be_bytes(bytes.try_into().ok()?)),
        Type::TEXT | Type::VARCHAR => Datum::Text(str::from_utf8(bytes).ok()?),
        // Blanks at the end of a padded column are no part of its value.
        Type::BPCHAR => Datum::Text(str::from_utf8(bytes).ok()?.trim_end_matches(' ')),
        Type::BYTEA => Datum::Bytes(bytes),
        Type::TIMESTAMP | Type::TIMESTAMPTZ => {
            let micros = i64::from_be_bytes(bytes.try_into().ok()?);
            Datum::Timestamp(micros.checked_add(EPOCH)?)
        }
        Type::DATE => {
            let days = i32::from_be_bytes(bytes.try_into().ok()?);
            Datum::Timestamp(i64::from(days) * DAY + EPOCH)
        }
        Type::BOOL => Datum::Bool(*bytes.first()? != 0),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(datum: Datum<'_>, kind: &Type) -> Option<Vec<u8>> {
        let mut out = BytesMut::new();
        match Bound(datum).to_sql(kind, &mut out) {
            Ok(IsNull::No) => Some(out.to_vec()),
            Ok(IsNull::Yes) => Some(b"NULL".to_vec()),
            Err(_) => None,
        }
    }

    /// Written to a column of type `kind` and read back.
    fn there_and_back(datum: Datum<'_>, kind: &Type) {
        let bytes = written(datum, kind).unwrap();
        assert_eq!(read(kind, &Raw(Some(&bytes))), Some(datum), "{kind}");
    }

    fn decimal(text: &str) -> Datum<'static> {
        Datum::Decimal(text.parse().unwrap())
    }

    #[test]
    fn every_type_comes_back_as_it_was_written() {
        there_and_back(Datum::Int(-2), &Type::INT2);
        there_and_back(Datum::Int(70_000), &Type::INT4);
        there_and_back(Datum::Int(i64::MIN), &Type::INT8);
        there_and_back(Datum::Double(0.1), &Type::FLOAT8);
        there_and_back(Datum::Double(0.5), &Type::FLOAT4);
        there_and_back(decimal("-1234567.89"), &Type::NUMERIC);
        there_and_back(Datum::Text("größe"), &Type::TEXT);
        there_and_back(Datum::Text(" x"), &Type::VARCHAR);
        there_and_back(Datum::Bytes(&[0, 255]), &Type::BYTEA);
        there_and_back(Datum::Timestamp(-1), &Type::TIMESTAMP);
        there_and_back(Datum::Timestamp(EPOCH + 3 * DAY), &Type::DATE);
        there_and_back(Datum::Bool(true), &Type::BOOL);
    }

    #[test]
    fn no_value_is_no_value_in_every_type() {
        for kind in [Type::INT4, Type::NUMERIC, Type::TEXT, Type::BOOL, Type::JSON] {
            assert_eq!(written(Datum::Null, &kind), Some(b"NULL".to_vec()));
            assert_eq!(read(&kind, &Raw(None)), Some(Datum::Null));
        }
    }

    #[test]
    fn whole_decimals_are_numbers_for_every_numeric_type() {
        assert_eq!(written(decimal("7.00"), &Type::INT2), Some(vec![0, 7]));
        assert_eq!(written(Datum::Int(7), &Type::FLOAT8), Some(7f64.to_be_bytes().to_vec()));
        assert_eq!(written(decimal("0.5"), &Type::FLOAT8), Some(0.5f64.to_be_bytes().to_vec()));
        let seven = written(Datum::Int(7), &Type::NUMERIC).unwrap();
        let read = read(&Type::NUMERIC, &Raw(Some(&seven)));
        assert_eq!(read, Some(decimal("7")));
    }

    #[test]
    fn values_that_do_not_fit_are_refused() {
        for (datum, kind) in [
            (Datum::Int(40_000), Type::INT2),
            (Datum::Int(1 << 40), Type::INT4),
            (decimal("0.5"), Type::INT8),
            (Datum::Text("7"), Type::INT8),
            (Datum::Double(0.5), Type::NUMERIC),
            (Datum::Text("a\0b"), Type::TEXT),
            (Datum::Bytes(&[255]), Type::VARCHAR),
            (Datum::Int(1), Type::BOOL),
            (Datum::Int(1), Type::TIMESTAMP),
            (Datum::Int(1), Type::BYTEA),
            (Datum::Text("{}"), Type::JSON),
        ] {
            assert_eq!(written(datum, &kind), None, "{datum} {kind}");
        }
    }

    #[test]
    fn padding_is_no_part_of_a_value() {
        assert_eq!(read(&Type::BPCHAR, &Raw(Some(b"GC  "))), Some(Datum::Text("GC")));
    }

    #[test]
    fn bytes_that_are_invalid_are_no_value() {
        assert_eq!(read(&Type::INT4, &Raw(Some(&[0, 0, 7]))), None);
        assert_eq!(read(&Type::TEXT, &Raw(Some(&[255]))), None);
        assert_eq!(read(&Type::JSON, &Raw(Some(b"{}"))), None);
    }
}

//! One typed value of a logical query: an argument, or a column of a row that came back.

use std::fmt;
use std::str::FromStr;

/// A value without a place. Borrows its text or bytes.
///
/// Two encodings exist: this module's, which is compact and self-describing, and the one that
/// `mapping` makes keys of, which keeps the order of values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Datum<'a> {
    /// No value.
    Null,
    /// A whole number.
    Int(i64),
    /// An exact decimal number.
    Decimal(Decimal),
    /// A binary floating-point number.
    Double(f64),
    /// Text.
    Text(&'a str),
    /// Bytes.
    Bytes(&'a [u8]),
    /// A moment in microseconds since 1970-01-01 00:00 UTC, without a time zone.
    Timestamp(i64),
    /// A truth value.
    Bool(bool),
}

/// `mantissa` × 10^-`scale`: `12.50` is 1250 with scale 2.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Decimal {
    /// All digits, with the sign.
    pub mantissa: i64,
    /// How many of them come after the point; at most [`SCALE_MAX`].
    pub scale: u8,
}

/// The most digits after the point: more do not fit into a mantissa of 64 bits.
pub const SCALE_MAX: u8 = 18;

const NULL: u8 = 0;
const INT: u8 = 1;
const DECIMAL: u8 = 2;
const DOUBLE: u8 = 3;
const TEXT: u8 = 4;
const BYTES: u8 = 5;
const TIMESTAMP: u8 = 6;
const BOOL: u8 = 7;

impl<'a> Datum<'a> {
    /// Appends the encoding: a tag, then the value in little-endian order, texts and bytes behind
    /// their length in 32 bits.
    ///
    /// # Panics
    /// If a text is longer than 4 GiB.
    pub fn encode(&self, into: &mut Vec<u8>) {
        match *self {
            Datum::Null => into.push(NULL),
            Datum::Int(number) => encode_number(INT, number, into),
            Datum::Timestamp(micros) => encode_number(TIMESTAMP, micros, into),
            Datum::Double(number) => encode_number(DOUBLE, number.to_bits() as i64, into),
            Datum::Decimal(decimal) => {
                encode_number(DECIMAL, decimal.mantissa, into);
                into.push(decimal.scale);
            }
            Datum::Text(text) => encode_bytes(TEXT, text.as_bytes(), into),
            Datum::Bytes(bytes) => encode_bytes(BYTES, bytes, into),
            Datum::Bool(truth) => into.extend([BOOL, u8::from(truth)]),
        }
    }

    /// The first value of `bytes` with what follows it; `None` if there is none, or it is damaged.
    pub fn decode(bytes: &'a [u8]) -> Option<(Datum<'a>, &'a [u8])> {
        let (&tag, rest) = bytes.split_first()?;
        match tag {
            NULL => Some((Datum::Null, rest)),
            BOOL => rest.split_first().map(|(&truth, rest)| (Datum::Bool(truth != 0), rest)),
            TEXT => {
                let (text, rest) = decode_bytes(rest)?;
                Some((Datum::Text(str::from_utf8(text).ok()?), rest))
            }
            BYTES => decode_bytes(rest).map(|(bytes, rest)| (Datum::Bytes(bytes), rest)),
            INT | TIMESTAMP | DOUBLE | DECIMAL => {
                let (number, rest) = rest.split_first_chunk::<8>()?;
                decode_number(tag, i64::from_le_bytes(*number), rest)
            }
            _ => None,
        }
    }

    /// Whether it is no value.
    pub fn is_null(&self) -> bool {
        matches!(self, Datum::Null)
    }

    /// The number as a decimal, if it is an exact one.
    pub fn exact(&self) -> Option<Decimal> {
        match *self {
            Datum::Int(mantissa) => Some(Decimal { mantissa, scale: 0 }),
            Datum::Decimal(decimal) => Some(decimal),
            _ => None,
        }
    }
}

fn encode_number(tag: u8, number: i64, into: &mut Vec<u8>) {
    into.push(tag);
    into.extend(number.to_le_bytes());
}

fn encode_bytes(tag: u8, bytes: &[u8], into: &mut Vec<u8>) {
    let length = u32::try_from(bytes.len()).expect("values are shorter than 4 GiB");
    into.push(tag);
    into.extend(length.to_le_bytes());
    into.extend_from_slice(bytes);
}

fn decode_bytes(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = bytes.split_first_chunk::<4>()?;
    rest.split_at_checked(u32::from_le_bytes(*length) as usize)
}

fn decode_number(tag: u8, number: i64, rest: &[u8]) -> Option<(Datum<'_>, &[u8])> {
    match tag {
        INT => Some((Datum::Int(number), rest)),
        TIMESTAMP => Some((Datum::Timestamp(number), rest)),
        DOUBLE => Some((Datum::Double(f64::from_bits(number as u64)), rest)),
        _ => {
            let (&scale, rest) = rest.split_first()?;
            (scale <= SCALE_MAX).then_some(())?;
            Some((Datum::Decimal(Decimal { mantissa: number, scale }), rest))
        }
    }
}

/// As SQL writes it, texts within single quotes.
impl fmt::Display for Datum<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Datum::Null => f.write_str("NULL"),
            Datum::Int(number) => write!(f, "{number}"),
            Datum::Decimal(decimal) => write!(f, "{decimal}"),
            Datum::Double(number) => write!(f, "{number}"),
            Datum::Text(text) => write!(f, "'{}'", text.replace('\'', "''")),
            Datum::Bytes(bytes) => {
                f.write_str("X'")?;
                bytes.iter().try_for_each(|byte| write!(f, "{byte:02X}"))?;
                f.write_str("'")
            }
            Datum::Timestamp(micros) => write!(f, "TIMESTAMP '{}'", Moment(micros)),
            Datum::Bool(truth) => f.write_str(if truth { "TRUE" } else { "FALSE" }),
        }
    }
}

/// Microseconds since 1970 as `2026-01-31 12:00:00`, with as many digits after the point as it
/// needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment(pub i64);

const SECOND: i64 = 1_000_000;
const DAY: i64 = 86_400 * SECOND;

impl Moment {
    /// The moment that `text` names, as [`Moment`] writes it; the time of day may be missing.
    pub fn parse(text: &str) -> Option<Moment> {
        let text = text.trim();
        let (date, time) = text.split_once([' ', 'T']).unwrap_or((text, "0:0:0"));
        let mut parts = date.splitn(3, '-').map(str::parse::<i64>);
        let (year, month, day) = (parts.next()?.ok()?, parts.next()?.ok()?, parts.next()?.ok()?);
        let is_date = (1..=9999).contains(&year) && (1..=12).contains(&month);
        (is_date && (1..=31).contains(&day)).then_some(())?;
        let mut parts = time.splitn(3, ':');
        let hour: i64 = parts.next()?.parse().ok()?;
        let minute: i64 = parts.next()?.parse().ok()?;
        let (whole, fraction) = parts.next()?.split_once('.').unwrap_or((time_end(time), ""));
        let second: i64 = whole.parse().ok()?;
        let is_time = (0..24).contains(&hour) && (0..60).contains(&minute);
        (is_time && (0..60).contains(&second) && fraction.len() <= 6).then_some(())?;
        let micros: i64 = format!("{fraction:0<6}").parse().ok()?;
        let clock = ((hour * 60 + minute) * 60 + second) * SECOND + micros;
        let moment = Moment(days(year, month, day) * DAY + clock);
        // A day that the month does not have comes back as another.
        moment.to_string().starts_with(&format!("{year:04}-{month:02}-{day:02}")).then_some(moment)
    }
}

fn time_end(time: &str) -> &str {
    time.rsplit(':').next().unwrap_or(time)
}

/// Days from 1970-01-01 to a date of the Gregorian calendar, after Howard Hinnant's
/// "chrono-compatible low-level date algorithms".
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = year - i64::from(month <= 2);
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

/// The inverse of [`days`]: year, month, day.
fn date(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let (era, of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (year + era * 400 + i64::from(month <= 2), month, day)
}

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (year, month, day) = date(self.0.div_euclid(DAY));
        let micros = self.0.rem_euclid(DAY);
        let seconds = micros / SECOND;
        let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
        write!(f, "{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}")?;
        match micros % SECOND {
            0 => Ok(()),
            fraction => write!(f, ".{}", format!("{fraction:06}").trim_end_matches('0')),
        }
    }
}

impl Decimal {
    /// The same number with `scale` digits after the point; digits that do not fit are rounded
    /// half away from zero. `None` if it does not fit into 64 bits.
    pub fn rescaled(self, scale: u8) -> Option<Decimal> {
        let mantissa = match scale.cmp(&self.scale) {
            std::cmp::Ordering::Equal => self.mantissa,
            std::cmp::Ordering::Greater => self.mantissa.checked_mul(power(scale - self.scale)?)?,
            std::cmp::Ordering::Less => {
                let divisor = power(self.scale - scale)?;
                let rest = self.mantissa % divisor;
                let away = i64::from(2 * rest.unsigned_abs() >= divisor.unsigned_abs());
                self.mantissa / divisor + away * rest.signum()
            }
        };
        Some(Decimal { mantissa, scale })
    }

    /// The sum, at the finer of the two scales; `None` if it does not fit into 64 bits.
    pub fn plus(self, other: Decimal) -> Option<Decimal> {
        let scale = self.scale.max(other.scale);
        let (left, right) = (self.rescaled(scale)?, other.rescaled(scale)?);
        Some(Decimal { mantissa: left.mantissa.checked_add(right.mantissa)?, scale })
    }

    /// The product with a whole number; `None` if it does not fit into 64 bits.
    pub fn times(self, factor: i64) -> Option<Decimal> {
        Some(Decimal { mantissa: self.mantissa.checked_mul(factor)?, scale: self.scale })
    }
}

fn power(digits: u8) -> Option<i64> {
    10i64.checked_pow(u32::from(digits))
}

/// By value: 1.5 and 1.50 are equal here, although their parts differ.
impl PartialOrd for Decimal {
    fn partial_cmp(&self, other: &Decimal) -> Option<std::cmp::Ordering> {
        let left = i128::from(self.mantissa) * 10i128.pow(u32::from(other.scale));
        let right = i128::from(other.mantissa) * 10i128.pow(u32::from(self.scale));
        Some(left.cmp(&right))
    }
}

impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.mantissa < 0 { "-" } else { "" };
        let digits = self.mantissa.unsigned_abs();
        if self.scale == 0 {
            return write!(f, "{sign}{digits}");
        }
        let unit = 10u64.pow(u32::from(self.scale));
        let places = usize::from(self.scale);
        write!(f, "{sign}{}.{:0places$}", digits / unit, digits % unit)
    }
}

/// The text is no decimal number of at most 18 digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("it is no decimal number of at most 18 digits")]
pub struct NoDecimal;

impl FromStr for Decimal {
    type Err = NoDecimal;

    fn from_str(text: &str) -> Result<Decimal, NoDecimal> {
        let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
        let unsigned = whole.strip_prefix(['-', '+']).unwrap_or(whole);
        let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
        if unsigned.is_empty() && fraction.is_empty() || !digits(unsigned) || !digits(fraction) {
            return Err(NoDecimal);
        }
        let scale = u8::try_from(fraction.len()).map_err(|_| NoDecimal)?;
        if scale > SCALE_MAX {
            return Err(NoDecimal);
        }
        let mantissa = format!("{whole}{fraction}").parse().map_err(|_| NoDecimal)?;
        Ok(Decimal { mantissa, scale })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decimal(text: &str) -> Decimal {
        text.parse().unwrap()
    }

    #[test]
    fn every_datum_comes_back_from_its_encoding() {
        let all = [
            Datum::Null,
            Datum::Int(-7),
            Datum::Decimal(decimal("-12.50")),
            Datum::Double(0.1),
            Datum::Text("it's: \"so\"; ä"),
            Datum::Bytes(&[0, 255]),
            Datum::Timestamp(-1),
            Datum::Bool(true),
        ];
        let mut bytes = Vec::new();
        all.iter().for_each(|datum| datum.encode(&mut bytes));
        let mut rest = &bytes[..];
        for datum in all {
            let (found, behind) = Datum::decode(rest).unwrap();
            assert_eq!(found, datum);
            rest = behind;
        }
        assert_eq!(Datum::decode(rest), None);
    }

    #[test]
    fn a_cut_encoding_is_no_datum() {
        let mut bytes = Vec::new();
        Datum::Text("abc").encode(&mut bytes);
        for length in 0..bytes.len() {
            assert_eq!(Datum::decode(&bytes[..length]), None, "{length}");
        }
    }

    #[test]
    fn decimals_are_read_and_written_and_rounded_half_away_from_zero() {
        for text in ["0", "-0.05", "12.50", "-3", "0.000"] {
            assert_eq!(decimal(text).to_string(), text);
        }
        assert_eq!(decimal("1.25").rescaled(1), Some(decimal("1.3")));
        assert_eq!(decimal("-1.25").rescaled(1), Some(decimal("-1.3")));
        assert_eq!(decimal("1.24").rescaled(1), Some(decimal("1.2")));
        assert_eq!(decimal("1.5").plus(decimal("-0.25")), Some(decimal("1.25")));
        assert!(decimal("1.5") < decimal("1.51"));
        for text in ["", ".", "1.2.3", "1e3", "99999999999999999999", "0.0000000000000000001"] {
            assert_eq!(text.parse::<Decimal>(), Err(NoDecimal), "{text}");
        }
    }

    #[test]
    fn moments_are_read_as_they_are_written() {
        for text in ["1970-01-01 00:00:00", "2024-02-29 23:59:59.5", "1899-12-31 00:00:00.000001"] {
            assert_eq!(Moment::parse(text).unwrap().to_string(), text);
        }
        assert_eq!(Moment::parse("1970-01-02"), Some(Moment(DAY)));
        assert_eq!(Moment::parse("1970-01-01T00:00:01"), Some(Moment(SECOND)));
        for text in ["2023-02-29", "2024-13-01", "2024-01-01 24:00:00", "noon", "2024-01-01 1:2"] {
            assert_eq!(Moment::parse(text), None, "{text}");
        }
    }
}

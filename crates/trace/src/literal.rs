//! Arguments as text: SQL's literals, one after another with semicolons between them.

use assay_model::datum::Moment;
use assay_model::{
    Argument, Arguments, ColumnType, Datum, Decimal, Pick, Taken, Wrap, datum::NoDecimal,
};

/// What keeps arguments apart.
const SEPARATOR: char = ';';

/// How an argument that follows from an answer begins.
const TAKEN: &str = "TAKEN(";

/// The pieces of `text` between semicolons, blanks around them cut off.
///
/// A piece that begins with a quote, alone or behind `X`, `DATE` or `TIMESTAMP`, ends where the
/// quote does; a semicolon within belongs to it.
///
/// # Errors
/// If a quote is never closed, or something comes behind it.
pub fn pieces(text: &str) -> Result<Vec<&str>, String> {
    let mut pieces = Vec::new();
    let mut rest = text;
    loop {
        let begin = rest.trim_start();
        let end = match quote_place(begin) {
            Some(place) => quoted_end(begin, place)?,
            None => begin.find(SEPARATOR).unwrap_or(begin.len()),
        };
        let (piece, behind) = begin.split_at(end);
        pieces.push(piece.trim_end());
        match behind.trim_start().strip_prefix(SEPARATOR) {
            Some(next) => rest = next,
            None if behind.trim().is_empty() => return Ok(pieces),
            None => return Err(format!("{:?} comes behind a closing quote", behind.trim())),
        }
    }
}

/// Where the quote is that `piece` begins with.
fn quote_place(piece: &str) -> Option<usize> {
    let place = piece.find('\'')?;
    let before = piece[..place].trim_end();
    let known = ["", "X", "DATE", "TIMESTAMP"];
    known.iter().any(|word| before.eq_ignore_ascii_case(word)).then_some(place)
}

/// The end of the quoted piece whose quote is at `place`; a doubled quote is one within.
fn quoted_end(text: &str, place: usize) -> Result<usize, String> {
    let mut at = place + 1;
    loop {
        let Some(found) = text[at..].find('\'') else {
            return Err(format!("the quote of {:?} is never closed", shortened(text)));
        };
        at += found + 1;
        match text[at..].strip_prefix('\'') {
            Some(_) => at += 1,
            None => return Ok(at),
        }
    }
}

fn shortened(text: &str) -> String {
    text.chars().take(40).collect()
}

/// Appends the encoded value that `piece` writes, for a column of `kind` if that is known.
///
/// Without a column the way it is written decides: `'…'` is text, `X'…'` bytes, `DATE '…'` or
/// `TIMESTAMP '…'` a moment, digits a whole number, with a point a decimal, with an exponent a
/// floating-point number, `NULL`, `TRUE`, `FALSE` what they say; anything else is text as it
/// stands. A column takes what is written in its own way, with quotes or without.
///
/// # Errors
/// If the column cannot hold it, or no value can be so long.
pub fn encode(piece: &str, kind: Option<ColumnType>, into: &mut Vec<u8>) -> Result<(), String> {
    if piece.eq_ignore_ascii_case("NULL") {
        Datum::Null.encode(into);
        return Ok(());
    }
    let Some(kind) = kind else { return encode_as_written(piece, into) };
    let quote = quote_place(piece);
    let text = match quote {
        Some(place) => unquoted(piece, place),
        None => piece.to_owned(),
    };
    let wrong = |what: &str| format!("{piece} is no {what}, which its column holds");
    let datum = match kind {
        ColumnType::Text { .. } => Datum::Text(&text),
        ColumnType::Bytes => {
            let bytes = match quote {
                Some(1) => hexadecimal(&text).ok_or_else(|| wrong("bytes in hexadecimal"))?,
                _ => text.into_bytes(),
            };
            Datum::Bytes(&bytes).encode(into);
            return Ok(());
        }
        ColumnType::Integer { .. } => {
            Datum::Int(text.parse().map_err(|_| wrong("whole number of 64 bits"))?)
        }
        ColumnType::Decimal { .. } => Datum::Decimal(
            text.parse().map_err(|_: NoDecimal| wrong("decimal number of at most 18 digits"))?,
        ),
        ColumnType::Double => Datum::Double(text.parse().map_err(|_| wrong("number"))?),
        ColumnType::Timestamp => {
            let moment = Moment::parse(&text);
            Datum::Timestamp(moment.ok_or_else(|| wrong("moment such as 2026-01-31 12:00:00"))?.0)
        }
        ColumnType::Boolean => match text.to_ascii_lowercase().as_str() {
            "true" | "1" => Datum::Bool(true),
            "false" | "0" => Datum::Bool(false),
            _ => return Err(wrong("truth value")),
        },
    };
    datum.encode(into);
    Ok(())
}

fn encode_as_written(piece: &str, into: &mut Vec<u8>) -> Result<(), String> {
    if let Some(place) = quote_place(piece) {
        return encode_quoted(piece, place, into);
    }
    let digits = piece.strip_prefix(['-', '+']).unwrap_or(piece);
    let is_number = digits.starts_with(|first: char| first.is_ascii_digit() || first == '.')
        && digits.bytes().all(|byte| byte.is_ascii_digit() || b".eE+-".contains(&byte));
    let datum = match piece.to_ascii_uppercase().as_str() {
        "TRUE" => Datum::Bool(true),
        "FALSE" => Datum::Bool(false),
        _ if !is_number => Datum::Text(piece),
        _ => match (piece.parse::<i64>(), piece.parse::<Decimal>(), piece.parse::<f64>()) {
            (Ok(number), _, _) => Datum::Int(number),
            (_, Ok(decimal), _) => Datum::Decimal(decimal),
            (_, _, Ok(number)) if piece.contains(['e', 'E']) => Datum::Double(number),
            (_, _, Ok(_)) => return Err(format!("{piece} has more than 18 digits")),
            // 2026-01-31, 192.168.0.1: text that begins with a digit.
            _ => Datum::Text(piece),
        },
    };
    datum.encode(into);
    Ok(())
}

fn encode_quoted(piece: &str, place: usize, into: &mut Vec<u8>) -> Result<(), String> {
    let text = unquoted(piece, place);
    match piece[..place].trim_end().to_ascii_uppercase().as_str() {
        "" => Datum::Text(&text).encode(into),
        "X" => {
            let bytes = hexadecimal(&text);
            let bytes = bytes.ok_or_else(|| format!("{piece} is not hexadecimal"))?;
            Datum::Bytes(&bytes).encode(into);
        }
        _ => {
            let moment = Moment::parse(&text);
            let moment = moment.ok_or_else(|| format!("{piece} is no moment"))?;
            Datum::Timestamp(moment.0).encode(into);
        }
    }
    Ok(())
}

/// The text between the quote at `place` and the end of `piece`.
fn unquoted(piece: &str, place: usize) -> String {
    piece[place + 1..].strip_suffix('\'').unwrap_or_default().replace("''", "'")
}

fn hexadecimal(text: &str) -> Option<Vec<u8>> {
    let bytes = text.as_bytes();
    let is_hexadecimal = bytes.len().is_multiple_of(2) && bytes.iter().all(u8::is_ascii_hexdigit);
    let byte = |pair: &[u8]| u8::from_str_radix(str::from_utf8(pair).ok()?, 16).ok();
    is_hexadecimal.then(|| bytes.chunks(2).map_while(byte).collect())
}

/// `datum` as [`encode`] reads it without knowing its column.
pub fn show(datum: Datum<'_>) -> String {
    match datum {
        Datum::Double(number) => format!("{number:E}"),
        Datum::Decimal(Decimal { mantissa, scale: 0 }) => format!("{mantissa}."),
        // Midnight needs no time of day, and then no colon, which other readers stumble over.
        Datum::Timestamp(micros) => {
            let text = Moment(micros).to_string();
            match text.strip_suffix(" 00:00:00") {
                Some(date) => format!("DATE '{date}'"),
                None => format!("TIMESTAMP '{text}'"),
            }
        }
        other => other.to_string(),
    }
}

/// The arguments of the operation at `place`, with semicolons between them.
pub(crate) fn show_arguments(arguments: &Arguments, place: usize) -> String {
    let displayed: Vec<String> = arguments
        .of(place)
        .map(|argument| match argument {
            Argument::Given(datum) => show(datum),
            Argument::Taken(taken) => show_taken(&taken),
        })
        .collect();
    displayed.join(";")
}

fn show_taken(taken: &Taken) -> String {
    let Taken { operation, column, pick, times, plus, wrap } = taken;
    let wrap = wrap.map_or_else(String::new, |Wrap { below, by }| format!(",{below},{by}"));
    format!("{TAKEN}{operation},{column},{},{times},{plus}{wrap})", *pick as u8)
}

/// Adds the arguments that `text` shows to `into`, as those of one more operation.
///
/// # Errors
/// If something in it is no argument.
pub(crate) fn read_arguments(text: &str, into: &mut Arguments) -> Result<(), String> {
    let mut encoded = Vec::new();
    let pieces = if text.is_empty() { Vec::new() } else { pieces(text)? };
    for piece in pieces {
        if let Some(taken) = piece.strip_prefix(TAKEN) {
            let taken = read_taken(taken).ok_or_else(|| format!("{piece} is no argument"))?;
            into.push(Argument::Taken(taken));
            continue;
        }
        encoded.clear();
        encode(piece, None, &mut encoded)?;
        let (datum, _) = Datum::decode(&encoded).expect("it has just been encoded");
        into.push(Argument::Given(datum));
    }
    into.end_operation();
    Ok(())
}

fn read_taken(text: &str) -> Option<Taken> {
    let numbers: Option<Vec<i64>> =
        text.strip_suffix(')')?.split(',').map(|number| number.parse().ok()).collect();
    let (taken, wrap) = match numbers?[..] {
        [operation, column, pick, times, plus] => ([operation, column, pick, times, plus], None),
        [operation, column, pick, times, plus, below, by] => {
            ([operation, column, pick, times, plus], Some(Wrap { below, by }))
        }
        _ => return None,
    };
    let [operation, column, pick, times, plus] = taken;
    Some(Taken {
        operation: operation.try_into().ok()?,
        column: column.try_into().ok()?,
        pick: *Pick::ALL.get(usize::try_from(pick).ok()?)?,
        times,
        plus,
        wrap,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(piece: &str, kind: Option<ColumnType>) -> Result<String, String> {
        let mut bytes = Vec::new();
        encode(piece, kind, &mut bytes)?;
        Ok(format!("{:?}", Datum::decode(&bytes).unwrap().0))
    }

    #[test]
    fn a_value_is_what_it_is_written_as() {
        let written = [
            ("NULL", "Null"),
            ("null", "Null"),
            ("'NULL'", "Text(\"NULL\")"),
            ("-12", "Int(-12)"),
            ("1.50", "Decimal(Decimal { mantissa: 150, scale: 2 })"),
            ("7.", "Decimal(Decimal { mantissa: 7, scale: 0 })"),
            ("1.5E0", "Double(1.5)"),
            ("true", "Bool(true)"),
            ("'it''s: \"so\"; ?'", "Text(\"it's: \\\"so\\\"; ?\")"),
            ("X'00fF'", "Bytes([0, 255])"),
            ("DATE '1970-01-02'", "Timestamp(86400000000)"),
            ("timestamp'1970-01-01 00:00:01'", "Timestamp(1000000)"),
            ("plain text", "Text(\"plain text\")"),
            ("2026-01-31", "Text(\"2026-01-31\")"),
            ("it's", "Text(\"it's\")"),
            ("-", "Text(\"-\")"),
        ];
        for (piece, datum) in written {
            assert_eq!(read(piece, None).unwrap(), datum, "{piece}");
        }
        let error = read("99999999999999999999", None).unwrap_err();
        assert_eq!(error, "99999999999999999999 has more than 18 digits");
        assert_eq!(read("X'0'", None).unwrap_err(), "X'0' is not hexadecimal");
    }

    #[test]
    fn a_column_takes_a_value_as_its_own() {
        let text = ColumnType::Text { length: None, is_padded: false };
        let integer = ColumnType::Integer { bits: 32 };
        let decimal = ColumnType::Decimal { precision: 6, scale: 2 };
        let written = [
            ("12", text, "Text(\"12\")"),
            ("'12'", text, "Text(\"12\")"),
            ("NULL", integer, "Null"),
            ("'12'", integer, "Int(12)"),
            ("12", decimal, "Decimal(Decimal { mantissa: 12, scale: 0 })"),
            ("12", ColumnType::Double, "Double(12.0)"),
            ("2026-01-31", ColumnType::Timestamp, "Timestamp(1769817600000000)"),
            ("'2026-01-31 00:00:00'", ColumnType::Timestamp, "Timestamp(1769817600000000)"),
            ("1", ColumnType::Boolean, "Bool(true)"),
            ("X'00'", ColumnType::Bytes, "Bytes([0])"),
            ("'a'", ColumnType::Bytes, "Bytes([97])"),
        ];
        for (piece, kind, datum) in written {
            assert_eq!(read(piece, Some(kind)).unwrap(), datum, "{piece}");
        }
        let error = read("'a'", Some(integer)).unwrap_err();
        assert_eq!(error, "'a' is no whole number of 64 bits, which its column holds");
    }

    #[test]
    fn semicolons_within_quotes_belong_to_the_value() {
        assert_eq!(pieces("1; 'a;b''c;' ;X'00'; ").unwrap(), ["1", "'a;b''c;'", "X'00'", ""]);
        assert_eq!(pieces("it's;fine").unwrap(), ["it's", "fine"]);
        assert_eq!(pieces("'a' b;c").unwrap_err(), "\"b;c\" comes behind a closing quote");
        assert_eq!(pieces("1;'a''").unwrap_err(), "the quote of \"'a''\" is never closed");
    }

    #[test]
    fn arguments_come_back_from_their_text() {
        let wrapped = Taken { wrap: Some(Wrap { below: 10, by: 91 }), ..Taken::first(1, 2) };
        let mut arguments = Arguments::default();
        for datum in [
            Datum::Null,
            Datum::Int(-3),
            Datum::Decimal(Decimal { mantissa: 5, scale: 0 }),
            Datum::Decimal(Decimal { mantissa: -5, scale: 3 }),
            Datum::Double(0.1),
            Datum::Double(-1e300),
            Datum::Text("NULL; it's"),
            Datum::Text(""),
            Datum::Bytes(&[1, 255]),
            Datum::Timestamp(0),
            Datum::Timestamp(1),
            Datum::Bool(false),
        ] {
            arguments.push(datum.into());
        }
        arguments.push(Taken { pick: Pick::Middle, plus: -1, ..wrapped }.into());
        arguments.push(Taken::first(0, 0).into());
        arguments.end_operation();
        arguments.end_operation();
        let mut found = Arguments::default();
        for place in 0..2 {
            read_arguments(&show_arguments(&arguments, place), &mut found).unwrap();
        }
        assert_eq!(found, arguments);
        assert_eq!(show_arguments(&found, 0).rsplit(';').next(), Some("TAKEN(0,0,0,1,0)"));
        assert_eq!(read_arguments("TAKEN(1)", &mut found).unwrap_err(), "TAKEN(1) is no argument");
    }
}

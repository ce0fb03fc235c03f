//! Prescriptions: as columns of a row, and as lines of a packed list.
//!
//! A packed list has a line for each creation, `id|patient|prescriber|pharmacy|date|date of
//! processing|drugs|processed`, and for each change: `id|!date` if it was processed, `id|+,drugs`
//! if drugs were added. In texts a backslash stands before what would end a column or line.

use assay_model::Datum;

use crate::gateway::QueryRows;

/// A prescription as it is stored.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Prescription {
    pub(crate) id: i64,
    pub(crate) patient: i64,
    pub(crate) prescriber: i64,
    pub(crate) pharmacy: i64,
    pub(crate) date_prescribed: String,
    pub(crate) date_processed: String,
    /// Names, a comma between them.
    pub(crate) drugs: String,
    pub(crate) is_processed: bool,
}

/// The date of processing of a prescription that was not processed.
pub(crate) const NOT_PROCESSED: &str = "undefined";

/// A whole number; a store may give it as a decimal.
pub(crate) fn number(datum: Datum<'_>) -> Option<i64> {
    datum.exact().and_then(|decimal| decimal.rescaled(0)).map(|decimal| decimal.mantissa)
}

/// A text; a store may give it as bytes.
pub(crate) fn text(datum: Datum<'_>) -> Option<&str> {
    match datum {
        Datum::Text(text) => Some(text),
        Datum::Bytes(bytes) => str::from_utf8(bytes).ok(),
        _ => None,
    }
}

impl Prescription {
    /// How many columns it has.
    pub(crate) const COLUMNS: usize = 8;

    /// From the next columns of a row; `None` if they are no prescription.
    pub(crate) fn take<'a>(columns: &mut impl Iterator<Item = Datum<'a>>) -> Option<Prescription> {
        let mut number_of = || number(columns.next()?);
        let (id, patient) = (number_of()?, number_of()?);
        let (prescriber, pharmacy) = (number_of()?, number_of()?);
        let mut text_of = || text(columns.next()?).map(str::to_owned);
        let (date_prescribed, date_processed, drugs) = (text_of()?, text_of()?, text_of()?);
        let is_processed = number(columns.next()?)? != 0;
        Some(Prescription {
            id,
            patient,
            prescriber,
            pharmacy,
            date_prescribed,
            date_processed,
            drugs,
            is_processed,
        })
    }

    /// All of an answer; `None` if a row is none.
    pub(crate) fn all(rows: &QueryRows) -> Option<Vec<Prescription>> {
        let mut columns = rows.columns();
        (0..rows.count).map(|_| Prescription::take(&mut columns)).collect()
    }

    /// The line that puts it into a packed list.
    pub(crate) fn line(&self) -> String {
        let Prescription { id, patient, prescriber, pharmacy, .. } = self;
        let mut line = format!("{id}|{patient}|{prescriber}|{pharmacy}|");
        for text in [&self.date_prescribed, &self.date_processed, &self.drugs] {
            escape(text, &mut line);
            line.push('|');
        }
        line.push_str(if self.is_processed { "1\n" } else { "0\n" });
        line
    }
}

/// The line that notes in a packed list that a prescription was processed.
pub(crate) fn processed_line(id: i64, date: &str) -> String {
    let mut line = format!("{id}|!");
    escape(date, &mut line);
    line + "\n"
}

/// The line that notes in a packed list that drugs were added, which begin with a comma.
pub(crate) fn added_line(id: i64, drugs: &str) -> String {
    let mut line = format!("{id}|+");
    escape(drugs, &mut line);
    line + "\n"
}

fn escape(text: &str, into: &mut String) {
    for letter in text.chars() {
        match letter {
            '\\' => into.push_str("\\\\"),
            '|' => into.push_str("\\p"),
            '\n' => into.push_str("\\n"),
            other => into.push(other),
        }
    }
}

fn plain(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => match letters.next() {
                Some('p') => plain.push('|'),
                Some('n') => plain.push('\n'),
                Some(other) => plain.push(other),
                None => {}
            },
            other => plain.push(other),
        }
    }
    plain
}

/// The prescriptions of a packed list, the oldest first; `None` if it is none. A change of what the
/// list does not have is left out: two writers may have come in another order.
pub(crate) fn unpack(list: &str) -> Option<Vec<Prescription>> {
    let mut all: Vec<Prescription> = Vec::new();
    for line in list.split_terminator('\n') {
        let (id, rest) = line.split_once('|')?;
        let id: i64 = id.parse().ok()?;
        let known = all.iter_mut().find(|one| one.id == id);
        match (rest.as_bytes().first(), known) {
            (Some(b'!'), Some(known)) => {
                known.is_processed = true;
                known.date_processed = plain(&rest[1..]);
            }
            (Some(b'+'), Some(known)) => known.drugs.push_str(&plain(&rest[1..])),
            (Some(b'!' | b'+'), None) => {}
            _ => all.push(created(id, rest)?),
        }
    }
    Some(all)
}

fn created(id: i64, columns: &str) -> Option<Prescription> {
    let mut columns = columns.split('|');
    let mut number_of = || columns.next()?.parse::<i64>().ok();
    let (patient, prescriber, pharmacy) = (number_of()?, number_of()?, number_of()?);
    let mut text_of = || columns.next().map(plain);
    Some(Prescription {
        id,
        patient,
        prescriber,
        pharmacy,
        date_prescribed: text_of()?,
        date_processed: text_of()?,
        drugs: text_of()?,
        is_processed: text_of()? == "1",
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packed_list_gives_back_what_was_written() {
        let first = Prescription {
            id: 4,
            patient: 1,
            prescriber: 2,
            pharmacy: 3,
            date_prescribed: "a|b\\c".into(),
            date_processed: NOT_PROCESSED.into(),
            drugs: "x\ny,z;".into(),
            is_processed: false,
        };
        let second = Prescription { id: 5, ..first.clone() };
        let list = first.line()
            + &second.line()
            + &added_line(4, ",|q")
            + &processed_line(5, "2020\n")
            + &processed_line(9, "not here");
        let changed = Prescription { drugs: "x\ny,z;,|q".into(), ..first };
        let processed =
            Prescription { date_processed: "2020\n".into(), is_processed: true, ..second };
        assert_eq!(unpack(&list).unwrap(), [changed, processed]);
        assert_eq!(unpack("").unwrap(), []);
    }

    #[test]
    fn what_is_no_packed_list_is_found_out() {
        for list in ["x", "a|1", "1|2|3", "1|2|3|4|d|u|drugs"] {
            assert_eq!(unpack(list), None, "{list}");
        }
    }
}

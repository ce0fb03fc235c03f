//! Arguments of a process of queries, with the rows that they are taken from.

use std::ops::Range;

use assay_model::{Argument, Arguments, Datum, Decimal, Pick, Taken};
use assay_store::Rows;

/// The arguments of one process with those answers that later arguments are taken from.
#[derive(Debug, Default)]
pub(super) struct Script {
    pub arguments: Arguments,
    kept: Vec<Kept>,
    /// How many of `kept` belong to the process; the others wait to be used again.
    used: usize,
}

/// The rows that one operation returned.
#[derive(Debug, Default)]
struct Kept {
    place: usize,
    rows: u32,
    /// The values row by row, each an encoded datum.
    bytes: Vec<u8>,
    spans: Vec<Range<u32>>,
}

impl Script {
    /// Forgets the answers of the process before.
    pub fn begin(&mut self) {
        self.used = 0;
    }

    /// Whether a later operation takes from the answer to the one at `place`.
    pub fn wants(&self, place: usize) -> bool {
        self.arguments.is_source(place)
    }

    /// Keeps the answer to the operation at `place`.
    pub fn keep(&mut self, place: usize, rows: &Rows<'_>) {
        if self.used == self.kept.len() {
            self.kept.push(Kept::default());
        }
        let kept = &mut self.kept[self.used];
        self.used += 1;
        kept.place = place;
        kept.rows = rows.count();
        kept.bytes.clear();
        kept.spans.clear();
        rows.each(|field| {
            let begin = kept.bytes.len() as u32;
            kept.bytes.extend_from_slice(field.value);
            kept.spans.push(begin..kept.bytes.len() as u32);
        });
    }

    /// Appends the values of the arguments of the operation at `place`.
    pub fn parameters(&self, place: usize, into: &mut Vec<u8>) {
        for argument in self.arguments.of(place) {
            match argument {
                Argument::Given(datum) => datum.encode(into),
                Argument::Taken(taken) => taken.apply(self.take(&taken)).encode(into),
            }
        }
    }

    /// The value that `taken` picks; [`Datum::Null`] if there is none.
    fn take(&self, taken: &Taken) -> Datum<'_> {
        let place = usize::from(taken.operation);
        let kept = self.kept[..self.used].iter().find(|kept| kept.place == place);
        let Some(kept) = kept.filter(|kept| kept.rows > 0) else { return Datum::Null };
        let last = kept.rows as usize - 1;
        match taken.pick {
            Pick::First => kept.value(0, taken.column),
            Pick::Last => kept.value(last, taken.column),
            // Row n/2 rounded up, counted from 1, of n = last + 1 rows.
            Pick::Middle => kept.value(last / 2, taken.column),
            Pick::Sum => kept.sum(taken.column),
        }
    }
}

impl Kept {
    fn value(&self, row: usize, column: u16) -> Datum<'_> {
        let width = self.spans.len() / self.rows as usize;
        let column = usize::from(column);
        if column >= width {
            return Datum::Null;
        }
        let span = &self.spans[row * width + column];
        let bytes = &self.bytes[span.start as usize..span.end as usize];
        Datum::decode(bytes).map_or(Datum::Null, |(datum, _)| datum)
    }

    fn sum(&self, column: u16) -> Datum<'static> {
        let rows = 0..self.rows as usize;
        let numbers = rows.filter_map(|row| self.value(row, column).exact());
        let sum = numbers.map(Some).reduce(|sum, number| sum?.plus(number?)).flatten();
        match sum {
            Some(Decimal { mantissa, scale: 0 }) => Datum::Int(mantissa),
            Some(decimal) => Datum::Decimal(decimal),
            None => Datum::Null,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_model::Parameters;
    use assay_store::answer::{encode_field, encode_row};

    /// A script whose second operation has one argument, taken from the first one's `answer`.
    fn taken(taken: Taken, answer: &[&[Datum<'_>]]) -> String {
        let mut script = Script::default();
        script.begin();
        script.arguments.end_operation();
        script.arguments.push(Argument::Taken(taken));
        script.arguments.end_operation();
        let mut rows = Vec::new();
        for row in answer {
            encode_row(row.len() as u16, &mut rows);
            for datum in *row {
                let mut value = Vec::new();
                datum.encode(&mut value);
                encode_field(b"", &value, &mut rows);
            }
        }
        assert!(script.wants(0) && !script.wants(1));
        script.keep(0, &Rows::Encoded(&rows));
        let mut parameters = Vec::new();
        script.parameters(1, &mut parameters);
        let values: Vec<String> =
            Parameters::new(&parameters).iter().map(|datum| datum.to_string()).collect();
        values.join(" ")
    }

    #[test]
    fn an_argument_is_taken_from_the_row_that_is_named() {
        let numbers: Vec<[Datum<'_>; 2]> =
            (1..=5).map(|n| [Datum::Text("x"), Datum::Int(n)]).collect();
        let of = |pick, rows: usize| {
            let rows: Vec<&[Datum<'_>]> = numbers[..rows].iter().map(|row| &row[..]).collect();
            taken(Taken { pick, ..Taken::first(0, 1) }, &rows)
        };
        assert_eq!([of(Pick::First, 5), of(Pick::Last, 5)], ["1", "5"]);
        assert_eq!([1, 2, 3, 4, 5].map(|n| of(Pick::Middle, n)), ["1", "1", "2", "2", "3"]);
        assert_eq!(of(Pick::Sum, 4), "10");
    }

    #[test]
    fn a_taken_value_without_a_row_is_null() {
        assert_eq!(taken(Taken::first(0, 0), &[]), "NULL");
        assert_eq!(taken(Taken::first(0, 7), &[&[Datum::Int(1)]]), "NULL");
        assert_eq!(
            taken(Taken { pick: Pick::Sum, ..Taken::first(0, 0) }, &[&[Datum::Null]]),
            "NULL"
        );
    }

    #[test]
    fn a_taken_number_is_changed_as_the_plan_says() {
        let price = Datum::Decimal("2.50".parse().unwrap());
        let amount = Taken { times: 3, ..Taken::first(0, 0) };
        assert_eq!(taken(amount, &[&[price]]), "7.50");
    }
}

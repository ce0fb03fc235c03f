//! Observed values: the numbers in the rows, or the arguments, of a query that is judged.

use assay_model::observed::OWNER_ARGUMENTS;
use assay_model::{Datum, ObservedValue, Operation, Parameters, QueryRole};
use assay_store::Rows;

/// Gives the values in `rows`, the answer to `operation`, to `keep` in their order.
pub(super) fn observe(
    role: QueryRole,
    operation: &Operation,
    rows: &Rows<'_>,
    keep: &mut dyn FnMut(ObservedValue),
) {
    let (mut item, mut row) = (0, None);
    let mut give = |value| {
        keep(ObservedValue { index: operation.index, item, key: operation.key, value });
        item += 1;
    };
    rows.each(|field| {
        // Only the first column of each row is of interest.
        if row.replace(field.row) == Some(field.row) {
            return;
        }
        let datum = Datum::decode(field.value).map_or(Datum::Null, |(datum, _)| datum);
        match (role, datum) {
            (QueryRole::ReadList, Datum::Text(list)) => {
                list.split_ascii_whitespace().for_each(|one| give(one.parse().ok()));
            }
            (QueryRole::ReadList, _) => give(None),
            (QueryRole::Read | QueryRole::Prescription(_), _) => give(whole(&datum)),
            _ => {}
        }
    });
}

/// Gives the owners among the arguments of `operation`, which creates a prescription with its
/// entries, to `keep` by the kinds of their lists.
pub(super) fn observe_owners(
    operation: &Operation,
    arguments: &Parameters<'_>,
    keep: &mut dyn FnMut(ObservedValue),
) {
    for (item, place) in (0..).zip(OWNER_ARGUMENTS) {
        let value = arguments.iter().nth(place).and_then(|owner| whole(&owner));
        keep(ObservedValue { index: operation.index, item, key: operation.key, value });
    }
}

/// The version of its record that the store tells with the answer to `operation`.
pub(super) fn told(operation: &Operation, version: u64) -> ObservedValue {
    let (index, key) = (operation.index, operation.key);
    ObservedValue { index, item: 0, key, value: i64::try_from(version).ok() }
}

/// The whole number that `datum` is, also as a text.
fn whole(datum: &Datum<'_>) -> Option<i64> {
    match datum {
        Datum::Text(text) => text.trim().parse().ok(),
        _ => datum.exact()?.rescaled(0).map(|number| number.mantissa),
    }
}

#[cfg(test)]
mod tests {
    use assay_model::observed::PrescriptionRole;
    use assay_model::script::{ProcessBuilder, QueryRef};
    use assay_model::{Arguments, Kind, Nanos};
    use assay_store::answer::{encode_field, encode_row};

    use super::*;

    fn observed(role: QueryRole, rows: &[&[Datum<'_>]]) -> Vec<(u64, u32, u64, Option<i64>)> {
        let (mut operations, mut arguments) = (Vec::new(), Arguments::default());
        let mut process = ProcessBuilder::begin(3, 10, &mut operations, &mut arguments);
        let read = QueryRef { statement: 1, kind: Kind::Read };
        process.transaction(1, Nanos::ZERO).issue(read, 7, &[]).commit();
        process.end();
        let mut encoded = Vec::new();
        for row in rows {
            encode_row(row.len() as u16, &mut encoded);
            for datum in *row {
                let mut value = Vec::new();
                datum.encode(&mut value);
                encode_field(b"", &value, &mut encoded);
            }
        }
        let mut found = Vec::new();
        observe(role, &operations[0], &Rows::Encoded(&encoded), &mut |value| {
            found.push((value.index, value.item, value.key, value.value));
        });
        found
    }

    #[test]
    fn a_list_has_a_value_for_each_number() {
        let list = observed(QueryRole::ReadList, &[&[Datum::Text(" 5 x 6")]]);
        assert_eq!(list, [(30, 0, 7, Some(5)), (30, 1, 7, None), (30, 2, 7, Some(6))]);
        assert_eq!(observed(QueryRole::ReadList, &[&[Datum::Text("")]]), []);
        assert_eq!(observed(QueryRole::ReadList, &[]), []);
        assert_eq!(observed(QueryRole::ReadList, &[&[Datum::Null]]), [(30, 0, 7, None)]);
    }

    #[test]
    fn a_register_has_the_value_of_its_first_column() {
        let rows: &[&[Datum<'_>]] = &[&[Datum::Int(-3), Datum::Int(9)]];
        assert_eq!(observed(QueryRole::Read, rows), [(30, 0, 7, Some(-3))]);
        assert_eq!(observed(QueryRole::Read, &[&[Datum::Text("12")]]), [(30, 0, 7, Some(12))]);
        let entries = QueryRole::Prescription(PrescriptionRole::ReadEntries(1));
        let rows: &[&[Datum<'_>]] = &[&[Datum::Int(9), Datum::Int(1)], &[Datum::Int(8)]];
        assert_eq!(observed(entries, rows), [(30, 0, 7, Some(9)), (30, 1, 7, Some(8))]);
        assert_eq!(observed(QueryRole::Read, &[&[Datum::Null]]), [(30, 0, 7, None)]);
    }

    #[test]
    fn a_set_has_a_value_for_each_row() {
        let rows: &[&[Datum<'_>]] = &[&[Datum::Int(1)], &[Datum::Int(2)]];
        let found = observed(QueryRole::Read, rows);
        assert_eq!(found, [(30, 0, 7, Some(1)), (30, 1, 7, Some(2))]);
    }

    #[test]
    fn a_creation_has_its_owners_by_the_kinds_of_their_lists() {
        let (mut operations, mut arguments) = (Vec::new(), Arguments::default());
        let mut process = ProcessBuilder::begin(3, 10, &mut operations, &mut arguments);
        let create = QueryRef { statement: 1, kind: Kind::Insert };
        process.transaction(1, Nanos::ZERO).issue(create, 101, &[]).commit();
        process.end();
        let mut encoded = Vec::new();
        let (patient, staff, pharmacy) = (Datum::Int(1), Datum::Int(3), Datum::Int(2));
        for datum in [Datum::Int(101), patient, staff, pharmacy, Datum::Text("1/1/2017")] {
            datum.encode(&mut encoded);
        }
        let mut owners = Vec::new();
        observe_owners(&operations[0], &Parameters::new(&encoded), &mut |one| {
            owners.push((one.index, one.item, one.key, one.value));
        });
        let expected = [1, 2, 3].map(|owner| (30, owner as u32 - 1, 101, Some(owner)));
        assert_eq!(owners, expected);
    }

    #[test]
    fn a_query_that_is_not_judged_shows_nothing() {
        assert_eq!(observed(QueryRole::Unchecked, &[&[Datum::Int(1)]]), []);
    }
}

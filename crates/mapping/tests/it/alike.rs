//! Random queries through every mapping, held against a plain evaluation, as is SQLite.

use std::cell::RefCell;
use std::collections::BTreeMap;

use assay_mapping::{Class, Expected as Hoped, Keys, Physical, advise};
use assay_model::{Seed, Statement};
use assay_sql::sqlite::TestDatabase;

use crate::answer::{Expected, Outcome, complaint};
use crate::evaluator::Evaluator;
use crate::random::{Case, Operation, case};
use crate::record_store::RecordStore;
use crate::shrink::{datums, describe, display, shrink};

/// Anything that executes the operations of a case.
trait TestTarget {
    fn send(&mut self, operation: &Operation) -> Outcome;
}

impl TestTarget for TestDatabase {
    fn send(&mut self, operation: &Operation) -> Outcome {
        match self.execute(operation.query, &datums(&operation.arguments)) {
            Ok(done) => Outcome::Done { found: done.affected > 0, rows: done.rows },
            Err(reason) => Outcome::Failed(reason),
        }
    }
}

impl TestTarget for RecordStore {
    fn send(&mut self, operation: &Operation) -> Outcome {
        RecordStore::send(self, operation.query, &operation.arguments)
    }
}

/// What is wrong with the first answer that should be another.
fn first_complaint(
    case: &Case,
    operations: &[Operation],
    requested: &mut dyn TestTarget,
) -> Option<String> {
    let mut evaluator = Evaluator::new(&case.catalogue);
    for (number, operation) in operations.iter().enumerate() {
        let expected = evaluator.send(operation.query, &datums(&operation.arguments));
        let outcome = requested.send(operation);
        if let Some(reason) = complaint(&expected, &outcome) {
            let query = &case.catalogue.queries[operation.query].name;
            let answers = compared(&expected, &outcome);
            return Some(format!("operation {}, {query}: {reason}\n{answers}", number + 1));
        }
    }
    None
}

fn compared(expected: &Expected, outcome: &Outcome) -> String {
    let lines = |rows: &[Vec<Vec<u8>>]| {
        rows.iter().map(|row| format!("  {}\n", display(&row.concat()))).collect::<String>()
    };
    match (expected, outcome) {
        (Expected::Rows { groups, limit }, Outcome::Done { rows, .. }) => {
            format!("at most {limit} of\n{}came as\n{}", lines(&groups.concat()), lines(rows))
        }
        (expected, outcome) => format!("{expected:?} came as {outcome:?}"),
    }
}

/// Checks that `make` gives something that answers the case of each seed as it should.
fn check<A: TestTarget>(seeds: std::ops::Range<u64>, make: impl Fn(&Case) -> Vec<(String, A)>) {
    for seed in seeds {
        let case = case(seed);
        for (place, (what, mut requested)) in make(&case).into_iter().enumerate() {
            if first_complaint(&case, &case.operations, &mut requested).is_none() {
                continue;
            }
            let fails = |operations: &[Operation]| {
                let (_, mut fresh) = make(&case).swap_remove(place);
                first_complaint(&case, operations, &mut fresh)
            };
            let (small, complaint) = shrink(&case, fails);
            panic!("{}{what}\n{complaint}", describe(&small));
        }
    }
}

#[test]
fn sqlite_answers_as_the_plain_evaluation_does() {
    check(0..400, |case| vec![("SQLite".into(), TestDatabase::new(&case.catalogue))]);
}

#[test]
fn base_tables_alone_answer_as_the_relations_do() {
    check(0..400, |case| {
        let physical = Physical::plain(&case.catalogue.schema, Class::KeyValue);
        vec![("base tables".into(), RecordStore::new(&case.catalogue, &physical))]
    });
}

/// The advisor's schemas for a case, the best first.
///
/// Only some queries count, and writes seldom do, so that there are many copies to be kept alike.
///
/// What their tables are there for is added to `roles`.
fn advised(
    case: &Case,
    class: Class,
    roles: &RefCell<BTreeMap<&'static str, usize>>,
) -> Vec<(String, RecordStore)> {
    let mut draws = Seed(case.seed).draws(4, 0);
    let queries = case.catalogue.queries.iter();
    let frequencies: Vec<f64> = queries
        .map(|query| match query.statement {
            Statement::Select(_) if draws.below(2) == 0 => 10.0 + 90.0 * draws.unit(),
            _ if draws.below(8) == 0 => draws.unit(),
            _ => 0.0,
        })
        .collect();
    let expected =
        Hoped { frequencies: &frequencies, rows: &[], keys: Keys::Checked, keeps_relations: false };
    let advice = advise(&case.catalogue, class, &expected).unwrap();
    let others = advice.others.into_iter().map(|(_, physical)| physical);
    std::iter::once(advice.best)
        .chain(others)
        .map(|physical| {
            for table in &physical.tables {
                *roles.borrow_mut().entry(table.role.name()).or_default() += 1;
                let index = usize::from(table.index.is_some());
                *roles.borrow_mut().entry("index").or_default() += index;
            }
            let store = RecordStore::new(&case.catalogue, &physical);
            (physical.to_toml(), store)
        })
        .collect()
}

/// Checks the advisor's schemas for the cases of `seeds`, which use tables of every role.
fn check_advised(seeds: std::ops::Range<u64>, class: Class) {
    let roles = RefCell::new(BTreeMap::new());
    check(seeds, |case| advised(case, class, &roles));
    let roles = roles.into_inner();
    for role in ["base", "query", "join", "lookup", "index"] {
        assert!(roles.get(role).is_some_and(|count| *count > 10), "{role} of {roles:?}");
    }
}

#[test]
fn tables_for_key_value_stores_answer_as_the_relations_do() {
    check_advised(0..100, Class::KeyValue);
}

#[test]
fn tables_for_column_stores_answer_as_the_relations_do() {
    check_advised(100..200, Class::Column);
}

#[test]
fn random_cases_have_something_to_find() {
    let (mut reads, mut joins, mut writes, mut refused) = (0, 0, 0, 0);
    for seed in 0..400 {
        let case = case(seed);
        let mut evaluator = Evaluator::new(&case.catalogue);
        for operation in &case.operations {
            let statement = &case.catalogue.queries[operation.query].statement;
            match evaluator.send(operation.query, &datums(&operation.arguments)) {
                Expected::Rows { groups, limit } if !groups.is_empty() && limit > 0 => {
                    reads += 1;
                    let Statement::Select(select) = statement else { continue };
                    joins += usize::from(select.from.len() > 1);
                }
                Expected::Written { found: true } => {
                    writes += usize::from(!matches!(statement, Statement::Insert(_)));
                }
                Expected::Refused => refused += 1,
                _ => {}
            }
        }
    }
    let counts = [reads, joins, writes, refused];
    assert!(reads > 2_000 && joins > 300 && writes > 1_500 && refused > 1_000, "{counts:?}");
}

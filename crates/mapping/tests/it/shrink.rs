//! A failing case made smaller, with a text that tells it.

use std::fmt::Write;

use assay_model::Datum;

use crate::random::{Case, Operation};

/// Leaves out operations as long as `fails` still says that something is wrong.
pub fn shrink(case: &Case, fails: impl Fn(&[Operation]) -> Option<String>) -> (Case, String) {
    let mut small = case.clone();
    let mut complaint = fails(&small.operations).expect("only what fails is shrunk");
    let mut length = small.operations.len().div_ceil(2);
    while length > 0 {
        let mut begin = 0;
        while begin < small.operations.len() {
            let mut fewer = small.operations.clone();
            fewer.drain(begin..(begin + length).min(fewer.len()));
            match fails(&fewer) {
                Some(other) => (small.operations, complaint) = (fewer, other),
                None => begin += length,
            }
        }
        length /= 2;
    }
    (small, complaint)
}

/// The case as SQL, one operation a line.
pub fn describe(case: &Case) -> String {
    let mut text = format!("seed {}\n", case.seed);
    for named in &case.ddl {
        writeln!(text, "{};", named.text).unwrap();
    }
    for operation in &case.operations {
        let query = &case.catalogue.queries[operation.query];
        writeln!(text, "{}: {} -- {}", query.name, query.text, display(&operation.arguments))
            .unwrap();
    }
    text
}

/// Encoded values as SQL writes them.
pub fn display(encoded: &[u8]) -> String {
    datums(encoded).iter().map(Datum::to_string).collect::<Vec<_>>().join(", ")
}

/// Encoded values one by one.
pub fn datums(encoded: &[u8]) -> Vec<Datum<'_>> {
    assay_model::Parameters::new(encoded).iter().collect()
}

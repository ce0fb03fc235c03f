//! Reads of a counter that no order of its additions explains.

use assay_model::{Nanos, Outcome};

use super::{AggregateAccess, AggregateOperation};
use crate::register::WrittenValue;

/// How many reads a counter has, which began at zero, and those that no order of its additions
/// explains.
///
/// What had ended before the read began is in it, what began after its end is not, anything else
/// may be: each sign of it widens one side. O(n log n); 40 bytes per operation.
pub(super) fn wrong_reads<'a>(
    operations: &[&'a AggregateOperation],
    amount: &dyn Fn(WrittenValue) -> Option<i64>,
) -> (u64, Vec<&'a AggregateOperation>) {
    // Sums of positive and negative amounts by the time from which they may, or must be there.
    let mut may: Vec<(Nanos, i64)> = Vec::new();
    let mut must: Vec<(Nanos, i64)> = Vec::new();
    for operation in operations {
        let AggregateAccess::Add(value) = operation.access else { continue };
        let Some(amount) = amount(value) else { continue };
        match operation.outcome {
            Outcome::Done => {
                may.push((operation.started, amount));
                must.push((operation.ended.max(operation.started), amount));
            }
            Outcome::Unknown => may.push((operation.started, amount)),
            Outcome::Refused | Outcome::Dropped => {}
        }
    }
    let (may, must) = (Sums::new(may), Sums::new(must));
    let (mut reads, mut wrong) = (0, Vec::new());
    for operation in operations.iter().filter(|one| one.outcome == Outcome::Done) {
        let AggregateAccess::Sum(read) = operation.access else { continue };
        reads += 1;
        let possible = may.until(operation.ended.max(operation.started), true);
        let certain = must.until(operation.started, false);
        // Negative amounts that may be there make the least value, positive ones the greatest.
        let (low, high) = (certain.0 + possible.1, possible.0 + certain.1);
        if !(low..=high).contains(&i128::from(read)) {
            wrong.push(*operation);
        }
    }
    (reads, wrong)
}

/// Running sums of positive and of negative amounts over time.
struct Sums {
    times: Vec<Nanos>,
    sums: Vec<(i128, i128)>,
}

impl Sums {
    fn new(mut amounts: Vec<(Nanos, i64)>) -> Sums {
        amounts.sort_unstable();
        let (mut plus, mut minus) = (0, 0);
        let mut sums = vec![(0, 0)];
        for (_, amount) in &amounts {
            plus += i128::from(*amount).max(0);
            minus += i128::from(*amount).min(0);
            sums.push((plus, minus));
        }
        Sums { times: amounts.into_iter().map(|(time, _)| time).collect(), sums }
    }

    /// The sums of what comes before `time`, or at it too.
    fn until(&self, time: Nanos, includes: bool) -> (i128, i128) {
        self.sums[self.times.partition_point(|at| *at < time || (includes && *at == time))]
    }
}

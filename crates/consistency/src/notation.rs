//! Notation for small histories, as the self-test and the tests write them.

mod operations;
mod transactions;

pub use operations::register_history;
pub use transactions::transaction_history;

use std::str::FromStr;

fn number<Number: FromStr>(text: &str) -> Option<Number> {
    text.trim().parse().ok()
}

//! Text of JSON objects.

use serde::Serialize;

/// Why writing cannot fail.
const ALWAYS: &str = "an object of numbers and texts with text keys is always JSON";

/// `value` as one indented JSON object with a line end.
pub fn pretty(value: &impl Serialize) -> String {
    serde_json::to_string_pretty(value).expect(ALWAYS) + "\n"
}

/// `value` as one JSON object on a line of its own.
pub fn line(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect(ALWAYS) + "\n"
}

/// JSON has no infinity: what is not finite is none.
pub fn finite(number: f64) -> Option<f64> {
    number.is_finite().then_some(number)
}

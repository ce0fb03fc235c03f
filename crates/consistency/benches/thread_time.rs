//! Clock of the processor time of one thread.

use std::time::Instant;

/// Seconds that this thread has had a core, or else since `begin`, where Linux does not tell.
pub fn seconds(begin: Instant) -> f64 {
    let statistics = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let spent = statistics.split_whitespace().next().and_then(|word| word.parse::<f64>().ok());
    spent.map_or_else(|| begin.elapsed().as_secs_f64(), |nanoseconds| nanoseconds / 1e9)
}

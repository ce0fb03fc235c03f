//! Flush time of a disk, as a fault is given it.

use assay_model::Nanos;

/// The shortest and the longest time that flushes can be made to take: the limit is a whole number
/// of writes per second, from 1.
const TIMES: [Nanos; 2] = [Nanos::from_millis(10), Nanos::from_secs(4)];

/// How long a flush should take, from a text such as `50ms` or `1s`.
pub(crate) fn wanted(text: &str) -> Option<Nanos> {
    let (number, unit) = match text.strip_suffix("ms") {
        Some(number) => (number, Nanos::from_millis(1)),
        None => (text.strip_suffix('s')?, Nanos::from_secs(1)),
    };
    let time = Nanos(number.parse::<u64>().ok()?.checked_mul(unit.0)?);
    let [shortest, longest] = TIMES;
    (shortest..=longest).contains(&time).then_some(time)
}

/// Whether it is a time that a flush can be made to take.
pub(crate) fn is_flush_time(text: &str) -> bool {
    wanted(text).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_flushes_are_read() {
        assert_eq!(wanted("50ms"), Some(Nanos::from_millis(50)));
        assert_eq!(wanted("2s"), Some(Nanos::from_secs(2)));
        for wrong in ["50", "ms", "9ms", "5s", "-1s", "50 ms"] {
            assert_eq!(wanted(wrong), None, "{wrong}");
        }
    }
}

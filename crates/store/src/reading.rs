//! Numbers that a store's servers count about themselves.

/// One number of one server, at one moment.
#[derive(Clone, Debug, PartialEq)]
pub struct ServerReading {
    /// The server as `host:port`; empty if the store has one.
    pub node: String,
    /// The server's own name for it; those of counters end with `_total`.
    pub name: String,
    /// The number.
    pub value: f64,
}

/// What the names of counters end with.
pub const COUNTER: &str = "_total";

/// The name of a counter that the server itself calls `name`.
pub fn counter_name(name: &str) -> String {
    let stem = name.strip_prefix("total_").unwrap_or(name);
    if stem.ends_with(COUNTER) { stem.to_owned() } else { format!("{stem}{COUNTER}") }
}

/// Names and texts of a server as readings: numbers alone, counters by name.
pub fn readings<'a>(
    node: &str,
    pairs: impl Iterator<Item = (&'a str, &'a str)>,
    is_counter: impl Fn(&str) -> bool,
) -> Vec<ServerReading> {
    let reading = |(name, text): (&str, &str)| {
        let value: f64 = text.parse().ok().filter(|value: &f64| value.is_finite())?;
        let name = if is_counter(name) { counter_name(name) } else { name.to_owned() };
        Some(ServerReading { node: node.to_owned(), name, value })
    };
    pairs.filter_map(reading).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_taken_and_counters_named_as_such() {
        let pairs = [("used_memory", "12"), ("role", "master"), ("total_commands_processed", "7")];
        let is_counter = |name: &str| name.starts_with("total_");
        let readings = readings("h:1", pairs.into_iter(), is_counter);
        let texts: Vec<String> =
            readings.iter().map(|one| format!("{} {} {}", one.node, one.name, one.value)).collect();
        assert_eq!(texts, ["h:1 used_memory 12", "h:1 commands_processed_total 7"]);
        assert_eq!(counter_name("evicted_keys"), "evicted_keys_total");
        assert_eq!(counter_name("cpu_seconds_total"), "cpu_seconds_total");
    }
}

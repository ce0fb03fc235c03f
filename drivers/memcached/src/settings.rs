//! Settings of memcached servers that a reader of their figures must know.

use assay_model::Setting;

/// One server's answers to `stats` and `stats settings`.
pub(super) struct Facts(Vec<(String, String)>);

const UNKNOWN: &str = "unknown";

impl Facts {
    /// Takes lines of the form `STAT name value` apart.
    pub(super) fn parse(lines: &[String]) -> Facts {
        let facts = lines.iter().filter_map(|line| {
            let (name, value) = line.strip_prefix("STAT ")?.split_once(' ')?;
            Some((name.to_owned(), value.to_owned()))
        });
        Facts(facts.collect())
    }

    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(there, _)| there == name).map(|(_, value)| value.as_str())
    }

    /// The largest item that the server takes, in bytes.
    pub(super) fn item_bytes(&self) -> Option<usize> {
        self.get("item_size_max")?.parse().ok()
    }

    /// Whether changes of an item are numbered: without that no update is safe.
    pub(super) fn numbers_changes(&self) -> bool {
        self.get("cas_enabled") != Some("no")
    }

    fn evicts(&self) -> bool {
        self.get("evictions") != Some("off")
    }
}

/// Everything worth knowing about servers whose addresses are `at`; `facts` are those of `stats
/// settings`, `counts` those of `stats`.
pub(super) fn explain(at: &[String], facts: &[Facts], counts: &[Facts]) -> Vec<Setting> {
    let of = |facts: &[Facts], name: &str| describe(at, facts, name);
    let version = of(counts, "version");
    vec![
        Setting::new("server", format!("memcached {version}"), "the software that was measured"),
        nodes(at),
        durability(facts),
        Setting::new(
            "maxbytes",
            of(facts, "maxbytes"),
            "bytes that each server may fill with records and what belongs to them",
        ),
        evictions(&of(facts, "evictions"), facts),
        Setting::new(
            "evictions so far",
            of(counts, "evictions"),
            "records that each server has thrown away, since it started, to make room",
        ),
        Setting::new("curr_items", of(counts, "curr_items"), "what each server holds now"),
        Setting::new(
            "item_size_max",
            of(facts, "item_size_max"),
            "bytes; a record that is larger, with its key and 63 bytes more, is refused (-I)",
        ),
        Setting::new(
            "num_threads",
            of(facts, "num_threads"),
            "threads of each server; a connection belongs to one of them for its life",
        ),
        Setting::new(
            "reqs_per_event",
            of(facts, "reqs_per_event"),
            "requests of a connection before another has its turn (-R)",
        ),
        Setting::new("maxconns", of(facts, "maxconns"), "connections that each server takes (-c)"),
    ]
}

fn nodes(at: &[String]) -> Setting {
    let meaning = match at.len() {
        1 => "the only copy of the data".to_owned(),
        _ => "each key is on one of them, by Java's hash of it modulo their number, in the order \
              of the URL; there are no copies, so what one loses is lost"
            .to_owned(),
    };
    Setting::new("nodes", at.len().to_string(), meaning)
}

fn durability(facts: &[Facts]) -> Setting {
    let keeps = |facts: &Facts| {
        facts.get("memory_file").is_some_and(|path| !["", "(null)"].contains(&path))
    };
    let evicts = facts.iter().any(Facts::evicts);
    let when_full = match evicts {
        true => "and when memory is full records are thrown away without a word",
        false => "and when memory is full writes fail",
    };
    let meaning = match facts.iter().all(keeps) {
        true => {
            format!("a crash loses everything, an orderly stop (-e) keeps it, {when_full}")
        }
        false => format!("a restart loses everything, {when_full}"),
    };
    Setting::new("durability", "none", meaning)
}

fn evictions(value: &str, facts: &[Facts]) -> Setting {
    let meaning = match facts.iter().any(Facts::evicts) {
        true => "with full memory the least recently used records go: later reads are misses",
        false => {
            "with full memory writes fail (-M), and the record that was to be written over is gone"
        }
    };
    Setting::new("evictions", value, meaning)
}

/// The servers' common value, or each one's own.
fn describe(at: &[String], facts: &[Facts], name: &str) -> String {
    let values: Vec<&str> = facts.iter().map(|one| one.get(name).unwrap_or(UNKNOWN)).collect();
    match values.split_first() {
        Some((first, rest)) if rest.iter().all(|value| value == first) => (*first).to_owned(),
        _ => {
            let each = at.iter().zip(values).map(|(at, value)| format!("{value} ({at})"));
            each.collect::<Vec<_>>().join(", ")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(lines: &[&str]) -> Facts {
        let lines: Vec<String> = lines.iter().map(|line| format!("STAT {line}")).collect();
        Facts::parse(&lines)
    }

    fn names(count: usize) -> Vec<String> {
        (0..count).map(|number| format!("h{number}:1")).collect()
    }

    #[test]
    fn what_is_alike_is_reported_once() {
        let both = [facts(&["maxbytes 5"]), facts(&["maxbytes 5"])];
        assert_eq!(describe(&names(2), &both, "maxbytes"), "5");
        let other = [facts(&["maxbytes 5"]), facts(&["maxbytes 6"])];
        assert_eq!(describe(&names(2), &other, "maxbytes"), "5 (h0:1), 6 (h1:1)");
        assert_eq!(describe(&names(2), &other, "more"), "unknown");
    }

    #[test]
    fn nothing_outlives_a_restart() {
        let meaning = |lines: &[&str]| durability(&[facts(lines)]).meaning;
        let plain = meaning(&["evictions on", "memory_file (null)"]);
        assert!(plain.starts_with("a restart loses everything"), "{plain}");
        assert!(plain.contains("thrown away"), "{plain}");
        let kept = meaning(&["evictions off", "memory_file /pmem/x"]);
        assert!(kept.starts_with("a crash loses everything"), "{kept}");
        assert!(kept.contains("writes fail"), "{kept}");
    }

    #[test]
    fn the_bounds_are_read() {
        let reported = facts(&["item_size_max 1048576", "cas_enabled no"]);
        assert_eq!(reported.item_bytes(), Some(1 << 20));
        assert!(!reported.numbers_changes());
        assert_eq!(facts(&[]).item_bytes(), None);
        assert!(facts(&[]).numbers_changes());
    }
}

//! Truth log of a simulated store, in a sentence.

use std::path::Path;

use assay_history::count_faults;
use assay_report::units::count;

/// The faults on the store's data in the truth log of the run directory `dir`, in a sentence;
/// `None` without faults or without a log.
pub fn planted(dir: &Path) -> Option<String> {
    let counts = match count_faults(dir) {
        Ok(counts) => counts?,
        Err(error) => return Some(error.to_string()),
    };
    let describe = |(name, verb): (&str, &str)| {
        let number = counts.get(name).filter(|number| **number > 0)?;
        Some(format!("{verb} {}", count(*number).replace(' ', ",")))
    };
    let of = |actions: &[(&str, &str)], what: &str| {
        let describe: Vec<String> = actions.iter().copied().filter_map(describe).collect();
        let (last, before) = describe.split_last()?;
        let list = match before.len() {
            0 => last.clone(),
            _ => format!("{} and {last}", before.join(", ")),
        };
        Some(format!("{list} {what}"))
    };
    let sentences: Vec<String> =
        [of(&WRITES, "writes"), of(&READS, "reads")].into_iter().flatten().collect();
    (!sentences.is_empty()).then(|| {
        let all = sentences.join(", and ");
        format!("the simulated store {all}, as its truth log says")
    })
}

/// The log's names of faults on a write, each with a verb.
const WRITES: [(&str, &str); 5] = [
    ("lost", "lost"),
    ("torn", "tore"),
    ("duplicate", "repeated"),
    ("dirty", "showed though refused"),
    ("undone", "undid"),
];

/// The same for reads.
const READS: [(&str, &str); 2] =
    [("stale", "answered stale"), ("stale-cache", "answered from a stale cache")];

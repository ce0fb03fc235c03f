//! The command line as results show it.

use assay_model::Seed;

use crate::binding::redacted;
use crate::options::Options;

/// The command line as it was typed, URLs without secrets, with the seed that was drawn.
pub fn command_line(seed: Seed, options: &Options) -> Vec<String> {
    let mut words = typed();
    if !options.seed.is_given() {
        words.extend(["--seed".to_owned(), seed.to_string()]);
    }
    words
}

/// Flags that are about the result of several runs or the place of its runs, each with a value.
pub const RESULT_FLAGS: [&str; 6] =
    ["-o", "--output", "--format", "--run-dir", "--seed", "--arrival-seed"];

/// A command line without these flags, each of which has a value.
pub fn without_flags(words: &[String], flags: &[&str]) -> Vec<String> {
    let mut kept = Vec::new();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let name = word.split_once('=').map_or(word.as_str(), |(name, _)| name);
        if !flags.contains(&name) {
            kept.push(word.clone());
        } else if name == word {
            words.next();
        }
    }
    kept
}

/// The command line as it was typed, URLs without secrets.
pub fn typed() -> Vec<String> {
    let words = std::env::args_os().map(|word| word.to_string_lossy().into_owned());
    let mut words: Vec<String> = words.map(|word| redacted(&word)).collect();
    if let Some(first) = words.first_mut() {
        *first = "assay".to_owned();
    }
    words
}

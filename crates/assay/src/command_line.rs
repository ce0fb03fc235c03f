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

/// The command line as it was typed, URLs without secrets.
pub fn typed() -> Vec<String> {
    let words = std::env::args_os().map(|word| word.to_string_lossy().into_owned());
    let mut words: Vec<String> = words.map(|word| redacted(&word)).collect();
    if let Some(first) = words.first_mut() {
        *first = "assay".to_owned();
    }
    words
}

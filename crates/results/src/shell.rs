//! Command lines with the quoting of a POSIX shell.

/// Flags that name the run's directory: a repeated run needs another one.
const OF_PLACE: [&str; 2] = ["--run-dir", "--run-dir"];

/// Arguments with the quoting of a shell.
pub fn quoted(words: &[String]) -> String {
    let is_plain = |letter: char| letter.is_alphanumeric() || "-_./:=,@%+…".contains(letter);
    let quote = |word: &String| match !word.is_empty() && word.chars().all(is_plain) {
        true => word.clone(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    };
    words.iter().map(quote).collect::<Vec<_>>().join(" ")
}

/// The command line that reproduces a run: quoted, and without the directory of this run.
///
/// `--run-dir runs/a` alone would be refused, because there is a run already.
pub fn repeating(words: &[String]) -> String {
    let mut kept = Vec::new();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        match OF_PLACE.iter().find_map(|flag| word.strip_prefix(flag)) {
            Some("") => _ = words.next(),
            Some(rest) if rest.starts_with('=') => {}
            // It resumes from that directory.
            None if word == "--resume" => {}
            _ => kept.push(word.clone()),
        }
    }
    quoted(&kept)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &[&str]) -> Vec<String> {
        line.iter().map(|word| (*word).to_owned()).collect()
    }

    #[test]
    fn a_command_can_be_pasted_into_a_shell() {
        let words = words(&["assay", "tune", "--slo", "p99<5ms", "it's", ""]);
        assert_eq!(quoted(&words), r"assay tune --slo 'p99<5ms' 'it'\''s' ''");
    }

    #[test]
    fn an_ampersand_in_a_url_does_not_end_the_command_that_repeats_a_run() {
        let words = words(&["assay", "run", "ycsb-a", "-t", "sim:?seed=1&nodes=3", "--seed", "7"]);
        assert_eq!(repeating(&words), "assay run ycsb-a -t 'sim:?seed=1&nodes=3' --seed 7");
    }

    #[test]
    fn the_directory_of_a_run_is_not_that_of_its_repetition() {
        for place in [&["--run-dir", "a"][..], &["--run-dir=a"], &["--run-dir", "a", "--resume"]] {
            let all = [&["assay", "run", "s"], place, &["--bundled", "-q"]].concat();
            assert_eq!(repeating(&words(&all)), "assay run s --bundled -q");
        }
    }
}

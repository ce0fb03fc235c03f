//! Origin of this binary: the commit, the compiler, the stores that are compiled in.

use std::ffi::OsString;
use std::fmt::Write as _;

use assay_drivers::registry;

/// The commit that was built, if it was built for others (`cargo xtask dist` names it).
const COMMIT: Option<&str> = option_env!("ASSAY_COMMIT");

/// The compiler that built it, as it names itself.
const RUSTC: Option<&str> = option_env!("ASSAY_RUSTC");

/// Whether `words` ask what is compiled in: `assay --version --verbose`, and nothing else.
pub fn is_wanted(words: &[OsString]) -> bool {
    let is_one_of = |names: [&str; 2]| words.iter().skip(1).any(|word| names.contains(&said(word)));
    words.len() == 3 && is_one_of(["--version", "-V"]) && is_one_of(["--verbose", "-v"])
}

fn said(word: &OsString) -> &str {
    word.to_str().unwrap_or_default()
}

/// The text of `assay --version --verbose`: one `name: value` a line.
pub fn text() -> String {
    let unknown = "unknown (not built by cargo xtask dist)";
    let libc = match (cfg!(target_env = "gnu"), cfg!(target_feature = "crt-static")) {
        (true, true) => "glibc, static",
        (true, false) => "glibc, dynamic",
        _ => "other",
    };
    let (in_it, absent): (Vec<_>, Vec<_>) =
        registry::list().into_iter().partition(|store| store.is_compiled_in);
    let names = |stores: &[registry::ListedStore]| -> String {
        let names: Vec<&str> = stores.iter().map(|store| store.scheme).collect();
        if names.is_empty() { "none".to_owned() } else { names.join(" ") }
    };
    let mut text = format!("assay {}\n", env!("CARGO_PKG_VERSION"));
    let lines = [
        ("commit", COMMIT.unwrap_or(unknown).to_owned()),
        ("compiler", RUSTC.unwrap_or(unknown).to_owned()),
        ("target", format!("{}-{}", std::env::consts::ARCH, std::env::consts::OS)),
        ("libc", libc.to_owned()),
        ("optimized", (!cfg!(debug_assertions)).to_string()),
        ("history format", assay_history::VERSION.to_string()),
        ("stores", names(&in_it)),
        ("not in it", names(&absent)),
    ];
    for (name, value) in lines {
        let _ = writeln!(text, "{name}: {value}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asks(line: &str) -> bool {
        is_wanted(&line.split(' ').map(OsString::from).collect::<Vec<_>>())
    }

    #[test]
    fn both_flags_ask_in_either_order_and_nothing_else_does() {
        assert!(asks("assay --version --verbose"));
        assert!(asks("assay -v -V"));
        assert!(!asks("assay --version"));
        assert!(!asks("assay --version --version"));
        assert!(!asks("assay bench --version --verbose"));
    }

    #[test]
    fn the_text_names_what_is_in_the_binary() {
        let text = text();
        assert!(text.starts_with("assay "), "{text}");
        let stores = text.lines().find(|line| line.starts_with("stores: ")).expect("a line");
        assert!(stores.split(' ').any(|name| name == "memory"), "{text}");
        assert!(text.contains("\nhistory format: 3\n"), "{text}");
    }
}

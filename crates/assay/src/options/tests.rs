//! Precedence, origins, slips.

use assay_model::Nanos;

use super::*;

fn options(environment: &[(&str, &str)], flags: &[&str]) -> Result<Options> {
    let environment: Vec<(String, String)> =
        environment.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect();
    let command = crate::cli::command();
    let line = ["assay", "run", "ycsb-a"].iter().chain(flags);
    let matches = command.try_get_matches_from(line).map_err(|error| usage(error.to_string()))?;
    let (_, matches) = matches.subcommand().expect("a verb was given");
    let mut written = Written::new();
    add_environment(&mut written, &environment)?;
    add_flags(&mut written, matches);
    Options::of(written)
}

#[test]
fn a_flag_beats_the_environment_which_beats_the_default() {
    let given = options(&[("ASSAY_TIMEOUT", "3s"), ("ASSAY_SEED", "7")], &["--seed", "9"]).unwrap();
    assert_eq!(given.timeout.origin(), Some(&Origin::Environment("ASSAY_TIMEOUT".to_owned())));
    assert_eq!(given.timeout.get(), Some(Nanos::from_secs(3)));
    assert_eq!(given.seed.get(), Some(9));
    assert_eq!(given.overflow.origin(), Some(&Origin::Default));
    assert_eq!(given.overflow.given(), None);
}

#[test]
fn a_typed_flag_overrides_equivalent_settings() {
    for (variable, text, flags, kept) in [
        ("ASSAY_OPERATIONS", "100", &["--duration", "5s"][..], None),
        ("ASSAY_DURATION", "5s", &["--operations", "100"], None),
        ("ASSAY_RATE", "1k/s", &["--closed", "4"], None),
        ("ASSAY_RATE", "1k/s", &["--target-throughput", "100"], None),
        ("ASSAY_CLOSED", "4", &["--rate", "1k/s"], None),
        ("ASSAY_ARRIVALS", "trace", &["--closed", "4"], Some("poisson")),
        ("ASSAY_UP", "redis", &["-t", "memory:"], None),
        ("ASSAY_RUN_DIR", "b", &["--runs-dir", "r"], None),
        ("ASSAY_DURATION", "5s", &["--rate", "1k/s"], Some("5s")),
        ("ASSAY_THINK", "1ms", &["--closed", "4"], Some("1ms")),
    ] {
        let given = options(&[(variable, text)], flags).unwrap();
        let name = variable.trim_start_matches(ENVIRONMENT).to_lowercase().replace('_', "-");
        let setting = given.written(&name).unwrap();
        assert_eq!(setting.text(), kept, "{variable} with {flags:?}");
    }
    let typed = options(&[], &["--operations", "100", "--duration", "5s"]).unwrap();
    assert_eq!((typed.operations.get(), typed.duration.text()), (Some(100), Some("5s")));
}

#[test]
fn what_a_spec_brings_along_does_not_shorten_what_somebody_gave() {
    let mut given = options(&[], &["--duration", "5s"]).unwrap();
    let settings = "operations = 100\nthreads = 3\n".parse().unwrap();
    given.add_beneath("mine.toml", &settings).unwrap();
    assert_eq!((given.operations.get(), given.threads.get()), (None, Some(3)));
    let mut given = options(&[], &[]).unwrap();
    let both = "operations = 100\nduration = \"5s\"\n".parse().unwrap();
    given.add_beneath("mine.toml", &both).unwrap();
    assert_eq!((given.operations.get(), given.duration.text()), (Some(100), Some("5s")));
}

#[test]
fn a_misspelt_variable_is_an_error_that_helps() {
    assert!(options(&[("ASSAY_JVM_BRIDGE", "/x")], &[]).is_ok(), "a store requests it");
    let error = options(&[("ASSAY_TIMEUOT", "3s")], &[]).unwrap_err().to_string();
    assert_eq!(error, "ASSAY_TIMEUOT: there is no setting timeuot; did you mean timeout?");
}

#[test]
fn a_wrong_value_says_where_it_came_from() {
    let error = options(&[("ASSAY_RATE", "0")], &[]).unwrap_err().to_string();
    assert!(error.starts_with("rate (from environment ASSAY_RATE): a rate of 0"), "{error}");
}

#[test]
fn every_setting_has_a_name_of_its_own() {
    let mut names: Vec<&str> = KEYS.iter().map(|key| key.name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), KEYS.len());
}

#[test]
fn every_default_is_a_value_and_every_rival_a_setting() {
    let options = Options::default();
    for setting in options.all() {
        assert_eq!(setting.text(), setting.key().default, "{}", setting.key().name);
    }
    for name in RIVALS.iter().flat_map(|(name, rivals)| rivals.iter().chain([name])) {
        assert!(options.written(name).is_some(), "{name}");
    }
}

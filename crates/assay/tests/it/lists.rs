//! The verbs that only print.

use expect_test::expect_file;

use crate::place::Place;

/// All settings, some of them from files, the environment and a flag.
fn config_show() -> String {
    let place = Place::new();
    place.write("assay.toml", "rate = \"5k/s\"\nthreads = 1\n");
    place.write("mine.toml", "threads = 2\n");
    let settings = [("ASSAY_TIMEOUT", "3s"), ("ASSAY_TARGET", "redis://:secret@127.0.0.1")];
    let words = "config show --all --config mine.toml --seed 7";
    place.start_with(words, |command| command.envs(settings)).wait().code(0).out
}

#[test]
fn settings_name_where_they_are_from() {
    expect_file!["expected/settings.txt"].assert_eq(&config_show());
}

#[test]
fn a_flag_beats_the_environment_that_beats_files() {
    let place = Place::new();
    place.write("assay.toml", "operations = 11\n");
    let offered = |setting: &str, words: &str| {
        let words = format!("run ycsb-c -t null: --run-dir {words} --format json -q");
        let result = place.shell(&format!("{setting} assay {words}")).code(0).json();
        crate::run_dir::counted(&result, "offered")
    };
    assert_eq!(offered("", "a"), 11);
    assert_eq!(offered("ASSAY_OPERATIONS=12", "b"), 12);
    assert_eq!(offered("ASSAY_OPERATIONS=12", "c --operations 13"), 13);
    place.write("other.toml", "operations = 14\n");
    assert_eq!(offered("", "d --config other.toml"), 14);
}

#[test]
fn built_in_workloads_are_listed_with_families_as_one_line() {
    let place = Place::new();
    let all = place.fine("workloads ls").out;
    for (name, description) in [
        ("ycsb-a", "session store: half reads, half updates, some records hotter than others"),
        ("chronicle-10-95", "Chronicle Map's small rows, 10 x 10 B: one update in twenty"),
        ("twitter-cluster-N", "53 production caches of Twitter, after their published table"),
    ] {
        let line = all.lines().find(|line| line.split(' ').next() == Some(name));
        let reported =
            line.unwrap_or_else(|| panic!("no {name} in\n{all}"))[name.len()..].trim_start();
        assert!(reported.starts_with(description), "{reported}");
    }
    let columns: Vec<usize> = all
        .lines()
        .map(|line| line.len() - line.trim_start_matches(|c| c != ' ').trim_start().len())
        .collect();
    assert!(columns.iter().all(|column| *column == columns[0]), "{all}");
    let clusters = place.fine("workloads ls twitter-cluster-5");
    assert_eq!(clusters.out.lines().count(), 5, "50 to 54");
    clusters.shows("Twitter's cache cluster 54: keys 19 B, values 246 B, get 0.97, set 0.03");
}

#[test]
fn a_workload_is_shown_as_it_is_copied() {
    let place = Place::new();
    let displayed = place.fine("workloads show ycsb-a").out;
    assert!(displayed.contains("readproportion=0.5"), "{displayed}");
    place.fine("workloads copy ycsb-a").shows("ycsb-a.properties");
    assert_eq!(place.read("ycsb-a.properties"), displayed);
    place.refuses("workloads copy ycsb-a", "ycsb-a.properties is there already");
    assert_eq!(place.read("ycsb-a.properties"), displayed, "a file of yours is not overwritten");
    place.fine("workloads copy ycsb-a mine").shows("mine");
    let hash = |spec: &str| {
        let words = format!("trace gen {spec} --seed 1 --operations 100 -o {spec}.parquet");
        let out = place.fine(&words).out;
        out.lines().find_map(|line| line.strip_prefix("hash ").map(str::to_owned))
    };
    assert_eq!(hash("mine"), hash("ycsb-a"));
    place.refuses("workloads show ycsb-z", "ycsb-z");
}

#[test]
fn every_built_in_workload_can_be_run() {
    let place = Place::new();
    let families = place.fine("workloads ls twitter-cluster-").out;
    assert_eq!(families.lines().count(), 53);
    let all = place.fine("workloads ls").out + &families;
    for line in all.lines().filter(|line| !line.starts_with("twitter-cluster-N")) {
        let name = line.split(' ').next().expect("a line has a name");
        // Sessions roam over nodes.
        let store = if name == "session-roaming" { "sim:?nodes=3" } else { "null:" };
        place.fine(&format!("run {name} -t {store} --operations 50 --seed 1 -q"));
    }
}

#[test]
fn stores_say_how_durable_they_are() {
    let ran = Place::new().fine("stores");
    let is_name = |line: &&str| !line.starts_with(' ');
    let names: Vec<&str> = ran.out.lines().filter(is_name).collect();
    for name in ["fjall", "redb", "redis", "memory", "null"] {
        assert!(names.iter().any(|line| line.starts_with(name)), "{name}: {names:?}");
    }
    let durabilities = ran.out.lines().filter(|line| line.contains("    durability: "));
    assert_eq!(durabilities.count(), names.len());
}

#[test]
fn a_schema_names_every_section_of_a_spec() {
    let schema = Place::new().fine("schema").json();
    for section in ["dataset", "operations", "keys", "scan", "process", "run", "hallmark"] {
        assert!(schema.pointer(&format!("/properties/{section}")).is_some(), "{section}");
    }
}

/// The completions of the last of these arguments of `assay`.
fn completed(place: &Place, words: &[&str]) -> String {
    let mut command = place.command("--");
    command.arg("assay").args(words);
    command.env("COMPLETE", "bash").env("_CLAP_COMPLETE_INDEX", words.len().to_string());
    place.spawn(command).wait().code(0).out
}

#[test]
fn a_shell_completes_verbs_workloads_stores_and_runs() {
    let place = Place::new();
    place.fine("run ycsb-c -t null: --operations 10 --runs-dir here -q --format json");
    place.write("assay.toml", "runs-dir = \"here\"\n").write("mine.toml", "");
    let run = &place.list("here")[0];
    for (words, expected) in [
        (&["ben"][..], "bench"),
        (&["run", "ycsb-"], "ycsb-a\nycsb-b\nycsb-c\nycsb-d\nycsb-e\nycsb-f"),
        (&["run", "mi"], "mine.toml"),
        (&["run", "ycsb-a", "-t", "memo"], "memory:"),
        (&["run", "ycsb-a", "-t", "redis:"], "redis://"),
        (&["run", "ycsb-a", "--up", "redi"], "redis\nredis-cluster\nredis-sentinel"),
        (&["report", "las"], "last"),
        (&["compare", "last", &run[..4]], run.as_str()),
        (&["study", "kv"], "kvbench"),
    ] {
        assert_eq!(completed(&place, words), expected, "{words:?}");
    }
}

#[test]
fn scripts_for_shells_can_be_read_by_them() {
    let place = Place::new();
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        place.fine(&format!("completion {shell}")).shows("COMPLETE");
    }
    place.write("c", place.fine("completion bash").out);
    place.shell("bash -n c").code(0);
}

#[test]
fn the_doctor_looks_at_the_machine() {
    let place = Place::new();
    let ran = place.assay("doctor");
    for word in ["core", "load average", "clock source", "open files", "run directories can"] {
        assert!(ran.out.contains(word), "no {word}:\n{}", ran.out);
    }
    assert_eq!(place.list("runs"), Vec::<String>::new(), "what was tried is taken away");
    place.assay("doctor -t redis://127.0.0.1:1").code(4).says("127.0.0.1:1");
}

#[test]
fn help_names_the_first_command_with_all_exit_codes_and_the_version_is_printed() {
    let place = Place::new();
    let ran = place.fine("--version");
    assert_eq!((ran.out.as_str(), ran.err.as_str()), ("assay 0.1.0\n", ""));
    let ran = place.fine("--help");
    let ran = ran.shows("assay bench ycsb-a").shows("Exit codes: 0 ok");
    assert!(["1 ", "2 ", "4 ", "130 "].iter().all(|code| ran.out.contains(code)));
}

#[test]
fn a_traces_statistics_show_the_spec_and_the_observed_shares() {
    let place = Place::new();
    place.fine("trace gen ycsb-b --seed 3 --operations 20000 --records 1000 -o t.parquet");
    let ran = place.fine("trace stat t.parquet").shows("wanted").shows("found");
    let ran = ran.shows("20000 operations");
    for kind in ["read", "update"] {
        assert!(ran.out.contains(kind), "{}", ran.out);
    }
}

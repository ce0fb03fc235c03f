//! The command line: what can be typed.

use std::ffi::OsString;

use anyhow::Result;
use assay_model::quantity;
use clap::error::ErrorKind;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, ValueHint};

use crate::binding::redacted;
use crate::command::compare::CompareArgs;
use crate::command::list::{ConfigArgs, SCRIPTS};
use crate::command::study::matrix::StudyArgs;
use crate::command::trace::{GenArgs, InfoArgs};
use crate::command::{history, text};
use crate::completion;
use crate::options::{KEYS, Key, Shape, Verb, aliases, two_names};

/// Flags that are no settings, by the names that they had in earlier releases and have now.
const RENAMED_FLAGS: [(&str, &str); 2] = [("amplify", "replicate"), ("beside", "published")];

/// Parses a command line; ends the process after help or an error. A flag by two names is an error.
pub fn parse(words: &[OsString]) -> Result<ArgMatches> {
    command().try_get_matches_from(words).or_else(|error| {
        // To clap, a name and its alias are one flag that is given twice.
        let pairs = aliases().chain(RENAMED_FLAGS);
        let mut both = pairs.filter(|(old, new)| is_flag_in(words, old) && is_flag_in(words, new));
        match both.next().filter(|_| error.kind() == ErrorKind::ArgumentConflict) {
            Some((old, new)) => Err(two_names(&format!("--{old}"), &format!("--{new}"))),
            None => {
                // The same error, without the secrets of the words that it repeats.
                let words = words.iter().map(|word| redacted(&word.to_string_lossy()));
                command().try_get_matches_from(words).err().unwrap_or(error).exit()
            }
        }
    })
}

/// Parses the command of a fleet's job.
pub fn of_job(words: &[String]) -> Result<ArgMatches> {
    let words = std::iter::once("assay").chain(words.iter().map(String::as_str));
    command().try_get_matches_from(words).map_err(crate::exit::as_usage)
}

fn is_flag_in(words: &[OsString], name: &str) -> bool {
    let flags = words.iter().filter_map(|word| word.to_str()?.strip_prefix("--"));
    flags.filter_map(|flag| flag.split('=').next()).any(|flag| flag == name)
}

/// The whole command line.
pub fn command() -> Command {
    Command::new("assay")
        .version(env!("CARGO_PKG_VERSION"))
        .disable_version_flag(true)
        .arg(
            Arg::new("version")
                .short('V')
                .long("version")
                .action(ArgAction::Version)
                .help("Print the version; with --verbose also what is compiled in"),
        )
        .arg(
            Arg::new("verbose")
                .short('v')
                .long("verbose")
                .action(ArgAction::SetTrue)
                .requires("version")
                .hide(true),
        )
        .about("Measures the quality of data stores: how fast, how available, how consistent.")
        .after_help(
            "Start here:  assay bench ycsb-a\n\
             Then:        assay load ycsb-b -t redis://127.0.0.1\n\
             \x20            assay run ycsb-b -t redis://127.0.0.1 --rate 20k/s --duration 30s\n\
             \n\
             Exit codes: 0 ok, 1 failed on the way, 2 usage, 3 regression or a broken rule,\n\
             4 store unreachable, 5 no hallmark although one was required, 6 a required quality\n\
             violated, 7 an action on the store was not carried out, 99 no rate holds the\n\
             objective, 130 interrupted.",
        )
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand(load_command("bench", Verb::Bench, "Load, run, report: the 60-second path"))
        .subcommand(load_command("load", Verb::Load, "Fill a store with a workload's data set"))
        .subcommand(load_command("run", Verb::Run, "Measure a store, keep every operation, report"))
        .subcommand(tune())
        .subcommand(showing("analyze", "Analyze a run directory's history again"))
        .subcommand(showing("report", "Show a run directory's result in another format"))
        .subcommand(check())
        .subcommand(compare())
        .subcommand(history())
        .subcommand(lab())
        .subcommand(crate::command::serve::command())
        .subcommand(crate::command::sim::command())
        .subcommand(crate::command::fmke::command())
        .subcommand(crate::command::agent::command())
        .subcommand(crate::command::fleet::command(keys(Verb::Report)))
        .subcommand(study())
        .subcommand(trace())
        .subcommand(crate::command::mapping::command(spec_changes()))
        .subcommand(workloads())
        .subcommand(stores())
        .subcommand(doctor())
        .subcommand(config())
        .subcommand(schema())
        .subcommand(completion())
        .subcommand(crate::command::man::command())
        .subcommand(ycsb())
}

fn load_command(name: &'static str, verb: Verb, about: &'static str) -> Command {
    let spec = Arg::new("spec")
        .value_name("SPEC")
        .value_hint(ValueHint::FilePath)
        .add(completion::workloads())
        .help("A built-in workload, a TOML spec, a YCSB properties file or a trace");
    let spec = match verb {
        Verb::Bench => spec.default_value("ycsb-a"),
        _ => spec.required(true),
    };
    Command::new(name)
        .about(about)
        .arg(spec)
        .args(spec_changes())
        .args(keys(verb))
        .arg(config_file())
        .arg(no_config())
}

fn tune() -> Command {
    let about = "The highest rate that holds an objective, or latency over rate";
    // Invalid values are parsed here, so that they are refused later with a reason.
    let others =
        ["rate", "closed", "think", "target-throughput", "operations", "duration", "repeat"];
    let hide = |command: Command, name: &'static str| command.mut_arg(name, |arg| arg.hide(true));
    others.into_iter().fold(load_command("tune", Verb::Tune, about), hide)
}

fn spec_changes() -> [Arg; 3] {
    [
        many("set", "KEY=VALUE", "Change a key of the spec, such as --set dataset.records=1M"),
        many("property", "KEY=VALUE", "Change a YCSB property of the spec").short('p'),
        many("properties", "FILE", "A YCSB properties file; later ones win")
            .short('P')
            .value_hint(ValueHint::FilePath),
    ]
}

fn many(name: &'static str, value: &'static str, about: &'static str) -> Arg {
    text(name, value, about).action(ArgAction::Append)
}

fn keys(verb: Verb) -> impl Iterator<Item = Arg> {
    KEYS.iter().filter(move |key| key.verbs.contains(&verb)).map(argument)
}

fn argument(key: &Key) -> Arg {
    let about = match key.default {
        Some(default) => format!("{} [default: {default}]", key.about),
        None => key.about.to_owned(),
    };
    let arg = Arg::new(key.name).long(key.name).aliases(key.former).help(about);
    let arg = match key.letter {
        Some(letter) => arg.short(letter),
        None => arg,
    };
    let arg = match key.name {
        "target" => arg.add(completion::stores()),
        "up" => arg.add(completion::recipes()),
        _ => arg,
    };
    match key.shape {
        // A rate may be negative by mistake: our own message then says what is wrong with it.
        Shape::Text => arg.value_name(key.value).allow_hyphen_values(key.name == "rate"),
        Shape::List => arg.value_name(key.value).action(ArgAction::Append),
        Shape::Switch => arg.action(ArgAction::SetTrue),
    }
}

fn config_file() -> Arg {
    many("config", "FILE", "A file of settings, beside ./assay.toml; later ones win")
        .value_hint(ValueHint::FilePath)
}

/// The environment of a study's cells: the study alone decides their options.
fn no_config() -> Arg {
    Arg::new("no-config")
        .long("no-config")
        .action(ArgAction::SetTrue)
        .help("Settings neither from the environment nor from ./assay.toml and the user's file")
}

fn run_dir() -> Arg {
    Arg::new("run")
        .value_name("RUN")
        .default_value("last")
        .value_hint(ValueHint::DirPath)
        .add(completion::runs())
        .help("A run directory: a directory, a name in runs-dir, `last` or `last-1`")
}

fn showing(name: &'static str, about: &'static str) -> Command {
    let about_phases = "Phases of the figures [default: those of the run directory]";
    let phases = text("phases", "WHICH", about_phases).value_parser(["measure", "load", "all"]);
    let about_rates =
        "Availability if the run's faults came so often: 'kill 12/year, partition 4/year'";
    let what_if = text("what-if", "RATES", about_rates);
    Command::new(name)
        .about(about)
        .arg(run_dir())
        .arg(phases)
        .arg(what_if)
        .args(keys(Verb::Report))
        .arg(config_file())
}

fn check() -> Command {
    Command::new("check")
        .about("Judge the consistency of what a store answered, from a run's history")
        .arg(run_dir().num_args(1..).help(
            "A run directory, a name in runs-dir, `last`; or a file: a history of Jepsen or Elle \
             (EDN, JSON), AWDIT, dbcop or porcupine",
        ))
        .arg(Arg::new("memory").long("memory").value_name("SIZE").value_parser(memory).help(
            "The most memory that judging may take, such as 4GB: a larger run is judged in \
             parts, a larger file is refused [default: four fifths of what is available]",
        ))
        .arg(many(
            "require",
            "QUALITIES",
            "End with code 6 if one of them is violated, such as linearizable,read-your-writes",
        ))
        .args(keys(Verb::Report))
        .arg(config_file())
}

fn memory(text: &str) -> Result<u64, String> {
    let size = quantity::whole(text).filter(|size| *size > 0);
    size.ok_or_else(|| "it must be a size such as 500MB or 4GB".to_owned())
}

fn compare() -> Command {
    CompareArgs::augment_args(Command::new("compare")).args(keys(Verb::Report)).arg(config_file())
}

fn history() -> Command {
    Command::new("history")
        .about("The records of a run")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand(
            Command::new("repair")
                .about("Seal what a killed run left behind")
                .arg(run_dir())
                .args(keys(Verb::Report))
                .arg(config_file()),
        )
        .subcommand(
            Command::new("export")
                .about("The operations of a run as another tool reads them")
                .arg(run_dir())
                .arg(
                    text(
                        "as",
                        "FORMAT",
                        "elle-edn: a map of EDN per line, elle-json: an object of JSON",
                    )
                    .value_parser(history::FORMATS.map(|(name, _)| name))
                    .default_value("elle-edn"),
                )
                .args(keys(Verb::Report))
                .arg(config_file()),
        )
}

fn file(name: &'static str, about: &'static str) -> Arg {
    Arg::new(name).value_name("FILE").required(true).value_hint(ValueHint::FilePath).help(about)
}

fn study() -> Command {
    let output = text("output", "FILE", "Where to; its ending may name the format")
        .short('o')
        .value_hint(ValueHint::FilePath);
    let co = Command::new("co")
        .about("Coordinated omission: figures 1, 3, 4, 5 of the paper, in simulated time")
        .arg(output)
        .arg(text("format", "FORMAT", "text, json, csv, md or html [default: text]"))
        .arg(text("figures", "LIST", "Only some of 1,3,4,5"))
        .arg(text("seed", "N", "The seed; no latency depends on it [default: 1]"))
        .arg(
            text("keep", "DIR", "Keep a run directory of every run there")
                .value_hint(ValueHint::DirPath),
        );
    let is_shared = |key: &&Key| crate::command::study::matrix::KEYS.contains(&key.name);
    StudyArgs::augment_args(Command::new("study"))
        .args(KEYS.iter().filter(is_shared).map(argument))
        .arg(config_file())
        .args_conflicts_with_subcommands(true)
        .arg_required_else_help(true)
        .subcommand(co)
        .subcommand(study_benchfoundry())
        .subcommand(Command::new("ls").about("List the built-in studies"))
        .subcommand(copy("Copy a built-in study to a file of your own"))
}

fn study_benchfoundry() -> Command {
    let workload = Arg::new("spec")
        .long("workload")
        .value_name("SPEC")
        .value_hint(ValueHint::FilePath)
        .default_value("tpcc-benchfoundry-paper")
        .help("tpcc-benchfoundry, its -paper or -corrected form, or a TOML file of that kind");
    let about = "Load factors, a run each: 1 is two processes per second";
    let factors = text("factors", "LIST", about).default_value("1,5,25,125,625");
    let set = many("set", "KEY=VALUE", "Change a key of the workload");
    let without = &crate::command::study::benchfoundry::WITHOUT;
    let own = |key: &&Key| {
        let is_run = key.verbs.contains(&Verb::Run) && !without.contains(&key.name);
        is_run || key.name == "replace"
    };
    let hide = |command: Command, name: &'static str| command.mut_arg(name, |arg| arg.hide(true));
    let command = Command::new("benchfoundry")
        .about("Scheduling latency by load factor: the experiment LOAD of BenchFoundry's paper")
        .args([workload, factors, set])
        .args(KEYS.iter().filter(own).map(argument))
        .arg(config_file());
    ["repeat-seeds", "arrival-seed", "require-hallmark"].into_iter().fold(command, hide)
}

fn trace() -> Command {
    let output = || {
        Arg::new("output")
            .short('o')
            .long("output")
            .value_name("FILE")
            .value_hint(ValueHint::FilePath)
    };
    let generate = GenArgs::augment_args(Command::new("gen").args(spec_changes()));
    Command::new("trace")
        .about("Operations as a file")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand(generate)
        .subcommand(InfoArgs::augment_args(Command::new("info")))
        .subcommand(
            Command::new("stat")
                .about("Mix, sizes and key popularity, expected and actual")
                .arg(file("trace", "The trace")),
        )
        .subcommand(
            Command::new("export")
                .about("Write a trace as CSV, or as the input set of BenchFoundry")
                .allow_missing_positional(true)
                .arg(
                    Arg::new("format")
                        .value_name("FORMAT")
                        .help("csv or benchfoundry [default: csv]"),
                )
                .arg(file("trace", "The trace"))
                .arg(output().help(
                    "The CSV file; default: standard output. For benchfoundry a new directory",
                )),
        )
        .subcommand(import())
        .subcommand(crate::command::trace::record::command())
        .subcommand(fit().arg(output().help("The spec; default: the trace's name with .toml")))
        .subcommand(
            Command::new("split")
                .about("Split a trace's processes into several files")
                .arg(file("trace", "The trace"))
                .arg(text("parts", "N", "How many").required(true)),
        )
}

fn fit() -> Command {
    Command::new("fit")
        .about("Make a synthetic spec that resembles a trace, and compare the two")
        .arg(file("trace", "The trace"))
}

fn import() -> Command {
    Command::new("import")
        .about("Import a trace of another tool")
        .after_help(
            "Without FILE, FORMAT is a CSV file as `assay trace export` writes it.\n\
             For benchfoundry, FILE is its properties or their directory, OUT is needed.\n\
             What must be in the store before goes to OUT.load.trace; load, bench find it there.",
        )
        .arg(
            Arg::new("format")
                .value_name("FORMAT")
                .required(true)
                .help("twitter, cachelib, oracle, monitor, kv-replay or benchfoundry"),
        )
        .arg(
            Arg::new("file")
                .value_name("FILE")
                .value_hint(ValueHint::FilePath)
                .help("The file, plain or packed by gzip or zstd; - for standard input"),
        )
        .arg(
            text("output", "OUT", "The trace; default: the file's name with .trace, here")
                .short('o')
                .value_hint(ValueHint::FilePath),
        )
        .arg(text("skip-bad", "N", "Pass over up to N bad lines [default: 0]"))
        .arg(text("sample-keys", "SHARE", "Keep only this share of the keys, such as 10%"))
        .arg(text("replicate", "N", "Issue each request in N key spaces").alias("amplify"))
        .arg(text("speed", "FACTOR", "Write the schedule so many times faster"))
        .arg(text("spread", "HOW", "Within a timestamp: even or random [default: even]"))
        .arg(text("operations", "N", "Only the first N"))
        .arg(text("value-size", "SIZE", "Values whose size nobody knows [default: 100]"))
        .arg(text("fill-misses", "SIZE", "Load keys that only missed, too, with such values"))
        .arg(text("seed", "N", "The seed of values and --spread random [default: 0]"))
}

fn workloads() -> Command {
    let name = || Arg::new("name").value_name("NAME").required(true).add(completion::workloads());
    Command::new("workloads")
        .about("The built-in workloads")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand(
            Command::new("ls")
                .about("List them")
                .arg(name().required(false).help("Only those whose names begin with this")),
        )
        .subcommand(Command::new("show").about("Print one").arg(name()))
        .subcommand(copy("Copy one to a file of your own"))
}

fn copy(about: &'static str) -> Command {
    Command::new("copy")
        .about(about)
        .arg(Arg::new("name").value_name("NAME").required(true))
        .arg(Arg::new("to").value_name("FILE").help("Default: the name as a file here"))
}

fn doctor() -> Command {
    Command::new("doctor").about("Properties of this machine that would spoil a measurement").arg(
        Arg::new("target").short('t').long("target").value_name("URL").help("Measure this store"),
    )
}

fn config() -> Command {
    let show = ConfigArgs::augment_args(Command::new("show"))
        .args(KEYS.iter().map(argument))
        .arg(config_file())
        .arg(no_config());
    Command::new("config")
        .about("The settings in force")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand(show)
}

fn schema() -> Command {
    let specs = ["spec"].into_iter().chain(SCRIPTS.map(|(name, _)| name));
    let results = assay_report::SCHEMAS.map(|(name, _)| name);
    let names = specs.chain(["study", "anomalies"]).chain(results);
    Command::new("schema").about("JSON Schemas of our files").arg(
        Arg::new("what")
            .value_parser(names.collect::<Vec<_>>())
            .default_value("spec")
            .help("A file that you write, such as the workload spec, or a result in JSON"),
    )
}

fn completion() -> Command {
    let shells = clap::value_parser!(clap_complete::Shell);
    Command::new("completion")
        .about("Completions for a shell, of workloads, stores and runs too")
        .after_help(
            "bash, zsh:  source <(assay completion bash)\n\
             fish:       assay completion fish | source",
        )
        .arg(Arg::new("shell").required(true).value_parser(shells))
}

/// The lab's commands take one setting.
fn lab() -> Command {
    crate::command::lab::command(lab_places(), setting("install"))
}

fn stores() -> Command {
    crate::command::stores::command(lab_places(), setting("install"))
}

/// Where labs are.
fn lab_places() -> [Arg; 2] {
    [setting("lab-dir"), config_file()]
}

fn setting(name: &str) -> Arg {
    argument(KEYS.iter().find(|key| key.name == name).expect("it is one of the settings"))
}

/// YCSB's own command line; its flags have one dash, so they are taken as they are.
fn ycsb() -> Command {
    Command::new("ycsb")
        .about("YCSB's own command line: load|run BINDING -P FILE -p KEY=VALUE -threads N …")
        .disable_help_flag(true)
        .arg(
            Arg::new("arguments")
                .num_args(0..)
                .trailing_var_arg(true)
                .allow_hyphen_values(true)
                .help("As YCSB takes them"),
        )
}

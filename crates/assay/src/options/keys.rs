//! The settings that exist, each under one name everywhere.

use anyhow::Result;

use crate::exit::usage;

/// A command that takes settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    /// Load, run and report in one go.
    Bench,
    /// Fill a store.
    Load,
    /// Measure a store.
    Run,
    /// Seek the highest rate that holds an objective.
    Tune,
    /// Analyze and show a run directory.
    Report,
}

/// What the text of a setting looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// A flag with a value.
    Text,
    /// A flag with a value that may be repeated; in one text with semicolons between them.
    List,
    /// A flag without one.
    Switch,
}

/// One setting.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    /// Flag without dashes, key in files; in the environment in capitals after `ASSAY_`.
    pub name: &'static str,
    /// One letter, where there is one.
    pub letter: Option<char>,
    /// What its value is called in help texts.
    pub value: &'static str,
    /// What it does.
    pub about: &'static str,
    /// The default value.
    pub default: Option<&'static str>,
    /// What its text looks like.
    pub shape: Shape,
    /// The commands that take it.
    pub verbs: &'static [Verb],
}

use Verb::{Bench, Load, Report, Run, Tune};

const LOADING: &[Verb] = &[Bench, Load, Run, Tune];
const MEASURING: &[Verb] = &[Bench, Run, Tune];
const TUNING: &[Verb] = &[Tune];
const ALL: &[Verb] = &[Bench, Load, Run, Tune, Report];

const fn text(
    name: &'static str,
    value: &'static str,
    default: Option<&'static str>,
    verbs: &'static [Verb],
    about: &'static str,
) -> Key {
    Key { name, letter: None, value, about, default, shape: Shape::Text, verbs }
}

const fn list(
    name: &'static str,
    value: &'static str,
    verbs: &'static [Verb],
    about: &'static str,
) -> Key {
    Key { shape: Shape::List, ..text(name, value, None, verbs, about) }
}

const fn switch(name: &'static str, verbs: &'static [Verb], about: &'static str) -> Key {
    Key { name, letter: None, value: "", about, default: None, shape: Shape::Switch, verbs }
}

/// Earlier names of settings, with the present ones.
pub const ALIASES: &[(&str, &str)] = &[
    ("lanes", "threads"),
    ("workers", "blocking-threads"),
    ("bundle", "run-dir"),
    ("pace", "target-throughput"),
    ("undo-inserts", "clean-up-inserts"),
];

/// The present name of a setting, whatever name it was given by.
pub fn current(name: &str) -> &str {
    ALIASES.iter().find(|(old, _)| *old == name).map_or(name, |(_, new)| new)
}

/// Refuses settings of one place of which one is given by both its names.
///
/// # Errors
/// If there is one.
pub fn require_one_name<'a>(place: &str, names: impl Iterator<Item = &'a str>) -> Result<()> {
    let names: Vec<&str> = names.collect();
    match ALIASES.iter().find(|(old, new)| names.contains(old) && names.contains(new)) {
        Some((old, new)) => Err(two_names(&format!("{place}: {old}"), new)),
        None => Ok(()),
    }
}

/// The usage error of a setting that is given by its earlier and its present name.
pub fn two_names(old: &str, new: &str) -> anyhow::Error {
    usage(format!("{old} is the earlier name of {new}: give one of them"))
}

/// Settings that are the coordinator's affair: the store, what is done to it and read of it, what
/// is shown where, what comes before and after the run. Agents of a fleet have none of them.
pub const OF_COORDINATOR: [&str; 38] = [
    "target",
    "up",
    "version",
    "network",
    "disk",
    "proxy",
    "proxy-peers",
    "option",
    "install",
    "lab",
    "lab-dir",
    "run-dir",
    "runs-dir",
    "format",
    "output",
    "color",
    "quiet",
    "live",
    "port",
    "port-any",
    "fresh",
    "replace",
    "clean-up",
    "clean-up-inserts",
    "keep",
    "final-wait",
    "at",
    "nemesis",
    "every",
    "via",
    "repeat",
    "repeat-seeds",
    "scrape",
    "scrape-every",
    "scrape-all",
    "seed",
    "require-hallmark",
    "send-credentials",
];

/// All settings.
pub const KEYS: &[Key] = &[
    Key {
        letter: Some('t'),
        ..text("target", "URL", None, LOADING, "The store; `assay stores` lists them")
    },
    text(
        "up",
        "STORE[:N]",
        None,
        LOADING,
        "Start this store here with N nodes, measure it, end it; `assay lab ls` lists them",
    ),
    text(
        "via",
        "SERVER",
        None,
        LOADING,
        "http: an application server before the store, of workload fmke; docs/fmke.md",
    ),
    text("version", "V", None, LOADING, "With --up: which version; `assay lab ls` lists them"),
    text(
        "network",
        "WHERE",
        None,
        LOADING,
        "With --up: loopback, as usual, or with root a network namespace for each node: \
         namespaces",
    ),
    text(
        "disk",
        "SIZE",
        None,
        LOADING,
        "With --up, as root: give each node a disk of its own of this size, such as 512M, which \
         can lose power, fill up, stall",
    ),
    switch(
        "proxy",
        LOADING,
        "With --up: let clients go through a proxy, so that links can be late, slow, cut",
    ),
    switch(
        "proxy-peers",
        LOADING,
        "With --up: let nodes reach each other through a proxy, so that `delay peers of 2 by 20ms` \
         and the like can be done",
    ),
    list(
        "option",
        "NAME=VALUE",
        LOADING,
        "With --up: an option of the store, as `assay lab ls` has them; may be repeated",
    ),
    switch(
        "install",
        LOADING,
        "Install or fetch missing programs of the lab's store; without it none is",
    ),
    text(
        "consistency",
        "LEVEL",
        None,
        LOADING,
        "Consistency level of reads and writes, in the store's terms, such as QUORUM: option \
         consistency of its URL",
    ),
    text(
        "url-options",
        "OPTIONS",
        None,
        LOADING,
        "More options of the URL of a store that --up or --lab names: \
         read=serializable&connections=4",
    ),
    text("lab", "NAME", None, LOADING, "The store that `assay lab up` has started"),
    text("lab-dir", "DIR", None, LOADING, "Where labs live; default: assay/lab in ~/.local/state"),
    text(
        "rate",
        "RATE",
        None,
        MEASURING,
        "Open loop: arrivals per second: 20k/s, stages such as 30s@1k,2m@1k..20k, \
         spike:1k..10k,at=30s,for=5s or sine:5k,amplitude=4k,period=60s",
    ),
    text(
        "arrivals",
        "PROCESS",
        Some("poisson"),
        MEASURING,
        "Open loop: gaps between arrivals: poisson, constant, jitter:0.5, mmpp2:10,1s,9s, \
         gamma:2, lognormal:2, or a trace's own schedule: trace",
    ),
    text(
        "speed",
        "FACTOR",
        None,
        MEASURING,
        "Open loop: how much faster than written a trace's own schedule is replayed",
    ),
    text(
        "in-flight",
        "N",
        Some("4096"),
        MEASURING,
        "Open loop: the most processes in flight over all workers",
    ),
    text(
        "overflow",
        "POLICY",
        Some("queue"),
        MEASURING,
        "Open loop: what an arrival does at that bound: queue, drop or abort",
    ),
    text("closed", "N", None, LOADING, "Closed loop: sessions that each wait for their response"),
    text(
        "think",
        "TIME",
        None,
        MEASURING,
        "Closed loop: pause after a response: 10ms, or exp:10ms for exponential pauses",
    ),
    text(
        "target-throughput",
        "RATE",
        None,
        MEASURING,
        "Closed loop: target rate, paced as YCSB does it",
    ),
    text(
        "operations",
        "N",
        None,
        MEASURING,
        "Transactions to issue, such as 20M; processes, if SPEC is a trace",
    ),
    text("duration", "TIME", None, MEASURING, "How long to measure, such as 30s"),
    text("warm-up", "TIME", Some("0s"), MEASURING, "Issued and recorded before measuring"),
    text(
        "floor",
        "TIME",
        None,
        MEASURING,
        "How long to measure this program's own overhead before; default: a tenth of the run, \
         at most 1s; 0s for not at all",
    ),
    switch(
        "require-hallmark",
        &[Bench, Run, Tune, Report],
        "End with code 5 if the hallmark is not VALID, with or without remarks",
    ),
    text("slo", "OBJECTIVE", None, TUNING, "What must hold: read.p99<5ms,errors<0.1%"),
    text("min", "RATE", None, TUNING, "The lowest rate, where the search begins; default: 100/s"),
    text("max", "RATE", None, TUNING, "The highest rate of interest; default: none"),
    text("within", "PERCENT", None, TUNING, "How near to a rate that fails; default: 2%"),
    text("step", "TIME", None, TUNING, "How long to measure at each rate; default: 10s"),
    text("confirm", "N", None, TUNING, "Fresh runs that must hold at the rate found; default: 3"),
    text("sweep", "RATES", None, TUNING, "No search but a curve: rate=1k..100k:log:8, or lin"),
    switch(
        "resume",
        &[Load, Tune],
        "Go on with a load that was interrupted, or with the steps that are in --run-dir DIR",
    ),
    text(
        "at",
        "ACTIONS",
        None,
        MEASURING,
        "Actions on the lab's store during the run: '300s: scale to 2; 10m: kill node 1'",
    ),
    text(
        "nemesis",
        "FAULTS",
        None,
        &[Bench, Run],
        "Random faults of the lab's store, each mended before the next: kill,pause,partition",
    ),
    text("every", "TIME", None, &[Bench, Run], "How often the nemesis strikes; default: 20s"),
    text(
        "timeout",
        "TIME",
        Some("10s"),
        LOADING,
        "How long to wait for a response of a server; then its outcome is unknown",
    ),
    text(
        "deadline",
        "TIME",
        Some("1s"),
        MEASURING,
        "A response that comes later counts as late in the figures of availability",
    ),
    text("threads", "N", None, LOADING, "Worker threads; default: half of the cores"),
    text(
        "spin",
        "MODE",
        Some("auto"),
        LOADING,
        "Whether workers spin to be punctual: auto, always or never",
    ),
    text(
        "cpu-list",
        "LIST",
        None,
        LOADING,
        "Processors that workers are pinned to, in turn: 0 or 2,4-7; default: the system chooses",
    ),
    text(
        "blocking-threads",
        "N",
        None,
        LOADING,
        "Open loop on a blocking store: threads per worker, 8 if not given; 0 calls it on the \
         worker",
    ),
    text("agents", "N", None, LOADING, "Share the work among N processes: docs/fleet.md"),
    switch("local", LOADING, "With --agents: they are processes that are started on this machine"),
    text(
        "listen",
        "ADDRESS",
        None,
        LOADING,
        "With --agents: where they join; default: 0.0.0.0:7447",
    ),
    text("keys", "FILE", None, LOADING, "With --agents: coordinator.pem of `assay fleet keys`"),
    text(
        "wait",
        "TIME",
        Some("10min"),
        LOADING,
        "With --agents: how long they may take to come and to be ready",
    ),
    text(
        "lease",
        "TIME",
        Some("10s"),
        LOADING,
        "With --agents: without news for so long, an agent is lost, and ends its load by itself",
    ),
    text(
        "deliver",
        "HOW",
        Some("send"),
        LOADING,
        "With --agents: send parts to the coordinator, leave them in a directory that it sees, or \
         s3://BUCKET/PREFIX, a bucket with server and credentials from AWS_… variables",
    ),
    switch(
        "send-credentials",
        LOADING,
        "With --agents: send them the store's URL with its password",
    ),
    text("seed", "N", None, LOADING, "The seed of all randomness"),
    text(
        "arrival-seed",
        "N",
        None,
        MEASURING,
        "The seed of arrivals and pauses, instead of that of the run",
    ),
    text("repeat", "N", None, MEASURING, "Run so many times afresh, for intervals between runs"),
    text(
        "repeat-seeds",
        "WHICH",
        Some("arrivals"),
        MEASURING,
        "What each repetition draws anew: arrivals, or same for nothing",
    ),
    text("records", "N", None, LOADING, "Records in the data set, instead of the spec's"),
    text("runs-dir", "DIR", Some("runs"), ALL, "Where run directories are kept"),
    text("run-dir", "DIR", None, LOADING, "The run directory, instead of a new one in runs-dir"),
    text(
        "format",
        "FORMAT",
        Some("text"),
        ALL,
        "The result as text, json, ndjson, csv, md, ycsb, hdr, html or junit",
    ),
    Key {
        letter: Some('o'),
        ..text("output", "FILE", None, ALL, "The result to a file; its ending may name the format")
    },
    text("color", "WHEN", Some("auto"), ALL, "Colours: auto, always or never; NO_COLOR is heeded"),
    Key { letter: Some('q'), ..switch("quiet", ALL, "No progress on standard error") },
    text(
        "live",
        "WHEN",
        Some("auto"),
        LOADING,
        "A dashboard in the terminal: auto, always or never",
    ),
    text(
        "port",
        "ADDRESS",
        None,
        LOADING,
        "Serve GET /metrics, POST /rate, POST /stop on this port, such as 9464; 0 chooses one",
    ),
    switch("port-any", LOADING, "Let --port be an address that other machines reach"),
    list(
        "scrape",
        "URL",
        MEASURING,
        "Read this Prometheus endpoint, or `store` for its own numbers, meanwhile; may be \
             repeated",
    ),
    text("scrape-every", "TIME", Some("1s"), MEASURING, "With --scrape: how often"),
    switch("scrape-all", MEASURING, "With --scrape: keep all numbers, not those shown alone"),
    switch("force", LOADING, "Run although the data set was loaded with other parameters"),
    switch("keep", &[Bench], "Keep the embedded store that was made for this bench"),
    switch("fresh", &[Load], "Remove what an earlier load put there first"),
    switch("replace", &[Bench, Load], "Remove what is there first: tables with all rows"),
    switch("clean-up", &[Bench, Run], "Remove the loaded data from the store when the run is over"),
    switch(
        "clean-up-inserts",
        &[Run],
        "Delete the run's inserts when it is over, so that the data set is as loaded",
    ),
    text(
        "mapping",
        "FILE",
        None,
        LOADING,
        "The physical schema of a store without a query language, as `assay mapping explain` saves \
         it",
    ),
    switch(
        "final-reads",
        &[Bench, Run],
        "Read every record once more when the run is over, to find acknowledged writes that are \
         gone; workload register does it anyway",
    ),
    text(
        "final-wait",
        "TIME",
        Some("2s"),
        &[Bench, Run],
        "How long a store that responds is left alone before final reads",
    ),
];

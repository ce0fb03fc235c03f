//! The settings that exist, each under one name everywhere.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;

use anyhow::Result;
use assay_analysis::slo::Objective;
use assay_analysis::sweep::Sweep;
use assay_lab::Network;
use assay_model::Nanos;
use assay_run::{Overflow, RateProfile, Think};

use super::setting::Verb::{Bench, Load, Report, Run, Tune};
use super::setting::{Key, Settable, SettingText, Shape, TypedSetting, Verb};
use super::values::{DiskMib, Rate, RepeatSeeds, Speed, StoreNodes, Tolerance, ViaServer, When};
use crate::exit::usage;

const LOADING: &[Verb] = &[Bench, Load, Run, Tune];
const MEASURING: &[Verb] = &[Bench, Run, Tune];
const TUNING: &[Verb] = &[Tune];
const ALL: &[Verb] = &[Bench, Load, Run, Tune, Report];

const fn text(name: &'static str, value: &'static str, verbs: &'static [Verb]) -> Key {
    Key::new(Shape::Text, name, value, verbs)
}

const fn list(name: &'static str, value: &'static str, verbs: &'static [Verb]) -> Key {
    Key::new(Shape::List, name, value, verbs)
}

const fn switch(name: &'static str, verbs: &'static [Verb]) -> Key {
    Key::new(Shape::Switch, name, "", verbs)
}

/// Declares all settings: what each does, its field, its value, its names and commands.
macro_rules! settings {
    ($($(#[doc = $about:literal])+ $field:ident: $value:ty = $key:expr;)+) => {
        /// All settings.
        pub const KEYS: &[Key] = &[$($key.about(concat!($($about),+)),)+];

        /// All settings of a command, with their values.
        #[derive(Clone, Debug)]
        pub struct Options {
            $($(#[doc = $about])+ pub $field: TypedSetting<$value>,)+
            /// Thresholds of the hallmark that files change, each file with its own, the highest
            /// precedence last.
            pub hallmark: Vec<(PathBuf, toml::Table)>,
            /// Whether they are those of an agent, whose coordinator has its own.
            pub(super) is_share: bool,
        }

        impl Default for Options {
            fn default() -> Options {
                Options {
                    $($field: TypedSetting::new(const { &$key.about(concat!($($about),+)) }),)+
                    hallmark: Vec::new(),
                    is_share: false,
                }
            }
        }

        impl Options {
            /// All settings as they were written, in the order of [`KEYS`].
            pub fn all(&self) -> [&SettingText; KEYS.len()] {
                [$(&self.$field,)+]
            }

            fn all_mut(&mut self) -> [&mut dyn Settable; KEYS.len()] {
                [$(&mut self.$field,)+]
            }
        }
    };
}

impl Options {
    /// The setting called `name`.
    pub(super) fn written(&self, name: &str) -> Option<&SettingText> {
        self.all().into_iter().find(|setting| setting.key().name == name)
    }

    /// Whether a setting has higher precedence than another one, both by name.
    pub(super) fn outranks(&self, name: &str, other: &str) -> bool {
        let both = self.written(name).zip(self.written(other));
        both.is_some_and(|(one, other)| one.outranks(other))
    }

    /// The setting called `name`, to be changed.
    pub(super) fn named(&mut self, name: &str) -> Option<&mut dyn Settable> {
        self.all_mut().into_iter().find(|setting| setting.as_text().key().name == name)
    }
}

/// Earlier names of settings, with the present ones.
pub fn aliases() -> impl Iterator<Item = (&'static str, &'static str)> {
    KEYS.iter().filter_map(|key| Some((key.former?, key.name)))
}

/// The present name of a setting, whatever name it was given by.
pub fn current(name: &str) -> &str {
    aliases().find(|(old, _)| *old == name).map_or(name, |(_, new)| new)
}

/// Refuses settings of one place of which one is given by both its names.
pub fn require_one_name<'a>(place: &str, names: impl Iterator<Item = &'a str>) -> Result<()> {
    let names: Vec<&str> = names.collect();
    match aliases().find(|(old, new)| names.contains(old) && names.contains(new)) {
        Some((old, new)) => Err(two_names(&format!("{place}: {old}"), new)),
        None => Ok(()),
    }
}

/// The usage error of a setting that is given by its earlier and its present name.
pub fn two_names(old: &str, new: &str) -> anyhow::Error {
    usage(format!("{old} is the earlier name of {new}: give one of them"))
}

settings! {
    /// The store; `assay stores` lists them
    target: String = text("target", "URL", LOADING).short('t').of_coordinator();
    /// Start this store here with N nodes, measure it, end it; `assay lab ls` lists them
    up: StoreNodes = text("up", "STORE[:N]", LOADING).of_coordinator();
    /// http: an application server before the store, of workload fmke; docs/fmke.md
    via: ViaServer = text("via", "SERVER", LOADING).of_coordinator();
    /// With --up: which version; `assay lab ls` lists them
    version: String = text("version", "V", LOADING).of_coordinator();
    /// With --up: loopback, as usual, or with root a network namespace for each node: namespaces
    network: Network = text("network", "WHERE", LOADING).of_coordinator();
    /// With --up, as root: give each node a disk of its own of this size, such as 512M, which can
    /// lose power, fill up, stall
    disk: DiskMib = text("disk", "SIZE", LOADING).of_coordinator();
    /// With --up: let clients go through a proxy, so that links can be late, slow, cut
    proxy: bool = switch("proxy", LOADING).of_coordinator();
    /// With --up: let nodes reach each other through a proxy, so that `delay peers of 2 by 20ms`
    /// and the like can be done
    proxy_peers: bool = switch("proxy-peers", LOADING).of_coordinator();
    /// With --up: an option of the store, as `assay lab ls` has them; may be repeated
    option: BTreeMap<String, String> = list("option", "NAME=VALUE", LOADING).of_coordinator();
    /// Install or fetch missing programs of the lab's store; without it none is
    install: bool = switch("install", LOADING).of_coordinator();
    /// Consistency level of reads and writes, in the store's terms, such as QUORUM: option
    /// consistency of its URL
    consistency: String = text("consistency", "LEVEL", LOADING);
    /// More options of the URL of a store that --up or --lab names: read=serializable&connections=4
    url_options: String = text("url-options", "OPTIONS", LOADING);
    /// The store that `assay lab up` has started
    lab: String = text("lab", "NAME", LOADING).of_coordinator();
    /// Where labs live; default: assay/lab in ~/.local/state
    lab_dir: PathBuf = text("lab-dir", "DIR", LOADING).of_coordinator();
    /// Open loop: arrivals per second: 20k/s, stages such as 30s@1k,2m@1k..20k,
    /// spike:1k..10k,at=30s,for=5s or sine:5k,amplitude=4k,period=60s
    rate: RateProfile = text("rate", "RATE", MEASURING);
    /// Open loop: gaps between arrivals: poisson, constant, jitter:0.5, mmpp2:10,1s,9s, gamma:2,
    /// lognormal:2, or a trace's own schedule: trace
    arrivals: String = text("arrivals", "PROCESS", MEASURING).or("poisson");
    /// Open loop: how much faster than written a trace's own schedule is replayed
    speed: Speed = text("speed", "FACTOR", MEASURING);
    /// Open loop: the most processes in flight over all workers
    in_flight: u64 = text("in-flight", "N", MEASURING).or("4096");
    /// Open loop: what an arrival does at that bound: queue, drop or abort
    overflow: Overflow = text("overflow", "POLICY", MEASURING).or("queue");
    /// Closed loop: sessions that each wait for their response
    closed: u64 = text("closed", "N", LOADING);
    /// Closed loop: pause after a response: 10ms, or exp:10ms for exponential pauses
    think: Think = text("think", "TIME", MEASURING);
    /// Closed loop: target rate, paced as YCSB does it
    target_throughput: Rate = text("target-throughput", "RATE", MEASURING).formerly("pace");
    /// Transactions to issue, such as 20M; processes, if SPEC is a trace
    operations: u64 = text("operations", "N", MEASURING);
    /// How long to measure, such as 30s
    duration: Nanos = text("duration", "TIME", MEASURING);
    /// Issued and recorded before measuring
    warm_up: Nanos = text("warm-up", "TIME", MEASURING).or("0s");
    /// How long to measure this program's own overhead before; default: a tenth of the run, at most
    /// 1s; 0s for not at all
    floor: Nanos = text("floor", "TIME", MEASURING);
    /// End with code 5 if the hallmark is not VALID, with or without remarks
    require_hallmark: bool =
        switch("require-hallmark", &[Bench, Run, Tune, Report]).of_coordinator();
    /// What must hold: read.p99<5ms,errors<0.1%
    slo: Objective = text("slo", "OBJECTIVE", TUNING);
    /// The lowest rate, where the search begins; default: 100/s
    min: Rate = text("min", "RATE", TUNING);
    /// The highest rate of interest; default: none, or 1M/s in simulated time
    max: Rate = text("max", "RATE", TUNING);
    /// How near to a rate that fails; default: 2%
    within: Tolerance = text("within", "PERCENT", TUNING);
    /// How long to measure at each rate; default: 10s
    step: Nanos = text("step", "TIME", TUNING);
    /// Fresh runs that must hold at the rate found; default: 3
    confirm: u64 = text("confirm", "N", TUNING);
    /// No search but a curve: rate=1k..100k:log:8, or lin
    sweep: Sweep = text("sweep", "RATES", TUNING);
    /// Go on with a load that was interrupted, or with the steps that are in --run-dir DIR
    resume: bool = switch("resume", &[Load, Tune]);
    /// Actions on the lab's store during the run: '300s: scale to 2; 10m: kill node 1'
    at: String = text("at", "ACTIONS", MEASURING).of_coordinator();
    /// Random faults of the lab's store, each mended before the next: kill,pause,partition
    nemesis: String = text("nemesis", "FAULTS", &[Bench, Run]).of_coordinator();
    /// How often the nemesis strikes; default: 20s
    every: Nanos = text("every", "TIME", &[Bench, Run]).of_coordinator();
    /// How long to wait for a response of a server; then its outcome is unknown
    timeout: Nanos = text("timeout", "TIME", LOADING).or("10s");
    /// A response that comes later counts as late in the figures of availability
    deadline: Nanos = text("deadline", "TIME", MEASURING).or("1s");
    /// Worker threads; default: half of the cores
    threads: u64 = text("threads", "N", LOADING).formerly("lanes");
    /// Whether workers spin to be punctual: auto, always or never
    spin: When = text("spin", "MODE", LOADING).or("auto");
    /// Processors that workers are pinned to, in turn: 0 or 2,4-7; default: the system chooses
    cpu_list: Vec<usize> = text("cpu-list", "LIST", LOADING);
    /// Open loop on a blocking store: threads per worker, 8 if not given; 0 calls it on the worker
    blocking_threads: u64 = text("blocking-threads", "N", LOADING).formerly("workers");
    /// Share the work among N processes: docs/fleet.md
    agents: u64 = text("agents", "N", LOADING).of_fleet();
    /// With --agents: they are processes that are started on this machine
    local: bool = switch("local", LOADING).of_fleet();
    /// With --agents: where they join; default: 0.0.0.0:7447
    listen: SocketAddr = text("listen", "ADDRESS", LOADING).of_fleet();
    /// With --agents: coordinator.pem of `assay fleet keys`
    keys: PathBuf = text("keys", "FILE", LOADING).of_fleet();
    /// With --agents: how long they may take to come and to be ready
    wait: Nanos = text("wait", "TIME", LOADING).or("10min").of_fleet();
    /// With --agents: without news for so long, an agent is lost, and ends its load by itself
    lease: Nanos = text("lease", "TIME", LOADING).or("10s").of_fleet();
    /// With --agents: send parts to the coordinator, leave them in a directory that it sees, or
    /// s3://BUCKET/PREFIX, a bucket with server and credentials from AWS_… variables
    deliver: String = text("deliver", "HOW", LOADING).or("send").of_fleet();
    /// With --agents: send them the store's URL with its password
    send_credentials: bool = switch("send-credentials", LOADING).of_coordinator();
    /// The seed of all randomness
    seed: u64 = text("seed", "N", LOADING).of_coordinator();
    /// The seed of arrivals and pauses, instead of that of the run
    arrival_seed: u64 = text("arrival-seed", "N", MEASURING);
    /// Run so many times afresh, for intervals between runs
    repeat: u64 = text("repeat", "N", MEASURING).of_coordinator();
    /// What each repetition draws anew: arrivals, or same for nothing
    repeat_seeds: RepeatSeeds =
        text("repeat-seeds", "WHICH", MEASURING).or("arrivals").of_coordinator();
    /// Records in the data set, instead of the spec's
    records: u64 = text("records", "N", LOADING);
    /// Where run directories are kept
    runs_dir: PathBuf = text("runs-dir", "DIR", ALL).or("runs").of_coordinator();
    /// The run directory, instead of a new one in runs-dir
    run_dir: PathBuf = text("run-dir", "DIR", LOADING).formerly("bundle").of_coordinator();
    /// The result as text, json, ndjson, csv, md, ycsb, hdr, html or junit
    format: String = text("format", "FORMAT", ALL).or("text").of_coordinator();
    /// The result to a file; its ending may name the format
    output: PathBuf = text("output", "FILE", ALL).short('o').of_coordinator();
    /// Colours: auto, always or never; NO_COLOR is heeded
    color: When = text("color", "WHEN", ALL).or("auto").of_coordinator();
    /// No progress on standard error
    quiet: bool = switch("quiet", ALL).short('q').of_coordinator();
    /// A dashboard in the terminal: auto, always or never
    live: When = text("live", "WHEN", LOADING).or("auto").of_coordinator();
    /// Serve GET /metrics, POST /rate, POST /stop on this port, such as 9464; 0 chooses one
    port: String = text("port", "ADDRESS", LOADING).of_coordinator();
    /// Let --port be an address that other machines reach
    port_any: bool = switch("port-any", LOADING).of_coordinator();
    /// Read this Prometheus endpoint, or `store` for its own numbers, meanwhile; may be repeated
    scrape: String = list("scrape", "URL", MEASURING).of_coordinator();
    /// With --scrape: how often
    scrape_every: Nanos = text("scrape-every", "TIME", MEASURING).or("1s").of_coordinator();
    /// With --scrape: keep all numbers, not those shown alone
    scrape_all: bool = switch("scrape-all", MEASURING).of_coordinator();
    /// Run although the data set was loaded with other parameters
    force: bool = switch("force", LOADING);
    /// Keep the embedded store that was made for this bench
    keep: bool = switch("keep", &[Bench]).of_coordinator();
    /// Remove what an earlier load put there first
    fresh: bool = switch("fresh", &[Load]).of_coordinator();
    /// Remove what is there first: tables with all rows
    replace: bool = switch("replace", &[Bench, Load]).of_coordinator();
    /// Remove the loaded data from the store when the run is over
    clean_up: bool = switch("clean-up", &[Bench, Run]).of_coordinator();
    /// Delete the run's inserts when it is over, so that the data set is as loaded
    clean_up_inserts: bool =
        switch("clean-up-inserts", &[Run]).formerly("undo-inserts").of_coordinator();
    /// The physical schema of a store without a query language, as `assay mapping explain` saves it
    mapping: PathBuf = text("mapping", "FILE", LOADING);
    /// Read every record once more when the run is over, to find acknowledged writes that are gone;
    /// workload register does it anyway
    final_reads: bool = switch("final-reads", &[Bench, Run]);
    /// How long a store that responds is left alone before final reads
    final_wait: Nanos = text("final-wait", "TIME", &[Bench, Run]).or("2s").of_coordinator();
}

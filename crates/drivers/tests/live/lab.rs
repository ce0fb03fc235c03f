//! Labs: of a test's own, gone when the test is, or shared by those that break nothing.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError, mpsc};
use std::time::Instant;

use assay_drivers::registry;
use assay_lab::{House, Injection, Lab, LabError, Order, Watch, recipes};
use assay_model::Nanos;

use crate::ordeal::{Mortal, Served};
use crate::server_process::{new_folder, until_stopped};
use crate::stores::OPTIONS;

/// Asks whether a lab with this URL is ready.
type Probe<'a> = dyn FnMut(&str) -> Result<(), String> + 'a;

/// A running cluster.
pub struct Cluster {
    lab: Option<Lab>,
    folder: PathBuf,
}

impl Cluster {
    /// Starts `nodes` nodes of the recipe `name`.
    pub fn start(name: &str, nodes: usize) -> Cluster {
        let recipe = recipes::find(name).expect("the test names a recipe");
        Cluster::start_as(&Order::of(recipe).nodes(nodes))
    }

    /// Starts what is ordered.
    pub fn start_as(order: &Order) -> Cluster {
        Cluster::start_in(order, new_folder())
    }

    /// Starts what is ordered in this folder, over what a lab has left there.
    pub fn start_in(order: &Order, folder: PathBuf) -> Cluster {
        let started = Cluster::begin(order, folder, &mut probe);
        started.unwrap_or_else(|error| panic!("no lab: {error}"))
    }

    /// Starts the lab of `order`. If its programs are not available here, the test fails with a
    /// mark, by which `cargo xtask check` distinguishes it from a real failure.
    pub fn start_marked(order: &Order) -> Cluster {
        marked(Cluster::begin(order, new_folder(), &mut probe))
    }

    /// The same for servers that get no request before the test's own.
    pub fn start_unasked(order: &Order) -> Cluster {
        marked(Cluster::begin(order, new_folder(), &mut |_url: &str| Ok(())))
    }

    fn begin(order: &Order, folder: PathBuf, probe: &mut Probe<'_>) -> Result<Cluster, LabError> {
        let lab = watched(|watch| Lab::up(order, &folder, &house(), watch, probe))?;
        Ok(Cluster { lab: Some(lab), folder })
    }

    /// The URL of all nodes, followed by `rest`.
    pub fn url(&self, rest: &str) -> String {
        Served::url(self, rest)
    }

    pub fn kill(&mut self, node: usize) {
        self.lab().kill(node).expect("the node is there");
    }

    /// Freezes a node: its sockets stay open, but it does nothing.
    pub fn freeze(&mut self, node: usize) {
        self.lab().freeze(node).expect("the node is there");
        for server in &self.lab().record().nodes[node - 1].servers {
            until_stopped(server.pid);
        }
    }

    /// Lets a frozen node go on.
    pub fn thaw(&mut self, node: usize) {
        self.lab().thaw(node).expect("the node is there");
    }

    /// Starts a killed node again, with its data.
    pub fn restart(&mut self, node: usize) {
        let restarted = watched(|watch| self.lab().restart(node, watch));
        restarted.unwrap_or_else(|error| panic!("node {node} does not come back: {error}"));
    }

    /// Lets nodes join or leave.
    pub fn scale(&mut self, nodes: usize) {
        let scaled = watched(|watch| self.lab().scale(nodes, watch));
        scaled.unwrap_or_else(|error| panic!("no {nodes} nodes: {error}"));
    }

    /// Does what these words say, as in `--at`, once it shows; the nodes that it was done to.
    pub fn inject(&mut self, words: &str) -> Vec<usize> {
        let injection = Injection::parse(words).expect("the test writes right faults");
        let lab = self.lab();
        let done = watched(|watch| {
            let nodes = lab.targets(&injection, watch)?;
            lab.inject(&injection, &nodes, watch)?;
            lab.verify(injection.fault, &nodes, watch)?;
            Ok(nodes)
        });
        done.unwrap_or_else(|error| panic!("{words}: {error}"))
    }

    /// The lab itself.
    pub fn lab(&mut self) -> &mut Lab {
        self.lab.as_mut().expect("it is up")
    }
}

/// A cluster that the tests share which break nothing. It ends with the process.
pub struct Shared {
    name: &'static str,
    order: fn() -> Order,
    url: OnceLock<String>,
    loans: AtomicUsize,
    alone: Mutex<()>,
}

impl Shared {
    /// A cluster as `order` says; its folder is called `name`.
    pub const fn new(name: &'static str, order: fn() -> Order) -> Shared {
        Shared {
            name,
            order,
            url: OnceLock::new(),
            loans: AtomicUsize::new(0),
            alone: Mutex::new(()),
        }
    }

    /// The URL of its nodes; the first caller waits until they are up.
    pub fn url(&self) -> &str {
        self.url.get_or_init(|| self.start())
    }

    /// The cluster for a test that wants records of its own.
    pub fn lend(&self) -> Loan {
        let number = self.loans.fetch_add(1, Ordering::Relaxed);
        Loan { url: format!("{}/t{number}", self.url().trim_end_matches('/')), _turn: None }
    }

    /// The cluster for a test that nobody else may disturb who borrows it so.
    pub fn lend_alone(&'static self) -> Loan {
        // A test that failed has left records with its own prefix, nothing else.
        let turn = self.alone.lock().unwrap_or_else(PoisonError::into_inner);
        Loan { _turn: Some(turn), ..self.lend() }
    }

    /// Starts it on a thread that never ends, for it ends with its thread. Its folder is where
    /// `TMPDIR` says, which `cargo xtask check` sets and empties; without it always the same, so
    /// what is left of it is removed by the next one, and two of these test binaries at a time are
    /// refused.
    fn start(&self) -> String {
        let (name, order) = (self.name, self.order);
        let (tell, started) = mpsc::channel();
        let beside = || PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
        std::thread::spawn(move || {
            let place = std::env::var_os("TMPDIR").map_or_else(beside, PathBuf::from);
            let folder = place.join(name);
            let cluster = Cluster::start_in(&order(), folder);
            let told = tell.send(cluster.url(""));
            while told.is_ok() {
                std::thread::park();
            }
        });
        started.recv().unwrap_or_else(|_| panic!("the shared {name} does not come up"))
    }
}

/// A shared cluster as one test sees it: all its names begin with a prefix of its own.
pub struct Loan {
    url: String,
    /// Held until it is given back, if nobody else may have it meanwhile.
    _turn: Option<MutexGuard<'static, ()>>,
}

impl Served for Loan {
    fn url(&self, rest: &str) -> String {
        format!("{}{}", self.url, rest.trim_start_matches('/'))
    }
}

/// The time since the first call, for proxies.
pub fn now() -> Nanos {
    static FIRST: OnceLock<Instant> = OnceLock::new();
    FIRST.get_or_init(Instant::now).elapsed().into()
}

impl Served for Cluster {
    fn url(&self, rest: &str) -> String {
        format!("{}{rest}", self.lab.as_ref().expect("it is up").url())
    }
}

/// Its first node.
impl Mortal for Cluster {
    fn freeze(&mut self) {
        Cluster::freeze(self, 1);
    }

    fn thaw(&mut self) {
        Cluster::thaw(self, 1);
    }

    fn kill(&mut self) {
        Cluster::kill(self, 1);
    }

    fn restart(&mut self) {
        Cluster::restart(self, 1);
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        // What cannot be removed is in a folder for temporary files.
        let _ = self.lab.take().map(Lab::down);
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

fn marked(started: Result<Cluster, LabError>) -> Cluster {
    match started {
        Ok(cluster) => cluster,
        Err(LabError::Missing(why)) => panic!("NOT RUN: {why}"),
        Err(error) => panic!("no lab: {error}"),
    }
}

fn watched<T>(act: impl FnOnce(&Watch<'_>) -> Result<T, LabError>) -> Result<T, LabError> {
    let (stop, tell) = (AtomicBool::new(false), |text: &str| eprintln!("{text}"));
    act(&Watch::new(&stop, &tell))
}

/// Programs that are built for a test stay in `ASSAY_TEST_PACKAGE_CACHE`, or next to Cargo's target
/// directory.
fn house() -> House {
    let places = std::env::var_os("PATH").unwrap_or_default();
    let places = std::env::split_paths(&places).collect();
    let beside = || PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("packages");
    let package_cache =
        std::env::var_os("ASSAY_TEST_PACKAGE_CACHE").map_or_else(beside, PathBuf::from);
    House { package_cache, places, may_install: true }
}

/// Writes something, then reads it.
fn probe(url: &str) -> Result<(), String> {
    let requested = registry::open(url, &OPTIONS).and_then(|store| {
        store.keep_note("it answers")?;
        let note = store.note()?;
        store.clear()?;
        Ok(note)
    });
    match requested {
        Ok(Some(note)) if note == "it answers" => Ok(()),
        Ok(other) => Err(format!("{other:?} was read instead of what was written")),
        Err(error) => Err(error.to_string()),
    }
}

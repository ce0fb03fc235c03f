//! Process of a server of a test's own, gone when the test is.

use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

/// How long a server may take until it answers, or a process until it has stopped.
const TIMEOUT: Duration = Duration::from_secs(60);

/// How a server is started, and how it shows that it is there.
pub trait Launch {
    /// The program that serves `port` and keeps what it keeps in `folder`.
    fn command(&self, port: u16, folder: &Path) -> Command;

    /// The URL of its store without options.
    fn url(&self, port: u16) -> String;

    /// Whether it answers at `port`.
    fn is_answering(&self, port: u16) -> bool;

    /// The processes that serve its clients: itself, unless it has others for that.
    fn serving(&self, server: Pid) -> Vec<Pid> {
        vec![server]
    }
}

/// A running server with its folder.
pub struct ServerProcess<L: Launch> {
    pub port: u16,
    pub launch: L,
    folder: PathBuf,
    process: Child,
}

impl<L: Launch> ServerProcess<L> {
    /// Starts a server in this folder, each attempt as `make` says.
    pub fn start_in(folder: PathBuf, make: impl Fn() -> L) -> ServerProcess<L> {
        // A free port may be taken by somebody else before the server has it.
        for _ in 0..5 {
            let (port, launch) = (free_port(), make());
            let mut process = spawn(&launch, port, &folder);
            if comes_up(&launch, port, &mut process) {
                return ServerProcess { port, launch, folder, process };
            }
            end(&mut process);
        }
        panic!("no server came up; its log is {}", log_of(&folder));
    }

    /// The URL of its store followed by `rest`.
    pub fn url(&self, rest: &str) -> String {
        format!("{}{rest}", self.launch.url(self.port))
    }

    /// Where the server keeps what it keeps.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// `kill -9` for the server with all its processes.
    pub fn kill(&mut self) {
        let serving = self.launch.serving(self.pid());
        end(&mut self.process);
        for process in serving {
            // It may have ended by itself; until then it has what the next server wants.
            let _ = kill_process(process, Signal::KILL);
            until_ended(number(process));
        }
    }

    /// Freezes what serves clients: the sockets stay open, but nothing is done.
    pub fn freeze(&self) {
        for process in self.launch.serving(self.pid()) {
            let _ = kill_process(process, Signal::STOP);
            until_stopped(number(process));
        }
    }

    /// Lets a frozen server go on.
    pub fn thaw(&self) {
        for process in self.launch.serving(self.pid()) {
            let _ = kill_process(process, Signal::CONT);
        }
    }

    /// Starts the killed server again on its port.
    pub fn restart(&mut self) {
        self.process = spawn(&self.launch, self.port, &self.folder);
        let is_back = comes_up(&self.launch, self.port, &mut self.process);
        assert!(is_back, "the server did not come back: {}", log_of(&self.folder));
    }

    fn pid(&self) -> Pid {
        Pid::from_child(&self.process)
    }
}

impl<L: Launch> Drop for ServerProcess<L> {
    fn drop(&mut self) {
        let serving = self.launch.serving(self.pid());
        end(&mut self.process);
        for process in serving {
            let _ = kill_process(process, Signal::KILL);
        }
        let _ = fs::remove_dir_all(&self.folder);
    }
}

fn spawn(launch: &impl Launch, port: u16, folder: &Path) -> Child {
    let log = fs::File::create(folder.join("log")).expect("the folder is ours");
    let mut command = launch.command(port, folder);
    command.stdin(Stdio::null()).stdout(log.try_clone().expect("files can be shared")).stderr(log);
    command.spawn().expect("setpriv comes with util-linux, bash is everywhere")
}

fn comes_up(launch: &impl Launch, port: u16, process: &mut Child) -> bool {
    let start = Instant::now();
    while start.elapsed() < TIMEOUT {
        if process.try_wait().expect("the process is ours").is_some() {
            return false;
        }
        if launch.is_answering(port) {
            return true;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    false
}

fn end(process: &mut Child) {
    // It may have been killed already; then there is nothing to do.
    let _ = process.kill();
    let _ = process.wait();
}

/// A process as a number.
fn number(process: Pid) -> u32 {
    process.as_raw_nonzero().get().unsigned_abs()
}

/// A command that dies with the thread that started it, should the test end without dropping it.
pub fn tied(program: &str) -> Command {
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "KILL", program]);
    command
}

/// Returns when every thread of a process that got SIGSTOP has stopped: each stops at a time of its
/// own.
pub fn until_stopped(pid: u32) {
    let tasks = format!("/proc/{pid}/task");
    let is_stopped = |task: fs::DirEntry| {
        let stat = fs::read_to_string(task.path().join("stat")).unwrap_or_default();
        // A thread that has ended meanwhile does nothing either.
        stat.rsplit_once(") ").is_none_or(|(_, rest)| rest.starts_with(['T', 'Z', 'X']))
    };
    let list = || fs::read_dir(&tasks).into_iter().flatten().flatten();
    let start = Instant::now();
    while !list().all(is_stopped) {
        assert!(start.elapsed() < TIMEOUT, "process {pid} does not stop");
        std::thread::yield_now();
    }
}

/// Returns when a process that was killed is gone; one that nobody has waited for does nothing any
/// more.
pub fn until_ended(pid: u32) {
    let stat = || fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let start = Instant::now();
    while stat().rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with(['Z', 'X'])) {
        assert!(start.elapsed() < TIMEOUT, "process {pid} does not end");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// A TCP port of this machine that nobody listens on.
pub fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("this machine has a loopback");
    listener.local_addr().expect("it is bound").port()
}

/// A folder that no other test has.
pub fn new_folder() -> PathBuf {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let name = format!("assay-live-{}-{number}", std::process::id());
    let folder = std::env::temp_dir().join(name);
    fs::create_dir_all(&folder).expect("there is a folder for temporary files");
    folder
}

/// Makes sure that something is here, installing Debian's `package` if it is not.
pub fn need(package: &str, is_there: impl Fn() -> bool) {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _turn = ONE_AT_A_TIME.lock();
    if !is_there() {
        let _ = Command::new("apt-get")
            .args(["-o", "DPkg::Lock::Timeout=600", "install", "-y", package])
            .output();
    }
    assert!(is_there(), "{package} is missing and could not be installed: install it");
}

/// Whether `program` can be run.
pub fn runs(program: &str) -> bool {
    Command::new(program).arg("--version").output().is_ok()
}

/// What a command complained about.
pub fn complaint_of(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn log_of(folder: &Path) -> String {
    fs::read_to_string(folder.join("log")).unwrap_or_else(|error| error.to_string())
}

/// An authority of our own, and a certificate that it gives to 127.0.0.1.
pub fn make_certificates(folder: &Path) {
    let extension = "subjectAltName=IP:127.0.0.1,DNS:localhost";
    fs::write(folder.join("server.ext"), extension).expect("the folder is ours");
    let run = |words: &str| {
        let output = Command::new("openssl")
            .args(words.split(' '))
            .current_dir(folder)
            .output()
            .expect("openssl is missing: install it");
        assert!(output.status.success(), "openssl {words}: {}", complaint_of(&output));
    };
    run("req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 \
         -subj /CN=assay-test-authority -keyout ca.key -out ca.crt");
    run("req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=127.0.0.1 \
         -keyout server.key -out server.csr");
    run("x509 -req -in server.csr -CA ca.crt -CAkey ca.key -CAcreateserial -days 2 \
         -extfile server.ext -out server.crt");
}

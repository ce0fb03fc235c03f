//! A redis-server of a test's own, gone when the test is.

use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Once;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

const START_TIMEOUT: Duration = Duration::from_secs(20);
/// An argument that stands for a port that is free when the server starts.
pub const FREE_PORT: &str = "a free port";

/// A running redis-server with its folder.
pub struct Server {
    pub port: u16,
    folder: PathBuf,
    arguments: Vec<String>,
    is_tls: bool,
    process: Child,
}

impl Server {
    /// Starts a server with these arguments besides its port, bind address and folder.
    pub fn start(arguments: &[&str]) -> Server {
        Server::start_in(&new_folder(), arguments, false)
    }

    /// Starts a server that speaks TLS only; its certificates are in [`Server::folder`].
    pub fn start_tls() -> Server {
        let folder = new_folder();
        make_certificates(&folder);
        let path = |name: &str| folder.join(name).to_str().expect("it is ASCII").to_owned();
        let (ca, cert, key) = (path("ca.crt"), path("server.crt"), path("server.key"));
        let arguments = [
            "--tls-ca-cert-file",
            &ca,
            "--tls-cert-file",
            &cert,
            "--tls-key-file",
            &key,
            "--tls-auth-clients",
            "no",
        ];
        Server::start_in(&folder, &arguments, true)
    }

    fn start_in(folder: &Path, arguments: &[&str], is_tls: bool) -> Server {
        need("redis-server", "redis-server");
        // A free port may be taken by somebody else before the server has it.
        for _ in 0..5 {
            let port = free_port();
            let arguments: Vec<String> = arguments
                .iter()
                .map(|text| match *text {
                    FREE_PORT => free_port().to_string(),
                    text => text.to_owned(),
                })
                .collect();
            let process = spawn(port, folder, &arguments, is_tls);
            let folder = folder.to_owned();
            let mut server = Server { port, folder, arguments, is_tls, process };
            if server.comes_up() {
                return server;
            }
            // What ends now must leave the folder to the next attempt.
            server.folder = PathBuf::new();
        }
        panic!("no redis-server with {arguments:?} came up; its log is {}", log_of(folder));
    }

    /// Where the server keeps what it keeps.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// `redis://127.0.0.1:port` followed by `rest`.
    pub fn url(&self, rest: &str) -> String {
        let scheme = if self.is_tls { "rediss" } else { "redis" };
        format!("{scheme}://127.0.0.1:{}{rest}", self.port)
    }

    /// What redis-cli prints for these words.
    pub fn cli(&self, words: &[&str]) -> String {
        let output = Command::new("redis-cli")
            .args(["-h", "127.0.0.1", "-p", &self.port.to_string()])
            .args(words)
            .output()
            .expect("redis-cli comes with redis-server");
        String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
    }

    /// `kill -9`.
    pub fn kill(&mut self) {
        self.process.kill().expect("the process is ours");
        self.process.wait().expect("it was killed");
    }

    /// Freezes the server: its sockets stay open, but it does nothing.
    pub fn freeze(&self) {
        self.signal(Signal::STOP);
        until_stopped(self.process.id());
    }

    /// Lets a frozen server go on.
    pub fn thaw(&self) {
        self.signal(Signal::CONT);
    }

    /// Starts the killed server again on its port.
    pub fn restart(&mut self) {
        self.process = spawn(self.port, &self.folder, &self.arguments, self.is_tls);
        assert!(self.comes_up(), "the server did not come back: {}", log_of(&self.folder));
    }

    fn signal(&self, signal: Signal) {
        let pid = Pid::from_child(&self.process);
        kill_process(pid, signal).expect("the process is ours");
    }

    fn comes_up(&mut self) -> bool {
        let start = Instant::now();
        while start.elapsed() < START_TIMEOUT {
            if self.process.try_wait().expect("the process is ours").is_some() {
                return false;
            }
            if is_answering(self.port, self.is_tls) {
                return true;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        false
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have been killed already; then there is nothing to do.
        let _ = self.process.kill();
        let _ = self.process.wait();
        let _ = fs::remove_dir_all(&self.folder);
    }
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
        assert!(start.elapsed() < START_TIMEOUT, "process {pid} does not stop");
        std::thread::yield_now();
    }
}

/// Returns when a process that was killed is gone; one that nobody has waited for does nothing any
/// more.
pub fn until_ended(pid: u32) {
    let stat = || fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let start = Instant::now();
    while stat().rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with(['Z', 'X'])) {
        assert!(start.elapsed() < START_TIMEOUT, "process {pid} does not end");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// A TCP port of this machine that nobody listens on.
pub fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("this machine has a loopback");
    listener.local_addr().expect("it is bound").port()
}

/// Dies with the thread that started it, should the test end without dropping it.
fn spawn(port: u16, folder: &Path, arguments: &[String], is_tls: bool) -> Child {
    let port = port.to_string();
    let ports = match is_tls {
        true => ["--port", "0", "--tls-port", &port],
        false => ["--port", &port, "--tls-port", "0"],
    };
    let log = fs::File::create(folder.join("log")).expect("the folder is ours");
    Command::new("setpriv")
        .args(["--pdeathsig", "KILL", "redis-server"])
        .args(["--bind", "127.0.0.1", "--save", "", "--dir"])
        .arg(folder)
        .args(ports)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(log.try_clone().expect("files can be shared"))
        .stderr(log)
        .spawn()
        .expect("setpriv comes with util-linux")
}

fn is_answering(port: u16, is_tls: bool) -> bool {
    let Ok(mut socket) = TcpStream::connect(("127.0.0.1", port)) else { return false };
    if is_tls {
        return true;
    }
    let timeout = Some(Duration::from_secs(1));
    let mut first = [0];
    socket.set_read_timeout(timeout).is_ok()
        && socket.write_all(b"PING\r\n").is_ok()
        && socket.read_exact(&mut first).is_ok()
}

fn log_of(folder: &Path) -> String {
    fs::read_to_string(folder.join("log")).unwrap_or_else(|error| error.to_string())
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

/// Makes sure that `program` is here, installing Debian's `package` if it is not.
fn need(program: &str, package: &str) {
    static ONE_AT_A_TIME: Once = Once::new();
    let is_there = || Command::new(program).arg("--version").output().is_ok();
    ONE_AT_A_TIME.call_once(|| {
        if !is_there() {
            let _ = Command::new("apt-get").args(["install", "-y", package]).output();
        }
    });
    assert!(is_there(), "{program} is missing and could not be installed: install {package}");
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
        let result = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "openssl {words}: {result}");
    };
    run("req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 \
         -subj /CN=assay-test-authority -keyout ca.key -out ca.crt");
    run("req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=127.0.0.1 \
         -keyout server.key -out server.csr");
    run("x509 -req -in server.csr -CA ca.crt -CAkey ca.key -CAcreateserial -days 2 \
         -extfile server.ext -out server.crt");
}

//! A redis-server of a test's own, gone when the test is.

use std::fs::File;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Once;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

const TIMEOUT: Duration = Duration::from_secs(20);

/// An observer of the server, until it is dropped.
pub struct Monitor(Child);

impl Drop for Monitor {
    fn drop(&mut self) {
        self.0.kill().expect("the process is ours");
        self.0.wait().expect("it was killed");
    }
}

/// A running redis-server.
pub struct Server {
    pub port: u16,
    folder: TempDir,
    arguments: Vec<String>,
    process: Child,
}

impl Server {
    /// Starts a server that keeps nothing on the disk.
    pub fn start(arguments: &[&str]) -> Server {
        need_redis();
        let arguments: Vec<String> = arguments.iter().map(|text| (*text).to_owned()).collect();
        // A free port may be taken by somebody else before the server has it.
        for _ in 0..5 {
            let folder = TempDir::with_prefix("assay-redis-").expect("there is a directory");
            let port = free_port();
            let process = spawn(port, &folder, &arguments);
            let mut server = Server { port, folder, arguments: arguments.clone(), process };
            if server.comes_up() {
                return server;
            }
        }
        panic!("no redis-server with {arguments:?} came up");
    }

    /// `redis://127.0.0.1:port` followed by `rest`.
    pub fn url(&self, rest: &str) -> String {
        format!("redis://127.0.0.1:{}{rest}", self.port)
    }

    /// What redis-cli prints for these words.
    pub fn cli(&self, words: &str) -> String {
        let output = Command::new("redis-cli")
            .args(["-h", "127.0.0.1", "-p", &self.port.to_string()])
            .args(words.split_whitespace())
            .output()
            .expect("redis-cli comes with redis-server");
        String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
    }

    /// Writes every request, with its wall-clock time, to `file`.
    pub fn monitor(&self, file: &Path) -> Monitor {
        let file = File::create(file).expect("the file can be made");
        let mut command = Command::new("redis-cli");
        command.args(["-h", "127.0.0.1", "-p", &self.port.to_string(), "monitor"]);
        let process = command.stdout(file).spawn();
        Monitor(process.expect("redis-cli comes with redis-server"))
    }

    /// `kill -9`.
    pub fn kill(&mut self) {
        self.process.kill().expect("the process is ours");
        self.process.wait().expect("it was killed");
    }

    /// Starts the killed server again on its port, empty.
    pub fn restart(&mut self) {
        self.process = spawn(self.port, &self.folder, &self.arguments);
        assert!(self.comes_up(), "the server did not come back");
    }

    /// Its sockets stay open, but it does nothing any more.
    pub fn freeze(&self) {
        let pid = Pid::from_child(&self.process);
        kill_process(pid, Signal::STOP).expect("the process is ours");
    }

    fn comes_up(&mut self) -> bool {
        let begun = Instant::now();
        while begun.elapsed() < TIMEOUT {
            if self.process.try_wait().expect("the process is ours").is_some() {
                return false;
            }
            if is_answering(self.port) {
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
    }
}

/// A TCP port of this machine that nobody listens on.
fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("this machine has a loopback");
    listener.local_addr().expect("it is bound").port()
}

/// Dies with the thread that started it, should the test end without dropping it.
fn spawn(port: u16, folder: &TempDir, arguments: &[String]) -> Child {
    let log = File::create(folder.path().join("log")).expect("the folder is ours");
    Command::new("setpriv")
        .args(["--pdeathsig", "KILL", "redis-server", "--bind", "127.0.0.1", "--save", ""])
        .args(["--port", &port.to_string(), "--dir"])
        .arg(folder.path())
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(log.try_clone().expect("files can be shared"))
        .stderr(log)
        .spawn()
        .expect("setpriv comes with util-linux")
}

fn is_answering(port: u16) -> bool {
    let Ok(mut socket) = TcpStream::connect(("127.0.0.1", port)) else { return false };
    let mut first = [0];
    socket.set_read_timeout(Some(Duration::from_secs(1))).is_ok()
        && socket.write_all(b"PING\r\n").is_ok()
        && socket.read_exact(&mut first).is_ok()
}

/// Makes sure that redis-server is here, installing Debian's package if it is not.
fn need_redis() {
    static ONE_AT_A_TIME: Once = Once::new();
    let is_there = || Command::new("redis-server").arg("--version").output().is_ok();
    ONE_AT_A_TIME.call_once(|| {
        if !is_there() {
            let _ = Command::new("apt-get").args(["install", "-y", "redis-server"]).output();
        }
    });
    assert!(is_there(), "redis-server is missing and could not be installed: install it");
}

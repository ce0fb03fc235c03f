//! A memcached of a test's own, gone when the test is.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::sync::Once;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, getuid, kill_process};

use crate::server::{free_port, until_stopped};

const START_TIMEOUT: Duration = Duration::from_secs(20);

/// A running memcached.
pub struct Server {
    pub port: u16,
    arguments: Vec<String>,
    process: Child,
}

impl Server {
    /// Starts a server with these arguments besides its port, address and memory.
    pub fn start(arguments: &[&str]) -> Server {
        need();
        let arguments: Vec<String> = arguments.iter().map(|text| (*text).to_owned()).collect();
        // A free port may be taken by somebody else before the server has it.
        for _ in 0..5 {
            let port = free_port();
            let process = spawn(port, &arguments);
            let mut server = Server { port, arguments: arguments.clone(), process };
            if server.comes_up() {
                return server;
            }
        }
        panic!("no memcached with {arguments:?} came up");
    }

    /// `memcached://127.0.0.1:port` followed by `rest`.
    pub fn url(&self, rest: &str) -> String {
        format!("memcached://127.0.0.1:{}{rest}", self.port)
    }

    /// What the server answers to these bytes within a moment.
    pub fn send(&self, command: &str) -> String {
        let mut socket = TcpStream::connect(("127.0.0.1", self.port)).expect("it is running");
        // The last request gets the last response.
        socket.write_all(format!("{command}mn\r\n").as_bytes()).expect("it listens");
        let mut result = Vec::new();
        let mut room = [0; 4096];
        while !result.ends_with(b"MN\r\n") {
            let count = socket.read(&mut room).expect("it answers");
            assert!(count > 0, "it closed after {:?}", String::from_utf8_lossy(&result));
            result.extend_from_slice(&room[..count]);
        }
        result.truncate(result.len() - 4);
        String::from_utf8(result).expect("the tests write text")
    }

    /// One of its counts.
    pub fn stat(&self, name: &str) -> String {
        let result = self.send("stats\r\n");
        let start = format!("STAT {name} ");
        let line = result.lines().find_map(|line| line.strip_prefix(&start));
        line.expect("it counts that").to_owned()
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
        self.process = spawn(self.port, &self.arguments);
        assert!(self.comes_up(), "the server did not come back");
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.process), signal).expect("the process is ours");
    }

    fn comes_up(&mut self) -> bool {
        let start = Instant::now();
        while start.elapsed() < START_TIMEOUT {
            if self.process.try_wait().expect("the process is ours").is_some() {
                return false;
            }
            if TcpStream::connect(("127.0.0.1", self.port)).is_ok() {
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

/// One URL of all `servers`, followed by `rest`.
pub fn url(servers: &[Server], rest: &str) -> String {
    let hosts: Vec<String> =
        servers.iter().map(|server| format!("127.0.0.1:{}", server.port)).collect();
    format!("memcached://{}{rest}", hosts.join(","))
}

/// Closes what the process inherited besides its standard streams, then becomes its arguments.
///
/// A Java machine in the process of the tests keeps some hundred archives open and lets children
/// inherit them, and memcached limits its descriptors to its limit of connections: it would have
/// none left to listen with.
const CLOSE_INHERITED: &str = r#"
for file in /proc/self/fd/*; do
    fd=${file##*/}
    if ((fd > 2)); then exec {fd}>&-; fi
done
exec "$@"
"#;

/// Dies with the thread that started it, should the test end without dropping it.
fn spawn(port: u16, arguments: &[String]) -> Child {
    let mut command = Command::new("bash");
    command.args(["-c", CLOSE_INHERITED, "bash", "setpriv", "--pdeathsig", "KILL", "memcached"]);
    command.args(["-l", "127.0.0.1", "-p", &port.to_string()]);
    if getuid().is_root() {
        command.args(["-u", "root"]);
    }
    command
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("bash is everywhere")
}

/// Makes sure that a memcached is here, installing Debian's package if it is not.
fn need() {
    static ONE_AT_A_TIME: Once = Once::new();
    let is_there = || Command::new("memcached").arg("-V").output().is_ok();
    ONE_AT_A_TIME.call_once(|| {
        if !is_there() {
            let _ = Command::new("apt-get").args(["install", "-y", "memcached"]).output();
        }
    });
    assert!(is_there(), "memcached is missing and could not be installed: install memcached");
}

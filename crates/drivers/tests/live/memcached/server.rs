//! A memcached of a test's own, gone when the test is.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::Command;

use rustix::process::getuid;

use crate::server_process::{Launch, ServerProcess, need, new_folder, runs};

/// A running memcached.
pub type Server = ServerProcess<Memcached>;

/// How a memcached is started: with these arguments besides its port, address and memory.
pub struct Memcached(Vec<String>);

impl ServerProcess<Memcached> {
    /// Starts a server with these arguments besides its port, address and memory.
    pub fn start(arguments: &[&str]) -> Server {
        need("memcached", || runs("memcached"));
        let own = || arguments.iter().map(|text| (*text).to_owned()).collect();
        ServerProcess::start_in(new_folder(), || Memcached(own()))
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

impl Launch for Memcached {
    fn command(&self, port: u16, _folder: &Path) -> Command {
        let mut command = Command::new("bash");
        command.args(["-c", CLOSE_INHERITED, "bash", "setpriv", "--pdeathsig", "KILL"]);
        command.args(["memcached", "-l", "127.0.0.1", "-p", &port.to_string()]);
        if getuid().is_root() {
            command.args(["-u", "root"]);
        }
        command.args(&self.0);
        command
    }

    fn url(&self, port: u16) -> String {
        format!("memcached://127.0.0.1:{port}")
    }

    fn is_answering(&self, port: u16) -> bool {
        TcpStream::connect(("127.0.0.1", port)).is_ok()
    }
}

//! A MariaDB of a test's own, gone when the test is.

use std::fs;
use std::io::Read;
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::Once;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, getuid, kill_process};

use crate::ordeal::Mortal;
use crate::server::{free_port, new_folder, until_stopped};

const START_TIMEOUT: Duration = Duration::from_secs(60);

/// A running server with its folder. Its user `root` needs no password, its database is `test`.
pub struct Server {
    pub port: u16,
    folder: PathBuf,
    arguments: Vec<String>,
    process: Child,
}

impl Server {
    /// Starts a server with these arguments besides those that make it a test's own.
    pub fn start(arguments: &[&str]) -> Server {
        let folder = new_folder();
        install(&folder);
        let arguments: Vec<String> = arguments.iter().map(|text| (*text).to_owned()).collect();
        // A free port may be taken by somebody else before the server has it.
        for _ in 0..5 {
            let port = free_port();
            let process = spawn(port, &folder, &arguments);
            let (folder, arguments) = (folder.clone(), arguments.clone());
            let mut server = Server { port, folder, arguments, process };
            if server.comes_up() {
                server.sql("CREATE DATABASE IF NOT EXISTS test");
                return server;
            }
        }
        panic!("no server came up; its log is {}", log_of(&folder));
    }

    /// `mariadb://root@127.0.0.1:port/test` followed by `rest`.
    pub fn url(&self, rest: &str) -> String {
        format!("mariadb://root@127.0.0.1:{}/test{rest}", self.port)
    }

    /// The server's unix socket.
    pub fn socket(&self) -> PathBuf {
        self.folder.join("socket")
    }

    /// What the client prints for this statement, without headings.
    pub fn sql(&self, statement: &str) -> String {
        let output = Command::new("mariadb")
            .args(["--no-defaults", "--host=127.0.0.1", "--user=root", "--protocol=tcp"])
            .args(["--skip-ssl", "--batch", "--skip-column-names"])
            .args([format!("--port={}", self.port), format!("--execute={statement}")])
            .output()
            .expect("the client comes with the server");
        assert!(output.status.success(), "{statement}: {}", outcome_of(&output));
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
        self.process = spawn(self.port, &self.folder, &self.arguments);
        assert!(self.comes_up(), "the server did not come back: {}", log_of(&self.folder));
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
            if is_greeting(self.port) {
                return true;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        false
    }
}

impl Mortal for Server {
    fn freeze(&mut self) {
        Server::freeze(self);
    }

    fn thaw(&mut self) {
        Server::thaw(self);
    }

    fn kill(&mut self) {
        Server::kill(self);
    }

    fn restart(&mut self) {
        Server::restart(self);
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

/// Dies with the thread that started it, should the test end without dropping it.
fn spawn(port: u16, folder: &Path, arguments: &[String]) -> Child {
    let log = fs::File::create(folder.join("log")).expect("the folder is ours");
    let path = |name: &str| folder.join(name).display().to_string();
    let mut command = Command::new("setpriv");
    command
        .args(["--pdeathsig", "KILL", "mariadbd", "--no-defaults"])
        .arg(format!("--datadir={}", path("data")))
        .arg(format!("--socket={}", path("socket")))
        .arg(format!("--pid-file={}", path("pid")))
        .arg(format!("--tmpdir={}", folder.display()))
        .args(["--bind-address=127.0.0.1", "--innodb-buffer-pool-size=32M"])
        .args(["--innodb-log-file-size=8M", "--max-connections=60"])
        .arg(format!("--port={port}"));
    if getuid().is_root() {
        command.arg("--user=root");
    }
    command
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(log.try_clone().expect("files can be shared"))
        .stderr(log)
        .spawn()
        .expect("setpriv comes with util-linux")
}

/// A server that accepts connections sends its greeting before the first request.
fn is_greeting(port: u16) -> bool {
    let Ok(mut socket) = TcpStream::connect(("127.0.0.1", port)) else { return false };
    let timeout = Some(Duration::from_secs(1));
    socket.set_read_timeout(timeout).is_ok() && socket.read_exact(&mut [0; 5]).is_ok()
}

/// Makes the server's own tables in a new folder.
fn install(folder: &Path) {
    need();
    let mut command = Command::new("mariadb-install-db");
    command
        .args(["--no-defaults", "--auth-root-authentication-method=normal", "--skip-test-db"])
        .args(["--skip-name-resolve", "--innodb-log-file-size=8M"])
        .arg(format!("--datadir={}", folder.join("data").display()))
        // Servers that are installed at the same time would remove each other's files.
        .arg(format!("--tmpdir={}", folder.display()));
    if getuid().is_root() {
        command.arg("--user=root");
    }
    let output = command.output().expect("mariadb-install-db comes with the server");
    assert!(output.status.success(), "mariadb-install-db failed: {}", outcome_of(&output));
}

/// Makes sure that a server is here, installing Debian's package if it is not.
fn need() {
    static ONE_AT_A_TIME: Once = Once::new();
    let is_there = || Command::new("mariadbd").arg("--version").output().is_ok();
    ONE_AT_A_TIME.call_once(|| {
        if !is_there() {
            let _ = Command::new("apt-get").args(["install", "-y", "mariadb-server"]).output();
        }
    });
    assert!(is_there(), "MariaDB is missing and could not be installed: install mariadb-server");
}

fn outcome_of(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn log_of(folder: &Path) -> String {
    fs::read_to_string(folder.join("log")).unwrap_or_else(|error| error.to_string())
}

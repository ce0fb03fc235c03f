//! A MariaDB of a test's own, gone when the test is.

use std::io::Read;
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use rustix::process::getuid;

use crate::server_process::{Launch, ServerProcess, complaint_of, need, new_folder, runs, tied};

/// A running server. Its user `root` needs no password, its database is `test`.
pub type Server = ServerProcess<MariaDb>;

/// How a server is started: with these arguments besides those that make it a test's own.
pub struct MariaDb(Vec<String>);

impl ServerProcess<MariaDb> {
    /// Starts a server with these arguments besides those that make it a test's own.
    pub fn start(arguments: &[&str]) -> Server {
        let folder = new_folder();
        install(&folder);
        let own = || arguments.iter().map(|text| (*text).to_owned()).collect();
        let server = ServerProcess::start_in(folder, || MariaDb(own()));
        server.sql("CREATE DATABASE IF NOT EXISTS test");
        server
    }

    /// The server's unix socket.
    pub fn socket(&self) -> PathBuf {
        self.folder().join("socket")
    }

    /// What the client prints for this statement, without headings.
    pub fn sql(&self, statement: &str) -> String {
        let output = Command::new("mariadb")
            .args(["--no-defaults", "--host=127.0.0.1", "--user=root", "--protocol=tcp"])
            .args(["--skip-ssl", "--batch", "--skip-column-names"])
            .args([format!("--port={}", self.port), format!("--execute={statement}")])
            .output()
            .expect("the client comes with the server");
        assert!(output.status.success(), "{statement}: {}", complaint_of(&output));
        String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
    }
}

impl Launch for MariaDb {
    fn command(&self, port: u16, folder: &Path) -> Command {
        let path = |name: &str| folder.join(name).display().to_string();
        let mut command = tied("mariadbd");
        command
            .arg("--no-defaults")
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
        command.args(&self.0);
        command
    }

    fn url(&self, port: u16) -> String {
        format!("mariadb://root@127.0.0.1:{port}/test")
    }

    /// A server that accepts connections sends its greeting before the first request.
    fn is_answering(&self, port: u16) -> bool {
        let Ok(mut socket) = TcpStream::connect(("127.0.0.1", port)) else { return false };
        let timeout = Some(Duration::from_secs(1));
        socket.set_read_timeout(timeout).is_ok() && socket.read_exact(&mut [0; 5]).is_ok()
    }
}

/// Makes the server's own tables in a new folder.
fn install(folder: &Path) {
    need("mariadb-server", || runs("mariadbd"));
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
    assert!(output.status.success(), "mariadb-install-db failed: {}", complaint_of(&output));
}

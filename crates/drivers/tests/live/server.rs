//! A redis-server of a test's own, gone when the test is.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::server_process::{Launch, ServerProcess, need, runs, tied};
pub use crate::server_process::{free_port, make_certificates, new_folder};

/// An argument that stands for a port that is free when the server starts.
pub const FREE_PORT: &str = "a free port";

/// A running redis-server.
pub type Server = ServerProcess<Redis>;

/// How a redis-server is started.
pub struct Redis {
    arguments: Vec<String>,
    is_tls: bool,
}

impl ServerProcess<Redis> {
    /// Starts a server with these arguments besides its port, bind address and folder.
    pub fn start(arguments: &[&str]) -> Server {
        start_in(new_folder(), arguments, false)
    }

    /// Starts a server that speaks TLS only; its certificates are in its folder.
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
        start_in(folder.clone(), &arguments, true)
    }

    /// What redis-cli prints for these words.
    pub fn cli(&self, words: &str) -> String {
        let output = self.client().args(words.split_whitespace()).output();
        let output = output.expect("redis-cli comes with redis-server");
        String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
    }

    /// redis-cli, which talks to this server.
    pub fn client(&self) -> Command {
        let mut command = Command::new("redis-cli");
        command.args(["-h", "127.0.0.1", "-p", &self.port.to_string()]);
        command
    }
}

fn start_in(folder: PathBuf, arguments: &[&str], is_tls: bool) -> Server {
    need("redis-server", || runs("redis-server"));
    ServerProcess::start_in(folder, || {
        let arguments = arguments.iter().map(|text| match *text {
            FREE_PORT => free_port().to_string(),
            text => text.to_owned(),
        });
        Redis { arguments: arguments.collect(), is_tls }
    })
}

impl Launch for Redis {
    fn command(&self, port: u16, folder: &Path) -> Command {
        let port = port.to_string();
        let ports = match self.is_tls {
            true => ["--port", "0", "--tls-port", &port],
            false => ["--port", &port, "--tls-port", "0"],
        };
        let mut command = tied("redis-server");
        command.args(["--bind", "127.0.0.1", "--save", "", "--dir"]).arg(folder);
        command.args(ports).args(&self.arguments);
        command
    }

    fn url(&self, port: u16) -> String {
        let scheme = if self.is_tls { "rediss" } else { "redis" };
        format!("{scheme}://127.0.0.1:{port}")
    }

    fn is_answering(&self, port: u16) -> bool {
        let Ok(mut socket) = TcpStream::connect(("127.0.0.1", port)) else { return false };
        self.is_tls
            || socket.set_read_timeout(Some(Duration::from_secs(1))).is_ok()
                && socket.write_all(b"PING\r\n").is_ok()
                && socket.read_exact(&mut [0]).is_ok()
    }
}

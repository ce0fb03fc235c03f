//! A server of the S3 protocol of a test's own, gone when the test is.
//!
//! It is s3s-fs, whose buckets are folders and whose objects are files.

use std::fs::{self, File};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Once;

use tempfile::TempDir;

use crate::place::wait_until;

/// The version that is installed.
const VERSION: &str = "0.13.0-alpha.3";
/// Whom the server lets in.
const ACCESS_KEY: &str = "assay";
const SECRET_KEY: &str = "assay-secret";

/// A running server.
pub struct S3Server {
    port: u16,
    folder: TempDir,
    process: Option<Child>,
}

impl S3Server {
    /// Starts a server with one bucket, `runs`.
    pub fn start() -> S3Server {
        let folder = TempDir::with_prefix("assay-s3-").expect("there is a directory");
        fs::create_dir(folder.path().join("runs")).expect("the folder is ours");
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let port = listener.local_addr().expect("it is bound").port();
        drop(listener);
        let mut server = S3Server { port, folder, process: None };
        server.come_back();
        server
    }

    /// Starts it again, with what it has stored.
    pub fn come_back(&mut self) {
        let process = Command::new("setpriv")
            .args(["--pdeathsig", "KILL"])
            .arg(installed())
            .args(["--host", "127.0.0.1", "--port", &self.port.to_string()])
            .args(["--access-key", ACCESS_KEY, "--secret-key", SECRET_KEY])
            .arg(self.folder.path())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(File::create(self.folder.path().join("log")).expect("the folder is ours"))
            .spawn();
        self.process = Some(process.expect("setpriv comes with util-linux"));
        let address = ("127.0.0.1", self.port);
        wait_until("the S3 server listens", || TcpStream::connect(address).is_ok());
    }

    /// `kill -9`.
    pub fn kill(&mut self) {
        if let Some(mut process) = self.process.take() {
            process.kill().expect("the process is ours");
            process.wait().expect("it was killed");
        }
    }

    /// Gives a command the variables that it needs.
    pub fn known_to<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        command
            .env("AWS_ENDPOINT_URL", format!("http://127.0.0.1:{}", self.port))
            .env("AWS_ALLOW_HTTP", "true")
            .env("AWS_ACCESS_KEY_ID", ACCESS_KEY)
            .env("AWS_SECRET_ACCESS_KEY", SECRET_KEY)
    }

    /// The file of an object, or the folder of a prefix.
    pub fn path(&self, key: &str) -> PathBuf {
        self.folder.path().join(key)
    }
}

impl Drop for S3Server {
    fn drop(&mut self) {
        self.kill();
    }
}

/// The server's program, built from its registry where it is missing.
fn installed() -> PathBuf {
    static ONE_AT_A_TIME: Once = Once::new();
    let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join("s3s-fs");
    let program = root.join("bin/s3s-fs");
    ONE_AT_A_TIME.call_once(|| {
        if !program.exists() {
            let words = ["install", "s3s-fs", "--version", VERSION, "--locked", "--debug"];
            let mut command = Command::new(env!("CARGO"));
            let command = command.args(words).args(["--features", "binary", "--root"]).arg(&root);
            let output = command.output().expect("cargo is there");
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(output.status.success(), "s3s-fs could not be installed: {said}");
        }
    });
    program
}

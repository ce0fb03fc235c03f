//! A redis-server of a test's own, as the driver's tests have it, and who watches it.

use std::fs::File;
use std::path::Path;
use std::process::Child;

#[allow(dead_code, reason = "the driver's tests take more of it")]
#[path = "../../../drivers/tests/live/server.rs"]
mod server;

pub use server::Server;

/// An observer of the server, until it is dropped.
pub struct Monitor(Child);

impl Drop for Monitor {
    fn drop(&mut self) {
        self.0.kill().expect("the process is ours");
        self.0.wait().expect("it was killed");
    }
}

/// Writes every request to `server`, with its wall-clock time, to `file`.
pub fn monitor(server: &Server, file: &Path) -> Monitor {
    let file = File::create(file).expect("the file can be made");
    let process = server.client().arg("monitor").stdout(file).spawn();
    Monitor(process.expect("redis-cli comes with redis-server"))
}

//! A PostgreSQL of a test's own, gone when the test is.

use std::fs;
use std::net::TcpStream;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::process::{Pid, getuid};

use crate::server_process::{
    Launch, ServerProcess, complaint_of, make_certificates, need, new_folder,
};

/// Where Debian keeps the servers, a folder for each version.
const VERSIONS: &str = "/usr/lib/postgresql";

/// A running server. It knows the user `postgres`, who needs no password; its unix socket is in
/// its folder.
pub type Server = ServerProcess<Postgres>;

/// How a server is started: with these settings beside those that make it a test's own.
pub struct Postgres(Vec<String>);

impl ServerProcess<Postgres> {
    /// Starts a server with these settings (`name=value`) beside those that make it a test's own.
    pub fn start(settings: &[&str]) -> Server {
        start_in(new_folder(), settings)
    }

    /// Starts a server that speaks TLS too; its certificates are in its folder.
    pub fn start_tls() -> Server {
        let folder = new_folder();
        make_certificates(&folder);
        let path = |name: &str| folder.join(name).display().to_string();
        let (cert, key) = (path("server.crt"), path("server.key"));
        fs::set_permissions(&key, fs::Permissions::from_mode(0o600)).expect("the key is ours");
        need_postgres();
        give_away(Path::new(&key));
        let settings =
            ["ssl=on".into(), format!("ssl_cert_file={cert}"), format!("ssl_key_file={key}")];
        start_in(folder, &settings.each_ref().map(String::as_str))
    }

    /// What psql prints for this statement, without headings.
    pub fn sql(&self, statement: &str) -> String {
        let output = Command::new(program("psql"))
            .args(["-h", "127.0.0.1", "-p", &self.port.to_string(), "-U", "postgres"])
            .args(["--no-psqlrc", "--tuples-only", "--no-align", "--command", statement])
            .output()
            .expect("psql comes with the server");
        assert!(output.status.success(), "{statement}: {}", complaint_of(&output));
        String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
    }
}

fn start_in(folder: PathBuf, settings: &[&str]) -> Server {
    need_postgres();
    give_away(&folder);
    let output = as_servant(&program("initdb"))
        .args(["--username=postgres", "--auth=trust", "--encoding=UTF8", "--no-sync"])
        .args(["--locale=C.UTF-8", "--pgdata"])
        .arg(folder.join("data"))
        .output()
        .expect("initdb comes with the server");
    assert!(output.status.success(), "initdb failed: {}", complaint_of(&output));
    let own = || settings.iter().map(|text| (*text).to_owned()).collect();
    ServerProcess::start_in(folder, || Postgres(own()))
}

impl Launch for Postgres {
    fn command(&self, port: u16, folder: &Path) -> Command {
        let mut command = as_servant(&program("postgres"));
        command.args(["-D".as_ref(), folder.join("data").as_os_str()]);
        command.args(["-p".into(), port.to_string(), "-k".into()]).arg(folder);
        let own = ["listen_addresses=127.0.0.1", "shared_buffers=32MB", "max_connections=60"];
        for setting in own.into_iter().chain(self.0.iter().map(String::as_str)) {
            command.args(["-c", setting]);
        }
        command
    }

    fn url(&self, port: u16) -> String {
        format!("postgres://postgres@127.0.0.1:{port}/postgres")
    }

    fn is_answering(&self, port: u16) -> bool {
        let ready = Command::new(program("pg_isready"))
            .args(["-q", "-h", "127.0.0.1", "-p", &port.to_string()])
            .status();
        let is_ours = TcpStream::connect(("127.0.0.1", port)).is_ok();
        is_ours && ready.is_ok_and(|status| status.success())
    }

    /// The server's children, by what the system says of their parents.
    fn serving(&self, server: Pid) -> Vec<Pid> {
        let path = format!("/proc/{0}/task/{0}/children", server.as_raw_nonzero());
        let text = fs::read_to_string(path).unwrap_or_default();
        let numbers = text.split_whitespace().filter_map(|word| word.parse().ok());
        numbers.filter_map(Pid::from_raw).collect()
    }
}

/// A command of a user who is not root: the server refuses to be. It dies with the thread that
/// started it.
fn as_servant(program: &Path) -> Command {
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "KILL"]);
    if getuid().is_root() {
        command.args(["--reuid", "postgres", "--regid", "postgres", "--clear-groups"]);
    }
    command.arg(program);
    command
}

/// Makes `path` the servant's, if we are root.
fn give_away(path: &Path) {
    if getuid().is_root() {
        let number = |flag: &str| {
            let output = Command::new("id").args([flag, "postgres"]).output();
            let output = output.expect("id is there");
            String::from_utf8_lossy(&output.stdout).trim().parse().expect("the user is there")
        };
        chown(path, Some(number("-u")), Some(number("-g"))).expect("root may do so");
    }
}

/// A program of the newest version that is here.
pub fn program(name: &str) -> PathBuf {
    let versions = fs::read_dir(VERSIONS).into_iter().flatten().flatten();
    let newest = versions
        .filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok())
        .max()
        .unwrap_or_default();
    PathBuf::from(format!("{VERSIONS}/{newest}/bin/{name}"))
}

fn need_postgres() {
    need("postgresql", || program("initdb").exists());
}

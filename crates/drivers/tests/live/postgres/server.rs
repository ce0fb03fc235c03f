//! A PostgreSQL of a test's own, gone when the test is.

use std::fs;
use std::net::TcpStream;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::Once;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, getuid, kill_process};

use crate::server::{free_port, make_certificates, new_folder, until_ended, until_stopped};

const START_TIMEOUT: Duration = Duration::from_secs(60);

/// Where Debian keeps the servers, a folder for each version.
const VERSIONS: &str = "/usr/lib/postgresql";

/// A running server with its folder. It knows the user `postgres`, who needs no password.
pub struct Server {
    pub port: u16,
    folder: PathBuf,
    settings: Vec<String>,
    process: Child,
}

impl Server {
    /// Starts a server with these settings (`name=value`) beside those that make it a test's own.
    pub fn start(settings: &[&str]) -> Server {
        Server::start_in(new_folder(), settings)
    }

    /// Starts a server that speaks TLS too; its certificates are in [`Server::folder`].
    pub fn start_tls() -> Server {
        let folder = new_folder();
        make_certificates(&folder);
        let path = |name: &str| folder.join(name).display().to_string();
        let (cert, key) = (path("server.crt"), path("server.key"));
        fs::set_permissions(&key, fs::Permissions::from_mode(0o600)).expect("the key is ours");
        need();
        give_away(Path::new(&key));
        let settings =
            ["ssl=on".into(), format!("ssl_cert_file={cert}"), format!("ssl_key_file={key}")];
        Server::start_in(folder.clone(), &settings.each_ref().map(String::as_str))
    }

    fn start_in(folder: PathBuf, settings: &[&str]) -> Server {
        need();
        give_away(&folder);
        let cluster = folder.join("data");
        let output = as_servant(&program("initdb"))
            .args(["--username=postgres", "--auth=trust", "--encoding=UTF8", "--no-sync"])
            .args(["--locale=C.UTF-8", "--pgdata"])
            .arg(&cluster)
            .output()
            .expect("initdb comes with the server");
        assert!(output.status.success(), "initdb failed: {}", outcome_of(&output));
        let settings: Vec<String> = settings.iter().map(|text| (*text).to_owned()).collect();
        // A free port may be taken by somebody else before the server has it.
        for _ in 0..5 {
            let port = free_port();
            let process = spawn(port, &folder, &settings);
            let (folder, settings) = (folder.clone(), settings.clone());
            let mut server = Server { port, folder, settings, process };
            if server.comes_up() {
                return server;
            }
        }
        panic!("no server came up; its log is {}", log_of(&folder));
    }

    /// `postgres://127.0.0.1:port/postgres` followed by `rest`.
    pub fn url(&self, rest: &str) -> String {
        format!("postgres://postgres@127.0.0.1:{}/postgres{rest}", self.port)
    }

    /// The folder of the server's unix socket.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// What psql prints for this statement, without headings.
    pub fn sql(&self, statement: &str) -> String {
        let output = Command::new(program("psql"))
            .args(["-h", "127.0.0.1", "-p", &self.port.to_string(), "-U", "postgres"])
            .args(["--no-psqlrc", "--tuples-only", "--no-align", "--command", statement])
            .output()
            .expect("psql comes with the server");
        assert!(output.status.success(), "{statement}: {}", outcome_of(&output));
        String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
    }

    /// `kill -9` for the server with all its processes.
    pub fn kill(&mut self) {
        let children = self.children();
        self.process.kill().expect("the process is ours");
        for child in &children {
            // It may have ended by itself.
            let _ = kill_process(*child, Signal::KILL);
        }
        self.process.wait().expect("it was killed");
        // Until then they have the memory that the next server wants.
        children.iter().for_each(|child| until_ended(number(*child)));
    }

    /// Freezes the processes that serve clients: their sockets stay open, but they do nothing.
    pub fn freeze(&self) {
        for child in self.children() {
            let _ = kill_process(child, Signal::STOP);
            until_stopped(number(child));
        }
    }

    /// Lets a frozen server go on.
    pub fn thaw(&self) {
        for child in self.children() {
            let _ = kill_process(child, Signal::CONT);
        }
    }

    /// Starts the killed server again on its port.
    pub fn restart(&mut self) {
        self.process = spawn(self.port, &self.folder, &self.settings);
        assert!(self.comes_up(), "the server did not come back: {}", log_of(&self.folder));
    }

    /// The server's processes, by what the system says of their parents.
    fn children(&self) -> Vec<Pid> {
        let path = format!("/proc/{0}/task/{0}/children", self.process.id());
        let text = fs::read_to_string(path).unwrap_or_default();
        let numbers = text.split_whitespace().filter_map(|word| word.parse().ok());
        numbers.filter_map(Pid::from_raw).collect()
    }

    fn comes_up(&mut self) -> bool {
        let start = Instant::now();
        while start.elapsed() < START_TIMEOUT {
            if self.process.try_wait().expect("the process is ours").is_some() {
                return false;
            }
            let ready = Command::new(program("pg_isready"))
                .args(["-q", "-h", "127.0.0.1", "-p", &self.port.to_string()])
                .status();
            let is_ours = TcpStream::connect(("127.0.0.1", self.port)).is_ok();
            if is_ours && ready.is_ok_and(|status| status.success()) {
                return true;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        false
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let children = self.children();
        // It may have been killed already; then there is nothing to do.
        let _ = self.process.kill();
        for child in children {
            let _ = kill_process(child, Signal::KILL);
        }
        let _ = self.process.wait();
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// A process as a number.
fn number(process: Pid) -> u32 {
    process.as_raw_nonzero().get().unsigned_abs()
}

/// Dies with the thread that started it, should the test end without dropping it.
fn spawn(port: u16, folder: &Path, settings: &[String]) -> Child {
    let log = fs::File::create(folder.join("log")).expect("the folder is ours");
    let mut command = as_servant(&program("postgres"));
    command.args(["-D".as_ref(), folder.join("data").as_os_str()]);
    command.args(["-p".into(), port.to_string(), "-k".into()]).arg(folder);
    for setting in ["listen_addresses=127.0.0.1", "shared_buffers=32MB", "max_connections=60"] {
        command.args(["-c", setting]);
    }
    for setting in settings {
        command.args(["-c", setting]);
    }
    command
        .stdin(Stdio::null())
        .stdout(log.try_clone().expect("files can be shared"))
        .stderr(log)
        .spawn()
        .expect("setpriv comes with util-linux")
}

/// A command of a user who is not root: the server refuses to be.
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

/// Makes sure that a server is here, installing Debian's package if it is not.
fn need() {
    static ONE_AT_A_TIME: Once = Once::new();
    ONE_AT_A_TIME.call_once(|| {
        if !program("initdb").exists() {
            let _ = Command::new("apt-get").args(["install", "-y", "postgresql"]).output();
        }
    });
    assert!(
        program("initdb").exists(),
        "PostgreSQL is missing and could not be installed: install postgresql"
    );
}

fn outcome_of(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn log_of(folder: &Path) -> String {
    fs::read_to_string(folder.join("log")).unwrap_or_else(|error| error.to_string())
}

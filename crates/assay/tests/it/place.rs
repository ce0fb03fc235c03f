//! A directory of a test's own with the binary to run in it.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use signal_hook::consts::SIGHUP;
use signal_hook::flag;
use tempfile::TempDir;

/// How long a command may take before the test fails: a study that starts twelve Java programs
/// takes a minute on a busy machine.
const TIMEOUT: Duration = Duration::from_secs(180);

/// The binary under test.
pub const ASSAY: &str = env!("CARGO_BIN_EXE_assay");

/// A directory, gone when the test is.
pub struct Place {
    folder: TempDir,
    next: AtomicU32,
}

impl Place {
    pub fn new() -> Place {
        let folder = TempDir::with_prefix("assay-it-").expect("there is a temporary directory");
        Place { folder, next: AtomicU32::new(0) }
    }

    /// The path of a file or directory in it.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) -> &Place {
        fs::write(self.path(name), content).expect("the directory is ours");
        self
    }

    pub fn read(&self, name: &str) -> String {
        let path = self.path(name);
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    /// The JSON in a file.
    #[track_caller]
    pub fn read_json(&self, name: &str) -> Value {
        serde_json::from_str(&self.read(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    #[track_caller]
    pub fn bytes(&self, name: &str) -> Vec<u8> {
        fs::read(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// Cuts a file in its middle.
    #[track_caller]
    pub fn cut(&self, name: &str) {
        let whole = self.bytes(name);
        self.write(name, &whole[..whole.len() / 2]);
    }

    /// Removes a file, or a directory with all that is in it.
    #[track_caller]
    pub fn remove(&self, name: &str) {
        let path = self.path(name);
        let removed = if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
        removed.unwrap_or_else(|error| panic!("{name}: {error}"));
    }

    /// Removes a directory if it is there.
    pub fn clear(&self, name: &str) {
        if self.path(name).exists() {
            self.remove(name);
        }
    }

    /// Changes a bit in the middle of a file.
    #[track_caller]
    pub fn flip(&self, name: &str) {
        let mut bytes = self.bytes(name);
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        self.write(name, bytes);
    }

    /// Names of what is in a directory, in alphabetical order; nothing if it is not there.
    pub fn list(&self, name: &str) -> Vec<String> {
        let Ok(entries) = fs::read_dir(self.path(name)) else { return Vec::new() };
        let name = |entry: fs::DirEntry| entry.file_name().to_string_lossy().into_owned();
        let mut names: Vec<String> = entries.map(|entry| name(entry.expect("ours"))).collect();
        names.sort();
        names
    }

    /// `program` in this directory, with an environment that says as little as possible.
    pub fn program(&self, program: &str) -> Command {
        receive_hangups();
        let mut command = Command::new(program);
        command
            .current_dir(self.folder.path())
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.folder.path())
            .env("LC_ALL", "C.UTF-8")
            .stdin(Stdio::null());
        command
    }

    /// The binary with words that hold no spaces.
    pub fn command(&self, words: &str) -> Command {
        let mut command = self.program(ASSAY);
        command.args(words.split_whitespace());
        command
    }

    /// Starts the binary.
    pub fn start(&self, words: &str) -> Running {
        self.start_with(words, |command| command)
    }

    /// Starts the binary with an environment or with words that hold spaces.
    pub fn start_with(
        &self,
        words: &str,
        change: impl FnOnce(&mut Command) -> &mut Command,
    ) -> Running {
        let mut command = self.command(words);
        change(&mut command);
        self.spawn(command)
    }

    /// Starts the binary with actions on a lab.
    pub fn start_at(&self, words: &str, actions: &str) -> Running {
        self.start_with(words, |command| command.args(["--at", actions]))
    }

    /// Runs a line of a shell that finds the binary as `assay`.
    pub fn shell(&self, line: &str) -> Ran {
        self.shell_by("env", &[], line)
    }

    /// Runs such a line in a namespace of its own: `--mount` or `--net`.
    pub fn shell_in(&self, namespace: &str, line: &str) -> Ran {
        self.shell_by("unshare", &["--map-root-user", namespace], line)
    }

    fn shell_by(&self, program: &str, words: &[&str], line: &str) -> Ran {
        let folder = Path::new(ASSAY).parent().expect("it lies in a folder").display();
        let path = std::env::var("PATH").unwrap_or_default();
        let mut command = self.program(program);
        command.env("PATH", format!("{folder}:{path}")).args(words).args(["sh", "-c", line]);
        self.spawn(command).wait()
    }

    /// Starts a command whose output is kept, and gives its piped input.
    pub fn spawn_with_input(&self, command: Command) -> (Running, ChildStdin) {
        let mut running = self.spawn(command);
        let input = running.child.stdin.take().expect("the input is piped");
        (running, input)
    }

    /// Starts a command whose output is kept.
    pub fn spawn(&self, mut command: Command) -> Running {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let [out, err] = ["out", "err"].map(|name| self.path(&format!(".{name}{number}")));
        let file = |path: &Path| File::create(path).expect("the directory is ours");
        let child = command.stdout(file(&out)).stderr(file(&err)).spawn().expect("it is built");
        Running { describe: format!("{command:?}"), child, out, err }
    }

    /// Runs the binary to its end.
    pub fn assay(&self, words: &str) -> Ran {
        self.start(words).wait()
    }

    /// Runs the binary, which must end with code 0.
    #[track_caller]
    pub fn fine(&self, words: &str) -> Ran {
        self.assay(words).code(0)
    }

    /// What a command that ends with code 0 shows as JSON.
    #[track_caller]
    pub fn json(&self, words: &str) -> Value {
        self.fine(&format!("{words} --format json")).json()
    }

    /// Runs the binary, which must refuse its input and say so.
    #[track_caller]
    pub fn refuses(&self, words: &str, says: &str) -> Ran {
        self.assay(words).code(2).says(says)
    }
}

/// A command that goes on.
pub struct Running {
    describe: String,
    child: Child,
    out: PathBuf,
    err: PathBuf,
}

impl Running {
    pub fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).expect("the process is ours");
    }

    /// What it has said on standard error so far.
    pub fn said(&self) -> String {
        text(&self.err)
    }

    /// What it has shown on standard output so far.
    pub fn display(&self) -> String {
        text(&self.out)
    }

    /// `kill -9`, waited for.
    pub fn kill(&mut self) {
        self.child.kill().expect("the process is ours");
        self.child.wait().expect("it was killed");
    }

    pub fn wait(mut self) -> Ran {
        let begun = Instant::now();
        let status = loop {
            if let Some(status) = self.child.try_wait().expect("the process is ours") {
                break status;
            }
            if begun.elapsed() > TIMEOUT {
                self.kill();
                panic!("{} did not end\n{}", self.describe, text(&self.err));
            }
            std::thread::sleep(Duration::from_millis(2));
        };
        let (out, err) = (text(&self.out), text(&self.err));
        Ran { describe: self.describe.clone(), code: status.code(), out, err }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // A test that fails must not leave it behind; mostly it has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Lets programs that are started receive SIGHUP as usual, also where `nohup` has started the
/// tests: an ignored signal stays ignored in whatever is executed, one with a handler does not.
fn receive_hangups() {
    let status = fs::read_to_string("/proc/self/status").expect("it is Linux");
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.map(|mask| u64::from_str_radix(mask.trim(), 16).expect("it is hexadecimal"));
    if mask.is_some_and(|mask| mask >> (SIGHUP - 1) & 1 == 1) {
        flag::register(SIGHUP, Arc::default()).expect("the system lets us");
    }
}

fn text(path: &Path) -> String {
    let bytes = fs::read(path).expect("the directory is ours");
    String::from_utf8(bytes).expect("the binary prints UTF-8")
}

/// Returns when the first records of the run with the run directory `b` are on the disk.
pub fn until_issuing(place: &Place) {
    let blocks = place.path("b/blocks");
    let size = |path| std::fs::metadata(path).map_or(0, |metadata| metadata.len());
    wait_until("the first records are on the disk", || {
        let files = std::fs::read_dir(&blocks).into_iter().flatten().flatten();
        files.map(|file| size(file.path())).sum::<u64>() > 0
    });
}

/// Waits until `is_so`, looking often.
pub fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < TIMEOUT, "waited in vain until {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// A command that came to its end.
pub struct Ran {
    describe: String,
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

impl Ran {
    #[track_caller]
    pub fn code(self, code: i32) -> Ran {
        let Ran { describe, out, err, .. } = &self;
        assert_eq!(self.code, Some(code), "{describe}\n--- out\n{out:.1500}\n--- err\n{err}");
        self
    }

    /// Standard error holds `text`, lines joined.
    #[track_caller]
    pub fn says(self, text: &str) -> Ran {
        assert!(
            flat(&self.err).contains(text),
            "{} does not say {text:?}:\n{}",
            self.describe,
            self.err
        );
        self
    }

    /// Standard output holds `text`, lines joined.
    #[track_caller]
    pub fn shows(self, text: &str) -> Ran {
        assert!(
            flat(&self.out).contains(text),
            "{} does not show {text:?}:\n{}",
            self.describe,
            self.out
        );
        self
    }

    /// The result, which was requested as JSON.
    #[track_caller]
    pub fn json(&self) -> Value {
        let describe = |error| panic!("{}: {error}\n{}", self.describe, self.out);
        serde_json::from_str(&self.out).unwrap_or_else(describe)
    }

    /// Whether any escape sequence was printed.
    pub fn has_escapes(&self) -> bool {
        self.out.contains('\u{1b}') || self.err.contains('\u{1b}')
    }
}

/// Words with single spaces between them: where a line breaks says nothing.
fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

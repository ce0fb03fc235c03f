//! The process that holds a lab: starts it, serves its requests, ends it.
//!
//! Servers are killed by the kernel when the thread that started them ends. So the main thread has
//! the lab from its beginning to its end, alone; other threads handle signals, requests, the
//! parent's end, and tell it.

mod alarms;
mod control_socket;
mod kept;
mod watchdog;

use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result};
use assay_lab::{Ground, Injected, Injection, Lab, LabError, Order, Watch};
use assay_run::clock;
use rustix::stdio::{dup2_stderr, dup2_stdout};

use self::kept::Kept;
pub use self::watchdog::watchdog;
use crate::exit::{Exit, NotInstalled, code, usage};
use crate::experiment::rfc3339;
use crate::lab::client::SOCKET;
use crate::lab::failure;
use crate::lab::job_spec::JobSpec;
use crate::lab::probe::probe;
use crate::lab::wire::{Reply, Request};

/// The file in a lab's folder that has the supervisor's own output.
pub const LOG: &str = "supervisor.log";
/// The kernel takes paths of sockets of 107 bytes; some rest makes the error come early.
const SOCKET_PATH_MAX: usize = 100;

/// How often the servers are checked for an unexpected end.
const LOOK: Duration = Duration::from_millis(50);

/// What the main thread is to do next.
enum Job {
    /// The request of a client that waits at the other end of the socket.
    Do { request: Request, test_client: UnixStream },
    /// Look how the nodes are.
    Look { then: Sender<()> },
    /// End it all.
    End { why: String },
}

/// `assay lab keep`, an internal command: reads its job, then holds the lab to its end.
///
/// # Errors
/// If it was started by hand. Other errors are sent to the parent.
pub fn keep() -> Result<Exit> {
    // What a terminal does to its programs is not for us; this fails only if it is so already.
    let _ = rustix::process::setsid();
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).context("cannot read what to keep")?;
    let job_spec: JobSpec = serde_json::from_str(&line)
        .map_err(|_| usage("a supervisor is started by `assay lab up`, not by hand"))?;
    let kept = Arc::new(Kept::new(&job_spec));
    // Its end of the pipe is closed by this process's end, however that comes.
    let _guard = watchdog::start()?;
    let (jobs, inbox) = channel();
    alarms::listen(&job_spec, &kept, &jobs)?;
    let lab = match begin(&job_spec, &kept, jobs) {
        Ok(lab) => lab,
        Err(error) => {
            let exit = code(&error);
            let is_not_installed = error.is::<NotInstalled>();
            say(&Reply::Failed { text: format!("{error:#}"), exit: exit as u8, is_not_installed });
            return Ok(exit);
        }
    };
    Ok(serve(lab, &job_spec, &kept, &inbox))
}

/// Starts the lab in its folder, from which it is gone again if that fails.
fn begin(job_spec: &JobSpec, kept: &Arc<Kept>, jobs: Sender<Job>) -> Result<Lab> {
    let order = job_spec.order()?;
    check_length(&job_spec.folder.join(SOCKET))?;
    // The folder of another lab must not be removed.
    let ground = Ground::claim(&job_spec.folder).map_err(|error| failure::from_lab(&error))?;
    let risen = rise(job_spec, &order, ground, kept, jobs);
    if let Err(error) = &risen {
        log(&format!("{error:#}"));
        leave(job_spec);
        if code(error) == Exit::Interrupted || error.is::<NotInstalled>() {
            // The logs of a cancelled start are not needed.
            let _ = fs::remove_dir_all(&job_spec.folder);
        }
    }
    risen
}

/// Starts the lab in its folder; the parent process has been told then.
fn rise(
    job_spec: &JobSpec,
    order: &Order,
    ground: Ground,
    kept: &Arc<Kept>,
    jobs: Sender<Job>,
) -> Result<Lab> {
    let begun = clock::monotonic();
    let output = File::options().create(true).append(true).open(job_spec.folder.join(LOG));
    let output = output.context("cannot write the supervisor's log")?;
    dup2_stderr(&output).context("cannot write to the supervisor's log")?;
    make_link(job_spec)?;
    control_socket::open(&job_spec.folder.join(SOCKET), Arc::clone(kept), jobs)?;
    let tell = |text: &str| {
        log(text);
        kept.doing(format!("starting: {text}"));
        say(&Reply::Tell { text: text.to_owned() });
    };
    let watch = Watch::new(kept.stop(), &tell);
    let lab = Lab::up_on(order, ground, &job_spec.house(), &watch, &mut |url| probe(url));
    let mut lab = lab.map_err(|error| failure::from_lab(&error))?;
    kept.is_ready(clock::monotonic().since(begun));
    kept.saw(&mut lab);
    log(&format!("ready: {}", lab.url()));
    say(&done(kept, None));
    dup2_stdout(&output).context("cannot write to the supervisor's log")?;
    Ok(lab)
}

fn check_length(path: &Path) -> Result<()> {
    let length = path.as_os_str().len();
    if length <= SOCKET_PATH_MAX {
        return Ok(());
    }
    Err(usage(format!(
        "{} is {length} bytes long, and a socket's path has at most {SOCKET_PATH_MAX}; choose a \
         shorter --dir or --lab-dir",
        path.display()
    )))
}

/// Serves requests until one tells it to end, then ends the lab.
fn serve(mut lab: Lab, job_spec: &JobSpec, kept: &Kept, inbox: &Receiver<Job>) -> Exit {
    let mut test_client = None;
    loop {
        let job = inbox.recv_timeout(LOOK);
        notice_deaths(&mut lab);
        let job = match job {
            Ok(job) => job,
            Err(RecvTimeoutError::Timeout) => continue,
            Err(RecvTimeoutError::Disconnected) => break,
        };
        match job {
            Job::Look { then } => {
                kept.saw(&mut lab);
                // The client may have timed out.
                let _ = then.send(());
            }
            Job::Do { request: Request::Down, test_client: who } => {
                test_client = Some(who);
                break;
            }
            Job::Do { request, test_client } => {
                let reply = execute(&mut lab, &request, kept, &test_client);
                answer(&test_client, &reply);
            }
            Job::End { why } => {
                log(&why);
                break;
            }
        }
    }
    log("ending");
    kept.doing("ending".to_owned());
    let ended = lab.down();
    leave(job_spec);
    let (reply, exit) = match ended {
        Ok(()) => (done(kept, None), Exit::Fine),
        Err(error) => (refusal(&error), failure::exit(&error)),
    };
    if let Some(test_client) = test_client {
        answer(&test_client, &reply);
    }
    exit
}

/// Writes down which servers have ended by themselves; observers of the lab read it there.
fn notice_deaths(lab: &mut Lab) {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    match lab.notice_deaths(u64::try_from(now.as_millis()).unwrap_or(u64::MAX)) {
        Ok(reported) => reported.iter().for_each(|text| log(text)),
        Err(error) => log(&error.to_string()),
    }
}

fn execute(lab: &mut Lab, request: &Request, kept: &Kept, test_client: &UnixStream) -> Reply {
    let what = describe(request);
    log(&what);
    let tell = |text: &str| {
        log(text);
        kept.doing(format!("{what}: {text}"));
        answer(test_client, &Reply::Tell { text: text.to_owned() });
    };
    let watch = Watch::new(kept.stop(), &tell);
    let ended = match request {
        Request::Scale { nodes } => lab.scale(*nodes, &watch).map(|()| None),
        Request::Fault(injection) => inject(lab, injection, &watch).map(Some),
        Request::Status | Request::Down => Ok(None),
    };
    kept.saw(lab);
    kept.is_idle();
    match ended {
        Ok(injected) => done(kept, injected),
        Err(error) => {
            log(&error.to_string());
            refusal(&error)
        }
    }
}

/// Injects a fault, and returns when it shows.
fn inject(lab: &mut Lab, injection: &Injection, watch: &Watch<'_>) -> Result<Injected, LabError> {
    let asked = clock::monotonic();
    let nodes = lab.targets(injection, watch)?;
    let begun = clock::monotonic();
    let found_ns = begun.since(asked).0;
    lab.inject(injection, &nodes, watch)?;
    let applied_ns = clock::monotonic().since(begun).0;
    lab.verify(injection.fault, &nodes, watch)?;
    let verified_ns = clock::monotonic().since(begun).0;
    log(&format!("{} is done and verified", injection.text_of(&nodes)));
    Ok(Injected { nodes, found_ns, applied_ns, verified_ns })
}

fn done(kept: &Kept, injected: Option<Injected>) -> Reply {
    Reply::Done { status: Box::new(kept.status()), injected }
}

fn describe(request: &Request) -> String {
    match request {
        Request::Scale { nodes } => format!("scaling to {nodes}"),
        Request::Fault(injection) => injection.text(),
        Request::Status => "looking".to_owned(),
        Request::Down => "ending".to_owned(),
    }
}

fn refusal(error: &LabError) -> Reply {
    let exit = failure::exit(error) as u8;
    Reply::Failed { text: error.to_string(), exit, is_not_installed: false }
}

/// Makes the lab found by its name, if its folder is elsewhere.
fn make_link(job_spec: &JobSpec) -> Result<()> {
    let Some(link) = &job_spec.link else { return Ok(()) };
    if let Some(parent) = link.parent() {
        fs::create_dir_all(parent)
            .with_context(|| format!("cannot make the folder {}", parent.display()))?;
    }
    // One that points nowhere is what a lab has left whose folder somebody removed.
    let _ = fs::remove_file(link);
    symlink(&job_spec.folder, link).with_context(|| format!("cannot make {}", link.display()))
}

/// Takes away what leads to the lab. What is gone already needs nothing.
fn leave(job_spec: &JobSpec) {
    let _ = fs::remove_file(job_spec.folder.join(SOCKET));
    if let Some(link) = &job_spec.link {
        let _ = fs::remove_file(link);
    }
}

/// Sends a message to the parent. It may be gone: the alarm handles that.
fn say(reply: &Reply) {
    let mut line = line(reply);
    line.push('\n');
    let _ = std::io::stdout().write_all(line.as_bytes());
    let _ = std::io::stdout().flush();
}

/// Replies to the client. It may be gone, which changes nothing.
fn answer(test_client: &UnixStream, reply: &Reply) {
    let mut test_client = test_client;
    let _ = test_client.write_all((line(reply) + "\n").as_bytes());
}

fn line(reply: &Reply) -> String {
    serde_json::to_string(reply).expect("a reply is plain data")
}

fn log(text: &str) {
    eprintln!("{} {text}", rfc3339(SystemTime::now()));
}

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

use rustix::stdio::{dup2_stderr, dup2_stdout};

use self::kept::Kept;
pub use self::watchdog::watchdog;
use crate::LabError;
use crate::client::SOCKET;
use crate::fault::{Injected, Injection};
use crate::ground::Ground;
use crate::job_spec::{JobSpec, LOG};
use crate::lab::{Lab, Order};
use crate::proxy::Now;
use crate::recipe::Recipe;
use crate::tool::Watch;
use crate::wire::{LabReply, LabRequest};

/// The kernel takes paths of sockets of 107 bytes; some rest makes the error come early.
const SOCKET_PATH_MAX: usize = 100;

/// How often the servers are checked for an unexpected end.
const LOOK: Duration = Duration::from_millis(50);

/// What the main thread is to do next.
enum Job {
    /// The request of a client that waits at the other end of the socket.
    Do { request: LabRequest, client: UnixStream },
    /// Look how the nodes are.
    Look { then: Sender<()> },
    /// End it all.
    End { why: String },
}

/// What a supervisor needs of the program that it is.
#[derive(Clone, Copy, Debug)]
pub struct Supervision {
    /// The clock of the run.
    pub now: Now,
    /// Whether there is a driver for the recipe's store.
    pub check: fn(&dyn Recipe) -> Result<(), LabError>,
    /// Writes a record to the store at a URL, and reads it.
    pub probe: fn(&str) -> Result<(), String>,
}

/// `assay lab keep`, an internal command: reads its job, then holds the lab to its end. Gives the
/// code that the command ends with.
///
/// # Errors
/// If it was started by hand. Other errors are sent to the parent.
pub fn keep(supervision: Supervision) -> Result<u8, LabError> {
    // What a terminal does to its programs is not for us; this fails only if it is so already.
    let _ = rustix::process::setsid();
    let mut line = String::new();
    let unread = |error| LabError::internal("cannot read what to keep", error);
    std::io::stdin().read_line(&mut line).map_err(unread)?;
    let by_hand = "a supervisor is started by `assay lab up`, not by hand";
    let job_spec: JobSpec =
        serde_json::from_str(&line).map_err(|_| LabError::Order(by_hand.to_owned()))?;
    let kept = Arc::new(Kept::new(&job_spec));
    // Its end of the pipe is closed by this process's end, however that comes.
    let _guard = watchdog::start()?;
    let (jobs, inbox) = channel();
    alarms::listen(&job_spec, &kept, &jobs)?;
    let lab = match begin(&job_spec, &kept, jobs, supervision) {
        Ok(lab) => lab,
        Err(error) => {
            say(&refusal(&error));
            return Ok(error.code());
        }
    };
    let ended = serve(lab, &job_spec, &kept, &inbox, supervision.now);
    Ok(ended.map_or_else(|error| error.code(), |()| 0))
}

/// Starts the lab in its folder, from which it is gone again if that fails.
fn begin(
    job_spec: &JobSpec,
    kept: &Arc<Kept>,
    jobs: Sender<Job>,
    supervision: Supervision,
) -> Result<Lab, LabError> {
    let order = job_spec.order(supervision.now)?;
    (supervision.check)(order.recipe)?;
    check_length(&job_spec.folder.join(SOCKET))?;
    // The folder of another lab must not be removed.
    let ground = Ground::claim(&job_spec.folder)?;
    let risen = rise(job_spec, &order, ground, kept, jobs, supervision);
    if let Err(error) = &risen {
        log(&error.to_string());
        leave(job_spec);
        if matches!(error, LabError::Stopped | LabError::NotInstalled(_)) {
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
    Supervision { now, probe, .. }: Supervision,
) -> Result<Lab, LabError> {
    let begun = now();
    let path = job_spec.folder.join(LOG);
    let unwritten = |error| LabError::io(&path, "cannot write", error);
    let output = File::options().create(true).append(true).open(&path).map_err(unwritten)?;
    dup2_stderr(&output).map_err(|error| unwritten(error.into()))?;
    make_link(job_spec)?;
    control_socket::open(&job_spec.folder.join(SOCKET), Arc::clone(kept), jobs)?;
    let tell = |text: &str| {
        log(text);
        kept.doing(format!("starting: {text}"));
        say(&LabReply::Tell { text: text.to_owned() });
    };
    let watch = Watch::new(kept.stop(), &tell);
    let mut lab = Lab::up_on(order, ground, &job_spec.house(), &watch, &mut |url| probe(url))?;
    kept.is_ready(now().since(begun));
    kept.saw(&mut lab);
    log(&format!("ready: {}", lab.url()));
    say(&done(kept, None));
    dup2_stdout(&output).map_err(|error| unwritten(error.into()))?;
    Ok(lab)
}

fn check_length(path: &Path) -> Result<(), LabError> {
    let length = path.as_os_str().len();
    if length <= SOCKET_PATH_MAX {
        return Ok(());
    }
    Err(LabError::Order(format!(
        "{} is {length} bytes long, and a socket's path has at most {SOCKET_PATH_MAX}; choose a \
         shorter --dir or --lab-dir",
        path.display()
    )))
}

/// Serves requests until one tells it to end, then ends the lab.
fn serve(
    mut lab: Lab,
    job_spec: &JobSpec,
    kept: &Kept,
    inbox: &Receiver<Job>,
    now: Now,
) -> Result<(), LabError> {
    let mut client = None;
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
            Job::Do { request: LabRequest::Down, client: who } => {
                client = Some(who);
                break;
            }
            Job::Do { request, client } => {
                let reply = execute(&mut lab, &request, kept, &client, now);
                answer(&client, &reply);
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
    if let Some(client) = client {
        answer(&client, &ended.as_ref().map_or_else(refusal, |()| done(kept, None)));
    }
    ended
}

/// Writes down which servers have ended by themselves; observers of the lab read it there.
fn notice_deaths(lab: &mut Lab) {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    match lab.notice_deaths(u64::try_from(now.as_millis()).unwrap_or(u64::MAX)) {
        Ok(reported) => reported.iter().for_each(|text| log(text)),
        Err(error) => log(&error.to_string()),
    }
}

fn execute(
    lab: &mut Lab,
    request: &LabRequest,
    kept: &Kept,
    client: &UnixStream,
    now: Now,
) -> LabReply {
    let what = describe(request);
    log(&what);
    let tell = |text: &str| {
        log(text);
        kept.doing(format!("{what}: {text}"));
        answer(client, &LabReply::Tell { text: text.to_owned() });
    };
    let watch = Watch::new(kept.stop(), &tell);
    let ended = match request {
        LabRequest::Scale { nodes } => lab.scale(*nodes, &watch).map(|()| None),
        LabRequest::Fault(injection) => inject(lab, injection, &watch, now).map(Some),
        LabRequest::Status | LabRequest::Down => Ok(None),
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
fn inject(
    lab: &mut Lab,
    injection: &Injection,
    watch: &Watch<'_>,
    now: Now,
) -> Result<Injected, LabError> {
    let asked = now();
    let nodes = lab.targets(injection, watch)?;
    let begun = now();
    let found_ns = begun.since(asked).0;
    lab.inject(injection, &nodes, watch)?;
    let applied_ns = now().since(begun).0;
    lab.verify(injection.fault, &nodes, watch)?;
    let verified_ns = now().since(begun).0;
    log(&format!("{} is done and verified", injection.text_of(&nodes)));
    Ok(Injected { nodes, found_ns, applied_ns, verified_ns })
}

fn done(kept: &Kept, injected: Option<Injected>) -> LabReply {
    LabReply::Done { status: Box::new(kept.status()), injected }
}

fn describe(request: &LabRequest) -> String {
    match request {
        LabRequest::Scale { nodes } => format!("scaling to {nodes}"),
        LabRequest::Fault(injection) => injection.text(),
        LabRequest::Status => "looking".to_owned(),
        LabRequest::Down => "ending".to_owned(),
    }
}

fn refusal(error: &LabError) -> LabReply {
    let is_not_installed = matches!(error, LabError::NotInstalled(_));
    LabReply::Failed { text: error.to_string(), exit: error.code(), is_not_installed }
}

/// Makes the lab found by its name, if its folder is elsewhere.
fn make_link(job_spec: &JobSpec) -> Result<(), LabError> {
    let Some(link) = &job_spec.link else { return Ok(()) };
    if let Some(parent) = link.parent() {
        fs::create_dir_all(parent)
            .map_err(|error| LabError::io(parent, "cannot make the folder", error))?;
    }
    // One that points nowhere is what a lab has left whose folder somebody removed.
    let _ = fs::remove_file(link);
    symlink(&job_spec.folder, link).map_err(|error| LabError::io(link, "cannot make", error))
}

/// Takes away what leads to the lab. What is gone already needs nothing.
fn leave(job_spec: &JobSpec) {
    let _ = fs::remove_file(job_spec.folder.join(SOCKET));
    if let Some(link) = &job_spec.link {
        let _ = fs::remove_file(link);
    }
}

/// Sends a message to the parent. It may be gone: the alarm handles that.
fn say(reply: &LabReply) {
    let mut line = line(reply);
    line.push('\n');
    let _ = std::io::stdout().write_all(line.as_bytes());
    let _ = std::io::stdout().flush();
}

/// Replies to the client. It may be gone, which changes nothing.
fn answer(client: &UnixStream, reply: &LabReply) {
    let mut client = client;
    let _ = client.write_all((line(reply) + "\n").as_bytes());
}

fn line(reply: &LabReply) -> String {
    serde_json::to_string(reply).expect("a reply is plain data")
}

/// Writes a line into the supervisor's log, which standard error is.
fn log(text: &str) {
    let now = humantime::format_rfc3339_millis(SystemTime::now());
    // Without it the lab is as good.
    let _ = writeln!(std::io::stderr(), "{now} {text}");
}

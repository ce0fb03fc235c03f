//! Control socket of a supervisor, which only its user may open.

use std::io::{BufRead, BufReader, Read};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::thread;
use std::time::Duration;

use rustix::fs::Mode;
use rustix::process::umask;

use super::{Job, Kept, answer, describe, done, refusal};
use crate::LabError;
use crate::wire::{LabReply, LabRequest};

/// How long a client may take to send its request, or to read a line of the response.
const TIMEOUT: Duration = Duration::from_secs(2);
/// The longest request.
const REQUEST_BYTES_MAX: u64 = 4096;
/// How long the main thread may take to look at the nodes; longer means that it does something.
const LOOK_TIMEOUT: Duration = Duration::from_millis(500);

/// Opens the socket at `path`; requests become jobs.
pub fn open(path: &Path, kept: Arc<Kept>, jobs: Sender<Job>) -> Result<(), LabError> {
    let before = umask(Mode::RWXG | Mode::RWXO | Mode::XUSR);
    let listener = UnixListener::bind(path);
    umask(before);
    let listener = listener.map_err(|error| LabError::io(path, "cannot listen at", error))?;
    // One after the other: no client takes longer than it takes to read a line.
    let serve = move || {
        for client in listener.incoming().flatten() {
            receive(client, &kept, &jobs);
        }
    };
    let thread = thread::Builder::new().name("requests".to_owned()).spawn(serve);
    match thread {
        Ok(_) => Ok(()),
        Err(error) => Err(LabError::internal("cannot start a thread that hears requests", error)),
    }
}

fn receive(client: UnixStream, kept: &Kept, jobs: &Sender<Job>) {
    let is_patient = client.set_read_timeout(Some(TIMEOUT)).is_ok()
        && client.set_write_timeout(Some(TIMEOUT)).is_ok();
    let mut line = String::new();
    let read = BufReader::new((&client).take(REQUEST_BYTES_MAX)).read_line(&mut line);
    if !is_patient || read.is_err() {
        return;
    }
    match serde_json::from_str(&line) {
        Ok(LabRequest::Status) => {
            look(kept, jobs);
            answer(&client, &done(kept, None));
        }
        Ok(LabRequest::Down) => {
            // Whatever goes on is not wanted any more.
            kept.raise();
            hand_over(Job::Do { request: LabRequest::Down, client }, jobs);
        }
        Ok(request) => match kept.begin(&describe(&request)) {
            Ok(()) => hand_over(Job::Do { request, client }, jobs),
            Err(text) => answer(&client, &senseless(text)),
        },
        Err(error) => {
            let text = format!("the supervisor does not understand {line:?}: {error}");
            answer(&client, &senseless(text));
        }
    }
}

fn senseless(text: String) -> LabReply {
    refusal(&LabError::Order(text))
}

/// Lets the main thread look at the nodes, unless it does something else.
fn look(kept: &Kept, jobs: &Sender<Job>) {
    if kept.status().doing.is_some() {
        return;
    }
    let (then, looked) = channel();
    hand_over(Job::Look { then }, jobs);
    let _ = looked.recv_timeout(LOOK_TIMEOUT);
}

/// The main thread may have gone; then the process ends, and its sockets with it.
fn hand_over(job: Job, jobs: &Sender<Job>) {
    let _ = jobs.send(job);
}

//! Commands to a Java machine that runs, through the socket at which it listens for its own tools.
//!
//! What is said there is the protocol of HotSpot's `attachListener`, version 1: the version, the
//! name of a command, three arguments, each with a zero byte at its end; the answer is a code and
//! a line's end, then words. It is what `jcmd` speaks, which only a JDK brings.

use std::fs;
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::Duration;

use crate::error::LabError;
use crate::site::Site;

/// The option by which Java listens from its start on. Otherwise it is woken by a signal, which
/// would kill it if it came too early.
pub(crate) const LISTENS: &str = "-XX:+StartAttachListener";
/// Where Java's sockets are on Linux, whatever it has for other temporary files.
const FOLDER: &str = "/tmp";
/// How long it may take to carry out a command.
const TIMEOUT: Duration = Duration::from_secs(30);
/// The longest answer that is read.
const ANSWER_BYTES_MAX: u64 = 1 << 16;

/// Has the Java of node `node`, which was started with [`LISTENS`], carry out a diagnostic command
/// as soon as it listens, for at most about `seconds`. Later messages are ignored.
///
/// # Errors
/// If it does not listen, or fails.
pub(crate) fn command(
    site: &mut Site<'_>,
    node: usize,
    text: &str,
    seconds: u32,
) -> Result<(), LabError> {
    let Some(pid) = site.pid(node) else {
        return Err(LabError::Failed(format!("node {node} has no process")));
    };
    let path = PathBuf::from(format!("{FOLDER}/.java_pid{pid}"));
    let what = format!("the Java of node {node} to listen to its tools");
    let mut socket = None;
    // There may be a file that one of the same number has left.
    site.wait_until(&what, seconds, |_| {
        socket = UnixStream::connect(&path).ok();
        Ok(socket.is_some())
    })?;
    let answer = socket.map_or_else(|| Ok(String::new()), |socket| send(socket, text));
    // It removes it when it ends, but not when it is killed.
    let _ = fs::remove_file(&path);
    let answer = answer.map_err(|error| LabError::io(&path, "cannot query", error))?;
    match answer.split_once('\n') {
        Some(("0", _)) => Ok(()),
        _ => Err(LabError::Failed(format!(
            "the Java of node {node} does not do `{text}`: {}",
            answer.trim()
        ))),
    }
}

fn send(mut socket: UnixStream, text: &str) -> io::Result<String> {
    socket.set_read_timeout(Some(TIMEOUT))?;
    socket.set_write_timeout(Some(TIMEOUT))?;
    socket.write_all(format!("1\0jcmd\0{text}\0\0\0").as_bytes())?;
    let mut answer = String::new();
    socket.take(ANSWER_BYTES_MAX).read_to_string(&mut answer)?;
    Ok(answer)
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[test]
    fn a_command_has_three_arguments_of_which_one_is_used() {
        const EXPECTED: &[u8] = b"1\0jcmd\0Thread.print x\0\0\0";
        let (test_client, mut java) = UnixStream::pair().unwrap();
        let java = thread::spawn(move || {
            let mut received = vec![0; EXPECTED.len()];
            java.read_exact(&mut received).unwrap();
            java.write_all(b"0\ndone\n").unwrap();
            received
        });
        assert_eq!(send(test_client, "Thread.print x").unwrap(), "0\ndone\n");
        assert_eq!(java.join().unwrap(), EXPECTED);
    }
}

//! Child processes of this program that end with their parent.

use std::ffi::OsString;
use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result};
use assay_lab::PROGRAM;
use rustix::process::{Signal, getppid, set_parent_process_death_signal};

use crate::exit::{Exit, Failure};

/// The environment variable with the pid of the parent: a flag would be kept in its run
/// directory.
const VARIABLE: &str = "ASSAY_TETHER";

/// The environment variable that says that the arguments are on standard input: the public ones,
/// which `ps` shows, are without passwords.
const ON_STDIN: &str = "ASSAY_TETHER_WORDS";

/// This program, to be started as a process that [heeds](heed) the end of this one.
pub fn tied() -> Command {
    let mut command = Command::new(PROGRAM);
    command.arg0("assay").env(VARIABLE, std::process::id().to_string());
    command
}

/// Starts a [tied] `command` with `words`; `displayed` is their public form.
pub fn spawn(command: &mut Command, words: &[String], displayed: &[String]) -> io::Result<Child> {
    command.args(displayed);
    if words == displayed {
        return command.stdin(Stdio::null()).spawn();
    }
    let mut child = command.env(ON_STDIN, "stdin").stdin(Stdio::piped()).spawn()?;
    if let Some(mut stdin) = child.stdin.take() {
        stdin.write_all(&serde_json::to_vec(words)?)?;
    }
    Ok(child)
}

/// The arguments of this process. Fails if they should be on standard input, but are not.
pub fn words() -> Result<Vec<OsString>> {
    let mut typed = std::env::args_os();
    if std::env::var_os(ON_STDIN).is_none() {
        return Ok(typed.collect());
    }
    let words: Vec<String> = serde_json::from_reader(io::stdin().lock())
        .with_context(|| format!("{ON_STDIN} is set, but standard input has no words"))?;
    Ok(typed.next().into_iter().chain(words.into_iter().map(OsString::from)).collect())
}

/// Makes this process end with its parent, if that started it as a tied one. Fails if the parent
/// has ended already.
pub fn heed() -> Result<()> {
    let Ok(starter) = std::env::var(VARIABLE) else { return Ok(()) };
    set_parent_process_death_signal(Some(Signal::KILL))
        .context("cannot make this process end with its parent")?;
    // It may have ended before the request for the signal, which would then never come.
    let parent = getppid().map(|pid| pid.as_raw_nonzero().to_string());
    if parent.as_ref() == Some(&starter) {
        return Ok(());
    }
    let message = format!("process {starter}, which {VARIABLE} says has started this one, is gone");
    Err(Failure { exit: Exit::Interrupted, message }.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_not_in_the_command_line_that_everybody_can_read() {
        let words = |url: &str| ["run", "--target", url].map(str::to_owned);
        let mut command = Command::new("sh");
        command.args(["-c", "tr '\\0' ' ' < /proc/$$/cmdline; cat", "assay"]);
        command.stdout(Stdio::piped());
        let child = spawn(&mut command, &words("redis://:pw@h"), &words("redis://…@h")).unwrap();
        let reported = String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap();
        let (line, input) = reported.split_once("[").unwrap();
        assert!(line.ends_with("assay run --target redis://…@h "), "{line}");
        assert_eq!(input, r#""run","--target","redis://:pw@h"]"#);
    }
}

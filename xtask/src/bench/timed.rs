//! Whole commands with the processor time that they took.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

/// What one command did.
pub struct Timed {
    /// What it printed as its result.
    pub text: Vec<u8>,
    /// Processor time of the whole command, user with system, in seconds.
    pub cpu: f64,
}

/// Bash's own `time` tells the processor time of one child, into the file that is `$0`.
///
/// It writes its numbers as the language of the user does, perhaps with a comma, so the language
/// is C when they are written; the command has ended by then, it never sees that. What it says on
/// its standard error goes where ours goes, by way of 3, which it does not inherit.
const SCRIPT: &str = r#"
TIMEFORMAT='%U %S'
{ time { "$@" 2>&3 3>&-; reported=$?; LC_ALL=C; }; exit $reported; } 3>&2 2>"$0"
"#;

/// Runs a command in `folder`, beside which a file for the time is left.
///
/// # Errors
/// If it cannot be run or fails, the message has its last words; if nothing tells its time.
pub fn timed(folder: &Path, program: &Path, arguments: &[&str]) -> Result<Timed> {
    let timing = folder.with_extension("time");
    let output = Command::new("bash")
        .current_dir(folder)
        .args(["-c", SCRIPT])
        .arg(&timing)
        .arg(program)
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .context("cannot run bash")?;
    if !output.status.success() {
        let reported = String::from_utf8_lossy(&output.stderr);
        let last = reported.lines().rev().take(5).collect::<Vec<_>>();
        let last = last.into_iter().rev().collect::<Vec<_>>().join("\n");
        let name = program.file_name().unwrap_or_default().display();
        bail!("{name} {} ended with {}: {last}", arguments.join(" "), output.status);
    }
    let reported = fs::read_to_string(&timing)
        .with_context(|| format!("cannot read the processor time in {timing:?}"))?;
    Ok(Timed { text: output.stdout, cpu: seconds(&reported)? })
}

/// The sum of the two numbers that `text` has to be.
///
/// # Errors
/// If it is anything else: no time would look like no work, the best figure of all.
fn seconds(text: &str) -> Result<f64> {
    let numbers: Result<Vec<f64>, _> = text.split_whitespace().map(str::parse).collect();
    match numbers.as_deref() {
        Ok([user, system]) if user.is_finite() && system.is_finite() => Ok(user + system),
        _ => bail!("{:?} is no processor time: two numbers of seconds", text.trim()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs a script of `sh` in a folder of its own.
    fn of_script(script: &str) -> Result<Timed> {
        let dir = tempfile::tempdir()?;
        let folder = dir.path().join("scratch");
        fs::create_dir(&folder)?;
        timed(&folder, Path::new("sh"), &["-c", script])
    }

    #[test]
    fn processor_times_are_added_up() {
        assert_eq!(seconds("1.25 0.5\n").ok(), Some(1.75));
        assert_eq!(seconds("0.000 0.000\n").ok(), Some(0.0));
    }

    #[test]
    fn anything_but_two_numbers_is_no_time() {
        for text in ["", "1.25", "1,25 0,50", "1.25 0.5 0.1", "bash: no 1.25 0.5", "nan 0.5"] {
            let error = seconds(text).map_err(|error| error.to_string());
            assert!(
                error.as_ref().is_err_and(|reported| reported.contains(text)),
                "{text}: {error:?}"
            );
        }
    }

    #[test]
    fn work_takes_time() {
        let busy = "i=0; while [ $i -lt 100000 ]; do i=$((i + 1)); done; echo $i";
        let ran = of_script(busy).expect("it only counts");
        assert_eq!(ran.text, b"100000\n");
        assert!(ran.cpu > 0.0);
    }

    #[test]
    fn commands_run_with_a_neutral_locale_and_no_open_files() {
        let script = "echo \"${LC_ALL-none} ${TIMEFORMAT-none}\"";
        let plain = Command::new("sh").args(["-c", script]).output().expect("there is a shell");
        let ran = of_script(script).expect("it only prints");
        assert_eq!(String::from_utf8_lossy(&ran.text), String::from_utf8_lossy(&plain.stdout));
        let ran = of_script("if { true >&3; } 2>&1; then echo open; fi").expect("it only looks");
        assert_ne!(ran.text, b"open\n");
    }

    #[test]
    fn failures_keep_their_code_with_their_last_words() {
        let error = of_script("echo progress; echo no such store >&2; exit 4").err();
        let text = error.map(|error| error.to_string()).unwrap_or_default();
        assert!(text.contains("exit status: 4") && text.contains("no such store"), "{text}");
    }

    #[test]
    fn a_time_that_is_not_reported_is_an_error() {
        let reported = of_script("rm ../scratch.time").map(|ran| ran.cpu);
        assert!(
            reported.as_ref().is_err_and(|e| e.to_string().contains("scratch.time")),
            "{reported:?}"
        );
    }
}

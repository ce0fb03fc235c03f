//! Commands that are refused with what they say, as a transcript of a shell.

use expect_test::Expect;

use crate::place::Place;
use crate::wrapped::wrapped;

/// Runs the commands of a transcript, which are its lines that begin with `$ `.
///
/// Each must be refused as a mistake, without a result or a run directory. What it says follows it
/// in the transcript, without `error: `, where long lines are several.
#[track_caller]
pub fn refused(place: &Place, transcript: &Expect) {
    let lines = transcript.data().lines().map(str::trim);
    let commands: Vec<&str> = lines.filter_map(|line| line.strip_prefix("$ ")).collect();
    assert!(!commands.is_empty(), "a transcript has commands");
    let mut said = String::new();
    for command in commands {
        let ran = place.shell(command).code(2);
        assert_eq!(ran.out, "", "{command}: a mistake has no result");
        assert_eq!(place.list("runs"), [""; 0], "{command}: a mistake leaves no run directory");
        let text = ran.err.trim_end();
        let text = wrapped(text.strip_prefix("error: ").unwrap_or(text), 88);
        said += &format!("$ {command}\n{text}\n");
    }
    transcript.assert_eq(&said);
}

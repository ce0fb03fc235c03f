//! The URL of a driver in another program, taken apart.

use std::path::PathBuf;
use std::time::Duration;

use assay_driver_kit::secrets::Redaction;
use assay_driver_kit::url_options::{self, Count, Millis, decode};
use assay_store::OpenError;
use serde::Deserialize;

const EXAMPLE: &str = "exec:./driver.py?p.NAME=VALUE&in_flight=16";
/// The most requests that one process may have in flight.
pub(super) const MOST_IN_FLIGHT: usize = 4096;
const HELLO_TIMEOUT: Duration = Duration::from_secs(10);
const ADMIN_TIMEOUT: Duration = Duration::from_secs(60);
/// The longest timeout, in milliseconds.
const MOST_MILLIS: usize = 3_600_000;

/// `exec:PROGRAM?arg=…&p.NAME=VALUE&…` in its parts.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Options {
    /// The URL without secrets.
    pub(super) displayed: String,
    /// The program with its arguments in one line, without secrets.
    pub(super) command_line: String,
    /// The driver's own options in one line without secrets; empty if there are none.
    pub(super) displayed_parameters: String,
    /// The program: a path if it has a slash, otherwise found in `PATH`.
    pub(super) program: String,
    /// The words of its command line, in order.
    pub(super) arguments: Vec<String>,
    /// The driver's own options, which it is told in the first line.
    pub(super) parameters: Vec<(String, String)>,
    /// The most requests in flight per process, where it is to be fewer than the driver takes.
    pub(super) in_flight: Option<usize>,
    /// How long a driver may take to say hello.
    pub(super) hello_timeout: Duration,
    /// How long a driver may take to prepare, clear or flush.
    pub(super) admin_timeout: Duration,
    /// The file that gets what the driver writes to standard error, behind what is there.
    pub(super) stderr: Option<PathBuf>,
}

/// The options as the URL has them, but those of the driver itself, which begin with `p.`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct UrlOptions {
    #[serde(default)]
    arg: Vec<String>,
    in_flight: Option<Count<MOST_IN_FLIGHT>>,
    hello_timeout: Option<Millis<MOST_MILLIS>>,
    admin_timeout: Option<Millis<MOST_MILLIS>>,
    stderr: Option<PathBuf>,
}

impl Options {
    /// Takes `url` apart.
    ///
    /// # Errors
    /// If it names no program, or an option is invalid.
    pub(super) fn parse(url: &str, redaction: &Redaction) -> Result<Options, OpenError> {
        let displayed = redaction.url(url);
        let options = parse(url, redaction).map_err(|reason| OpenError::Url {
            url: displayed.clone(),
            reason: format!("{reason}; a right one is {EXAMPLE}"),
        })?;
        Ok(Options { displayed, ..options })
    }
}

fn parse(url: &str, redaction: &Redaction) -> Result<Options, String> {
    let (_, rest) = url.split_once(':').unwrap_or((url, ""));
    let (program, query) = rest.split_once('?').unwrap_or((rest, ""));
    let program = decode(program)?;
    if program.is_empty() {
        return Err("it names no program".into());
    }
    let what = "an option of the driver";
    let (declared, parameters) = url_options::declared_and_handed_on::<UrlOptions>(query, what)?;
    let words = || std::iter::once(&program).chain(&declared.arg);
    if words().any(|word| word.contains('\0')) {
        return Err("a word of its command line has a zero in it".into());
    }
    let command_line = words().map(|word| redaction.word(word)).collect::<Vec<_>>().join(" ");
    Ok(Options {
        displayed: String::new(),
        command_line,
        displayed_parameters: redaction.pairs(&parameters),
        program,
        arguments: declared.arg,
        parameters,
        in_flight: declared.in_flight.map(usize::from),
        hello_timeout: declared.hello_timeout.map_or(HELLO_TIMEOUT, Duration::from),
        admin_timeout: declared.admin_timeout.map_or(ADMIN_TIMEOUT, Duration::from),
        stderr: declared.stderr,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complaint(url: &str) -> String {
        Options::parse(url, &Redaction::PROCESS).expect_err("the URL is wrong").to_string()
    }

    #[test]
    fn a_url_is_parsed_into_its_parts() {
        let url = "exec:python3?arg=my%20driver.py&arg=-v&p.path=/tmp/x.db&p.a%3Db=c&in_flight=16\
                   &hello_timeout=500&admin_timeout=1000&stderr=err.log";
        let options = Options::parse(url, &Redaction::PROCESS).expect("the URL is right");
        assert_eq!(options.program, "python3");
        assert_eq!(options.arguments, ["my driver.py", "-v"]);
        let pairs = [("path", "/tmp/x.db"), ("a=b", "c")];
        assert_eq!(options.parameters, pairs.map(|(name, value)| (name.into(), value.into())));
        assert_eq!(options.in_flight, Some(16));
        assert_eq!(options.hello_timeout, Duration::from_millis(500));
        assert_eq!(options.admin_timeout, Duration::from_secs(1));
        assert_eq!(options.stderr, Some("err.log".into()));
        assert_eq!(options.command_line.clone(), "python3 my driver.py -v");
    }

    #[test]
    fn a_wrong_url_says_what_is_wrong() {
        for (url, reported) in [
            ("exec:", "it names no program; a right one is exec:./driver.py?"),
            ("exec:./d?in_fligt=3", "no option \"in_fligt\"; did you mean \"in_flight\""),
            ("exec:./d?database=x", "an option of the driver is p.database=…"),
            ("exec:./d?in_flight=0", "option in_flight is a number from 1 to 4096, not \"0\""),
            ("exec:./d?hello_timeout=1s", "option hello_timeout is a number from 1 to 3600000"),
            ("exec:./d?stderr", "option \"stderr\" has no value; write stderr=…"),
            ("exec:./d?p.a=1&p.a=2", "option \"p.a\" is there twice"),
            ("exec:./d%00", "has a zero in it"),
        ] {
            assert!(complaint(url).contains(reported), "{url}: {}", complaint(url));
        }
    }

    #[test]
    fn secrets_are_not_displayed() {
        let url = "exec:./d?p.password=s3cret&p.url=x://me:s3cret@h/d&arg=--password%3Ds3cret";
        let options = Options::parse(url, &Redaction::PROCESS).expect("the URL is right");
        let displayed = [
            options.displayed.clone(),
            options.command_line.clone(),
            options.displayed_parameters.clone(),
            complaint(&format!("{url}&in_flight=0")),
        ];
        assert!(displayed.iter().all(|text| !text.contains("s3cret")), "{displayed:?}");
        assert_eq!(options.displayed_parameters, "password=…, url=x://…@h/d");
    }
}

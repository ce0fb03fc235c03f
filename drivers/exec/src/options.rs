//! The URL of a driver in another program, taken apart.

use std::path::PathBuf;
use std::time::Duration;

use assay_driver_kit::address::decode;
use assay_driver_kit::secrets::{Redaction, names_a_secret};
use assay_model::closest;
use assay_store::OpenError;

/// Every option but those of the driver itself, which begin with `p.`.
const KNOWN: [&str; 5] = ["arg", "in_flight", "hello_timeout", "admin_timeout", "stderr"];
const EXAMPLE: &str = "exec:./driver.py?p.NAME=VALUE&in_flight=16";
/// The name of an option of the driver stands behind this.
const OF_DRIVER: &str = "p.";
/// The most requests that one process may have in flight.
pub(super) const MOST_IN_FLIGHT: usize = 4096;
/// The longest timeout, in milliseconds.
const MOST_MILLIS: u64 = 3_600_000;

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

impl Options {
    /// Takes `url` apart.
    ///
    /// # Errors
    /// If it names no program, or an option is invalid.
    pub(super) fn parse(url: &str, redaction: &Redaction) -> Result<Options, OpenError> {
        let displayed = redaction.url(url);
        let mut options = parse(url).map_err(|reason| OpenError::Url {
            url: displayed.clone(),
            reason: format!("{reason}; a right one is {EXAMPLE}"),
        })?;
        options.displayed = displayed;
        let words: Vec<String> = options.words().map(|word| redaction.word(word)).collect();
        options.command_line = words.join(" ");
        let display = |(name, value): &(String, String)| match names_a_secret(name) {
            true => format!("{name}=…"),
            false => format!("{name}={}", redaction.url(value)),
        };
        let parameters: Vec<String> = options.parameters.iter().map(display).collect();
        options.displayed_parameters = parameters.join(", ");
        Ok(options)
    }

    fn take(&mut self, name: &str, value: String) -> Result<(), String> {
        if let Some(parameter) = name.strip_prefix(OF_DRIVER) {
            self.parameters.push((decode(parameter)?, value));
            return Ok(());
        }
        match name {
            "arg" => self.arguments.push(value),
            "in_flight" => {
                self.in_flight = Some(count(name, &value, MOST_IN_FLIGHT as u64)? as usize)
            }
            "hello_timeout" => self.hello_timeout = millis(name, &value)?,
            "admin_timeout" => self.admin_timeout = millis(name, &value)?,
            "stderr" => self.stderr = Some(value.into()),
            other => return Err(unknown(other)),
        }
        Ok(())
    }
}

fn parse(url: &str) -> Result<Options, String> {
    let (_, rest) = url.split_once(':').unwrap_or((url, ""));
    let (program, query) = rest.split_once('?').unwrap_or((rest, ""));
    let program = decode(program)?;
    if program.is_empty() {
        return Err("it names no program".into());
    }
    let mut options = Options {
        displayed: String::new(),
        command_line: String::new(),
        displayed_parameters: String::new(),
        program,
        arguments: Vec::new(),
        parameters: Vec::new(),
        in_flight: None,
        hello_timeout: Duration::from_secs(10),
        admin_timeout: Duration::from_secs(60),
        stderr: None,
    };
    let mut observed: Vec<&str> = Vec::new();
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair
            .split_once('=')
            .ok_or_else(|| format!("option {pair:?} has no value; write {pair}=…"))?;
        if observed.contains(&name) && name != "arg" {
            return Err(format!("option {name:?} is there twice"));
        }
        observed.push(name);
        options.take(name, decode(value)?)?;
    }
    if options.words().any(|word| word.contains('\0')) {
        return Err("a word of its command line has a zero in it".into());
    }
    Ok(options)
}

impl Options {
    fn words(&self) -> impl Iterator<Item = &String> {
        std::iter::once(&self.program).chain(&self.arguments)
    }
}

fn unknown(name: &str) -> String {
    match closest(name, KNOWN) {
        Some(near) => format!("there is no option {name:?}; did you mean {near:?}"),
        None => format!(
            "there is no option {name:?}; there are {}; an option of the driver is p.{name}=…",
            KNOWN.join(", ")
        ),
    }
}

fn count(name: &str, value: &str, most: u64) -> Result<u64, String> {
    let number = value.parse().ok().filter(|number| (1..=most).contains(number));
    number.ok_or_else(|| format!("option {name} is a number from 1 to {most}, not {value:?}"))
}

fn millis(name: &str, value: &str) -> Result<Duration, String> {
    count(name, value, MOST_MILLIS).map(Duration::from_millis)
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

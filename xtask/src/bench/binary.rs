//! Whole commands of the release binary, figures read from their JSON.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::bench::figures::Sample;
use crate::bench::timed::{Timed, timed};
use crate::bench::{Case, Workload};
use crate::metadata::cargo;

/// The release binary with a folder to leave its run directories in.
#[derive(Clone, Debug)]
pub struct Binary {
    /// The program.
    pub path: PathBuf,
    /// Where it runs; emptied before every run.
    pub scratch: PathBuf,
}

/// What one command did.
pub struct Ran {
    /// What it printed as its result.
    pub text: Vec<u8>,
    /// Processor time of the whole command, user with system, in seconds.
    pub cpu: f64,
    /// Bytes of the Parquet files of the histories it left.
    pub history_bytes: u64,
}

impl Ran {
    /// The result of a command with JSON output.
    ///
    /// # Errors
    /// If it printed something else.
    pub fn json(&self) -> Result<Value> {
        serde_json::from_slice(&self.text).context("what it printed is no JSON")
    }
}

/// The figures in the binary's JSON, whose schema is `assay/result/v2`.
pub const DONE_PER_S: &str = "overall.rates.done_per_s";
const OFFERED: &str = "overall.counts.offered";
/// How many operations were done.
pub const DONE: &str = "overall.counts.done";
const TARGET_PER_S: &str = "load.rate_per_s";
const OFFERED_PER_S: &str = "overall.rates.offered_per_s";
const LAG_P50: &str = "lag.percentiles_ns.p50";
const LAG_P99: &str = "lag.percentiles_ns.p99";

impl Binary {
    /// Runs one command in the emptied scratch folder.
    ///
    /// # Errors
    /// If it fails.
    pub fn run(&self, arguments: &[&str]) -> Result<Ran> {
        if self.scratch.exists() {
            fs::remove_dir_all(&self.scratch)
                .with_context(|| format!("cannot empty {:?}", self.scratch))?;
        }
        fs::create_dir_all(&self.scratch)
            .with_context(|| format!("cannot make {:?}", self.scratch))?;
        let Timed { text, cpu } = timed(&self.scratch, &self.path, arguments)?;
        Ok(Ran { text, cpu, history_bytes: parquet_bytes(&self.scratch) })
    }

    /// The same with arguments that hold no spaces.
    ///
    /// # Errors
    /// If it fails.
    pub fn run_line(&self, arguments: &str) -> Result<Ran> {
        self.run(&arguments.split(' ').collect::<Vec<_>>())
    }
}

/// Builds the program in release, with the default stores as with the bridge to Java.
///
/// Where it is now, is Cargo's word on this very build: by a target directory or a platform that
/// is set anywhere, the usual place may have what an earlier build has left.
///
/// # Errors
/// If it cannot be built.
pub fn build(root: &Path) -> Result<PathBuf> {
    let arguments = ["build", "--release", "--package", "assay", "--features", "assay/jvm"];
    let output = cargo()
        .current_dir(root)
        .args(arguments)
        .arg("--message-format=json-render-diagnostics")
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .context("cannot run cargo")?;
    if !output.status.success() {
        bail!("cargo {} failed", arguments.join(" "));
    }
    built(&String::from_utf8_lossy(&output.stdout)).context("cargo built no program `assay`")
}

/// The program among Cargo's messages, one a line.
fn built(messages: &str) -> Option<PathBuf> {
    let program = |line: &str| {
        let message: Value = serde_json::from_str(line).ok()?;
        let is_ours = message["target"]["name"] == "assay";
        message["executable"].as_str().filter(|_| is_ours).map(PathBuf::from)
    };
    messages.lines().find_map(program)
}

fn parquet_bytes(folder: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(folder) else { return 0 };
    let size = |path: PathBuf| {
        let is_history = path.to_string_lossy().contains("/history/");
        match path.extension() {
            Some(extension) if extension == "parquet" && is_history => {
                path.metadata().map_or(0, |metadata| metadata.len())
            }
            _ if path.is_dir() && !path.is_symlink() => parquet_bytes(&path),
            _ => 0,
        }
    };
    entries.filter_map(Result::ok).map(|entry| size(entry.path())).sum()
}

/// The number at `path`, keys with dots between them.
///
/// # Errors
/// If `json` has none there; the message names what there is.
pub fn figure(json: &Value, path: &str) -> Result<f64> {
    let value = path.split('.').try_fold(json, |value, key| value.get(key));
    value.and_then(Value::as_f64).with_context(|| {
        let keys: Vec<&String> = json.as_object().into_iter().flat_map(|map| map.keys()).collect();
        format!("the JSON has no number at {path}; it has {keys:?}")
    })
}

/// Fails a measurement that did less, or more, than it is measured for.
///
/// # Errors
/// If `counted` is not `expected`.
pub fn expect_count(counted: f64, expected: u64) -> Result<()> {
    if counted != expected as f64 {
        bail!("it did {counted} operations instead of {expected}: its figures are meaningless");
    }
    Ok(())
}

/// The number in front of the first `word`, whatever groups its digits.
fn number_before(text: &str, word: &str) -> Option<f64> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let at = words.iter().position(|other| other.trim_end_matches(',') == word)?;
    let digits: String = words[at.checked_sub(1)?].chars().filter(char::is_ascii_digit).collect();
    digits.parse().ok()
}

/// A sample.
pub fn sample(what: &str, size: &str, value: f64, unit: &str) -> Sample {
    Sample { what: what.to_owned(), size: size.to_owned(), value, unit: unit.to_owned() }
}

/// Arrivals per second as a size.
pub fn rate_name(rate: u64) -> String {
    format!("{}/s", short(rate))
}

/// A number of operations as a person writes it: `5M`.
pub fn short(count: u64) -> String {
    match count {
        n if n >= 1_000_000 && n.is_multiple_of(100_000) => format!("{}M", n as f64 / 1e6),
        n if n >= 1_000 && n.is_multiple_of(100) => format!("{}k", n as f64 / 1e3),
        n => n.to_string(),
    }
}

/// The path of an operation through the executor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExecutorPath {
    /// That of every store: two sessions on one thread.
    Ordinary,
    /// Operations drawn ahead that share readings of the clock (decision 0018): one session alone,
    /// and only on the null and memory stores.
    Bursts,
}

impl ExecutorPath {
    fn sessions(self) -> &'static str {
        match self {
            ExecutorPath::Ordinary => "2",
            ExecutorPath::Bursts => "1",
        }
    }

    /// The prefix of its figures' names.
    fn prefix(self) -> &'static str {
        match self {
            ExecutorPath::Ordinary => "",
            ExecutorPath::Bursts => "bursts, ",
        }
    }
}

/// The null store in closed loop on one thread, as fast as it goes.
pub fn closed(assay: &Binary, path: ExecutorPath, workload: Workload, operations: u64) -> Case {
    let assay = assay.clone();
    let (workload, size) = (workload.name, short(operations));
    let prefix = path.prefix();
    Case {
        name: format!("{prefix}null closed {workload} {size}"),
        run: Box::new(move || {
            let sessions = path.sessions();
            let ran = assay.run_line(&format!(
                "run {workload} -t null: --closed {sessions} --threads 1 --operations {operations} \
                 --format json"
            ))?;
            let json = ran.json()?;
            expect_count(figure(&json, DONE)?, operations)?;
            let rate = figure(&json, DONE_PER_S)?;
            let bytes = ran.history_bytes as f64 / operations as f64;
            Ok(vec![
                sample(&format!("{prefix}closed loop, null, {workload}"), &size, rate, "/s"),
                sample(
                    &format!("{prefix}history on disk, closed loop, {workload}"),
                    &size,
                    bytes,
                    "bytes/operation",
                ),
            ])
        }),
    }
}

/// The null store in open loop: does the generator keep its promise?
pub fn open(assay: &Binary, rate: u64, seconds: u64) -> Case {
    let assay = assay.clone();
    let size = rate_name(rate);
    Case {
        name: format!("null open ycsb-c {size}"),
        run: Box::new(move || {
            let ran = assay.run_line(&format!(
                "run ycsb-c -t null: --threads 1 --rate {rate}/s --duration {seconds}s \
                 --format json"
            ))?;
            let json = ran.json()?;
            let bytes = ran.history_bytes as f64 / figure(&json, OFFERED)?;
            let mut samples = lag_samples("null", &size, &json)?;
            samples.push(sample("history on disk, open loop", &size, bytes, "bytes/operation"));
            Ok(samples)
        }),
    }
}

/// A trace file made from YCSB's workload A.
pub fn trace(assay: &Binary, operations: u64) -> Case {
    let assay = assay.clone();
    let size = short(operations);
    Case {
        name: format!("trace generation ycsb-a {size}"),
        run: Box::new(move || {
            let ran = assay
                .run_line(&format!("trace gen ycsb-a -o a.parquet --operations {operations}"))?;
            let reported = String::from_utf8_lossy(&ran.text).into_owned();
            expect_count(number_before(&reported, "operations").unwrap_or(0.0), operations)?;
            let rate = operations as f64 / ran.cpu;
            Ok(vec![sample("trace generation to file, ycsb-a", &size, rate, "/s and core")])
        }),
    }
}

/// Whether an open run kept its promise.
///
/// # Errors
/// If the JSON does not tell.
pub fn lag_samples(store: &str, size: &str, json: &Value) -> Result<Vec<Sample>> {
    let name = |figure: &str| format!("open loop, {store}, {figure}");
    let offered = figure(json, OFFERED_PER_S)? / figure(json, TARGET_PER_S)?;
    let done = figure(json, DONE)? / figure(json, OFFERED)?;
    Ok(vec![
        sample(&name("offered of the rate"), size, offered, ""),
        sample(&name("done of the offered"), size, done, ""),
        sample(&name("lag p50"), size, figure(json, LAG_P50)?, "ns"),
        sample(&name("lag p99"), size, figure(json, LAG_P99)?, "ns"),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_program_is_where_cargo_says() {
        let messages = [
            json!({ "reason": "compiler-artifact", "target": { "name": "assay_run" },
                    "executable": null }),
            json!({ "reason": "compiler-artifact", "target": { "name": "assay" },
                    "executable": "/elsewhere/release/assay" }),
            json!({ "reason": "build-finished", "success": true }),
        ];
        let lines = messages.map(|message| message.to_string());
        assert_eq!(built(&lines.join("\n")), Some(PathBuf::from("/elsewhere/release/assay")));
        assert_eq!(built(&lines[2]), None);
    }

    #[test]
    fn figures_are_found_by_their_path() {
        let json = json!({ "overall": { "rates": { "done_per_s": 7.5 } } });
        assert_eq!(figure(&json, DONE_PER_S).ok(), Some(7.5));
    }

    #[test]
    fn a_rate_is_reached_if_all_was_issued_in_time_and_done() {
        let json = json!({
            "load": { "rate_per_s": 1000.0 },
            "overall": {
                "counts": { "offered": 5000, "done": 4000 },
                "rates": { "offered_per_s": 900.0 },
            },
            "lag": { "percentiles_ns": { "p50": 400, "p99": 7000 } },
        });
        let samples = lag_samples("null", "1k/s", &json).expect("all figures are there");
        let values: Vec<f64> = samples.iter().map(|sample| sample.value).collect();
        assert_eq!(values, [0.9, 0.8, 400.0, 7000.0]);
    }

    /// Runs a shell script in place of the binary.
    fn stand_in(name: &str, script: &str) -> Result<Ran> {
        let folder = std::env::temp_dir().join(format!("xtask-{}-{name}", std::process::id()));
        fs::create_dir_all(&folder)?;
        let path = folder.join("assay.sh");
        fs::write(&path, script)?;
        let binary = Binary { path: PathBuf::from("sh"), scratch: folder.join("scratch") };
        let ran = binary.run(&[&path.to_string_lossy(), "run"]);
        fs::remove_dir_all(&folder)?;
        ran
    }

    #[test]
    fn a_command_gives_its_result_with_the_bytes_of_its_history() {
        let script = "mkdir -p runs/a/history/agent=0\n\
                      printf 12345678 > runs/a/history/agent=0/part.parquet\n\
                      printf 1 > runs/a/events.parquet\n\
                      echo progress >&2\n\
                      echo '{\"verb\": \"'$1'\"}'\n";
        let ran = stand_in("works", script).expect("the script works");
        assert_eq!(ran.json().expect("it prints JSON"), json!({ "verb": "run" }));
        assert_eq!(ran.history_bytes, 8);
        assert!(ran.cpu < 5.0, "{}", ran.cpu);
    }

    #[test]
    fn a_failed_command_shows_its_last_output() {
        let error = stand_in("fails", "echo no such store >&2\nexit 4\n").err();
        let text = error.map(|error| error.to_string()).unwrap_or_default();
        assert!(text.contains("no such store"), "{text}");
    }

    #[test]
    fn a_missing_figure_is_an_error_that_says_what_there_is() {
        let error = figure(&json!({ "speed": 1 }), DONE_PER_S).expect_err("no such path");
        assert!(error.to_string().contains("speed"), "{error}");
    }

    #[test]
    fn a_run_of_another_length_is_no_measurement() {
        let reported = "a.parquet: 100,000 operations in 100000 processes, 4816 bytes";
        assert_eq!(number_before(reported, "operations"), Some(100_000.0));
        assert_eq!(number_before("operations", "operations"), None);
        assert!(expect_count(1_000.0, 1_000).is_ok());
        assert!(expect_count(1_000.0, 100_000).is_err());
    }

    #[test]
    fn sizes_read_as_a_person_writes_them() {
        let texts = [1_000_000, 20_000_000, 250_000, 500, 1_500_000].map(short);
        assert_eq!(texts, ["1M", "20M", "250k", "500", "1.5M"]);
    }
}

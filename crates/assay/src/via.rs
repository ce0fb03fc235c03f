//! A server of FMKe between the load and its store, for `--via http`.
//!
//! It is `assay fmke serve` as a process of its own, so that what it needs is not counted as the
//! load generator's.

use std::io::{BufRead as _, BufReader};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use assay_drivers::registry;
use assay_history::manifest::FloorSection;
use assay_model::Setting;
use assay_store::Store;
use rustix::process::{Pid, Signal, kill_process};

use crate::exit::{Exit, Failure, usage};
use crate::parent_death;

/// What stands before the address in the line that the server prints.
const MARK: &str = ": http://";
/// How long a server may take to end; requests at a store may take ten seconds.
const END: Duration = Duration::from_secs(12);
/// How often it is looked whether it has ended.
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// A server between the load and its store. It ends with this value, and with this process.
pub struct Via {
    child: Child,
    /// Where it is, for the driver.
    pub url: String,
    /// The store behind it, without secrets.
    behind: String,
    layout: &'static str,
}

impl Via {
    /// Starts one before the store at `target`; `replaces` what the store holds of FMKe. If it does
    /// not open the store, it has said why.
    pub fn start(target: &str, layout: &'static str, replaces: bool) -> Result<Via> {
        let behind = registry::without_secrets(target);
        let words = |target: &str| {
            let mut words =
                ["fmke", "serve", "-t", target, "--layout", layout].map(str::to_owned).to_vec();
            words.extend(["--listen", "127.0.0.1:0"].map(str::to_owned));
            words.extend(replaces.then(|| "--replace".to_owned()));
            words
        };
        let mut command = parent_death::tied();
        // An interrupt is for the run, which ends the server after its last request.
        command.stdout(Stdio::piped()).process_group(0);
        let mut child = parent_death::spawn(&mut command, &words(target), &words(&behind))
            .context("cannot start the server of FMKe")?;
        let mut line = String::new();
        if let Some(stdout) = child.stdout.take() {
            BufReader::new(stdout).read_line(&mut line).context("the server says nothing")?;
        }
        match line.trim_end().rsplit_once(MARK) {
            Some((_, address)) => {
                let url = format!("fmke+http://{address}");
                Ok(Via { child, url, behind, layout })
            }
            None => {
                let status = child.wait().context("the server does not end")?;
                let exit = match status.code() {
                    Some(2) => Exit::Usage,
                    Some(4) => Exit::Unreachable,
                    _ => Exit::Internal,
                };
                let message = format!("--via http: the server of FMKe did not start ({status})");
                Err(Failure { exit, message }.into())
            }
        }
    }

    /// What a report says about it.
    pub fn settings(&self) -> Vec<Setting> {
        vec![Setting {
            name: "via".into(),
            value: format!("assay fmke serve, {}, before {}", self.layout, self.behind),
            meaning: "a process of its own on this machine; each operation is one request to it"
                .into(),
        }]
    }
}

impl Drop for Via {
    fn drop(&mut self) {
        let pid = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        if let Some(pid) = pid {
            // It may have ended by itself, which the operations have shown.
            let _ = kill_process(pid, Signal::TERM);
        }
        let begun = Instant::now();
        while begun.elapsed() < END {
            if !matches!(self.child.try_wait(), Ok(None)) {
                return;
            }
            thread::sleep(LOOK_EVERY);
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What HTTP adds to an operation: the same requests through a server before the null store.
pub struct Hop {
    /// The driver of that server.
    pub store: Arc<dyn Store>,
    /// Kept until it was measured.
    _server: Via,
}

impl Hop {
    /// Starts such a server; `open` opens a store by its URL.
    pub fn start(
        layout: &'static str,
        open: impl FnOnce(&str) -> Result<Arc<dyn Store>>,
    ) -> Result<Hop> {
        let server = Via::start("null:", layout, false)?;
        Ok(Hop { store: open(&server.url)?, _server: server })
    }
}

/// What the hop costs, as a report says it beside the settings.
pub fn hop(measured: &FloorSection) -> Setting {
    let of = |name: &str| measured.service_ns.get(name).map(|ns| *ns as f64 / 1e3);
    let percentiles = [("p50", of("p50")), ("p99", of("p99"))]
        .into_iter()
        .filter_map(|(name, us)| us.map(|us| format!("{name} {us:.0} µs")))
        .collect::<Vec<_>>()
        .join(", ");
    let operations = measured.operations;
    Setting {
        name: "HTTP hop".into(),
        value: percentiles,
        meaning: format!(
            "what HTTP adds to an operation: {operations} of them, one at a time, through such a \
             server before the null store"
        ),
    }
}

/// Refuses what has no such server.
pub fn refuse(workload: &str) -> anyhow::Error {
    usage(format!("--via http: only the workload fmke has an application server, not {workload}"))
}

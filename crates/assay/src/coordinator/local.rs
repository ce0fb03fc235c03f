//! Agents of a fleet that are processes of this machine.

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::thread;

use anyhow::{Context, Result};
use assay_fleet::FleetOutcome;

use crate::parent_death;

use super::LOOK;

/// Lines of an agent's own errors that are repeated.
const LOG_LINES: usize = 5;

/// Agents that are processes of this machine.
#[derive(Default)]
pub struct LocalAgents(Vec<LocalAgent>);

struct LocalAgent {
    agent: u32,
    child: Child,
    log: PathBuf,
    has_ended: bool,
}

/// Where agent `agent` on this machine keeps its part, below `pieces`.
pub fn part(pieces: &Path, agent: u32) -> PathBuf {
    pieces.join(format!("local-{agent}"))
}

impl LocalAgents {
    /// Starts them, to join the coordinator at `address` and measure the store at `target`.
    pub fn start(
        agents: u32,
        address: SocketAddr,
        keys: &Path,
        target: &str,
    ) -> Result<LocalAgents> {
        let dir = keys.parent().unwrap_or(Path::new("."));
        let mut all = LocalAgents::default();
        for agent in 0..agents {
            let log = dir.join(format!("agent-{agent}.log"));
            let file = fs::File::create(&log)
                .with_context(|| format!("cannot create {}", log.display()))?;
            let mut command = parent_death::tied();
            command
                .arg("agent")
                .args(["--join", &address.to_string()])
                .args(["--index", &agent.to_string()])
                .arg("--keys")
                .arg(keys)
                .arg("--run-dir")
                .arg(part(dir, agent))
                .env("ASSAY_TARGET", target)
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(file);
            // The keyboard's interrupt is for the coordinator, which tells the agents.
            std::os::unix::process::CommandExt::process_group(&mut command, 0);
            let child = command.spawn().context("cannot start an agent on this machine")?;
            all.0.push(LocalAgent { agent, child, log, has_ended: false });
        }
        Ok(all)
    }

    /// An agent that has ended with an error, in words.
    pub fn dead(&mut self) -> Option<String> {
        for local in self.0.iter_mut().filter(|local| !local.has_ended) {
            let Ok(Some(status)) = local.child.try_wait() else { continue };
            local.has_ended = true;
            if !status.success() {
                let log = fs::read_to_string(&local.log).unwrap_or_default();
                let lines: Vec<&str> = log.lines().collect();
                let last = lines[lines.len().saturating_sub(LOG_LINES)..].join("\n  ");
                let agent = local.agent;
                return Some(format!("agent {agent} on this machine ended ({status}): {last}"));
            }
        }
        None
    }

    /// Waits for those that are about to end; of a run that was called off, ends the others.
    pub fn end(&mut self, outcome: &FleetOutcome) {
        for local in &mut self.0 {
            let tries = if *outcome == FleetOutcome::Delivered { 25 } else { 10 };
            for _ in 0..tries {
                if !matches!(local.child.try_wait(), Ok(None)) {
                    break;
                }
                thread::sleep(LOOK);
            }
        }
    }
}

impl Drop for LocalAgents {
    fn drop(&mut self) {
        for local in &mut self.0 {
            // It has ended, or nobody waits for it any more.
            let _ = local.child.kill();
            let _ = local.child.wait();
        }
    }
}

//! Probes of the agents' clocks during a run, as `clock.parquet`.
//!
//! One row per probe. The coordinator's times count from the run's epoch on its clock, the agent's
//! from the epoch that this agent was told: without an error of the start and without drift, a
//! probe that takes no time has four equal times. Records are never rewritten; what the probes say
//! about them is computed from this table.

use std::path::Path;

use assay_model::Probe;
use parquet::errors::ParquetError;

use crate::table::TableError;
use crate::table::row::{self, table_row};
use crate::{place, table};

/// The probes of each agent, by number.
pub type AgentProbes = Vec<(u32, Vec<Probe>)>;

/// Writes the probes of each agent of the run directory `dir`, replacing earlier ones.
///
/// # Errors
/// If the disk does not take them; earlier ones then stay.
pub fn write_clock(dir: &Path, probes: &[(u32, Vec<Probe>)]) -> Result<(), TableError> {
    table::replace_listed(place::clock(dir), |path| write(path, probes))
}

/// Reads the probes of each agent of the run directory `dir`, by rising agents; none if there are
/// none, as in a run on one machine.
///
/// # Errors
/// If the file is damaged.
pub fn read_clock(dir: &Path) -> Result<Option<AgentProbes>, TableError> {
    let advice = "; without the file events of two agents are compared as if by one clock";
    table::read_listed(place::clock(dir), advice, read)
}

/// A probe with its agent.
struct ProbeRow {
    agent: i32,
    sent: i64,
    received: i64,
    replied: i64,
    returned: i64,
}

table_row! {
    ProbeRow as "probe" {
        agent => "agent",
        sent => "sent_ns",
        received => "received_ns",
        replied => "replied_ns",
        returned => "returned_ns",
    }
}

fn write(path: &Path, probes: &[(u32, Vec<Probe>)]) -> Result<(), ParquetError> {
    let rows = probes.iter().flat_map(|(agent, probes)| {
        probes.iter().map(|&Probe { sent, received, replied, returned }| ProbeRow {
            agent: *agent as i32,
            sent,
            received,
            replied,
            returned,
        })
    });
    row::write(path, &rows.collect::<Vec<_>>())
}

fn read(path: &Path) -> Result<AgentProbes, ParquetError> {
    let mut agents: AgentProbes = Vec::new();
    for ProbeRow { agent, sent, received, replied, returned } in row::read(path)? {
        let (agent, probe) = (agent as u32, Probe { sent, received, replied, returned });
        match agents.iter_mut().find(|(known, _)| *known == agent) {
            Some((_, probes)) => probes.push(probe),
            None => agents.push((agent, vec![probe])),
        }
    }
    agents.sort_by_key(|(agent, _)| *agent);
    Ok(agents)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::tempdir;

    #[test]
    fn probes_come_back_as_they_were_written() {
        let dir = tempdir("clock");
        assert_eq!(read_clock(&dir).unwrap(), None);
        let probe = |n: i64| Probe { sent: -n, received: n, replied: n + 1, returned: 2 - n };
        let probes = vec![(0, vec![probe(1), probe(i64::MAX / 2)]), (3, vec![probe(7)])];
        write_clock(&dir, &probes).unwrap();
        assert_eq!(read_clock(&dir).unwrap(), Some(probes));
    }
}

//! Probes of the agents' clocks during a run, as `clock.parquet`.
//!
//! One row per probe. The coordinator's times count from the run's epoch on its clock, the agent's
//! from the epoch that this agent was told: without an error of the start and without drift, a
//! probe that takes no time has four equal times. Records are never rewritten; what the probes say
//! about them is computed from this table.

use std::path::Path;
use std::sync::Arc;

use assay_model::Probe;
use parquet::basic::{Repetition, Type as Physical};
use parquet::data_type::{Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::record::RowAccessor;
use parquet::schema::types::{Type, TypePtr};

use crate::part::{VERSION, VERSION_KEY};
use crate::table::TableError;
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

fn schema() -> Result<TypePtr, ParquetError> {
    let field = |name, physical| table::field(name, physical, Repetition::REQUIRED, None);
    let fields = vec![
        field("agent", Physical::INT32)?,
        field("sent_ns", Physical::INT64)?,
        field("received_ns", Physical::INT64)?,
        field("replied_ns", Physical::INT64)?,
        field("returned_ns", Physical::INT64)?,
    ];
    Ok(Arc::new(Type::group_type_builder("probe").with_fields(fields).build()?))
}

fn write(path: &Path, probes: &[(u32, Vec<Probe>)]) -> Result<(), ParquetError> {
    let properties = Arc::new(WriterProperties::builder().build());
    let version = (VERSION_KEY, VERSION.to_string());
    let mut file = table::create(path, schema()?, properties, version)?;
    let mut group = file.next_row_group()?;
    let agents = probes.iter().flat_map(|(agent, probes)| probes.iter().map(|_| *agent as i32));
    table::put::<Int32Type>(&mut group, &agents.collect::<Vec<_>>(), None)?;
    let times: [fn(&Probe) -> i64; 4] =
        [|probe| probe.sent, |probe| probe.received, |probe| probe.replied, |probe| probe.returned];
    for time in times {
        let values = probes.iter().flat_map(|(_, probes)| probes.iter().map(time));
        table::put::<Int64Type>(&mut group, &values.collect::<Vec<_>>(), None)?;
    }
    group.close()?;
    table::finish(file)
}

fn read(path: &Path) -> Result<AgentProbes, ParquetError> {
    let mut agents: AgentProbes = Vec::new();
    table::each_row(path, Some(schema()?.as_ref().clone()), |row| {
        let agent = row.get_int(0)? as u32;
        let time = |column| row.get_long(column);
        let (sent, received, replied, returned) = (time(1)?, time(2)?, time(3)?, time(4)?);
        let probe = Probe { sent, received, replied, returned };
        match agents.iter_mut().find(|(known, _)| *known == agent) {
            Some((_, probes)) => probes.push(probe),
            None => agents.push((agent, vec![probe])),
        }
        Ok(())
    })?;
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

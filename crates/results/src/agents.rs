//! Figures of each agent of a merged run, and what its clock and its share allow to say.

use std::path::Path;

use assay_analysis::{AnalysisOptions, Analyzer};
use assay_consistency::ClockError;
use assay_history::manifest::AgentSection;
use assay_history::{Manifest, read_clock};
use assay_model::{ClockBand, Nanos, Phase, Record, bands};
use assay_report::AgentFacts;

/// The error of a clock of which nothing is known: it orders nothing.
const UNKNOWN: Nanos = Nanos(u64::MAX / 8);

/// What gathers the figures of each agent.
pub struct AgentFigures {
    agents: Vec<(AgentSection, Analyzer)>,
    is_open: bool,
    workers: u64,
    /// Operations of one process at most.
    width: u64,
    strays: u64,
}

impl AgentFigures {
    /// Of the run of `manifest`; nothing is gathered if one process has issued all of it.
    pub fn new(manifest: &Manifest, options: &AnalysisOptions) -> AgentFigures {
        let sections = manifest.agents.iter().filter(|_| manifest.agents.len() > 1);
        let agents = sections.map(|section| (section.clone(), Analyzer::new(options.clone())));
        AgentFigures {
            agents: agents.collect(),
            is_open: manifest.load.model == "open",
            workers: manifest.agents.iter().map(|agent| u64::from(agent.workers)).sum(),
            width: manifest.history.width.max(1),
            strays: 0,
        }
    }

    /// Adds records of worker `worker` of `agent`.
    pub fn push(&mut self, (agent, worker): (u32, u16), records: &[Record]) {
        let count = self.agents.len() as u64;
        let Some((section, analyzer)) =
            self.agents.iter_mut().find(|(section, _)| section.agent == agent)
        else {
            return;
        };
        analyzer.push(records);
        // An open loop shares arrivals among workers, a closed one processes among agents.
        let (place, places) = match self.is_open {
            true => (u64::from(section.first_worker) + u64::from(worker), self.workers),
            false => (u64::from(agent), count),
        };
        let (width, places) = (self.width, places.max(1));
        let is_stray = |record: &&Record| {
            record.phase != Phase::Final && record.index / width % places != place
        };
        self.strays += records.iter().filter(is_stray).count() as u64;
    }

    /// What is wrong with the shares, in a sentence that says what to do.
    pub fn contradiction(&self) -> Option<String> {
        (self.strays > 0).then(|| {
            format!(
                "{} operations are of another agent's share than the one that has them: a part of \
                 the history is of another run; merge the agents' parts again",
                self.strays
            )
        })
    }

    /// The figures.
    pub fn finish(self) -> Vec<AgentFacts> {
        let facts = |(section, analyzer): (AgentSection, Analyzer)| {
            let summary = analyzer.finish();
            let response = &summary.overall.hits.response;
            AgentFacts {
                agent: section.agent,
                host: section.host,
                workers: section.workers,
                offered: summary.overall.counts.offered,
                done_per_s: summary.overall.rates.done_per_s,
                p50: response.value(0.5),
                p99: response.value(0.99),
                lag_p99: summary.lag.value(0.99),
                start_least_ns: section.start_least_ns,
                start_most_ns: section.start_most_ns,
            }
        };
        self.agents.into_iter().map(facts).collect()
    }
}

/// The error of each agent's clock over the run in `dir`, for comparing events of two agents; with
/// what a reader must know of it.
pub fn clock_error(dir: &Path, manifest: &Manifest) -> (ClockError, Vec<String>) {
    if !manifest.has_several_clocks() {
        return (ClockError::NONE, Vec::new());
    }
    let has_own = manifest.coordinator.as_ref().is_some_and(|own| own.records > 0);
    let (clocks, mut warnings) = match read_clock(dir) {
        Ok(clocks) => (clocks.unwrap_or_default(), Vec::new()),
        Err(error) => (Vec::new(), vec![error.to_string()]),
    };
    let until = manifest.phases.iter().map(|phase| phase.to_ns).max().unwrap_or_default();
    let mut whole: Vec<Option<ClockBand>> = Vec::new();
    for section in &manifest.agents {
        let own = clocks.iter().find(|(agent, _)| *agent == section.agent);
        let bands = own.map(|(_, probes)| bands(probes, 0, until as i64)).unwrap_or_default();
        let is_known = !bands.is_empty() && bands.iter().all(|band| band.is_possible());
        if !is_known {
            let what = if bands.is_empty() { "was not probed" } else { "jumped" };
            warnings.push(format!(
                "the clock of agent {} {what}: its events are ordered with those of no other agent",
                section.agent
            ));
        }
        whole.push(spanned(&bands).filter(|_| is_known));
    }
    // The coordinator's clock is the axis of the probes; its records come after those of the last
    // agent.
    whole.extend(has_own.then_some(Some(ClockBand { low: 0, high: 0 })));
    // Only they have events, so the axis may lie in their midst: what all of them are off by
    // orders none of their events differently.
    let middle = spanned(&whole.iter().flatten().copied().collect::<Vec<_>>());
    let middle = middle.map_or(0, ClockBand::center);
    let error = |band: &Option<ClockBand>| match band {
        Some(ClockBand { low, high }) => {
            let off = ClockBand { low: low - middle, high: high - middle };
            Nanos(off.magnitude())
        }
        None => UNKNOWN,
    };
    (ClockError::of_agents(whole.iter().map(error).collect()), warnings)
}

/// The bounds that contain all of `bands`.
fn spanned(bands: &[ClockBand]) -> Option<ClockBand> {
    bands
        .iter()
        .copied()
        .reduce(|all, one| ClockBand { low: all.low.min(one.low), high: all.high.max(one.high) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_history::manifest::{CoordinatorSection, PhaseSection};
    use assay_history::write_clock;
    use assay_model::Probe;

    fn fleet(model: &str) -> Manifest {
        let mut manifest = Manifest::default();
        model.clone_into(&mut manifest.load.model);
        manifest.history.width = 1;
        let section = |agent| AgentSection {
            agent,
            agents: 2,
            workers: 2,
            first_worker: 2 * agent,
            ..AgentSection::default()
        };
        manifest.agents = vec![section(0), section(1)];
        let (from_ns, to_ns) = (0, 1_000_000_000);
        manifest.phases = vec![PhaseSection { name: "measure".to_owned(), from_ns, to_ns }];
        manifest
    }

    #[test]
    fn the_coordinators_clock_is_the_one_that_the_others_are_compared_with() {
        let mut manifest = fleet("open");
        manifest.agents.truncate(1);
        let own = CoordinatorSection { part: 1, records: 7, ..CoordinatorSection::default() };
        let dir = tempfile::tempdir().unwrap();
        let probe = |n: i64| {
            let (sent, received) = (n * 100_000_000, n * 100_000_000 + 3_000_000);
            Probe { sent, received, replied: received, returned: sent + 1_000 }
        };
        write_clock(dir.path(), &[(0, (0..10).map(probe).collect())]).unwrap();
        assert_eq!(clock_error(dir.path(), &manifest), (ClockError::NONE, Vec::new()));
        manifest.coordinator = Some(own);
        let (error, warnings) = clock_error(dir.path(), &manifest);
        assert!(warnings.is_empty(), "{warnings:?}");
        // 3 ms apart, and the axis lies in their midst.
        let margin = error.margin(0, 1).0;
        assert!((3_000_000..3_050_000).contains(&margin), "{margin}");
    }

    fn record(index: u64) -> Record {
        Record { index, ..Record::BLANK }
    }

    #[test]
    fn operations_of_another_share_are_found() {
        let mut open = AgentFigures::new(&fleet("open"), &AnalysisOptions::default());
        open.push((1, 1), &[record(3), record(7)]);
        assert_eq!(open.contradiction(), None);
        open.push((0, 0), &[record(1)]);
        assert!(open.contradiction().is_some_and(|text| text.starts_with("1 operations")));
        let mut closed = AgentFigures::new(&fleet("closed"), &AnalysisOptions::default());
        closed.push((1, 0), &[record(1), record(3)]);
        assert_eq!(closed.contradiction(), None);
        closed.push((1, 0), &[record(2)]);
        assert!(closed.contradiction().is_some());
        assert_eq!(closed.finish().len(), 2);
    }

    #[test]
    fn a_clock_counts_with_the_most_that_it_can_be_off() {
        let dir = std::env::temp_dir().join(format!("assay-clock-error-{}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        let probes = |offset: i64| {
            let probe = |n: i64| {
                let sent = n * 100_000_000;
                let received = sent + offset + 5_000;
                Probe { sent, received, replied: received, returned: sent + 10_000 }
            };
            (0..10).map(probe).collect::<Vec<_>>()
        };
        let mut jumped = probes(0);
        jumped[5..].iter_mut().for_each(|probe| {
            probe.received += 50_000_000;
            probe.replied += 50_000_000;
        });
        write_clock(&dir, &[(0, probes(0)), (1, probes(2_000_000))]).unwrap();
        let (error, warnings) = clock_error(&dir, &fleet("open"));
        assert!(warnings.is_empty());
        // Each is half of the distance from the common middle, and what the probes leave open.
        for agent in [0, 1] {
            let off = error.error(agent).0;
            assert!((1_000_000..1_040_000).contains(&off), "{agent}: {off}");
        }
        write_clock(&dir, &[(0, probes(0)), (1, jumped)]).unwrap();
        let (error, warnings) = clock_error(&dir, &fleet("open"));
        assert_eq!(error.error(1), UNKNOWN);
        assert!(warnings[0].contains("agent 1 jumped"), "{warnings:?}");
        std::fs::remove_dir_all(&dir).unwrap();
        let (error, warnings) = clock_error(&dir, &fleet("open"));
        assert_eq!((error.error(0), warnings.len()), (UNKNOWN, 2));
    }
}

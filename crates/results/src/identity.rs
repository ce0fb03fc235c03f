//! Identity of a run: the contradictions among the files of its directory.

use std::time::Duration;

use assay_history::manifest::PHASES_KEY;
use assay_history::{History, Manifest, RecordSum, State};
use assay_model::{Outcome, Phase, Record};

/// How much later than the run's end by the wall clock a window may end: that clock can be set
/// during a run.
const SLACK: Duration = Duration::from_secs(60);

/// The records by outcome, final reads apart, to compare with the counts in `run.toml`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Endings([u64; Outcome::ALL.len()]);

impl Endings {
    /// Counts `records`.
    pub fn push(&mut self, records: &[Record]) {
        let counted = records.iter().filter(|record| record.phase != Phase::Final);
        counted.for_each(|record| self.0[record.outcome as usize] += 1);
    }
}

/// Each contradiction between `history`, whose outcomes are `endings`, and `manifest`, as a
/// sentence that says what to do.
///
/// A run that goes on is not checked, nor are missing records, which the hallmark counts as lost.
pub fn contradictions(manifest: &Manifest, history: &History, endings: &Endings) -> Vec<String> {
    if manifest.state == State::Running {
        return Vec::new();
    }
    let (kept, offered) = (manifest.history.records, manifest.counters.offered);
    let mut found = Vec::new();
    if history.records() > 0 && (kept == 0 || offered == 0) {
        found.push(format!(
            "run.toml counts no operation where the history holds {}: its end is missing; copy it \
             again from where it was made",
            history.records()
        ));
    } else if history.records() > kept {
        found.push(format!(
            "the history holds {} records where the run kept {kept}: a file in it is of another \
             run; copy the history again from where it was made",
            history.records()
        ));
    } else if kept == history.records() {
        found.extend(sum(manifest, history));
        found.extend(counters(manifest, endings));
        found.extend(empty_part(manifest, history));
    }
    found.extend(phases(manifest, history).or_else(|| window(manifest)));
    found
}

fn sum(manifest: &Manifest, history: &History) -> Option<String> {
    let written = RecordSum::parse(&manifest.history.sum).filter(|_| history.is_sealed())?;
    let Some(there) = history.sum() else {
        return Some(
            "a part of the history has lost the sum over its records: its end is damaged; copy \
             the history again from where it was made"
                .to_owned(),
        );
    };
    (written != there).then(|| {
        format!(
            "the history's records are not those of this run: run.toml has {written} as their \
             sum, they have {there}; copy run.toml and history again from where they were made"
        )
    })
}

fn counters(manifest: &Manifest, endings: &Endings) -> Option<String> {
    let counters = &manifest.counters;
    let written = [counters.done, counters.refused, counters.unknown, counters.dropped];
    let is_whole = manifest.history.lost == 0;
    (is_whole && written != endings.0).then(|| {
        let text = |[done, refused, unknown, dropped]: [u64; Outcome::ALL.len()]| {
            format!("{done} done, {refused} refused, {unknown} unknown, {dropped} dropped")
        };
        format!(
            "run.toml counts {}, the history holds {}: one of them is of another run; copy both \
             again from where they were made",
            text(written),
            text(endings.0)
        )
    })
}

/// Each worker leaves a part, also if it kept nothing; a coordinator only if it kept something.
fn empty_part(manifest: &Manifest, history: &History) -> Option<String> {
    let own = manifest.coordinator.as_ref().filter(|own| own.records > 0).map(|own| own.part);
    let workers = history.workers().filter(|(agent, _)| Some(*agent) != own);
    let is_whole = workers.count() as u64 >= u64::from(manifest.load.workers);
    (!is_whole)
        .then(|| format!("{}, though no record is; copy it again", missing(manifest, history)))
}

/// The parts repeat when each phase began and ended, from which every figure per second follows.
fn phases(manifest: &Manifest, history: &History) -> Option<String> {
    // Agents end at different moments; the run ends with the last of them.
    if manifest.agents.len() > 1 {
        return None;
    }
    let (own, there) = (manifest.phases_text(), history.fact(PHASES_KEY)?);
    (!there.is_empty() && there != own).then(|| {
        format!(
            "run.toml has the phases {own} (ns), the history has {there}: it was changed; copy \
             it again from where it was made"
        )
    })
}

/// A window that goes on after the run had ended was not written by that run.
fn window(manifest: &Manifest) -> Option<String> {
    if manifest.load.settings.simulated_time {
        return None;
    }
    let moment = |text: &str| humantime::parse_rfc3339(text).ok();
    let took = moment(&manifest.run.ended)?.duration_since(moment(&manifest.run.started)?).ok()?;
    let until = manifest.phases.iter().map(|phase| phase.to_ns).max()?;
    (Duration::from_nanos(until) > took.saturating_mul(2) + SLACK).then(|| {
        format!(
            "run.toml ends its last phase after {} s and the run after {} s: it was changed; copy \
             it again from where it was made",
            Duration::from_nanos(until).as_secs(),
            took.as_secs()
        )
    })
}

/// The parts of the run's whole history that `history` lacks, for people.
pub fn missing(manifest: &Manifest, history: &History) -> String {
    let agent = manifest.history.agent;
    let there: Vec<(u32, u16)> = history.workers().collect();
    let missing = (0..manifest.load.workers).filter(|worker| !there.contains(&(agent, *worker)));
    let mut names: Vec<String> = missing
        .take(MOST_NAMES + 1)
        .map(|worker| format!("history/agent={agent}/part-{worker}.parquet"))
        .collect();
    if names.len() > MOST_NAMES {
        names[MOST_NAMES] = "more".to_owned();
    }
    match names.len() {
        0 => "a part of it is missing".to_owned(),
        1 => format!("{} is missing", names[0]),
        _ => format!("{} are missing", names.join(", ")),
    }
}

/// The number of files that are named; `run.toml` may have more.
const MOST_NAMES: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;

    fn finished() -> Manifest {
        let mut manifest = Manifest { state: State::Finished, ..Manifest::default() };
        manifest.run.started = "2026-11-21T10:00:00Z".to_owned();
        manifest.run.ended = "2026-11-21T10:00:30Z".to_owned();
        manifest
    }

    fn ending_at(ns: u64) -> Manifest {
        let mut manifest = finished();
        let phase = assay_history::manifest::PhaseSection { to_ns: ns, ..Default::default() };
        manifest.phases = vec![phase];
        manifest
    }

    #[test]
    fn a_window_that_outlasts_its_run_is_a_contradiction() {
        assert_eq!(window(&ending_at(30_000_000_000)), None);
        assert_eq!(window(&ending_at(119_000_000_000)), None, "a clock may have been set");
        let said = window(&ending_at(1 << 63)).expect("292 years are too long");
        assert!(said.contains("after 9223372036 s and the run after 30 s"), "{said}");
        let mut reported = ending_at(1 << 63);
        reported.load.settings.simulated_time = true;
        assert_eq!(window(&reported), None);
    }

    #[test]
    fn other_counts_are_a_contradiction_unless_records_were_lost() {
        let mut endings = Endings::default();
        endings.push(&[Record::BLANK; 3]);
        let mut manifest = finished();
        (manifest.counters.offered, manifest.counters.done) = (3, 3);
        assert_eq!(counters(&manifest, &endings), None);
        (manifest.counters.done, manifest.counters.refused) = (2, 1);
        let said = counters(&manifest, &endings).expect("one was refused");
        assert!(said.contains("counts 2 done, 1 refused"), "{said}");
        manifest.history.lost = 1;
        assert_eq!(counters(&manifest, &endings), None);
    }

    #[test]
    fn final_reads_are_not_among_what_is_counted() {
        let last = Record { phase: Phase::Final, ..Record::BLANK };
        let mut endings = Endings::default();
        endings.push(&[Record::BLANK, last]);
        let mut manifest = finished();
        (manifest.counters.offered, manifest.counters.done) = (1, 1);
        assert_eq!(counters(&manifest, &endings), None);
    }
}

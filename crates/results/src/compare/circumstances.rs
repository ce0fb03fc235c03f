//! Differences of two set-ups other than their figures.

use std::collections::BTreeSet;

use assay_analysis::hallmark::Thresholds;
use assay_history::Manifest;
use assay_report::compare::{Difference, Weight};
use assay_workload::Spec;
use assay_workload::spec::no_files;

use crate::error::ResultsError;
use crate::measured_runs::MeasuredRun;

/// Times that differ by less than this share are equal.
const CLOSE: f64 = 0.01;

/// A load beside a run has nothing to compare.
///
/// # Errors
/// If the two are of different phases.
pub fn require_comparable(old: &[MeasuredRun], new: &[MeasuredRun]) -> Result<(), ResultsError> {
    let phase = |side: &[MeasuredRun]| {
        let phase = side.first().map(|run| run.analyzed.manifest.load.settings.phase);
        phase.unwrap_or_default().name()
    };
    let (old, new) = (phase(old), phase(new));
    if old == new {
        return Ok(());
    }
    Err(ResultsError::Invalid(format!(
        "BASE is a {old} and NEW is a {new}: their operations differ"
    )))
}

/// Every difference, the heaviest first. The first run of a group stands for all of it.
pub fn differences(old: &[MeasuredRun], new: &[MeasuredRun]) -> Vec<Difference> {
    let (Some(first), Some(second)) = (old.first(), new.first()) else { return Vec::new() };
    let mut found = Differences::default();
    analysis_options(&mut found, first, second);
    place(&mut found, &first.analyzed.manifest, &second.analyzed.manifest);
    chance(&mut found, old, new);
    gain(&mut found, old, new);
    found.list.sort_by_key(|difference| difference.weight);
    found.list
}

#[derive(Default)]
struct Differences {
    list: Vec<Difference>,
}

impl Differences {
    fn note(&mut self, weight: Weight, what: &str, old: impl ToString, new: impl ToString) {
        let (old, new) = (old.to_string(), new.to_string());
        if old != new {
            self.list.push(Difference { what: what.to_owned(), old, new, weight });
        }
    }
}

/// The operations and the load.
fn analysis_options(found: &mut Differences, old: &MeasuredRun, new: &MeasuredRun) {
    let (first, second) = (&old.analyzed.manifest, &new.analyzed.manifest);
    let mut note = |what: &str, old: &str, new: &str| found.note(Weight::Question, what, old, new);
    note("workload", &first.spec.name, &second.spec.name);
    let (mine, theirs) = only_there(&current(&first.spec.text), &current(&second.spec.text));
    note("spec", &mine, &theirs);
    note("trace", &first.spec.trace_hash, &second.spec.trace_hash);
    note("load model", &first.load.model, &second.load.model);
    note("load", &first.load.text, &second.load.text);
    let sessions = |manifest: &Manifest| {
        manifest.load.settings.closed.map_or_else(String::new, |sessions| sessions.to_string())
    };
    note("sessions", &sessions(first), &sessions(second));
    let is_same_plan = first.spec.text == second.spec.text
        && first.spec.seed == second.spec.seed
        && first.counters.offered == second.counters.offered;
    if is_same_plan {
        let hash =
            |manifest: &Manifest| manifest.execution.executed_hash.clone().unwrap_or_default();
        note("operations", &hash(first), &hash(second));
    }
    let warm_up = |manifest: &Manifest| {
        let phase = manifest.phases.iter().find(|phase| phase.name == "warm-up");
        phase.map_or(0.0, |phase| (phase.to_ns - phase.from_ns) as f64 / 1e9)
    };
    lengths(found, Weight::Question, "warm-up", warm_up(first), warm_up(second));
    let measured = |run: &MeasuredRun| run.analyzed.summary.duration.as_secs_f64();
    lengths(found, Weight::Slight, "measured", measured(old), measured(new));
    let offered = |manifest: &Manifest| manifest.counters.offered;
    found.note(Weight::Slight, "operations issued", offered(first), offered(second));
}

fn lengths(found: &mut Differences, weight: Weight, what: &str, old: f64, new: f64) {
    if (old - new).abs() > CLOSE * old.max(new) {
        found.note(weight, what, format!("{old:.3} s"), format!("{new:.3} s"));
    }
}

/// A specification with the names that its keys have today; other texts as they are.
fn current(text: &str) -> String {
    Spec::from_toml(text, "run.toml", &no_files)
        .map_or_else(|_| text.to_owned(), |spec| spec.to_toml())
}

/// Lines that only one of two texts has, joined.
fn only_there(old: &str, new: &str) -> (String, String) {
    let lines = |text: &str| -> Vec<String> {
        let lines = text.lines().map(str::trim);
        // The number of operations follows from the measured duration.
        lines
            .filter(|line| !(line.is_empty() || line.starts_with("count =")))
            .map(str::to_owned)
            .collect()
    };
    let (old, new) = (lines(old), lines(new));
    let without = |these: &[String], those: &[String]| {
        let only = these.iter().filter(|line| !those.contains(line));
        only.cloned().collect::<Vec<_>>().join("; ")
    };
    (without(&old, &new), without(&new, &old))
}

/// The store, the machine, the instrument.
fn place(found: &mut Differences, old: &Manifest, new: &Manifest) {
    let mut note = |what: &str, of: &dyn Fn(&Manifest) -> String| {
        found.note(Weight::Place, what, of(old), of(new));
    };
    note("store", &|run| run.store.name.clone());
    note("store url", &url);
    note("store version", &|run| run.store.version.clone());
    let settings = old.store.settings.iter().chain(&new.store.settings);
    let names: BTreeSet<&String> = settings.map(|setting| &setting.name).collect();
    // The seed of a simulated store is chance.
    for name in names.into_iter().filter(|name| *name != "seed") {
        note(&format!("setting {name}"), &|run| {
            let found = run.store.settings.iter().find(|setting| setting.name == *name);
            found.map(|setting| setting.value.clone()).unwrap_or_default()
        });
    }
    for (at, (name, _)) in old.store.capabilities.named().into_iter().enumerate() {
        note(&format!("store {name}"), &|run| run.store.capabilities.named()[at].1.clone());
    }
    note("system", &|run| run.machine.system.clone());
    note("processor", &|run| run.machine.processor.clone());
    note("cores", &|run| run.machine.cores.to_string());
    note("memory", &|run| format!("{} GiB", (run.machine.memory_bytes + (1 << 29)) >> 30));
    for name in ["clocksource", "governor"] {
        note(name, &|run| run.machine.facts.get(name).cloned().unwrap_or_default());
    }
    note("agents", &|run| agents(run).to_string());
    note("threads", &|run| run.load.workers.to_string());
    note("spin", &|run| run.load.settings.spin.name().to_owned());
    note("cpu-list", &|run| run.load.settings.cpu_list.clone().unwrap_or_default());
    note("assay", &|run| run.run.assay.clone());
}

/// Processes that have issued the operations.
fn agents(manifest: &Manifest) -> usize {
    manifest.agents.len().max(1)
}

/// The hallmark's B6: how much more each further agent has reached, where nothing but the store or
/// the client holds the throughput back. Beyond the threshold it was the client.
fn gain(found: &mut Differences, old: &[MeasuredRun], new: &[MeasuredRun]) {
    let is_saturated = |run: &MeasuredRun| {
        let load = &run.analyzed.manifest.load;
        load.model == "closed" && load.settings.target_throughput.is_none()
    };
    let count = |side: &[MeasuredRun]| side.first().map_or(1, |run| agents(&run.analyzed.manifest));
    if count(old) == count(new) || !old.iter().chain(new).all(is_saturated) {
        return;
    }
    let (few, many) = if count(old) < count(new) { (old, new) } else { (new, old) };
    let mean = |side: &[MeasuredRun]| {
        let rates = side.iter().map(|run| run.analyzed.summary.overall.rates.done_per_s);
        rates.sum::<f64>() / side.len().max(1) as f64
    };
    let further = (count(many) - count(few)) as f64;
    let gain = (mean(many) / mean(few) - 1.0) / further;
    let most = Thresholds::default().gain_pass;
    let verdict = match gain <= most {
        true => "passes: the client does not hold the throughput back",
        // Also where it is no number because nothing was done.
        false => "fails: the client holds the throughput back",
    };
    found.list.push(Difference {
        what: "B6 gain by another agent".to_owned(),
        old: format!("at most {:.0} %", most * 100.0),
        new: format!("{:.1} %, {verdict}", gain * 100.0),
        weight: Weight::Slight,
    });
}

/// A store inside the run directory has another address in each run.
fn url(manifest: &Manifest) -> String {
    let url = &manifest.store.url;
    let own = format!("{}/store", manifest.run.id);
    match (url.split_once(':'), url.strip_suffix(&own)) {
        (Some((scheme, _)), Some(before)) if before.ends_with([':', '/']) => {
            format!("{scheme}:(its own)")
        }
        _ => url.clone(),
    }
}

/// What differs by chance, or by the order of the runs.
fn chance(found: &mut Differences, old: &[MeasuredRun], new: &[MeasuredRun]) {
    let seeds = |side: &[MeasuredRun]| {
        let seed = |run: &MeasuredRun| match run.analyzed.manifest.load.settings.arrival_seed {
            Some(arrivals) => format!("{} (arrivals {arrivals})", run.analyzed.manifest.spec.seed),
            None => run.analyzed.manifest.spec.seed.to_string(),
        };
        side.first().map(seed).unwrap_or_default()
    };
    found.note(Weight::Slight, "seed", seeds(old), seeds(new));
    found.note(Weight::Slight, "runs", old.len(), new.len());
    let starts = |side: &[MeasuredRun]| -> Vec<String> {
        side.iter().map(|run| run.analyzed.manifest.run.started.clone()).collect()
    };
    let (old, new) = (starts(old), starts(new));
    let is_apart = old.iter().max() < new.iter().min() || new.iter().max() < old.iter().min();
    if old.len() > 1 && new.len() > 1 && is_apart {
        let first = |starts: &[String]| starts.iter().min().cloned().unwrap_or_default();
        // A drift of the machine between the two looks like a difference of the set-ups.
        found.note(Weight::Slight, "order (not interleaved)", first(&old), first(&new));
    }
}

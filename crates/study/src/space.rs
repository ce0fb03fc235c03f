//! Disk and memory that the cells of a study need on this machine.

use std::path::Path;

use assay_lab::recipes;
use assay_model::Nanos;
use assay_results::memory;
use assay_run::text;
use rustix::fs::{stat, statvfs};

use crate::commands::Target;
use crate::error::{StudyError, invalid};
use crate::plan::{PlannedCell, StudyPlan};

/// Bytes that a record of a sealed history takes.
const SEALED_BYTES: u64 = 16;

/// Operations per second of a store in this process that is driven without pause; it is not known
/// before, and most are slower.
const IN_PROCESS_PER_S: f64 = 500e3;

/// The same of a server.
const SERVER_PER_S: f64 = 50e3;

/// Bytes that it takes besides until it is sealed.
const BLOCK_BYTES: u64 = 100;

/// A store needs more than its data: logs, old versions, what it is about to merge.
const GROWTH: u64 = 4;

/// In memory a store has its index and what the allocator loses besides.
const IN_MEMORY: u64 = 2;

const MIB: u64 = 1 << 20;

/// What a cell needs, in MiB.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SpaceNeed {
    /// Memory of all nodes.
    pub memory_mib: u64,
    /// Space on disk for all nodes.
    pub disk_mib: u64,
}

/// What a cell's store needs.
pub fn need(plan: &StudyPlan, cell: &PlannedCell) -> SpaceNeed {
    let rows = plan.workloads[cell.setup.workload].bytes / MIB;
    let grown = rows.saturating_mul(GROWTH);
    let Target::Up { recipe, nodes, .. } = &cell.workload_kind.target else {
        return match &cell.workload_kind.fill {
            Some(_) => SpaceNeed { memory_mib: 0, disk_mib: grown },
            // A store that is not loaded beforehand is in the memory of the client process.
            None if keeps_nothing_here(&cell.workload_kind.target) => SpaceNeed::default(),
            None => SpaceNeed { memory_mib: rows.saturating_mul(IN_MEMORY), disk_mib: 0 },
        };
    };
    let Ok(recipe) = recipes::find(recipe) else { return SpaceNeed::default() };
    let card = recipe.card();
    let nodes = nodes.unwrap_or(card.nodes.usual) as u64;
    SpaceNeed {
        memory_mib: nodes.saturating_mul(card.memory_mib),
        disk_mib: nodes.saturating_mul(card.disk_mib.saturating_add(grown)),
    }
}

fn keeps_nothing_here(target: &Target) -> bool {
    matches!(target, Target::Url(url) if url.starts_with("null:") || url.contains("//"))
}

fn guessed_per_s(cell: &PlannedCell) -> f64 {
    match &cell.workload_kind.target {
        Target::Url(url) if !url.contains("//") => IN_PROCESS_PER_S,
        _ => SERVER_PER_S,
    }
}

/// Space that the histories of `cells` need, in MiB.
pub fn histories_mib(plan: &StudyPlan, cells: &[&PlannedCell]) -> u64 {
    let of = |cell: &PlannedCell| {
        let flag = |name: &str| cell.settings.get(name).map(String::as_str);
        let operations = flag("operations").and_then(|text| text.parse().ok());
        let by_the_clock = || {
            let rate = match flag("rate") {
                Some(rate) => text::rate(rate).ok()?,
                None => guessed_per_s(cell),
            };
            let times = [flag("duration"), flag("warm-up")].into_iter().flatten();
            let time = times.filter_map(|length| text::duration(length).ok());
            Some((rate * time.map(Nanos::as_secs_f64).sum::<f64>()) as u64)
        };
        let operations: u64 = operations.or_else(by_the_clock).unwrap_or(0);
        let records = plan.workloads[cell.setup.workload].records.unwrap_or(0);
        operations.saturating_add(records)
    };
    let all = cells.iter().map(|cell| of(cell)).fold(0, u64::saturating_add);
    let most = cells.iter().map(|cell| of(cell)).max().unwrap_or(0);
    let sealed = all.saturating_mul(SEALED_BYTES);
    sealed.saturating_add(most.saturating_mul(BLOCK_BYTES)) / MIB
}

/// Refuses a study that cannot come to its end here; `leftovers` are bytes in `dir` that it frees.
///
/// # Errors
/// If a cell needs more memory than the machine has free, or the disk is too small.
pub fn require(
    plan: &StudyPlan,
    missing: &[&PlannedCell],
    leftovers: u64,
    dir: &Path,
    labs: &Path,
) -> Result<(), StudyError> {
    let needs = missing.iter().map(|cell| (need(plan, cell), *cell));
    let Some((most, cell)) = needs.clone().max_by_key(|(need, _)| need.memory_mib) else {
        return Ok(());
    };
    if let Some(free) = memory::available().map(|bytes| bytes / MIB)
        && most.memory_mib > free
    {
        return Err(invalid(format!(
            "{} needs about {} MiB of memory, and {free} MiB are free: take fewer {}, leave that \
             store out by --stores, or insist with --force",
            cell.id,
            most.memory_mib,
            if cell.workload_kind.target.is_up() { "nodes" } else { "records" }
        )));
    }
    let most = |is_of_lab: bool| {
        let of = needs.clone().filter(|(_, cell)| cell.workload_kind.target.is_up() == is_of_lab);
        of.map(|(need, _)| need.disk_mib).max().unwrap_or(0)
    };
    let own = most(false).saturating_add(histories_mib(plan, missing));
    let own = own.saturating_sub(leftovers / MIB);
    match is_same_disk(dir, labs) {
        true => require_disk(own.saturating_add(most(true)), dir, "--dir"),
        false => {
            require_disk(own, dir, "--dir")?;
            require_disk(most(true), labs, "--lab-dir")
        }
    }
}

fn require_disk(expected: u64, dir: &Path, flag: &str) -> Result<(), StudyError> {
    let Ok(found) = statvfs(existing(dir)) else { return Ok(()) };
    let free = found.f_bavail.saturating_mul(found.f_frsize) / MIB;
    if expected > free {
        return Err(invalid(format!(
            "the study needs about {expected} MiB on disk, and {free} MiB are free for {}: take \
             fewer records or operations (--scale 0.1), another {flag}, or insist with --force",
            dir.display()
        )));
    }
    Ok(())
}

/// The nearest directory above that is there already.
fn existing(dir: &Path) -> &Path {
    let is_there = dir.ancestors().find(|dir| dir.is_dir());
    is_there.unwrap_or(Path::new("."))
}

fn is_same_disk(one: &Path, other: &Path) -> bool {
    let device = |dir| stat(existing(dir)).map(|found| found.st_dev).ok();
    device(one) == device(other)
}

//! Evidence about a run from its directory, other than the records.

use assay_analysis::hallmark::{
    Evidence, ExpectedArrivals, Floor, Gaps, Hiccups, NetworkLoss, Plan, Thresholds, TraceHashes,
};
use assay_analysis::{Queried, Summary, Window};
use assay_history::manifest::{CallForm, RateChangeSection, Spinning};
use assay_history::{Manifest, Observation, State};
use assay_model::{Event, EventKind, Kind, Nanos};
use assay_run::{ArrivalProcess, RateProfile, text};
use assay_workload::Spec;
use assay_workload::script::{ScriptSpec, fmke};
use assay_workload::spec::{FieldLength, ReadFields, no_files};

use crate::observed::ObservedWindow;

/// The thresholds that the run of `manifest` is held against. Names that this release does not
/// know are those of another: they change nothing here.
pub fn thresholds(manifest: &Manifest) -> Thresholds {
    let mut thresholds = Thresholds::default();
    for (name, value) in &manifest.hallmark {
        thresholds.set(name, *value);
    }
    thresholds
}

/// The evidence of the run directory for the run in `summary`; its history has `kept` records, its
/// files so many `contradictions`.
pub fn gather(
    manifest: &Manifest,
    summary: &Summary,
    events: &[Event],
    observations: Option<&[Observation]>,
    kept: u64,
    contradictions: usize,
) -> Evidence {
    let settings = &manifest.load.settings;
    let capabilities = &manifest.store.capabilities;
    let in_process = matches!(capabilities.calls, Some(CallForm::Inline | CallForm::Blocking));
    // Of several machines, the worst counts: one bad client spoils the figures of all.
    let observed = observations.map(|all| ObservedWindow::of_machines(all, summary.window));
    let machines = || observed.iter().flatten();
    let spec = Spec::from_toml(&manifest.spec.text, "run.toml", &no_files).ok();
    let is_over = manifest.state != State::Running;
    let on_purpose = |event: &&Event| matches!(event.kind, EventKind::Fault | EventKind::Change);
    Evidence {
        is_simulated_time: settings.simulated_time,
        arrivals: promise(manifest, summary.window),
        trace: trace(manifest),
        queued: manifest.execution.queued,
        workers: machines().flat_map(ObservedWindow::workers).collect(),
        spins: settings.spin != Spinning::Never,
        store_in_workers: in_process && settings.blocking_threads == 0,
        steal: machines().filter_map(ObservedWindow::steal).max_by(f64::total_cmp),
        throttled: machines().filter_map(ObservedWindow::throttled).max_by(f64::total_cmp),
        hiccups: worst_hiccups(machines()),
        lost_records: is_over
            .then(|| manifest.history.lost + manifest.history.records.saturating_sub(kept)),
        contradictions: is_over.then_some(contradictions as u64),
        network: match in_process {
            true => Some(NetworkLoss::default()),
            false => network(machines()),
        },
        floor: floor(manifest),
        gain_by_agent: None,
        expected_miss_share: match &spec {
            Some(_) => misses(summary),
            None => misses_of_fmke(manifest, summary),
        },
        expected_bytes_per_record: spec
            .filter(|_| !capabilities.no_op)
            .as_ref()
            .and_then(bytes_per_record),
        events: events.iter().filter(on_purpose).map(|event| event.at).collect(),
    }
}

/// The hiccups of the machine that was held up for longest in all.
fn worst_hiccups<'a>(machines: impl Iterator<Item = &'a ObservedWindow<'a>>) -> Option<Hiccups> {
    let held_up = |hiccups: &Hiccups| -> u64 {
        hiccups.counts.iter().map(|(length, count)| length.0.saturating_mul(*count)).sum()
    };
    machines.filter_map(ObservedWindow::hiccups).max_by_key(held_up)
}

/// The segments of all machines together.
fn network<'a>(machines: impl Iterator<Item = &'a ObservedWindow<'a>>) -> Option<NetworkLoss> {
    machines.filter_map(ObservedWindow::network).reduce(|all, one| NetworkLoss {
        segments: all.segments + one.segments,
        retransmits: all.retransmits + one.retransmits,
    })
}

/// What the load model promised about arrivals, from its own words in the manifest.
fn promise(manifest: &Manifest, window: Window) -> Option<ExpectedArrivals> {
    if manifest.load.model != "open" {
        return None;
    }
    let settings = &manifest.load.settings;
    let text = settings.arrivals.as_ref()?;
    // A schedule from a trace cannot be read again without it; its gaps are what they are.
    let named = text::arrival_process(text).ok().flatten();
    let process = match named {
        Some(ArrivalProcess::Constant) => Gaps::Constant,
        Some(ArrivalProcess::Poisson) => Gaps::Poisson,
        Some(ArrivalProcess::Gamma(_) | ArrivalProcess::Lognormal(_)) => Gaps::Independent,
        Some(ArrivalProcess::Jitter(_)) => Gaps::Jittered,
        Some(ArrivalProcess::Mmpp2(_) | ArrivalProcess::Recorded(_)) | None => Gaps::Dependent,
    };
    let rate_profile = settings.rate.as_ref().and_then(|text| text::rate_profile(text).ok());
    let changes = &manifest.execution.rate_changes;
    let rate_profile = rate_profile.map(|rate_profile| changed(rate_profile, changes));
    let dispersion = named.zip(rate_profile.as_ref());
    let dispersion =
        dispersion.and_then(|(named, rate_profile)| dispersion_of(&named, rate_profile, window));
    let varying = rate_profile.filter(|rate_profile| rate_profile.constant_rate().is_none());
    let plan = varying.map(|rate_profile| {
        Plan::new(window.duration(), |past| rate_profile.integral(window.from.saturating_add(past)))
    });
    Some(ExpectedArrivals { process, plan, dispersion })
}

/// The shape with the changes that were made while the run went on.
fn changed(rate_profile: RateProfile, changes: &[RateChangeSection]) -> RateProfile {
    // Whoever has edited the file may have written anything.
    let changes = changes.iter().filter(|change| change.rate.is_finite() && change.rate >= 0.0);
    changes.fold(rate_profile, |profile, change| profile.changed(Nanos(change.at_ns), change.rate))
}

/// Variance by mean of the number of arrivals in the window; unknown for a written schedule.
fn dispersion_of(
    process: &ArrivalProcess,
    rate_profile: &RateProfile,
    window: Window,
) -> Option<f64> {
    let rate = rate_profile.mean_rate(window.from, window.until);
    match process {
        ArrivalProcess::Mmpp2(chain) if rate > 0.0 && window.duration() > Nanos::ZERO => {
            Some(chain.dispersion(rate, window.duration()))
        }
        ArrivalProcess::Gamma(cv) | ArrivalProcess::Lognormal(cv) => Some(cv * cv),
        _ => None,
    }
}

/// The hashes of the planned and the executed trace, if the plan was issued in full.
fn trace(manifest: &Manifest) -> Option<TraceHashes> {
    if !manifest.execution.issued_all {
        return None;
    }
    let hash = |text: &str| u128::from_str_radix(text, 16).ok();
    let planned = hash(&manifest.spec.trace_hash)?;
    Some(TraceHashes { planned, executed: hash(manifest.execution.executed_hash.as_ref()?)? })
}

fn floor(manifest: &Manifest) -> Option<Floor> {
    let section = manifest.floor.as_ref()?;
    let quantile = |name: &str| Some(name.strip_prefix('p')?.parse::<f64>().ok()? / 100.0);
    let mut response: Vec<(f64, Nanos)> = section
        .response_ns
        .iter()
        .filter_map(|(name, value)| Some((quantile(name)?, Nanos(*value))))
        .collect();
    response.sort_by(|(one, _), (other, _)| one.total_cmp(other));
    Some(Floor { response })
}

/// A workload without deletes finds its records.
fn misses(summary: &Summary) -> Option<f64> {
    let deletes = summary.kinds.iter().any(|(kind, _)| *kind == Kind::Delete);
    (!deletes).then_some(0.0)
}

/// How many misses of each kind of request say nothing about the store: FMKe's, as
/// [`fmke::may_miss`] has them.
pub fn expected_misses(manifest: &Manifest, summary: &Summary) -> Vec<(Kind, u64)> {
    if misses_of_fmke(manifest, summary).is_none() {
        return Vec::new();
    }
    let may_miss = summary.queries.iter().filter(|query| fmke::may_miss(&query.name));
    let of_kind = |query: &Queried| match query.name.as_str() {
        "prescription.read" => Kind::Read,
        _ => Kind::Scan,
    };
    may_miss.map(|query| (of_kind(query), query.group.counts.misses)).collect()
}

/// FMKe looks for identifiers that must be free, and reads lists that may be empty: every other
/// query finds its row.
fn misses_of_fmke(manifest: &Manifest, summary: &Summary) -> Option<f64> {
    let text = &manifest.spec.text;
    let spec = ScriptSpec::is_script(text).then(|| ScriptSpec::from_toml(text, "run.toml"));
    let Some(Ok(ScriptSpec::Fmke(_))) = spec else { return None };
    let is_read = |kind: Kind| matches!(kind, Kind::Read | Kind::Scan);
    let reads = summary.kinds.iter().filter(|(kind, _)| is_read(*kind));
    let done: u64 = reads.map(|(_, group)| group.counts.done).sum();
    let may_miss = summary.queries.iter().filter(|query| fmke::may_miss(&query.name));
    let missed: u64 = may_miss.map(|query| query.group.counts.misses).sum();
    (done > 0).then(|| missed as f64 / done as f64)
}

/// Value bytes of a record, if all records have equally many and reads return all of them.
fn bytes_per_record(spec: &Spec) -> Option<f64> {
    match spec.dataset.field_length {
        FieldLength::Constant(length) if spec.operations.read_fields == ReadFields::All => {
            Some((spec.dataset.fields * length) as f64)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open(rate: &str, arrivals: &str) -> Manifest {
        let mut manifest = Manifest::default();
        manifest.load.model = "open".to_owned();
        manifest.load.settings.rate = Some(rate.to_owned());
        manifest.load.settings.arrivals = Some(arrivals.to_owned());
        manifest
    }

    fn seconds(from: u64, until: u64) -> Window {
        Window { from: Nanos::from_secs(from), until: Nanos::from_secs(until) }
    }

    #[test]
    fn a_constant_rate_promises_the_same_all_the_time() {
        let manifest = open("1000", "poisson");
        let expected = ExpectedArrivals::steady(Gaps::Poisson);
        assert_eq!(promise(&manifest, seconds(0, 3)), Some(expected));
        assert_eq!(promise(&Manifest::default(), seconds(0, 3)), None);
    }

    #[test]
    fn a_changed_rate_promises_what_is_left_to_either() {
        let mut manifest = open("100", "constant");
        manifest.execution.rate_changes = [(2_500_000_000, 50.0), (3_000_000_000, 10.0)]
            .map(|(at_ns, rate)| RateChangeSection { at_ns, rate })
            .into();
        let plan = promise(&manifest, seconds(1, 4)).expect("it is open").plan;
        let plan = plan.expect("it varies");
        let until = |ms| plan.before(Nanos::from_millis(ms)).round();
        assert_eq!([1000, 1500, 2000, 3000].map(until), [100.0, 150.0, 175.0, 185.0]);
    }

    #[test]
    fn a_process_tells_how_far_its_counts_scatter() {
        let of = |arrivals| {
            let manifest = open("100", arrivals);
            promise(&manifest, seconds(1, 1001)).and_then(|promise| promise.dispersion)
        };
        assert_eq!(of("gamma:3"), Some(9.0));
        // 2 · σ₁σ₂(λ₁−λ₂)² / ((σ₁+σ₂)²(λ₁σ₂+λ₂σ₁)) more than 1, were the window endless.
        let bursts = of("mmpp2:10,1s,9s").expect("it is known");
        assert!((360.0..366.0).contains(&bursts), "{bursts}");
        assert_eq!(of("poisson"), None);
    }

    #[test]
    fn traces_are_compared_only_if_the_plan_was_issued_in_full() {
        let mut manifest = Manifest::default();
        manifest.execution.executed_hash = Some("ff".to_owned());
        manifest.spec.trace_hash = "fe".to_owned();
        assert_eq!(trace(&manifest), None);
        manifest.execution.issued_all = true;
        assert_eq!(trace(&manifest), Some(TraceHashes { planned: 0xfe, executed: 0xff }));
    }

    #[test]
    fn the_floor_is_by_quantile() {
        let mut manifest = Manifest::default();
        assert_eq!(floor(&manifest), None);
        let response_ns = [("p99.9", 9), ("p50", 1)].map(|(name, ns)| (name.to_owned(), ns)).into();
        let section = assay_history::manifest::FloorSection { response_ns, ..Default::default() };
        manifest.floor = Some(section);
        let found = floor(&manifest).expect("there is one");
        assert_eq!(found.response(0.999), Some(Nanos(9)));
        assert_eq!(found.response(0.5), Some(Nanos(1)));
    }
}

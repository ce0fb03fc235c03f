//! What a bundle holds about its own run beside the records.

use assay_analysis::hallmark::{Evidence, Floor, Gaps, Network, Plan, Promise, Thresholds, Trace};
use assay_analysis::{Summary, Window};
use assay_history::{Manifest, Observation, State};
use assay_model::{Event, EventKind, Kind, Nanos};
use assay_run::{ArrivalProcess, Shape};
use assay_workload::Spec;
use assay_workload::spec::{FieldLength, ReadFields, no_files};

use crate::arrivals::{self, Calendar};
use crate::observe::window::Seen;

/// The thresholds that the run of `manifest` is held against. Names that this release does not
/// know are those of another: they change nothing here.
pub fn thresholds(manifest: &Manifest) -> Thresholds {
    let mut thresholds = Thresholds::default();
    for (name, value) in &manifest.hallmark {
        thresholds.set(name, *value);
    }
    thresholds
}

/// Everything that the bundle says about the run that `summary` is about; its history has `kept`
/// records, its files so many `contradictions`.
pub fn gather(
    manifest: &Manifest,
    summary: &Summary,
    events: &[Event],
    observations: Option<&[Observation]>,
    kept: u64,
    contradictions: usize,
) -> Evidence {
    let settings = &manifest.load.settings;
    let setting = |name: &str| settings.get(name).map(String::as_str);
    let capability = |name: &str| manifest.store.capabilities.get(name).map(String::as_str);
    let is_no_op = capability("no_op") == Some("true");
    let in_process = matches!(capability("calls"), Some("inline" | "blocking"));
    let has_workers = setting("workers").is_some_and(|workers| workers != "0");
    let seen = observations.map(|all| Seen::new(all, summary.window));
    let spec = Spec::from_toml(&manifest.spec.text, "run.toml", &no_files).ok();
    let is_over = manifest.state != State::Running;
    let on_purpose = |event: &&Event| matches!(event.kind, EventKind::Fault | EventKind::Change);
    Evidence {
        is_told_time: setting("time") == Some("told"),
        arrivals: promise(manifest, summary.window),
        trace: trace(manifest),
        queued: setting("queued").and_then(|text| text.parse().ok()),
        lanes: seen.as_ref().map(Seen::lanes).unwrap_or_default(),
        spins: setting("spin").is_some_and(|spin| spin != "never"),
        store_in_lanes: in_process && !has_workers,
        steal: seen.as_ref().and_then(Seen::steal),
        throttled: seen.as_ref().and_then(Seen::throttled),
        hiccups: seen.as_ref().and_then(Seen::hiccups),
        lost_records: is_over
            .then(|| manifest.history.lost + manifest.history.records.saturating_sub(kept)),
        contradictions: is_over.then_some(contradictions as u64),
        network: match in_process {
            true => Some(Network::default()),
            false => seen.as_ref().and_then(Seen::network),
        },
        floor: floor(manifest),
        gain_by_agent: None,
        expected_miss_share: spec.as_ref().and_then(|_| misses(summary)),
        expected_bytes_per_record: spec.filter(|_| !is_no_op).as_ref().and_then(bytes_per_record),
        events: events.iter().filter(on_purpose).map(|event| event.at).collect(),
    }
}

/// What the load model promised about arrivals, from its own words in the manifest.
fn promise(manifest: &Manifest, window: Window) -> Option<Promise> {
    if manifest.load.model != "open" {
        return None;
    }
    let settings = &manifest.load.settings;
    let text = settings.get("arrivals")?;
    let named = arrivals::process(text, Calendar::None);
    let process = match named {
        Ok(ArrivalProcess::Constant) => Gaps::Constant,
        Ok(ArrivalProcess::Poisson) => Gaps::Poisson,
        Ok(ArrivalProcess::Gamma(_) | ArrivalProcess::Lognormal(_)) => Gaps::Independent,
        Ok(ArrivalProcess::Jitter(_)) => Gaps::Jittered,
        // A schedule from a trace cannot be read again without it; its gaps are what they are.
        Ok(ArrivalProcess::Mmpp2(_) | ArrivalProcess::Baked(_)) | Err(_) => Gaps::Dependent,
    };
    let shape = settings.get("rate").and_then(|text| arrivals::shape(text).ok());
    let changes = settings.get("rate_changes").map_or("", String::as_str);
    let shape = shape.and_then(|shape| changed(shape, changes));
    let dispersion = named.ok().zip(shape.as_ref());
    let dispersion = dispersion.and_then(|(named, shape)| dispersion_of(&named, shape, window));
    let varying = shape.filter(|shape| shape.constant_rate().is_none());
    let plan = varying.map(|shape| {
        Plan::new(window.duration(), |past| shape.integral(window.from.saturating_add(past)))
    });
    Some(Promise { process, plan, dispersion })
}

/// The shape with the changes that were made while the run went on: `at_ns@rate,…`.
fn changed(shape: Shape, changes: &str) -> Option<Shape> {
    let mut changes = changes.split(',').filter(|text| !text.is_empty());
    changes.try_fold(shape, |shape, text| {
        let (at, rate) = text.split_once('@')?;
        Some(shape.changed(Nanos(at.parse().ok()?), rate.parse().ok()?))
    })
}

/// Variance by mean of the number of arrivals in the window; unknown for a written schedule.
fn dispersion_of(process: &ArrivalProcess, shape: &Shape, window: Window) -> Option<f64> {
    let rate = shape.mean_rate(window.from, window.until);
    match process {
        ArrivalProcess::Mmpp2(chain) if rate > 0.0 && window.duration() > Nanos::ZERO => {
            Some(chain.dispersion(rate, window.duration()))
        }
        ArrivalProcess::Gamma(cv) | ArrivalProcess::Lognormal(cv) => Some(cv * cv),
        _ => None,
    }
}

/// The planned trace beside the executed one, if all of it was asked.
fn trace(manifest: &Manifest) -> Option<Trace> {
    let settings = &manifest.load.settings;
    if settings.get("asked_all").map(String::as_str) != Some("true") {
        return None;
    }
    let hash = |text: &str| u128::from_str_radix(text, 16).ok();
    let planned = hash(&manifest.spec.trace_hash)?;
    Some(Trace { planned, executed: hash(settings.get("executed_hash")?)? })
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

/// A workload that deletes nothing finds what it asks for.
fn misses(summary: &Summary) -> Option<f64> {
    let deletes = summary.kinds.iter().any(|(kind, _)| *kind == Kind::Delete);
    (!deletes).then_some(0.0)
}

/// Value bytes of a record, where all records have equally many and reads ask for all of them.
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

    fn open(settings: &[(&str, &str)]) -> Manifest {
        let mut manifest = Manifest::default();
        manifest.load.model = "open".to_owned();
        for (name, text) in settings {
            manifest.load.settings.insert((*name).to_owned(), (*text).to_owned());
        }
        manifest
    }

    fn seconds(from: u64, until: u64) -> Window {
        Window { from: Nanos::from_secs(from), until: Nanos::from_secs(until) }
    }

    #[test]
    fn a_constant_rate_promises_the_same_all_the_time() {
        let manifest = open(&[("rate", "1000"), ("arrivals", "poisson")]);
        let wanted = Promise::steady(Gaps::Poisson);
        assert_eq!(promise(&manifest, seconds(0, 3)), Some(wanted));
        assert_eq!(promise(&Manifest::default(), seconds(0, 3)), None);
    }

    #[test]
    fn a_changed_rate_promises_what_is_left_to_either() {
        let changes = ("rate_changes", "2500000000@50,3000000000@10");
        let manifest = open(&[("rate", "100"), ("arrivals", "constant"), changes]);
        let plan = promise(&manifest, seconds(1, 4)).expect("it is open").plan;
        let plan = plan.expect("it varies");
        let until = |ms| plan.before(Nanos::from_millis(ms)).round();
        assert_eq!([1000, 1500, 2000, 3000].map(until), [100.0, 150.0, 175.0, 185.0]);
    }

    #[test]
    fn a_process_tells_how_far_its_counts_scatter() {
        let of = |arrivals| {
            let manifest = open(&[("rate", "100"), ("arrivals", arrivals)]);
            promise(&manifest, seconds(1, 1001)).and_then(|promise| promise.dispersion)
        };
        assert_eq!(of("gamma:3"), Some(9.0));
        // 2 · σ₁σ₂(λ₁−λ₂)² / ((σ₁+σ₂)²(λ₁σ₂+λ₂σ₁)) more than 1, were the window endless.
        let bursts = of("mmpp2:10,1s,9s").expect("it is known");
        assert!((360.0..366.0).contains(&bursts), "{bursts}");
        assert_eq!(of("poisson"), None);
    }

    #[test]
    fn traces_compare_only_if_all_of_it_was_asked() {
        let mut manifest = open(&[("executed_hash", "ff"), ("asked_all", "false")]);
        manifest.spec.trace_hash = "fe".to_owned();
        assert_eq!(trace(&manifest), None);
        manifest.load.settings.insert("asked_all".to_owned(), "true".to_owned());
        assert_eq!(trace(&manifest), Some(Trace { planned: 0xfe, executed: 0xff }));
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

//! A synthetic workload like a trace, as a spec.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use assay_model::Kind;
use assay_trace::fit::{Fit, KeyLengths, Law, SizeList, fit as fit_trace};
use assay_trace::stat::Sizes;
use assay_trace::{Schedules, StatOptions, Trace, TraceStat, stat};
use assay_workload::spec::{FieldLength, KeyDistribution, KeyOrder, ScanDistribution, no_files};
use assay_workload::{PlanPhase, Spec};
use clap::ArgMatches;

use crate::atomic_file;
use crate::exit::{Exit, as_usage, usage};
use crate::show::finish;
use crate::workload::{Changes, Workload};

/// So many operations of the spec are drawn to describe it.
const LOOKED_AT: u64 = 1_000_000;

/// `assay trace fit`.
pub fn fit(matches: &ArgMatches) -> Result<Exit> {
    let name = matches.get_one::<String>("trace").context("a TRACE is needed")?;
    let workload = Workload::read(name, &Changes::default())?;
    let Some(trace) = &workload.trace else {
        return Err(usage(format!(
            "{name} is no trace; `assay trace import` makes one of another"
        )));
    };
    let spec = Spec::from_toml(&trace.header().spec, name, &no_files);
    if trace.header().script.is_some() || spec.is_err() {
        return Err(usage(format!("{name} issues queries, and only records by key are fitted")));
    }
    let is_recorded = spec.is_ok_and(|spec| spec.dataset.is_recorded());
    let load = if is_recorded { workload.preload()? } else { None };
    let lengths = if is_recorded { KeyLengths::Recorded } else { KeyLengths::Unknown };
    let fitted = fit_trace(trace, load.as_ref(), lengths).map_err(as_usage)?;
    let spec = synthetic(&fitted, load.as_ref());
    spec.check().map_err(as_usage)?;
    let output = match matches.get_one::<String>("output") {
        Some(output) => PathBuf::from(output),
        None => Path::new(name).with_extension("toml"),
    };
    let text = format!("{}\n{}", head(name, trace, &fitted)?, spec.to_toml());
    atomic_file::write_text(&output, &text)?;
    finish(&describe(&output, trace, &fitted, &spec)?)
}

/// The spec: all keys that must be there before are loaded, or all that the trace knows if it
/// writes most of them itself; then only what is written to new keys are inserts.
fn synthetic(fitted: &Fit, load: Option<&Trace>) -> Spec {
    let Fit { stat, law, values, keys, .. } = fitted;
    let mut spec = Spec::default();
    let distinct = stat.popularity.distinct.max(1);
    let [read, update, insert, scan] =
        ["read", "update", "insert", "scan"].map(|name| weight(stat, name));
    let loaded = load.map_or(distinct, Trace::operations);
    let (records, new) = match loaded * 2 >= distinct {
        true => (loaded.clamp(1, distinct), insert.min(distinct.saturating_sub(loaded))),
        false => (distinct, 0),
    };
    let dataset = &mut spec.dataset;
    dataset.records = records;
    dataset.fields = 1;
    dataset.key_prefix = String::new();
    dataset.key_order = KeyOrder::Hashed;
    dataset.field_length = values.as_ref().map_or(FieldLength::Constant(100), length);
    if let Some(keys) = keys {
        // A hash has up to 19 digits, which many a key is too short for.
        dataset.key_order = KeyOrder::Ordered;
        dataset.key_length = Some(length(keys));
    }
    let operations = &mut spec.operations;
    operations.read = read as f64;
    operations.update = (update + insert - new) as f64;
    operations.insert = new as f64;
    operations.scan = scan as f64;
    operations.read_modify_write = weight(stat, "read-modify-write") as f64;
    if operations.read + operations.update + operations.insert + operations.scan == 0.0
        && operations.read_modify_write == 0.0
    {
        // A spec cannot speak of deletes, but must speak of something.
        operations.read = 1.0;
    }
    if let Some(lengths) = &stat.scan_lengths {
        spec.scan.min = u64::from(lengths.min.max(1));
        spec.scan.max = u64::from(lengths.max.max(1));
        spec.scan.distribution = ScanDistribution::Uniform;
    }
    match *law {
        Law::Hotspot { keys, operations } if records >= 100 => {
            spec.keys.distribution = KeyDistribution::Hotspot;
            spec.keys.hot_records = Some(keys);
            spec.keys.hot_operations = Some(rounded(operations));
        }
        Law::Zipf { exponent } => {
            spec.keys.distribution = KeyDistribution::Zipfian;
            spec.keys.theta = Some(rounded(exponent).max(0.0001));
        }
        Law::Uniform | Law::Hotspot { .. } => spec.keys.distribution = KeyDistribution::Uniform,
    }
    spec
}

fn weight(stat: &TraceStat, name: &str) -> u64 {
    stat.mix.iter().filter(|(known, _)| known == name).map(|(_, count)| count).sum()
}

fn length(list: &SizeList) -> FieldLength {
    match list.sizes[..] {
        [size] => FieldLength::Constant(size),
        _ => FieldLength::Listed { sizes: list.sizes.clone(), counts: list.counts.clone() },
    }
}

/// Four digits after the point say all that a fit knows.
fn rounded(number: f64) -> f64 {
    (number * 10_000.0).round() / 10_000.0
}

/// Processes per second, if the trace has a schedule.
fn rate(trace: &Trace) -> Result<Option<f64>> {
    if trace.schedules() == Schedules::Absent {
        return Ok(None);
    }
    let last = trace.end().saturating_sub(1);
    let Some(mut schedule) = trace.schedule().map_err(as_usage)? else { return Ok(None) };
    let span = schedule.intended(last).map_err(as_usage)?.unwrap_or_default().as_secs_f64();
    Ok((span > 0.0 && last > 0).then(|| last as f64 / span))
}

fn deletes(fitted: &Fit) -> u64 {
    let kinds = fitted.stat.kinds.iter().filter(|(kind, _)| *kind == Kind::Delete);
    kinds.map(|(_, count)| count).sum()
}

/// The lines above the spec.
fn head(name: &str, trace: &Trace, fitted: &Fit) -> Result<String> {
    let mut text = format!("# Fitted to {name}, hash {}.\n", trace.hash());
    if let Some(rate) = rate(trace)? {
        let _ = writeln!(
            text,
            "# The average rate is {rate:.1} processes per second: --rate {rate:.1}/s"
        );
    }
    let deletes = deletes(fitted);
    if deletes > 0 {
        let _ = writeln!(text, "# Left out: {deletes} deletes, which a spec cannot have.");
    }
    Ok(text)
}

/// The trace and the spec side by side, as drawn operations show them.
fn describe(output: &Path, trace: &Trace, fitted: &Fit, spec: &Spec) -> Result<String> {
    let mut drawn = spec.clone();
    let operations = fitted.stat.operations.min(LOOKED_AT);
    drawn.operations.count = Some(operations);
    let seed = trace.header().seed;
    let plan = assay_workload::Plan::new(&drawn, seed, PlanPhase::Run).map_err(as_usage)?;
    let options = StatOptions::default();
    let mut source = plan.source();
    let header = crate::compiled::Compiled::Records(Box::new(plan)).header(seed);
    let found = stat(source.as_mut(), 0..operations, &header, options)?;
    let mut text = format!("{:<24} {:>12} {:>12}\n", "", "trace", "spec");
    let mut row = |name: &str, trace: String, spec: String| {
        let _ = writeln!(text, "{name:<24} {trace:>12} {spec:>12}");
    };
    let share = |stat: &TraceStat, name: &str| {
        let sum: u64 = stat.mix.iter().map(|(_, count)| count).sum();
        format!("{:.2} %", weight(stat, name) as f64 * 100.0 / sum.max(1) as f64)
    };
    for name in ["read", "update", "insert", "scan", "read-modify-write", "delete"] {
        if weight(&fitted.stat, name) + weight(&found, name) > 0 {
            row(name, share(&fitted.stat, name), share(&found, name));
        }
    }
    let (requested, drawn) = (&fitted.stat.popularity, &found.popularity);
    row("distinct keys", requested.distinct.to_string(), drawn.distinct.to_string());
    for (one, other) in requested.hottest.iter().zip(&drawn.hottest) {
        let percent = |share: f64| format!("{:.2} %", share * 100.0);
        let name = format!("hottest {} of keys", percent(one.keys));
        row(&name, percent(one.share), percent(other.share));
    }
    let mean = |sizes: &Option<Sizes>| sizes.map_or("-".into(), |one| format!("{:.1} B", one.mean));
    row("bytes written, mean", mean(&fitted.stat.written), mean(&found.written));
    for (name, list, length) in [
        ("values, mean", &fitted.values, Some(&spec.dataset.field_length)),
        ("keys, mean", &fitted.keys, spec.dataset.key_length.as_ref()),
    ] {
        if let (Some(list), Some(length)) = (list, length) {
            row(name, format!("{:.1} B", list.mean()), format!("{:.1} B", mean_of(length)));
        }
    }
    let law = match fitted.law {
        Law::Uniform => "all keys alike".to_owned(),
        Law::Zipf { exponent } => format!("zipf with exponent {exponent:.3}"),
        Law::Hotspot { keys, operations } => {
            format!(
                "{:.1} % of the operations on {} % of the keys",
                operations * 100.0,
                keys * 100.0
            )
        }
    };
    let off = fitted.distance * 100.0;
    let _ = writeln!(text, "\npopularity   {law}; shares are off by at most {off:.1} %");
    let deletes = deletes(fitted);
    if deletes > 0 {
        let _ = writeln!(text, "left out     {deletes} deletes, which a spec cannot have");
    }
    let output = output.display();
    let rate = rate(trace)?.map_or(String::new(), |rate| format!(" --rate {rate:.1}/s"));
    let _ = writeln!(text, "spec         {output}\n\nassay bench {output} -t URL{rate}");
    Ok(text)
}

fn mean_of(length: &FieldLength) -> f64 {
    match length {
        FieldLength::Listed { sizes, counts } => {
            SizeList { sizes: sizes.clone(), counts: counts.clone() }.mean()
        }
        other => other.max() as f64,
    }
}

//! The page read back by a small parser.

use std::collections::BTreeMap;

use assay_run::WorkerStats;
use assay_run::arrival::RateProfile;

use super::*;
use crate::port::run_status::Subject;
use crate::progress::ProgressSnapshot;

/// Samples by name with labels, as they are written.
type Samples = BTreeMap<String, f64>;

/// Reads a page, and panics where Prometheus would complain.
fn parse(page: &str) -> Samples {
    let mut samples = Samples::new();
    let mut types: BTreeMap<&str, &str> = BTreeMap::new();
    let mut helped = None;
    assert!(page.ends_with('\n'));
    for line in page.lines() {
        if let Some(rest) = line.strip_prefix("# HELP ") {
            helped = rest.split_once(' ').map(|(name, _)| name);
        } else if let Some(rest) = line.strip_prefix("# TYPE ") {
            let (name, kind) = rest.split_once(' ').unwrap();
            assert_eq!(helped, Some(name), "HELP comes before TYPE");
            assert_eq!(types.insert(name, kind), None, "{name} is declared once");
        } else {
            let (series, value) = line.rsplit_once(' ').unwrap();
            let name = series.split('{').next().unwrap();
            let family = family(name, &types);
            assert!(family.starts_with("assay_"), "{name}");
            assert_eq!(helped, Some(family), "{name} stands with its family");
            assert!(is_name(name), "{name}");
            let value: f64 = value.parse().unwrap();
            assert_eq!(samples.insert(series.to_owned(), value), None, "{series} is there once");
        }
    }
    samples
}

fn is_name(name: &str) -> bool {
    name.chars().all(|letter| letter.is_ascii_lowercase() || letter == '_')
}

/// The declared family of a sample.
fn family<'a>(name: &'a str, types: &BTreeMap<&'a str, &str>) -> &'a str {
    let suffixes: &[&str] = &["_bucket", "_sum", "_count"];
    let of = suffixes.iter().find_map(|suffix| {
        let family = name.strip_suffix(suffix)?;
        ["histogram", "summary"].contains(types.get(family)?).then_some(family)
    });
    let family = of.unwrap_or(name);
    let kind = types.get(family).unwrap_or_else(|| panic!("{name} has no type"));
    assert_eq!(*kind == "counter", family.ends_with("_total"), "{name}");
    family
}

/// A run of which two seconds were seen, 1000 reads of 150 µs in each and one refused update.
fn observed() -> RunStatus {
    let subject = Subject {
        verb: "run",
        workload: "a \"quoted\" name".to_owned(),
        store: "fjall:C:\\dir".to_owned(),
        model: "open",
        ..Subject::default()
    };
    let mut observed = RunStatus::beginning(subject);
    for second in 1..=2 {
        let mut stats = WorkerStats { offered: 1001, processes: 1001, ..WorkerStats::default() };
        stats.outcomes[Kind::Read as usize][Outcome::Done as usize] = 1000;
        stats.outcomes[Kind::Update as usize][Outcome::Refused as usize] = 1;
        stats.missed[Kind::Read as usize] = 3;
        (0..1000).for_each(|_| {
            stats.service[Kind::Read as usize].record(Nanos::from_micros(150));
            stats.response[Kind::Read as usize].record(Nanos::from_micros(250));
        });
        let (at, rate_profile) = (Nanos::from_secs(second), RateProfile::constant(1001.0));
        observed.add(&ProgressSnapshot {
            at,
            elapsed: at,
            in_flight: 4,
            stats: &stats,
            rate_profile: Some(&rate_profile),
            is_ending: false,
            agents: &[],
        });
    }
    observed
}

#[test]
fn each_agent_of_a_fleet_has_figures_of_its_own() {
    let progress = Progress { offered: 9, done: 7, failed: 2, in_flight: 1, lag_ns: 5_000_000 };
    let (host, state) = ("a\"b".to_owned(), Some(AgentState::Running));
    let row = StatusRow { agent: 3, host, state, workers: 2, progress };
    let mut fleet = observed();
    fleet.agents = vec![row];
    let page = metrics(&fleet);
    let samples = parse(&page);
    assert_eq!(samples["assay_agent_failed_total{agent=\"3\"}"], 2.0);
    assert_eq!(samples["assay_agent_lag_max_seconds{agent=\"3\"}"], 0.005);
    assert!(page.contains("{agent=\"3\",host=\"a\\\"b\",state=\"running\"} 1\n"), "{page}");
    assert!(!metrics(&observed()).contains("assay_agent_"));
}

#[test]
fn counters_count_since_the_beginning() {
    let samples = parse(&metrics(&observed()));
    let of = |series: &str| samples[series];
    assert_eq!(of("assay_operations_total{kind=\"read\",outcome=\"done\"}"), 2000.0);
    assert_eq!(of("assay_operations_total{kind=\"update\",outcome=\"refused\"}"), 2.0);
    assert_eq!(of("assay_operations_total{kind=\"update\",outcome=\"done\"}"), 0.0);
    assert_eq!(of("assay_missed_total{kind=\"read\"}"), 6.0);
    assert_eq!(of("assay_processes_total"), 2002.0);
}

#[test]
fn live_counters_show_the_last_interval() {
    let samples = parse(&metrics(&observed()));
    for (series, value) in [
        ("assay_running", 1.0),
        ("assay_elapsed_seconds", 2.0),
        ("assay_in_flight", 4.0),
        ("assay_intended_rate", 1001.0),
        ("assay_offered_rate", 1001.0),
        ("assay_achieved_rate", 1000.0),
        ("assay_lag_max_seconds", 0.0),
    ] {
        assert_eq!(samples[series], value, "{series}");
    }
}

#[test]
fn histograms_rise_to_their_count() {
    let samples = parse(&metrics(&observed()));
    for (name, first_full) in [("response", "0.0005"), ("service", "0.0002")] {
        let bucket = |le: &str| {
            samples[&format!("assay_{name}_seconds_bucket{{kind=\"read\",le=\"{le}\"}}")]
        };
        assert_eq!(bucket("0.0001"), 0.0);
        assert_eq!(bucket(first_full), 2000.0);
        assert_eq!(bucket("50"), 2000.0);
        assert_eq!(bucket("+Inf"), 2000.0);
        let count = samples[&format!("assay_{name}_seconds_count{{kind=\"read\"}}")];
        assert_eq!(count, 2000.0);
    }
    assert_eq!(samples["assay_service_seconds_sum{kind=\"read\"}"], 0.3);
}

#[test]
fn summaries_have_the_quantiles_of_the_last_interval() {
    let samples = parse(&metrics(&observed()));
    let quantile = |name: &str, quantile: &str| {
        samples[&format!("assay_{name}_recent_seconds{{kind=\"read\",quantile=\"{quantile}\"}}")]
    };
    for name in ["0.5", "0.99", "0.999", "1"] {
        assert_eq!(quantile("service", name), 150e-6, "{name}");
        assert_eq!(quantile("response", name), 250e-6, "{name}");
    }
    assert_eq!(samples["assay_service_recent_seconds_count{kind=\"read\"}"], 2000.0);
}

#[test]
fn labels_are_escaped() {
    let page = metrics(&observed());
    assert!(page.contains(r#"workload="a \"quoted\" name",store="fjall:C:\\dir""#), "{page}");
}

#[test]
fn a_run_without_operations_has_a_page() {
    let samples = parse(&metrics(&RunStatus::default()));
    assert_eq!(samples["assay_running"], 0.0);
    assert!(!samples.contains_key("assay_offered_rate"));
}

//! A manifest comes back as it was written.

use super::*;
use crate::samples::tempdir;

fn full() -> Manifest {
    Manifest {
        state: State::Interrupted,
        reason: Some("Ctrl-C".to_owned()),
        spec: SpecSection {
            name: "ycsb-a".to_owned(),
            seed: u64::MAX,
            trace_hash: "00ff".to_owned(),
            text: "recordcount = 1000\n# it's \"quoted\" '''\n".to_owned(),
        },
        store: StoreSection {
            settings: vec![SettingSection {
                name: "appendfsync".to_owned(),
                value: "everysec".to_owned(),
                meaning: "a crash loses a second".to_owned(),
            }],
            capabilities: CapabilitiesSection {
                calls: Some(CallForm::Pipelined),
                persistent: true,
                isolation: Some("none".to_owned()),
                ..CapabilitiesSection::default()
            },
            ..StoreSection::default()
        },
        load: LoadSection {
            model: "open".to_owned(),
            workers: 2,
            settings: LoadSettings {
                rate: Some("10..20,period=2s".to_owned()),
                arrival_seed: Some(u64::MAX),
                deadline_ns: Some(1_500_000_000),
                spin: Spinning::LastStretch,
                ..LoadSettings::default()
            },
            ..LoadSection::default()
        },
        execution: ExecutionSection {
            issued_all: true,
            executed_hash: Some("00ff".to_owned()),
            queued: Some(3),
            held_back: vec![vec![(1, 2), (4, 8)], vec![], vec![(3, 3)]],
            rate_changes: vec![RateChangeSection { at_ns: 5, rate: 0.5 }],
            ..ExecutionSection::default()
        },
        counters: OperationCounts { offered: 4, done: 1, refused: 1, unknown: 1, dropped: 1 },
        phases: vec![PhaseSection { name: "load".to_owned(), from_ns: 0, to_ns: 9 }],
        notes: vec!["a remark".to_owned()],
        ..Manifest::default()
    }
}

#[test]
fn everything_comes_back() {
    let dir = tempdir("manifest");
    full().write(&dir).unwrap();
    assert_eq!(Manifest::read(&dir).unwrap(), full());
    assert_eq!(std::fs::read_dir(&dir).unwrap().count(), 2, "no temporary file stays");
}

#[test]
fn a_manifest_that_was_edited_after_the_end_is_known() {
    let dir = tempdir("edited-manifest");
    let running = Manifest { state: State::Running, ..full() };
    running.write(&dir).unwrap();
    assert!(Manifest::is_as_written(&dir), "nobody knows yet what the end will be");
    for _ in 0..2 {
        full().write(&dir).unwrap();
        assert!(Manifest::is_as_written(&dir));
    }
    let path = place::manifest(&dir);
    let text = std::fs::read_to_string(&path).unwrap().replace("everysec", "always");
    std::fs::write(&path, text).unwrap();
    assert!(!Manifest::is_as_written(&dir));
    full().write(&dir).unwrap();
    assert!(Manifest::is_as_written(&dir));
}

#[test]
fn unknown_keys_and_absent_sections_are_tolerated() {
    let dir = tempdir("manifest-unknown");
    let text = "format = 1\nstate = \"finished\"\ncolour = \"red\"\n[spec]\nseed = 7\nmood = 1\n";
    std::fs::write(place::manifest(&dir), text).unwrap();
    let manifest = Manifest::read(&dir).unwrap();
    assert_eq!((manifest.state, manifest.spec.seed), (State::Finished, 7));
}

#[test]
fn a_newer_manifest_is_named_even_if_it_looks_different() {
    let dir = tempdir("manifest-newer");
    std::fs::write(place::manifest(&dir), "format = 2\nstate = [\"paused\"]\n").unwrap();
    let error = Manifest::read(&dir).unwrap_err();
    assert!(matches!(error, ManifestError::Newer { found: 2, .. }), "{error}");
}

#[test]
fn a_garbled_manifest_is_named_with_its_line() {
    let dir = tempdir("manifest-garbled");
    std::fs::write(place::manifest(&dir), "format = 1\nstate = \"asleep\"\n").unwrap();
    let error = Manifest::read(&dir).unwrap_err().to_string();
    assert!(error.contains("run.toml") && error.contains("line 2"), "{error}");
}

/// What an earlier release wrote, with two texts that say nothing.
const EARLIER: &str = r#"
format = 1
state = "finished"
[load]
model = "open"
text = "constant 100/s; patience 10.00 s"
lanes = 3
[load.settings]
phase = "load"
rate = "100"
arrival-seed = "9223372036854775808"
in-flight = "64"
timeout = "1m 1s 500ms"
deadline = "soon"
workers = "2"
spin = "always"
time = "told"
asked_all = "true"
executed_hash = "00ff"
queued = "many"
held_back = "1-2,4-8;;3-3"
late_answers = "7"
lane_cpu_ns = "12"
planned_rate = "99.5"
rate_changes = "5@0.5,9@10"
tune = "runs/t"
tune_step = "2"
tune_purpose = "confirm"
[store]
name = "sick"
url = "sick:healthy"
[store.capabilities]
no_op = "true"
calls = "inline"
persistent = "false"
"#;

#[test]
fn texts_of_an_earlier_release_become_values() {
    let dir = tempdir("manifest-earlier");
    std::fs::write(place::manifest(&dir), EARLIER).unwrap();
    let manifest = Manifest::read(&dir).unwrap();
    let load = &manifest.load;
    assert_eq!((load.workers, load.text.as_str()), (3, "constant 100/s; timeout 10.00 s"));
    let tune = TuneStepSection { directory: "runs/t".into(), step: 2, purpose: "confirm".into() };
    let expected = LoadSettings {
        phase: LoadPhase::Load,
        rate: Some("100".to_owned()),
        arrival_seed: Some(1 << 63),
        in_flight: Some(64),
        timeout_ns: Some(61_500_000_000),
        blocking_threads: 2,
        spin: Spinning::Always,
        simulated_time: true,
        tune: Some(tune),
        ..LoadSettings::default()
    };
    assert_eq!(load.settings, expected);
    let expected = ExecutionSection {
        issued_all: true,
        executed_hash: Some("00ff".to_owned()),
        planned_rate: Some(99.5),
        held_back: vec![vec![(1, 2), (4, 8)], vec![], vec![(3, 3)]],
        late_answers: Some(7),
        worker_cpu_ns: Some(12),
        rate_changes: [(5, 0.5), (9, 10.0)]
            .map(|(at_ns, rate)| RateChangeSection { at_ns, rate })
            .into(),
        ..ExecutionSection::default()
    };
    assert_eq!(manifest.execution, expected);
    assert_eq!((manifest.store.name.as_str(), manifest.store.url.as_str()), ("sim", "sim:healthy"));
    let capabilities = &manifest.store.capabilities;
    assert_eq!((capabilities.no_op, capabilities.calls), (true, Some(CallForm::Inline)));
    manifest.write(&dir).unwrap();
    assert_eq!(Manifest::read(&dir).unwrap(), manifest);
}

#[test]
fn stretches_that_run_backwards_are_refused() {
    let dir = tempdir("manifest-stretches");
    std::fs::write(place::manifest(&dir), "format = 1\n[execution]\nheld_back = \"8-4\"\n")
        .unwrap();
    let error = Manifest::read(&dir).unwrap_err().to_string();
    assert!(error.contains("held_back is from-until"), "{error}");
}

//! Tests of load models: arrival processes, rates that run over time, clients that think.

use assay_model::Nanos;

use crate::place::Place;
use crate::run_dir::{
    assert_balanced, counted, figure, intended, manifest, number, records, requested, text,
};

const MS: u64 = 1_000_000;

const PROCESSES: [&str; 6] =
    ["poisson", "constant", "jitter:0.5", "mmpp2:10,5ms,20ms", "gamma:2", "lognormal:1.5"];

const SHAPES: [&str; 4] = [
    "20k/s",
    "10ms@5k,20ms@5k..40k,10ms@0,1s@10k",
    "spike:10k..40k,at=5ms,for=10ms",
    "sine:15k,amplitude=15k,period=20ms",
];

/// A spec whose clients issue three transactions each.
const CLIENTS: &str = "[dataset]\nrecords = 100\n[operations]\nread = 1\nread_modify_write = 1\n\
    [process]\ntransactions = 3\nthink = \"2ms\"\n";

#[test]
fn arrival_schedules_do_not_depend_on_the_number_of_workers() {
    let place = Place::new();
    for (number, process) in PROCESSES.iter().enumerate() {
        // Each process with one of the shapes: all pairs are tested below the command line.
        let shape = SHAPES[number % SHAPES.len()];
        let words = format!("run ycsb-c -t null: --seed 3 --operations 600 --rate {shape}");
        let [alone, seven] = [1, 7].map(|workers| {
            let run_dir = format!("{number}-{workers}");
            let more = format!("--arrivals {process} --threads {workers} --run-dir {run_dir} -q");
            place.fine(&format!("{words} {more}"));
            intended(&place.path(&run_dir))
        });
        assert_eq!(alone.len(), 600);
        assert!(alone.windows(2).all(|pair| pair[0] <= pair[1]), "{process} at {shape}");
        assert!(alone == seven, "{process} at {shape}: seven workers issue at other times");
    }
}

#[test]
fn stages_end_the_run_with_what_they_planned() {
    let place = Place::new();
    let words = "run ycsb-c -t null: --arrivals constant --run-dir b -q";
    let result = place.json(&format!("{words} --rate 200ms@1k,200ms@1k..3k,100ms@0"));
    assert_balanced(&result);
    assert_eq!(counted(&result, "offered"), 600);
    assert_eq!(figure(&result, "/load/rate_per_s"), 1200.0);
    let manifest = manifest(&place, "b");
    let window = manifest.phases.last().expect("it was measured");
    assert_eq!((window.from_ns, window.to_ns), (0, 500 * MS));
    assert_eq!(manifest.load.settings.rate.as_deref(), Some("200ms@1000,200ms@1000..3000,100ms@0"));
    assert_eq!(manifest.execution.planned_rate, Some(1200.0));
    let times = intended(&place.path("b"));
    let before = |ms: u64| times.iter().filter(|time| time.0 < ms * MS).count();
    // In the ramp the integral after x seconds is 1000x + 5000x².
    assert_eq!([100, 200, 300, 400, 500].map(before), [100, 200, 350, 600, 600]);
}

#[test]
fn a_length_that_is_given_beats_that_of_the_stages() {
    let place = Place::new();
    let words = "run ycsb-c -t null: --arrivals constant --rate 100ms@1k --format json -q";
    let offered = |more: &str| {
        number(&place.fine(&format!("{words} {more}")).json(), "/overall/counts/offered")
    };
    assert_eq!(offered("--run-dir a --duration 250ms"), 250);
    assert_eq!(offered("--run-dir b --operations 130"), 130);
    assert_eq!(offered("--run-dir c --warm-up 40ms"), 60);
}

#[test]
fn a_varying_rate_is_reached_if_its_arrivals_are() {
    let place = Place::new();
    // Long enough that a busy machine, which stops for tenths of a second, is no overload.
    for rate in ["3s@100..700", "spike:200..1k,at=1s,for=1s"] {
        let words = format!("run ycsb-c -t null: --rate {rate} --seed 5 -q");
        let run_dir = if rate.contains('@') { "stages" } else { "spike --duration 3s" };
        let result = place.json(&format!("{words} --run-dir {run_dir}"));
        assert_ne!(text(&result, "/verdict/name"), "overloaded", "{rate}");
        let (planned, offered) = ("/load/rate_per_s", "/overall/rates/offered_per_s");
        let (planned, offered) = (figure(&result, planned), figure(&result, offered));
        // 1,200 Poisson arrivals vary by 3 %.
        assert!((offered / planned - 1.0).abs() < 0.2, "{rate}: {offered} of {planned}");
    }
}

#[test]
fn the_load_is_reported_with_mean_and_variation_of_its_gaps() {
    let place = Place::new();
    let describe = |arrivals: &str, rate: &str, run_dir: &str| {
        let words = format!("run ycsb-c -t null: --operations 20 --rate {rate}");
        place.fine(&format!("{words} --arrivals {arrivals} --run-dir {run_dir} -q"));
        manifest(&place, run_dir).load.text
    };
    let found = describe("gamma:2", "10k", "a");
    let expected = "gamma:2 arrivals at 10000/s (gaps: mean 100.00 µs, cv 2), at most 4096 in";
    assert!(found.starts_with(expected), "{found}");
    let found = describe("jitter:0.5", "10k", "b");
    assert!(found.contains("(gaps: mean 100.00 µs, cv 0.204)"), "{found}");
    let found = describe("mmpp2:10,1s,9s", "1k", "c");
    assert!(found.contains("mmpp2:10,1s,9s arrivals at 1000/s (gaps: mean 1.00 ms, cv 1.568)"));
    let found = describe("poisson", "10ms@0..4k,1s@4k", "d");
    // Twenty arrivals need ten milliseconds on the ramp.
    assert!(found.contains("at 10ms@0..4000,1s@4000 (gaps: mean 500.00 µs over the run, cv 1)"));
}

#[test]
fn a_trace_with_a_schedule_is_replayed_as_it_is_written() {
    let place = Place::new();
    let shape = "--rate sine:20k,amplitude=10k,period=20ms --arrivals gamma:3";
    let same = "ycsb-a --records 50 --operations 400 --seed 9";
    place.fine(&format!("trace gen {same} {shape} -o t.parquet"));
    place.fine("trace info t.parquet").shows("schedule its own");
    place.fine(&format!("run {same} {shape} -t null: --run-dir direct -q"));
    let direct = intended(&place.path("direct"));
    for workers in [1, 3] {
        let words = format!("run t.parquet -t null: --arrivals trace --threads {workers}");
        place.fine(&format!("{words} --run-dir replay-{workers} -q"));
        assert!(intended(&place.path(&format!("replay-{workers}"))) == direct);
        place.fine(&format!("{words} --speed 2 --run-dir fast-{workers} -q"));
        let fast = intended(&place.path(&format!("fast-{workers}")));
        let off = |(fast, slow): (&Nanos, &Nanos)| (2 * fast.0).abs_diff(slow.0);
        assert!(fast.iter().zip(&direct).map(off).max() <= Some(1));
    }
    assert!(requested(&place.path("replay-3")) == requested(&place.path("direct")));
    let settings = manifest(&place, "fast-1").load.settings;
    assert_eq!((settings.arrivals.as_deref(), settings.speed), (Some("trace"), Some(2.0)));
}

#[test]
fn a_trace_keeps_its_pattern_at_another_rate() {
    let place = Place::new();
    let gaps = "--seed 1 --operations 101 --rate 1k --arrivals gamma:2";
    place.fine(&format!("trace gen ycsb-c {gaps} -o t.parquet"));
    place.fine("run t.parquet -t null: --arrivals trace --run-dir a -q");
    place.fine("run t.parquet -t null: --arrivals trace --rate 2k --run-dir b -q");
    let (written, found) = (intended(&place.path("a")), intended(&place.path("b")));
    // A hundred gaps at 2000/s.
    let (first, last) = (written[100].0 as f64, found[100].0 as f64);
    assert!((last - 50.0 * MS as f64).abs() <= 1.0, "{last}");
    for (slow, fast) in written.iter().zip(&found) {
        assert!((fast.0 as f64 - slow.0 as f64 * last / first).abs() <= 1.0);
    }
    place.fine("trace gen ycsb-c --seed 1 --operations 1 --rate 1k/s -o one.trace");
    for store in ["sim:healthy", "null:"] {
        let none = "a trace of one process has no gap between arrivals";
        place.refuses(&format!("run one.trace -t {store} --arrivals trace"), none);
    }
}

#[test]
fn clients_come_by_the_clock_but_think_between_their_transactions() {
    let place = Place::new();
    place.write("clients.toml", CLIENTS);
    let words = "run clients.toml -t null: --seed 2 --rate 2k --arrivals constant --operations 300";
    place.fine(&format!("{words} --run-dir b --threads 2 -q"));
    let records = records(&place.path("b"));
    let of = |process| records.iter().filter(move |record| record.process == process);
    for process in 0..100 {
        let mine: Vec<_> = of(process).collect();
        assert_eq!(mine[0].intended, Nanos(process * MS / 2));
        assert_eq!(mine.iter().map(|record| record.transaction).max(), Some(2));
        for pair in mine.windows(2) {
            let thinks = pair[0].transaction != pair[1].transaction;
            let think = Nanos(if thinks { 2 * MS } else { 0 });
            assert_eq!(pair[1].intended, pair[0].ended + think, "process {process}");
        }
    }
    assert_eq!(of(100).count(), 0);
}

#[test]
fn clients_issue_the_same_operations_as_lone_transactions() {
    let place = Place::new();
    place.write("clients.toml", CLIENTS);
    let hash = |more: &str, run_dir: &str| {
        let words = format!("run clients.toml -t null: --seed 2 --operations 300 {more} -q");
        let result = place.json(&format!("{words} --run-dir {run_dir}"));
        text(&result, "/run/trace_hash_executed").to_owned()
    };
    let open = hash("--rate 5k", "open");
    assert_eq!(open, hash("--closed 3 --threads 3", "closed"));
    let keys = |run_dir: &str| -> Vec<u64> {
        requested(&place.path(run_dir)).iter().map(|requested| requested.key).collect()
    };
    hash("--set process.transactions=1 --set process.think=0s", "lone");
    assert_eq!(keys("open"), keys("lone"));
    place.fine("trace gen clients.toml --seed 2 --operations 300 -o t.parquet").shows(&open);
    place.fine("trace export t.parquet -o t.csv");
    place.fine("trace import t.csv -o back.parquet").shows(&open);
}

const OPEN_ONLY: &str = "only an open loop does that; give --rate as well";

#[track_caller]
fn refused(place: &Place, words: &str, said: &str) {
    place.refuses(&format!("run ycsb-c -t null: --run-dir x {words}"), said);
    assert!(!place.path("x").exists(), "nothing was begun");
}

#[test]
fn texts_that_are_invalid_say_what_would() {
    let place = Place::new();
    let unmeasured =
        "--warm-up: the stages of the rate end after 1.00 s, so nothing would be measured";
    let endless =
        "--rate: nothing arrives after its end, so the run may never end; give --duration";
    for (words, said) in [
        ("--rate 30s@1k,2m", "--rate: \"2m\" is no stage; write 30s@1k for a level"),
        ("--rate 1k..20k", "--rate: a ramp needs its time: 2m@1k..20k"),
        ("--rate 10s@0", "--rate: stages at 0: the rate must be above 0"),
        ("--rate spike:1k..9k,at=3s", "--rate: for= is missing; write spike:1k..10k,at=30s,for=5s"),
        ("--rate sine:1k,amplitude=2k,period=1m", "--rate: an amplitude of 2000 takes a mean of"),
        ("--rate 1k --arrivals gamma", "--arrivals: gamma needs numbers; write gamma:2"),
        ("--rate 1k --arrivals jitter:7", "--arrivals: \"7\" is no share of a gap from 0 to 1"),
        ("--rate 1k --arrivals trace", "--arrivals: SPEC is no trace"),
        ("--rate 1k --speed 2", "--speed: --rate says already how fast"),
        ("--closed 2 --speed 2", "--speed: only a trace's own schedule can be replayed faster"),
        ("--rate 1s@1k --closed 2", "--rate is an open loop and --closed a closed"),
        ("--rate 1s@1k --warm-up 1s", unmeasured),
        ("--rate 1s@1k,1s@0 --operations 2000", endless),
        ("--operations 10 --arrivals gamma:2", OPEN_ONLY),
        ("--operations 10 --closed 4 --in-flight 3", OPEN_ONLY),
        ("--operations 10 --overflow drop", OPEN_ONLY),
    ] {
        refused(&place, words, said);
    }
}

#[test]
fn a_trace_without_a_schedule_has_none_to_replay() {
    let place = Place::new();
    place.fine("trace gen ycsb-c --operations 20 -o t.parquet");
    place.fine("trace info t.parquet").shows("schedule none");
    let none = "--arrivals: the trace has no schedule; `assay trace gen --rate` writes one";
    place.refuses("run t.parquet -t null: --arrivals trace", none);
    place.refuses("trace gen ycsb-c --arrivals gamma:2 -o u.parquet", "give --rate");
    let silent =
        "trace gen ycsb-c --operations 20 --arrivals constant --rate 10ms@1k,1s@0 -o u.parquet";
    place.refuses(silent, "only 10 of 20 processes come before it is 0 for ever");
}

#[test]
fn settings_that_are_invalid_are_found_before_the_data_is_loaded() {
    let place = Place::new();
    let wrong = "run ycsb-a -t sim: --rate 1k/s --closed 3 --run-dir b";
    place.refuses(wrong, "give one of them");
    assert!(!place.path("b").exists());
    place.fine("run ycsb-a -t sim: --rate 1k/s --operations 100 --run-dir b");
}

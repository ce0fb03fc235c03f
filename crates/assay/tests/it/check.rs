//! Verdicts on consistency: known faults of the simulated store, requirements, exit codes.

use serde_json::Value;

use crate::place::Place;
use crate::run_dir::{finding, number};

/// A run of a simulated store whose records have one field, so that writes replace them whole.
fn run(place: &Place, faults: &str, more: &str) {
    let words = "--set dataset.fields=1 --records 100 --operations 20000 --seed 7 --run-dir b -q";
    place.fine(&format!("run ycsb-a -t sim:?latency=1ms{faults} {words} {more}"));
}

/// The verdicts on such a run.
fn judge(place: &Place, faults: &str, more: &str) -> Value {
    place.clear("b");
    run(place, faults, more);
    place.json("check b")
}

pub fn violated(result: &Value) -> Vec<&str> {
    let findings = result["findings"].as_array().expect("there are findings").iter();
    let violated = findings.filter(|finding| finding["verdict"] == "violated");
    violated.map(|finding| finding["quality"].as_str().expect("a name")).collect()
}

#[test]
fn a_healthy_store_violates_nothing() {
    let place = Place::new();
    for sessions in ["--rate 2k/s", "--closed 4"] {
        let result = judge(&place, "", sessions);
        assert_eq!(violated(&result), [""; 0], "{result}");
        assert_eq!(finding(&result, "linearizable")["verdict"], "none-found");
        assert!(result["operations"].as_u64() >= Some(20_000), "{result}");
        assert_eq!(result["staleness"]["stale_reads"], 0);
    }
}

#[test]
fn stale_reads_are_as_many_as_the_store_planted() {
    let place = Place::new();
    let result = judge(&place, "&stale_cache=1%", "--rate 2k/s");
    assert_eq!(violated(&result), ["linearizable", "2-atomic"]);
    let stale = number(&result, "/staleness/stale_reads");
    assert!(stale > 50, "{stale}");
    place
        .fine("report b")
        .shows(&format!("answered from a stale cache {stale} reads"))
        .shows("INCONSISTENT: violations of linearizable");
    let witness = &finding(&result, "linearizable")["witnesses"][0];
    assert_eq!(witness["anomaly"], "stale-read");
    assert!(witness["operations"].as_array().is_some_and(|all| all.len() >= 2), "{witness}");
    let page = place.fine("report b --format html").out;
    assert!(page.contains("<section id=\"consistency\">"), "the page has the verdicts");
}

#[test]
fn each_planted_fault_shows_as_what_it_is() {
    let place = Place::new();
    for (fault, anomaly, quality) in [
        ("lost", "stale-read", "linearizable"),
        ("undone", "stale-read", "linearizable"),
        ("duplicate", "stale-read", "linearizable"),
        ("dirty", "read-of-a-refused-write", "no-garbage-reads"),
    ] {
        let result = judge(&place, &format!("&{fault}=1%"), "--rate 2k/s");
        assert_eq!(finding(&result, quality)["witnesses"][0]["anomaly"], anomaly, "{fault}");
        let has_garbage = violated(&result).contains(&"no-garbage-reads");
        assert_eq!(has_garbage, fault == "dirty", "{fault}");
    }
}

#[test]
fn reads_of_half_a_write_are_found_where_writes_are_whole() {
    let place = Place::new();
    for (fault, is_violated) in [("&torn=1%", true), ("", false)] {
        let words = "--set operations.write_fields=all --closed 4";
        let more = "--records 100 --operations 20000 --seed 7 --run-dir b -q";
        place.clear("b");
        place.fine(&format!("run ycsb-a -t sim:?latency=1ms{fault} {words} {more}"));
        let result = place.json("check b");
        let found = finding(&result, "read-atomic");
        assert_eq!(found["verdict"], if is_violated { "violated" } else { "none-found" });
        if is_violated {
            assert_eq!(violated(&result)[0], "read-atomic");
            let witness = &found["witnesses"][0];
            assert_eq!(witness["anomaly"], "fractured-read");
            assert_eq!(witness["operations"].as_array().map(Vec::len), Some(1), "{witness}");
            place.assay("check b --require read-atomic").code(6);
        }
    }
}

#[test]
fn sessions_that_wander_to_stale_replicas_break_their_guarantees() {
    let place = Place::new();
    let result = judge(&place, "&replication=50ms&read_from=any", "--closed 2");
    let violated = violated(&result);
    for quality in ["linearizable", "monotonic-reads", "read-your-writes"] {
        assert!(violated.contains(&quality), "{quality} is not among {violated:?}");
    }
    assert!(!violated.contains(&"no-garbage-reads"), "{violated:?}");
}

#[test]
fn a_required_quality_decides_the_exit_code() {
    let place = Place::new();
    run(&place, "&stale_cache=1%", "--rate 2k/s");
    place.fine("check b").shows("VIOLATED");
    place.fine("check b --require no-garbage-reads");
    place.assay("check b --require no-garbage-reads,linearizable").code(6);
    let near = "there is no quality \"linearisable\" (did you mean \"linearizable\"?)";
    place.refuses("check b --require linearisable", near);
    place.refuses("check b --require serializable", "b cannot show it");
    place.refuses("check nowhere", "nowhere is no run directory");
    place.refuses("check b --format csv", "text, json or md");
}

#[test]
fn a_short_silence_is_no_evidence() {
    let place = Place::new();
    let words = "--set dataset.fields=1 --records 100 --operations 300 --rate 2k/s -q";
    place.fine(&format!("run ycsb-a -t sim:?latency=1ms {words} --run-dir b"));
    place.fine("check b --require linearizable").says("this silence is no evidence");
    let required = place.assay("check b --require linearizable --require-hallmark").code(5);
    required.says("linearizable: this silence is no evidence: D3 under 1 000 opportunities");
    place.assay("check b --require-hallmark").code(5).says("D3");
    place.fine("check b").shows("Checks of the verdicts").shows("golden histories");
}

#[test]
fn writes_of_single_fields_are_judged_as_far_as_they_can_be() {
    let place = Place::new();
    let words = "--records 100 --operations 20000 --rate 2k/s --seed 7 -q";
    place.fine(&format!("run ycsb-a -t sim:?latency=1ms&stale_cache=2% {words} --run-dir b"));
    let result = place.json("check b");
    assert!(violated(&result).contains(&"linearizable"), "{result}");
    place.fine(&format!("run ycsb-a -t sim:?latency=1ms {words} --run-dir h"));
    let result = place.json("check h");
    assert_eq!(violated(&result), [""; 0]);
    assert_eq!(finding(&result, "linearizable")["reason"], "partial-writes");
}

#[test]
fn a_run_that_has_lost_records_is_not_judged() {
    let place = Place::new();
    run(&place, "&stale_cache=1%", "--rate 2k/s");
    let manifest = place.read("b/run.toml");
    let killed = manifest.lines().filter(|line| !line.starts_with("ended = "));
    let killed = killed.map(|line| line.replace("\"finished\"", "\"interrupted\"") + "\n");
    place.write("b/run.toml", killed.collect::<String>());
    let result = place.json("check b");
    assert_eq!(violated(&result), [""; 0]);
    assert_eq!(finding(&result, "linearizable")["reason"], "incomplete");
    place.refuses("check b --require linearizable", "cannot show it");
}

/// Two transactions that each read both records and write one: write skew.
const WRITE_SKEW: &str = r#"
{:type :invoke, :process 0, :time 0, :f :txn, :value [[:append :x 1] [:append :y 1]]}
{:type :ok, :process 0, :time 10, :f :txn, :value [[:append :x 1] [:append :y 1]]}
{:type :invoke, :process 1, :time 20, :f :txn, :value [[:r :x nil] [:append :y 2]]}
{:type :invoke, :process 2, :time 21, :f :txn, :value [[:r :y nil] [:append :x 2]]}
{:type :ok, :process 1, :time 30, :f :txn, :value [[:r :x [1]] [:append :y 2]]}
{:type :ok, :process 2, :time 31, :f :txn, :value [[:r :y [1]] [:append :x 2]]}
{:type :invoke, :process 0, :time 40, :f :txn, :value [[:r :x nil] [:r :y nil]]}
{:type :ok, :process 0, :time 50, :f :txn, :value [[:r :x [1 2]] [:r :y [1 2]]]}
"#;

#[test]
fn a_history_of_elle_is_judged_with_its_own_names() {
    let place = Place::new();
    place.write("skew.edn", WRITE_SKEW);
    let result = place.json("check skew.edn");
    for quality in ["repeatable-read", "serializable"] {
        assert!(violated(&result).contains(&quality), "{quality}: {result}");
    }
    assert_eq!(finding(&result, "snapshot-isolation")["verdict"], "none-found");
    let witness = &finding(&result, "serializable")["witnesses"][0];
    assert_eq!(witness["anomaly"], "G2-item");
    let text = witness["operations"][0]["text"].as_str().expect("a text");
    assert!(text.contains("read :") && text.contains("appended 2 to :"), "{text}");
    place.fine("check skew.edn --require snapshot-isolation");
    place.assay("check skew.edn --require serializable").code(6).shows("G2-item");
}

#[test]
fn a_stale_read_of_a_register_is_no_linearizable_one() {
    let place = Place::new();
    let line = |kind: &str, process: u32, f: &str, value: &str, time: u32| {
        format!("{{:type :{kind}, :process {process}, :f :{f}, :value {value}, :time {time}}}\n")
    };
    let history = [
        line("invoke", 0, "write", "1", 0) + &line("ok", 0, "write", "1", 10),
        line("invoke", 0, "write", "2", 20) + &line("ok", 0, "write", "2", 30),
        line("invoke", 1, "read", "nil", 40) + &line("ok", 1, "read", "1", 50),
    ];
    place.write("stale.edn", history.concat());
    let ran = place.assay("check stale.edn --require linearizable").code(6);
    ran.shows("linearizable: stale read").shows("read 1");
}

#[test]
fn a_run_that_needs_more_memory_than_there_may_be_is_judged_in_parts() {
    let place = Place::new();
    let store = "sim:?stale_cache=5%&undone=1%";
    place.fine(&format!("bench register -t {store} --rate 2k/s --duration 10s --final-reads -q"));
    let whole = place.json("check last");
    let parts = place.json("check last --memory 4MB");
    let sample = " % of the records, with all their operations";
    place.fine("check last --memory 100kB").shows(sample);
    assert_eq!(whole["operations"].as_u64().map(|count| count > 20_000), Some(true));
    assert_eq!(parts["record_share"], 1.0);
    assert!(parts["warnings"][0].as_str().is_some_and(|text| text.contains(" parts of the rec")));
    for name in ["operations", "left_out", "gamma_ns", "delta_ns", "staleness", "lost_writes"] {
        assert_eq!(parts[name], whole[name], "{name}");
    }
    let findings = whole["findings"].as_array().into_iter().flatten();
    let violated = findings.clone().filter(|one| one["verdict"] == "violated").count();
    assert!(violated > 2, "{violated} violated");
    for (place, finding) in findings.enumerate() {
        let of_parts = &parts["findings"][place];
        if finding["quality"] != "monotonic-writes" && finding["quality"] != "writes-follow-reads" {
            for name in ["quality", "verdict", "violations", "power", "version_order"] {
                assert_eq!(of_parts[name], finding[name], "{name} of {}", finding["quality"]);
            }
        }
    }
}

#[test]
fn a_history_that_needs_more_memory_than_there_may_be_is_refused() {
    let place = Place::new();
    let write = |index: u64| {
        let (process, value) = (index % 5, index);
        format!(
            "{{:type :invoke, :process {process}, :f :write, :value {value}}}\n\
             {{:type :ok, :process {process}, :f :write, :value {value}}}\n"
        )
    };
    place.write("long.edn", (0..60_000).map(write).collect::<String>());
    let ran = place.assay("check long.edn --memory 4MB").code(2);
    ran.says("long.edn: judging it needs about").says("4 MB may be used (--memory)");
    place.fine("check long.edn --memory 4GB");
    place.refuses("check long.edn --memory some", "it must be a size such as 500MB");
}

#[test]
fn what_is_wrong_with_a_foreign_history_is_said_with_its_place() {
    let place = Place::new();
    let orphan = "{:type :ok, :process 0, :time 1, :f :txn, :value [[:r :x [1]]]}\n";
    for (name, history, said) in [
        ("none.edn", "", "none.edn"),
        ("half.edn", "{:type :invoke, :process 0, :f :txn, :value [[:r :x nil]]", "line 1"),
        ("orphan.edn", orphan, "line 1"),
        ("text.txt", "hello, world\n", "text.txt"),
    ] {
        place.write(name, history);
        place.refuses(&format!("check {name}"), said);
    }
    let said = "--format: verdicts on consistency are shown as text, json or md";
    place.refuses("check absent --format csv", said);
}

/// Verdicts on a workload that is made to be judged.
fn bench(place: &Place, workload: &str, store: &str, more: &str) -> Value {
    place.clear("b");
    place.fine(&format!("bench {workload} -t {store} --seed 7 --run-dir b -q {more}"));
    place.json("check b")
}

#[test]
fn a_store_with_one_writer_at_a_time_is_serializable() {
    let place = Place::new();
    for workload in ["list-append", "long-fork", "write-skew", "lost-update"] {
        let words = "--operations 8000 --set dataset.keys=300";
        let result = bench(&place, workload, "sqlite:s.db", words);
        assert_eq!(violated(&result), [""; 0], "{workload}: {result}");
        let levels = ["serializable", "strict-serializable", "snapshot-isolation"];
        let of_updates = (workload == "lost-update").then_some("no-lost-updates");
        for quality in levels.into_iter().chain(of_updates) {
            let finding = finding(&result, quality);
            assert_eq!(finding["verdict"], "none-found", "{workload}: {quality}");
            assert!(number(finding, "/power/opportunities") > 100, "{workload}: {finding}");
        }
        place.remove("s.db");
    }
}

#[test]
fn sessions_that_roam_go_back_in_time_where_replicas_are_late() {
    let place = Place::new();
    let late = "sim:?latency=1ms&replication=20ms&nodes=3";
    assert_eq!(violated(&bench(&place, "register", late, "--operations 5000")), [""; 0]);
    let result = bench(&place, "session-roaming", late, "--operations 5000");
    for quality in ["linearizable", "monotonic-reads", "read-your-writes"] {
        assert!(violated(&result).contains(&quality), "{quality}: {result}");
    }
    place.refuses("bench session-roaming -t memory: -q", "its sessions cannot roam over nodes");
}

#[test]
#[cfg(feature = "etcd")]
fn the_order_of_versions_is_the_stores_own_where_it_tells_it() {
    let place = Place::new();
    place.fine("bench register --up etcd --install --duration 2s --floor 0s --run-dir b -q");
    let result = place.json("check b");
    let checks = result["checks"].as_array().expect("there are some");
    let order = checks.iter().find(|check| check["id"] == "D5").expect("there are seven");
    assert!(order["text"].to_string().contains("told-by-store (5)"), "{order}");
    assert_eq!(violated(&result), [""; 0]);
}

#[test]
fn an_exported_history_has_the_verdicts_of_its_run() {
    let place = Place::new();
    let stale = "sim:?latency=1ms&replication=20ms&read_from=any";
    let words = "--operations 5000 --set dataset.keys=2000";
    let result = bench(&place, "causal-chain", stale, words);
    assert!(violated(&result).contains(&"causal"), "{result}");
    for format in ["elle-edn", "elle-json"] {
        place.fine(&format!("history export b --as {format} -o out.txt"));
        let again = place.json("check out.txt");
        for quality in violated(&result) {
            let of = |result| finding(result, quality)["violations"].clone();
            assert_eq!(of(&again), of(&result), "{format}: {quality}");
        }
        assert_eq!(again["transactions"], result["transactions"], "{format}");
    }
    place.refuses("history export b --as elle", "elle-edn");
    place.remove("b/reads.parquet");
    place.refuses("history export b", "nobody could judge its operations");
}

#[test]
fn what_takes_several_requests_is_no_fault_of_the_store() {
    let place = Place::new();
    for (workload, quality, reason) in [
        ("list-append", "serializable", "several-requests"),
        ("counter", "linearizable", "several-requests"),
        ("bank", "constant-total", "no-transactions"),
    ] {
        let words = "--operations 1000 --set dataset.keys=40";
        let result = bench(&place, workload, "sim:?latency=1ms", words);
        assert_eq!(violated(&result), [""; 0], "{workload}");
        assert_eq!(finding(&result, quality)["reason"], reason, "{workload}");
        place.assay("check b --require-hallmark").code(5).says("nothing could be judged");
        place.assay("history export b").code(2);
    }
}

#[test]
fn accounts_and_counters_of_a_store_with_transactions_keep_their_sums() {
    let place = Place::new();
    for (workload, quality) in [("bank", "constant-total"), ("counter", "linearizable")] {
        let result = bench(&place, workload, "sqlite:s.db", "--operations 4000");
        assert_eq!(violated(&result), [""; 0]);
        let finding = finding(&result, quality);
        assert_eq!(finding["verdict"], "none-found", "{workload}");
        assert!(number(finding, "/power/opportunities") > 500, "{finding}");
        place.remove("s.db");
    }
}

#[test]
fn what_a_store_loses_of_a_set_is_stale_and_at_the_end_lost() {
    let place = Place::new();
    let words = "--operations 4000 --set dataset.keys=200";
    let result = bench(&place, "set", "sim:?latency=1ms", words);
    assert_eq!(violated(&result), [""; 0], "{result}");
    assert_eq!(finding(&result, "no-lost-writes")["verdict"], "none-found", "{result}");
    let result = bench(&place, "set", "sim:?latency=1ms&lost=2%", words);
    assert_eq!(violated(&result), ["no-lost-writes", "linearizable"], "{result}");
    assert_eq!(finding(&result, "linearizable")["witnesses"][0]["anomaly"], "stale-read");
    let planted = assay_history::count_faults(&place.path("b")).expect("it is whole");
    let planted = planted.expect("the store knows")["lost"];
    assert!(planted > 10, "{planted}");
    let lost = finding(&result, "no-lost-writes");
    assert_eq!(lost["violations"].as_u64(), Some(planted), "{lost}");
}

#[test]
fn without_final_reads_nobody_says_what_a_set_has_lost() {
    let place = Place::new();
    let words = "--operations 4000 --set dataset.keys=200 --run-dir b -q";
    let words = format!("bench set -t sim:?latency=1ms {words}");
    place.start_with(&words, |it| it.env("ASSAY_FINAL_READS", "false")).wait().code(0);
    let result = place.json("check b");
    assert_eq!(finding(&result, "no-lost-writes")["reason"], "no-final-reads");
}

#[test]
fn an_effect_that_is_seen_without_its_cause_breaks_causality() {
    let place = Place::new();
    let words = "--operations 20000 --set dataset.keys=6000";
    let result = bench(&place, "causal-chain", "sim:?latency=1ms", words);
    assert_eq!(violated(&result), [""; 0], "{result}");
    let stale = "sim:?latency=1ms&replication=20ms&read_from=any";
    let result = bench(&place, "causal-chain", stale, words);
    assert!(violated(&result).contains(&"causal"), "{result}");
}

#[test]
fn consbench_says_for_how_long_old_values_are_read() {
    let place = Place::new();
    let words = "--set dataset.tests=4 --set test.duration=8s --set test.staleness=1s";
    let result = bench(&place, "consbench", "sim:?replication=100ms&read_from=any", words);
    let oldest = number(&result, "/staleness/oldest_ns");
    assert!(number(&result, "/staleness/stale_reads") > 0 && oldest < 150_000_000, "{result}");
    assert!(violated(&result).contains(&"linearizable"), "{result}");
}

#[test]
fn a_store_that_was_used_before_is_not_judged_by_its_lists() {
    let place = Place::new();
    let words = "list-append -t sqlite:s.db --set dataset.keys=50 -q";
    place.fine(&format!("load {words}"));
    for name in ["first", "second"] {
        place.fine(&format!("run {words} --operations 500 --run-dir {name}"));
    }
    let result = place.json("check second");
    assert_eq!(finding(&result, "serializable")["reason"], "used-before");
    place.assay("check second --require-hallmark").code(5);
}

#[test]
fn a_run_whose_values_are_damaged_is_not_judged() {
    let place = Place::new();
    bench(&place, "list-append", "sqlite:s.db", "--operations 500 --set dataset.keys=50");
    place.flip("b/reads.parquet");
    let result = place.json("check b");
    assert_eq!(finding(&result, "serializable")["reason"], "incomplete");
    place.assay("check b --require-hallmark").code(5).says("D7");
    let warning = result["warnings"][0].as_str().expect("it says why");
    assert!(warning.contains("reads.parquet"), "{warning}");
}

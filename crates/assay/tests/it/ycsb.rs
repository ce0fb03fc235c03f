//! YCSB's own command line on YCSB's own layout.

use std::collections::BTreeMap;

use crate::place::{Place, Ran};
use crate::redis_server::Server;
use crate::run_dir::number;

const WORKLOAD: &str = "recordcount=200\noperationcount=1000\n\
    workload=site.ycsb.workloads.CoreWorkload\nreadallfields=true\nreadproportion=0.5\n\
    updateproportion=0.5\nscanproportion=0\ninsertproportion=0\nrequestdistribution=zipfian\n";

fn place() -> Place {
    let place = Place::new();
    place.write("workloada", WORKLOAD);
    place
}

/// A Redis, with a workload and the words that name both.
fn redis() -> (Server, Place, String) {
    let server = Server::start(&[]);
    let host = format!("-p redis.host=127.0.0.1 -p redis.port={}", server.port);
    (server, place(), format!("redis -P workloada {host}"))
}

/// The lines of YCSB's text block: `[SECTION], name, value`.
fn block(ran: &Ran) -> BTreeMap<(String, String), String> {
    let triples = ran.out.lines().filter_map(|line| {
        let mut parts = line.splitn(3, ", ");
        Some((parts.next()?, parts.next()?, parts.next()?))
    });
    let own = |text: &str| text.to_owned();
    triples.map(|(section, name, value)| ((own(section), own(name)), own(value))).collect()
}

fn value<'a>(block: &'a BTreeMap<(String, String), String>, section: &str, name: &str) -> &'a str {
    let found = block.get(&(section.to_owned(), name.to_owned()));
    found.unwrap_or_else(|| panic!("no {section}, {name}: {block:#?}"))
}

fn count(block: &BTreeMap<(String, String), String>, section: &str, name: &str) -> u64 {
    value(block, section, name).parse().expect("a count is a number")
}

#[test]
fn every_read_of_data_with_integrity_is_verified() {
    let (_server, place, words) = redis();
    let words = format!("{words} -p dataintegrity=true -threads 4");
    let loaded = block(&place.fine(&format!("ycsb load {words}")));
    assert_eq!(count(&loaded, "[INSERT]", "Operations"), 200);
    assert_eq!(count(&loaded, "[INSERT]", "Return=OK"), 200);
    let ran = block(&place.fine(&format!("ycsb run {words}")));
    let reads = count(&ran, "[READ]", "Operations");
    assert_eq!(reads + count(&ran, "[UPDATE]", "Operations"), 1000);
    assert_eq!(count(&ran, "[VERIFY]", "Return=OK"), reads);
    assert!(!ran.contains_key(&("[VERIFY]".to_owned(), "Return=UNEXPECTED_STATE".to_owned())));
    for name in ["AverageLatency(us)", "99thPercentileLatency(us)", "MaxLatency(us)"] {
        assert!(value(&ran, "[READ]", name).parse::<f64>().unwrap() > 0.0, "{name}");
    }
    assert!(value(&ran, "[OVERALL]", "Throughput(ops/sec)").parse::<f64>().unwrap() > 0.0);
}

#[test]
fn a_changed_value_fails_the_verification() {
    let (server, place, words) = redis();
    let words = format!(
        "{words} -p dataintegrity=true -p recordcount=1 -p readproportion=1 -p updateproportion=0 \
         -p operationcount=10"
    );
    place.fine(&format!("ycsb load {words}"));
    let before = block(&place.fine(&format!("ycsb run {words}")));
    assert_eq!(count(&before, "[VERIFY]", "Return=OK"), 10);
    assert_eq!(server.cli("hset user6284781860667377211 field3 wrong"), "0");
    let after = block(&place.assay(&format!("ycsb run {words}")));
    assert_eq!(count(&after, "[VERIFY]", "Return=UNEXPECTED_STATE"), 10);
}

#[test]
fn a_target_paces_the_threads_and_prints_status_lines() {
    let (_server, place, words) = redis();
    place.fine(&format!("ycsb load {words} -threads 2"));
    let words = format!("{words} -threads 2 -p operationcount=600 -p status.interval=1");
    let ran = place.fine(&format!("ycsb run {words} -target 400 -s"));
    let runtime = count(&block(&ran), "[OVERALL]", "RunTime(ms)");
    assert!((1300..3000).contains(&runtime), "{runtime} ms for 600 at 400/s");
    let status: Vec<&str> = ran.err.lines().filter(|line| line.contains(" operations; ")).collect();
    assert!(status.len() >= 3, "{}", ran.err);
    assert!(status[1].contains("current ops/sec"), "{}", status[1]);
    assert!(status.last().unwrap().contains("600 operations"), "{}", ran.err);
    assert!(!ran.out.contains("current ops/sec"), "status lines are no result");
}

/// YCSB's own value of a field whose content can be foretold.
fn foretold(key: &str, field: &str, size: usize) -> String {
    let hash = |text: &str| {
        text.bytes().fold(0_i32, |hash, byte| hash.wrapping_mul(31).wrapping_add(byte.into()))
    };
    let mut value = format!("{key}:{field}");
    while value.len() < size {
        value.push(':');
        value += &hash(&value).to_string();
    }
    value.truncate(size);
    value
}

/// Writes a record as YCSB's binding for Redis does: a hash, and its key in a sorted set.
fn write_as_ycsb_does(server: &Server, key: &str, score: f64) {
    let fields: Vec<String> = (0..10)
        .map(|number| format!("field{number}"))
        .map(|field| format!("{field} {}", foretold(key, &field, 100)))
        .collect();
    assert_eq!(server.cli(&format!("hset {key} {}", fields.join(" "))), "10");
    assert_eq!(server.cli(&format!("zadd _indices {score} {key}")), "1");
}

#[test]
fn records_that_ycsb_wrote_are_read_by_us() {
    let (server, place, words) = redis();
    // The key of YCSB's first record: `user` with the hash of 0.
    write_as_ycsb_does(&server, "user6284781860667377211", 1.5e9);
    let words = format!(
        "ycsb run {words} -p recordcount=1 -p dataintegrity=true -p updateproportion=0 \
         -p operationcount=20"
    );
    let ran = block(&place.fine(&format!("{words} -p readproportion=1")));
    assert_eq!(count(&ran, "[READ]", "Return=OK"), 20);
    assert_eq!(count(&ran, "[VERIFY]", "Return=OK"), 20);
    let scan = format!("{words} -p readproportion=0 -p scanproportion=1");
    assert_eq!(count(&block(&place.fine(&scan)), "[SCAN]", "Return=OK"), 20);
    let words = "run workloada -p recordcount=1 -p updateproportion=0 --operations 20 -q -t";
    let result = place.json(&format!("{words} {}", server.url("")));
    assert_eq!(number(&result, "/kinds/read/counts/hits"), 20);
}

#[test]
fn records_that_we_wrote_lie_where_ycsb_looks() {
    let (server, place, words) = redis();
    place.fine(&format!("ycsb load {words} -p recordcount=3 -p dataintegrity=true"));
    let key = "user6284781860667377211";
    assert_eq!(server.cli(&format!("type {key}")), "hash");
    assert_eq!(server.cli(&format!("hlen {key}")), "10");
    assert_eq!(server.cli(&format!("hget {key} field7")), foretold(key, "field7", 100));
    assert_eq!(server.cli("zcard _indices"), "3");
    assert_ne!(server.cli(&format!("zscore _indices {key}")), "");
}

#[test]
fn what_ycsb_does_not_know_and_too_many_threads_are_warnings_there() {
    let place = place();
    let words = "ycsb run basic -P workloada -p basicdb.verbose=false -p readpropotion=1";
    place.fine(words).says("readpropotion").says("warning");
    let ran = place.fine("ycsb run basic -P workloada -p operationcount=3 -threads 5");
    ran.shows("Warning: the threadcount is bigger than recordcount");
}

#[test]
fn every_metric_has_its_log_of_histograms() {
    let place = place();
    let words = "ycsb run basic -P workloada -p hdrhistogram.fileoutput=true \
                 -p hdrhistogram.output.path=logs/run- -p measurement.interval=both";
    std::fs::create_dir(place.path("logs")).expect("there is room");
    place.fine(words).says("each file has one interval");
    let names = place.list("logs");
    let all = ["Intended-READ", "Intended-UPDATE", "READ", "UPDATE"];
    assert_eq!(names, all.map(|name| format!("run-{name}.hdr")));
    let log = place.read("logs/run-READ.hdr");
    assert!(log.contains("#[Logging for: READ]\n"), "{log}");
    // Beside the legend there is one line: begin, length, maximum, histogram.
    let lines: Vec<&str> = log.lines().filter(|line| !line.starts_with('#')).collect();
    assert!(lines.len() == 2 && lines[1].split(',').count() == 4, "{log}");
}

#[test]
fn a_binding_that_is_none_of_ours_is_named() {
    let place = place();
    let near = "there is no binding mongod; did you mean mongodb?";
    place.refuses("ycsb run mongod -P workloada", near);
    place.refuses("ycsb run basic -P none", "cannot read none");
    place.refuses("ycsb fly basic -P workloada", "fly: it must be load or run");
    place.refuses("ycsb run basic -P workloada -verbose", "unknown option -verbose");
    place.refuses("ycsb run basic -P workloada -threads", "-threads needs a value");
    place.fine("ycsb").shows("usage: assay ycsb load|run BINDING");
}

#[test]
fn a_run_on_a_truncated_load_gets_a_warning() {
    let place = place();
    let words = "fjall -p assay.url=fjall:s -P workloada -p recordcount=30000000";
    let ran = place.fine(&format!("ycsb load {words} -p maxexecutiontime=1 -target 3000"));
    ran.says("warning: not all of the 30000000 records are in");
    let ran = place.fine(&format!("ycsb run {words} -p operationcount=10"));
    ran.says("warning: the load of fjall:s did not come to its end");
}

#[test]
fn a_store_holds_the_records_of_ycsb_alone() {
    let (server, place, words) = redis();
    place.fine(&format!("ycsb load {words}"));
    // Beside the records there is the index of YCSB's binding.
    assert_eq!(server.cli("dbsize"), "201");
    assert_eq!(server.cli("exists _assay:data-set"), "0");
    let ran = place.fine(&format!("ycsb run {words} -p fieldcount=3"));
    ran.says("warning: dataset.fields is 3 here, but the store was loaded with 10");
}

#[test]
fn a_missing_record_is_an_error_of_the_redis_binding() {
    let (_server, place, words) = redis();
    let words = format!("ycsb run {words} -p updateproportion=0 -p readproportion=1");
    let ran = block(&place.fine(&words));
    assert_eq!(count(&ran, "[READ]", "Operations"), 0);
    assert_eq!(count(&ran, "[READ]", "Return=ERROR"), 1000);
    assert_eq!(count(&ran, "[READ-FAILED]", "Operations"), 1000);
    assert!(!ran.keys().any(|(section, _)| section == "[CLEANUP]"), "{ran:#?}");
    let ran = block(&place.fine(&format!("{words} -p reportlatencyforeacherror=true")));
    assert_eq!(count(&ran, "[READ-ERROR]", "Operations"), 1000);
}

#[test]
fn a_server_that_is_away_is_no_success_and_its_password_is_not_shown() {
    let words = "ycsb run redis -P workloada -p redis.host=127.0.0.1 -p redis.port=1 \
                 -p redis.password=s3cret";
    let ran = place().assay(words).code(4).says("Command line: run redis -P workloada");
    let ran = ran.says("127.0.0.1:1");
    assert!(!ran.err.contains("s3cret") && !ran.out.contains("s3cret"), "{}", ran.err);
}

#[test]
fn each_measurement_type_is_printed_as_ycsb_prints_it() {
    let place = place();
    let run = |more: &str| place.fine(&format!("ycsb run basic -P workloada {more}"));
    let raw = run("-p measurementtype=raw");
    let reads = raw.out.lines().filter(|line| line.starts_with("READ,")).count();
    assert_eq!(reads as u64, count(&block(&raw), "[READ]", "Total Operations"));
    let raw = raw.shows("Raw data measurement: will output to stdout.");
    raw.shows("READ latency raw data: op, timestamp(ms), latency(us)");
    let raw = run("-p measurementtype=raw -p measurement.raw.output_file=raw.txt");
    raw.shows("Raw data measurement: will output to result file: raw.txt");
    assert_eq!(place.read("raw.txt").lines().count(), 1000 + 2, "with two lines of headings");
    let series = run("-p measurementtype=timeseries");
    assert!(block(&series).contains_key(&("[READ]".to_owned(), "0".to_owned())), "{}", series.out);
    let buckets = run("-p measurementtype=histogram -p measurement.histogram.verbose=true");
    let buckets = block(&buckets);
    assert!(value(&buckets, "[READ]", "LatencyVariance(us)").parse::<f64>().is_ok());
    assert_eq!(value(&buckets, "[READ]", ">1000"), "0");
    run("-p measurementtype=hdrhistogram+histogram").shows("[HdrREAD], Return=OK, ");
}

#[test]
fn the_newer_version_prints_what_it_has_more() {
    let place = place();
    let words = "-P workloada -p assay.url=fjall:s -p recordcount=100";
    place.fine(&format!("ycsb load fjall {words}"));
    let words = format!(
        "ycsb run fjall {words} -p readproportion=0 -p updateproportion=0 -p scanproportion=1 \
         -p insertproportion=0 -p operationcount=50 -p maxscanlength=5"
    );
    let old = block(&place.fine(&words));
    assert!(!old.contains_key(&("[SCAN]".to_owned(), "50thPercentileLatency(us)".to_owned())));
    let new = place.fine(&format!("{words} -p assay.ycsb=0.18")).says("YCSB Client 0.18.0");
    let new = block(&new);
    assert!(count(&new, "[SCAN]", "50thPercentileLatency(us)") > 0);
    assert_eq!(count(&new, "[SCAN-LATENCY-PER-RECORD]", "Operations"), 50);
}

#[test]
fn options_behind_load_or_run_take_precedence() {
    let place = place();
    let ran = place.fine("ycsb run basic -P workloada -p dotransactions=false");
    assert_eq!(count(&block(&ran), "[INSERT]", "Operations"), 200);
    let ran = place.fine("ycsb load basic -P workloada -p dotransactions=false -t");
    assert!(block(&ran).contains_key(&("[READ]".to_owned(), "Operations".to_owned())));
}

#[test]
fn a_load_without_insertcount_inserts_recordcount_records() {
    let place = place();
    let inserts = |more: &str| {
        let ran = place.fine(&format!("ycsb load basic -P workloada -p insertstart=50 {more}"));
        count(&block(&ran), "[INSERT]", "Operations")
    };
    assert_eq!(inserts(""), 200);
    assert_eq!(inserts("-p insertcount=30"), 30);
    assert_eq!(inserts("-p insertcount=30 -p recordcount=0"), 30);
}

#[test]
fn where_the_result_cannot_go_is_reported_before_the_run() {
    let place = place();
    for (property, said) in [
        (
            "exportfile=none/x.txt",
            "exportfile: cannot write none/x.txt: there is no directory none",
        ),
        ("exporter=foo.Bar", "there is no exporter foo.Bar; there are TextMeasurementsExporter"),
    ] {
        place.refuses(&format!("ycsb run basic -P workloada -p {property}"), said);
    }
    assert_eq!(place.list("runs"), Vec::<String>::new());
}

#[test]
fn the_same_seed_issues_the_same_operations_under_both_command_lines() {
    let place = place();
    let hash = |name: &str| {
        let result = place.json(&format!("report {name}"));
        crate::run_dir::text(&result, "/run/trace_hash_executed").to_owned()
    };
    place.fine("ycsb run basic -P workloada -p assay.seed=9 -threads 3");
    let ours = hash("last");
    place.fine("run workloada -t null: --seed 9 --closed 2 --run-dir b -q");
    assert_eq!(hash("b"), ours);
}

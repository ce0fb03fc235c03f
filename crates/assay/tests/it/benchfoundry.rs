//! BenchFoundry's files: imported, loaded, run, exported, reported as its result log.

use assay_history::State;

use crate::place::Place;
use crate::run_dir::{assert_sealed, manifest};

/// A set of two customers; one is loaded, one is inserted in the experiment.
fn set(place: &Place) {
    let properties = "schemaFilename:schema\noplistFilename:ops\nparamFilename:params\n\
                      preloadTraceFilename:load\nwarmupTraceFilename:none\n\
                      experimentTraceFilename:run\nresultDir:results\n";
    let schema =
        "1:CREATE TABLE customer (id INT PRIMARY KEY, name VARCHAR(40), since TIMESTAMP);\n";
    let operations = "7:INSERT INTO customer (id, name, since) VALUES (?, ?, ?)\n\
                      8:SELECT name, since FROM customer WHERE id = ?\n";
    // Names without quotes, as consbench writes them; a colon and a quote.
    let parameters = "1:1;12;2020-02-29 23:59:58\n2:2;'O''Neill: first';2021-01-01\n3:1\n4:2\n";
    let load = "BOP;0;0\nBOT;0\n7;1\nEOT\nEOP\n";
    let run = "BOP;0;10\nBOT;0\n8;3\n7;2\nEOT\nBOT;30\n8;4\nEOT\nEOP\n\
               BOP;90;11\nBOT;0\n7;2\n8;4\nEOT\nEOP\n";
    place.write("set.properties", properties).write("schema", schema).write("ops", operations);
    place.write("params", parameters).write("load", load).write("run", run);
}

#[test]
fn a_set_is_imported_loaded_run_and_reported_as_a_result_log() {
    let place = Place::new();
    set(&place);
    let reported = place.fine("trace import benchfoundry set.properties -o a.trace");
    let reported = reported.shows("a.load.trace: load of 1 operations in 1 processes");
    reported
        .shows("a.trace: measure of 7 operations in 2 processes")
        .shows("params:1: a second colon: BenchFoundry itself cuts the line there");
    place.fine("trace stat a.trace").shows("query 8 3").shows("transactions queries 8, 7 1");
    place.fine("load a.trace -t sqlite:shop.db --run-dir loaded -q");
    assert_sealed(&place, "loaded", State::Finished);
    place.fine("run a.trace -t sqlite:shop.db --run-dir b -q");
    assert_eq!(manifest(&place, "b").history.queries, ["7", "8"]);
    let log = place.fine("report b --format benchfoundry").out;
    let ends: Vec<String> = log
        .lines()
        .map(|line| {
            let words: Vec<&str> = line.split(';').collect();
            let [process, transaction, operation, query, start, end, result, "[]"] = words[..]
            else {
                panic!("{line} has not eight parts")
            };
            let times = [start, end].map(|time| time.parse::<u64>().expect("a time is a number"));
            assert!(times[0] <= times[1] && times[1] < 30_000, "{line}");
            format!("{process};{transaction};{operation};{query} {result}")
        })
        .collect();
    // The second customer comes twice: what fails has its line, and so has what it took along.
    let expected = [
        "0;0;0;8 SUCCESSFUL",
        "0;0;1;7 SUCCESSFUL",
        "0;1;0;8 SUCCESSFUL",
        "1;0;0;7 FAILED",
        "1;0;1;8 DROPPED",
        "1;0;2;-1 DROPPED",
    ];
    assert_eq!(ends, expected);
}

#[test]
fn an_input_set_without_a_preload_runs_on_empty_relations() {
    let place = Place::new();
    set(&place);
    let properties = place.read("set.properties");
    place.write("set.properties", properties.replace(":load\n", ":none\n"));
    place.write("run", "BOP;0;10\nBOT;0\n7;1\nEOT\nEOP\nBOP;5;11\nBOT;0\n7;2\nEOT\nEOP\n");
    place.fine("trace import benchfoundry set.properties -o a.trace");
    place.fine("bench a.trace -t sqlite:shop.db --run-dir b -q");
    let log = place.fine("report b --format benchfoundry").out;
    assert_eq!(log.lines().filter(|line| line.contains("SUCCESSFUL")).count(), 2, "{log}");
}

#[test]
fn an_input_set_is_read_back_as_it_was_written() {
    let place = Place::new();
    set(&place);
    let hashes = |reported: String| -> Vec<String> {
        reported.lines().filter(|line| line.starts_with("hash")).map(str::to_owned).collect()
    };
    let first = place.fine("trace import benchfoundry . -o a.trace").out;
    place.fine("trace export benchfoundry a.trace -o out").shows("4 lists of parameters");
    let again = place.fine("trace import benchfoundry out -o b.trace").out;
    assert_eq!(hashes(again), hashes(first));
    let written = place.read("out/parameters.txt");
    let second = "3:2;'O''Neill: first';DATE '2021-01-01'";
    assert!(written.lines().any(|line| line == second), "{written}");
    assert!(place.read("out/benchmark.properties").contains("warmupTraceFilename:none\n"));
    let first = place.fine("trace export a.trace").out;
    place.write("a.csv", first);
    let reported = place.fine("trace import a.csv -o c.trace").out;
    let hash = |name: &str| {
        place.fine(&format!("trace info {name}")).out.lines().next().map(str::to_owned)
    };
    assert!(reported.contains("7 operations"), "{reported}");
    assert_eq!(hash("c.trace"), hash("a.trace"));
}

#[test]
fn what_is_wrong_with_a_set_is_said_with_its_line() {
    let place = Place::new();
    set(&place);
    place.write("run", "BOP;0;10\nBOT;0\n8;1\nEOT\nEOP\n");
    let import = "trace import benchfoundry set.properties -o a.trace";
    place.refuses(import, "run:3: operation 8 takes 1 parameters, parameters 1 have 3");
    place.write("run", "BOP;0;10\nBOT;0\n8;3\n");
    place.refuses(import, "run:3: the file is cut inside process 10 of line 1");
    place.write("run", "BOP;0;10\nBOT;0\n8;3\nEOT\nEOP\n");
    place.write("params", "1:1;x;yesterday\n3:one\n");
    place.refuses(import, "params:1: value 3 for operation 7: yesterday is no moment");
    place.write("ops", "7:INSERT INTO customer (id) VALUES (?)\n8:SELECT nme FROM customer\n");
    place.refuses(import, "nme");
    assert_eq!(place.list(".").iter().filter(|name| name.ends_with(".trace")).count(), 0);
    place.assay("trace import benchfondry set.properties -o a.trace").code(2);
    place.fine("trace gen ycsb-c -o y.trace --operations 10 --seed 1");
    place.refuses("trace export benchfoundry y.trace -o out", "has records by key");
    place.fine("bench ycsb-c -t memory: --operations 100 --run-dir y --seed 1 -q");
    place.refuses("report y --format benchfoundry", "has records by key");
}

//! Drivers in programs of their own.
//!
//! They are in Python, which must be on the machine.

use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

use crate::place::{Place, Ran, wait_until};

const PACKAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../python/assay_driver");

/// A directory with the Python package and its examples.
fn place() -> Place {
    let place = Place::new();
    let python = place.program("python3").arg("--version").output();
    assert!(
        python.is_ok_and(|output| output.status.success()),
        "these tests need python3: install it (apt install python3)"
    );
    for name in ["assay_driver.py", "sqlite_driver.py", "dict_driver.py"] {
        let source = std::fs::read(format!("{PACKAGE}/{name}")).expect("the package is there");
        place.write(name, source);
        make_executable(&place, name);
    }
    place
}

fn make_executable(place: &Place, name: &str) {
    let mode = PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(place.path(name), mode).expect("the file is ours");
}

/// A driver whose text is `body`, behind the usual imports.
fn driver(place: &Place, name: &str, body: &str) {
    let text = format!(
        "#!/usr/bin/env python3\nimport json, os, sys, time\nfrom assay_driver import *\n{body}\n"
    );
    place.write(name, text);
    make_executable(place, name);
}

/// A driver of raw lines that does `before`, in Python, before it answers request `count`.
fn raw(place: &Place, name: &str, before: &str) {
    let body = format!(
        r#"
def say(value):
    sys.stdout.write(json.dumps(value) + "\n"); sys.stdout.flush()
records = {{}}
sys.stdin.readline()
say({{"assay": 1, "name": "raw", "operations": ["read", "insert", "update"], "in_flight": 8,
     "persistent": False}})
count = 0
for line in sys.stdin:
    r = json.loads(line)
    if r["op"] in ("prepare", "clear", "flush"):
        say({{"id": r["id"], "outcome": "done"}})
        continue
    count += r["op"] != "insert"
    {before}
    say({{"id": r["id"], "outcome": "missing" if r["op"] == "read" else "done"}})
"#
    );
    driver(place, name, &body);
}

fn check(place: &Place, words: &str) -> Ran {
    place.assay(&format!("stores check {words} --replace"))
}

fn bench(place: &Place, url: &str, more: &str) -> Ran {
    let words = format!(
        "run ycsb-a -t {url} --set dataset.records=50 --threads 1 --no-config --run-dir runs/r \
         {more}"
    );
    place.assay(&words)
}

#[test]
fn a_driver_that_breaks_a_rule_is_found_out_and_another_keeps_every_rule() {
    let place = place();
    let ran = check(&place, "exec:./sqlite_driver.py?p.path=a.db").code(0);
    ran.shows("a scan goes in the order of the keys' bytes held").shows("0 violated");
    check(&place, "exec:./dict_driver.py --format json").code(3).shows("\"violated\"");
    check(&place, "exec:./dict_driver.py")
        .code(3)
        .shows("one client sees what was acknowledged to another VIOLATED")
        .shows("--threads 1");
}

#[test]
fn a_store_behind_a_driver_is_loaded_measured_and_checked() {
    let place = place();
    let target = "-t exec:./sqlite_driver.py?p.path=a.db&in_flight=16";
    place.fine(&format!("load ycsb-e {target} --set dataset.records=200 --threads 2 --no-config"));
    let json = place.json(&format!(
        "run ycsb-e {target} --set dataset.records=200 --operations 400 --closed 8 --threads 2 \
         --no-config"
    ));
    assert_eq!(json["store"]["name"], "sqlite-python", "{json:#}");
    assert!(json.to_string().contains("a commit survives kill -9"), "{json:#}");
}

#[test]
fn a_program_that_cannot_be_started_is_an_error_that_says_what_to_do() {
    let place = place();
    check(&place, "exec:./none.py").code(2).says("there is no such file");
    check(&place, "exec:no-such-program-of-ours").code(2).says("no directory of PATH has it");
    place.write("plain.py", "print(1)");
    check(&place, "exec:./plain.py").code(2).says("chmod +x").says("exec:python3?arg=FILE");
    check(&place, "exec:").code(2).says("it names no program");
}

#[test]
fn a_driver_without_a_hello_is_given_up() {
    let place = place();
    driver(&place, "mute.py", "time.sleep(60)");
    let begun = Instant::now();
    let ran = check(&place, "exec:./mute.py?hello_timeout=300").code(4);
    ran.says("wrote no line within 300 ms").says("hello_timeout=MS");
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
    driver(&place, "broken.py", "raise SystemError('no such database')");
    let ran = check(&place, "exec:./broken.py").code(4);
    ran.says("ended (exit status: 1)").says("SystemError: no such database");
    driver(&place, "chatty.py", "print('Hello!', flush=True)\nsys.stdin.read()");
    let ran = check(&place, "exec:./chatty.py").code(1);
    ran.says("wrote the line \"Hello!\"").says("its first line is no hello");
}

#[test]
fn a_driver_may_refuse_to_begin() {
    let place = place();
    let body = "
class Away(Driver):
    name = 'away'
    def open(self, options, worker):
        raise Refused('unreachable', 'no server at ' + options['host'])
serve(Away)";
    driver(&place, "away.py", body);
    let ran = check(&place, "exec:./away.py?p.host=h:1").code(4);
    ran.says("no server at h:1 (the driver, unreachable)");
}

#[test]
fn a_driver_that_ends_is_started_again_and_its_requests_are_unknown() {
    let place = place();
    let dies = "if count == 30 and not os.path.exists('died'):
        open('died', 'w'); sys.stderr.write('out of luck'); sys.exit(7)";
    raw(&place, "mortal.py", dies);
    let ran = bench(&place, "exec:./mortal.py", "--operations 2000 --rate 2000").code(0);
    let ended =
        "the driver of worker 0 ended (exit status: 7); its standard error ends with: out of";
    ran.shows(ended).shows("unknown connection-lost");
}

#[test]
fn a_line_that_is_no_answer_is_shown() {
    let place = place();
    raw(&place, "garbled.py", "if count == 10: print('debug: here I am', flush=True)");
    bench(&place, "exec:./garbled.py", "--operations 500 --rate 2000")
        .code(0)
        .shows("wrote the line \"debug: here I am\": it is no answer")
        .shows("unknown garbled");
}

#[test]
fn no_driver_outlives_a_run_that_was_killed() {
    let place = place();
    let body = "
class Counted(Driver):
    name, persistent = 'counted', False
    def open(self, options, worker):
        open('pid%d' % os.getpid(), 'w')
    def prepare(self, tables, records): pass
    def clear(self): pass
    def read(self, table, key, fields): return None
    def update(self, table, key, values): pass
    def insert(self, table, key, values): pass
serve(Counted)";
    driver(&place, "counted.py", body);
    let words = "run ycsb-a -t exec:./counted.py --set dataset.records=50 --duration 60s \
                 --rate 100 --threads 2 --no-config";
    let mut running = place.start(words);
    let pids = || -> Vec<u32> {
        let names = place.list(".");
        names.iter().filter_map(|name| name.strip_prefix("pid")?.parse().ok()).collect()
    };
    wait_until("drivers came up", || pids().len() >= 2);
    running.kill();
    let is_gone = |pid: &u32| {
        let status = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        status.is_empty() || status.contains(") Z ")
    };
    wait_until("no driver outlives the run", || pids().iter().all(is_gone));
}

#[test]
fn a_driver_that_hangs_times_out_and_is_started_again() {
    let place = place();
    let hangs = "if count == 20 and not os.path.exists('hung'):
        open('hung', 'w'); time.sleep(60)";
    raw(&place, "hanging.py", hangs);
    let begun = Instant::now();
    bench(&place, "exec:./hanging.py", "--timeout 200ms --rate 100 --duration 8s")
        .code(0)
        .shows("wrote no line within 5000 ms")
        .shows("unknown timeout");
    assert!(begun.elapsed() < Duration::from_secs(30), "{:?}", begun.elapsed());
}

#[test]
fn answers_may_come_in_any_order_and_errors_go_to_a_file() {
    let place = place();
    let body = "
import random
class Slow(Driver):
    name, threads, persistent, records = 'slow', 8, False, {}
    def clear(self): self.records.clear()
    def insert(self, table, key, values): self.records[key] = values
    def update(self, table, key, values):
        raise ValueError('no updates on ' + time.strftime('%A'))
    def read(self, table, key, fields):
        time.sleep(random.random() / 50)
        if key.endswith(b'7'):
            raise Refused('busy', 'sevens are resting')
        return self.records.get(key)
serve(Slow)";
    driver(&place, "slow.py", body);
    let ran = bench(&place, "exec:./slow.py?stderr=err.log", "--operations 400 --closed 8");
    ran.code(0)
        .shows("the driver says of an outcome refused (busy): sevens are resting")
        .shows("refused busy")
        .shows("unknown store-error");
    let errors = place.read("err.log");
    assert!(errors.contains("ValueError: no updates on"), "{errors}");
}

//! YCSB's Java bindings in a virtual machine of this process.
//!
//! Maven builds our Java part first, with bindings that misbehave beside it. All tests share one
//! virtual machine, as every process has but one.

mod built;
mod opening;
mod outcomes;

use std::sync::Arc;

use assay_driver_jvm as jvm;
use assay_driver_kit::secrets::Redaction;
use assay_drivers::registry::Surroundings;
use assay_model::{Fields, Kind, Reason};
use assay_store::blocking::BlockingThreads;
use assay_store::conformance::{assert_conforms, find_mark, leave_mark};
use assay_store::{Calls, OpenError, Store};

use crate::server::new_folder;
use crate::test_client::{
    RequestResult, TestClient, TestRequest, delete, insert, read, scan, update,
};
use built::built;

const SURROUNDINGS: Surroundings = Surroundings {
    variable: |name| match name {
        // Only tests may request another Java part than the one they build.
        "ASSAY_JVM_BRIDGE" => Some(built().join("assay-jvm").into()),
        name => std::env::var_os(name),
    },
    program: || None,
};

fn store(url: &str) -> Box<dyn Store> {
    jvm::open(url, &SURROUNDINGS, &Redaction::PROCESS).unwrap_or_else(|error| panic!("{error}"))
}

/// The URL of a binding of `src/test`, with YCSB's core on its class path.
fn trial(class: &str, rest: &str) -> String {
    let (jar, lib) = (built().join("assay-bridge-tests.jar"), built().join("assay-jvm/lib"));
    let path = format!("{}:{}/core-0.17.0.jar", jar.display(), lib.display());
    format!("jvm:assay.trial.{class}?classpath={path}{rest}")
}

fn text(url: &str) -> String {
    match jvm::open(url, &SURROUNDINGS, &Redaction::PROCESS) {
        Ok(_) => panic!("{url} must not open"),
        Err(error) => error.to_string(),
    }
}

/// Room for the values of one MiB that the suite writes.
const LARGE: &str = "p.chronicle.entrysize=20000&p.chronicle.entries=2000";

#[test]
fn chronicle_map_conforms_in_both_layouts() {
    for class in ["Rows", "Fields"] {
        assert_conforms(&*store(&format!("jvm:assay.chronicle.{class}?{LARGE}")));
        let folder = new_folder();
        let path = folder.join("maps").display().to_string();
        let url = format!("jvm:assay.chronicle.{class}?{LARGE}&p.chronicle.path={path}");
        assert_conforms(&*store(&url));
        let blocking_threads = BlockingThreads::new(Arc::from(store(&url)), 3);
        assert_eq!(
            store(&format!("jvm:assay.chronicle.{class}")).capabilities().calls,
            Calls::Inline
        );
        assert_conforms(&blocking_threads);
        let _ = std::fs::remove_dir_all(folder);
    }
}

#[test]
fn chronicle_map_on_disk_is_there_when_it_is_opened_again() {
    for class in ["Rows", "Fields"] {
        let folder = new_folder();
        let path = folder.display().to_string();
        let url = format!("jvm:assay.chronicle.{class}?p.chronicle.path={path}");
        leave_mark(&*store(&url)).unwrap();
        let first = store(&url);
        find_mark(&*first).unwrap();
        // Its maps are ours as long as we have them open.
        let result = store(&url).settings().expect_err("it is open already").to_string();
        assert!(result.contains("is open already, in this process or another"), "{result}");
        drop(first);
        // As after a kill: the maps are recovered.
        std::fs::write(folder.join("assay.lock"), "open").unwrap();
        find_mark(&*store(&url)).unwrap();
        assert_eq!(std::fs::read(folder.join("assay.lock")).unwrap(), b"");
        let _ = std::fs::remove_dir_all(folder);
    }
}

#[test]
fn chronicle_map_says_what_it_is() {
    let rows = store("jvm:assay.chronicle.Rows");
    let capabilities = rows.capabilities();
    assert_eq!(capabilities.name, "chronicle-map-rows");
    assert!(!capabilities.is_persistent && !capabilities.is_no_op);
    assert!(!capabilities.can(Kind::Scan) && capabilities.hidden_retries.is_none());
    let folder = new_folder();
    let url = format!("jvm:assay.chronicle.Fields?p.chronicle.path={}", folder.display());
    let fields = store(&url);
    assert!(fields.capabilities().is_persistent);
    assert_eq!(fields.capabilities().calls, Calls::Blocking);
    let settings = fields.settings().unwrap();
    let find = |name: &str| {
        let setting = settings.iter().find(|setting| setting.name == name);
        setting.unwrap_or_else(|| panic!("no {name} in {settings:#?}")).value.clone()
    };
    assert_eq!(find("durability"), "process");
    assert_eq!(find("binding"), "assay.chronicle.Fields");
    assert!(find("ycsb").starts_with("0.17.0 in "), "{}", find("ycsb"));
    assert!(find("server").starts_with("Chronicle Map "));
    drop(fields);
    let _ = std::fs::remove_dir_all(folder);
}

/// As YCSB's workloads do: ten fields of a hundred bytes, one of which changes again and again.
#[test]
fn records_stay_as_long_as_they_were() {
    for class in ["Rows", "Fields"] {
        let store = store(&format!("jvm:assay.chronicle.{class}"));
        let mut test_client = TestClient::open_wide(&*store, 10).unwrap();
        let old: Vec<String> = (0..10).map(|number| format!("{number:0100}")).collect();
        let old: Vec<&str> = old.iter().map(String::as_str).collect();
        let keys: Vec<String> = (0..100).map(|number| format!("user{number:03}")).collect();
        for key in &keys {
            test_client.expect(&insert(key, &old), RequestResult::WRITTEN);
        }
        let new = format!("new{:097}", 0);
        for key in keys.iter().cycle().take(300) {
            test_client.expect(&update(key, &[&new]), RequestResult::WRITTEN);
        }
        let mut fields: Vec<String> =
            old.iter().enumerate().map(|(at, value)| format!("field{at}={value}")).collect();
        fields[0] = format!("field0={new}");
        let whole = fields.join(" ");
        assert!(keys.iter().all(|key| test_client.send(&read(key)) == RequestResult::row(&whole)));
        let one = TestRequest { fields: Fields::One(0), ..read("user001") };
        test_client.expect(&one, RequestResult::row(&fields[0]));
        test_client.expect(&scan("user020", 5), RequestResult::Refused(Reason::Unsupported));
    }
}

/// Gives field `field` of the record the values 1 to 500.
fn change_often(store: &dyn Store, field: u16) {
    let mut test_client = TestClient::open_wide(store, 4).expect("the store is there");
    for round in 1..=500 {
        test_client.start_changing(0, "user1", field, &round.to_string());
        assert_eq!(test_client.take(1)[0].1, RequestResult::WRITTEN);
    }
}

/// Four workers change one field each of the same record: nothing may be lost.
#[test]
fn changes_at_the_same_time_lose_none_of_each_other() {
    for class in ["Rows", "Fields"] {
        let store: Arc<dyn Store> = Arc::from(store(&format!("jvm:assay.chronicle.{class}")));
        let mut test_client = TestClient::open_wide(&*store, 4).unwrap();
        test_client.expect(&insert("user1", &["0", "0", "0", "0"]), RequestResult::WRITTEN);
        std::thread::scope(|scope| {
            for field in 0..4 {
                let store = Arc::clone(&store);
                scope.spawn(move || change_often(&*store, field));
            }
        });
        let all = "field0=500 field1=500 field2=500 field3=500";
        assert_eq!(test_client.send(&read("user1")), RequestResult::row(all), "{class}");
    }
}

#[test]
fn a_full_map_refuses_what_has_no_room() {
    for class in ["Rows", "Fields"] {
        let small = "p.chronicle.entries=100&p.chronicle.entrysize=50&p.chronicle.bloat=1";
        let store = store(&format!("jvm:assay.chronicle.{class}?{small}"));
        let mut test_client = TestClient::open_wide(&*store, 1).unwrap();
        let value = "x".repeat(2000);
        let result: Vec<RequestResult> = (0..500)
            .map(|number| test_client.send(&insert(&format!("k{number}"), &[&value])))
            .collect();
        assert_eq!(result[0], RequestResult::WRITTEN, "{class}");
        assert_eq!(result[499], RequestResult::Refused(Reason::Full), "{class}");
        let longer = "y".repeat(4000);
        let grown = test_client.send(&update("k0", &[&longer]));
        assert_eq!(grown, RequestResult::Refused(Reason::Full), "{class}");
        // What was there stays, and can be read.
        test_client.expect(&read("k0"), RequestResult::row(&format!("field0={value}")));
    }
}

#[test]
fn basic_db_is_a_no_op_that_conforms_as_one() {
    let store = store("jvm:site.ycsb.BasicDB?p.basicdb.verbose=false");
    let capabilities = store.capabilities();
    assert!(capabilities.is_no_op && !capabilities.is_persistent);
    assert_eq!((capabilities.name, capabilities.calls), ("basicdb", Calls::Inline));
    assert_conforms(&*store);
    let slow = "jvm:site.ycsb.BasicDB?p.basicdb.verbose=false&p.basicdb.simulatedelay=1";
    assert_eq!(self::store(slow).capabilities().calls, Calls::Blocking);
}

#[test]
fn ycsbs_own_simulated_store_blocks_and_keeps_nothing() {
    let store = store("jvm:site.ycsb.GoodBadUglyDB?p.gbudb.delays=1,2,3,4,5");
    assert!(store.capabilities().is_no_op);
    assert_eq!(store.capabilities().calls, Calls::Blocking);
    assert_conforms(&*store);
}

#[test]
fn a_class_that_extends_a_no_op_is_one() {
    assert!(store(&trial("Idle", "")).capabilities().is_no_op);
}

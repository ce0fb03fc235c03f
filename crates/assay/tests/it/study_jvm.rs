//! Stores in a Java virtual machine as cells of a study.
//!
//! Maven builds our Java part first. What the bridge does with bindings is tested beside its
//! driver; here they are stores among others.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::place::{Place, Ran};
use built::built;

#[path = "../../../drivers/tests/live/jvm/built.rs"]
mod built;

const STUDY: &str = r#"
records = 200
operations = 200
repetitions = 2
workloads = ["ycsb-a", "ycsb-c"]

[[store]]
name = "memory"
url = "memory:"

[[store]]
name = "map"
url = "jvm:assay.chronicle.Rows?p.chronicle.path={dir}/maps"

[[store]]
name = "basicdb"
url = "jvm:site.ycsb.BasicDB?persistent=false&p.basicdb.verbose=false"
volatile = true
"#;

/// Our Java part, where Maven has left it.
fn bridge() -> PathBuf {
    built().join("assay-jvm")
}

fn study(text: &str, bridge: &Path) -> (Place, Ran) {
    let place = Place::new();
    place.write("s.toml", text);
    let words = "study s.toml --quiet";
    let ran = place.start_with(words, |it| it.env("ASSAY_JVM_BRIDGE", bridge)).wait();
    (place, ran)
}

#[test]
fn java_stores_run_beside_others_and_no_op_bindings_are_not_ranked() {
    let (place, ran) = study(STUDY, &bridge());
    ran.code(0).shows("12 of 12 runs");
    let found = place.read_json("runs/studies/s/study.json");
    let rows = found["rows"].as_array().expect("it is a list");
    let whole = rows.iter().filter(|row| row["kind"] == "all" && row["store"] != "basicdb");
    let ratios: Vec<Option<f64>> = whole.map(|row| row["hit_ratio"].as_f64()).collect();
    assert_eq!(ratios, [Some(1.0); 8]);
    let refused = found["not_ranked"].as_array().expect("it is a list");
    let refused: Vec<&str> = refused.iter().filter_map(Value::as_str).collect();
    assert_eq!(refused.len(), 1, "{refused:?}");
    assert!(refused[0].starts_with("basicdb: keeps nothing and finds nothing"), "{refused:?}");
}

#[test]
fn without_our_java_part_its_cells_fail_and_say_how_to_build_it() {
    let (place, ran) = study(STUDY, Path::new("/nowhere/assay-jvm"));
    ran.code(1).shows("8 runs failed").shows("4 of 12 runs");
    let failed = place.read("runs/studies/s/study.html");
    assert!(failed.contains("mvn"), "the page says how to build it");
}

#[test]
fn a_class_that_is_missing_fails_its_own_cells_alone() {
    let (place, ran) = study(&STUDY.replace("site.ycsb.BasicDB", "site.ycsb.Basics"), &bridge());
    ran.code(1).shows("4 runs failed").shows("8 of 12 runs");
    let page = place.read("runs/studies/s/study.html");
    assert!(page.contains("site.ycsb.Basics"), "the page names the class");
}

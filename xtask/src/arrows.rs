//! Allowed imports between crates, compared with the manifests.

use crate::metadata::{Metadata, Package};

/// One row of the import table.
struct Row {
    /// The crate's folder; its package is `assay-<name>`, the binary is `assay`. All drivers have
    /// one row, `driver`.
    name: &'static str,
    /// The crates of ours that its code may import.
    imports: &'static [&'static str],
    /// The crates of ours that its tests or benches may import beyond that.
    tests: &'static [&'static str],
}

/// Every crate, those to come included.
///
/// Tests are laxer where that makes them honest: a trace is tested with real workloads, an
/// executor is benched with them, a mapping is tested against the SQL of a workload, a workload's
/// queries are executed, a driver is tested against the servers that the lab starts, its
/// transactions with what a mapping makes of them.
/// The boundaries that make a verdict trustworthy hold in tests as well: the analyzer never depends
/// on a store, a workload never meets one either, the executor never meets a file.
const ROWS: &[Row] = &[
    Row { name: "model", imports: &[], tests: &[] },
    Row { name: "workload", imports: &["model"], tests: &["sql"] },
    Row { name: "trace", imports: &["model"], tests: &["workload"] },
    Row { name: "sql", imports: &["model"], tests: &[] },
    Row { name: "store", imports: &["model"], tests: &[] },
    Row { name: "sim", imports: &["store", "model"], tests: &[] },
    Row { name: "kit", imports: &["store", "model"], tests: &[] },
    Row { name: "driver", imports: &["kit", "sql", "store", "model"], tests: &[] },
    Row {
        name: "drivers",
        imports: &["driver", "kit", "sim", "store", "model"],
        tests: &["lab", "mapping"],
    },
    Row { name: "mapping", imports: &["sql", "store", "model"], tests: &["sim", "workload"] },
    Row { name: "run", imports: &["store", "model"], tests: &["sim", "workload"] },
    Row { name: "fmke", imports: &["workload", "store", "model"], tests: &["mapping", "sql"] },
    Row { name: "history", imports: &["model"], tests: &[] },
    Row { name: "fleet", imports: &["trace", "history", "model"], tests: &["workload"] },
    Row { name: "lab", imports: &["model"], tests: &[] },
    Row { name: "analysis", imports: &["model"], tests: &[] },
    Row { name: "consistency", imports: &["model"], tests: &[] },
    Row { name: "report", imports: &["analysis", "consistency", "model"], tests: &[] },
    Row {
        name: "results",
        imports: &["analysis", "consistency", "history", "model", "report", "run", "workload"],
        tests: &[],
    },
    Row {
        name: "serve",
        imports: &["analysis", "history", "model", "report", "results"],
        tests: &[],
    },
    Row { name: "live", imports: &["fleet", "model", "report", "run", "serve"], tests: &[] },
    Row {
        name: "study",
        imports: &[
            "analysis",
            "consistency",
            "history",
            "lab",
            "model",
            "report",
            "results",
            "run",
            "sim",
            "store",
            "workload",
        ],
        tests: &[],
    },
    Row {
        name: "python",
        imports: &["analysis", "consistency", "history", "model", "report", "results"],
        tests: &[],
    },
    Row { name: "xtask", imports: &[], tests: &[] },
];

/// The binary, which may import everything of ours but the chores.
const BINARY: &str = "assay";

/// A package of others that only some rooms may import.
struct Stranger {
    name: &'static str,
    rooms: &'static [&'static str],
    why: &'static str,
}

const ASYNC: &[&str] =
    &["run", "kit", "driver", "store", "fleet", "fmke", "lab", "serve", "live", "assay"];
const CLOCK: &str = "the clock is read in run/src/clock.rs, for agents in fleet/src/offset.rs";
const SEED: &str = "only the binary asks the operating system for randomness, once, for the seed";
const TERMINAL: &str =
    "the terminal is written to by one room while a run goes on, else by the binary";
const ANYHOW: &str = "a library's errors are an enum that its callers can match";

const STRANGERS: &[Stranger] = &[
    Stranger { name: "tokio", rooms: ASYNC, why: "words, workloads or verdicts have no tasks" },
    Stranger { name: "quanta", rooms: &["run", "fleet"], why: CLOCK },
    Stranger { name: "clap", rooms: &["assay"], why: "only the binary reads arguments" },
    Stranger { name: "clap_complete", rooms: &["assay"], why: "only the binary reads arguments" },
    Stranger { name: "clap_mangen", rooms: &["assay"], why: "only the binary reads arguments" },
    Stranger { name: "indicatif", rooms: &["live", "assay"], why: TERMINAL },
    Stranger { name: "ratatui", rooms: &["live"], why: TERMINAL },
    Stranger { name: "anyhow", rooms: &["assay", "xtask"], why: ANYHOW },
    Stranger { name: "getrandom", rooms: &["assay"], why: SEED },
    Stranger { name: "rand", rooms: &["assay"], why: SEED },
    Stranger { name: "fastrand", rooms: &["assay"], why: SEED },
    Stranger {
        name: "parquet",
        rooms: &["trace", "history"],
        why: "before, during or after meet only in the two files, which these crates own",
    },
];

/// The packages of others that the words may be made of: serde derives their form as data, strsim
/// tells how far a misspelt word is from a known one.
const MODEL_STRANGERS: &[&str] = &["serde", "strsim", "thiserror"];

/// The arrows that point where they must not; one sentence each.
pub fn arrows(metadata: &Metadata) -> Vec<String> {
    let mut wrong = Vec::new();
    for package in &metadata.packages {
        let name = room(&package.name);
        if name == BINARY {
            check_binary(package, &mut wrong);
        } else {
            match ROWS.iter().find(|row| row.name == name) {
                Some(row) => check_row(row, package, &mut wrong),
                None => wrong.push(format!(
                    "{name}: give the crate a row in xtask/src/arrows.rs for what it may import"
                )),
            }
        }
        check_strangers(name, package, &mut wrong);
    }
    wrong
}

fn room(package: &str) -> &str {
    match package.strip_prefix("assay-").unwrap_or(package) {
        "driver-kit" => "kit",
        driver if driver.starts_with("driver-") => "driver",
        name => name,
    }
}

fn is_ours(package: &str) -> bool {
    package.starts_with("assay-") || package == BINARY || package == "xtask"
}

/// The binary opens stores by their URLs, whichever driver that is.
fn check_binary(package: &Package, wrong: &mut Vec<String>) {
    let rooms = package.dependencies.iter().map(|dependency| room(&dependency.name));
    for to in rooms.filter(|to| ["driver", "kit"].contains(to)) {
        wrong.push(format!("{BINARY} -> {to}: take the import out, drivers are behind `drivers`"));
    }
}

fn check_row(row: &Row, package: &Package, wrong: &mut Vec<String>) {
    for dependency in package.dependencies.iter().filter(|d| is_ours(&d.name)) {
        let to = room(&dependency.name);
        let for_tests = dependency.is_for_tests();
        let allowed = row.imports.contains(&to)
            || for_tests && (row.tests.contains(&to) || dependency.name == package.name);
        if !allowed {
            let from = row.name;
            let what = if for_tests { "tests of " } else { "" };
            let may = if row.imports.is_empty() {
                "nothing of ours".into()
            } else {
                row.imports.join(", ")
            };
            wrong.push(format!(
                "{what}{from} -> {to}: take the import out, {from} may import {may}"
            ));
        }
    }
}

fn check_strangers(name: &str, package: &Package, wrong: &mut Vec<String>) {
    let normal = package.dependencies.iter().filter(|d| !d.is_for_tests());
    for dependency in normal.filter(|d| !is_ours(&d.name)) {
        let to = dependency.name.as_str();
        if name == "model" && !MODEL_STRANGERS.contains(&to) {
            wrong.push(format!("model -> {to}: take the import out, the words are plain data"));
        }
        let stranger = STRANGERS.iter().find(|stranger| stranger.name == to);
        let Some(stranger) = stranger.filter(|stranger| !stranger.rooms.contains(&name)) else {
            continue;
        };
        let Stranger { rooms, why, .. } = stranger;
        wrong.push(format!("{name} -> {to}: leave it to {}: {why}", rooms.join(", ")));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// What is wrong with one package that has these dependencies: `name` or `name for tests`.
    fn wrong(package: &str, dependencies: &[&str]) -> Vec<String> {
        let dependencies: Vec<_> = dependencies
            .iter()
            .map(|text| match text.strip_suffix(" for tests") {
                Some(name) => json!({ "name": name, "kind": "dev" }),
                None => json!({ "name": text, "kind": null }),
            })
            .collect();
        let json = json!({
            "packages": [{ "name": package, "dependencies": dependencies }],
            "target_directory": "/target",
        });
        arrows(&serde_json::from_value(json).expect("the made-up metadata has packages"))
    }

    #[test]
    fn arrows_of_the_table_pass() {
        assert_eq!(wrong("assay-run", &["assay-store", "assay-model", "thiserror"]), [""; 0]);
        assert_eq!(wrong("assay-report", &["assay-analysis", "assay-model"]), [""; 0]);
        assert_eq!(wrong("assay", &["assay-drivers", "assay-run", "clap", "anyhow"]), [""; 0]);
    }

    #[test]
    fn the_analyzer_uses_no_clock_file_or_store() {
        for witness in ["run", "store", "drivers", "workload", "trace"] {
            let package = format!("assay-{witness}");
            assert_eq!(wrong("assay-analysis", &[&package]).len(), 1, "{witness}");
            let for_tests = format!("{package} for tests");
            assert_eq!(wrong("assay-analysis", &[&for_tests]).len(), 1, "{witness} in tests");
        }
    }

    #[test]
    fn the_executor_sees_neither_workload_nor_file() {
        for unseen in ["assay-workload", "assay-trace", "assay-history"] {
            assert_eq!(wrong("assay-run", &[unseen]).len(), 1, "{unseen}");
        }
        assert_eq!(wrong("assay-run", &["assay-workload for tests"]), [""; 0]);
        assert_eq!(wrong("assay-run", &["assay-history for tests"]).len(), 1);
    }

    #[test]
    fn workloads_do_not_depend_on_stores() {
        assert_eq!(wrong("assay-workload", &["assay-store"]).len(), 1);
    }

    #[test]
    fn drivers_are_imported_by_the_binary_alone() {
        for row in ROWS {
            let package = match row.name {
                "xtask" => "xtask".into(),
                "kit" => "assay-driver-kit".into(),
                "driver" => "assay-driver-redis".into(),
                name => format!("assay-{name}"),
            };
            if row.name != "drivers" {
                assert_eq!(wrong(&package, &["assay-drivers"]).len(), 1, "{package}");
                assert_eq!(wrong(&package, &["assay-driver-etcd"]).len(), 1, "{package}");
            }
        }
        assert_eq!(wrong(BINARY, &["assay-driver-etcd"]).len(), 1);
        assert_eq!(wrong("assay-drivers", &["assay-driver-etcd", "assay-driver-kit"]), [""; 0]);
    }

    #[test]
    fn drivers_see_the_kit_alone() {
        assert_eq!(wrong("assay-driver-redis", &["assay-driver-kit", "assay-store"]), [""; 0]);
        assert_eq!(wrong("assay-driver-redis", &["assay-driver-etcd for tests"]).len(), 1);
        assert_eq!(wrong("assay-driver-kit", &["assay-driver-redis"]).len(), 1);
        assert_eq!(wrong("assay-driver-redis", &["tokio", "assay-lab"]).len(), 1);
    }

    #[test]
    fn model_depends_on_no_io_crate() {
        assert_eq!(wrong("assay-model", &["serde", "thiserror"]), [""; 0]);
        assert_eq!(wrong("assay-model", &["assay-store"]).len(), 1);
        assert_eq!(wrong("assay-model", &["serde_json"]).len(), 1);
        assert_eq!(wrong("assay-model", &["tokio"]).len(), 2);
    }

    #[test]
    fn external_crates_are_used_only_where_allowed() {
        assert_eq!(wrong("assay-store", &["quanta"]).len(), 1);
        assert_eq!(wrong("assay-analysis", &["tokio"]).len(), 1);
        assert_eq!(wrong("assay-history", &["anyhow"]).len(), 1);
        assert_eq!(wrong("assay-workload", &["rand"]).len(), 1);
        assert_eq!(wrong("assay-workload", &["rand for tests"]), [""; 0]);
    }

    #[test]
    fn a_new_crate_needs_a_row() {
        assert_eq!(wrong("assay-kitchen", &[]).len(), 1);
    }

    #[test]
    fn the_table_has_no_cycle() {
        let mut settled: Vec<&str> = Vec::new();
        while settled.len() < ROWS.len() {
            let next = ROWS.iter().find(|row| {
                !settled.contains(&row.name) && row.imports.iter().all(|i| settled.contains(i))
            });
            settled.push(next.expect("some crate must need only settled ones").name);
        }
    }
}

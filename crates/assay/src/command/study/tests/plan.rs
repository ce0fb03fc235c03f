//! Tests of plans of small study files with the commands of this program.

use std::collections::BTreeSet;

use std::path::Path;

use assay_study::commands::differences;
use assay_study::file::StudyFile;
use assay_study::plan::{PlannedCell, StudyPlan, StudyRequest};
use assay_study::program::Program;
use assay_study::space;

use crate::command::study::program::OwnProgram;
use crate::options::Options;

const STUDY: &str = r#"
repetitions = 3
records = 100
operations = 1000
workloads = ["ycsb-a", "ycsb-e"]

[[load]]
closed = [1, 4]

[[load]]
rate = ["200/s"]
duration = "10s"

[[store]]
name = "etcd"
up = "etcd"
nodes = [1, 3]

[[store]]
name = "memory"
url = "memory:"
skip = [{ workload = "ycsb-e", load = "closed-4", reason = "no time" }]
"#;

/// How a study with settings begins, and how it goes on.
const SETTINGS: &str = "workloads = [\"ycsb-a\"]\n[run]\n";
const STUDY_REST: &str = "[[store]]\nname = \"etcd\"\nup = \"etcd\"\n";

fn study_request() -> StudyRequest {
    StudyRequest {
        scale: 1.0,
        seed: None,
        repetitions: None,
        stores: Vec::new(),
        workloads: Vec::new(),
    }
}

fn compile(text: &str, study_request: &StudyRequest) -> Result<StudyPlan, String> {
    let file: StudyFile = toml::from_str(text).map_err(|error| error.to_string())?;
    let options = Options::default();
    let program = OwnProgram::new(&options);
    StudyPlan::new(file, Path::new("s.toml"), study_request, &program)
        .map_err(|error| error.to_string())
}

#[test]
fn every_combination_is_a_cell_but_those_left_out() {
    let plan = compile(STUDY, &study_request()).unwrap();
    // (2 numbers of nodes + 1) × 2 workloads × 3 loads − 1, three times.
    assert_eq!(plan.cells.len(), 17 * 3);
    let ids: BTreeSet<&str> = plan.cells.iter().map(|cell| cell.id.as_str()).collect();
    assert_eq!(ids.len(), plan.cells.len());
    assert!(
        ids.contains("etcd-3n-ycsb-e-open-200-r2") && ids.contains("memory-ycsb-a-closed-4-r3")
    );
    assert_eq!(plan.skipped, ["memory-ycsb-e-closed-4 is left out: no time"]);
}

#[test]
fn the_order_is_drawn_repetition_by_repetition_and_shift_by_shift() {
    let plan = compile(STUDY, &study_request()).unwrap();
    let repetitions: Vec<u32> = plan.cells.iter().map(|cell| cell.repetition).collect();
    assert!(repetitions.is_sorted());
    // Cells of one cluster follow each other within a repetition, so it is started once.
    let shifts: Vec<(u32, &str)> =
        plan.cells.iter().map(|cell| (cell.repetition, cell.shift.as_str())).collect();
    let stretches = shifts.chunk_by(|a, b| a == b).count();
    let different: BTreeSet<_> = shifts.iter().collect();
    assert_eq!(stretches, different.len());
    let ids = |plan: &StudyPlan| plan.cells.iter().map(|cell| cell.id.clone()).collect::<Vec<_>>();
    assert_eq!(ids(&plan), ids(&compile(STUDY, &study_request()).unwrap()));
    let other = compile(STUDY, &StudyRequest { seed: Some(2), ..study_request() }).unwrap();
    assert_ne!(ids(&plan), ids(&other));
    // What is added does not disturb the order of what is there.
    let fewer =
        compile(STUDY, &StudyRequest { workloads: vec!["ycsb-a".to_owned()], ..study_request() });
    let kept: Vec<String> = ids(&plan).into_iter().filter(|id| id.contains("ycsb-a")).collect();
    assert_eq!(ids(&fewer.unwrap()), kept);
}

#[test]
fn a_cell_is_two_commands_of_this_program() {
    let plan = compile(STUDY, &StudyRequest { scale: 0.1, ..study_request() }).unwrap();
    let find = |id: &str| plan.cells.iter().find(|cell| cell.id == id).unwrap();
    let etcd = find("etcd-3n-ycsb-a-closed-4-r1");
    let run = etcd.workload_kind.run.words(&[]).join(" ");
    assert!(
        run.starts_with("run ycsb-a --records 100 --closed 4 --operations 100 --seed 1"),
        "{run}"
    );
    let fill = etcd.workload_kind.fill.as_ref().unwrap().words(&[]).join(" ");
    assert_eq!(fill, "load ycsb-a --records 100 --closed 16 --seed 1 --fresh");
    let lab = etcd.workload_kind.lab_words("x").unwrap().join(" ");
    assert_eq!(lab, "lab up etcd --name x --nodes 3");
    let open = find("memory-ycsb-a-open-200-r1");
    let run = open.workload_kind.run.words(&[]).join(" ");
    assert!(run.contains("--rate 200/s --duration 1s") && !run.contains("--operations"), "{run}");
    // It ends with the client process, which therefore loads it.
    assert_eq!(open.workload_kind.fill, None);
    // Each repetition has arrivals of its own.
    let seed = |id: &str| find(id).settings["arrival-seed"].clone();
    assert_ne!(seed("memory-ycsb-a-open-200-r1"), seed("memory-ycsb-a-open-200-r2"));
}

#[test]
fn settings_tell_whether_a_cell_was_run_alike() {
    let settings = |text: &str| compile(text, &study_request()).unwrap().cells[0].settings.clone();
    let differ = |text: &str| {
        let other = compile(text, &study_request()).unwrap();
        let first = &compile(STUDY, &study_request()).unwrap().cells[0];
        let same = other.cells.iter().find(|cell| cell.id == first.id).unwrap();
        differences(&same.settings, &first.settings)
    };
    assert_eq!(settings(STUDY), settings(&format!("title = \"x\"\n{STUDY}")));
    assert_eq!(differ(STUDY), [""; 0]);
    let found = differ(&STUDY.replace("records = 100\n", "records = 200\n"));
    assert!(found.contains(&"records: was 100, is now 200".to_owned()), "{found:?}");
    let found = differ(&format!("{STUDY}\n[fill]\nwhen = \"when-changed\"\n"));
    assert_eq!(found, ["fill when: was each-run, is now when-changed"]);
    let found = differ(&format!("{STUDY}\n[run]\ntimeout = \"3s\"\n"));
    assert_eq!(found, ["timeout: was not set, is now 3s"]);
}

#[test]
fn the_content_of_files_that_settings_name_counts() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("schema.toml");
    let text = format!("{STUDY}\n[run]\nmapping = \"{}\"\n", path.display());
    let content = |written: &str| {
        std::fs::write(&path, written).unwrap();
        compile(&text, &study_request()).unwrap().cells[0].settings["mapping's content"].clone()
    };
    assert_eq!(content("a"), content("a"));
    assert_ne!(content("a"), content("b"));
}

#[test]
fn a_switch_is_a_flag_without_a_value() {
    let run = |setting: &str| {
        let plan = compile(&format!("{STUDY}\n[run]\n{setting}\n"), &study_request()).unwrap();
        plan.cells[0].workload_kind.run.words(&[]).join(" ")
    };
    let on = run("force = true\nthreads = 2");
    assert!(on.contains("--force --threads 2"), "{on}");
    assert!(!run("force = false").contains("--force"));
}

#[test]
fn no_two_cells_have_one_name() {
    let text = |stores: &str| {
        format!(
            "[[workload]]\nname = \"x-c\"\nspec = \"ycsb-c\"\n\
             [[workload]]\nname = \"c\"\nspec = \"ycsb-c\"\n{stores}"
        )
    };
    let memory = |name: &str| format!("[[store]]\nname = \"{name}\"\nurl = \"memory:\"\n");
    // Also if only one of them is selected now.
    let one = StudyRequest { stores: vec!["m".to_owned()], ..study_request() };
    let both = text(&(memory("m") + &memory("m-x")));
    let reported = compile(&both, &one).unwrap_err();
    let part = "store m with workload x-c and load closed-1, store m-x with workload c and load \
                closed-1: both would be called m-x-c-closed-1";
    assert!(reported.contains(part), "{reported}");
    let etcd =
        |name: &str, nodes: &str| format!("[[store]]\nname = \"{name}\"\nup = \"etcd\"\n{nodes}");
    let clusters = text(&(etcd("e", "nodes = [3]\n") + &etcd("e-3n", "")));
    let reported = compile(&clusters, &study_request()).unwrap_err();
    assert!(reported.contains("store e, store e-3n: both would be called e-3n"), "{reported}");
    compile(&text(&memory("m")), &study_request()).unwrap();
}

#[test]
fn only_cells_that_are_missing_need_space() {
    let text = STUDY.replace("operations = 1000", "operations = \"100M\"");
    let plan = compile(&text.replace("200/s", "1M/s"), &study_request()).unwrap();
    let all: Vec<&PlannedCell> = plan.cells.iter().collect();
    let mib = |cells: &[&PlannedCell]| space::histories_mib(&plan, cells);
    // 100 million records of 16 bytes when sealed, those of one cell with 100 more before.
    assert_eq!((mib(&[]), mib(&all[..1]) > 900), (0, true));
    assert!(mib(&all) > mib(&all[..1]) * 2);
    // At a rate, the duration decides the number of operations: 10 s.
    let open = all.iter().find(|cell| cell.id.contains("open")).unwrap();
    assert_eq!(mib(&[open]), 10_000_100 * 116 / (1 << 20));
}

#[test]
fn the_studies_that_come_along_become_cells() {
    let options = Options::default();
    let program = OwnProgram::new(&options);
    for (name, cells) in [("kvbench.toml", 648), ("chronicle.toml", 504), ("fmke.toml", 120)] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../studies").join(name);
        let file = StudyFile::read(&path, program.command_line()).unwrap();
        let plan = StudyPlan::new(file, &path, &study_request(), &program).unwrap();
        assert_eq!(plan.cells.len(), cells, "{name}");
    }
}

#[test]
fn stores_in_memory_need_memory_and_no_disk() {
    let text = STUDY.replace("records = 100\n", "records = \"1M\"\n");
    let plan = compile(&text, &study_request()).unwrap();
    let need = |store: &str| {
        space::need(&plan, plan.cells.iter().find(|cell| cell.id.starts_with(store)).unwrap())
    };
    // A million records of 1 kB, twice.
    assert!(need("memory").memory_mib > 1_900 && need("memory").disk_mib == 0);
    assert!(need("etcd").disk_mib > 3_800);
}

#[test]
fn cells_are_counted_before_they_are_made() {
    let many = StudyRequest { repetitions: Some(u64::MAX), ..study_request() };
    let reported = compile(STUDY, &many).unwrap_err();
    assert!(reported.contains("more than 100000"), "{reported}");
}

#[test]
fn a_study_that_cannot_run_says_why() {
    for (text, part) in [
        (STUDY.replace("up = \"etcd\"", "up = \"etdc\""), "did you mean etcd?"),
        (STUDY.replace("[1, 3]", "[1, 30]"), "store etcd: "),
        (STUDY.replace("memory:", "memroy:"), "did you mean memory:?"),
        (STUDY.replace("ycsb-e\"]", "ycsb-x\"]"), "workload ycsb-x"),
        (STUDY.replace("closed = [1, 4]", "closed = [4, 4]"), "two loads \"closed-4\""),
        (STUDY.replace("200/s", "fast"), "no rate"),
        (STUDY.replace("[1, 3]", "[3, 3]"), "store etcd has the same number of nodes twice"),
        (STUDY.replace("\"memory\"", "\"a b\""), "the name of store"),
        (STUDY.replace("duration = \"10s\"", "duration = \"0s\""), "--duration: nothing would be"),
        (format!("{SETTINGS}timeout = \"soon\"\n{STUDY_REST}"), "`assay load`: --timeout: "),
        (
            format!("{SETTINGS}threads = 0\n{STUDY_REST}"),
            "--threads: nothing can be issued with none",
        ),
        (STUDY.replace("[[load]]\nrate", "[fill]\nclosed = 0\n[[load]]\nrate"), "--closed: "),
        (
            STUDY.replace("workload = \"ycsb-e\", load", "workload = \"ycsb_e\", load"),
            "store memory, skip: there is no workload \"ycsb_e\"; did you mean ycsb-e?",
        ),
        (
            STUDY.replace("closed-4\", reason", "closed-2\", reason"),
            "there is no load \"closed-2\"",
        ),
        (STUDY.replace("load = \"closed-4\"", "nodes = 3"), "it never runs on 3 nodes"),
        (STUDY.replace("operations = 1000\n", ""), ""),
    ] {
        match compile(&text, &study_request()) {
            Err(reported) => assert!(reported.contains(part), "{text}: {reported}"),
            // YCSB's own files say how many operations they run.
            Ok(_) => assert_eq!(part, "", "{text}"),
        }
    }
    let wrong = |study_request: StudyRequest| compile(STUDY, &study_request).unwrap_err();
    let none = wrong(StudyRequest { stores: vec!["etd".to_owned()], ..study_request() });
    assert!(none.contains("--stores: there is no \"etd\"; did you mean etcd?"), "{none}");
}

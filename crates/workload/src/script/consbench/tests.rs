//! Tests of consbench in the order of time.

use assay_model::{Nanos, Seed};

use crate::script::engine::Engine;
use crate::script::{ScriptPlan, ScriptSpec};
use crate::spec::PlanPhase;
use assay_model::{Datum, Kind};

const SMALL: &str = "workload = \"consbench\"\n[dataset]\ntests = 3\n[test]\nduration = \"3s\"\n\
                     staleness = \"500ms\"\nreplicas = 2\nprobability = 0.7\n\
                     readers_per_machine = 1\n";
const NO_WARM_UP: &str = "[warm_up]\nduration = \"0s\"\n";

fn plan(text: &str, phase: PlanPhase) -> ScriptPlan {
    let spec = ScriptSpec::from_toml(text, "test").unwrap();
    ScriptPlan::new(&spec, Seed(1), phase).unwrap()
}

fn problem(text: &str) -> String {
    ScriptSpec::from_toml(text, "test").unwrap_err().to_string()
}

/// What each process does first, at which key, when, with how many operations.
fn lines(plan: &ScriptPlan) -> Vec<(Kind, u64, Nanos, usize)> {
    let (mut source, schedule) = (plan.source(), plan.schedule().unwrap());
    let mut operations = Vec::new();
    let mut lines = Vec::new();
    for process in 0..plan.len().unwrap() {
        source.fill(process, &mut operations).unwrap();
        let when = schedule.intended(process).unwrap();
        lines.push((operations[0].kind, operations[0].key, when, operations.len()));
    }
    assert_eq!(schedule.intended(plan.len().unwrap()), None);
    lines
}

#[test]
fn readers_lead_a_write_by_fifty_milliseconds_and_watch_until_after_it() {
    let lines = lines(&plan(&format!("{SMALL}{NO_WARM_UP}"), PlanPhase::Run));
    assert!(lines.windows(2).all(|pair| pair[0].2 <= pair[1].2), "times rise");
    for test in 0..3 {
        let of_test: Vec<_> = lines.iter().filter(|line| line.1 == test).collect();
        let begin = Nanos::from_millis(1_000 * test);
        let writes: Vec<_> = of_test.iter().filter(|line| line.0 == Kind::Update).collect();
        assert_eq!(writes.len(), 1);
        assert_eq!(writes[0].2, begin + Nanos::from_millis(50));
        // Three machines of readers and one of the writer: 4 readers, 60 polls each in 600 ms.
        assert_eq!(of_test.len(), 4 * 60 + 1);
        assert_eq!(of_test[0].2, begin);
        assert_eq!(of_test[4].2, begin + Nanos::from_millis(10));
        let last = of_test[of_test.len() - 1].2;
        assert!(last > begin + Nanos::from_millis(595) && last < begin + Nanos::from_millis(600));
        assert!(of_test.iter().all(|line| line.3 == 1));
    }
}

#[test]
fn chained_readers_begin_together_and_read_one_after_another() {
    let text = format!("{SMALL}poll = \"chained\"\ninterval = \"1ms\"\n{NO_WARM_UP}");
    let lines = lines(&plan(&text, PlanPhase::Run));
    assert_eq!(lines.len(), 3 * 5);
    let first: Vec<_> = lines[..5].iter().map(|line| (line.0, line.2, line.3)).collect();
    let read = (Kind::Read, Nanos::ZERO, 600);
    assert_eq!(first, [read, read, read, read, (Kind::Update, Nanos::from_millis(50), 1)]);
}

#[test]
fn the_warm_up_comes_first_and_reads_rows_that_exist() {
    let text = format!("{SMALL}[warm_up]\nduration = \"1s\"\nreads = 7\n");
    let run = plan(&text, PlanPhase::Run);
    assert_eq!(run.warm_up(), Nanos::from_secs(1));
    let lines = lines(&run);
    let warm_up = lines.iter().take_while(|line| line.2 < run.warm_up()).count();
    // Every 100 ms eight readers for each of four machines.
    assert_eq!(warm_up, 10 * 8 * 4);
    assert!(lines[..warm_up].iter().all(|line| line.0 == Kind::Read && line.3 == 8));
    let mut engine = Engine::loaded(&plan(&text, PlanPhase::Load));
    engine.run(&run, 0..run.len().unwrap());
    assert!(engine.touched.iter().all(|(_, rows)| *rows == 1));
    let values = ["1050", "2050", "3050"].map(Datum::Text);
    assert_eq!(engine.column("consbench", "myfield"), values);
}

#[test]
fn overlapping_tests_are_refused_by_default() {
    let short = SMALL.replace("\"3s\"", "\"1s\"");
    let expected = "test:5: test.duration = 1s: a test begins every 333333333ns, but each takes \
                  600ms: take fewer tests, a longer duration or a shorter staleness";
    assert_eq!(problem(&short), expected);
    let issued = format!("{short}overlap = true\npoll = \"chained\"\n{NO_WARM_UP}");
    let lines = lines(&plan(&issued, PlanPhase::Run));
    assert!(lines.windows(2).all(|pair| pair[0].2 <= pair[1].2), "times rise");
    assert!(problem(&format!("{short}overlap = true\n")).contains("chained"));
}

#[test]
fn no_number_of_readers_is_certain() {
    assert!(problem(&SMALL.replace("0.7", "1.0")).contains("no number of readers is certain"));
}

//! Specifications as their authors write them.

use assay_model::{Kind, Nanos, Seed};

use super::{FieldLength, KeyDistribution, Spec, ThinkTime, no_files};
use crate::distribution::{Counting, Curve, Histogram, Tail};
use crate::spec::PlanPhase;

const SMALL: &str = "[dataset]\nrecords = 1000\n[operations]\nread = 1\n";

fn read(text: &str) -> Spec {
    Spec::from_toml(text, "spec.toml", &no_files).unwrap()
}

fn fails(text: &str) -> String {
    Spec::from_toml(text, "spec.toml", &no_files).unwrap_err().to_string()
}

#[test]
fn numbers_take_units_with_per_cent() {
    let text = "[dataset]\nrecords = \"100M\"\nfield_length = \"4KiB\"\n\
        [operations]\nread = \"95%\"\nupdate = 0.05\ncount = \"1.5k\"\n\
        [keys]\ndistribution = \"hotspot\"\nhot_records = \"20%\"\n";
    let spec = read(text);
    assert_eq!(spec.dataset.records, 100_000_000);
    assert_eq!(spec.dataset.field_length, FieldLength::Constant(4096));
    assert_eq!((spec.operations.read, spec.operations.count), (0.95, Some(1500)));
    assert_eq!(spec.keys.hot_records, Some(0.2));
}

#[test]
fn record_numbers_go_up_to_the_end_of_63_bits() {
    let text = "[dataset]\nrecords = \"9223372036854775807\"\n[operations]\nread = 1\n\
        [keys]\ndistribution = \"zipfian\"\n";
    assert_eq!(read(text).dataset.records, i64::MAX as u64);
    let found = fails(&text.replace("9223372036854775807", "9223372036854775808"));
    assert!(found.contains("dataset.records = 9223372036854775808: the number"), "{found}");
}

#[test]
fn lengths_have_many_forms() {
    let length = |form: &str| {
        let head = "[dataset]\nrecords=1\nfields=1\n";
        let text = format!("{head}field_length = {form}\n[operations]\nread=1\n");
        let spec = read(&text);
        assert_eq!(read(&spec.to_toml()), spec, "{form} survives");
        spec.dataset.field_length
    };
    let tail =
        Tail { curve: Curve::Pareto, location: 0.0, scale: 9.5, shape: 0.5, min: 1, max: 100 };
    let histogram = Histogram { block: 10, counts: vec![1, 2] };
    let listed = FieldLength::Listed { sizes: vec![5, 70], counts: vec![1, 2] };
    for (form, expected) in [
        ("7", FieldLength::Constant(7)),
        ("{ distribution = \"constant\", length = 7 }", FieldLength::Constant(7)),
        (
            "{ distribution = \"uniform\", min = 2, max = \"1k\" }",
            FieldLength::Uniform { min: 2, max: 1000 },
        ),
        ("{ distribution = \"zipfian\", max = 9 }", FieldLength::Zipfian { min: 1, max: 9 }),
        (
            "{ distribution = \"ycsb-histogram\", block = 10, counts = [1, 2] }",
            FieldLength::Histogram(histogram, Counting::Ycsb),
        ),
        ("\"recorded\"", FieldLength::Recorded),
        ("{ distribution = \"sizes\", sizes = [5, 70], counts = [1, 2] }", listed),
        (
            "{ distribution = \"generalized-pareto\", scale = 9.5, shape = 0.5, max = 100 }",
            FieldLength::Tail(tail),
        ),
    ] {
        assert_eq!(length(form), expected, "{form}");
    }
}

#[test]
fn a_histogram_file_is_found_beside_the_specification() {
    let files = |path: &std::path::Path| match path.to_str() {
        Some("folder/lengths.txt") => Ok("BlockSize\t100\n0\t3\n1\t0\n2\t1\n".to_owned()),
        _ => no_files(path),
    };
    let origin = "folder/spec.toml";
    let text = "[dataset]\nrecords = 1\n\
        field_length = { distribution = \"histogram\", file = \"lengths.txt\" }\n\
        [operations]\nread = 1\n";
    let spec = Spec::from_toml(text, origin, &files).unwrap();
    let histogram = Histogram { block: 100, counts: vec![3, 0, 1] };
    assert_eq!(
        spec.dataset.field_length,
        FieldLength::Histogram(histogram.clone(), Counting::Exact)
    );
    assert_eq!(read(&spec.to_toml()), spec, "the counts have become part of it");
    let properties = "recordcount=1\nfieldlengthdistribution=histogram\n\
        fieldlengthhistogram=lengths.txt\n";
    let properties = crate::ycsb::Properties::parse(properties.as_bytes(), origin).unwrap();
    let reading = crate::ycsb::read(&properties, crate::ycsb::Strictness::Native, &files).unwrap();
    assert_eq!(
        reading.spec.dataset.field_length,
        FieldLength::Histogram(histogram, Counting::Ycsb)
    );
}

#[test]
fn errors_name_the_line() {
    let cases = [
        (
            "[dataset]\nrecrods = 5",
            "spec.toml:2: unknown key \"recrods\"; did you mean \"records\"?",
        ),
        ("[datset]\n", "spec.toml:1: unknown key \"datset\"; did you mean \"dataset\"?"),
        (
            "[keys]\n\ndistribution = \"zipfan\"",
            "spec.toml:3: unknown value \"zipfan\"; did you mean \"zipfian\"?",
        ),
        ("[dataset]\nrecords = -5", "spec.toml:2: invalid value: integer `-5`, expected a whole"),
        ("[dataset]\nrecords = \"many\"", "spec.toml:2: invalid value: string \"many\", expected"),
        ("[dataset]\nfields = 3", "spec.toml:1: dataset.records = 0: the number of records"),
        ("[dataset]\nrecords = 5\n", "spec.toml: operations.read = 0: at least one of"),
        ("[dataset\n", "spec.toml:1: "),
        (
            "[dataset]\nrecords=1\nfield_length = { distribution = \"uniform\" }",
            "spec.toml:3: constant needs length",
        ),
        (
            "[dataset]\nrecords=1\nfield_length = { distribution = \"uniform\", maxx = 5 }",
            "spec.toml:3: unknown key \"maxx\"; did you mean \"max\"?",
        ),
        (
            "[dataset]\nrecords=1\nfield_length = {distribution = \"histogram\", file = \"none\"}",
            "spec.toml:3: dataset.field_length names \"none\", which cannot be read",
        ),
    ];
    for (text, expected) in cases {
        let found = fails(text);
        assert!(found.starts_with(expected), "{text:?}: {found}");
    }
}

#[test]
fn a_parameter_of_another_distribution_is_an_error() {
    let found = fails(&format!("{SMALL}[keys]\ntheta = 0.9"));
    let expected = "spec.toml:6: keys.theta = 0.9: it means nothing to the distribution uniform; \
                  leave it out";
    assert_eq!(found, expected);
    for theta in ["0", "1", "1.5"] {
        let text = format!("{SMALL}[keys]\ndistribution = \"ycsb-latest\"\ntheta = {theta}");
        assert!(fails(&text).contains("ycsb-latest needs a number between 0 and 1"));
    }
    let text = format!("{SMALL}[keys]\ndistribution = \"zipfian\"\ntheta = 1.5");
    assert_eq!(read(&text).keys.theta, Some(1.5));
}

#[test]
fn toml_survives_being_written_with_the_largest_seed() {
    let text = format!(
        "{SMALL}[keys]\ndistribution = \"latest\"\ntheta = 0.8\nvisible_after = 10\n[scan]\nmax = 9"
    );
    let mut spec = read(&text);
    spec.dataset.seed = Some(u64::MAX);
    spec.dataset.count = Some(5);
    assert_eq!(read(&spec.to_toml()), spec);
}

#[test]
fn the_distance_of_visible_inserts_is_read_by_its_former_name() {
    let [former, present] =
        ["settle", "visible_after"].map(|name| read(&format!("{SMALL}[keys]\n{name} = 7")));
    assert_eq!(former.keys.visible_after, 7);
    assert_eq!(former, present);
}

#[test]
fn the_schema_names_every_key_with_its_meaning() {
    let schema = Spec::json_schema();
    let sections = ["dataset", "operations", "keys", "scan"];
    let defaults = toml::Table::try_from(Spec::default()).unwrap();
    let definitions = &schema["$defs"];
    for section in sections {
        let name = schema["properties"][section]["$ref"].as_str().unwrap();
        let keys = &definitions[name.rsplit('/').next().unwrap()]["properties"];
        for (key, _) in defaults[section].as_table().unwrap() {
            assert!(keys[key]["description"].is_string(), "{section}.{key} in {keys}");
        }
    }
    assert_eq!(schema["additionalProperties"], false);
}

#[test]
fn the_document_shows_every_key() {
    let document = include_str!("../../../../docs/spec.md");
    let schema = Spec::json_schema();
    for (name, definition) in schema["$defs"].as_object().unwrap() {
        let Some(keys) = definition["properties"].as_object() else { continue };
        for key in keys.keys() {
            assert!(document.contains(&format!("`{key}`")), "{name}: `{key}` is not described");
        }
    }
    for example in document.split("```toml\n").skip(1) {
        let text = example.split("```").next().unwrap();
        let spec = Spec::from_toml(text, "docs/spec.md", &no_files);
        assert!(spec.is_ok(), "{}\n{text}", spec.unwrap_err());
    }
}

#[test]
fn kinds_follow_from_the_weights() {
    let mut spec = read(SMALL);
    assert_eq!(spec.kinds_used(PlanPhase::Load), [Kind::Insert]);
    assert_eq!(spec.kinds_used(PlanPhase::Run), [Kind::Read]);
    spec.operations.read = 0.0;
    spec.operations.read_modify_write = 1.0;
    spec.operations.scan = 1.0;
    assert_eq!(spec.kinds_used(PlanPhase::Run), [Kind::Read, Kind::Update, Kind::Scan]);
}

#[test]
fn a_run_with_other_parameters_than_the_load_names_them() {
    let loaded = read(SMALL);
    let mut expected = loaded.clone();
    let differences =
        |expected: &Spec| expected.dataset(Seed(1)).differences(&loaded.dataset(Seed(1)));
    assert_eq!(differences(&expected), Vec::<String>::new());
    expected.dataset.fields = 5;
    expected.dataset.table = "other".to_owned();
    let sentences = [
        "dataset.table is \"other\" here, but the store was loaded with \"usertable\"",
        "dataset.fields is 5 here, but the store was loaded with 10",
    ];
    assert_eq!(differences(&expected), sentences);
}

#[test]
fn the_seed_matters_where_values_carry_versions() {
    let differences = |spec: &Spec| spec.dataset(Seed(1)).differences(&spec.dataset(Seed(2)));
    let mut spec = read(SMALL);
    assert_eq!(differences(&spec), ["dataset.seed is 1 here, but the store was loaded with 2"]);
    spec.dataset.seed = Some(9);
    assert!(differences(&spec).is_empty(), "the data set has a seed of its own");
    spec.dataset.seed = None;
    spec.dataset.integrity = true;
    assert!(differences(&spec).is_empty(), "checked values do not depend on a seed");
    spec.dataset.integrity = false;
    spec.dataset.field_length = FieldLength::Constant(12);
    assert!(differences(&spec).is_empty(), "short values carry no version");
}

#[test]
fn a_run_may_use_a_part_of_what_was_loaded_but_not_more() {
    let share = |first: u64, count: u64| {
        let mut spec = read(SMALL);
        (spec.dataset.first, spec.dataset.count) = (first, Some(count));
        spec.dataset(Seed(1))
    };
    assert!(share(10, 5).differences(&share(0, 1000)).is_empty());
    let expected = "records 0 to 999 are accessed, but the store was loaded with 10 to 14";
    assert_eq!(share(0, 1000).differences(&share(10, 5)), [expected]);
}

#[test]
fn a_data_set_survives_being_written() {
    let mut spec = read(SMALL);
    spec.dataset.field_length =
        FieldLength::Histogram(Histogram { block: 10, counts: vec![1, 2] }, Counting::Exact);
    let dataset = spec.dataset(Seed(u64::MAX));
    let json = serde_json::to_string(&dataset).unwrap();
    assert_eq!(serde_json::from_str::<super::Dataset>(&json).unwrap(), dataset);
    let text = toml::to_string(&dataset).unwrap();
    assert_eq!(toml::from_str::<super::Dataset>(&text).unwrap(), dataset);
}

#[test]
fn every_distribution_has_the_name_of_its_toml_form() {
    for distribution in KeyDistribution::ALL {
        let text = serde_json::to_string(&distribution).unwrap();
        assert_eq!(text, format!("{:?}", distribution.name()));
    }
}

#[test]
fn processes_have_transactions_with_times_to_think() {
    let read_think = |think: &str| {
        let text = format!("{SMALL}[process]\ntransactions = 5\nthink = \"{think}\"\n");
        let spec = read(&text);
        assert_eq!(read(&spec.to_toml()), spec, "{think} survives");
        spec.process.think
    };
    let ms = Nanos::from_millis;
    assert_eq!(read_think("10ms"), ThinkTime::Constant(ms(10)));
    assert_eq!(read_think("exp:1.5s"), ThinkTime::Exponential(ms(1500)));
    assert_eq!(read_think("0s"), ThinkTime::No);
    assert!(!read(SMALL).to_toml().contains("process"), "what was not said is not written");
    let schema = Spec::json_schema();
    for key in ["transactions", "think"] {
        let keys = &schema["$defs"]["ProcessSection"]["properties"];
        assert!(keys[key]["description"].is_string(), "{key} in {keys}");
    }
}

#[test]
fn processes_that_are_invalid_are_refused() {
    let found = fails(&format!("{SMALL}[process]\ntransactions = 0\n"));
    let expected =
        "spec.toml:6: process.transactions = 0: a process has from 1 to 10000 transactions";
    assert_eq!(found, expected);
    for (keys, expected) in [
        ("think = \"10ms\"", "process.think = 10ms: a process of one transaction has no"),
        (
            "transactions = 2\nthink = \"soon\"",
            "\"soon\", expected a length of time such as \"10ms\"",
        ),
        ("operations = 2", "unknown key \"operations\""),
    ] {
        let found = fails(&format!("{SMALL}[process]\n{keys}\n"));
        assert!(found.contains(expected), "{found}");
    }
}

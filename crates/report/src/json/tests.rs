//! The JSON of a known run, held against its own schema.

use assay_analysis::{NodeSummary, Silence};
use assay_model::Nanos;
use serde_json::Value;

use super::*;
use crate::sample;

fn parsed() -> Value {
    serde_json::from_str(&json(&sample::facts(), &sample::summary())).expect("the output is JSON")
}

/// What in `value` is not as `shape` says, as a path; only the keywords that our schema uses.
fn faults(root: &Value, shape: &Value, value: &Value, path: &str, found: &mut Vec<String>) {
    let mut fault = |what: &str| found.push(format!("{path}: {what}"));
    if let Some(reference) = shape["$ref"].as_str() {
        let target = root.pointer(&reference[1..]).expect("references point to a definition");
        return faults(root, target, value, path, found);
    }
    if let Some(options) = shape["anyOf"].as_array().or(shape["oneOf"].as_array()) {
        let fits = options.iter().any(|option| {
            let mut inner = Vec::new();
            faults(root, option, value, path, &mut inner);
            inner.is_empty()
        });
        if !fits {
            fault("fits none of the options");
        }
        return;
    }
    if shape.get("const").is_some_and(|expected| expected != value) {
        fault("is another constant");
    }
    if shape["enum"].as_array().is_some_and(|options| !options.contains(value)) {
        fault("is none of the enumerated texts");
    }
    let is_of = |name: &Value| match name.as_str() {
        Some("object") => value.is_object(),
        Some("array") => value.is_array(),
        Some("string") => value.is_string(),
        Some("integer") => value.is_u64() || value.is_i64() && shape["minimum"].is_null(),
        Some("number") => value.is_number(),
        Some("boolean") => value.is_boolean(),
        Some("null") => value.is_null(),
        _ => false,
    };
    let has_type = match &shape["type"] {
        Value::Null => true,
        Value::Array(names) => names.iter().any(is_of),
        name => is_of(name),
    };
    if !has_type {
        fault("has another type");
    }
    for name in shape["required"].as_array().into_iter().flatten() {
        if value.get(name.as_str().expect("names are texts")).is_none() {
            found.push(format!("{path}: {name} is missing"));
        }
    }
    for (name, inner) in value.as_object().into_iter().flatten() {
        let shape = shape["properties"].get(name).or(shape.get("additionalProperties"));
        match shape {
            Some(shape) => faults(root, shape, inner, &format!("{path}/{name}"), found),
            None => found.push(format!("{path}: {name} is not in the schema")),
        }
    }
    for (place, inner) in value.as_array().into_iter().flatten().enumerate() {
        faults(root, &shape["items"], inner, &format!("{path}/{place}"), found);
    }
}

fn all_faults(value: &Value) -> Vec<String> {
    faults_by(&schema_of("result").expect("it has a schema"), value)
}

/// The violations of `schema` in `value`.
fn faults_by(schema: &Value, value: &Value) -> Vec<String> {
    let mut found = Vec::new();
    faults(schema, schema, value, "", &mut found);
    found.sort();
    found
}

#[test]
fn every_field_is_in_the_schema_and_every_required_field_is_there() {
    assert_eq!(all_faults(&parsed()), Vec::<String>::new());
}

#[test]
fn nodes_are_told_in_every_format() {
    let node = |name: &str, failed, silence| NodeSummary {
        number: 1,
        name: name.to_owned(),
        operations: 1_000,
        failed,
        silence,
        p99: Some(Nanos::from_millis(3)),
    };
    let until = Nanos::from_secs(4);
    let silence = Silence { from: Nanos::from_secs(2), until, is_cut_off: true };
    let nodes = vec![node("a:1", 0, None), node("b:1", 250, Some(silence))];
    let (facts, summary) = (sample::facts(), Summary { nodes, ..sample::summary() });
    let value: Value = serde_json::from_str(&json(&facts, &summary)).expect("the output is JSON");
    assert_eq!(all_faults(&value), Vec::<String>::new());
    assert_eq!(value["nodes"][1]["failed_share"], 0.25);
    assert_eq!(value["nodes"][1]["silence"]["from_ns"], 2_000_000_000u64);
    let table = crate::tables::nodes(&facts, &summary, crate::units::Letters::Ascii)
        .expect("there are two nodes");
    let expected = ["b:1", "1 000", "250", "25 %", ">= 2.00 s", "3.00 ms"];
    assert_eq!(table.rows()[1], expected);
    let page = crate::run(&facts, &summary, None).page();
    assert!(page.contains("<section id=\"nodes\"") && page.contains("b:1"));
}

#[test]
fn recoveries_and_checked_verdicts_are_as_the_schema_says() {
    let mut judged = crate::consistency::tests::stale();
    judged.check(true);
    let availability = Some(crate::recovery::tests::facts());
    let facts = crate::Facts { availability, consistency: Some(judged), ..sample::facts() };
    let value: Value =
        serde_json::from_str(&json(&facts, &sample::summary())).expect("the output is JSON");
    assert!(value["recovery"]["pooled"].is_array());
    assert_eq!(all_faults(&value), Vec::<String>::new());
}

/// Whether the texts, each one JSON object, conform to the schema of `name`.
fn check(name: &str, texts: &[&str]) {
    let schema = schema_of(name).expect("it has a schema");
    for text in texts {
        let mut value: Value = serde_json::from_str(text).expect("the output is JSON");
        assert_eq!(value["schema"], schema["$id"], "{name}");
        assert_eq!(faults_by(&schema, &value), Vec::<String>::new(), "{name}");
        value["surplus"] = Value::from(1);
        value.as_object_mut().expect("it is an object").remove("schema");
        assert_eq!(faults_by(&schema, &value).len(), 2, "{name}");
    }
}

#[test]
fn everything_that_is_printed_for_programs_is_as_its_schema_says() {
    let (facts, summary) = (crate::hallmark::tests::examined(), sample::summary());
    check("hallmark", &[&crate::hallmark::json(&facts).expect("it was examined")]);
    let lines = ndjson(&facts, &summary);
    check("interval", &lines.lines().take(3).collect::<Vec<_>>());
    use crate::tune::tests::{found, swept, untold};
    let tunes = [found(), swept(), untold()].map(|one| crate::tune::json(&one));
    check("tune", &tunes.each_ref().map(String::as_str));
    check("compare", &[&crate::compare::json(&crate::compare::tests::whole())]);
    check("consistency", &[&crate::consistency::json(&crate::consistency::tests::stale())]);
    check("repeat", &[&crate::repeated::json(&crate::compare::tests::repeated())]);
    check("mapping", &[&crate::mapping::json(&crate::mapping::tests::sample())]);
    assert_eq!(schema_of("nothing"), None);
}

#[test]
fn studies_are_as_their_schemas_say() {
    use crate::{anomalies, matrix, precision, study};
    check("study-result", &[&matrix::matrix_json(&matrix::tests::whole())]);
    check("study-co-result", &[&study::study_json(&study::tests::study(2.0))]);
    let precision = precision::precision_json(&precision::tests::study());
    check("study-benchfoundry-result", &[&precision]);
    let study = anomalies::tests::study(anomalies::tests::cell());
    check("anomalies-result", &[&anomalies::anomalies_json(&study)]);
}

/// The paths of properties below `shape` that have no description.
fn undescribed(shape: &Value, path: &str, found: &mut Vec<String>) {
    for (name, property) in shape["properties"].as_object().into_iter().flatten() {
        if property["description"].as_str().is_none_or(str::is_empty) {
            found.push(format!("{path}/{name}"));
        }
    }
    match shape {
        Value::Object(members) => members
            .iter()
            .for_each(|(name, inner)| undescribed(inner, &format!("{path}/{name}"), found)),
        Value::Array(items) => items.iter().for_each(|inner| undescribed(inner, path, found)),
        _ => {}
    }
}

#[test]
fn every_property_of_every_schema_is_described() {
    let mut found = Vec::new();
    for (name, schema) in SCHEMAS {
        undescribed(&schema(), name, &mut found);
    }
    assert_eq!(found, Vec::<String>::new());
}

#[test]
fn the_schema_refuses_what_is_wrong() {
    let mut value = parsed();
    value["overall"]["counts"]["done"] = Value::from("many");
    value["run"]["state"] = Value::from("lost");
    value["surplus"] = Value::from(1);
    value["load"].as_object_mut().expect("load is an object").remove("threads");
    assert_eq!(
        all_faults(&value),
        [
            "/load: \"threads\" is missing",
            "/overall/counts/done: has another type",
            "/run/state: is none of the enumerated texts",
            ": surplus is not in the schema",
        ]
    );
}

#[test]
fn figures_are_where_the_documentation_says() {
    let result = parsed();
    let at = |pointer: &str| result.pointer(pointer).cloned().unwrap_or(Value::Null);
    assert_eq!(at("/schema"), "assay/result/v2");
    assert_eq!(at("/kinds/read/hits/response/percentiles_ns/p99"), 1_287_000);
    assert_eq!(at("/kinds/read/hits/service/percentiles_ns/max"), 1_180_000);
    assert_eq!(at("/kinds/read/hits/response/confidence/p50/dependence"), 1.5);
    assert_eq!(at("/overall/counts/offered"), 600);
    assert_eq!(at("/run/seed"), "18446744073709551615");
    assert_eq!(at("/series/intervals/1/refused"), 4);
    assert_eq!(at("/series/intervals/0/done_by_kind/update"), 10);
}

#[test]
fn a_run_with_an_invalid_hallmark_is_not_ok() {
    use assay_analysis::hallmark::{Hallmark, Verdict};
    let (mut facts, mut summary) = (sample::facts(), sample::summary());
    (summary.overall.counts.refused, summary.overall.counts.unknown) = (0, 0);
    (summary.overall.counts.misses, summary.overall.counts.dropped) = (0, 0);
    summary.overall.rates.done_per_s = 200.0;
    (summary.availability.longest, summary.availability.outages) = (None, Vec::new());
    let verdict = |facts: &Facts| {
        let value: Value = serde_json::from_str(&json(facts, &summary)).expect("it is JSON");
        assert_eq!(all_faults(&value), Vec::<String>::new());
        let names = value["verdict"]["findings"].as_array().expect("there are findings").iter();
        let names: Vec<String> = names.map(|finding| finding["name"].to_string()).collect();
        (value["verdict"]["level"].to_string(), names.join(" "))
    };
    let pair = |level: &str, names: &str| (format!("\"{level}\""), format!("\"{names}\""));
    assert_eq!(verdict(&facts), pair("fine", "ok"));
    for (found, level, names) in [
        (Verdict::Invalid, "alarm", "hallmark"),
        (Verdict::NotAssessable, "caution", "hallmark"),
        (Verdict::ValidWithRemarks, "caution", "hallmark"),
        (Verdict::Valid, "fine", "ok"),
    ] {
        facts.hallmark = Some(Hallmark { verdict: found, ..Hallmark::default() });
        assert_eq!(verdict(&facts), pair(level, names));
    }
}

#[test]
fn a_percentile_without_an_interval_says_why() {
    let result = parsed();
    let at = |pointer: &str| result.pointer(pointer).cloned().unwrap_or(Value::Null);
    assert_eq!(at("/overall/hits/response/confidence/p99/no_interval"), "few-beyond");
    assert_eq!(at("/overall/hits/response/percentiles_ns/p99"), 1_372_800);
    assert_eq!(at("/overall/hits/response/confidence/p99.99/no_interval"), "none-beyond");
}

#[test]
fn an_empty_distribution_has_no_percentiles_and_no_nan() {
    let mut summary = sample::summary();
    summary.lag = sample::distribution(std::iter::empty());
    summary.overall.rates.offered_per_s = f64::NAN;
    let text = json(&sample::facts(), &summary);
    let value: Value = serde_json::from_str(&text).expect("the output is JSON");
    assert_eq!(value["lag"]["percentiles_ns"], serde_json::json!({}));
    assert_eq!(value["overall"]["rates"]["offered_per_s"], Value::Null);
}

#[test]
fn ndjson_has_a_line_for_each_interval_and_the_summary_last() {
    let text = ndjson(&sample::facts(), &sample::summary());
    let lines: Vec<Value> =
        text.lines().map(|line| serde_json::from_str(line).expect("each line is JSON")).collect();
    let types: Vec<&Value> = lines.iter().map(|line| &line["type"]).collect();
    assert_eq!(types, ["interval", "interval", "interval", "summary"]);
    assert_eq!(lines[1]["from_ns"], 2_000_000_000_u64);
    assert_eq!(lines[1]["schema"], INTERVAL_SCHEMA);
    assert_eq!(lines[3]["schema"], SCHEMA);
    assert_eq!(lines[3].get("series"), None);
}

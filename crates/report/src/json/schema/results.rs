//! The JSON Schemas of the other outputs.

use serde_json::{Value, json};

use super::{boolean, count, described, hallmark, interval, list_of, number, object, one_of};
use super::{or_null, quick, text};

/// The JSON Schema (draft 2020-12) of the object `name`; none if there is no such object.
pub fn schema_of(name: &str) -> Option<Value> {
    let (id, title, shape) = match name {
        "compare" => (crate::compare::SCHEMA, "Two set-ups side by side", compare()),
        "tune" => (crate::tune::SCHEMA, "A search for the highest rate, or a sweep", tune()),
        "consistency" => (crate::consistency::SCHEMA, "Verdicts on consistency", consistency()),
        "repeat" => (crate::repeated::SCHEMA, "The repeated runs of one set-up", repeat()),
        "interval" => (crate::json::INTERVAL_SCHEMA, "One line of ndjson", interval_line()),
        "hallmark" => (crate::hallmark::SCHEMA, "Whether a run is valid", hallmark()),
        _ => return None,
    };
    Some(document(id, title, shape))
}

/// The schema with its head.
fn document(id: &str, title: &str, mut shape: Value) -> Value {
    shape["$schema"] = json!("https://json-schema.org/draft/2020-12/schema");
    shape["$id"] = json!(id);
    shape["title"] = json!(title);
    shape["properties"]["schema"] = json!({ "const": id });
    shape
}

fn findings() -> Value {
    list_of(object(&[
        ("level", one_of(&["alarm", "caution", "fine"])),
        ("name", text()),
        ("text", text()),
    ]))
}

/// The ends of an interval, or nothing.
fn ends() -> Value {
    or_null(object(&[("low", or_null(number())), ("high", or_null(number()))]))
}

/// The fields of a figure's spread from run to run.
fn spread() -> Vec<(&'static str, Value)> {
    let mut fields = vec![("values", list_of(number()))];
    fields.extend(["median", "mean", "min", "max"].map(|name| (name, number())));
    fields.extend([("interval", ends()), ("variation", or_null(number()))]);
    fields
}

fn runs() -> Value {
    let texts = ["id", "title", "store", "load", "seed", "started", "command"];
    let mut fields: Vec<(&str, Value)> = texts.iter().map(|name| (*name, text())).collect();
    fields.push(("model", one_of(&["open", "closed"])));
    let states = ["finished", "interrupted", "unfinished", "repaired", "failed"];
    fields.push(("state", one_of(&states)));
    list_of(object(&fields))
}

pub(super) fn consistency() -> Value {
    let operation = [
        ("index", described(or_null(count()), "null: the load before the run")),
        ("session", or_null(count())),
        ("agent", count()),
        ("started_ns", count()),
        ("ended_ns", described(or_null(count()), "null: the outcome is not known")),
        ("outcome", text()),
        ("version_read", or_null(count())),
        ("version_written", or_null(count())),
        ("node", described(or_null(text()), "the node that answered; null: nobody said")),
        ("text", text()),
    ];
    let lost_writes = lost_writes(object(&[&operation[..], &[("key", text())]].concat()));
    let operation = object(&operation);
    let witness = object(&[
        ("anomaly", text()),
        ("edges", one_of(&["data", "session", "real-time"])),
        ("key", text()),
        ("margin_ns", described(count(), "the error of the clocks that would explain it")),
        ("operations", list_of(operation)),
    ]);
    let anomaly = object(&[("anomaly", text()), ("edges", text()), ("count", count())]);
    let bound = "share of the opportunities that are violations at most (95 %) if none was found";
    let power = object(&[
        ("opportunities", count()),
        ("judged", count()),
        ("unknown", count()),
        ("bound", described(number(), bound)),
    ]);
    let mut finding = object(&[
        ("quality", text()),
        ("verdict", one_of(&["violated", "none-found", "not-assessable"])),
        ("version_order", text()),
        ("power", or_null(power)),
    ]);
    finding["properties"]["violations"] = count();
    finding["properties"]["witnesses"] = list_of(witness);
    finding["properties"]["reason"] = text();
    let bin = object(&["from_ns", "until_ns", "reads", "visible"].map(|name| (name, count())));
    let counts = |names: &[&'static str]| names.iter().map(|name| (*name, count())).collect();
    let mut staleness: Vec<(&str, Value)> =
        counts(&["reads", "stale_reads", "oldest_ns", "most_behind", "longest_window_ns"]);
    staleness.push(("is_exact", boolean()));
    staleness.push(("visibility", list_of(bin)));
    staleness.push(("stale_per_second", list_of(list_of(count()))));
    let check = verdict_check();
    let left_out: Vec<(&str, Value)> =
        counts(&["of_several_records", "removed_records", "ambiguous_records"]);
    object(&[
        ("schema", text()),
        ("source", text()),
        ("title", text()),
        ("operations", count()),
        ("transactions", count()),
        ("record_share", number()),
        ("warnings", list_of(text())),
        ("checks", list_of(check)),
        ("anomalies", list_of(anomaly)),
        ("weakest_violated", list_of(text())),
        ("left_out", object(&left_out)),
        ("findings", list_of(finding)),
        ("lost_writes", lost_writes),
        ("gamma_ns", count()),
        ("delta_ns", count()),
        ("staleness", object(&staleness)),
    ])
}

fn verdict_check() -> Value {
    let mut check = object(&[
        ("id", one_of(&["D1", "D2", "D3", "D4", "D5", "D6", "D7"])),
        ("outcome", one_of(&["passed", "remark", "failed", "unknown"])),
        ("text", text()),
        ("undermines", described(list_of(text()), "the qualities whose silence is no evidence")),
    ]);
    check["properties"]["self_test_hash"] = text();
    check
}

fn lost_writes(lost_write: Value) -> Value {
    let window = object(&["first_ns", "last_ns", "writes"].map(|name| (name, count())));
    object(&[
        ("count", count()),
        ("windows", list_of(window)),
        ("first", described(list_of(lost_write), "at most a thousand, by time")),
    ])
}

/// States over time and recoveries from faults.
pub(super) fn recovery() -> Value {
    let pair = || or_null(list_of(number()));
    let time_to = || {
        let observed = "the time, or as much of it as was observed if it is censored";
        object(&[("ns", described(count(), observed)), ("is_censored", boolean())])
    };
    let times = || {
        object(&[
            ("censored", count()),
            ("median_ns", or_null(count())),
            ("mean_ns", count()),
            ("mean_interval_ns", pair()),
            ("is_lower_bound", boolean()),
            ("max", time_to()),
        ])
    };
    let spread = || object(&["median", "mean", "max"].map(|name| (name, number())));
    let pooled = object(&[
        ("sort", text()),
        ("injections", count()),
        ("ttr90", times()),
        ("p99_back", times()),
        ("detection_s", or_null(spread())),
        ("lost_s", spread()),
    ]);
    object(&[
        ("baseline", recovery_baseline()),
        ("states", states()),
        ("injections", list_of(injection(&time_to))),
        ("pooled", list_of(pooled)),
        ("what_if", or_null(what_if())),
        ("consistability", or_null(consistability())),
    ])
}

fn recovery_baseline() -> Value {
    object(&[
        ("part", one_of(&["whole", "before-faults", "after-faults", "with-faults"])),
        ("from_ns", count()),
        ("until_ns", count()),
        ("in_time_per_s", number()),
        ("in_time_per_s_interval", or_null(list_of(number()))),
        ("in_time_share", number()),
        ("done_per_s", number()),
        ("p99_ns", count()),
    ])
}

/// A share for each state of a service that is in use.
fn state_shares() -> Value {
    object(&["up", "degraded", "down"].map(|name| (name, number())))
}

fn states() -> Value {
    let names = one_of(&["up", "degraded", "down", "idle"]);
    let reasons = described(
        list_of(one_of(&["goodput", "errors", "p99"])),
        "why it is not up: of one of its intervals the goodput is below 90 % of what is expected, \
         over 1 % of the operations failed, p99 is over three times that of the baseline",
    );
    let stretch = object(&[
        ("from_ns", count()),
        ("until_ns", count()),
        ("state", names),
        ("reasons", reasons),
    ]);
    object(&[("width_ns", count()), ("shares", state_shares()), ("stretches", list_of(stretch))])
}

fn injection(time_to: &dyn Fn() -> Value) -> Value {
    object(&[
        ("fault", text()),
        ("sort", text()),
        ("at_ns", count()),
        ("applied_at_ns", or_null(count())),
        ("mending_at_ns", or_null(count())),
        ("mended_at_ns", or_null(count())),
        ("observed_until_ns", count()),
        ("first_error_ns", described(or_null(count()), "since the fault, as all that follow")),
        ("detection_ns", or_null(count())),
        ("first_success", or_null(time_to())),
        ("ttr90", time_to()),
        ("ttr90_after_mending_ns", or_null(count())),
        ("p99_back", time_to()),
        ("lost_operations", number()),
        ("lost_s", number()),
        (
            "lost_writes",
            described(
                or_null(count()),
                "acknowledged writes of its time that final reads did not find; null without them",
            ),
        ),
        ("burst_ratio", or_null(number())),
        ("resolution_ns", count()),
    ])
}

fn what_if() -> Value {
    let fault = object(&[
        ("fault", text()),
        ("per_year", number()),
        ("injections", count()),
        ("mean_s", or_null(number())),
        ("is_lower_bound", boolean()),
    ]);
    object(&[
        ("faults", list_of(fault)),
        ("unavailable_s_per_year", or_null(number())),
        ("unavailable_s_per_year_interval", or_null(list_of(number()))),
        ("lost_s_per_year", or_null(number())),
        ("availability", or_null(number())),
        ("is_lower_bound", boolean()),
    ])
}

fn consistability() -> Value {
    let row = object(&[
        ("class", text()),
        ("time_shares", state_shares()),
        ("violations", count()),
        ("is_lower_bound", boolean()),
    ]);
    object(&[("no_violation", state_shares()), ("violated", list_of(row))])
}

fn compare() -> Value {
    let side = || object(&[("name", text()), ("runs", runs())]);
    let difference = object(&[
        ("what", text()),
        ("base", text()),
        ("new", text()),
        ("weight", one_of(&["question", "place", "slight"])),
    ]);
    let condition = object(&[
        ("text", text()),
        ("judgement", one_of(&["met", "unsure", "not-met", "unknown", "withdrawn"])),
    ]);
    let findings_of_rows = ["higher", "lower", "same", "open", "too-few", "absent", "withdrawn"];
    let effect = "a ratio, or a difference of shares; null if a side lacks the figure";
    let row = object(&[
        ("figure", text()),
        ("requested", described(boolean(), "whether the verdict is about it")),
        ("scale", one_of(&["ratio", "difference"])),
        ("base", or_null(object(&spread()))),
        ("new", or_null(object(&spread()))),
        ("effect", described(or_null(number()), effect)),
        ("interval", ends()),
        ("finding", one_of(&findings_of_rows)),
    ]);
    object(&[
        ("schema", text()),
        ("findings", findings()),
        ("base", side()),
        ("new", side()),
        ("differences", list_of(difference)),
        ("conditions", list_of(condition)),
        ("basis", one_of(&["runs", "within-run"])),
        ("is_judged", described(boolean(), "whether BASE and NEW are like for like, or forced")),
        ("confidence", number()),
        ("level", number()),
        ("minimum", number()),
        ("minimum_share", number()),
        ("figures", list_of(row)),
    ])
}

fn repeat() -> Value {
    let mut figure = spread();
    figure.push(("figure", text()));
    object(&[
        ("schema", text()),
        ("findings", findings()),
        ("wanted", count()),
        ("meeting", text()),
        ("command", text()),
        ("runs", runs()),
        ("figures", list_of(object(&figure))),
    ])
}

fn tune() -> Value {
    let states = [
        "found",
        "below-floor",
        "cannot-tell",
        "too-many-steps",
        "non-monotone",
        "swept",
        "interrupted",
    ];
    let rate = |words: &str| described(or_null(number()), words);
    let known = object(&[
        ("held_per_s", rate("the highest rate that is known to hold")),
        ("failed_per_s", rate("the lowest rate above it that was shown to fail")),
        ("unknown_per_s", rate("the lowest rate between the two that no step could tell")),
    ]);
    let search = object(&[
        ("min_per_s", number()),
        ("max_per_s", or_null(number())),
        ("within", number()),
        ("confirmations", count()),
        ("exceeded_by_step", or_null(count())),
        ("is_ceiling", boolean()),
    ]);
    let sweep = object(&[
        ("from_per_s", number()),
        ("to_per_s", number()),
        ("points", count()),
        ("spread", one_of(&["lin", "log"])),
    ]);
    let knee = object(&[("rate_per_s", number()), ("latency_ns", number())]);
    let texts = ["schema", "title", "command", "dir", "store", "load", "machine", "version"];
    let mut fields: Vec<(&str, Value)> = texts.iter().map(|name| (*name, text())).collect();
    fields.extend([
        ("seed", count()),
        ("objective", list_of(text())),
        ("state", one_of(&states)),
        ("rate_per_s", rate("the sustained rate; of a sweep the highest up to which all hold")),
        ("interval", known),
        ("search", or_null(search)),
        ("sweep", or_null(sweep)),
        ("knee", or_null(knee)),
        ("inversions", list_of(list_of(count()))),
        ("steps", list_of(step())),
        ("warnings", list_of(text())),
    ]);
    object(&fields)
}

fn step() -> Value {
    let verdict = || one_of(&["held", "violated", "unknown"]);
    let term = object(&[
        ("name", text()),
        ("latency_ns", or_null(count())),
        ("share", or_null(number())),
        ("count", count()),
        ("over", count()),
        ("needed", count()),
        ("dependence", number()),
        ("verdict", verdict()),
    ]);
    let reasons = [
        "objective",
        "undecided",
        "overload",
        "backlog",
        "short",
        "rate",
        "hallmark",
        "client",
        "broken",
    ];
    let check = "the check of the hallmark by which the client was not fit to measure";
    let reason =
        object(&[("reason", one_of(&reasons)), ("check", described(or_null(text()), check))]);
    let counts = ["step", "length", "p50_ns", "p99_ns", "p999_ns", "lag_p99_ns"];
    let mut fields: Vec<(&str, Value)> = counts.iter().map(|name| (*name, count())).collect();
    let numbers = ["rate_per_s", "seconds", "offered_per_s", "done_per_s"];
    fields.extend(numbers.map(|name| (name, number())));
    fields.extend([
        ("purpose", one_of(&["climb", "bisect", "confirm", "exceed", "sweep"])),
        ("verdict", verdict()),
        ("terms", list_of(term)),
        ("reasons", list_of(reason)),
    ]);
    object(&fields)
}

fn interval_line() -> Value {
    let mut shape = interval();
    let own = [("type", json!({ "const": "interval" })), ("schema", text())];
    for (name, field) in own.into_iter().chain([("run_id", text()), ("width_ns", count())]) {
        shape["properties"][name] = field;
        shape["required"].as_array_mut().expect("an object names its fields").push(json!(name));
    }
    shape["$defs"] = json!({ "quick": quick() });
    shape
}

//! The JSON Schemas of the output for programs, that of the result object first.

mod results;

pub use results::schema_of;

use serde_json::{Map, Value, json};

/// The JSON Schema (draft 2020-12) of what [`json`](super::json) prints.
///
/// Every field that is printed is named and required (save `series`, which the last line of
/// [`ndjson`](super::ndjson) leaves out); later versions of the same schema may add fields.
pub fn json_schema() -> Value {
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": super::SCHEMA,
        "title": "The result of one run",
        "type": "object",
        "required": [
            "schema", "verdict", "hallmark", "run", "store", "load", "window", "overall", "kinds",
            "transactions", "lag", "value_checks", "in_flight", "availability", "events"
        ],
        "properties": {
            "schema": { "const": super::SCHEMA },
            "verdict": verdict(),
            "hallmark": or_null(hallmark()),
            "run": run(),
            "store": store(),
            "load": load(),
            "window": window(),
            "overall": reference("group"),
            "kinds": map_of(reference("group")),
            "transactions": map_of(reference("transactions")),
            "all_transactions": reference("group"),
            "queries": map_of(reference("query")),
            "processes": reference("transactions"),
            "lag": reference("distribution"),
            "value_checks": object(&[
                ("right", count()),
                ("wrong", count()),
                ("empty", count()),
                ("time", reference("distribution")),
            ]),
            "in_flight": object(&[
                ("by_service", reference("plausibility")),
                ("by_response", reference("plausibility")),
                ("mean_integrated", number()),
                ("peak_interval_mean", number()),
                ("agrees", boolean()),
            ]),
            "availability": availability(),
            "held_back": held_back(),
            "findings": list_of(rule()),
            "figures": list_of(object(&[
                ("name", text()),
                ("value", number()),
                ("note", text()),
            ])),
            "consistency": results::consistency(),
            "recovery": results::recovery(),
            "events": list_of(object(&[
                ("at_ns", count()),
                ("kind", one_of(&["phase", "fault", "change", "warning"])),
                ("text", text()),
            ])),
            "effects": list_of(effect()),
            "nodes": list_of(node()),
            "agents": list_of(agent()),
            "servers": list_of(server()),
            "scraped": list_of(scraped()),
            "series": object(&[
                ("from_ns", count()),
                ("width_ns", count()),
                ("intervals", list_of(reference("interval"))),
            ]),
        },
        "$defs": definitions(),
    })
}

fn effect() -> Value {
    let level = || {
        or_null(object(&[
            ("done_per_s", number()),
            ("p50_ns", or_null(count())),
            ("p99_ns", or_null(count())),
            ("failed_share", number()),
        ]))
    };
    object(&[
        ("text", text()),
        ("at_ns", count()),
        ("is_simulated", json!({ "type": "boolean" })),
        ("first_ns", or_null(count())),
        ("last_ns", or_null(count())),
        ("stop", or_null(silence())),
        ("is_at_rest", json!({ "type": "boolean" })),
        ("before", level()),
        ("after", level()),
    ])
}

fn node() -> Value {
    object(&[
        ("name", text()),
        ("operations", count()),
        ("failed", count()),
        ("failed_share", number()),
        ("silence", or_null(silence())),
        ("p99_ns", or_null(count())),
    ])
}

fn rule() -> Value {
    object(&[
        ("name", text()),
        ("rule", text()),
        ("verdict", one_of(&["held", "violated"])),
        ("text", text()),
    ])
}

fn agent() -> Value {
    object(&[
        ("agent", count()),
        ("host", text()),
        ("threads", count()),
        ("offered", count()),
        ("done_per_s", number()),
        ("p50_ns", or_null(count())),
        ("p99_ns", or_null(count())),
        ("lag_p99_ns", or_null(count())),
        ("start_least_ns", or_null(number())),
        ("start_most_ns", or_null(number())),
    ])
}

fn scraped() -> Value {
    object(&[
        ("source", text()),
        ("metric", text()),
        ("part", text()),
        ("per_second", json!({ "type": "boolean" })),
        ("least", number()),
        ("mean", number()),
        ("most", number()),
        ("most_at_ns", count()),
    ])
}

fn server() -> Value {
    let figure = |name| (name, or_null(number()));
    object(&[
        ("name", text()),
        figure("processors"),
        figure("processors_max"),
        figure("memory_bytes"),
        figure("disk_read_bytes_per_s"),
        figure("disk_written_bytes_per_s"),
        figure("received_bytes_per_s"),
        figure("sent_bytes_per_s"),
    ])
}

fn definitions() -> Value {
    let transactions = object(&[
        ("unfinished", count()),
        ("counts", reference("counts")),
        ("rates", reference("rates")),
        ("hits", reference("latency")),
        ("misses", reference("latency")),
        ("failed", reference("latency")),
    ]);
    let query = object(&[
        ("number", count()),
        ("requests_mean", number()),
        ("counts", reference("counts")),
        ("rates", reference("rates")),
        ("hits", reference("latency")),
        ("misses", reference("latency")),
        ("failed", reference("latency")),
    ]);
    json!({
        "group": object(&[
            ("counts", reference("counts")),
            ("rates", reference("rates")),
            ("hits", reference("latency")),
            ("misses", reference("latency")),
            ("failed", reference("latency")),
        ]),
        "transactions": transactions,
        "query": query,
        "counts": counts(),
        "rates": object(&[
            ("target_per_s", or_null(number())),
            ("offered_per_s", number()),
            ("attempted_per_s", number()),
            ("done_per_s", number()),
            ("goodput_per_s", number()),
            ("reached", number()),
        ]),
        "latency": object(&[
            ("response", reference("distribution")),
            ("service", reference("distribution")),
            ("lag", reference("distribution")),
        ]),
        "distribution": distribution(),
        "plausibility": object(&[
            ("lambda_per_s", number()),
            ("mean_ns", count()),
            ("little_l", number()),
            ("limit", or_null(number())),
            ("verdict", one_of(&["held", "violated", "unknown"])),
        ]),
        "interval": interval(),
        "quick": quick(),
    })
}

fn quick() -> Value {
    described(
        object(&[
            ("count", count()),
            ("p50_ns", count()),
            ("p90_ns", count()),
            ("p99_ns", count()),
            ("p999_ns", count()),
            ("max_ns", described(count(), "the largest value, exactly")),
        ]),
        "percentiles of one interval: upper edges of buckets of 1/32 octave, at most 3.2 % too \
         high and never above max_ns, which is exact",
    )
}

fn verdict() -> Value {
    let finding =
        [("level", one_of(&["alarm", "caution", "fine"])), ("name", text()), ("text", text())];
    let mut worst = finding.to_vec();
    worst.push(("findings", list_of(object(&finding))));
    object(&worst)
}

/// What `hallmark.json` holds.
fn hallmark() -> Value {
    let verdicts = ["pass", "remark", "fail", "not-applicable", "not-assessable"];
    let whole = ["valid", "valid-with-remarks", "invalid", "not-assessable"];
    let measure = object(&[
        ("statistic", text()),
        ("figure", or_null(text())),
        ("unit", one_of(&["share", "ratio", "count", "seconds"])),
        ("value", number()),
        ("verdict", one_of(&verdicts)),
        ("bound", or_null(one_of(&["at-most", "at-least"]))),
        ("pass", or_null(number())),
        ("fail", or_null(number())),
    ]);
    let check = object(&[
        ("id", text()),
        ("name", text()),
        ("verdict", one_of(&verdicts)),
        ("why", or_null(text())),
        ("because_of", or_null(text())),
        ("measures", list_of(measure)),
        ("unobserved", list_of(text())),
        ("withdraws", list_of(text())),
    ]);
    let change = object(&[
        ("at_ns", count()),
        ("figure", text()),
        ("before", number()),
        ("after", number()),
        ("is_explained", boolean()),
    ]);
    let changed = object(&[("name", text()), ("value", number()), ("usual", number())]);
    object(&[
        ("schema", json!({ "const": crate::hallmark::SCHEMA })),
        ("verdict", one_of(&whole)),
        ("line", described(text(), "the first line of every report")),
        ("reasons", list_of(text())),
        ("checks", list_of(check)),
        ("percentiles", list_of(certified())),
        ("changes", list_of(change)),
        ("period_ns", or_null(count())),
        ("thresholds_changed", list_of(changed)),
        ("noise_floor_ns", map_of(count())),
    ])
}

fn certified() -> Value {
    object(&[
        ("figure", text()),
        ("quantile", number()),
        ("value_ns", count()),
        ("low_ns", or_null(count())),
        ("high_ns", or_null(count())),
        ("dependence", or_null(number())),
        ("further_seconds", or_null(number())),
        ("beyond", or_null(number())),
        ("without_hiccups_ns", or_null(count())),
        ("withdrawn_by", list_of(text())),
    ])
}

fn run() -> Value {
    object(&[
        ("id", text()),
        ("title", text()),
        ("command", text()),
        ("seed", described(text(), "the 64-bit seed in decimal digits")),
        ("spec", text()),
        ("trace_hash_planned", or_null(text())),
        ("trace_hash_executed", or_null(text())),
        ("state", one_of(&["finished", "interrupted", "unfinished", "repaired", "failed"])),
        ("state_reason", or_null(text())),
        ("started", text()),
        ("started_unix_ms", count()),
        ("machine", text()),
        ("assay_version", text()),
        (
            "phases",
            list_of(object(&[
                ("phase", one_of(&["load", "warm-up", "measure", "final-read"])),
                ("began_ns", count()),
                ("ended_ns", count()),
            ])),
        ),
    ])
}

fn store() -> Value {
    let setting = object(&[("name", text()), ("value", text()), ("meaning", text())]);
    object(&[
        ("name", text()),
        ("url", described(text(), "without secrets")),
        ("is_no_op", boolean()),
        ("settings", list_of(setting)),
    ])
}

fn load() -> Value {
    object(&[
        ("model", one_of(&["open", "closed"])),
        ("text", text()),
        ("rate_per_s", or_null(number())),
        ("in_flight_limit", or_null(count())),
        ("sessions", count()),
        ("threads", count()),
    ])
}

fn window() -> Value {
    object(&[
        ("from_ns", count()),
        ("until_ns", count()),
        ("duration_ns", described(count(), "what rates refer to")),
        ("span_ns", described(count(), "first intended to last ended")),
        ("is_balanced", boolean()),
        ("backward_times", count()),
        ("excluded", map_of(count())),
    ])
}

fn counts() -> Value {
    let names = [
        "offered",
        "done",
        "refused",
        "unknown",
        "dropped",
        "hits",
        "misses",
        "good",
        "bytes_in",
        "bytes_out",
        "rows",
        "found_without_version",
    ];
    let mut fields: Vec<(&str, Value)> = names.iter().map(|name| (*name, count())).collect();
    let reason = object(&[
        ("outcome", one_of(&["refused", "unknown", "dropped"])),
        ("reason", text()),
        ("count", count()),
    ]);
    fields.push(("reasons", list_of(reason)));
    object(&fields)
}

fn distribution() -> Value {
    let known = object(&[("low_ns", count()), ("high_ns", count()), ("dependence", number())]);
    let shortages = ["none-beyond", "few-beyond", "dependent", "few-batches"];
    let too_few = object(&[("no_interval", one_of(&shortages)), ("further_seconds", number())]);
    object(&[
        ("count", count()),
        ("saturated", count()),
        ("mean_ns", count()),
        ("stddev_ns", count()),
        ("min_ns", count()),
        ("max_ns", count()),
        ("percentiles_ns", map_of(count())),
        ("confidence", map_of(json!({ "anyOf": [known, too_few] }))),
    ])
}

fn availability() -> Value {
    object(&[
        ("success_ratio", number()),
        ("by_kind", map_of(number())),
        ("deadline_ns", count()),
        ("in_time_ratio", described(number(), "the share of arrivals answered by the deadline")),
        ("late", described(count(), "how many were answered after the deadline")),
        ("threshold_ns", count()),
        ("down_ns", count()),
        ("mean_outage_ns", or_null(count())),
        ("up_share", number()),
        ("baseline_per_s", number()),
        (
            "outages",
            list_of(object(&[
                ("from_ns", count()),
                ("until_ns", count()),
                ("failures", count()),
                ("is_cut_off", boolean()),
                ("recovered_after_ns", or_null(count())),
            ])),
        ),
        ("silence_threshold_ns", count()),
        ("longest_silence", or_null(silence())),
        ("silences", list_of(silence())),
    ])
}

fn held_back() -> Value {
    let found = object(&[("operations", count()), ("own_lag", reference("distribution"))]);
    described(
        or_null(found),
        "arrivals that waited, or were dropped, because as many as can be in flight were \
         unanswered; own_lag is the lag of all operations without those waits",
    )
}

/// A stretch in which no response came although an operation waited for one.
fn silence() -> Value {
    object(&[("from_ns", count()), ("until_ns", count()), ("is_cut_off", boolean())])
}

fn interval() -> Value {
    let counts = ["from_ns", "offered", "done", "misses", "refused", "unknown", "dropped"];
    let mut fields: Vec<(&str, Value)> = counts.iter().map(|name| (*name, count())).collect();
    fields.push(("done_by_kind", map_of(count())));
    fields.extend(["in_flight", "in_system"].map(|name| (name, number())));
    let latencies = ["response", "service", "lag", "miss_response"];
    fields.extend(latencies.map(|name| (name, reference("quick"))));
    object(&fields)
}

/// An object in which every one of `fields` is required.
fn object(fields: &[(&str, Value)]) -> Value {
    let required: Vec<&str> = fields.iter().map(|(name, _)| *name).collect();
    let properties: Map<String, Value> =
        fields.iter().map(|(name, shape)| ((*name).to_owned(), shape.clone())).collect();
    json!({ "type": "object", "required": required, "properties": properties })
}

fn map_of(values: Value) -> Value {
    json!({ "type": "object", "additionalProperties": values })
}

fn list_of(items: Value) -> Value {
    json!({ "type": "array", "items": items })
}

fn one_of(texts: &[&str]) -> Value {
    json!({ "enum": texts })
}

fn reference(name: &str) -> Value {
    json!({ "$ref": format!("#/$defs/{name}") })
}

fn described(mut shape: Value, words: &str) -> Value {
    shape["description"] = Value::from(words);
    shape
}

fn or_null(shape: Value) -> Value {
    json!({ "anyOf": [shape, { "type": "null" }] })
}

fn count() -> Value {
    json!({ "type": "integer", "minimum": 0 })
}

fn number() -> Value {
    json!({ "type": "number" })
}

fn text() -> Value {
    json!({ "type": "string" })
}

fn boolean() -> Value {
    json!({ "type": "boolean" })
}

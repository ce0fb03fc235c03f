//! Manifests of earlier releases, brought to what this one writes.
//!
//! They had other names, and kept what the load was and what had become of it as text by name, all
//! in `load.settings`.

use toml::{Table, Value};

use super::load::stretches;

/// Words in the text of the load that have changed.
// tidy: allow words: they are what is looked for.
const OLD_WORDS: [(&str, &str); 3] = [
    ("; patience ", "; timeout "),
    (" workers per lane", " blocking threads per worker"),
    ("; in told time", "; in simulated time"),
];

/// The simulated store's former name, and its present one.
const OLD_STORE: (&str, &str) = ("sick", "sim");

/// Settings of the load that had another name.
const OLD_SETTINGS: [(&str, &str); 4] = [
    ("pace", "target-throughput"),
    ("workers", "blocking-threads"),
    ("asked_all", "issued_all"),
    ("lane_cpu_ns", "worker_cpu_ns"),
];

/// What a text in `load.settings` became.
#[derive(Clone, Copy)]
enum Form {
    Text,
    Whole,
    Number,
    /// A length of time; its new name ends in `_ns` or `-ns`.
    Length(&'static str),
    Truth,
    Changes,
}

/// What is in `load.settings` still, with its type.
const SETTINGS: [(&str, Form); 13] = [
    ("phase", Form::Text),
    ("rate", Form::Text),
    ("speed", Form::Number),
    ("arrivals", Form::Text),
    ("in-flight", Form::Whole),
    ("in-flight-bound", Form::Whole),
    ("overflow", Form::Text),
    ("closed", Form::Whole),
    ("target-throughput", Form::Number),
    ("timeout", Form::Length("timeout-ns")),
    ("deadline", Form::Length("deadline-ns")),
    ("blocking-threads", Form::Whole),
    ("cpu-list", Form::Text),
];

/// What is in `execution` now.
const EXECUTION: [(&str, Form); 10] = [
    ("issued_all", Form::Truth),
    ("executed_hash", Form::Text),
    ("planned_rate", Form::Number),
    ("queued", Form::Whole),
    ("held_back", Form::Text),
    ("late_answers", Form::Whole),
    ("in_flight_max", Form::Whole),
    ("worker_cpu_ns", Form::Whole),
    ("final_reads", Form::Whole),
    ("rate_changes", Form::Changes),
];

/// What is true or false of a store.
const CAPABILITIES: [&str; 3] = ["no_op", "persistent", "keeps_other_fields"];

/// Brings a manifest up to date; one that is stays as it is. A text that says nothing is left out.
pub(super) fn upgrade(manifest: &mut Table) {
    if let Some(load) = manifest.get_mut("load").and_then(Value::as_table_mut) {
        let mut execution = Table::new();
        words(load);
        if let Some(settings) = load.get_mut("settings").and_then(Value::as_table_mut) {
            take_apart(settings, &mut execution);
        }
        if !execution.is_empty() {
            manifest.entry("execution").or_insert(Value::Table(execution));
        }
    }
    if let Some(store) = manifest.get_mut("store").and_then(Value::as_table_mut) {
        rename_store(store);
        if let Some(capabilities) = store.get_mut("capabilities").and_then(Value::as_table_mut) {
            for name in CAPABILITIES {
                if let Some((_, value)) = taken(capabilities, name, Form::Truth) {
                    capabilities.insert(name.to_owned(), value);
                }
            }
        }
    }
}

fn words(load: &mut Table) {
    if let Some(Value::String(text)) = load.get_mut("text") {
        for (old, new) in OLD_WORDS {
            *text = text.replace(old, new);
        }
    }
}

fn take_apart(settings: &mut Table, execution: &mut Table) {
    for (old, new) in OLD_SETTINGS {
        if let Some(value) = settings.remove(old) {
            settings.entry(new).or_insert(value);
        }
    }
    for (name, form) in SETTINGS {
        if let Some((name, value)) = taken(settings, name, form) {
            settings.insert(name.to_owned(), value);
        }
    }
    for (name, form) in EXECUTION {
        if let Some((name, value)) = taken(settings, name, form) {
            execution.insert(name.to_owned(), value);
        }
    }
    // How time passed had two words.
    if let Some(time) = settings.remove("time") {
        let is_simulated = matches!(time.as_str(), Some("simulated" | "told"));
        settings.insert("simulated-time".to_owned(), Value::Boolean(is_simulated));
    }
    if settings.get("tune").is_some_and(Value::is_str) {
        let mut tune = Table::new();
        for (old, form, new) in [
            ("tune", Form::Text, "directory"),
            ("tune_step", Form::Whole, "step"),
            ("tune_purpose", Form::Text, "purpose"),
        ] {
            if let Some((_, value)) = taken(settings, old, form) {
                tune.insert(new.to_owned(), value);
            }
        }
        settings.insert("tune".to_owned(), Value::Table(tune));
    }
}

/// Takes a text out of `settings`, with its name and type of today. What is no text stays.
fn taken<'n>(settings: &mut Table, name: &'n str, form: Form) -> Option<(&'n str, Value)> {
    let Value::String(text) = settings.get(name)?.clone() else { return None };
    settings.remove(name);
    let value = match form {
        Form::Text if name == "held_back" && stretches::parse(&text).is_none() => None,
        Form::Text => Some(Value::String(text)),
        Form::Whole => text.parse().ok().map(Value::Integer),
        Form::Number => text.parse().ok().map(Value::Float),
        Form::Length(new) => {
            let length = humantime::parse_duration(&text).ok()?;
            return Some((new, Value::Integer(length.as_nanos().try_into().ok()?)));
        }
        Form::Truth => text.parse().ok().map(Value::Boolean),
        Form::Changes => changes(&text).map(Value::Array),
    };
    Some((name, value?))
}

/// Changes of the rate from `at_ns@rate,…`.
fn changes(text: &str) -> Option<Vec<Value>> {
    let change = |text: &str| {
        let (at, rate) = text.split_once('@')?;
        let mut change = Table::new();
        change.insert("at_ns".to_owned(), Value::Integer(at.parse().ok()?));
        change.insert("rate".to_owned(), Value::Float(rate.parse().ok()?));
        Some(Value::Table(change))
    };
    text.split(',').filter(|text| !text.is_empty()).map(change).collect()
}

fn rename_store(store: &mut Table) {
    let (old, new) = OLD_STORE;
    if store.get("name").and_then(Value::as_str) != Some(old) {
        return;
    }
    store.insert("name".to_owned(), Value::String(new.to_owned()));
    if let Some(Value::String(url)) = store.get_mut("url")
        && let Some(rest) = url.strip_prefix(old).filter(|rest| rest.starts_with(':'))
    {
        *url = format!("{new}{rest}");
    }
    let settings = store.get_mut("settings").and_then(Value::as_array_mut);
    for setting in settings.into_iter().flatten().filter_map(Value::as_table_mut) {
        if setting.get("name").and_then(Value::as_str) == Some(old) {
            setting.insert("name".to_owned(), Value::String(new.to_owned()));
        }
    }
}

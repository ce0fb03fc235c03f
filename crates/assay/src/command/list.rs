//! The verbs that print what we have: workloads, settings, schemas, completions.

use std::fmt::Write as _;

use anyhow::{Context, Result};
use assay_drivers::registry;
use assay_study::anomalies::file::AnomalyFile;
use assay_study::file::StudyFile;
use assay_workload::script::{ScriptName, ScriptSpec};
use assay_workload::{Spec, builtin};
use clap::{ArgMatches, Args, FromArgMatches};

use crate::atomic_file;
use crate::exit::{Exit, as_usage, usage};
use crate::options::{KEYS, Options, Origin};
use crate::show::finish;

/// `assay workloads ls|show|copy`.
pub fn workloads(matches: &ArgMatches) -> Result<Exit> {
    let Some((verb, matches)) = matches.subcommand() else { return Ok(Exit::Usage) };
    if verb == "ls" {
        let mut text = String::new();
        let expected = matches.get_one::<String>("name").map_or("", String::as_str);
        list(expected, &mut text)?;
        return finish(&text);
    }
    let name = matches.get_one::<String>("name").context("a name is needed")?;
    let entry = builtin::find(name).map_err(as_usage)?;
    if verb == "show" {
        return finish(entry.text);
    }
    let ending = match entry.form {
        builtin::SpecFormat::Properties => "properties",
        builtin::SpecFormat::Toml => "toml",
    };
    let usual = format!("{}.{ending}", entry.name);
    copy(entry.text, matches.get_one::<String>("to").unwrap_or(&usual))
}

/// Writes a built-in text to a new file, and prints the file's name.
pub fn copy(text: &str, path: &str) -> Result<Exit> {
    if std::path::Path::new(path).exists() {
        return Err(usage(format!("{path} is there already; name another file")));
    }
    atomic_file::write_text(std::path::Path::new(path), text)?;
    finish(&format!("{path}\n"))
}

/// The workloads whose names begin with `expected`; large families as one line by default.
fn list(expected: &str, text: &mut String) -> Result<()> {
    let family = |name: &str| {
        let mut families = builtin::FAMILIES.into_iter();
        families.find(|(family, _)| expected.is_empty() && name.starts_with(family))
    };
    let mut lines: Vec<(String, String)> = Vec::new();
    for entry in builtin::all().filter(|entry| entry.name.starts_with(expected)) {
        let line = match family(entry.name) {
            None => (entry.name.to_owned(), entry.description.to_owned()),
            Some((name, description)) => {
                let all = format!("{description}; `assay workloads ls {name}` lists them");
                (format!("{name}N"), all)
            }
        };
        if lines.last() != Some(&line) {
            lines.push(line);
        }
    }
    let Some(width) = lines.iter().map(|(name, _)| name.len()).max() else {
        return Err(usage(format!("no built-in workload begins with {expected:?}")));
    };
    for (name, description) in lines {
        let _ = writeln!(text, "{name:<width$} {description}");
    }
    Ok(())
}

/// What can be typed besides settings.
#[derive(Args, Debug)]
#[command(about = "Print them with their origins: flag, environment, file or default")]
pub struct ConfigArgs {
    /// Also settings without a value
    #[arg(long, alias = "origin")]
    all: bool,
}

/// `assay config show`.
pub fn config(matches: &ArgMatches) -> Result<Exit> {
    let Some((_, matches)) = matches.subcommand() else { return Ok(Exit::Usage) };
    let options = Options::gather(matches)?;
    let shows_all = ConfigArgs::from_arg_matches(matches)?.all;
    let width = KEYS.iter().map(|key| key.name.len()).max().unwrap_or_default();
    let mut text = String::new();
    for setting in options.all() {
        if setting.text().is_none() && !shows_all {
            continue;
        }
        let value = registry::without_secrets(setting.text().unwrap_or_default());
        let origin = match setting.origin() {
            None => "not set".to_owned(),
            Some(Origin::File(path)) => format!("file {}", path.display()),
            Some(other) => other.to_string(),
        };
        let _ = writeln!(text, "{:<width$} = {value:<24} # {origin}", setting.key().name);
    }
    finish(&text)
}

/// Workloads of queries, whose specs have schemas of their own.
pub const SCRIPTS: [(&str, ScriptName); 5] = [
    ("tpcc", ScriptName::Tpcc),
    ("tpcc-benchfoundry", ScriptName::TpccBenchfoundry),
    ("consbench", ScriptName::Consbench),
    ("fmke", ScriptName::Fmke),
    ("consistency-workload", ScriptName::ListAppend),
];

/// `assay schema`.
pub fn schema(matches: &ArgMatches) -> Result<Exit> {
    let name = matches.get_one::<String>("what").map(String::as_str);
    let script = SCRIPTS.into_iter().find(|(script, _)| Some(*script) == name);
    let schema = match (name, script) {
        (_, Some((_, script))) => with_sections(ScriptSpec::json_schema(script)),
        (Some("study"), _) => StudyFile::json_schema(),
        (Some("anomalies"), _) => AnomalyFile::json_schema(),
        _ => name
            .and_then(assay_report::schema_of)
            .unwrap_or_else(|| with_sections(Spec::json_schema())),
    };
    finish(&(serde_json::to_string_pretty(&schema)? + "\n"))
}

/// The schema of a spec with the sections that a file of it may have for the command that runs it.
fn with_sections(mut schema: serde_json::Value) -> serde_json::Value {
    let sections = [
        ("run", "Settings of the command that runs it, by the names of its options."),
        ("hallmark", "Thresholds of the hallmark that differ from the usual ones."),
    ];
    for (name, description) in sections {
        schema["properties"][name] =
            serde_json::json!({ "type": "object", "description": description });
    }
    schema
}

/// `assay completion`.
pub fn completion(matches: &ArgMatches) -> Result<Exit> {
    let shell = *matches.get_one::<clap_complete::Shell>("shell").context("a shell is needed")?;
    let shell = shell.to_string();
    let shells = clap_complete::env::Shells::builtins();
    let script_of = shells.completer(&shell).context("every shell that can be named is known")?;
    let mut script = Vec::new();
    // The shell runs this program for the values, so workloads, stores and runs are up to date.
    script_of.write_registration("COMPLETE", "assay", "assay", "assay", &mut script)?;
    finish(&String::from_utf8_lossy(&script))
}

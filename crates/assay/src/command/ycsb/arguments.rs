//! The words that YCSB's launcher takes.

use anyhow::Result;
use assay_workload::ycsb::Properties;

use super::bindings;
use crate::exit::usage;
use crate::workload::{read_properties, split};

/// The output without options.
pub fn usage_text() -> String {
    let bindings = bindings::names().collect::<Vec<_>>().join(", ");
    format!("{USAGE}\nbindings: {bindings},\nor a Java class such as site.ycsb.BasicDB\n{OWN}")
}

const USAGE: &str = "\
usage: assay ycsb load|run BINDING [options]

  -P FILE        YCSB properties; can be repeated, later ones win
  -p KEY=VALUE   a property; beats any file
  -threads N     client threads
  -target N      operations per second of all threads together
  -s             status lines on standard error
  -l LABEL       label of status lines
  -db CLASS      taken, and ignored: BINDING says it
  -load, -t      load or run; the last of them, or of -p dotransactions=…, wins
  -cp PATH       class path of a Java class; can be repeated
  -jvm-args ARGS options of the Java virtual machine
";

const OWN: &str = "\
-p assay.url=URL names any store, -p assay.seed=N a seed, -p assay.ycsb=0.18 the newer version
";

/// What was typed.
pub struct Arguments {
    /// Whether it is a load: the first argument says so, later ones override it, as under
    /// `ycsb.sh`.
    pub is_load: bool,
    /// The binding's name.
    pub binding: String,
    /// Files and single properties, the latter stronger.
    pub properties: Properties,
    /// The properties files.
    files: Vec<String>,
    /// Where the classes of a Java binding are.
    pub class_path: Vec<String>,
    /// Options of the Java virtual machine.
    pub machine: Vec<String>,
}

impl Arguments {
    /// Reads the words; `None` if help is wanted.
    pub fn parse(words: &[String]) -> Result<Option<Arguments>> {
        let wants_help = |word: &String| word == "-h" || word == "--help" || word == "-help";
        if words.is_empty() || words.iter().any(wants_help) {
            return Ok(None);
        }
        let is_load = match words[0].as_str() {
            "load" => true,
            "run" => false,
            "shell" => return Err(usage("shell: there is no shell; use load or run")),
            other => return Err(usage(format!("{other}: it must be load or run\n\n{USAGE}"))),
        };
        let Some(binding) = words.get(1).filter(|word| !word.starts_with('-')) else {
            return Err(usage(format!("a binding is needed, such as redis\n\n{USAGE}")));
        };
        let mut arguments = Arguments {
            is_load,
            binding: binding.clone(),
            properties: Properties::default(),
            files: Vec::new(),
            class_path: Vec::new(),
            machine: Vec::new(),
        };
        let mut singles: Vec<(String, String)> = Vec::new();
        let mut rest = words[2..].iter();
        while let Some(word) = rest.next() {
            let mut value =
                || rest.next().ok_or_else(|| usage(format!("{word} needs a value\n\n{USAGE}")));
            let mut single = |key: &str, value: &str| singles.push((key.into(), value.into()));
            match word.as_str() {
                "-P" => arguments.files.push(value()?.clone()),
                "-p" => {
                    let (key, value) = split(value()?, "-p")?;
                    if key == "dotransactions" {
                        // Java takes whatever is not `true` for false.
                        arguments.is_load = !value.eq_ignore_ascii_case("true");
                    }
                    single(key, value);
                }
                "-threads" => single("threadcount", value()?),
                "-target" => single("target", value()?),
                "-l" => single("label", value()?),
                "-db" => single("db", value()?),
                "-s" => single("status", "true"),
                "-load" => arguments.is_load = true,
                "-t" => arguments.is_load = false,
                "-cp" => arguments.class_path.push(value()?.clone()),
                "-jvm-args" => arguments.machine.push(value()?.clone()),
                other => return Err(usage(format!("unknown option {other}\n\n{USAGE}"))),
            }
        }
        for file in &arguments.files {
            arguments.properties.extend(read_properties(file)?);
        }
        for (key, value) in singles {
            arguments.properties.set(&key, &value, "command line");
        }
        Ok(Some(arguments))
    }

    /// The last properties file's name without its directory, for reports.
    pub fn workload_name(&self) -> String {
        let last = self.files.last().map(std::path::Path::new);
        let stem = last.and_then(std::path::Path::file_name);
        stem.map_or_else(|| "core".to_owned(), |name| name.to_string_lossy().into_owned())
    }
}

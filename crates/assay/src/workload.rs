//! From what was typed as SPEC to a workload: gallery, TOML, YCSB properties or a trace.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use anyhow::Result;
use assay_model::Seed;
use assay_trace::{Part, Trace};
use assay_workload::gallery::{self, Form};
use assay_workload::spec::no_files;
use assay_workload::ycsb::{self, ClientOptions, Properties, Strictness};
use assay_workload::{Dataset, Plan, PlanPhase, Spec};

use crate::exit::{as_usage, usage};
use crate::thresholds;

/// The first bytes of a Parquet file.
const PARQUET: &[u8] = b"PAR1";

/// What is to be asked, before a seed is chosen.
pub struct Workload {
    /// Its name in reports.
    pub name: String,
    /// The specification.
    pub spec: Spec,
    /// The trace that is replayed, if SPEC was one.
    pub trace: Option<Trace>,
    /// What YCSB's client would do, if SPEC was made of properties.
    pub client: Option<ClientOptions>,
    /// Whether it is of the gallery, whose sizes are only examples.
    pub entry: Option<&'static gallery::Entry>,
    /// Thresholds of the hallmark that SPEC changes.
    pub hallmark: toml::Table,
}

/// Changes to a workload, in the order in which they were typed.
#[derive(Clone, Debug, Default)]
pub struct Changes {
    /// Properties files of YCSB.
    pub files: Vec<String>,
    /// Properties, `key=value`.
    pub properties: Vec<String>,
    /// Keys of the spec, `section.key=value`.
    pub sets: Vec<String>,
    /// Records in the data set.
    pub records: Option<u64>,
}

/// The text of a histogram file that a workload names.
pub fn file_text(path: &Path) -> std::io::Result<String> {
    std::fs::read_to_string(path)
}

impl Workload {
    /// Reads SPEC and applies `changes`. Warnings go to standard error.
    ///
    /// # Errors
    /// If there is no such workload, or it or a change makes no sense.
    pub fn read(text: &str, changes: &Changes) -> Result<Workload> {
        let path = Path::new(text);
        let mut workload = match path.is_file() {
            true => Workload::from_file(path, changes)?,
            false => Workload::from_gallery(text, changes)?,
        };
        workload.apply(changes)?;
        Ok(workload)
    }

    fn from_gallery(text: &str, changes: &Changes) -> Result<Workload> {
        let looks_like_path = text.contains(['/', '\\']) || text.ends_with(".toml");
        if looks_like_path {
            return Err(usage(format!("there is no file {text}")));
        }
        let entry = gallery::find(text)
            .map_err(|error| usage(format!("there is no file {text}, and {error}")))?;
        let mut workload = match entry.form {
            Form::Toml => Workload::plain(entry.name, entry.spec().map_err(as_usage)?),
            Form::Properties => {
                let properties =
                    Properties::parse(entry.text.as_bytes(), entry.name).map_err(as_usage)?;
                Workload::from_properties(entry.name, properties, changes)?
            }
        };
        workload.entry = Some(entry);
        Ok(workload)
    }

    fn from_file(path: &Path, changes: &Changes) -> Result<Workload> {
        let cannot_read =
            |error: std::io::Error| usage(format!("cannot read {}: {error}", path.display()));
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        // A trace may be larger than memory.
        let mut start = Vec::new();
        let mut file = File::open(path).map_err(cannot_read)?.take(PARQUET.len() as u64);
        file.read_to_end(&mut start).map_err(cannot_read)?;
        if start == PARQUET {
            return Workload::from_trace(path, &name);
        }
        let bytes = std::fs::read(path).map_err(cannot_read)?;
        if bytes.trim_ascii().is_empty() {
            return Err(usage(format!("{} is empty: it asks nothing", path.display())));
        }
        let origin = path.to_string_lossy();
        if path.extension().is_some_and(|ending| ending == "toml") {
            let text = String::from_utf8(bytes)
                .map_err(|_| usage(format!("{origin} is no TOML: it is not UTF-8")))?;
            let (text, hallmark) = thresholds::cut(&text);
            let spec = Spec::from_toml(&text, &origin, &file_text).map_err(as_usage)?;
            return Ok(Workload { hallmark, ..Workload::plain(&name, spec) });
        }
        let properties = Properties::parse(&bytes, &origin).map_err(as_usage)?;
        Workload::from_properties(&name, properties, changes)
    }

    fn from_trace(path: &Path, name: &str) -> Result<Workload> {
        let trace = Trace::open(path).map_err(as_usage)?;
        if let Some(Part { index, of }) = trace.header().part {
            return Err(usage(format!(
                "{} is part {index} of {of}, the share of one machine of several: ask the whole \
                 trace",
                path.display()
            )));
        }
        let origin = format!("{} (its spec)", path.display());
        let spec = Spec::from_toml(&trace.header().spec, &origin, &no_files).map_err(as_usage)?;
        Ok(Workload { trace: Some(trace), ..Workload::plain(name, spec) })
    }

    fn from_properties(
        name: &str,
        mut properties: Properties,
        changes: &Changes,
    ) -> Result<Workload> {
        for file in &changes.files {
            properties.extend(read_properties(file)?);
        }
        for property in &changes.properties {
            let (key, value) = split(property, "-p")?;
            properties.set(key, value, "command line");
        }
        let reading = ycsb::read(&properties, Strictness::Native, &file_text).map_err(as_usage)?;
        for warning in &reading.warnings {
            eprintln!("warning: {warning}");
        }
        for name in reading.binding.keys() {
            eprintln!("warning: {name} speaks to a YCSB binding; here -t URL names the store");
        }
        Ok(Workload { client: Some(reading.options), ..Workload::plain(name, reading.spec) })
    }

    fn plain(name: &str, spec: Spec) -> Workload {
        let name = name.to_owned();
        let hallmark = toml::Table::new();
        Workload { name, spec, trace: None, client: None, entry: None, hallmark }
    }

    fn apply(&mut self, changes: &Changes) -> Result<()> {
        let has_properties = !changes.properties.is_empty() || !changes.files.is_empty();
        if self.client.is_none() && has_properties {
            return Err(usage(format!(
                "{} is not made of YCSB properties: change it with --set",
                self.name
            )));
        }
        let has_sets = !changes.sets.is_empty() || changes.records.is_some();
        if self.trace.is_some() && has_sets {
            return Err(usage("a trace is asked as it is: --set and --records cannot change it"));
        }
        if !changes.sets.is_empty() {
            self.spec = changed(&self.spec, "--set", &changes.sets)?;
        }
        if let Some(records) = changes.records {
            let set = format!("dataset.records={records}");
            self.spec = changed(&self.spec, "--records", &[set])?;
        }
        Ok(())
    }

    /// The plan of one phase. Values are seeded by the data set that is in the store, if it says.
    ///
    /// # Errors
    /// If a value of the specification makes no sense.
    pub fn plan(&self, seed: Seed, phase: PlanPhase) -> Result<Plan> {
        Plan::new(&self.spec, seed, phase).map_err(as_usage)
    }

    /// Takes the seed of the values from what the store says was loaded, unless the spec has one.
    pub fn take_value_seed(&mut self, loaded: &Dataset) {
        let seed = loaded.seed.as_deref().and_then(|text| text.parse().ok());
        self.spec.dataset.seed = self.spec.dataset.seed.or(seed);
    }
}

/// Reads a properties file.
///
/// # Errors
/// If it cannot be read or is none.
pub fn read_properties(file: &str) -> Result<Properties> {
    let bytes =
        std::fs::read(file).map_err(|error| usage(format!("cannot read {file}: {error}")))?;
    Properties::parse(&bytes, file).map_err(as_usage)
}

/// Splits `key=value`.
///
/// # Errors
/// If there is no `=`.
pub fn split<'a>(text: &'a str, flag: &str) -> Result<(&'a str, &'a str)> {
    text.split_once('=').ok_or_else(|| usage(format!("{flag} {text}: write it as key=value")))
}

/// The spec with some keys replaced as `flag` says; checked as a file would be.
fn changed(spec: &Spec, flag: &str, sets: &[String]) -> Result<Spec> {
    let mut document: toml::Table = spec
        .to_toml()
        .parse()
        .map_err(|error| usage(format!("the spec cannot be changed: {error}")))?;
    for set in sets {
        let (path, text) = split(set, "--set")?;
        let (section, key) = path
            .split_once('.')
            .ok_or_else(|| usage(format!("--set {set}: name a key as section.key")))?;
        let value =
            text.parse::<toml::Value>().unwrap_or_else(|_| toml::Value::String(text.to_owned()));
        let table = document
            .entry(section)
            .or_insert_with(|| toml::Value::Table(toml::Table::new()))
            .as_table_mut()
            .ok_or_else(|| usage(format!("--set {set}: {section} is no section")))?;
        table.insert(key.to_owned(), value);
    }
    Spec::from_toml(&document.to_string(), flag, &file_text).map_err(|mut error| {
        // Lines of this text would name nothing that the user has written.
        error.place_mut().line = None;
        as_usage(error)
    })
}

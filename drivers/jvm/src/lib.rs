//! YCSB's Java bindings, called in a Java virtual machine within this process.
//!
//! Any class that extends `site.ycsb.DB` is a store: a worker (or a blocking thread of it) has an
//! instance of its own, as YCSB's threads have. The virtual machine is loaded when such a store is
//! opened, so that a machine without Java misses nothing but these stores.

mod binding;
mod border;
mod class_path;
mod home;
mod machine;
mod meaning;
mod options;
mod place;

use std::fs;
use std::sync::Arc;

use assay_driver_kit::Surroundings;
use assay_driver_kit::latest::Latest;
use assay_driver_kit::secrets::Redaction;
use assay_model::{Fields, Kind, Layout, Nanos, Reason, Setting, properties};
use assay_store::{
    Answer, Answers, Calls, Capabilities, Client, OpenError, Reply, Request, Rows, Store, Ticket,
};

use binding::{Binding, Trouble};
use border::Worker;
use meaning::Meaning;
use options::Options;

/// Opens `jvm:CLASS?classpath=PATH&p.NAME=VALUE&…`.
///
/// # Errors
/// If the URL is invalid; if Java, our Java part or the class is missing; if Java refuses its
/// options; if the class is no binding, or on the class path twice.
pub fn open(
    url: &str,
    surroundings: &Surroundings,
    redaction: &Redaction,
) -> Result<Box<dyn Store>, OpenError> {
    let options = Options::parse(url, redaction)?;
    let displayed = options.displayed.clone();
    let opened = start(options, surroundings).map_err(|trouble| trouble.of(&displayed))?;
    Ok(Box::new(opened))
}

/// What the capabilities of a binding say whose own client library we do not know.
const UNKNOWN_RETRIES: &str = "those of the binding's own client library, which we do not know";

fn start(options: Options, surroundings: &Surroundings) -> Result<Jvm, Trouble> {
    let unsupported = Trouble::unsupported;
    let home = home::find(options.java.as_deref(), surroundings).map_err(unsupported)?;
    let place = place::find(options.bridge.as_deref(), surroundings).map_err(unsupported)?;
    let mut entries = match &options.class_path {
        Some(path) => class_path::expand(path),
        None => class_path::archives(&place.library),
    }
    .map_err(unsupported)?;
    // A class path of one's own may name it already.
    if !entries.contains(&place.archive) {
        entries.push(place.archive.clone());
    }
    let mut words = vec![options.class.clone(), entries.len().to_string()];
    words.extend(entries.iter().map(|entry| entry.display().to_string()));
    for (name, value) in given(&options)? {
        words.extend([name, value]);
    }
    if words.iter().any(|word| word.contains('\0')) {
        return Err(unsupported("a property or a path has a zero in it".into()));
    }
    let machine = machine::start(&home, &place, &options.machine, surroundings);
    let binding = Binding::open(machine.map_err(unsupported)?, &words.join("\0"))?;
    let capabilities = capabilities(&options, &binding.traits()?);
    Ok(Jvm { binding, capabilities, options, layout: Latest::default() })
}

/// The properties of the files, then those of the URL, which are stronger.
fn given(options: &Options) -> Result<Vec<(String, String)>, Trouble> {
    let mut given = Vec::new();
    for file in &options.files {
        let wrong = |reason: String| {
            Trouble::unsupported(format!("properties={}: {reason}", file.display()))
        };
        let bytes = fs::read(file).map_err(|error| wrong(error.to_string()))?;
        let lines = properties::parse(&bytes).map_err(|error| wrong(error.to_string()))?;
        given.extend(lines.into_iter().map(|one| (one.key, one.value)));
    }
    given.extend(options.properties.iter().cloned());
    Ok(given)
}

fn capabilities(options: &Options, traits: &[(String, String)]) -> Capabilities {
    let find = |name: &str| traits.iter().find(|(other, _)| other == name).map(|(_, value)| value);
    let is = |name: &str| find(name).map(|value| value == "true");
    let is_no_op = is("no_op") == Some(true);
    let is_known = is_no_op || is("tended") == Some(true);
    let kinds = || {
        let words: Vec<&str> = find("kinds")?.split(',').collect();
        Some(Kind::OF_RECORDS.into_iter().filter(|kind| words.contains(&kind.name())).collect())
    };
    let usual_calls = if is("inline") == Some(true) { Calls::Inline } else { Calls::Blocking };
    let name = find("name").cloned().unwrap_or_else(|| name_of(&options.class));
    Capabilities {
        kinds: options.kinds.clone().or_else(kinds).unwrap_or(Kind::OF_RECORDS.to_vec()),
        calls: options.calls.unwrap_or(usual_calls),
        hidden_retries: (!is_known).then_some(UNKNOWN_RETRIES),
        keeps_other_fields: options.keeps_other_fields && !is_no_op,
        scan_order: options.scan_order,
        is_no_op,
        is_persistent: match options.is_persistent {
            _ if is_no_op => false,
            Some(chosen) => chosen,
            None => is("persistent").unwrap_or(true),
        },
        // One short name for each store that is opened, for the rest of the process.
        ..Capabilities::of(name.leak())
    }
}

/// The class's name without its package, in small letters.
fn name_of(class: &str) -> String {
    let last = class.rsplit('.').next().unwrap_or(class);
    let name: String = last.chars().filter(char::is_ascii_alphanumeric).collect();
    if name.is_empty() { "jvm".into() } else { name.to_ascii_lowercase() }
}

struct Jvm {
    binding: Binding,
    capabilities: Capabilities,
    options: Options,
    /// How many fields each table has, in the layout prepared last.
    layout: Latest<Arc<[usize]>>,
}

impl Jvm {
    fn of(&self, trouble: Trouble) -> OpenError {
        trouble.of(&self.options.displayed)
    }
}

impl Store for Jvm {
    fn capabilities(&self) -> Capabilities {
        self.capabilities.clone()
    }

    fn prepare(&self, layout: &Layout) -> Result<(), OpenError> {
        let mut words = vec![layout.records.to_string()];
        for table in &layout.tables {
            words.extend([table.name.clone(), table.fields.len().to_string()]);
            words.extend(table.fields.iter().cloned());
        }
        if words.iter().any(|word| word.contains('\0')) {
            let reason = "a table or a field has a zero in its name".to_owned();
            return Err(self.of(Trouble::unsupported(reason)));
        }
        self.binding.prepare(&words.join("\0")).map_err(|trouble| self.of(trouble))?;
        let widths = layout.tables.iter().map(|table| table.fields.len()).collect();
        self.layout.set(widths);
        Ok(())
    }

    fn open(&self, _worker: usize) -> Result<Box<dyn Client>, OpenError> {
        let worker = self.binding.worker().map_err(|trouble| self.of(trouble))?;
        let widths = self.layout.get();
        Ok(Box::new(JvmClient { worker, widths, kinds: self.capabilities.kinds.clone() }))
    }

    fn settings(&self) -> Result<Vec<Setting>, OpenError> {
        let mut settings = self.binding.settings().map_err(|trouble| self.of(trouble))?;
        let given = [
            (
                "properties",
                self.options.displayed_properties.clone(),
                "given to the binding as they are",
            ),
            (
                "java options",
                self.options.displayed_machine.clone(),
                "given to the virtual machine",
            ),
        ];
        for (name, value, meaning) in given {
            if !value.is_empty() {
                settings.push(Setting::new(name, value, meaning));
            }
        }
        Ok(settings)
    }

    fn clear(&self) -> Result<(), OpenError> {
        self.binding.clear().map_err(|trouble| self.of(trouble))
    }

    fn note(&self) -> Result<Option<String>, OpenError> {
        self.binding.note().map_err(|trouble| self.of(trouble))
    }

    fn keep_note(&self, note: &str) -> Result<(), OpenError> {
        self.binding.keep_note(note).map_err(|trouble| self.of(trouble))
    }
}

impl Drop for Jvm {
    fn drop(&mut self) {
        // Nobody is left who could receive the error.
        let _ = self.binding.close();
    }
}

struct JvmClient {
    worker: Worker,
    widths: Arc<[usize]>,
    kinds: Vec<Kind>,
}

impl JvmClient {
    /// Whether the request can be passed to Java at all.
    fn check(&self, request: &Request<'_>) -> Result<(), Reason> {
        if !self.kinds.contains(&request.kind) {
            return Err(Reason::Unsupported);
        }
        let width = *self.widths.get(usize::from(request.table)).ok_or(Reason::Malformed)?;
        let is_known = |number: u16| usize::from(number) < width;
        let reads_known = match request.fields {
            Fields::One(number) if !request.kind.writes() => is_known(number),
            _ => true,
        };
        if reads_known && request.values.iter().all(|(number, _)| is_known(number)) {
            return Ok(());
        }
        Err(Reason::Malformed)
    }
}

impl Client for JvmClient {
    fn start(
        &mut self,
        _now: Nanos,
        ticket: Ticket,
        request: &Request<'_>,
        answers: &mut dyn Answers,
    ) {
        let requested = match self.check(request) {
            Ok(()) => self.worker.invoke(request),
            Err(reason) => Err(reason),
        };
        let answer = match requested {
            Err(reason) => Answer::Refused(reason),
            Ok((code, rows)) => match meaning::of(code, request.kind) {
                Meaning::Found => Answer::Done(Reply {
                    found: request.kind != Kind::Scan || !rows.is_empty(),
                    rows: Rows::Encoded(rows),
                }),
                Meaning::Missing => Answer::Done(Reply::MISSING),
                Meaning::Refused(reason) => Answer::Refused(reason),
                Meaning::Unknown(reason) => Answer::Unknown(reason),
            },
        };
        answers.answer(ticket, answer);
    }

    fn poll(&mut self, _now: Nanos, _answers: &mut dyn Answers) {}
}

#[cfg(test)]
mod tests;

//! Result of a run directory: the history is analyzed, then shown in the chosen format.

use std::io::{ErrorKind, IsTerminal, Write};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use assay_report::{Document, Letters, Style};
use assay_results::run_dirs::HALLMARK;
use assay_results::{AnalyzedRun, ycsb_block};
use rustix::fs::{OFlags, fcntl_getfl, fstat, stat};

use crate::atomic_file;
use crate::exit::{Exit, usage};
use crate::options::{Options, one_of};

/// A form that a result can take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// For a person at a terminal.
    Text,
    /// One JSON object.
    Json,
    /// A JSON line per interval, the result last.
    Ndjson,
    /// A table with commas.
    Csv,
    /// Markdown.
    Markdown,
    /// YCSB's text block.
    Ycsb,
    /// An HdrHistogram log.
    Hdr,
    /// One page for a browser.
    Html,
    /// XML for build servers.
    Junit,
}

const FORMATS: [(&str, Format); 9] = [
    ("text", Format::Text),
    ("json", Format::Json),
    ("ndjson", Format::Ndjson),
    ("csv", Format::Csv),
    ("md", Format::Markdown),
    ("ycsb", Format::Ycsb),
    ("hdr", Format::Hdr),
    ("html", Format::Html),
    ("junit", Format::Junit),
];

/// Formats of a result of several runs.
pub const FORMATS_OF_SEVERAL: [Format; 6] =
    [Format::Text, Format::Json, Format::Csv, Format::Markdown, Format::Html, Format::Junit];

/// Where a result goes, and how it looks.
#[derive(Clone, Debug)]
pub struct Display {
    /// The form of the result.
    pub format: Format,
    /// The file that takes it, instead of standard output.
    pub output: Option<PathBuf>,
    /// How a terminal looks.
    pub style: Style,
}

impl Display {
    /// What the settings say.
    pub fn from(options: &Options) -> Result<Display> {
        let output = options.output.value().cloned();
        let by_ending =
            output.as_deref().and_then(|path| path.extension()?.to_str()).and_then(|ending| {
                match ending {
                    "htm" => Some(Format::Html),
                    "txt" => Some(Format::Text),
                    "hlog" => Some(Format::Hdr),
                    "xml" => Some(Format::Junit),
                    _ => {
                        FORMATS.iter().find(|(name, _)| *name == ending).map(|(_, format)| *format)
                    }
                }
            });
        let format = match by_ending {
            Some(format) if options.output.outranks(&options.format) => format,
            _ => {
                let text = options.format.text().unwrap_or_default();
                one_of(text, &FORMATS).map_err(|error| options.format.wrong(error))?
            }
        };
        output.as_deref().map_or(Ok(()), |output| require_place("--output", output))?;
        let is_terminal = output.is_none() && std::io::stdout().is_terminal();
        Ok(Display { format, style: style(options, is_terminal), output })
    }

    /// Requires that the chosen format is one of `formats`; `subject` begins the sentence that says
    /// which they are, such as `a study is`.
    pub fn require(&self, options: &Options, subject: &str, formats: &[Format]) -> Result<()> {
        if formats.contains(&self.format) {
            return Ok(());
        }
        let name_of = |format: &Format| FORMATS.iter().find(|(_, one)| one == format);
        let names: Vec<&str> = formats.iter().filter_map(name_of).map(|(name, _)| *name).collect();
        let (last, others) = names.split_last().expect("every result has a format");
        let mut reason = format!("{subject} shown as {} or {last}", others.join(", "));
        if matches!(self.format, Format::Ndjson | Format::Ycsb | Format::Hdr) {
            reason += "; the other formats are for one run (`assay report RUN --format …`)";
        }
        Err(options.format.wrong(reason))
    }

    /// The result that this document tells, in the chosen format; `other` makes the formats that do
    /// not follow from a document.
    pub fn text<'a>(
        &self,
        document: impl FnOnce() -> Document<'a>,
        other: impl FnOnce(Format) -> Result<String>,
    ) -> Result<String> {
        match self.format {
            Format::Text => Ok(document().text(self.style)),
            Format::Markdown => Ok(document().markdown()),
            Format::Html => Ok(document().page()),
            format => other(format),
        }
    }

    /// Writes the result that this document tells, as [`Display::text`] has it, to where it goes.
    pub fn show<'a>(
        &self,
        document: impl FnOnce() -> Document<'a>,
        other: impl FnOnce(Format) -> Result<String>,
    ) -> Result<()> {
        put(&self.text(document, other)?, self.output.as_deref())
    }
}

/// A result that cannot be written where `setting` says must not be found out after the run.
pub fn require_place(setting: &str, output: &Path) -> Result<()> {
    let parent = output.parent().filter(|parent| !parent.as_os_str().is_empty());
    let reason = match parent {
        Some(parent) if !parent.is_dir() => format!("there is no directory {}", parent.display()),
        _ if output.is_dir() => "it is a directory".to_owned(),
        _ => return Ok(()),
    };
    Err(usage(format!("{setting}: cannot write {}: {reason}", output.display())))
}

/// The characters and colours of an output that is a terminal or not.
pub fn style(options: &Options, is_terminal: bool) -> Style {
    let variable = |name: &str| std::env::var(name).unwrap_or_default();
    let is_dumb = variable("TERM") == "dumb";
    let auto = is_terminal && !is_dumb && variable("NO_COLOR").is_empty();
    let colour = options.color.get().is_some_and(|when| when.or(auto));
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].map(variable);
    let locale = locale.iter().find(|text| !text.is_empty());
    let is_utf8 = locale.is_some_and(|text| text.to_lowercase().contains("utf"));
    let letters = if is_utf8 && !is_dumb { Letters::Unicode } else { Letters::Ascii };
    let width = variable("COLUMNS").parse().unwrap_or(100);
    Style { colour, width, letters }
}

/// Whether the result has a hallmark, with or without remarks.
pub fn has_hallmark(analyzed: &AnalyzedRun) -> bool {
    analyzed.facts.hallmark.as_ref().is_some_and(|hallmark| hallmark.verdict.is_valid())
}

/// The exit code of a command that showed `analyzed`.
pub fn require_hallmark(options: &Options, analyzed: &AnalyzedRun) -> Exit {
    match options.require_hallmark.is_on() && !has_hallmark(analyzed) {
        true => Exit::NoHallmark,
        false => Exit::Fine,
    }
}

/// The file in a run directory that shows its result in a browser.
pub const PAGE_FILE: &str = "report.html";

/// Writes `hallmark.json` and, beside it, `report.html` into the run directory `dir`; the same run
/// directory gives the same files.
pub fn keep_hallmark(dir: &Path, analyzed: &AnalyzedRun) -> Result<()> {
    let AnalyzedRun { facts, summary, timeline, .. } = analyzed;
    if let Some(text) = assay_report::hallmark::json(facts) {
        keep(&dir.join(HALLMARK), &text)?;
    }
    keep(&dir.join(PAGE_FILE), &assay_report::run(facts, summary, timeline.as_ref()).page())
}

/// Writes a file that the user did not name: an error is not a usage error.
fn keep(path: &Path, text: &str) -> Result<()> {
    atomic_file::write_text(path, text).map_err(|error| anyhow::anyhow!("{error:#}"))
}

/// Shows the result as the settings say.
pub fn show(analyzed: &AnalyzedRun, display: &Display) -> Result<()> {
    let AnalyzedRun { facts, summary, timeline, .. } = analyzed;
    let document = || assay_report::run(facts, summary, timeline.as_ref());
    display.show(document, |format| {
        Ok(match format {
            Format::Ndjson => assay_report::ndjson(facts, summary),
            Format::Csv => assay_report::csv(facts, summary),
            Format::Ycsb => ycsb_block(analyzed)?,
            Format::Hdr => assay_report::hdr_log(facts, summary)?,
            Format::Junit => assay_report::junit::run(facts, summary),
            _ => assay_report::json(facts, summary),
        })
    })
}

/// Whether this process was started without an output: then its runtime opens `/dev/null` for
/// reading and writing, unlike a shell's `>/dev/null`.
fn is_closed(output: impl AsFd) -> bool {
    let is_both = fcntl_getfl(&output).is_ok_and(|flags| flags.contains(OFlags::RDWR));
    let (found, null) = (fstat(output), stat("/dev/null"));
    is_both && matches!((found, null), (Ok(found), Ok(null)) if found.st_rdev == null.st_rdev)
}

/// Ends a command with a text on standard output.
pub fn finish(text: &str) -> Result<Exit> {
    put(text, None).map(|()| Exit::Fine)
}

/// Writes a result to a file or to standard output. A reader that closed the pipe is no error.
pub fn put(text: &str, output: Option<&Path>) -> Result<()> {
    let Some(path) = output else {
        let mut stdout = std::io::stdout().lock();
        if !text.is_empty() && is_closed(&stdout) {
            eprintln!(
                "warning: standard output is closed: nobody gets the result; -o names a file"
            );
        }
        return match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
            Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
            other => other.context("cannot write the result to standard output"),
        };
    };
    atomic_file::write_text(path, text)
}

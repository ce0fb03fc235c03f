//! Settings of what is shown of a run, and can be changed, while it goes on.

use std::io::IsTerminal;
use std::net::SocketAddr;

use anyhow::Result;
use assay_live::dashboard::is_in_front;
use assay_live::lines::Lines;
use assay_live::port;
use assay_live::progress::{Goal, Show};
use assay_report::{Letters, Style};

use crate::exit::usage;
use crate::options::Options;

/// How progress is to be shown.
///
/// # Errors
/// If a dashboard was requested without a terminal for it.
pub fn show(options: &Options) -> Result<Show> {
    #[derive(Clone, Copy)]
    enum LiveMode {
        Auto,
        Always,
        Never,
    }
    let choices =
        [("auto", LiveMode::Auto), ("always", LiveMode::Always), ("never", LiveMode::Never)];
    let when = options.choice("live", &choices)?;
    let is_quiet = options.is_quiet()?;
    let is_terminal = std::io::stderr().is_terminal() && std::io::stdin().is_terminal();
    let is_able = std::env::var_os("TERM").is_some_and(|term| term != "dumb");
    Ok(match when {
        LiveMode::Always if !is_terminal => {
            return Err(options.wrong(
                "live",
                "a dashboard needs a terminal as standard error and standard input",
            ));
        }
        LiveMode::Always if is_quiet => {
            return Err(usage("--live always and --quiet contradict each other: give one of them"));
        }
        LiveMode::Always => Show::Dashboard,
        _ if is_quiet => Show::Nothing,
        LiveMode::Auto if is_terminal && is_able && is_in_front() => Show::Dashboard,
        LiveMode::Auto | LiveMode::Never => Show::Lines,
    })
}

/// Lines of progress: one that renews itself if standard error is a terminal.
pub fn lines(goal: Goal) -> Lines {
    let is_terminal = std::io::stderr().is_terminal();
    match is_terminal && std::env::var_os("TERM").is_some_and(|term| term != "dumb") {
        true => Lines::renewed(goal),
        false => Lines::logged(goal),
    }
}

/// The address that `--port` names, if it does; one of this machine alone without `--port-any`.
///
/// # Errors
/// If it is no address, or a public one that was not explicitly allowed.
pub fn port(options: &Options) -> Result<Option<SocketAddr>> {
    let is_any = options.switch("port-any")?;
    let parsed = options.text("port").map(|text| port::parse(text, is_any)).transpose();
    parsed.map_err(|error| options.wrong("port", &error))
}

/// The characters and colours for standard error.
///
/// # Errors
/// If the setting about colours is none.
pub fn style(options: &Options) -> Result<Style> {
    let variable = |name: &str| std::env::var(name).unwrap_or_default();
    let auto = variable("NO_COLOR").is_empty();
    let colour = options.choice("color", &[("auto", auto), ("always", true), ("never", false)])?;
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].map(variable);
    let locale = locale.iter().find(|text| !text.is_empty());
    let is_utf8 = locale.is_some_and(|text| text.to_lowercase().contains("utf"));
    let letters = if is_utf8 { Letters::Unicode } else { Letters::Ascii };
    Ok(Style { colour, width: 0, letters })
}

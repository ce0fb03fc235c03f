//! Settings of what is shown of a run, and can be changed, while it goes on.

use std::io::IsTerminal;
use std::net::SocketAddr;

use anyhow::Result;
use assay_live::dashboard::is_in_front;
use assay_live::lines::Lines;
use assay_live::port;
use assay_live::progress::{Goal, Show};

use crate::exit::usage;
use crate::options::{Options, When};

/// How progress is to be shown. A dashboard needs a terminal.
pub fn show(options: &Options) -> Result<Show> {
    let when = options.live.get().unwrap_or(When::Auto);
    let is_quiet = options.quiet.is_on();
    let is_terminal = std::io::stderr().is_terminal() && std::io::stdin().is_terminal();
    let is_able = std::env::var_os("TERM").is_some_and(|term| term != "dumb");
    Ok(match when {
        When::Always if !is_terminal => {
            return Err(options
                .live
                .wrong("a dashboard needs a terminal as standard error and standard input"));
        }
        When::Always if is_quiet => {
            return Err(usage("--live always and --quiet contradict each other: give one of them"));
        }
        When::Always => Show::Dashboard,
        _ if is_quiet => Show::Nothing,
        When::Auto if is_terminal && is_able && is_in_front() => Show::Dashboard,
        When::Auto | When::Never => Show::Lines,
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
pub fn port(options: &Options) -> Result<Option<SocketAddr>> {
    let is_any = options.port_any.is_on();
    let parsed = options.port.text().map(|text| port::parse(text, is_any)).transpose();
    parsed.map_err(|error| options.port.wrong(error))
}

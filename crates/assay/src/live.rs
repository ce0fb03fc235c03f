//! The dashboard: a run as it goes on, in a terminal.

pub mod interval;

mod board;
mod keys;
mod screen;
mod time_series;
mod warnings;

use std::io::IsTerminal;
use std::sync::Arc;

use anyhow::Result;
use assay_fleet::StatusRow;
use assay_model::Nanos;
use assay_report::{Letters, Style};
use rustix::process::getpgrp;
use rustix::termios::tcgetpgrp;

use crate::exit::usage;
use crate::live::board::View;
use crate::live::interval::{Gathering, Interval};
use crate::live::keys::KeyAction;
use crate::live::time_series::TimeSeries;
use crate::options::Options;
use crate::progress::{Goal, Observer, ProgressSnapshot, Show};
use crate::rate_control::{Change, RateControl, RateControlError};

pub use screen::Stage;

/// How long the stretches are that the figures are about.
const EVERY: Nanos = Nanos::from_secs(1);

/// What the dashboard says about the run as a whole.
#[derive(Clone, Debug)]
pub struct Caption {
    /// Workload and store, in a few words.
    pub title: String,
    /// The load model in words.
    pub model: String,
    /// What progress is measured against.
    pub goal: Goal,
    /// Characters and colours that may be used.
    pub style: Style,
}

/// An observer that fills the terminal.
pub struct Dashboard {
    stage: Arc<Stage>,
    caption: Caption,
    gathering: Gathering,
    latest: Option<Interval>,
    time_series: TimeSeries,
    shows_help: bool,
    at: Nanos,
    in_flight: u64,
    rate: Option<f64>,
    is_ending: bool,
    agents: Vec<StatusRow>,
}

impl Dashboard {
    /// A dashboard that comes up with its first snapshot.
    pub fn new(stage: Arc<Stage>, caption: Caption) -> Dashboard {
        Dashboard {
            stage,
            caption,
            gathering: Gathering::new(EVERY),
            latest: None,
            time_series: TimeSeries::default(),
            shows_help: false,
            at: Nanos::ZERO,
            in_flight: 0,
            rate: None,
            is_ending: false,
            agents: Vec::new(),
        }
    }

    fn draw(&self) {
        let stage = &self.stage;
        let warnings = stage.warnings();
        let view = View {
            caption: &self.caption,
            at: self.at,
            in_flight: self.in_flight,
            rate: self.rate,
            latest: self.latest.as_ref(),
            totals: self.gathering.totals(),
            time_series: &self.time_series,
            warnings: &warnings,
            is_ending: self.is_ending,
            agents: &self.agents,
            shows_help: self.shows_help,
        };
        stage.draw(|frame| board::draw(frame, &view));
    }

    fn act(&mut self, act: KeyAction, rate_control: &RateControl) {
        match act {
            KeyAction::Multiply(factor) => self.stage.say(&describe(rate_control.multiply(factor))),
            KeyAction::Drain if !rate_control.is_ending() => {
                rate_control.drain();
                self.stage.say("no more operations are issued: waiting for those in flight");
            }
            KeyAction::Drain => {}
            KeyAction::Help => self.shows_help = !self.shows_help,
        }
    }
}

/// The message about a change of rate, or its refusal.
fn describe(result: Result<Change, RateControlError>) -> String {
    match result {
        Ok(Change { from, before, rate }) => {
            let [before, rate] = [before, rate].map(assay_report::units::rate);
            format!("rate {before} -> {rate} from {} on", assay_report::units::moment(from))
        }
        Err(error) => error.to_string(),
    }
}

impl Observer for Dashboard {
    fn see(&mut self, progress_snapshot: &ProgressSnapshot<'_>) {
        if let Some(interval) = self.gathering.add(progress_snapshot) {
            self.time_series.add(&interval);
            self.latest = Some(interval);
        }
        (self.at, self.in_flight) = (progress_snapshot.at, progress_snapshot.in_flight);
        self.rate = progress_snapshot
            .rate_profile
            .map(|rate_profile| rate_profile.rate(progress_snapshot.at));
        self.is_ending = progress_snapshot.is_ending;
        self.agents = progress_snapshot.agents.to_vec();
        if !self.stage.is_up() && is_in_front() {
            self.stage.enter();
        }
        self.draw();
    }

    fn step(&mut self, rate_control: &RateControl) {
        self.stage.obey_signals();
        for key in self.stage.keys() {
            if let Some(act) = keys::act(key) {
                self.act(act, rate_control);
                self.draw();
            }
        }
    }

    fn leave(&mut self) {
        self.stage.leave();
    }
}

impl Drop for Dashboard {
    fn drop(&mut self) {
        self.stage.leave();
    }
}

/// Whether the terminal is ours to write to and read from now: not so in the background.
fn is_in_front() -> bool {
    tcgetpgrp(std::io::stdin()).is_ok_and(|group| group == getpgrp())
}

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

//! The dashboard: a run as it goes on, in a terminal.

mod board;
mod keys;
mod screen;
mod time_series;
mod warnings;

use std::sync::Arc;

use assay_fleet::StatusRow;
use assay_model::Nanos;
use assay_report::Style;
use rustix::process::getpgrp;
use rustix::termios::tcgetpgrp;

use crate::dashboard::board::BoardView;
use crate::dashboard::keys::KeyAction;
use crate::dashboard::time_series::TimeSeries;
use crate::interval::{IntervalCollector, LiveInterval};
use crate::progress::{Goal, Observer, ProgressSnapshot};
use crate::rate_control::{AcceptedRate, RateControl, RateControlError};

pub use screen::TerminalStage;

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
    stage: Arc<TerminalStage>,
    caption: Caption,
    gathering: IntervalCollector,
    latest: Option<LiveInterval>,
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
    pub fn new(stage: Arc<TerminalStage>, caption: Caption) -> Dashboard {
        Dashboard {
            stage,
            caption,
            gathering: IntervalCollector::new(EVERY),
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
        let view = BoardView {
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
fn describe(result: Result<AcceptedRate, RateControlError>) -> String {
    match result {
        Ok(AcceptedRate { from, before, rate }) => {
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
pub fn is_in_front() -> bool {
    tcgetpgrp(std::io::stdin()).is_ok_and(|group| group == getpgrp())
}

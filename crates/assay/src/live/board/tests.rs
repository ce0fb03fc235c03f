//! Pictures of a sequence of glances, at three sizes.

use assay_model::{Kind, Nanos, Outcome};
use assay_report::Style;
use assay_run::Tally;
use assay_run::arrival::Shape;
use expect_test::{Expect, expect};
use ratatui::Terminal;
use ratatui::backend::TestBackend;

use super::*;
use crate::live::interval::Gathering;
use crate::progress::{Glance, Goal};

/// A run of 30 s at 20k/s of which so many seconds are over, with a stall in second 6.
struct Scene {
    caption: Caption,
    gathering: Gathering,
    story: Story,
    latest: Option<Interval>,
    notices: Notices,
    at: Nanos,
    shows_help: bool,
    is_ending: bool,
}

impl Scene {
    fn after(seconds: u64) -> Scene {
        let goal = Goal {
            duration: Some(Nanos::from_secs(30)),
            warm_up: Nanos::from_secs(2),
            ..Goal::default()
        };
        let mut scene = Scene {
            caption: Caption {
                title: "run ycsb-c on redis://127.0.0.1:6379".to_owned(),
                model: "poisson arrivals at 20000/s, at most 4096 in flight, then queue".to_owned(),
                goal,
                style: Style { colour: true, width: 0, letters: Letters::Unicode },
            },
            gathering: Gathering::new(Nanos::from_secs(1)),
            story: Story::default(),
            latest: None,
            notices: Notices::default(),
            at: Nanos::ZERO,
            shows_help: false,
            is_ending: false,
        };
        (1..=seconds).for_each(|second| scene.pass(second));
        scene
    }

    fn pass(&mut self, second: u64) {
        let us = if second == 6 { 40_000 } else { 100 + second };
        let done = if second == 6 { 9_000 } else { 20_000 };
        let mut tally = Tally { offered: done, processes: done, ..Tally::default() };
        tally.outcomes[Kind::Read as usize][Outcome::Done as usize] = done - 2;
        tally.outcomes[Kind::Read as usize][Outcome::Refused as usize] = 2;
        tally.missed[Kind::Read as usize] = 100;
        tally.lag_max = Nanos::from_micros(15);
        tally.service[0].record(Nanos::from_micros(us));
        tally.response[0].record(Nanos::from_micros(us + 1));
        self.at = Nanos::from_secs(second);
        let (at, elapsed) = (self.at, self.at);
        let shape = Shape::constant(20e3);
        let (tally, shape) = (&tally, Some(&shape));
        let glance = Glance { at, elapsed, in_flight: 12, tally, shape, is_ending: false };
        self.latest = self.gathering.add(&glance);
        let latest = self.latest.as_ref().expect("a second fills an interval");
        self.story.add(latest);
    }

    fn terminal(&self, columns: u16, rows: u16) -> Terminal<TestBackend> {
        let mut terminal = Terminal::new(TestBackend::new(columns, rows)).unwrap();
        let view = View {
            caption: &self.caption,
            at: self.at,
            in_flight: 12,
            rate: Some(20e3),
            latest: self.latest.as_ref(),
            totals: self.gathering.totals(),
            story: &self.story,
            notices: &self.notices,
            is_ending: self.is_ending,
            shows_help: self.shows_help,
        };
        terminal.draw(|frame| draw(frame, &view)).unwrap();
        terminal
    }

    /// The screen as text, without blanks at the ends of lines.
    fn check(&self, columns: u16, rows: u16, expected: &Expect) {
        let buffer = self.terminal(columns, rows).backend().buffer().clone();
        let lines = buffer.content.chunks(usize::from(columns)).map(|cells| {
            let line: String = cells.iter().map(|cell| cell.symbol()).collect();
            line.trim_end().to_owned() + "\n"
        });
        expected.assert_eq(&lines.collect::<String>());
    }
}

#[test]
fn nothing_is_known_before_the_first_second() {
    Scene::after(0).check(80, 24, &expect![[""]]);
}

#[test]
fn an_ordinary_terminal_shows_everything() {
    let mut scene = Scene::after(12);
    scene.notices.add("rate 20 000/s -> 22 000/s from 12.4 s on");
    scene.check(80, 24, &expect![[""]]);
}

#[test]
fn a_small_terminal_shows_what_matters_most() {
    let mut scene = Scene::after(12);
    scene.notices.add("rate 20 000/s -> 22 000/s from 12.4 s on");
    scene.check(40, 12, &expect![[""]]);
}

#[test]
fn a_large_terminal_gives_the_charts_more_room() {
    Scene::after(29).check(200, 50, &expect![[""]]);
}

#[test]
fn a_terminal_without_unicode_gets_ascii() {
    let mut scene = Scene::after(7);
    scene.caption.style.letters = Letters::Ascii;
    scene.shows_help = true;
    let buffer = scene.terminal(80, 24).backend().buffer().clone();
    assert!(buffer.content.iter().all(|cell| cell.symbol().is_ascii()));
    scene.check(80, 24, &expect![[""]]);
}

#[test]
fn help_and_end_are_shown() {
    let mut scene = Scene::after(7);
    scene.is_ending = true;
    scene.check(60, 16, &expect![[""]]);
}

#[test]
fn without_colours_nothing_is_coloured() {
    let mut scene = Scene::after(7);
    let colours = |scene: &Scene| {
        let buffer = scene.terminal(80, 24).backend().buffer().clone();
        buffer.content.iter().filter(|cell| cell.fg != ratatui::style::Color::Reset).count()
    };
    assert!(colours(&scene) > 0);
    scene.caption.style.colour = false;
    assert_eq!(colours(&scene), 0);
}

#[test]
fn any_size_can_be_drawn() {
    let mut scene = Scene::after(12);
    (0..99).for_each(|number| scene.notices.add(&format!("notice {number}")));
    scene.shows_help = true;
    for columns in [1, 2, 7, 39, 79, 300] {
        for rows in [1, 2, 3, 5, 9, 14, 80] {
            let terminal = scene.terminal(columns, rows);
            assert_eq!(terminal.backend().buffer().area.width, columns);
        }
    }
}

//! The dashboard in a real terminal.
#![cfg(target_os = "linux")]

use assay_history::read_events;
use assay_model::EventKind;
use rustix::process::Signal;

use crate::place::{Place, wait_until};
use crate::terminal::{Terminal, is_given_back};

const RUN: &str = "run ycsb-c -t null: --rate 1k/s --duration 40s --floor 0s --run-dir b";

#[test]
fn keys_change_the_rate_and_end_the_run() {
    let place = Place::new();
    let mut terminal = Terminal::start(&place, RUN);
    terminal.wait_for("measure 00:0");
    terminal.press("]");
    terminal.wait_for("rate 1 000/s -> 2 000/s from ");
    terminal.press("?");
    terminal.wait_for("rate x 1.1, open load only");
    terminal.press("?q");
    let written = terminal.written();
    let (code, is_as_before) = terminal.end();
    assert_eq!(code, 130);
    assert!(is_as_before, "{written}");
    assert!(place.read("out").contains("INTERRUPTED"), "{}", place.read("out"));
    let events = read_events(&place.path("b")).unwrap();
    assert!(events.iter().any(|event| event.kind == EventKind::Change), "{events:?}");
}

#[test]
fn the_terminal_is_given_back_however_the_run_ends() {
    for (keys, signal, code) in
        [("\u{3}", None, 130), ("", Some(Signal::TERM), 130), ("", Some(Signal::HUP), 130)]
    {
        let place = Place::new();
        let mut terminal = Terminal::start(&place, RUN);
        terminal.wait_for("in flight");
        terminal.press(keys);
        signal.into_iter().for_each(|signal| terminal.signal(signal));
        wait_until("the terminal is given back", || is_given_back(&terminal.written()));
        assert_eq!(terminal.end(), (code, true), "{keys:?} {signal:?}");
    }
}

#[test]
fn a_run_that_ends_by_itself_leaves_its_result_in_the_terminal() {
    let place = Place::new();
    let terminal = Terminal::start(&place, &RUN.replace("40s", "1500ms"));
    wait_until("the terminal is given back", || is_given_back(&terminal.written()));
    assert_eq!(terminal.end(), (0, true));
    let out = place.read("out");
    assert!(out.contains("Throughput") && !out.contains('\u{1b}'), "{out}");
}

#[test]
fn a_suspended_run_gives_the_terminal_back_and_takes_it_again() {
    let place = Place::new();
    let mut terminal = Terminal::start(&place, RUN);
    terminal.wait_for("in flight");
    terminal.signal(Signal::TSTP);
    wait_until("the terminal is given back", || is_given_back(&terminal.written()));
    terminal.signal(Signal::CONT);
    terminal.wait_for("suspended for ");
    assert!(!is_given_back(&terminal.written()), "the dashboard is up again");
    terminal.press("\u{3}");
    assert_eq!(terminal.end(), (130, true));
}

#[test]
fn without_a_dashboard_nothing_is_drawn() {
    for (words, shows) in [("--live never", true), ("--quiet", false)] {
        let place = Place::new();
        let run = RUN.replace("40s", "1500ms");
        let terminal = Terminal::start(&place, &format!("{run} {words}"));
        wait_until("the run has ended", || place.path("after").exists());
        let written = terminal.written();
        assert!(!written.contains("\u{1b}[?1049h"), "{words}: {written}");
        assert_eq!(written.contains("/s achieved"), shows, "{words}: {written}");
        assert_eq!(terminal.end(), (0, true));
    }
}

#[test]
fn a_dashboard_needs_a_terminal() {
    let place = Place::new();
    let always = "run ycsb-c -t null: --operations 5 --live always";
    place.refuses(always, "a dashboard needs a terminal");
    let ran = place.fine("run ycsb-c -t null: --rate 1k/s --duration 300ms --floor 0s");
    assert!(!ran.has_escapes(), "{}", ran.err);
}

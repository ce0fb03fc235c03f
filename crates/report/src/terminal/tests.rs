//! Tests of a known run on terminals of several kinds.

use expect_test::expect_file;

use super::*;
use crate::facts::State;
use crate::sample;

const UNICODE: Style = Style { colour: false, width: 100, letters: Letters::Unicode };

#[test]
fn a_run_is_shown_in_unicode() {
    let text = terminal(&sample::facts(), &sample::summary(), UNICODE);
    expect_file!["../../snapshots/terminal.txt"].assert_eq(&text);
}

#[test]
fn the_first_line_is_the_verdict_and_the_second_the_headline() {
    let mut summary = sample::summary();
    summary.overall.rates.offered_per_s = 20_000.0;
    summary.overall.rates.done_per_s = 14_200.0;
    let text = terminal(&sample::facts(), &summary, Style::PLAIN);
    let lines: Vec<&str> = text.lines().take(2).collect();
    assert_eq!(
        lines,
        [
            "OVERLOADED: offered 20 000/s, achieved 14 200/s (71 %)",
            "14 200/s of 20 000/s offered, response p99 ~1.37 ms (few values), \
             8 of 600 failed",
        ]
    );
}

#[test]
fn an_interrupted_run_is_marked() {
    let facts = Facts { state: State::Interrupted, ..sample::facts() };
    let text = terminal(&facts, &sample::summary(), Style::PLAIN);
    assert!(text.contains("INTERRUPTED: the run was stopped before its end"), "{text}");
}

#[test]
fn plain_style_is_ascii_and_no_wider_than_requested() {
    let text = terminal(&sample::facts(), &sample::summary(), Style::PLAIN);
    assert!(text.is_ascii(), "{text}");
    let too_wide: Vec<&str> = text.lines().filter(|line| line.chars().count() > 100).collect();
    assert_eq!(too_wide, Vec::<&str>::new());
}

#[test]
fn colours_add_nothing_but_colours() {
    let coloured = Style { colour: true, ..UNICODE };
    let text = terminal(&sample::facts(), &sample::summary(), coloured);
    let mut bare = text.clone();
    for code in [BOLD, RED, GREEN, YELLOW, DIM, RESET] {
        bare = bare.replace(code, "");
    }
    assert_ne!(text, bare);
    assert_eq!(bare, terminal(&sample::facts(), &sample::summary(), UNICODE));
}

#[test]
fn names_cannot_smuggle_control_characters_into_a_terminal() {
    let mut facts = sample::facts();
    facts.store.url = "redis://\x1b]0;owned\x07".to_owned();
    facts.title = "a\nb".to_owned();
    let text = terminal(&facts, &sample::summary(), UNICODE);
    assert!(!text.contains(['\x1b', '\x07']), "{text}");
    assert!(text.contains("a?b"));
}

#[test]
fn a_long_command_can_be_copied_as_it_is_broken() {
    let mut page = Page::new(Style { width: 40, ..UNICODE });
    page.command(
        r"assay run ycsb-a --at '10s kill node 1; 20s: it'\''s' -t 'sim:?a=1&b=2' --seed 7",
    );
    assert_eq!(
        page.text,
        [
            r"  assay run ycsb-a --at \",
            r"    '10s kill node 1; 20s: it'\''s' -t \",
            r"    'sim:?a=1&b=2' --seed 7",
            "",
        ]
        .join("\n")
    );
}

#[test]
fn long_texts_are_broken_at_blanks_and_hang() {
    let mut page = Page::new(Style { width: 40, ..UNICODE });
    page.titled("model", "open: arrivals do not wait for answers, so all waiting is measured");
    assert_eq!(
        page.text,
        [
            "  model     open: arrivals do not wait",
            "            for answers, so all waiting",
            "            is measured\n",
        ]
        .join("\n")
    );
}

//! Keys of the dashboard.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyEventKind};

/// The commands of the dashboard.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum KeyAction {
    /// Multiply the rate of an open load.
    Multiply(f64),
    /// End the run gently.
    Drain,
    /// Show what the keys mean, or show it no more.
    Help,
}

/// A small step of the rate.
const STEP: f64 = 1.1;

/// A large step of the rate.
const LEAP: f64 = 2.0;

/// What `key` means, if it means anything.
pub fn act(key: KeyEvent) -> Option<KeyAction> {
    if key.kind == KeyEventKind::Release {
        return None;
    }
    match key.code {
        KeyCode::Char('+') => Some(KeyAction::Multiply(STEP)),
        KeyCode::Char('-') => Some(KeyAction::Multiply(1.0 / STEP)),
        KeyCode::Char(']') => Some(KeyAction::Multiply(LEAP)),
        KeyCode::Char('[') => Some(KeyAction::Multiply(1.0 / LEAP)),
        KeyCode::Char('q') => Some(KeyAction::Drain),
        KeyCode::Char('?') => Some(KeyAction::Help),
        _ => None,
    }
}

/// What the keys mean, for people.
pub const HELP: [(&str, &str); 7] = [
    ("+", "rate x 1.1, open load only"),
    ("-", "rate / 1.1"),
    ("]", "rate x 2"),
    ("[", "rate / 2"),
    ("q", "issue no more, wait for those in flight, report"),
    ("Ctrl-C", "the same; a second one waits for nothing"),
    ("?", "close this"),
];

#[cfg(test)]
mod tests {
    use ratatui::crossterm::event::KeyModifiers;

    use super::*;

    fn press(code: KeyCode) -> KeyEvent {
        KeyEvent::new(code, KeyModifiers::NONE)
    }

    #[test]
    fn keys_change_the_rate_there_and_back() {
        for (more, less, factor) in [('+', '-', 1.1), (']', '[', 2.0)] {
            assert_eq!(act(press(KeyCode::Char(more))), Some(KeyAction::Multiply(factor)));
            assert_eq!(act(press(KeyCode::Char(less))), Some(KeyAction::Multiply(1.0 / factor)));
        }
    }

    #[test]
    fn other_keys_do_nothing() {
        assert_eq!(act(press(KeyCode::Char('q'))), Some(KeyAction::Drain));
        assert_eq!(act(press(KeyCode::Char('?'))), Some(KeyAction::Help));
        for code in [KeyCode::Char('Q'), KeyCode::Char('x'), KeyCode::Enter, KeyCode::Up] {
            assert_eq!(act(press(code)), None, "{code:?}");
        }
    }

    #[test]
    fn a_key_release_is_no_second_press() {
        let mut key = press(KeyCode::Char(']'));
        key.kind = KeyEventKind::Release;
        assert_eq!(act(key), None);
    }
}

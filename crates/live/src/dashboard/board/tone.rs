//! Colours of the dashboard.

use ratatui::style::{Color, Modifier, Style};
use ratatui::symbols::{bar, border};

use crate::dashboard::board::BoardView;

/// What a piece of text is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    /// A figure.
    Plain,
    /// What a figure is called.
    Label,
    /// What holds for the whole picture.
    Strong,
    /// A figure that a reader should look at.
    Warning,
    /// A figure that says that something went wrong.
    Bad,
    /// What was said.
    Notice,
    /// A chart of throughput.
    Throughput,
    /// A chart of latency.
    Latency,
}

/// The look of `tone`; without colours the weight of the letters remains.
pub fn paint(view: &BoardView<'_>, tone: Tone) -> Style {
    let style = match tone {
        Tone::Label => Style::new().add_modifier(Modifier::DIM),
        Tone::Strong | Tone::Bad => Style::new().add_modifier(Modifier::BOLD),
        _ => Style::new(),
    };
    let colour = match tone {
        Tone::Plain | Tone::Label | Tone::Strong => None,
        Tone::Warning | Tone::Notice | Tone::Latency => Some(Color::Yellow),
        Tone::Bad => Some(Color::Red),
        Tone::Throughput => Some(Color::Cyan),
    };
    match colour.filter(|_| view.caption.style.colour) {
        Some(colour) => style.fg(colour),
        None => style,
    }
}

/// Bars for terminals that know ASCII only.
pub const ASCII_BARS: bar::Set<'static> = bar::Set {
    full: "#",
    seven_eighths: "#",
    three_quarters: "|",
    five_eighths: "|",
    half: ":",
    three_eighths: ":",
    one_quarter: ".",
    one_eighth: ".",
    empty: " ",
};

/// A border for terminals that know ASCII only.
pub const ASCII_BORDER: border::Set<'static> = border::Set {
    top_left: "+",
    top_right: "+",
    bottom_left: "+",
    bottom_right: "+",
    vertical_left: "|",
    vertical_right: "|",
    horizontal_top: "-",
    horizontal_bottom: "-",
};

//! A comparison on a terminal.

use assay_analysis::compare::IntervalBasis;

use super::words;
use super::{ComparedSetup, Contrast};
use crate::prose;
use crate::terminal::{Page, Style};

/// The comparison for a person at a terminal; its first line is the verdict.
pub fn terminal(contrast: &Contrast, style: Style) -> String {
    let mut page = Page::new(style);
    for finding in super::findings(contrast, style.letters) {
        page.finding(&finding);
    }
    side(&mut page, "BASE", &contrast.old, style);
    side(&mut page, "NEW", &contrast.new, style);
    if !contrast.differences.is_empty() {
        page.heading("Not alike");
        for found in &contrast.differences {
            page.titled(&found.what, &format!("  {}  /  {}", found.old, found.new));
        }
    }
    if contrast.comparison.basis == IntervalBasis::Runs {
        page.heading("Between runs (standard deviation of the runs' own figures)");
        page.table(&words::spreads(&contrast.comparison));
    }
    page.heading("Figures");
    page.table(&words::table(&contrast.comparison, style.letters));
    page.note(&words::meaning(&contrast.comparison));
    page.text
}

fn side(page: &mut Page, title: &str, side: &ComparedSetup, style: Style) {
    let run = side.typical();
    let count = match side.runs.len() {
        1 => String::new(),
        runs => format!(", {runs} runs"),
    };
    page.heading(&format!("{title}: {} ({}{count})", run.facts.title, side.name));
    for (title, text) in prose::circumstances(&run.facts, &run.summary, style.letters) {
        if ["store", "model", "load"].contains(&title) {
            page.titled(title, &text);
        }
    }
}

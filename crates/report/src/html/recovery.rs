//! The section on availability: states, what each fault cost, what that means in a year.

use std::fmt::Write as _;

use super::escape::escape;
use super::sections::{grouped, section, table};
use crate::recovery::{self, AvailabilityFacts};
use crate::units::Letters;

const LETTERS: Letters = Letters::Unicode;

/// The meanings of the columns of the table of injections.
const LEGEND: &str = "Times count from the fault. Error, success: when the first such operation \
     was meant to be sent; detected: when a client knew. TTR90: goodput is back at 90 % \
     of the baseline and stays for 5 s. Lost: operations that were expected in time and were not, \
     with the seconds of goodput that they are. Burst: the most done in an interval afterwards, \
     against the baseline. ≥: the end of what was observed came first.";

/// The section; empty if the run has no states.
pub fn availability(facts: Option<&AvailabilityFacts>) -> String {
    let Some(facts) = facts else { return String::new() };
    let mut out = section(
        "availability",
        "Availability",
        "Up: at least 90 % of the goodput of the baseline, at most 1 % errors, p99 at most three \
         times as high. Down: less than 10 % of that goodput. By the time at which operations were \
         meant to be sent.",
    );
    let mut note = |text: &str| {
        let _ = writeln!(out, "<p class=\"note\">{}</p>", grouped(&escape(text)));
    };
    note(&format!("States: {}.", recovery::states(facts, LETTERS)));
    note(&format!("Baseline: {}.", recovery::baseline(facts, LETTERS)));
    if facts.has_faults() {
        out += "<h3>Faults</h3>\n";
        out += &table(&recovery::injections(facts, recovery::Room::Wide, LETTERS), "");
        let _ = writeln!(out, "<p class=\"note\">{LEGEND}</p>");
    }
    if let Some(pooled) = recovery::pooled(facts, LETTERS) {
        out += "<h3>Faults of one sort together</h3>\n";
        out += &table(&pooled, "");
    }
    let texts = recovery::what_if(facts, LETTERS);
    if !texts.is_empty() {
        out += "<h3>What if</h3>\n<ul class=\"effects\">\n";
        for text in texts {
            let _ = writeln!(out, "<li>{}</li>", grouped(&escape(&text)));
        }
        out += "</ul>\n";
    }
    if let Some(rows) = recovery::consistability_table(facts) {
        out += "<h3>Consistability</h3>\n";
        out += &table(&rows, "");
        out += "<p class=\"note\">Shares of the time with at least one violation, by state; one \
                interval can have several classes of them.</p>\n";
    }
    out + "</section>\n"
}

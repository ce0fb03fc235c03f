//! A result on a terminal.

use assay_analysis::Summary;

use crate::facts::Facts;
use crate::hallmark::{self, Rows};
use crate::recovery::{self, AvailabilityFacts};
use crate::table::Table;
use crate::units::Letters;
use crate::verdict::{self, Finding, Level, Opening};
use crate::{agents, prose, scraped, servers, tables};

/// How the terminal looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// Whether colours may be used; without them nothing is lost.
    pub colour: bool,
    /// How many columns there are; tables use at most 100 of them.
    pub width: usize,
    /// Which characters may be used.
    pub letters: Letters,
}

impl Style {
    /// For a file, a pipe or `TERM=dumb`: no colours, only ASCII.
    pub const PLAIN: Style = Style { colour: false, width: 100, letters: Letters::Ascii };
}

/// Text beyond this column is hard to read, however wide the terminal is.
const WIDEST: usize = 100;
/// Below this the tables do not fit anyway.
const NARROWEST: usize = 40;
/// Where the texts of titled lines begin.
const HANG: usize = 12;
/// Where the texts of checks begin.
const CHECKS_HANG: usize = 29;

const BOLD: &str = "\x1b[1m";
const RED: &str = "\x1b[1;31m";
const GREEN: &str = "\x1b[1;32m";
const YELLOW: &str = "\x1b[1;33m";
const DIM: &str = "\x1b[2m";
const RESET: &str = "\x1b[0m";

/// The result for a person at a terminal; its first line is the verdict.
pub fn terminal(facts: &Facts, summary: &Summary, style: Style) -> String {
    let mut page = Page::new(style);
    opening(&mut page, facts, summary);
    let letters = style.letters;
    let transactions = tables::transactions(facts, summary, letters);
    if let Some(transactions) = &transactions {
        page.heading("Transactions");
        page.table(transactions);
        tables::legend(transactions).into_iter().for_each(|meaning| page.note(meaning));
    }
    let requests = if transactions.is_some() { " of single requests" } else { "" };
    page.heading(&format!("Throughput{requests}"));
    page.table(&tables::throughput(summary));
    page.heading("Latency");
    let latency = tables::latency(facts, summary, letters);
    page.table(&latency);
    tables::legend(&latency).into_iter().for_each(|meaning| page.note(meaning));
    if let Some(queries) = tables::queries(facts, summary, letters) {
        page.heading("Queries");
        page.table(&queries);
    }
    page.heading("Outcomes");
    page.table(&tables::outcomes(summary));
    if tables::has_failures(summary) {
        page.blank();
        page.table(&tables::reasons(summary));
    }
    store_side(&mut page, facts, summary);
    if let Some(availability) = &facts.availability {
        recoveries(&mut page, availability);
    }
    checks(&mut page, facts, summary);
    let rules = prose::workload(facts);
    if !rules.is_empty() {
        page.heading("The workload's own rules");
        rules.iter().for_each(|text| page.indented(text));
    }
    certificate(&mut page, facts);
    if !facts.store.settings.is_empty() {
        page.heading("Store settings");
        for setting in &facts.store.settings {
            let assignment = format!("{} = {}", setting.name, setting.value);
            page.indented(&format!("{assignment}  ({})", setting.meaning));
        }
    }
    page.heading("Reproduce with");
    page.command(&facts.command);
    page.text
}

/// What was done to the store and seen of its servers and nodes.
fn store_side(page: &mut Page, facts: &Facts, summary: &Summary) {
    let letters = page.style.letters;
    let effects = servers::effects(facts, letters);
    if !effects.is_empty() {
        page.heading("Effects");
        effects.iter().for_each(|text| page.indented(text));
    }
    if let Some(table) = agents::table(facts, letters) {
        page.heading("Agents");
        page.table(&table);
    }
    if let Some(table) = servers::table(facts, summary) {
        page.heading("Servers");
        page.table(&table);
    }
    if let Some(table) = scraped::table(facts) {
        page.heading("Numbers of servers");
        page.table(&table);
    }
    if let Some(table) = tables::nodes(facts, summary, letters) {
        page.heading("Nodes");
        page.table(&table);
    }
}

/// What was looked at beside the figures, and what was found.
fn checks(page: &mut Page, facts: &Facts, summary: &Summary) {
    let letters = page.style.letters;
    page.heading("Checks");
    if let Some(text) = hallmark::floor(facts, letters) {
        page.titled("floor", &text);
    }
    page.titled("in flight", &prose::concurrency(summary));
    for (title, text) in prose::availability(summary, letters) {
        page.titled(title, &text);
    }
    if let Some(text) = prose::consistency(facts) {
        page.titled("judged", &text);
    }
    if let Some(result) = &facts.consistency {
        let lines = crate::consistency::check_lines(result, letters);
        lines.iter().for_each(|text| page.titled("verdicts", text));
    }
    if let Some(text) = prose::value_checks(summary) {
        page.titled("values", &text);
    }
}

/// States and recoveries, if there were faults; else the states in a line.
fn recoveries(page: &mut Page, facts: &AvailabilityFacts) {
    let letters = page.style.letters;
    page.heading("Availability");
    page.titled("states", &recovery::states(facts, letters));
    page.titled("baseline", &recovery::baseline(facts, letters));
    if facts.has_faults() {
        page.blank();
        page.table(&recovery::injections(facts, recovery::Room::Narrow, letters));
    }
    if let Some(pooled) = recovery::pooled(facts, letters) {
        page.blank();
        page.table(&pooled);
    }
    recovery::what_if(facts, letters).iter().for_each(|text| page.titled("what if", text));
    let rows = recovery::consistability_table(facts).filter(|_| facts.has_faults());
    if let Some(rows) = rows {
        page.blank();
        page.table(&rows);
    }
}

/// The checks of the hallmark that did not pass, and those with unknown outcomes.
fn certificate(page: &mut Page, facts: &Facts) {
    let checks = hallmark::checks(facts, Rows::Notable);
    let untold = hallmark::untold(facts);
    if checks.is_empty() && untold.is_empty() {
        return;
    }
    page.heading("Hallmark");
    page.checks(&checks);
    if !untold.is_empty() {
        page.titled("unchecked", &untold);
    }
}

/// Hallmark, findings, headline, and what was run against what.
fn opening(page: &mut Page, facts: &Facts, summary: &Summary) {
    if let Some(line) = hallmark::line(facts) {
        page.shout(line.level, &line.text());
    }
    for text in hallmark::next_steps(facts, &summary.load) {
        page.titled("next", &text);
    }
    for text in hallmark::changed(facts) {
        page.shout(Level::Caution, &format!("THRESHOLD CHANGED: {text}"));
    }
    for line in verdict::opening(facts, summary, page.style.letters) {
        match line {
            Opening::Finding(finding) => page.finding(&finding),
            Opening::Headline(text) => page.wrapped(&text, 0, ""),
        }
    }
    page.heading(&facts.title);
    for (title, text) in prose::circumstances(facts, summary, page.style.letters) {
        page.titled(title, &text);
    }
}

/// Text under way, line by line.
pub(crate) struct Page {
    style: Style,
    /// What is written already.
    pub text: String,
}

impl Page {
    pub fn new(style: Style) -> Page {
        let width = style.width.clamp(NARROWEST, WIDEST);
        Page { style: Style { width, ..style }, text: String::new() }
    }

    pub fn blank(&mut self) {
        self.text.push('\n');
    }

    fn line(&mut self, line: &str, colour: &str) {
        let line = line.trim_end();
        if self.style.colour && !colour.is_empty() {
            self.text.push_str(&format!("{colour}{line}{RESET}\n"));
        } else {
            self.text.push_str(line);
            self.text.push('\n');
        }
    }

    pub fn heading(&mut self, title: &str) {
        self.blank();
        let title = self.clean(title);
        self.line(&title, BOLD);
    }

    pub fn finding(&mut self, finding: &Finding) {
        self.shout(finding.level, &finding.shout());
    }

    fn shout(&mut self, level: Level, text: &str) {
        let colour = match level {
            Level::Alarm => RED,
            Level::Caution => YELLOW,
            Level::Fine => GREEN,
        };
        self.wrapped(text, 0, colour);
    }

    /// A line that begins with a title; what does not fit hangs below the text.
    pub fn titled(&mut self, title: &str, text: &str) {
        self.wrapped(&format!("  {title:<width$}{text}", width = HANG - 2), HANG, "");
    }

    pub fn indented(&mut self, text: &str) {
        self.wrapped(&format!("  {text}"), 4, "");
    }

    /// A command to be copied: a long line is broken with ` \`, but never within quotes.
    pub fn command(&mut self, command: &str) {
        let command = self.clean(command);
        let mut line = String::from("  ");
        let mut is_fresh = true;
        for word in shell_words(&command) {
            // Room for the blank and the backslash behind it.
            let length = line.chars().count() + word.chars().count() + " \\".len();
            if length > self.style.width && !is_fresh {
                self.line(&format!("{line}\\"), "");
                line = "    ".to_owned();
            }
            line.push_str(word);
            line.push(' ');
            is_fresh = false;
        }
        self.line(&line, "");
    }

    pub fn note(&mut self, text: &str) {
        self.wrapped(&format!("  {text}"), 4, DIM);
    }

    /// The hallmark's checks: a line for each, what follows hangs below its texts.
    fn checks(&mut self, table: &Table) {
        for row in table.rows() {
            let [code, name, verdict, found, threshold, withdraws] = &row[..] else { continue };
            let mut text = format!("{code} {name:<15} {verdict:<6}  {found}");
            if threshold != "-" {
                text += &format!(" ({threshold})");
            }
            if withdraws != "-" {
                text += &format!("; withdraws {withdraws}");
            }
            self.wrapped(&format!("  {text}"), CHECKS_HANG, "");
        }
    }

    pub fn table(&mut self, table: &Table) {
        for (place, line) in table.lines().iter().enumerate() {
            let line = self.clean(line);
            self.line(&format!("  {line}"), if place == 0 { DIM } else { "" });
        }
    }

    /// Breaks `text` at blanks so that it fits; all lines but the first begin `hang` blanks in.
    ///
    /// Words that are longer than a line, such as URLs, stay whole so that they can be copied.
    pub fn wrapped(&mut self, text: &str, hang: usize, colour: &str) {
        let text = self.clean(text);
        let mut line = String::new();
        let mut is_fresh = true;
        for word in text.split_inclusive(' ') {
            let length = line.chars().count() + word.trim_end().chars().count();
            if length > self.style.width && !is_fresh {
                self.line(&line, colour);
                line = " ".repeat(hang);
            }
            line.push_str(word);
            is_fresh = line.trim().is_empty();
        }
        self.line(&line, colour);
    }

    /// Text that cannot disturb a terminal: no control characters, only letters it can show.
    fn clean(&self, text: &str) -> String {
        text.chars().map(|letter| self.clean_letter(letter)).collect()
    }

    fn clean_letter(&self, letter: char) -> char {
        if letter.is_control() {
            return '?';
        }
        if letter.is_ascii() || self.style.letters == Letters::Unicode {
            return letter;
        }
        match letter {
            'µ' | 'μ' => 'u',
            '×' => 'x',
            '–' | '—' | '−' => '-',
            '·' => '.',
            '’' | '‘' => '\'',
            '\u{a0}' | '\u{202f}' => ' ',
            _ => '?',
        }
    }
}

/// The arguments of a shell command with their quotes, in which blanks do not separate.
fn shell_words(command: &str) -> impl Iterator<Item = &str> {
    let mut is_quoted = false;
    let mut before = ' ';
    command.split(move |letter: char| {
        // `'\''` is a quote within quotes: the one behind the backslash opens no quotes.
        is_quoted ^= letter == '\'' && (is_quoted || before != '\\');
        before = letter;
        letter == ' ' && !is_quoted
    })
}

#[cfg(test)]
mod tests;

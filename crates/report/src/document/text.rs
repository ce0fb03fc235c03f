//! Text of a document, for a terminal.

use std::borrow::Cow;

use super::{Block, CheckRow, Circumstances, Document, DocumentSection, Formats, Opening};
use crate::document::{Finding, Level};
use crate::table::Table;
use crate::units::Letters;

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

impl Document<'_> {
    /// The document for a person at a terminal; its first line is the verdict.
    pub fn text(&self, style: Style) -> String {
        let mut page = Page::new(style);
        for line in &self.opening {
            match line {
                Opening::Finding(finding) => page.finding(finding),
                Opening::Headline(text) => page.wrapped(text, 0, ""),
                Opening::Next(text) => page.titled("next", text),
            }
        }
        self.circumstances.iter().for_each(|one| circumstances(&mut page, one));
        for section in self.sections.iter().filter(|section| section.formats.contain(Formats::Text))
        {
            page.section(section);
        }
        page.text
    }
}

fn circumstances(page: &mut Page, all: &Circumstances) {
    page.heading(&all.title);
    let is_shown = |title: &str| all.brief.is_empty() || all.brief.contains(&title);
    let facts = all.facts.iter().filter(|(title, _)| is_shown(title));
    facts.for_each(|(title, text)| page.titled(title, text));
}

/// Text under way, line by line.
struct Page {
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
        // A long title has no room of its own, but a gap behind it.
        let gap = if title.chars().count() < HANG - 2 { "" } else { "  " };
        self.wrapped(&format!("  {title:<width$}{gap}{text}", width = HANG - 2), HANG, "");
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

    /// A check of a hallmark in a line; what does not fit hangs below what was found.
    fn check(&mut self, row: &CheckRow) {
        let CheckRow { code, name, verdict, found, .. } = row;
        let mut text = format!("{code} {name:<15} {verdict:<6}  {found}");
        if let Some(threshold) = &row.threshold {
            text += &format!(" ({threshold})");
        }
        if let Some(withdraws) = &row.withdraws {
            text += &format!("; withdraws {withdraws}");
        }
        self.wrapped(&format!("  {text}"), CHECKS_HANG, "");
    }

    pub fn table(&mut self, table: &Table) {
        let table = table.mapped(|cell| self.clean(cell).into_owned());
        for (place, line) in table.lines().iter().enumerate() {
            self.line(&format!("  {line}"), if place == 0 { DIM } else { "" });
        }
    }

    /// A section with its heading, unless nothing of it is shown here.
    fn section(&mut self, section: &DocumentSection) {
        let before = self.text.len();
        match section.title.as_str() {
            "" => self.blank(),
            title => self.heading(title),
        }
        let below = self.text.len();
        self.blocks(&section.blocks, below);
        if self.text.len() == below {
            self.text.truncate(before);
        }
    }

    /// Blocks below a heading that ends at `below`; tables have a blank line between them.
    fn blocks(&mut self, blocks: &[Block], mut below: usize) {
        for block in blocks {
            match block {
                Block::Paragraph(text) => self.indented(text),
                Block::Note(text) => self.note(text),
                Block::Facts(facts) => {
                    facts.iter().for_each(|(title, text)| self.titled(title, text));
                }
                Block::List(texts) => texts.iter().for_each(|text| self.indented(text)),
                Block::Table(table) => {
                    if self.text.len() > below {
                        self.blank();
                    }
                    self.table(table);
                }
                Block::Settings(settings) => settings.iter().for_each(|one| {
                    self.indented(&format!("{} = {}  ({})", one.name, one.value, one.meaning));
                }),
                Block::Checks(rows) => rows.iter().for_each(|row| self.check(row)),
                Block::Command(command) => self.command(command),
                Block::Heading(title) => {
                    self.heading(title);
                    below = self.text.len();
                }
                Block::Only(formats, blocks) if formats.contain(Formats::Text) => {
                    self.blocks(blocks, below)
                }
                Block::Fold(_, blocks) => self.blocks(blocks, below),
                Block::Only(..)
                | Block::OnPage(_)
                | Block::Figures(..)
                | Block::PageTable(_)
                | Block::Dense(..)
                | Block::Events(_)
                | Block::Bars(..)
                | Block::HeatKey => {}
            }
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
    fn clean<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let is_plain = |letter: char| {
            letter.is_ascii_graphic()
                || letter == ' '
                || (self.style.letters == Letters::Unicode && !letter.is_control())
        };
        if text.chars().all(is_plain) {
            return Cow::Borrowed(text);
        }
        let mut out = String::with_capacity(text.len());
        for letter in text.chars() {
            match is_plain(letter) {
                true => out.push(letter),
                false => out.push_str(in_ascii(letter)),
            }
        }
        Cow::Owned(out)
    }
}

/// What stands for a letter where only ASCII can be shown.
fn in_ascii(letter: char) -> &'static str {
    match letter {
        'µ' | 'μ' => "u",
        '×' => "x",
        '–' | '—' | '−' => "-",
        '·' => ".",
        '’' | '‘' => "'",
        '“' | '”' => "\"",
        '…' => "...",
        '\u{a0}' | '\u{202f}' => " ",
        '≥' => ">=",
        '≤' => "<=",
        '→' => "->",
        '≈' => "~",
        '±' => "+-",
        '†' => "#",
        '√' => "sqrt ",
        '²' => "^2",
        'α' => "alpha",
        'β' => "beta",
        'γ' => "gamma",
        'λ' => "lambda",
        'σ' => "sigma",
        _ => "?",
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

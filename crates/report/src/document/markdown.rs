//! Markdown of a document, for a pull request or an issue.

use assay_model::Setting;

use super::{Block, CheckRow, Document, Formats, Opening};
use crate::document::Finding;
use crate::table::Table;

impl Document<'_> {
    /// The document in GitHub's Markdown; texts cannot become markup. What is there to be looked up
    /// is folded away.
    pub fn markdown(&self) -> String {
        // Where tables have headings, that of the document is one level above.
        let level = if self.is_headed { "##" } else { "###" };
        let mut out = format!("{level} {}\n\n", escape(&self.title));
        for line in &self.opening {
            match line {
                Opening::Finding(Finding { name, text, .. }) => {
                    let colon = if text.is_empty() { "" } else { ": " };
                    let name = escape(&name.to_uppercase());
                    out += &format!("**{name}**{colon}{}\n\n", escape(text));
                }
                Opening::Headline(text) => out += &format!("{}\n\n", escape(text)),
                Opening::Next(_) => {}
            }
        }
        let sections = || self.sections.iter().filter(|one| one.formats.contain(Formats::Markdown));
        for section in sections().filter(|section| !section.is_reference) {
            let before = out.len();
            if self.is_headed && !section.title.is_empty() {
                out += &format!("### {}\n\n", escape(&section.title));
            }
            let below = out.len();
            open(&section.blocks, &mut out);
            if out.len() == below {
                out.truncate(before);
            }
        }
        let mut items = String::new();
        // Of several set-ups each has a list of its own.
        let title = |title: &str, items: &mut String| {
            if self.circumstances.len() > 1 {
                *items += &format!("\n{}\n\n", escape(title));
            }
        };
        for one in &self.circumstances {
            title(&one.title, &mut items);
            facts(&one.facts, &mut items);
        }
        for section in sections().filter(|section| section.is_reference) {
            title(&section.title, &mut items);
            folded(&section.title, &section.blocks, &mut items);
        }
        if !items.is_empty() {
            let items = items.trim_start();
            out += &format!("<details><summary>Circumstances</summary>\n\n{items}\n</details>\n");
        }
        out
    }
}

/// Blocks that are read in their order.
fn open(blocks: &[Block], out: &mut String) {
    for block in blocks {
        match block {
            Block::Paragraph(text) | Block::Note(text) => *out += &format!("{}\n\n", escape(text)),
            Block::Facts(all) if !all.is_empty() => {
                facts(all, out);
                out.push('\n');
            }
            Block::List(texts) if !texts.is_empty() => {
                texts.iter().for_each(|text| *out += &format!("* {}\n", escape(text)));
                out.push('\n');
            }
            Block::Table(table) => tabular(table, out),
            Block::Checks(rows) if !rows.is_empty() => tabular(&checks(rows), out),
            Block::Command(command) => *out += &format!("{}\n\n", code(command)),
            Block::Heading(title) => *out += &format!("#### {}\n\n", escape(title)),
            Block::Only(formats, blocks) if formats.contain(Formats::Markdown) => open(blocks, out),
            Block::Fold(_, blocks) => open(blocks, out),
            Block::Settings(settings) => {
                settings.iter().for_each(|one| setting(one, out));
                out.push('\n');
            }
            Block::Facts(_)
            | Block::List(_)
            | Block::Checks(_)
            | Block::Only(..)
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

/// The items that `blocks` are in the list of what can be looked up.
fn folded(title: &str, blocks: &[Block], items: &mut String) {
    for block in blocks {
        match block {
            Block::Facts(all) => facts(all, items),
            Block::List(texts) => {
                texts.iter().for_each(|text| *items += &format!("- {}\n", escape(text)));
            }
            Block::Settings(settings) => settings.iter().for_each(|one| setting(one, items)),
            Block::Command(command) => {
                *items += &format!("- {}: {}\n", title.to_lowercase(), code(command));
            }
            Block::Only(formats, blocks) if formats.contain(Formats::Markdown) => {
                folded(title, blocks, items);
            }
            Block::Fold(_, blocks) => folded(title, blocks, items),
            _ => {}
        }
    }
}

fn facts(facts: &[(String, String)], out: &mut String) {
    for (title, text) in facts {
        *out += &format!("- {}: {}\n", escape(title), escape(text));
    }
}

fn setting(setting: &Setting, out: &mut String) {
    let [name, value, meaning] =
        [&setting.name, &setting.value, &setting.meaning].map(|text| escape(text));
    *out += &format!("- setting {name} = {value}: {meaning}\n");
}

fn tabular(table: &Table, out: &mut String) {
    *out += &table.mapped(escape).markdown();
    out.push('\n');
}

fn checks(rows: &[CheckRow]) -> Table {
    Table::of(rows)
        .left("", |row| row.code)
        .left("check", |row| row.name)
        .left("verdict", |row| row.verdict)
        .left("found", |row| &row.found)
        .left("threshold", |row| row.threshold.as_deref().unwrap_or("-"))
        .left("withdraws", |row| row.withdraws.as_deref().unwrap_or("-"))
        .build()
}

/// Text in which nothing is markup, on one line.
///
/// A tilde at the beginning of a word, which marks a value, strikes nothing out; an exclamation
/// mark is markup before a bracket only.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut letters = text.chars().peekable();
    let mut is_first = true;
    while let Some(letter) = letters.next() {
        let is_markup = match letter {
            '~' => !(is_first && letters.peek().is_none_or(|next| !"~-".contains(*next))),
            '!' => letters.peek() == Some(&'['),
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '#' | '@' => true,
            _ => false,
        };
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            _ if is_markup => out.extend(['\\', letter]),
            letter if letter.is_control() => out.push(' '),
            letter => out.push(letter),
        }
        is_first = letter == ' ';
    }
    out
}

/// A code span, with a fence that is longer than any run of backticks within.
fn code(text: &str) -> String {
    let longest = text.split(|letter| letter != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest + 1);
    let text: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    if longest > 0 { format!("{fence} {text} {fence}") } else { format!("{fence}{text}{fence}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_cannot_become_markup() {
        assert_eq!(escape("<b>*x*</b>\n# @you"), "&lt;b&gt;\\*x\\*&lt;/b&gt; \\# \\@you");
        assert_eq!(code("a `b`` c"), "``` a `b`` c ```");
    }

    #[test]
    fn marks_of_values_stay_as_they_are() {
        assert_eq!(escape("~1.20 ms, !3 s"), "~1.20 ms, !3 s");
        assert_eq!(escape("~~gone~~ ![x] a~b~"), "\\~\\~gone\\~\\~ \\!\\[x\\] a\\~b\\~");
    }
}

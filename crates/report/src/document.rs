//! Document: what a report says, before it is text, Markdown or a page.
//!
//! Each kind of result has one function that makes a [`Document`] of it; the renderers know
//! documents only. Texts are in full Unicode and unescaped: a renderer escapes them for its format,
//! and [`Document::text`] replaces what a terminal of ASCII cannot show.

mod block;
mod finding;
mod markdown;
mod page;
mod text;

use std::borrow::Cow;

pub use block::{
    Bar, Block, ChartFigure, CheckRow, CheckTone, Drawing, FigureCard, FigureLayout, Formats,
    NumberedEvent, PageCell, PageTable,
};
pub use finding::{Finding, Level};
pub(crate) use page::{HEAD, MAIN, page, plain};
pub use text::Style;

/// What a report says, in the order in which it says it.
#[derive(Default)]
pub struct Document<'a> {
    /// A headline of a few words.
    pub title: String,
    /// The version of this program.
    pub version: String,
    /// What a page says below its title.
    pub subtitle: String,
    /// What must be known before any figure.
    pub opening: Vec<Opening>,
    /// The figures that a page shows in large type.
    pub cards: Vec<FigureCard>,
    /// What was run against what: below the title of a text, at the end of the other formats.
    pub circumstances: Vec<Circumstances>,
    /// Whether Markdown needs the sections' headings to tell their tables apart.
    pub is_headed: bool,
    /// The rest.
    pub sections: Vec<DocumentSection<'a>>,
}

/// One line at the top of a report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Opening {
    /// Something to know before any figure.
    Finding(Finding),
    /// The headline figures; the cards of a page show them.
    Headline(String),
    /// What to change so that the next run is better; on a terminal only.
    Next(String),
}

/// What was run against what, as pairs of a title and a text.
pub struct Circumstances {
    /// What they are of.
    pub title: String,
    /// The colour that it has in charts; empty if there is one only.
    pub colour: &'static str,
    /// The facts.
    pub facts: Vec<(String, String)>,
    /// Which of them a terminal has room for; all if this is empty.
    pub brief: &'static [&'static str],
}

/// Blocks below one heading.
pub struct DocumentSection<'a> {
    /// The name of its place on a page; empty for a section that no page has.
    pub id: Cow<'static, str>,
    /// Its heading; empty for the first one, if it needs none.
    pub title: String,
    /// Its title in the page's list of contents; empty if it is not in it.
    pub short: &'static str,
    /// What its figures mean, which a page says below the heading.
    pub lead: String,
    /// Which formats have it.
    pub formats: Formats,
    /// Whether it is there to be looked up: Markdown folds it.
    pub is_reference: bool,
    /// What it consists of.
    pub blocks: Vec<Block<'a>>,
}

impl<'a> DocumentSection<'a> {
    /// A section of every format.
    pub fn new(
        id: impl Into<Cow<'static, str>>,
        title: impl Into<String>,
        lead: impl Into<String>,
    ) -> DocumentSection<'a> {
        DocumentSection {
            id: id.into(),
            title: title.into(),
            short: "",
            lead: lead.into(),
            formats: Formats::All,
            is_reference: false,
            blocks: Vec::new(),
        }
    }

    /// A section of a page alone.
    pub fn of_page(
        id: impl Into<Cow<'static, str>>,
        title: impl Into<String>,
        lead: impl Into<String>,
    ) -> DocumentSection<'a> {
        DocumentSection::new(id, title, lead).of(Formats::Page)
    }

    /// A section that a page does not have.
    pub fn of_lines(title: impl Into<String>) -> DocumentSection<'a> {
        DocumentSection::new("", title, "").of(Formats::Lines)
    }

    /// How to run it once more.
    pub fn repeat(command: &str) -> DocumentSection<'a> {
        let section = DocumentSection::new("repeat", REPEAT, "").reference();
        section.with(Block::Command(command.to_owned()))
    }

    /// The section of these formats.
    pub fn of(self, formats: Formats) -> DocumentSection<'a> {
        DocumentSection { formats, ..self }
    }

    /// The section as one that is there to be looked up.
    pub fn reference(self) -> DocumentSection<'a> {
        DocumentSection { is_reference: true, ..self }
    }

    /// The section with its title in the page's list of contents.
    pub fn listed(self, short: &'static str) -> DocumentSection<'a> {
        DocumentSection { short, ..self }
    }

    /// The section with one more block.
    pub fn with(mut self, block: Block<'a>) -> DocumentSection<'a> {
        self.blocks.push(block);
        self
    }

    /// The section with more blocks.
    pub fn with_all(mut self, blocks: impl IntoIterator<Item = Block<'a>>) -> DocumentSection<'a> {
        self.blocks.extend(blocks);
        self
    }

    /// The section, unless it has no blocks.
    pub fn filled(self) -> Option<DocumentSection<'a>> {
        (!self.blocks.is_empty()).then_some(self)
    }
}

/// The title of the section on how to run it once more.
const REPEAT: &str = "Reproduce with";

impl Circumstances {
    /// Those of one set-up.
    pub fn new<'t>(
        title: impl Into<String>,
        facts: impl IntoIterator<Item = (&'t str, String)>,
    ) -> Circumstances {
        let facts = facts.into_iter().map(|(title, text)| (title.to_owned(), text));
        Circumstances { title: title.into(), colour: "", facts: facts.collect(), brief: &[] }
    }
}

/// The lines of `findings` at the top of a report.
pub fn opening(findings: Vec<Finding>) -> Vec<Opening> {
    findings.into_iter().map(Opening::Finding).collect()
}

#[cfg(test)]
mod tests;

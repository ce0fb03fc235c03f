//! Block: a paragraph, a table, a chart or another part of a section.

use assay_model::{Setting, named_enum};

use crate::chart::line_chart::LineChart;
use crate::table::Table;

/// Which formats have a part of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Formats {
    /// All of them.
    All,
    /// Text and Markdown.
    Lines,
    /// Text alone.
    Text,
    /// Markdown alone.
    Markdown,
    /// Markdown and the page, which have room for wide tables.
    Wide,
    /// The page alone.
    Page,
}

/// What is made only when a page is drawn.
type OnPage<'a> = Box<dyn Fn() -> Vec<Block<'a>> + 'a>;

/// A part of a section.
pub enum Block<'a> {
    /// Sentences.
    Paragraph(String),
    /// A remark on what stands above it.
    Note(String),
    /// Pairs of a title and a text.
    Facts(Vec<(String, String)>),
    /// Sentences of which each stands for itself.
    List(Vec<String>),
    /// Rows under titles.
    Table(Table),
    /// The store's settings with what they mean.
    Settings(Vec<Setting>),
    /// The checks of a hallmark.
    Checks(Vec<CheckRow>),
    /// A command to be copied.
    Command(String),
    /// A heading below that of the section.
    Heading(String),
    /// What some formats do not have.
    Only(Formats, Vec<Block<'a>>),
    /// What a page alone has room for: it is made when a page is drawn, for no other format.
    OnPage(OnPage<'a>),
    /// What a page folds away below a title.
    Fold(String, Vec<Block<'a>>),
    /// Charts; they are made within [`Block::OnPage`].
    Figures(FigureLayout, Vec<ChartFigure>),
    /// A table of a page whose cells are more than text; likewise.
    PageTable(PageTable),
    /// A table of numbers that may have a thousand rows, each with its title; likewise.
    Dense(&'static [&'static str], Vec<Vec<String>>),
    /// Moments of a run, numbered as in the charts.
    Events(Vec<NumberedEvent>),
    /// Shares of the outcomes as bars; their names are colours.
    Bars(&'static [&'static str], Vec<Bar>),
    /// The colours of a heat map from few to many.
    HeatKey,
}

/// How charts stand on a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FigureLayout {
    /// One below the other.
    Stacked,
    /// Side by side, as far as there is room.
    Multiples,
}

/// A chart with its title.
pub struct ChartFigure {
    /// What stands above it.
    pub title: String,
    /// A remark below that; may be empty.
    pub note: String,
    /// The chart.
    pub drawing: Drawing,
}

/// A chart.
pub enum Drawing {
    /// Lines, which a browser makes movable.
    Lines(Box<LineChart>),
    /// A drawing that stays as it is, as SVG with its labels.
    Still(String),
}

/// A figure in large type.
pub struct FigureCard {
    /// What it is.
    pub title: String,
    /// The figure.
    pub figure: String,
    /// What else is to say of it.
    pub note: String,
    /// Whether the hallmark does not stand behind it.
    pub is_withdrawn: bool,
    /// The columns that it takes, as CSS has it; empty for one.
    pub columns: &'static str,
}

named_enum! {
    /// How a row looks.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum CheckTone {
        /// It did not pass.
        Alarm => "alarm",
        /// It is remarkable.
        Caution => "caution",
        /// It passed.
        Fine => "fine",
        /// It does not matter here.
        Quiet => "quiet",
    }
}

/// A check of a hallmark with what decided it.
pub struct CheckRow {
    /// Its short name.
    pub code: &'static str,
    /// Its name.
    pub name: &'static str,
    /// What it claims.
    pub claim: &'static str,
    /// What came of it.
    pub verdict: &'static str,
    /// How bad that is.
    pub tone: CheckTone,
    /// What was found.
    pub found: String,
    /// What is allowed, if that is a number.
    pub threshold: Option<String>,
    /// The figures that it withdraws, if it does.
    pub withdraws: Option<String>,
}

/// A table of a page with cells of several sorts.
pub struct PageTable {
    /// The class of the style sheet.
    pub class: &'static str,
    /// The titles with whether the cells below are numbers.
    pub columns: Vec<(String, bool)>,
    /// The rows; the first cell of each is its title.
    pub rows: Vec<Vec<PageCell>>,
}

/// A cell of a [`PageTable`].
pub enum PageCell {
    /// The title of the row; may be empty.
    Title(String),
    /// A text with a remark below it, which may be empty.
    Text(String, String),
    /// A value that the hallmark does not stand behind, with a remark.
    Struck(String, &'static str),
    /// A drawing as SVG.
    Drawn(String),
}

/// A moment of a run.
pub struct NumberedEvent {
    /// When; may be empty.
    pub when: String,
    /// What sort of event; may be empty.
    pub kind: &'static str,
    /// What happened.
    pub text: String,
}

/// Shares of one whole.
pub struct Bar {
    /// What it is of.
    pub title: String,
    /// The parts, in the order of their names.
    pub parts: Vec<u64>,
    /// What stands behind it.
    pub text: String,
}

impl<'a> Block<'a> {
    /// Pairs of a title and a text.
    pub fn facts<T: Into<String>>(facts: impl IntoIterator<Item = (T, String)>) -> Block<'a> {
        Block::Facts(facts.into_iter().map(|(title, text)| (title.into(), text)).collect())
    }

    /// A table with the class that it has on a page.
    pub fn table(table: Table, class: &'static str) -> Block<'a> {
        Block::Table(table.of_class(class))
    }

    /// What a page alone has room for.
    pub fn on_page(make: impl Fn() -> Vec<Block<'a>> + 'a) -> Block<'a> {
        Block::OnPage(Box::new(make))
    }

    /// Charts.
    pub fn figures(layout: FigureLayout, make: impl Fn() -> Vec<ChartFigure> + 'a) -> Block<'a> {
        Block::on_page(move || vec![Block::Figures(layout, make())])
    }

    /// What stands on a page below a smaller heading.
    pub fn headed(title: &str, block: Block<'a>) -> [Block<'a>; 2] {
        [Block::Only(Formats::Page, vec![Block::Heading(title.to_owned())]), block]
    }
}

impl From<Table> for Block<'_> {
    fn from(table: Table) -> Self {
        Block::Table(table)
    }
}

impl ChartFigure {
    /// A chart of lines.
    pub fn lines(title: impl Into<String>, chart: LineChart) -> ChartFigure {
        let drawing = Drawing::Lines(Box::new(chart));
        ChartFigure { title: title.into(), note: String::new(), drawing }
    }

    /// A drawing that stays as it is.
    pub fn still(title: impl Into<String>, drawing: String) -> ChartFigure {
        ChartFigure { title: title.into(), note: String::new(), drawing: Drawing::Still(drawing) }
    }
}

impl FigureCard {
    /// A card of one column.
    pub fn new(
        title: impl Into<String>,
        figure: impl Into<String>,
        note: impl Into<String>,
    ) -> FigureCard {
        let (title, figure, note) = (title.into(), figure.into(), note.into());
        FigureCard { title, figure, note, is_withdrawn: false, columns: "" }
    }
}

impl Formats {
    /// Whether `format`, which is one of text, Markdown and page, has it.
    pub fn contain(self, format: Formats) -> bool {
        match self {
            Formats::All => true,
            Formats::Lines => format != Formats::Page,
            Formats::Wide => format != Formats::Text,
            one => one == format,
        }
    }
}

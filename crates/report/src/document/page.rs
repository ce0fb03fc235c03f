//! Page of a document: one HTML file that needs no network.
//!
//! Everything essential is text, tables and SVG that are drawn here, so it is there without
//! JavaScript, in print and in a mail program. Where a browser runs scripts, the line charts are
//! made movable by uPlot, which is part of the file. The same input gives the same bytes.

use assay_model::Setting;
use maud::{Markup, PreEscaped, html};
use serde_json::Value;

use super::{
    Bar, Block, ChartFigure, CheckRow, Circumstances, Document, DocumentSection, Drawing,
    FigureCard, FigureLayout, Formats, NumberedEvent, Opening, PageCell, PageTable,
};
use crate::document::{Finding, Level};
use crate::escape::{escape, script_json};
use crate::percentile::WITHDRAWN;
use crate::table::{Align, Table};

const STYLE: &str = include_str!("page/page.css");
const SCRIPT: &str = include_str!("page/page.js");
const UPLOT_STYLE: &str = include_str!("../../vendor/uplot-1.6.32/uPlot.min.css");
const UPLOT: &str = include_str!("../../vendor/uplot-1.6.32/uPlot.iife.min.js");
const UPLOT_LICENCE: &str = include_str!("../../vendor/uplot-1.6.32/LICENSE");

/// Nothing is loaded from anywhere; only what is in the file itself may run.
const POLICY: &str =
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:";

/// What the head of each page begins with, and its main part: a server adds to them.
pub const HEAD: &str = "<meta charset=\"utf-8\">\n";
pub const MAIN: &str = "<main>\n";

impl Document<'_> {
    /// The document as one file that needs no network.
    pub fn page(&self) -> String {
        let mut drawn = Drawn { charts: Vec::new(), label: String::new() };
        let (reference, body): (Vec<_>, Vec<_>) = self
            .sections
            .iter()
            .filter(|section| section.formats.contain(Formats::Page))
            .partition(|section| section.is_reference);
        let [body, reference] = [body, reference].map(|sections| drawn.sections(&sections));
        let body = html! {
            header {
                p.brand { "Assay " span { (plain(&self.version)) } } "\n"
                h1 { (plain(&self.title)) } "\n"
                p.sub { (plain(&self.subtitle)) }
            }
            (verdict(&self.opening))
            (cards(&self.cards))
            (contents(&body, &reference, !self.circumstances.is_empty()))
            @for (_, section) in body { (section) }
            (circumstances(&self.circumstances))
            @for (_, section) in reference { (section) }
        };
        page(&self.title, body, drawn.charts)
    }
}

/// A page with `body`, whose line charts are `charts`.
pub fn page(title: &str, body: Markup, charts: Vec<Value>) -> String {
    let page = html! {
        (PreEscaped("<!doctype html>\n"))
        html lang="en" {
            head {
                "\n" (PreEscaped(HEAD))
                meta http-equiv="Content-Security-Policy" content=(POLICY); "\n"
                meta name="viewport" content="width=device-width, initial-scale=1"; "\n"
                meta name="color-scheme" content="light dark"; "\n"
                title { (plain(title)) " – Assay" } "\n"
                style { "\n" (PreEscaped(UPLOT_STYLE)) "\n" (PreEscaped(STYLE)) }
            }
            body {
                (PreEscaped(MAIN)) (body) (PreEscaped("</main>\n"))
                footer { p { "Measured with Assay. This file needs no network." } } "\n"
                script type="application/json" id="charts" {
                    (PreEscaped(script_json(&Value::from(charts))))
                }
                script {
                    "\n/*\n" (PreEscaped(UPLOT_LICENCE)) "\n*/\n" (PreEscaped(UPLOT)) "\n"
                    (PreEscaped(SCRIPT))
                }
            }
        }
        "\n"
    };
    page.into_string()
}

/// Text that cannot become markup.
pub fn plain(text: &str) -> Markup {
    PreEscaped(escape(text))
}

/// Text that cannot become markup, in which numbers stay together with their units.
fn words(text: &str) -> Markup {
    PreEscaped(grouped(&escape(text)))
}

fn verdict(opening: &[Opening]) -> Markup {
    let findings = opening.iter().filter_map(|line| match line {
        Opening::Finding(finding) => Some(finding),
        Opening::Headline(_) | Opening::Next(_) => None,
    });
    html! {
        section.verdict aria-label="Verdict" {
            @for (place, finding) in findings.enumerate() { "\n" (line(finding, place == 0)) }
        }
    }
}

/// One line of a verdict, with a sign; the first one is larger.
fn line(Finding { level, name, text }: &Finding, is_first: bool) -> Markup {
    let (class, sign) = match level {
        Level::Alarm => ("alarm", "!"),
        Level::Caution => ("caution", "!"),
        Level::Fine => ("fine", "✓"),
    };
    html! {
        p.(class).first[is_first] {
            span.sign aria-hidden="true" { (sign) }
            span { strong { (plain(name)) } " " (words(text)) }
        }
    }
}

fn cards(cards: &[FigureCard]) -> Markup {
    html! {
        @if !cards.is_empty() {
            section.cards aria-label="Figures" {
                @for FigureCard { title, figure, note, is_withdrawn, columns } in cards {
                    "\n"
                    div.card style=[grid_column(columns)] {
                        h3 { (words(title)) }
                        p.figure.struck[*is_withdrawn] { (with_small_unit(figure)) }
                        p { (words(note)) }
                    }
                }
            }
        }
    }
}

fn grid_column(columns: &str) -> Option<String> {
    (!columns.is_empty()).then(|| format!("grid-column:{columns}"))
}

/// A figure whose unit is set smaller than its number.
fn with_small_unit(figure: &str) -> Markup {
    let last_digit = figure.rfind(|c: char| c.is_ascii_digit());
    let end = last_digit.map_or(figure.len(), |place| place + 1);
    let (number, unit) = figure.split_at(end);
    html! { (words(number)) small { (plain(&unit.replace(' ', "\u{202f}"))) } }
}

/// A section with what was drawn of it.
type DrawnSection<'d, 'a> = (&'d DocumentSection<'a>, Markup);

/// Links to the sections that are to be in it.
fn contents(body: &[DrawnSection], reference: &[DrawnSection], has_circumstances: bool) -> Markup {
    let link = |id: &str, title: &str| html! { "\n" a href={ "#" (id) } { (title) } };
    let links = |sections: &[DrawnSection]| {
        let listed = sections.iter().filter(|(section, _)| !section.short.is_empty());
        let links = listed.map(|(section, _)| link(&section.id, section.short).into_string());
        PreEscaped(links.collect::<String>())
    };
    let of_body = links(body);
    html! {
        @if !of_body.0.is_empty() {
            nav aria-label="Contents" {
                (of_body)
                @if has_circumstances { (link(CIRCUMSTANCES, "Circumstances")) }
                (links(reference))
            }
        }
    }
}

/// The place of the circumstances on a page.
const CIRCUMSTANCES: &str = "circumstances";

fn circumstances(all: &[Circumstances]) -> Markup {
    html! {
        @if !all.is_empty() {
            section id=(CIRCUMSTANCES) {
                h2 { "Circumstances" }
                @if let [one] = all { (facts(&one.facts)) } @else {
                    div.pair {
                        @for Circumstances { title, colour, facts: all, .. } in all {
                            div { h3.(colour) { (plain(title)) } (facts(all)) }
                        }
                    }
                }
            }
        }
    }
}

fn facts(facts: &[(String, String)]) -> Markup {
    html! {
        dl {
            @for (title, text) in facts { "\n" dt { (plain(title)) } dd { (words(text)) } }
        }
    }
}

/// A page under way.
struct Drawn {
    /// The numbers of the line charts, for the page's script.
    charts: Vec<Value>,
    /// The last heading, which names the tables below it.
    label: String,
}

impl Drawn {
    /// Those of which there is something to show.
    fn sections<'d, 'a>(
        &mut self,
        sections: &[&'d DocumentSection<'a>],
    ) -> Vec<DrawnSection<'d, 'a>> {
        sections.iter().filter_map(|section| Some((*section, self.section(section)?))).collect()
    }

    fn section(&mut self, section: &DocumentSection) -> Option<Markup> {
        self.label.clone_from(&section.title);
        let blocks = self.blocks(&section.blocks);
        if blocks.0.is_empty() {
            return None;
        }
        Some(html! {
            section id=(section.id) {
                h2 { (plain(&section.title)) }
                @if !section.lead.is_empty() { "\n" p.lead { (words(&section.lead)) } }
                "\n" (blocks)
            }
            "\n"
        })
    }

    fn blocks(&mut self, blocks: &[Block]) -> Markup {
        html! { @for block in blocks { (self.block(block)) } }
    }

    fn block(&mut self, block: &Block) -> Markup {
        match block {
            Block::Paragraph(text) => html! { p.lead { (words(text)) } },
            Block::Note(text) => html! { p.note { (words(text)) } },
            Block::Facts(all) => facts(all),
            Block::List(texts) if texts.is_empty() => html! {},
            Block::List(texts) => {
                html! { ul.effects { @for text in texts { "\n" li { (words(text)) } } } }
            }
            Block::Table(table) => self.table(table),
            Block::Settings(all) => self.table(&settings(all)),
            Block::Checks(rows) => self.scrolled(|| checks(rows)),
            Block::Command(command) => html! { pre tabindex="0" { code { (plain(command)) } } },
            Block::Heading(title) => {
                self.label.clone_from(title);
                html! { h3 { (words(title)) } }
            }
            Block::Only(formats, blocks) if formats.contain(Formats::Page) => self.blocks(blocks),
            Block::Only(..) => html! {},
            Block::OnPage(make) => self.blocks(&make()),
            Block::Fold(title, blocks) => {
                let label = std::mem::replace(&mut self.label, title.clone());
                let inner = self.blocks(blocks);
                self.label = label;
                html! { details { summary { (words(title)) } "\n" (inner) } "\n" }
            }
            Block::Figures(layout, figures) => self.figures(*layout, figures),
            Block::PageTable(table) => self.scrolled(|| page_table(table)),
            Block::Dense(titles, rows) => self.scrolled(|| dense(titles, rows)),
            Block::Events(all) if all.is_empty() => html! {},
            Block::Events(all) => html! { ol.events { @for one in all { "\n" (event(one)) } } },
            Block::Bars(names, bars) => html! { (self::bars(names, bars)) },
            Block::HeatKey => heat_key(),
        }
    }

    fn figures(&mut self, layout: FigureLayout, figures: &[ChartFigure]) -> Markup {
        let figures = html! { @for figure in figures { (self.figure(figure)) } };
        match layout {
            FigureLayout::Multiples if !figures.0.is_empty() => {
                html! { div.multiples { "\n" (figures) } "\n" }
            }
            _ => figures,
        }
    }

    fn figure(&mut self, ChartFigure { title, note, drawing }: &ChartFigure) -> Markup {
        let drawn = match drawing {
            Drawing::Still(drawn) => PreEscaped(drawn.clone()),
            Drawing::Lines(chart) => {
                self.charts.push(chart.json());
                PreEscaped(chart.html())
            }
        };
        html! {
            figure {
                figcaption { (words(title)) } "\n"
                @if !note.is_empty() { p.note { (words(note)) } "\n" }
                (drawn)
            }
            "\n"
        }
    }

    /// A table whose wide content scrolls by itself instead of widening the page; the keyboard can
    /// reach it.
    fn scrolled(&self, table: impl FnOnce() -> Markup) -> Markup {
        html! {
            div.scroll tabindex="0" role="group" aria-label=(plain(&self.label)) { (table()) }
            "\n"
        }
    }

    fn table(&self, table: &Table) -> Markup {
        let is_number = |side: Align| side == Align::Right;
        let columns = table.columns().iter().map(|(title, side)| (title.clone(), is_number(*side)));
        let cell = |(place, cell): (usize, &String)| match place == 0
            && !is_number(table.columns()[0].1)
        {
            true => PageCell::Title(cell.clone()),
            false => PageCell::Text(cell.clone(), String::new()),
        };
        let rows = table.rows().iter().map(|row| row.iter().enumerate().map(cell).collect());
        let (columns, rows) = (columns.collect(), rows.collect());
        self.scrolled(|| page_table(&PageTable { class: table.class(), columns, rows }))
    }
}

fn settings(settings: &[Setting]) -> Table {
    Table::of(settings)
        .left("setting", |setting| &setting.name)
        .left("value", |setting| &setting.value)
        .left("meaning", |setting| &setting.meaning)
        .build()
        .of_class("settings")
}

/// Titles with whether the cells below are numbers.
fn head(columns: impl Iterator<Item = (impl AsRef<str>, bool)>) -> Markup {
    html! {
        thead {
            tr {
                @for (title, is_number) in columns {
                    @if title.as_ref().is_empty() { td {} } @else {
                        th scope="col" class=[is_number.then_some("n")] { (plain(title.as_ref())) }
                    }
                }
            }
        }
    }
}

fn page_table(PageTable { class, columns, rows }: &PageTable) -> Markup {
    let is_number = |place: usize| columns[place].1;
    html! {
        table class=[(!class.is_empty()).then_some(class)] {
            (head(columns.iter().map(|(title, is_number)| (title, *is_number))))
            tbody {
                @for row in rows {
                    "\n"
                    tr {
                        @for (place, cell) in row.iter().enumerate() {
                            (page_cell(cell, is_number(place)))
                        }
                    }
                }
            }
        }
    }
}

fn page_cell(cell: &PageCell, is_number: bool) -> Markup {
    match cell {
        PageCell::Title(title) => html! { th scope="row" { (words(title)) } },
        PageCell::Text(text, note) => html! {
            td.n[is_number] {
                (words(text)) @if !note.is_empty() { small { (words(note)) } }
            }
        },
        PageCell::Struck(text, note) => html! {
            td.n[is_number] { s { (words(text)) } small { (note) } }
        },
        PageCell::Drawn(drawing) => html! { td.span { (PreEscaped(drawing)) } },
    }
}

/// One row for each interval, in as few bytes as HTML allows: a series can have 1200 of them.
fn dense(titles: &[&str], rows: &[Vec<String>]) -> Markup {
    let mut body = String::new();
    for row in rows {
        let (title, cells) =
            row.split_first().map_or(("", row.as_slice()), |(first, rest)| (first.as_str(), rest));
        body += "<tr><th scope=\"row\">";
        body += &words(title).into_string();
        body += "</th>";
        for cell in cells {
            body += "<td>";
            body += &words(cell).into_string();
        }
        body.push('\n');
    }
    html! {
        table.dense {
            (head(titles.iter().map(|title| (title, true))))
            tbody.n { "\n" (PreEscaped(body)) }
        }
    }
}

/// The checks of a hallmark with their tones.
fn checks(rows: &[CheckRow]) -> Markup {
    html! {
        table.checks {
            (head(CHECK_TITLES.iter().map(|title| (title, false))))
            tbody {
                @for row in rows {
                    "\n"
                    tr.(row.tone.name()) {
                        td { (row.code) }
                        th scope="row" { (row.name) small { (row.claim) } }
                        td.mark { (row.verdict) }
                        td { (words(&row.found)) }
                        td { (words(row.threshold.as_deref().unwrap_or_default())) }
                        td { (words(row.withdraws.as_deref().unwrap_or_default())) }
                    }
                }
            }
        }
    }
}

const CHECK_TITLES: [&str; 6] = ["", "check", "verdict", "found", "threshold", "withdraws"];

fn event(NumberedEvent { when, kind, text }: &NumberedEvent) -> Markup {
    html! {
        li {
            @if !when.is_empty() { span.when { (words(when)) } " " }
            @if !kind.is_empty() { span.kind { (kind) } " " }
            (words(text))
        }
    }
}

/// What the bars are, for who cannot see them.
const BARS: &str = "Shares of the outcomes by kind; the table below has the numbers";

fn bars(names: &[&'static str], bars: &[Bar]) -> Markup {
    html! {
        div.bars role="img" aria-label=(BARS) {
            @for Bar { title, parts, text } in bars {
                "\n"
                div.bar {
                    span { (plain(title)) }
                    div {
                        @for (name, part) in names.iter().zip(parts) { @if *part > 0 {
                            i.(name) style={ "flex-grow:" (part) } {}
                        } }
                    }
                    b { (words(text)) }
                }
            }
        }
        "\n"
        p.key { @for name in names { span { i.(name) {} (name) } } }
    }
}

/// The steps of a heat map's colours that its key has, each with where it begins and its width.
const HEAT_STEPS: [(u8, u8, u8); 9] = [
    (0, 0, 1),
    (2, 1, 2),
    (4, 3, 2),
    (6, 5, 2),
    (8, 7, 2),
    (10, 9, 2),
    (12, 11, 2),
    (14, 13, 2),
    (15, 15, 1),
];

/// The colours from few to many.
fn heat_key() -> Markup {
    html! {
        p.key {
            span { "few" }
            svg viewBox="0 0 16 1" preserveAspectRatio="none" aria-hidden="true" {
                @for (step, from, width) in HEAT_STEPS {
                    path class={ "heat h" (step) } d={ "M" (from) " .5h" (width) } {}
                }
            }
            span { "many" }
        }
    }
}

/// Narrow unbreakable blanks within numbers and before their units, so that `12 345 µs` stays on
/// one line.
fn grouped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut last = "";
    for word in text.split(' ') {
        if !out.is_empty() {
            out.push(if belongs_together(last, word) { '\u{202f}' } else { ' ' });
        }
        out.push_str(word);
        last = word;
    }
    out
}

/// Whether `word` goes on with the number `last`: as its next three digits or as its unit.
fn belongs_together(last: &str, word: &str) -> bool {
    let number = last.trim_start_matches([WITHDRAWN, '+', '~', '(', '≥', '–', '-', '×']);
    let digits = number.rsplit('–').next().unwrap_or(number);
    if digits.is_empty() || !digits.chars().all(|c| c.is_ascii_digit() || c == '.') {
        return false;
    }
    let word = word.trim_end_matches([',', ';', ')', '.']);
    let (word, _) = word.split_once('/').unwrap_or((word, ""));
    let (word, _) = word.split_once('–').unwrap_or((word, ""));
    let is_group = word.len() == 3 && word.chars().all(|c| c.is_ascii_digit());
    is_group || ["ns", "µs", "ms", "s", "min", "h", "%", "B", "KiB", "MiB", "GiB"].contains(&word)
}

#[cfg(test)]
mod tests;

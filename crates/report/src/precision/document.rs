//! The study as a document.

use assay_analysis::Boxplot;
use assay_model::Nanos;

use super::{
    MEANING, PAPER, PUNCTUAL, Precision, PrecisionFigures, PrecisionRun, circumstances, findings,
    numbers,
};
use crate::chart::box_chart::BoxChart;
use crate::document::{
    Block, ChartFigure, Circumstances, Document, DocumentSection, FigureLayout, opening,
};
use crate::units::Letters;

const LEAD: &str = "A process is to begin at a moment that was fixed before the run. Each box \
    shows how late the processes of one run began: its edges are the 25th and the 75th percentile, \
    the line in it the median, the whiskers the 5th and the 95th, as in figure 6 of the paper. The \
    dashed line is one millisecond, the grain of BenchFoundry’s own schedule.";

/// The study; the first line of its text is the verdict.
pub fn document(precision: &Precision) -> Document<'_> {
    let letters = Letters::Unicode;
    let charts = DocumentSection::of_page("scheduling", "Scheduling latency by load factor", LEAD);
    let title = "Scheduling latency (µs) and response time, by load factor";
    let table = Block::table(numbers(precision, letters), "dense");
    let numbers = DocumentSection::new("numbers", title, "").with(table);
    let hallmarks = DocumentSection::new("hallmarks", "Hallmarks with a reason", "");
    let paper = PAPER.iter().map(|text| Block::Paragraph((*text).to_owned()));
    let sections = [
        Some(charts.with(Block::figures(FigureLayout::Stacked, || figures(precision)))),
        Some(numbers.with(Block::Note(MEANING.to_owned()))),
        hallmarks.with_all(reasons(precision)).filled(),
        Some(DocumentSection::new("paper", "The paper's own runs", "").with_all(paper)),
        Some(DocumentSection::repeat(&precision.command)),
    ];
    Document {
        title: format!("Scheduling precision: {}", precision.title),
        version: precision.version.clone(),
        subtitle: precision.starts.clone(),
        opening: opening(findings(precision, letters)),
        circumstances: vec![Circumstances::new(
            precision.title.clone(),
            circumstances(precision, letters),
        )],
        is_headed: true,
        sections: sections.into_iter().flatten().collect(),
        ..Document::default()
    }
}

fn figures(precision: &Precision) -> Vec<ChartFigure> {
    let lag = Boxes { title: "Scheduling latency", colour: "lag", limit: Some(PUNCTUAL) };
    let response = Boxes { title: "Response time of processes", colour: "response", limit: None };
    vec![
        figure(precision, &lag, |figures| figures.starts),
        figure(precision, &response, |figures| figures.response),
    ]
}

/// How a chart of boxes looks.
struct Boxes {
    title: &'static str,
    colour: &'static str,
    limit: Option<Nanos>,
}

fn figure(
    precision: &Precision,
    Boxes { title, colour, limit }: &Boxes,
    of: fn(&PrecisionFigures) -> Option<Boxplot>,
) -> ChartFigure {
    let boxes = precision.runs.iter().map(|run| {
        let found = run.figures.as_ref().and_then(of);
        (format!("×{}", run.factor), found)
    });
    let chart = BoxChart {
        description: &format!("{title} as a box with whiskers for each load factor"),
        colour,
        boxes: boxes.collect(),
        limit: *limit,
    };
    let unit = precision.unit_per_s;
    let title = format!("{title}, by load factor (×1 is {unit} processes per second)");
    ChartFigure::still(title, chart.html())
}

/// What the hallmarks say, of the runs whose hallmark has a reason.
fn reasons<'a>(precision: &Precision) -> Option<Block<'a>> {
    let describe = |run: &PrecisionRun| {
        let reasons = run.figures.as_ref()?.reasons.clone();
        (!reasons.is_empty()).then(|| (format!("factor {}", run.factor), reasons))
    };
    let reasons: Vec<_> = precision.runs.iter().filter_map(describe).collect();
    (!reasons.is_empty()).then(|| Block::facts(reasons))
}

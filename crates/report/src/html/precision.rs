//! The punctuality of processes under growing load as one page.

use super::box_chart::BoxChart;
use super::escape::escape;
use super::{page, sections};
use crate::precision::{
    MEANING, PAPER, PUNCTUAL, Precision, PrecisionFigures, circumstances, findings, numbers,
    reasons,
};
use crate::units::Letters;

const LETTERS: Letters = Letters::Unicode;

/// The study as one file that needs no network.
pub fn precision_html(precision: &Precision) -> String {
    let mut body = opening(precision);
    body += &charts(precision);
    body += &sections::section("numbers", "Every number", MEANING);
    body += &sections::table(&numbers(precision, LETTERS), "dense");
    body += "</section>\n";
    body += &hallmarks(precision);
    body += &sections::section("paper", "The paper’s own runs", "");
    for text in PAPER {
        body += &format!("<p class=\"lead\">{}</p>\n", escape(text));
    }
    body += "</section>\n";
    body += &sections::section("circumstances", "Circumstances", "");
    body += "<dl>";
    for (title, text) in circumstances(precision, LETTERS) {
        body += &format!("<dt>{title}</dt><dd>{}</dd>", sections::grouped(&escape(&text)));
    }
    body += "</dl>\n</section>\n";
    body += &sections::section("repeat", "Reproduce with", "");
    let command = escape(&precision.command);
    body += &format!("<pre tabindex=\"0\"><code>{command}</code></pre>\n</section>\n");
    page(&format!("Scheduling precision: {}", precision.title), &body, &[])
}

fn opening(precision: &Precision) -> String {
    let mut out = format!(
        "<header><p class=\"brand\">Assay <span>{}</span></p>\n\
         <h1>Scheduling precision: {}</h1>\n<p class=\"sub\">{}</p></header>\n\
         <section class=\"verdict\" aria-label=\"Verdict\">\n",
        escape(&precision.version),
        escape(&precision.title),
        escape(&precision.starts),
    );
    for (place, finding) in findings(precision, LETTERS).iter().enumerate() {
        out += &sections::verdict_line(finding, place == 0);
    }
    out + "</section>\n"
}

const LEAD: &str = "A process is to begin at a moment that was fixed before the run. Each box \
    shows how late the processes of one run began: its edges are the 25th and the 75th percentile, \
    the line in it the median, the whiskers the 5th and the 95th, as in figure 6 of the paper. The \
    dashed line is one millisecond, the grain of BenchFoundry’s own schedule.";

fn charts(precision: &Precision) -> String {
    let mut out = sections::section("scheduling", "Scheduling latency by load factor", LEAD);
    let starts = |figures: &PrecisionFigures| figures.starts;
    let response = |figures: &PrecisionFigures| figures.response;
    out += &figure(precision, "Scheduling latency", starts, ("lag", Some(PUNCTUAL)));
    out += &figure(precision, "Response time of processes", response, ("response", None));
    out + "</section>\n"
}

fn figure(
    precision: &Precision,
    title: &str,
    of: fn(&PrecisionFigures) -> Option<assay_analysis::Boxplot>,
    (colour, limit): (&str, Option<assay_model::Nanos>),
) -> String {
    let boxes = precision.runs.iter().map(|run| {
        let found = run.figures.as_ref().and_then(of);
        (format!("×{}", run.factor), found)
    });
    let chart = BoxChart {
        description: &format!("{title} as a box with whiskers for each load factor"),
        colour,
        boxes: boxes.collect(),
        limit,
    };
    let unit = precision.unit_per_s;
    format!(
        "<figure><figcaption>{title}, by load factor (×1 is {unit} processes per second)\
         </figcaption>\n{}</figure>\n",
        chart.html()
    )
}

fn hallmarks(precision: &Precision) -> String {
    let reasons = reasons(precision);
    if reasons.is_empty() {
        return String::new();
    }
    let mut out = sections::section("hallmarks", "What the hallmarks say", "");
    out += "<dl>";
    for (title, text) in reasons {
        out += &format!("<dt>{title}</dt><dd>{}</dd>", sections::grouped(&escape(&text)));
    }
    out + "</dl>\n</section>\n"
}

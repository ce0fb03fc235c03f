//! Tests of a known run as text, as Markdown, as a page.
//!
//! The page is small, self-contained, deterministic, without unescaped markup.

use expect_test::expect_file;

use super::*;
use crate::Style;
use crate::facts::State;
use crate::sample;

const UNICODE: Style = Style { colour: false, width: 100, letters: Letters::Unicode };

fn terminal(facts: &Facts, summary: &Summary, style: Style) -> String {
    document(facts, summary, None).text(style)
}

fn html(facts: &Facts, summary: &Summary) -> String {
    document(facts, summary, None).page()
}

fn sample_page() -> String {
    html(&sample::facts(), &sample::summary())
}

#[test]
fn a_run_is_a_few_tables_in_markdown() {
    let (facts, summary) = (sample::facts(), sample::summary());
    let text = document(&facts, &summary, None).markdown();
    expect_file!["../../snapshots/report.md.txt"].assert_eq(&text);
}

#[test]
fn a_page_is_small_and_the_same_each_time() {
    let page = sample_page();
    assert!(page.len() < 150_000, "{} bytes", page.len());
    assert_eq!(page, sample_page());
}

#[test]
fn a_page_loads_nothing() {
    let page = sample_page();
    let published: Vec<&str> = ["src=", "@import", "url(", "<link", "<iframe", "<img"]
        .into_iter()
        .filter(|load| page.contains(load))
        .collect();
    assert_eq!(published, Vec::<&str>::new());
    // uPlot names its home in its licence comment.
    let addresses = page.matches("http://").count() + page.matches("https://").count();
    assert_eq!(addresses, page.matches("/*! https://github.com/leeoniya/uPlot").count());
    assert!(page.contains("content=\"default-src 'none';"));
}

#[test]
fn hostile_names_are_escaped() {
    let page = sample_page();
    assert!(!page.contains("<script>alert(1)"));
    assert!(page.contains("redis://&lt;script&gt;alert(1)&lt;/script&gt;&amp;&quot;&#39;@127"));
    assert!(page.contains("paused &lt;node 1&gt;"));
}

/// Asserts that every element that begins in the body of `page` ends.
pub(crate) fn assert_elements_end(page: &str) {
    let body = page.split("<script type").next().expect("the page has a body before its scripts");
    let names = "section div figure table tbody details svg button dl ol span header nav main \
                 figcaption h2 h3 p output small strong";
    for name in names.split(' ') {
        let begins =
            body.matches(&format!("<{name}>")).count() + body.matches(&format!("<{name} ")).count();
        assert_eq!(begins, body.matches(&format!("</{name}>")).count(), "{name}");
    }
}

#[test]
fn every_element_that_begins_ends() {
    assert_elements_end(&sample_page());
}

#[test]
fn everything_essential_is_there_without_scripts() {
    let page = sample_page();
    let body = page.split("<script type").next().expect("the page has a body before its scripts");
    for text in [
        "<strong>failing</strong>",
        "appendfsync",
        "id=\"spectrum-0\"",
        "id=\"over-time-latency\"",
        "id=\"over-time-throughput\"",
        "class=\"heat h",
        "connection-lost",
        "assay run ycsb-b",
    ] {
        assert!(body.contains(text), "{text}");
    }
}

#[test]
fn charts_come_before_settings() {
    let page = sample_page();
    let place = |text: &str| page.find(text).unwrap_or_else(|| panic!("{text} is missing"));
    let order = ["id=\"over-time-latency\"", "id=\"spectrum-0\"", "class=\"heat h", "appendfsync"];
    assert!(order.map(place).is_sorted());
    let settings = page[..place("appendfsync")].rfind("<details>").expect("they can be opened");
    assert!(!page[settings..place("appendfsync")].contains("</details>"), "and are closed");
}

#[test]
fn latency_over_time_says_that_it_stands_at_the_intended_moment() {
    let page = sample_page();
    let chart = page.split("id=\"over-time-latency\"").nth(1).expect("the chart is there");
    let chart = chart.split("</figure>").next().unwrap_or_default();
    assert!(chart.contains("<p class=\"axis y\">latency, log scale</p>"), "{chart}");
    let title = "seconds of the run, by intended moment (service: of sending)";
    assert!(chart.contains(&format!("<p class=\"axis x\">{title}</p>")), "{chart}");
    assert!(!page.contains("the darker"), "dark pages show more operations brighter");
}

#[test]
fn every_column_and_row_says_what_it_is_the_title_of() {
    let page = sample_page();
    let titles = page.matches("<th").count() - page.matches("<thead").count();
    assert_eq!(titles, page.matches("<th scope=\"").count());
}

#[test]
fn every_drawing_has_a_label() {
    let page = sample_page();
    let body = page.split("<script type").next().expect("the page has a body before its scripts");
    for drawing in body.split("<svg ").skip(1) {
        let attributes = drawing.split('>').next().unwrap_or_default();
        let is_named = attributes.contains("role=\"img\" aria-label=\"");
        let is_inner = attributes.starts_with("width=") || attributes.contains("aria-hidden");
        assert!(is_named || is_inner, "{attributes}");
    }
}

#[test]
fn tiles_of_queries_are_about_transactions() {
    let (mut facts, mut summary) = (sample::facts(), sample::summary());
    let whole = summary.transactions[0].group.clone();
    summary.all_transactions = Some(whole);
    let note = "no keying or think times".to_owned();
    facts.figures = vec![crate::WorkloadFigure { name: "NOPM".to_owned(), value: 1234.4, note }];
    let page = html(&facts, &summary);
    let cards = page.split("class=\"cards\"").nth(1).expect("there are cards");
    let cards = cards.split("</section>").next().unwrap_or_default();
    // Ten read-modify-writes in 3 s, of up to 308 µs.
    for part in ["<h3>Transactions</h3>", "3.33<small>/s", "<h3>NOPM</h3>", "1\u{202f}234", "308<"]
    {
        assert!(cards.contains(part), "{part}: {cards}");
    }
    assert!(!cards.contains("Goodput"), "{cards}");
    assert!(page.contains("<figcaption>Latency of single requests</figcaption>"));
}

#[test]
fn an_empty_run_is_a_page_too() {
    let mut summary = sample::summary();
    summary.kinds.clear();
    summary.transactions.clear();
    summary.overall.counts = assay_analysis::Counts::default();
    summary.overall.hits.response = sample::distribution(std::iter::empty());
    summary.lag = sample::distribution(std::iter::empty());
    summary.series.intervals.clear();
    summary.series.response = assay_analysis::HeatMap::default();
    let page = html(&sample::facts(), &summary);
    assert!(page.contains("<strong>nothing measured</strong>"));
    assert!(!page.contains("NaN"), "no coordinate is without a number");
}

#[test]
fn every_id_is_there_once() {
    let page = sample_page();
    let mut seen = std::collections::HashSet::new();
    let mut ids = page.split(" id=\"").skip(1).filter_map(|rest| rest.split('"').next());
    assert_eq!(ids.find(|id| !seen.insert(*id)), None);
}

#[test]
fn the_longest_series_with_full_heat_maps_stays_below_a_megabyte() {
    let mut summary = sample::summary();
    let pattern = summary.series.intervals.clone();
    summary.series.intervals = (0..1_200_u64)
        .map(|place| {
            let mut interval = pattern[place as usize % pattern.len()].clone();
            interval.from = assay_model::Nanos::from_secs(1 + place);
            interval.offered = 123_456 + place * 7;
            interval.done = 123_000 + place * 5;
            interval.response.max.0 += place * 12_345;
            interval.service.p99.0 += place * 2_345;
            interval.lag.p99.0 += place * 345;
            interval
        })
        .collect();
    // Counts that spread over all colours without neighbours of the same one.
    let columns: Vec<Vec<u64>> =
        (0..150).map(|x| (0..60).map(|y| ((x * 7 + y * 5) % 16) * 10 + 1).collect()).collect();
    let full = assay_analysis::HeatMap {
        from: summary.series.from,
        column_width: assay_model::Nanos::from_secs(8),
        edges: (0..=60).map(|row| assay_model::Nanos(1_000 << (row / 3))).collect(),
        peak: 151,
        columns,
    };
    let Series { response, service, lag, misses, .. } = &mut summary.series;
    for map in [response, service, lag, misses] {
        map.clone_from(&full);
    }
    summary.window.until = assay_model::Nanos::from_secs(1_201);
    let size = html(&sample::facts(), &summary).len();
    assert!(size < 1_000_000, "{size} bytes");
}

#[test]
fn a_run_is_shown_in_unicode() {
    let text = terminal(&sample::facts(), &sample::summary(), UNICODE);
    expect_file!["../../snapshots/terminal.txt"].assert_eq(&text);
}

#[test]
fn the_first_line_is_the_verdict_and_the_second_the_headline() {
    let mut summary = sample::summary();
    summary.overall.rates.offered_per_s = 20_000.0;
    summary.overall.rates.done_per_s = 14_200.0;
    let text = terminal(&sample::facts(), &summary, Style::PLAIN);
    let lines: Vec<&str> = text.lines().take(2).collect();
    assert_eq!(
        lines,
        [
            "OVERLOADED: offered 20 000/s, achieved 14 200/s (71 %)",
            "14 200/s of 20 000/s offered, response p99 ~1.37 ms (few values), \
             8 of 600 failed",
        ]
    );
}

#[test]
fn an_interrupted_run_is_marked() {
    let facts = Facts { state: State::Interrupted, ..sample::facts() };
    let text = terminal(&facts, &sample::summary(), Style::PLAIN);
    assert!(text.contains("INTERRUPTED: the run was stopped before its end"), "{text}");
}

#[test]
fn plain_style_is_ascii_and_no_wider_than_requested() {
    let text = terminal(&sample::facts(), &sample::summary(), Style::PLAIN);
    assert!(text.is_ascii(), "{text}");
    let too_wide: Vec<&str> = text.lines().filter(|line| line.chars().count() > 100).collect();
    assert_eq!(too_wide, Vec::<&str>::new());
}

#[test]
fn colours_add_nothing_but_colours() {
    let coloured = Style { colour: true, ..UNICODE };
    let text = terminal(&sample::facts(), &sample::summary(), coloured);
    let mut bare = text.clone();
    for code in ["1", "1;31", "1;32", "1;33", "2", "0"] {
        bare = bare.replace(&format!("\x1b[{code}m"), "");
    }
    assert_ne!(text, bare);
    assert_eq!(bare, terminal(&sample::facts(), &sample::summary(), UNICODE));
}

#[test]
fn names_cannot_smuggle_control_characters_into_a_terminal() {
    let mut facts = sample::facts();
    facts.store.url = "redis://\x1b]0;owned\x07".to_owned();
    facts.title = "a\nb".to_owned();
    let text = terminal(&facts, &sample::summary(), UNICODE);
    assert!(!text.contains(['\x1b', '\x07']), "{text}");
    assert!(text.contains("a?b"));
}

//! What must hold of every page: small, self-contained, deterministic, free of foreign markup.

use super::*;
use crate::sample;

fn sample_page() -> String {
    html(&sample::facts(), &sample::summary(), None)
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
    let foreign: Vec<&str> = ["src=", "@import", "url(", "<link", "<iframe", "<img"]
        .into_iter()
        .filter(|load| page.contains(load))
        .collect();
    assert_eq!(foreign, Vec::<&str>::new());
    // uPlot names its home in its licence comment.
    let addresses = page.matches("http://").count() + page.matches("https://").count();
    assert_eq!(addresses, page.matches("/*! https://github.com/leeoniya/uPlot").count());
    assert!(page.contains("content=\"default-src 'none';"));
}

#[test]
fn hostile_names_stay_text() {
    let page = sample_page();
    assert!(!page.contains("<script>alert(1)"));
    assert!(page.contains("redis://&lt;script&gt;alert(1)&lt;/script&gt;&amp;&quot;&#39;@127"));
    assert!(page.contains("paused &lt;node 1&gt;"));
}

#[test]
fn every_element_that_begins_ends() {
    let page = sample_page();
    let body = page.split("<script type").next().expect("the page has a body before its scripts");
    for name in [
        "section",
        "div",
        "figure",
        "table",
        "tbody",
        "details",
        "svg",
        "button",
        "dl",
        "ol",
        "span",
        "header",
        "nav",
        "main",
        "figcaption",
        "h2",
        "h3",
        "p",
        "output",
        "small",
        "strong",
    ] {
        let begins =
            body.matches(&format!("<{name}>")).count() + body.matches(&format!("<{name} ")).count();
        assert_eq!(begins, body.matches(&format!("</{name}>")).count(), "{name}");
    }
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
fn an_empty_run_is_a_page_too() {
    let mut summary = sample::summary();
    summary.kinds.clear();
    summary.transactions.clear();
    summary.overall.counts = assay_analysis::Counts::default();
    summary.overall.hits.response = sample::distribution(std::iter::empty());
    summary.lag = sample::distribution(std::iter::empty());
    summary.series.intervals.clear();
    summary.series.response = assay_analysis::HeatMap::default();
    let page = html(&sample::facts(), &summary, None);
    assert!(page.contains("<strong>nothing measured</strong>"));
    assert!(!page.contains("NaN"), "no coordinate is without a number");
}

#[test]
fn every_id_is_there_once() {
    let page = sample_page();
    let mut ids: Vec<&str> =
        page.split(" id=\"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
    ids.sort_unstable();
    let mut unique = ids.clone();
    unique.dedup();
    assert_eq!(ids, unique);
}

//! A document with a block of every sort, in every format.

use expect_test::expect;

use super::*;
use crate::table::{Align, Table};

fn document() -> Document<'static> {
    let mut table = Table::new(&[("", Align::Left), ("p99", Align::Right)]);
    table.row(vec!["a|b".to_owned(), "≥ 1.20 ms".to_owned()]);
    let finding =
        Finding { level: Level::Alarm, name: "late", text: "by <2 ms> & more".to_owned() };
    let figures = DocumentSection::new("figures", "Figures", "What they mean.").listed("Figures");
    let figures = figures
        .with(table.into())
        .with(Block::Note("as measured".to_owned()))
        .with(Block::Only(Formats::Text, vec![Block::List(vec!["for terminals".to_owned()])]))
        .with(Block::Only(Formats::Wide, vec![Block::List(vec!["wide".to_owned()])]))
        .with(Block::on_page(|| vec![Block::Note("page alone".to_owned())]));
    let empty = DocumentSection::new("empty", "Empty", "").listed("Empty");
    Document {
        title: "ycsb-a on redis".to_owned(),
        version: "1".to_owned(),
        subtitle: "open loop".to_owned(),
        opening: opening(vec![finding]),
        cards: vec![FigureCard::new("Throughput", "1 000/s", "of 1 000/s")],
        circumstances: vec![Circumstances::new("ycsb-a on redis", [("seed", "7".to_owned())])],
        is_headed: false,
        sections: vec![figures, empty, DocumentSection::repeat("assay run")],
    }
}

#[test]
fn text_begins_with_the_finding_and_leaves_out_what_is_empty() {
    expect![[r#"
        LATE: by <2 ms> & more

        ycsb-a on redis
          seed      7

        Figures
                      p99
          a|b  >= 1.20 ms
          as measured
          for terminals

        Reproduce with
          assay run
    "#]]
    .assert_eq(&document().text(Style::PLAIN));
}

#[test]
fn markdown_folds_what_is_looked_up_and_escapes_every_cell() {
    expect![[r#"
        ### ycsb-a on redis

        **LATE**: by &lt;2 ms&gt; &amp; more

        |      |       p99 |
        | ---- | --------: |
        | a\|b | ≥ 1.20 ms |

        as measured

        * wide

        <details><summary>Circumstances</summary>

        - seed: 7
        - reproduce with: `assay run`

        </details>
    "#]]
    .assert_eq(&document().markdown());
}

#[test]
fn a_page_has_what_it_alone_has_room_for_and_lists_sections_that_are_there() {
    let page = document().page();
    for part in [
        "<p class=\"alarm first\">",
        "by &lt;2 ms&gt; &amp; more",
        "page alone",
        "wide",
        "<a href=\"#figures\">Figures</a>",
        "aria-label=\"Figures\"",
        "<th scope=\"row\">a|b</th>",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
    assert!(!page.contains("for terminals") && !page.contains("id=\"empty\""));
    let place = |text: &str| page.find(text).expect("it is there");
    let ids = ["id=\"figures\"", "id=\"circumstances\"", "id=\"repeat\""];
    assert!(ids.map(place).is_sorted());
}

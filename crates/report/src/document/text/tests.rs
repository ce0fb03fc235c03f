//! Tests of lines on terminals of several kinds.

use super::*;
use crate::table::Align;

const UNICODE: Style = Style { colour: false, width: 100, letters: Letters::Unicode };

#[test]
fn a_long_command_can_be_copied_as_it_is_broken() {
    let mut page = Page::new(Style { width: 40, ..UNICODE });
    page.command(
        r"assay run ycsb-a --at '10s kill node 1; 20s: it'\''s' -t 'sim:?a=1&b=2' --seed 7",
    );
    assert_eq!(
        page.text,
        [
            r"  assay run ycsb-a --at \",
            r"    '10s kill node 1; 20s: it'\''s' -t \",
            r"    'sim:?a=1&b=2' --seed 7",
            "",
        ]
        .join("\n")
    );
}

#[test]
fn long_texts_are_broken_at_blanks_and_hang() {
    let mut page = Page::new(Style { width: 40, ..UNICODE });
    page.titled("model", "open: arrivals do not wait for answers, so all waiting is measured");
    assert_eq!(
        page.text,
        [
            "  model     open: arrivals do not wait",
            "            for answers, so all waiting",
            "            is measured\n",
        ]
        .join("\n")
    );
}

#[test]
fn what_ascii_lacks_is_written_out_and_columns_stay_aligned() {
    let mut page = Page::new(Style::PLAIN);
    let mut table = Table::new(&[("α", Align::Left), ("µs", Align::Right)]);
    table.row(vec!["† “a”".to_owned(), "≥ 2 ± 1".to_owned()]);
    table.row(vec!["β × γ²".to_owned(), "1–2".to_owned()]);
    page.table(&table);
    assert_eq!(
        page.text,
        [
            "  alpha                  us\n",
            "  # \"a\"           >= 2 +- 1\n",
            "  beta x gamma^2        1-2\n",
        ]
        .concat()
    );
}

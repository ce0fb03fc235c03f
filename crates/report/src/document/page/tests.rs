//! Tests of what a page does to texts.

use super::*;

#[test]
fn numbers_stay_together_with_their_groups_and_units() {
    let joined = |text: &str| grouped(text).replace('\u{202f}', "_");
    assert_eq!(joined("19 882/s of 20 001/s"), "19_882/s of 20_001/s");
    assert_eq!(joined("p99 480 ms, 7 125 of 1 200 051"), "p99 480_ms, 7_125 of 1_200_051");
    assert_eq!(joined("~2.51 ms (71 %)"), "~2.51_ms (71_%)");
    assert_eq!(joined("6 misses, 64 sessions"), "6 misses, 64 sessions");
    assert_eq!(joined("2026-11-21 18:30"), "2026-11-21 18:30");
}

#[test]
fn the_key_of_a_heat_map_reaches_from_the_first_colour_to_the_last() {
    let key = heat_key().into_string();
    assert!(key.contains("class=\"heat h0\" d=\"M0 .5h1\""), "{key}");
    assert!(key.contains("class=\"heat h15\" d=\"M15 .5h1\""), "{key}");
}

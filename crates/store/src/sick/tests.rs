//! The sick store behind the seam, as the executor sees it.

use super::*;
use crate::conformance;

#[test]
fn a_healthy_sick_store_conforms_before_and_after_it_is_settled() {
    let sick = Sick::new(presets::find("healthy").unwrap(), Seed(1)).unwrap();
    conformance::assert_conforms(&sick);
    sick.settle().unwrap();
    conformance::assert_conforms(&sick);
}

#[test]
fn a_slow_store_conforms_too() {
    let sick = Sick::new(presets::find("hickup1000_max10000").unwrap(), Seed(1)).unwrap();
    sick.settle().unwrap();
    conformance::assert_conforms(&sick);
}

//! Logical queries on TiKV's stand-in, with its transactions.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use assay_lab::{House, Lab, LabError, Order, Watch, recipes};
use assay_mapping::{Class, Mapped};
use assay_store::conformance::queries::assert_queries_conform;
use assay_store::{Isolation, Store};
use tempfile::TempDir;

use crate::mapped::{open, schemas};
use crate::place::Place;
use crate::run_dir::{counted, number};
use crate::tpcc::{SMALL, verdicts};

/// A cluster of one node, gone when the test is.
struct StandIn {
    lab: Option<Lab>,
    _folder: TempDir,
}

impl StandIn {
    /// Starts it. Without Go, which builds it, the test fails with a mark, by which `cargo xtask
    /// check` distinguishes it from a real failure.
    fn start() -> StandIn {
        let folder = TempDir::new().expect("there is room for temporary files");
        let places = std::env::var_os("PATH").unwrap_or_default();
        let beside = || PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("packages");
        let package_cache =
            std::env::var_os("ASSAY_TEST_PACKAGE_CACHE").map_or_else(beside, PathBuf::from);
        let house = House {
            package_cache,
            places: std::env::split_paths(&places).collect(),
            may_install: true,
        };
        let order = Order::of(recipes::find("tikv-standin").expect("the lab has the stand-in"));
        let (stop, tell) = (AtomicBool::new(false), |text: &str| eprintln!("{text}"));
        let mut probe = |url: &str| open(url).note().map(drop).map_err(|error| error.to_string());
        let watch = Watch::new(&stop, &tell);
        match Lab::up(&order, &folder.path().join("lab"), &house, &watch, &mut probe) {
            Ok(lab) => StandIn { lab: Some(lab), _folder: folder },
            Err(LabError::Missing(why)) => panic!("NOT RUN: {why}"),
            Err(error) => panic!("no lab: {error}"),
        }
    }

    fn url(&self, mode: &str) -> String {
        let lab = self.lab.as_ref().expect("it is up");
        format!("{}?mode={mode}&connections=8", lab.url())
    }
}

impl Drop for StandIn {
    fn drop(&mut self) {
        let _ = self.lab.take().map(Lab::down);
    }
}

#[test]
fn tikv_takes_queries_and_their_transactions_through_a_mapping() {
    for mode in ["optimistic", "pessimistic"] {
        let cluster = StandIn::start();
        let inner = open(&cluster.url(mode));
        for physical in schemas(Class::KeyValue) {
            let mapped = Mapped::new(Arc::clone(&inner), physical);
            assert_eq!(mapped.capabilities().isolation, Some(Isolation::RepeatableRead));
            assert_queries_conform(&mapped);
        }
    }
}

#[test]
fn every_condition_of_tpcc_holds_on_tikv() {
    for mode in ["optimistic", "pessimistic"] {
        let cluster = StandIn::start();
        let (place, url) = (Place::new(), cluster.url(mode));
        let words = format!("bench tpcc -t {url} {SMALL} --closed 4 --operations 200");
        let result = place.json(&format!("{words} --seed 5 -q"));
        let held = ["3.3.2.1", "3.3.2.2", "3.3.2.3", "3.3.2.4"]
            .map(|clause| (format!("TPC-C {clause}"), "held".to_owned()));
        assert_eq!(verdicts(&result), held, "{mode}");
        assert_eq!(counted(&result, "unknown"), 0, "{mode}");
        assert!(number(&result, "/transactions/new-order/counts/done") > 0, "{mode}");
    }
}

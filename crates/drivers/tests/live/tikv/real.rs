//! A real cluster, where the environment names one.

use assay_store::conformance::assert_conforms;

use crate::ordeal::{Scans, stays_as_long};
use crate::stores::{Settings, store};

/// Where it is, with all options; the tests empty the table `usertable`.
const URL: &str = "ASSAY_TEST_TIKV_URL";

#[test]
fn a_real_tikv_conforms() {
    let Some(url) = std::env::var_os(URL) else {
        eprintln!(
            "NOT RUN: no TiKV was tested, only a stand-in; name one by {URL}=tikv://…/?mode=… \
             whose table usertable may be emptied"
        );
        return;
    };
    let url = url.into_string().expect("URLs are text");
    let tikv = store(&url);
    assert_conforms(&*tikv);
    stays_as_long(&url, Scans::InOrder);
    tikv.clear().unwrap();
    super::scans_cross_regions(&url);
    eprintln!("tested: {}", Settings::of(&*tikv).value("server"));
    tikv.clear().unwrap();
}

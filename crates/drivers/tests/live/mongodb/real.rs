//! A real MongoDB, where the environment names one.

use assay_store::conformance::assert_conforms;

use crate::ordeal::{Scans, stays_as_long};
use crate::stores::{Settings, store};

/// Where it is, with a database that the tests may empty.
const URL: &str = "ASSAY_TEST_MONGODB_URL";

#[test]
fn a_real_mongodb_conforms() {
    let Some(url) = std::env::var_os(URL) else {
        eprintln!(
            "NOT RUN: no MongoDB was tested, only FerretDB; name one by {URL}=mongodb://… with a \
             database that may be emptied"
        );
        return;
    };
    let url = url.into_string().expect("URLs are text");
    let mongodb = store(&url);
    assert_conforms(&*mongodb);
    stays_as_long(&url, Scans::InOrder);
    eprintln!("tested: {}", Settings::of(&*mongodb).value("server"));
    mongodb.clear().unwrap();
}

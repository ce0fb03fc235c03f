//! A real AntidoteDB, where the environment names one.

use assay_store::conformance::assert_conforms;

use super::sessions;
use crate::stores::{Settings, store};

/// Where it is; the tests empty the table `usertable`.
const URL: &str = "ASSAY_ANTIDOTE";

#[test]
fn a_real_antidotedb_conforms() {
    let Some(url) = std::env::var_os(URL) else {
        eprintln!(
            "NOT RUN: no AntidoteDB was tested, only a stand-in; name one by \
             {URL}=antidote://host:8087[,host:8087] whose table usertable may be emptied"
        );
        return;
    };
    let url = url.into_string().expect("URLs are text");
    let one_host = url.split(',').next().expect("there is a first host");
    assert_conforms(&*store(one_host));
    if url.contains(',') {
        sessions::never_misses_its_own_writes(&url);
    }
    let antidote = store(one_host);
    eprintln!("tested: {}", Settings::of(&*antidote).value("server"));
    antidote.clear().unwrap();
}

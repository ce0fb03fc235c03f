//! Tests of errors before the first operation, which say how to fix them.

use super::*;

#[test]
fn a_class_that_is_missing_or_cannot_be_used_is_named() {
    for (class, result) in [
        ("Missing", "there is no class assay.trial.Missing on its class path; check the spelling"),
        ("NoBinding", "class assay.trial.NoBinding is no binding: it does not extend site.ycsb.DB"),
        ("Unfinished", "class assay.trial.Unfinished is abstract"),
        ("Secretive", "class assay.trial.Secretive has no public constructor without arguments"),
    ] {
        let complaint = text(&trial(class, ""));
        assert!(complaint.contains(result), "{class}: {complaint}");
        assert!(complaint.contains("cannot do this"), "{class}: {complaint}");
    }
}

#[test]
fn a_class_path_without_ycsb_says_what_to_add() {
    let jar = built().join("assay-bridge-tests.jar");
    let complaint = text(&format!("jvm:assay.trial.Trial?classpath={}", jar.display()));
    assert!(complaint.contains("has no site.ycsb.DB; add YCSB's core"), "{complaint}");
}

#[test]
fn two_versions_of_ycsb_are_named_with_their_archives() {
    let folder = new_folder();
    let core = built().join("assay-jvm/lib/core-0.17.0.jar");
    let other = folder.join("core-0.16.0.jar");
    std::fs::copy(&core, &other).unwrap();
    let complaint =
        text(&format!("jvm:site.ycsb.BasicDB?classpath={}:{}", core.display(), other.display()));
    let expected = format!(
        "its class path has YCSB twice: in {} and in {}; take one of them off",
        core.canonicalize().unwrap().display(),
        other.canonicalize().unwrap().display()
    );
    assert!(complaint.contains(&expected), "{complaint}");
    let _ = std::fs::remove_dir_all(folder);
}

#[test]
fn the_same_binding_twice_is_two_versions_too() {
    let folder = new_folder();
    let other = folder.join("trial-2.jar");
    std::fs::copy(built().join("assay-bridge-tests.jar"), &other).unwrap();
    let url = trial("Trial", "").replace("classpath=", &format!("classpath={}:", other.display()));
    let complaint = text(&url);
    assert!(complaint.contains("its class path has assay.trial.Trial twice: in"), "{complaint}");
    let _ = std::fs::remove_dir_all(folder);
}

#[test]
fn what_init_throws_is_the_error() {
    let store = store(&trial("Trial", "&p.trial.fail=db1"));
    let result = TestClient::open(&*store).err().expect("init throws").to_string();
    assert!(
        result.contains(
            "failed: the binding's init has thrown site.ycsb.DBException: no such server: db1, \
             because of java.io.IOException: refused; check its properties"
        ),
        "{result}"
    );
}

#[test]
fn a_file_of_the_class_path_that_is_not_there_is_named() {
    let complaint = text("jvm:site.ycsb.BasicDB?classpath=/no/such.jar");
    assert!(complaint.contains("/no/such.jar of its class path is not there"), "{complaint}");
}

#[test]
fn java_that_is_started_already_takes_no_other_options() {
    drop(store("jvm:site.ycsb.BasicDB"));
    let complaint = text("jvm:site.ycsb.BasicDB?jvm=-Xmx100m");
    assert!(
        complaint.contains("this one's was started with the options none, not \"-Xmx100m\""),
        "{complaint}"
    );
}

#[test]
fn a_bridge_that_is_not_there_says_how_to_build_it() {
    let complaint = text("jvm:site.ycsb.BasicDB?bridge=/no/where");
    assert!(
        complaint.contains("is not in /no/where; build it with `mvn -q -f java"),
        "{complaint}"
    );
}

#[test]
fn a_store_that_cannot_be_emptied_says_so() {
    let store = store(&trial("Trial", ""));
    let error = store.clear().unwrap_err();
    assert!(matches!(error, OpenError::Unsupported { .. }), "{error}");
    assert!(error.to_string().contains("no way to empty its store"), "{error}");
}

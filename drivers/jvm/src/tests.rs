//! Tests of bindings that need no Java.

use super::*;

fn options(url: &str) -> Options {
    Options::parse(url, &Redaction::PROCESS).expect("the test writes right URLs")
}

fn declared(url: &str, traits: &[(&str, &str)]) -> Capabilities {
    let traits: Vec<(String, String)> =
        traits.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    capabilities(&options(url), &traits)
}

#[test]
fn a_binding_of_which_nothing_is_known_blocks_keeps_its_data_and_may_retry() {
    let declared = declared("jvm:site.ycsb.db.MongoDbClient", &[]);
    assert_eq!(declared.name, "mongodbclient");
    assert_eq!(declared.calls, Calls::Blocking);
    assert!(declared.is_persistent && !declared.is_no_op && declared.keeps_other_fields);
    assert_eq!(declared.hidden_retries, Some(UNKNOWN_RETRIES));
    assert_eq!(declared.kinds, Kind::OF_RECORDS);
}

#[test]
fn a_binding_that_keeps_nothing_is_no_op_whatever_the_url_says() {
    let traits = [("no_op", "true"), ("inline", "true")];
    let declared = declared("jvm:site.ycsb.BasicDB?persistent=true", &traits);
    assert!(declared.is_no_op && !declared.is_persistent && !declared.keeps_other_fields);
    assert_eq!(declared.calls, Calls::Inline);
    assert_eq!(declared.hidden_retries, None);
}

#[test]
fn the_url_overrides_the_default() {
    let traits = [
        ("tended", "true"),
        ("name", "chronicle-map-rows"),
        ("persistent", "false"),
        ("inline", "true"),
        ("kinds", "read,update,insert,delete"),
    ];
    let usual = declared("jvm:assay.chronicle.Rows", &traits);
    assert_eq!((usual.name, usual.calls), ("chronicle-map-rows", Calls::Inline));
    assert!(!usual.can(Kind::Scan) && usual.can(Kind::Delete) && !usual.is_persistent);
    let chosen = declared("jvm:assay.chronicle.Rows?calls=blocking&kinds=read", &traits);
    assert_eq!((chosen.calls, chosen.kinds), (Calls::Blocking, vec![Kind::Read]));
}

#[test]
fn properties_of_files_come_before_those_of_the_url() {
    let folder = tempfile::tempdir().expect("there is room");
    let file = folder.path().join("some.properties");
    fs::write(&file, "hosts=one,\\\n  two\nb=file\n").expect("there is room");
    let url = format!("jvm:a.B?properties={}&p.b=url", file.display());
    let options = Options::parse(&url, &Redaction::PROCESS).expect("the URL is right");
    let pair = |(name, value): (String, String)| format!("{name}|{value}");
    let Ok(all) = given(&options) else { panic!("{url} can be read") };
    let all: Vec<String> = all.into_iter().map(pair).collect();
    assert_eq!(all, ["hosts|one,two", "b|file", "b|url"]);
}

#[test]
fn without_java_a_store_says_what_to_install() {
    let opened = open("jvm:site.ycsb.BasicDB", &Surroundings::NONE, &Redaction::PROCESS);
    let reported = opened.err().expect("nobody says where Java is").to_string();
    assert!(
        reported.starts_with("jvm:site.ycsb.BasicDB cannot do this: there is no Java: install it"),
        "{reported}"
    );
}

//! The Ignite driver against real clusters.

mod batches;
mod faults;
mod opening;
mod transactions;

use std::path::Path;
use std::process::Command;

use assay_lab::{Order, recipes};
use assay_model::{Fields, Reason};

use crate::lab::Shared;
use crate::ordeal::{Scans, Served};
use crate::rows::test_rows;
use crate::stores::{
    ANY_BYTES, ONE_MIB, REPLACED_BY_ONE_MIB, assert_conforms_but_for, store, test_client,
};
use crate::test_client::{
    RequestResult, TestClient, TestRequest, delete, insert, read, scan, update,
};

/// For tests that break nothing and leave no transaction open: creating a cache waits until open
/// transactions have ended, and all other requests wait for the cache.
static ONE: Shared = Shared::new("ignite", || order(1));
/// For those that do, one after another.
static IN_TURN: Shared = Shared::new("ignite-in-turn", || order(1));
/// For tests that need several nodes, and leave no transaction open.
static THREE: Shared = Shared::new("ignite-of-three", || order(3));

fn order(nodes: usize) -> Order {
    Order::of(recipes::find("ignite").expect("there is a recipe")).nodes(nodes)
}

test_rows! { ordeal, IN_TURN.lend_alone();
    it_conforms(&[
        "/bytes?fields=bytes&keys=bytes&connections=3",
        "/more?fields=bytes&atomicity=transactional&insert=put_if_absent&connections=2\
         &partition_awareness=off&read_from_backup=off",
        "/hash?fields=bytes&index=off&backups=0",
    ]);
}

test_rows! { ordeal, ONE.lend();
    records_stay_as_long_as_they_were("", Scans::InOrder);
}

#[test]
fn ignite_conforms_but_for_what_is_no_text() {
    let cluster = ONE.lend();
    let expected = [ANY_BYTES, ONE_MIB, REPLACED_BY_ONE_MIB];
    assert_conforms_but_for(&cluster.url("?connections=4"), &expected);
}

#[test]
fn updates_keep_the_other_fields_and_tell_their_requests() {
    let cluster = ONE.lend();
    let store = store(&cluster.url("?connections=16"));
    let mut test_client = TestClient::open_wide(&*store, 3).unwrap();
    test_client.expect(&insert("user1", &["a", "b", "c"]), RequestResult::WRITTEN);
    test_client.expect(&update("user1", &["new"]), RequestResult::WRITTEN);
    assert_eq!(test_client.last_requests(), 2);
    test_client.expect(&read("user1"), RequestResult::row("field0=new field1=b field2=c"));
    let one = TestRequest { fields: Fields::One(2), ..read("user1") };
    test_client.expect(&one, RequestResult::row("field2=c"));
    test_client.expect(&update("user2", &["new"]), RequestResult::MISSING);
    test_client.expect(&delete("user2"), RequestResult::MISSING);
    test_client.expect(&delete("user1"), RequestResult::WRITTEN);
    test_client.expect(&read("user1"), RequestResult::MISSING);
}

/// Two sessions at a time change one field each of the same record: nothing may be lost.
#[test]
fn changes_at_the_same_time_lose_none_of_each_other() {
    let cluster = IN_TURN.lend_alone();
    for rest in ["?connections=8", "/tx?connections=8&atomicity=transactional"] {
        let store = store(&cluster.url(rest));
        let mut test_client = TestClient::open_wide(&*store, 4).unwrap();
        test_client.expect(&insert("user1", &["0", "0", "0", "0"]), RequestResult::WRITTEN);
        for round in 1..=25 {
            let value = round.to_string();
            for field in 0..4 {
                test_client.start_changing(u32::from(field), "user1", field, &value);
            }
            for (_, result) in test_client.take(4) {
                assert_eq!(result, RequestResult::WRITTEN, "{rest} {round}");
            }
            let all = format!("field0={round} field1={round} field2={round} field3={round}");
            test_client.expect(&read("user1"), RequestResult::row(&all));
        }
    }
}

#[test]
fn an_insert_over_a_record_overwrites_it_or_is_refused_as_the_url_says() {
    let cluster = ONE.lend();
    let mut first = test_client(&cluster.url(""));
    first.expect(&insert("user1", &["a", "b"]), RequestResult::WRITTEN);
    first.expect(&insert("user1", &["c"]), RequestResult::WRITTEN);
    first.expect(&read("user1"), RequestResult::row("field0=c"));
    let mut second = test_client(&cluster.url("?insert=put_if_absent"));
    second.expect(&insert("user1", &["d"]), RequestResult::Refused(Reason::Exists));
    second.expect(&insert("user2", &["d"]), RequestResult::WRITTEN);
}

#[test]
fn scans_go_in_the_order_of_the_keys_over_all_nodes() {
    let cluster = THREE.lend();
    let mut test_client = test_client(&cluster.url(""));
    for number in (0..200).rev() {
        let (key, value) = (format!("user{number:03}"), number.to_string());
        test_client.expect(&insert(&key, &[&value]), RequestResult::WRITTEN);
    }
    let rows = |range: std::ops::Range<u32>| {
        RequestResult::Done(true, range.map(|number| format!("field0={number}")).collect())
    };
    test_client.expect(&scan("user050", 100), rows(50..150));
    test_client.expect(&scan("user190", 5000), rows(190..200));
    test_client.expect(&scan("user2", 5), RequestResult::MISSING);
}

/// What YCSB's binding does, in Ignite's own client: objects whose fields come in any order.
const YCSB: &str = r#"
import org.apache.ignite.*; import org.apache.ignite.client.*; import org.apache.ignite.binary.*;
import org.apache.ignite.configuration.*;
public class Ycsb { public static void main(String[] words) throws Exception {
  ClientConfiguration there = new ClientConfiguration().setAddresses(words[0]);
  try (IgniteClient client = Ignition.startClient(there)) {
    ClientCache<String, BinaryObject> cache = client.cache("usertable").withKeepBinary();
    if (words[1].equals("write")) {
      BinaryObjectBuilder record = client.binary().builder("CustomType");
      record.setField("field1", "b"); record.setField("field0", "ä");
      cache.put("user1", record.build());
    }
    BinaryObject record = cache.get(words[words.length - 1]);
    System.out.print(record.field("field0") + " " + record.field("field1"));
  } } }
"#;

/// What the program printed, if there is a Java that takes sources.
fn ycsb(at: &str, words: &[&str]) -> Option<String> {
    let lib = Path::new(env!("CARGO_TARGET_TMPDIR")).join("packages/ignite-2.17.0/lib/*");
    let folder = tempfile::tempdir().expect("there is a folder for temporary files");
    let source = folder.path().join("Ycsb.java");
    std::fs::write(&source, YCSB).expect("the folder is ours");
    let opened = ["java.nio", "java.lang", "java.util", "sun.nio.ch", "jdk.internal.misc"];
    let opened = opened.map(|name| format!("--add-opens=java.base/{name}=ALL-UNNAMED"));
    let mut java = Command::new("java");
    java.args(opened).arg("-cp").arg(lib).arg(&source).arg(at).args(words);
    let output = java.output().expect("the cluster runs on it");
    let (out, errors) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    if errors.contains("jdk.compiler") {
        eprintln!("NOT CHECKED: Java here takes no sources; install openjdk-17-jdk-headless");
        return None;
    }
    assert!(output.status.success(), "{errors}");
    Some(out.trim().to_owned())
}

#[test]
fn records_lie_as_ycsb_lays_them() {
    // In the caches without a prefix, which no other test uses here.
    let url = ONE.url();
    let at = url.strip_prefix("ignite://").unwrap();
    let mut test_client = test_client(&format!("{url}?index=off"));
    let Some(result) = ycsb(at, &["write", "user1"]) else { return };
    assert_eq!(result, "ä b");
    test_client.expect(&read("user1"), RequestResult::row("field0=ä field1=b"));
    test_client.expect(&update("user1", &["new"]), RequestResult::WRITTEN);
    assert_eq!(ycsb(at, &["read", "user1"]).unwrap(), "new b");
    test_client.expect(&insert("user2", &["c"]), RequestResult::WRITTEN);
    assert_eq!(ycsb(at, &["read", "user2"]).unwrap(), "c null");
}

//! Tests of opening DynamoDB: errors when there is none, settings when there is one.

use std::path::PathBuf;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use super::SHARED;
use crate::impostor;
use crate::opening::{assert_turned_away, check_unreachable};
use crate::ordeal::Served;
use crate::rows::test_rows;
use crate::server::{free_port, make_certificates, new_folder};
use crate::stores::{Settings, store, test_client};
use crate::test_client::{RequestResult, TIMEOUT, TestClient, insert, layout, read};

test_rows! { opening;
    a_closed_port_is_an_error_that_asks_whether_the_server_runs(&[
        ("dynamodb://127.0.0.1:PORT/", "is it running"),
    ]);
    redis_behind_the_port_is_another_store(&[
        ("dynamodb://127.0.0.1:PORT/?connect_timeout=2000", "check host and port"),
    ]);
    a_server_that_says_something_else_is_another_store(
        impostor::answers,
        "dynamodb://127.0.0.1:PORT/?connect_timeout=2000",
        "is no DynamoDB",
        &[
            "SSH-2.0-OpenSSH_9.2\r\n",
            "HTTP/1.1 404 Not Found\r\nContent-Length: 5\r\n\r\nnginx",
            "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
        ],
    );
    a_silent_server_is_given_up(&[
        ("dynamodb://127.0.0.1:PORT/?connect_timeout=300", "no answer came within 300 ms"),
    ]);
}

/// TLS before a server that speaks none.
struct Veil {
    process: Child,
    folder: PathBuf,
    port: u16,
}

impl Veil {
    fn before(port: &str) -> Veil {
        let (folder, own) = (new_folder(), free_port());
        make_certificates(&folder);
        let path = |name: &str| folder.join(name).display().to_string();
        let (certificate, key) = (path("server.crt"), path("server.key"));
        let listen = format!("bind=127.0.0.1,reuseaddr,fork,verify=0,cert={certificate},key={key}");
        let process = Command::new("setpriv")
            .args(["--pdeathsig", "KILL", "socat"])
            .arg(format!("OPENSSL-LISTEN:{own},{listen}"))
            .arg(format!("TCP:{port}"))
            .spawn()
            .expect("setpriv comes with util-linux");
        Veil { process, folder, port: own }
    }
}

impl Drop for Veil {
    fn drop(&mut self) {
        // It may have ended already; then there is nothing to do.
        let _ = self.process.kill();
        let _ = self.process.wait();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

#[test]
fn tls_is_spoken_where_the_url_says_so() {
    let cluster = SHARED.lend();
    let plain = cluster.url("");
    let host = plain.split(['/', '@']).find(|part| part.contains(':') && part.len() > 10);
    let veil = Veil::before(host.expect("a URL has a host with a port"));
    let ca = veil.folder.join("ca.crt").display().to_string();
    let url = |rest: &str| format!("dynamodbs://127.0.0.1:{}/tls-?{rest}", veil.port);
    let trusting = url(&format!("connections=2&ca_file={ca}"));
    let start = Instant::now();
    while store(&trusting).note().is_err() && start.elapsed() < TIMEOUT {
        std::thread::sleep(Duration::from_millis(50));
    }
    let mut test_client = test_client(&trusting);
    test_client.expect(&insert("user1", &["a", "b"]), RequestResult::WRITTEN);
    test_client.expect(&read("user1"), RequestResult::row("field0=a field1=b"));
    check_unreachable(&url("connections=2"), "ca_file= names the authority");
    let unveiled = plain.replace("dynamodb://", "dynamodbs://");
    check_unreachable(&unveiled, "if it speaks no TLS, write dynamodb://");
}

#[test]
fn refused_keys_are_reported_without_their_secret() {
    let cluster = SHARED.lend();
    let url = cluster.url("").replacen("dynamodb://", "dynamodb://not-a-key:s3cret@", 1);
    let part = "check access key, secret and region";
    let said = assert_turned_away(&url, "NotPermitted", part);
    assert!(!said.contains("s3cret"), "{said}");
}

#[test]
fn a_table_of_another_shape_is_reported() {
    let cluster = SHARED.lend();
    store(&cluster.url("?key=id&connections=1")).prepare(&layout(1)).unwrap();
    assert_turned_away(&cluster.url("?connections=1"), "", "usertable is \"id\"; say key=id");
    assert_turned_away(
        &cluster.url("?key=id&columns=bytes"),
        "",
        "usertable is of type S; say columns=text",
    );
    assert_turned_away(
        &cluster.url("?key=field0"),
        "",
        "field0 is both the key's attribute and a field",
    );
}

#[test]
fn settings_say_that_it_is_a_stand_in() {
    let cluster = SHARED.lend();
    let store = store(&cluster.url("?consistent_read=off"));
    store.prepare(&layout(1)).unwrap();
    let settings = Settings::of(&*store);
    settings.expect(&[
        ("server", "DynamoDB Local"),
        ("durability", "unknown"),
        ("consistent_read", "off"),
        ("capacity", "on demand"),
        ("connections", "16"),
    ]);
}

#[test]
fn opening_does_not_wait_for_tables() {
    let cluster = SHARED.lend();
    let store = store(&cluster.url("?connections=3"));
    let test_client = TestClient::open(&*store).unwrap();
    assert!(test_client.is_ready());
}

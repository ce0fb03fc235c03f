//! Tests of opening DynamoDB: errors when there is none, settings when there is one.

use std::io::{Read, Write};
use std::path::PathBuf;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use assay_store::{OpenError, Store};

use super::{start, store};
use crate::impostor;
use crate::server::{Server as Redis, free_port, make_certificates, new_folder};
use crate::test_client::{RequestResult, TIMEOUT, TestClient, insert, layout, read};

fn turned_away(url: &str) -> OpenError {
    store(url).prepare(&layout(1)).expect_err("there is nothing to prepare")
}

fn check_unreachable(url: &str, part: &str) {
    match turned_away(url) {
        OpenError::Unreachable { reason, .. } => assert!(reason.contains(part), "{url}: {reason}"),
        other => panic!("{url}: {other:?}"),
    }
}

#[test]
fn a_closed_port_is_an_error_that_asks_whether_the_server_runs() {
    check_unreachable(&format!("dynamodb://127.0.0.1:{}/", free_port()), "is it running");
}

#[test]
fn redis_behind_the_port_is_no_dynamodb() {
    let redis = Redis::start(&[]);
    let url = format!("dynamodb://127.0.0.1:{}/?connect_timeout=2000", redis.port);
    check_unreachable(&url, "check host and port");
}

#[test]
fn a_server_that_says_something_else_is_no_dynamodb() {
    for said in [
        "SSH-2.0-OpenSSH_9.2\r\n",
        "HTTP/1.1 404 Not Found\r\nContent-Length: 5\r\n\r\nnginx",
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
    ] {
        let port = impostor::listen(move |mut socket| {
            let _ = socket.read(&mut [0; 4096]);
            let _ = socket.write_all(said.as_bytes());
            std::thread::sleep(Duration::from_millis(200));
        });
        let url = format!("dynamodb://127.0.0.1:{port}/?connect_timeout=2000");
        check_unreachable(&url, "is no DynamoDB");
    }
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
    let cluster = start();
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
    let mut test_client = TestClient::open(&store(&trusting)).expect("the server is there");
    assert_eq!(test_client.send(&insert("user1", &["a", "b"])), RequestResult::WRITTEN);
    assert_eq!(test_client.send(&read("user1")), RequestResult::row("field0=a field1=b"));
    check_unreachable(&url("connections=2"), "ca_file= names the authority");
    let unveiled = plain.replace("dynamodb://", "dynamodbs://");
    check_unreachable(&unveiled, "if it speaks no TLS, write dynamodb://");
}

#[test]
fn a_server_that_says_nothing_is_given_up() {
    let port = impostor::listen(|_socket| std::thread::sleep(Duration::from_secs(3)));
    let url = format!("dynamodb://127.0.0.1:{port}/?connect_timeout=300");
    check_unreachable(&url, "no answer came within 300 ms");
}

#[test]
fn refused_keys_are_reported_without_their_secret() {
    let cluster = start();
    let url = cluster.url("").replacen("dynamodb://", "dynamodb://not-a-key:s3cret@", 1);
    let error = turned_away(&url);
    assert!(matches!(error, OpenError::NotPermitted { .. }), "{error:?}");
    let result = error.to_string();
    assert!(result.contains("check access key, secret and region"), "{result}");
    assert!(!result.contains("s3cret"), "{result}");
}

#[test]
fn a_table_of_another_shape_is_reported() {
    let cluster = start();
    store(&cluster.url("?key=id&connections=1")).prepare(&layout(1)).unwrap();
    let result = turned_away(&cluster.url("?connections=1")).to_string();
    assert!(result.contains("the key of its table usertable is \"id\"; say key=id"), "{result}");
    let result = turned_away(&cluster.url("?key=id&columns=bytes")).to_string();
    assert!(result.contains("usertable is of type S; say columns=text"), "{result}");
    let result = turned_away(&cluster.url("?key=field0")).to_string();
    assert!(result.contains("field0 is both the key's attribute and a field"), "{result}");
}

#[test]
fn settings_say_that_it_is_a_stand_in() {
    let cluster = start();
    let store = store(&cluster.url("?consistent_read=off"));
    store.prepare(&layout(1)).unwrap();
    let settings = store.settings().unwrap();
    let value = |name: &str| {
        let setting = settings.iter().find(|setting| setting.name == name);
        setting.map_or("", |setting| setting.value.as_str())
    };
    assert_eq!(value("server"), "DynamoDB Local");
    assert_eq!(value("durability"), "unknown");
    assert_eq!(value("consistent_read"), "off");
    assert_eq!(value("capacity"), "on demand");
    assert_eq!(value("connections"), "16");
    assert!(settings.iter().all(|setting| !setting.meaning.is_empty()));
}

#[test]
fn opening_does_not_wait_for_tables() {
    let cluster = start();
    let store = store(&cluster.url("?connections=3"));
    let test_client = TestClient::open(&store).unwrap();
    assert!(test_client.is_ready());
}

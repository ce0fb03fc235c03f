//! Tests of opening etcd: errors when there is none, settings when there is one.

use std::fs::File;
use std::path::PathBuf;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use super::start;
use crate::impostor;
use crate::lab::Cluster;
use crate::opening::{assert_turned_away, check_unreachable};
use crate::rows::test_rows;
use crate::server::{free_port, make_certificates, new_folder};
use crate::stores::{Settings, store, test_client};
use crate::test_client::{RequestResult, TIMEOUT, insert, read};

/// Lets a cluster's administrator do something; what is printed, or what is wrong.
pub(super) fn etcdctl(cluster: &Cluster, words: &str) -> Result<String, String> {
    let hosts = cluster.url("").replace("etcd://", "");
    let output = Command::new("etcdctl")
        .env("ETCDCTL_API", "3")
        .arg(format!("--endpoints={hosts}"))
        .args(words.split(' '))
        .output()
        .expect("etcdctl comes with the cluster");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    match output.status.success() {
        true => Ok(text(&output.stdout)),
        false => Err(text(&output.stderr)),
    }
}

test_rows! { opening;
    a_closed_port_is_an_error_that_asks_whether_the_server_runs(&[
        ("etcd://127.0.0.1:PORT", "is the server running"),
    ]);
    redis_behind_the_port_is_another_store(&[
        ("etcd://127.0.0.1:PORT?connect_timeout=1000", "speaks no gRPC"),
    ]);
    a_server_that_says_something_else_is_another_store(
        impostor::answers,
        "etcd://127.0.0.1:PORT",
        "check host and port",
        &["SSH-2.0-OpenSSH_9.2\r\n", "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n"],
    );
    a_silent_server_is_given_up(&[
        ("etcd://127.0.0.1:PORT?connect_timeout=200", "no greeting came within 200 ms"),
    ]);
}

#[test]
fn a_dead_endpoint_is_passed_over() {
    let cluster = start(1);
    let live = cluster.url("").replace("etcd://", "");
    let url = format!("etcd://127.0.0.1:{},{live}/p?connections=4", free_port());
    let mut test_client = test_client(&url);
    test_client.expect(&insert("user1", &["a", "b"]), RequestResult::WRITTEN);
    let settings = Settings::at(&url);
    let endpoints = settings.value("endpoints");
    assert!(endpoints.contains("(did not answer)"), "{endpoints}");
    assert!(endpoints.contains(&format!("{live} (leader)")), "{endpoints}");
}

#[test]
fn refused_users_are_reported_without_their_password() {
    let cluster = start(1);
    let at = |who: &str| cluster.url("/p?connections=2").replace("://", &format!("://{who}"));
    assert_turned_away(&at("ann:wrong@"), "", "leave user and password out of the URL");
    for words in [
        "user add root:root",
        "user grant-role root root",
        "user add ann:right",
        "user add bob:right",
        "role add bench",
        "role grant-permission bench --prefix=true readwrite p/",
        "user grant-role ann bench",
        "auth enable",
    ] {
        etcdctl(&cluster, words).unwrap();
    }
    let mut let_in = test_client(&at("ann:right@"));
    let_in.expect(&insert("user1", &["a", "b"]), RequestResult::WRITTEN);
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), "right\n").unwrap();
    let url = format!("{}&password_file={}", at("ann@"), file.path().display());
    assert_eq!(test_client(&url).send(&read("user1")), RequestResult::row("field0=a field1=b"));
    let advices = [
        ("ann:wrong@", "check user, password and their rights"),
        ("bob:right@", "check user, password and their rights"),
        ("eve:wrong@", "check user, password and their rights"),
        ("", "name user and password in the URL"),
    ];
    for (who, advice) in advices {
        assert_turned_away(&at(who), "NotPermitted", advice);
    }
    assert!(store(&at("ann:right@")).settings().is_ok());
}

/// An etcd that speaks TLS only, with its folder, where its certificates are.
struct Veiled {
    process: Child,
    folder: PathBuf,
    port: u16,
}

impl Veiled {
    fn start() -> Veiled {
        let (folder, port) = (new_folder(), free_port());
        make_certificates(&folder);
        let path = |name: &str| folder.join(name).display().to_string();
        let log = File::create(folder.join("log")).expect("the folder is ours");
        let (client, peer) =
            (format!("https://127.0.0.1:{port}"), format!("http://127.0.0.1:{}", free_port()));
        let process = Command::new("setpriv")
            .args(["--pdeathsig", "KILL", "etcd", "--name", "n1", "--data-dir", &path("data")])
            .args(["--listen-client-urls", &client, "--advertise-client-urls", &client])
            .args(["--listen-peer-urls", &peer, "--initial-advertise-peer-urls", &peer])
            .args(["--initial-cluster", &format!("n1={peer}"), "--logger", "zap"])
            .args(["--cert-file", &path("server.crt"), "--key-file", &path("server.key")])
            .stderr(log)
            .spawn()
            .expect("setpriv comes with util-linux");
        Veiled { process, folder, port }
    }
}

impl Drop for Veiled {
    fn drop(&mut self) {
        // It may have ended already; then there is nothing to do.
        let _ = self.process.kill();
        let _ = self.process.wait();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

#[test]
fn tls_is_spoken_where_the_url_says_so() {
    // Brings etcd's program, should it be missing.
    let plain = start(1);
    let veiled = Veiled::start();
    let ca = veiled.folder.join("ca.crt").display().to_string();
    let url = |scheme: &str, rest: &str| format!("{scheme}://127.0.0.1:{}/p{rest}", veiled.port);
    let trusting = url("etcds", &format!("?connections=4&ca_file={ca}"));
    let start = Instant::now();
    while store(&trusting).note().is_err() && start.elapsed() < TIMEOUT {
        std::thread::sleep(Duration::from_millis(50));
    }
    for url in [trusting, url("etcds", "?tls_insecure=true")] {
        let mut test_client = test_client(&url);
        test_client.expect(&insert("user1", &["a", "b"]), RequestResult::WRITTEN);
        test_client.expect(&read("user1"), RequestResult::row("field0=a field1=b"));
    }
    check_unreachable(&url("etcds", ""), "name the authority that signed its certificate");
    check_unreachable(&url("etcd", ""), "one that wants TLS (etcds://)");
    let unveiled = plain.url("?tls_insecure=true").replace("etcd://", "etcds://");
    check_unreachable(&unveiled, "if it speaks none, write etcd://");
}

#[test]
fn settings_say_what_they_mean() {
    let cluster = start(1);
    let settings = Settings::at(&cluster.url("?read=serializable"));
    assert!(settings.value("server").starts_with("etcd 3."), "{settings:?}");
    settings.expect(&[
        ("durability", "every commit"),
        ("replication", "1 voters"),
        ("read", "serializable"),
    ]);
    assert!(settings.value("members").starts_with("n1 leader http://"), "{settings:?}");
    assert!(settings.value("endpoints").ends_with("(leader)"), "{settings:?}");
}

//! Primaries with replicas, started for real.

use std::path::Path;
use std::process::Command;
use std::sync::atomic::AtomicBool;

use assay_lab::{House, Lab, NodeState, Order, Watch, recipes};

/// Starts a lab of two nodes with commits that wait for the replica.
fn replicated(
    store: &str,
    folder: &Path,
    probe: &mut dyn FnMut(&str) -> Result<(), String>,
) -> Lab {
    let order = Order::of(recipes::find(store).expect("there is such a recipe"))
        .nodes(2)
        .choose("commit", "replicated");
    let house =
        House { package_cache: folder.join("packages"), places: Vec::new(), may_install: true };
    let (stop, tell) = (AtomicBool::new(false), |_: &str| {});
    let lab = Lab::up(&order, &folder.join("lab"), &house, &Watch::new(&stop, &tell), probe);
    lab.unwrap_or_else(|error| panic!("{store}: {error}"))
}

fn scale(lab: &mut Lab, nodes: usize) {
    let (stop, tell) = (AtomicBool::new(false), |_: &str| {});
    lab.scale(nodes, &Watch::new(&stop, &tell)).expect("nodes join or leave");
}

/// A client's output of a query on a node of the lab.
fn describe(program: &str, words: &[&str]) -> Result<String, String> {
    let output = Command::new(program).args(words).output().map_err(|error| error.to_string())?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    match output.status.success() {
        true => Ok(text(&output.stdout)),
        false => Err(text(&output.stderr)),
    }
}

/// A folder that servers of other users can reach.
fn folder() -> tempfile::TempDir {
    use std::os::unix::fs::PermissionsExt;
    let permissions = std::fs::Permissions::from_mode(0o755);
    tempfile::Builder::new().permissions(permissions).tempdir().expect("there is room")
}

/// Writes on the primary, reads on every replica, also on one that joined later.
fn check_replicas(store: &str, query: &mut dyn FnMut(&str, u16, &str) -> Result<String, String>) {
    let folder = folder();
    let authority = |url: &str| -> (String, u16) {
        let rest = url.split_once('@').expect("a user is named").1;
        let (host, rest) = rest.split_once(':').expect("a port is named");
        let port = rest.split('/').next().and_then(|port| port.parse().ok());
        (host.to_owned(), port.expect("a port is a number"))
    };
    let mut probe = |url: &str| {
        let (host, port) = authority(url);
        query(&host, port, "SELECT 1").map(|_| ())
    };
    let mut lab = replicated(store, folder.path(), &mut probe);
    let (primary, port) = authority(lab.url());
    query(&primary, port, "CREATE TABLE t (k INT PRIMARY KEY)").expect("the primary takes writes");
    query(&primary, port, "INSERT INTO t VALUES (42)").expect("the primary takes writes");
    scale(&mut lab, 3);
    for node in lab.nodes() {
        assert_eq!(node.state, NodeState::Up, "{node:?}");
        let address = &node.record.address;
        let is_there = (0..200).any(|_| {
            std::thread::sleep(std::time::Duration::from_millis(50));
            query(address, port, "SELECT k FROM t").is_ok_and(|text| text == "42")
        });
        assert!(is_there, "{address} does not have the row");
    }
    scale(&mut lab, 2);
    lab.kill(1).expect("there is a node 1");
    assert!(query(&primary, port, "SELECT 1").is_err());
    let (stop, tell) = (AtomicBool::new(false), |_: &str| {});
    lab.restart(1, &Watch::new(&stop, &tell)).expect("it starts again");
    assert_eq!(query(&primary, port, "SELECT k FROM t"), Ok("42".to_owned()));
    lab.down().expect("its folder can be removed");
}

/// What `psql` prints.
fn psql(host: &str, port: u16, text: &str) -> Result<String, String> {
    let port = port.to_string();
    let words = ["-h", host, "-p", &port, "-U", "postgres", "-d", "postgres", "-XAtqc", text];
    describe("psql", &words)
}

#[test]
fn a_replica_joins_although_another_one_is_down() {
    let folder = folder();
    let order = Order::of(recipes::find("postgres").unwrap()).nodes(2);
    let house = House {
        package_cache: folder.path().join("packages"),
        places: Vec::new(),
        may_install: true,
    };
    let (stop, tell) = (AtomicBool::new(false), |_: &str| {});
    let watch = Watch::new(&stop, &tell);
    let mut probe = |_: &str| Ok(());
    let mut lab = Lab::up(&order, &folder.path().join("lab"), &house, &watch, &mut probe).unwrap();
    lab.kill(2).unwrap();
    lab.scale(3, &watch).unwrap();
    let states: Vec<NodeState> = lab.nodes().into_iter().map(|node| node.state).collect();
    assert_eq!(states, [NodeState::Up, NodeState::Down, NodeState::Up]);
    // A replica needs no primary to begin again with what it has.
    lab.kill(1).unwrap();
    lab.restart(2, &watch).unwrap();
    lab.restart(1, &watch).unwrap();
    assert!(lab.nodes().iter().all(|node| node.state == NodeState::Up));
    lab.down().unwrap();
}

#[test]
fn postgres_replicates() {
    check_replicas("postgres", &mut psql);
}

#[test]
fn mariadb_replicates() {
    check_replicas("mariadb", &mut |host, port, text| {
        let (host, port) = (format!("--host={host}"), format!("--port={port}"));
        let words = ["--no-defaults", "--user=root", "--skip-ssl", "-BN", "assay", "-e", text];
        describe("mariadb", &[&words[..3], &[&host, &port], &words[3..]].concat())
    });
}

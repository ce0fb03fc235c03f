//! Clients of others against the stand-in: what they take for AntidoteDB, so does our driver.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::start;
use crate::stores::test_client;
use crate::test_client::{RequestResult, insert, read};

/// The clients as they are published, at versions that work with today's node and Python.
const NPM: &str = "antidote_ts_client@0.2.2";
const PYPI: [&str; 2] = ["antidotedb==0.1.3", "protobuf==3.20.3"];

/// A folder that outlives the test, so that a client is fetched once.
fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("antidote-clients").join(name);
    std::fs::create_dir_all(&folder).expect("the target folder is ours");
    folder
}

fn script(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/live/antidote/clients").join(name)
}

/// Runs what installs a client; a test without it fails with a mark, by which `cargo xtask check`
/// distinguishes it from a real failure.
fn install(command: &mut Command) {
    match command.output() {
        Ok(output) if output.status.success() => {}
        Ok(output) => panic!("NOT RUN: {}", String::from_utf8_lossy(&output.stderr).trim()),
        Err(error) => panic!("NOT RUN: {command:?} cannot be run: {error}"),
    }
}

fn check(command: &mut Command) {
    let output = command.output().expect("it is installed");
    let [out, err] = [output.stdout, output.stderr].map(|all| String::from_utf8_lossy(&all).into());
    let (out, err): (String, String) = (out, err);
    assert!(output.status.success(), "{out}{err}");
    assert_eq!(out.trim(), "all is as it should be");
}

#[test]
fn the_typescript_client_works_with_the_stand_in() {
    let folder = folder("npm");
    if !folder.join("node_modules/antidote_ts_client").exists() {
        let words = ["install", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix"];
        install(Command::new("npm").args(words).arg(&folder).arg(NPM));
    }
    let stand_in = start();
    let modules = folder.join("node_modules");
    let mut command = Command::new("node");
    command.arg(script("typescript.js")).arg(stand_in.ports[0].to_string());
    check(command.env("NODE_PATH", modules));
}

#[test]
fn the_python_client_works_with_the_stand_in_and_shares_records_with_us() {
    let folder = folder("python");
    if !folder.join("antidotedb").exists() {
        let words = ["-m", "pip", "install", "--quiet", "--target"];
        install(Command::new("python3").args(words).arg(&folder).args(PYPI));
    }
    let stand_in = start();
    let mut ours = test_client(&stand_in.url());
    ours.expect(&insert("user1", &["from", "us"]), RequestResult::WRITTEN);
    let mut command = Command::new("python3");
    command.arg(script("python.py")).arg(stand_in.ports[0].to_string());
    check(command.env("PYTHONPATH", &folder).env("PYTHONDONTWRITEBYTECODE", "1"));
    ours.expect(&read("user2"), RequestResult::row("field0=from field1=them"));
}

//! DuckDB from PyPI, for every test that uses it.
//!
//! The first run makes a Python environment below the build directory; later ones reuse it.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};

/// The release that the tests were made with.
const DUCKDB: &str = "duckdb==2.0.0";

/// What `query`, a program in Python, prints when it is given `dir`.
pub fn send(query: &str, dir: &Path) -> String {
    let python = environment();
    let output = Command::new(python)
        .args(["-c", query])
        .arg(dir)
        .output()
        .expect("the key was used before");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "DuckDB cannot read {}: {errors}", dir.display());
    String::from_utf8(output.stdout).expect("DuckDB prints text")
}

/// A Python that has DuckDB, made on first use.
fn environment() -> PathBuf {
    // Tests that come meanwhile wait until it is made.
    static ONE: Mutex<()> = Mutex::new(());
    let _made = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    let home = Path::new(env!("CARGO_TARGET_TMPDIR")).join("duckdb-venv");
    let python = home.join("bin/python");
    let has = |python: &Path| {
        let version = DUCKDB.trim_start_matches("duckdb==");
        let check = format!("import duckdb; assert duckdb.__version__ == '{version}'");
        Command::new(python).args(["-c", &check]).output().is_ok_and(|o| o.status.success())
    };
    if !has(&python) {
        let home = home.to_str().expect("the build directory has a plain name");
        expect_ok(Command::new("python3").args(["-m", "venv", home]));
        expect_ok(Command::new(&python).args(["-m", "pip", "install", "--quiet", DUCKDB]));
    }
    assert!(
        has(&python),
        "{} still lacks {DUCKDB}; delete {home:?}, then try again",
        python.display()
    );
    python
}

fn expect_ok(command: &mut Command) {
    let what = format!("{command:?}");
    let todo = "this test needs python3 with venv and pip (Debian: apt-get install python3-venv) \
                and, the first time, access to PyPI";
    match command.output() {
        Ok(output) if output.status.success() => {}
        Ok(output) => panic!("{what} failed; {todo}\n{}", String::from_utf8_lossy(&output.stderr)),
        Err(error) => panic!("{what} cannot be started: {error}; {todo}"),
    }
}

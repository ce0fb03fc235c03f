//! Our Java part, built for the tests that use it.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// Where Maven has left our Java part.
pub fn built() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let java = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../java");
        let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("java");
        need("javac", "openjdk-17-jdk-headless");
        need("mvn", "maven");
        let output = Command::new("mvn")
            .args(["-q", "-B", "-f"])
            .arg(java.join("pom.xml"))
            .arg(format!("-Dassay.target={}", target.display()))
            .arg("package")
            .output()
            .expect("Maven is there");
        let result = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "Maven does not build our Java part: {result}");
        target
    })
}

/// Makes sure that `program` is here, installing Debian's `package` if it is not.
fn need(program: &str, package: &str) {
    let is_there = || Command::new(program).arg("-version").output().is_ok();
    if !is_there() {
        let words = ["install", "-y", "--no-install-recommends", package];
        let _ = Command::new("apt-get").args(words).output();
    }
    assert!(is_there(), "{program} is missing and could not be installed: install {package}");
}

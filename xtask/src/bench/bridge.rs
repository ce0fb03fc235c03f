//! YCSB's store that does nothing, called by us through the bridge to Java.
//!
//! Beside YCSB's own client, which calls the same class from Java, this is what the bridge costs.
//! Each side also makes keys and values, measures, and in our case keeps every operation.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result};

use crate::bench::binary::{Binary, DONE, DONE_PER_S, expect_count, figure, sample, short};
use crate::bench::fresh::is_fresh;
use crate::bench::{Case, Workload};
use crate::process::run;

/// The option that keeps BasicDB from printing each operation.
const STORE: &str = "jvm:site.ycsb.BasicDB?p.basicdb.verbose=false";

/// Where Maven leaves our Java part, from the folder of its sources.
const BUILT: &str = "target/assay-jvm";

/// The same workload at the same size as the peer's.
pub fn case(root: &Path, assay: &Binary, workload: Workload, operations: u64) -> Case {
    let (java, assay) = (root.join("java"), assay.clone());
    let (workload, size) = (workload.name, short(operations));
    Case {
        name: format!("peer's store by the bridge {workload} {size}"),
        run: Box::new(move || {
            build(&java)?;
            // The binary would look beside itself, which need not be in the project.
            let store = format!("{STORE}&bridge={}", java.join(BUILT).display());
            let count = operations.to_string();
            let load = ["--closed", "1", "--threads", "1", "--operations", &count];
            let words = [&["run", workload, "-t", &store], &load[..], &["--format", "json"]];
            let ran = assay.run(&words.concat())?;
            let json = ran.json()?;
            expect_count(figure(&json, DONE)?, operations)?;
            let what = format!("closed loop, YCSB BasicDB by the bridge, {workload}");
            Ok(vec![sample(&what, &size, figure(&json, DONE_PER_S)?, "/s")])
        }),
    }
}

/// Builds our Java part with what it needs, if that was not done since it was changed.
fn build(java: &Path) -> Result<()> {
    let (archive, lib) = (java.join(BUILT).join("assay-bridge.jar"), java.join(BUILT).join("lib"));
    let sources = [java.join("src/main"), java.join("pom.xml")];
    if lib.is_dir() && is_fresh(&archive, &sources)? {
        return Ok(());
    }
    println!("building our Java part with Maven");
    let mut command = Command::new("mvn");
    command.current_dir(java).args(["-q", "-B", "package"]).stdin(Stdio::null());
    let advice = || format!("cannot build {}: run `mvn -f java package`", java.display());
    run(&mut command).with_context(advice)
}

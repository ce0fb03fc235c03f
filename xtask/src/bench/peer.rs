//! YCSB's own client with its store that does nothing, beside ours in the same run.
//!
//! `site.ycsb:core` is all that Maven Central has of YCSB. Its BasicDB neither keeps nor
//! materialises values, so it is the framework's own ceiling; it keeps histograms, no history.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::bench::binary::{sample, short};
use crate::bench::{Case, Workload};

const VERSION: &str = "0.17.0";

/// The records that YCSB's workload files name.
const RECORDS: u64 = 1_000;

/// The same workload at the same size as ours.
pub fn case(folder: &Path, workload: Workload, operations: u64) -> Case {
    let folder = folder.to_owned();
    let size = short(operations);
    let name = workload.name;
    Case {
        name: format!("peer closed {name} {size}"),
        run: Box::new(move || {
            let rate = run(&fetch(&folder)?, workload, operations)?;
            Ok(vec![sample(&format!("YCSB BasicDB, {name}"), &size, rate, "/s")])
        }),
    }
}

/// The folder of YCSB's jars, fetched by Maven if they are not there yet.
fn fetch(folder: &Path) -> Result<PathBuf> {
    let home = folder.join("ycsb");
    let jars = home.join("lib");
    if jars.join(format!("core-{VERSION}.jar")).exists() {
        return Ok(jars);
    }
    println!("fetching site.ycsb:core {VERSION} from Maven Central");
    fs::create_dir_all(&home).with_context(|| format!("cannot make {home:?}"))?;
    let project = format!(
        r#"<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>assay</groupId><artifactId>peer</artifactId><version>1</version>
  <dependencies>
    <dependency>
      <groupId>site.ycsb</groupId><artifactId>core</artifactId><version>{VERSION}</version>
    </dependency>
  </dependencies>
</project>
"#
    );
    fs::write(home.join("pom.xml"), project).context("cannot write the project for Maven")?;
    let status = Command::new("mvn")
        .current_dir(&home)
        .args(["-q", "-B", "dependency:copy-dependencies", "-DincludeScope=runtime"])
        .arg(format!("-DoutputDirectory={}", jars.display()))
        .stdin(Stdio::null())
        .status()
        .context("cannot run mvn")?;
    if !status.success() {
        bail!("Maven could not fetch site.ycsb:core {VERSION}");
    }
    Ok(jars)
}

fn run(jars: &Path, workload: Workload, operations: u64) -> Result<f64> {
    let properties = [
        "workload=site.ycsb.workloads.CoreWorkload".to_owned(),
        "basicdb.verbose=false".to_owned(),
        "requestdistribution=zipfian".to_owned(),
        "scanproportion=0".to_owned(),
        "insertproportion=0".to_owned(),
        format!("readproportion={}", workload.reads),
        format!("updateproportion={}", 1.0 - workload.reads),
        format!("recordcount={RECORDS}"),
        format!("operationcount={operations}"),
    ];
    let mut command = Command::new("java");
    command.arg("-cp").arg(jars.join("*"));
    command.args(["site.ycsb.Client", "-t", "-db", "site.ycsb.BasicDB", "-threads", "1"]);
    for property in &properties {
        command.args(["-p", property]);
    }
    let output = command.stdin(Stdio::null()).output().context("cannot run java")?;
    let text = String::from_utf8_lossy(&output.stdout);
    throughput(&text).with_context(|| {
        format!("YCSB printed no throughput: {}", String::from_utf8_lossy(&output.stderr).trim())
    })
}

fn throughput(text: &str) -> Option<f64> {
    let line = text.lines().find(|line| line.starts_with("[OVERALL], Throughput(ops/sec)"))?;
    line.rsplit(',').next()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_throughput_is_found_among_the_lines() {
        let text = "[OVERALL], RunTime(ms), 1567\n[OVERALL], Throughput(ops/sec), 3190.5\n";
        assert_eq!(throughput(text), Some(3190.5));
        assert_eq!(throughput("[READ], Operations, 7"), None);
    }
}

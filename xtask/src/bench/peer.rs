//! YCSB's own client beside ours in the same run.
//!
//! `site.ycsb:core` is all that Maven Central has of YCSB. Its BasicDB neither keeps nor
//! materialises values, so it is the framework's own ceiling; it keeps histograms, no history.
//! For Redis there is a binding of ours that sends as YCSB's does, by the same client library.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result};

use crate::bench::binary::{expect_count, sample, short};
use crate::bench::fresh::is_fresh;
use crate::bench::timed::timed;
use crate::bench::{Case, Workload};
use crate::process::run;

/// YCSB's version.
pub const VERSION: &str = "0.17.0";

/// That of the client library that YCSB's binding for Redis uses.
pub const JEDIS: &str = "2.9.0";

/// The records that YCSB's workload files name.
const RECORDS: u64 = 1_000;

/// Where our binding is, from the project's root.
const BINDING: &str = "xtask/java/assay/peer/RedisHashes.java";

/// What it is called, for YCSB.
pub const REDIS_BINDING: &str = "assay.peer.RedisHashes";

/// YCSB's client with what it needs.
#[derive(Clone, Debug)]
pub struct Ycsb {
    /// Its own folder: jars in `lib`, our binding in `classes`.
    home: PathBuf,
    /// The source of our binding for Redis.
    binding: PathBuf,
}

/// A closed loop of YCSB's client.
pub struct Loop<'a> {
    /// The class of the binding.
    pub store: &'a str,
    /// The number of client threads, each with an instance of the binding.
    pub threads: u64,
    /// Operations of all threads.
    pub operations: u64,
    /// Further properties of the client: `name=value`.
    pub properties: &'a [&'a str],
}

/// What YCSB's client did.
pub struct Ran {
    /// Operations per second, as it tells them.
    pub done_per_s: f64,
    /// Processor time of the whole command, in seconds.
    pub cpu: f64,
}

impl Ycsb {
    /// The client that is kept in `folder`, with the binding in the project at `root`.
    pub fn new(root: &Path, folder: &Path) -> Ycsb {
        Ycsb { home: folder.join("ycsb"), binding: root.join(BINDING) }
    }

    /// The same workload at the same size as ours.
    pub fn basic(&self, workload: Workload, operations: u64) -> Case {
        let ycsb = self.clone();
        let size = short(operations);
        let name = workload.name;
        Case {
            name: format!("peer closed {name} {size}"),
            run: Box::new(move || {
                let ran = ycsb.run(&Loop {
                    store: "site.ycsb.BasicDB",
                    threads: 1,
                    operations,
                    properties: &[
                        "basicdb.verbose=false",
                        &format!("readproportion={}", workload.reads),
                        &format!("updateproportion={}", 1.0 - workload.reads),
                        &format!("recordcount={RECORDS}"),
                    ],
                })?;
                Ok(vec![sample(&format!("YCSB BasicDB, {name}"), &size, ran.done_per_s, "/s")])
            }),
        }
    }

    /// Runs the client once, with keys as popular as in YCSB's workload files, reads or updates.
    ///
    /// # Errors
    /// If it cannot be fetched, built or run, or an operation failed.
    pub fn run(&self, requested: &Loop<'_>) -> Result<Ran> {
        self.fetch()?;
        self.compile()?;
        let count = format!("operationcount={}", requested.operations);
        let always = [
            "workload=site.ycsb.workloads.CoreWorkload",
            "requestdistribution=zipfian",
            "scanproportion=0",
            "insertproportion=0",
            &count,
        ];
        let home = self.home.display();
        let class_path = format!("{home}/lib/*:{home}/classes");
        let threads = requested.threads.to_string();
        let mut arguments = vec!["-cp", &class_path, "site.ycsb.Client", "-t"];
        arguments.extend(["-db", requested.store, "-threads", &threads]);
        for &property in always.iter().chain(requested.properties) {
            arguments.extend(["-p", property]);
        }
        let ran = timed(&self.home, Path::new("java"), &arguments)?;
        let text = String::from_utf8_lossy(&ran.text);
        // It ends with 0 whatever became of its operations.
        let answered = ["[READ], Return=OK", "[UPDATE], Return=OK"];
        let answered = answered.iter().filter_map(|line| number_of(line, &text)).sum();
        expect_count(answered, requested.operations)?;
        let done_per_s = number_of("[OVERALL], Throughput(ops/sec)", &text)
            .with_context(|| format!("YCSB printed no throughput: {}", text.trim()))?;
        Ok(Ran { done_per_s, cpu: ran.cpu })
    }

    /// Has Maven fetch the jars if they are not there yet.
    fn fetch(&self) -> Result<()> {
        let home = &self.home;
        let jars = home.join("lib");
        let expected = [format!("core-{VERSION}.jar"), format!("jedis-{JEDIS}.jar")];
        if expected.iter().all(|jar| jars.join(jar).exists()) {
            return Ok(());
        }
        println!("fetching site.ycsb:core {VERSION} and Jedis {JEDIS} from Maven Central");
        // Jars of other versions would be on the class path too.
        if home.exists() {
            fs::remove_dir_all(home).with_context(|| format!("cannot empty {home:?}"))?;
        }
        fs::create_dir_all(home).with_context(|| format!("cannot make {home:?}"))?;
        fs::write(home.join("pom.xml"), project()).context("cannot write the project for Maven")?;
        let mut maven = Command::new("mvn");
        maven.args(["-q", "-B", "dependency:copy-dependencies", "-DincludeScope=runtime"]);
        maven.arg(format!("-DoutputDirectory={}", jars.display()));
        run(maven.current_dir(home).stdin(Stdio::null()))
            .with_context(|| format!("cannot fetch site.ycsb:core {VERSION} and Jedis {JEDIS}"))
    }

    /// Compiles our binding, if that was not done since it was changed.
    fn compile(&self) -> Result<()> {
        let Ycsb { home, binding } = self;
        let classes = home.join("classes");
        let compiled = classes.join(format!("{}.class", REDIS_BINDING.replace('.', "/")));
        if is_fresh(&compiled, &[binding])? {
            return Ok(());
        }
        let mut javac = Command::new("javac");
        javac.arg("-cp").arg(home.join("lib/*")).arg("-d").arg(&classes).arg(binding);
        run(javac.stdin(Stdio::null()))
            .with_context(|| format!("cannot compile {}", binding.display()))
    }
}

/// The artifacts that Maven fetches.
fn project() -> String {
    format!(
        r#"<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>assay</groupId><artifactId>peer</artifactId><version>1</version>
  <dependencies>
    <dependency>
      <groupId>site.ycsb</groupId><artifactId>core</artifactId><version>{VERSION}</version>
    </dependency>
    <dependency>
      <groupId>redis.clients</groupId><artifactId>jedis</artifactId><version>{JEDIS}</version>
    </dependency>
  </dependencies>
</project>
"#
    )
}

/// The number that ends the line of `text` that begins with `line`.
fn number_of(line: &str, text: &str) -> Option<f64> {
    let line = text.lines().find(|found| found.starts_with(line))?;
    line.rsplit(',').next()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_found_among_the_lines() {
        let text = "[OVERALL], RunTime(ms), 1567\n[OVERALL], Throughput(ops/sec), 3190.5\n\
                    [READ], Return=OK, 7\n";
        assert_eq!(number_of("[OVERALL], Throughput(ops/sec)", text), Some(3190.5));
        assert_eq!(number_of("[READ], Return=OK", text), Some(7.0));
        assert_eq!(number_of("[UPDATE], Return=OK", text), None);
    }
}

//! The project's own chores, run as `cargo xtask CHORE`.

mod arrows;
mod bench;
mod check;
mod deny;
mod dist;
mod kube;
mod memory;
mod metadata;
mod needs;
mod process;
mod suite;
mod tidy;
mod wheel;

use std::path::Path;
use std::process::ExitCode;

use anyhow::{Result, bail};

const USAGE: &str = "\
cargo xtask CHORE

  check [--from STEP]     everything that must hold: fmt, tidy, arrows, deny, clippy, doc, test
  fmt|tidy|arrows|deny|clippy|doc|test
                          one step of it
  bench [FILTER] [--runs N] [--quick]
                          our own figures against their bars, beside a peer
  dist [--quick] [--image] [--try]
                          packages in target/dist: a static tarball, a Debian package, with
                          --image an OCI image, checksums; --quick without the last per cents of
                          speed; --try installs and runs each in a clean root
  wheel [--release [--quick] | --only PATTERN]
                          the Python package: build, install, test, check its types; with
                          --release only build what is published, into target/dist
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match run(&arguments.iter().map(String::as_str).collect::<Vec<&str>>()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &[&str]) -> Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in the root");
    match arguments {
        ["check"] => check::check(root, None),
        ["check", "--from", step] => check::check(root, Some(step)),
        [step] if check::STEPS.iter().any(|known| known.name == *step) => {
            check::run_step(root, step)
        }
        ["bench", rest @ ..] => bench::bench(root, &bench::Options::parse(rest)?),
        ["dist", rest @ ..] => dist::dist(root, &dist::Options::parse(rest)?),
        ["kube", rest @ ..] => kube::kube(root, &kube::Options::parse(rest)?),
        ["wheel", rest @ ..] => wheel::wheel(root, &wheel::Options::parse(rest)?),
        [] | ["help" | "--help" | "-h"] => {
            print!("{USAGE}");
            Ok(())
        }
        other => bail!("no such chore: {}\n\n{USAGE}", other.join(" ")),
    }
}

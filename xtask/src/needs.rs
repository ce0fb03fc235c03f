//! Programs that tests or benchmarks run, with the Debian packages that bring them.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::process::{output, run};

/// A program that something here runs.
pub struct Need {
    /// What is run to see whether it is there.
    probe: &'static str,
    /// The package that brings it.
    package: &'static str,
    /// What for.
    reason: &'static str,
}

const fn need(probe: &'static str, package: &'static str, reason: &'static str) -> Need {
    Need { probe, package, reason }
}

/// What the tests need.
pub const FOR_TESTS: &[Need] = &[
    need("redis-server --version", "redis-server", "live tests of the Redis driver"),
    need("pg_isready --version", "postgresql", "live tests of the PostgreSQL driver"),
    need("memcached -V", "memcached", "live tests of the memcached driver"),
    need("mariadbd --version", "mariadb-server", "live tests of the MariaDB driver"),
    need("etcd --version", "etcd-server", "live tests of the etcd driver"),
    need("etcdctl version", "etcd-client", "live tests of the etcd driver"),
    need("nats-server --version", "nats-server", "live tests of the NATS driver"),
    need("openssl version", "openssl", "certificates for live tests"),
    need(
        "javac -version",
        "openjdk-17-jdk-headless",
        "live tests of Ignite, Cassandra and Java's stores",
    ),
    need("mvn --version", "maven", "fetching Java's stores from Maven Central"),
    need("socat -V", "socat", "TLS before DynamoDB Local"),
    need("ip -V", "iproute2", "tests in a network of their own"),
    need(
        "python3 -m ensurepip --version",
        "python3-venv",
        "a test that reads a history with DuckDB",
    ),
];

/// What the Python package needs.
pub const FOR_WHEEL: &[Need] = &[need(
    "python3 -m ensurepip --version",
    "python3-venv",
    "an environment for the Python package",
)];

/// What the Debian package needs.
pub const FOR_DEB: &[Need] = &[need("dpkg-deb --version", "dpkg", "building the Debian package")];

/// What the OCI image needs.
pub const FOR_IMAGE: &[Need] = &[need("buildah --version", "buildah", "building the image")];

/// What a Kubernetes on this machine needs, and the fleet's pods on it. Go is not among them,
/// because Debian's is too old.
pub const FOR_KUBE: &[Need] = &[
    need("containerd --version", "containerd", "the runtime of a node"),
    need("runc --version", "runc", "the containers of a node"),
    need("test -x /usr/lib/cni/bridge", "containernetworking-plugins", "the network of pods"),
    need("etcd --version", "etcd-server", "what the control plane keeps"),
    need("buildah --version", "buildah", "images"),
    need("gcc --version", "gcc", "the process of a pod's sandbox"),
    need("ip -V", "iproute2", "the network of a node"),
    need("nft --version", "nftables", "cutting a node off"),
    need("openssl version", "openssl", "keys of the control plane"),
    need("redis-server --version", "redis-server", "the store that is measured"),
    need("python3 -m ensurepip --version", "python3-venv", "schemas of Kubernetes"),
];

/// What the benchmarks of the Redis driver need.
pub const FOR_REDIS: &[Need] =
    &[need("redis-server --version", "redis-server", "benchmarks of the Redis driver")];

/// What the peer needs.
pub const FOR_PEER: &[Need] = &[
    need("java -version", "default-jre-headless", "YCSB beside us in the same run"),
    need("mvn --version", "maven", "fetching YCSB from Maven Central"),
    need("javac -version", "openjdk-17-jdk-headless", "our Java part"),
];

/// Makes sure that all of `needs` are there: installs what is missing if we may.
///
/// # Errors
/// If something is missing that cannot be installed; the message says how to do it by hand.
pub fn provide(needs: &[Need]) -> Result<()> {
    let missing: Vec<&Need> = needs.iter().filter(|need| !works(need.probe)).collect();
    if missing.is_empty() {
        return Ok(());
    }
    for Need { package, reason, .. } in &missing {
        println!("missing: {package} ({reason})");
    }
    let packages: Vec<&str> = missing.iter().map(|need| need.package).collect();
    let by_hand = format!("apt-get install --no-install-recommends {}", packages.join(" "));
    if !Path::new("/usr/bin/apt-get").exists() {
        bail!("install what is missing by hand; on Debian it is `{by_hand}`");
    }
    if !is_root()? {
        bail!("installing needs root: run `sudo {by_hand}` first");
    }
    println!("installing: {}", packages.join(" "));
    run_apt(&["update", "-qq"])?;
    let mut arguments = vec!["install", "-qq", "-y", "--no-install-recommends"];
    arguments.extend(&packages);
    run_apt(&arguments).with_context(|| format!("run `{by_hand}` by hand to see why"))?;
    match missing.iter().find(|need| !works(need.probe)) {
        Some(need) => bail!("{} is installed but `{}` fails", need.package, need.probe),
        None => Ok(()),
    }
}

/// Whether a program is there and answers.
fn works(probe: &str) -> bool {
    let mut words = probe.split(' ');
    let mut command = Command::new(words.next().unwrap_or_default());
    command.args(words).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

fn is_root() -> Result<bool> {
    Ok(output(Command::new("id").arg("-u"))? == "0")
}

fn run_apt(arguments: &[&str]) -> Result<()> {
    let mut command = Command::new("apt-get");
    command.args(arguments).env("DEBIAN_FRONTEND", "noninteractive").stdout(Stdio::null());
    run(&mut command).with_context(|| format!("apt-get {} failed", arguments.join(" ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_is_not_there_does_not_work() {
        assert!(!works("no-such-program-anywhere --version"));
        assert!(works("cargo --version"));
    }
}

//! Programs that tests or benchmarks run, with the Debian packages that bring them.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

/// A program that something here runs.
pub struct Need {
    /// What is run to see whether it is there.
    probe: &'static [&'static str],
    /// The package that brings it.
    package: &'static str,
    /// What for.
    reason: &'static str,
}

/// What the tests need.
pub const FOR_TESTS: &[Need] = &[
    Need {
        probe: &["redis-server", "--version"],
        package: "redis-server",
        reason: "live tests of the Redis driver",
    },
    Need {
        probe: &["pg_isready", "--version"],
        package: "postgresql",
        reason: "live tests of the PostgreSQL driver",
    },
    Need {
        probe: &["memcached", "-V"],
        package: "memcached",
        reason: "live tests of the memcached driver",
    },
    Need {
        probe: &["mariadbd", "--version"],
        package: "mariadb-server",
        reason: "live tests of the MariaDB driver",
    },
    Need {
        probe: &["etcd", "--version"],
        package: "etcd-server",
        reason: "live tests of the etcd driver",
    },
    Need {
        probe: &["etcdctl", "version"],
        package: "etcd-client",
        reason: "live tests of the etcd driver",
    },
    Need {
        probe: &["nats-server", "--version"],
        package: "nats-server",
        reason: "live tests of the NATS driver",
    },
    Need {
        probe: &["openssl", "version"],
        package: "openssl",
        reason: "certificates for live tests",
    },
    Need {
        probe: &["javac", "-version"],
        package: "openjdk-17-jdk-headless",
        reason: "live tests of Ignite, Cassandra and Java's stores",
    },
    Need {
        probe: &["mvn", "--version"],
        package: "maven",
        reason: "fetching Java's stores from Maven Central",
    },
    Need { probe: &["socat", "-V"], package: "socat", reason: "TLS before DynamoDB Local" },
    Need { probe: &["ip", "-V"], package: "iproute2", reason: "tests in a network of their own" },
    Need {
        probe: &["python3", "-m", "ensurepip", "--version"],
        package: "python3-venv",
        reason: "a test that reads a history with DuckDB",
    },
];

/// What the Python package needs.
pub const FOR_WHEEL: &[Need] = &[Need {
    probe: &["python3", "-m", "ensurepip", "--version"],
    package: "python3-venv",
    reason: "an environment for the Python package",
}];

/// What the Debian package needs.
pub const FOR_DEB: &[Need] = &[Need {
    probe: &["dpkg-deb", "--version"],
    package: "dpkg",
    reason: "building the Debian package",
}];

/// What the OCI image needs.
pub const FOR_IMAGE: &[Need] =
    &[Need { probe: &["buildah", "--version"], package: "buildah", reason: "building the image" }];

/// What a Kubernetes on this machine needs, and the fleet's pods on it. Go is not among them,
/// because Debian's is too old.
pub const FOR_KUBE: &[Need] = &[
    Need {
        probe: &["containerd", "--version"],
        package: "containerd",
        reason: "the runtime of a node",
    },
    Need { probe: &["runc", "--version"], package: "runc", reason: "the containers of a node" },
    Need {
        probe: &["test", "-x", "/usr/lib/cni/bridge"],
        package: "containernetworking-plugins",
        reason: "the network of pods",
    },
    Need {
        probe: &["etcd", "--version"],
        package: "etcd-server",
        reason: "what the control plane keeps",
    },
    Need { probe: &["buildah", "--version"], package: "buildah", reason: "images" },
    Need { probe: &["gcc", "--version"], package: "gcc", reason: "the process of a pod's sandbox" },
    Need { probe: &["ip", "-V"], package: "iproute2", reason: "the network of a node" },
    Need { probe: &["nft", "--version"], package: "nftables", reason: "cutting a node off" },
    Need {
        probe: &["openssl", "version"],
        package: "openssl",
        reason: "keys of the control plane",
    },
    Need {
        probe: &["redis-server", "--version"],
        package: "redis-server",
        reason: "the store that is measured",
    },
    Need {
        probe: &["python3", "-m", "ensurepip", "--version"],
        package: "python3-venv",
        reason: "schemas of Kubernetes",
    },
];

/// What the benchmarks of the Redis driver need.
pub const FOR_REDIS: &[Need] = &[Need {
    probe: &["redis-server", "--version"],
    package: "redis-server",
    reason: "benchmarks of the Redis driver",
}];

/// What the peer needs.
pub const FOR_PEER: &[Need] = &[
    Need {
        probe: &["java", "-version"],
        package: "default-jre-headless",
        reason: "YCSB beside us in the same run",
    },
    Need {
        probe: &["mvn", "--version"],
        package: "maven",
        reason: "fetching YCSB from Maven Central",
    },
    Need {
        probe: &["javac", "-version"],
        package: "openjdk-17-jdk-headless",
        reason: "our Java part",
    },
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
        Some(need) => bail!("{} is installed but `{}` fails", need.package, need.probe.join(" ")),
        None => Ok(()),
    }
}

/// Whether a program is there and answers.
pub fn works(probe: &[&str]) -> bool {
    let mut command = Command::new(probe[0]);
    command.args(&probe[1..]).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

fn is_root() -> Result<bool> {
    let output = Command::new("id").arg("-u").output().context("cannot run id")?;
    Ok(output.stdout.trim_ascii() == b"0")
}

fn run_apt(arguments: &[&str]) -> Result<()> {
    let mut command = Command::new("apt-get");
    command.args(arguments).env("DEBIAN_FRONTEND", "noninteractive").stdout(Stdio::null());
    let status = command.status().context("cannot run apt-get")?;
    if !status.success() {
        bail!("apt-get {} failed", arguments.join(" "));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_is_not_there_does_not_work() {
        assert!(!works(&["no-such-program-anywhere", "--version"]));
        assert!(works(&["cargo", "--version"]));
    }
}

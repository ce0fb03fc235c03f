//! An Ignite 2 cluster, each node a Java process of its own.

use std::fs;

use super::name;
use crate::card::{Card, Need, NodeCounts, OFF, ON, Port, RecipeOption, Scaling, Version};
use crate::error::LabError;
use crate::package_cache::{Kit, PackageCache};
use crate::recipe::Recipe;
use crate::site::{Launch, Site};

/// Ignite as Maven has it, on Java 17.
pub struct Ignite;

const SECONDS_TO_START: u32 = 120;
/// How long a node may take to have copies of what it is to own.
const SECONDS_TO_BALANCE: u32 = 600;
/// How long the control program may take, most of which is Java's start.
const SECONDS_TO_CONTROL: u32 = 60;
const LEAST_JAVA: u32 = 17;
/// What a node says when it answers.
const STARTED: &str = "Ignite node started OK";

/// What Ignite needs, which Java 17 does not open by itself. Source: Ignite's `jvmdefaults.sh`.
const OPENED: &[&str] = &[
    "java.base/jdk.internal.access",
    "java.base/jdk.internal.misc",
    "java.base/sun.nio.ch",
    "java.base/sun.util.calendar",
    "java.management/com.sun.jmx.mbeanserver",
    "jdk.internal.jvmstat/sun.jvmstat.monitor",
    "java.base/sun.reflect.generics.reflectiveObjects",
    "jdk.management/com.sun.management.internal",
    "java.base/java.io",
    "java.base/java.nio",
    "java.base/java.net",
    "java.base/java.util",
    "java.base/java.util.concurrent",
    "java.base/java.util.concurrent.locks",
    "java.base/java.util.concurrent.atomic",
    "java.base/java.lang",
    "java.base/java.lang.invoke",
    "java.base/java.math",
    "java.sql/java.sql",
    "java.base/java.time",
];

const PERSISTENCE: RecipeOption = RecipeOption::choice("persistence", &[OFF, ON], OFF)
    .about("whether records are on disk too, with a log that survives kill -9");
const WAL_MODE: RecipeOption =
    RecipeOption::choice("wal-mode", &["LOG_ONLY", "FSYNC", "BACKGROUND", "NONE"], "LOG_ONLY")
        .about("when that log goes to the disk");
const REGION: RecipeOption = RecipeOption::text("region", "512")
    .about("memory of each node for records, in MiB, taken as it is needed");
const HEAP: RecipeOption =
    RecipeOption::text("heap", "256").about("Java's heap of each node, in MiB");

impl Recipe for Ignite {
    fn card(&self) -> Card {
        Card {
            name: "ignite",
            summary: "an Ignite 2 cluster with SQL; caches are made by the client",
            versions: &[Version { name: "2.17.0", source: "Maven's ignite-core, -indexing" }],
            nodes: NodeCounts { allowed: 1..=7, usual: 1 },
            scaling: Scaling::Online,
            ports: &[
                Port { name: "client", number: 10_800 },
                Port { name: "communication", number: 10_810 },
                Port { name: "discovery", number: 10_820 },
            ],
            options: &[PERSISTENCE, WAL_MODE, REGION, HEAP],
            needs: const {
                &[
                    Need::by_hand("mvn", "apt-get install maven"),
                    Need::by_hand("java", "apt-get install openjdk-17-jre-headless"),
                ]
            },
            memory_mib: 280,
            disk_mib: 50,
            is_discovered: true,
            ..Card::ALONE
        }
    }

    fn fetch(&self, version: &str, package_cache: &PackageCache<'_>) -> Result<Kit, LabError> {
        let java = package_cache.java(LEAST_JAVA)?;
        let modules = ["core", "spring", "indexing", "control-utility"];
        let artifacts = modules.map(|name| format!("org.apache.ignite:ignite-{name}:{version}"));
        let artifacts: Vec<&str> = artifacts.iter().map(String::as_str).collect();
        let lib = package_cache.maven("ignite", version, &artifacts)?;
        Ok(Kit::new(version.to_owned()).with("java", java).with("lib", lib))
    }

    fn start(&self, site: &mut Site<'_>) -> Result<(), LabError> {
        let nodes = site.nodes();
        // A node that finds no other is a cluster by itself.
        launch(site, 1)?;
        site.wait_for_port(1, "discovery", SECONDS_TO_START)?;
        for node in 2..=nodes {
            launch(site, node)?;
        }
        for node in 1..=nodes {
            wait_for(site, node, nodes)?;
        }
        if site.option(&PERSISTENCE) == ON {
            // With data on disk it waits until the cluster is activated.
            control(site, &["--set-state", "ACTIVE"])?;
        }
        Ok(())
    }

    fn join(&self, site: &mut Site<'_>, node: usize) -> Result<(), LabError> {
        launch(site, node)?;
        wait_for(site, node, site.nodes())?;
        if site.option(&PERSISTENCE) == ON {
            control(site, &["--baseline", "add", &name(node)])?;
        }
        balance(site)
    }

    fn leave(&self, site: &mut Site<'_>, node: usize) -> Result<(), LabError> {
        balance(site)?;
        site.end(node);
        wait_for(site, 1, node - 1)?;
        if site.option(&PERSISTENCE) == ON {
            control(site, &["--baseline", "remove", &name(node)])?;
        }
        balance(site)
    }

    fn restart(&self, site: &mut Site<'_>, node: usize) -> Result<(), LabError> {
        let before = log_of(site, node).len();
        launch(site, node)?;
        // It listens before it answers.
        let what = format!("node {node} to be started");
        site.wait_until(&what, SECONDS_TO_START, |site| {
            Ok(log_of(site, node).get(before..).is_some_and(|new| new.contains(STARTED)))
        })?;
        site.wait_for_port(node, "client", SECONDS_TO_START)
    }

    fn url(&self, site: &Site<'_>) -> String {
        format!("ignite://{}", site.authorities("client"))
    }
}

fn java(site: &Site<'_>) -> Vec<String> {
    let opened = OPENED.iter().map(|package| format!("--add-opens={package}=ALL-UNNAMED"));
    let mut words: Vec<String> = opened.collect();
    let heap = site.option(&HEAP);
    words.extend([format!("-Xmx{heap}m"), "-XX:+UseSerialGC".into()]);
    words.push("-Djava.net.preferIPv4Stack=true".into());
    words.extend(["-cp".into(), format!("{}/*", site.program("lib").display())]);
    words
}

fn launch(site: &mut Site<'_>, node: usize) -> Result<(), LabError> {
    let configuration = site.write(node, "node.xml", &configuration(site, node))?;
    let folder = site.folder(node).display().to_string();
    let server = Launch::new("server", site.program("java"))
        // It does not look for a newer version.
        .args(["-DIGNITE_UPDATE_NOTIFIER=false", "-DIGNITE_PERFORMANCE_SUGGESTIONS_DISABLED=true"])
        .args([format!("-DIGNITE_HOME={folder}")])
        .args(java(site))
        .args(["org.apache.ignite.startup.cmdline.CommandLineStartup".to_owned()])
        .args([configuration.display().to_string()]);
    site.launch(node, server)
}

/// Waits until node `node` lets clients in and sees `nodes` nodes.
fn wait_for(site: &mut Site<'_>, node: usize, nodes: usize) -> Result<(), LabError> {
    site.wait_for_port(node, "client", SECONDS_TO_START)?;
    let what = format!("node {node} to see {nodes} nodes");
    site.wait_until(&what, SECONDS_TO_START, |site| Ok(sees(&log_of(site, node), nodes)))
}

/// What node `node` has said.
fn log_of(site: &Site<'_>, node: usize) -> String {
    // Before its first start it has said nothing.
    fs::read_to_string(site.folder(node).join("server.log")).unwrap_or_default()
}

/// Whether the newest that the log says of the cluster is that it has `nodes` servers.
///
/// Snapshots are numbered, and may be written in another order. Each start begins anew.
fn sees(log: &str, nodes: usize) -> bool {
    let begin = log.rfind("] ver. ").unwrap_or(0);
    let snapshots = log[begin..].lines().filter_map(|line| {
        let (_, rest) = line.split_once("Topology snapshot [ver=")?;
        let (number, rest) = rest.split_once(',')?;
        Some((number.parse::<u64>().ok()?, rest))
    });
    let newest = snapshots.max_by_key(|(number, _)| *number);
    newest.is_some_and(|(_, rest)| rest.contains(&format!(" servers={nodes},")))
}

/// Waits until every node has all copies that it is to have.
fn balance(site: &mut Site<'_>) -> Result<(), LabError> {
    site.wait_until("the nodes to have their copies", SECONDS_TO_BALANCE, |site| {
        let reported = control(site, &["--system-view", "partition_states"])?;
        Ok(is_balanced(&reported))
    })
}

/// Whether no partition in the control program's list is on its way.
fn is_balanced(reported: &str) -> bool {
    !reported.lines().any(|line| {
        let mut words = line.split_whitespace();
        words.any(|word| word == "MOVING" || word == "RENTING")
    })
}

/// Has the control program send the first node a command, without a prompt.
fn control(site: &Site<'_>, words: &[&str]) -> Result<String, LabError> {
    let (host, port) = (site.address(1), site.port("client").to_string());
    // Where it writes; else it would be where we are.
    let home = format!("-DIGNITE_HOME={}", site.folder(1).display());
    let java = java(site);
    let mut all: Vec<&str> = vec![&home];
    all.extend(java.iter().map(String::as_str));
    all.push("org.apache.ignite.internal.commandline.CommandHandler");
    all.extend(["--host", &host, "--port", &port]);
    all.extend(words);
    if words[0] != "--system-view" {
        all.push("--yes");
    }
    site.run(1, site.program("java"), &all, SECONDS_TO_CONTROL)
}

/// The configuration of node `node`: everything at its own address, nothing else.
fn configuration(site: &Site<'_>, node: usize) -> String {
    let others = (1..=site.nodes()).map(|node| site.authority(node, "discovery"));
    let others: Vec<String> = others.map(|at| format!("<value>{at}</value>")).collect();
    let at = |port: &str| {
        let (address, port) = (site.address(node), site.port(port).to_string());
        value("localAddress", &address) + &value("localPort", &port) + &value("localPortRange", "0")
    };
    let client = value("host", &site.address(node))
        + &value("port", &site.port("client").to_string())
        + &value("portRange", "0");
    let finder = property(
        "ipFinder",
        &bean(
            "spi.discovery.tcp.ipfinder.vm.TcpDiscoveryVmIpFinder",
            &property("addresses", &format!("<list>{}</list>", others.concat())),
        ),
    );
    let region = value("persistenceEnabled", &(site.option(&PERSISTENCE) == ON).to_string())
        + &value("initialSize", "#{32L * 1024 * 1024}")
        + &value("maxSize", &format!("#{{{}L * 1024 * 1024}}", site.option(&REGION)));
    let storage = property(
        "defaultDataRegionConfiguration",
        &bean("configuration.DataRegionConfiguration", &region),
    ) + &value("walMode", site.option(&WAL_MODE));
    let all = [
        value("igniteInstanceName", &name(node)),
        value("consistentId", &name(node)),
        value("workDirectory", &site.folder(node).join("work").display().to_string()),
        value("localHost", &site.address(node)),
        value("metricsLogFrequency", "0"),
        // The ports of older clients stay closed.
        property("connectorConfiguration", "<null/>"),
        property(
            "clientConnectorConfiguration",
            &bean("configuration.ClientConnectorConfiguration", &client),
        ),
        property(
            "communicationSpi",
            &bean("spi.communication.tcp.TcpCommunicationSpi", &at("communication")),
        ),
        property(
            "discoverySpi",
            &bean("spi.discovery.tcp.TcpDiscoverySpi", &(at("discovery") + &finder)),
        ),
        property(
            "dataStorageConfiguration",
            &bean("configuration.DataStorageConfiguration", &storage),
        ),
    ];
    format!(
        "<beans xmlns=\"http://www.springframework.org/schema/beans\"\n\
         xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\"\n\
         xsi:schemaLocation=\"http://www.springframework.org/schema/beans\n\
         http://www.springframework.org/schema/beans/spring-beans.xsd\">\n{}\n</beans>\n",
        bean("configuration.IgniteConfiguration", &all.join("\n"))
    )
}

fn bean(class: &str, properties: &str) -> String {
    format!("<bean class=\"org.apache.ignite.{class}\">{properties}</bean>")
}

fn property(name: &str, inside: &str) -> String {
    format!("<property name=\"{name}\">{inside}</property>")
}

fn value(name: &str, value: &str) -> String {
    format!("<property name=\"{name}\" value=\"{value}\"/>")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_snapshot_of_the_last_start_counts() {
        let snapshot = |version, servers| {
            format!(
                "[07:00:01] Topology snapshot [ver={version}, locNode=a, servers={servers}, x]\n"
            )
        };
        let begin = "[07:00:00] ver. 2.17.0#20250209\n";
        let log = [begin, &snapshot(3, 3), &snapshot(2, 2), "[07:00:06] something\n"].concat();
        assert!(sees(&log, 3));
        assert!(!sees(&log, 2));
        let again = [&log, begin, &snapshot(1, 1)].concat();
        assert!(sees(&again, 1));
        assert!(!sees(&again, 3));
        assert!(!sees("", 1));
    }

    #[test]
    fn a_moving_partition_is_not_at_its_final_node() {
        assert!(is_balanced(
            "cacheGroupId partitionId nodeId state isPrimary\n1 2 a OWNING true\n"
        ));
        assert!(!is_balanced("1 2 a OWNING true\n1 3 b MOVING false\n"));
        assert!(!is_balanced("1 3 b RENTING false\n"));
    }
}

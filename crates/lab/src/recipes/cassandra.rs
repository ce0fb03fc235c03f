//! Cassandra, from Maven's jars, on Java 17.

use std::fs;
use std::path::Path;

use crate::attach;
use crate::card::{Card, Need, NodeCounts, OFF, ON, Port, RecipeOption, Scaling, Version};
use crate::error::LabError;
use crate::package_cache::{Kit, PackageCache};
use crate::recipe::Recipe;
use crate::site::{Launch, Site};

/// Apache Cassandra's own jars, whose configuration is written here.
pub struct Cassandra;

const JAVA: u32 = 17;
const SECONDS_TO_START: u32 = 240;
/// A node that joins streams what it is to have; one that leaves streams all that it has.
const SECONDS_TO_MOVE: u32 = 1800;
const SECONDS_TO_ISSUE: u32 = 120;
/// Parts of the ring that a node has; Cassandra's own default since version 4.
const TOKENS: usize = 16;
/// Memory of the machine for one of Java's heap in each node; a node takes about 500 MB besides.
const SHARE_OF_MEMORY: u64 = 32;
const LEAST_HEAP_MIB: u64 = 256;
const MOST_HEAP_MIB: u64 = 1024;

/// What Cassandra's own scripts open of Java 17 for it.
const MODULES: [&str; 29] = [
    "-Djdk.attach.allowAttachSelf=true",
    "-Dio.netty.tryReflectionSetAccessible=true",
    "--add-exports=java.base/jdk.internal.misc=ALL-UNNAMED",
    "--add-exports=java.management/com.sun.jmx.remote.security=ALL-UNNAMED",
    "--add-exports=java.rmi/sun.rmi.registry=ALL-UNNAMED",
    "--add-exports=java.rmi/sun.rmi.server=ALL-UNNAMED",
    "--add-exports=java.sql/java.sql=ALL-UNNAMED",
    "--add-exports=java.base/java.lang.ref=ALL-UNNAMED",
    "--add-exports=java.base/jdk.internal.ref=ALL-UNNAMED",
    "--add-exports=jdk.unsupported/sun.misc=ALL-UNNAMED",
    "--add-exports=jdk.compiler/com.sun.tools.javac.file=ALL-UNNAMED",
    "--add-opens=java.base/java.lang=ALL-UNNAMED",
    "--add-opens=java.base/java.lang.module=ALL-UNNAMED",
    "--add-opens=java.base/java.lang.reflect=ALL-UNNAMED",
    "--add-opens=java.base/java.io=ALL-UNNAMED",
    "--add-opens=java.base/java.net=ALL-UNNAMED",
    "--add-opens=java.base/java.nio=ALL-UNNAMED",
    "--add-opens=java.base/java.util=ALL-UNNAMED",
    "--add-opens=java.base/java.util.concurrent=ALL-UNNAMED",
    "--add-opens=java.base/java.util.concurrent.atomic=ALL-UNNAMED",
    "--add-opens=java.base/jdk.internal.loader=ALL-UNNAMED",
    "--add-opens=java.base/jdk.internal.ref=ALL-UNNAMED",
    "--add-opens=java.base/jdk.internal.reflect=ALL-UNNAMED",
    "--add-opens=java.base/jdk.internal.math=ALL-UNNAMED",
    "--add-opens=java.base/jdk.internal.module=ALL-UNNAMED",
    "--add-opens=java.base/jdk.internal.util.jar=ALL-UNNAMED",
    "--add-opens=java.base/sun.nio.ch=ALL-UNNAMED",
    "--add-opens=jdk.management/com.sun.management.internal=ALL-UNNAMED",
    "--add-opens=jdk.compiler/com.sun.tools.javac=ALL-UNNAMED",
];

const LOGBACK: &str = "<configuration>\n\
    <appender name=\"OUT\" class=\"ch.qos.logback.core.ConsoleAppender\"><encoder>\n\
    <pattern>%d{HH:mm:ss.SSS} %-5level %logger{20} %msg%n</pattern></encoder></appender>\n\
    <root level=\"INFO\"><appender-ref ref=\"OUT\"/></root>\n\
    </configuration>\n";

/// What follows from the machine.
const AUTO: &str = "auto";
const BATCH: &str = "batch";

const HEAP: RecipeOption = RecipeOption::text("heap", AUTO).about(
    "memory for Java's objects in each node, as 512m; auto: a 32nd of the machine's, from 256m to \
     1024m",
);
const COMMITLOG: RecipeOption = RecipeOption::choice("commitlog", &["periodic", BATCH], "periodic")
    .about(
        "what an acknowledged write survives: periodic may lose ten seconds when the machine fails \
         and the last ones when a node is killed, batch nothing",
    );
const LOGIN: RecipeOption = RecipeOption::choice("login", &[OFF, ON], OFF)
    .about("on: users have passwords; there is user cassandra, password cassandra");

impl Recipe for Cassandra {
    fn card(&self) -> Card {
        Card {
            name: "cassandra",
            summary: "a ring of Cassandra nodes with 16 tokens each",
            versions: &[
                Version { name: "5.0.6", source: "Maven's org.apache.cassandra:cassandra-all" },
                Version { name: "4.1.10", source: "Maven's org.apache.cassandra:cassandra-all" },
            ],
            nodes: NodeCounts { allowed: 1..=7, usual: 3 },
            scaling: Scaling::Online,
            ports: &[
                Port { name: "client", number: 9042 },
                Port { name: "storage", number: 7000 },
                Port { name: "jmx", number: 7199 },
            ],
            options: &[HEAP, COMMITLOG, LOGIN],
            needs: const {
                &[
                    Need::by_hand("java", "apt-get install openjdk-17-jre-headless"),
                    Need::by_hand("mvn", "apt-get install maven"),
                ]
            },
            memory_mib: 1100,
            disk_mib: 300,
            is_discovered: true,
            ..Card::ALONE
        }
    }

    fn fetch(&self, version: &str, package_cache: &PackageCache<'_>) -> Result<Kit, LabError> {
        let java = package_cache.java(JAVA)?;
        let artifact = format!("org.apache.cassandra:cassandra-all:{version}");
        let jars = package_cache.maven("cassandra", version, &[&artifact])?;
        Ok(Kit::new(version).with("java", java).with("jars", jars))
    }

    /// The first ring is laid out evenly, so its nodes start without waiting for one another.
    fn start(&self, site: &mut Site<'_>) -> Result<(), LabError> {
        let nodes = site.nodes();
        launch(site, 1, &Place::Given(tokens(1, nodes)))?;
        site.wait_for_port(1, "storage", SECONDS_TO_START)?;
        for node in 2..=nodes {
            launch(site, node, &Place::Given(tokens(node, nodes)))?;
        }
        for node in 1..=nodes {
            takes_clients(site, node, SECONDS_TO_START)?;
        }
        is_whole(site)
    }

    fn join(&self, site: &mut Site<'_>, node: usize) -> Result<(), LabError> {
        launch(site, node, &Place::Found)?;
        // It takes clients when it has what it is to have.
        takes_clients(site, node, SECONDS_TO_MOVE)?;
        is_whole(site)
    }

    fn leave(&self, site: &mut Site<'_>, node: usize) -> Result<(), LabError> {
        if !site.running().contains(&node) {
            return Err(site.cannot(&format!(
                "node {node} does not run, so it cannot hand over what it has; restart it first"
            )));
        }
        // Forced: also where fewer nodes stay than a keyspace is to have copies. What it has goes
        // to the others all the same.
        send(site, node, &["decommission", "--force"], SECONDS_TO_MOVE)?;
        site.end(node);
        Ok(())
    }

    fn restart(&self, site: &mut Site<'_>, node: usize) -> Result<(), LabError> {
        seek_those_that_run(site, node)?;
        spawn(site, node)?;
        takes_clients(site, node, SECONDS_TO_START)?;
        is_whole(site)
    }

    fn url(&self, site: &Site<'_>) -> String {
        let login = if site.option(&LOGIN) == ON { "cassandra:cassandra@" } else { "" };
        format!("cassandra://{login}{}", site.authorities("client"))
    }
}

/// Where a new node's parts of the ring are.
enum Place {
    /// At these tokens; there are no data yet.
    Given(String),
    /// Where it finds that it relieves the others most; their data are streamed to it.
    Found,
}

/// The tokens of one of `nodes` nodes, by turns with those of the others, at equal distances.
fn tokens(node: usize, nodes: usize) -> String {
    let parts = (TOKENS * nodes) as u128;
    let token = |turn: usize| {
        let part = (turn * nodes + node - 1) as u128;
        (i128::from(i64::MIN) + ((part << 64) / parts) as i128).to_string()
    };
    (0..TOKENS).map(token).collect::<Vec<_>>().join(",")
}

/// Writes the configuration of a new node and starts it.
fn launch(site: &mut Site<'_>, node: usize, place: &Place) -> Result<(), LabError> {
    let text = yaml(site, node, place);
    site.write(node, "conf/cassandra.yaml", &text)?;
    site.write(node, "conf/logback.xml", LOGBACK)?;
    spawn(site, node)
}

fn yaml(site: &Site<'_>, node: usize, place: &Place) -> String {
    let root = site.folder(node).join("data").display().to_string();
    let (address, storage) = (site.address(node), site.port("storage"));
    let commit_log = match site.option(&COMMITLOG) {
        BATCH => "commitlog_sync: batch\n".to_owned(),
        _ => "commitlog_sync: periodic\ncommitlog_sync_period: 10000ms\n".to_owned(),
    };
    let login = match site.option(&LOGIN) {
        ON => "authenticator: PasswordAuthenticator\nauthorizer: CassandraAuthorizer\n",
        _ => "authenticator: AllowAllAuthenticator\nauthorizer: AllowAllAuthorizer\n",
    };
    let place = match place {
        Place::Given(tokens) => format!("initial_token: {tokens}\nauto_bootstrap: false\n"),
        Place::Found => "allocate_tokens_for_local_replication_factor: 3\n".to_owned(),
    };
    format!(
        "cluster_name: assay\n\
         partitioner: org.apache.cassandra.dht.Murmur3Partitioner\n\
         num_tokens: {TOKENS}\n\
         {place}\
         data_file_directories: ['{root}/data']\n\
         commitlog_directory: '{root}/commitlog'\n\
         saved_caches_directory: '{root}/saved_caches'\n\
         hints_directory: '{root}/hints'\n\
         cdc_raw_directory: '{root}/cdc_raw'\n\
         {commit_log}\
         endpoint_snitch: SimpleSnitch\n\
         seed_provider:\n\
         - class_name: org.apache.cassandra.locator.SimpleSeedProvider\n  \
           parameters: [{{seeds: '{}:{storage}'}}]\n\
         listen_address: {address}\n\
         rpc_address: {address}\n\
         storage_port: {storage}\n\
         ssl_storage_port: {}\n\
         native_transport_port: {}\n\
         {login}\
         concurrent_reads: 8\n\
         concurrent_writes: 8\n\
         concurrent_compactors: 1\n\
         memtable_heap_space: 64MiB\n\
         memtable_offheap_space: 64MiB\n\
         commitlog_segment_size: 16MiB\n\
         commitlog_total_space: 256MiB\n\
         key_cache_size: 16MiB\n\
         file_cache_size: 32MiB\n\
         auto_snapshot: false\n",
        site.address(1),
        storage + 1,
        site.port("client"),
    )
}

/// Lets a node that has its place in the ring look for the nodes that run, itself among them: else
/// it would not start where no other one runs.
fn seek_those_that_run(site: &mut Site<'_>, node: usize) -> Result<(), LabError> {
    let known = site.running().into_iter().chain([node]);
    let known: Vec<String> = known.map(|node| site.authority(node, "storage")).collect();
    let path = site.folder(node).join("conf/cassandra.yaml");
    let text =
        fs::read_to_string(&path).map_err(|error| LabError::io(&path, "cannot read", error))?;
    site.write(node, "conf/cassandra.yaml", &with_seeds(&text, &known.join(","))).map(drop)
}

/// The configuration with other seeds.
fn with_seeds(yaml: &str, seeds: &str) -> String {
    let line = |line: &str| match line.contains("parameters: [{seeds:") {
        true => format!("  parameters: [{{seeds: '{seeds}'}}]\n"),
        false => format!("{line}\n"),
    };
    yaml.lines().map(line).collect()
}

/// Starts a node by the configuration that it has.
fn spawn(site: &mut Site<'_>, node: usize) -> Result<(), LabError> {
    let folder = site.folder(node);
    let conf = folder.join("conf").display().to_string();
    let address = site.address(node);
    let heap = heap(site)?;
    let jars = site.program("jars");
    let mut launch = Launch::new("server", site.program("java"))
        .args(MODULES)
        .args([format!("-javaagent:{}", agent(&jars)?)])
        .args([format!("-Xms{heap}"), format!("-Xmx{heap}"), "-XX:MaxDirectMemorySize=256m".into()])
        .args(["-XX:+UseSerialGC", "-Xss512k", "-XX:-UsePerfData", "-Xshare:auto"])
        .args([format!("-Dcassandra.config=file://{conf}/cassandra.yaml")])
        .args([format!("-Dlogback.configurationFile={conf}/logback.xml")])
        .args([format!("-Dcassandra.storagedir={}", folder.join("data").display())])
        .args(["-Dcassandra-foreground=yes", "-Dcassandra.skip_wait_for_gossip_to_settle=0"])
        .args(["-Dcassandra.ring_delay_ms=5000", "-Dcassandra.superuser_setup_delay_ms=0"])
        .args([format!("-Djava.rmi.server.hostname={address}")])
        .args([attach::LISTENS]);
    if site.version().starts_with("4.") {
        launch = launch.args(["-Djava.security.manager=allow"]);
    }
    let path = format!("{conf}:{}/*", jars.display());
    site.launch(node, launch.args(["-cp", &path, "org.apache.cassandra.service.CassandraDaemon"]))
}

/// Waits until a node lets clients in, then lets nodetool in too.
fn takes_clients(site: &mut Site<'_>, node: usize, seconds: u32) -> Result<(), LabError> {
    site.wait_for_port(node, "client", seconds)?;
    open_management(site, node)
}

/// Lets nodetool in at the node's own address.
///
/// Cassandra's JMX port would listen at an address that all nodes share. Java would, if that is set
/// when it starts, listen at all addresses as well: for local programs, which are not needed. It
/// does not if it is set later; but not before it has begun its work, when the command fails or
/// waits for a long time.
fn open_management(site: &mut Site<'_>, node: usize) -> Result<(), LabError> {
    let (address, port) = (site.address(node), site.port("jmx"));
    let command = format!(
        "ManagementAgent.start jmxremote.host={address} jmxremote.port={port} \
         jmxremote.rmi.port={port} jmxremote.authenticate=false jmxremote.ssl=false"
    );
    attach::command(site, node, &command, SECONDS_TO_START)
}

/// The jar that measures objects, of whatever version comes with this one.
fn agent(jars: &Path) -> Result<String, LabError> {
    let all = fs::read_dir(jars).map_err(|error| LabError::io(jars, "cannot read", error))?;
    let mut names = all.flatten().map(|entry| entry.path());
    let is_agent = |path: &std::path::PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str());
        name.is_some_and(|name| name.starts_with("jamm-") && name.ends_with(".jar"))
    };
    let missing = || LabError::Missing(format!("{} has no jamm jar", jars.display()));
    names.find(is_agent).map(|path| path.display().to_string()).ok_or_else(missing)
}

/// What `-Xmx` is to say.
fn heap(site: &Site<'_>) -> Result<String, LabError> {
    let text = site.option(&HEAP);
    if text == AUTO {
        let reported = fs::read_to_string("/proc/meminfo").unwrap_or_default();
        return Ok(format!("{}m", share_of(memory_mib(&reported).unwrap_or_default())));
    }
    let digits = text.strip_suffix(['m', 'g']).unwrap_or_default();
    if digits.is_empty() || !digits.bytes().all(|digit| digit.is_ascii_digit()) {
        return Err(site.cannot(&format!("option heap is auto, or as 512m or 2g, not {text:?}")));
    }
    Ok(text.to_owned())
}

fn share_of(memory_mib: u64) -> u64 {
    (memory_mib / SHARE_OF_MEMORY).clamp(LEAST_HEAP_MIB, MOST_HEAP_MIB)
}

/// `MemTotal` of /proc/meminfo.
fn memory_mib(reported: &str) -> Option<u64> {
    let line = reported.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    line.split_whitespace().next()?.parse::<u64>().ok().map(|kib| kib >> 10)
}

/// Waits until the nodes that run are known to be there: the first one sees them up and normal.
fn is_whole(site: &mut Site<'_>) -> Result<(), LabError> {
    let running = site.running();
    let Some(&first) = running.first() else { return Ok(()) };
    let addresses: Vec<String> = running.into_iter().map(|node| site.address(node)).collect();
    site.wait_until("all nodes that run to be up and normal", SECONDS_TO_START, |site| {
        let reported = send(site, first, &["status"], SECONDS_TO_ISSUE)?;
        Ok(addresses.iter().all(|address| is_normal(&reported, address)))
    })
}

/// Whether `nodetool status` shows the node with this address as up and normal.
fn is_normal(status: &str, address: &str) -> bool {
    let is_it = |line: &str| {
        let mut words = line.split_whitespace();
        words.next() == Some("UN") && words.next() == Some(address)
    };
    status.lines().any(is_it)
}

/// Runs nodetool.
fn send(site: &Site<'_>, node: usize, words: &[&str], seconds: u32) -> Result<String, LabError> {
    let folder = site.folder(node);
    let home = format!("-Duser.home={}", folder.display());
    let config = format!("-Dcassandra.config=file://{}/conf/cassandra.yaml", folder.display());
    let logback = format!("-Dlogback.configurationFile={}/conf/logback.xml", folder.display());
    let storage = format!("-Dcassandra.storagedir={}/data", folder.display());
    let path = format!("{}/*", site.program("jars").display());
    let (address, jmx) = (site.address(node), site.port("jmx").to_string());
    let mut all = MODULES.to_vec();
    all.extend(["-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]);
    all.extend([home.as_str(), &config, &logback, &storage, "-cp", &path]);
    all.extend(["org.apache.cassandra.tools.NodeTool", "-h", &address, "-p", &jmx]);
    all.extend(words);
    site.run(node, site.program("java"), &all, seconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_ring_is_even() {
        let mut all: Vec<i64> = (1..=3)
            .flat_map(|node| tokens(node, 3).split(',').map(str::to_owned).collect::<Vec<_>>())
            .map(|token| token.parse().unwrap())
            .collect();
        all.sort_unstable();
        assert_eq!((all.len(), all[0]), (48, i64::MIN));
        let part = (1u128 << 64) / 48;
        for pair in all.windows(2) {
            let gap = (i128::from(pair[1]) - i128::from(pair[0])) as u128;
            assert!(gap.abs_diff(part) <= 1, "{gap}");
        }
        assert!(tokens(1, 1).starts_with("-9223372036854775808,-8070450532247928832,"));
    }

    #[test]
    fn a_node_that_starts_again_looks_for_others() {
        let yaml =
            "a: 1\nseed_provider:\n- class_name: x\n  parameters: [{seeds: '1.2.3.4:7'}]\nb: 2\n";
        let expected = yaml.replace("1.2.3.4:7", "1.2.3.5:7,1.2.3.6:7");
        assert_eq!(with_seeds(yaml, "1.2.3.5:7,1.2.3.6:7"), expected);
    }

    #[test]
    fn a_node_is_normal_when_the_ring_says_so_of_its_address() {
        let status = "Datacenter: datacenter1\n|/ State=Normal/Leaving/Joining/Moving\n\
                      --  Address     Load    Tokens  Owns\n\
                      UN  127.42.0.1  99 KiB  16      50.0%\nDN  127.42.0.2  99 KiB  16  50.0%\n\
                      UJ  127.42.0.3  99 KiB  16      ?\nUN  127.42.0.11  99 KiB  16  50.0%\n";
        let normal: Vec<bool> = ["127.42.0.1", "127.42.0.2", "127.42.0.3", "127.42.0.4"]
            .map(|address| is_normal(status, address))
            .into();
        assert_eq!(normal, [true, false, false, false]);
    }

    #[test]
    fn a_node_takes_its_share_of_the_memory() {
        assert_eq!(memory_mib("MemFree: 1 kB\nMemTotal:       24683520 kB\n"), Some(24105));
        assert_eq!(share_of(24105), 753);
        assert_eq!((share_of(1000), share_of(1 << 20)), (256, 1024));
    }
}

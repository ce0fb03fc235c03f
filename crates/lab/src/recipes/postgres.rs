//! PostgreSQL: a primary with streaming replicas.

use super::name;
use crate::card::{Card, NUMBER, Need, NodeCounts, Port, RecipeOption, Scaling, Version};
use crate::clock::CLOCK;
use crate::error::LabError;
use crate::package_cache::{Kit, PackageCache};
use crate::recipe::{FindLeader, ReadClock, Recipe};
use crate::site::{Launch, Site};

/// Debian's postgresql: node 1 is the primary, the others replicate it.
pub struct Postgres;

const PACKAGE: &str = "postgresql";
/// Where Debian keeps the programs of each version.
const FOLDERS: [&str; 5] = [
    "/usr/lib/postgresql/18/bin",
    "/usr/lib/postgresql/17/bin",
    "/usr/lib/postgresql/16/bin",
    "/usr/lib/postgresql/15/bin",
    "/usr/lib/postgresql/14/bin",
];
/// The server refuses to be root.
const USER: &str = "postgres";
const PRIMARY: usize = 1;
const SECONDS: u32 = 60;
/// A copy of the primary takes as long as its data are large.
const SECONDS_TO_COPY: u32 = 1800;

/// Local users may do anything.
const HBA: &str = "local all all trust\n\
                   host all all 127.0.0.0/8 trust\n\
                   host all all 10.42.0.0/16 trust\n\
                   host replication all 127.0.0.0/8 trust\n\
                   host replication all 10.42.0.0/16 trust\n";

const REPLICATED: &str = "replicated";
const COMMIT: RecipeOption = RecipeOption::choice("commit", &["local", REPLICATED], "local")
    .about("what a commit waits for: the primary's disk, or a replica's as well");
const APPLY_DELAY: RecipeOption = RecipeOption::choice("apply-delay", &[NUMBER], "0")
    .about("milliseconds that replicas wait before they show a commit (recovery_min_apply_delay)");

impl Recipe for Postgres {
    fn card(&self) -> Card {
        Card {
            name: "postgres",
            summary: "a PostgreSQL primary with streaming replicas",
            versions: &[Version { name: "debian", source: "Debian's postgresql" }],
            nodes: NodeCounts { allowed: 1..=5, usual: 1 },
            scaling: Scaling::Online,
            ports: &[Port { name: "client", number: 5432 }],
            options: &[COMMIT, APPLY_DELAY, CLOCK],
            needs: const { &[Need::package("postgres", "postgresql").in_folders(&FOLDERS)] },
            memory_mib: 40,
            disk_mib: 300,
            peer_ports: &["client"],
            ..Card::ALONE
        }
    }

    fn fetch(&self, _version: &str, package_cache: &PackageCache<'_>) -> Result<Kit, LabError> {
        let program = |name| package_cache.debian_in(&FOLDERS, name, PACKAGE);
        let server = program("postgres")?;
        let version = package_cache.version_of(&server, &["--version"], "(PostgreSQL) ")?;
        Ok(Kit::new(version)
            .with("postgres", server)
            .with("initdb", program("initdb")?)
            .with("pg_basebackup", program("pg_basebackup")?)
            .with("psql", program("psql")?))
    }

    fn start(&self, site: &mut Site<'_>) -> Result<(), LabError> {
        site.give_to(PRIMARY, USER)?;
        let files = files(site, PRIMARY);
        let words = ["-D", &files, "-U", USER, "-A", "trust", "-E", "UTF8", "--locale=C"];
        site.run_as(USER, PRIMARY, site.program("initdb"), &words, SECONDS)?;
        site.write(PRIMARY, "data/pg_hba.conf", HBA)?;
        self.restart(site, PRIMARY)?;
        for node in 2..=site.nodes() {
            replicate(site, node)?;
        }
        if site.option(&COMMIT) == REPLICATED {
            if site.nodes() == 1 {
                return Err(site.cannot("one node has no replica that a commit could wait for"));
            }
            send(site, "ALTER SYSTEM SET synchronous_standby_names = '*'")?;
            send(site, "SELECT pg_reload_conf()")?;
        }
        Ok(())
    }

    fn join(&self, site: &mut Site<'_>, node: usize) -> Result<(), LabError> {
        replicate(site, node)
    }

    /// A replica has nothing that the others lack.
    fn leave(&self, site: &mut Site<'_>, node: usize) -> Result<(), LabError> {
        if site.option(&COMMIT) == REPLICATED && site.nodes() == 2 {
            return Err(site.cannot("commits wait for its only replica, which cannot leave"));
        }
        site.end(node);
        Ok(())
    }

    fn restart(&self, site: &mut Site<'_>, node: usize) -> Result<(), LabError> {
        let (folder, files) = (site.folder(node).display().to_string(), files(site, node));
        let settings = [
            format!("listen_addresses={}", site.address(node)),
            format!("port={}", site.port("client")),
            format!("unix_socket_directories={folder}"),
            // The primary's name for its standbys.
            format!("cluster_name={}", name(node)),
            "max_connections=600".to_owned(),
            "wal_level=replica".to_owned(),
            "max_wal_senders=10".to_owned(),
            // The primary does not apply anything.
            format!("recovery_min_apply_delay={}ms", site.option(&APPLY_DELAY)),
        ];
        let settings = settings.into_iter().flat_map(|setting| ["-c".to_owned(), setting]);
        let launch = Launch::new("server", site.program("postgres"))
            .args(["-D".to_owned(), files])
            .args(settings)
            .user(USER);
        let launch = site.with_clock(node, launch)?;
        site.launch(node, launch)?;
        site.wait_until("the server to take queries", SECONDS, |site| {
            Ok(send_to(site, node, "SELECT 1").is_ok())
        })
    }

    fn leader(&self) -> Option<FindLeader> {
        Some(|_| Ok(Some(PRIMARY)))
    }

    fn clock(&self) -> Result<ReadClock, &'static str> {
        Ok(|site, node| {
            let text = "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint";
            let reported = send_to(site, node, text)?;
            let strange = |_| LabError::Failed(format!("{reported:?} is no time"));
            reported.trim().parse().map_err(strange)
        })
    }

    fn url(&self, site: &Site<'_>) -> String {
        let url = format!("postgres://{USER}@{}/postgres", site.authority(PRIMARY, "client"));
        let standbys = (PRIMARY + 1..=site.nodes()).map(|node| site.authority(node, "client"));
        match standbys.collect::<Vec<_>>().join(",") {
            none if none.is_empty() => url,
            standbys => format!("{url}?standbys={standbys}"),
        }
    }
}

/// The folder of node `node` that holds its databases.
fn files(site: &Site<'_>, node: usize) -> String {
    site.folder(node).join("data").display().to_string()
}

/// Copies the primary to node `node` and lets it follow.
fn replicate(site: &mut Site<'_>, node: usize) -> Result<(), LabError> {
    site.give_to(node, USER)?;
    // The standby keeps this address for its replication.
    let (host, port) = (site.peer_address(PRIMARY), site.port("client").to_string());
    let files = files(site, node);
    let words = ["-h", &host, "-p", &port, "-U", USER, "-D", &files, "-R", "-X", "stream"];
    let words: Vec<&str> = words.into_iter().chain(["-c", "fast"]).collect();
    site.run_as(USER, node, site.program("pg_basebackup"), &words, SECONDS_TO_COPY)?;
    Postgres.restart(site, node)?;
    let text = format!(
        "SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming' AND \
         application_name = '{}'",
        name(node)
    );
    site.wait_until("the replica to follow", SECONDS, |site| Ok(send(site, &text)?.trim() == "1"))
}

/// What the primary answers.
fn send(site: &Site<'_>, text: &str) -> Result<String, LabError> {
    send_to(site, PRIMARY, text)
}

fn send_to(site: &Site<'_>, node: usize, text: &str) -> Result<String, LabError> {
    let (host, port) = (site.address(node), site.port("client").to_string());
    let words = ["-h", &host, "-p", &port, "-U", USER, "-d", "postgres", "-XAtqc", text];
    site.run(node, site.program("psql"), &words, SECONDS)
}

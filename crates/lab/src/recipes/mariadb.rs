//! MariaDB: a primary with replicas that follow its binary log.

use crate::card::{Card, Need, NodeCounts, Port, RecipeOption, Scaling, Version};
use crate::error::LabError;
use crate::package_cache::{Kit, PackageCache};
use crate::recipe::{FindLeader, Recipe};
use crate::site::{Launch, Site};

/// Debian's mariadb-server: node 1 is the primary, the others replicate it.
pub struct MariaDb;

const PACKAGE: &str = "mariadb-server";
const PRIMARY: usize = 1;
const SECONDS: u32 = 90;
/// The database that our driver is pointed to.
const DATABASE: &str = "assay";

const REPLICATED: &str = "replicated";
const COMMIT: RecipeOption = RecipeOption::choice("commit", &["local", REPLICATED], "local").about(
    "what a commit waits for: the primary alone, or until a replica has its log as well \
     (semi-synchronous)",
);

impl Recipe for MariaDb {
    fn card(&self) -> Card {
        Card {
            name: "mariadb",
            summary: "a MariaDB primary with replicas",
            versions: &[Version { name: "debian", source: "Debian's mariadb-server" }],
            nodes: NodeCounts { allowed: 1..=5, usual: 1 },
            scaling: Scaling::Online,
            ports: &[Port { name: "client", number: 3306 }],
            options: &[COMMIT],
            needs: const { &[Need::package("mariadbd", "mariadb-server")] },
            memory_mib: 110,
            disk_mib: 300,
            peer_ports: &["client"],
            ..Card::ALONE
        }
    }

    fn fetch(&self, _version: &str, package_cache: &PackageCache<'_>) -> Result<Kit, LabError> {
        let server = package_cache.debian("mariadbd", PACKAGE)?;
        let version = package_cache.version_of(&server, &["--version"], "Ver ")?;
        Ok(Kit::new(version)
            .with("mariadbd", server)
            .with("mariadb-install-db", package_cache.debian("mariadb-install-db", PACKAGE)?)
            .with("mariadb", package_cache.debian("mariadb", PACKAGE)?))
    }

    fn start(&self, site: &mut Site<'_>) -> Result<(), LabError> {
        if site.option(&COMMIT) == REPLICATED && site.nodes() == 1 {
            return Err(site.cannot("one node has no replica that a commit could wait for"));
        }
        make(site, PRIMARY)?;
        for node in 2..=site.nodes() {
            replicate(site, node)?;
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
        let path = |name: &str| site.folder(node).join(name).display().to_string();
        let role = if node == PRIMARY { "master" } else { "slave" };
        let waits = if site.option(&COMMIT) == REPLICATED { "ON" } else { "OFF" };
        let mut launch = Launch::new("server", site.program("mariadbd"))
            .args(["--no-defaults", "--user=root", "--skip-name-resolve", "--log-bin=log"])
            .args(["--binlog-format=ROW", "--innodb-buffer-pool-size=64M"])
            .args(["--max-connections=300", "--innodb-log-file-size=48M"])
            .args([format!("--datadir={}", path("data")), format!("--socket={}", path("socket"))])
            .args([format!("--pid-file={}", path("pid")), format!("--tmpdir={}", path(""))])
            .args([format!("--bind-address={}", site.address(node))])
            .args([format!("--port={}", site.port("client")), format!("--server-id={node}")])
            .args([format!("--rpl-semi-sync-{role}-enabled={waits}")]);
        launch = match node {
            // A day: a commit that waits for a replica does not go on without it.
            PRIMARY => launch.args(["--rpl-semi-sync-master-timeout=86400000"]),
            _ => launch.args(["--read-only=1"]),
        };
        site.launch(node, launch)?;
        site.wait_until("the server to take queries", SECONDS, |site| {
            Ok(send(site, node, "SELECT 1").is_ok())
        })
    }

    fn leader(&self) -> Option<FindLeader> {
        Some(|_| Ok(Some(PRIMARY)))
    }

    fn url(&self, site: &Site<'_>) -> String {
        format!("mariadb://root@{}/{DATABASE}", site.authority(PRIMARY, "client"))
    }
}

/// Makes a server's own tables, starts it, lets the user `root` in from everywhere on this machine.
fn make(site: &mut Site<'_>, node: usize) -> Result<(), LabError> {
    let folder = site.folder(node).display().to_string();
    let (data, room) = (format!("--datadir={folder}/data"), format!("--tmpdir={folder}"));
    let words = ["--no-defaults", "--user=root", "--auth-root-authentication-method=normal"];
    let words = words.into_iter().chain(["--skip-test-db", "--skip-name-resolve", &data, &room]);
    let words: Vec<&str> = words.collect();
    site.run(node, site.program("mariadb-install-db"), &words, SECONDS)?;
    MariaDb.restart(site, node)?;
    // What every server makes for itself is no part of what replicas follow.
    let text = format!(
        "SET sql_log_bin = 0; CREATE USER root@'%'; GRANT ALL ON *.* TO root@'%' WITH GRANT \
         OPTION; CREATE DATABASE {DATABASE}"
    );
    send(site, node, &text).map(|_| ())
}

/// Makes a replica: it follows the primary's log from its beginning.
fn replicate(site: &mut Site<'_>, node: usize) -> Result<(), LabError> {
    make(site, node)?;
    let text = format!(
        "CHANGE MASTER TO master_host = '{}', master_port = {}, master_user = 'root', \
         master_use_gtid = slave_pos; START SLAVE",
        site.peer_address(PRIMARY),
        site.port("client")
    );
    send(site, node, &text)?;
    site.wait_until("the replica to follow", SECONDS, |site| {
        let reported = send(site, node, "SHOW SLAVE STATUS\\G")?;
        let runs = |thread: &str| reported.contains(&format!("Slave_{thread}_Running: Yes"));
        Ok(runs("IO") && runs("SQL") && reported.contains("Seconds_Behind_Master: 0"))
    })
}

/// What node `node` prints, over its socket.
fn send(site: &Site<'_>, node: usize, text: &str) -> Result<String, LabError> {
    let socket = format!("--socket={}", site.folder(node).join("socket").display());
    let words = ["--no-defaults", &socket, "--user=root", "--batch", "-e", text];
    site.run(node, site.program("mariadb"), &words, SECONDS)
}

//! MariaDB Galera: every node takes writes, which all of them certify before a commit is answered.

use std::fs;

use crate::card::{Card, Need, NodeCounts, OFF, ON, Port, RecipeOption, Scaling, Version};
use crate::error::LabError;
use crate::package_cache::{Kit, PackageCache};
use crate::recipe::Recipe;
use crate::site::{Launch, Site};

/// Debian's mariadb-server with galera-4. A new node copies the data of another one by rsync.
pub struct Galera;

const SERVER: &str = "mariadb-server";
const LIBRARY: &str = "libgalera_smm.so";
/// Where Debian keeps Galera's library.
const FOLDERS: [&str; 2] = ["/usr/lib/galera", "/usr/lib"];
const FIRST: usize = 1;
/// The scripts that copy data do not work as root.
const USER: &str = "mysql";
const SECONDS: u32 = 90;
/// A new node has the data of another one.
const SECONDS_TO_JOIN: u32 = 600;
/// The database that our driver is pointed to.
const DATABASE: &str = "assay";
/// What a node keeps of the last transactions, for nodes that were away for a short while.
const CACHE: &str = "16M";

const NEEDS: [Need; 4] = [
    Need::package("mariadbd", SERVER),
    Need::package(LIBRARY, "galera-4").in_folders(&FOLDERS),
    Need::package("rsync", "rsync"),
    Need::package("lsof", "lsof"),
];

const SYNC_WAIT: RecipeOption = RecipeOption::choice("sync-wait", &["0", "1", "3", "7", "15"], "0")
    .about(
        "which statements wait until the node has applied what others have committed \
         (wsrep_sync_wait): 0 none, 1 reads, 7 writes as well",
    );
/// What the version does by itself.
const DEFAULT: &str = "default";
const SNAPSHOT_ISOLATION: RecipeOption =
    RecipeOption::choice("snapshot-isolation", &[DEFAULT, ON, OFF], DEFAULT).about(
        "whether a change of what another transaction has changed since is refused \
         (innodb_snapshot_isolation), where the version has it",
    );
const FLUSH: RecipeOption = RecipeOption::choice("flush", &["0", "1", "2"], "1").about(
    "when a node's log is on its disk (innodb_flush_log_at_trx_commit): 1 with each commit, 0 and \
     2 once a second",
);

impl Recipe for Galera {
    fn card(&self) -> Card {
        Card {
            name: "galera",
            summary: "a MariaDB Galera cluster, all nodes of which take writes",
            versions: &[Version { name: "debian", source: "Debian's mariadb-server, galera-4" }],
            nodes: NodeCounts { allowed: 1..=7, usual: 3 },
            scaling: Scaling::Online,
            ports: &[
                Port { name: "client", number: 3306 },
                Port { name: "group", number: 4567 },
                Port { name: "ist", number: 4568 },
                Port { name: "sst", number: 4444 },
            ],
            options: &[SYNC_WAIT, SNAPSHOT_ISOLATION, FLUSH],
            needs: &NEEDS,
            memory_mib: 180,
            disk_mib: 330,
            scheme: Some("mariadb"),
            ..Card::ALONE
        }
    }

    fn fetch(&self, _version: &str, package_cache: &PackageCache<'_>) -> Result<Kit, LabError> {
        let server = package_cache.debian("mariadbd", SERVER)?;
        package_cache.debian("rsync", "rsync")?;
        package_cache.debian("lsof", "lsof")?;
        let version = package_cache.version_of(&server, &["--version"], "Ver ")?;
        Ok(Kit::new(version)
            .with("mariadbd", server)
            .with(LIBRARY, package_cache.debian_in(&FOLDERS, LIBRARY, "galera-4")?)
            .with("mariadb-install-db", package_cache.debian("mariadb-install-db", SERVER)?)
            .with("mariadb", package_cache.debian("mariadb", SERVER)?))
    }

    fn start(&self, site: &mut Site<'_>) -> Result<(), LabError> {
        make(site)?;
        for node in 2..=site.nodes() {
            self.join(site, node)?;
        }
        Ok(())
    }

    fn join(&self, site: &mut Site<'_>, node: usize) -> Result<(), LabError> {
        site.write(node, "data/.keep", "")?;
        site.give_to(node, USER)?;
        launch(site, node, Begin::Join)
    }

    /// Every node has all data.
    fn leave(&self, site: &mut Site<'_>, node: usize) -> Result<(), LabError> {
        site.end(node);
        Ok(())
    }

    /// A node joins those that run. The first of several that are all down begins the cluster anew
    /// with what it has; those that begin after it take over its data.
    fn restart(&self, site: &mut Site<'_>, node: usize) -> Result<(), LabError> {
        let running = site.running();
        let Some(&other) = running.iter().find(|&&other| other != node) else {
            allow_bootstrap(site, node)?;
            return launch(site, node, Begin::Anew);
        };
        let is_primary = |node| status(site, node, "wsrep_cluster_status");
        let mut known = running.iter().map(|&node| is_primary(node));
        if !known.any(|status| status.is_ok_and(|status| status == "Primary")) {
            // What is left of the cluster is no majority: nobody else decides that it goes on.
            send(site, other, "SET GLOBAL wsrep_provider_options = 'pc.bootstrap=YES'")?;
        }
        launch(site, node, Begin::Join)
    }

    fn url(&self, site: &Site<'_>) -> String {
        format!("mariadb://root@{}/{DATABASE}", site.authorities("client"))
    }
}

/// How a node finds its cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Begin {
    /// It is the cluster.
    Anew,
    /// It joins the others.
    Join,
}

/// Makes the first node, with the user that our driver is.
fn make(site: &mut Site<'_>) -> Result<(), LabError> {
    site.give_to(FIRST, USER)?;
    let folder = site.folder(FIRST).display().to_string();
    let (data, room) = (format!("--datadir={folder}/data"), format!("--tmpdir={folder}"));
    let words = ["--no-defaults", "--auth-root-authentication-method=normal", "--skip-test-db"];
    let words: Vec<&str> = words.into_iter().chain(["--skip-name-resolve", &data, &room]).collect();
    site.run_as(USER, FIRST, site.program("mariadb-install-db"), &words, SECONDS)?;
    launch(site, FIRST, Begin::Anew)?;
    let text = format!(
        "CREATE USER root@'%'; GRANT ALL ON *.* TO root@'%' WITH GRANT OPTION; CREATE DATABASE \
         {DATABASE}"
    );
    send(site, FIRST, &text).map(|_| ())
}

/// Starts a server, until it takes part.
fn launch(site: &mut Site<'_>, node: usize, begin: Begin) -> Result<(), LabError> {
    let path = |name: &str| site.folder(node).join(name).display().to_string();
    let address = site.address(node);
    let provider = format!(
        "gmcast.listen_addr=tcp://{};ist.recv_addr={};gcache.size={CACHE}",
        site.authority(node, "group"),
        site.authority(node, "ist")
    );
    let mut launch = Launch::new("server", site.program("mariadbd"))
        .args(["--no-defaults", "--skip-name-resolve", "--binlog-format=ROW"])
        .args(["--innodb-autoinc-lock-mode=2", "--default-storage-engine=InnoDB"])
        .args(["--innodb-buffer-pool-size=64M", "--innodb-log-file-size=48M"])
        .args(["--max-connections=300", "--wsrep-on=ON", "--wsrep-sst-method=rsync"])
        .args([format!("--datadir={}", path("data")), format!("--socket={}", path("socket"))])
        .args([format!("--pid-file={}", path("pid")), format!("--tmpdir={}", path(""))])
        .args([format!("--bind-address={address}"), format!("--server-id={node}")])
        .args([format!("--port={}", site.port("client"))])
        .args([format!("--wsrep-provider={}", site.program(LIBRARY).display())])
        .args([format!("--wsrep-provider-options={provider}")])
        .args([format!("--wsrep-cluster-address=gcomm://{}", site.authorities("group"))])
        .args([format!("--wsrep-node-address={}", site.authority(node, "group"))])
        .args([format!("--wsrep-node-incoming-address={}", site.authority(node, "client"))])
        .args([format!("--wsrep-sst-receive-address={}", site.authority(node, "sst"))])
        .args([format!("--wsrep-node-name=n{node}")])
        .args([format!("--wsrep-sync-wait={}", site.option(&SYNC_WAIT))])
        .args([format!("--innodb-flush-log-at-trx-commit={}", site.option(&FLUSH))])
        .user(USER);
    let isolation = site.option(&SNAPSHOT_ISOLATION);
    if isolation != DEFAULT {
        launch = launch.args([format!("--loose-innodb-snapshot-isolation={isolation}")]);
    }
    if begin == Begin::Anew {
        launch = launch.args(["--wsrep-new-cluster"]);
    }
    site.launch(node, launch)?;
    let seconds = if begin == Begin::Anew { SECONDS } else { SECONDS_TO_JOIN };
    site.wait_until("the node to have the cluster's data", seconds, |site| {
        let state = status(site, node, "wsrep_local_state_comment");
        Ok(state.is_ok_and(|state| state == "Synced"))
    })
}

/// After a crash of all nodes Galera leaves it to the operator which of them begins anew.
fn allow_bootstrap(site: &Site<'_>, node: usize) -> Result<(), LabError> {
    let path = site.folder(node).join("data/grastate.dat");
    let unread = |error| LabError::io(&path, "cannot change", error);
    let text = fs::read_to_string(&path).map_err(unread)?;
    let text = text.replace("safe_to_bootstrap: 0", "safe_to_bootstrap: 1");
    fs::write(&path, text).map_err(unread)
}

/// A variable of node `node`'s status.
fn status(site: &Site<'_>, node: usize, name: &str) -> Result<String, LabError> {
    let reported = send(site, node, &format!("SHOW STATUS LIKE '{name}'"))?;
    Ok(reported.split_whitespace().nth(1).unwrap_or_default().to_owned())
}

/// What node `node` prints, over its socket, without headings.
fn send(site: &Site<'_>, node: usize, text: &str) -> Result<String, LabError> {
    let socket = format!("--socket={}", site.folder(node).join("socket").display());
    let words = ["--no-defaults", &socket, "--user=root", "--batch", "-N", "-e", text];
    site.run(node, site.program("mariadb"), &words, SECONDS)
}

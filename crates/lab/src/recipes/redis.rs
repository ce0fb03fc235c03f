//! One Redis server.

use std::io::{Read, Write};
use std::time::Duration;

use crate::card::{Card, Need, OFF, Port, RecipeOption, Version};
use crate::error::LabError;
use crate::package_cache::{Kit, PackageCache};
use crate::recipe::{FindLeader, ReadClock, Recipe};
use crate::site::{self, Launch, Site};

/// Debian's redis-server, alone.
pub struct Redis;

const SECONDS_TO_START: u32 = 20;
/// Why its clock cannot be moved.
pub(super) const CLOCK: &str = "its allocator calls itself under libfaketime, and the server ends";

/// The server's program, whichever way it runs.
pub(super) const SERVER: Need = Need::package("redis-server", "redis-server");

/// The command that makes a cluster of several servers.
pub(super) const CONTROL: Need = Need::package("redis-cli", "redis-tools");

/// Brings the server's program.
pub(super) fn server(package_cache: &PackageCache<'_>) -> Result<Kit, LabError> {
    let server = package_cache.debian("redis-server", "redis-server")?;
    let version = package_cache.version_of(&server, &["--version"], "v=")?;
    Ok(Kit::new(version).with("redis-server", server))
}

/// Brings the command as well.
pub(super) fn server_and_control(package_cache: &PackageCache<'_>) -> Result<Kit, LabError> {
    Ok(server(package_cache)?.with("redis-cli", package_cache.debian("redis-cli", "redis-tools")?))
}

/// The arguments by which a server syncs a file of its records, if it has one.
pub(super) fn synced(sync: &str) -> Vec<&str> {
    match sync {
        OFF => Vec::new(),
        sync => vec!["--appendonly", "yes", "--appendfsync", sync],
    }
}

const APPENDFSYNC: RecipeOption =
    RecipeOption::choice("appendfsync", &[OFF, "no", "everysec", "always"], OFF).about(
        "what an acknowledged write survives: off keeps no file of them, no leaves syncing it to \
         the kernel",
    );

impl Recipe for Redis {
    fn card(&self) -> Card {
        Card {
            name: "redis",
            summary: "one Redis server",
            versions: &[Version { name: "debian", source: "Debian's redis-server" }],
            ports: &[Port { name: "client", number: 6379 }],
            options: &[APPENDFSYNC],
            needs: &[SERVER],
            memory_mib: 10,
            disk_mib: 10,
            ..Card::ALONE
        }
    }

    fn fetch(&self, _version: &str, package_cache: &PackageCache<'_>) -> Result<Kit, LabError> {
        server(package_cache)
    }

    fn restart(&self, site: &mut Site<'_>, node: usize) -> Result<(), LabError> {
        let folder = site.folder(node).display().to_string();
        let launch = Launch::new("server", site.program("redis-server"))
            .args(["--bind", &site.address(node), "--port", &site.port("client").to_string()])
            .args(["--dir", &folder, "--save", "", "--protected-mode", "no"])
            .args(synced(site.option(&APPENDFSYNC)));
        site.launch(node, launch)?;
        site.wait_for_port(node, "client", SECONDS_TO_START)?;
        // It listens before it has read the file of its records.
        site.wait_until("the server to answer", SECONDS_TO_LOAD, |site| {
            Ok(is_ready(&site.authority(node, "client")))
        })
    }

    fn leader(&self) -> Option<FindLeader> {
        Some(|_| Ok(Some(1)))
    }

    fn clock(&self) -> Result<ReadClock, &'static str> {
        Err(CLOCK)
    }

    fn url(&self, site: &Site<'_>) -> String {
        format!("redis://{}", site.authority(1, "client"))
    }
}

/// How long it may take to read its records.
const SECONDS_TO_LOAD: u32 = 300;
/// How long it may take to answer a question.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(1);

/// Whether a server answers with more than that it is still loading.
fn is_ready(authority: &str) -> bool {
    let mut answer = [0; 7];
    let mut asked = || -> std::io::Result<()> {
        let mut socket = site::connect(authority)?;
        socket.set_read_timeout(Some(ANSWER_TIMEOUT))?;
        socket.write_all(b"PING\r\n")?;
        socket.read_exact(&mut answer)
    };
    asked().is_ok() && &answer == b"+PONG\r\n"
}

//! Some memcached servers that know nothing of each other.

use crate::card::{Card, Need, NodeCounts, OFF, ON, Port, RecipeOption, Version};
use crate::error::LabError;
use crate::package_cache::{Kit, PackageCache};
use crate::recipe::Recipe;
use crate::site::{Launch, Site};

/// Debian's memcached.
pub struct Memcached;

const SECONDS_TO_START: u32 = 20;

const MEMORY: RecipeOption =
    RecipeOption::text("memory", "256").about("MiB that each server may fill (-m)");
const EVICTIONS: RecipeOption = RecipeOption::choice("evictions", &[ON, OFF], ON)
    .about("what happens when they are full: records go, or writes fail (-M)");
const ITEM_SIZE: RecipeOption = RecipeOption::text("item-size", "1m")
    .about("the largest record, with its key and 63 bytes more (-I)");
const THREADS: RecipeOption = RecipeOption::text("threads", "4").about("of each server (-t)");

impl Recipe for Memcached {
    fn card(&self) -> Card {
        Card {
            name: "memcached",
            summary: "memcached servers that know nothing of each other: clients spread the keys",
            versions: &[Version { name: "debian", source: "Debian's memcached" }],
            nodes: NodeCounts { allowed: 1..=32, usual: 1 },
            // With another number of servers almost every key would be looked for elsewhere.
            ports: &[Port { name: "client", number: 11211 }],
            options: &[MEMORY, EVICTIONS, ITEM_SIZE, THREADS],
            needs: const { &[Need::package("memcached", "memcached")] },
            memory_mib: 300,
            disk_mib: 1,
            ..Card::ALONE
        }
    }

    fn fetch(&self, _version: &str, package_cache: &PackageCache<'_>) -> Result<Kit, LabError> {
        let server = package_cache.debian("memcached", "memcached")?;
        let version = package_cache.version_of(&server, &["-V"], "memcached ")?;
        Ok(Kit::new(version).with("memcached", server))
    }

    fn restart(&self, site: &mut Site<'_>, node: usize) -> Result<(), LabError> {
        let port = site.port("client").to_string();
        let mut launch = Launch::new("server", site.program("memcached"))
            .args(["-l", &site.address(node), "-p", &port, "-U", "0"])
            .args(["-m", site.option(&MEMORY), "-I", site.option(&ITEM_SIZE)])
            .args(["-t", site.option(&THREADS)])
            .user("memcache");
        if site.option(&EVICTIONS) == OFF {
            launch = launch.args(["-M"]);
        }
        site.launch(node, launch)?;
        site.wait_for_port(node, "client", SECONDS_TO_START)
    }

    fn url(&self, site: &Site<'_>) -> String {
        format!("memcached://{}", site.authorities("client"))
    }
}

//! A stand-in for TiKV: the mock of TiKV's own Go client, behind TiKV's protocol.

use crate::card::{Card, Need, Port, RecipeOption, Version};
use crate::error::LabError;
use crate::package_cache::{Kit, PackageCache};
use crate::recipe::Recipe;
use crate::site::{Launch, Site};

/// What drivers of TiKV are tried with where there is no TiKV. It is not TiKV: one process, LevelDB
/// behind one lock, no Raft, a placement driver that knows one server.
pub struct TiKvStandIn;

const SECONDS_TO_START: u32 = 20;
const CLIENT: &str = "github.com/tikv/client-go/v2";

/// The mock is called within a process; this makes it reachable from outside, as TiKV is.
const MAIN: &str = include_str!("tikv_standin/main.go");

const RAW: &str = "raw";
const SPLIT: RecipeOption = RecipeOption::choice("split", &["none", "txn", RAW], "none").about(
    "whether YCSB's table lies in four regions, by the keys of transactions or by those of raw \
     mode",
);
const STATE: RecipeOption = RecipeOption::choice("state", &["up", "offline"], "up").about(
    "what the placement driver says of its only server: offline is for those who try clients",
);

impl Recipe for TiKvStandIn {
    fn card(&self) -> Card {
        Card {
            name: "tikv-standin",
            summary: "a mock of TiKV, which tells nothing of how fast TiKV is: not TiKV",
            versions: &[Version { name: "2.0.4", source: "built by Go out of TiKV's client-go" }],
            ports: &[Port { name: "client", number: 11379 }, Port { name: "store", number: 11160 }],
            options: &[SPLIT, STATE],
            needs: const { &[Need::by_hand("go", "https://go.dev/dl")] },
            memory_mib: 30,
            disk_mib: 10,
            is_discovered: true,
            ..Card::ALONE
        }
    }

    fn fetch(&self, version: &str, package_cache: &PackageCache<'_>) -> Result<Kit, LabError> {
        let module = format!("{CLIENT}@v{version}");
        let files = [("main.go", MAIN)];
        let server = package_cache.go_source("tikv-standin", version, &[&module], &files);
        let server = server.map_err(|error| match error {
            LabError::Failed(why) => LabError::Missing(format!(
                "the stand-in for TiKV cannot be built: {why}; Go has to reach its module proxy"
            )),
            other => other,
        })?;
        Ok(Kit::new(version).with("tikv-standin", server))
    }

    fn restart(&self, site: &mut Site<'_>, node: usize) -> Result<(), LabError> {
        let folder = site.folder(node).join("data").display().to_string();
        let launch = Launch::new("server", site.program("tikv-standin"))
            .args([site.authority(node, "client"), site.authority(node, "store")])
            .args([&folder, site.option(&SPLIT), site.option(&STATE)]);
        site.launch(node, launch)?;
        site.wait_for_port(node, "store", SECONDS_TO_START)?;
        site.wait_for_port(node, "client", SECONDS_TO_START)
    }

    fn url(&self, site: &Site<'_>) -> String {
        // Regions of one mode cannot be used in the other.
        let mode = if site.option(&SPLIT) == RAW { "?mode=raw" } else { "" };
        format!("tikv://{}/{mode}", site.authority(1, "client"))
    }
}

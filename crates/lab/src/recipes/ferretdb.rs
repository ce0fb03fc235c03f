//! FerretDB, which answers MongoDB's protocol out of SQLite.

use crate::card::{Card, Need, Port, Version};
use crate::error::LabError;
use crate::package_cache::{Kit, PackageCache};
use crate::recipe::Recipe;
use crate::site::{Launch, Site};

/// FerretDB 1 around its own SQLite, alone. It is not MongoDB.
pub struct FerretDb;

const SECONDS_TO_START: u32 = 20;
const MODULE: &str = "github.com/FerretDB/FerretDB";

/// FerretDB's own program wants files that its module does not have; its package does not.
const MAIN: &str = r#"package main

import (
	"context"
	"log"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"github.com/FerretDB/FerretDB/build/version"
	"github.com/FerretDB/FerretDB/ferretdb"
)

// As part of another program it does not know its own version, but that program does.
func tellVersion() {
	build, ok := debug.ReadBuildInfo()
	if !ok {
		return
	}
	for _, module := range build.Deps {
		if module.Path == "github.com/FerretDB/FerretDB" {
			version.Get().Version = module.Version
		}
	}
}

func main() {
	if len(os.Args) != 3 {
		log.Fatal("usage: ferretdb ADDRESS:PORT FOLDER")
	}
	tellVersion()
	server, err := ferretdb.New(&ferretdb.Config{
		Listener:  ferretdb.ListenerConfig{TCP: os.Args[1]},
		Handler:   "sqlite",
		SQLiteURL: "file:" + os.Args[2] + "/",
	})
	if err != nil {
		log.Fatal(err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	if err := server.Run(ctx); err != nil && ctx.Err() == nil {
		log.Fatal(err)
	}
}
"#;

impl Recipe for FerretDb {
    fn card(&self) -> Card {
        Card {
            name: "ferretdb",
            summary: "FerretDB over SQLite: MongoDB's protocol, not MongoDB",
            versions: &[Version { name: "1.24.2", source: "built by Go" }],
            ports: &[Port { name: "client", number: 11017 }],
            needs: const { &[Need::by_hand("go", "https://go.dev/dl")] },
            memory_mib: 60,
            disk_mib: 10,
            scheme: Some("mongodb"),
            is_discovered: true,
            ..Card::ALONE
        }
    }

    fn fetch(&self, version: &str, package_cache: &PackageCache<'_>) -> Result<Kit, LabError> {
        let module = format!("{MODULE}@v{version}");
        let server =
            package_cache.go_source("ferretdb", version, &[&module], &[("main.go", MAIN)])?;
        Ok(Kit::new(version).with("ferretdb", server))
    }

    fn restart(&self, site: &mut Site<'_>, node: usize) -> Result<(), LabError> {
        // A folder that it does not make itself.
        site.write(node, "data/README", "what FerretDB keeps with SQLite\n")?;
        let folder = site.folder(node).join("data").display().to_string();
        let launch = Launch::new("server", site.program("ferretdb"))
            .args([site.authority(node, "client"), folder])
            .env("DO_NOT_TRACK", "true");
        site.launch(node, launch)?;
        site.wait_for_port(node, "client", SECONDS_TO_START)
    }

    fn url(&self, site: &Site<'_>) -> String {
        format!("mongodb://{}/assay", site.authority(1, "client"))
    }
}

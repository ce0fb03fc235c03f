//! Folders of this user's labs and their programs.

use std::path::PathBuf;

use anyhow::Result;
use assay_lab::{House, Labs};
use rustix::process::getuid;

use crate::exit::usage;
use crate::options::Options;

/// Where labs of root live.
const ROOTS_FOLDER: &str = "/var/lib/assay/lab";

/// The labs in the place that the settings name, or that of this user.
pub fn labs(options: &Options) -> Result<Labs> {
    let root = match options.lab_dir.text() {
        Some(dir) => std::path::absolute(dir).map_err(|error| options.lab_dir.wrong(error))?,
        // A server that must not be root could not reach root's own home.
        None if getuid().is_root() && std::env::var_os("XDG_STATE_HOME").is_none() => {
            PathBuf::from(ROOTS_FOLDER)
        }
        None => user_folder("XDG_STATE_HOME", ".local/state")?.join("lab"),
    };
    Ok(Labs::new(root))
}

/// Where this user's programs of stores are kept.
pub fn house() -> Result<House> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let places = std::env::split_paths(&path).filter(|place| place.is_absolute());
    let package_cache = user_folder("XDG_CACHE_HOME", ".cache")?.join("lab");
    Ok(House { package_cache, places: places.collect(), may_install: false })
}

/// This program's folder of a kind, as the XDG Base Directory Specification has it.
fn user_folder(variable: &str, below_home: &str) -> Result<PathBuf> {
    let get =
        |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let found = get(variable).or_else(|| get("HOME").map(|home| home.join(below_home)));
    let found = found.ok_or_else(|| usage(format!("set HOME or {variable} to a folder")))?;
    Ok(found.join("assay"))
}

//! LMDB's environment: the one place where we vouch for what Rust cannot check.

use std::path::Path;

use heed::{Env, EnvFlags, EnvOpenOptions};

/// The most tables of an environment; one costs LMDB some bytes in each transaction.
const TABLES: u32 = 64;

/// How an environment is opened.
pub(super) struct Shape {
    pub(super) durability: Durability,
    /// A multiple of the page size.
    pub(super) map_bytes: usize,
    pub(super) readers: u32,
}

assay_driver_kit::option_words! {
    /// Which crash an answered write survives.
    pub(super) enum Durability {
        Fsync => "fsync":
            "an answered write is on disk: its pages, then the page that points to them",
        NoMetaSync => "no-meta-sync":
            "pages are on disk before a write is answered, the page that points to them with \
             the next write: a loss of power may take the last write and leaves the rest whole",
        None => "none":
            "an answered write survives the end of this process (kill -9); a loss of power may \
             damage the whole store",
    }
}

impl Durability {
    fn flags(self) -> EnvFlags {
        match self {
            Durability::Fsync => EnvFlags::empty(),
            Durability::NoMetaSync => EnvFlags::NO_META_SYNC,
            Durability::None => EnvFlags::NO_SYNC,
        }
    }
}

/// What the environment does, by its own flags.
pub(super) fn durability(environment: &Env) -> Durability {
    match environment.flags() {
        Ok(Some(flags)) if flags.contains(EnvFlags::NO_SYNC) => Durability::None,
        Ok(Some(flags)) if flags.contains(EnvFlags::NO_META_SYNC) => Durability::NoMetaSync,
        _ => Durability::Fsync,
    }
}

/// Opens the environment in `directory`, which is on a disk of this machine.
///
/// # Errors
/// Those of LMDB.
#[allow(unsafe_code, reason = "there is no safe way to map a file; decision 0016")]
pub(super) fn open(directory: &Path, shape: &Shape) -> Result<Env, heed::Error> {
    let mut options = EnvOpenOptions::new();
    options.map_size(shape.map_bytes).max_readers(shape.readers).max_dbs(TABLES);
    // SAFETY: a mapped file must change only as LMDB changes it, while it is mapped.
    // * This process: heed refuses to open an environment that is open already, by its real path,
    //   and nothing of ours touches the two files otherwise.
    // * Other processes that use LMDB: its lock file makes writers take turns and keeps pages that
    //   are read. We never set NO_LOCK, and the caller has refused network file systems, where that
    //   lock does not hold.
    // * Programs that write, cut or replace the files without LMDB while we run: nobody can keep
    //   them from it; docs/stores.md tells users not to.
    // * The flags: both leave out syncs alone. The file that this process sees is the same; what a
    //   loss of power leaves of it may be damaged under NO_SYNC, which the settings say.
    unsafe { options.flags(shape.durability.flags()).open(directory) }
}

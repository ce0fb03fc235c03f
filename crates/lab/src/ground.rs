//! The folder of a lab, locked by its owner.

use std::fs::{self, File};
use std::io::ErrorKind;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::thread;

use rustix::fs::{FlockOperation, flock};
use rustix::process::{Pid, Signal, kill_process};

use crate::error::LabError;
use crate::network::Network;
use crate::process::LOOK;
use crate::record::Record;
use crate::slot::Slot;

/// The file in a lab's folder that its owner has locked; its name is unique.
const LOCK: &str = "assay-lab.lock";
/// How often a folder that is being looked at is tried again.
const TRIES: u32 = 10;

/// A claimed folder. Free again when this value is gone, however that comes; what is in it stays.
#[derive(Debug)]
pub struct Ground {
    folder: PathBuf,
    _lock: File,
}

impl Ground {
    /// Makes the folder a lab's, empty but for the claim, or takes over that of one which is gone.
    ///
    /// # Errors
    /// If a lab runs there, it has something else in it, or cannot be written.
    pub fn claim(folder: &Path) -> Result<Ground, LabError> {
        let displayed = folder.display();
        let is_empty = match fs::read_dir(folder) {
            Ok(mut entries) => entries.next().is_none(),
            Err(error) if error.kind() == ErrorKind::NotFound => true,
            Err(error) => return Err(LabError::io(folder, "cannot read", error)),
        };
        if !is_empty && Record::read(folder)?.is_none() && !is_marked(folder) {
            return Err(LabError::Order(format!(
                "{displayed} has something in it and is no lab's folder; name another one"
            )));
        }
        fs::create_dir_all(folder).map_err(|error| LabError::io(folder, "cannot make", error))?;
        let path = folder.join(LOCK);
        let lock = File::options().create(true).append(true).open(&path);
        let lock = lock.map_err(|error| LabError::io(&path, "cannot write", error))?;
        if !is_locked(&lock) {
            return Err(LabError::Order(format!(
                "a lab is up in {displayed} already; `assay lab status` shows it, `assay lab down` \
                 ends it"
            )));
        }
        if let Some(record) = Record::read(folder)? {
            remove_network(&record);
        }
        // What an earlier lab left: its holder is gone, so its processes are too.
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            if entry.file_name() != LOCK {
                let path = entry.path();
                let removed = match path.is_dir() {
                    true => fs::remove_dir_all(&path),
                    false => fs::remove_file(&path),
                };
                removed.map_err(|error| LabError::io(&path, "cannot remove", error))?;
            }
        }
        Ok(Ground { folder: folder.to_owned(), _lock: lock })
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }
}

/// Whether the lab in `folder` is locked, so that it runs.
pub fn is_held(folder: &Path) -> bool {
    let Ok(lock) = File::options().write(true).open(folder.join(LOCK)) else { return false };
    flock(&lock, FlockOperation::NonBlockingLockShared).is_err()
}

/// Whether `folder` is marked as a lab's, running or gone; one that is being removed is not.
pub fn is_marked(folder: &Path) -> bool {
    folder.join(LOCK).exists()
}

/// Locks it, unless it is held for longer than a look takes.
fn is_locked(lock: &File) -> bool {
    (0..TRIES).any(|place| {
        if place > 0 {
            thread::sleep(LOOK);
        }
        flock(lock, FlockOperation::NonBlockingLockExclusive).is_ok()
    })
}

/// Removes everything that a lab whose holder is gone has left: its folder, its network, and
/// processes, should there be any.
///
/// # Errors
/// If it runs, or its folder is no lab's or cannot be removed.
pub fn clean(folder: &Path) -> Result<(), LabError> {
    let record = Record::read(folder)?;
    if record.is_none() && !is_marked(folder) {
        return Err(LabError::Order(format!("{} is no lab's folder", folder.display())));
    }
    // Locked until everything is removed: no lab is started there meanwhile.
    let _ground = Ground::claim(folder)?;
    if let Some(record) = record {
        let servers = record.nodes.iter().flat_map(|node| &node.servers);
        for server in servers.filter(|server| server.is_alive()) {
            let pid = i32::try_from(server.pid).ok().and_then(Pid::from_raw);
            if let Some(pid) = pid {
                // It may end in this moment, which is what is wanted.
                let _ = kill_process(pid, Signal::KILL);
            }
        }
        remove_network(&record);
    }
    fs::remove_dir_all(folder).map_err(|error| LabError::io(folder, "cannot remove", error))
}

/// The slot may be another lab's by now, which has then removed the network itself.
fn remove_network(record: &Record) {
    if record.network != Network::Namespaces {
        return;
    }
    let address = record.nodes.iter().find_map(|node| node.address.parse::<Ipv4Addr>().ok());
    if let Some(slot) = address.and_then(|address| Slot::claim_number(address.octets()[2])) {
        record.network.remove(slot.number);
    }
}

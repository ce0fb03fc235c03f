//! A number that no other lab of this machine has, from which addresses follow.

use std::fs::{self, File, OpenOptions, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use rustix::fs::{FlockOperation, flock};

use crate::error::LabError;

/// Where slots are claimed: a folder that every user of the machine may write to.
const FOLDER: &str = "/tmp/assay-lab-slots";
/// How many labs a machine can have at once.
const MOST: u8 = 250;

/// A claimed number from 1 to 250. Free again when this value is gone, however that comes.
#[derive(Debug)]
pub(crate) struct Slot {
    pub(crate) number: u8,
    _claim: File,
}

impl Slot {
    /// Claims the lowest number that is free.
    pub(crate) fn claim() -> Result<Slot, LabError> {
        Slot::claim_in(Path::new(FOLDER))
    }

    /// Claims this number, if it is free.
    pub(crate) fn claim_number(number: u8) -> Option<Slot> {
        Slot::open(Path::new(FOLDER), number)
    }

    fn open(folder: &Path, number: u8) -> Option<Slot> {
        let path = folder.join(number.to_string());
        // A slot of another user cannot be opened: the next one may be ours.
        let opened = OpenOptions::new().write(true).create(true).truncate(false).open(path);
        let claim = opened.ok()?;
        let is_free = flock(&claim, FlockOperation::NonBlockingLockExclusive).is_ok();
        is_free.then_some(Slot { number, _claim: claim })
    }

    fn claim_in(folder: &Path) -> Result<Slot, LabError> {
        let failed = |error: std::io::Error| LabError::io(folder, "cannot claim a slot in", error);
        fs::create_dir_all(folder).map_err(failed)?;
        // Its creator permits other users; for them this fails, which is harmless.
        let _ = fs::set_permissions(folder, Permissions::from_mode(0o1777));
        let free = (1..=MOST).find_map(|number| Slot::open(folder, number));
        free.ok_or_else(|| {
            LabError::Order(format!(
                "{MOST} labs run on this machine already, or {} lets nobody in; end some with \
                 `assay lab down`",
                folder.display()
            ))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_slots_have_two_numbers_until_one_is_given_back() {
        let folder = tempfile::tempdir().unwrap();
        let first = Slot::claim_in(folder.path()).unwrap();
        let second = Slot::claim_in(folder.path()).unwrap();
        assert_eq!((first.number, second.number), (1, 2));
        drop(first);
        assert_eq!(Slot::claim_in(folder.path()).unwrap().number, 1);
    }
}

//! File system check of LMDB: its files need a disk of this machine.

use assay_driver_kit::embedded::address::Address;
use assay_store::OpenError;

/// Kinds of file systems whose files are on another machine. Source: statfs(2).
#[cfg(target_os = "linux")]
const REMOTE: &[(i64, &str)] = &[
    (0x6969, "NFS"),
    (0x517B, "SMB"),
    (0xFF53_4D42, "CIFS"),
    (0xFE53_4D42, "SMB2"),
    (0x0102_1997, "9P"),
    (0x5346_414F, "AFS"),
    (0x00C3_6400, "Ceph"),
    (0x0BD0_0BD0, "Lustre"),
];

#[cfg(target_os = "linux")]
fn remote(kind: i64) -> Option<&'static str> {
    REMOTE.iter().find(|(other, _)| *other == kind).map(|(_, name)| *name)
}

/// Refuses a directory on another machine: LMDB's locks and its map do not hold there.
#[cfg(target_os = "linux")]
pub(super) fn check_file_system(address: &Address<'_>) -> Result<(), OpenError> {
    let path = address.path.as_path();
    let reported = rustix::fs::statfs(path).map_err(|error| address.denied(path, &error.into()))?;
    // The field's type differs between machines; its values do not.
    #[allow(clippy::unnecessary_cast, reason = "it is narrower elsewhere")]
    let Some(name) = remote(reported.f_type as i64) else { return Ok(()) };
    let reason = "where LMDB's locks do not hold; choose a disk of this machine";
    Err(address.failed(format!("{} is on {name}, {reason}", path.display())))
}

/// Elsewhere the user has to know.
#[cfg(not(target_os = "linux"))]
pub(super) fn check_file_system(_address: &Address<'_>) -> Result<(), OpenError> {
    Ok(())
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn local_file_systems_are_distinguished_from_remote_ones() {
        const EXT4: i64 = 0xEF53;
        const OVERLAY: i64 = 0x794C_7630;
        assert_eq!((remote(EXT4), remote(OVERLAY)), (None, None));
        assert_eq!((remote(0x6969), remote(0xFE53_4D42)), (Some("NFS"), Some("SMB2")));
    }
}

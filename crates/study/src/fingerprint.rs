//! Fingerprints of texts and files that decide figures.

use std::path::Path;

use crate::error::{StudyError, invalid};

/// The bytes of a file that decides figures.
///
/// # Errors
/// If it cannot be read.
pub fn content(path: &Path) -> Result<Vec<u8>, StudyError> {
    std::fs::read(path).map_err(|error| invalid(format!("cannot read {}: {error}", path.display())))
}

/// A number that another text changes.
pub fn hash(text: &[u8]) -> String {
    format!("{:016x}", fingerprint(text))
}

/// 64 bits that another text changes: FNV-1a.
pub fn fingerprint(text: &[u8]) -> u64 {
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3);
    text.iter().copied().fold(0xCBF2_9CE4_8422_2325, step)
}

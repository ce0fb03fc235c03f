//! The thirteen characters at the start of a value that say which write it comes from.
//!
//! `~`, then four characters with 24 bits of a tag of the data set, then eight with 48 bits of the
//! version, lowest bits first. Each character carries six bits as the byte 48 + bits, `0` to `o`,
//! so values stay printable.

use assay_model::seed::mix;
use assay_model::version;

/// The length of a header in bytes.
pub(crate) const LENGTH: usize = 13;

const MARK: u8 = b'~';
const TAG_LENGTH: usize = 4;
const ZEROS: u64 = 0x3030_3030_3030_3030;

/// Writes headers of one data set, reads them back.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Header {
    start: [u8; 1 + TAG_LENGTH],
}

impl Header {
    /// Headers with a tag mixed from `digest`.
    pub(crate) fn new(digest: u64) -> Header {
        let tag = spread(mix(digest) & 0xFF_FFFF).to_le_bytes();
        Header { start: [MARK, tag[0], tag[1], tag[2], tag[3]] }
    }

    /// Puts the header of a value with `version`, of which the low 48 bits are kept, into `place`.
    #[inline]
    pub(crate) fn put(&self, version: u64, place: &mut [u8; LENGTH]) {
        let (start, rest) = place.split_at_mut(self.start.len());
        start.copy_from_slice(&self.start);
        rest.copy_from_slice(&spread(version).to_le_bytes());
    }

    /// The version in the header of `value`, if it has one with our tag.
    #[inline]
    pub(crate) fn version(&self, value: &[u8]) -> Option<u64> {
        let (start, rest) = value.split_first_chunk::<5>()?;
        let characters = u64::from_le_bytes(*rest.first_chunk::<8>()?);
        let sixes = characters.wrapping_sub(ZEROS);
        let is_ours = *start == self.start
            && sixes & 0xC0C0_C0C0_C0C0_C0C0 == 0
            && spread(gather(sixes)) == characters;
        is_ours.then(|| gather(sixes)).filter(|&version| version != version::NONE)
    }
}

/// The low 48 bits as eight characters of six bits, the lowest in the lowest byte.
#[inline]
fn spread(bits: u64) -> u64 {
    let halves = (bits & 0xFF_FFFF) | (bits & 0xFFFF_FF00_0000) << 8;
    let quarters = (halves & 0x0000_0FFF_0000_0FFF) | (halves & 0x00FF_F000_00FF_F000) << 4;
    let sixes = (quarters & 0x003F_003F_003F_003F) | (quarters & 0x0FC0_0FC0_0FC0_0FC0) << 2;
    sixes + ZEROS
}

/// The inverse of [`spread`], for characters less their zero.
#[inline]
fn gather(sixes: u64) -> u64 {
    let quarters = (sixes & 0x003F_003F_003F_003F) | (sixes & 0x3F00_3F00_3F00_3F00) >> 2;
    let halves = (quarters & 0x0000_0FFF_0000_0FFF) | (quarters & 0x0FFF_0000_0FFF_0000) >> 4;
    (halves & 0xFF_FFFF) | (halves & 0x00FF_FFFF_0000_0000) >> 8
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header_of(digest: u64, version: u64) -> Vec<u8> {
        let mut bytes = [0; LENGTH];
        Header::new(digest).put(version, &mut bytes);
        bytes.to_vec()
    }

    #[test]
    fn versions_come_back() {
        let header = Header::new(42);
        for version in [1, 63, 64, 0xABC_DEF1_2345, version::RUN, version::END - 1] {
            let bytes = header_of(42, version);
            assert_eq!(header.version(&bytes), Some(version));
            assert!(bytes[1..].iter().all(|byte| (b'0'..=b'o').contains(byte)));
        }
    }

    #[test]
    fn characters_carry_six_bits_each_from_the_lowest() {
        let bytes = header_of(42, 1 | 2 << 6 | 63 << 42);
        assert_eq!(&bytes[5..], b"1200000o");
    }

    #[test]
    fn foreign_values_have_no_version() {
        let header = Header::new(42);
        let bytes = header_of(42, 7);
        assert_eq!(Header::new(43).version(&bytes), None, "another data set");
        assert_eq!(header.version(&bytes[..12]), None, "too short");
        assert_eq!(header.version(&header_of(42, version::NONE)), None, "no version");
        for place in 0..LENGTH {
            let mut spoilt = bytes.clone();
            spoilt[place] = 0x7F;
            assert_eq!(header.version(&spoilt), None, "spoilt at {place}");
        }
    }
}

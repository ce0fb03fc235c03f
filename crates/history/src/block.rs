//! A run of records of one worker as checksummed bytes, the unit that survives a crash.
//!
//! `docs/formats/blocks.md` draws the layout. A header has a checksum of its own, so that a block
//! whose payload was torn still tells how many records are missing.

mod payload;

use assay_model::Record;
use assay_model::seed::mix;

/// The first bytes of every block; a search for the next intact block looks for them.
pub const MAGIC: [u8; 8] = *b"\x93ASYBLK\n";
/// The version of the block format that this crate writes.
pub const VERSION: u16 = 3;
/// Bytes of a header.
pub const HEADER_BYTES: usize = 48;
/// The most records of one block: a bound on what a reader must be ready to hold.
pub const RECORDS_MAX: usize = 1 << 16;
/// The most payload bytes of one record: eighteen numbers at full width, their bases included.
const RECORD_BYTES_MAX: usize = 512;

/// What a block says about itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// The version of the format.
    pub version: u16,
    /// The worker that wrote it.
    pub worker: u16,
    /// The number of blocks that this worker wrote before.
    pub sequence: u32,
    /// The number of records that this worker handed over before.
    pub first: u64,
    /// Its records.
    pub count: u32,
    /// Its payload bytes.
    pub length: u32,
    /// CRC-32 of the payload.
    pub checksum: u32,
    /// The run that wrote it.
    pub run: RunTag,
}

/// A hash of what tells one run from another; zero where nobody said, as in blocks of earlier
/// releases.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RunTag(u64);

/// What a tag is the hash of, by the names of [`Manifest::facts`](crate::Manifest::facts): what is
/// known before the first block and stays as it is.
const TAGGED: [&str; 2] = ["assay.run.id", "assay.seed"];

impl RunTag {
    /// The tag of the run that `facts` are about; zero if they do not name it.
    pub fn of(facts: &[(String, String)]) -> RunTag {
        let fact = |key| facts.iter().find(|(name, _)| name == key).map_or("", |(_, value)| value);
        if fact(TAGGED[0]).is_empty() {
            return RunTag::default();
        }
        // A byte that no text has ends each of them.
        let bytes = TAGGED.into_iter().flat_map(|key| fact(key).bytes().chain([0xFF]));
        let hash = bytes.fold(0, |hash, byte| mix(hash ^ u64::from(byte)).wrapping_add(1));
        RunTag(hash.max(1))
    }

    /// Whether both are known and of two runs.
    pub fn contradicts(self, other: RunTag) -> bool {
        self != other && self != RunTag::default() && other != RunTag::default()
    }
}

/// Why bytes are not a block.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BlockError {
    /// The bytes end before the block does.
    #[error("the block is cut short")]
    Torn,
    /// The header is not a header, or not what was written.
    #[error("the header is damaged")]
    Header,
    /// The payload is not what was written.
    #[error("the checksum of the payload does not match")]
    Checksum,
    /// The checksum holds but the payload is invalid.
    #[error("the payload cannot be decoded")]
    Payload,
    /// It was written by a later release.
    #[error("block format {found} is newer than {VERSION}; read it with the release that wrote it")]
    Newer {
        /// The version that was found.
        found: u16,
    },
}

impl Header {
    fn to_bytes(self) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        bytes[0..8].copy_from_slice(&MAGIC);
        bytes[8..10].copy_from_slice(&self.version.to_le_bytes());
        bytes[10..12].copy_from_slice(&self.worker.to_le_bytes());
        bytes[12..16].copy_from_slice(&self.sequence.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.first.to_le_bytes());
        bytes[24..28].copy_from_slice(&self.count.to_le_bytes());
        bytes[28..32].copy_from_slice(&self.length.to_le_bytes());
        bytes[32..36].copy_from_slice(&self.checksum.to_le_bytes());
        bytes[36..44].copy_from_slice(&self.run.0.to_le_bytes());
        let own = crc32fast::hash(&bytes[..HEADER_BYTES - 4]);
        bytes[HEADER_BYTES - 4..].copy_from_slice(&own.to_le_bytes());
        bytes
    }

    /// The header at the start of `bytes`.
    ///
    /// # Errors
    /// [`BlockError::Torn`] if there are too few bytes, [`BlockError::Newer`] for a later format,
    /// and [`BlockError::Header`] for anything else that is not an intact header.
    pub fn parse(bytes: &[u8]) -> Result<Header, BlockError> {
        let bytes = bytes.get(..HEADER_BYTES).ok_or(BlockError::Torn)?;
        let sum = u32_at(bytes, HEADER_BYTES - 4);
        if bytes[0..8] != MAGIC || crc32fast::hash(&bytes[..HEADER_BYTES - 4]) != sum {
            return Err(BlockError::Header);
        }
        let version = u16::from_le_bytes([bytes[8], bytes[9]]);
        if version > VERSION {
            return Err(BlockError::Newer { found: version });
        }
        let header = Header {
            version,
            worker: u16::from_le_bytes([bytes[10], bytes[11]]),
            sequence: u32_at(bytes, 12),
            first: u64_at(bytes, 16),
            count: u32_at(bytes, 24),
            length: u32_at(bytes, 28),
            checksum: u32_at(bytes, 32),
            run: RunTag(u64_at(bytes, 36)),
        };
        let plausible = header.count as usize <= RECORDS_MAX
            && header.length as usize <= (header.count as usize + 1) * RECORD_BYTES_MAX;
        if plausible { Ok(header) } else { Err(BlockError::Header) }
    }

    /// Header plus payload, in bytes.
    pub fn block_bytes(&self) -> usize {
        HEADER_BYTES + self.length as usize
    }
}

/// Where a block stands in its worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The worker.
    pub worker: u16,
    /// Blocks of the worker before this one.
    pub sequence: u32,
    /// Records of the worker before this block.
    pub first: u64,
    /// The run of the worker.
    pub run: RunTag,
}

/// Replaces what `into` holds by the block of `records`.
///
/// # Panics
/// If there are more than [`RECORDS_MAX`] records.
pub fn encode(place: Place, records: &[Record], into: &mut Vec<u8>) {
    assert!(records.len() <= RECORDS_MAX, "a chunk is smaller than the bound of a block");
    into.clear();
    into.resize(HEADER_BYTES, 0);
    payload::encode(records, into);
    let payload = &into[HEADER_BYTES..];
    let header = Header {
        version: VERSION,
        worker: place.worker,
        sequence: place.sequence,
        first: place.first,
        count: records.len() as u32,
        length: payload.len() as u32,
        checksum: crc32fast::hash(payload),
        run: place.run,
    };
    into[..HEADER_BYTES].copy_from_slice(&header.to_bytes());
}

/// Appends the records of a block to `into`; `payload` are the bytes behind its header.
///
/// # Errors
/// If the checksum or the content is wrong; `into` is then as before.
pub fn decode(header: &Header, payload: &[u8], into: &mut Vec<Record>) -> Result<(), BlockError> {
    if payload.len() != header.length as usize {
        return Err(BlockError::Torn);
    }
    if crc32fast::hash(payload) != header.checksum {
        return Err(BlockError::Checksum);
    }
    let before = into.len();
    let decoded = payload::decode(payload, header, into);
    decoded.ok_or_else(|| {
        into.truncate(before);
        BlockError::Payload
    })
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from(u32_at(bytes, at)) | u64::from(u32_at(bytes, at + 4)) << 32
}

#[cfg(test)]
mod tests;

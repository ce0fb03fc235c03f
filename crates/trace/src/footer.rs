//! The part of a trace's metadata that guards the rest against damage.

use crc32fast::Hasher;
use parquet::file::metadata::{KeyValue, RowGroupMetaData};
use parquet::schema::types::SchemaDescriptor;

/// The key of the format version, which must be understood before anything else.
pub(crate) const FORMAT: &str = "assay.format";
/// The key of the row groups' guards.
pub(crate) const GROUPS: &str = "assay.groups";
/// The key of the checksum over everything else in the footer that we rely upon.
pub(crate) const CHECK: &str = "assay.check";

/// The key of the columns' names, in file order. A schedule is in no hash, its column need not be
/// there, so only this distinguishes a trace whose column lost its name from one without the
/// column.
pub(crate) const COLUMNS: &str = "assay.columns";

/// What is known of a row group without reading it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Guard {
    /// CRC-32 (IEEE) over all bytes of its column chunks.
    pub crc: u32,
    /// The process of its first row.
    pub first_process: u64,
}

/// The guards as text: per row group `crc:first`, both hexadecimal, separated by spaces.
pub(crate) fn show_guards(guards: &[Guard]) -> String {
    let texts: Vec<String> =
        guards.iter().map(|guard| format!("{:x}:{:x}", guard.crc, guard.first_process)).collect();
    texts.join(" ")
}

/// The guards that `text` shows.
pub(crate) fn parse_guards(text: &str) -> Option<Vec<Guard>> {
    text.split_ascii_whitespace()
        .map(|guard| {
            let (crc, first) = guard.split_once(':')?;
            Some(Guard {
                crc: u32::from_str_radix(crc, 16).ok()?,
                first_process: u64::from_str_radix(first, 16).ok()?,
            })
        })
        .collect()
}

/// The names of all columns of a file, with blanks between them.
pub(crate) fn column_names(schema: &SchemaDescriptor) -> String {
    let names: Vec<String> = schema.columns().iter().map(|one| one.path().string()).collect();
    names.join(" ")
}

/// The checksum of a footer: CRC-32 over its pairs and the places of all its column chunks.
///
/// Parquet has checksums for pages only. Without this one, a flipped bit in the footer could move
/// a column or change the seed, and nobody would notice before the wrong operations were issued.
pub(crate) fn check<'a>(
    pairs: impl Iterator<Item = &'a KeyValue>,
    groups: impl Iterator<Item = &'a RowGroupMetaData>,
) -> u32 {
    let mut crc = Hasher::new();
    for pair in pairs.filter(|pair| pair.key != CHECK) {
        let value = pair.value.as_deref().unwrap_or_default();
        for text in [pair.key.as_str(), value] {
            crc.update(&(text.len() as u64).to_le_bytes());
            crc.update(text.as_bytes());
        }
    }
    for group in groups {
        crc.update(&group.num_rows().to_le_bytes());
        for chunk in group.columns() {
            let dictionary = chunk.dictionary_page_offset().unwrap_or(-1);
            let places = [
                dictionary,
                chunk.data_page_offset(),
                chunk.compressed_size(),
                chunk.uncompressed_size(),
                chunk.num_values(),
            ];
            places.iter().for_each(|place| crc.update(&place.to_le_bytes()));
        }
    }
    crc.finalize()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_are_parsed_from_their_text() {
        let guards =
            [Guard { crc: 0, first_process: 0 }, Guard { crc: u32::MAX, first_process: u64::MAX }];
        assert_eq!(show_guards(&guards), "0:0 ffffffff:ffffffffffffffff");
        assert_eq!(parse_guards(&show_guards(&guards)).unwrap(), guards);
        assert!(parse_guards("12").is_none());
        assert!(parse_guards("12:xyz").is_none());
    }
}

//! Keys of any bytes as the texts that Ignite keeps.

use assay_driver_kit::task::RecordJob;

assay_driver_kit::option_words! {
    /// What keys are.
    pub enum Keys {
        /// Texts, which are kept as they are; other bytes are refused.
        Text => "text",
        /// Any bytes: each is the character of its number, U+0000 to U+00FF. What is ASCII stays as
        /// it is, and the order of the texts is that of the bytes.
        Bytes => "bytes",
    }
}

impl Keys {
    /// Makes the keys of `job` what Ignite keeps.
    pub(super) fn spell(self, job: &mut RecordJob) {
        if self == Keys::Text {
            return;
        }
        for request in job.batch.iter_mut().chain([&mut job.request]) {
            request.change_key(spelled);
        }
    }
}

/// `key` with a character for each byte, in UTF-8.
fn spelled(key: &mut Vec<u8>) {
    if key.is_ascii() {
        return;
    }
    *key = key.iter().map(|&byte| char::from(byte)).collect::<String>().into_bytes();
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spelled_of(key: &[u8]) -> Vec<u8> {
        let mut key = key.to_vec();
        spelled(&mut key);
        key
    }

    #[test]
    fn every_byte_becomes_a_character() {
        assert_eq!(spelled_of(b"user\0"), b"user\0");
        assert_eq!(spelled_of(&[0x7F, 0x80, 0xFF]), "\u{7F}\u{80}\u{FF}".as_bytes());
    }

    #[test]
    fn keys_sort_in_java_as_in_rust() {
        let units = |key: &[u8]| -> Vec<u16> {
            String::from_utf8(spelled_of(key)).unwrap().encode_utf16().collect()
        };
        let keys: Vec<[u8; 2]> =
            (0..=255).flat_map(|first| [0, 127, 128, 255].map(|last| [first, last])).collect();
        assert!(keys.is_sorted_by_key(|key| spelled_of(key)));
        assert!(keys.is_sorted_by_key(|key| units(key)));
    }
}

//! Bytes as JSON text: a byte is the character with the same number, from U+0000 to U+00FF.
//!
//! So keys and values of any bytes are strings that a driver may keep as they are, and their order
//! by code points is that by bytes. What we send has ASCII characters only, the others escaped.

/// Appends `bytes` as a JSON string, quotes included.
pub(super) fn push_bytes(bytes: &[u8], into: &mut Vec<u8>) {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    into.push(b'"');
    for &byte in bytes {
        match byte {
            b'"' | b'\\' => into.extend_from_slice(&[b'\\', byte]),
            0x20..=0x7e => into.push(byte),
            _ => {
                let (high, low) = (HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]);
                into.extend_from_slice(&[b'\\', b'u', b'0', b'0', high, low]);
            }
        }
    }
    into.push(b'"');
}

/// Appends the bytes that `text` stands for.
///
/// # Errors
/// The first character that stands for no byte.
pub(super) fn pull_bytes(text: &str, into: &mut Vec<u8>) -> Result<(), char> {
    if text.is_ascii() {
        into.extend_from_slice(text.as_bytes());
        return Ok(());
    }
    for character in text.chars() {
        into.push(u8::try_from(u32::from(character)).map_err(|_| character)?);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_comes_back() {
        let all: Vec<u8> = (0..=255).collect();
        let mut json = Vec::new();
        push_bytes(&all, &mut json);
        assert!(json.is_ascii() && !json.contains(&b'\n'));
        let text: String = serde_json::from_slice(&json).unwrap();
        let mut back = Vec::new();
        pull_bytes(&text, &mut back).unwrap();
        assert_eq!(back, all);
    }

    #[test]
    fn characters_that_are_no_bytes_are_found() {
        assert_eq!(pull_bytes("a€", &mut Vec::new()), Err('€'));
    }
}

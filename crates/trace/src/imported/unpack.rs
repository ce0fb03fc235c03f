//! Files packed by gzip or zstd, distinguished by their first bytes.

use std::io::{self, BufRead, BufReader, Cursor, Read};

use flate2::bufread::MultiGzDecoder;
use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

const GZIP: &[u8] = &[0x1F, 0x8B];
const ZSTD: &[u8] = &[0x28, 0xB5, 0x2F, 0xFD];
/// Zstd may begin with a frame to be skipped: 0x184D2A50 to 0x184D2A5F, lowest byte first.
const SKIPPABLE: &[u8] = &[0x2A, 0x4D, 0x18];
/// Bytes that are read from the file at once.
const BUFFER: usize = 1 << 17;
/// Files are packed with windows up to this, which is the memory that unpacking takes: what
/// `zstd --ultra -22` uses. `zstd --long=31` would need 2 GiB.
const WINDOW_MAX: u64 = 128 << 20;

/// Gives `input` unpacked if it is packed, else as it is.
///
/// # Errors
/// If the first bytes cannot be read.
pub fn unpacked(mut input: impl Read + 'static) -> io::Result<Box<dyn BufRead>> {
    let mut start = Vec::new();
    input.by_ref().take(ZSTD.len() as u64).read_to_end(&mut start)?;
    let is_zstd = start == ZSTD || start.get(1..).is_some_and(|rest| rest == SKIPPABLE);
    let is_gzip = start.starts_with(GZIP);
    let whole = BufReader::with_capacity(BUFFER, Cursor::new(start).chain(input));
    Ok(match () {
        () if is_gzip => Box::new(BufReader::with_capacity(BUFFER, MultiGzDecoder::new(whole))),
        () if is_zstd => Box::new(BufReader::with_capacity(BUFFER, Frames::new(whole))),
        () => Box::new(whole),
    })
}

/// The frames of a file packed by zstd, one after the other.
struct Frames<R> {
    packed: R,
    decoder: FrameDecoder,
    is_within: bool,
}

impl<R: BufRead> Frames<R> {
    fn new(packed: R) -> Frames<R> {
        let mut decoder = FrameDecoder::new();
        decoder.set_max_window_size(WINDOW_MAX);
        Frames { packed, decoder, is_within: false }
    }

    /// Begins the next frame; false if there is none.
    fn begin(&mut self) -> io::Result<bool> {
        while !self.packed.fill_buf()?.is_empty() {
            match self.decoder.init(&mut self.packed) {
                Ok(()) => return Ok(true),
                Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                    length,
                    ..
                })) => {
                    let mut skipped = self.packed.by_ref().take(u64::from(length));
                    io::copy(&mut skipped, &mut io::sink())?;
                }
                Err(error) => return Err(damaged(error.to_string())),
            }
        }
        Ok(false)
    }

    /// Unpacks until there is something to give, or the frame is over; false if it is.
    fn unpack(&mut self) -> io::Result<bool> {
        while self.decoder.can_collect() == 0 {
            if self.decoder.is_finished() {
                let scheduled = self.decoder.get_checksum_from_data();
                if scheduled.is_some() && scheduled != self.decoder.get_calculated_checksum() {
                    return Err(damaged("a frame does not have its checksum".to_owned()));
                }
                return Ok(false);
            }
            let one = BlockDecodingStrategy::UptoBlocks(1);
            let unpacked = self.decoder.decode_blocks(&mut self.packed, one);
            unpacked.map_err(|error| damaged(error.to_string()))?;
        }
        Ok(true)
    }
}

impl<R: BufRead> Read for Frames<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        loop {
            if !self.is_within {
                if !self.begin()? {
                    return Ok(0);
                }
                self.is_within = true;
            }
            if self.unpack()? {
                return self.decoder.read(into);
            }
            self.is_within = false;
        }
    }
}

fn damaged(reason: String) -> io::Error {
    let reason = format!("the packed file is cut off or damaged: {reason}");
    io::Error::new(io::ErrorKind::InvalidData, reason)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::GzEncoder;
    use ruzstd::encoding::{CompressionLevel, compress_to_vec};

    use super::*;

    fn gzip(text: &str) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(text.as_bytes()).unwrap();
        encoder.finish().unwrap()
    }

    fn zstd(text: &str) -> Vec<u8> {
        compress_to_vec(text.as_bytes(), CompressionLevel::Fastest)
    }

    fn read(bytes: Vec<u8>) -> io::Result<String> {
        let mut text = String::new();
        unpacked(Cursor::new(bytes))?.read_to_string(&mut text)?;
        Ok(text)
    }

    #[test]
    fn files_are_unpacked_by_their_first_bytes() {
        let long = "1583990400,key,22,304,127,get,0\n".repeat(20_000);
        for text in ["", "a", "READ,k,1\n", &long] {
            assert_eq!(read(gzip(text)).unwrap(), text);
            assert_eq!(read(zstd(text)).unwrap(), text);
            assert_eq!(read(text.as_bytes().to_vec()).unwrap(), text);
        }
    }

    #[test]
    fn parts_packed_one_by_one_are_one_file() {
        let skippable = [&[0x50, 0x2A, 0x4D, 0x18, 3, 0, 0, 0][..], b"abc"].concat();
        assert_eq!(read([gzip("one "), gzip("two")].concat()).unwrap(), "one two");
        let frames = [skippable.clone(), zstd("one "), skippable, zstd("two")].concat();
        assert_eq!(read(frames).unwrap(), "one two");
    }

    #[test]
    fn a_packed_file_that_is_cut_off_is_an_error() {
        let text = "1583990400,key,22,304,127,get,0\n".repeat(200);
        for packed in [gzip(&text), zstd(&text)] {
            let half = packed[..packed.len() / 2].to_vec();
            assert!(read(half).is_err());
        }
        let error = read(zstd(&text)[..20].to_vec()).unwrap_err().to_string();
        assert!(error.starts_with("the packed file is cut off or damaged"), "{error}");
    }
}

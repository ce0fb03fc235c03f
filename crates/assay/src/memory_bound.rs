//! Bound on the memory that judging a file takes: it is refused before there is none left.

use std::cell::RefCell;
use std::io::{self, Read};
use std::rc::Rc;

use assay_report::units::{count, percent};
use assay_results::memory;

use crate::machine;

/// Memory is looked at after so many bytes of the file.
const LOOK_EVERY: u64 = 1 << 20;
/// What judging takes in all, to what is held when the file has been read: 1.8 for lists and 2.9
/// for operations on a single register, by `cargo run --release --example reading_speed FILE` of
/// `assay-consistency` on files of 100 MB.
const JUDGED_FACTOR: f64 = 3.0;
/// From this share of the file on, what the whole of it needs is extrapolated.
const ENOUGH: f64 = 0.05;
/// An extrapolation so many times the limit is beyond doubt.
const HOPELESS: f64 = 2.0;

/// The memory that may be used, and where the number comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryLimit {
    bytes: u64,
    is_chosen: bool,
}

impl MemoryLimit {
    /// A limit that the user chose; else four fifths of what is available; nothing where the
    /// system tells neither that nor what is used.
    pub fn new(chosen: Option<u64>) -> Option<MemoryLimit> {
        machine::memory_resident()?;
        match chosen {
            Some(bytes) => Some(MemoryLimit { bytes, is_chosen: true }),
            None => Some(MemoryLimit { bytes: memory::usable()?, is_chosen: false }),
        }
    }
}

/// A file that cannot be read any further once judging it would need more than the limit.
pub struct BoundedFile<R> {
    file: R,
    length: u64,
    limit: Option<MemoryLimit>,
    resident: fn() -> Option<u64>,
    before: u64,
    read: u64,
    looked_at: u64,
    refusal: MemoryRefusal,
}

/// Why a file was refused, once it was.
pub type MemoryRefusal = Rc<RefCell<Option<String>>>;

impl<R: Read> BoundedFile<R> {
    /// A file of this length.
    pub fn new(file: R, length: u64, limit: Option<MemoryLimit>) -> BoundedFile<R> {
        BoundedFile::with(file, length, limit, machine::memory_resident)
    }

    fn with(
        file: R,
        length: u64,
        limit: Option<MemoryLimit>,
        resident: fn() -> Option<u64>,
    ) -> BoundedFile<R> {
        let before = resident().unwrap_or(0);
        let refusal = MemoryRefusal::default();
        BoundedFile { file, length, limit, resident, before, read: 0, looked_at: 0, refusal }
    }

    /// Where the reason stands if it is refused.
    pub fn refusal(&self) -> MemoryRefusal {
        Rc::clone(&self.refusal)
    }

    /// Why the file cannot be judged within the limit, if it cannot.
    fn look(&self) -> Option<String> {
        let limit = self.limit?;
        let held = (self.resident)()?.saturating_sub(self.before) as f64 * JUDGED_FACTOR;
        let share = (self.read as f64 / self.length.max(1) as f64).min(1.0);
        let whole = held / share;
        let most = limit.bytes as f64;
        let is_hopeless = share >= ENOUGH && whole > HOPELESS * most;
        (held > most || is_hopeless).then(|| too_large(whole, limit, most / whole))
    }
}

fn too_large(needed: f64, limit: MemoryLimit, share: f64) -> String {
    let megabytes = |bytes: f64| format!("{} MB", count((bytes / 1e6).ceil() as u64));
    let source = match limit.is_chosen {
        true => "--memory",
        false => "four fifths of what is available; --memory changes it",
    };
    format!(
        "judging it needs about {} of memory, and {} may be used ({source}). Judge its beginning: \
         the first {} of its lines, as `head` gives them, show what happened until then; or, where \
         operations are on single records, one part of the records after another",
        megabytes(needed),
        megabytes(limit.bytes as f64),
        percent(share.min(0.5) * 0.8),
    )
}

impl<R: Read> Read for BoundedFile<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.read - self.looked_at >= LOOK_EVERY {
            self.looked_at = self.read;
            if let Some(reason) = self.look() {
                *self.refusal.borrow_mut() = Some(reason);
                return Err(io::Error::from(io::ErrorKind::OutOfMemory));
            }
        }
        let length = self.file.read(into)?;
        self.read += length as u64;
        Ok(length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: Option<MemoryLimit> = Some(MemoryLimit { bytes: 20_000_000, is_chosen: true });

    /// Reads a file of so many megabytes; why it was refused.
    fn refused(megabytes: u64, resident: fn() -> Option<u64>) -> Option<String> {
        let length = megabytes << 20;
        let mut file = BoundedFile::with(io::repeat(b' ').take(length), length, LIMIT, resident);
        // As much is in use as is said, from the first look on.
        file.before = 0;
        let refusal = file.refusal();
        let read = io::copy(&mut file, &mut io::sink());
        assert_eq!(read.is_err(), refusal.borrow().is_some());
        refusal.borrow().clone()
    }

    #[test]
    fn a_file_that_needs_more_than_the_limit_is_refused_with_what_to_do() {
        let reason = refused(100, || Some(6_000_000)).expect("18 MB are of a twentieth");
        let needed = "judging it needs about 360 MB of memory, and 20 MB may be used (--memory).";
        assert!(reason.starts_with(needed), "{reason}");
        assert!(reason.contains("the first 4.44 % of its lines"), "{reason}");
        assert_eq!(refused(4, || Some(3_000_000)), None);
        assert!(refused(4, || Some(7_000_000)).is_some());
    }

    #[test]
    fn where_nobody_tells_what_is_used_nothing_is_refused() {
        assert_eq!(refused(100, || None), None);
    }
}

//! Collecting of what agents have written: in pieces that can be sent again, checked by SHA-256.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Component, Path, PathBuf};

use ring::digest::{Context, SHA256};

use crate::protocol::{Deliveries, Delivery};

/// Bytes of a piece.
pub const PIECE: usize = 1 << 20;
/// Files that an agent may deliver: a part per worker, and a dozen beside them.
const FILES_MAX: usize = 4096;
/// Bytes that are hashed at once.
const CHUNK: usize = 1 << 16;

/// What one agent delivers, as far as it has come.
pub(crate) struct Incoming {
    dir: PathBuf,
    files: Vec<PartFile>,
}

/// A file as far as it has come. It is hashed on the way: a part of a long run has gigabytes, and
/// whoever takes pieces hears the agents' news as well.
struct PartFile {
    delivery: Delivery,
    received: u64,
    hash: Context,
}

/// A delivery was refused or failed, in words.
pub(crate) type Wrong = String;

impl Incoming {
    /// The files of `deliveries` into `dir`, of which nothing has come yet.
    pub fn begin(dir: &Path, deliveries: &Deliveries) -> Result<Incoming, Wrong> {
        if deliveries.files.len() > FILES_MAX {
            return Err(format!("{} files are more than {FILES_MAX}", deliveries.files.len()));
        }
        let mut files = Vec::new();
        for delivery in &deliveries.files {
            inner(&delivery.path)?;
            let (delivery, hash) = (delivery.clone(), Context::new(&SHA256));
            files.push(PartFile { delivery, received: 0, hash });
        }
        Ok(Incoming { dir: dir.to_owned(), files })
    }

    /// Whether it is these files: then the delivery goes on where it was cut.
    pub fn is_of(&self, deliveries: &Deliveries) -> bool {
        self.files.iter().map(|file| &file.delivery).eq(&deliveries.files)
    }

    /// How many bytes of each file have come.
    pub fn received(&self) -> Vec<u64> {
        self.files.iter().map(|file| file.received).collect()
    }

    /// Takes a piece of file `number` that begins at `offset`; gives how much has come by then. A
    /// piece that is not the next one changes nothing.
    pub fn take(&mut self, number: usize, offset: u64, piece: &[u8]) -> Result<u64, Wrong> {
        let file =
            self.files.get_mut(number).ok_or_else(|| format!("no file {number} was named"))?;
        let Delivery { path, bytes, sha256 } = &file.delivery;
        if offset != file.received {
            return Ok(file.received);
        }
        if offset + piece.len() as u64 > *bytes {
            return Err(format!("{path} has more than {bytes} bytes"));
        }
        let place = self.dir.join(inner(path)?);
        append(&place, offset, piece).map_err(|error| format!("{}: {error}", place.display()))?;
        file.hash.update(piece);
        file.received = offset + piece.len() as u64;
        if file.received == *bytes && digits(file.hash.clone().finish().as_ref()) != *sha256 {
            // It is sent again from the beginning.
            (file.received, file.hash) = (0, Context::new(&SHA256));
        }
        Ok(file.received)
    }

    /// Whether everything has come.
    pub fn is_complete(&self) -> bool {
        self.files.iter().all(|file| file.received == file.delivery.bytes)
    }
}

fn append(path: &Path, offset: u64, piece: &[u8]) -> io::Result<()> {
    if let Some(parent) = path.parent() {
        std::fs::create_dir_all(parent)?;
    }
    let is_first = offset == 0;
    let mut file = OpenOptions::new().create(true).write(true).truncate(is_first).open(path)?;
    file.seek(SeekFrom::Start(offset))?;
    file.write_all(piece)
}

/// A path that stays where it belongs.
pub(crate) fn inner(path: &str) -> Result<&Path, Wrong> {
    let inner = Path::new(path);
    let is_inner = inner.components().all(|part| matches!(part, Component::Normal(_)));
    match is_inner && !path.is_empty() && !path.contains('\0') {
        true => Ok(inner),
        false => Err(format!("{path:?} is no path within a run directory")),
    }
}

/// The SHA-256 of a file, in hexadecimal digits.
///
/// # Errors
/// If it cannot be read.
pub fn sha256(path: &Path) -> io::Result<String> {
    let (mut file, mut hash, mut chunk) =
        (File::open(path)?, Context::new(&SHA256), vec![0; CHUNK]);
    loop {
        match file.read(&mut chunk)? {
            0 => return Ok(digits(hash.finish().as_ref())),
            count => hash.update(&chunk[..count]),
        }
    }
}

/// The SHA-256 of bytes, in hexadecimal digits.
pub fn sha256_of(bytes: &[u8]) -> String {
    digits(ring::digest::digest(&SHA256, bytes).as_ref())
}

pub(crate) fn digits(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// All files below `dir`, as they will be delivered.
///
/// # Errors
/// If one cannot be read.
pub fn deliveries(dir: &Path) -> io::Result<Vec<Delivery>> {
    let mut files = Vec::new();
    let mut folders = vec![dir.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder)? {
            let (path, kind) = entry.and_then(|entry| Ok((entry.path(), entry.file_type()?)))?;
            if kind.is_dir() {
                folders.push(path);
                continue;
            }
            let inner = path.strip_prefix(dir).unwrap_or(&path);
            let (bytes, sha256) = (path.metadata()?.len(), sha256(&path)?);
            files.push(Delivery { path: inner.to_string_lossy().into_owned(), bytes, sha256 });
        }
    }
    files.sort_by(|one, other| one.path.cmp(&other.path));
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(path: &str, bytes: &[u8]) -> Deliveries {
        let delivery =
            Delivery { path: path.into(), bytes: bytes.len() as u64, sha256: sha256_of(bytes) };
        Deliveries { agent: 0, token: 0, files: vec![delivery] }
    }

    #[test]
    fn a_delivery_goes_on_where_it_was_cut() {
        let dir = tempfile::tempdir().unwrap();
        let all = named("history/agent=0/part-0.parquet", b"abcdef");
        let mut incoming = Incoming::begin(dir.path(), &all).unwrap();
        assert_eq!(incoming.take(0, 0, b"abc"), Ok(3));
        assert_eq!(incoming.take(0, 0, b"abc"), Ok(3), "a piece that came twice changes nothing");
        assert!(incoming.is_of(&all) && !incoming.is_of(&named("a", b"abcdef")));
        assert_eq!(incoming.received(), [3]);
        assert!(!incoming.is_complete());
        assert_eq!(incoming.take(0, 3, b"def"), Ok(6));
        assert!(incoming.is_complete());
        assert_eq!(deliveries(dir.path()).unwrap(), all.files);
    }

    #[test]
    fn other_bytes_than_were_named_are_sent_again() {
        let dir = tempfile::tempdir().unwrap();
        let mut incoming = Incoming::begin(dir.path(), &named("a", b"abcdef")).unwrap();
        assert_eq!(incoming.take(0, 0, b"abcdeX"), Ok(0));
        assert!(!incoming.is_complete());
        assert_eq!(incoming.take(0, 0, b"abcdef"), Ok(6));
        assert!(incoming.take(0, 6, b"g").is_err());
        assert!(incoming.take(1, 0, b"g").is_err());
    }

    #[test]
    fn nothing_is_written_outside() {
        let dir = tempfile::tempdir().unwrap();
        for path in ["../a", "/etc/passwd", "a/../../b", ""] {
            assert!(Incoming::begin(dir.path(), &named(path, b"a")).is_err(), "{path}");
        }
    }
}

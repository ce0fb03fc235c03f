//! Disk of a node's own: ext4 in a file, so that it can lose power, fill up, stall, be slow.
//!
//! The file is what the disk has received. What servers have written but not synced is in the
//! kernel's memory alone, until the kernel writes it by itself (see [`unsynced`]); a copy of the
//! file that is mounted in its place is the disk after a power failure.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;

use assay_model::Nanos;
use rustix::fs::{FallocateFlags, fallocate, major, minor, statvfs, syncfs};
use rustix::io::Errno;
use rustix::process::geteuid;

use crate::error::LabError;
use crate::package_cache::find_program;
use crate::process::LOOK;
use crate::proxy::Now;

/// How often ext4 writes its journal by itself, in seconds: seldom, so that what was not synced is
/// lost.
const COMMIT_SECONDS: u32 = 60;
/// The least that ext4 with a journal is worth, in MiB.
pub(crate) const LEAST_MIB: u64 = 32;
/// How often a copy is made anew because something was written meanwhile.
const COPIES_MAX: u32 = 20;
/// How often it is tried to unmount a file system that is in use.
const UNMOUNTS_MAX: u32 = 40;
/// What fills a disk.
const FILLER: &str = ".assay-filler";
/// What is written, and not synced, just before a power failure: it must not be there after it.
const MARK: &str = ".assay-not-synced";
/// What is written to find out whether anything can be.
const PROBE: &str = ".assay-probe";
/// What `fsfreeze --unfreeze` reports of a file system that is not frozen.
const NOT_FROZEN: &str = "Invalid argument";
/// Writes of one flush: data, the journal's descriptor and block, its commit.
const WRITES_PER_FLUSH: u64 = 4;
/// Where the kernel limits writes to a device, of all processes: cgroups of version 1. The root of
/// version 2 has no such limit, and device-mapper's delay is often not there.
const THROTTLE: &str = "/sys/fs/cgroup/blkio/blkio.throttle.write_iops_device";
/// How many flushes are measured; their median counts, as a throttle lets the first ones pass.
const FLUSHES: usize = 5;
const BLOCK_BYTES: usize = 4096;
/// How little is asked for at last when a disk is filled.
const LEAST_FILL: u64 = BLOCK_BYTES as u64;

/// A mounted file system. Unmounted when this value is gone; if its holder is killed, when the
/// holder's mount namespace is gone.
#[derive(Debug)]
pub(crate) struct Disk {
    /// Where it is mounted.
    folder: PathBuf,
    /// The file that it is in.
    image: PathBuf,
    is_stalled: bool,
    /// Whether it was filled or stalled, and nobody has seen yet that this is undone.
    is_touched: bool,
    /// How its flushes were made slow, if they were.
    slow: Option<Slow>,
}

/// A slow disk.
#[derive(Clone, Copy, Debug)]
struct Slow {
    /// How long a flush should take.
    wanted: Nanos,
    /// How long it took before.
    before: Nanos,
}

impl Disk {
    /// An empty disk of so many MiB, mounted at `folder`, which exists.
    pub(crate) fn make(folder: &Path, image: &Path, mib: u64) -> Result<Disk, LabError> {
        let file =
            File::create(image).map_err(|error| LabError::io(image, "cannot make", error))?;
        file.set_len(mib << 20).map_err(|error| LabError::io(image, "cannot make", error))?;
        // Nothing is reserved for root, whose servers would not notice a full disk.
        let words = ["-q", "-F", "-m", "0", "-E", "lazy_itable_init=0,lazy_journal_init=1"];
        call("mkfs.ext4", words.map(OsStr::new).into_iter().chain([image.as_os_str()]))?;
        let disk = Disk {
            folder: folder.to_owned(),
            image: image.to_owned(),
            is_stalled: false,
            is_touched: false,
            slow: None,
        };
        disk.mount()?;
        // Some servers want an empty folder.
        let _ = fs::remove_dir(folder.join("lost+found"));
        disk.sync()?;
        Ok(disk)
    }

    fn mount(&self) -> Result<(), LabError> {
        let options = format!("loop,noatime,noinit_itable,commit={COMMIT_SECONDS}");
        let words = ["-t", "ext4", "-o", &options].map(OsStr::new).into_iter();
        call("mount", words.chain([self.image.as_os_str(), self.folder.as_os_str()]))?;
        // The device may have been another's, who was killed while it was slow.
        unlimit(&self.folder)
    }

    /// Unmounts it, once nobody uses it, or else out of sight of everybody who does not.
    fn unmount(&self) -> Result<(), LabError> {
        let folder = self.folder.as_os_str();
        for _ in 0..UNMOUNTS_MAX {
            if call("umount", [folder]).is_ok() {
                return Ok(());
            }
            thread::sleep(LOOK);
        }
        call("umount", [OsStr::new("--lazy"), folder])
    }

    /// Writes all that is in memory.
    pub(crate) fn sync(&self) -> Result<(), LabError> {
        let folder = File::open(&self.folder);
        let synced = folder.and_then(|folder| Ok(syncfs(folder)?));
        synced.map_err(|error| LabError::io(&self.folder, "cannot sync", error))
    }

    /// Copies what the disk has received, without what is in memory. The servers stand still.
    pub(crate) fn copy(&self) -> Result<(), LabError> {
        if !self.is_stalled {
            let mark = self.folder.join(MARK);
            // A full disk has no room for it.
            let _ = fs::write(mark, [0; BLOCK_BYTES]);
        }
        let copy = self.copied();
        for _ in 0..COPIES_MAX {
            let before = self.writes()?;
            let words = [OsStr::new("--sparse=always"), self.image.as_os_str(), copy.as_os_str()];
            call("cp", words)?;
            if self.writes()? == before {
                return Ok(());
            }
        }
        Err(LabError::Failed(format!(
            "{} was written while it was copied, {COPIES_MAX} times",
            self.image.display()
        )))
    }

    /// Puts the copy in the place of the disk. Nobody uses it any more.
    pub(crate) fn replace(&mut self) -> Result<(), LabError> {
        self.resume()?;
        self.speed_up()?;
        self.unmount()?;
        fs::rename(self.copied(), &self.image)
            .map_err(|error| LabError::io(&self.image, "cannot replace", error))?;
        self.mount()
    }

    /// # Errors
    /// If something is there that was not synced before the power failed.
    pub(crate) fn verify_lost(&self) -> Result<(), LabError> {
        match fs::metadata(self.folder.join(MARK)) {
            Ok(found) if found.len() > 0 => Err(LabError::Failed(format!(
                "{} still has what was not synced",
                self.folder.display()
            ))),
            _ => Ok(()),
        }
    }

    fn copied(&self) -> PathBuf {
        self.image.with_extension("copy")
    }

    /// How often something was written to the device so far.
    fn writes(&self) -> Result<u64, LabError> {
        let failed = |error| LabError::io(&self.folder, "cannot look at", error);
        let path = format!("/sys/dev/block/{}/stat", device_of(&self.folder)?);
        let text = fs::read_to_string(path).map_err(failed)?;
        // The fifth figure; the ninth is what is in flight.
        let figure = |place| text.split_whitespace().nth(place).and_then(|word| word.parse().ok());
        Ok(figure(4).unwrap_or(0) + figure(8).unwrap_or(0))
    }

    /// Fills it to the last block.
    ///
    /// # Errors
    /// If it is stalled: who writes there waits.
    pub(crate) fn fill(&mut self) -> Result<(), LabError> {
        if self.is_stalled {
            let folder = self.folder.display();
            return Err(LabError::State(format!("the disk at {folder} is stalled; heal it first")));
        }
        self.is_touched = true;
        let path = self.folder.join(FILLER);
        let failed = |error| LabError::io(&path, "cannot write", error);
        let file = File::options().create(true).append(true).open(&path).map_err(failed)?;
        let mut length = file.metadata().map_err(failed)?.len();
        let found = statvfs(&self.folder).map_err(|errno| failed(errno.into()))?;
        let mut more = found.f_bavail.saturating_mul(found.f_frsize).max(LEAST_FILL);
        while more >= LEAST_FILL {
            match fallocate(&file, FallocateFlags::empty(), length, more) {
                Ok(()) => length += more,
                Err(Errno::NOSPC) => more /= 2,
                Err(errno) => return Err(failed(errno.into())),
            }
        }
        Ok(())
    }

    /// Whether nothing more can be written.
    pub(crate) fn is_full(&self) -> bool {
        let path = self.folder.join(PROBE);
        let written = File::create(&path).and_then(|mut file| {
            file.write_all(&[1; BLOCK_BYTES])?;
            file.sync_data()
        });
        let _ = fs::remove_file(&path);
        written.is_err_and(|error| error.kind() == ErrorKind::StorageFull)
    }

    /// Removes what has filled it.
    pub(crate) fn free(&self) -> Result<(), LabError> {
        let path = self.folder.join(FILLER);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                Err(LabError::io(&path, "cannot remove", error))
            }
            _ => Ok(()),
        }
    }

    /// Lets everybody who writes wait.
    pub(crate) fn stall(&mut self) -> Result<(), LabError> {
        if !self.is_stalled {
            freeze(&self.folder)?;
            (self.is_stalled, self.is_touched) = (true, true);
        }
        Ok(())
    }

    /// Lets them go on, unless somebody else has done so.
    pub(crate) fn resume(&mut self) -> Result<(), LabError> {
        if self.is_stalled {
            unfreeze(&self.folder)?;
            self.is_stalled = false;
        }
        Ok(())
    }

    /// Lets each flush take about so long, by as few writes per second as it has in that time.
    ///
    /// # Errors
    /// If it takes as long already, or the kernel does not limit it.
    pub(crate) fn slow(&mut self, wanted: Nanos, now: Now) -> Result<(), LabError> {
        self.speed_up()?;
        let before = self.flush_time(now)?;
        if before >= wanted {
            let folder = self.folder.display();
            let reason = format!("a flush at {folder} takes {before} already");
            return Err(LabError::State(reason));
        }
        let per_second = WRITES_PER_FLUSH * 1_000_000_000 / wanted.0.max(1);
        limit(&self.folder, per_second.max(1))?;
        self.slow = Some(Slow { wanted, before });
        Ok(())
    }

    /// Lets flushes be as fast as they can.
    pub(crate) fn speed_up(&mut self) -> Result<(), LabError> {
        if self.slow.is_some() {
            unlimit(&self.folder)?;
            self.slow = None;
        }
        Ok(())
    }

    /// How long a flush of it takes, and took before it was made slow, in words.
    ///
    /// # Errors
    /// If it takes less than half of what it should.
    pub(crate) fn verify_slow(&self, now: Now) -> Result<String, LabError> {
        let Some(Slow { wanted, before }) = self.slow else { return Ok(String::new()) };
        let after = self.flush_time(now)?;
        let text = format!("a flush took {before}, and takes {after}");
        match after.0 >= wanted.0 / 2 {
            true => Ok(text),
            false => Err(LabError::Failed(format!("{text}, which is less than {wanted}"))),
        }
    }

    /// How long a flush should take, if it was made slow.
    pub(crate) fn slow_flush(&self) -> Option<Nanos> {
        self.slow.map(|slow| slow.wanted)
    }

    /// How long a write with a flush takes: the median of a few.
    fn flush_time(&self, now: Now) -> Result<Nanos, LabError> {
        let path = self.folder.join(PROBE);
        let failed = |error| LabError::io(&path, "cannot write", error);
        let mut file = File::create(&path).map_err(failed)?;
        let mut times = [Nanos::ZERO; FLUSHES];
        for time in &mut times {
            let begun = now();
            file.write_all(&[1; BLOCK_BYTES]).and_then(|()| file.sync_all()).map_err(failed)?;
            *time = now().since(begun);
        }
        let _ = fs::remove_file(&path);
        times.sort_unstable();
        Ok(times[FLUSHES / 2])
    }

    /// Whether writers have to wait, as the kernel says: what is frozen cannot be frozen again.
    /// To be asked of a disk that should stall, as another one is frozen for a moment.
    fn is_stalled(&self) -> bool {
        let is_frozen = freeze(&self.folder).is_err();
        if !is_frozen {
            let _ = unfreeze(&self.folder);
        }
        is_frozen
    }

    /// Whether it was told to stall.
    pub(crate) fn is_to_stall(&self) -> bool {
        self.is_stalled
    }

    /// Whether it was filled, stalled or made slow.
    pub(crate) fn is_broken(&self) -> bool {
        self.is_stalled || self.slow.is_some() || self.folder.join(FILLER).exists()
    }

    /// # Errors
    /// If it is not full, or stalled, as it should be.
    pub(crate) fn verify(&mut self, is_full: bool, is_stalled: bool) -> Result<(), LabError> {
        // Nothing was done to it, and nothing has to be tried on it.
        if !self.is_touched {
            return Ok(());
        }
        let (what, is, should) = if is_stalled {
            ("stalled", self.is_stalled(), true)
        } else if unfreeze(&self.folder)? {
            ("stalled", true, false)
        } else {
            ("full", self.is_full(), is_full)
        };
        if is == should {
            self.is_touched = is_full || is_stalled;
            return Ok(());
        }
        let not = if should { "not " } else { "still " };
        Err(LabError::Failed(format!("the disk at {} is {not}{what}", self.folder.display())))
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = self.resume();
        let _ = self.speed_up();
        let _ = self.unmount();
        let _ = fs::remove_file(&self.image);
        let _ = fs::remove_file(self.copied());
    }
}

/// The device at `folder`, as the kernel writes it: `7:0`.
fn device_of(folder: &Path) -> Result<String, LabError> {
    let found = fs::metadata(folder);
    let found = found.map_err(|error| LabError::io(folder, "cannot look at", error))?;
    Ok(format!("{}:{}", major(found.dev()), minor(found.dev())))
}

/// Lets so many writes per second reach the device at `folder`; 0 means any number.
fn limit(folder: &Path, per_second: u64) -> Result<(), LabError> {
    let text = format!("{} {per_second}\n", device_of(folder)?);
    let path = Path::new(THROTTLE);
    fs::write(path, text).map_err(|error| LabError::io(path, "cannot write", error))
}

/// Undoes that, where the kernel can limit at all.
fn unlimit(folder: &Path) -> Result<(), LabError> {
    match check_throttle() {
        Ok(()) => limit(folder, 0),
        Err(_) => Ok(()),
    }
}

/// Whether disks can be made slow here.
///
/// # Errors
/// If not, with the reason.
pub(crate) fn check_throttle() -> Result<(), LabError> {
    match Path::new(THROTTLE).exists() {
        true => Ok(()),
        false => Err(LabError::Missing(format!(
            "this kernel limits no writes to a device: there is no {THROTTLE}, which comes with \
             cgroups of version 1; stall-disk works without"
        ))),
    }
}

fn freeze(folder: &Path) -> Result<(), LabError> {
    call("fsfreeze", [OsStr::new("--freeze"), folder.as_os_str()])
}

/// Lets a disk go on; whether it was frozen.
fn unfreeze(folder: &Path) -> Result<bool, LabError> {
    match call("fsfreeze", [OsStr::new("--unfreeze"), folder.as_os_str()]) {
        Ok(()) => Ok(true),
        Err(LabError::Failed(reason)) if reason.contains(NOT_FROZEN) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Lets stalled disks of labs in this mount namespace go on, so that servers can be killed and the
/// disks unmounted.
pub(crate) fn resume_disks() {
    let mounts = fs::read("/proc/self/mounts").unwrap_or_default();
    let mounts = String::from_utf8_lossy(&mounts);
    for line in mounts.lines().filter(|line| line.starts_with("/dev/loop")) {
        let folder = line.split(' ').nth(1).map(unescaped);
        let is_labs = |folder: &PathBuf| folder.parent().is_some_and(crate::ground::is_marked);
        if let Some(folder) = folder.filter(is_labs) {
            // Mostly it does not stall, nor is it slow.
            let _ = unfreeze(&folder);
            let _ = unlimit(&folder);
        }
    }
}

/// A path of that file, in which the kernel writes a space as `\040`.
fn unescaped(text: &str) -> PathBuf {
    let mut parts = text.split('\\');
    let mut path = parts.next().unwrap_or_default().as_bytes().to_vec();
    for part in parts {
        let octal = part.get(..3).and_then(|digits| u8::from_str_radix(digits, 8).ok());
        path.push(octal.unwrap_or(b'\\'));
        path.extend_from_slice(&part.as_bytes()[if octal.is_some() { 3 } else { 0 }..]);
    }
    PathBuf::from(OsString::from_vec(path))
}

/// Whether nodes can have disks of their own here.
///
/// # Errors
/// If not, with the reason.
pub fn check_disks(mib: u64, least_mib: u64) -> Result<(), LabError> {
    let least = least_mib.max(LEAST_MIB);
    if mib < least {
        return Err(LabError::Order(format!(
            "--disk {mib}M is too small: a node of this store needs {least}M"
        )));
    }
    let missing = |why: &str| Err(LabError::Missing(format!("--disk: {why}")));
    if !geteuid().is_root() {
        return missing("a disk for each node is mounted from a file, which needs root");
    }
    for (program, package) in [("mkfs.ext4", "e2fsprogs"), ("fsfreeze", "util-linux")] {
        if find_program(&[], &[], program).is_none() {
            return missing(&format!("{program} is not installed: apt-get install {package}"));
        }
    }
    if !Path::new("/dev/loop-control").exists() {
        return missing("this kernel, or container, has no loop devices: no /dev/loop-control");
    }
    match Command::new("unshare").args(["--mount", "true"]).output() {
        Ok(output) if output.status.success() => Ok(()),
        _ => missing("root may not mount here, which needs CAP_SYS_ADMIN"),
    }
}

/// What disks of nodes lose with their power, in words.
pub fn unsynced() -> String {
    let bound = match writeback() {
        Some((from, to)) => format!("the kernel writes by itself what is {from} to {to} s old"),
        None => "the kernel does not say when it writes by itself".to_owned(),
    };
    format!("ext4 of its own for each node; power-off loses what was not synced; {bound}")
}

/// After how many seconds the kernel writes by itself what was not synced, at the earliest and at
/// the latest; `None` if it does not say.
fn writeback() -> Option<(u64, u64)> {
    let seconds = |name: &str| {
        let text = fs::read_to_string(format!("/proc/sys/vm/dirty_{name}_centisecs")).ok()?;
        Some(text.trim().parse::<u64>().ok()?.div_ceil(100))
    };
    let (expire, interval) = (seconds("expire")?, seconds("writeback")?);
    Some((expire, expire + interval))
}

/// Runs a system's program to its end.
fn call<'a>(program: &str, words: impl IntoIterator<Item = &'a OsStr>) -> Result<(), LabError> {
    let path = find_program(&[], &[], program).unwrap_or_else(|| PathBuf::from(program));
    // Its messages are read.
    let output = Command::new(path).args(words).env("LC_ALL", "C").output();
    let output =
        output.map_err(|error| LabError::Missing(format!("cannot run {program}: {error}")))?;
    if output.status.success() {
        return Ok(());
    }
    let reported = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Err(LabError::Failed(format!("{program} failed: {reported}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A small disk, if there can be one here.
    fn disk(folder: &Path) -> Option<Disk> {
        if let Err(error) = check_disks(LEAST_MIB, 0) {
            eprintln!("NOT RUN: {error}");
            return None;
        }
        let at = folder.join("n1");
        fs::create_dir(&at).expect("the folder is ours");
        match Disk::make(&at, &folder.join("n1.img"), LEAST_MIB) {
            Ok(disk) => Some(disk),
            Err(error) => {
                eprintln!("NOT RUN: {error}");
                None
            }
        }
    }

    fn mounts() -> String {
        fs::read_to_string("/proc/self/mounts").expect("it is Linux")
    }

    #[test]
    fn what_was_not_synced_is_lost_with_the_power() {
        let folder = tempfile::tempdir().expect("there is room");
        let Some(mut disk) = disk(folder.path()) else { return };
        let at = folder.path().join("n1");
        let mut synced = File::create(at.join("synced")).expect("it can be written");
        synced.write_all(b"kept").expect("it can be written");
        synced.sync_all().expect("it can be synced");
        fs::write(at.join("written"), b"lost").expect("it can be written");
        disk.copy().expect("it can be copied");
        drop(synced);
        disk.replace().expect("it can be replaced");
        disk.verify_lost().expect("it is lost");
        assert_eq!(fs::read(at.join("synced")).expect("it was synced"), b"kept");
        let written = fs::read(at.join("written")).unwrap_or_default();
        assert!(written.is_empty(), "{written:?}");
        drop(disk);
        let name = folder.path().display().to_string();
        assert!(!mounts().contains(&name));
        assert!(!folder.path().join("n1.img").exists());
    }

    #[test]
    fn a_full_disk_takes_nothing_until_it_is_freed() {
        let folder = tempfile::tempdir().expect("there is room");
        let Some(mut disk) = disk(folder.path()) else { return };
        assert!(!disk.is_full());
        disk.fill().expect("it can be filled");
        assert!(disk.is_full() && disk.is_broken());
        disk.verify(true, false).expect("it is full");
        let reported = disk.verify(false, false).expect_err("it is full").to_string();
        assert!(reported.contains("is still full"), "{reported}");
        disk.free().expect("it can be freed");
        assert!(!disk.is_full() && !disk.is_broken());
        disk.verify(false, false).expect("it is not full");
    }

    #[test]
    fn a_stalled_disk_lets_writers_wait() {
        let folder = tempfile::tempdir().expect("there is room");
        let Some(mut disk) = disk(folder.path()) else { return };
        let path = folder.path().join("n1/late");
        disk.stall().expect("it can be stalled");
        disk.verify(false, true).expect("it stalls");
        let reported = disk.fill().expect_err("who writes waits").to_string();
        assert!(reported.contains("is stalled; heal it first"), "{reported}");
        let writer = {
            let path = path.clone();
            thread::spawn(move || fs::write(path, b"late"))
        };
        thread::sleep(LOOK);
        assert!(!writer.is_finished() && !path.exists());
        disk.resume().expect("it can go on");
        disk.verify(false, false).expect("it goes on");
        writer.join().expect("it ends").expect("it can be written");
    }

    #[test]
    fn a_stalled_disk_that_somebody_else_lets_go_on_is_resumed() {
        let folder = tempfile::tempdir().expect("there is room");
        let Some(mut disk) = disk(folder.path()) else { return };
        disk.stall().expect("it can be stalled");
        assert!(unfreeze(&folder.path().join("n1")).expect("it can be called"));
        let reported = disk.verify(false, true).expect_err("it does not stall").to_string();
        assert!(reported.contains("is not stalled"), "{reported}");
        disk.resume().expect("it goes on already");
        assert!(!disk.is_broken());
    }

    #[test]
    fn paths_of_mounts_are_read_as_the_kernel_writes_them() {
        assert_eq!(unescaped("/a\\040b\\134c"), Path::new("/a b\\c"));
        assert_eq!(unescaped("/plain\\x"), Path::new("/plain\\x"));
    }

    #[test]
    fn a_disk_that_is_too_small_is_refused() {
        let reported = check_disks(8, 10).expect_err("it is too small").to_string();
        assert_eq!(reported, "--disk 8M is too small: a node of this store needs 32M");
    }
}

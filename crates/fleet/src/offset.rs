//! The clocks of a fleet: readings, probes of an agent's clock, moments of the calendar.
//!
//! Beside `run/src/clock.rs` the one place where the time is read during a run. The clock that is
//! probed is the one that stamps the records: the clock library calibrates once per process, so
//! all its clocks in one process agree.

use std::io::{self, Read, Write};
use std::time::{Duration, Instant, SystemTime};

use assay_model::Probe;
use rustix::time::{ClockId, clock_gettime};

/// Bytes of a frame, either way.
pub const FRAME: usize = 48;

/// How often an agent's clock is probed, at most: between two probes the band is wider by what
/// clocks can drift until the nearer one, 2 µs.
const PROBE_EVERY_MIN: Duration = Duration::from_millis(20);
/// The pause between the probes of all agents together: a probe costs about 60 µs of a processor,
/// so that those of any number of agents take less than a quarter of a hundredth of one.
const PROBE_ANY: Duration = Duration::from_millis(40);
/// How often an agent's clock is probed, at least: the band is wider by 400 µs between two probes.
const PROBE_EVERY_MAX: Duration = Duration::from_secs(4);

/// So many times as often as during the run before it, which begins after some probes of each.
const PROBES_BEFORE: u32 = 8;

/// How often the clock of each of `agents` agents is probed, before the run `has_begun` or after.
pub fn probe_every(agents: u32, has_begun: bool) -> Duration {
    let during = (PROBE_ANY * agents).min(PROBE_EVERY_MAX);
    let pause = if has_begun { during } else { during / PROBES_BEFORE };
    pause.max(PROBE_EVERY_MIN)
}

/// The most by which two readings of the kernel's raw clock may be apart to be compared: the
/// drift of the two clocks over that time is far below the error of a pair.
const PAIR_APART_MAX: u64 = 100_000_000;

/// A reading of the clock that stamps records.
#[derive(Clone, Debug)]
pub struct StampClock(quanta::Clock);

impl Default for StampClock {
    fn default() -> StampClock {
        StampClock(quanta::Clock::new())
    }
}

impl StampClock {
    /// Nanoseconds since an origin of this process's own.
    pub fn now(&self) -> i64 {
        self.0.delta_as_nanos(0, self.0.raw()) as i64
    }

    /// A reading of the kernel's raw monotonic clock between two of this one.
    fn pair(&self) -> Pair {
        let before = self.now();
        let raw = clock_gettime(ClockId::MonotonicRaw);
        let raw = raw.tv_sec as u64 * 1_000_000_000 + raw.tv_nsec as u64;
        Pair { before, raw, after: self.now() }
    }
}

/// A moment of this process, for leases and pauses.
pub fn moment() -> Instant {
    Instant::now()
}

/// The time since `earlier`.
pub(crate) fn since(earlier: Instant) -> Duration {
    moment().duration_since(earlier)
}

/// From when until when keys are valid that are made now.
pub(crate) fn validity(before: Duration, valid: Duration) -> (SystemTime, SystemTime) {
    let now = SystemTime::now();
    (now - before, now + valid)
}

/// A reading of the raw clock, and of ours directly before and after.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Pair {
    before: i64,
    raw: u64,
    after: i64,
}

/// What two pairs of one kernel say, as a probe: ours lies between the coordinator's readings,
/// theirs between the agent's, and the raw clock tells how far apart the two moments were.
fn probe_of_pairs(coordinator: Pair, agent: Pair) -> Option<Probe> {
    let apart = agent.raw as i64 - coordinator.raw as i64;
    (apart.unsigned_abs() <= PAIR_APART_MAX).then(|| Probe {
        sent: coordinator.before + apart,
        received: agent.after,
        replied: agent.before,
        returned: coordinator.after + apart,
    })
}

/// Probes an agent once over `connection`; the probe of the way there and back, and where both
/// are on one kernel, the much narrower one of its raw clock. The agent learns how many `calls` it
/// has had.
///
/// # Errors
/// If the connection ends, or the agent answers something else.
pub fn probe<C: Read + Write>(
    connection: &mut C,
    clock: &StampClock,
    is_one_kernel: bool,
    calls: u64,
) -> io::Result<Vec<Probe>> {
    let mut frame = [0; FRAME];
    frame[8..16].copy_from_slice(&calls.to_le_bytes());
    let sent = clock.now();
    frame[..8].copy_from_slice(&sent.to_le_bytes());
    connection.write_all(&frame)?;
    connection.flush()?;
    connection.read_exact(&mut frame)?;
    let returned = clock.now();
    let word = |place| word(&frame, place) as i64;
    if word(0) != sent {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "the reply is of another probe"));
    }
    let way = Probe { sent, received: word(1), replied: word(2), returned };
    let agent = Pair { before: word(3), raw: word(4) as u64, after: word(5) };
    let pair = is_one_kernel.then(|| probe_of_pairs(clock.pair(), agent)).flatten();
    Ok([Some(way), pair].into_iter().flatten().collect())
}

/// The number at a place of a frame.
pub(crate) fn word(frame: &[u8; FRAME], place: usize) -> u64 {
    let mut bytes = [0; 8];
    bytes.copy_from_slice(&frame[8 * place..8 * place + 8]);
    u64::from_le_bytes(bytes)
}

/// Answers probes until the connection ends; does `on_call` when a probe tells of more calls than
/// those before.
///
/// # Errors
/// When it has ended.
pub fn answer<C: Read + Write>(
    connection: &mut C,
    clock: &StampClock,
    on_call: impl Fn(),
) -> io::Result<()> {
    let mut frame = [0; FRAME];
    let mut heard = 0;
    loop {
        connection.read_exact(&mut frame)?;
        let received = clock.now();
        let calls = word(&frame, 1);
        let pair = clock.pair();
        let mut put = |place: usize, value: i64| {
            frame[8 * place..8 * place + 8].copy_from_slice(&value.to_le_bytes());
        };
        put(1, received);
        put(3, pair.before);
        put(4, pair.raw as i64);
        put(5, pair.after);
        put(2, clock.now());
        connection.write_all(&frame)?;
        connection.flush()?;
        if calls > heard {
            heard = calls;
            on_call();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_model::band_at;
    use std::os::unix::net::UnixStream;

    #[test]
    fn the_probes_of_one_clock_find_no_offset() {
        let (mut here, mut there) = UnixStream::pair().unwrap();
        let answering =
            std::thread::spawn(move || answer(&mut there, &StampClock::default(), || ()));
        let clock = StampClock::default();
        let probes: Vec<Probe> =
            (0..50).flat_map(|_| probe(&mut here, &clock, true, 0).unwrap()).collect();
        drop(here);
        assert!(answering.join().unwrap().is_err());
        assert_eq!(probes.len(), 100);
        let band = band_at(&probes, clock.now()).unwrap();
        assert!(band.low <= 0 && 0 <= band.high, "{band:?}");
        // Pairs of one kernel are far narrower than any way through a socket.
        assert!(band.error() < 100_000, "{band:?}");
    }

    /// Passes on what comes, a frame at a time, each `late`.
    fn pass_on(mut from: UnixStream, mut to: UnixStream, late: Duration) {
        std::thread::spawn(move || {
            let mut frame = [0; FRAME];
            while from.read_exact(&mut frame).is_ok() {
                std::thread::sleep(late);
                if to.write_all(&frame).is_err() {
                    return;
                }
            }
        });
    }

    #[test]
    fn a_way_that_is_slow_in_one_direction_widens_the_band_and_the_truth_stays_within() {
        let (mut here, relay) = UnixStream::pair().unwrap();
        let (other, mut there) = UnixStream::pair().unwrap();
        pass_on(relay.try_clone().unwrap(), other.try_clone().unwrap(), Duration::from_millis(2));
        pass_on(other, relay, Duration::ZERO);
        std::thread::spawn(move || answer(&mut there, &StampClock::default(), || ()));
        let clock = StampClock::default();
        // Two machines: no clock is shared.
        let probes: Vec<Probe> =
            (0..20).flat_map(|_| probe(&mut here, &clock, false, 0).unwrap()).collect();
        let band = band_at(&probes, probes[10].sent).unwrap();
        assert!(band.low <= 0 && 0 <= band.high, "{band:?}");
        assert!(band.center() > 900_000, "the middle is off by half of the delay: {band:?}");
        assert!(band.error() >= band.center() as u64, "and the band says so: {band:?}");
    }

    #[test]
    fn many_agents_are_probed_less_often() {
        let pauses =
            |has_begun| [1, 4, 10, 1000].map(|agents| probe_every(agents, has_begun).as_millis());
        assert_eq!(pauses(true), [40, 160, 400, 4000]);
        assert_eq!(pauses(false), [20, 20, 50, 500], "a run begins after some probes of each");
    }

    #[test]
    fn an_agent_hears_of_each_call_once() {
        let (mut here, mut there) = UnixStream::pair().unwrap();
        let (called, calls) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            answer(&mut there, &StampClock::default(), || called.send(()).unwrap())
        });
        let clock = StampClock::default();
        for number in [0, 0, 1, 1, 3] {
            probe(&mut here, &clock, false, number).unwrap();
        }
        drop(here);
        assert_eq!(calls.iter().count(), 2);
    }

    #[test]
    fn pairs_of_one_kernel_tell_the_offset_of_two_clocks() {
        let coordinator = Pair { before: 1_000, raw: 500_000, after: 1_200 };
        let agent = Pair { before: 91_000, raw: 540_000, after: 91_300 };
        let probe = probe_of_pairs(coordinator, agent).unwrap();
        // The agent read 91 000 to 91 300 when the coordinator's clock was at 41 000 to 41 200.
        let band = band_at(&[probe], probe.sent).unwrap();
        assert!((49_795..=49_800).contains(&band.low), "{band:?}");
        assert!((50_300..=50_305).contains(&band.high), "{band:?}");
        let late = Pair { raw: 500_000 + PAIR_APART_MAX + 1, ..agent };
        assert_eq!(probe_of_pairs(coordinator, late), None);
    }
}

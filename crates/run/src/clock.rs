//! The one place of this crate that knows what time it is.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use assay_model::Nanos;
use assay_store::Client;

use crate::load::Spin;

/// The last stretch before an event in which a spinning worker no longer sleeps.
///
/// A sleep overshoots by a wake-up: about 60 µs in the median on a virtual machine.
const STRETCH: Nanos = Nanos::from_micros(60);

/// How long before the epoch a worker no longer sleeps: more than any sleep overshoots on a machine
/// that is not overloaded.
const SPIN_BEFORE_EPOCH: Nanos = Nanos::from_millis(3);

/// The clock of a worker.
pub trait Clock {
    /// The time since the run's epoch; zero before it.
    fn now(&self) -> Nanos;

    /// Returns when the epoch has come.
    fn await_epoch(&self) {}

    /// Rests until `until`, or earlier if an answer might have come.
    fn rest(&mut self, client: &mut dyn Client, in_flight: usize, until: Nanos);
}

/// The machine's monotonic clock, read through the processor's time stamp counter where it can be
/// trusted.
#[derive(Clone, Debug)]
pub struct Wall {
    clock: quanta::Clock,
    epoch: u64,
    epoch_wall: SystemTime,
    spin: Spin,
}

impl Wall {
    /// A clock whose epoch is `ahead` of now.
    pub fn starting_in(ahead: Duration, spin: Spin) -> Wall {
        let clock = quanta::Clock::new();
        let (origin, wall) = (clock.raw(), SystemTime::now());
        let now = clock.delta_as_nanos(0, origin);
        Wall { clock, epoch: now + Nanos::from(ahead).0, epoch_wall: wall + ahead, spin }
    }

    /// A clock whose epoch is `reading` of the processor's clock, which all clocks of this process
    /// share: the run begins then.
    pub fn starting_at(reading: Nanos, spin: Spin) -> Wall {
        let clock = quanta::Clock::new();
        let (origin, wall) = (clock.raw(), SystemTime::now());
        let ahead = reading.since(Nanos(clock.delta_as_nanos(0, origin)));
        Wall { clock, epoch: reading.0, epoch_wall: wall + Duration::from(ahead), spin }
    }
}

impl Wall {
    /// The zero of this clock in wall-clock time.
    pub fn epoch(&self) -> SystemTime {
        self.epoch_wall
    }

    /// Sleeps until `moment` without spinning, for those who watch a run; returns how much later
    /// than that this thread was let go on.
    pub fn sleep_until(&self, moment: Nanos) -> Nanos {
        let left = moment.since(Clock::now(self));
        if left > Nanos::ZERO {
            std::thread::sleep(Duration::from(left));
        }
        Clock::now(self).since(moment)
    }
}

impl Clock for Wall {
    #[inline]
    fn now(&self) -> Nanos {
        Nanos(self.clock.delta_as_nanos(0, self.clock.raw()).saturating_sub(self.epoch))
    }

    fn await_epoch(&self) {
        let left = || self.epoch.saturating_sub(self.clock.delta_as_nanos(0, self.clock.raw()));
        if let Some(far) = left().checked_sub(SPIN_BEFORE_EPOCH.0) {
            std::thread::sleep(Duration::from_nanos(far));
        }
        while self.now() == Nanos::ZERO {
            std::hint::spin_loop();
        }
    }

    fn rest(&mut self, client: &mut dyn Client, in_flight: usize, until: Nanos) {
        let left = until.since(self.now());
        let sleep = match self.spin {
            Spin::Never => left,
            Spin::LastStretch => left.since(STRETCH),
            Spin::Always => Nanos::ZERO,
        };
        if sleep > Nanos::ZERO {
            client.wait(Duration::from(sleep));
        } else if in_flight == 0 {
            std::hint::spin_loop();
        }
    }
}

/// A clock that advances only when told to: time in simulations and tests.
///
/// Clones show the same time. Resting jumps to the moment rested for, or to the moment at which
/// the store's next answer is due.
#[derive(Clone, Debug, Default)]
pub struct SimulatedClock {
    now: Arc<AtomicU64>,
}

impl SimulatedClock {
    /// A clock at the epoch.
    pub fn new() -> SimulatedClock {
        SimulatedClock::default()
    }

    /// Lets `step` pass.
    pub fn pass(&self, step: Nanos) {
        self.now.fetch_add(step.0, Ordering::Relaxed);
    }
}

impl Clock for SimulatedClock {
    fn now(&self) -> Nanos {
        Nanos(self.now.load(Ordering::Relaxed))
    }

    fn rest(&mut self, client: &mut dyn Client, _in_flight: usize, until: Nanos) {
        let next = client.due().map_or(until, |due| due.min(until));
        self.now.fetch_max(next.0, Ordering::Relaxed);
    }
}

/// The monotonic clock for a store in this process that has to know how long it has worked.
pub fn monotonic() -> Nanos {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    Nanos(now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64)
}

/// Asks the operating system to wake this thread without adding slack of its own.
pub fn be_punctual() {
    #[cfg(target_os = "linux")]
    {
        // The kernel's default lets timers of ordinary threads be late by 50 µs. A failure only
        // costs punctuality, which the lag then shows.
        let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1));
    }
}

/// Processor time that the calling thread has used so far.
pub fn thread_time() -> Nanos {
    #[cfg(target_os = "linux")]
    {
        let used = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
        Nanos(used.tv_sec as u64 * 1_000_000_000 + used.tv_nsec as u64)
    }
    #[cfg(not(target_os = "linux"))]
    {
        Nanos::ZERO
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The most by which the machine may correct its wall clock between two readings.
    const CORRECTION: Duration = Duration::from_millis(1);

    #[test]
    fn clocks_with_one_epoch_show_the_same_time() {
        let reading = || {
            let clock = quanta::Clock::new();
            Nanos(clock.delta_as_nanos(0, clock.raw()))
        };
        let epoch = reading() + Nanos::from_millis(5);
        let clock = Wall::starting_at(epoch, Spin::Never);
        assert_eq!(clock.now(), Nanos::ZERO);
        clock.await_epoch();
        let (shown, elapsed) = (clock.now(), reading().since(epoch));
        assert!(Nanos::ZERO < shown && shown <= elapsed, "{shown} {elapsed}");
    }

    #[test]
    fn the_epoch_is_a_moment_of_the_calendar() {
        let clock = Wall::starting_in(Duration::ZERO, Spin::Never);
        let before = SystemTime::now();
        let moment = clock.epoch() + Duration::from(clock.now());
        let after = SystemTime::now();
        assert!(before - CORRECTION <= moment && moment <= after + CORRECTION);
    }
}

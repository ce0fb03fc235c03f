//! A timer that goes off when it should, not within the next millisecond.

use std::io;
use std::time::Duration;

/// The longest single wait: conditions without a notification are checked this often.
const LONGEST: Duration = Duration::from_secs(1);

pub(super) use system::Alarm;

/// Linux has timers that are files, so one can be waited for beside the sockets.
///
/// The runtime's own timers count whole milliseconds, and a worker that comes back a millisecond
/// late has that much lag.
#[cfg(target_os = "linux")]
mod system {
    use rustix::time::{
        Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
        timerfd_settime,
    };
    use tokio::net::unix::pipe::Receiver;

    use super::{Duration, LONGEST, io};

    /// A timer of one runtime: a file that eight bytes can be read from once it went off. The
    /// runtime knows it as a pipe, which is read in the same way.
    pub(in super::super) struct Alarm(Receiver);

    impl Alarm {
        /// A timer of the runtime that this is called in.
        pub(in super::super) fn new() -> io::Result<Alarm> {
            let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
            let timer = timerfd_create(TimerfdClockId::Monotonic, flags)?;
            Ok(Alarm(Receiver::from_owned_fd_unchecked(timer)?))
        }

        /// Ends after `timeout`, or earlier.
        pub(in super::super) async fn after(&self, timeout: Duration) {
            let timeout = timeout.min(LONGEST);
            let zero = Timespec { tv_sec: 0, tv_nsec: 0 };
            let value = Timespec {
                tv_sec: i64::try_from(timeout.as_secs()).unwrap_or(1),
                // A timer of zero is one that is off.
                tv_nsec: timeout.subsec_nanos().max(1).into(),
            };
            let setting = Itimerspec { it_interval: zero, it_value: value };
            if timerfd_settime(&self.0, TimerfdTimerFlags::empty(), &setting).is_err() {
                return;
            }
            // Only what would block is no reason to end: the timer may have been seen before.
            while self.0.readable().await.is_ok() {
                match self.0.try_read(&mut [0; 8]) {
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                    _ => return,
                }
            }
        }
    }
}

/// Elsewhere the runtime's timers have to do: the wait ends up to two milliseconds early.
#[cfg(not(target_os = "linux"))]
mod system {
    use super::{Duration, LONGEST, io};

    /// A timer of one runtime.
    pub(in super::super) struct Alarm;

    impl Alarm {
        /// A timer of the runtime that this is called in.
        pub(in super::super) fn new() -> io::Result<Alarm> {
            Ok(Alarm)
        }

        /// Ends after `timeout`, or earlier.
        pub(in super::super) async fn after(&self, timeout: Duration) {
            let whole = timeout.min(LONGEST).saturating_sub(Duration::from_millis(2));
            if !whole.is_zero() {
                tokio::time::sleep(whole).await;
            }
        }
    }
}

//! Waits for several sockets at once.

use std::array;
use std::net::TcpStream;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// So many sockets are waited for without allocation.
const FEW: usize = 64;
/// A worker has at most as many sockets.
pub const MOST: usize = 1024;

/// What a socket is waited for, besides something to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interest {
    /// Nothing else.
    Read,
    /// Room to write as well.
    ReadAndWrite,
}

/// The sockets that have something for us, by their places among those waited for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Woken([u64; MOST / 64]);

impl Woken {
    fn add(&mut self, place: usize) {
        self.0[place / 64] |= 1 << (place % 64);
    }

    /// Whether the socket at `place` is one of them.
    #[inline]
    pub fn has(&self, place: usize) -> bool {
        self.0[place / 64] & 1 << (place % 64) != 0
    }
}

/// Blocks until one of `sockets` is readable, or `timeout` has passed. May return early.
/// `None` stands for a connection that is not there.
///
/// # Panics
/// If there are more sockets than [`MOST`].
pub fn wait<'a>(
    sockets: impl Iterator<Item = Option<(&'a TcpStream, Interest)>>,
    timeout: Duration,
) -> Woken {
    let mut places = [0_u16; MOST];
    let mut count = 0;
    let mut sockets = sockets.enumerate().filter_map(|(place, socket)| {
        let (socket, interest) = socket?;
        places[count] = place as u16;
        count += 1;
        let flags = match interest {
            Interest::Read => PollFlags::IN,
            Interest::ReadAndWrite => PollFlags::IN | PollFlags::OUT,
        };
        Some(PollFd::new(socket, flags))
    });
    let Some(first) = sockets.next() else {
        std::thread::sleep(timeout);
        return Woken::default();
    };
    // The array is always filled, so that waiting for a few needs no allocation; its rest is not
    // used.
    let mut few: [PollFd<'_>; FEW] = array::from_fn(|place| match place {
        0 => first.clone(),
        _ => sockets.next().unwrap_or_else(|| first.clone()),
    });
    let more: Vec<PollFd<'_>> = sockets.collect();
    if more.is_empty() {
        return woken(&mut few[..count.min(FEW)], &places, timeout);
    }
    let mut all: Vec<PollFd<'_>> = few.into_iter().chain(more).collect();
    woken(&mut all, &places, timeout)
}

fn woken(sockets: &mut [PollFd<'_>], places: &[u16], timeout: Duration) -> Woken {
    let timeout = Timespec {
        tv_sec: i64::try_from(timeout.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: timeout.subsec_nanos().into(),
    };
    let mut woken = Woken::default();
    // An error is an interruption, and then we return early, which is allowed.
    if poll(sockets, Some(&timeout)).is_ok() {
        for (socket, place) in sockets.iter().zip(places) {
            if !socket.revents().is_empty() {
                woken.add(usize::from(*place));
            }
        }
    }
    woken
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn readable_sockets_are_reported_by_index() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let pairs: Vec<(TcpStream, TcpStream)> = (0..70)
            .map(|_| (TcpStream::connect(address).unwrap(), listener.accept().unwrap().0))
            .collect();
        for chosen in [3, 69] {
            for count in [5, 70] {
                if chosen >= count {
                    continue;
                }
                let mut writer = &pairs[chosen].1;
                writer.write_all(b"x").unwrap();
                // The second is not there.
                let sockets = pairs[..count]
                    .iter()
                    .enumerate()
                    .map(|(place, (socket, _))| (place != 1).then_some((socket, Interest::Read)));
                let woken = wait(sockets, Duration::from_secs(10));
                let reported: Vec<usize> = (0..MOST).filter(|place| woken.has(*place)).collect();
                assert_eq!(reported, [chosen]);
            }
            let mut socket = &pairs[chosen].0;
            std::io::Read::read(&mut socket, &mut [0; 8]).unwrap();
        }
        let woken = wait([None].into_iter(), Duration::from_millis(1));
        assert_eq!(woken, Woken::default());
    }
}

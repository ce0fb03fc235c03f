//! One direction of a connection: what was read and is not written yet.

use std::collections::VecDeque;
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};

use assay_model::{Draws, Nanos};

use super::rules::Rules;

/// How much of a direction is kept; after that its sender has to wait.
const KEPT_BYTES_MAX: usize = 256 << 10;
/// How much is read at once.
const PIECE_BYTES: usize = 16 << 10;

/// When a link's direction is free for the next byte, if it has a limit.
pub(super) type Free = Nanos;

/// What was read, until it may be written.
#[derive(Debug, Default)]
pub(super) struct Stream {
    pieces: VecDeque<Piece>,
    kept: usize,
    /// When the last piece is due: what was sent later arrives later.
    last_due: Nanos,
    /// Whether its sender sends no more.
    is_at_end: bool,
    /// Whether its receiver has been told that.
    is_closed: bool,
    /// Whether something was lost on the way.
    pub(super) is_torn: bool,
}

#[derive(Debug)]
struct Piece {
    due: Nanos,
    bytes: Vec<u8>,
    written: usize,
}

/// A connection that cannot go on.
#[derive(Debug)]
pub(super) struct Broken;

impl Stream {
    /// Whether there is room for more, and more may come.
    pub(super) fn wants_more(&self) -> bool {
        !self.is_at_end && self.kept < KEPT_BYTES_MAX
    }

    /// When something can be written next, unless it is held.
    pub(super) fn due(&self, is_held: bool) -> Option<Nanos> {
        if is_held || self.is_closed {
            return None;
        }
        match self.pieces.front() {
            Some(piece) => Some(piece.due),
            // An end that was lost is not passed on.
            None => (self.is_at_end && !self.is_torn).then_some(self.last_due),
        }
    }

    /// Whether all has been said and passed on.
    pub(super) fn is_over(&self) -> bool {
        self.is_closed
    }

    /// Reads what there is.
    pub(super) fn read(
        &mut self,
        mut from: &TcpStream,
        rules: &Rules,
        free: &mut Free,
        draws: &mut Draws,
        now: Nanos,
    ) -> Result<(), Broken> {
        while self.wants_more() {
            let mut bytes = vec![0; PIECE_BYTES];
            match from.read(&mut bytes) {
                Ok(0) => {
                    self.is_at_end = true;
                    self.is_torn |= rules.is_lossy;
                    self.last_due = self.last_due.max(now + rules.delay);
                }
                Ok(_) if rules.is_lossy => self.is_torn = true,
                Ok(count) => {
                    bytes.truncate(count);
                    let due = due(rules, free, draws, now, count).max(self.last_due);
                    self.last_due = due;
                    self.kept += count;
                    self.pieces.push_back(Piece { due, bytes, written: 0 });
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => return Err(Broken),
            }
        }
        Ok(())
    }

    /// Writes what is due; whether the receiver has no room for more.
    pub(super) fn write(&mut self, mut to: &TcpStream, now: Nanos) -> Result<bool, Broken> {
        while let Some(piece) = self.pieces.front_mut().filter(|piece| piece.due <= now) {
            match to.write(&piece.bytes[piece.written..]) {
                Ok(0) => return Err(Broken),
                Ok(count) => {
                    piece.written += count;
                    self.kept -= count;
                    if piece.written == piece.bytes.len() {
                        self.pieces.pop_front();
                    }
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(true),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => return Err(Broken),
            }
        }
        let is_due = self.pieces.is_empty() && self.last_due <= now;
        if self.is_at_end && is_due && !self.is_torn && !self.is_closed {
            self.is_closed = true;
            // A receiver that has gone needs no end.
            let _ = to.shutdown(Shutdown::Write);
        }
        Ok(false)
    }
}

/// When a piece that is read now is due.
fn due(rules: &Rules, free: &mut Free, draws: &mut Draws, now: Nanos, bytes: usize) -> Nanos {
    let mut sent = now;
    if rules.limit > 0 {
        let takes = bytes as u128 * 1_000_000_000 / u128::from(rules.limit);
        *free = (*free).max(now) + Nanos(u64::try_from(takes).unwrap_or(u64::MAX));
        sent = *free;
    }
    let shift = match rules.jitter.0 {
        0 => 0,
        jitter => draws.below(2 * jitter + 1),
    };
    Nanos((sent + rules.delay).0 + shift - rules.jitter.0)
}

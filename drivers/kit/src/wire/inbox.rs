//! The received bytes that are not parsed yet.

use std::io;

/// Room for about a hundred small records; grows to the size of the largest reply.
const ROOM: usize = 64 << 10;
/// Below this much room behind the unread bytes they are moved to the front.
const LOW: usize = 8 << 10;

/// A buffer that begins with bytes of our own, so that places in it can mean those too.
///
/// Field names of the layout stand there: a reply that has only values becomes
/// [`Span`](assay_store::answer::Span)s of one buffer without copying.
#[derive(Debug)]
pub struct Inbox {
    bytes: Vec<u8>,
    own: usize,
    head: usize,
    tail: usize,
}

impl Inbox {
    /// An empty buffer behind `own`.
    pub fn new(own: &[u8]) -> Inbox {
        let mut bytes = own.to_vec();
        bytes.resize(own.len() + ROOM, 0);
        Inbox { bytes, own: own.len(), head: own.len(), tail: own.len() }
    }

    /// The whole buffer, which places mean.
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Where the unread bytes begin.
    #[inline]
    pub fn head(&self) -> usize {
        self.head
    }

    /// The bytes that were not consumed yet.
    #[inline]
    pub fn unread(&self) -> &[u8] {
        &self.bytes[self.head..self.tail]
    }

    /// The first `count` unread bytes are done with.
    #[inline]
    pub fn consume(&mut self, count: usize) {
        self.head += count;
    }

    /// Forgets what is unread.
    #[inline]
    pub fn clear(&mut self) {
        self.head = self.own;
        self.tail = self.own;
    }

    /// Lets `read` fill the room behind the unread bytes once.
    pub fn fill(&mut self, read: impl FnOnce(&mut [u8]) -> io::Result<usize>) -> io::Result<usize> {
        self.make_room();
        let count = read(&mut self.bytes[self.tail..])?;
        self.tail += count;
        Ok(count)
    }

    fn make_room(&mut self) {
        if self.head == self.tail {
            self.clear();
        }
        if self.bytes.len() - self.tail >= LOW {
            return;
        }
        if self.head > self.own {
            self.bytes.copy_within(self.head..self.tail, self.own);
            self.tail -= self.head - self.own;
            self.head = self.own;
        }
        if self.bytes.len() - self.tail < LOW {
            // Doubling keeps the cost of moving in proportion to what is received. The parser
            // refuses frames beyond its limit, so this ends.
            self.bytes.resize(self.bytes.len() * 2, 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn give(inbox: &mut Inbox, bytes: &[u8]) {
        let mut rest = bytes;
        while !rest.is_empty() {
            let count = inbox
                .fill(|room| {
                    let count = room.len().min(rest.len());
                    room[..count].copy_from_slice(&rest[..count]);
                    Ok(count)
                })
                .unwrap();
            assert!(count > 0, "there is always room");
            rest = &rest[count..];
        }
    }

    #[test]
    fn unread_bytes_survive_moving_as_well_as_growing() {
        let mut inbox = Inbox::new(b"names");
        let stream: Vec<u8> = (0..1_000_000_u32).map(|number| (number % 251) as u8).collect();
        let mut consumed = 0;
        for (number, piece) in stream.chunks(50_000).enumerate() {
            give(&mut inbox, piece);
            let end = (number + 1) * 50_000;
            assert_eq!(inbox.unread(), &stream[consumed..end]);
            let take = inbox.unread().len() * 2 / 3;
            inbox.consume(take);
            consumed += take;
            assert_eq!(&inbox.bytes()[..5], b"names");
        }
        inbox.clear();
        assert_eq!(inbox.unread(), b"");
        assert_eq!(inbox.head(), 5);
    }

    #[test]
    fn a_failed_read_changes_nothing() {
        let mut inbox = Inbox::new(b"");
        give(&mut inbox, b"abc");
        let error = inbox.fill(|_| Err(io::ErrorKind::WouldBlock.into())).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::WouldBlock);
        assert_eq!(inbox.unread(), b"abc");
    }
}

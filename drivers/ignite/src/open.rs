//! Open transaction of a link.

use std::collections::BTreeSet;

use super::socket::Socket;
use super::wire::put_i32;

/// The flag of a request that is part of a transaction.
const WITHIN: u8 = 2;

/// A transaction that is open on a link.
pub(super) struct Open {
    /// The node that it was begun at.
    pub(super) node: u128,
    /// What the node calls it; counted for each connection.
    pub(super) number: i32,
    /// The caches and keys of what it inserted, which no query finds before the commit.
    pub(super) inserted: BTreeSet<(i32, Vec<u8>)>,
}

impl Open {
    /// Where among `sockets` it is bound to, if that connection is still there.
    pub(super) fn place(&self, sockets: &[Socket]) -> Option<usize> {
        sockets.iter().position(|socket| socket.node == self.node)
    }
}

/// Appends the cache and the transaction of a request; nothing expires.
pub(super) fn put_cache(cache: i32, open: Option<i32>, out: &mut Vec<u8>) {
    put_i32(cache, out);
    match open {
        Some(number) => {
            out.push(WITHIN);
            put_i32(number, out);
        }
        None => out.push(0),
    }
}

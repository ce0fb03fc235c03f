//! A fixed number of locks, one of which belongs to each key.

use std::sync::{Mutex, MutexGuard, PoisonError};

use assay_store::key_hash::key_hash;

/// Four workers that change different keys meet in one lock about once in forty changes.
const STRIPES: usize = 256;

/// Locks for changes that read before they write.
pub struct Stripes(Vec<Mutex<()>>);

impl Default for Stripes {
    fn default() -> Stripes {
        Stripes((0..STRIPES).map(|_| Mutex::default()).collect())
    }
}

impl Stripes {
    /// Holds the lock of `key`, with those of the other keys that share it.
    #[inline]
    pub fn lock(&self, key: &[u8]) -> MutexGuard<'_, ()> {
        let stripe = (key_hash(key) >> (u64::BITS - STRIPES.ilog2())) as usize;
        self.0[stripe].lock().unwrap_or_else(PoisonError::into_inner)
    }
}

//! The latest value of those that threads share.

use std::sync::{PoisonError, RwLock};

/// A value that is replaced as a whole, such as what a store prepared last; whoever has one before
/// it keeps that.
#[derive(Debug, Default)]
pub struct Latest<T>(RwLock<T>);

impl<T: Clone> Latest<T> {
    /// Shares `value` at first.
    pub const fn new(value: T) -> Latest<T> {
        Latest(RwLock::new(value))
    }

    /// The present value.
    pub fn get(&self) -> T {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Replaces the value.
    pub fn set(&self, value: T) {
        self.change(|_| value);
    }

    /// Replaces the value by what is made of it, with nobody in between.
    pub fn change(&self, change: impl FnOnce(&T) -> T) {
        let mut value = self.0.write().unwrap_or_else(PoisonError::into_inner);
        *value = change(&value);
    }
}

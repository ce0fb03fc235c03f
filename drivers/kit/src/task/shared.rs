//! A connection that all handles of a worker share.

use std::cell::{Cell, RefCell};
use std::future::Future;

use tokio::sync::Mutex;

/// A connection that is made by the first who needs it, and again once it is of no use any more.
#[derive(Debug)]
pub struct SharedConnection<C, E> {
    connection: Mutex<Option<C>>,
    /// How often making it failed, and how it failed last.
    failures: Cell<u64>,
    last: RefCell<Option<E>>,
}

impl<C, E> Default for SharedConnection<C, E> {
    fn default() -> SharedConnection<C, E> {
        let connection = Mutex::new(None);
        SharedConnection { connection, failures: Cell::new(0), last: RefCell::new(None) }
    }
}

impl<C: Clone, E: Clone> SharedConnection<C, E> {
    /// The connection if there is one that `is_usable`, else what `dial` makes.
    ///
    /// Those who wait while one dials in vain take that for an answer instead of dialling as well.
    ///
    /// # Errors
    /// That of `dial`.
    pub async fn reach(
        &self,
        is_usable: impl Fn(&C) -> bool,
        dial: impl Future<Output = Result<C, E>>,
    ) -> Result<C, E> {
        let failures = self.failures.get();
        let mut kept = self.connection.lock().await;
        if let Some(connection) = kept.as_ref().filter(|connection| is_usable(connection)) {
            return Ok(connection.clone());
        }
        if self.failures.get() != failures
            && let Some(failure) = &*self.last.borrow()
        {
            return Err(failure.clone());
        }
        let dialled = dial.await;
        *kept = dialled.as_ref().ok().cloned();
        if let Err(failure) = &dialled {
            self.failures.set(failures + 1);
            self.last.replace(Some(failure.clone()));
        }
        dialled
    }
}

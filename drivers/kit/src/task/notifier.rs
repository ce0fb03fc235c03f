//! Notifier: wakes a waiting task of the same thread.

use std::cell::RefCell;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::{Poll, Waker};

/// A task may wait here until a condition holds; every change of the condition notifies it.
#[derive(Debug, Default)]
pub(super) struct Notifier(RefCell<Option<Waker>>);

impl Notifier {
    /// Lets the waiting task check again.
    #[inline]
    pub(super) fn ring(&self) {
        let waiting = self.0.borrow_mut().take();
        if let Some(waker) = waiting {
            waker.wake();
        }
    }

    /// Waits until `condition` gives something.
    pub(super) async fn until<T>(&self, condition: impl Fn() -> Option<T>) -> T {
        poll_fn(|context| {
            if let Some(found) = condition() {
                return Poll::Ready(found);
            }
            let mut waiting = self.0.borrow_mut();
            if !waiting.as_ref().is_some_and(|waker| waker.will_wake(context.waker())) {
                *waiting = Some(context.waker().clone());
            }
            Poll::Pending
        })
        .await
    }
}

/// Which of two came to its end.
pub(super) enum Either<A, B> {
    /// The first one, perhaps both.
    First(A),
    /// The second one.
    Second(B),
}

/// Waits for the one that ends first; the other is dropped.
pub(super) async fn either<A, B>(
    first: impl Future<Output = A>,
    second: impl Future<Output = B>,
) -> Either<A, B> {
    let mut first = pin!(first);
    let mut second = pin!(second);
    poll_fn(|context| {
        if let Poll::Ready(ended) = first.as_mut().poll(context) {
            return Poll::Ready(Either::First(ended));
        }
        second.as_mut().poll(context).map(Either::Second)
    })
    .await
}

/// Lets every other task that is ready have its turn once.
pub(super) async fn one_turn() {
    tokio::task::yield_now().await;
}

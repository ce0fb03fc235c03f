//! A connection that does I/O only while it is polled.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::task::{Context, Poll};

use tokio_postgres::{Client, Error};

use super::stream::Allowance;

/// The largest response that is accepted by default: enough for the admin connection.
const ASIDE_BYTES_MAX: usize = 16 << 20;

/// What moves the bytes of a connection; it ends when the connection does.
type Mover = Pin<Box<dyn Future<Output = Result<(), Error>>>>;

/// A client of the library together with what moves its bytes.
///
/// The library would have the mover in a task of its own. In the requesting task, an
/// answer needs no second wake-up, and dropping it closes the socket at once.
pub(super) struct Wire {
    pub(super) client: Client,
    mover: Mover,
    is_closed: bool,
    allowance: Allowance,
    /// The largest response that is accepted.
    answer_bytes_max: usize,
}

/// The connection ended before the work did.
pub(super) struct Closed {
    /// Whether we closed it because a response was too large.
    pub(super) is_flooded: bool,
}

impl Wire {
    pub(super) fn new(client: Client, mover: Mover, allowance: Allowance) -> Wire {
        let answer_bytes_max = ASIDE_BYTES_MAX;
        Wire { client, mover, is_closed: false, allowance, answer_bytes_max }
    }

    /// From now on responses may have so many bytes.
    pub(super) fn take_answers_of(&mut self, bytes_max: usize) {
        self.answer_bytes_max = bytes_max;
    }

    /// Whether the connection has ended, as far as bytes that are here already tell.
    pub(super) async fn is_closed(&mut self) -> bool {
        poll_fn(|context| {
            self.advance(context);
            Poll::Ready(self.is_closed)
        })
        .await
    }

    /// Ends when the connection does.
    pub(super) async fn closed(&mut self) {
        poll_fn(|context| {
            self.advance(context);
            if self.is_closed { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
    }

    /// Waits for what `work` makes of the client, moving bytes meanwhile.
    pub(super) async fn drive<'a, W, F>(&'a mut self, work: W) -> Result<F::Output, Closed>
    where
        W: FnOnce(&'a Client) -> F,
        F: Future,
    {
        let Wire { client, mover, is_closed, allowance, answer_bytes_max } = self;
        allowance.renew(*answer_bytes_max);
        let mut work = pin!(work(client));
        poll_fn(move |context| {
            // Input is read first; the requests that it causes are sent in the same turn.
            advance(mover, is_closed, context);
            if let Poll::Ready(done) = work.as_mut().poll(context) {
                return Poll::Ready(Ok(done));
            }
            advance(mover, is_closed, context);
            if !*is_closed {
                return Poll::Pending;
            }
            // What came before the end counts.
            match work.as_mut().poll(context) {
                Poll::Ready(done) => Poll::Ready(Ok(done)),
                Poll::Pending => Poll::Ready(Err(Closed { is_flooded: allowance.is_spent() })),
            }
        })
        .await
    }

    fn advance(&mut self, context: &mut Context<'_>) {
        advance(&mut self.mover, &mut self.is_closed, context);
    }
}

fn advance(mover: &mut Mover, is_closed: &mut bool, context: &mut Context<'_>) {
    if !*is_closed && mover.as_mut().poll(context).is_ready() {
        *is_closed = true;
    }
}

/// Waits for both, beginning them in this order.
pub(super) async fn both<A, B>(
    first: impl Future<Output = A>,
    second: impl Future<Output = B>,
) -> (A, B) {
    let mut first = pin!(first);
    let mut second = pin!(second);
    let mut ended = (None, None);
    poll_fn(move |context| {
        if ended.0.is_none()
            && let Poll::Ready(value) = first.as_mut().poll(context)
        {
            ended.0 = Some(value);
        }
        if ended.1.is_none()
            && let Poll::Ready(value) = second.as_mut().poll(context)
        {
            ended.1 = Some(value);
        }
        match (ended.0.take(), ended.1.take()) {
            (Some(first), Some(second)) => Poll::Ready((first, second)),
            (one, other) => {
                ended = (one, other);
                Poll::Pending
            }
        }
    })
    .await
}

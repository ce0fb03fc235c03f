//! Requests on their way from connections to the trace, in the order of their times.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;

use assay_model::Nanos;
use assay_run::clock;
use assay_trace::imported::{
    ImportedRequest, ImportedTraceError, ReadTotals, RequestSource, TimestampPrecision,
};

/// Commands that may wait for the writer; further ones are lost, and counted.
const QUEUE: usize = 1 << 18;
/// How long a request waits for earlier ones of other connections.
const HOLD: Nanos = Nanos::from_millis(100);
/// How often signals and times are looked at while nothing comes.
const LOOK: Duration = Duration::from_millis(20);

/// What a connection's thread says of one command.
pub enum Captured {
    /// It is this request, or several.
    Request(ImportedRequest),
    /// It has no place in a trace; its name.
    LeftOut(String),
}

/// Where connections leave commands. Nobody waits here.
pub struct Capture {
    queue: SyncSender<Captured>,
    is_closed: AtomicBool,
    lost: AtomicU64,
    unreadable: AtomicU64,
    unconnected: AtomicU64,
}

/// What is missing from the trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Losses {
    /// Commands for which the queue had no room.
    pub lost: u64,
    /// Connections whose bytes are not of the protocol.
    pub unreadable: u64,
    /// Connections that the store did not accept.
    pub unconnected: u64,
}

impl Capture {
    /// An empty queue with its other end.
    pub fn new() -> (Capture, Receiver<Captured>) {
        Capture::with_room(QUEUE)
    }

    fn with_room(room: usize) -> (Capture, Receiver<Captured>) {
        let (queue, captured) = sync_channel(room);
        let capture = Capture {
            queue,
            is_closed: AtomicBool::new(false),
            lost: AtomicU64::new(0),
            unreadable: AtomicU64::new(0),
            unconnected: AtomicU64::new(0),
        };
        (capture, captured)
    }

    /// Takes what a command was, or counts it as lost if the writer is too far behind.
    pub fn take(&self, captured: Captured) {
        if !self.is_closed.load(Ordering::Relaxed) && self.queue.try_send(captured).is_err() {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// A connection has sent what is no command, and is not listened to any more.
    pub fn count_unreadable(&self) {
        self.unreadable.fetch_add(1, Ordering::Relaxed);
    }

    /// The store did not accept a connection, so the client's was closed.
    pub fn count_unconnected(&self) {
        self.unconnected.fetch_add(1, Ordering::Relaxed);
    }

    /// What is missing so far.
    pub fn losses(&self) -> Losses {
        Losses {
            lost: self.lost.load(Ordering::Relaxed),
            unreadable: self.unreadable.load(Ordering::Relaxed),
            unconnected: self.unconnected.load(Ordering::Relaxed),
        }
    }
}

impl Losses {
    /// Whether the trace is not what passed.
    pub fn is_any(self) -> bool {
        self.lost + self.unreadable + self.unconnected > 0
    }

    /// What is missing, behind a colon; empty if nothing is.
    pub fn sentence(self) -> String {
        let counts = [
            (self.lost, "requests came faster than they could be written, and are not in it"),
            (self.unreadable, "connections did not speak the protocol, or had commands too long"),
            (self.unconnected, "connections were not accepted by the store"),
        ];
        let texts = counts.iter().filter(|(count, _)| *count > 0);
        let texts: Vec<String> = texts.map(|(count, what)| format!("{count} {what}")).collect();
        if texts.is_empty() { String::new() } else { format!(": {}", texts.join("; ")) }
    }

    /// A comment of the trace's spec; empty if nothing is missing.
    pub fn remark(self) -> String {
        match self.is_any() {
            true => format!("# INCOMPLETE recording{}\n", self.sentence()),
            false => String::new(),
        }
    }
}

/// The requests in the order of their times, until the recording ends.
pub struct Recorded {
    captured: Receiver<Captured>,
    capture: Arc<Capture>,
    ended: Arc<AtomicBool>,
    until: Nanos,
    /// By their times, then by the lines in which they came.
    waiting: BTreeMap<(Nanos, u64), ImportedRequest>,
    latest: Nanos,
    totals: ReadTotals,
}

impl Recorded {
    /// What comes through `captured` until `ended` is raised or the clock shows `until`.
    pub fn new(
        captured: Receiver<Captured>,
        capture: Arc<Capture>,
        ended: Arc<AtomicBool>,
        until: Nanos,
    ) -> Recorded {
        Recorded {
            captured,
            capture,
            ended,
            until,
            waiting: BTreeMap::new(),
            latest: Nanos::ZERO,
            totals: ReadTotals::default(),
        }
    }

    fn take(&mut self, captured: Captured) {
        self.totals.lines += 1;
        match captured {
            Captured::LeftOut(name) => self.totals.pass_over(name),
            Captured::Request(request) => {
                self.waiting.insert((request.at, self.totals.lines), request);
            }
        }
    }

    /// The first request that waits, if it came at `moment` or before.
    fn pop(&mut self, moment: Nanos) -> Option<ImportedRequest> {
        let first = self.waiting.first_entry().filter(|first| first.key().0 <= moment)?;
        let request = first.remove();
        self.totals.requests += 1;
        // One whose thread was held up for longer than others waited for it.
        self.latest = self.latest.max(request.at);
        Some(ImportedRequest { at: self.latest, ..request })
    }

    fn is_over(&self, now: Nanos) -> bool {
        now >= self.until || self.ended.load(Ordering::Relaxed)
    }
}

impl Iterator for Recorded {
    type Item = Result<ImportedRequest, ImportedTraceError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let now = clock::monotonic();
            if let Some(request) = self.pop(Nanos(now.0.saturating_sub(HOLD.0))) {
                return Some(Ok(request));
            }
            if self.is_over(now) {
                self.capture.is_closed.store(true, Ordering::Relaxed);
                while let Ok(captured) = self.captured.try_recv() {
                    self.take(captured);
                }
                return self.pop(Nanos::NEVER).map(Ok);
            }
            match self.captured.recv_timeout(LOOK) {
                Ok(captured) => self.take(captured),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => self.ended.store(true, Ordering::Relaxed),
            }
        }
    }
}

impl RequestSource for Recorded {
    fn timestamps(&self) -> TimestampPrecision {
        TimestampPrecision::Each(Nanos(1))
    }

    fn totals(&self) -> ReadTotals {
        self.totals.clone()
    }
}

#[cfg(test)]
mod tests {
    use assay_trace::imported::{ValueSize, Verb};

    use super::*;

    fn request(at: u64, key: u64) -> Captured {
        let (at, verb, value) = (Nanos(at), Verb::Get, ValueSize::Unknown);
        Captured::Request(ImportedRequest { at, key, verb, value, count: 1 })
    }

    #[test]
    fn requests_of_several_connections_come_in_the_order_of_their_times() {
        let (capture, captured) = Capture::new();
        for (at, key) in [(30, 3), (10, 1), (20, 2), (30, 4)] {
            capture.take(request(at, key));
        }
        capture.take(Captured::LeftOut("PING".into()));
        let ended = Arc::new(AtomicBool::new(false));
        let mut recorded = Recorded::new(captured, Arc::new(capture), ended, Nanos(1));
        let keys: Vec<u64> = recorded.by_ref().map(|next| next.unwrap().key).collect();
        assert_eq!(keys, [1, 2, 3, 4]);
        let totals = recorded.totals();
        assert_eq!((totals.lines, totals.requests, totals.passed_over["PING"]), (5, 4, 1));
    }

    #[test]
    fn a_full_queue_holds_nobody_up_and_is_counted() {
        let (capture, _captured) = Capture::with_room(2);
        for at in 0..5 {
            capture.take(request(at, at));
        }
        capture.count_unreadable();
        let losses = capture.losses();
        assert_eq!((losses.lost, losses.is_any()), (3, true));
        assert!(losses.remark().starts_with("# INCOMPLETE recording: 3 requests came faster"));
        assert!(losses.sentence().contains("1 connections did not speak the protocol"));
    }
}

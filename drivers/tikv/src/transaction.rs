//! Requests for records in transactions; alone, one is a transaction by itself.

mod batch;

use std::time::Duration;

use assay_driver_kit::task::Completion;
use assay_model::{Kind, Reason};
use assay_store::Request;
use tikv_client::transaction::HeartbeatOption;
use tikv_client::{
    Backoff, CheckLevel, Error, RetryOptions, Timestamp, TimestampExt, Transaction,
    TransactionClient, TransactionOptions,
};

use super::connector::Shared;
use super::failure::{ATTEMPTS, Doing, Failure, FailureSource, Verdict, of_driver, verdict};
use super::key_prefix::{KeyPrefix, Progress};
use super::open::{Open, Remembers};
use super::options::Mode;

/// How long to wait for a lock of another transaction: 1.5 s in all, as the library does by itself.
/// An abandoned lock is removed after three seconds.
const WAIT_FOR_LOCKS: Backoff = Backoff::no_jitter_backoff(2, 500, 10);
/// A time before everything: what is read then meets no lock, but finds the region all the same.
const LONG_AGO: u64 = 1;
/// How many requests the library makes of a lock: timestamp, lock.
const LOCK_REQUESTS: u16 = 2;

/// How this driver's transactions are done: in two phases, each request once.
///
/// No lock is kept up: for each transaction the library would start a task that sleeps for ten
/// seconds. So locks end by themselves: those of a commit three seconds after it began, those that
/// a pessimistic transaction takes before that twenty seconds after the transaction began. Nothing
/// is lost by that: whoever waits for such a lock undoes the transaction first. Then TiKV misses
/// the lock, so it refuses the commit.
fn options(mode: Mode) -> TransactionOptions {
    let options = match mode {
        Mode::Pessimistic => TransactionOptions::new_pessimistic(),
        Mode::Optimistic | Mode::Raw => TransactionOptions::new_optimistic(),
    };
    let options = options.heartbeat_option(HeartbeatOption::NoHeartbeat);
    options.drop_check(CheckLevel::None).retry_options(RetryOptions {
        region_backoff: Backoff::no_backoff(),
        lock_backoff: WAIT_FOR_LOCKS,
    })
}

/// How long one who met a conflict keeps out of the way: 1 to 4 ms at first, then twice as long
/// each time. Sessions that met each other wait for different times.
fn pause(attempt: u16, session: u32) -> Duration {
    let share = 1 + session % 4;
    Duration::from_millis(u64::from(share) << (attempt - 1))
}

/// A request for records of one table.
pub(super) struct RecordRequest<'a> {
    pub(super) key_prefix: &'a KeyPrefix,
    pub(super) request: Request<'a>,
}

/// What carries out requests, and counts what they take.
pub(super) struct Turn<'a> {
    shared: &'a Shared,
    client: &'a TransactionClient,
    mode: Mode,
    /// For a timestamp.
    timeout: Duration,
    /// How many requests it took until now, as the protocol has it.
    pub(super) requests: u16,
}

impl<'a> Turn<'a> {
    /// No request was sent yet.
    pub(super) fn new(
        shared: &'a Shared,
        client: &'a TransactionClient,
        mode: Mode,
        timeout: Duration,
    ) -> Turn<'a> {
        Turn { shared, client, mode, timeout, requests: 0 }
    }

    /// Carries out a request that is a transaction by itself; tells whether the record was there.
    pub(super) async fn carry_out(
        &mut self,
        requested: &RecordRequest<'_>,
        rows: &mut Vec<u8>,
    ) -> Result<bool, Failure> {
        for attempt in 1..=ATTEMPTS {
            rows.clear();
            let reported = match self.attempt(requested, rows).await {
                Ok(found) => return Ok(found),
                Err(reported) => reported,
            };
            if attempt == ATTEMPTS || matches!(reported, Verdict::Failed(_)) {
                return Err(reported.failure());
            }
            if reported == Verdict::Conflict {
                tokio::time::sleep(pause(attempt, requested.request.session)).await;
            }
        }
        unreachable!("the last attempt ends it")
    }

    async fn attempt(
        &mut self,
        requested: &RecordRequest<'_>,
        rows: &mut Vec<u8>,
    ) -> Result<bool, Verdict> {
        let begun = match requested.request.kind {
            Kind::Read | Kind::Scan => self.begin(options(self.mode).read_only()).await?,
            _ => self.begin_to_write().await?,
        };
        let mut open = Open::new(begun, Remembers::Writes);
        let ended = match self.send(&mut open, requested, rows).await {
            Ok(found) if open.records.has_changes() => self.commit(&mut open).await.map(|()| found),
            ended => ended,
        };
        let is_locking = match &ended {
            // Locked, but there was nothing to change.
            Ok(_) => !open.records.has_changes(),
            Err(reported) => self.leaves_locks(&open, reported),
        };
        if is_locking {
            self.release(&mut open).await;
        }
        ended
    }

    /// Begins a transaction that may write.
    pub(super) async fn begin_to_write(&mut self) -> Result<Transaction, Verdict> {
        self.begin(options(self.mode)).await
    }

    /// Begins a transaction at a timestamp of now.
    async fn begin(&mut self, options: TransactionOptions) -> Result<Transaction, Verdict> {
        self.requests += 1;
        let begun = self.client.begin_with_options(options);
        match tokio::time::timeout(self.timeout, begun).await {
            Ok(Ok(transaction)) => Ok(transaction),
            Ok(Err(error)) => Err(verdict(&error, Doing::Preparing)),
            Err(_) => {
                let ending = Completion::Refused(Reason::Unreachable);
                Err(Failure { ending, source: FailureSource::Drivers }.into())
            }
        }
    }

    /// Runs one request in a transaction: reads, or buffers a change until the commit.
    pub(super) async fn send(
        &mut self,
        open: &mut Open,
        requested: &RecordRequest<'_>,
        rows: &mut Vec<u8>,
    ) -> Result<bool, Verdict> {
        match requested.request.kind {
            Kind::Read => self.read(open, requested, rows).await,
            Kind::Scan => self.scan(open, requested, rows).await,
            Kind::Insert | Kind::Update | Kind::Delete => self.change(open, requested).await,
            Kind::Commit | Kind::Rollback => Err(Failure::refused(Reason::Unsupported).into()),
        }
    }

    /// What the library's error means; if the regions of `keys` have moved, they are found anew
    /// first.
    async fn describe<'k>(
        &mut self,
        error: &Error,
        doing: Doing,
        keys: impl IntoIterator<Item = &'k [u8]>,
    ) -> Verdict {
        let reported = verdict(error, doing);
        if reported != Verdict::Moved {
            return reported;
        }
        for key in keys {
            self.requests += 1;
            let long_ago = Timestamp::from_version(LONG_AGO);
            let mut snapshot = self.client.snapshot(long_ago, options(self.mode));
            if let Err(error) = snapshot.get(key.to_vec()).await {
                return verdict(&error, Doing::Preparing).failure().into();
            }
        }
        Verdict::Moved
    }

    /// What the transaction sees of a record; without a request if it has seen it before.
    async fn get(
        &mut self,
        open: &mut Open,
        key: &[u8],
        doing: Doing,
    ) -> Result<Option<Vec<u8>>, Verdict> {
        if !open.records.sees(key) {
            self.requests += 1;
        }
        match open.transaction.get(key.to_vec()).await {
            Ok(found) => {
                open.records.note_read(key);
                Ok(found)
            }
            Err(error) => Err(self.describe(&error, doing, [key]).await),
        }
    }

    async fn read(
        &mut self,
        open: &mut Open,
        requested: &RecordRequest<'_>,
        rows: &mut Vec<u8>,
    ) -> Result<bool, Verdict> {
        let RecordRequest { key_prefix, request } = requested;
        let found = self.get(open, &key_prefix.key(request.key), Doing::Reading).await?;
        let Some(value) = found else { return Ok(false) };
        key_prefix.hand_out(&value, request, rows)?;
        Ok(true)
    }

    async fn scan(
        &mut self,
        open: &mut Open,
        requested: &RecordRequest<'_>,
        rows: &mut Vec<u8>,
    ) -> Result<bool, Verdict> {
        let RecordRequest { key_prefix, request } = requested;
        let mut progress = Progress::new(key_prefix, request);
        let mut is_found = false;
        while let Some(from) = progress.from() {
            let (regions, driver) = (&self.shared.regions, &self.shared.driver);
            let end = regions.end_of(from, driver).await.map_err(|error| of_driver(&error))?;
            let piece = progress.piece(end);
            self.requests += 1;
            let range = piece.from.clone()..piece.to.clone();
            let found = match open.transaction.scan(range, piece.limit).await {
                Ok(found) => found,
                Err(error) => {
                    return Err(self.describe(&error, Doing::Reading, [&*piece.from]).await);
                }
            };
            let (mut count, mut last) = (0, None);
            for pair in found {
                key_prefix.hand_out(pair.value(), request, rows)?;
                count += 1;
                let key = Vec::from(pair.into_key());
                open.records.note_read(&key);
                last = Some(key);
            }
            is_found |= count > 0;
            progress.go_on(piece, count, last);
        }
        Ok(is_found)
    }

    /// Buffers the change; tells whether there is one.
    async fn change(
        &mut self,
        open: &mut Open,
        requested: &RecordRequest<'_>,
    ) -> Result<bool, Verdict> {
        let RecordRequest { key_prefix, request } = requested;
        let key = key_prefix.key(request.key);
        let is_blind = request.kind == Kind::Insert && !open.records.sees(&key);
        let old = if is_blind { None } else { self.old(open, &key).await? };
        let new = match (request.kind, old) {
            (Kind::Insert, _) => Some(key_prefix.make(&request.values)?),
            (_, None) => return Ok(false),
            (Kind::Update, Some(old)) => Some(key_prefix.merge(&old, &request.values)?),
            (_, Some(_)) => None,
        };
        if self.mode == Mode::Pessimistic {
            // A record is locked before it is written, again if it is already.
            self.requests += LOCK_REQUESTS;
        }
        let written = match new {
            Some(new) => open.transaction.put(key.clone(), new).await,
            None => open.transaction.delete(key.clone()).await,
        };
        if let Err(error) = written {
            return Err(self.describe(&error, Doing::Preparing, [&*key]).await);
        }
        if self.mode == Mode::Pessimistic {
            open.records.note_locked(&key);
        }
        open.records.note_written(&key);
        Ok(true)
    }

    /// The record that is to be changed.
    ///
    /// One that is locked is read as it is now, which may be later than the transaction's snapshot.
    /// Who has read it before may change it only if it is still the same: else what somebody else
    /// has made of it meanwhile would be lost.
    async fn old(&mut self, open: &mut Open, key: &[u8]) -> Result<Option<Vec<u8>>, Verdict> {
        if self.mode != Mode::Pessimistic || open.records.has_written(key) {
            return self.get(open, key, Doing::Preparing).await;
        }
        let observed = match open.records.sees(key) {
            true => Some(self.get(open, key, Doing::Preparing).await?),
            false => None,
        };
        self.requests += LOCK_REQUESTS;
        let now = match open.transaction.get_for_update(key.to_vec()).await {
            Ok(now) => now,
            Err(error) => return Err(self.describe(&error, Doing::Preparing, [key]).await),
        };
        open.records.note_locked(key);
        match observed {
            Some(observed) if observed != now => Err(Verdict::Conflict),
            _ => Ok(now),
        }
    }

    /// Makes final what the transaction did.
    pub(super) async fn commit(&mut self, open: &mut Open) -> Result<(), Verdict> {
        self.requests += open.records.commit_requests();
        open.records.note_ending();
        match open.transaction.commit().await {
            Ok(_) => Ok(()),
            Err(error) => {
                Err(self.describe(&error, Doing::Writing, open.records.concerned()).await)
            }
        }
    }

    /// Whether a transaction that failed so may have left locks which ought to be given back.
    pub(super) fn leaves_locks(&self, open: &Open, reported: &Verdict) -> bool {
        let may_leave = match reported {
            // A commit that may have happened must not be rolled back; a lost server cannot be
            // reached.
            Verdict::Failed(Failure { source, ending }) => {
                *source == FailureSource::Nobodys && matches!(ending, Completion::Refused(_))
            }
            Verdict::Moved => true,
            // A prewrite of one record that met a conflict has left no lock; a lock that was taken
            // is ours.
            Verdict::Conflict => {
                self.mode == Mode::Pessimistic || open.records.concerned().count() > 1
            }
        };
        may_leave && open.records.may_be_locked()
    }

    /// Gives the locks back. If that fails, they end by themselves.
    pub(super) async fn release(&mut self, open: &mut Open) {
        if open.records.may_be_locked() {
            self.requests += 1;
            let _ = open.transaction.rollback().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_but_end() {
        assert_eq!(pause(1, 0), Duration::from_millis(1));
        assert_eq!(pause(1, 7), Duration::from_millis(4));
        assert_eq!(pause(ATTEMPTS - 1, 3), Duration::from_millis(256));
        let longest: Duration = (1..ATTEMPTS).map(|attempt| pause(attempt, 3)).sum();
        assert_eq!(longest, Duration::from_millis(508));
    }
}

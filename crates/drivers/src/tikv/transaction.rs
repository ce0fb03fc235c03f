//! What a request for a record becomes in transactions: one transaction, or several attempts at it.

mod batch;

use std::time::Duration;

use assay_model::{Kind, Reason};
use assay_store::Request;
use tikv_client::transaction::HeartbeatOption;
use tikv_client::{
    Backoff, CheckLevel, Error, RetryOptions, Snapshot, Timestamp, TimestampExt, Transaction,
    TransactionClient, TransactionOptions,
};

use super::dialer::Shared;
use super::failure::{Doing, Failure, Verdict, Whose, of_driver, verdict};
use super::link::ATTEMPTS;
use super::options::Mode;
use super::shelf::{Progress, Shelf};
use crate::task::Ending;

/// How long a lock of somebody else is waited for: 1.5 s in all, as the library does by itself.
/// A lock that nobody keeps up any more is removed after three seconds.
const WAIT_FOR_LOCKS: Backoff = Backoff::no_jitter_backoff(2, 500, 10);
/// A time before everything: what is read then meets no lock, but finds the region all the same.
const LONG_AGO: u64 = 1;
/// How many requests the library makes of a commit: prewrite, timestamp, commit.
const COMMIT_REQUESTS: u16 = 3;
/// How many it makes of a lock: timestamp, lock.
const LOCK_REQUESTS: u16 = 2;

/// How this driver's transactions are done: in two phases, each request once.
///
/// No lock is kept up beyond its three seconds (twenty if it is pessimistic): for each transaction
/// the library would start a task that sleeps for ten. One that takes longer may be undone by those
/// who wait for it; its commit is a conflict then.
pub(super) fn options(mode: Mode) -> TransactionOptions {
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

/// One request for a record on its way.
pub(super) struct Turn<'a> {
    shared: &'a Shared,
    shelf: &'a Shelf,
    client: &'a TransactionClient,
    mode: Mode,
    /// For a timestamp.
    patience: Duration,
    /// How many requests it took until now, as the protocol has it.
    pub(super) requests: u16,
}

impl<'a> Turn<'a> {
    /// Nothing was asked yet.
    pub(super) fn new(
        shared: &'a Shared,
        shelf: &'a Shelf,
        client: &'a TransactionClient,
        mode: Mode,
        patience: Duration,
    ) -> Turn<'a> {
        Turn { shared, shelf, client, mode, patience, requests: 0 }
    }

    /// Tells whether the record was there.
    pub(super) async fn carry_out(
        &mut self,
        request: &Request<'_>,
        rows: &mut Vec<u8>,
    ) -> Result<bool, Failure> {
        for attempt in 1..=ATTEMPTS {
            rows.clear();
            let told = match self.attempt(request, rows).await {
                Ok(found) => return Ok(found),
                Err(told) => told,
            };
            if attempt == ATTEMPTS || matches!(told, Verdict::Failed(_)) {
                return Err(told.failure());
            }
            if told == Verdict::Conflict {
                tokio::time::sleep(pause(attempt, request.session)).await;
            }
        }
        unreachable!("the last attempt ends it")
    }

    async fn attempt(
        &mut self,
        request: &Request<'_>,
        rows: &mut Vec<u8>,
    ) -> Result<bool, Verdict> {
        match request.kind {
            Kind::Read => self.read(request, rows).await,
            Kind::Scan => self.scan(request, rows).await,
            Kind::Insert | Kind::Update | Kind::Delete => self.write(request).await,
            Kind::Commit | Kind::Rollback => Err(Failure::refused(Reason::Unsupported).into()),
        }
    }

    /// A timestamp of now, with which a transaction begins.
    async fn now(&mut self) -> Result<Timestamp, Verdict> {
        self.requests += 1;
        let told = tokio::time::timeout(self.patience, self.client.current_timestamp()).await;
        match told {
            Ok(Ok(timestamp)) => Ok(timestamp),
            Ok(Err(error)) => Err(verdict(&error, Doing::Preparing)),
            Err(_) => {
                let ending = Ending::Refused(Reason::Unreachable);
                Err(Failure { ending, whose: Whose::Drivers }.into())
            }
        }
    }

    fn snapshot(&self, timestamp: Timestamp) -> Snapshot {
        self.client.snapshot(timestamp, options(self.mode))
    }

    /// What the library's error means; if the region has moved, it is found anew first.
    async fn told(&mut self, error: &Error, doing: Doing, key: &[u8]) -> Verdict {
        let told = verdict(error, doing);
        if told != Verdict::Moved {
            return told;
        }
        self.requests += 1;
        let looked = self.snapshot(Timestamp::from_version(LONG_AGO)).get(key.to_vec()).await;
        match looked {
            Ok(_) => Verdict::Moved,
            Err(error) => verdict(&error, Doing::Preparing).failure().into(),
        }
    }

    async fn read(&mut self, request: &Request<'_>, rows: &mut Vec<u8>) -> Result<bool, Verdict> {
        let key = self.shelf.key(request.key);
        let now = self.now().await?;
        let mut snapshot = self.snapshot(now);
        self.requests += 1;
        match snapshot.get(key.clone()).await {
            Ok(None) => Ok(false),
            Ok(Some(value)) => {
                self.shelf.hand_out(&value, request, rows)?;
                Ok(true)
            }
            Err(error) => Err(self.told(&error, Doing::Reading, &key).await),
        }
    }

    async fn scan(&mut self, request: &Request<'_>, rows: &mut Vec<u8>) -> Result<bool, Verdict> {
        let now = self.now().await?;
        let mut snapshot = self.snapshot(now);
        let mut progress = Progress::new(self.shelf, request);
        let mut is_found = false;
        while let Some(from) = progress.from() {
            let (regions, driver) = (&self.shared.regions, &self.shared.driver);
            let end = regions.end_of(from, driver).await.map_err(|error| of_driver(&error))?;
            let piece = progress.piece(end);
            self.requests += 1;
            let range = piece.from.clone()..piece.to.clone();
            let found = match snapshot.scan(range, piece.limit).await {
                Ok(found) => found,
                Err(error) => return Err(self.told(&error, Doing::Reading, &piece.from).await),
            };
            let (mut count, mut last) = (0, None);
            for pair in found {
                self.shelf.hand_out(pair.value(), request, rows)?;
                count += 1;
                last = Some(Vec::from(pair.into_key()));
            }
            is_found |= count > 0;
            progress.go_on(piece, count, last);
        }
        Ok(is_found)
    }

    /// One transaction that writes a record, or finds that there is none to change.
    async fn write(&mut self, request: &Request<'_>) -> Result<bool, Verdict> {
        let key = self.shelf.key(request.key);
        self.transact(&key, 1, async |turn, transaction| {
            turn.change(transaction, &key, request).await
        })
        .await
    }

    /// One transaction that does what `change` does to `count` keys, `key` among them; it tells
    /// whether anything is to be committed.
    async fn transact(
        &mut self,
        key: &[u8],
        count: usize,
        change: impl AsyncFnOnce(&mut Self, &mut Transaction) -> Result<bool, Verdict>,
    ) -> Result<bool, Verdict> {
        let patience = self.patience;
        self.requests += 1;
        let begun = self.client.begin_with_options(options(self.mode));
        let mut transaction = match tokio::time::timeout(patience, begun).await {
            Ok(Ok(transaction)) => transaction,
            Ok(Err(error)) => return Err(verdict(&error, Doing::Preparing)),
            Err(_) => {
                let ending = Ending::Refused(Reason::Unreachable);
                return Err(Failure { ending, whose: Whose::Drivers }.into());
            }
        };
        let ended = match change(self, &mut transaction).await {
            Ok(true) => self.commit(&mut transaction, key).await.map(|()| true),
            // Nothing was changed.
            Ok(false) => Ok(false),
            Err(told) => Err(told),
        };
        let is_settled = match ended {
            Ok(is_changed) => is_changed,
            // What may have been done is not to be undone.
            Err(Verdict::Failed(Failure { whose, ending })) => {
                whose != Whose::Nobodys || matches!(ending, Ending::Unknown(_))
            }
            Err(Verdict::Moved) => false,
            // A prewrite that met a conflict has left no lock on that key, but perhaps on others; a
            // lock that was taken is ours.
            Err(Verdict::Conflict) => self.mode != Mode::Pessimistic && count == 1,
        };
        if !is_settled {
            self.release(&mut transaction).await;
        }
        ended
    }

    /// Buffers the change; tells whether there is one.
    async fn change(
        &mut self,
        transaction: &mut Transaction,
        key: &[u8],
        request: &Request<'_>,
    ) -> Result<bool, Verdict> {
        if request.kind == Kind::Insert {
            return self.put(transaction, key, self.shelf.make(&request.values)?).await;
        }
        let found = match self.mode {
            Mode::Pessimistic => {
                self.requests += LOCK_REQUESTS;
                transaction.get_for_update(key.to_vec()).await
            }
            Mode::Optimistic | Mode::Raw => {
                self.requests += 1;
                transaction.get(key.to_vec()).await
            }
        };
        let found = match found {
            Ok(found) => found,
            Err(error) => return Err(self.told(&error, Doing::Preparing, key).await),
        };
        let Some(old) = found else { return Ok(false) };
        if request.kind == Kind::Update {
            let new = self.shelf.merge(&old, &request.values)?;
            return self.put(transaction, key, new).await;
        }
        self.count_lock();
        match transaction.delete(key.to_vec()).await {
            Ok(()) => Ok(true),
            Err(error) => Err(self.told(&error, Doing::Preparing, key).await),
        }
    }

    async fn put(
        &mut self,
        transaction: &mut Transaction,
        key: &[u8],
        value: Vec<u8>,
    ) -> Result<bool, Verdict> {
        self.count_lock();
        match transaction.put(key.to_vec(), value).await {
            Ok(()) => Ok(true),
            Err(error) => Err(self.told(&error, Doing::Preparing, key).await),
        }
    }

    /// A record is locked before it is written, again if it is already.
    fn count_lock(&mut self) {
        if self.mode == Mode::Pessimistic {
            self.requests += LOCK_REQUESTS;
        }
    }

    async fn commit(&mut self, transaction: &mut Transaction, key: &[u8]) -> Result<(), Verdict> {
        self.requests += COMMIT_REQUESTS;
        match transaction.commit().await {
            Ok(_) => Ok(()),
            Err(error) => Err(self.told(&error, Doing::Writing, key).await),
        }
    }

    /// Gives the locks back. If that fails, they end by themselves.
    async fn release(&mut self, transaction: &mut Transaction) {
        if self.mode == Mode::Pessimistic {
            self.requests += 1;
        }
        let _ = transaction.rollback().await;
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

//! Several requests for records as one transaction.

use tikv_client::transaction::Mutation;
use tikv_client::{Timestamp, TimestampExt};

use super::{LONG_AGO, Turn, pause};
use crate::task::{Outcome, RecordJob};
use crate::tikv::batch::{Batch, Pair};
use crate::tikv::failure::{Doing, Failure, Verdict, verdict};
use crate::tikv::link::ATTEMPTS;
use crate::tikv::options::Mode;

impl Turn<'_> {
    /// Carries out a batch. What cannot be asked is refused, and the others are asked without it.
    pub(in crate::tikv) async fn carry_out_batch(
        &mut self,
        job: &mut RecordJob,
        rows: &mut Vec<u8>,
    ) -> Result<bool, Failure> {
        // Inserts need not know what is there, so nothing is locked first. After a failure part of
        // a batch may be prewritten, and the library would only undo a pessimistic one's locks of
        // the time before that.
        self.mode = Mode::Optimistic;
        let batch = Batch::new(self.shelf, &job.batch);
        let mut attempt = 1;
        loop {
            let attempted = match batch.is_insert() {
                true => self.put_all(batch).await,
                false => self.get_all(batch, rows).await,
            };
            match attempted {
                Ok(outcomes) => {
                    job.outcomes = outcomes;
                    return Ok(true);
                }
                Err(told) if attempt == ATTEMPTS => return Err(told.failure()),
                Err(Verdict::Failed(failure)) => return Err(failure),
                Err(Verdict::Conflict) => {
                    tokio::time::sleep(pause(attempt, batch.session())).await;
                }
                Err(Verdict::Moved) => self.find_again(batch).await?,
            }
            attempt += 1;
        }
    }

    /// Finds the regions of all keys.
    async fn find_again(&mut self, batch: Batch<'_>) -> Result<(), Failure> {
        self.requests += 1;
        let mut snapshot = self.snapshot(Timestamp::from_version(LONG_AGO));
        match snapshot.batch_get(batch.keys()).await {
            Ok(_) => Ok(()),
            Err(error) => match verdict(&error, Doing::Preparing) {
                Verdict::Moved => Ok(()),
                told => Err(told.failure()),
            },
        }
    }

    async fn put_all(&mut self, batch: Batch<'_>) -> Result<Vec<Outcome>, Verdict> {
        let (pairs, outcomes) = batch.records();
        let Some((first, _)) = pairs.first() else { return Ok(outcomes) };
        let (first, count) = (first.clone(), pairs.len());
        self.transact(&first, count, async |_, transaction| {
            let puts = pairs.into_iter().map(|(key, value): Pair| Mutation::Put(key.into(), value));
            match transaction.batch_mutate(puts).await {
                Ok(()) => Ok(true),
                Err(error) => Err(verdict(&error, Doing::Preparing)),
            }
        })
        .await?;
        Ok(outcomes)
    }

    async fn get_all(
        &mut self,
        batch: Batch<'_>,
        rows: &mut Vec<u8>,
    ) -> Result<Vec<Outcome>, Verdict> {
        let now = self.now().await?;
        let mut snapshot = self.snapshot(now);
        self.requests += 1;
        match snapshot.batch_get(batch.keys()).await {
            Ok(found) => Ok(batch.hand_out(found, rows)),
            Err(error) => Err(verdict(&error, Doing::Reading)),
        }
    }
}

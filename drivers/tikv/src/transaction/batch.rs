//! Several requests for records as one transaction.

use tikv_client::transaction::Mutation;

use super::{Open, Remembers, Turn, options, pause};
use crate::batch::{Batch, Pair};
use crate::failure::{ATTEMPTS, Doing, Failure, Verdict};
use crate::key_prefix::KeyPrefix;
use crate::options::Mode;
use assay_driver_kit::task::{BatchOutcome, RecordJob};

impl Turn<'_> {
    /// Carries out a batch of records on `key_prefix`. An invalid part is refused, and the others
    /// are sent without it.
    pub(crate) async fn carry_out_batch(
        &mut self,
        key_prefix: &KeyPrefix,
        job: &mut RecordJob,
        rows: &mut Vec<u8>,
    ) -> Result<bool, Failure> {
        // Inserts need not know what is there, so nothing is locked first. After a failure part of
        // a batch may be prewritten, and the library would only undo a pessimistic one's locks of
        // the time before that.
        self.mode = Mode::Optimistic;
        let batch = Batch::new(key_prefix, &job.batch);
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
                Err(reported) if attempt == ATTEMPTS => return Err(reported.failure()),
                Err(Verdict::Failed(failure)) => return Err(failure),
                Err(Verdict::Conflict) => {
                    tokio::time::sleep(pause(attempt, batch.session())).await;
                }
                Err(Verdict::Moved) => {}
            }
            attempt += 1;
        }
    }

    async fn put_all(&mut self, batch: Batch<'_>) -> Result<Vec<BatchOutcome>, Verdict> {
        let (pairs, outcomes) = batch.records();
        if pairs.is_empty() {
            return Ok(outcomes);
        }
        let mut open = Open::new(self.begin_to_write().await?, Remembers::Writes);
        let written = self.write_all(&mut open, pairs).await;
        if let Err(reported) = &written
            && self.leaves_locks(&open, reported)
        {
            self.release(&mut open).await;
        }
        written.map(|()| outcomes)
    }

    async fn write_all(&mut self, open: &mut Open, pairs: Vec<Pair>) -> Result<(), Verdict> {
        pairs.iter().for_each(|(key, _)| open.records.note_written(key));
        let puts = pairs.into_iter().map(|(key, value): Pair| Mutation::Put(key.into(), value));
        if let Err(error) = open.transaction.batch_mutate(puts).await {
            return Err(self.describe(&error, Doing::Preparing, open.records.concerned()).await);
        }
        self.commit(open).await
    }

    async fn get_all(
        &mut self,
        batch: Batch<'_>,
        rows: &mut Vec<u8>,
    ) -> Result<Vec<BatchOutcome>, Verdict> {
        let mut transaction = self.begin(options(self.mode).read_only()).await?;
        self.requests += 1;
        match transaction.batch_get(batch.keys()).await {
            Ok(found) => Ok(batch.hand_out(found, rows)),
            Err(error) => {
                let keys = batch.keys();
                Err(self.describe(&error, Doing::Reading, keys.iter().map(Vec::as_slice)).await)
            }
        }
    }
}

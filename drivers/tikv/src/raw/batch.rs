//! Several requests for records as one to each region, in raw mode.

use tikv_client::Error;

use super::Turn;
use crate::batch::Batch;
use crate::failure::{ATTEMPTS, Doing, Failure, Verdict, verdict};
use assay_driver_kit::task::{BatchOutcome, Completion, RecordJob};

impl Turn<'_> {
    /// Carries out a batch, by one request to each region that has some of it.
    pub(crate) async fn carry_out_batch(
        &mut self,
        job: &mut RecordJob,
        rows: &mut Vec<u8>,
    ) -> Result<bool, Failure> {
        let batch = Batch::new(self.key_prefix, &job.batch);
        job.outcomes = match batch.is_insert() {
            true => self.put_all(batch).await?,
            false => self.get_all(batch, rows).await?,
        };
        Ok(true)
    }

    async fn put_all(&mut self, batch: Batch<'_>) -> Result<Vec<BatchOutcome>, Failure> {
        let (pairs, outcomes) = batch.records();
        if pairs.is_empty() {
            return Ok(outcomes);
        }
        self.requests += 1;
        match self.swift.batch_put(pairs).await {
            Ok(()) => Ok(outcomes),
            Err(error) => Err(self.open(&error, batch).await),
        }
    }

    /// What a failure of a write means that goes to each region by itself: what one of them refuses
    /// may be done in another.
    async fn open(&mut self, error: &Error, batch: Batch<'_>) -> Failure {
        let reported = verdict(error, Doing::Writing);
        if reported == Verdict::Moved {
            // It is not retried, but later requests find the regions.
            self.requests += 1;
            let _ = self.patient.batch_get(batch.keys()).await;
        }
        may_be_done(reported.failure())
    }

    /// Sends the request, and again after the regions were looked up anew if one was elsewhere.
    async fn get_all(
        &mut self,
        batch: Batch<'_>,
        rows: &mut Vec<u8>,
    ) -> Result<Vec<BatchOutcome>, Failure> {
        loop {
            self.requests += 1;
            let reported = match self.swift.batch_get(batch.keys()).await {
                Ok(found) => return Ok(batch.hand_out(found, rows)),
                Err(error) => verdict(&error, Doing::Reading),
            };
            if reported != Verdict::Moved || self.attempts == ATTEMPTS {
                return Err(reported.failure());
            }
            self.attempts += 1;
            self.requests += 1;
            let looked = self.patient.batch_get(batch.keys()).await;
            looked.map_err(|error| verdict(&error, Doing::Preparing).failure())?;
        }
    }
}

/// A failure of a part, as that of all of it.
fn may_be_done(part: Failure) -> Failure {
    match part.ending {
        Completion::Refused(reason) => Failure { ending: Completion::Unknown(reason), ..part },
        Completion::Unknown(_) | Completion::Done { .. } => part,
    }
}

#[cfg(test)]
mod tests {
    use assay_model::Reason;

    use super::*;

    #[test]
    fn what_a_region_refuses_may_be_done_in_another() {
        for reason in [Reason::Malformed, Reason::Busy, Reason::Full, Reason::Unreachable] {
            let ending = may_be_done(Failure::refused(reason)).ending;
            assert_eq!(ending, Completion::Unknown(reason));
        }
    }
}

//! Requests for records in raw mode: one request to TiKV each, or several.

mod batch;

use assay_model::{Kind, Reason};
use assay_store::Request;
use tikv_client::{Error, RawClient};

use super::connector::Shared;
use super::failure::{ATTEMPTS, Doing, Failure, Verdict, of_driver, verdict};
use super::key_prefix::{KeyPrefix, Progress};
use super::options::Update;

/// One request for a record on its way.
pub(super) struct Turn<'a> {
    shared: &'a Shared,
    key_prefix: &'a KeyPrefix,
    /// Sends the request once.
    swift: &'a RawClient,
    /// Looks for the region of a key.
    patient: &'a RawClient,
    update: Update,
    /// How many requests it took until now.
    pub(super) requests: u16,
    attempts: u16,
}

impl<'a> Turn<'a> {
    /// No request was sent yet.
    pub(super) fn new(
        shared: &'a Shared,
        key_prefix: &'a KeyPrefix,
        swift: &'a RawClient,
        patient: &'a RawClient,
        update: Update,
    ) -> Turn<'a> {
        Turn { shared, key_prefix, swift, patient, update, requests: 0, attempts: 1 }
    }

    /// Tells whether the record was there.
    pub(super) async fn carry_out(
        &mut self,
        request: &Request<'_>,
        rows: &mut Vec<u8>,
    ) -> Result<bool, Failure> {
        let key = self.key_prefix.key(request.key);
        match request.kind {
            Kind::Read => match self.get(&key, Doing::Reading).await? {
                None => Ok(false),
                Some(value) => {
                    self.key_prefix.hand_out(&value, request, rows)?;
                    Ok(true)
                }
            },
            Kind::Scan => self.scan(request, rows).await,
            Kind::Insert => {
                self.put(&key, self.key_prefix.make(&request.values)?).await?;
                Ok(true)
            }
            Kind::Update => self.update(&key, request).await,
            Kind::Delete => self.delete(&key).await,
            Kind::Commit | Kind::Rollback => Err(Failure::refused(Reason::Unsupported)),
        }
    }

    /// Sends the request, and again after the region of `key` was looked up anew if it was
    /// elsewhere.
    async fn send<T>(
        &mut self,
        key: &[u8],
        doing: Doing,
        act: impl AsyncFn(&RawClient) -> Result<T, Error>,
    ) -> Result<T, Failure> {
        loop {
            self.requests += 1;
            let reported = match act(self.swift).await {
                Ok(answer) => return Ok(answer),
                Err(error) => verdict(&error, doing),
            };
            if reported != Verdict::Moved || self.attempts == ATTEMPTS {
                return Err(reported.failure());
            }
            self.attempts += 1;
            self.requests += 1;
            // It does not matter what is there, only where.
            let looked = self.patient.get(key.to_vec()).await;
            looked.map_err(|error| verdict(&error, Doing::Preparing).failure())?;
        }
    }

    async fn get(&mut self, key: &[u8], doing: Doing) -> Result<Option<Vec<u8>>, Failure> {
        self.send(key, doing, async |client| client.get(key.to_vec()).await).await
    }

    async fn put(&mut self, key: &[u8], value: Vec<u8>) -> Result<(), Failure> {
        let put = async |client: &RawClient| client.put(key.to_vec(), value.clone()).await;
        self.send(key, Doing::Writing, put).await
    }

    async fn update(&mut self, key: &[u8], request: &Request<'_>) -> Result<bool, Failure> {
        let mut found = self.get(key, Doing::Preparing).await?;
        loop {
            let Some(old) = found else { return Ok(false) };
            let new = self.key_prefix.merge(&old, &request.values)?;
            if self.update == Update::Put {
                self.put(key, new).await?;
                return Ok(true);
            }
            let swap = async |client: &RawClient| {
                client.compare_and_swap(key.to_vec(), Some(old.clone()), new.clone()).await
            };
            let (newer, is_swapped) = self.send(key, Doing::Writing, swap).await?;
            if is_swapped {
                return Ok(true);
            }
            if self.attempts == ATTEMPTS {
                return Err(Failure::refused(Reason::Conflict));
            }
            self.attempts += 1;
            found = newer;
        }
    }

    async fn delete(&mut self, key: &[u8]) -> Result<bool, Failure> {
        // TiKV does not tell whether anything was there.
        if self.get(key, Doing::Preparing).await?.is_none() {
            return Ok(false);
        }
        let delete = async |client: &RawClient| client.delete(key.to_vec()).await;
        self.send(key, Doing::Writing, delete).await?;
        Ok(true)
    }

    async fn scan(&mut self, request: &Request<'_>, rows: &mut Vec<u8>) -> Result<bool, Failure> {
        let mut progress = Progress::new(self.key_prefix, request);
        let mut is_found = false;
        while let Some(from) = progress.from() {
            let (regions, driver) = (&self.shared.regions, &self.shared.driver);
            let end = regions.end_of(from, driver).await.map_err(|error| of_driver(&error))?;
            let piece = progress.piece(end);
            let scan = async |client: &RawClient| {
                let range = piece.from.clone()..piece.to.clone();
                client.batch_scan([range], piece.limit).await
            };
            let mut found = self.send(&piece.from, Doing::Reading, scan).await?;
            // As many from each region, if it has split meanwhile.
            found.truncate(piece.limit as usize);
            for pair in &found {
                self.key_prefix.hand_out(pair.value(), request, rows)?;
            }
            is_found |= !found.is_empty();
            let last = found.last().map(|pair| Vec::from(pair.key().clone()));
            progress.go_on(piece, found.len() as u32, last);
        }
        Ok(is_found)
    }
}

//! Client of a bucket: a part is sent, fetched, found.

use std::error::Error as _;
use std::fs::{self, File};
use std::future::{Future, poll_fn};
use std::io::{Read, Write};
use std::path::Path;
use std::pin::pin;
use std::time::Duration;

use bytes::Bytes;
use object_store::aws::{AmazonS3, AmazonS3Builder, AmazonS3ConfigKey};
use object_store::client::ClientConfigKey;
use object_store::path::Path as Key;
use object_store::{
    BackoffConfig, Error, ObjectStore, ObjectStoreExt, RetryConfig, WriteMultipart,
};
use ring::digest::{Context, SHA256};
use tokio::runtime::Runtime;
use tokio::time::timeout;

use super::{BucketError, LISTING, parsed, within};
use crate::gather::{deliveries, digits, inner, sha256};
use crate::protocol::Delivery;

/// Bytes of a larger file are sent in pieces, of which each is sent again if it fails.
const PIECE: usize = 8 << 20;
/// The most pieces that an object may have.
const PIECES_MAX: u64 = 10_000;
/// Pieces on the way at once.
const PIECES_AT_ONCE: usize = 4;
/// How long one request may take.
const REQUEST_TIMEOUT: &str = "5min";
/// How often it is looked whether it is still wanted.
const LOOK: Duration = Duration::from_millis(100);
/// The longest pause between two attempts.
const PAUSE_MAX: Duration = Duration::from_secs(5);
/// The address that hands out credentials on a machine of AWS; anywhere else nobody is there.
const METADATA: &str = "169.254.169.254";
/// Codes of a server that does not let us.
const DENIALS: [&str; 7] = [
    "AccessDenied",
    "ExpiredToken",
    "InvalidAccessKeyId",
    "InvalidToken",
    "SignatureDoesNotMatch",
    "401 Unauthorized",
    "403 Forbidden",
];
/// The server, if no variable names another one.
const AWS: &str = "AWS";

/// A folder of a bucket.
#[derive(Debug)]
pub struct Bucket {
    url: String,
    bucket: String,
    prefix: Key,
    endpoint: String,
    store: AmazonS3,
    runtime: Runtime,
}

impl Bucket {
    /// The folder `url`, with server and credentials from the variables `AWS_…`; whatever fails is
    /// tried again for up to `patience`.
    ///
    /// # Errors
    /// If the address or a variable is invalid.
    pub fn open(url: &str, patience: Duration) -> Result<Bucket, BucketError> {
        let (bucket, prefix) = parsed(url)?;
        // The client takes the process's cryptography; whoever was first has chosen the same.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let builder = AmazonS3Builder::from_env().with_bucket_name(bucket);
        let key = AmazonS3ConfigKey::Client(ClientConfigKey::Timeout);
        let builder = match builder.get_config_value(&key) {
            None => builder.with_config(key, REQUEST_TIMEOUT),
            Some(_) => builder,
        };
        let named = [AmazonS3ConfigKey::S3Endpoint, AmazonS3ConfigKey::Endpoint];
        let endpoint = named.iter().find_map(|key| builder.get_config_value(key));
        let retry = RetryConfig {
            backoff: BackoffConfig { max_backoff: PAUSE_MAX, ..BackoffConfig::default() },
            max_retries: usize::MAX,
            retry_timeout: patience,
        };
        let endpoint = endpoint.unwrap_or_else(|| AWS.to_owned());
        let unreachable = |reason: String| BucketError::Unreachable {
            bucket: bucket.to_owned(),
            endpoint: endpoint.clone(),
            reason,
        };
        let store = builder.with_retry(retry).build().map_err(|e| unreachable(chain(&e)))?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| unreachable(error.to_string()))?;
        let prefix = Key::parse(prefix).unwrap_or_else(|_| Key::from(prefix));
        let (url, bucket) = (url.to_owned(), bucket.to_owned());
        Ok(Bucket { url, bucket, prefix, endpoint, store, runtime })
    }

    /// Lists the folder, writes a small object, reads it: what will be needed when the load is
    /// over is denied before it begins.
    ///
    /// # Errors
    /// If one of them fails.
    pub fn require_access(&self, name: &str) -> Result<(), BucketError> {
        let key = self.prefix.clone().join(name);
        let access = async {
            self.store.list_with_delimiter(Some(&self.prefix)).await?;
            self.store.put(&key, Bytes::from_static(b"assay").into()).await?;
            self.store.get(&key).await?.bytes().await.map(drop)
        };
        self.runtime.block_on(access).map_err(|error| self.explained(&error))
    }

    /// Sends all files below `dir`, then their list, as long as `is_wanted`.
    ///
    /// # Errors
    /// If a file cannot be read, or one does not come.
    pub fn send(&self, dir: &Path, is_wanted: &dyn Fn() -> bool) -> Result<(), BucketError> {
        let files = deliveries(dir).map_err(|error| of_file(dir, error))?;
        let listing = serde_json::to_vec(&files).unwrap_or_default();
        for file in &files {
            self.work(self.send_file(&dir.join(&file.path), file), is_wanted)?;
        }
        let key = self.prefix.clone().join(LISTING);
        let send = async {
            let sent = self.store.put(&key, Bytes::from(listing).into()).await;
            sent.map(drop).map_err(|error| self.explained(&error))
        };
        self.work(send, is_wanted)
    }

    async fn send_file(&self, path: &Path, named: &Delivery) -> Result<(), BucketError> {
        let key = self.key(&named.path)?;
        let failed = |error: Error| self.explained(&error);
        let mut file = File::open(path).map_err(|error| of_file(path, error))?;
        let size = PIECE.max(named.bytes.div_ceil(PIECES_MAX) as usize);
        let mut piece = read_piece(&mut file, size).map_err(|error| of_file(path, error))?;
        if named.bytes <= size as u64 {
            return self.store.put(&key, piece.into()).await.map(drop).map_err(failed);
        }
        let upload = self.store.put_multipart(&key).await.map_err(failed)?;
        let mut upload = WriteMultipart::new_with_chunk_size(upload, size);
        while !piece.is_empty() {
            upload.put(piece);
            upload.wait_for_capacity(PIECES_AT_ONCE).await.map_err(failed)?;
            piece = read_piece(&mut file, size).map_err(|error| of_file(path, error))?;
        }
        upload.finish().await.map(drop).map_err(failed)
    }

    /// Fetches all files of the part into `dir`, as long as `is_wanted`; those that are there
    /// already are not fetched again.
    ///
    /// # Errors
    /// If there is no part, one of its objects does not come, or is not what was sent.
    pub fn fetch(&self, dir: &Path, is_wanted: &dyn Fn() -> bool) -> Result<(), BucketError> {
        for file in &self.work(self.listing(), is_wanted)? {
            let path = dir.join(inner(&file.path).map_err(|error| self.damaged(LISTING, error))?);
            let is_here = || sha256(&path).is_ok_and(|found| found == file.sha256);
            if !is_here() {
                self.work(self.fetch_file(&path, file), is_wanted)?;
            }
        }
        Ok(())
    }

    async fn listing(&self) -> Result<Vec<Delivery>, BucketError> {
        let read = async {
            let key = self.prefix.clone().join(LISTING);
            self.store.get(&key).await?.bytes().await
        };
        let text = read.await.map_err(|error| match self.explained(&error) {
            BucketError::Damaged { .. } => BucketError::NoPart(self.url.clone()),
            other => other,
        })?;
        serde_json::from_slice(&text).map_err(|error| self.damaged(LISTING, error.to_string()))
    }

    async fn fetch_file(&self, path: &Path, named: &Delivery) -> Result<(), BucketError> {
        let key = self.key(&named.path)?;
        let failed = |error: Error| self.explained(&error);
        let folder = path.parent().unwrap_or(path);
        fs::create_dir_all(folder).map_err(|error| of_file(folder, error))?;
        let mut file = File::create(path).map_err(|error| of_file(path, error))?;
        let object = self.store.get(&key).await.map_err(failed)?;
        let (mut hash, mut bytes) = (Context::new(&SHA256), 0);
        // A stream that is cut goes on where it was.
        let mut pieces = object.into_stream();
        while let Some(piece) = poll_fn(|context| pieces.as_mut().poll_next(context)).await {
            let piece = piece.map_err(failed)?;
            file.write_all(&piece).map_err(|error| of_file(path, error))?;
            hash.update(&piece);
            bytes += piece.len() as u64;
        }
        if bytes != named.bytes {
            let reason = format!("it has {bytes} bytes, {} were sent", named.bytes);
            return Err(self.damaged(&named.path, reason));
        }
        match digits(hash.finish().as_ref()) == named.sha256 {
            true => Ok(()),
            false => Err(self.damaged(&named.path, "its SHA-256 is another one".to_owned())),
        }
    }

    /// The addresses of the parts: of this one, or of those in the folder.
    ///
    /// # Errors
    /// If there is none, or the folder cannot be listed.
    pub fn parts(&self) -> Result<Vec<String>, BucketError> {
        let is_there = |prefix: &Key| {
            let found = self.runtime.block_on(self.store.head(&prefix.clone().join(LISTING)));
            match found {
                Ok(_) => Ok(true),
                Err(Error::NotFound { .. }) => Ok(false),
                Err(error) => Err(self.explained(&error)),
            }
        };
        let listed = self.runtime.block_on(self.store.list_with_delimiter(Some(&self.prefix)));
        let listed = listed.map_err(|error| self.explained(&error))?;
        if is_there(&self.prefix)? {
            return Ok(vec![self.url.clone()]);
        }
        let mut parts = Vec::new();
        for folder in listed.common_prefixes {
            if is_there(&folder)? {
                parts.push(within(&self.url, folder.filename().unwrap_or_default()));
            }
        }
        match parts.is_empty() {
            true => Err(BucketError::NoPart(self.url.clone())),
            false => Ok(parts),
        }
    }

    /// Does `work` to its end, or as long as `is_wanted`.
    fn work<T>(
        &self,
        work: impl Future<Output = Result<T, BucketError>>,
        is_wanted: &dyn Fn() -> bool,
    ) -> Result<T, BucketError> {
        self.runtime.block_on(async {
            let mut work = pin!(work);
            loop {
                match timeout(LOOK, &mut work).await {
                    Ok(done) => return done,
                    Err(_) if is_wanted() => {}
                    Err(_) => return Err(BucketError::Ended),
                }
            }
        })
    }

    fn key(&self, path: &str) -> Result<Key, BucketError> {
        let path = Key::parse(path).map_err(|error| self.damaged(path, error.to_string()))?;
        Ok(self.prefix.parts().chain(path.parts()).collect())
    }

    fn damaged(&self, object: &str, reason: String) -> BucketError {
        let object = within(&self.url, object);
        BucketError::Damaged { bucket: self.bucket.clone(), object, reason }
    }

    /// What an error of the library means.
    fn explained(&self, error: &Error) -> BucketError {
        let (bucket, endpoint) = (self.bucket.clone(), self.endpoint.clone());
        let text = chain(error);
        if text.contains(METADATA) {
            return BucketError::NoCredentials { bucket, reason: brief(&text) };
        }
        match error {
            _ if text.contains("NoSuchBucket") => BucketError::Missing { bucket, endpoint },
            Error::PermissionDenied { .. } | Error::Unauthenticated { .. } => {
                BucketError::Denied { bucket, endpoint, reason: brief(&text) }
            }
            // Of a list, the library does not tell them apart.
            _ if DENIALS.iter().any(|code| text.contains(code)) => {
                BucketError::Denied { bucket, endpoint, reason: brief(&text) }
            }
            Error::NotFound { path, .. } => BucketError::Damaged {
                bucket,
                object: path.clone(),
                reason: "it is not there".to_owned(),
            },
            _ => BucketError::Unreachable { bucket, endpoint, reason: brief(&text) },
        }
    }
}

/// Up to `size` bytes, fewer at the end of the file.
fn read_piece(file: &mut File, size: usize) -> std::io::Result<Bytes> {
    let mut piece = Vec::new();
    file.take(size as u64).read_to_end(&mut piece)?;
    Ok(piece.into())
}

fn of_file(path: &Path, source: std::io::Error) -> BucketError {
    BucketError::File { path: path.display().to_string(), source }
}

/// An error with all its causes.
fn chain(error: &Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(deeper) = cause {
        let deeper_text = deeper.to_string();
        if !text.contains(&deeper_text) {
            text = format!("{text}: {deeper_text}");
        }
        cause = deeper.source();
    }
    text
}

/// What is worth reading of an error: the server's code, if it has sent one, else the last cause.
fn brief(text: &str) -> String {
    let between = |open: &str, close: &str| {
        let rest = text.split_once(open)?.1;
        Some(rest.split_once(close)?.0.trim().to_owned())
    };
    let code = between("<Code>", "</Code>").filter(|code| !code.is_empty());
    let message = between("<Message>", "</Message>").filter(|message| !message.is_empty());
    match (code, message) {
        (Some(code), Some(message)) => format!("{code}: {message}"),
        (Some(code), None) => code,
        (None, _) => text.split_once(" error: ").map_or(text, |(_, rest)| rest).to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_an_error_the_servers_words_are_shown() {
        let text = "Generic S3 error: status 403: <Error><Code>InvalidAccessKeyId</Code>\
                    <Message>No such key.</Message></Error>";
        assert_eq!(brief(text), "InvalidAccessKeyId: No such key.");
        assert_eq!(brief("Generic S3 error: connection refused"), "connection refused");
    }
}

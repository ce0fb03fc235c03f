//! Buckets of an object store that speaks S3: agents put their parts there, others fetch them.
//!
//! A part is a folder with the files of an agent's run directory and the list [`LISTING`] of them
//! with bytes and SHA-256, which is written last: a folder without it is no part.

#[cfg(feature = "s3")]
mod client;
#[cfg(not(feature = "s3"))]
mod without;

use std::io;

#[cfg(feature = "s3")]
pub use client::Bucket;
#[cfg(not(feature = "s3"))]
pub use without::Bucket;

/// The scheme of a bucket's address.
pub const SCHEME: &str = "s3://";
/// The list of a part's files.
pub const LISTING: &str = "part.json";

/// Something in a bucket cannot be written or read.
#[derive(Debug, thiserror::Error)]
pub enum BucketError {
    /// This build cannot.
    #[error(
        "{0}: this build has no object storage; build it with `--features s3`, which \
         `all-but-rocksdb` and `all-stores` include"
    )]
    NotBuilt(String),
    /// The address is none.
    #[error("{0:?} is no bucket: write s3://BUCKET or s3://BUCKET/PREFIX")]
    Url(String),
    /// There is no such bucket.
    #[error(
        "there is no bucket {bucket} at {endpoint}: make it, or name another one; \
         AWS_ENDPOINT_URL names another server"
    )]
    Missing {
        /// The bucket.
        bucket: String,
        /// The server.
        endpoint: String,
    },
    /// The server does not let us.
    #[error(
        "bucket {bucket} at {endpoint}: permission denied ({reason}); AWS_ACCESS_KEY_ID and \
         AWS_SECRET_ACCESS_KEY, of the coordinator and of every agent, must be of somebody who \
         may list, read and write there"
    )]
    Denied {
        /// The bucket.
        bucket: String,
        /// The server.
        endpoint: String,
        /// What it said.
        reason: String,
    },
    /// There are no credentials.
    #[error(
        "bucket {bucket}: there are no credentials ({reason}); set AWS_ACCESS_KEY_ID and \
         AWS_SECRET_ACCESS_KEY for the coordinator and for every agent"
    )]
    NoCredentials {
        /// The bucket.
        bucket: String,
        /// What was tried.
        reason: String,
    },
    /// The server cannot be reached.
    #[error(
        "bucket {bucket} at {endpoint} cannot be reached: {reason}; AWS_ENDPOINT_URL names the \
         server, AWS_ALLOW_HTTP=true allows one without TLS"
    )]
    Unreachable {
        /// The bucket.
        bucket: String,
        /// The server.
        endpoint: String,
        /// What happened.
        reason: String,
    },
    /// Something else than was written.
    #[error("{object} in bucket {bucket} is damaged: {reason}")]
    Damaged {
        /// The bucket.
        bucket: String,
        /// The object.
        object: String,
        /// What differs.
        reason: String,
    },
    /// There is no part.
    #[error("{0} has no part of a run: {LISTING}, which an agent writes last, is not there")]
    NoPart(String),
    /// A file cannot be read or written here.
    #[error("{path}: {source}")]
    File {
        /// The file.
        path: String,
        /// What the system said.
        source: io::Error,
    },
    /// It is not wanted any more.
    #[error("interrupted")]
    Ended,
}

impl BucketError {
    /// Whether a setting has to be changed.
    pub fn is_of_settings(&self) -> bool {
        matches!(
            self,
            BucketError::NotBuilt(_)
                | BucketError::Url(_)
                | BucketError::Missing { .. }
                | BucketError::Denied { .. }
                | BucketError::NoCredentials { .. }
        )
    }
}

/// Whether this build has object storage.
pub const IS_BUILT: bool = cfg!(feature = "s3");

/// Whether `text` names a bucket.
pub fn is_bucket(text: &str) -> bool {
    text.starts_with(SCHEME)
}

/// Bucket and prefix of an address.
///
/// # Errors
/// If it is none.
pub fn parsed(url: &str) -> Result<(&str, &str), BucketError> {
    let place = url.strip_prefix(SCHEME).unwrap_or_default();
    let (bucket, prefix) = place.split_once('/').unwrap_or((place, ""));
    let is_letter = |letter: char| letter.is_ascii_alphanumeric() || "-._".contains(letter);
    match !bucket.is_empty() && bucket.chars().all(is_letter) {
        true => Ok((bucket, prefix.trim_matches('/'))),
        false => Err(BucketError::Url(url.to_owned())),
    }
}

/// The address of what is called `name` within `url`.
pub fn within(url: &str, name: &str) -> String {
    format!("{}/{name}", url.trim_end_matches('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_a_bucket_and_perhaps_a_prefix() {
        assert_eq!(parsed("s3://runs").unwrap(), ("runs", ""));
        assert_eq!(parsed("s3://runs/a/b/").unwrap(), ("runs", "a/b"));
        for wrong in ["s3://", "s3:///a", "s3://a b", "s3://key:secret@host", "runs/a"] {
            let error = parsed(wrong).unwrap_err().to_string();
            assert!(error.contains("write s3://BUCKET"), "{error}");
        }
        assert_eq!(within("s3://runs/", "a"), "s3://runs/a");
    }
}

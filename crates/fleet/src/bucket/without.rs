//! Bucket of a build without object storage: there is none.

use std::convert::Infallible;
use std::path::Path;
use std::time::Duration;

use super::BucketError;

/// A bucket that cannot be opened.
#[derive(Debug)]
pub struct Bucket(Infallible);

impl Bucket {
    /// Says that this build has no object storage.
    ///
    /// # Errors
    /// Always.
    pub fn open(url: &str, _: Duration) -> Result<Bucket, BucketError> {
        Err(BucketError::NotBuilt(url.to_owned()))
    }

    /// Never called.
    ///
    /// # Errors
    /// None.
    pub fn require_access(&self, _: &str) -> Result<(), BucketError> {
        match self.0 {}
    }

    /// Never called.
    ///
    /// # Errors
    /// None.
    pub fn send(&self, _: &Path, _: &dyn Fn() -> bool) -> Result<(), BucketError> {
        match self.0 {}
    }

    /// Never called.
    ///
    /// # Errors
    /// None.
    pub fn fetch(&self, _: &Path, _: &dyn Fn() -> bool) -> Result<(), BucketError> {
        match self.0 {}
    }

    /// Never called.
    ///
    /// # Errors
    /// None.
    pub fn parts(&self) -> Result<Vec<String>, BucketError> {
        match self.0 {}
    }
}

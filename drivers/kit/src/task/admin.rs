//! Requests that are no part of a run.

use std::fmt::Display;
use std::future::Future;
use std::time::Duration;

use assay_store::OpenError;

use super::block_on;

/// Runs `request` to its end on this thread; `store` is the store's URL without secrets.
///
/// # Errors
/// That of the request, or if the operating system has no resources for a runtime.
pub fn admin_task<T>(
    store: &impl Display,
    request: impl Future<Output = Result<T, OpenError>>,
) -> Result<T, OpenError> {
    block_on(request).unwrap_or_else(|error| {
        let reason = format!("no resources for it: {error}");
        Err(OpenError::Failed { store: store.to_string(), reason })
    })
}

/// The same within `timeout`; the error of a request that takes longer ends with `advice`.
///
/// # Errors
/// That of the request, if it takes too long, or if the operating system has no resources for a
/// runtime.
pub fn admin_task_within<T>(
    store: &impl Display,
    timeout: Duration,
    advice: &str,
    request: impl Future<Output = Result<T, OpenError>>,
) -> Result<T, OpenError> {
    let reason = match block_on(async { tokio::time::timeout(timeout, request).await }) {
        Ok(Ok(done)) => return done,
        Ok(Err(_)) => format!("no answer came within {} s{advice}", timeout.as_secs()),
        Err(error) => format!("this machine has no resources for it: {error}"),
    };
    Err(OpenError::Failed { store: store.to_string(), reason })
}

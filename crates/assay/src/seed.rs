//! Numbers that the system draws.

use anyhow::{Context, Result};
use assay_model::Seed;

/// A seed that the system draws; short enough to be read aloud.
pub fn draw_seed() -> Result<Seed> {
    Ok(Seed(random()? & u64::from(u32::MAX)))
}

/// A number that nobody can guess, from the kernel itself: where there is no /dev too.
pub fn random() -> Result<u64> {
    let mut bytes = [0; 8];
    let given = rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty())
        .context("the system gives no random number")?;
    // So few bytes are given whole or not at all.
    anyhow::ensure!(given == bytes.len(), "the system gives {given} random bytes of 8");
    Ok(u64::from_le_bytes(bytes))
}

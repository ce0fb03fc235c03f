//! Parts of a run that its agents have put into a bucket, and the coordinator's beside them.

use std::path::{Path, PathBuf};

use anyhow::Result;
use assay_fleet::bucket::within;
use assay_fleet::merge::COORDINATOR;
use assay_fleet::{Bucket, BucketError, Collecting};
use assay_run::control::Urgency;

use crate::fleet;
use crate::setup::Setup;

use super::drive::Driven;

/// A run's folder in a bucket.
pub struct InBucket {
    /// Its address.
    pub url: String,
    collecting: Collecting,
    agents: u32,
}

impl InBucket {
    /// The folder of a run of `agents` agents, if they put their parts into one. Fails if it cannot
    /// be written and read.
    pub fn begin(collecting: Collecting, agents: u32) -> Result<Option<InBucket>> {
        let Collecting::Bucket { url, .. } = &collecting else { return Ok(None) };
        fleet::require_access(&within(url, COORDINATOR))?;
        eprintln!("the parts will be in {url}");
        Ok(Some(InBucket { url: url.clone(), collecting, agents }))
    }

    /// Fetches the parts that agents have put there, into folders of `pieces`; from then on that is
    /// where they are. Fails if one does not come, or not as it was sent.
    pub fn fetch(
        &self,
        setup: &Setup,
        driven: &mut Driven,
        pieces: &Path,
    ) -> Result<(), BucketError> {
        let is_wanted = || setup.listening.control.urgency() < Urgency::Abort;
        let mut parts = Vec::new();
        for (agent, folder) in self.folders(pieces) {
            let Some((url, patience)) = self.collecting.bucket(agent) else { continue };
            Bucket::open(&url, patience)?.fetch(&folder, &is_wanted)?;
            parts.push((agent, folder));
        }
        driven.parts = parts;
        Ok(())
    }

    /// Puts the coordinator's part `own` beside those of the agents, so that the run can be joined
    /// anywhere.
    pub fn keep(&self, own: &Path) -> Result<(), BucketError> {
        let Some((_, patience)) = self.collecting.bucket(0) else { return Ok(()) };
        Bucket::open(&within(&self.url, COORDINATOR), patience)?.send(own, &|| true)
    }

    fn folders(&self, pieces: &Path) -> Vec<(u32, PathBuf)> {
        (0..self.agents).map(|agent| (agent, pieces.join(format!("agent-{agent}")))).collect()
    }
}

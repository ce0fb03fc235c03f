//! Truth log, kept up to a bound.

use assay_store::truth::Truth;

/// The truth log: complete up to its bound, then a count of what is missing.
#[derive(Clone, Debug)]
pub struct Log {
    entries: Vec<Truth>,
    most: usize,
    lost: u64,
}

impl Log {
    /// An empty log of up to `most` entries.
    pub fn new(most: usize) -> Log {
        Log { entries: Vec::new(), most, lost: 0 }
    }

    /// Keeps what `truth` gives, or counts it.
    pub fn push(&mut self, truth: impl FnOnce() -> Truth) {
        if self.entries.len() < self.most {
            self.entries.push(truth());
        } else {
            self.lost += 1;
        }
    }

    /// What was kept, in order of the requests.
    pub fn entries(&self) -> &[Truth] {
        &self.entries
    }

    /// How much was not.
    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// Begins anew.
    pub fn clear(&mut self) {
        self.entries.clear();
        self.lost = 0;
    }
}

//! The versions of one record, each with the times from which the nodes show it.

use std::sync::Arc;

use assay_model::Nanos;

/// One version of a record.
#[derive(Clone, Debug)]
pub struct RecordVersion {
    /// The store's own number; numbers rise with every write.
    pub number: u64,
    /// When it was written.
    pub at: Nanos,
    /// The record, in our own encoding; `None` says that it was removed.
    pub row: Option<Arc<[u8]>>,
    /// From when on each node shows it.
    pub observed: Visibility,
    /// From when on no node shows it any more.
    pub until: Nanos,
    /// What is odd about it.
    pub mark: Mark,
}

/// From when on nodes show a version.
#[derive(Clone, Debug)]
pub enum Visibility {
    /// All of them from this moment on.
    From(Nanos),
    /// Each from its own moment on, by node.
    Each(Box<[Nanos]>),
}

/// What is odd about a version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// Nothing.
    Plain,
    /// It is the first half of the version after it, which has the same number.
    Half,
    /// It was refused but can be read for a while.
    Dirty,
    /// It was acknowledged but will be undone.
    Undone,
    /// It is a write that had been done before.
    Again,
}

impl Visibility {
    /// From when on `node` shows it.
    pub fn by(&self, node: usize) -> Nanos {
        match self {
            Visibility::From(moment) => *moment,
            Visibility::Each(moments) => moments[node],
        }
    }

    /// From when on every node shows it.
    pub fn by_all(&self) -> Nanos {
        match self {
            Visibility::From(moment) => *moment,
            Visibility::Each(moments) => moments.iter().copied().max().unwrap_or(Nanos::NEVER),
        }
    }

    /// The same, `span` later.
    pub fn later(&self, span: Nanos) -> Visibility {
        match self {
            Visibility::From(moment) => Visibility::From(moment.saturating_add(span)),
            Visibility::Each(each) => {
                Visibility::Each(each.iter().map(|moment| moment.saturating_add(span)).collect())
            }
        }
    }
}

impl RecordVersion {
    /// Whether it was acknowledged and stays.
    pub fn is_committed(&self) -> bool {
        matches!(self.mark, Mark::Plain | Mark::Again)
    }

    /// Whether nodes will cease to show it.
    fn is_ending(&self) -> bool {
        self.until < Nanos::NEVER
    }

    fn is_shown(&self, node: usize, at: Nanos) -> bool {
        self.observed.by(node) <= at && at < self.until
    }

    /// What it takes to keep: itself, its row, and the moments of its nodes.
    pub fn bytes(&self) -> usize {
        let moments = match &self.observed {
            Visibility::From(_) => 0,
            Visibility::Each(moments) => size_of_val::<[Nanos]>(moments),
        };
        size_of::<RecordVersion>() + self.row.as_ref().map_or(0, |row| row.len()) + moments
    }
}

/// The versions of one record, oldest first.
#[derive(Clone, Debug, Default)]
pub struct Chain {
    versions: Vec<RecordVersion>,
    /// What all of them take, counted as they come and go: a popular record has thousands.
    bytes: usize,
    /// How many of them nodes will cease to show.
    ending: usize,
}

/// What a node shows of a record, beside what there is.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    /// The version shown, if there is one; it may say that the record was removed.
    pub displayed: Option<&'a RecordVersion>,
    /// How many newer versions there are.
    pub behind: u32,
    /// When the newest of those was written.
    pub newest_at: Option<Nanos>,
}

impl Chain {
    /// What `node` shows at `moment`, measured against all that has been written.
    pub fn view(&self, node: usize, moment: Nanos) -> View<'_> {
        let place = self.versions.iter().rposition(|version| version.is_shown(node, moment));
        let displayed = place.map(|place| &self.versions[place]);
        let newer = &self.versions[place.map_or(0, |place| place + 1)..];
        let number = displayed.map_or(0, |version| version.number);
        let missed = || newer.iter().filter(|one| one.is_committed() && one.number != number);
        View {
            displayed,
            behind: missed().count() as u32,
            newest_at: missed().next_back().map(|version| version.at),
        }
    }

    /// The newest version of the record, visible or not; `None` if there is none.
    pub fn current(&self) -> Option<&Arc<[u8]>> {
        self.versions.iter().rev().find(|version| version.is_committed())?.row.as_ref()
    }

    /// Adds what is newer than all the others; tells how many bytes more that is.
    pub fn push(&mut self, version: RecordVersion) -> usize {
        let bytes = version.bytes();
        self.bytes += bytes;
        self.ending += usize::from(version.is_ending());
        self.versions.push(version);
        bytes
    }

    /// Forgets what no node will show after `horizon`, then the oldest beyond `most`.
    ///
    /// Tells how many bytes that frees, and how many versions were forgotten too early.
    pub fn prune(&mut self, horizon: Nanos, most: usize) -> (usize, u64) {
        let before = self.bytes;
        if self.ending > 0 {
            for version in self.versions.extract_if(.., |version| version.until <= horizon) {
                self.bytes -= version.bytes();
                self.ending -= 1;
            }
        }
        let is_everywhere = |version: &RecordVersion| {
            version.is_committed() && version.observed.by_all() <= horizon
        };
        if let Some(place) = self.versions.iter().rposition(is_everywhere) {
            self.forget_oldest(place);
        }
        let early = self.versions.len().saturating_sub(most.max(1));
        self.forget_oldest(early);
        (before - self.bytes, early as u64)
    }

    fn forget_oldest(&mut self, count: usize) {
        for version in self.versions.drain(..count) {
            self.bytes -= version.bytes();
            self.ending -= usize::from(version.is_ending());
        }
    }

    /// Keeps only what is acknowledged, shown everywhere from the beginning; tells what is freed.
    pub fn quiesce(&mut self) -> usize {
        let before = self.bytes;
        let last = self.versions.iter().rposition(RecordVersion::is_committed);
        let kept =
            last.map(|place| self.versions.swap_remove(place)).filter(|one| one.row.is_some());
        *self = Chain::default();
        if let Some(version) = kept {
            let observed = Visibility::From(Nanos::ZERO);
            self.push(RecordVersion { at: Nanos::ZERO, observed, mark: Mark::Plain, ..version });
        }
        before - self.bytes
    }

    /// Whether nothing is left to show but that the record was removed, everywhere.
    pub fn is_gone(&self, horizon: Nanos) -> bool {
        self.versions.iter().all(|one| one.row.is_none() && one.observed.by_all() <= horizon)
    }

    /// What all versions take.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// All that there is, oldest first.
    pub fn versions(&self) -> &[RecordVersion] {
        &self.versions
    }
}

//! Options of an analysis: phases, window, objectives.

use assay_model::{Nanos, Phase};

/// The default deadline of a response: beyond a second a user loses the thread (J. Nielsen,
/// "Usability Engineering", 1993, section 5.5).
pub const DEADLINE: Nanos = Nanos::from_secs(1);

/// The part of a run to analyze, with facts that no record holds.
#[derive(Clone, Debug, PartialEq)]
pub struct AnalysisOptions {
    /// Names of the plan's transaction types by number; number 0 is a lone operation.
    pub transaction_types: Vec<String>,
    /// Names of the plan's queries; a record's `statement` is the place here plus one. Empty if it
    /// accessed records by key.
    pub queries: Vec<String>,
    /// Names of the store's nodes; a record's `node` is the place here plus one.
    pub nodes: Vec<String>,
    /// The most operations of one process: index = process × width + place. 0 if unknown.
    pub width: u64,
    /// Whether processes have several transactions, so that they are worth figures of their own.
    pub processes: Processes,
    /// What a transaction that failed has left behind.
    pub atomicity: Atomicity,
    /// The phases of the figures.
    pub phases: Phases,
    /// Wanted width of a series interval; it doubles as often as the run is too long for it.
    pub interval: Nanos,
    /// The stretch of the time axis that rates refer to and where the series begins. Give it
    /// whenever it is known: without it rates refer to first intended … last ended, and a time
    /// axis that begins far from its zero leaves little resolution for the series.
    pub window: Option<Window>,
    /// The load model of the operations.
    pub load: LoadModel,
    /// How many operations arrived, if they were counted independently of the history.
    pub expected: Option<u64>,
    /// A response that comes later than this after the intended time is late.
    pub deadline: Nanos,
    /// When arrivals waited because the bound on operations in flight was reached, worker by
    /// worker: arrivals of process p are those of worker p modulo their number. Empty if that is
    /// not known.
    pub held: Held,
}

/// For each worker, stretches in order of time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Held(pub Vec<Vec<Window>>);

impl Held {
    /// Whether it is empty.
    pub fn is_empty(&self) -> bool {
        self.0.iter().all(Vec::is_empty)
    }

    /// The stretch that an operation of `process`, intended at `moment`, was held back in.
    #[inline]
    pub fn of(&self, process: u64, moment: Nanos) -> Option<Window> {
        let worker = self.0.get((process % (self.0.len().max(1) as u64)) as usize)?;
        let after = worker.partition_point(|stretch| stretch.from <= moment);
        let stretch = worker.get(after.checked_sub(1)?)?;
        (moment <= stretch.until).then_some(*stretch)
    }

    /// The largest share of `window` in which one worker was held back.
    pub fn share(&self, window: Window) -> f64 {
        let inside = |stretch: &Window| {
            stretch.until.min(window.until).since(stretch.from.max(window.from)).0
        };
        let workers = self.0.iter().map(|worker| worker.iter().map(inside).sum::<u64>());
        workers.max().unwrap_or(0) as f64 / window.duration().0.max(1) as f64
    }
}

impl Default for AnalysisOptions {
    fn default() -> AnalysisOptions {
        AnalysisOptions {
            transaction_types: Vec::new(),
            queries: Vec::new(),
            nodes: Vec::new(),
            width: 0,
            processes: Processes::AsTransactions,
            atomicity: Atomicity::Whole,
            phases: Phases::Measure,
            interval: Nanos::from_secs(1),
            window: None,
            load: LoadModel::Open { rate: None, limit: None },
            expected: None,
            deadline: DEADLINE,
            held: Held::default(),
        }
    }
}

/// Whether whole processes are analyzed beside their transactions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Processes {
    /// A process is one transaction: figures of its own would repeat that one's.
    #[default]
    AsTransactions,
    /// Processes have several transactions, with pauses between them perhaps.
    AnalyzedRun,
}

/// What a transaction that failed has left behind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Atomicity {
    /// Nothing: the store undoes it, so one that was refused certainly did not happen.
    #[default]
    Whole,
    /// Everything that was written before it failed, for the store has no transactions. One that
    /// had written counts as unknown then: part of it happened.
    BestEffort,
}

/// The phases of the figures.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Phases {
    /// The measured part of a run.
    #[default]
    Measure,
    /// A load.
    Load,
    /// Everything that is in the history but final reads, which came after all load had ended.
    All,
}

impl Phases {
    /// Whether records of `phase` enter the figures.
    pub fn include(self, phase: Phase) -> bool {
        match self {
            Phases::Measure => phase == Phase::Measure,
            Phases::Load => phase == Phase::Load,
            Phases::All => phase != Phase::Final,
        }
    }

    /// What records of `phase` are to these figures.
    pub(crate) fn class(self, phase: Phase) -> PhaseClass {
        let is_same_plan =
            phase != Phase::Final && (phase == Phase::Load) == (self == Phases::Load);
        match self.include(phase) {
            true => PhaseClass::AnalyzedRun,
            false if is_same_plan => PhaseClass::Beside,
            false => PhaseClass::Elsewhere,
        }
    }
}

/// What a record's phase makes of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PhaseClass {
    /// It enters the figures.
    AnalyzedRun,
    /// It does not, but is of the same plan: the part of it that lies in the window is traffic of
    /// the window, and a transaction may go on from it.
    Beside,
    /// It belongs to another plan.
    Elsewhere,
}

/// A stretch of the run's time axis: from the first moment to before the second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Where it begins.
    pub from: Nanos,
    /// Where it ends.
    pub until: Nanos,
}

impl Window {
    /// Its length.
    pub fn duration(self) -> Nanos {
        self.until.since(self.from)
    }

    /// Whether `moment` is in it.
    #[inline]
    pub fn contains(self, moment: Nanos) -> bool {
        self.from <= moment && moment < self.until
    }
}

/// The load model of the operations.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LoadModel {
    /// Arrivals do not wait for completions.
    Open {
        /// Arrivals per second over the window, if one number tells it.
        rate: Option<f64>,
        /// The bound on operations in flight, over all workers and agents.
        limit: Option<u64>,
    },
    /// Each session issues its next operation when its last response has come.
    Closed {
        /// How many sessions, over all workers and agents.
        sessions: u64,
        /// Operations per second that pacing aims at, if it does.
        target: Option<f64>,
    },
}

impl LoadModel {
    /// Operations per second that were promised.
    pub fn target(self) -> Option<f64> {
        match self {
            LoadModel::Open { rate, .. } => rate,
            LoadModel::Closed { target, .. } => target,
        }
    }

    /// The most operations that can be at the store at once.
    pub fn limit(self) -> Option<u64> {
        match self {
            LoadModel::Open { limit, .. } => limit,
            LoadModel::Closed { sessions, .. } => Some(sessions),
        }
    }
}

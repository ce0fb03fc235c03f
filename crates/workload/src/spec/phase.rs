//! Phase of a workload.

/// The phase of a workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PlanPhase {
    /// Filling the store.
    Load,
    /// The operations themselves, warm-up included.
    Run,
}

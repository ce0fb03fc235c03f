//! Golden histories: each shows what its name says, and violates what follows from it.

use crate::quality::Quality::{
    self, Causal, Linearizable, MonotonicReads, NoGarbageReads, NoLostUpdates, NoLostWrites,
    ReadAtomic, ReadCommitted, ReadYourWrites, RepeatableRead, Serializable, SnapshotIsolation,
    StrictSerializable, StrongSessionSerializable, StrongSessionSnapshotIsolation,
    StrongSnapshotIsolation, TwoAtomic,
};

/// A history with its verdicts.
#[derive(Clone, Copy, Debug)]
pub struct Golden {
    pub name: &'static str,
    /// The history, in the notation of its kind.
    pub history: &'static str,
    /// What it violates, in the order of the findings.
    pub violated: &'static [Quality],
}

// tidy: table: one history for each anomaly of single records
pub const OPERATIONS: &[Golden] = &[
    Golden {
        name: "one after another",
        history: "w x1 0..1 · w x2 4..5 | r x1 2..3 · r x2 6..7 | f x2 8..9",
        violated: &[],
    },
    Golden {
        name: "both orders of a concurrent write",
        history: "w x1 0..1 · w x2 2..12 | r x1 3..4 | r x2 5..6",
        violated: &[],
    },
    Golden {
        name: "write of unknown outcome, read later",
        history: "w x1 0..1 · w x2 2.. | r x1 4..5 · r x2 90..91",
        violated: &[],
    },
    Golden {
        name: "stale read",
        history: "w x1 0..1 · w x2 2..3 | r x1 4..5",
        violated: &[Linearizable],
    },
    Golden {
        name: "read two versions behind",
        history: "w x1 0..1 · w x2 2..3 · w x3 4..5 | r x1 6..7",
        violated: &[Linearizable, TwoAtomic],
    },
    Golden {
        name: "new value, then the old one, of two sessions",
        history: "w x1 0..1 · w x2 2..20 | r x2 3..4 | r x1 5..6",
        violated: &[Linearizable],
    },
    Golden {
        name: "new value, then the old one, of one session",
        history: "w x1 0..1 · w x2 2..20 | r x2 3..4 · r x1 5..6",
        violated: &[Linearizable, MonotonicReads],
    },
    Golden {
        name: "own write not read",
        history: "w x1 0..1 | w x2 2..3 · r x1 4..5",
        violated: &[Linearizable, ReadYourWrites],
    },
    Golden {
        name: "value that nobody wrote",
        history: "w x1 0..1 | r x9 2..3",
        violated: &[NoGarbageReads, Linearizable, TwoAtomic],
    },
    Golden {
        name: "read of a refused write",
        history: "w x1 0..1 · w x2 2..3! | r x2 4..5",
        violated: &[NoGarbageReads, Linearizable, TwoAtomic],
    },
    Golden {
        name: "read of a later write",
        history: "w x1 0..1 · w x2 4..5 | r x2 2..3",
        violated: &[NoGarbageReads, Linearizable, TwoAtomic],
    },
    Golden {
        name: "acknowledged write that is gone",
        history: "w x1 0..1 · w x2 2..3 | f x1 50..51",
        violated: &[NoLostWrites, Linearizable],
    },
];

/// What a read of an aborted write violates.
const ABORTED_READ: &[Quality] = &[
    NoGarbageReads,
    ReadCommitted,
    ReadAtomic,
    Causal,
    RepeatableRead,
    SnapshotIsolation,
    StrongSessionSnapshotIsolation,
    StrongSnapshotIsolation,
    Serializable,
    StrongSessionSerializable,
    StrictSerializable,
];

/// Read committed, and all that implies it.
const PL_2: &[Quality] = ABORTED_READ.split_at(1).1;

/// The same but for read committed.
const ABOVE_READ_COMMITTED: &[Quality] = PL_2.split_at(1).1;

/// The same but for what says nothing of snapshots: read committed, read atomic and causal.
const ABOVE_CAUSAL: &[Quality] = PL_2.split_at(3).1;

// tidy: table: one history for each anomaly of transactions
pub const TRANSACTIONS: &[Golden] = &[
    Golden {
        name: "serial transactions",
        history: "@0-1 s1 ax1 ay1 | @2-3 s1 rx[1] ax2 | @4-5 s2 rx[1,2] ry[1]",
        violated: &[],
    },
    Golden { name: "G0", history: "ax1 ay1 | ax2 ay2 | rx[1,2] ry[2,1]", violated: PL_2 },
    Golden { name: "G1a", history: "ax1 ! | rx[1] ay1", violated: ABORTED_READ },
    Golden { name: "G1b", history: "ax1 ax2 | rx[1] | rx[1,2] ay1", violated: PL_2 },
    Golden { name: "G1c", history: "ax1 ry[1] | ay1 rx[1]", violated: PL_2 },
    Golden {
        name: "G-single",
        history: "ax1 ay1 | rx[] ry[1] | rx[1] ry[1]",
        violated: ABOVE_READ_COMMITTED,
    },
    Golden {
        name: "lost update",
        history: "rx[] ax1 | rx[] ax2 | rx[1,2] ry[]",
        violated: &[
            NoLostUpdates,
            RepeatableRead,
            SnapshotIsolation,
            StrongSessionSnapshotIsolation,
            StrongSnapshotIsolation,
            Serializable,
            StrongSessionSerializable,
            StrictSerializable,
        ],
    },
    Golden {
        name: "write skew",
        history: "rx[] ry[] ax1 | rx[] ry[] ay1 | rx[1] ry[1]",
        violated: &[RepeatableRead, Serializable, StrongSessionSerializable, StrictSerializable],
    },
    Golden {
        name: "long fork",
        history: "ax1 | ay1 | rx[1] ry[] | rx[] ry[1]",
        violated: ABOVE_CAUSAL,
    },
    Golden {
        name: "read of the past in a session",
        history: "@0-1 s1 ax1 ay1 | @2-3 s1 rx[] ry[] | @0-9 rx[1] ry[1]",
        violated: &[
            Causal,
            StrongSessionSnapshotIsolation,
            StrongSnapshotIsolation,
            StrongSessionSerializable,
            StrictSerializable,
        ],
    },
    Golden {
        name: "read of the past in real time",
        history: "@0-1 ax1 ay1 | @2-3 rx[] ry[] | @0-9 rx[1] ry[1]",
        violated: &[StrongSnapshotIsolation, StrictSerializable],
    },
];

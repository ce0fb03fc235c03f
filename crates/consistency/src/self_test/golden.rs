//! Golden histories: each shows what its name says, and violates what follows from it.

use crate::quality::Quality::{
    self, Causal, Linearizable, MonotonicReads, NoGarbageReads, NoLostUpdates, NoLostWrites,
    ReadAtomic, ReadCommitted, ReadYourWrites, RepeatableRead, Serializable, SnapshotIsolation,
    StrictSerializable, StrongSessionSerializable, StrongSessionSnapshotIsolation,
    StrongSnapshotIsolation, TwoAtomic,
};

/// The session of an operation with its start and its end.
type When = (u32, u64, u64);

/// An operation on a record, or a transaction.
#[derive(Clone, Copy, Debug)]
pub enum GoldenStep {
    /// A record was read, with this value; 0 is none.
    Read(When, u64, u64),
    /// The same at the end, at rest.
    LastRead(When, u64, u64),
    /// A value was written.
    Write(When, u64, u64),
    /// A write was refused.
    Refused(When, u64, u64),
    /// Nobody knows whether a write happened.
    Unknown(When, u64, u64),
    /// A transaction was committed.
    Whole(When, &'static [GoldenMicro]),
    /// A transaction was aborted.
    Aborted(When, &'static [GoldenMicro]),
}

impl GoldenStep {
    pub fn when(&self) -> When {
        match *self {
            GoldenStep::Read(when, ..)
            | GoldenStep::LastRead(when, ..)
            | GoldenStep::Write(when, ..)
            | GoldenStep::Refused(when, ..)
            | GoldenStep::Unknown(when, ..)
            | GoldenStep::Whole(when, _)
            | GoldenStep::Aborted(when, _) => when,
        }
    }
}

/// A step of a transaction.
#[derive(Clone, Copy, Debug)]
pub enum GoldenMicro {
    /// An element was appended to a list.
    Append(u64, u64),
    /// A list was read.
    List(u64, &'static [u64]),
}

/// A history with its verdicts.
#[derive(Clone, Copy, Debug)]
pub struct Golden {
    pub name: &'static str,
    pub steps: &'static [GoldenStep],
    /// What it violates, in the order of the findings.
    pub violated: &'static [Quality],
}

use GoldenMicro::{Append, List};
use GoldenStep::{Aborted, LastRead, Read, Refused, Unknown, Whole, Write};

// tidy: table: one history for each anomaly of single records
pub const OPERATIONS: &[Golden] = &[
    Golden {
        name: "one after another",
        steps: &[
            Write((1, 0, 1), 7, 1),
            Read((2, 2, 3), 7, 1),
            Write((1, 4, 5), 7, 2),
            Read((2, 6, 7), 7, 2),
            LastRead((3, 8, 9), 7, 2),
        ],
        violated: &[],
    },
    Golden {
        name: "both orders of a concurrent write",
        steps: &[
            Write((1, 0, 1), 7, 1),
            Write((1, 2, 12), 7, 2),
            Read((2, 3, 4), 7, 1),
            Read((3, 5, 6), 7, 2),
        ],
        violated: &[],
    },
    Golden {
        name: "write of unknown outcome, read later",
        steps: &[
            Write((1, 0, 1), 7, 1),
            Unknown((1, 2, 3), 7, 2),
            Read((2, 4, 5), 7, 1),
            Read((2, 90, 91), 7, 2),
        ],
        violated: &[],
    },
    Golden {
        name: "stale read",
        steps: &[Write((1, 0, 1), 7, 1), Write((1, 2, 3), 7, 2), Read((2, 4, 5), 7, 1)],
        violated: &[Linearizable],
    },
    Golden {
        name: "read two versions behind",
        steps: &[
            Write((1, 0, 1), 7, 1),
            Write((1, 2, 3), 7, 2),
            Write((1, 4, 5), 7, 3),
            Read((2, 6, 7), 7, 1),
        ],
        violated: &[Linearizable, TwoAtomic],
    },
    Golden {
        name: "new value, then the old one, of two sessions",
        steps: &[
            Write((1, 0, 1), 7, 1),
            Write((1, 2, 20), 7, 2),
            Read((2, 3, 4), 7, 2),
            Read((3, 5, 6), 7, 1),
        ],
        violated: &[Linearizable],
    },
    Golden {
        name: "new value, then the old one, of one session",
        steps: &[
            Write((1, 0, 1), 7, 1),
            Write((1, 2, 20), 7, 2),
            Read((2, 3, 4), 7, 2),
            Read((2, 5, 6), 7, 1),
        ],
        violated: &[Linearizable, MonotonicReads],
    },
    Golden {
        name: "own write not read",
        steps: &[Write((9, 0, 1), 7, 1), Write((1, 2, 3), 7, 2), Read((1, 4, 5), 7, 1)],
        violated: &[Linearizable, ReadYourWrites],
    },
    Golden {
        name: "value that nobody wrote",
        steps: &[Write((1, 0, 1), 7, 1), Read((2, 2, 3), 7, 9)],
        violated: &[NoGarbageReads, Linearizable, TwoAtomic],
    },
    Golden {
        name: "read of a refused write",
        steps: &[Write((1, 0, 1), 7, 1), Refused((1, 2, 3), 7, 2), Read((2, 4, 5), 7, 2)],
        violated: &[NoGarbageReads, Linearizable, TwoAtomic],
    },
    Golden {
        name: "read of a later write",
        steps: &[Write((1, 0, 1), 7, 1), Read((2, 2, 3), 7, 2), Write((1, 4, 5), 7, 2)],
        violated: &[NoGarbageReads, Linearizable, TwoAtomic],
    },
    Golden {
        name: "acknowledged write that is gone",
        steps: &[Write((1, 0, 1), 7, 1), Write((1, 2, 3), 7, 2), LastRead((2, 50, 51), 7, 1)],
        violated: &[NoLostWrites, Linearizable],
    },
];

/// Read committed, and with it all that implies it.
const PL_2: &[Quality] = &[
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

// tidy: table: one history for each anomaly of transactions
pub const TRANSACTIONS: &[Golden] = &[
    Golden {
        name: "serial transactions",
        steps: &[
            Whole((1, 0, 1), &[Append(1, 1), Append(2, 1)]),
            Whole((1, 2, 3), &[List(1, &[1]), Append(1, 2)]),
            Whole((2, 4, 5), &[List(1, &[1, 2]), List(2, &[1])]),
        ],
        violated: &[],
    },
    Golden {
        name: "G0",
        steps: &[
            Whole((1, 0, 9), &[Append(1, 1), Append(2, 1)]),
            Whole((2, 0, 9), &[Append(1, 2), Append(2, 2)]),
            Whole((3, 0, 9), &[List(1, &[1, 2]), List(2, &[2, 1])]),
        ],
        violated: PL_2,
    },
    Golden {
        name: "G1a",
        steps: &[
            Aborted((1, 0, 9), &[Append(1, 1)]),
            Whole((2, 0, 9), &[List(1, &[1]), Append(2, 1)]),
        ],
        violated: &[
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
        ],
    },
    Golden {
        name: "G1b",
        steps: &[
            Whole((1, 0, 9), &[Append(1, 1), Append(1, 2)]),
            Whole((2, 0, 9), &[List(1, &[1])]),
            Whole((3, 0, 9), &[List(1, &[1, 2]), Append(2, 1)]),
        ],
        violated: PL_2,
    },
    Golden {
        name: "G1c",
        steps: &[
            Whole((1, 0, 9), &[Append(1, 1), List(2, &[1])]),
            Whole((2, 0, 9), &[Append(2, 1), List(1, &[1])]),
        ],
        violated: PL_2,
    },
    Golden {
        name: "G-single",
        steps: &[
            Whole((1, 0, 9), &[Append(1, 1), Append(2, 1)]),
            Whole((2, 0, 9), &[List(1, &[]), List(2, &[1])]),
            Whole((3, 0, 9), &[List(1, &[1]), List(2, &[1])]),
        ],
        violated: &[
            ReadAtomic,
            Causal,
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
        name: "lost update",
        steps: &[
            Whole((1, 0, 9), &[List(1, &[]), Append(1, 1)]),
            Whole((2, 0, 9), &[List(1, &[]), Append(1, 2)]),
            Whole((3, 0, 9), &[List(1, &[1, 2]), List(2, &[])]),
        ],
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
        steps: &[
            Whole((1, 0, 9), &[List(1, &[]), List(2, &[]), Append(1, 1)]),
            Whole((2, 0, 9), &[List(1, &[]), List(2, &[]), Append(2, 1)]),
            Whole((3, 0, 9), &[List(1, &[1]), List(2, &[1])]),
        ],
        violated: &[RepeatableRead, Serializable, StrongSessionSerializable, StrictSerializable],
    },
    Golden {
        name: "long fork",
        steps: &[
            Whole((1, 0, 9), &[Append(1, 1)]),
            Whole((2, 0, 9), &[Append(2, 1)]),
            Whole((3, 0, 9), &[List(1, &[1]), List(2, &[])]),
            Whole((4, 0, 9), &[List(1, &[]), List(2, &[1])]),
        ],
        violated: &[
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
        name: "read of the past in a session",
        steps: &[
            Whole((1, 0, 1), &[Append(1, 1), Append(2, 1)]),
            Whole((1, 2, 3), &[List(1, &[]), List(2, &[])]),
            Whole((2, 0, 9), &[List(1, &[1]), List(2, &[1])]),
        ],
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
        steps: &[
            Whole((1, 0, 1), &[Append(1, 1), Append(2, 1)]),
            Whole((2, 2, 3), &[List(1, &[]), List(2, &[])]),
            Whole((3, 0, 9), &[List(1, &[1]), List(2, &[1])]),
        ],
        violated: &[StrongSnapshotIsolation, StrictSerializable],
    },
];
